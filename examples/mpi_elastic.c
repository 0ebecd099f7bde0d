/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 has the DVM extended, waits until the daemons are there, and gives them back.
 * usage: mpi_elastic [DAEMONS]
 * Prints a line per request and per end; exits 1 if one is refused or fails. */
#include <mpi.h>
#include <pmix.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef PMIX_DVM_IS_READY /* of PMIx 7 */
#define PMIX_DVM_IS_READY (-195)
#define PMIX_ERR_DVM_MOD (-196)
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready, failed; /* ends that were told */

static const char *text_of(const pmix_info_t *info, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (PMIX_CHECK_KEY(&info[i], key) && info[i].value.type == PMIX_STRING)
            return info[i].value.data.string;
    return "";
}

static void on_end(size_t handler, pmix_status_t status, const pmix_proc_t *source,
                   pmix_info_t info[], size_t n, pmix_info_t results[], size_t nresults,
                   pmix_event_notification_cbfunc_fn_t done, void *arg)
{
    bool good = status == PMIX_DVM_IS_READY;

    (void)handler, (void)source, (void)results, (void)nresults;
    pthread_mutex_lock(&lock);
    printf("elastic: %s %s%s\n", text_of(info, n, PMIX_ALLOC_ID),
           good ? "ready" : "failed: ", good ? "" : text_of(info, n, PMIX_EVENT_TEXT_MESSAGE));
    ready += good;
    failed += !good;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, arg);
}

static void await_end(int number)
{
    pthread_mutex_lock(&lock);
    while (ready + failed < number)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

/* The answer comes at once; `id` (64 bytes) is the name that the DVM has given to the request. */
static bool ask(const char *verb, pmix_alloc_directive_t directive, pmix_info_t *what, char *id)
{
    pmix_info_t *results = NULL;
    size_t n = 0;
    pmix_status_t rc = PMIx_Allocation_request(directive, what, 1, &results, &n);

    if (rc == PMIX_SUCCESS)
        snprintf(id, 64, "%s", text_of(results, n, PMIX_ALLOC_ID));
    printf("elastic: %s %s\n", verb, rc == PMIX_SUCCESS ? id : PMIx_Error_string(rc));
    fflush(stdout);
    if (results)
        PMIX_INFO_FREE(results, n);
    return rc == PMIX_SUCCESS;
}

static bool extend_and_release(uint64_t daemons)
{
    pmix_status_t codes[] = {PMIX_DVM_IS_READY, PMIX_ERR_DVM_MOD};
    pmix_info_t what;
    char id[64], back[64];
    bool ok;

    if (PMIx_Register_event_handler(codes, 2, NULL, 0, on_end, NULL, NULL) < 0)
        return false;
    PMIX_INFO_LOAD(&what, PMIX_ALLOC_NUM_NODES, &daemons, PMIX_UINT64);
    ok = ask("extend", PMIX_ALLOC_EXTEND, &what, id);
    PMIX_INFO_DESTRUCT(&what);
    if (!ok)
        return false;
    await_end(1);
    if (failed)
        return false;
    PMIX_INFO_LOAD(&what, PMIX_ALLOC_ID, id, PMIX_STRING);
    ok = ask("release", PMIX_ALLOC_RELEASE, &what, back);
    PMIX_INFO_DESTRUCT(&what);
    if (ok)
        await_end(2);
    return ok && !failed;
}

int main(int argc, char **argv)
{
    pmix_proc_t me;
    int rank, ok = 1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        ok = PMIx_Init(&me, NULL, 0) == PMIX_SUCCESS;
        ok = ok && extend_and_release(argc > 1 ? strtoull(argv[1], NULL, 10) : 1);
        PMIx_Finalize(NULL, 0);
    }
    MPI_Bcast(&ok, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return ok ? 0 : 1;
}
