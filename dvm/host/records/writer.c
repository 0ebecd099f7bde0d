/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that writes the file of records, since a volume may hang.
 *
 * In: tasks of the loop's thread, in their order. Out: the file; failures, on the loop's thread.
 *
 * States: the thread waits for a task, or carries one out without the lock. It ends when no task is
 * left and none will follow. The loop's thread gives the file up when too many bytes of groups
 * wait, or when no task was done between two looks at RECORDS_SILENT_MS from each other. It then
 * drops the tasks that have not begun, and the thread removes the file at its end.
 *
 * Invariants: only the thread uses the file, so no write comes after the removal. Snapshots do not
 * count as bytes that wait: RECORDS_COMPACT_BYTES of groups are between two of them. The thread
 * does not touch the loop: a descriptor wakes it.
 *
 * Failures: after a write that fails the file is removed (file.c), and tasks that follow do
 * nothing. A thread that hangs at the end is left to the end of the process; if it returns before,
 * it frees its memory itself. */
#include "dvm/host/records/writer_private.h"

#include "base/log/log.h"
#include "dvm/host/records/records.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

struct task {
    enum records_write what;
    struct task *prev, *next;
    size_t len;
    uint8_t data[];
};

struct records_writer {
    char *path;
    pthread_t thread;
    struct records_file *file; /* used by the thread alone */
    int event_fd;              /* written by the thread: there is a failure to report */

    pthread_mutex_t lock;   /* guards the following members */
    pthread_cond_t changed; /* a task, the end */
    struct task *tasks;     /* that have not begun */
    size_t ntasks;          /* with the one under way */
    size_t waiting_bytes;   /* of groups, with the one under way */
    uint64_t done;          /* tasks so far */
    bool ends, removes;     /* no task will follow; the file is removed at the end */
    bool ended;             /* the thread uses nothing of this any more, unless it is left alone */
    bool alone;             /* the thread frees this */
    bool failed, lost;      /* a failure to report; the file is lost */
    struct err why;

    /* Used by the loop's thread alone. */
    struct loop_fd *watch;
    struct loop_timer *timer;
    bool armed;
    uint64_t seen; /* `done` at the last look */
    void (*on_failed)(const struct err *why, bool lost, void *arg);
    void *arg;
};

static void free_writer(struct records_writer *w)
{
    close(w->event_fd);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    free(w->path);
    free(w);
}

/* --- the thread */

/* Waits for a task; NULL: none will follow. */
static struct task *take_task(struct records_writer *w)
{
    struct task *t;

    pthread_mutex_lock(&w->lock);
    while (!w->tasks && !w->ends)
        pthread_cond_wait(&w->changed, &w->lock);
    t = w->tasks;
    if (t)
        DL_DELETE(w->tasks, t);
    pthread_mutex_unlock(&w->lock);
    return t;
}

/* With the lock. */
static void settle_task(struct records_writer *w, struct task *t)
{
    w->ntasks--;
    if (t->what == RECORDS_APPEND)
        w->waiting_bytes -= t->len;
    free(t);
}

static void finish_task(struct records_writer *w, struct task *t, const struct err *why)
{
    static const uint64_t one = 1;

    pthread_mutex_lock(&w->lock);
    settle_task(w, t);
    w->done++;
    if (why) {
        w->failed = true;
        w->lost = !records_file_there(w->file);
        w->why = *why;
    }
    pthread_mutex_unlock(&w->lock);
    if (why && write(w->event_fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
        log_error("the loop cannot be woken errno=%d", errno);
}

static void *run_writer(void *arg)
{
    struct records_writer *w = arg;
    struct task *t;
    bool alone;

    while ((t = take_task(w))) {
        struct err why = {0};
        int rc = records_file_write(w->file, t->what, t->data, t->len, &why);

        finish_task(w, t, rc < 0 ? &why : NULL);
    }
    if (w->removes) /* set together with `ends`, or never */
        records_file_remove(w->file);
    records_file_close(w->file);
    pthread_mutex_lock(&w->lock);
    w->ended = true;
    alone = w->alone;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    if (alone)
        free_writer(w);
    return NULL;
}

/* --- the loop's thread */

static void drop_tasks(struct records_writer *w)
{
    struct task *t, *next;

    DL_FOREACH_SAFE(w->tasks, t, next)
    {
        DL_DELETE(w->tasks, t);
        settle_task(w, t);
    }
}

static void add_task(struct records_writer *w, struct task *t)
{
    if (t->what == RECORDS_APPEND)
        w->waiting_bytes += t->len;
    w->ntasks++;
    DL_APPEND(w->tasks, t);
    pthread_cond_broadcast(&w->changed);
}

static struct task *make_task(enum records_write what, const void *data, size_t len)
{
    struct task *t = xmalloc(sizeof(*t) + len);

    *t = (struct task){.what = what, .len = len};
    memcpy(t->data, data, len);
    return t;
}

void records_writer_remove(struct records_writer *w)
{
    pthread_mutex_lock(&w->lock);
    drop_tasks(w);
    w->ends = w->removes = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

int records_writer_put(struct records_writer *w, enum records_write what, const void *data,
                       size_t len, struct err *err)
{
    struct task *t = make_task(what, data, len);
    bool full;

    pthread_mutex_lock(&w->lock);
    full = w->waiting_bytes > RECORDS_BEHIND_BYTES;
    if (!full)
        add_task(w, t);
    pthread_mutex_unlock(&w->lock);
    if (full) {
        free(t);
        records_writer_remove(w);
        return err_set(err, "writing %s: more than %u bytes wait, it is given up", w->path,
                       RECORDS_BEHIND_BYTES);
    }
    if (!w->armed)
        loop_timer_arm(w->timer, RECORDS_SILENT_MS);
    w->armed = true;
    return 0;
}

static void report_failure(struct records_writer *w)
{
    struct err why;
    bool failed, lost;

    pthread_mutex_lock(&w->lock);
    why = w->why;
    failed = w->failed;
    lost = w->lost;
    w->failed = false;
    pthread_mutex_unlock(&w->lock);
    if (failed)
        w->on_failed(&why, lost, w->arg);
}

static void on_failure(int fd, int events, void *arg)
{
    uint64_t count;

    if (read(fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
        log_error("the descriptor of a failed write cannot be read errno=%d", errno);
    report_failure(arg);
}

static void give_up(struct records_writer *w)
{
    struct err why = {0};

    err_set(&why, "writing %s: no answer for %d ms, it is given up", w->path, RECORDS_SILENT_MS);
    records_writer_remove(w);
    w->on_failed(&why, true, w->arg);
}

static void on_look_due(void *arg)
{
    struct records_writer *w = arg;
    bool waits, hangs;

    pthread_mutex_lock(&w->lock);
    waits = w->ntasks && !w->ends;
    hangs = waits && w->done == w->seen;
    w->seen = w->done;
    pthread_mutex_unlock(&w->lock);
    w->armed = waits && !hangs;
    if (w->armed)
        loop_timer_arm(w->timer, RECORDS_SILENT_MS);
    if (hangs)
        give_up(w);
}

/* --- beginning and end */

/* The loop's thread handles all signals. */
static int start_thread(struct records_writer *w)
{
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&w->thread, NULL, run_writer, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

static void init_changed(struct records_writer *w)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->changed, &attr);
    pthread_condattr_destroy(&attr);
}

struct records_writer *
records_writer_create(struct loop *loop, const char *path, struct records_file *file,
                      void (*on_failed)(const struct err *why, bool lost, void *arg), void *arg,
                      struct err *err)
{
    struct records_writer *w = xcalloc(1, sizeof(*w));
    int rc;

    w->path = xstrdup(path);
    w->file = file;
    w->on_failed = on_failed;
    w->arg = arg;
    pthread_mutex_init(&w->lock, NULL);
    init_changed(w);
    w->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    rc = w->event_fd < 0 ? errno : start_thread(w);
    if (rc) {
        err_sys(err, rc, "a thread that writes %s", path);
        free_writer(w);
        return NULL;
    }
    w->watch = loop_fd_create(loop, w->event_fd, LOOP_READ, on_failure, w);
    w->timer = loop_timer_create(loop, on_look_due, w);
    return w;
}

/* With the lock. False: the thread has not ended in time. */
static bool wait_for_end(struct records_writer *w)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += RECORDS_END_MS / 1000;
    while (!w->ended) {
        if (pthread_cond_timedwait(&w->changed, &w->lock, &until) == ETIMEDOUT)
            return w->ended;
    }
    return true;
}

void records_writer_close(struct records_writer *w)
{
    bool ended;

    if (!w)
        return;
    loop_fd_destroy(w->watch);
    loop_timer_destroy(w->timer);
    pthread_mutex_lock(&w->lock);
    w->ends = true;
    pthread_cond_broadcast(&w->changed);
    ended = wait_for_end(w);
    if (!ended) {
        log_error("writing %s: no answer for %d ms, writes left: %zu", w->path, RECORDS_END_MS,
                  w->ntasks);
        pthread_detach(w->thread);
    }
    w->alone = !ended;
    pthread_mutex_unlock(&w->lock);
    if (!ended)
        return;
    pthread_join(w->thread, NULL);
    report_failure(w);
    free_writer(w);
}
