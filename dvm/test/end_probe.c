/* SPDX-License-Identifier: BSD-3-Clause */
/* A PMIx client for tests of ranks that end. end_probe WHAT HOW WHEN RANKS DIR: the last rank ends
 * HOW, all others do WHAT twice with all ranks of the job, and print the outcomes. WHEN "before":
 * it ends before they begin. "during": when the servers have the calls of all others; HOW "late":
 * when the file DIR/go.0 is there too. They find each other by files in DIR: a rank that ends
 * before PMIx_Init has nothing else. */
#include "dvm/test/probe.h"

#include <poll.h>
#include <signal.h>

#define RANKS_MAX 16

static pmix_proc_t all[RANKS_MAX];
static size_t size;
static const char *dir;

static struct {
    int n; /* calls that were answered */
    pmix_status_t status;
} answered;

static void answer(pmix_status_t status)
{
    pthread_mutex_lock(&lock);
    answered.status = status;
    answered.n = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void on_op(pmix_status_t status, void *cbdata)
{
    (void)cbdata;
    answer(status);
}

static void on_value(pmix_status_t status, pmix_value_t *value, void *cbdata)
{
    (void)value, (void)cbdata;
    answer(status);
}

static void on_group(pmix_status_t status, pmix_info_t *info, size_t ninfo, void *cbdata,
                     pmix_release_cbfunc_t release, void *release_cbdata)
{
    (void)info, (void)ninfo, (void)cbdata;
    answer(status);
    if (release)
        release(release_cbdata);
}

static pmix_status_t do_fence(void)
{
    return PMIx_Fence_nb(all, size, NULL, 0, on_op, NULL);
}

static pmix_status_t do_data(void)
{
    static pmix_info_t info;
    bool yes = true;

    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    return PMIx_Fence_nb(NULL, 0, &info, 1, on_op, NULL);
}

static pmix_status_t do_connect(void)
{
    return PMIx_Connect_nb(all, size, NULL, 0, on_op, NULL);
}

static pmix_status_t do_disconnect(void)
{
    return PMIx_Disconnect_nb(all, size, NULL, 0, on_op, NULL);
}

static pmix_status_t do_group(void)
{
    return PMIx_Group_construct_nb("ours", all, size, NULL, 0, on_group, NULL);
}

static pmix_status_t do_context(void)
{
    static pmix_info_t info;
    bool yes = true;

    PMIX_INFO_LOAD(&info, PMIX_GROUP_ASSIGN_CONTEXT_ID, &yes, PMIX_BOOL);
    return PMIx_Group_construct_nb("ours", all, size, &info, 1, on_group, NULL);
}

static pmix_status_t do_get(void)
{
    return PMIx_Get_nb(&all[size - 1], "never.put", NULL, 0, on_value, NULL);
}

static void on_found(pmix_status_t status, pmix_pdata_t data[], size_t ndata, void *cbdata)
{
    (void)data, (void)ndata, (void)cbdata;
    answer(status);
}

/* What a late rank publishes before it ends. */
static pmix_status_t do_lookup(void)
{
    static char *keys[] = {"last.word", NULL};
    static pmix_info_t info;
    int all = 0;

    PMIX_INFO_LOAD(&info, PMIX_WAIT, &all, PMIX_INT);
    return PMIx_Lookup_nb(keys, &info, 1, on_found, NULL);
}

static void publish_word(void)
{
    pmix_info_t info;
    bool yes = true;

    PMIX_INFO_LOAD(&info, "last.word", &yes, PMIX_BOOL);
    must(PMIx_Publish(&info, 1), "publish");
}

static const struct {
    const char *name;
    pmix_status_t (*run)(void);
} verbs[] = {{"fence", do_fence},     {"data", do_data},
             {"connect", do_connect}, {"disconnect", do_disconnect},
             {"group", do_group},     {"context", do_context},
             {"get", do_get},         {"lookup", do_lookup}};

/* --- files that the ranks leave for each other */

static void name_file(char *path, size_t max, const char *what, unsigned rank)
{
    snprintf(path, max, "%s/%s.%u", dir, what, rank);
}

static void leave_file(const char *what, unsigned rank)
{
    char path[256], unfinished[256];
    FILE *f;

    name_file(path, sizeof(path), what, rank);
    name_file(unfinished, sizeof(unfinished), "unfinished", rank);
    f = fopen(unfinished, "w");
    if (!f || fprintf(f, "%d\n", (int)getpid()) < 0 || fclose(f) != 0 ||
        rename(unfinished, path) != 0)
        abort();
}

static void pause_shortly(void)
{
    (void)poll(NULL, 0, 5);
}

/* The process id that is in the file, as soon as there is one. */
static pid_t await_file(const char *what, unsigned rank)
{
    char path[256], line[16];
    pid_t pid;
    FILE *f;

    name_file(path, sizeof(path), what, rank);
    while (!(f = fopen(path, "r")))
        pause_shortly();
    if (!fgets(line, sizeof(line), f))
        abort();
    fclose(f);
    pid = (pid_t)strtol(line, NULL, 10);
    return pid;
}

/* Returns when the process has ended and its parent knows. */
static void await_end(pid_t pid)
{
    while (kill(pid, 0) == 0)
        pause_shortly();
}

/* --- the ranks */

static int end_as(const char *how, bool during)
{
    if (strcmp(how, "never") != 0)
        begin();
    for (unsigned r = 0; during && r < size - 1; r++)
        (void)await_file("called", r);
    leave_file("ends", 0);
    if (strcmp(how, "killed") == 0)
        raise(SIGKILL);
    if (strcmp(how, "late") == 0) {
        (void)await_file("go", 0);
        publish_word();
    }
    if (strcmp(how, "final") == 0 || strcmp(how, "late") == 0)
        end();
    _exit(0);
}

/* Returns when the server has it: it answers questions in order. */
static void call(size_t verb)
{
    answered.n = 0;
    must(verbs[verb].run(), verbs[verb].name);
    (void)look_up("nothing");
}

static int wait_for(size_t verb, bool during)
{
    begin();
    for (pmix_rank_t r = 0; r < size; r++)
        PMIX_LOAD_PROCID(&all[r], me.nspace, r);
    if (!during)
        await_end(await_file("ends", 0));
    call(verb);
    if (during)
        leave_file("called", me.rank);
    await(&answered.n);
    printf("%s: %s", verbs[verb].name, name_of(answered.status));
    call(verb);
    await(&answered.n);
    printf(", %s\n", name_of(answered.status));
    return end();
}

/* again first, again second: two programs of each rank, with a fence each. The last rank comes to
 * the second one when the servers have the calls of all others. */
static int come_again(bool second)
{
    bool last = strtoul(getenv("PMIX_RANK"), NULL, 10) == size - 1;
    char path[256];

    for (unsigned r = 0; second && last && r < size - 1; r++)
        (void)await_file("called", r);
    begin();
    if (second && last)
        leave_file("came", 0);
    answered.n = 0;
    must(do_data(), "fence");
    (void)look_up("nothing");
    if (second && !last)
        leave_file("called", me.rank);
    await(&answered.n);
    name_file(path, sizeof(path), "came", 0);
    if (second)
        printf("%s%s\n", name_of(answered.status), access(path, F_OK) == 0 ? "" : ", alone");
    return end();
}

/* often: a dozen fences, to each of which the last rank comes late. */
static int fence_often(void)
{
    begin();
    for (int i = 0; i < 12; i++) {
        if (me.rank == size - 1)
            (void)poll(NULL, 0, 150);
        must(PMIx_Fence(NULL, 0, NULL, 0), "fence");
    }
    return end();
}

int main(int argc, char **argv)
{
    unsigned rank = (unsigned)strtoul(getenv("PMIX_RANK"), NULL, 10);

    if (argc != 6)
        return 2;
    size = strtoul(argv[4], NULL, 10);
    dir = argv[5];
    if (strcmp(argv[1], "often") == 0)
        return fence_often();
    if (strcmp(argv[1], "again") == 0)
        return come_again(strcmp(argv[2], "second") == 0);
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(argv[1], verbs[i].name) != 0)
            continue;
        return rank == size - 1 ? end_as(argv[2], strcmp(argv[3], "during") == 0)
                                : wait_for(i, strcmp(argv[3], "during") == 0);
    }
    return 2;
}
