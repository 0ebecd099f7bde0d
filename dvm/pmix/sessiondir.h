/* SPDX-License-Identifier: BSD-3-Clause */
/* Directories of a job under the daemon's session directory: made and removed without following
 * links. */
#ifndef DVM_PMIX_SESSIONDIR_H
#define DVM_PMIX_SESSIONDIR_H

#include "base/err/err.h"

#include <sys/types.h>

/* Makes <base>/<name> with mode 0700 for uid and gid. What a former life of the daemon left under
 * that name is removed first. `name` is one path component. err->code is an errno value. */
int sessiondir_make(const char *base, const char *name, uid_t uid, gid_t gid, struct err *err)
    __attribute__((warn_unused_result));
/* Removes <base>/<name> and all below; never leaves it by a link, never crosses more than
 * SESSIONDIR_DEPTH_MAX levels (then -1, the rest stays). Absent is fine. */
#define SESSIONDIR_DEPTH_MAX 64
int sessiondir_remove(const char *base, const char *name, struct err *err)
    __attribute__((warn_unused_result));

#endif
