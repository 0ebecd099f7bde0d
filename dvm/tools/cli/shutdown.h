/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends a DVM. */
#ifndef DVM_CLI_SHUTDOWN_H
#define DVM_CLI_SHUTDOWN_H

#include "dvm/tools/cli/conn.h"

#include <stdint.h>

/* Sends PUT /v1/shutdown and waits until the head has ended, which closes the connection. Jobs
 * that still run after deadline_s seconds are ended. */
int cli_shutdown(struct cli_conn *c, int64_t deadline_s, struct err *err)
    __attribute__((warn_unused_result));

#endif
