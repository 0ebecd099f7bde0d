/* SPDX-License-Identifier: BSD-3-Clause */
/* pterm: ends a DVM and waits for its end; or signals, ends or continues one job of it.
 *
 * In: the command line. Out: one request of the control API: PUT on /v1/shutdown, or on
 * /v1/jobs/JOB/signal or /v1/jobs/JOB/continue.
 *
 * pterm then waits until the head has ended. If the directory is that of a local DVM,
 * ldvm_shutdown() also ends the remaining daemons and removes it. After a request for a job, pterm
 * waits for the answer only, not for the job's end.
 *
 * Failures: the exit code is 1 if the request is refused or not answered, if a head of another host
 * has not ended in time, or if a daemon cannot be ended. It is 2 if the command line is wrong. */
#include "base/buf/buf.h"
#include "base/conf/number.h"
#include "base/heap/heap.h"
#include "dvm/tools/cli/call.h"
#include "dvm/tools/cli/shutdown.h"
#include "dvm/tools/cli/usage.h"
#include "dvm/tools/ldvm/ldvm.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DEADLINE_MAX_S 86400u

static const char help[] =
    "Usage: pterm [--deadline S] [--dvm DIR|SOCKET|HOST]\n"
    "  or:  pterm --job JOB [--signal SIGNAL|--continue] [--dvm DIR|SOCKET|HOST]\n"
    "\n"
    "Ends a DVM and waits for that. All processes and files of a local DVM ('prte start') are\n"
    "removed. On Kubernetes, delete or suspend the DvmCluster instead: if pterm ends a DVM there,\n"
    "the operator starts it again.\n"
    "\n"
    "      --deadline S      let running jobs go on for up to S seconds (default: 0); the DVM has\n"
    "                        30 s more to end, and what is left of a local one is then killed\n"
    "      --job JOB         end this job (its name in pstat) but not the DVM; its ranks\n"
    "                        get SIGTERM and, after a grace, SIGKILL\n"
    "      --signal SIGNAL   for --job: TERM and INT end it (default: TERM), KILL kills it, any\n"
    "                        other is passed to its ranks; by name or number\n"
    "      --continue        for --job: its ranks that have stopped for a debugger go on, and\n"
    "                        ranks that have not stopped yet do not stop\n" CLI_WHERE_HELP
    "  -h, --help            this text\n"
    "      --version         the version\n"
    "\n"
    "Exit code: 0, 1 if the DVM or the job cannot be ended, 2 if the command line is wrong.\n";

enum {
    OPT_DEADLINE = 256,
    OPT_JOB,
    OPT_SIGNAL,
    OPT_CONTINUE,
    OPT_DVM,
    OPT_TLS_DIR,
    OPT_HELP,
    OPT_VERSION
};

static const struct option longs[] = {
    {"deadline", required_argument, NULL, OPT_DEADLINE},
    {"job", required_argument, NULL, OPT_JOB},
    {"signal", required_argument, NULL, OPT_SIGNAL},
    {"dvm", required_argument, NULL, OPT_DVM},
    {"continue", no_argument, NULL, OPT_CONTINUE},
    {"help", no_argument, NULL, OPT_HELP},
    {"tls-dir", required_argument, NULL, OPT_TLS_DIR},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

struct args {
    const char *dvm, *tls_dir, *job;
    uint64_t deadline_s, signum;
    bool deadline, go_on, help, version;
};

/* "TERM", "SIGTERM", "15". */
static int set_signal(struct args *a, const char *text, struct err *err)
{
    const char *name = strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text;

    for (int i = 1; i < NSIG; i++) {
        const char *known = sigabbrev_np(i);

        if (!known || strcasecmp(known, name) != 0)
            continue;
        a->signum = (uint64_t)i;
        return 0;
    }
    return number_parse(text, "--signal", 1, NSIG - 1, &a->signum, err);
}

static int check_args(const struct args *a, int argc, char **argv, struct err *err)
{
    if (optind < argc)
        return err_set(err, "'%s' has no meaning here", argv[optind]);
    if (a->job && a->deadline)
        return err_set(err, "--job and --deadline contradict each other");
    if (!a->job && a->signum)
        return err_set(err, "--signal needs a --job");
    if (!a->job && a->go_on)
        return err_set(err, "--continue needs a --job");
    if (a->signum && a->go_on)
        return err_set(err, "--signal and --continue contradict each other");
    return 0;
}

static int parse_args(int argc, char **argv, struct args *a, struct err *err)
{
    int opt;

    opterr = 0;
    while ((opt = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        if (opt == '?' || opt == ':')
            return cli_option_error(opt, argv, err);
        if (opt == OPT_DEADLINE &&
            number_parse(optarg, "--deadline", 0, DEADLINE_MAX_S, &a->deadline_s, err) < 0)
            return -1;
        if (opt == OPT_SIGNAL && set_signal(a, optarg, err) < 0)
            return -1;
        if (opt == OPT_DVM)
            a->dvm = optarg;
        if (opt == OPT_TLS_DIR)
            a->tls_dir = optarg;
        if (opt == OPT_JOB)
            a->job = optarg;
        a->go_on = a->go_on || opt == OPT_CONTINUE;
        a->deadline = a->deadline || opt == OPT_DEADLINE;
        a->help = a->help || opt == OPT_HELP || opt == 'h';
        a->version = a->version || opt == OPT_VERSION;
    }
    return check_args(a, argc, argv, err);
}

static int signal_job(struct cli_conn *c, const struct args *a, struct err *err)
{
    FREE_AUTO char *path = xasprintf("/v1/jobs/%s/signal", a->job);
    int signum = a->signum ? (int)a->signum : SIGTERM;
    json_t *reply = cli_call(c, "PUT", path, json_pack("{s:i}", "signal", signum), NULL, err);

    json_decref(reply);
    return reply ? 0 : -1;
}

static int continue_job(struct cli_conn *c, const struct args *a, struct err *err)
{
    FREE_AUTO char *path = xasprintf("/v1/jobs/%s/continue", a->job);
    json_t *reply = cli_call(c, "PUT", path, NULL, NULL, err);

    json_decref(reply);
    return reply ? 0 : -1;
}

static char *show_head(void *arg)
{
    return xstrdup("the head to end");
}

/* The processes of this DVM are out of reach. Takes `c`. */
static int end_remote(struct cli_conn *c, int64_t deadline_s, struct err *err)
{
    struct cli_limit l = cli_limit_begin(cli_now_ms(), CLI_SHUTDOWN_MS, show_head, NULL);

    int rc = cli_shutdown_ask(c, deadline_s, &l, err);

    if (rc == 0)
        rc = cli_shutdown_wait(c, &l, err);
    cli_conn_free(c);
    return rc;
}

/* Takes `c`. */
static int end_dvm(struct cli_conn *c, const struct cli_where *where, int64_t deadline_s,
                   struct err *err)
{
    if (where->dir && ldvm_is(where->dir))
        return ldvm_shutdown(where->dir, c, deadline_s, err);
    return end_remote(c, deadline_s, err);
}

static int run_command(const struct args *a, struct cli_where *where, struct err *err)
{
    struct cli_conn *c = cli_connect(where, err);
    int rc;

    if (!c)
        return -1;
    if (!a->job)
        return end_dvm(c, where, (int64_t)a->deadline_s, err);
    rc = a->go_on ? continue_job(c, a, err) : signal_job(c, a, err);
    cli_conn_free(c);
    return rc;
}

int main(int argc, char **argv)
{
    CLI_WHERE_AUTO struct cli_where where = {0};
    struct args a = {0};
    struct err err = {0};

    heap_guard_json();
    cli_open_std();
    if (parse_args(argc, argv, &a, &err) < 0 || cli_find(a.dvm, a.tls_dir, &where, &err) < 0)
        return cli_usage("pterm", "%s", err.msg);
    if (a.help)
        fputs(help, stdout);
    else if (a.version)
        puts("pterm " DVM_VERSION);
    else if (run_command(&a, &where, &err) < 0)
        return cli_fail("pterm", EXIT_FAILURE, &err);
    return 0;
}
