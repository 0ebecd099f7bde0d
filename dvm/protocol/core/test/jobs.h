/* SPDX-License-Identifier: BSD-3-Clause */
/* The tests of jobs: a DVM of simulated daemons with one client, and the actions of its drivers. */
#ifndef DVM_CORE_TEST_JOBS_H
#define DVM_CORE_TEST_JOBS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/log/log.h"
#include "dvm/protocol/core/core_private.h"
#include "dvm/protocol/core/test/dvm.h"
#include "dvm/protocol/head/head.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBERS 3
#define CLIENT 7 /* also its place among the simulator's jobs */

/* A head and three members with two slots each, and the actions of their drivers. */
struct dvm {
    struct sim *sim;
    int64_t signalled[MEMBERS + 1]; /* the last signal for ranks */
    int64_t grace[MEMBERS + 1];     /* of the last end of ranks, -1: none */
    bool ended[MEMBERS + 1];        /* the job's end was reported */
    char app[MEMBERS + 1][32];      /* the last message for a module */
    int64_t fail_rank;              /* this daemon's ranks cannot start; -1: all can */
    uint64_t stdin_for;
    unsigned nstarts; /* daemons that got the action to start waiting ranks */
    unsigned nerrors; /* lines of the log */
};

static inline void on_action(void *arg, uint32_t vpid, const struct out_act *act)
{
    struct dvm *d = arg;

    d->nstarts += act->kind == OUT_START;
    d->nerrors += act->kind == OUT_LOG && act->log.level == LOG_LEVEL_ERROR;
    if (act->kind == OUT_SIGNAL)
        d->signalled[vpid] = act->signal.signum;
    if (act->kind == OUT_END_RANKS)
        d->grace[vpid] = (int64_t)act->end_ranks.grace_ms;
    if (act->kind == OUT_JOB_ENDED)
        d->ended[vpid] = true;
    if (act->kind == OUT_STDIN)
        d->stdin_for = act->input.client;
    if (act->kind == OUT_APP)
        snprintf(d->app[vpid], sizeof(d->app[vpid]), "%u %u %.*s", act->app.from, act->app.kind,
                 (int)act->app.data.len, (const char *)act->app.data.data);
    if (act->kind == OUT_CREATE && d->fail_rank >= 0)
        core_proc(sim_core(d->sim, vpid), act->create.nspace, (uint32_t)d->fail_rank,
                  CORE_PROC_FAILED, ENOENT, "exec of prog");
}

/* Frames take 1..delay_ms; 0: dvm.h's default. */
static inline struct dvm *dvm_new_delayed(uint64_t delay_ms)
{
    struct dvm_shape shape = {
        .members = MEMBERS, .started = MEMBERS, .slots = 2, .delay_ms = delay_ms};
    struct dvm *d = xcalloc(1, sizeof(*d));
    struct sim_hooks h = {.arg = d, .action = on_action};

    d->sim = dvm_boot(&shape);
    d->fail_rank = -1;
    sim_watch(d->sim, &h);
    for (uint32_t v = 0; v <= MEMBERS; v++)
        d->grace[v] = -1;
    sim_for(d->sim, 500);
    return d;
}

static inline struct dvm *dvm_new(void)
{
    return dvm_new_delayed(0);
}

static inline void dvm_free(struct dvm *d)
{
    sim_destroy(d->sim);
    free(d);
}

static inline struct core *core_of(struct dvm *d, uint32_t vpid)
{
    return sim_core(d->sim, vpid);
}

static inline void settle(struct dvm *d, uint32_t vpid)
{
    sim_drain(d->sim, vpid);
    sim_for(d->sim, 100);
}

/* Ranks that run for `ms` and exit with `code`. */
static inline void submit(struct dvm *d, uint32_t vpid, uint32_t ranks, const char *ms,
                          const char *code, struct job_spec spec)
{
    char *argv[] = {(char *)ms, (char *)code, NULL};
    char *env[] = {NULL};
    struct job_app app = {.argv = argv, .env = env, .cwd = "/", .nprocs = ranks};

    spec.napps = 1;
    spec.apps = &app;
    spec.parent_nspace = "";
    core_submit(core_of(d, vpid), CLIENT, &spec);
    settle(d, vpid);
}

static const struct sim_job *job(struct dvm *d)
{
    return sim_job(d->sim, CLIENT);
}

static inline bool is_done(struct sim *s, void *arg)
{
    return sim_job(s, CLIENT)->done;
}

static inline void assert_ends(struct dvm *d, int code, const char *text)
{
    assert_true(sim_until(d->sim, is_done, NULL, 60000));
    assert_int_equal(job(d)->exit_code, code);
    if (!strstr(job(d)->text, text))
        fail_msg("'%s' does not say '%s'", job(d)->text, text);
    sim_for(d->sim, 5000);
    for (uint32_t v = 1; v <= MEMBERS; v++)
        assert_int_equal(sim_ranks(d->sim, v), 0);
}

static inline void assert_state(struct dvm *d, enum job_state state)
{
    struct api_dvm view;
    enum api_reason reason;

    assert_int_equal(core_dvm(core_of(d, 0), &view, &reason, NULL), 0);
    assert_int_equal(view.njobs, 1);
    assert_int_equal(view.jobs[0].state, state);
    api_dvm_free(&view);
}

static const struct job_spec plain;

#endif
