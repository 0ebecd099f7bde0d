/* SPDX-License-Identifier: BSD-3-Clause */
/* FILES, NO_FILES: the files of a job on their way to its daemons. A daemon that has them, and
 * whose ranks can start, sends READY. */
#ifndef DVM_WIRE_MSG_FILES_H
#define DVM_WIRE_MSG_FILES_H

#include "dvm/protocol/wire/msg/fields.h"

struct msg_files { /* to the submitter's daemon: the files go to these daemons now */
    char *nspace;
    uint32_t client;
    size_t ntargets;
    struct msg_target *targets;
};
MSG_CODEC(files);
MSG_OWNED(files);

struct msg_no_files { /* to the head: they cannot be put on the sender */
    char *nspace;
    int errnum;
    char *why; /* the step that failed */
};
MSG_CODEC(no_files);
MSG_OWNED(no_files);

#endif
