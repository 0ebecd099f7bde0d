/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams that are open for hours and have few bytes, by libevent's HTTP client: one TLS context
 * for all, and some KB for each. */
#ifndef OPERATOR_HTTP_QUIET_H
#define OPERATOR_HTTP_QUIET_H

#include "base/err/err.h"
#include "base/loop/loop.h"
#include "operator/http/http.h"

/* The event loop, the TLS context and the lookups of names, which all streams share. */
struct quiets;
struct quiets *quiets_create(struct loop *loop, struct err *err);
void quiets_destroy(struct quiets *all); /* after its streams; NULL is ignored */

/* These callbacks are called from inside libevent's client. They only record, and call no function
 * of a stream. */
struct quiet_sink {
    void (*on_head)(int status, uint64_t retry_after_ms, void *arg);
    void (*on_data)(const void *data, size_t len, void *arg); /* whole chunks of the body */
    void (*on_input)(void *arg);                              /* bytes have come from the server */
    void (*on_ready)(void *arg); /* quiet_go_on() is to be called soon */
    void *arg;
};

struct quiet;
/* GET without a body. The peer's texts are borrowed for the life of the stream. */
struct quiet *quiet_start(struct quiets *all, const struct http_call_opts *opts,
                          const struct quiet_sink *sink, struct err *err);
void quiet_destroy(struct quiet *q); /* NULL is ignored */
/* 1: the answer is whole; 0: the stream goes on; -1: it is broken. */
int quiet_go_on(struct quiet *q, struct err *err) __attribute__((warn_unused_result));

#endif
