/* SPDX-License-Identifier: BSD-3-Clause */
/* STAGE, STAGED: the files of a job on their way to its daemons. START follows when all have them.
 */
#ifndef DVM_WIRE_MSG_FILES_H
#define DVM_WIRE_MSG_FILES_H

#include "dvm/protocol/wire/msg/fields.h"

struct msg_stage { /* to the submitter's daemon: the files go to these daemons now */
    char *nspace;
    uint32_t client;
    size_t ntargets;
    struct msg_target *targets;
};
MSG_CODEC(stage);
MSG_OWNED(stage);

struct msg_staged { /* to the head: the files are on the sender, or will not be */
    char *nspace;
    int errnum; /* 0: they are */
    char *why;  /* else: why not */
};
MSG_CODEC(staged);
MSG_OWNED(staged);

#endif
