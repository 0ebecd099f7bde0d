/* SPDX-License-Identifier: BSD-3-Clause */
/* The values of --map-by, --rank-by and --bind-to, for prun and PMIx_Spawn alike. Pure. */
#ifndef DVM_MAP_POLICY_H
#define DVM_MAP_POLICY_H

#include "base/err/err.h"
#include "dvm/protocol/wire/job.h"

/* "slot", "numa", "ppr:2:core", each with ":pe=N", ":oversubscribe", ":nolocal" (several
 * modifiers between commas or colons). */
int policy_map_by(const char *text, struct job_spec *s, struct err *err)
    __attribute__((warn_unused_result));
int policy_rank_by(const char *text, struct job_spec *s, struct err *err)
    __attribute__((warn_unused_result));
int policy_bind_to(const char *text, struct job_spec *s, struct err *err)
    __attribute__((warn_unused_result));
/* Checks that the policies fit together; call it after all of them are parsed. */
int policy_check(const struct job_spec *s, struct err *err) __attribute__((warn_unused_result));
/* Writes them as options take them: "map-by ppr:2:numa:pe=2, rank-by fill, bind-to core"; only
 * given ones. */
char *policy_text(const struct job_spec *s);

/* Parses the policy for a failed rank, as for --rtos. Adds the values of "a,b" to *words; -1 and a
 * reason: unknown values. */
#define POLICY_RECOVERABLE 1u
#define POLICY_ABORT 2u
#define POLICY_STRICT 4u
int policy_rtos(const char *text, unsigned *words, struct err *err)
    __attribute__((warn_unused_result));
/* -1: the values contradict each other, and nothing is set. */
int policy_rtos_set(unsigned words, struct job_spec *s, struct err *err)
    __attribute__((warn_unused_result));

#endif
