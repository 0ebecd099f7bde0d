/* SPDX-License-Identifier: BSD-3-Clause */
/* A PMIx client for tests of a group's end: does what its first argument says, and prints what came
 * of it. A group has all ranks of the job, each by name. */
#include "dvm/test/probe.h"

#include <signal.h>
#include <stdlib.h>

#define RANKS_MAX 16

static pmix_proc_t members[RANKS_MAX];
static size_t nmembers;

static struct {
    int ended;
    pmix_status_t status;
} group;

static void start(void)
{
    pmix_value_t *size;
    pmix_proc_t job;

    begin();
    PMIX_LOAD_PROCID(&job, me.nspace, PMIX_RANK_WILDCARD);
    must(PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &size), "the size of the job");
    nmembers = size->data.uint32;
    PMIX_VALUE_RELEASE(size);
    for (pmix_rank_t r = 0; r < nmembers && r < RANKS_MAX; r++)
        PMIX_LOAD_PROCID(&members[r], me.nspace, r);
}

static bool is_last(void)
{
    return me.rank == nmembers - 1;
}

static void on_group(pmix_status_t status, pmix_info_t *info, size_t ninfo, void *cbdata,
                     pmix_release_cbfunc_t release, void *release_cbdata)
{
    (void)info, (void)ninfo, (void)cbdata;
    pthread_mutex_lock(&lock);
    group.status = status;
    group.ended = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (release)
        release(release_cbdata);
}

static void publish_for(const char *key, pmix_persistence_t persistence)
{
    pmix_info_t info[2];

    PMIX_INFO_LOAD(&info[0], key, "text", PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_PERSISTENCE, &persistence, PMIX_PERSIST);
    must(PMIx_Publish(info, 2), key);
}

/* Returns when the server has taken it: it answers questions in order. */
static void construct_begin(const char *name, int seconds)
{
    pmix_info_t limit;

    PMIX_INFO_LOAD(&limit, PMIX_TIMEOUT, &seconds, PMIX_INT);
    must(PMIx_Group_construct_nb(name, members, nmembers, &limit, seconds > 0, on_group, NULL),
         "construct");
    (void)look_up("nothing");
}

static pmix_status_t construct(const char *name, bool context)
{
    pmix_info_t info, *results = NULL;
    size_t nresults = 0;
    pmix_status_t rc;

    PMIX_INFO_LOAD(&info, PMIX_GROUP_ASSIGN_CONTEXT_ID, &context, PMIX_BOOL);
    rc = PMIx_Group_construct(name, members, nmembers, &info, context, &results, &nresults);
    PMIX_INFO_FREE(results, nresults);
    return rc;
}

/* keep NAME: no rank destructs it. */
static int do_keep(char **argv)
{
    start();
    printf("construct: %s\n", name_of(construct(argv[0], false)));
    return end();
}

/* again NAME TIMES: with a context id, as an MPI library makes a communicator of a group. */
static int do_again(char **argv)
{
    start();
    for (long i = strtol(argv[1], NULL, 10); i > 0; i--) {
        printf("construct: %s\n", name_of(construct(argv[0], true)));
        printf("destruct: %s\n", name_of(PMIx_Group_destruct(argv[0], NULL, 0)));
    }
    return end();
}

/* die NAME: the last rank is killed inside construct. The others construct when its end is known:
 * then its value with PMIX_PERSIST_PROC is removed. */
static int do_die(char **argv)
{
    start();
    if (is_last()) {
        construct_begin(argv[0], 0);
        publish_for("lives", PMIX_PERSIST_PROC);
        publish_for("lived", PMIX_PERSIST_APP);
        raise(SIGKILL);
    }
    while (look_up("lived") != PMIX_SUCCESS)
        continue;
    while (look_up("lives") == PMIX_SUCCESS)
        continue;
    construct_begin(argv[0], 0);
    await(&group.ended);
    printf("construct: %s\n", group.status == PMIX_SUCCESS ? "SUCCESS" : "an error");
    return end();
}

/* alone NAME SECONDS: the last rank does not come in time; then all of them construct it. */
static int do_alone(char **argv)
{
    start();
    if (!is_last()) {
        construct_begin(argv[0], (int)strtol(argv[1], NULL, 10));
        await(&group.ended);
        printf("construct: %s\n", name_of(group.status));
    }
    must(PMIx_Fence(NULL, 0, NULL, 0), "fence");
    printf("again: %s\n", name_of(construct(argv[0], false)));
    return end();
}

static const struct {
    const char *name;
    int (*run)(char **argv);
} verbs[] = {{"keep", do_keep}, {"again", do_again}, {"die", do_die}, {"alone", do_alone}};

int main(int argc, char **argv)
{
    setlinebuf(stdout);
    for (size_t i = 0; argc > 1 && i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(argv[1], verbs[i].name) == 0)
            return verbs[i].run(argv + 2);
    }
    fprintf(stderr, "group_probe: what?\n");
    return 2;
}
