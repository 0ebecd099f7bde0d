/* SPDX-License-Identifier: BSD-3-Clause */
/* A PMIx client for tests of objects that ranks share, published values and groups: its first
 * argument chooses the action; it prints the result. */
#include "dvm/test/probe.h"

#include <stdlib.h>

/* --- publish-own: rank 1 publishes a value with PMIX_PERSIST_PROC and one for its job, and ends;
 * rank 0 looks until the first value is removed */

static void publish_for(const char *key, pmix_persistence_t persistence)
{
    pmix_info_t info[2];
    int value = 1;

    PMIX_INFO_LOAD(&info[0], key, &value, PMIX_INT);
    PMIX_INFO_LOAD(&info[1], PMIX_PERSISTENCE, &persistence, PMIX_PERSIST);
    must(PMIx_Publish(info, 2), key);
}

static int do_publish_own(char **argv)
{
    pmix_status_t rc;

    (void)argv;
    begin();
    if (me.rank == 1) {
        publish_for("own", PMIX_PERSIST_PROC);
        publish_for("job", PMIX_PERSIST_APP);
    }
    must(PMIx_Fence(NULL, 0, NULL, 0), "fence");
    if (me.rank == 0) {
        must(look_up("own"), "the value, while its rank is there");
        must(PMIx_Fence(NULL, 0, NULL, 0), "fence");
        do /* asks the head each time */
            rc = look_up("own");
        while (rc == PMIX_SUCCESS);
        printf("own: %s\n", name_of(rc));
        printf("job: %s\n", name_of(look_up("job")));
    } else {
        must(PMIx_Fence(NULL, 0, NULL, 0), "fence");
    }
    return end();
}

/* publish KEY, publish-read KEY, look-up KEY: for the job's life, or until it is read; by a single
 * rank. */
static int do_publish_read(char **argv)
{
    begin();
    publish_for(argv[0], PMIX_PERSIST_FIRST_READ);
    return end();
}

static int do_publish(char **argv)
{
    begin();
    publish_for(argv[0], PMIX_PERSIST_APP);
    return end();
}

/* meet OWN OTHER [FIFO]: publishes OWN, once somebody has written to the FIFO, then waits for the
 * value OTHER. */
static int do_meet(char **argv)
{
    pmix_pdata_t found;
    pmix_info_t wait;
    char line[2];
    int all = 0;

    begin();
    printf("up\n");
    fflush(stdout);
    if (argv[2] && !fgets(line, sizeof(line), fopen(argv[2], "r")))
        must(PMIX_ERR_BAD_PARAM, argv[2]);
    publish_for(argv[0], PMIX_PERSIST_APP);
    printf("published\n");
    fflush(stdout);
    PMIX_INFO_LOAD(&wait, PMIX_WAIT, &all, PMIX_INT);
    PMIX_PDATA_CONSTRUCT(&found);
    PMIX_LOAD_KEY(found.key, argv[1]);
    printf("met: %s\n", name_of(PMIx_Lookup(&found, 1, &wait, 1)));
    PMIX_PDATA_DESTRUCT(&found);
    return end();
}

static int do_look_up(char **argv)
{
    begin();
    printf("%s\n", name_of(look_up(argv[0])));
    return end();
}

/* A request with an unknown attribute, then with the same attribute marked as required. */
static void try_both(const char *what, pmix_status_t (*request)(pmix_info_t *strange))
{
    pmix_info_t strange;

    PMIX_INFO_LOAD(&strange, PMIX_JOB_CTRL_ID, "strange", PMIX_STRING);
    printf("%s: %s", what, name_of(request(&strange)));
    PMIX_INFO_REQUIRED(&strange);
    printf(", %s\n", name_of(request(&strange)));
    PMIX_INFO_DESTRUCT(&strange);
}

static pmix_status_t resume_with(pmix_info_t *strange)
{
    pmix_info_t info[2], *results = NULL;
    size_t n = 0;
    pmix_status_t rc;

    PMIX_INFO_LOAD(&info[0], PMIX_JOB_CTRL_RESUME, NULL, PMIX_BOOL);
    info[1] = *strange;
    rc = PMIx_Job_control(NULL, 0, info, 2, &results, &n);
    return rc == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : rc;
}

static pmix_status_t publish_with(pmix_info_t *strange)
{
    pmix_info_t info[2];

    PMIX_INFO_LOAD(&info[0], PMIX_INFO_IS_REQUIRED(strange) ? "other" : me.nspace, "text",
                   PMIX_STRING);
    info[1] = *strange;
    return PMIx_Publish(info, 2);
}

static pmix_status_t look_up_with(pmix_info_t *strange)
{
    pmix_pdata_t found;

    PMIX_PDATA_CONSTRUCT(&found);
    PMIX_LOAD_KEY(found.key, me.nspace);
    return PMIx_Lookup(&found, 1, strange, 1);
}

static pmix_status_t unpublish_with(pmix_info_t *strange)
{
    char *keys[] = {PMIX_INFO_IS_REQUIRED(strange) ? "other" : me.nspace, NULL};

    return PMIx_Unpublish(keys, strange, 1);
}

static int do_required(char **argv)
{
    (void)argv;
    begin();
    try_both("control", resume_with);
    try_both("publish", publish_with);
    try_both("lookup", look_up_with);
    try_both("unpublish", unpublish_with);
    printf("other: %s\n", name_of(look_up("other")));
    return end();
}

static struct {
    int made;
    pmix_status_t status;
} group;

static void on_group(pmix_status_t status, pmix_info_t *info, size_t ninfo, void *cbdata,
                     pmix_release_cbfunc_t release, void *release_cbdata)
{
    (void)cbdata;
    for (size_t i = 0; i < ninfo && status == PMIX_SUCCESS; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_GROUP_CONTEXT_ID) &&
            info[i].value.data.size != SIZE_MAX) /* the value that 4.2.2 reports if there is none */
            printf("a context id that nobody wants\n");
    }
    pthread_mutex_lock(&lock);
    group.status = status;
    group.made = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (release)
        release(release_cbdata);
}

static bool group_is_made(void)
{
    bool made;

    pthread_mutex_lock(&lock);
    made = group.made;
    pthread_mutex_unlock(&lock);
    return made;
}

/* The head's answer to a question takes longer than an answer of this daemon alone would. */
static void await_last_rank(void)
{
    if (me.rank != 0)
        return;
    (void)look_up("nothing");
    printf("%s\n", group_is_made() ? "made without its last" : "waits for its last");
    fflush(stdout);
    publish_for(me.nspace, PMIX_PERSIST_APP);
}

/* group SIZE named|all SECONDS|0 comes|stays: ranks 0 to SIZE-1 by name or all of the job, within a
 * limit or none; the last of them comes when the others have waited, or not. */
static int do_group(char **argv)
{
    pmix_rank_t size = (pmix_rank_t)strtoul(argv[0], NULL, 10);
    bool all = strcmp(argv[1], "all") == 0, comes = strcmp(argv[3], "comes") == 0;
    int seconds = (int)strtol(argv[2], NULL, 10);
    pmix_proc_t procs[16];
    pmix_info_t limit;

    begin();
    for (pmix_rank_t r = 0; r < size; r++)
        PMIX_LOAD_PROCID(&procs[r], me.nspace, all ? PMIX_RANK_WILDCARD : r);
    PMIX_INFO_LOAD(&limit, PMIX_TIMEOUT, &seconds, PMIX_INT);
    while (me.rank == size - 1 && comes && look_up(me.nspace) != PMIX_SUCCESS)
        ;
    if (me.rank < size - 1 || comes) {
        must(PMIx_Group_construct_nb("ours", procs, all ? 1 : size, &limit, seconds > 0, on_group,
                                     NULL),
             "construct");
        await_last_rank();
        await(&group.made);
        printf("%s\n", name_of(group.status));
        if (group.status == PMIX_SUCCESS)
            must(PMIx_Group_destruct("ours", NULL, 0), "destruct");
    }
    must(PMIx_Fence(NULL, 0, NULL, 0), "fence");
    return end();
}

/* --- modex MIB: each rank puts so many bytes, a fence collects them, and each rank checks those of
 * the next one; prints how many bytes all have put */

static int do_modex(char **argv)
{
    size_t len = strtoul(argv[0], NULL, 10) << 20;
    char *bytes = malloc(len);
    pmix_byte_object_t bo = {.bytes = bytes, .size = len};
    pmix_value_t v, *got = NULL;
    bool collect = true, same;
    pmix_proc_t other;
    pmix_info_t info;
    uint32_t n;

    begin();
    PMIX_LOAD_PROCID(&other, me.nspace, PMIX_RANK_WILDCARD);
    must(PMIx_Get(&other, PMIX_JOB_SIZE, NULL, 0, &got), "PMIX_JOB_SIZE");
    n = got->data.uint32;
    PMIX_VALUE_RELEASE(got);
    memset(bytes, 'a' + (int)me.rank, len);
    PMIX_VALUE_LOAD(&v, &bo, PMIX_BYTE_OBJECT);
    must(PMIx_Put(PMIX_GLOBAL, "modex", &v), "put");
    must(PMIx_Commit(), "commit");
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    must(PMIx_Fence(NULL, 0, &info, 1), "fence");
    other.rank = (me.rank + 1) % n;
    must(PMIx_Get(&other, "modex", NULL, 0, &got), "get");
    memset(bytes, 'a' + (int)other.rank, len);
    same = got->data.bo.size == len && memcmp(got->data.bo.bytes, bytes, len) == 0;
    if (!same || me.rank == 0)
        printf("%zu bytes of each of %u ranks: %s\n", len, n, same ? "right" : "wrong");
    return end();
}

static const struct {
    const char *name;
    int (*run)(char **argv);
} verbs[] = {
    {"modex", do_modex},       {"publish-own", do_publish_own},
    {"publish", do_publish},   {"publish-read", do_publish_read},
    {"look-up", do_look_up},   {"group", do_group},
    {"required", do_required}, {"meet", do_meet},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(argv[1], verbs[i].name) == 0)
            return verbs[i].run(argv + 2);
    }
    fprintf(stderr, "share_probe: what?\n");
    return 2;
}
