/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses the command line of prun into a job.
 *
 * In: the arguments, the environment and the working directory. Out: struct submit_opts with the
 * job's specification, the place of the daemon, the style of the output, and the files to send.
 *
 * A line has one or more programs, separated by ':'. getopt_long(3) reads the options up to a
 * program's name; the words after the name are the program's own. Options of the whole job stand
 * before the first program. At the end the whole is checked, for example --stdin against the
 * number of ranks.
 *
 * Invariants: nothing is connected or started here, so a refused line has no effect; an option of
 * the whole job is given once; where the job goes is known before the environment is copied, since
 * another host gets fewer variables.
 *
 * Failures: -1 and a message that names the option as it was written. For an option of mpirun or
 * srun it names the option of prun with that meaning (words.c). */
#include "dvm/tools/submit/options.h"
#include "base/conf/number.h"

#include "base/buf/buf.h"
#include "dvm/host/jobspec/environ.h"
#include "dvm/host/jobspec/files.h"
#include "dvm/host/jobspec/hosts.h"
#include "dvm/protocol/map/policy.h"
#include "dvm/protocol/wire/client.h"
#include "dvm/tools/cli/usage.h"
#include "dvm/tools/submit/spec_check.h"
#include "dvm/tools/submit/words.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Values above every character, by which cli_option_error() recognises long options. */
enum {
    OPT_NP = 256,
    OPT_NPERNODE,
    OPT_VERBOSE,
    OPT_HELP,
    OPT_MAP_BY,
    OPT_RANK_BY,
    OPT_BIND_TO,
    OPT_DISPLAY,
    OPT_MAP_ONLY,
    OPT_MPI,
    OPT_QUIET,
    OPT_HOST,
    OPT_WDIR,
    OPT_TIMEOUT,
    OPT_TAG_OUTPUT,
    OPT_TIMESTAMP,
    OPT_MERGE,
    OPT_OUTPUT,
    OPT_MCA,
    OPT_PMIXMCA,
    OPT_ROOT,
    OPT_DETACH,
    OPT_SURVIVE,
    OPT_ATTACH,
    OPT_STDIN,
    OPT_OVERSUBSCRIBE,
    OPT_NO_WAIT,
    OPT_RTOS,
    OPT_RECOVERABLE,
    OPT_STRICT,
    OPT_CLEANUP_FILE,
    OPT_CLEANUP_DIR,
    OPT_PRELOAD_FILES,
    OPT_PRELOAD_BINARY,
    OPT_STOP_ON_EXEC,
    OPT_STOP_IN_INIT,
    OPT_STOP_IN_APP,
    OPT_DVM,
    OPT_TLS_DIR,
    OPT_RECONNECT,
    OPT_VERSION,
};

const char submit_shorts[] = "+:n:N:x:H:svh";

const struct option submit_longs[] = {
    {"np", required_argument, NULL, OPT_NP},
    {"npernode", required_argument, NULL, OPT_NPERNODE},
    {"map-by", required_argument, NULL, OPT_MAP_BY},
    {"rank-by", required_argument, NULL, OPT_RANK_BY},
    {"bind-to", required_argument, NULL, OPT_BIND_TO},
    {"display", required_argument, NULL, OPT_DISPLAY},
    {"do-not-launch", no_argument, NULL, OPT_MAP_ONLY},
    {"mpi", required_argument, NULL, OPT_MPI},
    {"quiet", no_argument, NULL, OPT_QUIET},
    {"host", required_argument, NULL, OPT_HOST},
    {"wdir", required_argument, NULL, OPT_WDIR},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"tag-output", no_argument, NULL, OPT_TAG_OUTPUT},
    {"timestamp-output", no_argument, NULL, OPT_TIMESTAMP},
    {"merge-stderr-to-stdout", no_argument, NULL, OPT_MERGE},
    {"output", required_argument, NULL, OPT_OUTPUT},
    {"mca", required_argument, NULL, OPT_MCA},
    {"pmixmca", required_argument, NULL, OPT_PMIXMCA},
    {"allow-run-as-root", no_argument, NULL, OPT_ROOT},
    {"detach", no_argument, NULL, OPT_DETACH},
    {"survive", no_argument, NULL, OPT_SURVIVE},
    {"attach", required_argument, NULL, OPT_ATTACH},
    {"stdin", required_argument, NULL, OPT_STDIN},
    {"oversubscribe", no_argument, NULL, OPT_OVERSUBSCRIBE},
    {"no-wait", no_argument, NULL, OPT_NO_WAIT},
    {"rtos", required_argument, NULL, OPT_RTOS},
    {"runtime-options", required_argument, NULL, OPT_RTOS},
    {"recoverable", no_argument, NULL, OPT_RECOVERABLE},
    {"strict", no_argument, NULL, OPT_STRICT},
    {"cleanup-file", required_argument, NULL, OPT_CLEANUP_FILE},
    {"cleanup-dir", required_argument, NULL, OPT_CLEANUP_DIR},
    {"preload-files", required_argument, NULL, OPT_PRELOAD_FILES},
    {"preload-binary", no_argument, NULL, OPT_PRELOAD_BINARY},
    {"stop-on-exec", no_argument, NULL, OPT_STOP_ON_EXEC},
    {"stop-in-init", no_argument, NULL, OPT_STOP_IN_INIT},
    {"stop-in-app", no_argument, NULL, OPT_STOP_IN_APP},
    {"dvm", required_argument, NULL, OPT_DVM},
    {"tls-dir", required_argument, NULL, OPT_TLS_DIR},
    {"reconnect", required_argument, NULL, OPT_RECONNECT},
    {"verbose", no_argument, NULL, OPT_VERBOSE},
    {"help", no_argument, NULL, OPT_HELP},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

#define EXPORTS_MAX 1024
#define RECONNECT_MS 30000 /* default for another host */
/* Longer than the end of a job may take: the ranks' grace, their output, cleanups of a minute
 * each, and a daemon that hangs (dvm/host/pmix/watch.c) and is then lost. */
#define END_WAIT_MS 180000

/* State of the parser: options given so far, to detect "given twice" and options of the whole
 * job. */
struct parse {
    struct submit_opts *out;
    char *const *environ_;
    const char *cwd;
    bool map_by, rank_by, bind_to, per_node, host, timeout, stdin_, attach, output; /* given */
    bool reconnect, found, rtos;
    unsigned rtos_words;
    const char *dvm, *tls_dir;
    /* Of the present application: */
    const char *wdir;
    bool binary;
    uint64_t nprocs;
    size_t nexports;
    const char *exports[EXPORTS_MAX];
    bool has_wdir[JOB_APPS_MAX]; /* of each application */
};

static int given_once(bool *given, const char *option, struct err *err)
{
    if (*given)
        return err_set(err, "option %s is given twice", option);
    *given = true;
    return 0;
}

/* Where the job goes: this decides which environment variables go along. */
static int set_place(struct parse *p, const char **at, const char *option, const char *text,
                     struct err *err)
{
    if (p->out->spec.napps)
        return err_set(err, "%s holds for the whole job: give it before the first program", option);
    if (*at)
        return err_set(err, "option %s is given twice", option);
    *at = text;
    return 0;
}

static int set_reconnect(struct parse *p, const char *text, struct err *err)
{
    uint64_t s;

    if (given_once(&p->reconnect, "--reconnect", err) < 0 ||
        number_parse(text, "--reconnect", 0, CLIENT_WINDOW_MAX_MS / 1000, &s, err) < 0)
        return -1;
    p->out->reconnect_ms = (int64_t)s * 1000;
    return 0;
}

static int set_per_node(struct parse *p, const char *text, struct err *err)
{
    uint64_t n;

    if (p->map_by)
        return err_set(err, "-N and --map-by contradict each other: give one of them");
    if (given_once(&p->per_node, "-N", err) < 0)
        return -1;
    if (number_parse(text, "-N", 1, JOB_RANKS_MAX, &n, err) < 0)
        return -1;
    p->out->spec.map_by = JOB_MAP_BY_PPR;
    p->out->spec.ppr = (uint32_t)n;
    return 0;
}

static int set_map_by(struct parse *p, const char *text, struct err *err)
{
    if (p->per_node)
        return err_set(err, "-N and --map-by contradict each other: give one of them");
    if (given_once(&p->map_by, "--map-by", err) < 0)
        return -1;
    return policy_map_by(text, &p->out->spec, err);
}

static int set_rank_by(struct parse *p, const char *text, struct err *err)
{
    if (given_once(&p->rank_by, "--rank-by", err) < 0)
        return -1;
    return policy_rank_by(text, &p->out->spec, err);
}

static int set_bind_to(struct parse *p, const char *text, struct err *err)
{
    if (given_once(&p->bind_to, "--bind-to", err) < 0)
        return -1;
    return policy_bind_to(text, &p->out->spec, err);
}

static int add_cleanup(struct parse *p, const char *option, const char *path, uint32_t flags,
                       struct err *err)
{
    struct job_spec *s = &p->out->spec;
    const char *why = job_cleanup_refused(path);

    if (why)
        return err_set(err, "%s: '%s' %s", option, path, why);
    if (s->ncleanups >= JOB_CLEANUPS_MAX)
        return err_set(err, "more than %d files and directories to clean up", JOB_CLEANUPS_MAX);
    s->cleanups = xrealloc(s->cleanups, (s->ncleanups + 1) * sizeof(*s->cleanups));
    s->cleanups[s->ncleanups++] = (struct job_cleanup){xstrdup(path), flags};
    return 0;
}

/* "PATH[,recursive][,leave-topdir]". */
static int add_cleanup_dir(struct parse *p, const char *text, struct err *err)
{
    FREE_AUTO char *copy = xstrdup(text);
    uint32_t flags = JOB_CLEAN_DIR;
    char *rest = copy;
    const char *path = strsep(&rest, ",");
    const char *word;

    while ((word = strsep(&rest, ","))) {
        if (strcmp(word, "recursive") == 0)
            flags |= JOB_CLEAN_RECURSIVE;
        else if (strcmp(word, "leave-topdir") == 0)
            flags |= JOB_CLEAN_LEAVE_TOPDIR;
        else
            return err_set(err, "--cleanup-dir: '%s' is neither recursive nor leave-topdir", word);
    }
    return add_cleanup(p, "--cleanup-dir", path, flags, err);
}

static int set_display(struct parse *p, const char *text, struct err *err)
{
    FREE_AUTO char *copy = xstrdup(text);
    char *rest = copy;
    const char *word;

    while ((word = strsep(&rest, ","))) {
        if (strcasecmp(word, "map") == 0)
            p->out->spec.flags |= JOB_DISPLAY_MAP;
        else if (strcasecmp(word, "bind") == 0)
            p->out->spec.flags |= JOB_DISPLAY_BIND;
        else
            return err_set(err, "--display: '%s' is neither map nor bind", word);
    }
    return 0;
}

/* srun's option: PMIx is what there is. */
static int set_mpi(const char *text, struct err *err)
{
    return strncmp(text, "pmix", 4) == 0
               ? 0
               : err_set(err, "--mpi: '%s' is not pmix, by which each rank is started here", text);
}

static int set_stdin(struct parse *p, const char *text, struct err *err)
{
    uint64_t rank;

    if (given_once(&p->stdin_, "--stdin", err) < 0)
        return -1;
    if (strcasecmp(text, "all") == 0) {
        p->out->spec.stdin_rank = JOB_RANK_ALL;
        return 0;
    }
    if (strcasecmp(text, "none") == 0) {
        p->out->spec.stdin_rank = JOB_RANK_NONE;
        return 0;
    }
    if (number_parse(text, "--stdin", 0, JOB_RANKS_MAX - 1, &rank, NULL) < 0)
        return err_set(err, "--stdin: '%s' is neither a rank nor all nor none", text);
    p->out->spec.stdin_rank = (uint32_t)rank;
    return 0;
}

static int set_host(struct parse *p, const char *text, struct err *err)
{
    if (p->out->spec.napps)
        return err_set(err, "--host holds for the whole job: give it before the first program");
    if (given_once(&p->host, "--host", err) < 0)
        return -1;
    return hosts_parse(text, &p->out->spec.hosts, &p->out->spec.nhosts, err);
}

static int set_timeout(struct parse *p, const char *text, struct err *err)
{
    if (given_once(&p->timeout, "--timeout", err) < 0)
        return -1;
    return number_parse_seconds(text, "--timeout", &p->out->spec.timeout_ms, err);
}

static int set_nprocs(struct parse *p, const char *text, struct err *err)
{
    if (p->nprocs)
        return err_set(err, "option -n is given twice for one program");
    return number_parse(text, "-n", 1, JOB_RANKS_MAX, &p->nprocs, err);
}

static int set_wdir(struct parse *p, const char *text, struct err *err)
{
    if (p->wdir)
        return err_set(err, "option --wdir is given twice for one program");
    if (!text[0])
        return err_set(err, "--wdir: an empty path");
    p->wdir = text;
    return 0;
}

static int add_export(struct parse *p, const char *text, struct err *err)
{
    if (p->nexports == EXPORTS_MAX)
        return err_set(err, "more than %d -x options", EXPORTS_MAX);
    p->exports[p->nexports++] = text;
    return 0;
}

static int set_attach(struct parse *p, const char *text, struct err *err)
{
    if (!text[0] || strlen(text) > JOB_NSPACE_MAX)
        return err_set(err, "--attach: '%s' is no name of a job", text);
    p->out->attach = text;
    return given_once(&p->attach, "--attach", err);
}

/* Words separated by commas: tag, timestamp, merge, dir=PATH. */
static int set_output(struct parse *p, char *text, struct err *err)
{
    struct output_style *o = &p->out->output;
    char *rest = text;
    char *word;

    if (given_once(&p->output, "--output", err) < 0)
        return -1;
    while ((word = strsep(&rest, ","))) {
        if (strcmp(word, "tag") == 0)
            o->tag = true;
        else if (strcmp(word, "timestamp") == 0)
            o->timestamp = true;
        else if (strcmp(word, "merge") == 0)
            o->merge = true;
        else if (strncmp(word, "dir=", 4) == 0 && word[4])
            o->dir = word + 4;
        else
            return err_set(err, "--output: '%s' is not one of tag, timestamp, merge, dir=PATH",
                           word);
    }
    return 0;
}

static int set_rtos(struct parse *p, const char *text, struct err *err)
{
    if (given_once(&p->rtos, "--rtos", err) < 0)
        return -1;
    return policy_rtos(text, &p->rtos_words, err);
}

static int set_stop(struct parse *p, enum job_stop stop, struct err *err)
{
    struct job_spec *s = &p->out->spec;

    if (s->stop != JOB_STOP_NONE && s->stop != stop)
        return err_set(err, "--stop-on-exec, --stop-in-init and --stop-in-app contradict each "
                            "other: give one of them");
    s->stop = stop;
    s->stop_rank = JOB_RANK_ALL;
    return 0;
}

static int set_flag(struct parse *p, int opt)
{
    struct job_spec *s = &p->out->spec;

    switch (opt) {
    case OPT_TAG_OUTPUT:
        p->out->output.tag = true;
        break;
    case 's':
    case OPT_PRELOAD_BINARY:
        p->binary = true;
        break;
    case OPT_TIMESTAMP:
        p->out->output.timestamp = true;
        break;
    case OPT_MERGE:
        p->out->output.merge = true;
        break;
    case OPT_ROOT:  /* commonly typed, so these are accepted: root is never refused, */
    case OPT_QUIET: /* and nothing is said without -v */
        break;
    case OPT_MAP_ONLY:
        s->flags |= JOB_MAP_ONLY;
        break;
    case OPT_DETACH:
        s->flags |= JOB_DETACH;
        break;
    case OPT_SURVIVE:
        p->out->survive = true;
        break;
    case OPT_OVERSUBSCRIBE:
        s->flags |= JOB_OVERSUBSCRIBE;
        break;
    case OPT_NO_WAIT:
        s->flags |= JOB_NO_WAIT;
        break;
    case OPT_RECOVERABLE:
        p->rtos_words |= POLICY_RECOVERABLE;
        break;
    case OPT_STRICT:
        p->rtos_words |= POLICY_STRICT;
        break;
    case 'v':
    case OPT_VERBOSE:
        p->out->verbose = true;
        break;
    case 'h':
    case OPT_HELP:
        p->out->what = SUBMIT_HELP;
        break;
    default:
        p->out->what = SUBMIT_VERSION;
    }
    return 0;
}

static int set_option(struct parse *p, int opt, char *value, struct err *err)
{
    switch (opt) {
    case 'n':
    case OPT_NP:
        return set_nprocs(p, value, err);
    case 'N':
    case OPT_NPERNODE:
        return set_per_node(p, value, err);
    case 'x':
        return add_export(p, value, err);
    case 'H':
    case OPT_HOST:
        return set_host(p, value, err);
    case OPT_MAP_BY:
        return set_map_by(p, value, err);
    case OPT_RANK_BY:
        return set_rank_by(p, value, err);
    case OPT_BIND_TO:
        return set_bind_to(p, value, err);
    case OPT_DISPLAY:
        return set_display(p, value, err);
    case OPT_MPI:
        return set_mpi(value, err);
    case OPT_WDIR:
        return set_wdir(p, value, err);
    case OPT_TIMEOUT:
        return set_timeout(p, value, err);
    case OPT_STDIN:
        return set_stdin(p, value, err);
    case OPT_ATTACH:
        return set_attach(p, value, err);
    case OPT_RTOS:
        return set_rtos(p, value, err);
    case OPT_OUTPUT:
        return set_output(p, value, err);
    case OPT_CLEANUP_FILE:
        return add_cleanup(p, "--cleanup-file", value, 0, err);
    case OPT_CLEANUP_DIR:
        return add_cleanup_dir(p, value, err);
    case OPT_PRELOAD_FILES:
        return files_add_list(&p->out->spec, &p->out->sources, value, p->cwd, err) < 0
                   ? err_wrap(err, "--preload-files")
                   : 0;
    case OPT_STOP_ON_EXEC:
        return set_stop(p, JOB_STOP_EXEC, err);
    case OPT_STOP_IN_INIT:
        return set_stop(p, JOB_STOP_INIT, err);
    case OPT_STOP_IN_APP:
        return set_stop(p, JOB_STOP_APP, err);
    case OPT_DVM:
        return set_place(p, &p->dvm, "--dvm", value, err);
    case OPT_TLS_DIR:
        return set_place(p, &p->tls_dir, "--tls-dir", value, err);
    case OPT_RECONNECT:
        return set_reconnect(p, value, err);
    default:
        return set_flag(p, opt);
    }
}

/* Takes `word`, which is freed with the options. */
static char *keep_word(struct parse *p, char *word)
{
    struct submit_opts *o = p->out;

    o->words = xrealloc((void *)o->words, (o->nwords + 1) * sizeof(*o->words));
    o->words[o->nwords++] = word;
    return word;
}

/* --mca NAME VALUE: the only kind of option with two values. */
static int set_parameter(struct parse *p, int opt, const char *name, const char *value,
                         struct err *err)
{
    const char *option = opt == OPT_MCA ? "--mca" : "--pmixmca";

    if (!value)
        return err_set(err, "option %s needs a name and a value", option);
    if (!name[0] || strchr(name, '='))
        return err_set(err, "%s: '%s' is no name of a parameter", option, name);
    return add_export(
        p, keep_word(p, xasprintf("%s_MCA_%s=%s", opt == OPT_MCA ? "OMPI" : "PMIX", name, value)),
        err);
}

static int take_option(struct parse *p, int opt, char **argv, struct err *err)
{
    if (opt == '?' || opt == ':')
        return cli_option_error(opt, argv, err);
    if (opt != OPT_MCA && opt != OPT_PMIXMCA)
        return set_option(p, opt, optarg, err);
    if (set_parameter(p, opt, optarg, argv[optind], err) < 0)
        return -1;
    optind++;
    return 0;
}

/* Parses options up to the program's name. Returns its index, or -1. argv[0] is the preceding
 * word. */
static int parse_options(struct parse *p, int argc, char **argv, struct err *err)
{
    optind = 0; /* glibc: start again, also after an earlier argv */
    opterr = 0;
    for (;;) {
        int next = optind ? optind : 1;
        char *word = NULL;
        int opt;

        if (next < argc && submit_word(argv[next], submit_shorts, submit_longs, &word, err) < 0)
            return -1;
        if (word)
            argv[next] = keep_word(p, word);
        opt = getopt_long(argc, argv, submit_shorts, submit_longs, NULL);
        if (opt == -1)
            return optind;
        if (take_option(p, opt, argv, err) < 0)
            return -1;
        if (p->out->what != SUBMIT_RUN)
            return argc; /* --help takes precedence over everything else */
    }
}

static char **copy_words(char *const *words, size_t n)
{
    char **copy = xcalloc(n + 1, sizeof(*copy));

    for (size_t i = 0; i < n; i++)
        copy[i] = xstrdup(words[i]);
    return copy;
}

/* NULL: the path is relative to a directory on another host. "": the daemon chooses. */
static char *working_dir(const struct parse *p, struct err *err)
{
    if (p->wdir && p->wdir[0] == '/')
        return xstrdup(p->wdir);
    if (!p->out->where.host)
        return p->wdir ? xasprintf("%s/%s", p->cwd, p->wdir) : xstrdup(p->cwd);
    if (!p->wdir)
        return xstrdup("");
    err_set(err, "--wdir %s: for a DVM of another host it has to begin with '/'", p->wdir);
    return NULL;
}

static const char *path_of(char *const *env)
{
    for (; *env; env++) {
        if (strncmp(*env, "PATH=", 5) == 0)
            return *env + 5;
    }
    return NULL;
}

static int add_program(struct parse *p, struct job_app *a, struct err *err)
{
    FREE_AUTO char *program = files_program(a->argv[0], path_of(p->environ_), err);

    if (!program || files_add(&p->out->spec, &p->out->sources, program, p->cwd, &a->program, err))
        return err_wrap(err, "--preload-binary");
    return 0;
}

/* Programs of a job with files start in the files' directory. A program named by a relative path
 * is still the local one, unless it is one of the files. */
static void start_at_files(struct parse *p)
{
    struct job_spec *s = &p->out->spec;

    for (size_t i = 0; s->nfiles && i < s->napps; i++) {
        struct job_app *a = &s->apps[i];

        if (p->has_wdir[i])
            continue;
        a->cwd[0] = '\0';
        if (!strchr(a->argv[0], '/') || a->argv[0][0] == '/')
            continue;
        if (!a->program)
            a->program = files_place(s, a->argv[0]);
        if (!a->program && !p->out->where.host) {
            char *path = xasprintf("%s/%s", p->cwd, a->argv[0]);

            free(a->argv[0]);
            a->argv[0] = path;
        }
    }
}

static int add_app(struct parse *p, char *const *words, size_t n, struct err *err)
{
    struct job_spec *s = &p->out->spec;
    struct job_app *a;

    if (n > JOB_ARGS_MAX)
        return err_set(err, "%s has %zu arguments, at most %d can be passed", words[0], n,
                       JOB_ARGS_MAX);
    if (s->napps == JOB_APPS_MAX)
        return err_set(err, "more than %d programs in one job", JOB_APPS_MAX);
    if (!p->cwd[0] && (!p->wdir || p->wdir[0] != '/'))
        return err_set(err,
                       "the working directory does not exist any more: name another with --wdir");
    s->apps = xrealloc(s->apps, (s->napps + 1) * sizeof(*s->apps));
    a = &s->apps[s->napps++];
    *a = (struct job_app){.nprocs = (uint32_t)p->nprocs};
    a->argv = copy_words(words, n);
    a->cwd = working_dir(p, err);
    if (!a->cwd)
        return -1;
    p->has_wdir[s->napps - 1] = p->wdir != NULL;
    if (p->binary && add_program(p, a, err) < 0)
        return -1;
    a->env = environ_for_job(p->environ_, p->exports, p->nexports, a->cwd,
                             p->out->where.host != NULL, err);
    return a->env ? 0 : -1;
}

static int check_attach(const struct parse *p, struct err *err)
{
    const struct job_spec *s = &p->out->spec;

    if (s->flags || p->out->survive || p->rtos_words || p->map_by || p->per_node || p->host ||
        p->timeout || p->stdin_ || p->nprocs || p->wdir || p->nexports || s->ncleanups ||
        s->nfiles || p->binary || s->stop)
        return err_set(err, "--attach can be given with --output, --tag-output, --dvm, --tls-dir, "
                            "--reconnect and -v only");
    return 0;
}

static int check_detach(struct parse *p, struct err *err)
{
    struct job_spec *s = &p->out->spec;
    const struct output_style *o = &p->out->output;
    const char *name = p->out->survive ? "--survive" : "--detach";

    if (p->out->survive && s->flags & JOB_DETACH)
        return err_set(err, "--detach and --survive contradict each other");
    if (!p->out->survive && !(s->flags & JOB_DETACH))
        return 0;
    if (p->stdin_ && s->stdin_rank != JOB_RANK_NONE)
        return err_set(err, "%s and --stdin contradict each other", name);
    if (s->flags & JOB_MAP_ONLY)
        return err_set(err, "--do-not-launch and %s contradict each other", name);
    s->flags |= JOB_DETACH;
    s->stdin_rank = JOB_RANK_NONE;
    if (p->out->survive)
        return 0;
    if (o->tag || o->timestamp || o->merge || o->dir)
        return err_set(err, "--detach shows no output: give the style of output with --attach");
    return 0;
}

static int find_program(struct parse *p, struct err *err)
{
    struct submit_opts *o = p->out;

    if (cli_find(p->dvm, p->tls_dir, &o->where, err) < 0)
        return -1;
    if (!p->reconnect && o->where.host)
        o->reconnect_ms = RECONNECT_MS;
    o->end_wait_ms = END_WAIT_MS;
    p->found = true;
    return 0;
}

/* Parses one application: options, program, arguments up to ':' or the end. Returns the number of
 * arguments used. */
static int parse_app(struct parse *p, int argc, char **argv, struct err *err)
{
    int first, end;

    p->wdir = NULL;
    p->binary = false;
    p->nprocs = 0;
    p->nexports = 0;
    first = parse_options(p, argc, argv, err);
    if (first < 0 || p->out->what != SUBMIT_RUN)
        return first;
    if (!p->found && find_program(p, err) < 0)
        return -1;
    if (p->attach)
        return first == argc ? check_attach(p, err) < 0 ? -1 : argc
                             : err_set(err,
                                       "--attach follows a job that is there: '%s' cannot be "
                                       "run with it",
                                       argv[first]);
    if (first == argc || strcmp(argv[first], ":") == 0)
        return err_set(err, p->out->spec.napps || first < argc ? "no program beside ':'"
                                                               : "no program to run");
    for (end = first; end < argc && strcmp(argv[end], ":") != 0; end++)
        ;
    if (!argv[first][0])
        return err_set(err, "the program's name is empty");
    return add_app(p, argv + first, (size_t)(end - first), err) < 0 ? -1 : end;
}

static int parse_all(struct parse *p, int argc, char **argv, struct err *err)
{
    int at = 0;

    for (;;) {
        int used = parse_app(p, argc - at, argv + at, err);

        if (used < 0)
            return -1;
        at += used;
        if (at >= argc || p->out->what != SUBMIT_RUN) {
            start_at_files(p);
            return check_detach(p, err) < 0 || submit_check(&p->out->spec, err) < 0
                       ? -1
                       : policy_rtos_set(p->rtos_words, &p->out->spec, err);
        }
    }
}

int submit_parse(int argc, char **argv, char *const *environ_, const char *cwd,
                 struct submit_opts *out, struct err *err)
{
    struct parse p = {.out = out, .environ_ = environ_, .cwd = cwd};
    int rc;

    *out = (struct submit_opts){0};
    out->spec.parent_nspace = xstrdup("");
    rc = parse_all(&p, argc, argv, err);
    if (rc < 0)
        submit_opts_free(out);
    return rc;
}

void submit_opts_free(struct submit_opts *o)
{
    for (size_t i = 0; i < o->spec.nfiles; i++)
        free(o->sources[i]);
    free(o->sources);
    job_spec_free(&o->spec);
    for (size_t i = 0; i < o->nwords; i++)
        free(o->words[i]);
    free((void *)o->words);
    cli_where_free(&o->where);
    *o = (struct submit_opts){0};
}
