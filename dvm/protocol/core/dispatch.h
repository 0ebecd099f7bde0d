/* SPDX-License-Identifier: BSD-3-Clause */
/* Which function takes which message. Each module of the core has one table of its handlers; the
 * tables are joined in dispatch.c, and nowhere else is a message's type looked at to find who takes
 * it. Comes in: a decoded message and its header. Goes out: the call of one handler, or a line in
 * the log and nothing else.
 *
 * Messages between neighbours (types before MSG_ROUTED) come with the link that has carried them,
 * and are taken in the states of the link that their row names. One without a row, or in another
 * state, is ignored: it was a sign that the peer is there, no more.
 *
 * Routed messages come with the header that names their source. A message that the head alone sends
 * is taken from the head alone. One without a row is for the head: there it goes to head_msg(), any
 * other daemon logs it.
 *
 * A handler may take what it needs out of the message; the caller frees the rest. */
#ifndef DVM_CORE_DISPATCH_H
#define DVM_CORE_DISPATCH_H

#include "dvm/protocol/wire/msg/msg.h"

struct core;
struct link;

enum link_when {
    LINK_WHEN_ANY = 1, /* ends a table if it is zero */
    LINK_WHEN_GREETED, /* both sides have greeted; the link is up or closing */
    LINK_WHEN_REFUSED, /* our REFUSE is on its way */
};

struct link_handler { /* a table ends with an entry of zeros */
    enum msg_type type;
    enum link_when when;
    void (*take)(struct core *c, struct link *k, struct msg *m);
};

enum sender { SENDER_ANY = 1, SENDER_HEAD };

struct routed_handler { /* a table ends with an entry of zeros */
    enum msg_type type;
    enum sender sender;
    void (*take)(struct core *c, const struct frame *f, struct msg *m);
};

void dispatch_link(struct core *c, struct link *k, struct msg *m);
void dispatch_routed(struct core *c, const struct frame *f, struct msg *m);

#endif
