/* SPDX-License-Identifier: BSD-3-Clause */
/* Submitters of jobs, and the ranks that run: what a schedule and the checker ask about them. */
#include "dvm/protocol/core/core_inspect.h"
#include "dvm/sim/sim_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t sim_submit(struct sim *s, uint32_t vpid, uint32_t ranks, uint64_t run_ms, int code)
{
    struct sim_want w = {.ranks = ranks, .run_ms = run_ms, .code = code};

    return sim_submit_job(s, vpid, &w);
}

static void await_start(struct sim *s, uint32_t vpid, const struct sim_want *w,
                        const struct sim_job *j)
{
    struct rank_proc *p;

    DL_FOREACH(s->procs, p)
    {
        if (p->vpid == vpid && p->rank == w->rank && strcmp(p->nspace, w->parent) == 0)
            p->spawns = j;
    }
}

bool sim_in_spawn(const struct sim *s, const struct rank_proc *p)
{
    const struct sim_job *j = p->spawns;

    return j && !j->done && !j->gone && j->state < JOB_STARTED;
}

size_t sim_submit_job(struct sim *s, uint32_t vpid, const struct sim_want *w)
{
    char ms[32];
    char exit_code[32];
    char *argv[] = {ms, exit_code, w->loses ? "lost" : NULL, NULL};
    char *env[] = {NULL};
    struct job_app app = {
        .argv = argv, .env = env, .cwd = w->absent ? SIM_ABSENT : "/", .nprocs = w->ranks};
    char *files[SIM_FILES_MAX] = {w->full ? SIM_FULL : "in", "dir/in", "prog"};
    struct job_spec spec = {.flags = w->flags,
                            .timeout_ms = w->timeout_ms,
                            .map_by = w->map_by,
                            .level = JOB_LEVEL_NODE,
                            .ppr = w->ppr,
                            .nhosts = w->nhosts,
                            .hosts = (uint32_t *)w->hosts,
                            .nfiles = w->nfiles,
                            .files = files,
                            .stop = w->stop,
                            .stop_rank = w->stop_rank,
                            .napps = 1,
                            .apps = &app,
                            .parent_nspace = (char *)(w->parent ? w->parent : ""),
                            .stdin_rank = JOB_RANK_NONE};
    size_t index = s->njobs++;

    if (w->awaited)
        await_start(s, vpid, w, &s->jobs[index]);
    s->jobs[index].home = vpid;
    s->jobs[index].home_life = s->nodes[vpid].life;
    s->jobs[index].home_epoch = core_inspect_epoch(s->nodes[vpid].core);

    snprintf(ms, sizeof(ms), "%llu", (unsigned long long)w->run_ms);
    snprintf(exit_code, sizeof(exit_code), "%d", w->code);
    s->jobs[index].nfiles = w->nfiles;
    s->jobs[index].reads_at = UINT64_MAX;
    sim_clock(s, vpid);
    files_source(s->nodes[vpid].files, (uint32_t)index, w->nfiles);
    core_submit(s->nodes[vpid].core, (uint32_t)index, &spec);
    sim_drain(s, vpid);
    return index;
}

const struct sim_job *sim_job(const struct sim *s, size_t index)
{
    return &s->jobs[index];
}

uint32_t sim_job_home(const struct sim *s, size_t index)
{
    return s->jobs[index].home;
}

bool sim_job_waits(const struct sim *s, size_t index)
{
    const struct sim_job *j = &s->jobs[index];

    return !j->gone && sim_running(s, j->home) && s->nodes[j->home].life == j->home_life;
}

void sim_job_forget(struct sim *s, size_t index)
{
    s->jobs[index].gone = true;
    if (s->jobs[index].nfiles && sim_running(s, s->jobs[index].home))
        files_client_gone(s->nodes[s->jobs[index].home].files, (uint32_t)index);
}

size_t sim_unheld(const struct sim *s, const char *nspace)
{
    const struct rank_proc *p;
    size_t n = 0;

    DL_FOREACH(s->procs, p)
    {
        n += p->stops_at != UINT64_MAX && strcmp(p->nspace, nspace) == 0;
    }
    return n;
}

size_t sim_ranks(const struct sim *s, uint32_t vpid)
{
    return s->nodes[vpid].nprocs;
}

bool sim_some_rank(struct sim *s, uint32_t vpid, const char **nspace, uint32_t *rank)
{
    uint64_t left = sim_random(s, s->nodes[vpid].nprocs);
    const struct rank_proc *p;

    DL_FOREACH(s->procs, p)
    {
        if (p->vpid != vpid || left-- > 0) /* as many go before it */
            continue;
        *nspace = p->nspace;
        *rank = p->rank;
        return true;
    }
    return false;
}

bool sim_rank_lives(const struct sim *s, uint32_t vpid, const char *nspace, uint32_t rank)
{
    const struct rank_proc *p;

    DL_FOREACH(s->procs, p)
    {
        if (p->vpid == vpid && p->rank == rank && strcmp(p->nspace, nspace) == 0)
            return true;
    }
    return false;
}
