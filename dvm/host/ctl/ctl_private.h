/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of dvm/host/ctl: the interface of verbs, their table, the streams. */
#ifndef DVM_CTL_CTL_PRIVATE_H
#define DVM_CTL_CTL_PRIVATE_H

#include "api/api.h"
#include "api/reason.h"
#include "base/httpd/httpd.h"
#include "dvm/host/ctl/ctl.h"

#include <jansson.h>
#include <stdbool.h>

/* One call, from HTTPS or a local client. Borrowed for the call. */
struct ctl_request {
    enum api_role role;
    const char *id;          /* of the path, or NULL */
    const char *incarnation; /* of the query, or NULL */
    const char *from;        /* of the query, or NULL */
    const char *beat;        /* of the query, or NULL */
    const char *view;        /* of the query, or NULL */
    json_t *body;            /* an object; NULL for verbs without a body */
};

/* The answer: a status and a body, which is the record or {"error": …}. */
struct ctl_reply {
    int status;
    json_t *body;         /* owned */
    bool stream;          /* status 200, followed by events from `stream_from` */
    uint64_t stream_from; /* 1.. */
    bool stream_beats;    /* a beat in place of empty lines */
    bool stream_view;     /* the view follows the kept events */
    bool input;           /* the core got an input: its actions must be carried out */
};

typedef void ctl_verb_fn(struct ctl *ctl, const struct ctl_request *rq, struct ctl_reply *rp);

/* Sets of roles. */
#define CTL_ROLE_OPERATOR (1u << API_ROLE_OPERATOR)
#define CTL_ROLE_USER (1u << API_ROLE_USER)
#define CTL_ROLE_MEMBER (1u << API_ROLE_MEMBER)

struct ctl_verb {
    const char *method;
    const char *pattern;
    unsigned roles;
    bool body;
    bool everywhere; /* about the daemon that is asked: a member answers it itself */
    ctl_verb_fn *fn;
};
extern const struct ctl_verb ctl_verbs[];
extern const size_t ctl_nverbs;

struct ctl_route { /* handed back by httpd with a request */
    struct ctl *ctl;
    const struct ctl_verb *verb;
};

struct ctl_stream { /* exactly one of http and local.line is set */
    struct ctl *ctl;
    uint64_t next; /* number of the next event to send */
    struct httpd_stream *http;
    bool beats; /* its reader asked for beats in place of empty lines */
    uint64_t conn;
    struct ctl_local local;
    struct ctl_stream *prev, *next_stream;
};

struct ctl_answer { /* waits for the records of what it says; of http and local.line one is set */
    uint64_t number;
    int status;
    struct httpd_req *http;
    json_t *body;
    uint64_t conn;
    char *text;
    struct ctl_local local;
    struct ctl_answer *prev, *next;
};

struct ctl {
    struct loop *loop;
    struct core *core;
    const struct net *net;
    bool has_file;
    const struct records *records;
    void (*keep)(void *arg); /* NULL: no records are kept */
    void (*drain)(void *arg);
    void *drain_arg;
    struct httpd *https;
    struct tls_peer own; /* the subject of our certificate; with https only */
    struct httpd *plain;
    struct ctl_route *routes;
    struct ctl_answer *answers; /* that wait, in their order */
    uint64_t nanswers;          /* so far */
    struct ctl_stream *streams;
    size_t nstreams;
    struct loop_timer *keepalive;
    bool keepalive_armed;
};

/* dispatch.c: checks the role, then runs the verb. Fills *rp in every case. */
void ctl_call(struct ctl *ctl, const struct ctl_verb *verb, const struct ctl_request *rq,
              struct ctl_reply *rp);
/* An unreadable body, a wrong role, …: the core is not asked. */
void ctl_refuse(struct ctl_reply *rp, int status, enum api_reason reason, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* The core's answer; reason NULL stands for a word that fits the status. */
void ctl_refuse_err(struct ctl_reply *rp, enum api_reason reason, const struct err *err);

/* campaign.c, size.c, shutdown.c, events.c, dvm.c, links.c: the verbs. */
ctl_verb_fn ctl_put_campaign, ctl_cancel_campaign, ctl_get_campaign;
ctl_verb_fn ctl_put_signal, ctl_put_continue, ctl_put_size, ctl_put_shutdown, ctl_get_events,
    ctl_get_dvm, ctl_get_links;

/* events.c */
void ctl_stream_http(struct ctl *ctl, struct httpd_req *req, const struct ctl_reply *rp);
void ctl_stream_local(struct ctl *ctl, uint64_t conn, const struct ctl_local *local, uint64_t from);
void ctl_streams_init(struct ctl *ctl);
void ctl_streams_free(struct ctl *ctl);

/* health.c: routes of the plain port. metrics.c: their text, on the heap. */
void ctl_health_routes(struct ctl *ctl);
char *ctl_metrics_text(const struct ctl *ctl);

/* answer.c: takes the body, copies the text. False: nothing has to be waited for. */
bool ctl_answer_http(struct ctl *ctl, struct httpd_req *req, const struct ctl_reply *rp);
bool ctl_answer_local(struct ctl *ctl, uint64_t conn, const struct ctl_local *to, int status,
                      const char *text);
void ctl_answers_gone(struct ctl *ctl, uint64_t conn);
void ctl_answers_free(struct ctl *ctl); /* after its servers */

#endif
