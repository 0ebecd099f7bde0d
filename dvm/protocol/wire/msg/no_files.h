/* SPDX-License-Identifier: BSD-3-Clause */
/* NO_FILES: to the head. The job's files cannot be put on the sender; or its client cannot send
 * them: it has sent them to other daemons; or the sender has ended the job already. */
#ifndef DVM_WIRE_MSG_NO_FILES_H
#define DVM_WIRE_MSG_NO_FILES_H

#include "dvm/protocol/wire/msg/fields.h"

#define NO_FILES_TO_SEND 0 /* under a former head the files were sent, or the job has ended */

struct msg_no_files {
    char *nspace;
    int errnum; /* or NO_FILES_TO_SEND */
    char *why;  /* the step that failed */
};
MSG_CODEC(no_files);
MSG_OWNED(no_files);

#endif

#ifdef MSG_ROW
MSG_ROW(NO_FILES, no_files, no_files, no_files, ROUTED)
#endif
