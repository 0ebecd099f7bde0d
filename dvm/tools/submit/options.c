/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses the command line of prun into a job.
 *
 * In: the arguments, the environment and the working directory. Out: struct submit_opts with the
 * job's specification, the place of the daemon, the style of the output, and the files to send.
 *
 * A line has one or more programs, separated by ':'. given.c reads the options up to a program's
 * name, and those of DVM_PRUN_OPTIONS; the words after the name are the program's own. At the end
 * the whole is checked, for example --stdin against the number of ranks.
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
#include "dvm/host/jobspec/outer.h"
#include "dvm/protocol/map/policy.h"
#include "dvm/protocol/wire/client.h"
#include "dvm/tools/submit/given.h"
#include "dvm/tools/submit/spec_check.h"
#include "dvm/tools/submit/unread.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define EXPORTS_MAX 1024
#define DIGITS_UNKNOWN 4   /* in names of files, if the number of ranks is left to the DVM */
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
    struct given defaults; /* of DVM_PRUN_OPTIONS */
    struct given first;    /* before the first program */
    bool map_by, rank_by, bind_to, per_node, host, timeout, stdin_, attach, output; /* given */
    bool reconnect, found, rtos;
    unsigned rtos_words;
    const char *dvm, *tls_dir;
    const char *host_list; /* of --host; NULL: none */
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
    if (given_once(&p->host, "--host", err) < 0)
        return -1;
    p->host_list = text;
    return 0;
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

/* The daemon would drop it. */
static void note_left_out(struct submit_opts *o, const char *text)
{
    char *longer = xasprintf("%s%s%.*s", o->left_out ? o->left_out : "", o->left_out ? ", " : "",
                             (int)strcspn(text, "="), text);

    free(o->left_out);
    o->left_out = longer;
}

static int add_export(struct parse *p, const char *text, struct err *err)
{
    if (p->nexports == EXPORTS_MAX)
        return err_set(err, "more than %d -x options", EXPORTS_MAX);
    if (outer_is_identity(text)) {
        note_left_out(p->out, text);
        return 0;
    }
    p->exports[p->nexports++] = text;
    return 0;
}

static int set_parameter(struct parse *p, const struct given_option *x, struct err *err)
{
    const char *kind = x->opt == OPT_MCA ? "OMPI" : "PMIX";

    return add_export(p, given_keep(p->out, xasprintf("%s_MCA_%s=%s", kind, x->value, x->second)),
                      err);
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

static int set_flag(struct parse *p, enum option_id opt)
{
    struct job_spec *s = &p->out->spec;

    switch (opt) {
    case OPT_TAG_OUTPUT:
        p->out->output.tag = true;
        break;
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
    case OPT_DAEMON_LIMITS:
        p->out->daemon_limits = true;
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
    case OPT_VERBOSE:
        p->out->verbose = true;
        break;
    case OPT_HELP:
        p->out->what = SUBMIT_HELP;
        break;
    default:
        p->out->what = SUBMIT_VERSION;
    }
    return 0;
}

static int set_option(struct parse *p, const struct given_option *x, struct err *err)
{
    char *value = x->value;

    switch (x->opt) {
    case OPT_NP:
        return set_nprocs(p, value, err);
    case OPT_NPERNODE:
        return set_per_node(p, value, err);
    case OPT_EXPORT:
        return add_export(p, value, err);
    case OPT_MCA:
    case OPT_PMIXMCA:
        return set_parameter(p, x, err);
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
        return set_flag(p, x->opt);
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

static const char *value_of(char *const *env, const char *name)
{
    size_t len = strlen(name);

    for (; *env; env++) {
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return *env + len + 1;
    }
    return NULL;
}

static int add_program(struct parse *p, struct job_app *a, struct err *err)
{
    FREE_AUTO char *program = files_program(a->argv[0], value_of(p->environ_, "PATH"), err);

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

/* Defaults for jobs say nothing about a job that is there. */
static int check_attach(const struct given *g, struct err *err)
{
    if (given_of_job(g))
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

/* A local DVM, all of whose members are on this machine. Ranks have the directory of a member,
 * which is in that of the DVM. */
static bool is_local(const struct cli_where *w)
{
    FREE_AUTO char *here = xasprintf("%s/supervisor", w->dir ? w->dir : "");
    FREE_AUTO char *above = xasprintf("%s/../supervisor", w->dir ? w->dir : "");

    return w->dir && (access(here, F_OK) == 0 || access(above, F_OK) == 0);
}

static int limit_hosts(const struct parse *p, struct err *err)
{
    struct job_spec *s = &p->out->spec;

    if (!p->host_list)
        return 0;
    return is_local(&p->out->where) ? hosts_parse_local(p->host_list, &s->hosts, &s->nhosts, err)
                                    : hosts_parse(p->host_list, &s->hosts, &s->nhosts, err);
}

static int find_program(struct parse *p, struct err *err)
{
    struct submit_opts *o = p->out;

    if (cli_find(p->dvm, p->tls_dir, &o->where, err) < 0 || limit_hosts(p, err) < 0)
        return -1;
    if (!p->reconnect && o->where.host)
        o->reconnect_ms = RECONNECT_MS;
    o->end_wait_ms = END_WAIT_MS;
    p->found = true;
    return 0;
}

/* The options of DVM_PRUN_OPTIONS come first, so that those of the command line win. */
static int set_defaults(struct parse *p, const struct given *g, struct err *err)
{
    for (size_t i = 0; i < p->defaults.n; i++) {
        const struct given_option *d = &p->defaults.v[i];
        bool of_prun = given_holds(d->opt) == HOLDS_PRUN;

        if (given_replaces(g, d) || (given_has(g, OPT_ATTACH) && !of_prun))
            continue;
        if (p->out->spec.napps && given_holds(d->opt) != HOLDS_PROGRAM)
            continue;
        if (set_option(p, d, err) < 0)
            return err_wrap(err, "$" SUBMIT_DEFAULTS);
    }
    return 0;
}

static int read_defaults(struct parse *p, struct err *err)
{
    const char *text = value_of(p->environ_, SUBMIT_DEFAULTS);

    return given_read_defaults(&p->defaults, p->out, text, err) < 0
               ? err_wrap(err, "$" SUBMIT_DEFAULTS)
               : 0;
}

static int set_options(struct parse *p, struct given *g, struct err *err)
{
    bool later = p->out->spec.napps > 0;

    if ((later ? given_check_later(g, &p->first, err) : read_defaults(p, err)) < 0)
        return -1;
    if (set_defaults(p, g, err) < 0)
        return -1;
    for (size_t i = 0; i < g->n; i++) {
        if (set_option(p, &g->v[i], err) < 0)
            return -1;
    }
    if (!p->found && find_program(p, err) < 0)
        return -1;
    return p->attach ? check_attach(g, err) : 0;
}

/* The options of one program. Returns the index of its name, or -1. */
static int parse_options(struct parse *p, int argc, char **argv, struct err *err)
{
    struct given g = {0};
    int first = given_read(&g, p->out, argc, argv, err);

    if (given_has(&g, OPT_HELP))
        p->out->what = SUBMIT_HELP;
    else if (given_has(&g, OPT_VERSION))
        p->out->what = SUBMIT_VERSION;
    else if (first >= 0 && set_options(p, &g, err) < 0)
        first = -1;
    if (p->out->spec.napps == 0)
        p->first = g;
    else
        given_free(&g);
    return first;
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
    if (p->attach)
        return first == argc ? argc
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

/* As many as the highest rank has. Without a number of ranks for each program they are not known.
 */
static int digits_of_ranks(const struct job_spec *s)
{
    uint64_t ranks = 0;
    int digits = 1;

    for (size_t i = 0; i < s->napps; i++) {
        if (!s->apps[i].nprocs)
            return DIGITS_UNKNOWN;
        ranks += s->apps[i].nprocs;
    }
    for (uint64_t last = ranks ? ranks - 1 : 0; last >= 10; last /= 10)
        digits++;
    return s->napps ? digits : DIGITS_UNKNOWN;
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
            p->out->output.digits = digits_of_ranks(&p->out->spec);
            return check_detach(p, err) < 0 || submit_check(&p->out->spec, err) < 0
                       ? -1
                       : policy_rtos_set(p->rtos_words, &p->out->spec, err);
        }
    }
}

/* The user may not think of an option that is not on the command line. */
static void name_defaults(const struct parse *p, struct err *err)
{
    const char *text = value_of(p->environ_, SUBMIT_DEFAULTS);

    if (err && text && *text && !strstr(err->msg, "$" SUBMIT_DEFAULTS))
        err_set(err, "%s ($" SUBMIT_DEFAULTS " is '%s')", err->msg, text);
}

int submit_parse(int argc, char **argv, char *const *environ_, const char *cwd,
                 struct submit_opts *out, struct err *err)
{
    struct parse p = {.out = out, .environ_ = environ_, .cwd = cwd};
    int rc;

    *out = (struct submit_opts){0};
    out->spec.parent_nspace = xstrdup("");
    rc = parse_all(&p, argc, argv, err);
    given_free(&p.first);
    given_free(&p.defaults);
    if (rc < 0) {
        name_defaults(&p, err);
        submit_opts_free(out);
    } else {
        out->unread = unread_names(environ_);
    }
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
    free(o->left_out);
    free(o->unread);
    cli_where_free(&o->where);
    *o = (struct submit_opts){0};
}
