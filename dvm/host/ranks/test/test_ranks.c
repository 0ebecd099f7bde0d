/* SPDX-License-Identifier: BSD-3-Clause */
/* The service between a real core and stand-ins for odls, the PMIx server and the forwarding of
 * output: which calls follow from a job, and when its end is reported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/host/cgroup/cgroup.h"
#include "dvm/host/ranks/ranks.h"
#include "dvm/protocol/wire/client.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLIENT 1

typedef void (*done_fn)(int status, void *arg);

static struct place {
    struct host_env env;
    struct core *core;
    struct ranks *ranks;
    struct files *files;
    char nspace[64];
    char calls[512]; /* of the stand-ins, in order */
    done_fn done;    /* the outstanding answer of the PMIx server */
    void *done_arg;
    struct {
        done_fn done;
        void *arg;
    } gone[4]; /* its answers about ranks, which come before others */
    size_t ngone;
    bool no_env; /* the PMIx server has no environment for a rank */
    bool cleans; /* the end of a rank removes something */
    bool in_session;
    uint64_t oom_kills;
    uint32_t flags; /* of the next job */
    bool over;      /* the job is done */
    int exit_code;
    char text[512];
} place;

static void note_call(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void note_call(const char *fmt, ...)
{
    size_t len = strlen(place.calls);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(place.calls + len, sizeof(place.calls) - len, fmt, ap);
    va_end(ap);
}

/* --- stand-ins */

void pmix_srv_register(struct pmix_srv *p, const struct job_launch *l, uid_t uid, gid_t gid,
                       done_fn done, void *arg)
{
    snprintf(place.nspace, sizeof(place.nspace), "%s", l->nspace);
    note_call("register ");
    place.done = done;
    place.done_arg = arg;
}

char **pmix_srv_env(struct pmix_srv *p, const char *nspace, uint32_t rank, char *const *env,
                    struct err *err)
{
    if (!place.no_env)
        return xcalloc(1, sizeof(char *));
    err_code(err, ENOENT, "rank %u of job %s", rank, nspace);
    return NULL;
}

void pmix_srv_env_free(char **env)
{
    free(env);
}

int pmix_srv_make_dir(struct pmix_srv *p, const char *nspace, struct err *err)
{
    return err_code(err, ENOSPC, "making the directory of job %s", nspace);
}

bool pmix_srv_cleans(struct pmix_srv *p, const char *nspace, uint32_t rank)
{
    return place.cleans;
}

bool pmix_srv_in_session(struct pmix_srv *p, const char *nspace, uint32_t rank)
{
    return place.in_session;
}

void pmix_srv_settle(struct pmix_srv *p, const char *nspace, uint32_t rank, done_fn done, void *arg)
{
    note_call("settle ");
    place.done = done;
    place.done_arg = arg;
}

void pmix_srv_rank_gone(struct pmix_srv *p, const char *nspace, uint32_t rank, done_fn done,
                        void *arg)
{
    note_call("rank_gone ");
    place.gone[place.ngone].done = done;
    place.gone[place.ngone++].arg = arg;
}

void pmix_srv_job_gone(struct pmix_srv *p, const char *nspace, done_fn done, void *arg)
{
    note_call("job_gone ");
    place.done = done;
    place.done_arg = arg;
}

void pmix_srv_continue(struct pmix_srv *p, const char *nspace, uint32_t rank)
{
}

void pmix_srv_cleaned(struct pmix_srv *p, uint64_t scope)
{
}

uint64_t cgroup_oom_kills(const char *root)
{
    return place.oom_kills;
}

int odls_start(struct odls *o, const char *nspace, const struct odls_rank *ranks, size_t n,
               struct err *err)
{
    note_call("start %zu%s ", n, ranks[0].waits ? " waiting" : "");
    return 0;
}

void odls_go(struct odls *o, const char *nspace)
{
    note_call("go ");
}

void odls_signal(struct odls *o, const char *nspace, uint32_t rank, int signum)
{
    note_call("signal %d ", signum);
}

void odls_end(struct odls *o, const char *nspace, uint32_t rank, uint64_t grace_ms)
{
    note_call("end ");
}

size_t odls_stdin(struct odls *o, const char *nspace, uint32_t rank, const void *data, size_t len)
{
    return 0;
}

void odls_output_pause(struct odls *o, const char *nspace, bool paused)
{
}

void iof_output(struct iof *f, const struct job_launch *l, uint32_t rank, int stream,
                const void *data, size_t len)
{
    note_call("output %u ", rank);
}

void iof_note(struct iof *f, const struct job_launch *l, const char *text)
{
}

void iof_job_gone(struct iof *f, const char *nspace)
{
    note_call("output_over ");
}

void iof_stdin_room(struct iof *f, const char *nspace, uint32_t rank)
{
}

/* --- the stand-ins and the job */

static void hear_client(const struct out_act *a)
{
    struct client_msg m;

    assert_int_equal(client_msg_decode(a->client.msg.data, a->client.msg.len, &m, NULL), 0);
    if (m.type == CLIENT_DONE) {
        place.over = true;
        place.exit_code = (int)m.done.code;
        snprintf(place.text, sizeof(place.text), "%s", m.done.text);
    }
    client_msg_free(&m);
}

static void enter(void *arg)
{
    core_time(place.core, 1000, 1000);
}

static void drain(void *arg)
{
    struct out_act a;

    for (int round = 0; round < 2; round++) {
        while (core_next(place.core, &a)) {
            if (a.kind == OUT_CLIENT)
                hear_client(&a);
            else if (a.kind >= OUT_LAUNCH && a.kind <= OUT_CLEAN)
                ranks_act(place.ranks, &a);
            out_act_free(&a);
        }
        core_tick(place.core);
    }
}

static void on_room(uint32_t client, uint64_t total, void *arg)
{
}

static int open_place(void **state)
{
    struct core_opts o = {.cluster = "c", .incarnation = 5, .slots = 4, .radix = 2};
    struct ranks_io io = {.files_room = on_room};
    struct files_io files_io = {0};

    memset(&place, 0, sizeof(place));
    place.env = (struct host_env){.session_dir = "/nowhere", .enter = enter, .drain = drain};
    place.core = core_create(&o, 1000, 1000);
    place.ranks = ranks_create(&place.env, &io);
    place.files = files_create(place.core, &files_io);
    ranks_join(place.ranks, &(struct ranks_parts){.core = place.core, .files = place.files});
    drain(NULL);
    return 0;
}

static void answer_ends(void)
{
    for (size_t i = 0; i < place.ngone; i++)
        place.gone[i].done(0, place.gone[i].arg);
    place.ngone = 0;
}

/* The service drops its remaining records too. */
static int close_place(void **state)
{
    answer_ends();
    ranks_destroy(place.ranks);
    files_destroy(place.files);
    core_destroy(place.core);
    return 0;
}

static void submit(uint32_t nranks, size_t nfiles)
{
    char *argv[] = {"prog", NULL};
    char *env[] = {NULL};
    char *names[] = {"in"};
    struct job_app app = {.argv = argv, .env = env, .cwd = "", .nprocs = nranks};
    struct job_spec spec = {.nfiles = nfiles,
                            .files = names,
                            .napps = 1,
                            .apps = &app,
                            .flags = place.flags,
                            .parent_nspace = "",
                            .stdin_rank = JOB_RANK_NONE};

    core_submit(place.core, CLIENT, &spec);
    drain(NULL);
}

/* The PMIx server answers its last request. */
static void answer(int status)
{
    done_fn done;

    answer_ends();
    done = place.done;
    place.done = NULL;
    assert_non_null(done);
    done(status, place.done_arg);
}

static void end_rank_with(uint32_t rank, int wait_status)
{
    const struct odls_upcalls *up = &ranks_odls_upcalls;

    up->on_output(place.nspace, rank, ODLS_STDOUT, "", 0, place.ranks);
    up->on_output(place.nspace, rank, ODLS_STDERR, "", 0, place.ranks);
    up->on_exited(place.nspace, rank, wait_status, place.ranks);
}

static void end_rank(uint32_t rank)
{
    end_rank_with(rank, 0);
}

/* Calls since the last use of this function. */
static void assert_calls(const char *calls)
{
    assert_string_equal(place.calls, calls);
    place.calls[0] = '\0';
}

static void a_job_goes_from_its_registration_to_its_clean_up(void **state)
{
    const struct odls_upcalls *up = &ranks_odls_upcalls;

    submit(2, 0);
    assert_calls("register ");
    answer(0);
    assert_calls("start 2 waiting ");
    up->on_ready(place.nspace, 0, place.ranks);
    up->on_ready(place.nspace, 1, place.ranks);
    assert_calls("go ");
    up->on_started(place.nspace, 0, 90, place.ranks);
    up->on_started(place.nspace, 1, 91, place.ranks);
    up->on_output(place.nspace, 1, ODLS_STDOUT, "x", 1, place.ranks);
    assert_calls("output 1 ");
    end_rank(0);
    assert_calls("rank_gone ");
    end_rank(1);
    assert_calls("rank_gone job_gone ");
    assert_false(place.over);
    answer(0);
    assert_calls("output_over ");
    assert_true(place.over);
    assert_int_equal(place.exit_code, 0);
}

static void the_end_of_a_rank_is_reported_after_its_cleanup(void **state)
{
    place.cleans = true;
    submit(1, 0);
    answer(0);
    ranks_odls_upcalls.on_started(place.nspace, 0, 90, place.ranks);
    end_rank(0);
    assert_calls("register start 1 rank_gone ");
    answer_ends();
    assert_calls("job_gone ");
    answer(0);
    assert_true(place.over);
}

/* A client library ends a process although the server has not read its last message. */
static void a_rank_fails_its_job_if_it_has_not_finalized_when_all_was_read(void **state)
{
    for (int finalized = 0; finalized < 2; finalized++) {
        close_place(state);
        open_place(state);
        place.in_session = true;
        submit(1, 0);
        answer(0);
        ranks_odls_upcalls.on_started(place.nspace, 0, 90, place.ranks);
        end_rank(0);
        assert_calls("register start 1 settle ");
        place.in_session = !finalized;
        answer(0);
        assert_calls("rank_gone job_gone ");
        answer(0);
        assert_true(place.over);
        assert_int_equal(place.exit_code, finalized ? 0 : 1);
    }
}

static void a_rank_that_another_process_ends_need_not_finalize(void **state)
{
    place.in_session = true;
    submit(1, 0);
    answer(0);
    ranks_odls_upcalls.on_started(place.nspace, 0, 90, place.ranks);
    ranks_signal_one(place.ranks, place.nspace, 0, SIGTERM);
    end_rank(0);
    answer(0); /* all that it had sent was read */
    answer(0);
    assert_true(place.over);
    assert_int_equal(place.exit_code, 0);
}

/* The job's final text, after the end of its only rank. */
static const char *text_of_end(uint64_t kills_before, uint64_t kills, int wait_status)
{
    place.oom_kills = kills_before;
    place.over = false;
    submit(1, 0);
    answer(0);
    ranks_odls_upcalls.on_started(place.nspace, 0, 90, place.ranks);
    place.oom_kills = kills;
    end_rank_with(0, wait_status);
    answer(0);
    assert_true(place.over);
    return place.text;
}

#define BY_KERNEL "(Killed) by the kernel, out of memory"

static void only_a_kill_counted_since_the_start_is_for_memory(void **state)
{
    assert_non_null(strstr(text_of_end(0, 1, SIGKILL), BY_KERNEL));
    assert_non_null(strstr(text_of_end(3, 3, SIGKILL), "(Killed), pid"));
    assert_non_null(strstr(text_of_end(3, 4, SIGTERM), "(Terminated), pid"));
    assert_non_null(strstr(text_of_end(3, 5, SIGKILL), BY_KERNEL));
}

static void one_counted_kill_explains_the_end_of_one_rank(void **state)
{
    const char *first;

    place.flags = JOB_RECOVERABLE;
    submit(2, 0);
    answer(0);
    ranks_odls_upcalls.on_started(place.nspace, 0, 90, place.ranks);
    ranks_odls_upcalls.on_started(place.nspace, 1, 91, place.ranks);
    place.oom_kills = 1;
    end_rank_with(0, SIGKILL);
    end_rank_with(1, SIGKILL);
    answer(0);
    first = strstr(place.text, BY_KERNEL ", pid 90");
    assert_non_null(first);
    assert_non_null(strstr(first, "(Killed), pid 91"));
}

static void a_rank_without_an_environment_fails_the_job(void **state)
{
    place.no_env = true;
    submit(2, 0);
    answer(0);
    assert_calls("register job_gone ");
    answer(0);
    assert_int_equal(place.exit_code, 125);
    assert_non_null(strstr(place.text, "the start of its ranks: No such file or directory"));
}

static void a_refused_registration_fails_the_job(void **state)
{
    submit(2, 0);
    answer(-1);
    assert_calls("register job_gone ");
    answer(0);
    assert_int_equal(place.exit_code, 125);
    assert_non_null(strstr(place.text, "the PMIx server refuses the job"));
}

static void a_job_that_is_ended_before_the_server_answers_starts_nothing(void **state)
{
    submit(2, 0);
    core_client_signal(place.core, CLIENT, SIGTERM);
    drain(NULL);
    assert_calls("register ");
    answer(0);
    assert_calls("job_gone ");
    answer(0);
    assert_int_equal(place.exit_code, 143);
}

static void a_directory_that_cannot_be_made_fails_a_job_with_files(void **state)
{
    submit(1, 1);
    answer(0);
    assert_calls("register job_gone ");
    answer(0);
    assert_int_equal(place.exit_code, 125);
    assert_non_null(strstr(place.text, "its files cannot be put on"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_job_goes_from_its_registration_to_its_clean_up,
                                        open_place, close_place),
        cmocka_unit_test_setup_teardown(the_end_of_a_rank_is_reported_after_its_cleanup, open_place,
                                        close_place),
        cmocka_unit_test_setup_teardown(
            a_rank_fails_its_job_if_it_has_not_finalized_when_all_was_read, open_place,
            close_place),
        cmocka_unit_test_setup_teardown(a_rank_that_another_process_ends_need_not_finalize,
                                        open_place, close_place),
        cmocka_unit_test_setup_teardown(only_a_kill_counted_since_the_start_is_for_memory,
                                        open_place, close_place),
        cmocka_unit_test_setup_teardown(one_counted_kill_explains_the_end_of_one_rank, open_place,
                                        close_place),
        cmocka_unit_test_setup_teardown(a_rank_without_an_environment_fails_the_job, open_place,
                                        close_place),
        cmocka_unit_test_setup_teardown(a_refused_registration_fails_the_job, open_place,
                                        close_place),
        cmocka_unit_test_setup_teardown(
            a_job_that_is_ended_before_the_server_answers_starts_nothing, open_place, close_place),
        cmocka_unit_test_setup_teardown(a_directory_that_cannot_be_made_fails_a_job_with_files,
                                        open_place, close_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
