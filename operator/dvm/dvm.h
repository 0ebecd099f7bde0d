/* SPDX-License-Identifier: BSD-3-Clause */
/* Client of one head's control API: mutual TLS as role operator, resumable event stream. */
#ifndef OPERATOR_DVM_DVM_H
#define OPERATOR_DVM_DVM_H

#include "api/dvm.h"
#include "api/event.h"
#include "api/size.h"
#include "base/loop/loop.h"
#include "operator/http/http.h"

struct dvm_client;
struct dvm_client_opts {
    const char *host; /* the name that the head's certificate is checked against: x-head.ns.svc */
    const char *connect; /* NULL, or "address:port" to connect to instead (tests, development) */
    uint16_t port;
    struct http *http; /* NULL: one of its own; otherwise shared with others, borrowed for the
                          client's life */
    const char *ca_pem;
    const char *cert_pem;
    const char *key_pem;
    /* Every event once, in order, while the stream lives; of a type that is not known here: none.
     * The callbacks may destroy the client. */
    void (*on_event)(const struct api_event *e, void *arg);
    /* The stream came up (up = true; what was missed has to be read by dvm_client_get_dvm), or
     * broke, or could not be had at first (later failures are not reported). */
    void (*on_link)(bool up, const char *why, void *arg);
    void *arg;
};
/* Starts to follow the event stream at once; reconnects with back-off (0.2 s to 10 s), resolves the
 * name anew at each attempt, resumes by (incarnation, number). All texts are copied. */
struct dvm_client *dvm_client_create(struct loop *loop, const struct dvm_client_opts *opts,
                                     struct err *err);
void dvm_client_destroy(struct dvm_client *c); /* answers still due are not called */
/* Forgets the back-off: try to connect now. */
void dvm_client_poke(struct dvm_client *c);

/* Each ends once by on_done; `status` is the HTTP status, 0 if the head gave no answer within 10 s.
 */
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

#endif
