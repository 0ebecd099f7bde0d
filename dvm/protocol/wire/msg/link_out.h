/* SPDX-License-Identifier: BSD-3-Clause */
/* LINK_OUT: one of the connections between two neighbours fails in at least one direction. It is
 * sent over another one. The receiver maps the connection out too. */
#ifndef DVM_WIRE_MSG_LINK_OUT_H
#define DVM_WIRE_MSG_LINK_OUT_H

#include "dvm/protocol/wire/msg/fields.h"

struct msg_link_out {
    uint32_t number; /* of the connection, by its HELLO */
    bool closed;     /* the sender has closed it */
};
MSG_CODEC(link_out);

#endif

#ifdef MSG_ROW
MSG_ROW(LINK_OUT, link_out, link_out, nothing, NUMBERED)
#endif
