/* SPDX-License-Identifier: BSD-3-Clause */
/* Clients of test_client.c: modex, data, events, control, connect and groups. */
#include "base/buf/buf.h"
#include "dvm/host/pmix/test/clients/common.h"
#include "dvm/host/pmix/test/clients/main.h"

#include <pmix.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- shared by all clients */

static pmix_proc_t me;
static uint32_t job_size;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for values that PMIx's thread writes */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void start(void)
{
    client_start(&me, &job_size);
}

static int stop(void)
{
    return client_stop();
}

static void fence(bool collect)
{
    pmix_info_t info;

    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    must(PMIx_Fence(NULL, 0, &info, 1), "PMIx_Fence");
}

static void put_number(const char *key, uint32_t n)
{
    pmix_value_t v;

    PMIX_VALUE_LOAD(&v, &n, PMIX_UINT32);
    must(PMIx_Put(PMIX_GLOBAL, key, &v), "PMIx_Put");
    must(PMIx_Commit(), "PMIx_Commit");
}

/* --- modex */

static int client_fence_data(int argc, char **argv)
{
    start();
    put_number("test.number", 1000 + me.rank);
    fence(true);
    for (uint32_t r = 0; r < job_size; r++)
        must_equal(get_number(r, "test.number"), 1000 + r, "number of a rank");
    return stop();
}

/* Fences of one signature in sequence must stay separate. */
static int client_many_fences(int argc, char **argv)
{
    start();
    for (uint32_t i = 0; i < 50; i++) {
        FREE_AUTO char *key = xasprintf("test.%u", i);

        put_number(key, i * 100 + me.rank);
        fence(true);
        must_equal(get_number((me.rank + 1) % job_size, key), i * 100 + (me.rank + 1) % job_size,
                   key);
    }
    return stop();
}

static int client_big_fence(int argc, char **argv)
{
    size_t len = 3u << 20;
    FREE_AUTO char *bytes = xmalloc(len);
    pmix_byte_object_t bo = {.bytes = bytes, .size = len};
    uint32_t other;
    pmix_value_t v, *got = NULL;
    pmix_proc_t proc;

    start();
    other = (me.rank + 1) % job_size;
    memset(bytes, 'a' + (int)me.rank, len);
    PMIX_VALUE_LOAD(&v, &bo, PMIX_BYTE_OBJECT);
    must(PMIx_Put(PMIX_GLOBAL, "test.big", &v), "PMIx_Put");
    PMIX_VALUE_DESTRUCT(&v);
    must(PMIx_Commit(), "PMIx_Commit");
    fence(true);
    PMIX_LOAD_PROCID(&proc, me.nspace, other);
    must(PMIx_Get(&proc, "test.big", NULL, 0, &got), "PMIx_Get");
    must_equal(got->data.bo.size, len, "size");
    must_equal((uint64_t)got->data.bo.bytes[len - 1], 'a' + other, "last byte");
    PMIX_VALUE_RELEASE(got);
    return stop();
}

static int client_direct_modex(int argc, char **argv)
{
    start();
    put_number("test.number", 2000 + me.rank);
    fence(false);
    for (uint32_t r = 0; r < job_size; r++)
        must_equal(get_number(r, "test.number"), 2000 + r, "number of a rank");
    fence(false);
    return stop();
}

/* A value that was put again after a first get: a get with PMIX_GET_REFRESH_CACHE returns the new
 * one. */
static int client_refresh(int argc, char **argv)
{
    pmix_value_t *v = NULL;
    pmix_proc_t other;
    pmix_info_t anew;

    start();
    PMIX_LOAD_PROCID(&other, me.nspace, (me.rank + 1) % job_size);
    PMIX_INFO_LOAD(&anew, PMIX_GET_REFRESH_CACHE, NULL, PMIX_BOOL);
    put_number("test.number", 1000 + me.rank);
    fence(false);
    must_equal(get_number(other.rank, "test.number"), 1000 + other.rank, "number");
    fence(false);
    put_number("test.number", 2000 + me.rank);
    fence(false);
    must(PMIx_Get(&other, "test.number", &anew, 1, &v), "asking anew");
    must_equal(number_of(v), 2000 + other.rank, "number, asked for anew");
    PMIX_VALUE_RELEASE(v);
    fence(false);
    return stop();
}

static int client_no_answer(int argc, char **argv)
{
    pmix_proc_t other;
    pmix_value_t *v = NULL;

    start();
    if (me.rank == 0) {
        PMIX_LOAD_PROCID(&other, me.nspace, 1);
        if (PMIx_Get(&other, "test.never", NULL, 0, &v) == PMIX_SUCCESS)
            must(PMIX_ERROR, "a value that nobody has put");
    }
    return stop();
}

/* --- data service */

static pmix_status_t publish(const char *key, uint32_t n, pmix_data_range_t range,
                             pmix_persistence_t persist)
{
    uint32_t gid = getgid();
    pmix_info_t info[6], nobody;
    bool fresh = true;
    pmix_data_array_t allowed = {.type = PMIX_INFO, .size = 1, .array = &nobody};
    pmix_status_t rc;

    PMIX_INFO_LOAD(&nobody, PMIX_ACCESS_USERIDS, NULL, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[3], PMIX_GRPID, &gid, PMIX_UINT32);
    PMIX_INFO_LOAD(&info[4], PMIX_ACCESS_PERMISSIONS, &allowed, PMIX_DATA_ARRAY);
    PMIX_INFO_LOAD(&info[0], key, &n, PMIX_UINT32);
    PMIX_INFO_LOAD(&info[1], PMIX_RANGE, &range, PMIX_DATA_RANGE);
    PMIX_INFO_LOAD(&info[2], PMIX_PERSISTENCE, &persist, PMIX_PERSIST);
    PMIX_INFO_LOAD(&info[5], PMIX_GET_REFRESH_CACHE, &fresh, PMIX_BOOL); /* not of a publish */
    rc = PMIx_Publish(info, 6);
    PMIX_INFO_DESTRUCT(&info[4]);
    return rc == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : rc;
}

/* With a wait if timeout_s is not 0. */
static pmix_status_t lookup(const char *key, int timeout_s, uint32_t *n)
{
    pmix_pdata_t *d;
    pmix_info_t info[2];
    pmix_status_t rc;
    int all = 0;

    PMIX_PDATA_CREATE(d, 1);
    PMIX_LOAD_KEY(d->key, key);
    PMIX_INFO_LOAD(&info[0], PMIX_WAIT, &all, PMIX_INT);
    PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &timeout_s, PMIX_INT);
    rc = PMIx_Lookup(d, 1, timeout_s ? info : NULL, timeout_s ? 2 : 0);
    if (rc == PMIX_SUCCESS)
        *n = d->value.data.uint32;
    PMIX_PDATA_FREE(d, 1);
    return rc;
}

static int client_publish(int argc, char **argv)
{
    char *keys[] = {"test.port", NULL};
    uint32_t n = 0;

    start();
    if (me.rank == 1)
        must(publish("test.port", 4711, PMIX_RANGE_SESSION, PMIX_PERSIST_APP), "publish");
    must_be(publish("test.rm", 1, PMIX_RANGE_RM, PMIX_PERSIST_APP), PMIX_ERR_BAD_PARAM,
            "publishing for nobody here");
    must_be(publish("pmix.mine", 1, PMIX_RANGE_SESSION, PMIX_PERSIST_APP), PMIX_ERR_BAD_PARAM,
            "publishing under a reserved name");
    fence(false);
    must_be(lookup(PMIX_GRPID, 0, &n), PMIX_ERR_NOT_FOUND, "what says how, not what");
    must_be(lookup(PMIX_ACCESS_PERMISSIONS, 0, &n), PMIX_ERR_NOT_FOUND, "what says how, not what");
    must_be(lookup(PMIX_GET_REFRESH_CACHE, 0, &n), PMIX_ERR_NOT_FOUND, "what is no data");
    must(lookup("test.port", 0, &n), "lookup");
    must_equal(n, 4711, "published number");
    must_be(publish("test.port", 1, PMIX_RANGE_SESSION, PMIX_PERSIST_APP), PMIX_ERR_DUPLICATE_KEY,
            "publishing it again");
    fence(false);
    if (me.rank == 1)
        must(PMIx_Unpublish(keys, NULL, 0), "unpublish");
    fence(false);
    must_be(lookup("test.port", 0, &n), PMIX_ERR_NOT_FOUND, "lookup after unpublish");
    return stop();
}

static int client_waiting_lookup(int argc, char **argv)
{
    uint32_t n = 0;

    start();
    if (me.rank == 1)
        must(lookup("test.later", 30, &n), "waiting lookup");
    else
        must(publish("test.later", 5, PMIX_RANGE_SESSION, PMIX_PERSIST_FIRST_READ), "publish");
    must_equal(n, me.rank == 1 ? 5 : 0, "awaited number");
    fence(false);
    must_be(lookup("test.later", 0, &n), PMIX_ERR_NOT_FOUND, "what was to be read once");
    must_be(lookup("test.never", 1, &n), PMIX_ERR_TIMEOUT, "waiting for nothing");
    return stop();
}

static uint64_t late_number;

static void on_late_number(pmix_status_t status, pmix_value_t *v, void *cbdata)
{
    pthread_mutex_lock(&lock);
    late_number = status == PMIX_SUCCESS ? number_of(v) : UINT64_MAX;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* Rank 1 puts its value only after it knows that the host has rank 0's question: the publication
 * takes the same way after it. */
static int client_early_question(int argc, char **argv)
{
    uint32_t n;
    pmix_proc_t other;

    start();
    if (me.rank == 0) {
        PMIX_LOAD_PROCID(&other, me.nspace, 1);
        must(PMIx_Get_nb(&other, "test.late", NULL, 0, on_late_number, NULL), "PMIx_Get_nb");
        must(publish("test.asked", 1, PMIX_RANGE_SESSION, PMIX_PERSIST_APP), "publish");
        pthread_mutex_lock(&lock);
        while (!late_number)
            pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
        must_equal(late_number, 7, "late number");
    } else {
        must(lookup("test.asked", 30, &n), "waiting for the question");
        put_number("test.late", 7);
    }
    fence(false);
    return stop();
}

/* Rank 0 ends before its question is answered, and rank 1 after it: the values of rank 0 with
 * PMIX_PERSIST_PROC are removed then. */
static int client_left_question(int argc, char **argv)
{
    uint32_t n;
    pmix_proc_t other;

    start();
    if (me.rank == 0) {
        PMIX_LOAD_PROCID(&other, me.nspace, 1);
        must(PMIx_Get_nb(&other, "test.late", NULL, 0, on_late_number, NULL), "PMIx_Get_nb");
        must(publish("test.asked", 1, PMIX_RANGE_SESSION, PMIX_PERSIST_PROC), "publish");
        must(lookup("test.heard", 30, &n), "waiting for the other rank");
        _exit(0);
    }
    must(lookup("test.asked", 30, &n), "waiting for the question");
    must(publish("test.heard", 1, PMIX_RANGE_SESSION, PMIX_PERSIST_APP), "publish");
    while (lookup("test.asked", 0, &n) == PMIX_SUCCESS)
        continue;
    return stop();
}

/* --- events */

static int events_seen;
static pmix_proc_t event_source, event_affected;
static int event_code;

static void on_event(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
                     size_t ninfo, pmix_info_t results[], size_t nresults,
                     pmix_event_notification_cbfunc_fn_t cb, void *cbdata)
{
    pthread_mutex_lock(&lock);
    events_seen++;
    event_source = *source;
    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC))
            event_affected = *info[i].value.data.proc;
        if (PMIX_CHECK_KEY(&info[i], PMIX_EXIT_CODE))
            event_code = info[i].value.data.integer;
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (cb)
        cb(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void listen_to(pmix_status_t code)
{
    pmix_status_t rc = PMIx_Register_event_handler(&code, 1, NULL, 0, on_event, NULL, NULL);

    if (rc < 0)
        must(rc, "registering for an event");
}

static void await_event(void)
{
    pthread_mutex_lock(&lock);
    while (events_seen == 0)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

#define TEST_EVENT (PMIX_EXTERNAL_ERR_BASE - 7)

static int client_event(int argc, char **argv)
{
    bool yes = true;
    pmix_info_t info;

    start();
    if (me.rank != 0)
        listen_to(TEST_EVENT);
    fence(false);
    if (me.rank == 0) {
        PMIX_INFO_LOAD(&info, PMIX_EVENT_NON_DEFAULT, &yes, PMIX_BOOL);
        must(PMIx_Notify_event(TEST_EVENT, &me, PMIX_RANGE_NAMESPACE, &info, 1, NULL, NULL),
             "notify");
    } else {
        await_event();
        must_equal(event_source.rank, 0, "source of the event");
    }
    fence(false);
    must_equal((uint64_t)events_seen, me.rank != 0, "times that the event was seen");
    return stop();
}

/* --- abort, control, spawn, connect, groups */

static int client_abort(int argc, char **argv)
{
    start();
    fence(false);
    if (me.rank == 1)
        PMIx_Abort(42, "on purpose", NULL, 0);
    pause();
    return 1;
}

static int client_control(int argc, char **argv)
{
    int signum = SIGUSR1;
    pmix_info_t info;

    start();
    PMIX_INFO_LOAD(&info, PMIX_JOB_CTRL_SIGNAL, &signum, PMIX_INT);
    must(PMIx_Job_control(NULL, 0, &info, 1, NULL, NULL), "signal");
    PMIX_INFO_LOAD(&info, PMIX_JOB_CTRL_PREEMPTIBLE, NULL, PMIX_BOOL);
    must_be(PMIx_Job_control(NULL, 0, &info, 1, NULL, NULL), PMIX_ERR_NOT_SUPPORTED,
            "a directive that we do not know");
    return stop();
}

/* The fixture reports at once that the spawned job has ended, with exit code 3. */
static int client_job_end(int argc, char **argv)
{
    char *child_argv[] = {"prog", NULL};
    pmix_app_t app;
    pmix_nspace_t child;

    start();
    listen_to(PMIX_EVENT_JOB_END);
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = "/bin/prog";
    app.argv = child_argv;
    app.maxprocs = 1;
    must(PMIx_Spawn(NULL, 0, &app, 1, child), "spawn");
    await_event();
    if (strcmp(event_affected.nspace, "7.2") != 0)
        must(PMIX_ERROR, "the job that has ended is another");
    must_equal((uint64_t)event_code, 3, "exit code");
    return stop();
}

static int client_connect(int argc, char **argv)
{
    pmix_proc_t all;

    start();
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    must(PMIx_Connect(&all, 1, NULL, 0), "connect");
    must(PMIx_Disconnect(&all, 1, NULL, 0), "disconnect");
    return stop();
}

static int client_group(int argc, char **argv)
{
    pmix_info_t ask, *results = NULL;
    size_t nresults = 0, id = 0;
    pmix_proc_t all;

    start();
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&ask, PMIX_GROUP_ASSIGN_CONTEXT_ID, NULL, PMIX_BOOL);
    must(PMIx_Group_construct("ours", &all, 1, &ask, 1, &results, &nresults), "construct");
    for (size_t i = 0; i < nresults; i++) {
        if (PMIX_CHECK_KEY(&results[i], PMIX_GROUP_CONTEXT_ID))
            id = results[i].value.data.size;
    }
    PMIX_INFO_FREE(results, nresults);
    printf("context id %zu\n", id);
    must(PMIx_Group_destruct("ours", NULL, 0), "destruct");
    return stop();
}

static int client_no_finalize(int argc, char **argv)
{
    start();
    fence(false);
    raise(SIGKILL);
    return 1;
}

static int client_exit_0(int argc, char **argv)
{
    start();
    _exit(0);
}

/* A child connects and finalizes; the rank itself is no client, as a shell is none. */
static int client_wrapper(int argc, char **argv)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        start();
        _exit(stop());
    }
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}

/* Keeps the connection of the rank open until the server has closed its end. */
static void hold_connection(void)
{
    struct sockaddr_storage server;
    socklen_t len = sizeof(server);
    int fd = STDERR_FILENO + 1;

    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    while (fd < 256 && getpeername(fd, (struct sockaddr *)&server, &len) != 0)
        fd++;
    while (poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 60000) == 1 &&
           read(fd, &(char){0}, 1) == 1)
        ;
    _exit(0);
}

static int client_leaves_a_process(int argc, char **argv)
{
    start();
    if (fork() == 0)
        hold_connection();
    _exit(0);
}

/* The server is stopped while the rank finalizes and ends. So its loop may hear of the end before
 * the library's thread has read the last message. */
static int client_hasty(int argc, char **argv)
{
    pid_t server = getppid();
    int ends[2];

    start();
    if (pipe(ends) != 0)
        return 1;
    if (fork() == 0) { /* continues the server when the rank has ended */
        close(ends[1]);
        _exit(read(ends[0], &(char){0}, 1) == 0 ? kill(server, SIGCONT) : 1);
    }
    kill(server, SIGSTOP);
    return stop();
}

/* If set, the process ends as soon as it has written to a socket. */
static bool ends_after_hello;

ssize_t send(int fd, const void *buf, size_t n, int flags)
{
    ssize_t sent = syscall(SYS_sendto, fd, buf, n, flags, NULL, 0);

    if (ends_after_hello)
        _exit(0);
    return sent;
}

/* Children connect as this rank and have ended when the server answers; then the rank itself
 * connects. */
static int client_gone_early(int argc, char **argv)
{
    for (int i = 0; i < 5; i++) {
        pid_t child = fork();
        int status;

        if (child == 0) {
            ends_after_hello = true;
            PMIx_Init(&me, NULL, 0);
            _exit(1);
        }
        if (waitpid(child, &status, 0) != child || status != 0)
            return 1;
    }
    start(); /* no fence: children whose end the server has not seen would count as processes of the
                rank */
    return stop();
}

#define NEWCOMERS 4

/* A process of this rank: connects when the descriptor says so, and then answers. */
static pid_t fork_newcomer(int go, int came)
{
    pid_t child = fork();
    char c;

    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* also if the server does not answer it */
    if (read(go, &c, 1) != 1 || PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS || write(came, &c, 1) != 1)
        _exit(1);
    pause();
    return 0;
}

/* Ends, and leaves a process that holds its connection until the other rank has ended. */
static void end_with_held_connection(pid_t other)
{
    struct pollfd p = {.fd = (int)syscall(SYS_pidfd_open, other, 0), .events = POLLIN};

    if (fork() == 0)
        poll(&p, 1, -1);
    _exit(0);
}

/* Returns when the server has deregistered the rank, whose number as a process this is. */
static void await_deregistered(pid_t other)
{
    pmix_info_t info;

    while (kill(other, 0) == 0)
        poll(NULL, 0, 1);
    /* The server deregisters it before it answers a later request. */
    PMIX_INFO_LOAD(&info, "test.later", "", PMIX_STRING);
    must(PMIx_Publish(&info, 1), "publish");
}

/* Rank 0 has a handler of events, and ends with its connection held open. Then new processes
 * connect, one of which the server gives the number of the closed connection. */
static int client_held_connection(int argc, char **argv)
{
    pid_t other, newcomers[NEWCOMERS];
    int go[2], came[2];
    char c = 0;

    alarm(60);
    if (pipe(go) != 0 || pipe(came) != 0)
        return 1;
    for (int i = 0; i < NEWCOMERS; i++)
        newcomers[i] = fork_newcomer(go[0], came[1]);
    start();
    listen_to(TEST_EVENT);
    put_number("test.pid", (uint32_t)getpid());
    fence(true);
    other = (pid_t)get_number(!me.rank, "test.pid");
    if (me.rank == 1)
        await_deregistered(other);
    for (int i = 0; i < NEWCOMERS; i++) {
        if (me.rank == 1 && (write(go[1], &c, 1) != 1 || read(came[0], &c, 1) != 1))
            return 1;
    }
    for (int i = 0; i < NEWCOMERS; i++)
        kill(newcomers[i], SIGKILL);
    if (me.rank == 0)
        end_with_held_connection(other);
    return stop();
}

static const struct client clients[] = {
    {"fence-data", client_fence_data},
    {"many-fences", client_many_fences},
    {"big-fence", client_big_fence},
    {"direct-modex", client_direct_modex},
    {"refresh", client_refresh},
    {"early-question", client_early_question},
    {"left-question", client_left_question},
    {"no-answer", client_no_answer},
    {"publish", client_publish},
    {"waiting-lookup", client_waiting_lookup},
    {"event", client_event},
    {"abort", client_abort},
    {"control", client_control},
    {"job-end", client_job_end},
    {"connect", client_connect},
    {"group", client_group},
    {"no-finalize", client_no_finalize},
    {"exit-0", client_exit_0},
    {"wrapper", client_wrapper},
    {"leaves-a-process", client_leaves_a_process},
    {"hasty", client_hasty},
    {"gone-early", client_gone_early},
    {"held-connection", client_held_connection},
};

int main(int argc, char **argv)
{
    return client_main(argc, argv, clients, sizeof(clients) / sizeof(clients[0]));
}
