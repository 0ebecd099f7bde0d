/* SPDX-License-Identifier: BSD-3-Clause */
/* Cleanups that a killed spawner has left in its session directory. */
#ifndef DVM_SPAWNER_LEFTOVERS_H
#define DVM_SPAWNER_LEFTOVERS_H

#include <sys/types.h>

#define LEFTOVERS_MS 60000 /* limit of time for the paths of one directory */

/* Starts a child that removes the paths named in the files of clean_journal.h in `dir`, and then
 * these files. Files whose spawner lives are left alone. The child ends after LEFTOVERS_MS at
 * the latest; then the rest stays until the next call, or for good if the caller removes `dir`.
 * Returns its pid, 0: there is nothing to do, or no child can be created. */
pid_t leftovers_start(const char *dir);

#endif
