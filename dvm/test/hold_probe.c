/* SPDX-License-Identifier: BSD-3-Clause */
/* A PMIx client for tests of jobs that stop for a debugger: spawns one and continues it, or is one.
 */
#include "dvm/test/probe_event.h"

#include <pmix_tool.h>

/* --- hold URI|- exec|init|app RANK|* N PROGRAM ARGUMENT…: as a tool at that daemon, or as a
 * rank, spawns a job that stops, prints when it has stopped, waits for a line of input, and
 * continues it */

static void join(const char *uri)
{
    pmix_info_t info;

    if (strcmp(uri, "-") == 0) {
        begin();
        return;
    }
    PMIX_INFO_LOAD(&info, PMIX_SERVER_URI, uri, PMIX_STRING);
    must(PMIx_tool_init(&me, &info, 1), "PMIx_tool_init");
}

static int leave(const char *uri)
{
    if (strcmp(uri, "-") == 0)
        return end();
    must(PMIx_tool_finalize(), "PMIx_tool_finalize");
    return 0;
}

/* Named in each of the ways in which one can. */
static void release(const char *nspace, char **argv)
{
    bool init = strcmp(argv[1], "init") == 0, all = strcmp(argv[2], "*") == 0;
    pmix_info_t info[2];
    pmix_proc_t proc;
    pmix_data_array_t procs = {.type = PMIX_PROC, .size = 1, .array = &proc};

    PMIX_LOAD_PROCID(&proc, nspace, all ? PMIX_RANK_WILDCARD : (pmix_rank_t)number(argv[2]));
    if (!all)
        PMIX_INFO_LOAD(&info[0], PMIX_EVENT_AFFECTED_PROCS, &procs, PMIX_DATA_ARRAY);
    else
        PMIX_INFO_LOAD(&info[0], init ? PMIX_EVENT_AFFECTED_PROC : PMIX_EVENT_CUSTOM_RANGE, &proc,
                       PMIX_PROC);
    PMIX_INFO_LOAD(&info[1], PMIX_EVENT_NON_DEFAULT, NULL, PMIX_BOOL);
    must(PMIx_Notify_event(PMIX_DEBUGGER_RELEASE, NULL,
                           init ? PMIX_RANGE_SESSION : PMIX_RANGE_CUSTOM, info, 2, NULL, NULL),
         "release");
}

static void load_stop(pmix_info_t *info, const char *where, const char *which)
{
    const char *key = strcmp(where, "exec") == 0   ? PMIX_DEBUG_STOP_ON_EXEC
                      : strcmp(where, "init") == 0 ? PMIX_DEBUG_STOP_IN_INIT
                                                   : PMIX_DEBUG_STOP_IN_APP;
    pmix_rank_t rank = (pmix_rank_t)number(which);

    if (strcmp(which, "*") == 0)
        PMIX_INFO_LOAD(info, key, NULL, PMIX_BOOL);
    else
        PMIX_INFO_LOAD(info, key, &rank, PMIX_PROC_RANK);
}

static int do_hold(char **argv)
{
    pmix_nspace_t child = "";
    pmix_info_t info;
    pmix_app_t app;
    char line[16];

    join(argv[0]);
    listen_to(PMIX_EVENT_JOB_END);
    listen_to(PMIX_READY_FOR_DEBUG);
    load_stop(&info, argv[1], argv[2]);
    PMIX_APP_CONSTRUCT(&app);
    app.maxprocs = number(argv[3]);
    app.cmd = argv[4];
    app.argv = argv + 4;
    must(PMIx_Spawn(&info, 1, &app, 1, child), "spawn");
    await(&event.ready);
    printf("ready: %s, at %s\n",
           strcmp(child, event.affected.nspace) == 0 ? child : event.affected.nspace, event.where);
    fflush(stdout);
    if (!fgets(line, sizeof(line), stdin))
        return 3;
    release(child, argv);
    await_event();
    printf("ended with code %d after %d such events\n", event.code, event.ready);
    return leave(argv[0]);
}

/* --- stops: where its job's attributes say; prints a line before and after */

static int do_stops(char **argv)
{
    pmix_value_t *v = NULL;
    pmix_proc_t job;
    pmix_info_t info[2];

    (void)argv;
    begin();
    PMIX_LOAD_PROCID(&job, me.nspace, PMIX_RANK_WILDCARD);
    must(PMIx_Get(&job, PMIX_DEBUG_STOP_IN_APP, NULL, 0, &v), "PMIX_DEBUG_STOP_IN_APP");
    if (!PMIX_CHECK_RANK(v->data.rank, me.rank))
        return end();
    listen_to(PMIX_DEBUGGER_RELEASE);
    printf("stops\n");
    fflush(stdout);
    PMIX_INFO_LOAD(&info[0], PMIX_EVENT_NON_DEFAULT, NULL, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_BREAKPOINT, "here", PMIX_STRING);
    must(PMIx_Notify_event(PMIX_READY_FOR_DEBUG, &me, PMIX_RANGE_RM, info, 2, NULL, NULL), "ready");
    await(&event.released);
    printf("goes on\n");
    return end();
}

int main(int argc, char **argv)
{
    if (argc > 6 && strcmp(argv[1], "hold") == 0)
        return do_hold(argv + 2);
    if (argc > 1 && strcmp(argv[1], "stops") == 0)
        return do_stops(argv + 2);
    fprintf(stderr, "hold_probe: what?\n");
    return 2;
}
