/* SPDX-License-Identifier: BSD-3-Clause */
/* Cleanup requests: lists become paths, paths are checked, duplicates merged, contradictions
 * refused. docs/cleanup.md has the rules.
 *
 * In: the attributes of a request, or the cleanups of a job's description; the scope of a process
 * or of a job. Out: the request as paths with flags; changed() for each path that is new in its
 * scope, or whose flags have changed.
 *
 * A request is read and checked against itself (cleanup_req_read()). Then it is checked against a
 * scope (cleanup_check()), and added to it (cleanup_take()).
 *
 * Invariants: a path has one spelling (normal_path()), so two spellings of it count as one. If each
 * request was checked, no path of a scope is both removed and ignored. Recursion and leave-topdir
 * hold for a directory if any request has them, only-empty if all have it.
 *
 * Failures: a request is refused as a whole. PMIX_ERR_BAD_PARAM: a path is not allowed.
 * PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES: a path is to be removed and ignored.
 * PMIX_ERR_OUT_OF_RESOURCE: more than CLEANUP_PATHS_MAX paths in the request or the scope.
 *
 * No file is touched here: jobclean.c passes the paths on, and the spawner removes them. */
#include "dvm/host/pmix/cleanup.h"

#include "base/buf/buf.h"
#include "base/heap/hash.h"
#include "dvm/host/spawner/remove.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct cleanup_known {
    char *path;
    bool file, dir, ignore;
    unsigned dir_flags;
    UT_hash_handle hh;
};

bool cleanup_is_key(const pmix_info_t *i)
{
    return PMIX_CHECK_KEY(i, PMIX_REGISTER_CLEANUP) ||
           PMIX_CHECK_KEY(i, PMIX_REGISTER_CLEANUP_DIR) ||
           PMIX_CHECK_KEY(i, PMIX_CLEANUP_RECURSIVE) || PMIX_CHECK_KEY(i, PMIX_CLEANUP_EMPTY) ||
           PMIX_CHECK_KEY(i, PMIX_CLEANUP_IGNORE) || PMIX_CHECK_KEY(i, PMIX_CLEANUP_LEAVE_TOPDIR);
}

/* One spelling for each path: without "//", "/./" and "/" at the end. NULL: the path is not
 * allowed. */
static char *normal_path(const char *p, size_t len)
{
    char *out = xmalloc(len + 1);
    size_t n = 0;

    if (len == 0 || p[0] != '/' || len >= PATH_MAX)
        goto error;
    for (size_t i = 0; i < len;) {
        size_t name = 0;

        while (i < len && p[i] == '/')
            i++;
        while (i + name < len && p[i + name] != '/')
            name++;
        if (name == 2 && p[i] == '.' && p[i + 1] == '.')
            goto error;
        if (name > 0 && (name > 1 || p[i] != '.')) {
            out[n++] = '/';
            memcpy(out + n, p + i, name);
            n += name;
        }
        i += name;
    }
    if (n == 0)
        goto error;
    out[n] = 0;
    return out;
error:
    free(out);
    return NULL;
}

char *cleanup_normal(const char *path)
{
    return normal_path(path, strlen(path));
}

static pmix_status_t add_list(struct cleanup_req *r, const pmix_value_t *v, unsigned flags)
{
    const char *p;

    if (v->type != PMIX_STRING || !v->data.string || !v->data.string[0])
        return PMIX_ERR_BAD_PARAM;
    p = v->data.string;
    do {
        size_t len = strcspn(p, ",");

        if (r->n >= CLEANUP_PATHS_MAX)
            return PMIX_ERR_OUT_OF_RESOURCE;
        r->paths = xrealloc(r->paths, (r->n + 1) * sizeof(*r->paths));
        r->paths[r->n] = (struct cleanup_path){normal_path(p, len), flags};
        if (!r->paths[r->n++].path)
            return PMIX_ERR_BAD_PARAM;
        p += len;
    } while (*p++ == ',');
    return PMIX_SUCCESS;
}

static bool is_true(const pmix_info_t *i)
{
    return i->value.type == PMIX_UNDEF || PMIX_INFO_TRUE(i);
}

/* The directives of a request are for all of its directories, whatever their order. */
static unsigned read_flags(const pmix_info_t *info, size_t ninfo)
{
    unsigned flags = 0;

    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_CLEANUP_RECURSIVE) && is_true(&info[i]))
            flags |= REMOVE_RECURSIVE;
        if (PMIX_CHECK_KEY(&info[i], PMIX_CLEANUP_LEAVE_TOPDIR) && is_true(&info[i]))
            flags |= REMOVE_LEAVE_TOPDIR;
        if (PMIX_CHECK_KEY(&info[i], PMIX_CLEANUP_EMPTY) && is_true(&info[i]))
            flags |= REMOVE_ONLY_EMPTY;
    }
    return flags;
}

pmix_status_t cleanup_req_read(const pmix_info_t *info, size_t ninfo, struct cleanup_req *out)
{
    unsigned dir = REMOVE_DIR | read_flags(info, ninfo);
    struct cleanup_scope alone = {0};
    pmix_status_t rc = PMIX_SUCCESS;

    *out = (struct cleanup_req){0};
    for (size_t i = 0; rc == PMIX_SUCCESS && i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_REGISTER_CLEANUP))
            rc = add_list(out, &info[i].value, 0);
        else if (PMIX_CHECK_KEY(&info[i], PMIX_REGISTER_CLEANUP_DIR))
            rc = add_list(out, &info[i].value, dir);
        else if (PMIX_CHECK_KEY(&info[i], PMIX_CLEANUP_IGNORE))
            rc = add_list(out, &info[i].value, REMOVE_IGNORE);
    }
    if (rc == PMIX_SUCCESS) { /* against itself */
        cleanup_take(&alone, out, NULL, NULL);
        rc = cleanup_check(&alone, out);
        cleanup_scope_clear(&alone);
    }
    if (rc != PMIX_SUCCESS)
        cleanup_req_free(out);
    return rc;
}

struct cleanup_req cleanup_req_of(const struct job_cleanup *cleanups, size_t n)
{
    struct cleanup_req r = {.paths = xcalloc(n, sizeof(*r.paths))};

    for (size_t i = 0; i < n; i++) {
        char *path = normal_path(cleanups[i].path, strlen(cleanups[i].path));

        if (path)
            r.paths[r.n++] = (struct cleanup_path){path, cleanups[i].flags};
    }
    return r;
}

void cleanup_req_free(struct cleanup_req *r)
{
    for (size_t i = 0; i < r->n; i++)
        free(r->paths[i].path);
    free(r->paths);
    *r = (struct cleanup_req){0};
}

pmix_status_t cleanup_check(const struct cleanup_scope *s, const struct cleanup_req *r)
{
    size_t n = HASH_COUNT(s->known);

    for (size_t i = 0; i < r->n; i++) {
        const struct cleanup_known *k;

        HASH_FIND_STR(s->known, r->paths[i].path, k);
        n += !k;
        if (k && (r->paths[i].flags & REMOVE_IGNORE ? k->file || k->dir : k->ignore))
            return PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES;
    }
    return n > CLEANUP_PATHS_MAX ? PMIX_ERR_OUT_OF_RESOURCE : PMIX_SUCCESS;
}

/* A request for recursion, or for keeping the top directory, overrides requests without it. Only
 * if all requests say so are just empty directories removed. */
static unsigned merge_flags(unsigned a, unsigned b)
{
    return ((a | b) & ~(unsigned)REMOVE_ONLY_EMPTY) | (a & b & REMOVE_ONLY_EMPTY);
}

/* True: the path is new or its flags change. *flags becomes the flags to report. */
static bool learn_flags(struct cleanup_known *k, unsigned *flags)
{
    bool *has = *flags & REMOVE_IGNORE ? &k->ignore : *flags & REMOVE_DIR ? &k->dir : &k->file;
    bool is_new = !*has;

    *has = true;
    if (!(*flags & REMOVE_DIR))
        return is_new;
    *flags = is_new ? *flags : merge_flags(k->dir_flags, *flags);
    is_new |= *flags != k->dir_flags;
    k->dir_flags = *flags;
    return is_new;
}

void cleanup_take(struct cleanup_scope *s, const struct cleanup_req *r,
                  void (*changed)(uint64_t scope, unsigned flags, const char *path, void *arg),
                  void *arg)
{
    for (size_t i = 0; i < r->n; i++) {
        unsigned flags = r->paths[i].flags;
        struct cleanup_known *k;

        HASH_FIND_STR(s->known, r->paths[i].path, k);
        if (!k) {
            k = xcalloc(1, sizeof(*k));
            k->path = xstrdup(r->paths[i].path);
            HASH_ADD_KEYPTR(hh, s->known, k->path, strlen(k->path), k);
        }
        if (learn_flags(k, &flags) && changed)
            changed(s->id, flags, k->path, arg);
    }
}

void cleanup_scope_clear(struct cleanup_scope *s)
{
    struct cleanup_known *k, *next;

    HASH_ITER(hh, s->known, k, next)
    {
        HASH_DEL(s->known, k);
        free(k->path);
        free(k);
    }
}
