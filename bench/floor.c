/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures a bare PMIx server with a TLS context, the least that a daemon can take: its start, its
 * memory, and the time of one job in the library and the kernel. As in the daemon, the library is
 * given the topology. With the argument "discovers" it discovers the topology itself; then only its
 * start is measured. */
#include "base/tls/tls.h"
#include "bench/figures.h"
#include "dvm/host/cgroup/cgroup.h"

#include <errno.h>
#include <pmix.h>
#include <pmix_server.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOBS 200
#define GROWTH_JOBS 5000

static sem_t answered;

static void on_answer(pmix_status_t status, void *cbdata)
{
    sem_post(&answered);
}

static void wait_answer(pmix_status_t rc)
{
    if (rc == PMIX_SUCCESS)
        sem_wait(&answered);
}

static char *write_pem(const char *dir, const char *name, const char *text)
{
    char *path = NULL;
    FILE *f;

    if (asprintf(&path, "%s/%s", dir, name) < 0)
        exit(1);
    f = fopen(path, "we");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0)
        exit(1);
    return path;
}

/* Certificates as a daemon has them; made before anything is measured. */
static struct tls_files make_files(const char *dir)
{
    struct err err = {0};
    struct tls_ca *ca = tls_ca_create("bench/floor", 1, &err);
    char *cert = NULL;
    char *key = NULL;
    char *root;
    struct tls_files files;

    if (!ca || tls_ca_issue(ca, "member", "floor", NULL, 1, &cert, &key, &err) < 0) {
        fprintf(stderr, "floor: %s\n", err.msg);
        exit(1);
    }
    root = tls_ca_cert_pem(ca);
    files = (struct tls_files){write_pem(dir, "ca.crt", root), write_pem(dir, "tls.crt", cert),
                               write_pem(dir, "tls.key", key)};
    free(root);
    free(cert);
    free(key);
    tls_ca_destroy(ca);
    return files;
}

static void print_memory(const char *what, double init_ms, double init_cpu_ms)
{
    printf("{\"bench\": \"floor\", \"what\": \"%s\", \"init_ms\": %.1f, \"init_cpu_ms\": %.1f, "
           "\"rss_kib\": %ld, \"pss_kib\": %ld, \"private_kib\": %ld, \"library\": \"%s\"}\n",
           what, init_ms, init_cpu_ms, self_kib("Rss:"), self_kib("Pss:"),
           self_kib("Private_Clean:") + self_kib("Private_Dirty:"), PMIx_Get_version());
    fflush(stdout);
}

enum step { REGISTER, CLIENT, SETUP, SPAWN, REAP, DEREGISTER, STEPS };
static const char *const step_names[] = {"register", "client",    "setup_fork",
                                         "spawn",    "reap_true", "deregister"};

static void one_job(unsigned number, double took[STEPS], bool spawns)
{
    double t[STEPS + 1];
    char *argv[] = {"true", NULL};
    char **env = calloc(1, sizeof(*env));
    uint32_t size = 1;
    pmix_info_t info;
    pmix_proc_t proc;
    pid_t pid = 0;
    char name[32];

    snprintf(name, sizeof(name), "floor.%u", number);
    PMIX_LOAD_PROCID(&proc, name, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&info, PMIX_JOB_SIZE, &size, PMIX_UINT32);
    t[REGISTER] = now_ms();
    wait_answer(PMIx_server_register_nspace(proc.nspace, 1, &info, 1, on_answer, NULL));
    t[CLIENT] = now_ms();
    proc.rank = 0;
    wait_answer(PMIx_server_register_client(&proc, getuid(), getgid(), NULL, on_answer, NULL));
    t[SETUP] = now_ms();
    PMIx_server_setup_fork(&proc, &env);
    t[SPAWN] = now_ms();
    if (spawns)
        errno = posix_spawnp(&pid, "true", NULL, NULL, argv, env);
    t[REAP] = now_ms();
    if (pid > 0)
        waitpid(pid, NULL, 0);
    t[DEREGISTER] = now_ms();
    PMIx_server_deregister_client(&proc, on_answer, NULL);
    sem_wait(&answered);
    PMIx_server_deregister_nspace(proc.nspace, on_answer, NULL);
    sem_wait(&answered);
    t[STEPS] = now_ms();
    for (int i = 0; i < STEPS; i++)
        took[i] = t[i + 1] - t[i];
    PMIX_INFO_DESTRUCT(&info);
    for (size_t i = 0; env[i]; i++)
        free(env[i]);
    free(env);
}

static void jobs(void)
{
    static double took[STEPS][JOBS];
    double one[STEPS];
    double sum = 0;

    for (unsigned j = 0; j < JOBS; j++) {
        one_job(j, one, true);
        for (int i = 0; i < STEPS; i++)
            took[i][j] = one[i];
    }
    printf("{\"bench\": \"floor\", \"what\": \"job\", \"gds\": \"hash\"");
    for (int i = 0; i < STEPS; i++) {
        sort_doubles(took[i], JOBS);
        sum += quantile(took[i], JOBS, 0.5);
        printf(", \"%s_ms\": %.3f", step_names[i], quantile(took[i], JOBS, 0.5));
    }
    printf(", \"sum_ms\": %.3f}\n", sum);
}

/* Memory that the library keeps of ended jobs. */
static void growth(void)
{
    const int counted = GROWTH_JOBS - GROWTH_JOBS / 10; /* its own tables have grown by then */
    double before = 0;
    double took[STEPS];

    for (unsigned j = 0; j < GROWTH_JOBS; j++) {
        if (j == GROWTH_JOBS / 10)
            before = heap_bytes();
        one_job(JOBS + j, took, false);
    }
    printf("{\"bench\": \"floor\", \"what\": \"growth\", \"jobs\": %d, "
           "\"heap_bytes_per_job\": %.1f}\n",
           counted, (heap_bytes() - before) / counted);
}

static double start_ms;
static double start_cpu_ms;

/* Starts the server in the directory. */
static void start_server(const char *dir, hwloc_topology_t given)
{
    static pmix_server_module_t module; /* no upcall: nothing is asked */
    pmix_topology_t topology = {.source = (char *)"hwloc", .topology = given};
    pmix_info_t info[3];

    setenv("PMIX_MCA_gds", "hash", 1); /* as the daemon does */
    PMIX_INFO_LOAD(&info[0], PMIX_SERVER_TMPDIR, dir, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_SYSTEM_TMPDIR, dir, PMIX_STRING);
    PMIX_LOAD_KEY(info[2].key, PMIX_TOPOLOGY2); /* kept as it is: a copy would be another object */
    info[2].value.type = PMIX_TOPO;
    info[2].value.data.topo = &topology;
    start_ms = now_ms();
    start_cpu_ms = cpu_ms();
    if (PMIx_server_init(&module, info, given ? 3 : 2) != PMIX_SUCCESS)
        exit(1);
}

static void print_since_start(const char *what)
{
    print_memory(what, now_ms() - start_ms, cpu_ms() - start_cpu_ms);
}

/* Start, jobs, growth. */
static void measure_server(const char *dir, hwloc_topology_t given)
{
    struct tls_files files = make_files(dir);
    struct err err = {0};
    struct tls_ctx *tls;

    print_memory("process", 0, 0);
    start_server(dir, given);
    print_since_start("server");
    tls = tls_ctx_create(&files, &err);
    if (!tls)
        exit(1);
    print_since_start("server and TLS context");
    jobs();
    print_memory("the same after the jobs", 0, 0);
    growth();
    tls_ctx_destroy(tls);
    PMIx_server_finalize();
    unlink(files.ca);
    unlink(files.cert);
    unlink(files.key);
}

int main(int argc, char **argv)
{
    char dir[] = "/tmp/dvm-floor-XXXXXX";
    struct err err = {0};
    double cpu = cpu_ms();
    hwloc_topology_t t;

    if (sem_init(&answered, 0, 0) < 0 || !mkdtemp(dir))
        return 1;
    if (argc > 1 && strcmp(argv[1], "discovers") == 0) {
        start_server(dir, NULL);
        print_since_start("server that discovers the topology");
        PMIx_server_finalize();
    } else {
        t = cgroup_topology(&err);
        if (!t)
            return 1;
        print_memory("topology", 0, cpu_ms() - cpu);
        measure_server(dir, t);
        hwloc_topology_destroy(t);
    }
    return rmdir(dir) == 0 || errno ? 0 : 1;
}
