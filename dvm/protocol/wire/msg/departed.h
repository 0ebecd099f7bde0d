/* SPDX-License-Identifier: BSD-3-Clause */
/* LEFT, GONE: a daemon that has left the DVM. */
#ifndef DVM_WIRE_MSG_DEPARTED_H
#define DVM_WIRE_MSG_DEPARTED_H

#include "dvm/protocol/wire/msg/target.h"

struct msg_departed {
    struct msg_target who;
    bool link_closed; /* false: it has processed the removal that names it */
};
MSG_CODEC(departed);

#endif
