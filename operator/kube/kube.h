/* SPDX-License-Identifier: BSD-3-Clause */
/* The Kubernetes REST API over curl's multi interface on the loop: access, verbs, watch streams. */
#ifndef OPERATOR_KUBE_KUBE_H
#define OPERATOR_KUBE_KUBE_H

#include "base/err/err.h"
#include "base/loop/loop.h"

#include <jansson.h>
#include <stdbool.h>

/* Where the API server is and how to prove who we are. Filled from a kubeconfig (context NULL: the
 * current one; client certificate by file or data, token, token file; exec plugins are refused with
 * a reason, nothing is ever executed) or from the pod's service account (token file re-read when it
 * changes). */
struct kube_config;
struct kube_config *kube_config_load(const char *path, const char *context, struct err *err);
struct kube_config *kube_config_in_cluster(struct err *err);
void kube_config_destroy(struct kube_config *c);
const char *kube_config_server(const struct kube_config *c);
/* Namespace of the context or of the service account; "default" if none is given. */
const char *kube_config_namespace(const struct kube_config *c);

struct kube;
/* Takes `config`, also when it fails. One per program; at most 32 requests at once, more wait in
 * order (bounded, 4096).
 */
struct kube *kube_create(struct loop *loop, struct kube_config *config, struct err *err);
/* Running requests end without their callback. */
void kube_destroy(struct kube *k);
const char *kube_namespace(const struct kube *k);

/* Ends once, by on_done, never inside kube_request() itself. `status`: the HTTP status, 0 if no
 * answer came (then err->msg says why). `body`: the decoded JSON answer (an object, or a v1
 * Status), borrowed, NULL if none. For status >= 400 err->msg has the server's message and
 * err->code the status. */
typedef void kube_done_fn(int status, const json_t *body, const struct err *err, void *arg);

struct kube_verb {
    const char *method; /* "GET", "POST", "PUT", "PATCH", "DELETE" */
    const char
        *path; /* "/api/v1/namespaces/x/secrets/y?fieldManager=dvm-operator", already escaped */
    const char *content_type; /* NULL: application/json */
    const json_t *body;       /* encoded during the call; NULL: none */
    long timeout_ms;          /* 0: 30 s */
};
/* The id (> 0) of the request, for kube_cancel(); 0 and err if the queue is full. */
unsigned long kube_request(struct kube *k, const struct kube_verb *v, kube_done_fn *on_done,
                           void *arg, struct err *err) __attribute__((warn_unused_result));
void kube_cancel(struct kube *k,
                 unsigned long id); /* its on_done is not called; unknown ids are fine */

/* A watch stream: one decoded {"type", "object"} at a time. `on_end`: once, status as above (410:
 * the version is too old), also for a clean end by the server (status 200). A line over 16 MiB ends
 * it. */
unsigned long kube_watch(struct kube *k, const char *path,
                         void (*on_event)(const char *type, const json_t *object, void *arg),
                         kube_done_fn *on_end, void *arg, struct err *err)
    __attribute__((warn_unused_result));

/* Decodes base64 text (standard alphabet, padding; white space is skipped), as Secrets and
 * kubeconfigs hold it. Returns a NUL-terminated string on the heap; NULL and err if the text is
 * malformed. */
char *kube_base64_decode(const char *text, struct err *err);

/* Counters for /metrics: ended requests by method and class of status (index 0: no answer), streams
 * open. */
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
    unsigned long watches_open, relists;
    unsigned long running, waiting;
};
struct kube_stats kube_stats(const struct kube *k);
const char *kube_method_name(enum kube_method m); /* "GET", …, "WATCH" */
void kube_count_relist(struct kube *k);           /* by the cache */

#endif
