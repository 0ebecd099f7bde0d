/* SPDX-License-Identifier: BSD-3-Clause */
/* A job from its submission to its launch: queue, both hold points, mapping. */
#include "base/log/log.h"
#include "dvm/protocol/head/head_private.h"
#include "dvm/protocol/wire/mutant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct job *head_job_find(const struct head *l, const char *nspace)
{
    struct job *j;

    HASH_FIND(hh, l->by_nspace, nspace, strlen(nspace), j);
    return j;
}

static void forget_map(struct job *j)
{
    for (size_t i = 0; i < j->map.nnodes; i++)
        free(j->map.nodes[i].host);
    for (uint32_t r = 0; j->rank_taken && r < j->map.nranks; r++) {
        if (j->rank_taken[r])
            hwloc_bitmap_free(j->rank_taken[r]);
    }
    free((void *)j->rank_taken);
    free(j->note);
    free(j->table);
    free(j->map.nodes);
    free(j->map.rank_node);
    free(j->map.rank_app);
    free(j->rank_state);
    free(j->rank_facts);
    free(j->rank_slot);
    free(j->node_gone);
    free(j->node_sent);
    free(j->node_registered);
    free(j->node_ready);
    debug_stop_forget(j);
    j->map.nodes = NULL;
    j->map.rank_node = j->map.rank_app = NULL;
    j->rank_state = NULL;
    j->rank_facts = NULL;
    j->rank_taken = NULL;
    j->note = j->table = NULL;
    j->rank_slot = j->node_sent = j->node_gone = j->node_registered = j->node_ready = NULL;
    j->map.nnodes = j->map.nranks = 0;
}

void job_free(struct job *j)
{
    forget_map(j);
    free(j->watchers);
    free(j->losses);
    free(j->news);
    free(j->map.nspace);
    job_spec_free(&j->map.spec);
    free(j->reason);
    free(j->kin_text);
    free(j);
}

/* Tells the daemon whose client submitted the job. */
void job_tell(struct head *l, const struct job *j, struct msg *m)
{
    struct err err = {0};

    m->nspace = j->map.nspace;
    m->client = j->submit_client;
    if (!members_current(l->members, j->submit_vpid, j->submit_epoch))
        return;
    if (rml_send(l->rml, j->submit_vpid, CLASS_LAUNCH, m, &err) < 0)
        out_log(l->out, LOG_LEVEL_WARN, "job %s: %s", j->map.nspace, err.msg);
}

/* Daemons that the submitter's input goes to. */
static uint32_t *stdin_vpids(const struct job *j, size_t *n)
{
    uint32_t *list = xcalloc(j->map.nnodes + 1, sizeof *list);
    uint32_t rank = j->map.spec.stdin_rank;

    *n = 0;
    if (rank == JOB_RANK_ALL) {
        for (size_t i = 0; i < j->map.nnodes; i++)
            list[(*n)++] = j->map.nodes[i].vpid;
    } else if (rank < j->map.nranks) {
        list[(*n)++] = j->map.nodes[j->map.rank_node[rank]].vpid;
    }
    return list;
}

static void tell_state(struct head *l, const struct job *j)
{
    struct msg m = {.type = MSG_JOB_STATE,
                    .number = j->state,
                    .text2 = j->state == JOB_RUNNING && j->note ? j->note : j->reason};
    uint32_t *vpids FREE_AUTO = NULL;

    if (j->state == JOB_STARTED) {
        vpids = stdin_vpids(j, &m.nvpids);
        m.vpids = vpids;
    }
    job_tell(l, j, &m);
}

static void set_reason(struct job *j, const char *text)
{
    free(j->reason);
    j->reason = xstrdup(text);
}

void job_event(struct head *l, struct job *j, enum job_event ev)
{
    struct err err = {0};
    int from = j->state;

    if (fsm_step(&job_fsm, &j->state, ev, NULL, &err) < 0) {
        out_log(l->out, LOG_LEVEL_ERROR, "job %s: %s", j->map.nspace, err.msg);
        return;
    }
    j->due = true;
    l->job_changes++;
    out_log(l->out, LOG_LEVEL_DEBUG, "job %s: %s -> %s on %s", j->map.nspace,
            fsm_state_name(&job_fsm, from), fsm_state_name(&job_fsm, j->state),
            fsm_event_name(&job_fsm, ev));
}

static void refuse(struct head *l, uint32_t from, uint32_t client, const char *why)
{
    struct msg m = {
        .type = MSG_DONE, .client = client, .number = EXIT_CODE_NOT_LAUNCHED, .text = (char *)why};
    struct err err = {0};

    if (rml_send(l->rml, from, CLASS_LAUNCH, &m, &err) < 0)
        out_log(l->out, LOG_LEVEL_WARN, "%s", err.msg);
}

void job_submit(struct head *l, uint32_t from, struct msg *m)
{
    const struct member *home = members_get(l->members, from);
    struct msg accepted = {.type = MSG_ACCEPTED};
    struct job *j;

    const char *no = l->ending                   ? "the DVM is shutting down"
                     : l->njobs >= HEAD_JOBS_MAX ? "too many jobs"
                     : home->state != MEMBER_WIRED
                         ? "this daemon leaves the DVM, submit at another one"
                         : NULL;

    if (no) {
        refuse(l, from, m->client, no);
        return;
    }
    j = xcalloc(1, sizeof *j);
    j->number = ++l->next_job;
    j->map.nspace = xasprintf("%s.%llu", l->incarnation, (unsigned long long)j->number);
    j->map.spec = m->spec;
    memset(&m->spec, 0, sizeof m->spec);
    j->submit_vpid = from;
    j->submit_client = m->client;
    j->submit_epoch = members_epoch(l->members, home);
    j->map.files_vpid = from;
    j->map.files_client = m->client;
    j->state = JOB_INIT;
    j->due = true;
    set_reason(j, "");
    DL_APPEND(l->jobs, j);
    HASH_ADD_KEYPTR(hh, l->by_nspace, j->map.nspace, strlen(j->map.nspace), j);
    l->njobs++;
    job_tell(l, j, &accepted);
    job_family_join(l, j);
}

/* --- mapping */

static bool maps_there(const struct member *m)
{
    if (MUTANT(NEW_ONES_UNUSED) && m->ctr > 5)
        return false;
    return m->state == MEMBER_WIRED || (MUTANT(MAP_TO_DRAINING) && m->state == MEMBER_DRAINING);
}

static struct map_node *usable_nodes(const struct head *l, const struct job *j, size_t *n,
                                     uint32_t *slots)
{
    struct map_node *nodes = xcalloc(l->members->n + 1, sizeof *nodes);

    *n = 0;
    *slots = 0;
    for (uint32_t v = 0; v < l->members->n; v++) {
        const struct member *m = members_get(l->members, v);

        if (!m || !maps_there(m))
            continue;
        *slots += members_slots(l->members, m);
        if ((j->map.spec.flags & JOB_NOLOCAL) && v == j->submit_vpid)
            continue;
        nodes[(*n)++] = (struct map_node){.vpid = v,
                                          .slots = members_slots(l->members, m),
                                          .used = m->slots_used,
                                          .host = cpu_ledger_host(l, v),
                                          .topo = cpu_ledger_topo(l, v),
                                          .load = cpu_ledger_load(l, v)};
    }
    return nodes;
}

uint64_t job_maximum_slots(const struct head *l, uint32_t bound)
{
    uint64_t present = 0;
    uint32_t most = 0;
    uint32_t here = 0;

    for (uint32_t v = 0; v < l->members->n; v++) {
        const struct member *m = members_get(l->members, v);
        uint32_t slots = m ? members_slots(l->members, m) : 0;

        if (!m || m->state != MEMBER_WIRED)
            continue;
        present += slots;
        here += v > 0;
        most = v > 0 && slots > most ? slots : most;
    }
    if (here == 0 || bound == 0)
        return 0;
    return present + (uint64_t)(bound > here ? bound - here : 0) * most;
}

uint64_t job_slots_wanted(const struct job *j)
{
    const struct job_spec *s = &j->map.spec;
    uint64_t slots = 0;

    for (size_t a = 0; a < s->napps; a++)
        slots += (uint64_t)s->apps[a].nprocs * map_rank_slots(s);
    return slots;
}

static void take(struct head *l, struct job *j, uint32_t rank, uint32_t vpid)
{
    if (j->map.spec.flags & JOB_TOOL)
        return;
    j->rank_slot[rank] = true;
    members_get(l->members, vpid)->slots_used += map_rank_slots(&j->map.spec);
    if (j->rank_taken && j->rank_taken[rank])
        cpu_ledger_take(l, vpid, j->rank_taken[rank]);
}

void job_give_back(struct head *l, struct job *j, uint32_t rank)
{
    const struct job_node *n = &j->map.nodes[j->map.rank_node[rank]];
    struct member *m = member_now(l, n->vpid, (struct epoch){l->opts.incarnation, n->epoch});

    if (j->rank_slot[rank] && m) {
        m->slots_used -= map_rank_slots(&j->map.spec);
        if (j->rank_taken && j->rank_taken[rank] && !MUTANT(CPUS_KEPT))
            cpu_ledger_give(l, n->vpid, j->rank_taken[rank]);
    }
    j->rank_slot[rank] = MUTANT(SLOT_TWICE);
    l->kick = true;
}

/* Takes what is in the map, whose nodes are indexes into `nodes`. */
static void adopt_map(struct head *l, struct job *j, const struct map_node *nodes, size_t n,
                      struct map *map)
{
    uint32_t *index = xmalloc((n + 1) * sizeof *index);
    uint32_t ranks = map->nranks;

    if (j->map.spec.flags & (JOB_DISPLAY_MAP | JOB_DISPLAY_BIND))
        j->table = map_show(j->map.nspace, &j->map.spec, nodes, map);
    j->map.rank_node = map->rank_node;
    j->map.rank_app = map->rank_app;
    j->rank_taken = map->taken;
    j->bind = map->bind;
    j->note = map->note;
    for (size_t i = 0; i < n; i++)
        index[i] = UINT32_MAX;
    j->map.nodes = xcalloc(n + 1, sizeof *j->map.nodes);
    j->rank_state = xcalloc(ranks + 1, sizeof *j->rank_state);
    j->rank_slot = xcalloc(ranks + 1, sizeof *j->rank_slot);
    j->rank_facts = xcalloc(ranks + 1, sizeof *j->rank_facts);
    for (uint32_t r = 0; r < ranks; r++) {
        uint32_t at = j->map.rank_node[r];
        const struct member *m = members_get(l->members, nodes[at].vpid);

        if (index[at] == UINT32_MAX) {
            index[at] = (uint32_t)j->map.nnodes;
            j->map.nodes[j->map.nnodes++] =
                (struct job_node){nodes[at].vpid, m->ctr, xstrdup(nodes[at].host)};
        }
        j->map.rank_node[r] = index[at];
        j->rank_state[r] = PROC_INIT;
        take(l, j, r, nodes[at].vpid);
    }
    j->node_sent = xcalloc(j->map.nnodes + 1, sizeof *j->node_sent);
    j->node_gone = xcalloc(j->map.nnodes + 1, sizeof *j->node_gone);
    j->node_registered = xcalloc(j->map.nnodes + 1, sizeof *j->node_registered);
    j->node_ready = xcalloc(j->map.nnodes + 1, sizeof *j->node_ready);
    j->map.nranks = ranks;
    j->map.version = l->members->version;
    j->mapped = true;
    l->job_changes++;
    debug_stop_prepare(j);
    free(index);
}

void job_unmap(struct head *l, struct job *j)
{
    for (uint32_t r = 0; r < j->map.nranks; r++) {
        if (!MUTANT(SLOTS_KEPT))
            job_give_back(l, j, r);
    }
    forget_map(j);
    j->mapped = false;
    l->job_changes++;
    l->kick = true;
}

/* No longer the fence is what it waits for. */
static void wait_for_slots(struct job *j)
{
    j->queued = true;
    j->parked_ms = 0;
}

/* Whether it can be said now that the job will never fit. */
static bool never_fits(const struct job *j, enum map_result r, uint64_t maximum, uint32_t present)
{
    if (j->checked || maximum == 0 || r == MAP_NO_SLOTS)
        return false;
    return r == MAP_HOPELESS || job_slots_wanted(j) > maximum || maximum <= present ||
           j->map.spec.nhosts;
}

static void no_place(struct head *l, struct job *j, enum map_result r, uint32_t present,
                     const struct err *why)
{
    uint64_t maximum = job_maximum_slots(l, l->bound);

    if (!j->checked && r != MAP_HOPELESS && grow_atomic_will_do(l, j))
        j->needs_grow = j->checked = true;
    set_reason(j, why->msg);
    if (j->map.spec.flags & JOB_NO_WAIT) {
        job_fail(l, j, JOB_EV_NO_MAP, EXIT_CODE_NOT_LAUNCHED, "not launched: %s (--no-wait)",
                 why->msg);
        return;
    }
    if (never_fits(j, r, maximum, present)) {
        job_fail(l, j, JOB_EV_NO_MAP, EXIT_CODE_NOT_LAUNCHED,
                 "not launched: %s; the DVM has %llu slots at its present size of %u members",
                 why->msg, (unsigned long long)maximum, l->bound);
        return;
    }
    j->checked |= maximum != 0; /* while nobody is here, nobody can tell */
    wait_for_slots(j);
    job_event(l, j, JOB_EV_NO_SLOTS);
    j->due = false;
    tell_state(l, j);
}

static void do_map(struct head *l, struct job *j)
{
    struct err err = {0};
    struct map map;
    uint32_t universe;
    size_t n;
    struct map_node *nodes = usable_nodes(l, j, &n, &universe);
    enum map_result r = map_job(&j->map.spec, nodes, n, &map, &err);

    if (r == MAP_OK) {
        adopt_map(l, j, nodes, n, &map);
        j->map.universe = universe;
        j->checked = true;
        j->needs_grow = false;
        set_reason(j, "");
        job_queue_mapped(l, j);
        job_event(l, j, JOB_EV_DONE);
    } else {
        no_place(l, j, r, universe, &err);
    }
    free(nodes);
}

/* --- hold points */

static void park_job(struct head *l, struct job *j, enum parked_at at)
{
    j->parked = at;
    if (!j->parked_ms)
        j->parked_ms = l->out->now_ms;
    set_reason(j, at == PARKED_MAP ? "held before mapping: the DVM changes its size"
                                   : "held before launch: daemons are leaving the DVM");
    *(at == PARKED_MAP ? &l->stats.held_map : &l->stats.held_launch) += 1;
    job_event(l, j, JOB_EV_HOLD);
    j->due = false;
    tell_state(l, j);
}

/* Remap if and only if one of the mapped (vpid, epoch) is not wired now. */
static bool needs_remap(const struct head *l, const struct job *j)
{
    for (size_t i = 0; i < j->map.nnodes; i++) {
        const struct job_node *n = &j->map.nodes[i];
        const struct member *m =
            member_now(l, n->vpid, (struct epoch){l->opts.incarnation, n->epoch});

        if ((!m || !maps_there(m)) && !MUTANT(SKIP_REMAP))
            return true;
    }
    return false;
}

static void remap(struct head *l, struct job *j)
{
    job_unmap(l, j);
    l->stats.remapped++;
    job_event(l, j, JOB_EV_REMAP);
}

void job_release_parked(struct head *l)
{
    struct job *j;

    if (MUTANT(KEEP_HELD))
        return;
    DL_FOREACH(l->jobs, j)
    {
        enum parked_at at = j->parked;

        if (j->state != JOB_WAITING_FOR_DAEMONS)
            continue;
        j->parked = PARKED_NONE;
        set_reason(j, "");
        if (at == PARKED_MAP)
            job_event(l, j, JOB_EV_RELEASE);
        else if (needs_remap(l, j))
            remap(l, j);
        else
            job_event(l, j, JOB_EV_RELAUNCH);
    }
}

/* What can never fit is not left waiting, and --no-wait does not wait here either. */
static void wait_behind(struct head *l, struct job *j, const struct job *first)
{
    struct err err = {0}, behind = {0};
    uint32_t present;
    size_t n;
    struct map_node *nodes = usable_nodes(l, j, &n, &present);
    struct map map;
    enum map_result r = map_job(&j->map.spec, nodes, n, &map, &err);

    free(nodes);
    if (r == MAP_OK) {
        map_free(&map);
        err_set(&err, "an earlier job waits for slots");
    }
    if (r != MAP_OK && never_fits(j, r, job_maximum_slots(l, l->bound), present)) {
        job_event(l, j, JOB_EV_DONE); /* to its end, by do_map() */
        return;
    }
    if (j->map.spec.flags & JOB_NO_WAIT) {
        job_fail(l, j, JOB_EV_NO_MAP, EXIT_CODE_NOT_LAUNCHED, "not launched: %s (--no-wait)",
                 err.msg);
        return;
    }
    wait_for_slots(j);
    err_set(&behind, "behind job %s, which came first", first->map.nspace);
    set_reason(j, behind.msg);
    tell_state(l, j);
}

static void vm_ready(struct head *l, struct job *j)
{
    const struct job *first = job_queue_before(l, j);

    if (l->fence > 0 && !MUTANT(MAP_IGNORES_FENCE)) {
        park_job(l, j, PARKED_MAP);
    } else if (first && !job_queue_may_pass(l, first, j)) {
        wait_behind(l, j, first);
    } else {
        job_event(l, j, JOB_EV_DONE);
    }
}

static void launch_apps(struct head *l, struct job *j)
{
    if (needs_remap(l, j) && !MUTANT(SEND_TO_LEAVING))
        remap(l, j);
    else if ((shrink_running(l) && !MUTANT(SEND_TO_LEAVING)) ||
             (MUTANT(GROW_HOLDS_LAUNCH) && l->fence))
        park_job(l, j, PARKED_LAUNCH);
    else
        job_event(l, j, JOB_EV_DONE);
}

/* What each rank of a node is bound to, for the daemon there. */
static char **cpus_of(const struct head *l, const struct job *j, uint32_t node, size_t *n)
{
    const struct topo *t = cpu_ledger_topo(l, j->map.nodes[node].vpid);
    char **list;

    *n = 0;
    if (!j->rank_taken || !t)
        return NULL;
    list = xcalloc(job_launch_local_size(&j->map, node) + 1, sizeof *list);
    for (uint32_t r = 0; r < j->map.nranks; r++) {
        if (j->map.rank_node[r] == node)
            list[(*n)++] = j->rank_taken[r] ? topo_cpus(t, j->rank_taken[r], j->bind) : xstrdup("");
    }
    return list;
}

static void cpus_free(char **list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(list[i]);
    free(list);
}

/* Before any rank is started, so that the table comes before their output. */
static void show_map(struct head *l, struct job *j)
{
    struct msg m = {.type = MSG_JOB_MAP, .data = (const uint8_t *)j->table};

    if (j->note)
        out_log(l->out, LOG_LEVEL_INFO, "job %s: %s", j->map.nspace, j->note);
    if (!j->table)
        return;
    m.len = strlen(j->table);
    job_tell(l, j, &m);
    free(j->table);
    j->table = NULL;
}

/* A daemon cannot be sent its part: those before it are told to end theirs, the rest have none. */
static void unlaunched(struct head *l, struct job *j, const char *why)
{
    job_fail(l, j, JOB_EV_FAIL_START, EXIT_CODE_NOT_LAUNCHED, "not launched: %s", why);
    for (size_t i = 0; i < j->map.nnodes; i++) {
        if (!j->node_sent[i])
            job_lose_node(l, j, (int)i, NULL);
    }
}

static void send_launch(struct head *l, struct job *j)
{
    struct msg m = {.type = MSG_LAUNCH, .launch = j->map};
    struct err err = {0};

    j->sent = true;
    l->job_changes++;
    j->parked_ms = 0;
    if (j->map.spec.timeout_ms)
        j->deadline_ms = l->out->now_ms + j->map.spec.timeout_ms;
    l->stats.jobs_started++;
    m.launch.version = l->members->version;
    show_map(l, j);
    for (size_t i = 0; i < j->map.nnodes; i++) {
        m.launch.cpus = cpus_of(l, j, (uint32_t)i, &m.launch.ncpus);
        j->node_sent[i] = rml_send(l->rml, j->map.nodes[i].vpid, CLASS_LAUNCH, &m, &err) == 0;
        cpus_free(m.launch.cpus, m.launch.ncpus);
        if (!j->node_sent[i]) {
            unlaunched(l, j, err.msg);
            return;
        }
    }
    if (job_launch_waits(&j->map))
        job_event(l, j, JOB_EV_STAGE);
}

/* What entering a state does. SYSTEM_PREP ends the turn, so that a resize that comes with the next
 * input finds the job mapped and not sent. */
static void enter(struct head *l, struct job *j)
{
    switch ((enum job_state)j->state) {
    case JOB_INIT:
    case JOB_INIT_COMPLETE:
    case JOB_ALLOCATE:
    case JOB_ALLOCATION_COMPLETE:
    case JOB_MAP_COMPLETE:
    case JOB_SYSTEM_PREP:
    case JOB_TERMINATED:
    case JOB_KILLED_BY_CMD:
    case JOB_ABORTED:
    case JOB_FAILED_TO_START:
    case JOB_NEVER_LAUNCHED:
    case JOB_MAP_FAILED:
        job_event(l, j, JOB_EV_DONE);
        break;
    case JOB_VM_READY:
        vm_ready(l, j);
        break;
    case JOB_MAP:
        do_map(l, j);
        break;
    case JOB_LAUNCH_APPS:
        launch_apps(l, j);
        break;
    case JOB_SEND_LAUNCH_MSG:
        send_launch(l, j);
        break;
    case JOB_STAGING:
        job_ready_begin(l, j);
        if (j->map.spec.nfiles)
            tell_state(l, j);
        break;
    case JOB_NOTIFY_COMPLETED:
        job_notify(l, j);
        break;
    case JOB_STARTED:
        tell_state(l, j);
        if (j->nrunning == j->map.nranks)
            job_event(l, j, JOB_EV_ALL_RUN);
        break;
    case JOB_RUNNING:
        tell_state(l, j);
        if (j->nnodes_registered == j->map.nnodes)
            job_event(l, j, JOB_EV_REGISTERED);
        else
            debug_stop_check(l, j);
        break;
    case JOB_REGISTERED:
        tell_state(l, j);
        debug_stop_check(l, j);
        break;
    case JOB_READY_FOR_DEBUG:
        tell_state(l, j);
        break;
    default:
        break;
    }
}

static void kick_queue(struct head *l)
{
    struct job *j;

    l->kick = false;
    if (l->fence > 0)
        return;
    DL_FOREACH(l->jobs, j)
    {
        if (j->queued) {
            j->queued = false;
            j->due = true;
        }
    }
}

void job_steps(struct head *l)
{
    struct job *j, *tmp;

    if (l->kick)
        kick_queue(l);
    DL_FOREACH_SAFE(l->jobs, j, tmp)
    {
        while (j->due && j->not_in_turn != l->turn) {
            if (j->state == JOB_SYSTEM_PREP)
                j->not_in_turn = l->turn;
            j->due = false;
            enter(l, j);
        }
        if (j->state == JOB_NOTIFIED)
            job_retire(l, j);
    }
}
