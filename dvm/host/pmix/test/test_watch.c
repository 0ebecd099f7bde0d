/* SPDX-License-Identifier: BSD-3-Clause */
/* A library whose thread hangs: reported once, and not ended. Each test has a process of its own,
 * since the library allows one server per process. The loop's clock is the test's: the library's
 * thread is waited for by its events, and the clock is moved when it is known what it has done. */
#include "base/buf/buf.h"
#include "base/loop/test/clock.h"
#include "dvm/host/pmix/pmix_private.h"
#include "dvm/host/pmix/test/pair.h"
#include "dvm/host/spawner/remove.h"

#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct fix {
    struct pair_keep keep; /* first: the upcalls of cleanup get it as their argument */
    struct loop *loop;
    struct pmix_srv *pmix;
    char dir[64];
    int told;
    char why[128];
    int done, status; /* done() calls, and the status of the last one */
    int gates[2];     /* the writing ends */
    int opened;
    int stop_after; /* so many done() calls */
    sem_t reached;  /* posted by the library's thread */
};

static void on_silent(const char *why, void *arg)
{
    struct fix *f = arg;

    f->told++;
    snprintf(f->why, sizeof(f->why), "%s", why);
}

static void on_done(int status, void *arg)
{
    struct fix *f = arg;

    f->status = status;
    if (++f->done == f->stop_after)
        loop_stop(f->loop);
}

/* Waits until done() has been called so often in all; the clock stands. */
static void await(struct fix *f, int done)
{
    struct err err = {0};

    f->stop_after = done;
    while (f->done < done)
        EXPECT(loop_run(f->loop, &err) == 0);
}

static void open_server(struct fix *f, uint64_t silent_ms)
{
    static const struct pmix_srv_upcalls up = {
        .on_clean_add = pair_keep_add, .on_clean_run = pair_keep_run, .on_silent = on_silent};
    struct pmix_srv_opts o = {.host = "node-a", .vpid = 3, .silent_ms = silent_ms};
    struct err err = {0};

    alarm(60);
    *f = (struct fix){0};
    snprintf(f->dir, sizeof(f->dir), "/tmp/pmix-watch-XXXXXX");
    EXPECT(mkdtemp(f->dir));
    o.session_dir = f->dir;
    f->loop = loop_create(&err);
    EXPECT(f->loop);
    f->keep.pmix = &f->pmix;
    EXPECT(sem_init(&f->reached, 0, 0) == 0);
    f->pmix = pmix_srv_create(f->loop, &o, &up, f, &err);
    EXPECT(f->pmix);
}

static void close_server(struct fix *f)
{
    pmix_srv_destroy(f->pmix);
    loop_destroy(f->loop);
    pair_keep_run(PAIR_KEEP_ALL, &f->keep);
    /* A library that was not ended leaves its own files. */
    remove_path(f->dir, REMOVE_DIR | REMOVE_RECURSIVE | REMOVE_OURS, &(struct remove_rules){0});
}

/* On the library's thread, which hangs until the gate is opened. */
static void on_gate(pmix_status_t status, void *cbdata)
{
    int fd = (int)(intptr_t)cbdata;

    EXPECT(read(fd, &(char){0}, 1) == 1);
    close(fd);
}

static void stand_still(struct fix *f, int gate)
{
    pmix_nspace_t nspace;
    pmix_info_t none[1];
    int fds[2];

    snprintf(nspace, sizeof(nspace), "gate.%d", gate);
    EXPECT(pipe(fds) == 0);
    f->gates[gate] = fds[1];
    EXPECT(PMIx_server_register_nspace(nspace, 0, none, 0, on_gate, (void *)(intptr_t)fds[0]) ==
           PMIX_SUCCESS);
}

static void open_gate(struct fix *f)
{
    int fd = f->gates[f->opened++];

    EXPECT(write(fd, "", 1) == 1);
    close(fd);
}

static void on_reached(pmix_status_t status, void *cbdata)
{
    struct fix *f = cbdata;

    EXPECT(sem_post(&f->reached) == 0);
}

/* The library's thread has taken all that it was given before; its queue keeps the order. */
static void await_library(struct fix *f)
{
    pmix_nspace_t nspace = "reached.1";
    pmix_info_t none[1];

    EXPECT(PMIx_server_register_nspace(nspace, 0, none, 0, on_reached, f) == PMIX_SUCCESS);
    EXPECT(sem_wait(&f->reached) == 0);
}

/* Two requests: the job, and its one rank. */
static void register_job(struct fix *f, const char *nspace)
{
    static struct job_node node = {.vpid = 3, .epoch = 4, .host = "node-a"};
    static uint32_t zero[1];
    static char *argv[] = {"prog", NULL};
    static struct job_app app = {.argv = argv, .cwd = "/tmp"};
    struct job_launch l = {.nspace = (char *)nspace,
                           .spec = {.parent_nspace = "", .napps = 1, .apps = &app},
                           .universe = 1,
                           .nnodes = 1,
                           .nodes = &node,
                           .nranks = 1,
                           .rank_node = zero,
                           .rank_app = zero};

    pair_register(f->pmix, &l, on_done, f);
}

/* The second job has waited for longer than the limit at the end, but not since the last answer. */
static void do_slow(void)
{
    struct fix f;

    open_server(&f, 2000);
    stand_still(&f, 0);
    register_job(&f, "9.1");
    stand_still(&f, 1);
    register_job(&f, "9.2");
    clock_run_for(f.loop, 1900);
    open_gate(&f);
    await(&f, 1);
    clock_run_for(f.loop, 1900);
    EXPECT(f.told == 0 && f.done == 1);
    open_gate(&f);
    await(&f, 2);
    EXPECT(f.told == 0 && f.status == 0);
    close_server(&f);
}

static void an_answer_restarts_the_clock(void **state)
{
    in_child(do_slow);
}

static void do_nothing_asked(void)
{
    struct fix f;

    open_server(&f, 200);
    stand_still(&f, 0);
    EXPECT(!f.pmix->watch.armed);
    clock_run_for(f.loop, 600);
    EXPECT(f.told == 0);
    open_gate(&f);
    close_server(&f);
}

static void no_check_runs_without_a_pending_request_and_without_a_job(void **state)
{
    in_child(do_nothing_asked);
}

/* Its thread hangs in a request that is not ours. */
static void do_hang_elsewhere(void)
{
    struct fix f;

    open_server(&f, 300);
    register_job(&f, "9.1");
    await(&f, 1);
    EXPECT(f.status == 0);
    stand_still(&f, 0);
    clock_run_for(f.loop, 449); /* one look to make a request, and two at it */
    EXPECT(f.told == 0);
    clock_run_for(f.loop, 1);
    EXPECT(f.told == 1);
    EXPECT(strstr(f.why, ", 1 requests wait"));
    close_server(&f);
    open_gate(&f);
    PMIx_server_finalize();
}

static void a_thread_that_hangs_in_a_rank_s_request_is_found_while_a_job_is_there(void **state)
{
    in_child(do_hang_elsewhere);
}

static void on_modex(int status, const void *data, size_t len, void *arg)
{
    on_done(status, arg);
}

static void do_modex(void)
{
    struct fix f;

    open_server(&f, 200);
    register_job(&f, "9.1");
    await(&f, 1);
    pmix_srv_dmodex_serve(f.pmix, "9.1", 0, 0, on_modex, &f);
    for (int look = 0; look < 6; look++) {
        await_library(&f);
        clock_run_for(f.loop, 100);
    }
    EXPECT(f.told == 0 && f.done == 1);
    close_server(&f);
    EXPECT(f.done == 2);
}

static void a_rank_may_be_silent_for_as_long_as_it_likes(void **state)
{
    in_child(do_modex);
}

static void do_still(void)
{
    struct fix f;

    open_server(&f, 300);
    stand_still(&f, 0);
    register_job(&f, "9.1");
    clock_run_for(f.loop, 299);
    EXPECT(f.told == 0);
    clock_run_for(f.loop, 1);
    EXPECT(f.told == 1 && f.done == 0);
    EXPECT(strcmp(f.why, "libpmix has not answered for 300 ms, 2 requests wait for it") == 0);
    register_job(&f, "9.2");
    clock_run_for(f.loop, 900);
    EXPECT(f.told == 1);
    alarm(10);
    close_server(&f);
    EXPECT(f.done == 2 && f.status == PMIX_ERR_UNREACH);
    /* If its thread continues later, all objects that it uses still exist. */
    open_gate(&f);
    PMIx_server_finalize();
}

static void a_hung_thread_is_reported_once_and_not_waited_for_at_the_end(void **state)
{
    in_child(do_still);
}

static void on_given(void *arg)
{
}

static void on_put_off(void *arg)
{
    struct fix *f = arg;

    stand_still(f, 0);
    EXPECT(sem_post(&f->reached) == 0);
}

static void do_answer_put_off(void)
{
    struct fix f;

    open_server(&f, 300);
    handback_post(f.pmix, on_put_off, on_given, &f);
    EXPECT(sem_wait(&f.reached) == 0);
    clock_run_for(f.loop, 300);
    EXPECT(f.told == 1);
    EXPECT(strstr(f.why, ", 1 requests wait"));
    close_server(&f);
    open_gate(&f);
    PMIx_server_finalize();
}

static void an_answer_counts_until_the_library_has_done_its_deferred_work(void **state)
{
    in_child(do_answer_put_off);
}

static void do_answer_not_taken(void)
{
    struct fix f;

    open_server(&f, 300);
    stand_still(&f, 0);
    handback_post(f.pmix, on_given, on_given, NULL);
    clock_run_for(f.loop, 300);
    EXPECT(f.told == 1);
    EXPECT(strstr(f.why, ", 1 requests wait"));
    close_server(&f);
    open_gate(&f);
    PMIx_server_finalize();
}

static void an_answer_that_the_library_does_not_take_counts_too(void **state)
{
    in_child(do_answer_not_taken);
}

static void do_end(void)
{
    struct fix f;

    open_server(&f, 10); /* of real time: the end is no timer of the loop */
    stand_still(&f, 0);
    alarm(10);
    close_server(&f);
    _exit(f.told); /* one thread of this process is in the library's end for good */
}

static void an_end_that_does_not_come_is_left(void **state)
{
    in_child(do_end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_restarts_the_clock),
        cmocka_unit_test(no_check_runs_without_a_pending_request_and_without_a_job),
        cmocka_unit_test(a_thread_that_hangs_in_a_rank_s_request_is_found_while_a_job_is_there),
        cmocka_unit_test(a_rank_may_be_silent_for_as_long_as_it_likes),
        cmocka_unit_test(a_hung_thread_is_reported_once_and_not_waited_for_at_the_end),
        cmocka_unit_test(an_answer_counts_until_the_library_has_done_its_deferred_work),
        cmocka_unit_test(an_answer_that_the_library_does_not_take_counts_too),
        cmocka_unit_test(an_end_that_does_not_come_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
