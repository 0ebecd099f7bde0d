/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts the head of a local DVM again when its process has ended too early.
 *
 * In: the end of the head's process; signals. Out: another process of the head, with the same
 * arguments and at the same ports, which goes on with the jobs and members (docs/head.md).
 *
 *   head lives --it ends, its records are there--> pause --> the head is started --> head lives
 *
 * An orderly end removes the records, and so does a write that fails: then nothing is left to go on
 * with, and the supervisor ends.
 *
 * The supervisor is a process of its own, since `prte start` returns. SIGTERM, SIGINT and SIGHUP
 * end it between two steps: a head that it has started is always written down. So nobody starts a
 * head after its end.
 *
 * Failures: the first restart is immediate, the next ones come after growing pauses. After
 * SUPERVISOR_RESTARTS_MAX heads in a row that have not lived for SUPERVISOR_STEADY_MS the
 * supervisor gives up and ends. It reports all this in the head's log. If the supervisor itself is
 * killed, the DVM goes on without one. */
#include "dvm/tools/ldvm/supervisor.h"

#include "base/backoff/backoff.h"
#include "base/buf/buf.h"
#include "base/log/log.h"
#include "dvm/tools/ldvm/procs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static const struct backoff pauses = {.min_ms = 250, .max_ms = 4000};

struct supervisor {
    const struct ldvm *l;
    uint32_t members;
    struct procs *procs;
    struct ldvm_ports ports;
    struct restarts restarts;
    int64_t started_ms;
};

int supervisor_pause_ms(struct restarts *r, int64_t lived_ms, uint32_t dice)
{
    if (lived_ms >= SUPERVISOR_STEADY_MS)
        r->n = 0;
    if (r->n >= SUPERVISOR_RESTARTS_MAX)
        return -1;
    r->n++;
    return r->n == 1 ? 0 : (int)backoff_pause_ms(&pauses, r->n - 2, dice);
}

static bool has_records(const struct supervisor *s)
{
    FREE_AUTO char *path = ldvm_path(s->l->dir, 0, "records");

    return access(path, F_OK) == 0;
}

/* False: a signal has come, or the wait has failed. */
static bool wait_for(struct supervisor *s, enum procs_kind kind, int timeout_ms,
                     struct procs_event *e)
{
    struct err err = {0};

    if (procs_next(s->procs, timeout_ms, e, &err) < 0)
        log_error("supervisor of the head: %s", err.msg);
    else if (e->kind == kind)
        return true;
    return false;
}

static bool start_head(struct supervisor *s)
{
    struct err err = {0};

    s->started_ms = procs_now_ms();
    if (procs_start(s->procs, s->l, 0, s->members, &s->ports, &err) == 0)
        return true;
    log_error("the head is not started again: %s", err.msg);
    return false;
}

/* The head has ended. False: it stays so. */
static bool restart_head(struct supervisor *s, const struct procs_event *ended)
{
    FREE_AUTO char *how = procs_event_text(ended);
    struct procs_event e;
    int pause_ms;

    if (!has_records(s))
        return false;
    pause_ms = supervisor_pause_ms(&s->restarts, procs_now_ms() - s->started_ms, backoff_dice());
    if (pause_ms < 0) {
        log_error("the head %s; it is not started again after %u times in a row", how,
                  SUPERVISOR_RESTARTS_MAX);
        return false;
    }
    log_warn("the head %s; it is started again in %d ms", how, pause_ms);
    return (pause_ms == 0 || wait_for(s, PROCS_TIMEOUT, pause_ms, &e)) && start_head(s);
}

/* It may have ended before its supervisor was there. */
static int adopt_head(struct supervisor *s, struct err *err)
{
    struct ldvm_daemon head = {0, ldvm_pid(s->l->dir, 0)};

    s->started_ms = procs_now_ms();
    return head.pid ? procs_adopt(s->procs, &head, err) : 0;
}

static void run_supervisor(struct supervisor *s)
{
    struct procs_event ended = {.kind = PROCS_ENDED};
    struct err err = {0};
    bool go_on = true;

    s->procs = procs_create(true, &err);
    if (!s->procs || ldvm_ports(s->l->dir, &s->ports, &err) < 0 || adopt_head(s, &err) < 0) {
        log_error("the head has no supervisor: %s", err.msg);
        go_on = false;
    }
    while (go_on)
        go_on = (procs_living(s->procs) == 0 || wait_for(s, PROCS_ENDED, -1, &ended)) &&
                restart_head(s, &ended);
    procs_destroy(s->procs);
}

/* The caller's descriptors and terminal are not kept. */
static void leave_caller(const char *dir)
{
    FREE_AUTO char *log = ldvm_path(dir, 0, "prted.log");
    int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);

    setsid();
    dup2(in, STDIN_FILENO);
    dup2(out < 0 ? in : out, STDOUT_FILENO);
    dup2(out < 0 ? in : out, STDERR_FILENO);
    closefrom(STDERR_FILENO + 1);
    if (chdir("/") < 0)
        log_warn("supervisor of the head: it stays in its directory");
}

/* The supervisor begins with its signals blocked, so that it gets none before it waits for them. */
static pid_t fork_blocked(void)
{
    sigset_t signals, before;
    pid_t pid;

    procs_signals(&signals);
    sigprocmask(SIG_BLOCK, &signals, &before);
    pid = fork();
    if (pid != 0)
        sigprocmask(SIG_SETMASK, &before, NULL);
    return pid;
}

pid_t supervisor_start(const struct ldvm *l, uint32_t members, struct err *err)
{
    struct supervisor s = {.l = l, .members = members};
    pid_t pid = fork_blocked();

    if (pid < 0)
        return err_sys(err, errno, "starting the head's supervisor");
    if (pid == 0) {
        leave_caller(l->dir);
        log_init("prte", LOG_LEVEL_INFO);
        run_supervisor(&s);
        _exit(EXIT_SUCCESS);
    }
    return ldvm_supervisor_write(l->dir, pid, err) < 0 ? -1 : pid;
}
