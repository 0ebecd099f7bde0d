/* SPDX-License-Identifier: BSD-3-Clause */
/* A PMIx client for tests of the local DVM: does what its first argument says, and prints what came
 * of it. */
#include "dvm/test/probe_event.h"

#include <signal.h>

#include <pmix_tool.h>
#include <stdlib.h>

/* As one word, "NOT-FOUND". */
static const char *word_of(pmix_status_t rc)
{
    static char word[64];

    snprintf(word, sizeof(word), "%s", name_of(rc));
    for (char *c = word; (c = strchr(c, ' '));)
        *c = '-';
    return word;
}

/* --- spawn N PROGRAM ARGUMENT…: "@pid" among the arguments is our own */

static char **with_pid(char **argv)
{
    static char pid[16];

    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    for (size_t i = 0; argv[i]; i++) {
        if (strcmp(argv[i], "@pid") == 0)
            argv[i] = pid;
    }
    return argv;
}

static pmix_status_t spawn(char **argv, char *child)
{
    pmix_app_t app;

    PMIX_APP_CONSTRUCT(&app);
    app.maxprocs = number(argv[0]);
    app.cmd = argv[1];
    app.argv = with_pid(argv + 1);
    app.env = getenv("PROBE_ENVIRON") ? environ : NULL;
    return PMIx_Spawn(NULL, 0, &app, 1, child);
}

static int do_spawn(char **argv)
{
    pmix_nspace_t child = "";
    pmix_status_t rc;

    begin();
    rc = spawn(argv, child);
    printf("spawn: %s\n", name_of(rc));
    return end();
}

/* --- spawn-port PORT N PROGRAM ARGUMENT…: as MPI_Comm_spawn does, tells the programs a port, and
 * waits for what they publish there */

static int do_spawn_port(char **argv)
{
    char port[256], key[256];
    char *env[] = {port, NULL};
    pmix_nspace_t child = "";
    pmix_pdata_t found;
    pmix_info_t info;
    pmix_app_t app;
    int all = 0;
    pmix_status_t rc;

    snprintf(port, sizeof(port), "OMPI_PARENT_PORT=%s", argv[0]);
    snprintf(key, sizeof(key), "%s:accept", argv[0]);
    begin();
    PMIX_APP_CONSTRUCT(&app);
    app.maxprocs = number(argv[1]);
    app.cmd = argv[2];
    app.argv = argv + 2;
    app.env = env;
    rc = PMIx_Spawn(NULL, 0, &app, 1, child);
    printf("spawn: %s\n", name_of(rc));
    PMIX_PDATA_CONSTRUCT(&found);
    PMIX_LOAD_KEY(found.key, key);
    PMIX_INFO_LOAD(&info, PMIX_WAIT, &all, PMIX_INT);
    if (rc == PMIX_SUCCESS)
        printf("lookup: %s\n", name_of(PMIx_Lookup(&found, 1, &info, 1)));
    fflush(stdout);
    return end();
}

/* accept PORT: what a program does that was spawned so */
static int do_accept(char **argv)
{
    pmix_persistence_t until = PMIX_PERSIST_SESSION;
    pmix_info_t info[2];
    char key[256];

    snprintf(key, sizeof(key), "%s:accept", argv[0]);
    begin();
    PMIX_INFO_LOAD(&info[0], key, "here", PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_PERSISTENCE, &until, PMIX_PERSIST);
    if (me.rank == 0)
        must(PMIx_Publish(info, 2), "publish");
    return end();
}

/* spawn-files FILES WDIR N PROGRAM ARGUMENT…: WDIR "-": where the files are; "+": the same, and the
 * program is one of them. */
static int do_spawn_files(char **argv)
{
    pmix_nspace_t child = "";
    pmix_status_t rc;
    pmix_app_t app;
    bool own = argv[1][0] == '-' || argv[1][0] == '+';
    bool binary = argv[1][0] == '+';

    begin();
    PMIX_APP_CONSTRUCT(&app);
    PMIX_INFO_CREATE(app.info, 3);
    app.ninfo = 3;
    PMIX_INFO_LOAD(&app.info[0], PMIX_PRELOAD_FILES, argv[0], PMIX_STRING);
    PMIX_INFO_LOAD(&app.info[1], PMIX_SET_SESSION_CWD, &own, PMIX_BOOL);
    PMIX_INFO_LOAD(&app.info[2], PMIX_PRELOAD_BIN, &binary, PMIX_BOOL);
    app.cwd = own ? NULL : argv[1];
    app.maxprocs = number(argv[2]);
    app.cmd = argv[3];
    app.argv = argv + 3;
    rc = PMIx_Spawn(NULL, 0, &app, 1, child);
    printf("spawn: %s\n", name_of(rc));
    return end();
}

/* spawn-host KEY HOSTS N PROGRAM ARGUMENT…: PMIX_HOST for the job if KEY is "job", for its program
 * if it is "app"; other keys are the job's. */
static int do_spawn_host(char **argv)
{
    bool of_app = strcmp(argv[0], "app") == 0;
    const char *key = of_app || strcmp(argv[0], "job") == 0 ? PMIX_HOST : argv[0];
    pmix_nspace_t child = "";
    pmix_status_t rc;
    pmix_app_t app;
    pmix_info_t info;

    begin();
    PMIX_APP_CONSTRUCT(&app);
    PMIX_INFO_LOAD(&info, key, argv[1], PMIX_STRING);
    app.info = of_app ? &info : NULL;
    app.ninfo = of_app;
    app.maxprocs = number(argv[2]);
    app.cmd = argv[3];
    app.argv = argv + 3;
    rc = PMIx_Spawn(&info, !of_app, &app, 1, child);
    printf("spawn: %s\n", name_of(rc));
    return end();
}

/* Tells the end of what it has spawned. */
static int do_spawn_wait(char **argv)
{
    pmix_nspace_t child = "";

    begin();
    listen_to(PMIX_EVENT_JOB_END);
    must(spawn(argv, child), "spawn");
    await_event();
    printf("%s ended with code %d: %s\n",
           strcmp(child, event.affected.nspace) == 0 ? "my child" : event.affected.nspace,
           event.code, name_of(event.term));
    return end();
}

/* Ends with a code of its own while the child runs. */
static int do_spawn_fail(char **argv)
{
    pmix_nspace_t child = "";

    begin();
    must(spawn(argv, child), "spawn");
    end();
    return 7;
}

/* --- query [NAMESPACE]: everything that a host answers, one line each */

static void print_procs(const pmix_data_array_t *a)
{
    const pmix_proc_info_t *p = a->array;

    for (size_t i = 0; i < a->size; i++)
        printf(" %u@%s:%s", p[i].proc.rank, p[i].hostname,
               p[i].state == PMIX_PROC_STATE_CONNECTED || p[i].state == PMIX_PROC_STATE_RUNNING
                   ? p[i].pid > 1 ? "running" : "no pid"
                   : "other");
}

static void print_value(const pmix_info_t *i)
{
    printf("%s:", i->key);
    if (i->value.type == PMIX_STRING)
        printf(" %s", i->value.data.string);
    else if (i->value.type == PMIX_UINT32)
        printf(" %u", i->value.data.uint32);
    else if (i->value.type == PMIX_STATUS)
        printf(" %s", name_of(i->value.data.status));
    else if (i->value.type == PMIX_DATA_ARRAY && i->value.data.darray->type == PMIX_PROC_INFO)
        print_procs(i->value.data.darray);
    printf("\n");
}

/* The job by its name, or by one of its processes. */
static pmix_status_t query(const char *key, const char *nspace, bool by_proc)
{
    pmix_query_t *q;
    pmix_proc_t proc;
    pmix_info_t *results = NULL;
    size_t n = 0;
    pmix_status_t rc;

    PMIX_QUERY_CREATE(q, 1);
    PMIX_ARGV_APPEND(rc, q->keys, key);
    if (nspace) {
        PMIX_QUERY_QUALIFIERS_CREATE(q, 1);
        PMIX_LOAD_PROCID(&proc, nspace, 0);
        if (by_proc)
            PMIX_INFO_LOAD(&q->qualifiers[0], PMIX_PROCID, &proc, PMIX_PROC);
        else
            PMIX_INFO_LOAD(&q->qualifiers[0], PMIX_NSPACE, nspace, PMIX_STRING);
    }
    rc = PMIx_Query_info(q, 1, &results, &n);
    for (size_t i = 0; i < n; i++)
        print_value(&results[i]);
    if (n == 0)
        printf("%s: %s\n", key, name_of(rc));
    PMIX_QUERY_FREE(q, 1);
    return rc;
}

static int do_query(char **argv)
{
    static const char *const keys[] = {
        PMIX_QUERY_NAMESPACES,    PMIX_UNIV_SIZE,           PMIX_JOB_SIZE,
        PMIX_QUERY_JOB_STATUS,    PMIX_QUERY_PROC_TABLE,    PMIX_QUERY_LOCAL_PROC_TABLE,
        PMIX_QUERY_SPAWN_SUPPORT, PMIX_QUERY_DEBUG_SUPPORT, PMIX_QUERY_SUPPORTED_KEYS};

    begin();
    if (me.rank == 0) {
        printf("me: %s\n", me.nspace);
        for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
            query(keys[i], argv[0] ? argv[0] : me.nspace, i % 2);
        query("no.such.key", NULL, false);
    }
    must(PMIx_Fence(NULL, 0, NULL, 0), "fence");
    return end();
}

/* --- control ACTION NAMESPACE RANK: kill, term, stop, cont or a signal's number */

static void control(char **argv)
{
    static const struct {
        const char *name, *key;
    } actions[] = {{"kill", PMIX_JOB_CTRL_KILL},
                   {"term", PMIX_JOB_CTRL_TERMINATE},
                   {"stop", PMIX_JOB_CTRL_PAUSE},
                   {"cont", PMIX_JOB_CTRL_RESUME}};
    int signum = number(argv[0]);
    pmix_proc_t target;
    pmix_info_t info;

    PMIX_INFO_LOAD(&info, PMIX_JOB_CTRL_SIGNAL, &signum, PMIX_INT);
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        if (strcmp(argv[0], actions[i].name) == 0)
            PMIX_INFO_LOAD(&info, actions[i].key, NULL, PMIX_BOOL);
    }
    PMIX_LOAD_PROCID(&target, argv[1],
                     strcmp(argv[2], "*") == 0 ? PMIX_RANK_WILDCARD : (uint32_t)number(argv[2]));
    printf("control: %s\n", name_of(PMIx_Job_control(&target, 1, &info, 1, NULL, NULL)));
}

static int do_control(char **argv)
{
    begin();
    control(argv);
    return end();
}

/* --- spawn-control ACTION N PROGRAM ARGUMENT…: controls all ranks of the job that it spawns */

static int do_spawn_control(char **argv)
{
    pmix_nspace_t child = "";
    char *order[] = {argv[0], child, (char *)"*"};

    begin();
    must(spawn(argv + 1, child), "spawn");
    control(order);
    return end();
}

/* --- log TEXT TEXT TEXT: to the job's output, to its errors, and wherever messages may go */

static int do_log(char **argv)
{
    static const char *const elsewhere[] = {PMIX_LOG_SYSLOG, PMIX_LOG_LOCAL_SYSLOG,
                                            PMIX_LOG_GLOBAL_SYSLOG};
    pmix_byte_object_t blob = {.bytes = argv[2], .size = strlen(argv[2])};
    pmix_info_t info[6];
    size_t n = 0;

    begin();
    PMIX_INFO_LOAD(&info[n++], PMIX_LOG_STDOUT, argv[0], PMIX_STRING);
    PMIX_INFO_LOAD(&info[n++], PMIX_LOG_STDERR, argv[1], PMIX_STRING);
    for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
        PMIX_INFO_LOAD(&info[n++], elsewhere[i], argv[2], PMIX_STRING);
    PMIX_INFO_LOAD(&info[n++], PMIX_LOG_MSG, &blob, PMIX_BYTE_OBJECT);
    must(PMIx_Log(info, n, NULL, 0), "log");
    PMIX_INFO_LOAD(&info[0], PMIX_LOG_EMAIL_MSG, argv[2], PMIX_STRING);
    printf("e-mail: %s\n", name_of(PMIx_Log(info, 1, NULL, 0)));
    return end();
}

/* --- late: ranks that wait a second for one who does not come, in every way at once */

static const char *const ways[] = {"fence", "connect", "disconnect", "get"};
#define NWAYS (sizeof(ways) / sizeof(ways[0]))
static pmix_status_t came[NWAYS];
static int ncame;

static void on_came(pmix_status_t status, void *cbdata)
{
    pthread_mutex_lock(&lock);
    came[(size_t)cbdata] = status;
    ncame++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void on_value_came(pmix_status_t status, pmix_value_t *v, void *cbdata)
{
    (void)v;
    on_came(status, cbdata);
}

static void wait_for_nobody(void)
{
    int second = 1;
    pmix_proc_t all, other;
    pmix_info_t limit;

    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    PMIX_LOAD_PROCID(&other, me.nspace, 1);
    PMIX_INFO_LOAD(&limit, PMIX_TIMEOUT, &second, PMIX_INT);
    must(PMIx_Fence_nb(NULL, 0, &limit, 1, on_came, (void *)0), ways[0]);
    must(PMIx_Connect_nb(&all, 1, &limit, 1, on_came, (void *)1), ways[1]);
    must(PMIx_Disconnect_nb(&all, 1, &limit, 1, on_came, (void *)2), ways[2]);
    must(PMIx_Get_nb(&other, "never.put", &limit, 1, on_value_came, (void *)3), ways[3]);
    pthread_mutex_lock(&lock);
    while (ncame < (int)NWAYS)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    for (size_t i = 0; i < NWAYS; i++)
        printf("%s: %s\n", ways[i], name_of(came[i]));
    fflush(stdout);
}

/* Rank 1 only waits until rank 0 has its event; it comes to the fence too late. */
static int do_late(char **argv)
{
    pmix_pdata_t sought;
    pmix_info_t info;
    bool yes = true;
    int all = 0;

    (void)argv;
    begin();
    if (me.rank == 0) {
        wait_for_nobody();
        PMIX_INFO_LOAD(&info, "late.told", &yes, PMIX_BOOL);
        must(PMIx_Publish(&info, 1), "publish");
    } else {
        PMIX_PDATA_CONSTRUCT(&sought);
        PMIX_LOAD_KEY(sought.key, "late.told");
        PMIX_INFO_LOAD(&info, PMIX_WAIT, &all, PMIX_INT);
        must(PMIx_Lookup(&sought, 1, &info, 1), "lookup");
        printf("fence, too late: %s\n", name_of(PMIx_Fence(NULL, 0, NULL, 0)));
    }
    return end();
}

/* --- doomed WAY: all ranks but the first wait for that one, which never comes; each says its
 * process once the server knows */

static int do_doomed(char **argv)
{
    char name[32];
    pmix_proc_t all;
    pmix_info_t info;

    begin();
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    if (me.rank > 0 && strcmp(argv[0], "fence") == 0)
        must(PMIx_Fence_nb(&all, 1, NULL, 0, on_came, (void *)0), argv[0]);
    else if (me.rank > 0 && strcmp(argv[0], "connect") == 0)
        must(PMIx_Connect_nb(&all, 1, NULL, 0, on_came, (void *)1), argv[0]);
    else if (me.rank > 0)
        must(PMIx_Disconnect_nb(&all, 1, NULL, 0, on_came, (void *)2), argv[0]);
    /* What is answered now has been read after it. */
    snprintf(name, sizeof(name), "doomed.%u", me.rank);
    PMIX_INFO_LOAD(&info, name, argv[0], PMIX_STRING);
    must(PMIx_Publish(&info, 1), "publish");
    printf("%d\n", (int)getpid());
    fflush(stdout);
    pause();
    return 1;
}

/* --- leave RANK: that rank exits with 0 without finalizing, the others wait for it in a fence. ""
 * stands for each rank */

static int do_leave(char **argv)
{
    begin();
    if (!argv[0][0] || me.rank == (pmix_rank_t)number(argv[0]))
        _exit(0);
    PMIx_Fence(NULL, 0, NULL, 0);
    return end();
}

/* --- again: several sessions in one process, with nested ones */

static int do_again(char **argv)
{
    (void)argv;
    for (int i = 0; i < 3; i++) {
        begin();
        begin();
        end();
        end();
    }
    return 0;
}

/* --- survive: rank 1 leaves a process that keeps its connection open, and dies; the others meet */

static int do_survive(char **argv)
{
    (void)argv;
    begin();
    must(PMIx_Fence(NULL, 0, NULL, 0), "fence of all");
    if (me.rank != 1) {
        printf("fence: %s\n", name_of(PMIx_Fence(NULL, 0, NULL, 0)));
        return end();
    }
    if (fork() > 0)
        raise(SIGKILL);
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    pause();
    return 1;
}

/* --- alloc VERB [KEY=VALUE]… [wait|enter|next VERB …]…: rank 0 requests another size, waits for
 * the event of the end, or for a line, and requests again. All ranks count the events of ends that
 * they get. */

#ifndef PMIX_DVM_IS_READY
#define PMIX_DVM_IS_READY (-195)
#define PMIX_ERR_DVM_MOD (-196)
#endif

static struct {
    int seen, waited;
    char text[512];
} ends;

static const char *text_of(const pmix_info_t *info, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++) {
        if (PMIX_CHECK_KEY(&info[i], key) && info[i].value.type == PMIX_STRING)
            return info[i].value.data.string;
    }
    return "-";
}

static void on_end(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
                   size_t n, pmix_info_t results[], size_t nresults,
                   pmix_event_notification_cbfunc_fn_t cb, void *cbdata)
{
    const char *cause = "-";

    (void)id, (void)source, (void)results, (void)nresults;
    for (size_t i = 0; i < n; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_JOB_TERM_STATUS))
            cause = name_of(info[i].value.data.status);
    }
    pthread_mutex_lock(&lock);
    ends.seen++;
    snprintf(ends.text, sizeof(ends.text), "%s id=%s reqid=%s cause=%s text=%s",
             status == PMIX_DVM_IS_READY ? "READY" : "FAILED", text_of(info, n, PMIX_ALLOC_ID),
             text_of(info, n, PMIX_ALLOC_REQ_ID), cause, text_of(info, n, PMIX_EVENT_TEXT_MESSAGE));
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (cb)
        cb(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void on_any(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
                   size_t n, pmix_info_t results[], size_t nresults,
                   pmix_event_notification_cbfunc_fn_t cb, void *cbdata)
{
    (void)id, (void)source, (void)info, (void)n, (void)results, (void)nresults;
    printf("the default handler was told %d\n", status);
    if (cb)
        cb(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void listen_to_ends(void)
{
    pmix_status_t codes[] = {PMIX_DVM_IS_READY, PMIX_ERR_DVM_MOD};

    if (PMIx_Register_event_handler(codes, 2, NULL, 0, on_end, NULL, NULL) < 0 ||
        PMIx_Register_event_handler(NULL, 0, NULL, 0, on_any, NULL, NULL) < 0)
        must(PMIX_ERR_EVENT_REGISTRATION, "registering for the ends");
}

static bool load_attribute(pmix_info_t *info, const char *key, const char *value)
{
    uint64_t count = strtoull(value, NULL, 10);
    int seconds = number(value);

    if (strcmp(key, "nodes") == 0) {
        PMIX_INFO_LOAD(info, PMIX_ALLOC_NUM_NODES, &count, PMIX_UINT64);
    } else if (strcmp(key, "list") == 0) {
        PMIX_INFO_LOAD(info, PMIX_ALLOC_NODE_LIST, value, PMIX_STRING);
    } else if (strcmp(key, "reqid") == 0) {
        PMIX_INFO_LOAD(info, PMIX_ALLOC_REQ_ID, value, PMIX_STRING);
    } else if (strcmp(key, "id") == 0) {
        PMIX_INFO_LOAD(info, PMIX_ALLOC_ID, value, PMIX_STRING);
    } else if (strcmp(key, "timeout") == 0) {
        PMIX_INFO_LOAD(info, PMIX_TIMEOUT, &seconds, PMIX_INT);
    } else if (strcmp(key, "time") == 0) {
        PMIX_INFO_LOAD(info, PMIX_ALLOC_TIME, value, PMIX_STRING);
    } else if (strcmp(key, "keep") == 0) {
        PMIX_INFO_LOAD(info, "dvm.alloc.keep", NULL, PMIX_BOOL);
    } else if (strcmp(key, "kill") == 0) {
        PMIX_INFO_LOAD(info, PMIX_JOB_CTRL_KILL, NULL, PMIX_BOOL);
    } else if (strcmp(key, "cpus") == 0) {
        PMIX_INFO_LOAD(info, PMIX_ALLOC_NUM_CPUS, &count, PMIX_UINT64);
    } else if (strcmp(key, "cpus!") == 0) {
        PMIX_INFO_LOAD(info, PMIX_ALLOC_NUM_CPUS, &count, PMIX_UINT64);
        PMIX_INFO_REQUIRED(info);
    } else {
        return false;
    }
    return true;
}

static pmix_alloc_directive_t directive_of(const char *verb)
{
    static const char *const verbs[] = {"none", "new", "extend", "release", "reacquire", "cancel"};

    for (pmix_alloc_directive_t d = 1; d < 6; d++) {
        if (strcmp(verbs[d], verb) == 0)
            return d;
    }
    return PMIX_ALLOC_EXTERNAL;
}

static void ask(char **argv)
{
    pmix_info_t info[16], *results = NULL;
    size_t n = 0, nresults = 0;
    pmix_status_t rc;

    for (char **a = argv + 1; *a && n < 16 && strchr(*a, '='); a++) {
        char *value = strchr(*a, '=') + 1;
        char key[16];

        snprintf(key, sizeof(key), "%.*s", (int)(value - 1 - *a), *a);
        n += load_attribute(&info[n], key, value);
    }
    rc = PMIx_Allocation_request(directive_of(argv[0]), info, n, &results, &nresults);
    printf("alloc: %s id=%s reqid=%s status=%s\n", rc == -196 ? "DVM-MOD" : word_of(rc),
           text_of(results, nresults, PMIX_ALLOC_ID), text_of(results, nresults, PMIX_ALLOC_REQ_ID),
           text_of(results, nresults, PMIX_QUERY_ALLOC_STATUS));
    fflush(stdout);
}

static void await_end(void)
{
    pthread_mutex_lock(&lock);
    while (ends.seen == ends.waited)
        pthread_cond_wait(&changed, &lock);
    printf("event: %s\n", ends.text);
    ends.waited = ends.seen;
    pthread_mutex_unlock(&lock);
    fflush(stdout);
}

static void ask_and_wait(char **argv)
{
    char line[8];

    for (; *argv; argv++) {
        if (strcmp(*argv, "wait") == 0)
            await_end();
        else if (strcmp(*argv, "enter") == 0 && !fgets(line, sizeof(line), stdin))
            return;
        else if (strcmp(*argv, "next") == 0)
            ask(argv + 1);
    }
}

static int do_alloc(char **argv)
{
    begin();
    listen_to_ends();
    must(PMIx_Fence(NULL, 0, NULL, 0), "fence");
    if (me.rank == 0) {
        ask(argv);
        ask_and_wait(argv);
    }
    must(PMIx_Fence(NULL, 0, NULL, 0), "fence");
    printf("rank %u was told %d ends\n", me.rank, ends.seen);
    return end();
}

/* --- tool-alloc URI …: no rank */

/* `name`: the tool's own namespace, or NULL: the daemon gives it one. */
static void attach(char *uri, const char *name)
{
    pmix_info_t info[3];
    pmix_rank_t rank = 0;

    PMIX_INFO_LOAD(&info[0], PMIX_SERVER_URI, uri, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_TOOL_NSPACE, name, PMIX_STRING);
    PMIX_INFO_LOAD(&info[2], PMIX_TOOL_RANK, &rank, PMIX_PROC_RANK);
    must(PMIx_tool_init(&me, info, name ? 3 : 1), "PMIx_tool_init");
    printf("tool: %s\n", me.nspace);
}

static int do_tool_alloc(char **argv)
{
    attach(argv[0], NULL);
    listen_to_ends();
    ask(argv + 1);
    ask_and_wait(argv + 1);
    must(PMIx_tool_finalize(), "PMIx_tool_finalize");
    printf("told %d ends\n", ends.seen);
    return 0;
}

/* --- tool-control URI ACTION NAMESPACE RANK: as control, of no rank */

static int do_tool_control(char **argv)
{
    attach(argv[0], NULL);
    control(argv + 1);
    must(PMIx_tool_finalize(), "PMIx_tool_finalize");
    return 0;
}

/* --- tool URI NAMESPACE [NAME]: no rank; attaches to that daemon and asks it */

static int do_tool(char **argv)
{
    attach(argv[0], argv[2]);
    query(PMIX_QUERY_NAMESPACES, argv[1], false);
    query(PMIX_QUERY_PROC_TABLE, argv[1], false);
    must(PMIx_tool_finalize(), "PMIx_tool_finalize");
    return 0;
}

/* --- hello: calls PMIx_Init, says so, ends */

static int do_hello(char **argv)
{
    (void)argv;
    begin();
    printf("hello\n");
    return end();
}

/* --- notify CODE session|global|NAMESPACE: an event of our own, for all or for that one */
static int do_notify(char **argv)
{
    bool list = strchr(argv[1], '.') != NULL;
    pmix_info_t info;
    pmix_proc_t to;

    begin();
    PMIX_LOAD_PROCID(&to, argv[1], 0);
    PMIX_INFO_LOAD(&info, PMIX_EVENT_CUSTOM_RANGE, &to, PMIX_PROC);
    must(PMIx_Notify_event(number(argv[0]), &me,
                           list                              ? PMIX_RANGE_CUSTOM
                           : strcmp(argv[1], "session") == 0 ? PMIX_RANGE_SESSION
                                                             : PMIX_RANGE_GLOBAL,
                           &info, list, NULL, NULL),
         "notify");
    return end();
}

static const struct {
    const char *name;
    int (*run)(char **argv);
} verbs[] = {
    {"spawn", do_spawn},
    {"spawn-port", do_spawn_port},
    {"accept", do_accept},
    {"spawn-files", do_spawn_files},
    {"spawn-host", do_spawn_host},
    {"spawn-wait", do_spawn_wait},
    {"notify", do_notify},
    {"spawn-fail", do_spawn_fail},
    {"query", do_query},
    {"control", do_control},
    {"spawn-control", do_spawn_control},
    {"log", do_log},
    {"late", do_late},
    {"doomed", do_doomed},
    {"leave", do_leave},
    {"again", do_again},
    {"survive", do_survive},
    {"tool", do_tool},
    {"hello", do_hello},
    {"alloc", do_alloc},
    {"tool-alloc", do_tool_alloc},
    {"tool-control", do_tool_control},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(argv[1], verbs[i].name) == 0)
            return verbs[i].run(argv + 2);
    }
    fprintf(stderr, "pmix_probe: what?\n");
    return 2;
}
