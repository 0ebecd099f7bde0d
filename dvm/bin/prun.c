/* SPDX-License-Identifier: BSD-3-Clause */
/* prun: runs a parallel job in a DVM and waits for its end. */
#include "base/buf/buf.h"
#include "dvm/host/jobspec/environ.h"
#include "dvm/host/jobspec/files.h"
#include "dvm/host/spawner/limits.h"
#include "dvm/tools/cli/say.h"
#include "dvm/tools/cli/usage.h"
#include "dvm/tools/submit/elsewhere.h"
#include "dvm/tools/submit/now.h"
#include "dvm/tools/submit/options.h"
#include "dvm/tools/submit/referral.h"
#include "dvm/tools/submit/run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- signals
 *
 * Those that end prun are read at any time, those for the job only while it is submitted. Until
 * then the latter are blocked, and pending: none is lost. */

static void fill_job_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGUSR1);
    sigaddset(set, SIGUSR2);
    sigaddset(set, SIGCONT);
}

static void fill_end_signals(sigset_t *set)
{
    struct sigaction hangup;

    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    if (sigaction(SIGHUP, NULL, &hangup) < 0 || hangup.sa_handler != SIG_IGN) /* nohup */
        sigaddset(set, SIGHUP);
}

static void block_job_signals(void)
{
    sigset_t set;

    fill_job_signals(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

/* A signalfd of those that end prun. */
static int open_signals(void)
{
    sigset_t set;

    fill_end_signals(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Whether it reads those for the job too. */
static void set_job_signals(int signals, bool read_too)
{
    sigset_t set, job;

    fill_end_signals(&set);
    fill_job_signals(&job);
    if (read_too)
        sigorset(&set, &set, &job);
    (void)!signalfd(signals, &set, 0);
}

static struct cli_conn *dial_again(void *arg, struct err *err)
{
    return cli_dial(arg, err);
}

/* A host may take long to answer. Until then a signal that ends this program does so at once:
 * nothing is submitted yet. */
static struct cli_conn *begin_connection(struct cli_where *where, int *signals, struct err *err)
{
    struct cli_conn *c;

    block_job_signals();
    c = where->host ? cli_connect(where, err) : NULL;
    if (where->host && !c)
        return NULL;
    *signals = open_signals();
    if (*signals < 0) {
        err_sys(err, errno, "signalfd");
        cli_conn_free(c);
        return NULL;
    }
    return c ? c : cli_connect(where, err);
}

/* The signal by which the user ends prun; 0: there is none. */
static int end_signal(int signals)
{
    struct signalfd_siginfo info;

    if (read(signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return 0;
    return (int)info.ssi_signo;
}

/* A connection to another daemon. NULL: there is none, or *signum is the user's signal. */
static struct cli_conn *go_elsewhere(struct cli_where *where, int signals, int64_t until,
                                     int *signum, struct err *err)
{
    struct cli_conn *c = where->host ? elsewhere_connect(where, signals, until, err) : NULL;

    *signum = c ? 0 : end_signal(signals);
    return c;
}

/* A detached job stays where it is submitted, and one with JOB_NOLOCAL means this daemon. */
static bool may_move(const struct submit_opts *opts)
{
    return opts->where.host && !opts->attach && !(opts->spec.flags & (JOB_DETACH | JOB_NOLOCAL));
}

/* The connection for the job. NULL: there is none, or *signum is the user's signal. */
static struct cli_conn *follow_referral(struct referral *r, struct cli_conn *c,
                                        struct submit_opts *opts, int signals, int *signum,
                                        struct err *err)
{
    *signum = 0;
    if (!may_move(opts))
        return c;
    c = referral_follow(r, c, &opts->where, signals, err);
    if (!c && err->code == EINTR)
        *signum = end_signal(signals);
    if (c && r->host && opts->verbose)
        cli_say(STDERR_FILENO, "prun", "the head sends this client on to %s port %s",
                opts->where.address, opts->where.port);
    return c;
}

/* Submits the job at one daemon after the other, until it ends at one. A job that was given back
 * may have waited for long: the time for the search begins then. Its reason stays. */
static int submit_anywhere(struct cli_conn *c, struct referral *r, struct submit_opts *opts,
                           const struct run_fds *fds)
{
    int64_t until = submit_now_ms() + opts->reconnect_ms;
    struct submit_away first = {0};

    for (;;) {
        struct submit_away away;
        int code, signum;

        set_job_signals(fds->signals, true);
        code = submit_run(c, dial_again, &opts->where, opts, fds, &away);
        set_job_signals(fds->signals, false);
        if (code != SUBMIT_AWAY)
            return code;
        if (away.given_back)
            until = submit_now_ms() + opts->reconnect_ms;
        if (away.given_back || !first.given_back)
            first = away;
        referral_return(r, &opts->where);
        c = go_elsewhere(&opts->where, fds->signals, until, &signum, &first.why);
        if (c && away.given_back)
            c = follow_referral(r, c, opts, fds->signals, &signum, &first.why);
        if (signum)
            return exit_code_of_signal(signum);
        if (!c)
            return cli_fail("prun", first.code, &first.why);
        if (away.given_back)
            cli_say(STDERR_FILENO, "prun", "%s; it is submitted again at %s", away.why.msg,
                    opts->where.address);
    }
}

/* Those of another host are none of the ranks'. */
static bool passes_limits(const struct submit_opts *opts)
{
    return !opts->where.host && !opts->daemon_limits;
}

static void add_limits(struct submit_opts *opts)
{
    struct limits l = limits_read();
    FREE_AUTO char *entry = limits_encode(&l);

    for (size_t i = 0; passes_limits(opts) && i < opts->spec.napps; i++)
        environ_put(&opts->spec.apps[i], LIMITS_VARIABLE, entry);
}

/* The daemon at the other end of a local socket stands for all: they have the same limits. */
static void tell_lower_limits(const struct submit_opts *opts, const struct cli_conn *c)
{
    struct limits l = limits_read();
    struct ucred peer = {0};
    socklen_t len = sizeof(peer);
    FREE_AUTO char *lower = NULL;

    if (opts->spec.napps == 0 || !passes_limits(opts) ||
        getsockopt(cli_conn_fd(c), SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || peer.pid <= 0)
        return;
    lower = limits_over(&l, peer.pid);
    if (lower)
        fprintf(stderr,
                "prun: the hard limits of the daemon are lower than the limits here, ranks "
                "have: %s\n",
                lower);
}

static int run_job(struct submit_opts *opts)
{
    struct run_fds fds = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, -1};
    struct referral r = {0};
    struct err err = {0};
    struct cli_conn *c;
    int code, signum = 0;

    if (opts->left_out)
        cli_say(STDERR_FILENO, "prun", "not passed on, since ranks have their own: %s",
                opts->left_out);
    if (output_check(&opts->output, &err) < 0)
        return cli_fail("prun", EXIT_CODE_USAGE, &err);
    if (files_check(opts->sources, opts->spec.nfiles, &err) < 0)
        return cli_fail("prun", EXIT_CODE_NOT_LAUNCHED, &err);
    c = begin_connection(&opts->where, &fds.signals, &err);
    if (c)
        c = follow_referral(&r, c, opts, fds.signals, &signum, &err);
    if (signum)
        return exit_code_of_signal(signum);
    if (!c)
        return cli_fail("prun", EXIT_CODE_NOT_LAUNCHED, &err);
    tell_lower_limits(opts, c);
    code = submit_anywhere(c, &r, opts, &fds);
    referral_free(&r);
    return code;
}

int main(int argc, char **argv)
{
    FREE_AUTO char *cwd = getcwd(NULL, 0);
    struct submit_opts opts;
    struct err err = {0};
    int code = 0;

    if (!cwd && errno == ENOMEM)
        alloc_fail(0);
    cli_open_std();
    if (submit_parse(argc, argv, environ, cwd ? cwd : "", &opts, &err) < 0)
        return cli_usage("prun", "%s", err.msg);
    if (opts.what == SUBMIT_HELP) {
        fputs(submit_help, stdout);
    } else if (opts.what == SUBMIT_VERSION) {
        puts("prun " DVM_VERSION);
    } else {
        add_limits(&opts);
        code = run_job(&opts);
    }
    submit_opts_free(&opts);
    return code;
}
