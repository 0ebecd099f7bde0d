/* SPDX-License-Identifier: BSD-3-Clause */
/* Mapping variables of other launchers.
 *
 * In: the environment. Out: the names of such variables, for the line that prun prints when a job
 * waits for slots or is refused for want of them: the user may believe that they hold. */
#include "dvm/tools/submit/unread.h"

#include "base/buf/buf.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 3 /* a line has room for these */

/* A name that ends with '*' stands for all with that beginning. */
static const char *const mapping[] = {
    "OMPI_MCA_rmaps_*",
    "OMPI_MCA_hwloc_base_binding_policy",
    "OMPI_MCA_orte_default_hostfile",
    "PRTE_MCA_rmaps_*",
    "PRTE_MCA_hwloc_default_binding_policy",
    "PRTE_MCA_prte_default_hostfile",
    "SLURM_DISTRIBUTION",
    "SLURM_OVERCOMMIT",
    "HYDRA_HOST_FILE",
    "HYDRA_TOPO*",
    "HYDRA_BINDING",
    "I_MPI_PERHOST",
    "I_MPI_PIN*",
    "I_MPI_HYDRA_HOST_FILE",
    "MPIEXEC_HOST*",
    "MV2_CPU_*",
    NULL,
};

static bool is_mapping(const char *entry)
{
    size_t len = strcspn(entry, "=");

    for (const char *const *m = mapping; *m; m++) {
        size_t n = strcspn(*m, "*");

        if (strncmp(entry, *m, n) == 0 && (len == n || (*m)[n] == '*'))
            return true;
    }
    return false;
}

char *unread_names(char *const *env)
{
    char *names = NULL;

    for (int n = 0; *env && n < NAMES_MAX; env++) {
        char *longer;

        if (!is_mapping(*env))
            continue;
        longer = xasprintf("%s%s%.*s", names ? names : "", n++ ? ", " : "", (int)strcspn(*env, "="),
                           *env);
        free(names);
        names = longer;
    }
    return names;
}
