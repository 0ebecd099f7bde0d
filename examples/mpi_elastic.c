/* SPDX-License-Identifier: BSD-3-Clause */
/* A job changes the size of the DVM that it runs in. usage: mpi_elastic [STEP…]
 *   +N   the DVM is extended by N daemons, and they are there
 *   -N   the N daemons with the highest numbers are released, and have left
 *   -    what the last +N has brought is released
 *   xN   N ranks are spawned, which compute with these ones, say where they run, and end
 *   tN   requests from now on have N seconds
 *   k    extensions from now on stay when the job has ended
 * Without steps: +1 -. Ends with 1 at the first request that is refused or fails. */
#include <mpi.h>
#include <pmix.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef PMIX_DVM_IS_READY /* of PMIx 7 */
#define PMIX_DVM_IS_READY (-195)
#define PMIX_ERR_DVM_MOD (-196)
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct {
    bool told;
    pmix_status_t status;
    char why[256];
} end; /* of the request that runs */

static char extension[64]; /* the last one's name */
static int timeout_s;
static bool keeps;

static const char *text_of(const pmix_info_t *info, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++) {
        if (PMIX_CHECK_KEY(&info[i], key) && info[i].value.type == PMIX_STRING)
            return info[i].value.data.string;
    }
    return "";
}

/* On a thread of the library's. */
static void on_end(size_t handler, pmix_status_t status, const pmix_proc_t *source,
                   pmix_info_t info[], size_t n, pmix_info_t results[], size_t nresults,
                   pmix_event_notification_cbfunc_fn_t done, void *arg)
{
    (void)handler, (void)source, (void)results, (void)nresults;
    pthread_mutex_lock(&lock);
    end.told = true;
    end.status = status;
    snprintf(end.why, sizeof(end.why), "%s", text_of(info, n, PMIX_EVENT_TEXT_MESSAGE));
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, arg);
}

static bool await_end(const char *id)
{
    pthread_mutex_lock(&lock);
    while (!end.told)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    if (end.status == PMIX_DVM_IS_READY)
        printf("elastic: %s ready\n", id);
    else
        printf("elastic: %s failed: %s\n", id, end.why);
    return end.status == PMIX_DVM_IS_READY;
}

/* Answered twice: at once, and by an event when it is done, unless there was nothing to do. */
static bool ask(bool extend, const pmix_info_t *what)
{
    pmix_info_t with[3] = {*what}, *results = NULL;
    size_t n = 0, nwith = 1;
    char id[64] = "";
    bool over;

    if (timeout_s)
        PMIX_INFO_LOAD(&with[nwith++], PMIX_TIMEOUT, &timeout_s, PMIX_INT);
    if (extend && keeps)
        PMIX_INFO_LOAD(&with[nwith++], "dvm.alloc.keep", NULL, PMIX_BOOL);
    end.told = false;
    pmix_status_t rc = PMIx_Allocation_request(extend ? PMIX_ALLOC_EXTEND : PMIX_ALLOC_RELEASE,
                                               with, nwith, &results, &n);
    if (rc == PMIX_SUCCESS)
        snprintf(id, sizeof(id), "%s", text_of(results, n, PMIX_ALLOC_ID));
    printf("elastic: %s %s\n", extend ? "extend" : "release", *id ? id : PMIx_Error_string(rc));
    fflush(stdout);
    over =
        rc != PMIX_SUCCESS || strcmp(text_of(results, n, PMIX_QUERY_ALLOC_STATUS), "Complete") == 0;
    if (results)
        PMIX_INFO_FREE(results, n);
    if (extend)
        snprintf(extension, sizeof(extension), "%s", id);
    return over ? rc == PMIX_SUCCESS : await_end(id);
}

static bool ask_for(bool extend, uint64_t daemons)
{
    pmix_info_t what;

    PMIX_INFO_LOAD(&what, PMIX_ALLOC_NUM_NODES, &daemons, PMIX_UINT64);
    return ask(extend, &what);
}

static bool give_back(void)
{
    pmix_info_t what;
    bool ok;

    PMIX_INFO_LOAD(&what, PMIX_ALLOC_ID, extension, PMIX_STRING);
    ok = ask(false, &what);
    PMIX_INFO_DESTRUCT(&what);
    return ok;
}

/* A child's side of spawn(). */
static void compute_with(MPI_Comm parents)
{
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int rank, sum, length;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Get_processor_name(name, &length);
    MPI_Gather(name, sizeof(name), MPI_CHAR, NULL, 0, MPI_CHAR, 0, parents);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, parents);
    MPI_Comm_disconnect(&parents);
}

/* Each side gets the sum of the other's ranks. */
static bool spawn(const char *program, int n, int rank)
{
    char *names = calloc((size_t)n, MPI_MAX_PROCESSOR_NAME);
    int sum = 0, length = MPI_MAX_PROCESSOR_NAME;
    MPI_Comm children;

    MPI_Comm_spawn(program, MPI_ARGV_NULL, n, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                   MPI_ERRCODES_IGNORE);
    MPI_Gather(NULL, 0, MPI_CHAR, names, length, MPI_CHAR, rank ? MPI_PROC_NULL : MPI_ROOT,
               children);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, children);
    MPI_Comm_disconnect(&children);
    if (rank == 0) {
        printf("elastic: spawned on");
        for (int i = 0; i < n; i++)
            printf(" %s", names + (size_t)i * MPI_MAX_PROCESSOR_NAME);
        printf("\n");
    }
    free(names);
    return sum == n * (n - 1) / 2;
}

/* All ranks take part in a spawn, only the first one asks. */
static bool do_step(const char *program, const char *step, int rank)
{
    long n = strtol(step + 1, NULL, 10);
    int ok = 1;

    if (*step == 'x')
        return spawn(program, (int)n, rank);
    if (*step == 't')
        timeout_s = (int)n;
    else if (*step == 'k')
        keeps = true;
    else if (rank == 0)
        ok = step[1] ? ask_for(*step == '+', (uint64_t)n) : give_back();
    MPI_Bcast(&ok, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return ok;
}

int main(int argc, char **argv)
{
    static char *usual[] = {"+1", "-", NULL};
    pmix_status_t codes[] = {PMIX_DVM_IS_READY, PMIX_ERR_DVM_MOD};
    char **step = argc > 1 ? argv + 1 : usual;
    pmix_proc_t me;
    int rank;
    bool ok;
    MPI_Comm parents;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parents);
    if (parents != MPI_COMM_NULL) {
        compute_with(parents);
        MPI_Finalize();
        return 0;
    }
    ok = PMIx_Init(&me, NULL, 0) == PMIX_SUCCESS &&
         PMIx_Register_event_handler(codes, 2, NULL, 0, on_end, NULL, NULL) >= 0;
    for (; ok && *step; step++)
        ok = do_step(argv[0], *step, rank);
    PMIx_Finalize(NULL, 0);
    MPI_Finalize();
    return ok ? 0 : 1;
}
