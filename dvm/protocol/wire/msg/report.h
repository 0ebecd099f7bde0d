/* SPDX-License-Identifier: BSD-3-Clause */
/* REPORT: to the head, after each removal, or a snapshot that replaces it, and first in answer to
 * ASK. To a new head again, after all that the sender has to repeat: with `all`, and its CPUs. */
#ifndef DVM_WIRE_MSG_REPORT_H
#define DVM_WIRE_MSG_REPORT_H

#include "dvm/protocol/wire/msg/fields.h"

struct msg_report {
    uint64_t version;
    uint32_t repairs;
    bool all;   /* the sender's jobs and the questions of its clients came before */
    char *cpus; /* with `all` (dvm/protocol/map/topo.h); "": not known */
};
MSG_CODEC(report);
MSG_OWNED(report);

#endif

#ifdef MSG_ROW
MSG_ROW(REPORT, report, report, report, ROUTED)
#endif
