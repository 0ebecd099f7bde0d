/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the variables by which outer launchers tell their processes who they are. */
#include "dvm/host/jobspec/outer.h"

#include "base/buf/buf.h"
#include "dvm/host/jobspec/environ.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A variable of that name of the list: "PMI_*" gives "PMI_SAMPLE". */
static char *sample_of(const char *name)
{
    size_t len = strlen(name);

    return name[len - 1] == '*' ? xasprintf("%.*sSAMPLE", (int)(len - 1), name) : xstrdup(name);
}

/* Whether prun passes the variable on to a job. */
static bool is_passed_on(const char *name)
{
    FREE_AUTO char *entry = xasprintf("%s=1", name);
    char *env[] = {"FIRST=1", entry, "LAST=1", NULL};
    char **sent = environ_for_job(env, NULL, 0, "", false, NULL);
    bool found = false;

    assert_non_null(sent);
    for (char **e = sent; *e; e++) {
        found |= strcmp(*e, entry) == 0;
        free(*e);
    }
    free(sent);
    return found;
}

static void no_name_of_the_list_reaches_a_job(void **state)
{
    for (const char *const *n = outer_names; *n; n++) {
        FREE_AUTO char *name = sample_of(*n + (**n == '!'));

        if (is_passed_on(name) != (**n == '!'))
            fail_msg("%s is %s, though the list has %s", name,
                     **n == '!' ? "left out" : "passed on", *n);
    }
}

/* In what launchers set: srun, sbatch, qsub, bsub, flux, mpirun, prterun, mpiexec, aprun, jsrun. */
static void identity_that_launchers_set_reaches_no_job(void **state)
{
    static const char *const names[] = {
        "SLURM_JOBID",
        "SLURM_NODELIST",
        "SLURM_STEP_ID",
        "SLURM_STEPID",
        "SLURM_STEP_NUM_TASKS",
        "SLURM_STEP_NODELIST",
        "SLURM_PROCID",
        "SLURM_NTASKS_PER_NODE",
        "SLURM_PMIXP_ABORT_AGENT_PORT",
        "SLURM_PMIX_MAPPING_SERV",
        "SLURM_CPU_BIND_LIST",
        "SLURM_TOPOLOGY_ADDR",
        "SLURMD_NODENAME",
        "PBS_NODEFILE",
        "PBS_ENVIRONMENT",
        "LSB_DJOB_HOSTFILE",
        "LSB_DJOB_RANKFILE",
        "LSF_PM_TASKID",
        "PE_HOSTFILE",
        "FLUX_URI",
        "FLUX_TASK_RANK",
        "FLUX_JOB_ID",
        "FLUX_PMI_LIBRARY_PATH",
        "OMPI_COMM_WORLD_RANK",
        "OMPI_MCA_orte_hnp_uri",
        "OMPI_MCA_orte_ess_num_procs",
        "OMPI_MCA_ess_base_vpid",
        "OMPI_PARENT_PORT",
        "ORTE_SCHIZO_DETECTION",
        "PRTE_LAUNCHED",
        "PRTE_MCA_ess_base_nspace",
        "PMIX_RANK",
        "PMIX_SERVER_URI41",
        "PMIX_SECURITY_MODE",
        "PMI_FD",
        "PMI_RANK",
        "PMI2_RANK",
        "HYDI_CONTROL_FD",
        "MPI_LOCALRANKID",
        "MV2_COMM_WORLD_RANK",
        "MPISPAWN_ID",
        "ALPS_APP_ID",
        "PALS_RANKID",
        "PMI_GNI_COOKIE",
        "JSM_JSRUN_PORT",
        "CSM_ALLOCATION_ID",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (is_passed_on(names[i]))
            fail_msg("%s is passed on", names[i]);
    }
}

static void parameters_of_the_user_reach_the_job(void **state)
{
    static const char *const names[] = {
        "OMPI_MCA_btl_tcp_if_include",
        "OMPI_MCA_orte_base_help_aggregate",
        "OMPI_MCA_essential",
        "OMPI_ALLOW_RUN_AS_ROOT",
        "OPAL_PREFIX",
        "PMIX_MCA_gds",
        "PRTE_MCA_rmaps_base_verbose",
        "UCX_TLS",
        "FI_PROVIDER",
        "I_MPI_FABRICS",
        "MPICH_GNI_MAX_EAGER_MSG_SIZE",
        "MV2_IBA_HCA",
        "SLURM_JOB_ID",
        "SLURM_JOB_NAME",
        "SLURM_TMPDIR",
        "SLURM_SUBMIT_DIR",
        "SLURM_CPUS_PER_TASK",
        "SLURM_ARRAY_TASK_ID",
        "PBS_JOBID",
        "PBS_O_WORKDIR",
        "PBS_ARRAY_INDEX",
        "LSB_JOBID",
        "LSB_JOBINDEX",
        "JOB_ID",
        "SGE_TASK_ID",
        "NSLOTS",
        "FLUX_JOB_TMPDIR",
        "FLUX_JOB_CC",
        "PMIXED",
        "OMP_NUM_THREADS",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (!is_passed_on(names[i]))
            fail_msg("%s is left out", names[i]);
    }
}

static void a_process_forgets_all_of_them_and_nothing_else(void **state)
{
    setenv("PMIX_RANK", "3", 1);
    setenv("PMI_SIZE", "3", 1);
    setenv("SLURM_JOB_ID", "77", 1);
    setenv("SLURM_PROCID", "3", 1);
    setenv("PMIX_MCA_gds", "hash", 1);
    outer_forget();
    assert_null(getenv("PMIX_RANK"));
    assert_null(getenv("PMI_SIZE"));
    assert_null(getenv("SLURM_PROCID"));
    assert_string_equal(getenv("SLURM_JOB_ID"), "77");
    assert_string_equal(getenv("PMIX_MCA_gds"), "hash");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_name_of_the_list_reaches_a_job),
        cmocka_unit_test(identity_that_launchers_set_reaches_no_job),
        cmocka_unit_test(parameters_of_the_user_reach_the_job),
        cmocka_unit_test(a_process_forgets_all_of_them_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
