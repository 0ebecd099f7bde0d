/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of handlers: one function for each message.
 *
 * In: a decoded message and its header. Out: the call of one handler, or only a line in the log.
 * Each module of the core has one table of its handlers. dispatch.c joins them; no other file looks
 * at a message's type to find its receiver.
 *
 * Messages between neighbours (those that msg_is_routed() denies) come with the neighbour that sent
 * them. Their row names the states of the neighbour in which they are handled. Without a row, or in
 * another state, such a message only shows that the peer is alive.
 *
 * Routed messages come with the header that names their source. A message without a row is for the
 * head: head_msg() gets it there, and any other daemon logs it. origin.h has the table of the
 * daemons that may send each message; it is applied before, where a frame enters.
 *
 * A handler may take content out of the message; the caller frees the rest. */
#ifndef DVM_CORE_DISPATCH_H
#define DVM_CORE_DISPATCH_H

#include "dvm/protocol/wire/msg/msg.h"

struct core;
struct neighbour;

enum neighbour_when {
    NEIGHBOUR_WHEN_ANY = 1, /* ends a table if it is zero */
    NEIGHBOUR_WHEN_GREETED, /* both sides have greeted: it is up or closing */
    NEIGHBOUR_WHEN_REFUSED, /* our REFUSE has been sent */
};

struct neighbour_handler { /* a table ends with an entry of zeros */
    enum msg_type type;
    enum neighbour_when when;
    void (*take)(struct core *c, struct neighbour *k, struct msg *m);
};

struct routed_handler { /* a table ends with an entry of zeros */
    enum msg_type type;
    void (*take)(struct core *c, const struct frame *f, struct msg *m);
};

void dispatch_neighbour(struct core *c, struct neighbour *k, struct msg *m);
void dispatch_routed(struct core *c, const struct frame *f, struct msg *m);

#endif
