/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives of the PMIx library between daemons.
 *
 * In: the contribution of this daemon, when all its participants have called; the core's outcome.
 * Out: the contribution to the core (core_gather()); the answer to the library.
 *
 * A collective is learning while jobs of its participants are not known here, then gathering until
 * the core has an outcome. A collective with a job that does not run is PMIX_ERR_NOT_FOUND. The
 * core ends each one that it was given: by all contributions, by its timeout, or by the loss of a
 * participant. It is kept until then: the kind of a collective says what a participant that has
 * ended means for it, and the owner is notified of each connect or disconnect that succeeds. */
#include "dvm/host/services/collectives.h"

#include "base/bitmap/bitmap.h"
#include "dvm/protocol/gather/gather.h"

#include <assert.h>
#include <hwloc/bitmap.h>
#include <pmix_common.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

static_assert(PMIX_SRV_RANK_ALL == GATHER_RANK_ALL && PMIX_SRV_RANK_NONE == GATHER_RANK_NONE,
              "the core reads the ranks of a signature");

struct collective {
    struct collectives *s;
    pmix_req req;
    char kind; /* of pmix_srv_upcalls.on_fence() */
    struct pmix_srv_proc *procs;
    size_t nprocs;
    struct buf data; /* until it is gathered */
    int timeout_s;
    struct collective *next, *prev;
};

struct collectives {
    const struct host_env *env;
    struct core *core;
    struct pmix_srv *pmix;
    const struct host_jobs *jobs;
    struct collectives_io io;
    struct collective *list;
};

static void free_collective(struct collective *c)
{
    DL_DELETE(c->s->list, c);
    buf_free(&c->data);
    free(c->procs);
    free(c);
}

/* --- participants */

/* False if the daemon is no longer a member in the epoch that has the ranks. */
static bool add_daemon(const struct collectives *s, const struct job_node *n, hwloc_bitmap_t set)
{
    bitmap_set(set, n->vpid);
    return core_live_in(s->core, n->vpid, n->epoch);
}

static void add_participant(const struct collectives *s, const struct pmix_srv_proc *p,
                            const struct job_launch *l, hwloc_bitmap_t set, bool *lost)
{
    if (p->rank == PMIX_RANK_WILDCARD) {
        for (size_t i = 0; i < l->nnodes; i++)
            *lost |= !add_daemon(s, &l->nodes[i], set);
    } else if (p->rank < l->nranks) {
        *lost |= !add_daemon(s, &l->nodes[l->rank_node[p->rank]], set);
    }
}

static uint32_t *list_vpids(hwloc_const_bitmap_t set, size_t *n)
{
    uint32_t *list = xcalloc((size_t)hwloc_bitmap_weight(set) + 1, sizeof(*list));
    unsigned v;

    *n = 0;
    hwloc_bitmap_foreach_begin(v, set)
    {
        list[(*n)++] = v;
    }
    hwloc_bitmap_foreach_end();
    return list;
}

/* Daemons of the participants, ascending; NULL if a job is not known here. */
static uint32_t *list_daemons(const struct collective *c, size_t *n, bool *lost)
{
    hwloc_bitmap_t set = bitmap_alloc();
    uint32_t *list = NULL;
    bool known = true;

    for (size_t i = 0; i < c->nprocs; i++) {
        const struct job_launch *l = host_job_find(c->s->jobs, c->procs[i].nspace);

        if (c->procs[i].rank == PMIX_SRV_RANK_NONE)
            continue; /* a group's name, part of the signature only */
        known &= l != NULL;
        if (l)
            add_participant(c->s, &c->procs[i], l, set, lost);
    }
    *n = 0;
    if (known)
        list = list_vpids(set, n);
    hwloc_bitmap_free(set);
    return list;
}

/* The same bytes on every daemon: the kind, then the name and rank of each participant. */
static void put_signature(struct buf *sig, const struct collective *c)
{
    buf_init(sig, PMIX_SRV_BLOB_MAX);
    buf_put_u8(sig, (uint8_t)c->kind);
    for (size_t i = 0; i < c->nprocs; i++) {
        buf_put_raw(sig, c->procs[i].nspace, strlen(c->procs[i].nspace) + 1);
        buf_put_u32(sig, c->procs[i].rank);
    }
}

/* --- phases of a collective */

static void gather_contributions(struct collective *c)
{
    struct collectives *s = c->s;
    struct gather_call call = {.req = c->req, .data = c->data.data, .len = c->data.len};
    FREE_AUTO uint32_t *vpids = list_daemons(c, &call.n, &call.lost);
    BUF_AUTO struct buf sig = {0};

    if (!vpids || call.n == 0) {
        pmix_srv_answer(s->pmix, c->req, PMIX_ERR_NOT_FOUND, NULL, 0);
        free_collective(c);
        return;
    }
    put_signature(&sig, c);
    call.vpids = vpids;
    call.sig = sig.data;
    call.siglen = sig.len;
    call.timeout_ms = c->timeout_s > 0 ? (uint64_t)c->timeout_s * 1000 : 0;
    core_gather(s->core, &call);
    buf_free(&c->data);
}

static void on_participants_known(bool known, void *waiter)
{
    struct collective *c = waiter;
    const struct host_env *env = c->s->env;

    host_enter(env);
    if (known) {
        gather_contributions(c);
    } else {
        pmix_srv_answer(c->s->pmix, c->req, PMIX_ERR_NOT_FOUND, NULL, 0);
        free_collective(c);
    }
    host_drain(env);
}

void collectives_join(struct collectives *s, pmix_req req, char kind,
                      const struct pmix_srv_proc *procs, size_t nprocs, const void *data,
                      size_t len, int timeout_s)
{
    struct collective *c = xcalloc(1, sizeof(*c));

    *c = (struct collective){
        .s = s, .req = req, .kind = kind, .nprocs = nprocs, .timeout_s = timeout_s};
    c->procs = xcalloc(nprocs + 1, sizeof(*c->procs));
    memcpy(c->procs, procs, nprocs * sizeof(*procs));
    buf_init(&c->data, PMIX_SRV_BLOB_MAX);
    buf_put_raw(&c->data, data, len);
    DL_APPEND(s->list, c);
    host_jobs_learn(s->jobs, c->procs, nprocs, on_participants_known, c);
}

static bool makes_group(const struct collective *c)
{
    return c->kind == 'g' && c->procs[c->nprocs - 1].nspace[0] == 'C';
}

/* A group is not made without those of its members that have ended. */
static int status_of(int outcome, const struct collective *c)
{
    if (outcome == GATHER_OK || (outcome == GATHER_ENDED && !makes_group(c)))
        return PMIX_SUCCESS;
    return outcome == GATHER_TIMEOUT ? PMIX_ERR_TIMEOUT : PMIX_ERR_PROC_ABORTED;
}

void collectives_ended(struct collectives *s, pmix_req req, int outcome, const void *data,
                       size_t len)
{
    struct collective *c;
    int status;

    DL_SEARCH_SCALAR(s->list, c, req, req);
    if (!c)
        return;
    status = status_of(outcome, c);
    if (status == PMIX_SUCCESS && c->kind == 'c')
        s->io.connected(c->procs, c->nprocs, s->io.arg);
    else if (status == PMIX_SUCCESS && c->kind == 'd')
        s->io.disconnected(c->procs, c->nprocs, s->io.arg);
    free_collective(c);
    pmix_srv_answer(s->pmix, req, status, data, len);
}

/* --- construction and destruction */

struct collectives *collectives_create(const struct host_env *env, struct core *core,
                                       struct pmix_srv *pmix, const struct host_jobs *jobs,
                                       const struct collectives_io *io)
{
    struct collectives *s = xcalloc(1, sizeof(*s));

    *s = (struct collectives){.env = env, .core = core, .pmix = pmix, .jobs = jobs, .io = *io};
    return s;
}

void collectives_destroy(struct collectives *s)
{
    if (!s)
        return;
    while (s->list)
        free_collective(s->list);
    free(s);
}
