/* SPDX-License-Identifier: BSD-3-Clause */
/* Directories of jobs under the daemon's session directory: made, and found again after a crash.
 */
#ifndef DVM_PMIX_SESSIONDIR_H
#define DVM_PMIX_SESSIONDIR_H

#include "base/err/err.h"

#include <sys/types.h>

/* Makes <base>/<name> with mode 0700 for uid and gid. `name` is one path component. An existing
 * directory of that user is used; anything else of that name is an error, EEXIST. err->code is
 * an errno value. */
int sessiondir_make(const char *base, const char *name, uid_t uid, gid_t gid, struct err *err)
    __attribute__((warn_unused_result));
/* Directories that an earlier incarnation of the daemon has left in `base`: calls found() for
 * each of ours that has the name of a job, "<incarnation>.<number>". */
void sessiondir_leftovers(const char *base, void (*found)(const char *path, void *arg), void *arg);

#endif
