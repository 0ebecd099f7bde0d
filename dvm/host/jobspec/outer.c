/* SPDX-License-Identifier: BSD-3-Clause */
/* The identity that an outer launcher or allocation gives its processes: rank, size, job, nodes,
 * server address.
 *
 * In: the name of a variable. Out: whether it is one of these.
 *
 * prun, prte and prted may run in a batch job or in a rank of another launcher. MPI libraries and
 * launchers decide by such variables who a process is, so they must reach neither ranks nor the
 * PMIx library of a daemon. Parameters of the user, and names for the user's scripts (SLURM_JOB_ID,
 * PBS_JOBID), are passed on unchanged.
 *
 * Rule of the list: a variable is in it if a launcher sets it for its processes and a library or a
 * launcher acts on it. The last name that fits decides. docs/pmix/environment.md has the same list;
 * docs-check compares both. */
#include "dvm/host/jobspec/outer.h"

#include "base/buf/buf.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const outer_names[] = {
    /* PMI and PMIx */
    "PMI_*", "PMI2_*", "PMIX_*", "!PMIX_MCA_*",
    /* mpirun of Open MPI 4 and 5 */
    "OMPI_COMM_WORLD_*", "OMPI_WORLD_*", "OMPI_UNIVERSE_SIZE", "OMPI_NUM_APP_CTX",
    "OMPI_APP_CTX_NUM_PROCS", "OMPI_APP_SIZES", "OMPI_FIRST_RANKS", "OMPI_COMMAND", "OMPI_ARGV",
    "OMPI_FILE_LOCATION", "OMPI_MCA_ess", "OMPI_MCA_ess_base_*", "OMPI_MCA_initial_wdir",
    "OMPI_MCA_mpi_oversubscribe", "OMPI_MCA_orte_app_num", "OMPI_MCA_orte_bound_at_launch",
    "OMPI_MCA_orte_ess_*", "OMPI_MCA_orte_externally_bound", "OMPI_MCA_orte_hnp_uri",
    "OMPI_MCA_orte_jobfam_session_dir", "OMPI_MCA_orte_launch", "OMPI_MCA_orte_local_daemon_uri",
    "OMPI_MCA_orte_num_nodes", "OMPI_MCA_orte_parent_uri", "OMPI_MCA_orte_precondition_transports",
    "OMPI_MCA_orte_top_session_dir", "ORTE_*",
    /* prterun and prun of PRRTE */
    "PRTE_*", "!PRTE_MCA_*", "PRTE_MCA_ess", "PRTE_MCA_ess_base_*", "PRTE_MCA_prte_ess_*",
    "PRTE_MCA_prte_hnp_uri", "PRTE_MCA_prte_parent_uri",
    /* mpiexec of MPICH, Intel MPI and MVAPICH */
    "HYDRA_*", "HYDI_*", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_*", "MPISPAWN_*",
    "MPIRUN_RANK", "MPIRUN_NPROCS", "MPIRUN_ID",
    /* Slurm */
    "SLURM_JOBID", "SLURM_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NNODES", "SLURM_JOB_NUM_NODES",
    "SLURM_NTASKS", "SLURM_NTASKS_PER_*", "SLURM_NPROCS", "SLURM_TASKS_PER_NODE",
    "SLURM_JOB_CPUS_PER_NODE", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_GTIDS",
    "SLURM_TASK_PID", "SLURM_STEP*", "SLURM_CPU_BIND*", "SLURM_MEM_BIND*", "SLURM_LAUNCH_*",
    "SLURM_SRUN_*", "SLURM_PMI*", "SLURM_MPI_TYPE", "SLURM_TOPOLOGY_*", "SLURM_HET_*",
    "SLURM_PACK_*", "SLURMD_*",
    /* PBS and Torque */
    "PBS_ENVIRONMENT", "PBS_NODEFILE", "PBS_NODENUM", "PBS_TASKNUM", "PBS_VNODENUM", "PBS_NP",
    "PBS_NUM_NODES", "PBS_NUM_PPN", "PBS_MOMPORT", "PBS_JOBCOOKIE",
    /* LSF */
    "LSB_HOSTS", "LSB_MCPU_HOSTS", "LSB_DJOB_*", "LSB_AFFINITY_HOSTFILE", "LSB_BIND_*",
    "LSB_RANK_HOSTFILE", "LSB_MAX_NUM_PROCESSORS", "LSF_PM_*", "LS_JOBPID",
    /* Grid Engine */
    "PE_HOSTFILE", "NHOSTS",
    /* Flux */
    "FLUX_*", "!FLUX_JOB_TMPDIR", "!FLUX_JOB_CC",
    /* Cray ALPS and PALS, IBM JSM and CSM */
    "ALPS_*", "PALS_*", "JSM_*", "CSM_*", NULL};

/* Whether `name`, perhaps with '*', stands for the name of `len` characters. */
static bool name_fits(const char *name, const char *entry, size_t len)
{
    size_t n = strlen(name);

    if (name[n - 1] == '*')
        return len >= n - 1 && strncmp(entry, name, n - 1) == 0;
    return len == n && strncmp(entry, name, n) == 0;
}

bool outer_is_identity(const char *entry)
{
    size_t len = strcspn(entry, "=");
    bool is = false;

    for (const char *const *name = outer_names; *name; name++) {
        if (name_fits(*name + (**name == '!'), entry, len))
            is = **name != '!';
    }
    return is;
}

void outer_forget(void)
{
    size_t i = 0;

    while (environ && environ[i]) {
        FREE_AUTO char *name = xstrdup(environ[i]);

        name[strcspn(name, "=")] = '\0';
        /* unsetenv() moves the next variable to this place. */
        if (!outer_is_identity(name) || unsetenv(name) < 0)
            i++;
    }
}
