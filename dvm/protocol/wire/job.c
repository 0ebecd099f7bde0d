/* SPDX-License-Identifier: BSD-3-Clause */
/* Codecs of jobs: as submitted (struct job_spec) and as launched (struct job_launch), with the
 * functions that copy, free, share and inspect them.
 *
 * In: a job to encode, or a cursor over a message of another daemon or a client. Out: bytes, or a
 * job that the caller owns.
 *
 * Order of decoding: the fields are read first, then they are checked. A malformed field marks the
 * cursor, and what was read can still be freed.
 *
 * Invariants: in a decoded launch each rank names a node and an application that exist. Paths of
 * files are relative and plain, those of cleanups absolute and without "..". A launch that was
 * given to job_launch_share() is constant except for its count of references.
 *
 * Failures: counts and strings over JOB_APPS_MAX, JOB_ARGS_MAX, JOB_STRING_MAX, JOB_RANKS_MAX,
 * JOB_CLEANUPS_MAX or JOB_FILES_MAX are refused; so are unknown flags and policies. The result is
 * then empty and the cursor bad. job_launch_ref() of a launch that is not shared aborts.
 *
 * Whether policies fit each other is checked in dvm/protocol/map/policy.c; whether a job fits the
 * DVM, by the mapper. */
#include "dvm/protocol/wire/job.h"

#include "dvm/protocol/wire/frame.h"

#include <stdlib.h>
#include <string.h>

#define JOB_FLAGS_KNOWN                                                                            \
    (JOB_NO_WAIT | JOB_RECOVERABLE | JOB_DETACH | JOB_OVERSUBSCRIBE | JOB_TOOL | JOB_STRICT |      \
     JOB_NOLOCAL | JOB_DISPLAY_MAP | JOB_DISPLAY_BIND | JOB_MAP_ONLY)
#define JOB_HOST_MAX 253   /* as in the records */
#define JOB_CPUS_MAX 16384 /* bytes of a list of CPUs */

/* The least bytes that one element takes on the wire, for cur_count(). */
#define STRING_MIN 4
#define CLEANUP_MIN (STRING_MIN + 4)
#define APP_MIN (4 + 4 + STRING_MIN + 4 + 4)
#define NODE_MIN (4 + 8 + STRING_MIN)
#define RANK_MIN (4 + 4)

static void strings_encode(struct buf *b, char *const *list)
{
    uint32_t n = 0;

    while (list && list[n])
        n++;
    buf_put_u32(b, n);
    for (uint32_t i = 0; i < n; i++)
        buf_put_str(b, list[i]);
}

static char **strings_decode(struct cur *c)
{
    uint32_t n = cur_count(c, JOB_ARGS_MAX, STRING_MIN);
    char **list = xcalloc((size_t)n + 1, sizeof(*list));

    for (uint32_t i = 0; i < n && !c->bad; i++)
        list[i] = cur_str(c, JOB_STRING_MAX);
    return list;
}

static char **strings_copy(char *const *list)
{
    size_t n = 0;
    char **copy;

    while (list && list[n])
        n++;
    copy = xcalloc(n + 1, sizeof(*copy));
    for (size_t i = 0; i < n; i++)
        copy[i] = xstrdup(list[i]);
    return copy;
}

static void strings_free(char **list)
{
    for (size_t i = 0; list && list[i]; i++)
        free(list[i]);
    free(list);
}

/* Not memcpy() alone: an empty array may be NULL. */
static uint32_t *u32_copy(const uint32_t *from, size_t n)
{
    uint32_t *to = xcalloc(n, sizeof(*to));

    if (n)
        memcpy(to, from, n * sizeof(*to));
    return to;
}

static void u32_encode(struct buf *b, const uint32_t *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_put_u32(b, v[i]);
}

static uint32_t *u32_decode(struct cur *c, size_t n)
{
    uint32_t *v = xcalloc(n, sizeof(*v));

    for (size_t i = 0; i < n; i++)
        v[i] = cur_u32(c);
    return v;
}

static void app_encode(struct buf *b, const struct job_app *a)
{
    strings_encode(b, a->argv);
    strings_encode(b, a->env);
    buf_put_str(b, a->cwd);
    buf_put_u32(b, a->nprocs);
    buf_put_u32(b, a->program);
}

static void app_decode(struct cur *c, struct job_app *a)
{
    a->argv = strings_decode(c);
    a->env = strings_decode(c);
    a->cwd = cur_str(c, JOB_STRING_MAX);
    a->nprocs = cur_u32(c);
    a->program = cur_u32(c);
}

static int app_check(const struct job_app *a, size_t i, struct err *err)
{
    if (!a->argv[0] || !a->argv[0][0])
        return err_set(err, "application %zu names no program", i);
    if (a->cwd[0] && a->cwd[0] != '/')
        return err_set(err, "application %zu: working directory is not absolute", i);
    if (a->nprocs > JOB_RANKS_MAX)
        return err_set(err, "application %zu: %u ranks, at most %u", i, a->nprocs, JOB_RANKS_MAX);
    return 0;
}

static void policy_encode(struct buf *b, const struct job_spec *s)
{
    buf_put_u8(b, (uint8_t)s->map_by);
    buf_put_u8(b, (uint8_t)s->level);
    buf_put_u32(b, s->ppr);
    buf_put_u32(b, s->pe);
    buf_put_u8(b, (uint8_t)s->rank_by);
    buf_put_u8(b, (uint8_t)s->bind_to);
}

static void policy_decode(struct cur *c, struct job_spec *s)
{
    s->map_by = cur_u8(c);
    s->level = cur_u8(c);
    s->ppr = cur_u32(c);
    s->pe = cur_u32(c);
    s->rank_by = cur_u8(c);
    s->bind_to = cur_u8(c);
}

static int policy_check(const struct job_spec *s, struct err *err)
{
    if (s->map_by > JOB_MAP_BY_OBJECT || s->level >= JOB_LEVELS)
        return err_set(err, "unknown mapping policy %d of level %d", (int)s->map_by, (int)s->level);
    if (s->map_by == JOB_MAP_BY_PPR && (s->ppr == 0 || s->ppr > JOB_RANKS_MAX))
        return err_set(err, "%u ranks per daemon", s->ppr);
    if (s->pe > JOB_PE_MAX)
        return err_set(err, "%u CPUs for each rank, at most %u", s->pe, JOB_PE_MAX);
    if (s->rank_by > JOB_RANK_BY_SPAN)
        return err_set(err, "unknown ranking policy %d", (int)s->rank_by);
    if (s->bind_to > JOB_BIND_HWTHREAD)
        return err_set(err, "unknown binding policy %d", (int)s->bind_to);
    return 0;
}

static void cleanups_encode(struct buf *b, const struct job_spec *s)
{
    buf_put_u32(b, (uint32_t)s->ncleanups);
    for (size_t i = 0; i < s->ncleanups; i++) {
        buf_put_str(b, s->cleanups[i].path);
        buf_put_u32(b, s->cleanups[i].flags);
    }
}

static void cleanups_decode(struct cur *c, struct job_spec *s)
{
    s->ncleanups = cur_count(c, JOB_CLEANUPS_MAX, CLEANUP_MIN);
    s->cleanups = xcalloc(s->ncleanups, sizeof(*s->cleanups));
    for (size_t i = 0; i < s->ncleanups; i++) {
        s->cleanups[i].path = cur_str(c, JOB_PATH_MAX);
        s->cleanups[i].flags = cur_u32(c);
    }
}

const char *job_cleanup_refused(const char *path)
{
    size_t names = 0;

    if (path[0] != '/')
        return "is not absolute";
    if (strlen(path) > JOB_PATH_MAX)
        return "is too long";
    while (*path) {
        size_t len;

        path += strspn(path, "/");
        len = strcspn(path, "/");
        if (len == 2 && path[0] == '.' && path[1] == '.')
            return "leads up by '..'";
        names += len > 1 || (len == 1 && path[0] != '.');
        path += len;
    }
    return names ? NULL : "is the root";
}

/* Plain names between single slashes. Other spellings of the same path are refused. */
const char *job_file_refused(const char *path)
{
    if (path[0] == '/')
        return "is absolute";
    if (strlen(path) > JOB_FILE_PATH_MAX)
        return "is too long";
    for (;;) {
        size_t len = strcspn(path, "/");

        if (len == 0 || (len == 1 && path[0] == '.'))
            return "has an empty name in it";
        if (len == 2 && path[0] == '.' && path[1] == '.')
            return "leads up by '..'";
        if (!path[len])
            return NULL;
        path += len + 1;
    }
}

static void files_encode(struct buf *b, const struct job_spec *s)
{
    buf_put_u32(b, (uint32_t)s->nfiles);
    for (size_t i = 0; i < s->nfiles; i++)
        buf_put_str(b, s->files[i]);
}

static void files_decode(struct cur *c, struct job_spec *s)
{
    s->nfiles = cur_count(c, JOB_FILES_MAX, STRING_MIN);
    s->files = xcalloc(s->nfiles, sizeof(*s->files));
    for (size_t i = 0; i < s->nfiles; i++)
        s->files[i] = cur_str(c, JOB_FILE_PATH_MAX);
}

static int files_check(const struct job_spec *s, struct err *err)
{
    for (size_t i = 0; i < s->nfiles; i++) {
        const char *why = job_file_refused(s->files[i]);

        if (why)
            return err_set(err, "file '%s': it %s", s->files[i], why);
        for (size_t k = 0; k < i; k++) {
            if (strcmp(s->files[i], s->files[k]) == 0)
                return err_set(err, "file '%s' is named twice", s->files[i]);
        }
    }
    for (size_t i = 0; i < s->napps; i++) {
        if (s->apps[i].program > s->nfiles)
            return err_set(err, "application %zu is file %u of %zu", i, s->apps[i].program,
                           s->nfiles);
    }
    return 0;
}

static int cleanups_check(const struct job_spec *s, struct err *err)
{
    for (size_t i = 0; i < s->ncleanups; i++) {
        const char *why = job_cleanup_refused(s->cleanups[i].path);

        if (why)
            return err_set(err, "cleanup of '%s': it %s", s->cleanups[i].path, why);
        if (s->cleanups[i].flags & ~(uint32_t)JOB_CLEAN_KNOWN)
            return err_set(err, "cleanup: unknown flags 0x%x", s->cleanups[i].flags);
    }
    return 0;
}

void job_spec_encode(struct buf *b, const struct job_spec *s)
{
    buf_put_u32(b, s->flags);
    policy_encode(b, s);
    buf_put_u32(b, s->stdin_rank);
    buf_put_u64(b, s->timeout_ms);
    buf_put_u8(b, (uint8_t)s->stop);
    buf_put_u32(b, s->stop_rank);
    buf_put_u32(b, (uint32_t)s->nhosts);
    u32_encode(b, s->hosts, s->nhosts);
    buf_put_str(b, s->parent_nspace);
    buf_put_u32(b, s->parent_rank);
    cleanups_encode(b, s);
    files_encode(b, s);
    buf_put_u32(b, (uint32_t)s->napps);
    for (size_t i = 0; i < s->napps; i++)
        app_encode(b, &s->apps[i]);
}

static void spec_read(struct cur *c, struct job_spec *s)
{
    s->flags = cur_u32(c);
    policy_decode(c, s);
    s->stdin_rank = cur_u32(c);
    s->timeout_ms = cur_u64(c);
    s->stop = cur_u8(c);
    s->stop_rank = cur_u32(c);
    s->nhosts = cur_count(c, JOB_RANKS_MAX, sizeof(uint32_t));
    s->hosts = u32_decode(c, s->nhosts);
    s->parent_nspace = cur_str(c, JOB_NSPACE_MAX);
    s->parent_rank = cur_u32(c);
    cleanups_decode(c, s);
    files_decode(c, s);
    s->napps = cur_count(c, JOB_APPS_MAX, APP_MIN);
    s->apps = xcalloc(s->napps, sizeof(*s->apps));
    /* Reads all elements, also after a malformed one, so that job_spec_free() can free each of
     * them. */
    for (size_t i = 0; i < s->napps; i++)
        app_decode(c, &s->apps[i]);
}

static int spec_check(const struct cur *c, const struct job_spec *s, struct err *err)
{
    if (c->bad)
        return err_set(err, "cut short, or a count or string over its limit");
    if (s->flags & ~JOB_FLAGS_KNOWN)
        return err_set(err, "unknown flags 0x%x", s->flags & ~JOB_FLAGS_KNOWN);
    if ((s->flags & JOB_STRICT) && !(s->flags & JOB_RECOVERABLE))
        return err_set(err, "strict is only valid for a recoverable job");
    if (s->stop > JOB_STOP_APP)
        return err_set(err, "unknown place to stop at %d", (int)s->stop);
    if (policy_check(s, err) < 0 || cleanups_check(s, err) < 0 || files_check(s, err) < 0)
        return -1;
    if (s->napps == 0)
        return err_set(err, "no application");
    for (size_t i = 0; i < s->napps; i++) {
        if (app_check(&s->apps[i], i, err) < 0)
            return -1;
    }
    return 0;
}

int job_spec_decode(struct cur *c, struct job_spec *out, struct err *err)
{
    *out = (struct job_spec){0};
    spec_read(c, out);
    if (spec_check(c, out, err) == 0)
        return 0;
    c->bad = true;
    job_spec_free(out);
    return err_wrap(err, "reading a job");
}

void job_spec_copy(struct job_spec *dst, const struct job_spec *src)
{
    *dst = *src;
    dst->hosts = u32_copy(src->hosts, src->nhosts);
    dst->parent_nspace = xstrdup(src->parent_nspace ? src->parent_nspace : "");
    dst->cleanups = xcalloc(src->ncleanups, sizeof(*dst->cleanups));
    for (size_t i = 0; i < src->ncleanups; i++)
        dst->cleanups[i] =
            (struct job_cleanup){xstrdup(src->cleanups[i].path), src->cleanups[i].flags};
    dst->files = xcalloc(src->nfiles, sizeof(*dst->files));
    for (size_t i = 0; i < src->nfiles; i++)
        dst->files[i] = xstrdup(src->files[i]);
    dst->apps = xcalloc(src->napps, sizeof(*dst->apps));
    for (size_t i = 0; i < src->napps; i++) {
        dst->apps[i] = (struct job_app){
            .argv = strings_copy(src->apps[i].argv),
            .env = strings_copy(src->apps[i].env),
            .cwd = xstrdup(src->apps[i].cwd ? src->apps[i].cwd : ""),
            .nprocs = src->apps[i].nprocs,
            .program = src->apps[i].program,
        };
    }
}

void job_spec_free(struct job_spec *s)
{
    if (!s)
        return;
    for (size_t i = 0; s->apps && i < s->napps; i++) {
        strings_free(s->apps[i].argv);
        strings_free(s->apps[i].env);
        free(s->apps[i].cwd);
    }
    free(s->apps);
    for (size_t i = 0; s->cleanups && i < s->ncleanups; i++)
        free(s->cleanups[i].path);
    free(s->cleanups);
    for (size_t i = 0; s->files && i < s->nfiles; i++)
        free(s->files[i]);
    free(s->files);
    free(s->hosts);
    free(s->parent_nspace);
    *s = (struct job_spec){0};
}

void job_launch_encode(struct buf *b, const struct job_launch *l)
{
    buf_put_str(b, l->nspace);
    buf_put_u64(b, l->version);
    buf_put_u32(b, l->home_vpid);
    buf_put_u32(b, l->home_client);
    buf_put_u32(b, l->files_vpid);
    buf_put_u32(b, l->files_client);
    job_spec_encode(b, &l->spec);
    buf_put_u32(b, l->universe);
    buf_put_u32(b, (uint32_t)l->nnodes);
    for (size_t i = 0; i < l->nnodes; i++) {
        buf_put_u32(b, l->nodes[i].vpid);
        buf_put_u64(b, l->nodes[i].epoch);
        buf_put_str(b, l->nodes[i].host);
    }
    buf_put_u32(b, l->nranks);
    u32_encode(b, l->rank_node, l->nranks);
    u32_encode(b, l->rank_app, l->nranks);
    buf_put_u32(b, (uint32_t)l->ncpus);
    for (size_t i = 0; i < l->ncpus; i++)
        buf_put_str(b, l->cpus[i]);
}

static void nodes_read(struct cur *c, struct job_launch *l)
{
    l->nnodes = cur_count(c, JOB_RANKS_MAX, NODE_MIN);
    l->nodes = xcalloc(l->nnodes, sizeof(*l->nodes));
    for (size_t i = 0; i < l->nnodes; i++) {
        l->nodes[i].vpid = cur_u32(c);
        l->nodes[i].epoch = cur_u64(c);
        l->nodes[i].host = cur_str(c, JOB_HOST_MAX);
        c->bad = c->bad || !vpid_allowed(l->nodes[i].vpid) || l->nodes[i].epoch == 0;
    }
}

static void cpus_read(struct cur *c, struct job_launch *l)
{
    l->ncpus = cur_count(c, JOB_RANKS_MAX, STRING_MIN);
    l->cpus = xcalloc(l->ncpus, sizeof(*l->cpus));
    for (size_t i = 0; i < l->ncpus; i++)
        l->cpus[i] = cur_str(c, JOB_CPUS_MAX);
}

/* It becomes a directory's name: one plain path component. */
static bool nspace_ok(const char *s)
{
    return s[0] && s[0] != '.' && !strpbrk(s, "/ \t\n");
}

static int launch_check(const struct cur *c, const struct job_launch *l, struct err *err)
{
    if (c->bad)
        return err_set(err, "cut short, or a count or string over its limit");
    if (!nspace_ok(l->nspace))
        return err_set(err, "'%s' is no namespace", l->nspace);
    for (uint32_t r = 0; r < l->nranks; r++) {
        if (l->rank_node[r] >= l->nnodes)
            return err_set(err, "rank %u is on node %u of %zu", r, l->rank_node[r], l->nnodes);
        if (l->rank_app[r] >= l->spec.napps)
            return err_set(err, "rank %u is of application %u of %zu", r, l->rank_app[r],
                           l->spec.napps);
    }
    return 0;
}

int job_launch_decode(struct cur *c, struct job_launch *out, struct err *err)
{
    *out = (struct job_launch){0};
    out->nspace = cur_str(c, JOB_NSPACE_MAX);
    out->version = cur_u64(c);
    out->home_vpid = cur_u32(c);
    out->home_client = cur_u32(c);
    out->files_vpid = cur_u32(c);
    out->files_client = cur_u32(c);
    if (job_spec_decode(c, &out->spec, err) < 0)
        goto error;
    out->universe = cur_u32(c);
    nodes_read(c, out);
    out->nranks = cur_count(c, JOB_RANKS_MAX, RANK_MIN);
    out->rank_node = u32_decode(c, out->nranks);
    out->rank_app = u32_decode(c, out->nranks);
    cpus_read(c, out);
    if (launch_check(c, out, err) == 0)
        return 0;
error:
    c->bad = true;
    job_launch_free(out);
    return err_wrap(err, "reading a launch message");
}

void job_launch_free(struct job_launch *l)
{
    if (!l)
        return;
    for (size_t i = 0; l->nodes && i < l->nnodes; i++)
        free(l->nodes[i].host);
    free(l->nodes);
    for (size_t i = 0; l->cpus && i < l->ncpus; i++)
        free(l->cpus[i]);
    free(l->cpus);
    free(l->rank_node);
    free(l->rank_app);
    free(l->nspace);
    job_spec_free(&l->spec);
    *l = (struct job_launch){0};
}

const struct job_launch *job_launch_share(struct job_launch *l)
{
    struct job_launch *shared = xmalloc(sizeof(*shared));

    *shared = *l;
    *l = (struct job_launch){0};
    shared->refs = 1;
    return shared;
}

/* Only the count of a shared launch changes. */
static unsigned *count_of(const struct job_launch *l)
{
    return (unsigned *)&l->refs;
}

const struct job_launch *job_launch_ref(const struct job_launch *l)
{
    if ((*count_of(l))++ == 0)
        abort(); /* not shared: else its owner would free it */
    return l;
}

void job_launch_unref(const struct job_launch *l)
{
    if (!l || --*count_of(l) > 0)
        return;
    job_launch_free((struct job_launch *)l);
    free((void *)l);
}

int job_launch_node(const struct job_launch *l, uint32_t vpid)
{
    for (size_t i = 0; i < l->nnodes; i++) {
        if (l->nodes[i].vpid == vpid)
            return (int)i;
    }
    return -1;
}

bool job_launch_waits(const struct job_launch *l)
{
    return l->spec.nfiles || l->nnodes > 1;
}

/* Ranks below `end` that are on the node. */
static uint32_t ranks_on(const struct job_launch *l, uint32_t node, uint32_t end)
{
    uint32_t n = 0;

    for (uint32_t r = 0; r < end; r++)
        n += l->rank_node[r] == node;
    return n;
}

uint32_t job_launch_local_size(const struct job_launch *l, uint32_t node)
{
    return ranks_on(l, node, l->nranks);
}

uint32_t job_launch_local_rank(const struct job_launch *l, uint32_t rank)
{
    return rank < l->nranks ? ranks_on(l, l->rank_node[rank], rank) : 0;
}

bool job_stops(const struct job_spec *s, uint32_t rank)
{
    return s->stop != JOB_STOP_NONE && (s->stop_rank == JOB_RANK_ALL || s->stop_rank == rank);
}
