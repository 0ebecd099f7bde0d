/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends the processes of a spawner's ranks after the spawner itself has ended. */
#ifndef DVM_SPAWNER_ORPHANS_H
#define DVM_SPAWNER_ORPHANS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The processes have no common ancestor any more, so all processes are searched. They are known
 * by the mark that the spawner with this token has put into their environment, or, without a
 * readable environment, by their session (`sids`: those of the ranks). Kills them and searches
 * again until none is left, for timeout_ms at most. Returns the number of remaining processes. */
size_t orphans_end(uint64_t token, const pid_t *sids, size_t nsids, int timeout_ms);

#endif
