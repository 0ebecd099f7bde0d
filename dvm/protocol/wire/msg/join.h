/* SPDX-License-Identifier: BSD-3-Clause */
/* HELLO, WELCOME, REFUSE: the first messages on a link. The daemon that has opened the connection
 * sends HELLO; the other one answers with WELCOME or REFUSE. */
#ifndef DVM_WIRE_MSG_JOIN_H
#define DVM_WIRE_MSG_JOIN_H

#include "dvm/protocol/wire/msg/fields.h"

#define RADIX_MIN 2
#define RADIX_MAX 1024

enum hello_why {
    HELLO_JOIN,   /* a new daemon calls the head */
    HELLO_LINK,   /* a member calls its parent in the tree */
    HELLO_RESUME, /* a member calls another daemon, because its parent is out of reach */
    HELLO_WHYS
};

struct msg_hello {
    enum hello_why why;
    char *cluster;
    struct msg_member self; /* the caller; without an epoch if it joins */
    uint64_t version;       /* last broadcast that the caller has processed */
    char *cpus;             /* of a caller that joins: its CPUs (dvm/protocol/map/topo.h) */
};
MSG_CODEC(hello);
MSG_OWNED(hello);

struct msg_welcome {
    uint32_t radix;
    struct epoch epoch;     /* of the caller */
    struct msg_member self; /* the daemon that answers */
};
MSG_CODEC(welcome);
MSG_OWNED(welcome);

enum refuse_why {
    REFUSE_RETRY,      /* not now: try again later */
    REFUSE_EPOCH_OVER, /* the caller's epoch has ended */
    REFUSE_LEFT,  /* the caller was removed while it was disconnected, or its grow has failed */
    REFUSE_NEVER, /* another cluster, a wrong role: a mistake of configuration */
    REFUSE_WHYS
};

struct msg_refuse {
    enum refuse_why why;
    char *text;
};
MSG_CODEC(refuse);
MSG_OWNED(refuse);

/* -1 and a reason unless this radix is allowed for trees. */
int msg_check_radix(uint32_t radix, struct err *err) __attribute__((warn_unused_result));

#endif
