/* SPDX-License-Identifier: BSD-3-Clause */
/* prte: starts, resizes and ends a local DVM, several daemons on this host without Kubernetes.
 *
 * In: a verb (start, resize, stop, run), its options and arguments. Out: calls of dvm/tools/ldvm,
 * which does the work, and an exit code.
 *
 * Order: find_verb(), then parse_args(), which refuses options that the verb does not take, then
 * the verb's function. `run` starts a DVM in a new directory of $TMPDIR or /tmp, runs prun in it as
 * a child, and ends the DVM (dvm/tools/ldvm/run.c). Its exit code is prun's, or 128 and the signal.
 *
 * Failures and limits: a wrong command line gives 2, any other error 1. */
#include "api/faults.h"
#include "base/buf/buf.h"
#include "base/conf/number.h"
#include "base/heap/heap.h"
#include "dvm/host/cgroup/cgroup.h"
#include "dvm/host/jobspec/hosts.h"
#include "dvm/tools/cli/find.h"
#include "dvm/tools/cli/usage.h"
#include "dvm/tools/ldvm/ldvm.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECONDS_MAX 86400u
#define SLOTS_MAX 4096u

static const char help[] =
    "Usage: prte start -n N [--slots S] [--radix R] [--foreground] [--dvm DIR] [limits]\n"
    "  or:  prte resize M [--drain wait|kill] [--deadline S] [--dvm DIR]\n"
    "  or:  prte resize --remove LIST [--drain wait|kill] [--deadline S] [--dvm DIR]\n"
    "  or:  prte stop [--deadline S] [--dvm DIR]\n"
    "  or:  prte run [-n N] [--slots S] [limits] -- <options and program, as for prun>\n"
    "\n"
    "A DVM on this host, without Kubernetes: a head and N members, each a daemon of its own.\n"
    "Run jobs in it with prun, look at it with pstat.\n"
    "\n"
    "prte start              start a DVM and return when all members can run jobs; it gives up "
    "when\n"
    "                        no further member has joined for 60 s\n"
    "  -n, --members N       number of members (0..1024; with 0, jobs wait)\n"
    "      --slots S         ranks that fit on each member (default: the CPUs that this process "
    "may\n"
    "                        use, no more than its container's limit)\n"
    "      --radix R         fan-out of the tree, 2..1024 (default: 64)\n"
    "      --foreground      stay until the DVM ends; Ctrl-C ends it, twice kills it\n"
    "      --daemonize       return when it is ready (default)\n"
    "\n"
    "prte resize M           change the number of members to M; prints what happens and when. It\n"
    "                        waits while jobs run on leaving members, and gives up when the head\n"
    "                        has sent nothing for 10 s and then does not answer for 10 s\n"
    "      --remove LIST     instead of M: these members leave, '2,5:7'; the next resize fills "
    "their\n"
    "                        places\n"
    "      --drain wait|kill let jobs on leaving members end (default), or end them at once\n"
    "      --deadline S      end jobs that still run on leaving members after S seconds\n"
    "\n"
    "prte stop               end the DVM and remove all its processes and files; daemons that run\n"
    "                        30 s after the deadline, or 10 s after the head, get SIGTERM, and\n"
    "                        SIGKILL 2 s later\n"
    "      --deadline S      let running jobs go on for up to S seconds (default: 0)\n"
    "\n"
    "prte run                run one job in a DVM of its own; exits with the code of the job. A\n"
    "                        signal ends both, and gives 128 + its number\n"
    "  -n, --members N       number of members (default: 1)\n"
    "\n"
    "Limits of faults, for start and run, with up to three decimals:\n"
    "      --link-grace S    time in which a broken link may be restored (default: 5)\n"
    "      --silence S       a connection that carries nothing for so long counts as broken\n"
    "                        (default: 10; at least the link grace)\n"
    "      --head-absence S  a member ends its ranks when the head is out of reach for so long\n"
    "                        (default: 300; at least the silence and twice the link grace)\n"
    "\n"
    "      --dvm DIR         its directory (default: $DVM_SESSION_DIR, else\n"
    "                        ${XDG_RUNTIME_DIR:-/tmp}/dvm-$UID)\n"
    "  -h, --help            this text\n"
    "      --version         the version\n"
    "\n"
    "Exit code: 0, 1 if it cannot be done, 2 if the command line is wrong.\n"
    "Logs of the daemons are DIR/<vpid>/prted.log.\n";

enum {
    OPT_MEMBERS = 256,
    OPT_SLOTS,
    OPT_RADIX,
    OPT_GRACE,
    OPT_SILENCE,
    OPT_ABSENCE,
    OPT_FOREGROUND,
    OPT_DAEMONIZE,
    OPT_DRAIN,
    OPT_DEADLINE,
    OPT_REMOVE,
    OPT_DVM,
    OPT_HELP,
    OPT_VERSION
};

static const struct option longs[] = {
    {"members", required_argument, NULL, OPT_MEMBERS},
    {"slots", required_argument, NULL, OPT_SLOTS},
    {"radix", required_argument, NULL, OPT_RADIX},
    {"link-grace", required_argument, NULL, OPT_GRACE},
    {"silence", required_argument, NULL, OPT_SILENCE},
    {"head-absence", required_argument, NULL, OPT_ABSENCE},
    {"foreground", no_argument, NULL, OPT_FOREGROUND},
    {"daemonize", no_argument, NULL, OPT_DAEMONIZE},
    {"drain", required_argument, NULL, OPT_DRAIN},
    {"deadline", required_argument, NULL, OPT_DEADLINE},
    {"remove", required_argument, NULL, OPT_REMOVE},
    {"dvm", required_argument, NULL, OPT_DVM},
    {"help", no_argument, NULL, OPT_HELP},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

/* Bits of the given options, and of those that each verb takes. */
#define GIVEN(opt) (1u << ((opt)-OPT_MEMBERS))
#define GIVEN_FAULTS (GIVEN(OPT_GRACE) | GIVEN(OPT_SILENCE) | GIVEN(OPT_ABSENCE))

struct args {
    unsigned given;
    uint64_t members, slots, radix, deadline_s;
    struct api_faults faults;
    bool kill;
    const char *dvm, *remove;
    char **rest; /* the arguments after the options, NULL-terminated */
    int nrest;
};

typedef int verb_fn(const struct args *a, struct err *err);

struct verb {
    const char *name;
    unsigned takes;
    bool rest;   /* the verb takes further arguments */
    verb_fn *fn; /* the exit code, or -1 or WRONG and err */
};

/* Reports a command line that turns out to be wrong later. */
#define WRONG (-2)
static int usage_error(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int usage_error(struct err *err, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
    va_end(ap);
    return WRONG;
}

static uint64_t count_cpus(void)
{
    struct cgroup_cpus c;
    uint64_t n;

    if (cgroup_cpus_read("", NULL, &c, NULL) < 0)
        return 1;
    n = cgroup_slots(&c);
    cgroup_cpus_free(&c);
    return n < SLOTS_MAX ? n : SLOTS_MAX;
}

static char *absolute_path(const char *path)
{
    FREE_AUTO char *cwd = path[0] == '/' ? NULL : getcwd(NULL, 0);

    return cwd ? xasprintf("%s/%s", cwd, path) : xstrdup(path);
}

static char *dir_of(const struct args *a)
{
    FREE_AUTO char *dir = cli_new_dir(a->dvm);
    char *full = absolute_path(dir);
    size_t len = strlen(full);

    while (len > 1 && full[len - 1] == '/')
        full[--len] = '\0';
    return full;
}

static struct ldvm_start_opts start_opts(const struct args *a)
{
    return (struct ldvm_start_opts){.members = (uint32_t)a->members,
                                    .slots = (uint32_t)a->slots,
                                    .radix = (uint32_t)a->radix,
                                    .faults = a->faults};
}

static struct procs *start_members(const struct args *a, const char *dir, bool catch,
                                   struct err *err)
{
    struct ldvm_start_opts o = start_opts(a);
    FREE_AUTO char *log = NULL;
    struct procs *p;

    o.dir = dir;
    p = ldvm_start(&o, catch, &log, err);
    if (!p && log[0])
        fprintf(stderr, "%s", log);
    return p;
}

static int do_start(const struct args *a, struct err *err)
{
    FREE_AUTO char *dir = dir_of(a);
    bool stay = a->given & GIVEN(OPT_FOREGROUND);
    struct procs *p;
    int rc = 0;

    if (!(a->given & GIVEN(OPT_MEMBERS)))
        return usage_error(err, "start needs -n, the number of members");
    if (stay && a->given & GIVEN(OPT_DAEMONIZE))
        return usage_error(err, "--foreground and --daemonize contradict each other");
    p = start_members(a, dir, stay, err);
    if (!p)
        return -1;
    printf("DVM ready: %u members\n", (unsigned)a->members);
    fflush(stdout);
    if (stay)
        rc = ldvm_attend(p, dir, err);
    procs_destroy(p);
    return rc;
}

static int do_resize(const struct args *a, struct err *err)
{
    FREE_AUTO char *dir = dir_of(a);
    struct ldvm_resize_opts o = {.dir = dir, .deadline_s = -1, .kill = a->kill};
    FREE_AUTO uint32_t *vpids = NULL;
    uint64_t members = 0;

    if (a->nrest != !a->remove)
        return usage_error(err, "resize needs one number, that of members, or --remove LIST");
    if (a->remove && hosts_parse(a->remove, &vpids, &o.nremove, err) < 0)
        return WRONG;
    o.remove = vpids;
    if (a->nrest && number_parse(a->rest[0], "resize", 0, LDVM_MEMBERS_MAX, &members, err) < 0)
        return WRONG;
    if (a->kill && a->given & GIVEN(OPT_DEADLINE))
        return usage_error(err, "--drain kill ends jobs at once: --deadline contradicts it");
    o.members = (uint32_t)members;
    o.drain_given = a->given & (GIVEN(OPT_DRAIN) | GIVEN(OPT_DEADLINE));
    if (a->given & GIVEN(OPT_DEADLINE))
        o.deadline_s = (int64_t)a->deadline_s;
    return ldvm_resize(&o, err);
}

static int do_stop(const struct args *a, struct err *err)
{
    FREE_AUTO char *dir = dir_of(a);

    return ldvm_stop(dir, (int64_t)a->deadline_s, err);
}

static int do_run(const struct args *a, struct err *err)
{
    struct ldvm_start_opts o = start_opts(a);
    const char *tmp = getenv("TMPDIR");

    if (!a->nrest)
        return usage_error(err, "run needs a program after '--'");
    tmp = tmp && *tmp ? tmp : "/tmp";
    if (*tmp != '/')
        return usage_error(err, "$TMPDIR: '%s' is not an absolute path", tmp);
    return ldvm_run(&o, tmp, a->rest, err);
}

static const struct verb verbs[] = {
    {"start",
     GIVEN(OPT_MEMBERS) | GIVEN(OPT_SLOTS) | GIVEN(OPT_RADIX) | GIVEN_FAULTS |
         GIVEN(OPT_FOREGROUND) | GIVEN(OPT_DAEMONIZE) | GIVEN(OPT_DVM),
     false, do_start},
    {"resize", GIVEN(OPT_DRAIN) | GIVEN(OPT_DEADLINE) | GIVEN(OPT_REMOVE) | GIVEN(OPT_DVM), true,
     do_resize},
    {"stop", GIVEN(OPT_DEADLINE) | GIVEN(OPT_DVM), false, do_stop},
    {"run", GIVEN(OPT_MEMBERS) | GIVEN(OPT_SLOTS) | GIVEN(OPT_RADIX) | GIVEN_FAULTS, true, do_run},
};

static int set_drain(struct args *a, const char *text, struct err *err)
{
    a->kill = strcmp(text, "kill") == 0;
    if (!a->kill && strcmp(text, "wait") != 0)
        return err_set(err, "--drain: '%s' is neither wait nor kill", text);
    return 0;
}

static int set_option(struct args *a, int opt, const char *value, struct err *err)
{
    if (a->given & GIVEN(opt))
        return err_set(err, "option --%s is given twice", longs[opt - OPT_MEMBERS].name);
    a->given |= GIVEN(opt);
    switch (opt) {
    case OPT_MEMBERS:
        return number_parse(value, "-n", 0, LDVM_MEMBERS_MAX, &a->members, err);
    case OPT_SLOTS:
        return number_parse(value, "--slots", 1, SLOTS_MAX, &a->slots, err);
    case OPT_RADIX:
        return number_parse(value, "--radix", 2, 1024, &a->radix, err);
    case OPT_GRACE:
        return number_parse_seconds(value, "--link-grace", &a->faults.link_grace_ms, err);
    case OPT_SILENCE:
        return number_parse_seconds(value, "--silence", &a->faults.silence_ms, err);
    case OPT_ABSENCE:
        return number_parse_seconds(value, "--head-absence", &a->faults.head_absence_ms, err);
    case OPT_DRAIN:
        return set_drain(a, value, err);
    case OPT_DEADLINE:
        return number_parse(value, "--deadline", 0, SECONDS_MAX, &a->deadline_s, err);
    case OPT_REMOVE:
        a->remove = value;
        return 0;
    case OPT_DVM:
        a->dvm = value;
        return value[0] ? 0 : err_set(err, "--dvm: an empty path");
    default:
        return 0;
    }
}

static int check_taken(const struct args *a, const struct verb *v, struct err *err)
{
    for (int opt = OPT_MEMBERS; opt < OPT_HELP; opt++) {
        if (a->given & GIVEN(opt) & ~v->takes)
            return err_set(err, "'%s' does not take --%s", v->name, longs[opt - OPT_MEMBERS].name);
    }
    if (!v->rest && a->nrest)
        return err_set(err, "'%s' after '%s' has no meaning", a->rest[0], v->name);
    return 0;
}

/* argv[0] is the verb. Options of 'run' end at its first other word, since the rest is prun's. */
static int parse_args(int argc, char **argv, const struct verb *v, struct args *a, struct err *err)
{
    int opt;

    opterr = 0;
    while ((opt = getopt_long(argc, argv, v->fn == do_run ? "+:n:h" : ":n:h", longs, NULL)) != -1) {
        if (opt == '?' || opt == ':')
            return cli_option_error(opt, argv, err);
        if (opt == OPT_HELP || opt == 'h') {
            fputs(help, stdout);
            exit(0);
        }
        if (opt == OPT_VERSION) {
            puts("prte " DVM_VERSION);
            exit(0);
        }
        if (set_option(a, opt == 'n' ? OPT_MEMBERS : opt, optarg, err) < 0)
            return -1;
    }
    a->rest = argv + optind;
    a->nrest = argc - optind;
    if (check_taken(a, v, err) < 0)
        return -1;
    return api_faults_check(&a->faults, err);
}

static const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct args a = {
        .members = 1, .slots = count_cpus(), .radix = 64, .faults = API_FAULTS_DEFAULTS};
    const struct verb *v;
    struct err err = {0};
    int code;

    heap_guard_json();
    heap_guard_crypto();
    cli_open_std();
    if (argc < 2)
        return cli_usage("prte", "a command is missing: start, resize, stop or run");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        fputs(help, stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("prte " DVM_VERSION);
        return 0;
    }
    v = find_verb(argv[1]);
    if (!v)
        return cli_usage("prte", "'%s' is not one of start, resize, stop, run", argv[1]);
    if (parse_args(argc - 1, argv + 1, v, &a, &err) < 0)
        return cli_usage("prte", "%s", err.msg);
    code = v->fn(&a, &err);
    if (code == WRONG)
        return cli_usage("prte", "%s", err.msg);
    return code < 0 ? cli_fail("prte", EXIT_FAILURE, &err) : code;
}
