/* SPDX-License-Identifier: BSD-3-Clause */
/* The binder decides whether ranks are bound, to which objects, and which idle CPUs they get.
 *
 * In: the options of the job, the CPUs of each node and their load. Out: a set of hardware threads
 * for each bound rank; a note if ranks stay unbound that would be bound by default.
 *
 * Modes of a node: BIND_OFF (not requested, or the CPUs are not its own), BIND_IF_ROOM (the
 * default), BIND_MUST (the user has requested it). With BIND_MUST the CPUs are taken while ranks
 * are placed, and a node without an idle unit takes no more ranks. With BIND_IF_ROOM they are taken
 * afterwards.
 *
 * Invariants: a CPU belongs to one rank, unless the job oversubscribes; then the CPUs with the
 * least load come first. Of a node with BIND_IF_ROOM all ranks are bound or none, since the slowest
 * rank determines the speed of all. A rank gets whole units (cores or hardware threads) of one
 * part.
 *
 * Limits: a node with a CPU quota on shared CPUs is never bound. CPUs that other programs of the
 * host use are not known here; a daemon reports only those that it may use (topo.c). */
#include "dvm/protocol/map/map_private.h"

#include "base/bitmap/bitmap.h"

#include <stdlib.h>
#include <string.h>

/* A rank's units are cores, unless the user names hardware threads or puts several ranks on a
 * core. */
static enum job_level unit_of(const struct job_spec *s, enum job_level level)
{
    if (s->pe)
        return level == JOB_LEVEL_HWTHREAD ? JOB_LEVEL_HWTHREAD : JOB_LEVEL_CORE;
    if (level == JOB_LEVEL_HWTHREAD || s->bind_to == JOB_BIND_HWTHREAD)
        return JOB_LEVEL_HWTHREAD;
    return s->map_by == JOB_MAP_BY_PPR && level == JOB_LEVEL_CORE && s->ppr > 1 ? JOB_LEVEL_HWTHREAD
                                                                                : JOB_LEVEL_CORE;
}

void bind_plan(struct work *w)
{
    const struct job_spec *s = w->spec;

    w->unit = unit_of(s, w->level);
    if (s->bind_to >= JOB_BIND_PACKAGE)
        w->bind = (enum job_level)(s->bind_to - 1);
    else if (s->pe)
        w->bind = w->unit;
    else
        w->bind = w->level == JOB_LEVEL_NODE ? JOB_LEVEL_CORE : w->level;
    if (s->bind_to == JOB_BIND_NONE || (s->flags & JOB_TOOL))
        w->mode = BIND_OFF;
    else if (s->bind_to != JOB_BIND_DEFAULT)
        w->mode = BIND_MUST;
    else
        w->mode = s->flags & JOB_OVERSUBSCRIBE ? BIND_OFF : BIND_IF_ROOM;
}

void bind_node(struct work *w, uint32_t node)
{
    const struct map_node *n = &w->nodes[node];
    struct bin *b = &w->bins[node];
    bool parts = w->level != JOB_LEVEL_NODE;

    b->bind = w->mode;
    if (!n->topo) {
        if (b->left && (parts || w->mode == BIND_MUST)) {
            map_work_why(w, "%s has reported no CPUs to map or bind to", n->host);
            b->left = 0;
        }
        b->bind = BIND_OFF;
    } else if (n->topo->use == TOPO_QUOTA && w->mode == BIND_MUST && b->left) {
        map_work_why(w, "ranks cannot be bound on %s, which has a CPU quota on CPUs that it shares",
                     n->host);
        b->left = 0;
    } else if (n->topo->use != TOPO_OWN && w->mode == BIND_IF_ROOM) {
        b->bind = BIND_OFF;
    }
}

/* Number of ranks that own the core (or hardware thread) at pus[i]; `*end` is the index behind
 * it. */
static uint32_t load_of(const struct work *w, uint32_t node, uint32_t i, uint32_t *end)
{
    const struct topo *t = w->nodes[node].topo;
    const uint16_t *load = w->bins[node].load;
    uint32_t most = 0;
    uint32_t k = i;

    for (; k < t->npus && t->pus[k].id[w->unit] == t->pus[i].id[w->unit]; k++)
        most = load[k] > most ? load[k] : most;
    *end = k;
    return most;
}

/* Adds to `set` up to `want` units of the part that have exactly this load; returns their
 * number. */
static uint32_t collect_units(const struct work *w, uint32_t node, uint32_t part, uint32_t want,
                              uint32_t load, hwloc_bitmap_t set)
{
    const struct topo *t = w->nodes[node].topo;
    uint32_t got = 0;
    uint32_t end;

    for (uint32_t i = 0; i < t->npus && got < want; i = end) {
        uint32_t now = load_of(w, node, i, &end);

        if (now != load || t->pus[i].id[w->level] != part)
            continue;
        bitmap_set_range(set, i, (int)end - 1);
        got++;
    }
    return got;
}

static void copy_load(struct work *w, uint32_t node)
{
    const struct map_node *n = &w->nodes[node];
    struct bin *b = &w->bins[node];

    if (b->load)
        return;
    b->load = xcalloc(n->topo->npus, sizeof(*b->load));
    if (n->load && !w->idle)
        memcpy(b->load, n->load, n->topo->npus * sizeof(*b->load));
}

hwloc_bitmap_t bind_take(struct work *w, uint32_t node, uint32_t part)
{
    hwloc_bitmap_t set = bitmap_alloc();
    uint32_t most = w->spec->flags & JOB_OVERSUBSCRIBE ? UINT16_MAX - 1 : 0;
    uint32_t got = 0;
    int i;

    copy_load(w, node);
    for (uint32_t load = 0; load <= most && got < w->pe; load++)
        got += collect_units(w, node, part, w->pe - got, load, set);
    if (got < w->pe) {
        hwloc_bitmap_free(set);
        return NULL;
    }
    for (i = hwloc_bitmap_first(set); i >= 0; i = hwloc_bitmap_next(set, i))
        w->bins[node].load[i]++;
    return set;
}

void bind_give(struct work *w, const struct spot *s)
{
    int i;

    if (!s->taken)
        return;
    for (i = hwloc_bitmap_first(s->taken); i >= 0; i = hwloc_bitmap_next(s->taken, i))
        w->bins[s->node].load[i]--;
    hwloc_bitmap_free(s->taken);
}

/* Records once why ranks are not bound that would be by default. */
static void note_unbound(struct work *w, uint32_t node)
{
    static const char *const words[] = {
        [TOPO_OWN] = "has fewer idle CPUs than ranks",
        [TOPO_SHARED] = "shares its CPUs with others",
        [TOPO_QUOTA] = "has a CPU quota on CPUs that it shares",
    };

    if (w->note || w->mode != BIND_IF_ROOM || !w->nodes[node].topo)
        return;
    w->note = words[w->nodes[node].topo->use];
    w->note_node = node;
}

/* All ranks of a node are bound, or none: binding half of them would slow all. */
void bind_rest(struct work *w)
{
    for (uint32_t k = 0; k < w->nspots; k++) {
        struct spot *s = &w->spots[k];

        if (w->bins[s->node].bind != BIND_IF_ROOM)
            continue;
        s->taken = bind_take(w, s->node, s->part);
        if (!s->taken)
            w->bins[s->node].bind = BIND_OFF;
    }
    for (uint32_t k = 0; k < w->nspots; k++) {
        struct spot *s = &w->spots[k];

        if (w->bins[s->node].bind == BIND_OFF) {
            bind_give(w, s);
            s->taken = NULL;
            note_unbound(w, s->node);
        }
    }
}
