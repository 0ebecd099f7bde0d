/* SPDX-License-Identifier: BSD-3-Clause */
/* The fields of PING, and of PONG, its answer on the same connection. */
#ifndef DVM_WIRE_MSG_PROBE_H
#define DVM_WIRE_MSG_PROBE_H

#include "dvm/protocol/wire/msg/fields.h"

struct msg_probe {
    uint64_t sent_ms; /* time of the PING by its sender's clock; the answer has the same */
};
MSG_CODEC(probe);

#endif
