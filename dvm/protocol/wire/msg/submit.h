/* SPDX-License-Identifier: BSD-3-Clause */
/* SUBMIT: to the head. A client of the sender submits a job. */
#ifndef DVM_WIRE_MSG_SUBMIT_H
#define DVM_WIRE_MSG_SUBMIT_H

#include "dvm/protocol/wire/msg/fields.h"

struct msg_submit {
    uint32_t client; /* at the sender */
    struct job_spec spec;
};
MSG_CODEC(submit);
MSG_OWNED(submit);

#endif

#ifdef MSG_ROW
MSG_ROW(SUBMIT, submit, submit, submit, ROUTED)
#endif
