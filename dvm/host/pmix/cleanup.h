/* SPDX-License-Identifier: BSD-3-Clause */
/* The rules of cleanup requests (docs/cleanup.md): a request is read, checked against the
 * registered ones, and kept. Pure: the caller removes files. */
#ifndef DVM_PMIX_CLEANUP_H
#define DVM_PMIX_CLEANUP_H

#include "dvm/protocol/wire/job.h"

#include <pmix_common.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLEANUP_PATHS_MAX 1024 /* of one request, and of one scope */

/* A path with the flags of dvm/host/spawner/remove.h. */
struct cleanup_path {
    char *path;
    unsigned flags;
};

/* The contents of one request. */
struct cleanup_req {
    struct cleanup_path *paths;
    size_t n;
};

/* True for the keys of cleanup requests. */
bool cleanup_is_key(const pmix_info_t *info);
/* The request among these directives, n == 0 if there is none; other keys are passed over.
 * PMIX_ERR_BAD_PARAM: a path that is not absolute, leads up by "..", is the root, too long or no
 * string; PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES: a path both to be removed and ignored;
 * PMIX_ERR_OUT_OF_RESOURCE: too many. Then nothing is left allocated. */
pmix_status_t cleanup_req_read(const pmix_info_t *info, size_t ninfo, struct cleanup_req *out);
/* From a job's description, which has been checked. */
struct cleanup_req cleanup_req_of(const struct job_cleanup *cleanups, size_t n);
void cleanup_req_free(struct cleanup_req *r);

/* The one spelling of a path, on the heap; NULL: the path is not allowed. */
char *cleanup_normal(const char *path);

/* The paths registered for the end of one process, or of a job's processes here. */
struct cleanup_known;
struct cleanup_scope {
    uint64_t id; /* for the spawner */
    struct cleanup_known *known;
};
/* Whether the scope can take the request as a whole: else PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES
 * or PMIX_ERR_OUT_OF_RESOURCE. */
pmix_status_t cleanup_check(const struct cleanup_scope *s, const struct cleanup_req *r);
/* Adds a request that was checked; calls changed() for each path that is new or has other flags. */
void cleanup_take(struct cleanup_scope *s, const struct cleanup_req *r,
                  void (*changed)(uint64_t scope, unsigned flags, const char *path, void *arg),
                  void *arg);
void cleanup_scope_clear(struct cleanup_scope *s);

#endif
