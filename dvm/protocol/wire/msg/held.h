/* SPDX-License-Identifier: BSD-3-Clause */
/* HELD: to the head, when all ranks on the sender that are to stop for a debugger have stopped, and
 * again when none of them is stopped any more. */
#ifndef DVM_WIRE_MSG_HELD_H
#define DVM_WIRE_MSG_HELD_H

#include "dvm/protocol/wire/msg/fields.h"

struct msg_held {
    char *nspace;
    uint32_t nstopped; /* ranks that are stopped on the sender */
};
MSG_CODEC(held);
MSG_OWNED(held);

#endif

#ifdef MSG_ROW
MSG_ROW(HELD, held, held, held, ROUTED)
#endif
