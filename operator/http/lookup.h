/* SPDX-License-Identifier: BSD-3-Clause */
/* Host names to addresses, by the C library's resolver, without blocking the loop. */
#ifndef OPERATOR_HTTP_LOOKUP_H
#define OPERATOR_HTTP_LOOKUP_H

#include "base/err/err.h"
#include "base/loop/loop.h"

#include <stdint.h>

struct addrinfo;
struct lookups;
struct lookups *lookups_create(struct loop *loop);
/* Cancels all lookups, whose threads may go on for a while. NULL is ignored. */
void lookups_destroy(struct lookups *all);

struct lookup;
/* `list` is the callee's, which frees it by freeaddrinfo(). NULL: `why` is a literal with the
 * reason. */
typedef void lookup_fn(struct addrinfo *list, const char *why, void *arg);
/* Calls on_done once, in a later turn of the loop, after which the handle is invalid. NULL and err:
 * no thread can be started. */
struct lookup *lookup_start(struct lookups *all, const char *host, uint16_t port,
                            lookup_fn *on_done, void *arg, struct err *err);
void lookup_cancel(struct lookup *l); /* on_done is not called; NULL is ignored */

#endif
