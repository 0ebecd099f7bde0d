/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends a DVM. */
#ifndef DVM_CLI_SHUTDOWN_H
#define DVM_CLI_SHUTDOWN_H

#include "dvm/tools/cli/conn.h"

#include <stdint.h>

/* Time for the head to answer, and for the DVM to end after the jobs' deadline. One hung daemon at
 * the default limits of faults needs 21 s: it is lost after up to one and a half times the silence,
 * and the link grace. */
#define CLI_SHUTDOWN_MS 30000

/* Sends PUT /v1/shutdown and waits for the answer; jobs that still run after deadline_s seconds are
 * ended. `l` has begun with CLI_SHUTDOWN_MS; after the answer it is later by the deadline. */
int cli_shutdown_ask(struct cli_conn *c, int64_t deadline_s, struct cli_limit *l, struct err *err)
    __attribute__((warn_unused_result));
/* Waits until the head has ended, which closes the connection. -1: the limit has passed
 * (ETIMEDOUT), or a fault. */
int cli_shutdown_wait(struct cli_conn *c, struct cli_limit *l, struct err *err)
    __attribute__((warn_unused_result));

#endif
