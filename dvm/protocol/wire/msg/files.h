/* SPDX-License-Identifier: BSD-3-Clause */
/* FILES: to the submitter's daemon. The job's files go to these daemons now. A daemon that has
 * them, and whose ranks can start, sends READY. */
#ifndef DVM_WIRE_MSG_FILES_H
#define DVM_WIRE_MSG_FILES_H

#include "dvm/protocol/wire/msg/target.h"

struct msg_files {
    char *nspace;
    uint32_t client;
    size_t ntargets;
    struct msg_target *targets;
};
MSG_CODEC(files);
MSG_OWNED(files);

#endif

#ifdef MSG_ROW
MSG_ROW(FILES, files, files, files, ROUTED)
#endif
