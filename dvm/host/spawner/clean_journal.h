/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of a spawner that names the paths which it keeps for cleanup (docs/cleanup.md). */
#ifndef DVM_SPAWNER_CLEAN_JOURNAL_H
#define DVM_SPAWNER_CLEAN_JOURNAL_H

#include "dvm/host/spawner/spawn_msg.h"

#include <stddef.h>
#include <stdint.h>

#define CLEAN_JOURNAL_NAME "cleanups-" /* in the session directory; token and number follow */
#define CLEAN_JOURNAL_BYTES_MAX ((size_t)256 << 20) /* further bytes are not read */

/* Borrows `dir`, the session directory, until clean_journal_destroy(). No file is made before the
 * first path. With an empty `dir` no file is made at all. */
struct clean_journal;
struct clean_journal *clean_journal_create(const char *dir, uint64_t token);
/* Closes the file and removes it. */
void clean_journal_destroy(struct clean_journal *j);

/* The path is kept for this scope, with flags of remove.h; the last flags of a path count. */
void clean_journal_path(struct clean_journal *j, uint64_t scope, unsigned flags, const char *path);
/* The paths of the scope have been removed. */
void clean_journal_done(struct clean_journal *j, uint64_t scope);
/* No path is kept any more. */
void clean_journal_clear(struct clean_journal *j);
/* Records in the file. A new file begins without them: the caller repeats the paths that it still
 * keeps, then calls clean_journal_renewed(), which removes the former file. False: no new file
 * could be made, and the former one goes on. */
size_t clean_journal_records(const struct clean_journal *j);
void clean_journal_renew(struct clean_journal *j);
bool clean_journal_renewed(struct clean_journal *j);
/* The ranks run, and will be known to run or to have ended within `ms`. */
void clean_journal_alive(struct clean_journal *j, uint64_t now_ms, uint32_t ms);

/* Calls take() for each whole record, a CLEAN_ADD or a CLEAN_RUN, up to the first damaged one. */
void clean_journal_decode(const uint8_t *data, size_t len,
                          void (*take)(const struct spawn_cmd *c, void *arg), void *arg);
/* The same for a file. The lock of the file is taken: -1: its spawner lives, or it is no file of
 * this user's. */
int clean_journal_read(int fd, void (*take)(const struct spawn_cmd *c, void *arg), void *arg);

#endif
