# SPDX-License-Identifier: BSD-3-Clause
# What other launchers and batch systems set for their processes. Loaded by outer.bats and ci/surroundings.sh.
# shellcheck shell=bash disable=SC2034

# outer NAME: what a launcher of that name sets for a process, one variable a line.
outer() {
    case $1 in
    sbatch)
        echo SLURM_JOB_ID=77 SLURM_JOBID=77 SLURM_NNODES=2 SLURM_NODELIST='n[1-2]' SLURM_JOB_NODELIST='n[1-2]' SLURM_NTASKS=4 \
            SLURM_TASKS_PER_NODE='2(x2)' SLURM_JOB_CPUS_PER_NODE='2(x2)' SLURMD_NODENAME=n1
        ;;
    srun)
        echo SLURM_JOB_ID=77 SLURM_JOBID=77 SLURM_NODELIST=n1 SLURM_STEP_ID=0 SLURM_STEPID=0 SLURM_STEP_NODELIST=n1 \
            SLURM_STEP_NUM_TASKS=1 SLURM_STEP_TASKS_PER_NODE=1 SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_NPROCS=1 \
            SLURM_CPU_BIND=quiet,mask_cpu:0x1 SLURM_PMIX_MAPPING_SERV='(vector,(0,1,1))' PMIX_SECURITY_MODE=munge,native \
            PMIX_NAMESPACE=slurm.pmix.77.0 PMIX_RANK=0 PMIX_SERVER_URI2='pmix-server.1;tcp4://127.0.0.1:1' PMI_FD=9 PMI_RANK=0 PMI_SIZE=1
        ;;
    qsub) echo PBS_JOBID=1.x PBS_ENVIRONMENT=PBS_BATCH PBS_NODEFILE=/nonexistent PBS_NODENUM=0 PBS_TASKNUM=1 PBS_MOMPORT=15003 ;;
    bsub)
        echo LSB_JOBID=5 LSB_HOSTS=a LSB_MCPU_HOSTS=a LSB_DJOB_NUMPROC=1 LSB_DJOB_RANKFILE=/nonexistent \
            LSB_AFFINITY_HOSTFILE=/nonexistent LSF_PM_TASKID=1
        ;;
    flux)
        echo FLUX_JOB_ID=f1 FLUX_URI=local:///nonexistent FLUX_TASK_RANK=0 FLUX_JOB_SIZE=1 FLUX_PMI_LIBRARY_PATH=/nonexistent.so \
            PMI_FD=8 PMI_RANK=0 PMI_SIZE=1 PMIX_SERVER_TMPDIR=/nonexistent
        ;;
    sge) echo PE_HOSTFILE=/nonexistent JOB_ID=1 ARC=lx SGE_ROOT=/x NHOSTS=1 NSLOTS=1 ;;
    hydra) echo PMI_FD=8 PMI_RANK=0 PMI_SIZE=1 PMI_PORT=127.0.0.1:1 HYDI_CONTROL_FD=7 MPI_LOCALRANKID=0 MPI_LOCALNRANKS=1 ;;
    mvapich) echo MPISPAWN_ID=0 MV2_COMM_WORLD_RANK=0 MV2_COMM_WORLD_SIZE=1 PMI_ID=0 PMI_SIZE=1 ;;
    aprun) echo ALPS_APP_ID=1 ALPS_APP_PE=0 PMI_GNI_COOKIE=1 PMI_NO_FORK=1 PALS_RANKID=0 PALS_APID=1 ;;
    jsrun) echo JSM_JSRUN_PORT=1 JSM_NAMESPACE_RANK=0 CSM_ALLOCATION_ID=1 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 PMIX_RANK=0 ;;
    mpirun)
        echo OMPI_MCA_ess=singleton OMPI_MCA_ess_base_jobid=1 OMPI_MCA_ess_base_vpid=0 OMPI_MCA_orte_ess_num_procs=1 \
            OMPI_MCA_orte_hnp_uri='0.0;tcp://127.0.0.1:1' OMPI_MCA_orte_local_daemon_uri='0.0;tcp://127.0.0.1:1' \
            ORTE_SCHIZO_DETECTION=SLURM OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 PMIX_NAMESPACE=1 PMIX_RANK=0
        ;;
    prterun) echo PRTE_LAUNCHED=1 PRTE_MCA_ess=env PRTE_MCA_ess_base_vpid=0 PMIX_NAMESPACE=prterun-1@1 PMIX_RANK=0 PMIX_LAUNCHER_RNDZ_URI=x ;;
    esac | tr ' ' '\n'
}
launchers=(sbatch srun qsub bsub flux sge hydra mvapich aprun jsrun mpirun prterun)
