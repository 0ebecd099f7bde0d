/* SPDX-License-Identifier: BSD-3-Clause */
/* A short report about a schedule that has failed. */
#ifndef DVM_SIM_TEST_EXPLAIN_H
#define DVM_SIM_TEST_EXPLAIN_H

#include "dvm/sim/script.h"

/* Prints what failed, how to see all of it, and the last lines of the trace that concern the vpids,
 * jobs and campaigns that are named; runs the schedule again for that, in another process. */
void explain(const struct script_opts *o, const struct script_result *r);

#endif
