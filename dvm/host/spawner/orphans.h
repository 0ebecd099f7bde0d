/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends what the ranks of a spawner have left when that is gone itself. */
#ifndef DVM_SPAWNER_ORPHANS_H
#define DVM_SPAWNER_ORPHANS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Nobody is their ancestor any more, so they are looked for among all processes: by the mark that
 * the spawner with this token has put into their environment; without a readable mark by their
 * session, `sids` being those of the ranks. Kills them, and looks until they are gone, for
 * timeout_ms at most. Returns how many are left. */
size_t orphans_end(uint64_t token, const pid_t *sids, size_t nsids, int timeout_ms);

#endif
