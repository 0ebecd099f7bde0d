/* SPDX-License-Identifier: BSD-3-Clause */
/* RECORDS_ASK: a new head to a member that has called it: which records it keeps (answer: KEPT), or
 * all that it keeps (answer: RECORDS), or which members it knows (answer: TABLE). */
#ifndef DVM_WIRE_MSG_RECORDS_ASK_H
#define DVM_WIRE_MSG_RECORDS_ASK_H

#include "dvm/protocol/wire/msg/fields.h"

struct msg_records_ask {
    bool all;
    bool table;
};
MSG_CODEC(records_ask);

#endif

#ifdef MSG_ROW
MSG_ROW(RECORDS_ASK, records_ask, records_ask, nothing, ON_LINK)
#endif
