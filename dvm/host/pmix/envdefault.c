/* SPDX-License-Identifier: BSD-3-Clause */
/* Environment of a rank beside PMIx's own variables: the variables that Open MPI needs here and
 * scripts expect. docs/pmix/environment.md gives the reasons.
 *
 * In: the environment of the rank with PMIx's variables; its job; what the daemon knows of the host
 * and its CPUs. Out: the same environment with more variables.
 *
 * A default is set only if the variable is missing, so a user's value is kept. Numbers of the rank,
 * and the directory of the job's files, replace inherited values: these may be another rank's. The
 * directory for shared memory is set, where daemons may share the host, if it is missing or the
 * parent job's.
 *
 * Failure: if the network interfaces cannot be listed, loopback is not taken for the only one. */
#include "dvm/host/pmix/pmix_private.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The index of NAME=... in env, or of the end. */
static size_t place_of(char *const *env, const char *name)
{
    size_t n = strlen(name), i = 0;

    while (env[i] && (strncmp(env[i], name, n) != 0 || env[i][n] != '='))
        i++;
    return i;
}

/* Takes `pair`, "NAME=value", and puts it where NAME is or at the end. */
static void put_variable(char ***env, const char *name, char *pair)
{
    size_t i = place_of(*env, name);

    if (!(*env)[i]) {
        *env = xrealloc(*env, (i + 2) * sizeof(**env));
        (*env)[i + 1] = NULL;
        (*env)[i] = NULL;
    }
    free((*env)[i]);
    (*env)[i] = pair;
}

static void drop_variable(char **env, const char *name)
{
    size_t i = place_of(env, name);

    if (!env[i])
        return;
    free(env[i]);
    for (; env[i]; i++)
        env[i] = env[i + 1];
}

/* A value that the user has set is kept. */
static void put_default(char ***env, const char *name, const char *value)
{
    if (!(*env)[place_of(*env, name)])
        put_variable(env, name, xasprintf("%s=%s", name, value));
}

/* Replaces inherited values: the environment may be that of another rank. */
static void put_number(char ***env, const char *name, uint32_t v)
{
    put_variable(env, name, xasprintf("%s=%u", name, v));
}

/* A rank that spawns passes its variable on: it names the directory of its own job, on its own
 * daemon. */
static bool is_parents(const char *value, const struct job *j)
{
    const char *parent = j->launch->spec.parent_nspace;
    const char *last = strrchr(value, '/');

    return parent && parent[0] && last && strcmp(last + 1, parent) == 0;
}

static void put_dir(char ***env, const struct job *j, const char *name, const char *dir)
{
    const char *pair = (*env)[place_of(*env, name)];

    if (!pair || is_parents(pair, j))
        put_variable(env, name, xasprintf("%s=%s", name, dir));
}

/* Open MPI names its shared-memory files by the host's name and the local rank. Two daemons on
 * one host would give two ranks one file. So a daemon whose node name is not the host's keeps
 * these files in the job's directory. */
static void put_backing_dir(char ***env, const struct pmix_srv *p, const struct job *j)
{
    FREE_AUTO char *dir = xasprintf("%s/%s", p->session_dir, j->nspace);

    put_dir(env, j, "OMPI_MCA_btl_vader_backing_directory", dir);
    put_dir(env, j, "OMPI_MCA_osc_sm_backing_directory", dir);
}

/* Ranks that start in that directory find the files by their names; others get its path. Open MPI
 * 4.1 shows OMPI_FILE_LOCATION as the place of such files. Without files it is the rank's own
 * directory, as under mpirun. */
static void put_files_dir(char ***env, const struct pmix_srv *p, const struct job_launch *l,
                          uint32_t rank)
{
    FREE_AUTO char *dir = xasprintf("%s/%s/" JOB_FILES_DIR, p->session_dir, l->nspace);

    if (!l->spec.nfiles) {
        put_variable(env, "OMPI_FILE_LOCATION",
                     xasprintf("OMPI_FILE_LOCATION=%s/%s/%u", p->session_dir, l->nspace, rank));
        return;
    }
    put_variable(env, "OMPI_FILE_LOCATION", xasprintf("OMPI_FILE_LOCATION=%s", dir));
    put_variable(env, "DVM_FILES_DIR", xasprintf("DVM_FILES_DIR=%s", dir));
    if (!l->spec.apps[l->rank_app[rank]].cwd[0])
        put_variable(env, "PWD", xasprintf("PWD=%s", dir));
}

/* Whether the hardware threads of the rank are its alone, so that it may poll on them. */
static bool owns_cpus(const struct pmix_srv *p, const struct job *j, uint32_t rank)
{
    const struct job_launch *l = j->launch;
    uint32_t local = j->ranks[rank].local_rank;

    return p->owns_cpus && local < l->ncpus && l->cpus[local][0] &&
           !(l->spec.flags & JOB_OVERSUBSCRIBE);
}

/* "A B C": one number for each application of the job. */
static void put_numbers(char ***env, const char *name, const uint32_t *list, size_t n)
{
    char *pair = xasprintf("%s=", name);

    for (size_t i = 0; i < n; i++) {
        char *longer = xasprintf("%s%s%u", pair, i ? " " : "", list[i]);

        free(pair);
        pair = longer;
    }
    put_variable(env, name, pair);
}

/* The variables that Open MPI reads for MPI_INFO_ENV: all applications, their ranks and first
 * ranks. */
static void put_apps(char ***env, const struct job_launch *l)
{
    size_t napps = l->spec.napps;
    FREE_AUTO uint32_t *counts = xcalloc(napps + 1, sizeof(*counts));
    FREE_AUTO uint32_t *firsts = xcalloc(napps + 1, sizeof(*firsts));

    for (uint32_t r = l->nranks; r-- > 0;) {
        counts[l->rank_app[r]]++;
        firsts[l->rank_app[r]] = r;
    }
    put_number(env, "OMPI_NUM_APP_CTX", (uint32_t)napps);
    put_numbers(env, "OMPI_APP_CTX_NUM_PROCS", counts, napps);
    put_numbers(env, "OMPI_FIRST_RANKS", firsts, napps);
}

static void put_command(char ***env, const struct job_app *app)
{
    char *args = NULL;

    put_variable(env, "OMPI_COMMAND", xasprintf("OMPI_COMMAND=%s", app->argv[0]));
    for (char **a = app->argv + 1; *a; a++) {
        char *longer = xasprintf("%s%s%s", args ? args : "OMPI_ARGV=", args ? " " : "", *a);

        free(args);
        args = longer;
    }
    if (args)
        put_variable(env, "OMPI_ARGV", args);
    else
        drop_variable(*env, "OMPI_ARGV"); /* that of the rank which has spawned this one */
}

/* docs/pmix/environment.md gives the reasons. */
void envdefault_add(char ***env, const struct pmix_srv *p, const struct job *j, uint32_t rank)
{
    const struct job_launch *l = j->launch;

    put_default(env, "OMPI_MCA_schizo", "^orte,slurm,flux,jsm,alps");
    if (!owns_cpus(p, j, rank))
        put_default(env, "OMPI_MCA_mpi_yield_when_idle", "1");
    put_default(env, "OMPI_MCA_osc", "^ucx");
    if (p->shares_host)
        put_backing_dir(env, p, j);
    put_files_dir(env, p, l, rank);
    if (p->only_loopback)
        put_default(env, "OMPI_MCA_btl_tcp_if_include", "lo");
    put_number(env, "OMPI_COMM_WORLD_SIZE", l->nranks);
    put_number(env, "OMPI_COMM_WORLD_RANK", rank);
    put_number(env, "OMPI_COMM_WORLD_LOCAL_SIZE", j->node_size[l->rank_node[rank]]);
    put_number(env, "OMPI_COMM_WORLD_LOCAL_RANK", j->ranks[rank].local_rank);
    put_number(env, "OMPI_COMM_WORLD_NODE_RANK", j->ranks[rank].local_rank);
    put_default(env, "HOME", p->home);
    put_variable(env, "DVM_SESSION_DIR", xasprintf("DVM_SESSION_DIR=%s", p->dvm_dir));
    put_apps(env, l);
    put_command(env, &l->spec.apps[l->rank_app[rank]]);
}

char *envdefault_home(void)
{
    const struct passwd *user = getpwuid(geteuid());

    return xstrdup(user ? user->pw_dir : "/");
}

bool envdefault_shares_host(const char *host)
{
    char own[256] = "";
    size_t n;

    gethostname(own, sizeof(own) - 1);
    n = strcspn(own, ".");
    return strncmp(own, host, n) != 0 || (host[n] && host[n] != '.');
}

bool envdefault_only_loopback(void)
{
    struct ifaddrs *list = NULL;
    bool only = true;

    if (getifaddrs(&list) < 0)
        return false;
    for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
        bool ip = i->ifa_addr &&
                  (i->ifa_addr->sa_family == AF_INET || i->ifa_addr->sa_family == AF_INET6);

        if (ip && (i->ifa_flags & IFF_UP) && !(i->ifa_flags & IFF_LOOPBACK))
            only = false;
    }
    freeifaddrs(list);
    return only;
}
