/* SPDX-License-Identifier: BSD-3-Clause */
/* A PMIx tool for tests of the local DVM: attaches, spawns, reads and feeds what it has spawned. */
#include "dvm/test/probe.h"

#include <pmix_tool.h>
#include <stdbool.h>
#include <stdlib.h>

/* --- at a daemon: by its URI, "system" or "search" */

static void join(const char *uri)
{
    bool system = strcmp(uri, "system") == 0;
    pmix_info_t info;

    if (system)
        PMIX_INFO_LOAD(&info, PMIX_CONNECT_TO_SYSTEM, NULL, PMIX_BOOL);
    else
        PMIX_INFO_LOAD(&info, PMIX_SERVER_URI, uri, PMIX_STRING);
    must(PMIx_tool_init(&me, &info, strcmp(uri, "search") != 0), "PMIx_tool_init");
}

static int leave(void)
{
    must(PMIx_tool_finalize(), "PMIx_tool_finalize");
    return 0;
}

/* --- the end of jobs */

static struct {
    pmix_nspace_t nspace;
    int code;
} ended;

static void on_end(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
                   size_t ninfo, pmix_info_t results[], size_t nresults,
                   pmix_event_notification_cbfunc_fn_t cb, void *cbdata)
{
    (void)id, (void)status, (void)source, (void)results, (void)nresults;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC))
            PMIX_LOAD_NSPACE(ended.nspace, info[i].value.data.proc->nspace);
        if (PMIX_CHECK_KEY(&info[i], PMIX_EXIT_CODE))
            ended.code = info[i].value.data.integer;
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (cb)
        cb(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void listen(void)
{
    pmix_status_t code = PMIX_EVENT_JOB_END;
    pmix_status_t rc = PMIx_Register_event_handler(&code, 1, NULL, 0, on_end, NULL, NULL);

    if (rc < 0)
        must(rc, "registering for an event");
}

/* --- run URI|search|system HOW N PROGRAM ARGUMENT…: as a tool, spawns a job and waits for its
 * end. HOW, with commas: forward (its output), pull (it, by a request of our own), leave (that
 * request again, after the first output), push (our input, to rank 0), all (or to all), wrong (a
 * byte to rank 1).
 */

static int pieces;

static void on_output(size_t id, pmix_iof_channel_t channel, pmix_proc_t *source,
                      pmix_byte_object_t *bo, pmix_info_t info[], size_t ninfo)
{
    (void)id, (void)source, (void)info, (void)ninfo;
    if (!bo || bo->size == 0)
        return;
    pthread_mutex_lock(&lock);
    fwrite(bo->bytes, 1, bo->size, channel == PMIX_FWD_STDERR_CHANNEL ? stderr : stdout);
    fflush(stdout);
    pieces++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static bool redirect;

static size_t pull(const char *nspace)
{
    pmix_proc_t all;
    pmix_status_t rc;
    pmix_info_t info;

    PMIX_LOAD_PROCID(&all, nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&info, PMIX_IOF_REDIRECT, &redirect, PMIX_BOOL);
    rc = PMIx_IOF_pull(&all, 1, &info, 1, PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL,
                       on_output, NULL, NULL);
    printf("pull: %s\n", rc < 0 ? name_of(rc) : "SUCCESS");
    fflush(stdout);
    return rc < 0 ? 0 : (size_t)rc;
}

/* With callbacks: without them, 4.2.2 frees the object on which it waits. */
static struct {
    bool done;
    pmix_status_t status;
} operation;

static void on_done(pmix_status_t status, void *cbdata)
{
    (void)cbdata;
    pthread_mutex_lock(&lock);
    operation.done = true;
    operation.status = status;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static pmix_status_t done(pmix_status_t rc)
{
    if (rc != PMIX_SUCCESS)
        return rc;
    pthread_mutex_lock(&lock);
    while (!operation.done)
        pthread_cond_wait(&changed, &lock);
    operation.done = false;
    pthread_mutex_unlock(&lock);
    return operation.status;
}

static pmix_status_t push_to(const char *nspace, pmix_rank_t rank, const char *data, size_t len)
{
    pmix_byte_object_t bo = {.bytes = (char *)data, .size = len};
    pmix_proc_t to;
    pmix_info_t complete;

    PMIX_LOAD_PROCID(&to, nspace, rank);
    PMIX_INFO_LOAD(&complete, PMIX_IOF_COMPLETE, NULL, PMIX_BOOL);
    return done(PMIx_IOF_push(&to, 1, &bo, &complete, len ? 0 : 1, on_done, NULL));
}

static void push_input(const char *nspace, pmix_rank_t rank)
{
    static char data[65536];
    size_t n;

    while ((n = fread(data, 1, sizeof(data), stdin)) > 0)
        must(push_to(nspace, rank, data, n), "push");
    must(push_to(nspace, rank, data, 0), "end");
}

/* A new handler also gets events of jobs that ended earlier. */
static void await_job(const char *nspace)
{
    pthread_mutex_lock(&lock);
    while (strcmp(ended.nspace, nspace) != 0)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static int do_run(char **argv)
{
    bool forward = strstr(argv[1], "forward"), pushes = strstr(argv[1], "push");
    pmix_rank_t rank = strstr(argv[1], "all") ? PMIX_RANK_WILDCARD : 0;
    pmix_nspace_t child = "";
    pmix_info_t info[4];
    pmix_app_t app;
    size_t id = 0, n = 0;

    join(argv[0]);
    listen();
    PMIX_INFO_LOAD(&info[n++], PMIX_FWD_STDOUT, &forward, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[n++], PMIX_FWD_STDERR, &forward, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[n++], PMIX_FWD_STDDIAG, &forward, PMIX_BOOL);
    if (pushes)
        PMIX_INFO_LOAD(&info[n++], PMIX_STDIN_TGT, &rank, PMIX_PROC_RANK);
    PMIX_APP_CONSTRUCT(&app);
    app.maxprocs = (int)strtol(argv[2], NULL, 10);
    app.cmd = argv[3];
    app.argv = argv + 3;
    must(PMIx_Spawn(info, n, &app, 1, child), "spawn");
    fprintf(stderr, "%s\n", child);
    if (strstr(argv[1], "pull"))
        id = pull(child);
    if (strstr(argv[1], "wrong"))
        printf("push: %s\n", name_of(push_to(child, 1, "x", 1)));
    if (pushes)
        push_input(child, rank);
    if (strstr(argv[1], "leave")) {
        await(&pieces);
        (void)done(PMIx_IOF_deregister(id, NULL, 0, on_done, NULL)); /* 4.2.2: any status */
        printf("left\n");
        fflush(stdout);
    }
    await_job(child);
    printf("ended with code %d\n", ended.code);
    return leave();
}

/* --- watch URI HOW NAMESPACE: reads the output of a job that it has not spawned, until the job has
 * ended. HOW: all, leave (after the first piece), redirect (which is refused). Prints how much it
 * did not get. */

static void on_dropped(size_t id, pmix_status_t status, const pmix_proc_t *source,
                       pmix_info_t info[], size_t ninfo, pmix_info_t results[], size_t nresults,
                       pmix_event_notification_cbfunc_fn_t cb, void *cbdata)
{
    (void)id, (void)status, (void)source, (void)results, (void)nresults;
    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_TEXT_MESSAGE))
            fprintf(stderr, "%s\n", info[i].value.data.string);
    }
    if (cb)
        cb(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static int do_watch(char **argv)
{
    pmix_status_t dropped = PMIX_ERR_IOF_FAILURE;
    size_t id;

    join(argv[0]);
    listen();
    must(PMIx_Register_event_handler(&dropped, 1, NULL, 0, on_dropped, NULL, NULL) < 0
             ? PMIX_ERROR
             : PMIX_SUCCESS,
         "registering for an event");
    redirect = strcmp(argv[1], "redirect") == 0;
    id = pull(argv[2]);
    if (strcmp(argv[1], "leave") == 0) {
        await(&pieces);
        (void)done(PMIx_IOF_deregister(id, NULL, 0, on_done, NULL)); /* 4.2.2: any status */
        printf("left\n");
        fflush(stdout);
    }
    if (!redirect)
        await_job(argv[2]);
    if (!redirect)
        printf("ended with code %d\n", ended.code);
    return leave();
}

/* --- foreign URI NAMESPACE: requests the output of a job that does not exist, or sends input to
 * one that it has not spawned */

static int do_foreign(char **argv)
{
    join(argv[0]);
    pull(argv[1]);
    printf("push: %s\n", name_of(push_to(argv[1], 0, "x", 1)));
    return leave();
}

/* --- hear URI CODE: waits for an event */

static int heard;

static void on_event(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
                     size_t ninfo, pmix_info_t results[], size_t nresults,
                     pmix_event_notification_cbfunc_fn_t cb, void *cbdata)
{
    (void)id, (void)status, (void)info, (void)ninfo, (void)results, (void)nresults;
    printf("heard from rank %u\n", source->rank);
    pthread_mutex_lock(&lock);
    heard++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (cb)
        cb(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static int do_hear(char **argv)
{
    pmix_status_t code = (pmix_status_t)strtol(argv[1], NULL, 10);

    join(argv[0]);
    if (PMIx_Register_event_handler(&code, 1, NULL, 0, on_event, NULL, NULL) < 0)
        must(PMIX_ERROR, "registering for an event");
    printf("%s listens\n", me.nspace);
    fflush(stdout);
    await(&heard);
    return leave();
}

int main(int argc, char **argv)
{
    if (argc > 5 && strcmp(argv[1], "run") == 0)
        return do_run(argv + 2);
    if (argc > 4 && strcmp(argv[1], "watch") == 0)
        return do_watch(argv + 2);
    if (argc > 3 && strcmp(argv[1], "hear") == 0)
        return do_hear(argv + 2);
    if (argc > 3 && strcmp(argv[1], "foreign") == 0)
        return do_foreign(argv + 2);
    fprintf(stderr, "tool_probe: what?\n");
    return 2;
}
