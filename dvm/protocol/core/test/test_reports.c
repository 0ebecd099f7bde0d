/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports of daemons about their ranks: the head counts each once, in any order and with
 * repetitions; and all of them are sent again when the head asks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/core/test/dvm.h"
#include "dvm/protocol/wire/msg/msg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBERS 2
#define FRAME_SEQ_AT 40 /* in the header, eight bytes */
#define CLIENT 7        /* also its place among the simulator's jobs */

/* A head and two members with two slots each; a job of four has ranks 0 and 1 on vpid 1. */
struct world {
    struct sim *sim;
    bool brief;          /* rank 0 ends before others are started, */
    int status;          /* with this */
    bool half;           /* vpid 2 hangs when ranks are to start */
    struct buf launched; /* the last report of vpid 1 that has reached the head, and its path */
    uint64_t launched_conn;
    uint64_t conn; /* the last link by which vpid 1 got a message of the head */
    bool asked;
    char told[512]; /* by vpid 1 since then, one name for each message */
};

static struct core *core_of(struct world *w, uint32_t vpid)
{
    return sim_core(w->sim, vpid);
}

static void __attribute__((format(printf, 2, 3))) note(struct world *w, const char *fmt, ...)
{
    size_t len = strlen(w->told);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(w->told + len, sizeof(w->told) - len, fmt, ap);
    va_end(ap);
}

static void note_ranks(struct world *w, const struct msg_ranks *m)
{
    for (size_t i = 0; i < m->nranks; i++)
        note(w, " %u:%d", m->ranks[i].rank, m->ranks[i].value);
}

static void note_told(struct world *w, const struct frame *f, struct cur *c)
{
    struct msg m;

    assert_int_equal(msg_decode(c, f->type, &m, NULL), 0);
    note(w, "%s", msg_name(f->type));
    if (f->type == MSG_REPORT)
        note(w, " %llu", (unsigned long long)m.report.version);
    if (f->type == MSG_LOCAL_JOB)
        note(w, " %u on %zu, epoch %llu", m.local_job.map.nranks, m.local_job.map.nnodes,
             (unsigned long long)m.local_job.map.nodes[0].epoch);
    if (f->type == MSG_LAUNCHED)
        note_ranks(w, &m.launched);
    if (f->type == MSG_EXITED)
        note_ranks(w, &m.exited);
    note(w, "; ");
    msg_free(&m);
}

static void on_frame(void *arg, uint32_t vpid, uint64_t conn, const uint8_t *data, size_t len)
{
    struct world *w = arg;
    struct cur c = cur_of(data, len);
    struct frame f;

    if (frame_decode(&c, &f, NULL) < 0)
        return;
    if (vpid == 1 && f.src == 0)
        w->conn = conn;
    if (vpid == 0 && f.src == 1 && f.type > MSG_RACK && w->asked)
        note_told(w, &f, &c);
    if (vpid != 0 || f.type != MSG_LAUNCHED || f.src != 1)
        return;
    buf_free(&w->launched);
    buf_init(&w->launched, 1u << 20);
    buf_put_raw(&w->launched, data, len);
    w->launched_conn = conn;
}

static bool is_start(const struct out_act *act)
{
    struct cur c = cur_of(act->send.frame.data, act->send.frame.len);
    struct frame f;

    return frame_decode(&c, &f, NULL) == 0 && f.type == MSG_START;
}

static void on_action(void *arg, uint32_t vpid, const struct out_act *act)
{
    struct world *w = arg;

    if (act->kind == OUT_SEND && w->half && is_start(act))
        sim_stop(w->sim, 2, true);
    if (act->kind != OUT_START || vpid != 1 || !w->brief)
        return;
    core_proc(core_of(w, 1), act->start.nspace, 0, CORE_PROC_RUNNING, 99, NULL);
    core_proc(core_of(w, 1), act->start.nspace, 0, CORE_PROC_IOF_COMPLETE, 0, NULL);
    core_proc(core_of(w, 1), act->start.nspace, 0, CORE_PROC_WAITPID, w->status, NULL);
}

static struct world *world_new(void)
{
    struct dvm_shape shape = {.members = MEMBERS, .started = MEMBERS, .slots = 2};
    struct world *w = xcalloc(1, sizeof(*w));
    struct sim_hooks h = {.arg = w, .frame = on_frame, .action = on_action};

    w->sim = dvm_boot(&shape);
    sim_watch(w->sim, &h);
    sim_for(w->sim, 500);
    return w;
}

static void world_free(struct world *w)
{
    sim_destroy(w->sim);
    buf_free(&w->launched);
    free(w);
}

static void settle(struct world *w, uint32_t vpid)
{
    sim_drain(w->sim, vpid);
    sim_for(w->sim, 100);
}

static void submit(struct world *w, char *ms)
{
    char *argv[] = {ms, "0", NULL};
    char *env[] = {NULL};
    struct job_app app = {.argv = argv, .env = env, .cwd = "/", .nprocs = 4};
    struct job_spec spec = {.napps = 1, .apps = &app, .parent_nspace = ""};

    core_submit(core_of(w, 0), CLIENT, &spec);
    settle(w, 0);
}

static void assert_state(struct world *w, enum job_state state)
{
    struct api_dvm view;
    enum api_reason reason;

    assert_int_equal(core_dvm(core_of(w, 0), &view, &reason, NULL), 0);
    assert_int_equal(view.njobs, 1);
    assert_int_equal(view.jobs[0].state, state);
    api_dvm_free(&view);
}

/* Two of four ranks have started; their daemon reports it again, in another message. */
static void a_rank_that_is_reported_twice_is_counted_once(void **state)
{
    struct world *w = world_new();

    w->half = true;
    submit(w, "100000");
    assert_state(w, JOB_STARTED);
    w->launched.data[FRAME_SEQ_AT + 7]++;
    core_conn_frame(core_of(w, 0), w->launched_conn, w->launched.data, w->launched.len);
    settle(w, 0);
    assert_state(w, JOB_STARTED);
    sim_stop(w->sim, 2, false);
    settle(w, 2);
    assert_state(w, JOB_RUNNING);
    world_free(w);
}

static void a_rank_that_ends_before_its_neighbour_starts_has_started(void **state)
{
    struct world *w = world_new();

    w->brief = true;
    submit(w, "100000");
    assert_state(w, JOB_RUNNING);
    world_free(w);
}

static void ask(struct world *w)
{
    struct core *c = core_of(w, 1);
    struct frame f = {.traffic = CLASS_CONTROL,
                      .type = MSG_ASK,
                      .src = 0,
                      .dst = 1,
                      .src_epoch = core_inspect_epoch(core_of(w, 0)),
                      .dst_ctr = (uint32_t)core_inspect_epoch(c).ctr,
                      .version = core_stats(c).version,
                      .seq = 1};
    BUF_AUTO struct buf b = {0};

    buf_init(&b, FRAME_HEADER_BYTES);
    frame_encode(&b, &f);
    w->asked = true;
    core_conn_frame(c, w->conn, b.data, b.len);
    settle(w, 1);
    w->asked = false;
}

static bool is_done(struct sim *s, void *arg)
{
    return sim_job(s, CLIENT)->done;
}

/* A head that had all reports has counted nothing twice. */
static void a_daemon_reports_its_jobs_and_the_states_of_their_ranks_when_asked(void **state)
{
    struct world *w = world_new();
    char all[256];

    w->brief = true;
    submit(w, "5000");
    ask(w);
    snprintf(all, sizeof(all),
             "REPORT %llu; LOCAL_JOB 4 on 2, epoch %llu; READY; LAUNCHED 0:99 1:1; EXITED 0:0; ",
             (unsigned long long)core_stats(core_of(w, 1)).version,
             (unsigned long long)core_inspect_epoch(core_of(w, 1)).ctr);
    assert_string_equal(w->told, all);
    assert_state(w, JOB_RUNNING);
    assert_true(sim_until(w->sim, is_done, NULL, 60000));
    assert_int_equal(sim_job(w->sim, CLIENT)->exit_code, 0);
    assert_int_equal(core_stats(core_of(w, 0)).jobs_ended, 1);
    world_free(w);
}

static void a_rank_that_fails_before_its_neighbour_starts_is_reported_with_its_pid(void **state)
{
    struct world *w = world_new();

    w->brief = true;
    w->status = 3 << 8;
    submit(w, "100000");
    assert_true(sim_until(w->sim, is_done, NULL, 60000));
    assert_int_equal(sim_job(w->sim, CLIENT)->exit_code, 3);
    assert_string_equal(sim_job(w->sim, CLIENT)->text,
                        "rank 0 on node1 (vpid 1) exited with code 3, pid 99");
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_that_is_reported_twice_is_counted_once),
        cmocka_unit_test(a_rank_that_ends_before_its_neighbour_starts_has_started),
        cmocka_unit_test(a_rank_that_fails_before_its_neighbour_starts_is_reported_with_its_pid),
        cmocka_unit_test(a_daemon_reports_its_jobs_and_the_states_of_their_ranks_when_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
