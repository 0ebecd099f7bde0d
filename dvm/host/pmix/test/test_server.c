/* SPDX-License-Identifier: BSD-3-Clause */
/* The server without clients: start and stop, registration, environments, refusals. Each test has a
 * process of its own, since the library allows one server per process. */
#include "base/buf/buf.h"
#include "base/loop/test/clock.h"
#include "dvm/host/pmix/pmix_private.h"
#include "dvm/host/pmix/test/pair.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* gcc has no header for it. */
size_t __sanitizer_get_current_allocated_bytes(void);

struct fix {
    struct pair_keep keep;
    struct loop *loop;
    struct pmix_srv *pmix;
    char dir[64];
    int waiting; /* for so many done() calls */
    int status;  /* of the last one */
    char ops[8]; /* requests to the head */
};

static void on_done(int status, void *arg)
{
    struct fix *f = arg;

    f->status = status;
    if (--f->waiting == 0)
        loop_stop(f->loop);
}

static void await(struct fix *f, int n)
{
    struct err err = {0};

    f->waiting += n;
    while (f->waiting > 0)
        EXPECT(loop_run(f->loop, &err) == 0);
}

/* The keep is the first member of the fixture. */
static void on_data(pmix_req req, char op, const void *data, size_t len, void *arg)
{
    struct fix *f = arg;

    f->ops[strlen(f->ops)] = op;
    on_done(0, f);
}

static void open_server_on(struct fix *f, bool owns_cpus)
{
    static const struct pmix_srv_upcalls up = {.on_data = on_data,
                                               .on_data_serve = pair_data_serve,
                                               .on_clean_add = pair_keep_add,
                                               .on_clean_run = pair_keep_run};
    struct pmix_srv_opts o = {
        .host = "node-a", .session_dir = f->dir, .vpid = 3, .owns_cpus = owns_cpus};
    struct err err = {0};

    alarm(60);
    *f = (struct fix){0};
    snprintf(f->dir, sizeof(f->dir), "/tmp/pmix-server-XXXXXX");
    EXPECT(mkdtemp(f->dir));
    f->loop = loop_create(&err);
    EXPECT(f->loop);
    f->keep.pmix = &f->pmix;
    f->pmix = pmix_srv_create(f->loop, &o, &up, &f->keep, &err);
    EXPECT(f->pmix);
}

static void open_server(struct fix *f)
{
    open_server_on(f, false);
}

static void close_server(struct fix *f)
{
    pmix_srv_destroy(f->pmix);
    loop_destroy(f->loop);
    pair_keep_run(PAIR_KEEP_ALL, &f->keep);
    EXPECT(rmdir(f->dir) == 0);
}

/* Two ranks here, two on a node of another daemon. */
static struct job_launch sample(const char *nspace)
{
    static struct job_node nodes[] = {{.vpid = 3, .epoch = 4, .host = "node-a"},
                                      {.vpid = 5, .epoch = 6, .host = "node-b"}};
    static uint32_t rank_node[] = {0, 1, 0, 1}, rank_app[] = {0, 0, 1, 1};
    static char *argv[] = {"prog", NULL};
    static struct job_app apps[2] = {{.argv = argv, .cwd = "/tmp"}, {.argv = argv, .cwd = "/tmp"}};

    return (struct job_launch){
        .nspace = (char *)nspace,
        .spec = {.parent_nspace = "", .napps = 2, .apps = apps},
        .universe = 8,
        .nnodes = 2,
        .nodes = nodes,
        .nranks = 4,
        .rank_node = rank_node,
        .rank_app = rank_app,
    };
}

static void register_job(struct fix *f, const char *nspace)
{
    struct job_launch l = sample(nspace);

    pair_register(f->pmix, &l, on_done, f);
}

static void end_job(struct fix *f, const char *nspace)
{
    pmix_srv_rank_gone(f->pmix, nspace, 0, on_done, f);
    pmix_srv_rank_gone(f->pmix, nspace, 2, on_done, f);
    pmix_srv_job_gone(f->pmix, nspace, on_done, f);
}

static void do_thousand_rounds(void)
{
    size_t before = 0, after;
    struct fix f;

    open_server(&f);
    for (int i = 0; i < 1100; i++) {
        char a[32], b[32];

        /* Memory that the library allocates once is allocated by then. */
        if (i == 100)
            before = __sanitizer_get_current_allocated_bytes();
        snprintf(a, sizeof(a), "9.%d", 2 * i);
        snprintf(b, sizeof(b), "9.%d", 2 * i + 1);
        register_job(&f, a);
        register_job(&f, b);
        await(&f, 2);
        EXPECT(f.status == 0);
        end_job(&f, a);
        end_job(&f, b);
        await(&f, 6);
        EXPECT(f.status == 0);
    }
    after = __sanitizer_get_current_allocated_bytes();
    EXPECT(before > 0);
    /* Less than a byte per job: caches may vary, but nothing may grow. */
    EXPECT(after < before + 1024);
    close_server(&f);
}

static void two_jobs_at_once_a_thousand_times_do_not_grow_the_server(void **state)
{
    in_child(do_thousand_rounds);
}

static void do_second_server(void)
{
    static const struct pmix_srv_upcalls none;
    struct pmix_srv_opts o = {.host = "node-b", .vpid = 5};
    struct err err = {0};
    struct fix f;

    open_server(&f);
    o.session_dir = f.dir;
    EXPECT(!pmix_srv_create(f.loop, &o, &none, NULL, &err));
    EXPECT(strstr(err.msg, "has one already"));
    close_server(&f);
}

static void a_second_server_in_one_process_is_refused(void **state)
{
    in_child(do_second_server);
}

static void do_no_session_dir(void)
{
    static const struct pmix_srv_upcalls none;
    struct pmix_srv_opts o = {.host = "node-a", .session_dir = "/nonexistent/dir", .vpid = 3};
    struct err err = {0};
    struct loop *loop = loop_create(&err);

    EXPECT(loop);
    EXPECT(!pmix_srv_create(loop, &o, &none, NULL, &err));
    EXPECT(strstr(err.msg, "/nonexistent/dir"));
    loop_destroy(loop);
}

static void a_missing_session_directory_is_named(void **state)
{
    in_child(do_no_session_dir);
}

static void do_register_twice(void)
{
    struct fix f;

    open_server(&f);
    register_job(&f, "9.1");
    await(&f, 1);
    EXPECT(f.status == 0);
    register_job(&f, "9.1");
    await(&f, 1);
    EXPECT(f.status != 0);
    end_job(&f, "9.1");
    await(&f, 3);
    EXPECT(f.status == 0);
    close_server(&f);
}

static void a_job_cannot_be_registered_twice(void **state)
{
    in_child(do_register_twice);
}

static void do_elsewhere(void)
{
    struct job_launch l = sample("9.1");
    uint32_t rank_node[] = {1, 1, 1, 1};
    struct fix f;

    open_server(&f);
    l.rank_node = rank_node;
    pair_register(f.pmix, &l, on_done, &f);
    await(&f, 1);
    EXPECT(f.status == 0);
    pmix_srv_job_gone(f.pmix, "9.1", on_done, &f);
    await(&f, 1);
    EXPECT(f.status == 0);
    close_server(&f);
}

static void a_job_without_local_ranks_may_be_made_known(void **state)
{
    in_child(do_elsewhere);
}

static const char *value_of(char *const *env, const char *name)
{
    size_t n = strlen(name);

    for (size_t i = 0; env[i]; i++) {
        if (strncmp(env[i], name, n) == 0 && env[i][n] == '=')
            return env[i] + n + 1;
    }
    return "";
}

static void do_environment(void)
{
    char *base[] = {"PATH=/bin",
                    "OMPI_MCA_mpi_yield_when_idle=0",
                    "OMPI_COMM_WORLD_RANK=77",
                    "PMIX_RANK=77",
                    "OMPI_FILE_LOCATION=/x/9.0/77",
                    "SLURM_PROCID=77",
                    "PMI_RANK=77",
                    "PMIX_MCA_x=1",
                    "SLURM_JOB_ID=77",
                    NULL};
    struct err err = {0};
    struct fix f;
    char **env;

    open_server(&f);
    register_job(&f, "9.1");
    await(&f, 1);
    env = pmix_srv_env(f.pmix, "9.1", 2, base, &err);
    EXPECT(env);
    EXPECT(strcmp(value_of(env, "PATH"), "/bin") == 0);
    EXPECT(strcmp(value_of(env, "PMIX_NAMESPACE"), "9.1") == 0);
    EXPECT(strcmp(value_of(env, "PMIX_RANK"), "2") == 0);
    EXPECT(strcmp(value_of(env, "OMPI_COMM_WORLD_RANK"), "2") == 0);
    EXPECT(strcmp(value_of(env, "OMPI_COMM_WORLD_SIZE"), "4") == 0);
    EXPECT(strcmp(value_of(env, "OMPI_COMM_WORLD_LOCAL_RANK"), "1") == 0);
    EXPECT(strcmp(value_of(env, "OMPI_COMM_WORLD_LOCAL_SIZE"), "2") == 0);
    EXPECT(strstr(value_of(env, "OMPI_FILE_LOCATION"), "/9.1/2"));
    EXPECT(strcmp(value_of(env, "OMPI_MCA_schizo"), "^orte,slurm,flux,jsm,alps") == 0);
    EXPECT(strcmp(value_of(env, "OMPI_MCA_mpi_yield_when_idle"), "0") == 0);
    EXPECT(strcmp(value_of(env, "PMIX_MCA_x"), "1") == 0);
    EXPECT(strcmp(value_of(env, "SLURM_JOB_ID"), "77") == 0);
    EXPECT(!*value_of(env, "SLURM_PROCID") && !*value_of(env, "PMI_RANK"));
    pmix_srv_env_free(env);
    EXPECT(!pmix_srv_env(f.pmix, "9.1", 1, base, &err));
    EXPECT(strstr(err.msg, "rank 1 of job 9.1"));
    EXPECT(!pmix_srv_env(f.pmix, "9.1", 4, base, &err));
    EXPECT(!pmix_srv_env(f.pmix, "9.2", 0, base, &err));
    end_job(&f, "9.1");
    await(&f, 3);
    close_server(&f);
}

static void a_rank_s_environment_is_its_own_and_the_user_s_settings_stay(void **state)
{
    in_child(do_environment);
}

/* The value that a rank gets which is bound to these CPUs; "": none. */
static const char *yield_value(struct fix *f, const char *nspace, char *cpus, uint32_t flags)
{
    static char value[8];
    char *base[] = {"PATH=/bin", NULL}, *bound[] = {cpus, cpus};
    struct job_launch l = sample(nspace);
    struct err err = {0};
    char **env;

    l.spec.flags = flags;
    l.ncpus = 2;
    l.cpus = bound;
    pair_register(f->pmix, &l, on_done, f);
    await(f, 1);
    env = pmix_srv_env(f->pmix, nspace, 2, base, &err);
    EXPECT(env);
    snprintf(value, sizeof(value), "%s", value_of(env, "OMPI_MCA_mpi_yield_when_idle"));
    pmix_srv_env_free(env);
    end_job(f, nspace);
    await(f, 3);
    return value;
}

static void do_polls(void)
{
    struct fix f;

    open_server_on(&f, true);
    EXPECT(strcmp(yield_value(&f, "9.1", "0", 0), "") == 0);
    EXPECT(strcmp(yield_value(&f, "9.2", "", 0), "1") == 0);
    EXPECT(strcmp(yield_value(&f, "9.3", "0", JOB_OVERSUBSCRIBE), "1") == 0);
    close_server(&f);
}

static void do_polls_not(void)
{
    struct fix f;

    open_server(&f);
    EXPECT(strcmp(yield_value(&f, "9.1", "0", 0), "1") == 0);
    close_server(&f);
}

static void only_a_rank_that_is_bound_to_cpus_of_its_own_does_not_yield(void **state)
{
    in_child(do_polls);
    in_child(do_polls_not);
}

static void on_modex(int status, const void *data, size_t len, void *arg)
{
    on_done(status, arg);
}

static void do_modex_of_silent_ranks(void)
{
    struct fix f;

    open_server(&f);
    register_job(&f, "9.1");
    await(&f, 1);
    f.waiting = 1;
    pmix_srv_dmodex_serve(f.pmix, "9.1", 0, 1, on_modex, &f);
    clock_run_for(f.loop, 999);
    EXPECT(f.waiting == 1);
    clock_run_for(f.loop, 1);
    EXPECT(f.waiting == 0 && f.status == PMIX_ERR_TIMEOUT);
    pmix_srv_dmodex_serve(f.pmix, "9.1", 0, 0, on_modex, &f);
    pmix_srv_rank_gone(f.pmix, "9.1", 0, on_done, &f);
    await(&f, 2);
    pmix_srv_dmodex_serve(f.pmix, "9.1", 0, 0, on_modex, &f);
    await(&f, 1);
    EXPECT(f.status == PMIX_ERR_NOT_FOUND);
    pmix_srv_job_gone(f.pmix, "9.1", on_done, &f);
    await(&f, 1);
    close_server(&f);
}

static void a_peer_that_asks_for_a_silent_rank_gets_an_answer(void **state)
{
    in_child(do_modex_of_silent_ranks);
}

static void do_destroy_pending(void)
{
    struct fix f;

    open_server(&f);
    register_job(&f, "9.1");
    await(&f, 1);
    f.waiting = 10;
    pmix_srv_dmodex_serve(f.pmix, "9.1", 0, 0, on_modex, &f);
    pmix_srv_job_gone(f.pmix, "9.1", on_done, &f);
    pmix_srv_notify_job_end(f.pmix, "9.1", 3);
    close_server(&f);
    EXPECT(f.waiting == 8);
}

static void a_server_that_ends_calls_back_for_pending_requests(void **state)
{
    in_child(do_destroy_pending);
}

static void on_data_served(int status, const void *answer, size_t len, void *arg)
{
    on_done(status, arg);
}

/* --- the thread on which answers are given */

static struct {
    pthread_t of_library, of_answer;
    sem_t done;
} threads;

static void on_registered(pmix_status_t status, void *cbdata)
{
    threads.of_library = pthread_self();
    sem_post(&threads.done);
}

static void on_answer(void *arg)
{
    threads.of_answer = pthread_self();
    sem_post(&threads.done);
}

static void do_answers(void)
{
    pmix_nspace_t nspace = "9.9";
    pmix_info_t none[1];
    struct fix f;

    open_server(&f);
    EXPECT(sem_init(&threads.done, 0, 0) == 0);
    EXPECT(PMIx_server_register_nspace(nspace, 0, none, 0, on_registered, NULL) == PMIX_SUCCESS);
    EXPECT(sem_wait(&threads.done) == 0);
    handback_post(f.pmix, on_answer, on_answer, NULL);
    EXPECT(sem_wait(&threads.done) == 0);
    EXPECT(pthread_equal(threads.of_library, threads.of_answer));
    EXPECT(!pthread_equal(threads.of_library, pthread_self()));
    close_server(&f);
}

static void answers_are_given_on_the_library_s_own_thread(void **state)
{
    in_child(do_answers);
}

static void ask_data(struct fix *f, char op, const void *blob, size_t len)
{
    pmix_srv_data_ask(f->pmix, &(struct pmix_srv_data_ask){.op = op, .blob = blob, .len = len},
                      on_data_served, f);
}

static void do_garbage(void)
{
    static const uint8_t junk[] = {0, 0, 0, 5, 'a', 0, 0, 0, 255, 255, 255, 255, 1, 2, 3};
    struct fix f;

    open_server(&f);
    for (size_t n = 0; n <= sizeof(junk); n++) {
        FREE_AUTO uint8_t *cut = xmalloc(n);

        memcpy(cut, junk, n);
        pmix_srv_notify(f.pmix, cut, n, NULL, NULL);
        f.waiting = 1;
        ask_data(&f, "plux"[n % 4], cut, n);
        EXPECT(f.waiting == 0 && f.status == PMIX_ERR_BAD_PARAM);
    }
    pmix_srv_answer(f.pmix, 12345, 0, junk, sizeof(junk));
    close_server(&f);
}

static void malformed_blobs_and_unrequested_answers_have_no_effect(void **state)
{
    in_child(do_garbage);
}

static void no_lookup(pmix_status_t status, pmix_pdata_t data[], size_t n, void *arg)
{
}

static void do_end_of_waiting_rank(void)
{
    char *keys[] = {"k", NULL};
    pmix_proc_t proc;
    pmix_info_t wait;
    struct fix f;
    int all = 0;

    open_server(&f);
    register_job(&f, "9.9");
    await(&f, 1);
    PMIX_INFO_LOAD(&wait, PMIX_WAIT, &all, PMIX_INT);
    for (uint32_t rank = 0; rank <= 2; rank += 2) {
        PMIX_LOAD_PROCID(&proc, "9.9", rank);
        EXPECT(data_on_lookup(&proc, keys, &wait, rank ? 1 : 0, no_lookup, NULL) == PMIX_SUCCESS);
        await(&f, 1);
    }
    pmix_srv_rank_gone(f.pmix, "9.9", 0, on_done, &f);
    await(&f, 1);
    EXPECT(strcmp(f.ops, "ll") == 0);
    pmix_srv_rank_gone(f.pmix, "9.9", 2, on_done, &f);
    await(&f, 2);
    EXPECT(strcmp(f.ops, "lle") == 0);
    close_server(&f);
}

static void the_head_hears_of_the_end_of_a_rank_whose_lookup_waits(void **state)
{
    in_child(do_end_of_waiting_rank);
}

/* A lookup that waits for "k", or does not, of the sample's rank. */
static void ask_for_k(struct fix *f, uint32_t rank, bool waits)
{
    struct store_who who = {.nspace = "9.9", .rank = rank, .vpid = 3};
    BUF_AUTO struct buf b = {.max = 1024};

    store_put_who(&b, &who);
    buf_put_u8(&b, PMIX_RANGE_SESSION);
    buf_put_u8(&b, waits);
    buf_put_u32(&b, 0);
    buf_put_u32(&b, 0);
    buf_put_u32(&b, 1);
    buf_put_str(&b, "k");
    f->status = 1;
    ask_data(f, 'l', b.data, b.len);
}

static void do_value_for_the_living(void)
{
    struct store_who who = {.nspace = "9.9", .rank = 2, .vpid = 3};
    BUF_AUTO struct buf end = {.max = 1024}, value = {.max = 1024};
    struct fix f;

    open_server(&f);
    store_put_who(&end, &who);
    store_put_who(&value, &(struct store_who){.nspace = "9.9", .rank = 0, .vpid = 3});
    buf_put_u8(&value, PMIX_RANGE_SESSION);
    buf_put_u8(&value, PMIX_PERSIST_FIRST_READ);
    buf_put_u32(&value, 1);
    buf_put_str(&value, "k");
    buf_put_bytes(&value, "v", 1);
    f.waiting = 10;
    ask_for_k(&f, 2, true);
    ask_data(&f, 'e', end.data, end.len);
    EXPECT(f.waiting == 8 && f.status == PMIX_SUCCESS);
    ask_for_k(&f, 1, true);
    ask_data(&f, 'e', end.data, end.len);
    EXPECT(f.waiting == 7); /* that of the other rank goes on */
    ask_data(&f, 'p', value.data, value.len);
    EXPECT(f.waiting == 5 && f.status == PMIX_SUCCESS);
    ask_for_k(&f, 1, false);
    EXPECT(f.status == PMIX_ERR_NOT_FOUND);
    close_server(&f);
}

static void a_value_to_be_read_once_is_not_read_by_a_rank_that_has_ended(void **state)
{
    in_child(do_value_for_the_living);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_server_in_one_process_is_refused),
        cmocka_unit_test(a_missing_session_directory_is_named),
        cmocka_unit_test(a_job_cannot_be_registered_twice),
        cmocka_unit_test(a_job_without_local_ranks_may_be_made_known),
        cmocka_unit_test(a_rank_s_environment_is_its_own_and_the_user_s_settings_stay),
        cmocka_unit_test(only_a_rank_that_is_bound_to_cpus_of_its_own_does_not_yield),
        cmocka_unit_test(a_peer_that_asks_for_a_silent_rank_gets_an_answer),
        cmocka_unit_test(the_head_hears_of_the_end_of_a_rank_whose_lookup_waits),
        cmocka_unit_test(a_value_to_be_read_once_is_not_read_by_a_rank_that_has_ended),
        cmocka_unit_test(a_server_that_ends_calls_back_for_pending_requests),
        cmocka_unit_test(answers_are_given_on_the_library_s_own_thread),
        cmocka_unit_test(malformed_blobs_and_unrequested_answers_have_no_effect),
        cmocka_unit_test(two_jobs_at_once_a_thousand_times_do_not_grow_the_server),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
