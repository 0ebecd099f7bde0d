/* SPDX-License-Identifier: BSD-3-Clause */
/* A PMIx client for tests of events: its first argument chooses the action; it prints the events
 * that it gets. */
#include "dvm/test/probe.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#define TEST_EVENT (PMIX_EXTERNAL_ERR_BASE - 7)
#define END_EVENT (PMIX_EXTERNAL_ERR_BASE - 8)

static unsigned long seen;  /* events, beside END_EVENT */
static unsigned ends;       /* END_EVENT */
static int end_code;        /* the number that END_EVENT carries */
static const char *my_name; /* name of this process in its output */

static void say(const char *text)
{
    printf("%s\n", text);
    fflush(stdout);
}

static const pmix_info_t *find(const pmix_info_t *info, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++) {
        if (PMIX_CHECK_KEY(&info[i], key))
            return &info[i];
    }
    return NULL;
}

static void go_on(pmix_event_notification_cbfunc_fn_t cb, void *cbdata, pmix_status_t status)
{
    if (cb)
        cb(status, NULL, 0, NULL, NULL, cbdata);
}

static void count(unsigned long *what)
{
    pthread_mutex_lock(&lock);
    ++*what;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void await_count(const unsigned long *what, unsigned long n)
{
    pthread_mutex_lock(&lock);
    while (*what < n)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static void listen_to(pmix_status_t *codes, size_t n, const char *name,
                      pmix_notification_fn_t handler)
{
    pmix_info_t info;
    pmix_status_t rc;

    PMIX_INFO_LOAD(&info, PMIX_EVENT_HDLR_NAME, name, PMIX_STRING);
    rc = PMIx_Register_event_handler(codes, n, &info, 1, handler, NULL, NULL);
    if (rc < 0)
        must(rc, "registering for an event");
    PMIX_INFO_DESTRUCT(&info);
}

static void on_end(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
                   size_t ninfo, pmix_info_t results[], size_t nresults,
                   pmix_event_notification_cbfunc_fn_t cb, void *cbdata)
{
    const pmix_info_t *code = find(info, ninfo, PMIX_EXIT_CODE);

    (void)id, (void)status, (void)source, (void)results, (void)nresults;
    pthread_mutex_lock(&lock);
    ends++;
    end_code = code ? code->value.data.integer : 0;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    go_on(cb, cbdata, PMIX_EVENT_ACTION_COMPLETE);
}

static void await_end(void)
{
    pthread_mutex_lock(&lock);
    while (ends == 0)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static void listen_to_end(void)
{
    pmix_status_t code = END_EVENT;

    listen_to(&code, 1, "end", on_end);
}

/* The answer that the sender of an event gets. */
struct sent {
    bool answered;
    pmix_status_t status;
};

static void on_sent(pmix_status_t status, void *cbdata)
{
    struct sent *s = cbdata;

    pthread_mutex_lock(&lock);
    s->status = status;
    s->answered = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static pmix_status_t answer_of(struct sent *s)
{
    pthread_mutex_lock(&lock);
    while (!s->answered)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return s->status;
}

static pmix_status_t notify(pmix_status_t code, pmix_data_range_t range, pmix_info_t *info,
                            size_t n)
{
    struct sent s = {0};
    pmix_status_t rc = PMIx_Notify_event(code, &me, range, info, n, on_sent, &s);

    return rc == PMIX_SUCCESS ? answer_of(&s) : rc;
}

/* --- ranks NAME [FIFO]: each rank prints its events until the end. Rank 0 sends events by lines
 * "RANGE [NAMESPACE RANK]…" of the file, each with the range's name as its text. */

static void on_test(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
                    size_t ninfo, pmix_info_t results[], size_t nresults,
                    pmix_event_notification_cbfunc_fn_t cb, void *cbdata)
{
    const pmix_info_t *text = find(info, ninfo, PMIX_EVENT_TEXT_MESSAGE);

    (void)id, (void)status, (void)source, (void)results, (void)nresults;
    printf("%s%u %s\n", my_name, me.rank, text ? text->value.data.string : "?");
    fflush(stdout);
    go_on(cb, cbdata, PMIX_EVENT_ACTION_COMPLETE);
}

/* --- ends PROGRAM ARGUMENT…: spawns it. When the job's end has been reported, and a later question
 * answered, it prints how many ends of jobs were reported to it. */

static pmix_nspace_t ended; /* by the last end */

static void on_job_end(size_t id, pmix_status_t status, const pmix_proc_t *source,
                       pmix_info_t info[], size_t ninfo, pmix_info_t results[], size_t nresults,
                       pmix_event_notification_cbfunc_fn_t cb, void *cbdata)
{
    const pmix_info_t *job = find(info, ninfo, PMIX_NSPACE);

    (void)id, (void)status, (void)source, (void)results, (void)nresults;
    PMIX_LOAD_NSPACE(ended, job ? job->value.data.string : "");
    count(&seen);
    go_on(cb, cbdata, PMIX_EVENT_ACTION_COMPLETE);
}

static int do_ends(char **argv)
{
    pmix_status_t code = PMIX_EVENT_JOB_END;
    pmix_nspace_t child = "";
    pmix_pdata_t nothing;
    pmix_app_t app;

    begin();
    listen_to(&code, 1, "end", on_job_end);
    PMIX_APP_CONSTRUCT(&app);
    app.maxprocs = 1;
    app.cmd = argv[0];
    app.argv = argv;
    must(PMIx_Spawn(NULL, 0, &app, 1, child), "spawn");
    await_count(&seen, 1);
    PMIX_PDATA_CONSTRUCT(&nothing);
    PMIX_LOAD_KEY(nothing.key, "nothing");
    (void)PMIx_Lookup(&nothing, 1, NULL, 0);
    printf("%lu, of %s\n", seen, strcmp(child, ended) == 0 ? "my child" : "another job");
    return end();
}

static const struct {
    const char *name;
    pmix_data_range_t range;
} ranges[] = {
    {"undef", PMIX_RANGE_UNDEF},          {"rm", PMIX_RANGE_RM},
    {"local", PMIX_RANGE_LOCAL},          {"namespace", PMIX_RANGE_NAMESPACE},
    {"session", PMIX_RANGE_SESSION},      {"global", PMIX_RANGE_GLOBAL},
    {"custom", PMIX_RANGE_CUSTOM},        {"nolist", PMIX_RANGE_CUSTOM},
    {"proclocal", PMIX_RANGE_PROC_LOCAL},
};

/* "[NAMESPACE RANK]…", '*' for all of its ranks. */
static size_t procs_of(char *words, pmix_proc_t *procs, size_t max)
{
    size_t n = 0;
    char *nspace, *rank;

    while (n < max && (nspace = strtok_r(NULL, " \n", &words)) &&
           (rank = strtok_r(NULL, " \n", &words))) {
        PMIX_LOAD_PROCID(&procs[n], nspace,
                         *rank == '*' ? PMIX_RANK_WILDCARD : (uint32_t)strtoul(rank, NULL, 10));
        n++;
    }
    return n;
}

static pmix_status_t send_one(char *line)
{
    char *words = NULL;
    const char *name = strtok_r(line, " \n", &words);
    pmix_data_array_t list = {.type = PMIX_PROC};
    pmix_data_range_t range = PMIX_RANGE_INVALID;
    pmix_proc_t procs[16];
    pmix_info_t info[3];
    size_t n = 2;

    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        if (strcmp(name, ranges[i].name) == 0)
            range = ranges[i].range;
    }
    PMIX_INFO_LOAD(&info[0], PMIX_EVENT_TEXT_MESSAGE, name, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_EVENT_NON_DEFAULT, NULL, PMIX_BOOL);
    list.array = procs;
    list.size = procs_of(words, procs, 16);
    if (list.size)
        PMIX_INFO_LOAD(&info[n++], PMIX_EVENT_CUSTOM_RANGE, &list, PMIX_DATA_ARRAY);
    return notify(TEST_EVENT, range, info, n);
}

static void command(const char *path)
{
    FILE *f = fopen(path, "r");
    char line[1024];

    while (f && fgets(line, sizeof(line), f) && strcmp(line, "end\n") != 0) {
        pmix_status_t rc = send_one(line);

        if (rc != PMIX_SUCCESS)
            printf("refused: %s\n",
                   rc == PMIX_ERR_BAD_PARAM ? "bad parameter" : PMIx_Error_string(rc));
        fflush(stdout);
    }
    fclose(f);
    must(notify(END_EVENT, PMIX_RANGE_GLOBAL, NULL, 0), "telling the end");
}

static int do_ranks(char **argv)
{
    pmix_status_t code = TEST_EVENT;

    my_name = argv[0];
    begin();
    listen_to(&code, 1, "test", on_test);
    listen_to_end();
    printf("up %s %s %u\n", my_name, me.nspace, me.rank);
    fflush(stdout);
    if (argv[1] && me.rank == 0)
        command(argv[1]);
    await_end();
    return end();
}

/* --- events about lost ranks */

static pmix_status_t losses[] = {
    PMIX_ERR_PROC_TERM_WO_SYNC, PMIX_ERR_PROC_ABORTED_BY_SIG,  PMIX_ERR_PROC_KILLED_BY_CMD,
    PMIX_ERR_EXIT_NONZERO_TERM, PMIX_ERR_PROC_REQUESTED_ABORT, PMIX_EVENT_JOB_START,
    PMIX_EVENT_JOB_END};
#define NLOSSES (sizeof(losses) / sizeof(losses[0]))
/* The library's own texts differ between its versions. */
static const char *const loss_names[NLOSSES] = {
    "TERM_WO_SYNC", "BY_SIG", "BY_CMD", "EXIT_NONZERO", "REQUESTED_ABORT", "JOB_START", "JOB_END"};
static bool silent;

static const char *loss_name(pmix_status_t code)
{
    for (size_t i = 0; i < NLOSSES; i++) {
        if (losses[i] == code)
            return loss_names[i];
    }
    return "?";
}

static void on_loss(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
                    size_t ninfo, pmix_info_t results[], size_t nresults,
                    pmix_event_notification_cbfunc_fn_t cb, void *cbdata)
{
    const pmix_info_t *who = find(info, ninfo, PMIX_EVENT_AFFECTED_PROC);
    const pmix_info_t *code = find(info, ninfo, PMIX_EXIT_CODE);
    const char *job = who && strcmp(who->value.data.proc->nspace, me.nspace) == 0 ? "own" : "other";

    (void)id, (void)source, (void)results, (void)nresults;
    if (!silent) {
        printf("%s%u %s %s %d", my_name, me.rank, loss_name(status), job,
               who ? (int)who->value.data.proc->rank : -1);
        if (code)
            printf(" code %d", code->value.data.integer);
        say("");
    }
    count(&seen);
    go_on(cb, cbdata, PMIX_EVENT_ACTION_COMPLETE);
}

static void on_default(size_t id, pmix_status_t status, const pmix_proc_t *source,
                       pmix_info_t info[], size_t ninfo, pmix_info_t results[], size_t nresults,
                       pmix_event_notification_cbfunc_fn_t cb, void *cbdata)
{
    (void)id, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    printf("%s%u default handler: %s\n", my_name, me.rank, PMIx_Error_string(status));
    fflush(stdout);
    go_on(cb, cbdata, PMIX_EVENT_ACTION_COMPLETE);
}

static void listen_to_losses(void)
{
    listen_to(losses, NLOSSES, "loss", on_loss);
    listen_to(NULL, 0, "default", on_default);
    listen_to_end();
}

/* As HOW says; "wait": another process will end it. */
static void die(const char *how)
{
    if (strcmp(how, "signal") == 0)
        raise(SIGKILL);
    if (strcmp(how, "exit") == 0)
        _exit(5);
    if (strcmp(how, "finalize") == 0) {
        end();
        _exit(6);
    }
    if (strcmp(how, "abort") == 0)
        PMIx_Abort(7, "on purpose", NULL, 0);
    if (strcmp(how, "well") == 0) {
        end();
        _exit(0);
    }
    for (;;)
        pause();
}

static unsigned number(const char *text)
{
    return (unsigned)strtoul(text, NULL, 10);
}

/* All ranks but those below `first`; they wait for each other. */
static void fence_from(uint32_t first, uint32_t size)
{
    pmix_proc_t procs[64];

    for (uint32_t r = first; r < size; r++)
        PMIX_LOAD_PROCID(&procs[r - first], me.nspace, r);
    must(PMIx_Fence(procs, size - first, NULL, 0), "fence of those that are left");
}

/* --- survive HOW LOST SIZE: ranks below LOST end in that way when all run. The others print the
 * events about it; they end when all of them have all events. */
static int do_survive(char **argv)
{
    unsigned lost = number(argv[1]);

    my_name = "";
    begin();
    silent = me.rank < lost;
    listen_to_losses();
    must(PMIx_Fence(NULL, 0, NULL, 0), "fence");
    if (me.rank < lost) {
        if (strcmp(argv[0], "wait") == 0)
            printf("up %s %u %d\n", me.nspace, me.rank, (int)getpid());
        fflush(stdout);
        die(argv[0]);
    }
    await_count(&seen, lost);
    if (strcmp(argv[0], "wait") != 0) /* ranks other than those below LOST may have ended too */
        fence_from(lost, number(argv[2]));
    return end();
}

/* --- die HOW: to be spawned */
static int do_die(char **argv)
{
    begin();
    die(argv[0]);
    return 0;
}

static pmix_status_t spawn(const pmix_info_t *info, size_t n, int nprocs, char **argv, char *child)
{
    pmix_app_t app;

    PMIX_APP_CONSTRUCT(&app);
    app.maxprocs = nprocs;
    app.cmd = argv[0];
    app.argv = argv;
    return PMIx_Spawn(info, n, &app, 1, child);
}

/* --- parent PROGRAM ARGUMENT…: prints the events of the job that it has spawned, until that has
 * ended */
static int do_parent(char **argv)
{
    pmix_nspace_t child;

    my_name = "parent";
    begin();
    listen_to_losses();
    must(spawn(NULL, 0, 1, argv, child), "spawn");
    await_count(&seen, 3); /* start, loss, end */
    return end();
}

/* --- connected PROGRAM: two parents and two children connect; child 0 is lost. With "parted" they
 * disconnect before. Parent 0 has spawned the children. */

static void join(bool parted, const char *parents, const char *children)
{
    pmix_proc_t procs[2];

    PMIX_LOAD_PROCID(&procs[0], parents, PMIX_RANK_WILDCARD);
    PMIX_LOAD_PROCID(&procs[1], children, PMIX_RANK_WILDCARD);
    must(PMIx_Connect(procs, 2, NULL, 0), "connect");
    if (parted)
        must(PMIx_Disconnect(procs, 2, NULL, 0), "disconnect");
}

static int do_child(char **argv)
{
    pmix_proc_t parent, any;
    pmix_value_t *v;

    my_name = "child";
    begin();
    listen_to_losses();
    PMIX_LOAD_PROCID(&any, me.nspace, me.rank);
    must(PMIx_Get(&any, PMIX_PARENT_ID, NULL, 0, &v), "who is the parent");
    parent = *v->data.proc;
    PMIX_VALUE_RELEASE(v);
    join(strcmp(argv[0], "parted") == 0, parent.nspace, me.nspace);
    if (me.rank == 0)
        die("exit");
    await_count(&seen, 1);
    await_end();
    return end();
}

/* The children's name, from parent 0 to parent 1. */
static void share(char *child)
{
    pmix_proc_t first;
    pmix_value_t v, *got;

    PMIX_LOAD_PROCID(&first, me.nspace, 0);
    if (me.rank == 0) {
        PMIX_VALUE_LOAD(&v, child, PMIX_STRING);
        must(PMIx_Put(PMIX_GLOBAL, "child", &v), "put");
        must(PMIx_Commit(), "commit");
        PMIX_VALUE_DESTRUCT(&v);
    }
    must(PMIx_Fence(NULL, 0, NULL, 0), "fence");
    must(PMIx_Get(&first, "child", NULL, 0, &got), "get");
    PMIX_LOAD_NSPACE(child, got->data.string);
    PMIX_VALUE_RELEASE(got);
}

static int do_connected(char **argv)
{
    char *args[] = {argv[0], "child", argv[1], NULL};
    bool parted = strcmp(argv[1], "parted") == 0;
    pmix_nspace_t child = "";
    pmix_info_t info;

    my_name = "parent";
    begin();
    listen_to_losses();
    if (me.rank == 0) {
        PMIX_INFO_LOAD(&info, PMIX_JOB_RECOVERABLE, NULL, PMIX_BOOL);
        must(spawn(&info, 1, 2, args, child), "spawn");
    }
    share(child);
    join(parted, me.nspace, child);
    if (me.rank == 0)
        await_count(&seen, 2); /* start, loss */
    else if (!parted)
        await_count(&seen, 1);
    must(PMIx_Fence(NULL, 0, NULL, 0), "fence");
    if (me.rank == 0)
        must(notify(END_EVENT, PMIX_RANGE_GLOBAL, NULL, 0), "telling the end");
    else
        await_end();
    return end();
}

/* --- handlers: the order in which the library runs them, and which of them PMIX_EVENT_NON_DEFAULT
 * leaves out */

static void named(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
                  size_t ninfo, pmix_info_t results[], size_t nresults,
                  pmix_event_notification_cbfunc_fn_t cb, void *cbdata)
{
    const pmix_info_t *name = find(info, ninfo, PMIX_EVENT_HDLR_NAME);
    const pmix_info_t *text = find(info, ninfo, PMIX_EVENT_TEXT_MESSAGE);

    (void)id, (void)status, (void)source, (void)results, (void)nresults;
    printf("%s: %s\n", text ? text->value.data.string : "?", name ? name->value.data.string : "?");
    fflush(stdout);
    count(&seen);
    go_on(cb, cbdata, PMIX_EVENT_NO_ACTION_TAKEN);
}

static void send_text(const char *text, size_t n)
{
    pmix_info_t info[2];

    PMIX_INFO_LOAD(&info[0], PMIX_EVENT_TEXT_MESSAGE, text, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_EVENT_NON_DEFAULT, NULL, PMIX_BOOL);
    must(notify(TEST_EVENT, PMIX_RANGE_NAMESPACE, info, n), "notify");
    PMIX_INFO_DESTRUCT(&info[0]);
}

static int do_handlers(char **argv)
{
    pmix_status_t several[] = {TEST_EVENT, PMIX_ERR_TIMEOUT}, one = TEST_EVENT;

    (void)argv;
    begin();
    if (me.rank == 1) {
        listen_to(NULL, 0, "default", named);
        listen_to(several, 2, "several", named);
        listen_to(&one, 1, "one", named);
        listen_to_end();
    }
    must(PMIx_Fence(NULL, 0, NULL, 0), "fence");
    if (me.rank == 0)
        send_text("plain", 1);
    else
        await_count(&seen, 3);
    must(PMIx_Fence(NULL, 0, NULL, 0), "fence");
    if (me.rank == 0) {
        send_text("marked", 2);
        must(notify(END_EVENT, PMIX_RANGE_NAMESPACE, NULL, 0), "telling the end");
    } else {
        await_count(&seen, 5);
        await_end();
    }
    must(PMIx_Fence(NULL, 0, NULL, 0), "fence");
    return end();
}

/* --- storm N FIFO [listed]: rank 0 sends N events when the file says so, counts the accepted ones,
 * and reports them by a last event, which has to be accepted too; rank 1 counts the events that it
 * gets. */

static unsigned long got;

static void on_storm(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
                     size_t ninfo, pmix_info_t results[], size_t nresults,
                     pmix_event_notification_cbfunc_fn_t cb, void *cbdata)
{
    (void)id, (void)status, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    count(&got);
    go_on(cb, cbdata, PMIX_EVENT_ACTION_COMPLETE);
}

/* `listed`: for a list of processes, which is rank 1. */
static int storm(unsigned n, bool listed)
{
    struct sent *all = calloc(n, sizeof(*all));
    int taken = 0, refused = 0;
    pmix_data_range_t range = listed ? PMIX_RANGE_CUSTOM : PMIX_RANGE_NAMESPACE;
    pmix_info_t info[2];
    pmix_proc_t to;

    PMIX_LOAD_PROCID(&to, me.nspace, 1);
    PMIX_INFO_LOAD(&info[0], PMIX_EVENT_NON_DEFAULT, NULL, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_EVENT_CUSTOM_RANGE, &to, PMIX_PROC);
    for (unsigned i = 0; i < n; i++)
        must(PMIx_Notify_event(TEST_EVENT, &me, range, info, 1 + listed, on_sent, &all[i]),
             "notify");
    for (unsigned i = 0; i < n; i++) {
        taken += answer_of(&all[i]) == PMIX_SUCCESS;
        refused += answer_of(&all[i]) == PMIX_ERR_OUT_OF_RESOURCE;
    }
    free(all);
    /* A few may be between the library and the daemon when the daemon begins to refuse. */
    printf("%s taken, %s\n", taken >= 1024 && taken < 1100 ? "about 1024" : "too many or few",
           taken + refused == (int)n ? "the others refused" : "the others lost");
    fflush(stdout);
    return taken;
}

static int do_storm(char **argv)
{
    pmix_status_t code = TEST_EVENT;
    char line[16];
    pmix_info_t info;
    FILE *f;
    int taken;

    begin();
    if (me.rank == 1) {
        listen_to(&code, 1, "storm", on_storm);
        listen_to_end();
    }
    must(PMIx_Fence(NULL, 0, NULL, 0), "fence");
    if (me.rank == 0) {
        say("up");
        f = fopen(argv[1], "r");
        if (!fgets(line, sizeof(line), f))
            return 1;
        taken = storm(number(argv[0]), argv[2] != NULL);
        PMIX_INFO_LOAD(&info, PMIX_EXIT_CODE, &taken, PMIX_INT);
        if (!fgets(line, sizeof(line), f))
            return 1;
        while (notify(END_EVENT, PMIX_RANGE_NAMESPACE, &info, 1) == PMIX_ERR_OUT_OF_RESOURCE)
            ;
    } else {
        await_end();
        printf("%s of what was taken has come\n", got == (unsigned long)end_code ? "all" : "part");
        fflush(stdout);
    }
    must(PMIx_Fence(NULL, 0, NULL, 0), "fence");
    return end();
}

/* --- offline N: N ranks; once all run, each prints the node that an event reports as lost */

static void on_offline(size_t id, pmix_status_t status, const pmix_proc_t *source,
                       pmix_info_t info[], size_t ninfo, pmix_info_t results[], size_t nresults,
                       pmix_event_notification_cbfunc_fn_t cb, void *cbdata)
{
    const pmix_info_t *node = find(info, ninfo, PMIX_NODEID);
    const pmix_info_t *host = find(info, ninfo, PMIX_HOSTNAME);

    (void)id, (void)status, (void)source, (void)results, (void)nresults;
    printf("rank %u: offline: %u %s\n", me.rank, node ? node->value.data.uint32 : 0,
           host ? host->value.data.string : "?");
    fflush(stdout);
    count(&seen);
    go_on(cb, cbdata, PMIX_EVENT_ACTION_COMPLETE);
}

static int do_offline(char **argv)
{
    pmix_status_t code = PMIX_EVENT_NODE_OFFLINE;

    (void)argv;
    begin();
    listen_to(&code, 1, "offline", on_offline);
    must(PMIx_Fence(NULL, 0, NULL, 0), "fence");
    say("up");
    await_count(&seen, 1);
    return end();
}

/* --- invite accept|decline: rank 0 invites all to a group; each rank prints its events. decline:
 * rank 2 declines, and then notifies rank 0. */

static bool declines;
static unsigned long built;
static bool resolved;

static void on_answered(pmix_status_t status, pmix_info_t *info, size_t ninfo, void *cbdata,
                        pmix_release_cbfunc_t release, void *release_cbdata)
{
    (void)info, (void)ninfo, (void)cbdata;
    printf("rank %u: join: %s\n", me.rank, status == PMIX_SUCCESS ? "SUCCESS" : "failed");
    if (release)
        release(release_cbdata);
}

static void on_told(pmix_status_t status, void *cbdata)
{
    (void)status, (void)cbdata;
}

/* In a handler, which must not wait. */
static void answer(const char *group, const pmix_proc_t *leader)
{
    bool no = declines && me.rank == 2;
    pmix_status_t rc = PMIx_Group_join_nb(
        group, leader, no ? PMIX_GROUP_DECLINE : PMIX_GROUP_ACCEPT, NULL, 0, on_answered, NULL);
    static pmix_info_t info;

    if (rc != PMIX_SUCCESS)
        printf("rank %u: join: %s\n", me.rank, PMIx_Error_string(rc));
    if (!no)
        return;
    PMIX_INFO_LOAD(&info, PMIX_EVENT_CUSTOM_RANGE, leader, PMIX_PROC);
    (void)PMIx_Notify_event(END_EVENT, &me, PMIX_RANGE_CUSTOM, &info, 1, on_told, NULL);
}

static void on_group(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
                     size_t ninfo, pmix_info_t results[], size_t nresults,
                     pmix_event_notification_cbfunc_fn_t cb, void *cbdata)
{
    const pmix_info_t *group = find(info, ninfo, PMIX_GROUP_ID);
    const char *name = group ? group->value.data.string : "?";

    (void)id, (void)results, (void)nresults;
    printf("rank %u: %s %s by rank %u\n", me.rank,
           status == PMIX_GROUP_INVITED ? "invited to" : "complete:", name, source->rank);
    fflush(stdout);
    if (status == PMIX_GROUP_CONSTRUCT_COMPLETE)
        count(&built);
    else if (me.rank != source->rank) /* the leader counts as accepted already */
        answer(name, source);
    go_on(cb, cbdata, PMIX_EVENT_ACTION_COMPLETE);
}

static void on_resolved(pmix_status_t status, pmix_info_t *info, size_t ninfo, void *cbdata,
                        pmix_release_cbfunc_t release, void *release_cbdata)
{
    (void)status, (void)info, (void)ninfo, (void)cbdata, (void)release, (void)release_cbdata;
    resolved = true;
}

static void invite(void)
{
    pmix_info_t *results = NULL, id;
    size_t nresults = 0;
    pmix_proc_t all[3];
    pmix_status_t rc;

    for (uint32_t i = 0; i < 3; i++)
        PMIX_LOAD_PROCID(&all[i], me.nspace, i);
    PMIX_INFO_LOAD(&id, PMIX_GROUP_ASSIGN_CONTEXT_ID, NULL, PMIX_BOOL);
    if (declines) {
        must(PMIx_Group_invite_nb("club", all, 3, &id, 1, on_resolved, NULL), "invite");
        await_end();
        printf("invite: %s\n", resolved ? "resolved" : "no end of it");
    } else {
        rc = PMIx_Group_invite("club", all, 3, &id, 1, &results, &nresults);
        printf("invite: %s, %zu results\n", rc == PMIX_SUCCESS ? "SUCCESS" : "failed", nresults);
    }
    fflush(stdout);
}

static int do_invite(char **argv)
{
    pmix_status_t codes[] = {PMIX_GROUP_INVITED, PMIX_GROUP_CONSTRUCT_COMPLETE};

    declines = strcmp(argv[0], "decline") == 0;
    begin();
    listen_to(codes, 2, "group", on_group);
    listen_to_end();
    must(PMIx_Fence(NULL, 0, NULL, 0), "fence");
    if (me.rank == 0)
        invite();
    if (!declines)
        await_count(&built, 1);
    if (me.rank == 1)
        printf("leave: %s\n", PMIx_Group_leave("club", NULL, 0) == PMIX_ERR_NOT_SUPPORTED
                                  ? "not supported"
                                  : "supported");
    fflush(stdout);
    must(PMIx_Fence(NULL, 0, NULL, 0), "fence");
    return end();
}

static const struct {
    const char *name;
    int (*run)(char **argv);
} verbs[] = {
    {"ranks", do_ranks},       {"survive", do_survive}, {"die", do_die},
    {"parent", do_parent},     {"child", do_child},     {"connected", do_connected},
    {"handlers", do_handlers}, {"storm", do_storm},     {"invite", do_invite},
    {"offline", do_offline},   {"ends", do_ends},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(argv[1], verbs[i].name) == 0)
            return verbs[i].run(argv + 2);
    }
    fprintf(stderr, "event_probe: what?\n");
    return 2;
}
