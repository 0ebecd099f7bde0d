/* SPDX-License-Identifier: BSD-3-Clause */
/* Client of one head's control API: mutual TLS as role operator, resumable event stream. */
#ifndef OPERATOR_DVM_DVM_H
#define OPERATOR_DVM_DVM_H

#include "api/dvm.h"
#include "api/event.h"
#include "api/size.h"
#include "base/backoff/backoff.h"
#include "base/loop/loop.h"
#include "operator/http/http.h"

/* Pauses between tries of a head, whether to connect or to read its view. */
extern const struct backoff DVM_BACKOFF;

struct dvm_client;
struct dvm_client_opts {
    const char *host;    /* name that the head's certificate must have: x-head.ns.svc */
    const char *connect; /* NULL, or "address:port" to connect to instead (tests, development) */
    uint16_t port;
    struct http *http; /* NULL: the client creates its own; otherwise shared and borrowed for the
                          client's life */
    const struct http_gate *gate; /* every request but GET passes it; borrowed, NULL: none */
    const char *ca_pem;           /* the three are borrowed for the client's life */
    const char *cert_pem;
    const char *key_pem;
    /* Called for every event, once and in order, while the stream is open; not for unknown types.
     * The callbacks may destroy the client. */
    void (*on_event)(const struct api_event *e, void *arg);
    /* The number of jobs that the head's end would end, every 4 s. Older heads do not tell it. */
    void (*on_beat)(uint32_t bound_jobs, void *arg);
    /* The body of an answer to GET /v1/dvm, soon after the stream is open. Older heads do not send
     * it, nor does one with many members. */
    void (*on_view)(const json_t *dvm, void *arg);
    /* up: the stream is open, and the owner reads what it has missed by dvm_client_get_dvm() if no
     * view comes. Not up: the stream broke, or the first attempt failed. Later failures are not
     * reported. */
    void (*on_link)(bool up, const char *why, void *arg);
    void *arg;
};
/* Follows the event stream at once. Reconnects with back-off (0.2 s to 10 s), resolves the name at
 * each attempt, resumes by (incarnation, number). The other texts are copied. */
struct dvm_client *dvm_client_create(struct loop *loop, const struct dvm_client_opts *opts,
                                     struct err *err);
void dvm_client_destroy(struct dvm_client *c); /* requests that run end without their callback */
/* Resets the back-off and connects at once. */
void dvm_client_poke(struct dvm_client *c);

/* Ends once by on_done. `status` is the HTTP status; 0: the head has not answered within 10 s. */
typedef void dvm_done_fn(int status, const json_t *body, const struct err *err, void *arg);
int dvm_client_put_campaign(struct dvm_client *c, const char *id,
                            const struct api_campaign_request *r, dvm_done_fn *on_done, void *arg,
                            struct err *err);
int dvm_client_cancel_campaign(struct dvm_client *c, const char *id, dvm_done_fn *on_done,
                               void *arg, struct err *err); /* PUT /v1/campaigns/{id}/cancel */
int dvm_client_put_size(struct dvm_client *c, const struct api_size *s, dvm_done_fn *on_done,
                        void *arg, struct err *err);
int dvm_client_put_shutdown(struct dvm_client *c, const struct api_shutdown *s,
                            dvm_done_fn *on_done, void *arg, struct err *err);
int dvm_client_get_dvm(struct dvm_client *c, dvm_done_fn *on_done, void *arg, struct err *err);

/* The time of the last line of the stream, wall clock in ms; 0: none yet. */
int64_t dvm_client_heard_wall_ms(const struct dvm_client *c);
/* The time since then; 0: none yet. */
uint64_t dvm_client_silent_ms(const struct dvm_client *c);

#endif
