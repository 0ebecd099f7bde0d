/* SPDX-License-Identifier: BSD-3-Clause */
/* The mapper: distributes the ranks of a job over daemons and over the parts of their machines.
 *
 * In: the specification of the job; the nodes with their slots, the slots in use, CPUs and load.
 * Out: for each rank a node and, if it is bound, hardware threads; or a result and a reason.
 *
 * Steps: bind_plan() decides on what and whether to bind (bind.c). open_bin() computes how many
 * ranks each node can take. deal_ranks() gives out places in the order of --map-by: by slot, by
 * node, by ppr, or by object. bind_rest() binds the ranks that are bound if there is room.
 * rank_order() numbers the places (rank.c).
 *
 * A job that does not fit is mapped a second time, on the same nodes without any other job. If it
 * fits there, the result is "not now", else "never". The first obstacle beside slots is the reason.
 *
 * Invariants: a node gets no more ranks than its slots allow, except for tools and oversubscribed
 * jobs. Nodes that --host does not name, and nodes without slots, get none. An attempt works on
 * copies of the load, so a failed one leaves nothing behind.
 *
 * Limits: JOB_RANKS_MAX ranks; an app without a number of ranks gets at most as many. The cost
 * grows with ranks and nodes. It does not know members or epochs: job_map.c chooses the nodes. */
#include "dvm/protocol/map/map_private.h"

#include "dvm/protocol/map/level.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void map_work_why(struct work *w, const char *fmt, ...)
{
    va_list ap;

    if (w->why[0])
        return;
    va_start(ap, fmt);
    vsnprintf(w->why, sizeof(w->why), fmt, ap);
    va_end(ap);
}

static bool host_allowed(const struct job_spec *s, uint32_t vpid)
{
    for (size_t i = 0; i < s->nhosts; i++) {
        if (s->hosts[i] == vpid)
            return true;
    }
    return s->nhosts == 0;
}

static bool counts_slots(const struct job_spec *s)
{
    return !(s->flags & (JOB_TOOL | JOB_OVERSUBSCRIBE));
}

uint32_t map_rank_slots(const struct job_spec *s)
{
    return s->flags & JOB_TOOL ? 0 : s->pe ? s->pe : 1;
}

/* Nodes without a slot (usually the head) take no ranks, oversubscribed or not. */
static uint32_t free_slots(const struct work *w, uint32_t node)
{
    const struct map_node *n = &w->nodes[node];

    if (!host_allowed(w->spec, n->vpid))
        return 0;
    if (w->idle)
        return n->slots;
    return n->slots - (n->used < n->slots ? n->used : n->slots);
}

static uint32_t parts_of(const struct work *w, uint32_t node)
{
    return w->level == JOB_LEVEL_NODE ? 1 : w->nodes[node].topo->count[w->level];
}

/* No part of the node has as many CPUs as one rank needs. */
static bool pe_too_large(const struct work *w, uint32_t node)
{
    const struct topo *t = w->nodes[node].topo;

    if (w->spec->pe < 2 || !t)
        return false;
    for (uint32_t p = 0; p < t->count[w->level]; p++) {
        if (topo_units(t, w->level, p, w->unit) >= w->pe)
            return false;
    }
    return true;
}

static void open_bin(struct work *w, uint32_t node)
{
    const struct map_node *n = &w->nodes[node];
    struct bin *b = &w->bins[node];

    if (!host_allowed(w->spec, n->vpid) || n->slots == 0)
        return;
    b->left = counts_slots(w->spec) ? free_slots(w, node) / w->pe : NO_LIMIT;
    if (w->idle && b->left == 0)
        map_work_why(w, "%u CPUs for one rank are more than the %u slots of %s", w->pe, n->slots,
                     n->host);
    bind_node(w, node);
    if (b->left && pe_too_large(w, node)) {
        map_work_why(w, "no %s of %s has %u %ss for one rank", level_name(w->level), n->host, w->pe,
                     level_name(w->unit));
        b->left = 0;
    }
}

static bool place_rank(struct work *w, uint32_t node, uint32_t part)
{
    struct bin *b = &w->bins[node];
    const struct topo *t = w->nodes[node].topo;
    struct spot s = {.node = node, .part = part};

    if (b->left == 0 || w->nspots == w->want)
        return false;
    if (w->pe > 1 && t && topo_units(t, w->level, part, w->unit) < w->pe)
        return false;
    if (b->bind == BIND_MUST) {
        s.taken = bind_take(w, node, part);
        if (!s.taken) {
            map_work_why(w, "%s has no idle %s left to bind to", w->nodes[node].host,
                         level_name(w->unit));
            return false;
        }
    }
    b->left--;
    w->spots[w->nspots++] = s;
    return true;
}

/* Distributes in rounds over the nodes, `chunk` ranks per visit. */
static void deal_nodes(struct work *w, uint32_t chunk)
{
    bool moved = true;

    while (moved && w->nspots < w->want) {
        moved = false;
        for (uint32_t i = 0; i < w->n; i++) {
            for (uint32_t c = 0; c < chunk && place_rank(w, i, 0); c++)
                moved = true;
        }
    }
}

/* Oversubscribed by slot: fills the slots first, then continues in rounds. */
static uint32_t slot_chunk(const struct work *w)
{
    uint32_t most = 1;

    if (counts_slots(w->spec))
        return UINT32_MAX;
    for (size_t i = 0; i < w->n; i++)
        most = w->nodes[i].slots > most ? w->nodes[i].slots : most;
    return most;
}

/* Puts one rank on each part in turn, at most `budget` on the node; returns their number. */
static uint32_t deal_parts(struct work *w, uint32_t node, uint32_t budget)
{
    uint32_t parts = parts_of(w, node);
    uint32_t given = 0;
    uint32_t before;

    do {
        before = given;
        for (uint32_t p = 0; p < parts && given < budget; p++)
            given += place_rank(w, node, p);
    } while (given != before);
    return given;
}

static void deal_objects(struct work *w)
{
    bool moved = true;

    while (moved && w->nspots < w->want) {
        moved = false;
        for (uint32_t i = 0; i < w->n; i++) {
            uint32_t slots = w->nodes[i].slots / w->pe;

            if (w->bins[i].left)
                moved |= deal_parts(w, i, slots ? slots : 1) > 0;
        }
    }
}

static void undo_places(struct work *w, uint32_t from)
{
    while (w->nspots > from) {
        const struct spot *s = &w->spots[--w->nspots];

        bind_give(w, s);
        w->bins[s->node].left++;
    }
}

static uint32_t ppr_total(const struct work *w, uint32_t node)
{
    uint64_t n = (uint64_t)w->spec->ppr *
                 (w->level != JOB_LEVEL_NODE && !w->nodes[node].topo ? 1 : parts_of(w, node));

    return n > NO_LIMIT ? NO_LIMIT : (uint32_t)n;
}

/* A node takes its full number or, as the last one, the rest; a node that cannot is skipped. */
static void deal_ppr(struct work *w)
{
    for (uint32_t i = 0; i < w->n && w->nspots < w->want; i++) {
        uint32_t from = w->nspots;
        uint32_t need = ppr_total(w, i);

        need = need < w->want - from ? need : w->want - from;
        if (w->bins[i].left >= need) {
            for (uint32_t p = 0; p < parts_of(w, i); p++) {
                for (uint32_t c = 0; c < w->spec->ppr && place_rank(w, i, p); c++)
                    ;
            }
        }
        if (w->nspots - from == need)
            continue;
        undo_places(w, from);
        if (host_allowed(w->spec, w->nodes[i].vpid) && w->nodes[i].slots)
            map_work_why(w, "ppr:%u:%s puts %u ranks on %s, which has slots for %u", w->spec->ppr,
                         level_name(w->level), need, w->nodes[i].host, w->bins[i].left);
    }
}

/* Number of ranks of an app that gives none. */
static uint32_t default_ranks(const struct work *w)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < w->n; i++) {
        if (!host_allowed(w->spec, w->nodes[i].vpid) || w->nodes[i].slots == 0)
            continue;
        if (w->spec->map_by == JOB_MAP_BY_PPR)
            sum += ppr_total(w, i);
        else
            sum += (counts_slots(w->spec) ? free_slots(w, i) : w->nodes[i].slots) / w->pe;
    }
    return sum > JOB_RANKS_MAX ? JOB_RANKS_MAX : (uint32_t)sum;
}

static uint32_t ranks_of(const struct work *w, size_t app)
{
    uint32_t np = w->spec->apps[app].nprocs;

    return np ? np : default_ranks(w);
}

static void work_open(struct work *w, const struct job_spec *s, const struct map_node *nodes,
                      size_t n, bool idle)
{
    uint64_t want = 0;

    *w = (struct work){.spec = s, .nodes = nodes, .n = n, .idle = idle, .pe = s->pe ? s->pe : 1};
    if (s->map_by == JOB_MAP_BY_OBJECT || s->map_by == JOB_MAP_BY_PPR)
        w->level = s->level;
    bind_plan(w);
    w->bins = xcalloc(n + 1, sizeof(*w->bins));
    for (uint32_t i = 0; i < n; i++)
        open_bin(w, i);
    for (size_t a = 0; a < s->napps; a++)
        want += ranks_of(w, a);
    w->want = want > JOB_RANKS_MAX ? JOB_RANKS_MAX : (uint32_t)want;
    w->greedy = s->napps == 1 && !s->apps[0].nprocs && s->map_by != JOB_MAP_BY_PPR;
    w->spots = xcalloc((size_t)w->want + 1, sizeof(*w->spots));
}

static void work_close(struct work *w)
{
    for (uint32_t k = 0; k < w->nspots; k++) {
        if (w->spots[k].taken)
            hwloc_bitmap_free(w->spots[k].taken);
    }
    for (size_t i = 0; i < w->n; i++)
        free(w->bins[i].load);
    free(w->bins);
    free(w->spots);
}

static bool deal_ranks(struct work *w)
{
    switch (w->spec->map_by) {
    case JOB_MAP_BY_SLOT:
        deal_nodes(w, slot_chunk(w));
        break;
    case JOB_MAP_BY_NODE:
        deal_nodes(w, 1);
        break;
    case JOB_MAP_BY_PPR:
        deal_ppr(w);
        break;
    case JOB_MAP_BY_OBJECT:
        deal_objects(w);
        break;
    }
    return w->nspots && (w->nspots == w->want || w->greedy);
}

static void fill_apps(struct work *w)
{
    uint32_t k = 0;

    for (size_t a = 0; a < w->spec->napps; a++) {
        uint32_t np = ranks_of(w, a);

        for (uint32_t i = 0; i < np && k < w->nspots; i++)
            w->spots[k++].app = (uint32_t)a;
    }
}

static void finish_map(struct work *w, struct map *out)
{
    uint32_t *order = xcalloc(w->nspots, sizeof(*order));
    bool bound = false;

    fill_apps(w);
    bind_rest(w);
    rank_order(w, order);
    *out = (struct map){.nranks = w->nspots, .bind = w->bind};
    out->rank_node = xcalloc(w->nspots, sizeof(*out->rank_node));
    out->rank_app = xcalloc(w->nspots, sizeof(*out->rank_app));
    out->taken = xcalloc(w->nspots, sizeof(hwloc_bitmap_t));
    for (uint32_t r = 0; r < w->nspots; r++) {
        struct spot *s = &w->spots[order[r]];

        out->rank_node[r] = s->node;
        out->rank_app[r] = s->app;
        out->taken[r] = s->taken;
        bound |= s->taken != NULL;
        s->taken = NULL;
    }
    if (!bound) {
        free((void *)out->taken);
        out->taken = NULL;
    }
    if (w->note)
        out->note = xasprintf("ranks are not bound: %s %s", w->nodes[w->note_node].host, w->note);
    free(order);
}

static void explain_refusal(const struct work *now, const struct work *idle, const char *why,
                            struct err *err)
{
    const char *where = now->spec->nhosts ? " on the daemons that --host names" : "";
    const char *verb = now->want == 1 ? "rank needs" : "ranks need";
    FREE_AUTO char *needs = NULL;
    unsigned long long free_sum = 0;
    unsigned long long total = 0;

    for (uint32_t i = 0; i < now->n; i++) {
        free_sum += free_slots(now, i);
        total += free_slots(idle, i);
    }
    if (total == 0 && now->spec->nhosts) {
        err_set(err, "no daemon that --host names is wired and has slots");
        return;
    }
    if (now->want == 0 && !why[0]) {
        err_set(err, "no slot is free now%s", where);
        return;
    }
    if (why[0])
        needs = xasprintf("%s", why);
    else if (now->spec->map_by == JOB_MAP_BY_PPR)
        needs = xasprintf("ppr:%u:%s has places for %u of %u ranks", now->spec->ppr,
                          level_name(now->level), now->nspots, now->want);
    else if (now->pe > 1)
        needs = xasprintf("%u %s %u slots each", now->want, verb, now->pe);
    else
        needs = xasprintf("%u %s a slot%s", now->want, verb, now->want == 1 ? "" : " each");
    err_set(err,
            why[0] ? "%s (%llu of %llu slots are free%s)" : "%s, %llu of %llu slots are free%s",
            needs, free_sum, total, where);
}

static enum map_result judge_fit(const struct work *now, struct err *err)
{
    bool all_of_ppr = now->spec->map_by == JOB_MAP_BY_PPR && !now->spec->apps[0].nprocs;
    enum map_result r = MAP_NEVER;
    struct work idle;

    work_open(&idle, now->spec, now->nodes, now->n, true);
    if (deal_ranks(&idle))
        r = MAP_NO_SLOTS;
    else if (idle.why[0] && (idle.nspots == 0 || all_of_ppr))
        r = MAP_HOPELESS;
    explain_refusal(now, &idle, r == MAP_NO_SLOTS ? now->why : idle.why, err);
    work_close(&idle);
    return r;
}

enum map_result map_job(const struct job_spec *s, const struct map_node *nodes, size_t n,
                        struct map *out, struct err *err)
{
    struct work w;
    enum map_result r = MAP_OK;

    *out = (struct map){0};
    work_open(&w, s, nodes, n, false);
    if (deal_ranks(&w))
        finish_map(&w, out);
    else
        r = judge_fit(&w, err);
    work_close(&w);
    return r;
}

void map_free(struct map *m)
{
    for (uint32_t r = 0; m->taken && r < m->nranks; r++) {
        if (m->taken[r])
            hwloc_bitmap_free(m->taken[r]);
    }
    free((void *)m->taken);
    free(m->rank_node);
    free(m->rank_app);
    free(m->note);
    *m = (struct map){0};
}
