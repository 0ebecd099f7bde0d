/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks to members: the map of a job, with the slots that it takes.
 *
 * In: a job that does not wait for an earlier one. Out: its map; or its place in the queue; or its
 * end, if it can never fit.
 *
 * Only wired members get ranks. The map is made once, and again if one of its members is not
 * wired any more when the job is to be sent. A job that can never fit the DVM at its size, and
 * with the grows that run, ends at once. With --no-wait a job that does not fit now ends too.
 * Before the first member has come this cannot be judged, and the job waits. */
#include "dvm/protocol/head/jobs/job_private.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

static bool maps_there(const struct member *m)
{
    return m->state == MEMBER_WIRED;
}

static struct map_node *usable_nodes(const struct jobs *js, const struct job *j, size_t *n,
                                     uint32_t *slots)
{
    struct map_node *nodes = xcalloc(js->members->n + 1, sizeof(*nodes));

    *n = 0;
    *slots = 0;
    for (uint32_t v = 0; v < js->members->n; v++) {
        const struct member *m = members_get(js->members, v);

        if (!m || !maps_there(m))
            continue;
        *slots += members_slots(js->members, m);
        if ((j->map.spec.flags & JOB_NOLOCAL) && v == j->kept->accepted.submit_vpid)
            continue;
        nodes[(*n)++] = (struct map_node){.vpid = v,
                                          .slots = members_slots(js->members, m),
                                          .used = m->slots_used,
                                          .host = cpu_ledger_host(js->ledger, v),
                                          .topo = cpu_ledger_topo(js->ledger, v),
                                          .load = cpu_ledger_load(js->ledger, v)};
    }
    return nodes;
}

/* A job that was accepted for the sake of a grow waits for all members that it names. */
static enum map_result map_or_wait(const struct jobs *js, const struct job *j,
                                   const struct map_node *nodes, size_t n, struct map *map,
                                   struct err *err)
{
    size_t missing = 0;
    FREE_AUTO char *absent = job_needs_grow(j) ? job_hosts_absent(js, j, &missing) : NULL;

    if (missing == 0)
        return map_job(&j->map.spec, nodes, n, map, err);
    err_set(err, "--host names members that are to join: %s", absent);
    return MAP_NO_SLOTS;
}

/* The slots that jobs of the mark hold, and which of them on each vpid. */
static uint64_t held_by(const struct jobs *js, uint64_t mark, uint32_t *used)
{
    uint64_t held = 0;
    const struct job *a;

    DL_FOREACH(js->list, a)
    {
        uint32_t slots = map_rank_slots(&a->map.spec);

        for (uint32_t k = 0; mark && a->kin_mark == mark && a->mapped && k < a->map.nranks; k++) {
            if (!a->ranks[k].has_slots)
                continue;
            used[a->map.nodes[a->map.rank_node[k]].vpid] += slots;
            held += slots;
        }
    }
    return held;
}

bool job_map_has_hope(const struct jobs *js, const struct job *j, uint64_t mark, uint32_t bound)
{
    FREE_AUTO uint32_t *used = xcalloc(js->members->n + 1, sizeof(*used));
    uint64_t maximum = slots_maximum(js->slots, bound);
    uint64_t held = held_by(js, mark, used);
    struct map map;
    uint32_t present;
    size_t n;
    FREE_AUTO struct map_node *nodes = usable_nodes(js, j, &n, &present);

    if (maximum == 0 || (present < maximum && job_slots_wanted(j) + held <= maximum))
        return true;
    for (size_t i = 0; i < n; i++) {
        nodes[i].used = used[nodes[i].vpid];
        nodes[i].load = NULL;
    }
    if (map_job(&j->map.spec, nodes, n, &map, NULL) != MAP_OK)
        return false;
    map_free(&map);
    return true;
}

/* The map with the nodes that have ranks only, in the order of their first ranks. The lists of
 * `map` change owner. */
static struct record_job_map map_record(const struct jobs *js, const struct map_node *nodes,
                                        size_t n, struct map *map)
{
    FREE_AUTO uint32_t *index = xmalloc((n + 1) * sizeof(*index));
    struct record_job_map r = {.nranks = map->nranks,
                               .rank_node = map->rank_node,
                               .rank_app = map->rank_app,
                               .taken = map->taken,
                               .bind = map->bind,
                               .note = map->note};

    for (size_t i = 0; i < n; i++)
        index[i] = UINT32_MAX;
    r.nodes = xcalloc(n + 1, sizeof(*r.nodes));
    for (uint32_t k = 0; k < r.nranks; k++) {
        uint32_t at = r.rank_node[k];

        if (index[at] == UINT32_MAX) {
            index[at] = (uint32_t)r.nnodes;
            r.nodes[r.nnodes++] =
                (struct job_node){nodes[at].vpid, members_get(js->members, nodes[at].vpid)->ctr,
                                  xstrdup(nodes[at].host)};
        }
        r.rank_node[k] = index[at];
    }
    return r;
}

void job_map_take(struct jobs *js, struct job *j)
{
    const struct record_job_map *m = &j->kept->map;

    j->map.universe = m->universe;
    j->map.nnodes = m->nnodes;
    j->map.nodes = m->nodes;
    j->map.nranks = m->nranks;
    j->map.rank_node = m->rank_node;
    j->map.rank_app = m->rank_app;
    j->map.version = js->members->version;
    j->ranks = xcalloc(m->nranks + 1, sizeof(*j->ranks));
    for (uint32_t r = 0; r < m->nranks; r++) {
        j->ranks[r] = (struct job_rank){.state = PROC_INIT, .taken = m->taken ? m->taken[r] : NULL};
        job_slots_take(js, j, r);
    }
    j->daemons = xcalloc(m->nnodes + 1, sizeof(*j->daemons));
    j->mapped = true;
    js->changes++;
    job_debug_stop_prepare(j);
}

/* False: the record was refused, and the job fails. */
static bool adopt_map(struct jobs *js, struct job *j, const struct map_node *nodes, size_t n,
                      struct map *map, uint32_t universe)
{
    FREE_AUTO char *table = NULL;
    struct record_job_map r;
    struct err err = {0};
    int rc;

    if (j->map.spec.flags & (JOB_DISPLAY_MAP | JOB_DISPLAY_BIND))
        table = map_show(j->map.nspace, &j->map.spec, nodes, map);
    r = map_record(js, nodes, n, map);
    r.universe = universe;
    rc = job_table_map(js->table, j->kept, &r, &err);
    record_job_map_free(&r);
    if (rc < 0) {
        job_fail(js, j, JOB_EV_NO_MAP, EXIT_CODE_NOT_LAUNCHED, "not launched: %s", err.msg);
        return false;
    }
    j->table = table;
    table = NULL;
    job_map_take(js, j);
    return true;
}

void job_map_drop(struct jobs *js, struct job *j)
{
    for (uint32_t r = 0; r < j->map.nranks; r++)
        job_slots_give(js, j, r);
    job_forget_map(j);
    j->mapped = false;
    js->changes++;
    js->kick = true;
}

/* From now on the job waits for slots, not for the fence. */
static void wait_for_slots(struct job *j)
{
    j->queued = true;
    j->held_ms = 0;
}

/* True if it is certain now that the job will never fit. */
static bool never_fits(const struct job *j, enum map_result r, uint64_t maximum, uint32_t present)
{
    if (job_judged(j) || maximum == 0 || r == MAP_NO_SLOTS)
        return false;
    return r == MAP_HOPELESS || job_slots_wanted(j) > maximum || maximum <= present ||
           j->map.spec.nhosts;
}

void job_map_judge(struct jobs *js, struct job *j)
{
    if (!job_judged(j) && slots_maximum(js->slots, size_bound_now(js->bound)) != 0)
        job_table_judge(js->table, j->kept,
                        js->resize.grow_will_do(js->resize.arg, j) ? JOB_FITS_GROWN : JOB_FITS);
}

/* A job that was judged before, by another size of the DVM, waits until it has grown again. */
static bool closes_circle(struct jobs *js, const struct job *j)
{
    return !job_judged(j) && job_queue_in_circle(js, j, size_bound_now(js->bound));
}

static void wait_or_fail(struct jobs *js, struct job *j, enum map_result r, uint32_t present,
                         const struct err *why)
{
    uint64_t maximum = slots_maximum(js->slots, size_bound_now(js->bound));
    bool circle = closes_circle(js, j);

    if (!circle && !job_judged(j) && r != MAP_HOPELESS &&
        js->resize.grow_will_do(js->resize.arg, j))
        job_table_judge(js->table, j->kept, JOB_FITS_GROWN);
    job_set_reason(j, why->msg);
    if (j->map.spec.flags & JOB_NO_WAIT) {
        job_fail(js, j, JOB_EV_NO_MAP, EXIT_CODE_NOT_LAUNCHED, "not launched: %s (--no-wait)",
                 why->msg);
        return;
    }
    if (never_fits(j, r, maximum, present)) {
        job_fail(js, j, JOB_EV_NO_MAP, EXIT_CODE_NOT_LAUNCHED,
                 "not launched: %s; the DVM has %llu slots at its present size of %u members",
                 why->msg, (unsigned long long)maximum, size_bound_now(js->bound));
        return;
    }
    if (circle) {
        job_fail(js, j, JOB_EV_NO_MAP, EXIT_CODE_NOT_LAUNCHED,
                 "not launched: %s; the others are held by the jobs that wait for this one or for "
                 "other spawns",
                 why->msg);
        return;
    }
    job_map_judge(js, j);
    wait_for_slots(j);
    job_step(js, j, JOB_EV_NO_SLOTS);
    j->due = false;
    job_tell_state(js, j);
}

void job_map_now(struct jobs *js, struct job *j)
{
    struct err err = {0};
    struct map map;
    uint32_t universe;
    size_t n;
    struct map_node *nodes = usable_nodes(js, j, &n, &universe);
    enum map_result r = map_or_wait(js, j, nodes, n, &map, &err);

    if (r != MAP_OK) {
        wait_or_fail(js, j, r, universe, &err);
    } else if (adopt_map(js, j, nodes, n, &map, universe)) {
        job_set_reason(j, "");
        job_queue_mapped(js, j);
        job_step(js, j, JOB_EV_DONE);
    }
    free(nodes);
}

bool job_map_fits(const struct jobs *js, const struct job *j)
{
    uint32_t present;
    size_t n;
    FREE_AUTO struct map_node *nodes = usable_nodes(js, j, &n, &present);
    struct map map;

    if (map_or_wait(js, j, nodes, n, &map, NULL) != MAP_OK)
        return false;
    map_free(&map);
    return true;
}

/* The job is mapped anew if and only if one of its (vpid, epoch) is not wired now. */
bool job_map_stale(const struct jobs *js, const struct job *j)
{
    for (size_t i = 0; i < j->map.nnodes; i++) {
        const struct job_node *n = &j->map.nodes[i];
        const struct member *m =
            roster_find(js->roster, n->vpid, incarnation_epoch(js->inc, n->epoch));

        if (!m || !maps_there(m))
            return true;
    }
    return false;
}

void job_map_anew(struct jobs *js, struct job *j)
{
    job_map_drop(js, j);
    js->stats.remapped++;
    job_step(js, j, JOB_EV_REMAP);
}

/* Whether the job may wait behind others. If not, it is on its way to its end. */
static bool may_wait_behind(struct jobs *js, struct job *j)
{
    struct err err = {0};
    uint32_t present;
    size_t n;
    uint64_t maximum = slots_maximum(js->slots, size_bound_now(js->bound));
    FREE_AUTO struct map_node *nodes = usable_nodes(js, j, &n, &present);
    struct map map;
    enum map_result r = map_or_wait(js, j, nodes, n, &map, &err);

    if (r == MAP_OK) {
        map_free(&map);
        err_set(&err, "an earlier job waits for slots");
    }
    if (r != MAP_OK && (never_fits(j, r, maximum, present) || closes_circle(js, j))) {
        job_step(js, j, JOB_EV_DONE); /* to its end, by job_map_now() */
        return false;
    }
    if (j->map.spec.flags & JOB_NO_WAIT) {
        job_fail(js, j, JOB_EV_NO_MAP, EXIT_CODE_NOT_LAUNCHED, "not launched: %s (--no-wait)",
                 err.msg);
        return false;
    }
    job_map_judge(js, j);
    return true;
}

void job_map_wait_behind(struct jobs *js, struct job *j, const struct job *first)
{
    struct err behind = {0};
    bool judged = job_judged(j) && !(j->map.spec.flags & JOB_NO_WAIT);

    if (!judged && !may_wait_behind(js, j))
        return;
    wait_for_slots(j);
    err_set(&behind, "behind job %s, which came first", first->map.nspace);
    if (j->reason && strcmp(j->reason, behind.msg) == 0)
        return; /* its submitter knows */
    job_set_reason(j, behind.msg);
    job_tell_state(js, j);
}
