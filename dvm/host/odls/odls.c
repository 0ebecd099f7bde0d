/* SPDX-License-Identifier: BSD-3-Clause */
/* Local launch: the calls of its user.
 *
 * A call changes the tables of jobs and ranks and queues commands for the spawner (odls_send.c).
 * Upcalls come from the loop only, never from within a call: reports of the spawner (odls_send.c),
 * output (odls_stream.c), room for input (odls_input.c).
 *
 * A rank is STARTING, then RUNNING and EXITED, or FAILED (odls_proc.c). It is forgotten when it has
 * exited and both its output streams have ended; its job with the last of its ranks. A start of
 * several ranks is all or nothing: none is queued if one cannot be prepared.
 *
 * Limits: ODLS_RANKS_MAX ranks, ODLS_QUEUE_MAX bytes of starts that wait, ODLS_STDIN_MAX bytes of
 * input for a rank. A spawner that does not answer is declared lost (odls_watch.c). */
#include "dvm/host/odls/odls.h"

#include "base/bitmap/bitmap.h"
#include "base/log/log.h"
#include "dvm/host/odls/odls_private.h"

#include <errno.h>
#include <fcntl.h>
#include <hwloc.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <utlist.h>

/* A rank takes three pipes: the usual soft limit of 1024 would allow 300 ranks. Ranks inherit the
 * spawner's limit, not this one. */
static void raise_nofile(void)
{
    struct rlimit r;

    if (getrlimit(RLIMIT_NOFILE, &r) < 0)
        return;
    r.rlim_cur = r.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &r) < 0)
        log_warn("the limit of open files cannot be raised errno=%d", errno);
}

struct odls *odls_create(struct loop *loop, const struct spawner_handle *spawner,
                         const struct odls_times *times, const struct odls_upcalls *up, void *arg,
                         struct err *err)
{
    struct odls *o = xcalloc(1, sizeof(*o));

    raise_nofile();
    o->loop = loop;
    o->up = *up;
    o->arg = arg;
    o->sock = spawner->sock;
    o->spawner = spawner->pid;
    o->token = spawner->token;
    o->times = *times;
    o->ping = loop_timer_create(loop, odls_watch_on_due, o);
    o->chunk = xmalloc(ODLS_READ_MAX);
    o->retry = loop_timer_create(loop, odls_send_on_retry, o);
    o->watched = LOOP_READ;
    o->watch = loop_fd_create(loop, o->sock, LOOP_READ, odls_send_on_ready, o);
    return o;
}

void odls_destroy(struct odls *o)
{
    if (!o)
        return;
    odls_send_flush(o);
    odls_send_free_all(o);
    odls_job_free_all(o);
    loop_fd_destroy(o->watch);
    loop_timer_destroy(o->retry);
    loop_timer_destroy(o->ping);
    close(o->sock);
    free(o->chunk);
    free(o);
}

/* Converts hwloc's list of CPUs into the kernel's mask. */
static int parse_cpuset(const char *list, unsigned long **mask, size_t *len, struct err *err)
{
    hwloc_bitmap_t set = bitmap_alloc();
    int last = -1;
    int n;

    if (bitmap_list_parse(set, list) == 0)
        last = hwloc_bitmap_last(set); /* -1 also for the empty and the infinite set */
    if (last < 0 || (size_t)last >= SPAWN_MASK_MAX * CHAR_BIT) {
        hwloc_bitmap_free(set);
        return err_set(err, "\"%s\" is no list of cpus", list);
    }
    n = hwloc_bitmap_nr_ulongs(set);
    *mask = xcalloc((size_t)n, sizeof(**mask));
    hwloc_bitmap_to_ulongs(set, (unsigned)n, *mask);
    *len = (size_t)n * sizeof(**mask);
    hwloc_bitmap_free(set);
    return 0;
}

static int encode_spec(struct buf *b, const struct odls_rank *r, struct err *err)
{
    FREE_AUTO unsigned long *mask = NULL;
    struct spawn_spec spec = {
        .argv = r->argv, .env = r->env, .cwd = r->cwd, .cpuset = r->cpuset ? r->cpuset : ""};

    if (r->cpuset && parse_cpuset(r->cpuset, &mask, &spec.mask_len, err) < 0)
        return -1;
    spec.mask = (const uint8_t *)mask;
    return spawn_msg_spec_encode(b, &spec, err);
}

/* `ours` does not block; both are close-on-exec. */
static int open_pipe(bool we_read, int *ours, int *theirs, struct err *err)
{
    int fd[2];

    if (pipe2(fd, O_CLOEXEC) < 0)
        return err_sys(err, errno, "creating a pipe");
    *ours = fd[we_read ? 0 : 1];
    *theirs = fd[we_read ? 1 : 0];
    fcntl(*ours, F_SETFL, O_NONBLOCK);
    return 0;
}

static int open_null(int *fd, struct err *err)
{
    *fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return *fd < 0 ? err_sys(err, errno, "opening /dev/null") : 0;
}

/* A rank that is prepared, and not yet in any table. */
struct prepared {
    struct odls_proc *proc;
    struct odls_send *send;
};

static void drop_prepared(struct prepared *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (v[i].send)
            odls_send_free(v[i].send);
        if (!v[i].proc)
            continue;
        odls_input_close(&v[i].proc->in);
        odls_stream_close(&v[i].proc->out[0]);
        odls_stream_close(&v[i].proc->out[1]);
        free(v[i].proc);
    }
}

static int prepare_rank(struct odls *o, struct prepared *v, const struct odls_rank *r,
                        struct err *err)
{
    struct odls_proc *p = v->proc = xcalloc(1, sizeof(*p));
    struct odls_send *s = v->send = odls_send_new(SPAWN_CMD_START);
    int fd = -1;

    s->cmd.flags = (r->stop_at_exec ? SPAWN_START_HELD : 0u) |
                   (r->traceable ? SPAWN_START_TRACEABLE : 0u) |
                   (r->waits ? SPAWN_START_WAITS : 0u);
    p->o = o;
    p->rank = r->rank;
    odls_input_init(&p->in, -1);
    odls_stream_init(&p->out[0], p, ODLS_STDOUT, -1);
    odls_stream_init(&p->out[1], p, ODLS_STDERR, -1);
    if (encode_spec(&s->spec, r, err) < 0)
        return -1;
    if (r->want_stdin ? open_pipe(false, &p->in.fd, &s->fds[SPAWN_FD_STDIN], err)
                      : open_null(&s->fds[SPAWN_FD_STDIN], err))
        return -1;
    for (int i = 0; i < 2; i++) {
        if (open_pipe(true, &fd, &s->fds[SPAWN_FD_STDOUT + i], err) < 0)
            return -1;
        p->out[i].fd = fd;
    }
    return 0;
}

static int compare_ranks(const void *a, const void *b)
{
    const uint32_t *x = a;
    const uint32_t *y = b;

    return (*x > *y) - (*x < *y);
}

static int check_unique(const struct odls_rank *ranks, size_t n, struct err *err)
{
    FREE_AUTO uint32_t *v = xcalloc(n, sizeof(*v));

    for (size_t i = 0; i < n; i++)
        v[i] = ranks[i].rank;
    qsort(v, n, sizeof(*v), compare_ranks);
    for (size_t i = 1; i < n; i++) {
        if (v[i] == v[i - 1])
            return err_set(err, "rank %u is named twice", v[i]);
    }
    return 0;
}

static int check_ranks(struct odls *o, const char *nspace, const struct odls_rank *ranks, size_t n,
                       struct err *err)
{
    if (o->lost)
        return err_set(err, "the spawner is lost");
    if (!nspace[0] || strlen(nspace) > ODLS_NSPACE_MAX)
        return err_set(err, "a namespace has 1 to %d bytes", ODLS_NSPACE_MAX);
    if (n > ODLS_RANKS_MAX - HASH_COUNT(o->procs))
        return err_set(err, "%zu ranks beside %u that run are more than %d", n,
                       HASH_COUNT(o->procs), ODLS_RANKS_MAX);
    for (size_t i = 0; i < n; i++) {
        if (ranks[i].rank == ODLS_ALL_RANKS || odls_proc_find(o, nspace, ranks[i].rank))
            return err_set(err, "rank %u is invalid or has not ended", ranks[i].rank);
        if (!ranks[i].cwd || ranks[i].cwd[0] != '/')
            return err_set(err, "rank %u has no absolute working directory", ranks[i].rank);
    }
    return check_unique(ranks, n, err);
}

static struct odls_job *job_of(struct odls *o, const char *nspace)
{
    struct odls_job *job = NULL;

    HASH_FIND_STR(o->jobs, nspace, job);
    if (job)
        return job;
    job = xcalloc(1, sizeof(*job));
    snprintf(job->nspace, sizeof(job->nspace), "%s", nspace);
    job->id = ++o->last_id;
    HASH_ADD_STR(o->jobs, nspace, job);
    return job;
}

static void commit_rank(struct odls *o, struct odls_job *job, struct prepared *v)
{
    struct odls_proc *p = v->proc;

    p->job = job;
    p->id = ++o->last_id;
    HASH_ADD(hh, o->procs, id, sizeof(p->id), p);
    HASH_ADD(by_rank, job->procs, rank, sizeof(p->rank), p);
    v->send->cmd.id = p->id;
    v->send->cmd.job = job->id;
    odls_send_queue(o, v->send);
}

int odls_start(struct odls *o, const char *nspace, const struct odls_rank *ranks, size_t n,
               struct err *err)
{
    FREE_AUTO struct prepared *v = xcalloc(n, sizeof(*v));
    size_t bytes = o->sends_bytes;
    struct odls_job *job;

    if (check_ranks(o, nspace, ranks, n, err) < 0)
        return err_wrap(err, "starting ranks of %s", nspace);
    for (size_t i = 0; i < n; i++) {
        int rc = prepare_rank(o, &v[i], &ranks[i], err);

        bytes += v[i].send->spec.len;
        if (rc == 0 && bytes > ODLS_QUEUE_MAX)
            rc = err_set(err, "more than %zu bytes wait for the spawner", ODLS_QUEUE_MAX);
        if (rc < 0) {
            drop_prepared(v, i + 1);
            return err_wrap(err, "starting rank %u of %s", ranks[i].rank, nspace);
        }
    }
    job = n ? job_of(o, nspace) : NULL;
    for (size_t i = 0; i < n; i++)
        commit_rank(o, job, &v[i]);
    return 0;
}

/* Calls fn for one rank or all ranks of a namespace. fn must free none. */
static void for_ranks(struct odls *o, const char *nspace, uint32_t rank,
                      void (*fn)(struct odls_proc *p, uint64_t arg), uint64_t arg)
{
    struct odls_job *job = NULL;
    struct odls_proc *p;
    struct odls_proc *next;

    if (rank != ODLS_ALL_RANKS) {
        p = odls_proc_find(o, nspace, rank);
        if (p)
            fn(p, arg);
        return;
    }
    HASH_FIND_STR(o->jobs, nspace, job);
    if (!job)
        return;
    HASH_ITER(by_rank, job->procs, p, next)
    {
        fn(p, arg);
    }
}

static void signal_proc(struct odls_proc *p, uint64_t signum)
{
    odls_send_signal(p->o, p, (int)signum);
}

void odls_signal(struct odls *o, const char *nspace, uint32_t rank_or_all, int signum)
{
    for_ranks(o, nspace, rank_or_all, signal_proc, (uint64_t)signum);
}

static void let_rank_go(struct odls_proc *p, uint64_t arg)
{
    struct odls_send *s;

    if (p->state != ODLS_STARTING)
        return;
    s = odls_send_new(SPAWN_CMD_GO);
    s->cmd.id = p->id;
    odls_send_queue(p->o, s);
}

void odls_go(struct odls *o, const char *nspace)
{
    for_ranks(o, nspace, ODLS_ALL_RANKS, let_rank_go, 0);
}

static void on_grace_over(void *arg)
{
    struct odls_proc *p = arg;

    p->kill_at_ms = 0;
    odls_send_signal(p->o, p, SIGKILL);
}

static void end_proc(struct odls_proc *p, uint64_t grace_ms)
{
    uint64_t at_ms = loop_now_ms(p->o->loop) + grace_ms;

    p->ordered = true;
    if (p->state != ODLS_STARTING && p->state != ODLS_RUNNING)
        return;
    if (!grace_ms) {
        odls_send_signal(p->o, p, SIGKILL);
        return;
    }
    odls_send_signal(p->o, p, SIGTERM);
    odls_send_signal(p->o, p, SIGCONT); /* a stopped rank takes no SIGTERM */
    if (!p->kill)
        p->kill = loop_timer_create(p->o->loop, on_grace_over, p);
    if (p->kill_at_ms && p->kill_at_ms <= at_ms)
        return; /* a later call cannot make the grace longer */
    p->kill_at_ms = at_ms;
    loop_timer_arm(p->kill, grace_ms);
}

void odls_end(struct odls *o, const char *nspace, uint32_t rank_or_all, uint64_t grace_ms)
{
    for_ranks(o, nspace, rank_or_all, end_proc, grace_ms);
}

size_t odls_stdin(struct odls *o, const char *nspace, uint32_t rank, const void *data, size_t len)
{
    struct odls_proc *p = odls_proc_find(o, nspace, rank);

    return p ? odls_input_put(p, data, len) : 0;
}

void odls_output_pause(struct odls *o, const char *nspace, bool paused)
{
    struct odls_job *job = NULL;
    struct odls_proc *p;
    struct odls_proc *next;

    HASH_FIND_STR(o->jobs, nspace, job);
    if (!job || job->paused == paused)
        return;
    job->paused = paused;
    HASH_ITER(by_rank, job->procs, p, next)
    {
        for (size_t i = 0; i < 2; i++)
            odls_stream_pause(&p->out[i]);
    }
}

void odls_each_paused(const struct odls *o, void (*on)(void *arg, const char *nspace), void *arg)
{
    const struct odls_job *j, *tmp;

    HASH_ITER(hh, o->jobs, j, tmp)
    {
        if (j->paused)
            on(arg, j->nspace);
    }
}

void odls_clean_add(struct odls *o, uint64_t scope, unsigned flags, const char *path)
{
    struct odls_send *s = odls_send_new(SPAWN_CMD_CLEAN_ADD);

    if (strlen(path) >= sizeof(s->cmd.path)) {
        log_error("a path is too long to be kept for cleanup bytes=%zu", strlen(path));
        odls_send_free(s);
        return;
    }
    s->cmd.id = scope;
    s->cmd.flags = flags;
    snprintf(s->cmd.path, sizeof(s->cmd.path), "%s", path);
    odls_send_queue(o, s);
}

void odls_clean_run(struct odls *o, uint64_t scope)
{
    struct odls_send *s = odls_send_new(SPAWN_CMD_CLEAN_RUN);

    s->cmd.id = scope;
    o->ncleaning++;
    odls_send_queue(o, s);
}
