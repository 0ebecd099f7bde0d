/* SPDX-License-Identifier: BSD-3-Clause */
/* HELLO: the first message of the daemon that has opened a connection. The other daemon answers
 * with WELCOME or REFUSE. */
#ifndef DVM_WIRE_MSG_HELLO_H
#define DVM_WIRE_MSG_HELLO_H

#include "dvm/protocol/wire/msg/member.h"

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
    /* The session of the frames (dvm/protocol/peer) that this connection is to continue. */
    uint64_t session;  /* 0: a new one */
    uint64_t received; /* all frames of it up to this number have arrived */
    uint32_t number;   /* of this connection in the session, counted by the caller */
    bool alone;        /* the caller has no other connection in the session */
};
MSG_CODEC(hello);
MSG_OWNED(hello);

#endif

#ifdef MSG_ROW
MSG_ROW(HELLO, hello, hello, hello, ON_LINK)
#endif
