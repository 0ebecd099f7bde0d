/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives among members: each participant sees each outcome once, and all see the same one.
 *
 * In: collectives that the schedule begins (check_gather()), its decision when a participant
 * contributes (check_gather_go()), the action GATHER. Out: failures of gather-outcome.
 *
 * A collective has rounds with one signature. A participant contributes to a round after it has
 * seen the outcome of the round before. Its contribution names the collective, the round and
 * itself, so the result of a successful round shows whether every part is in it once.
 *
 * Invariants: an outcome comes only to a participant that has contributed, in its epoch, once for
 * each round. At rest no participant that is still a member has a round left.
 *
 * Limits: at most PEERS_MAX participants and ROUNDS_MAX rounds; further ones are dropped. If the
 * first participant is no member any more, outcomes may differ: it decides, and some peers may know
 * its decision already. */
#include "dvm/sim/check_private.h"

#include "dvm/protocol/gather/gather.h"

#include <stdlib.h>
#include <string.h>

#define PEERS_MAX 64u
#define ROUNDS_MAX 4u

struct part { /* contribution of each member */
    uint64_t id;
    uint32_t round, peer;
};

struct outcome {
    bool known;
    int64_t status;
};

struct seen_gather { /* collectives of one signature, one after the other */
    uint64_t id;
    uint32_t n, rounds;
    struct epoch head; /* this head's table of that version is known to every participant, as a */
    uint64_t version;  /* launch message ensures: that of a former head is another one */
    bool unsure;       /* an heir's records may lack the end of a participant */
    uint32_t vpids[PEERS_MAX];
    struct epoch lives[PEERS_MAX];
    uint64_t procs[PEERS_MAX]; /* of the same epoch: a head may end before anybody knows it */
    uint32_t begun[PEERS_MAX], ended[PEERS_MAX];
    struct outcome ends[ROUNDS_MAX];
    UT_hash_handle hh;
};

static bool is_alive(const struct check *c, const struct seen_gather *g, uint32_t i)
{
    const struct core *x = sim_core(c->sim, g->vpids[i]);

    return x && epoch_eq(core_inspect_epoch(x), g->lives[i]) &&
           sim_life(c->sim, g->vpids[i]) == g->procs[i];
}

/* The same before this input, in which it may have given its epoch up. */
static bool was_alive(const struct check *c, const struct seen_gather *g, uint32_t i)
{
    return sim_core(c->sim, g->vpids[i]) && sim_life(c->sim, g->vpids[i]) == g->procs[i] &&
           epoch_eq(c->nodes[g->vpids[i]].settled, g->lives[i]);
}

/* The participant is a member by the head's table, in its epoch. */
static bool is_member(const struct check *c, const struct seen_gather *g, uint32_t i)
{
    const struct core *head = sim_head(c->sim);

    return head && is_alive(c, g, i) &&
           members_current(core_inspect_members(head), g->vpids[i], g->lives[i]);
}

void check_gather(struct check *c, const uint32_t *vpids, uint32_t n, uint32_t rounds)
{
    struct seen_gather *g = xcalloc(1, sizeof(*g));

    g->id = ++c->ngathers;
    g->head = core_inspect_epoch(sim_head(c->sim));
    g->version = core_stats(sim_head(c->sim)).version;
    g->rounds = rounds < ROUNDS_MAX ? rounds : ROUNDS_MAX;
    for (uint32_t i = 0; i < n && g->n < PEERS_MAX; i++) {
        g->vpids[g->n] = vpids[i];
        g->procs[g->n] = sim_life(c->sim, vpids[i]);
        g->lives[g->n++] = core_inspect_epoch(sim_core(c->sim, vpids[i]));
    }
    HASH_ADD(hh, c->gathers, id, sizeof(g->id), g);
}

static void note_contribution(struct check *c, struct seen_gather *g, uint32_t i,
                              uint64_t timeout_ms)
{
    struct core *x = sim_core(c->sim, g->vpids[i]);
    struct part part = {g->id, g->begun[i], i};
    struct gather_call call = {.req = g->id << 16 | (uint64_t)i << 4 | g->begun[i],
                               .sig = &g->id,
                               .siglen = sizeof(g->id),
                               .n = g->n,
                               .vpids = g->vpids,
                               .data = &part,
                               .len = sizeof(part),
                               .timeout_ms = timeout_ms};

    for (uint32_t k = 0; k < g->n; k++)
        call.lost |= !core_live_in(x, g->vpids[k], g->lives[k].ctr);
    g->begun[i]++;
    sim_clock(c->sim, g->vpids[i]);
    core_gather(x, &call);
    sim_drain(c->sim, g->vpids[i]);
}

static bool is_ready(const struct check *c, const struct seen_gather *g, uint32_t i)
{
    const struct core *x = is_alive(c, g, i) ? sim_core(c->sim, g->vpids[i]) : NULL;

    return x && !sim_stopped(c->sim, g->vpids[i]) && core_state(x) == CORE_WIRED &&
           c->nodes[g->vpids[i]].head.ctr >= g->head.ctr && core_stats(x).version >= g->version;
}

void check_gather_go(struct check *c, bool (*now)(void *arg, uint64_t *timeout_ms), void *arg)
{
    struct seen_gather *g, *tmp;

    HASH_ITER(hh, c->gathers, g, tmp)
    {
        for (uint32_t i = 0; i < g->n; i++) {
            uint64_t timeout_ms = 0;

            if (g->begun[i] < g->rounds && g->ended[i] == g->begun[i] && is_ready(c, g, i) &&
                now(arg, &timeout_ms))
                note_contribution(c, g, i, timeout_ms);
        }
    }
}

static void check_data(struct check *c, const struct seen_gather *g, uint32_t round,
                       const struct out_gather *act)
{
    uint64_t seen = 0;
    struct part part;

    for (size_t at = 0; at + sizeof(part) <= act->data.len; at += sizeof(part)) {
        memcpy(&part, act->data.data + at, sizeof(part));
        if (part.id == g->id && part.round == round && part.peer < g->n)
            seen |= UINT64_C(1) << part.peer;
    }
    if (act->data.len != g->n * sizeof(part) || seen != UINT64_MAX >> (64 - g->n))
        check_fail(c, "gather-outcome", "collective %llu.%u: %zu bytes, of %u each is to give %zu",
                   (unsigned long long)g->id, round, act->data.len, g->n, sizeof(part));
}

void check_gathered(struct check *c, uint32_t vpid, const struct out_gather *act)
{
    uint64_t id = act->req >> 16;
    uint32_t i = act->req >> 4 & 0xfff;
    uint32_t round = act->req & 0xf;
    struct seen_gather *g;
    struct outcome *end;

    HASH_FIND(hh, c->gathers, &id, sizeof(id), g);
    if (!g || i >= g->n || g->vpids[i] != vpid || !(is_alive(c, g, i) || was_alive(c, g, i)) ||
        round >= g->begun[i] || round != g->ended[i]) {
        check_fail(c, "gather-outcome", "vpid %u hears of collective %llu.%u, not asked or again",
                   vpid, (unsigned long long)id, round);
        return;
    }
    g->ended[i]++;
    end = &g->ends[round];
    if (act->outcome == GATHER_OK)
        check_data(c, g, round, act);
    if (!end->known)
        *end = (struct outcome){true, act->outcome};
    else if (end->status != act->outcome && is_member(c, g, 0) && !g->unsure)
        /* else the decider was lost, by the records of an heir or of one before: some knew more */
        check_fail(
            c, "gather-outcome", "collective %llu.%u ends with %lld at vpid %u, elsewhere %lld",
            (unsigned long long)id, round, (long long)act->outcome, vpid, (long long)end->status);
}

void check_gather_rest(struct check *c)
{
    struct seen_gather *g, *tmp;

    HASH_ITER(hh, c->gathers, g, tmp)
    {
        for (uint32_t i = 0; i < g->n && !g->unsure; i++) {
            if (is_member(c, g, i) && g->ended[i] < g->rounds)
                check_fail(c, "gather-outcome", "vpid %u waits for collective %llu.%u", g->vpids[i],
                           (unsigned long long)g->id, g->ended[i]);
        }
    }
}

void check_gather_unsure(struct check *c)
{
    struct seen_gather *g, *tmp;

    HASH_ITER(hh, c->gathers, g, tmp)
    {
        g->unsure = true;
    }
}

void check_gather_free(struct check *c)
{
    struct seen_gather *g, *tmp;

    HASH_ITER(hh, c->gathers, g, tmp)
    {
        HASH_DEL(c->gathers, g);
        free(g);
    }
}
