/* SPDX-License-Identifier: BSD-3-Clause */
/* prun: runs a parallel job in a DVM and waits for its end. */
#include "dvm/host/jobspec/files.h"
#include "dvm/tools/cli/usage.h"
#include "dvm/tools/submit/options.h"
#include "dvm/tools/submit/run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* From here on the loop takes signals; none is lost between start and submission. */
static int open_signals(void)
{
    struct sigaction hangup;
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    if (sigaction(SIGHUP, NULL, &hangup) < 0 || hangup.sa_handler != SIG_IGN) /* nohup */
        sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGCONT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static struct cli_conn *dial_again(void *arg, struct err *err)
{
    return cli_dial(arg, err);
}

/* A host may take long to answer. Until then a signal ends this program; nothing is submitted
 * yet. */
static struct cli_conn *begin_connection(struct cli_where *where, int *signals, struct err *err)
{
    struct cli_conn *c = where->host ? cli_connect(where, err) : NULL;

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

static int run_job(struct submit_opts *opts)
{
    struct run_fds fds = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, -1};
    struct err err = {0};
    struct cli_conn *c;

    if (output_check(&opts->output, &err) < 0)
        return cli_fail("prun", EXIT_CODE_USAGE, &err);
    if (files_check(opts->sources, opts->spec.nfiles, &err) < 0)
        return cli_fail("prun", EXIT_CODE_NOT_LAUNCHED, &err);
    c = begin_connection(&opts->where, &fds.signals, &err);
    if (!c)
        return cli_fail("prun", EXIT_CODE_NOT_LAUNCHED, &err);
    return submit_run(c, dial_again, &opts->where, opts, &fds);
}

int main(int argc, char **argv)
{
    FREE_AUTO char *cwd = getcwd(NULL, 0);
    struct submit_opts opts;
    struct err err = {0};
    int code = 0;

    cli_open_std();
    if (submit_parse(argc, argv, environ, cwd ? cwd : "", &opts, &err) < 0)
        return cli_usage("prun", "%s", err.msg);
    if (opts.what == SUBMIT_HELP)
        fputs(submit_help, stdout);
    else if (opts.what == SUBMIT_VERSION)
        puts("prun " DVM_VERSION);
    else
        code = run_job(&opts);
    submit_opts_free(&opts);
    return code;
}
