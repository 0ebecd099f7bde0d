/* SPDX-License-Identifier: BSD-3-Clause */
/* ADD, REMOVE, SHUTDOWN: the broadcasts of the head, numbered from 1 without a gap. Every daemon
 * processes each of them once and in order. SNAPSHOT replaces all of them up to a number; XACK
 * acknowledges them. */
#ifndef DVM_WIRE_MSG_MEMBERSHIP_H
#define DVM_WIRE_MSG_MEMBERSHIP_H

#include "dvm/protocol/wire/msg/fields.h"

struct msg_add { /* daemons that become members */
    uint64_t op;
    size_t nmembers;
    struct msg_member *members;
};
MSG_CODEC(add);
MSG_OWNED(add);

enum remove_why { REMOVE_SHRINK, REMOVE_LOST, REMOVE_WHYS };

struct msg_remove { /* members that leave or are lost */
    uint64_t op;
    enum remove_why why;
    size_t ntargets;
    struct msg_target *targets;
    char *text; /* of a shrink: its campaign; of a loss: the cause */
};
MSG_CODEC(remove);
MSG_OWNED(remove);

enum shutdown_why { SHUTDOWN_DVM, SHUTDOWN_INCARNATION, SHUTDOWN_WHYS };

struct msg_shutdown {
    uint64_t op;
    enum shutdown_why why;
    char *text;
};
MSG_CODEC(shutdown);
MSG_OWNED(shutdown);

struct msg_snapshot {
    uint64_t op; /* all broadcasts up to this one are in the table */
    uint32_t radix;
    const uint8_t *table; /* of members (dvm/protocol/member); borrowed, also after decoding */
    size_t len;
};
MSG_CODEC(snapshot);

struct msg_xack { /* the sender's whole subtree in the tree of `op` has processed `op` */
    uint64_t op;
};
MSG_CODEC(xack);

#endif
