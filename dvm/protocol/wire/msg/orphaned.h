/* SPDX-License-Identifier: BSD-3-Clause */
/* ORPHANED: the head to the parent of `who`. A child of `who` has no link to it, and has called the
 * head. */
#ifndef DVM_WIRE_MSG_ORPHANED_H
#define DVM_WIRE_MSG_ORPHANED_H

#include "dvm/protocol/wire/msg/target.h"

struct msg_orphaned {
    struct msg_target who;
};
MSG_CODEC(orphaned);

#endif

#ifdef MSG_ROW
MSG_ROW(ORPHANED, orphaned, orphaned, nothing, ROUTED)
#endif
