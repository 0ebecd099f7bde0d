/* SPDX-License-Identifier: BSD-3-Clause */
/* A PMIx client or tool for tests of the local DVM: asks for credentials and shows them. */
#include "dvm/test/probe.h"

#include <pmix_tool.h>

#define FILE_MAX 65536

/* 4.2 spells one name "INVALID-CREDENTIAL", and 5.0 "PMIX_ERR_INVALID_CRED". */
static const char *said(pmix_status_t rc)
{
    return rc == PMIX_ERR_INVALID_CRED ? "INVALID CRED" : name_of(rc);
}

/* --- as a rank ("-") or as a tool of the daemon with this URI, "URI NAMESPACE" with a name of its
 * own */

static void join(char *uri)
{
    pmix_info_t info[3];
    char *name = strchr(uri, ' ');
    pmix_rank_t rank = 0;
    size_t n = 0;

    if (strcmp(uri, "-") == 0) {
        must(PMIx_Init(&me, NULL, 0), "PMIx_Init");
        return;
    }
    if (name) {
        *name++ = '\0';
        PMIX_INFO_LOAD(&info[n++], PMIX_TOOL_NSPACE, name, PMIX_STRING);
        PMIX_INFO_LOAD(&info[n++], PMIX_TOOL_RANK, &rank, PMIX_PROC_RANK);
    }
    PMIX_INFO_LOAD(&info[n++], PMIX_SERVER_URI, uri, PMIX_STRING);
    must(PMIx_tool_init(&me, info, n), "PMIx_tool_init");
}

static int leave(const char *uri)
{
    if (strcmp(uri, "-") == 0)
        must(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
    else
        must(PMIx_tool_finalize(), "PMIx_tool_finalize");
    return 0;
}

/* --- the two calls */

static struct {
    size_t awaited, good, invalid, other;
    pmix_status_t status; /* of the last one */
    char type[32];
    char holder[PMIX_MAX_NSLEN + 64];
    pmix_byte_object_t cred;
} got;

static void count(pmix_status_t status)
{
    got.status = status;
    got.good += status == PMIX_SUCCESS;
    got.invalid += status == PMIX_ERR_INVALID_CRED;
    got.other += status != PMIX_SUCCESS && status != PMIX_ERR_INVALID_CRED;
    got.awaited--;
    pthread_cond_broadcast(&changed);
}

static const char *type_in(const pmix_info_t *info, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_CRED_TYPE) && info[i].value.type == PMIX_STRING)
            return info[i].value.data.string;
    }
    return "none";
}

static void on_cred(pmix_status_t status, pmix_byte_object_t *cred, pmix_info_t info[],
                    size_t ninfo, void *cbdata)
{
    (void)cbdata;
    pthread_mutex_lock(&lock);
    snprintf(got.type, sizeof(got.type), "%s", type_in(info, ninfo));
    if (status == PMIX_SUCCESS) {
        got.cred.size = cred->size;
        got.cred.bytes = malloc(cred->size);
        memcpy(got.cred.bytes, cred->bytes, cred->size);
    }
    count(status);
    pthread_mutex_unlock(&lock);
}

static void on_checked(pmix_status_t status, pmix_info_t info[], size_t ninfo, void *cbdata)
{
    pmix_proc_t proc = {"", PMIX_RANK_UNDEF};
    unsigned uid = 0, gid = 0;

    (void)cbdata;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_USERID))
            uid = info[i].value.data.uint32;
        if (PMIX_CHECK_KEY(&info[i], PMIX_GRPID))
            gid = info[i].value.data.uint32;
        if (PMIX_CHECK_KEY(&info[i], PMIX_PROCID))
            proc = *info[i].value.data.proc;
    }
    snprintf(got.holder, sizeof(got.holder), "%s %u uid=%u gid=%u type=%s", proc.nspace, proc.rank,
             uid, gid, type_in(info, ninfo));
    count(status);
    pthread_mutex_unlock(&lock);
}

static void await_all(void)
{
    pthread_mutex_lock(&lock);
    while (got.awaited)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static void expect_one(pmix_status_t rc)
{
    if (rc == PMIX_SUCCESS)
        return;
    pthread_mutex_lock(&lock);
    count(rc);
    pthread_mutex_unlock(&lock);
}

/* --- get URI|- TYPES, or "" for any */

static pmix_status_t get(const char *types)
{
    pmix_info_t info;

    PMIX_INFO_LOAD(&info, PMIX_CRED_TYPE, types, PMIX_STRING);
    got.awaited = 1;
    expect_one(PMIx_Get_credential_nb(&info, *types ? 1 : 0, on_cred, NULL));
    await_all();
    return got.status;
}

static int do_get(char **argv)
{
    join(argv[0]);
    printf("get: %s type=%s\n", said(get(argv[1])), got.type);
    fflush(stdout);
    return leave(argv[0]);
}

/* --- save URI|- FILE [COMMAND…]: keeps one in a file, and becomes the command */

static int do_save(char **argv)
{
    FILE *f;

    join(argv[0]);
    must(get(""), "get");
    f = fopen(argv[1], "wb");
    if (!f || fwrite(got.cred.bytes, 1, got.cred.size, f) != got.cred.size || fclose(f) != 0)
        return 3;
    if (strcmp(argv[0], "-") != 0)
        printf("tool: %s\n", me.nspace);
    fflush(stdout);
    leave(argv[0]);
    if (argv[2])
        execvp(argv[2], argv + 2);
    return argv[2] ? 3 : 0;
}

/* --- check URI|- FILE [uid=N] [gid=N] [type=T] */

static pmix_byte_object_t load(const char *path)
{
    static char data[FILE_MAX];
    FILE *f = fopen(path, "rb");
    pmix_byte_object_t bo = {.bytes = data};

    if (!f)
        exit(3);
    bo.size = fread(data, 1, sizeof(data), f);
    fclose(f);
    return bo;
}

static size_t directives(char **words, pmix_info_t *info)
{
    size_t n = 0;

    for (; *words && n < 4; words++) {
        const char *value = strchr(*words, '=') + 1;
        uint32_t id = (uint32_t)strtoul(value, NULL, 10);

        if (**words == 'u')
            PMIX_INFO_LOAD(&info[n++], PMIX_USERID, &id, PMIX_UINT32);
        else if (**words == 'g')
            PMIX_INFO_LOAD(&info[n++], PMIX_GRPID, &id, PMIX_UINT32);
        else
            PMIX_INFO_LOAD(&info[n++], PMIX_CRED_TYPE, value, PMIX_STRING);
    }
    return n;
}

static int do_check(char **argv)
{
    pmix_byte_object_t bo = load(argv[1]);
    pmix_info_t info[4];

    join(argv[0]);
    got.awaited = 1;
    expect_one(
        PMIx_Validate_credential_nb(&bo, info, directives(argv + 2, info), on_checked, NULL));
    await_all();
    printf("validate: %s\n", said(got.status));
    if (got.status == PMIX_SUCCESS)
        printf("holder: %s\n", got.holder);
    fflush(stdout);
    return leave(argv[0]);
}

/* --- alter URI|- FILE: each byte of it in turn is another one, and one is missing or too many */

static int do_alter(char **argv)
{
    pmix_byte_object_t bo = load(argv[1]);

    join(argv[0]);
    got.awaited = bo.size + 2;
    for (size_t i = 0; i < bo.size; i++) {
        ((uint8_t *)bo.bytes)[i] ^= (uint8_t)(1u << i % 8);
        expect_one(PMIx_Validate_credential_nb(&bo, NULL, 0, on_checked, NULL));
        ((uint8_t *)bo.bytes)[i] ^= (uint8_t)(1u << i % 8);
    }
    bo.size--;
    expect_one(PMIx_Validate_credential_nb(&bo, NULL, 0, on_checked, NULL));
    bo.size += 2;
    expect_one(PMIx_Validate_credential_nb(&bo, NULL, 0, on_checked, NULL));
    await_all();
    printf("altered: %zu good, %zu of %zu invalid\n", got.good, got.invalid, bo.size + 1);
    fflush(stdout);
    return leave(argv[0]);
}

/* --- all: each rank shows its own to each other */

static void publish_own(void)
{
    pmix_byte_object_t bo = {0};
    pmix_value_t v;
    pmix_info_t collect;
    pmix_proc_t job;

    must(PMIx_Get_credential(NULL, 0, &bo), "get");
    v.type = PMIX_BYTE_OBJECT;
    v.data.bo = bo;
    must(PMIx_Put(PMIX_GLOBAL, "cred", &v), "put");
    must(PMIx_Commit(), "commit");
    PMIX_LOAD_PROCID(&job, me.nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, NULL, PMIX_BOOL);
    must(PMIx_Fence(&job, 1, &collect, 1), "fence");
}

static bool is_of(const pmix_info_t *info, size_t n, const pmix_proc_t *who)
{
    bool name = false, uid = false, gid = false;

    for (size_t i = 0; i < n; i++) {
        name |= PMIX_CHECK_KEY(&info[i], PMIX_PROCID) &&
                PMIX_CHECK_PROCID(info[i].value.data.proc, who);
        uid |= PMIX_CHECK_KEY(&info[i], PMIX_USERID) && info[i].value.data.uint32 == geteuid();
        gid |= PMIX_CHECK_KEY(&info[i], PMIX_GRPID) && info[i].value.data.uint32 == getegid();
    }
    return name && uid && gid;
}

static int do_all(char **argv)
{
    pmix_proc_t who;
    pmix_value_t *v;
    uint32_t size, good = 0;

    (void)argv;
    join((char[]){"-"});
    publish_own();
    PMIX_LOAD_PROCID(&who, me.nspace, PMIX_RANK_WILDCARD);
    must(PMIx_Get(&who, PMIX_JOB_SIZE, NULL, 0, &v), "size");
    size = v->data.uint32;
    for (who.rank = 0; who.rank < size; who.rank++) {
        pmix_info_t *info = NULL;
        size_t n = 0;

        must(PMIx_Get(&who, "cred", NULL, 0, &v), "its credential");
        must(PMIx_Validate_credential(&v->data.bo, NULL, 0, &info, &n), "validate");
        good += is_of(info, n, &who);
        PMIX_INFO_FREE(info, n);
    }
    printf("rank %u knows %u of %u\n", me.rank, good, size);
    fflush(stdout);
    return leave("-");
}

static const struct {
    const char *name;
    int words; /* at least */
    int (*run)(char **argv);
} verbs[] = {
    {"get", 2, do_get},     {"save", 2, do_save}, {"check", 2, do_check},
    {"alter", 2, do_alter}, {"all", 0, do_all},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(argv[1], verbs[i].name) == 0 && argc >= verbs[i].words + 2)
            return verbs[i].run(argv + 2);
    }
    fprintf(stderr, "cred_probe: what?\n");
    return 2;
}
