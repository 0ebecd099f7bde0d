/* SPDX-License-Identifier: BSD-3-Clause */
/* The tests of jobs that no record has: all records are lost with the head and its keepers. */
#ifndef DVM_CORE_TEST_ADOPTION_H
#define DVM_CORE_TEST_ADOPTION_H

#include "dvm/protocol/core/core_private.h"
#include "dvm/protocol/core/local_private.h"
#include "dvm/protocol/core/test/keepers.h"
#include "dvm/protocol/wire/exit_code.h"

#define FIRST 3 /* vpids from here on outlive the keepers */

static inline uint64_t current_incarnation(struct sim *s)
{
    return core_inspect_epoch(sim_core(s, 0)).inc;
}

/* The head ends with its keepers, vpids 1 and 2. */
static inline void lose_records(struct sim *s)
{
    for (uint32_t v = 0; v < FIRST; v++)
        sim_crash(s, v);
}

static inline void start_head(struct sim *s, uint64_t before)
{
    sim_start(s, 0);
    assert_true(sim_until(s, is_head, NULL, 30000));
    assert_true(core_inherited(sim_core(s, 0)) && current_incarnation(s) == before);
}

static inline void replace_all(struct sim *s)
{
    uint64_t before = current_incarnation(s);

    lose_records(s);
    start_head(s, before);
}

/* On vpids 4 to 6, with its client at vpid 5. */
static inline struct sim_want job_beside_keepers(uint32_t ranks, uint64_t run_ms, int code)
{
    return (struct sim_want){
        .ranks = ranks, .run_ms = run_ms, .code = code, .nhosts = 3, .hosts = {4, 5, 6}};
}

static inline size_t submit_beside_keepers(struct sim *s, uint32_t ranks, uint64_t run_ms, int code)
{
    struct sim_want x = job_beside_keepers(ranks, run_ms, code);

    return sim_submit_job(s, 5, &x);
}

/* The launch as this daemon will report it. */
static inline struct job_launch *launch_at(struct sim *s, uint32_t vpid, size_t job)
{
    return (struct job_launch *)local_find(sim_core(s, vpid), sim_job(s, job)->nspace)->launch;
}

static inline void add_node(struct job_launch *l, uint32_t vpid, uint64_t epoch)
{
    l->nodes = xrealloc(l->nodes, (l->nnodes + 1) * sizeof(*l->nodes));
    l->nodes[l->nnodes++] = (struct job_node){vpid, epoch, xstrdup("node")};
}

/* It is reported as that job, of the same client. */
static inline void forge_name(struct job_launch *l, const struct job_launch *as, uint32_t universe)
{
    l->files_vpid = l->home_vpid = as->files_vpid;
    l->files_client = l->home_client = as->files_client;
    l->universe += universe;
    memcpy(l->nspace, as->nspace, strlen(l->nspace));
}

#endif
