/* SPDX-License-Identifier: BSD-3-Clause */
/* pterm: ends a DVM and waits until it is gone. */
#include "dvm/cli/shutdown.h"
#include "dvm/cli/usage.h"
#include "dvm/ldvm/ldvm.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#define DEADLINE_MAX_S 86400u

static const char help[] =
    "Usage: pterm [--deadline S] [--dvm DIR|SOCKET]\n"
    "\n"
    "Ends a DVM and waits until it is gone. Of a local DVM ('prte start') nothing is left then:\n"
    "no process, no file. On Kubernetes the operator ends a DVM when its DvmCluster is deleted or\n"
    "suspended; what pterm ends there comes back.\n"
    "\n"
    "      --deadline S      let running jobs go on for up to S seconds (default: 0)\n"
    "      --dvm DIR|SOCKET  session directory or socket of the head (default:\n"
    "                        $DVM_SESSION_DIR, else /run/dvm in a pod, else\n"
    "                        ${XDG_RUNTIME_DIR:-/tmp}/dvm-$UID)\n"
    "  -h, --help            this text\n"
    "      --version         the version\n"
    "\n"
    "Exit code: 0, 1 if the DVM cannot be ended, 2 if the command line is wrong.\n";

enum { OPT_DEADLINE = 256, OPT_DVM, OPT_HELP, OPT_VERSION };

static const struct option longs[] = {
    {"deadline", required_argument, NULL, OPT_DEADLINE},
    {"dvm", required_argument, NULL, OPT_DVM},
    {"help", no_argument, NULL, OPT_HELP},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

struct args {
    const char *dvm;
    uint64_t deadline_s;
    bool help, version;
};

static int parse(int argc, char **argv, struct args *a, struct err *err)
{
    int opt;

    opterr = 0;
    while ((opt = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        if (opt == '?' || opt == ':')
            return cli_option_error(opt, argv, err);
        if (opt == OPT_DEADLINE &&
            cli_number(optarg, "--deadline", 0, DEADLINE_MAX_S, &a->deadline_s, err) < 0)
            return -1;
        if (opt == OPT_DVM)
            a->dvm = optarg;
        a->help = a->help || opt == OPT_HELP || opt == 'h';
        a->version = a->version || opt == OPT_VERSION;
    }
    return optind == argc ? 0 : err_set(err, "'%s' has no meaning here", argv[optind]);
}

static int run(const struct args *a, struct err *err)
{
    struct cli_where where CLI_WHERE_AUTO = {0};
    struct cli_conn *c;
    int rc;

    cli_find(a->dvm, &where);
    c = cli_connect(&where, err);
    if (!c)
        return -1;
    rc = cli_shutdown(c, (int64_t)a->deadline_s, err);
    cli_conn_free(c);
    if (rc == 0 && ldvm_is(where.dir))
        rc = ldvm_finish(where.dir, NULL, true, err);
    return rc;
}

int main(int argc, char **argv)
{
    struct args a = {0};
    struct err err = {0};

    if (parse(argc, argv, &a, &err) < 0)
        return cli_usage("pterm", "%s", err.msg);
    if (a.help)
        fputs(help, stdout);
    else if (a.version)
        puts("pterm " DVM_VERSION);
    else if (run(&a, &err) < 0)
        return cli_fail("pterm", EXIT_FAILURE, &err);
    return 0;
}
