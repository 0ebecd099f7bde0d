/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits for a local DVM: for the head's ports, and until members are wired. */
#ifndef DVM_LDVM_READY_H
#define DVM_LDVM_READY_H

#include "dvm/tools/cli/conn.h"
#include "dvm/tools/ldvm/procs.h"

/* Two connections to the head: events on one, calls on the other. */
struct ldvm_head {
    struct cli_conn *events;
    struct cli_conn *calls;
};
/* The event stream is open on return, so a later GET /v1/dvm and the stream together miss no
 * event. */
int ldvm_head_open(const char *dir, struct ldvm_head *h, struct err *err)
    __attribute__((warn_unused_result));
void ldvm_head_close(struct ldvm_head *h); /* also the cleanup attribute's function */
#define LDVM_HEAD_AUTO __attribute__((cleanup(ldvm_head_close)))

/* Begins the limit of one call of the head, with a notice. */
struct cli_limit ldvm_call_limit(void);

/* An error, described in err: a daemon ended, a signal came, or the time has passed. */
int ldvm_wait_ports(struct procs *p, const char *dir, struct ldvm_ports *out, struct err *err)
    __attribute__((warn_unused_result));
int ldvm_wait_wired(struct procs *p, struct ldvm_head *h, uint32_t members, struct err *err)
    __attribute__((warn_unused_result));

#endif
