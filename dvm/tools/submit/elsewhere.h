/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection to another daemon of the same host name, after one that takes no jobs now. */
#ifndef DVM_SUBMIT_ELSEWHERE_H
#define DVM_SUBMIT_ELSEWHERE_H

#include "dvm/tools/cli/conn.h"

#include <stdint.h>

/* The daemon at where->address has answered AWAY. Tries the other addresses of where->host, then
 * all of them again, at intervals from 100 ms to 2 s, until the time `until` of submit_now_ms().
 * NULL: none has answered in time, and the reason that is in *err stays; EINTR: `signals` is
 * readable; EACCES: certificates are the reason. */
struct cli_conn *elsewhere_connect(struct cli_where *where, int signals, int64_t until,
                                   struct err *err);

#endif
