/* SPDX-License-Identifier: BSD-3-Clause */
/* Clients of test_resize.c: requests for another size. */
#include "dvm/host/pmix/test/clients/main.h"

#include <pmix.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef PMIX_DVM_IS_READY
#define PMIX_DVM_IS_READY (-195)
#define PMIX_ERR_DVM_MOD (-196)
#endif
#ifndef PMIX_ALLOC_REQ_CANCEL
#define PMIX_ALLOC_REQ_CANCEL 5
#endif

static pmix_proc_t me;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct {
    int seen, in_default;
    pmix_status_t status, cause;
    char id[64], own[64], text[64];
} told;

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "rank %u: not so: %s\n", me.rank, what);
    _exit(1);
}

static const char *text_of(const pmix_info_t *info, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++) {
        if (PMIX_CHECK_KEY(&info[i], key) && info[i].value.type == PMIX_STRING)
            return info[i].value.data.string;
    }
    return "";
}

static void on_end(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
                   size_t n, pmix_info_t results[], size_t nresults,
                   pmix_event_notification_cbfunc_fn_t cb, void *cbdata)
{
    pthread_mutex_lock(&lock);
    told.seen++;
    told.status = status;
    snprintf(told.id, sizeof(told.id), "%s", text_of(info, n, PMIX_ALLOC_ID));
    snprintf(told.own, sizeof(told.own), "%s", text_of(info, n, PMIX_ALLOC_REQ_ID));
    snprintf(told.text, sizeof(told.text), "%s", text_of(info, n, PMIX_EVENT_TEXT_MESSAGE));
    for (size_t i = 0; i < n; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_JOB_TERM_STATUS))
            told.cause = info[i].value.data.status;
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    cb(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void on_default(size_t id, pmix_status_t status, const pmix_proc_t *source,
                       pmix_info_t info[], size_t n, pmix_info_t results[], size_t nresults,
                       pmix_event_notification_cbfunc_fn_t cb, void *cbdata)
{
    told.in_default++;
    cb(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void start(void)
{
    pmix_status_t codes[] = {PMIX_DVM_IS_READY, PMIX_ERR_DVM_MOD};

    must(PMIx_Init(&me, NULL, 0) == PMIX_SUCCESS, "PMIx_Init");
    must(PMIx_Register_event_handler(codes, 2, NULL, 0, on_end, NULL, NULL) >= 0, "handler");
    must(PMIx_Register_event_handler(NULL, 0, NULL, 0, on_default, NULL, NULL) >= 0, "default");
    must(PMIx_Fence(NULL, 0, NULL, 0) == PMIX_SUCCESS, "fence");
}

static int stop(void)
{
    must(told.in_default == 0, "no default handler is told");
    must(PMIx_Finalize(NULL, 0) == PMIX_SUCCESS, "PMIx_Finalize");
    return 0;
}

static void await_end(int n)
{
    pthread_mutex_lock(&lock);
    while (told.seen < n)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

/* Without results, as for a refusal. */
static void must_be(pmix_alloc_directive_t directive, pmix_info_t *info, size_t n,
                    pmix_status_t expected, const char *what)
{
    pmix_info_t *results = NULL;
    size_t nresults = 0;
    pmix_status_t rc = PMIx_Allocation_request(directive, info, n, &results, &nresults);

    if (rc != expected)
        fprintf(stderr, "%s: %s\n", what, PMIx_Error_string(rc));
    must(rc == expected && nresults == 0, what);
}

static int client_refused(int argc, char **argv)
{
    static char long_name[200];
    pmix_info_t info[2];
    uint64_t none = 0, one = 1;
    int never = -1;

    start();
    PMIX_INFO_LOAD(&info[0], PMIX_ALLOC_NUM_NODES, &one, PMIX_UINT64);
    must_be(PMIX_ALLOC_NEW, info, 1, PMIX_ERR_NOT_SUPPORTED, "new");
    must_be(PMIX_ALLOC_REAQUIRE, info, 1, PMIX_ERR_NOT_SUPPORTED, "reacquire");
    must_be(99, info, 1, PMIX_ERR_NOT_SUPPORTED, "unknown directive");
    PMIX_INFO_LOAD(&info[1], PMIX_ALLOC_MEM_SIZE, &one, PMIX_UINT64);
    PMIX_INFO_REQUIRED(&info[1]);
    must_be(PMIX_ALLOC_EXTEND, info, 2, PMIX_ERR_NOT_SUPPORTED, "required and unknown");
    PMIX_INFO_LOAD(&info[1], PMIX_JOB_CTRL_KILL, NULL, PMIX_BOOL);
    PMIX_INFO_REQUIRED(&info[1]);
    must_be(PMIX_ALLOC_EXTEND, info, 2, PMIX_ERR_NOT_SUPPORTED, "kill of an extension");
    PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &never, PMIX_INT);
    must_be(PMIX_ALLOC_EXTEND, info, 2, PMIX_ERR_BAD_PARAM, "negative time");
    PMIX_INFO_LOAD(&info[1], PMIX_ALLOC_TIME, "1:0:0", PMIX_STRING);
    must_be(PMIX_ALLOC_EXTEND, info, 2, PMIX_ERR_NOT_SUPPORTED, "for a time");
    memset(long_name, 'x', sizeof(long_name) - 1);
    PMIX_INFO_LOAD(&info[1], PMIX_ALLOC_REQ_ID, long_name, PMIX_STRING);
    must_be(PMIX_ALLOC_EXTEND, info, 2, PMIX_ERR_BAD_PARAM, "long name");
    PMIX_INFO_LOAD(&info[1], PMIX_ALLOC_REQ_ID, &one, PMIX_UINT64);
    must_be(PMIX_ALLOC_EXTEND, info, 2, PMIX_ERR_BAD_PARAM, "a number for a name");
    PMIX_INFO_LOAD(&info[0], PMIX_ALLOC_NUM_NODES, &none, PMIX_UINT64);
    must_be(PMIX_ALLOC_EXTEND, info, 1, PMIX_ERR_BAD_PARAM, "no nodes");
    PMIX_INFO_LOAD(&info[0], PMIX_ALLOC_NUM_NODES, "two", PMIX_STRING);
    must_be(PMIX_ALLOC_RELEASE, info, 1, PMIX_ERR_BAD_PARAM, "a word for a number");
    PMIX_INFO_LOAD(&info[0], PMIX_ALLOC_REQ_ID, "no", PMIX_STRING);
    must_be(PMIX_ALLOC_RELEASE, info, 1, PMIX_ERR_RESOURCE_BUSY, "refused by the host");
    must(told.seen == 0, "no event");
    return stop();
}

static void request(pmix_alloc_directive_t directive, pmix_info_t *info, size_t n, const char *own)
{
    pmix_info_t *results = NULL;
    size_t nresults = 0;

    must(PMIx_Allocation_request(directive, info, n, &results, &nresults) == PMIX_SUCCESS,
         "accepted");
    must(strcmp(text_of(results, nresults, PMIX_ALLOC_ID), "alloc-1") == 0, "id");
    must(strcmp(text_of(results, nresults, PMIX_ALLOC_REQ_ID), own) == 0, "own id");
    must(strcmp(text_of(results, nresults, PMIX_QUERY_ALLOC_STATUS), "Gathering") == 0, "status");
    PMIX_INFO_FREE(results, nresults);
}

static int client_accepted(int argc, char **argv)
{
    pmix_info_t info[5];
    uint32_t two = 2;
    int soon = 30, day = 86520;

    start();
    if (me.rank == 1) {
        PMIX_INFO_LOAD(&info[0], PMIX_ALLOC_NUM_NODES, &two, PMIX_UINT32);
        PMIX_INFO_LOAD(&info[1], PMIX_ALLOC_REQ_ID, "mine", PMIX_STRING);
        PMIX_INFO_LOAD(&info[2], PMIX_TIMEOUT, &soon, PMIX_INT);
        PMIX_INFO_LOAD(&info[3], PMIX_ALLOC_NUM_CPUS, &two, PMIX_UINT32);
        PMIX_INFO_LOAD(&info[4], "dvm.alloc.keep", NULL, PMIX_BOOL);
        request(PMIX_ALLOC_EXTEND, info, 5, "mine");
        await_end(1);
        must(told.status == PMIX_DVM_IS_READY && told.cause == PMIX_SUCCESS, "ready");
        must(strcmp(told.id, "alloc-1") == 0 && strcmp(told.own, "mine") == 0, "its names");
        PMIX_INFO_LOAD(&info[0], PMIX_ALLOC_NODE_LIST, "node3,4", PMIX_STRING);
        PMIX_INFO_LOAD(&info[1], PMIX_ALLOC_REQ_ID, "late", PMIX_STRING);
        PMIX_INFO_LOAD(&info[2], PMIX_JOB_CTRL_TERMINATE, NULL, PMIX_BOOL);
        PMIX_INFO_LOAD(&info[3], PMIX_ALLOC_TIME, "1:1:1", PMIX_STRING);
        request(PMIX_ALLOC_RELEASE, info, 4, "late");
        await_end(2);
        must(told.status == PMIX_ERR_DVM_MOD && told.cause == PMIX_ERR_TIMEOUT, "failed");
        must(strcmp(told.text, "too late") == 0, "why");
        PMIX_INFO_LOAD(&info[0], PMIX_ALLOC_ID, "alloc-1", PMIX_STRING);
        request(PMIX_ALLOC_REQ_CANCEL, info, 1, "");
        PMIX_INFO_LOAD(&info[0], PMIX_TIMEOUT, &day, PMIX_INT);
        request(PMIX_ALLOC_EXTEND, info, 1, "");
        await_end(4);
    }
    must(PMIx_Fence(NULL, 0, NULL, 0) == PMIX_SUCCESS, "fence");
    must(told.seen == (me.rank == 1 ? 4 : 0), "only the asker is told");
    return stop();
}

static const struct client clients[] = {
    {"refused", client_refused},
    {"accepted", client_accepted},
};

int main(int argc, char **argv)
{
    return client_main(argc, argv, clients, sizeof(clients) / sizeof(clients[0]));
}
