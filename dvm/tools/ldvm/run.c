/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs one prun in a DVM of its own: `prte run`.
 *
 * In: signals, words of the guard (guard.c), the end of prun. Out: prun, words for the guard, an
 * exit code.
 *
 *   guard starts --READY--> prun runs --it ends--> LDVM_END --DONE--> exit code of prun
 *                     any signal --> LDVM_HURRY --DONE--> exit code 128 + signal
 *
 * SIGINT, SIGTERM, SIGHUP and SIGQUIT end the DVM, and with it the job. prun is in the same group
 * and may have received the signal too; it gets none from here. A second signal kills all processes
 * of the DVM, a third one ends this program. SIGUSR1 and SIGUSR2 are passed on to prun. Any other
 * end of this program closes the socket to the guard, and the kernel kills prun.
 *
 * Failures: prun that has not ended PRUN_MS after the DVM is killed. If the guard was killed, this
 * program ends the DVM at once, since nobody would do it later. */
#include "dvm/tools/ldvm/ldvm.h"

#include "base/buf/buf.h"
#include "dvm/tools/cli/say.h"
#include "dvm/tools/ldvm/guard.h"
#include "dvm/tools/ldvm/procs_private.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PRUN_MS 1000
#define ENDS_MAX 3 /* then the user does not wait any longer */
#define NOT_EXECUTED 127

struct run {
    const char *dir;
    char *const *args;
    sigset_t mask; /* of this program's caller */
    struct procs *procs;
    int sock;      /* to the guard; the processes own it */
    bool started;  /* prun */
    bool done;     /* the guard has ended the DVM */
    bool alone;    /* the guard was killed */
    pid_t prun;    /* 0: it does not run */
    unsigned kept; /* bits of signals for prun that have come too early */
    int ends;      /* how often the user has asked for the end */
    int code;      /* exit code; -1: not known */
};

static void send_word(const struct run *r, char word)
{
    (void)!send(r->sock, &word, 1, MSG_NOSIGNAL);
}

/* Stands beside this program. */
static char *find_prun(void)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

    self[n > 0 ? n : 0] = '\0';
    return xasprintf("%s/prun", dirname(self));
}

static void exec_prun(const struct run *r, pid_t parent)
{
    FREE_AUTO char **argv = NULL;
    size_t n = 0;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    sigprocmask(SIG_SETMASK, &r->mask, NULL);
    while (r->args[n])
        n++;
    argv = xcalloc(n + 4, sizeof(*argv));
    argv[0] = find_prun();
    argv[1] = "--dvm";
    argv[2] = (char *)r->dir;
    memcpy(argv + 3, r->args, n * sizeof(*argv));
    execv(argv[0], argv);
    cli_say(STDERR_FILENO, "prte", "executing %s: %s", argv[0], strerror(errno));
    _exit(NOT_EXECUTED);
}

static int start_prun(struct run *r, struct err *err)
{
    pid_t self = getpid();

    r->started = true;
    r->prun = fork();
    if (r->prun < 0) {
        r->prun = 0;
        return err_sys(err, errno, "starting prun");
    }
    if (r->prun == 0)
        exec_prun(r, self);
    for (int signum = 1; r->kept >> signum; signum++) {
        if (r->kept >> signum & 1)
            kill(r->prun, signum);
    }
    return procs_add(r->procs, 0, r->prun, true, err);
}

static int on_guard(struct run *r, char word, struct err *err)
{
    if (word == GUARD_READY && !r->ends)
        return start_prun(r, err);
    if (word == GUARD_DONE) {
        r->done = true;
    } else if (!word && !r->done) {
        r->done = true;
        r->alone = true;
    }
    return 0;
}

static void on_signal(struct run *r, int signum)
{
    if (signum == SIGUSR1 || signum == SIGUSR2) {
        r->kept |= 1u << signum;
        if (r->prun)
            kill(r->prun, signum);
        return;
    }
    r->ends++;
    if (r->code < 0)
        r->code = 128 + signum;
    send_word(r, r->ends > 1 ? LDVM_KILL : LDVM_HURRY);
}

static void on_prun_end(struct run *r, int status)
{
    r->prun = 0;
    if (r->code < 0)
        r->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    send_word(r, LDVM_END);
}

static int take_event(struct run *r, const struct procs_event *e, struct err *err)
{
    if (e->kind == PROCS_PEER)
        return on_guard(r, e->word, err);
    if (e->kind == PROCS_SIGNAL)
        on_signal(r, e->signum);
    else if (e->kind == PROCS_ENDED)
        on_prun_end(r, e->wait_status);
    else if (r->prun) /* the time has passed */
        kill(r->prun, SIGKILL);
    return 0;
}

/* The guard was killed: whatever it has left is this program's. */
static int end_alone(const struct run *r, struct err *err)
{
    int rc = 0;

    if (ldvm_is(r->dir))
        rc = ldvm_finish(r->dir, NULL, NULL, err);
    else
        (void)rmdir(r->dir);
    fprintf(stderr, "prte: the process that keeps the DVM had ended, so the DVM was ended\n");
    return rc;
}

static int next_event(struct run *r, int timeout_ms, struct err *err)
{
    struct procs_event e;

    return procs_next(r->procs, timeout_ms, &e, err) < 0 ? -1 : take_event(r, &e, err);
}

/* prun without a DVM ends by itself, unless nobody reads what it writes. */
static int follow_run(struct run *r, struct err *err)
{
    while (!r->done && r->ends < ENDS_MAX) {
        if (next_event(r, -1, err) < 0)
            return -1;
    }
    if (r->alone && end_alone(r, err) < 0)
        return -1;
    while (r->prun && r->ends < ENDS_MAX) {
        if (next_event(r, PRUN_MS, err) < 0)
            return -1;
    }
    return 0;
}

static int begin_run(struct run *r, const struct ldvm_start_opts *o, struct err *err)
{
    sigprocmask(SIG_BLOCK, NULL, &r->mask);
    r->procs = procs_create(true, err);
    if (!r->procs || procs_catch(r->procs, SIGUSR1, err) < 0 ||
        procs_catch(r->procs, SIGUSR2, err) < 0)
        return -1;
    r->sock = guard_start(o, r->args, err);
    return r->sock < 0 ? -1 : procs_watch_peer(r->procs, r->sock, err);
}

int ldvm_run(const struct ldvm_start_opts *o, const char *tmp, char *const *args, struct err *err)
{
    struct ldvm_start_opts opts = *o;
    struct run r = {.args = args, .code = -1};
    FREE_AUTO char *dir = NULL;
    uint32_t dice;

    if (getrandom(&dice, sizeof(dice), 0) != (ssize_t)sizeof(dice))
        return err_sys(err, errno, "a random name");
    dir = xasprintf("%s/dvm-run-%06x", tmp, dice & 0xffffffu);
    opts.dir = r.dir = dir;
    if (begin_run(&r, &opts, err) < 0 || follow_run(&r, err) < 0) {
        procs_destroy(r.procs); /* closes the socket to the guard */
        return -1;
    }
    procs_destroy(r.procs);
    return r.code < 0 ? EXIT_FAILURE : r.code;
}
