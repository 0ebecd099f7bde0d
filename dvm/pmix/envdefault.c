/* SPDX-License-Identifier: BSD-3-Clause */
/* Environment of a rank beside PMIx's own variables: what Open MPI needs here and scripts expect.
 */
#include "dvm/pmix/pmix_private.h"

#include <stdlib.h>
#include <string.h>

/* The place of NAME=... in env, or of the end. */
static size_t place_of(char *const *env, const char *name)
{
    size_t n = strlen(name), i = 0;

    while (env[i] && (strncmp(env[i], name, n) != 0 || env[i][n] != '='))
        i++;
    return i;
}

/* Takes `pair`, "NAME=value", and puts it where NAME is or at the end. */
static void put(char ***env, const char *name, char *pair)
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

/* Reasons: docs/pmix.md, "Environment of a rank". */
static const struct {
    const char *name;
    const char *value;
} defaults[] = {
    {"OMPI_MCA_schizo", "^orte"},
    {"OMPI_MCA_mpi_yield_when_idle", "1"},
};

/* Over what is there: a rank may be started from an environment that is itself a rank's. */
static void put_number(char ***env, const char *name, uint32_t v)
{
    put(env, name, xasprintf("%s=%u", name, v));
}

void envdefault_add(char ***env, const struct job *j, uint32_t rank)
{
    const struct job_launch *l = &j->launch;
    uint32_t slots = l->universe > l->nranks ? l->universe : l->nranks;

    for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++) {
        const char *name = defaults[i].name;

        if (!(*env)[place_of(*env, name)])
            put(env, name, xasprintf("%s=%s", name, defaults[i].value));
    }
    put_number(env, "OMPI_COMM_WORLD_SIZE", l->nranks);
    put_number(env, "OMPI_COMM_WORLD_RANK", rank);
    put_number(env, "OMPI_COMM_WORLD_LOCAL_SIZE", j->node_size[l->rank_node[rank]]);
    put_number(env, "OMPI_COMM_WORLD_LOCAL_RANK", j->local_rank[rank]);
    put_number(env, "OMPI_COMM_WORLD_NODE_RANK", j->local_rank[rank]);
    put_number(env, "OMPI_UNIVERSE_SIZE", slots);
}
