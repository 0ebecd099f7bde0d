/* SPDX-License-Identifier: BSD-3-Clause */
/* LEFT, GONE, LOST, RELEASE_ME, REPORT: reports to the head about members that leave, are lost,
 * or have processed its broadcasts. */
#ifndef DVM_WIRE_MSG_DEPARTURE_H
#define DVM_WIRE_MSG_DEPARTURE_H

#include "dvm/protocol/wire/msg/fields.h"

/* LEFT: on the link of a leaving daemon, which has no routes. Parents pass it up until a member
 * turns it into GONE, which goes to the head. */
struct msg_departed {
    struct msg_target who;
    bool link_closed; /* false: it has processed the removal that names it */
};
MSG_CODEC(departed);

struct msg_lost { /* a neighbour departed without BYE, or the sender itself cannot go on */
    struct msg_target who;
    char *why;
};
MSG_CODEC(lost);
MSG_OWNED(lost);

struct msg_release {    /* RELEASE_ME */
    int64_t deadline_s; /* time until it has to leave; -1: no limit */
    bool kill;          /* its jobs are ended at once */
};
MSG_CODEC(release);

/* REPORT: after each removal, or a snapshot that replaces it, and first in answer to ASK. */
struct msg_report {
    uint64_t version;
    uint32_t repairs;
};
MSG_CODEC(report);

#endif
