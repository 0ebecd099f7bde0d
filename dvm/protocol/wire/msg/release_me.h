/* SPDX-License-Identifier: BSD-3-Clause */
/* RELEASE_ME: to the head. The sender asks to leave the DVM. */
#ifndef DVM_WIRE_MSG_RELEASE_ME_H
#define DVM_WIRE_MSG_RELEASE_ME_H

#include "dvm/protocol/wire/msg/fields.h"

struct msg_release_me {
    int64_t deadline_s; /* time until it has to leave; -1: no limit */
    bool kill;          /* its jobs are ended at once */
};
MSG_CODEC(release_me);

#endif

#ifdef MSG_ROW
MSG_ROW(RELEASE_ME, release_me, release_me, nothing, ROUTED)
#endif
