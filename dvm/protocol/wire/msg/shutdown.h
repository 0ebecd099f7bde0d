/* SPDX-License-Identifier: BSD-3-Clause */
/* SHUTDOWN: a broadcast of the head (add.h). The DVM, or this incarnation of the head, ends. */
#ifndef DVM_WIRE_MSG_SHUTDOWN_H
#define DVM_WIRE_MSG_SHUTDOWN_H

#include "dvm/protocol/wire/msg/fields.h"

enum shutdown_why { SHUTDOWN_DVM, SHUTDOWN_INCARNATION, SHUTDOWN_WHYS };

struct msg_shutdown {
    uint64_t op;
    enum shutdown_why why;
    char *text;
};
MSG_CODEC(shutdown);
MSG_OWNED(shutdown);

#endif

#ifdef MSG_ROW
MSG_ROW(SHUTDOWN, shutdown, shutdown, shutdown, NUMBERED)
#endif
