/* SPDX-License-Identifier: BSD-3-Clause */
/* The Kubernetes REST API: access, requests, watches. */
#ifndef OPERATOR_KUBE_KUBE_H
#define OPERATOR_KUBE_KUBE_H

#include "base/err/err.h"
#include "base/loop/loop.h"
#include "operator/http/http.h"

#include <jansson.h>
#include <stdbool.h>

/* The address of the API server and our identity.
 * From a kubeconfig (context NULL: the current one): client certificate by file or data, token,
 * token file. Exec plugins are refused, since no program is ever executed. Or from the service
 * account of the pod, whose token is read again when its file changes. */
struct kube_config;
struct kube_config *kube_config_load(const char *path, const char *context, struct err *err);
struct kube_config *kube_config_in_cluster(struct err *err);
void kube_config_destroy(struct kube_config *c);
const char *kube_config_server(const struct kube_config *c);
/* Namespace of the context or of the service account; "default" if there is none. */
const char *kube_config_namespace(const struct kube_config *c);

struct kube;
/* Takes `config`, even when it fails. One kube in a program. At most 32 requests run; up to 4096
 * wait in order. */
struct kube *kube_create(struct loop *loop, struct kube_config *config, struct err *err);
/* Requests that run end without their callback. */
void kube_destroy(struct kube *k);
const char *kube_namespace(const struct kube *k);

/* A request is tried up to six times. GET, PUT, PATCH, DELETE and repeatable POSTs are repeated
 * after 429, 500, 502 to 504, and without a whole answer; other POSTs after 429 only. After a
 * failure there are 0.1 to 2 s before the next try, with jitter, and the time that the server asks
 * for (Retry-After, at most 30 s).
 *
 * A try that is silent for four times the server's smoothed answer time (1 to 30 s; 4 s before the
 * first answer) is followed by the next one, and may still be answered until its timeout. The time
 * doubles from the fourth try on. Before a write that creates a named object, or names its version,
 * is repeated without an answer, its object is read: if it holds what the write sets, the read
 * object is the answer, with 201 for a POST and 200 otherwise.
 *
 * A repeated write may still be refused because it was carried out before: 409 or 404 may mean
 * success.
 *
 * Called once for a request, never inside kube_request(). `status` is the HTTP status; 0: there was
 * no answer, and err->msg says why. `body` is the decoded answer (an object or a v1 Status),
 * borrowed; NULL: none. For status >= 400 err has the server's message and the status as code. */
typedef void kube_done_fn(int status, const json_t *body, const struct err *err, void *arg);

struct kube_verb {
    const char *method; /* "GET", "POST", "PUT", "PATCH", "DELETE" */
    const char
        *path; /* escaped, for example "/api/v1/namespaces/x/secrets/y?fieldManager=dvm-operator" */
    const char *content_type; /* NULL: application/json */
    const char *accept;       /* the same; borrowed until on_done */
    const json_t *body;       /* encoded during the call; NULL: none */
    long timeout_ms;          /* of each try; 0: 30 s */
    bool ungated;             /* is sent even if the gate is closed */
    bool repeatable;          /* of a POST: the caller knows an object that exists already (409) */
    bool once;                /* never repeated */
};
/* The id of the request (> 0), for kube_cancel(); 0 and err: the queue is full. */
unsigned long kube_request(struct kube *k, const struct kube_verb *v, kube_done_fn *on_done,
                           void *arg, struct err *err) __attribute__((warn_unused_result));
/* From now on every request but GET, and but those that are `ungated`, passes this gate. Borrowed.
 */
void kube_set_gate(struct kube *k, const struct http_gate *gate);
void kube_cancel(struct kube *k,
                 unsigned long id); /* its on_done is not called; an unknown id is ignored */

/* A watch. on_event is called for each {"type", "object"}, and for "OPENED" without an object when
 * the server has accepted the watch. on_end is called once, with a status as above: 410 if the
 * version is too old, 200 for a regular end by the server. A line above 16 MiB ends the watch, and
 * so does a watch that is silent for too long: its connection may be dead although TCP keeps it. */
struct kube_stream {
    const char *path;
    const char *accept;  /* NULL: application/json; borrowed until on_end */
    uint64_t opening_ms; /* bound for the server to accept the watch; 0: 30 s. A server whose pace
                            is slower has four times its answer time. */
    uint64_t silence_ms; /* bound for the time without a byte after that; 0: none */
};
unsigned long kube_watch(struct kube *k, const struct kube_stream *s,
                         void (*on_event)(const char *type, const json_t *object, void *arg),
                         kube_done_fn *on_end, void *arg, struct err *err)
    __attribute__((warn_unused_result));

/* Decodes base64 text (standard alphabet, padding; white space is skipped), as Secrets and
 * kubeconfigs hold it. Returns a NUL-terminated string on the heap; NULL and err if the text is
 * malformed. */
char *kube_base64_decode(const char *text, struct err *err);

/* Counters for /metrics: requests that have ended, by method and class of status (0: no answer),
 * and open watches. */
enum kube_method {
    KUBE_GET,
    KUBE_POST,
    KUBE_PUT,
    KUBE_PATCH,
    KUBE_DELETE,
    KUBE_WATCH,
    KUBE_METHODS
};
struct kube_stats {
    unsigned long requests, failed; /* failed: no answer, 429 or 5xx */
    unsigned long by_class[KUBE_METHODS][6];
    unsigned long watches_open, relists, retries;
    unsigned long running, waiting;
};
struct kube_stats kube_stats(const struct kube *k);

/* How long the tries of requests took, by method and status; a try counts from when it was sent
 * until its whole answer. Watches are not counted. Statuses without a place of their own share the
 * last one. */
#define KUBE_CODES 17
#define KUBE_BOUNDS 12
struct kube_time {
    unsigned long n;
    uint64_t sum_ms;
    unsigned long within[KUBE_BOUNDS]; /* of up to kube_bound_ms(), and of more than the bound
                                          before */
};
struct kube_times {
    struct kube_time of[KUBE_WATCH][KUBE_CODES];
};
const struct kube_times *kube_times(const struct kube *k);
unsigned kube_bound_ms(unsigned bound);
const char *kube_code_name(unsigned code);        /* "200", "none": no answer, "other" */
const char *kube_method_name(enum kube_method m); /* "GET", …, "WATCH" */
void kube_count_relist(struct kube *k);           /* called by the cache */

#endif
