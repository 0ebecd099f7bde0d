/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of a job on one daemon, from launch to end: which action follows which report, and the
 * effect of an end in between. The daemon is a head with slots. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/core/core.h"
#include "dvm/protocol/wire/client.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLIENT 1
#define SLOTS 4

struct place {
    struct core *core;
    char nspace[64];
    char wanted[256]; /* actions for the ranks, in order */
    char state[32];   /* of the job, as its client got it */
    bool done;
    int exit_code;
    char text[512];
};

static void note(struct place *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void note(struct place *p, const char *fmt, ...)
{
    size_t len = strlen(p->wanted);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(p->wanted + len, sizeof(p->wanted) - len, fmt, ap);
    va_end(ap);
}

static void hear_client(struct place *p, const struct out_act *a)
{
    struct client_msg m;

    assert_int_equal(client_msg_decode(a->client.msg.data, a->client.msg.len, &m, NULL), 0);
    if (m.type == CLIENT_DONE) {
        p->done = true;
        p->exit_code = (int)m.done.code;
        snprintf(p->text, sizeof(p->text), "%s", m.done.text);
    }
    client_msg_free(&m);
}

static void carry_out(struct place *p, const struct out_act *a)
{
    switch ((int)a->kind) {
    case OUT_LAUNCH:
        snprintf(p->nspace, sizeof(p->nspace), "%s", a->launch.launch->nspace);
        note(p, "register ");
        break;
    case OUT_TAKE_FILES:
        note(p, "take-files ");
        break;
    case OUT_DROP_FILES:
        note(p, "drop-files ");
        break;
    case OUT_CREATE:
        note(p, a->create.waits ? "create-waiting " : "create ");
        break;
    case OUT_START:
        note(p, "start ");
        break;
    case OUT_END_RANKS:
        note(p, "end ");
        break;
    case OUT_CLEAN:
        note(p, "clean ");
        break;
    case OUT_CLIENT:
        hear_client(p, a);
        break;
    default:
        break;
    }
}

static void drain(struct place *p)
{
    struct out_act a;

    for (int round = 0; round < 2; round++) {
        while (core_next(p->core, &a)) {
            carry_out(p, &a);
            out_act_free(&a);
        }
        core_time(p->core, 1000, 1000);
        core_tick(p->core);
    }
}

static int open_place(void **state)
{
    struct place *p = xcalloc(1, sizeof(*p));
    struct core_opts o = {.cluster = "c", .incarnation = 5, .slots = SLOTS, .radix = 2};

    p->core = core_create(&o, 1000, 1000);
    drain(p);
    *state = p;
    return 0;
}

static int close_place(void **state)
{
    struct place *p = *state;

    core_destroy(p->core);
    free(p);
    return 0;
}

static void submit(struct place *p, uint32_t nranks, size_t nfiles)
{
    char *argv[] = {"prog", NULL};
    char *env[] = {NULL};
    char *files[] = {"in"};
    struct job_app app = {.argv = argv, .env = env, .cwd = "", .nprocs = nranks};
    struct job_spec spec = {.nfiles = nfiles,
                            .files = files,
                            .napps = 1,
                            .apps = &app,
                            .parent_nspace = "",
                            .stdin_rank = JOB_RANK_NONE};

    core_submit(p->core, CLIENT, &spec);
    drain(p);
}

static void report(struct place *p, enum core_ranks_step step, int errnum, const char *what)
{
    core_ranks(p->core, p->nspace, step, errnum, what);
    drain(p);
}

static void report_rank(struct place *p, uint32_t rank, enum core_proc_event ev, int value)
{
    core_proc(p->core, p->nspace, rank, ev, value, ev == CORE_PROC_FAILED ? "exec of prog" : NULL);
    drain(p);
}

static void end_rank(struct place *p, uint32_t rank, int wait_status)
{
    report_rank(p, rank, CORE_PROC_IOF_COMPLETE, 0);
    report_rank(p, rank, CORE_PROC_WAITPID, wait_status);
}

static void end_job(struct place *p)
{
    core_client_signal(p->core, CLIENT, SIGTERM);
    drain(p);
}

/* The actions since the last use of this function. */
static void assert_wanted(struct place *p, const char *actions)
{
    assert_string_equal(p->wanted, actions);
    p->wanted[0] = '\0';
}

static void assert_done(struct place *p, int code, const char *text)
{
    report(p, CORE_RANKS_CLEANED, 0, NULL);
    assert_true(p->done);
    assert_int_equal(p->exit_code, code);
    assert_non_null(strstr(p->text, text));
    assert_wanted(p, "");
}

static void a_single_rank_is_registered_created_and_cleaned_up(void **state)
{
    struct place *p = *state;

    submit(p, 1, 0);
    assert_wanted(p, "register ");
    report(p, CORE_RANKS_REGISTERED, 0, NULL);
    assert_wanted(p, "create ");
    report_rank(p, 0, CORE_PROC_RUNNING, 99);
    assert_wanted(p, "");
    end_rank(p, 0, 0);
    assert_wanted(p, "clean ");
    assert_false(p->done);
    assert_done(p, 0, "");
}

static void several_ranks_start_when_the_last_can(void **state)
{
    struct place *p = *state;

    submit(p, 3, 0);
    report(p, CORE_RANKS_REGISTERED, 0, NULL);
    assert_wanted(p, "register create-waiting ");
    report_rank(p, 2, CORE_PROC_READY, 0);
    report_rank(p, 0, CORE_PROC_READY, 0);
    report_rank(p, 0, CORE_PROC_READY, 0);
    assert_wanted(p, "");
    report_rank(p, 1, CORE_PROC_READY, 0);
    assert_wanted(p, "start ");
}

static void ranks_are_created_when_the_files_are_written_and_start_by_the_head_s_order(void **state)
{
    struct place *p = *state;

    submit(p, 1, 1);
    report(p, CORE_RANKS_REGISTERED, 0, NULL);
    assert_wanted(p, "register take-files ");
    report(p, CORE_RANKS_FILES, 0, NULL);
    assert_wanted(p, "create-waiting ");
    report_rank(p, 0, CORE_PROC_READY, 0);
    assert_wanted(p, "start ");
}

static void a_report_out_of_order_is_ignored(void **state)
{
    struct place *p = *state;

    submit(p, 2, 1);
    report(p, CORE_RANKS_FILES, 0, NULL);
    report(p, CORE_RANKS_CLEANED, 0, NULL);
    assert_wanted(p, "register ");
    report(p, CORE_RANKS_REGISTERED, 0, NULL);
    report(p, CORE_RANKS_REGISTERED, 0, NULL);
    assert_wanted(p, "take-files ");
    report_rank(p, 0, CORE_PROC_READY, 0);
    report_rank(p, 1, CORE_PROC_READY, 0); /* the spawner did not create them */
    assert_wanted(p, "");
}

static void a_refused_registration_fails_the_job(void **state)
{
    struct place *p = *state;

    submit(p, 2, 0);
    report(p, CORE_RANKS_REGISTERED, EIO, "the PMIx server refuses the job");
    assert_wanted(p, "register clean ");
    assert_done(p, 125, "the PMIx server refuses the job: Input/output error");
}

static void ranks_that_the_spawner_is_not_given_fail_the_job(void **state)
{
    struct place *p = *state;

    submit(p, 2, 0);
    report(p, CORE_RANKS_REGISTERED, 0, NULL);
    report(p, CORE_RANKS_NOT_CREATED, ENFILE, "the start of its ranks");
    assert_wanted(p, "register create-waiting clean ");
    assert_done(p, 125, "the start of its ranks: Too many open files in system");
}

static void files_that_cannot_be_here_fail_the_job(void **state)
{
    struct place *p = *state;

    submit(p, 2, 1);
    report(p, CORE_RANKS_REGISTERED, 0, NULL);
    report(p, CORE_RANKS_FILES, ENOSPC, "writing in");
    assert_wanted(p, "register take-files clean ");
    assert_done(p, 125, "its files cannot be put on");
}

static void a_job_ended_while_it_is_registered_creates_nothing(void **state)
{
    struct place *p = *state;

    submit(p, 2, 1);
    end_job(p);
    assert_wanted(p, "register ");
    assert_false(p->done);
    report(p, CORE_RANKS_REGISTERED, 0, NULL);
    assert_wanted(p, "clean ");
    assert_done(p, 143, "ended by the user");
}

static void a_job_ended_while_its_files_come_gives_them_up(void **state)
{
    struct place *p = *state;

    submit(p, 2, 1);
    report(p, CORE_RANKS_REGISTERED, 0, NULL);
    end_job(p);
    assert_wanted(p, "register take-files drop-files ");
    assert_false(p->done);
    report(p, CORE_RANKS_FILES, EINTR, "the process that writes them has ended");
    assert_wanted(p, "clean ");
    assert_done(p, 143, "ended by the user");
}

static void ranks_that_wait_are_ended_before_they_start(void **state)
{
    struct place *p = *state;

    submit(p, 2, 0);
    report(p, CORE_RANKS_REGISTERED, 0, NULL);
    report_rank(p, 0, CORE_PROC_READY, 0);
    end_job(p);
    assert_wanted(p, "register create-waiting end ");
    report_rank(p, 1, CORE_PROC_READY, 0); /* under way when the end came */
    report_rank(p, 0, CORE_PROC_FAILED, EINTR);
    assert_wanted(p, "");
    report_rank(p, 1, CORE_PROC_FAILED, EINTR);
    assert_wanted(p, "clean ");
    assert_done(p, 143, "ended by the user");
}

/* One fails its check: the head ends the other, which waits. */
static void a_rank_that_cannot_start_ends_the_others_where_they_wait(void **state)
{
    struct place *p = *state;

    submit(p, 2, 0);
    report(p, CORE_RANKS_REGISTERED, 0, NULL);
    report_rank(p, 1, CORE_PROC_READY, 0);
    report_rank(p, 0, CORE_PROC_FAILED, ENOENT);
    assert_wanted(p, "register create-waiting end ");
    report_rank(p, 1, CORE_PROC_FAILED, EINTR);
    assert_wanted(p, "clean ");
    assert_done(p, 125, "exec of prog: No such file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_single_rank_is_registered_created_and_cleaned_up,
                                        open_place, close_place),
        cmocka_unit_test_setup_teardown(several_ranks_start_when_the_last_can, open_place,
                                        close_place),
        cmocka_unit_test_setup_teardown(
            ranks_are_created_when_the_files_are_written_and_start_by_the_head_s_order, open_place,
            close_place),
        cmocka_unit_test_setup_teardown(a_report_out_of_order_is_ignored, open_place, close_place),
        cmocka_unit_test_setup_teardown(a_refused_registration_fails_the_job, open_place,
                                        close_place),
        cmocka_unit_test_setup_teardown(ranks_that_the_spawner_is_not_given_fail_the_job,
                                        open_place, close_place),
        cmocka_unit_test_setup_teardown(files_that_cannot_be_here_fail_the_job, open_place,
                                        close_place),
        cmocka_unit_test_setup_teardown(a_job_ended_while_it_is_registered_creates_nothing,
                                        open_place, close_place),
        cmocka_unit_test_setup_teardown(a_job_ended_while_its_files_come_gives_them_up, open_place,
                                        close_place),
        cmocka_unit_test_setup_teardown(ranks_that_wait_are_ended_before_they_start, open_place,
                                        close_place),
        cmocka_unit_test_setup_teardown(a_rank_that_cannot_start_ends_the_others_where_they_wait,
                                        open_place, close_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
