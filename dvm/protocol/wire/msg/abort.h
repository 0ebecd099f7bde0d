/* SPDX-License-Identifier: BSD-3-Clause */
/* ABORT: to the head. A rank on the sender has called PMIx_Abort for its job. */
#ifndef DVM_WIRE_MSG_ABORT_H
#define DVM_WIRE_MSG_ABORT_H

#include "dvm/protocol/wire/msg/fields.h"

struct msg_abort {
    char *nspace;
    uint32_t rank;
    int32_t code; /* as given by the rank */
    char *text;
};
MSG_CODEC(abort);
MSG_OWNED(abort);

#endif

#ifdef MSG_ROW
MSG_ROW(ABORT, abort, abort, abort, ROUTED)
#endif
