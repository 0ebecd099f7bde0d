/* SPDX-License-Identifier: BSD-3-Clause */
/* The fields of a message without fields. */
#ifndef DVM_WIRE_MSG_NONE_H
#define DVM_WIRE_MSG_NONE_H

#include "dvm/protocol/wire/msg/fields.h"

struct msg_none {
    char unused;
};
MSG_CODEC(none);

#endif
