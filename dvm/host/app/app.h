/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between the services of daemons: a type for each, encoded and decoded in a file of its
 * own, and the table of their handlers. */
#ifndef DVM_HOST_APP_H
#define DVM_HOST_APP_H

#include "base/buf/buf.h"
#include "dvm/host/iof/iof.h"
#include "dvm/host/pmix/pmix_srv.h"

#include <stdint.h>

/* Kinds share their numbers with the messages of dvm/host/iof and dvm/protocol/files. */
enum app_kind {
    APP_MODEX_ASK = IOF_KINDS, /* to the daemon of a rank: its modex data */
    APP_DATA_ASK,              /* to the head: publish, look up, unpublish */
    APP_ANSWER,                /* to any question */
    APP_NOTIFY,                /* to a daemon with target ranks of an event */
    APP_QUERY_ASK,             /* to the head: a table of its jobs */
    APP_SIGNAL_ASK,            /* to the daemon of a rank: signal it */
    APP_JOB_ASK,               /* to the head: the launch of a job */
    APP_CALL,                  /* to the head: a control API call of a member's client */
    APP_REPLY,                 /* to that member */
    APP_NOTIFY_ALL,            /* to the head: an event for ranks of several daemons */
    APP_TOOL_HERE,             /* to the head: the sender has a tool, which is to get events */
    APP_CONTROL_ASK,           /* to the head: may this process control that job? */
    APP_JOB_WAITS,             /* to the head: what a job waits for at the sender */
    APP_KINDS
};

#define APP_BLOB_MAX (64u << 20) /* of an answer, modex data, or a request to the data store */
#define APP_NAMES_MAX (1u << 20) /* of a comma-separated list of namespaces */
#define APP_EVENT_MAX PMIX_SRV_EVENT_MAX

/* A question begins with its number, by which its answer finds the asker. The asker encodes 0: the
 * service that sends it (services/questions.h) puts the number in. */

/* Each x_encode() initialises the buffer, whose `failed` says that the message is too long. Each
 * x_decode() returns -1 if the message is malformed; a question's number is then still set (0 if
 * even that is cut). Strings of a decoded message are freed by x_free(), also after -1; bytes
 * borrow from the input. */

struct app_modex_ask {
    uint64_t question;
    char *nspace;
    uint32_t rank;
    uint32_t timeout_s; /* 0: none */
};
void app_modex_ask_encode(struct buf *b, const struct app_modex_ask *m);
int app_modex_ask_decode(struct cur *c, struct app_modex_ask *m)
    __attribute__((warn_unused_result));
void app_modex_ask_free(struct app_modex_ask *m);

struct app_data_ask {
    uint64_t question;
    char op; /* of pmix_srv_upcalls.on_data() */
    const void *blob;
    size_t len;
    /* Since edition 1: the sender has the answers of its questions before this one, and repeats
     * this question to a new head. 0: it does not. */
    uint64_t open_from;
};
void app_data_ask_encode(struct buf *b, const struct app_data_ask *m);
int app_data_ask_decode(struct cur *c, struct app_data_ask *m) __attribute__((warn_unused_result));

struct app_answer {
    uint64_t question;
    int status; /* of the PMIx library */
    const void *data;
    size_t len;
};
void app_answer_encode(struct buf *b, const struct app_answer *m);
int app_answer_decode(struct cur *c, struct app_answer *m) __attribute__((warn_unused_result));

struct app_notify {
    uint64_t question;
    const void *event; /* for pmix_srv_notify() */
    size_t len;
};
void app_notify_encode(struct buf *b, const struct app_notify *m);
int app_notify_decode(struct cur *c, struct app_notify *m) __attribute__((warn_unused_result));

struct app_notify_all {
    uint64_t question;
    struct pmix_srv_reach to;
    const void *event;
    size_t len;
};
void app_notify_all_encode(struct buf *b, const struct app_notify_all *m);
int app_notify_all_decode(struct cur *c, struct app_notify_all *m)
    __attribute__((warn_unused_result));
void app_notify_all_free(struct app_notify_all *m);

struct app_query_ask {
    uint64_t question;
    char *nspaces; /* "a,b": jobs whose processes are requested too */
};
void app_query_ask_encode(struct buf *b, const struct app_query_ask *m);
int app_query_ask_decode(struct cur *c, struct app_query_ask *m)
    __attribute__((warn_unused_result));
void app_query_ask_free(struct app_query_ask *m);

struct app_signal_ask {
    uint64_t question;
    char *nspace;
    uint32_t rank;
    uint32_t signum;
};
void app_signal_ask_encode(struct buf *b, const struct app_signal_ask *m);
int app_signal_ask_decode(struct cur *c, struct app_signal_ask *m)
    __attribute__((warn_unused_result));
void app_signal_ask_free(struct app_signal_ask *m);

struct app_control_ask { /* since edition 1 */
    uint64_t question;
    char *nspace; /* of the process */
    char *target;
};
void app_control_ask_encode(struct buf *b, const struct app_control_ask *m);
int app_control_ask_decode(struct cur *c, struct app_control_ask *m)
    __attribute__((warn_unused_result));
void app_control_ask_free(struct app_control_ask *m);

struct app_job_ask {
    uint64_t question;
    char *nspace;
};
void app_job_ask_encode(struct buf *b, const struct app_job_ask *m);
int app_job_ask_decode(struct cur *c, struct app_job_ask *m) __attribute__((warn_unused_result));
void app_job_ask_free(struct app_job_ask *m);

struct app_job_waits { /* since edition 1; no question */
    char *nspace;
    char *text; /* up to WAIT_TEXT_MAX bytes; "": it waits for nothing any more */
};
void app_job_waits_encode(struct buf *b, const struct app_job_waits *m);
int app_job_waits_decode(struct cur *c, struct app_job_waits *m)
    __attribute__((warn_unused_result));
void app_job_waits_free(struct app_job_waits *m);

struct app_tool_here {
    uint64_t question;
};
void app_tool_here_encode(struct buf *b, const struct app_tool_here *m);
int app_tool_here_decode(struct cur *c, struct app_tool_here *m)
    __attribute__((warn_unused_result));

struct app_call { /* no question: the client's number names the receiver of the reply */
    uint32_t client;
    char *method, *path, *body;
};
void app_call_encode(struct buf *b, const struct app_call *m);
int app_call_decode(struct cur *c, struct app_call *m) __attribute__((warn_unused_result));
void app_call_free(struct app_call *m);

struct app_reply {
    uint32_t client;
    uint32_t status; /* HTTP status */
    char *body;
};
void app_reply_encode(struct buf *b, const struct app_reply *m);
int app_reply_decode(struct cur *c, struct app_reply *m) __attribute__((warn_unused_result));
void app_reply_free(struct app_reply *m);

/* --- handlers */

/* A message of the daemon `from` has arrived; `service` is the one that app_table_add() named. */
struct app_handler {
    enum app_kind kind;
    void (*on_message)(uint32_t from, struct cur *c, void *service);
};

struct app_table {
    struct {
        void (*on_message)(uint32_t from, struct cur *c, void *service);
        void *service;
    } row[APP_KINDS];
};

/* One handler for a kind. */
void app_table_add(struct app_table *t, const struct app_handler *h, size_t n, void *service);
/* A kind without a handler is logged and dropped. */
void app_table_dispatch(const struct app_table *t, uint32_t from, uint32_t kind, const void *data,
                        size_t len);

#endif
