/* SPDX-License-Identifier: BSD-3-Clause */
/* REPORT: to the head, after each removal, or a snapshot that replaces it, and first in answer to
 * ASK. */
#ifndef DVM_WIRE_MSG_REPORT_H
#define DVM_WIRE_MSG_REPORT_H

#include "dvm/protocol/wire/msg/fields.h"

struct msg_report {
    uint64_t version;
    uint32_t repairs;
};
MSG_CODEC(report);

#endif

#ifdef MSG_ROW
MSG_ROW(REPORT, report, report, nothing, ROUTED)
#endif
