/* SPDX-License-Identifier: BSD-3-Clause */
/* The simulator. In: inputs of the schedule and of tests. It carries out the actions of all
 * cores in virtual time: frames arrive after a drawn delay, in order per connection; ranks run
 * and end; disks write. Each event is one input to one core, whose actions are then queued. The
 * same seed gives the same events. After each event the watcher is called (check.c). A core that
 * asks for a tick gets it at its deadline, however long that is. */
#include "dvm/protocol/core/core_inspect.h"
#include "dvm/sim/sim_private.h"

#include "dvm/protocol/wire/client.h"
#include "dvm/sim/dice.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DISK_MAX (256u << 20)
#define TRANSFERS_FROM (FRAME_HEADER_BYTES + 192u)

struct sim *sim_create(const struct sim_opts *o)
{
    struct sim *s = xcalloc(1, sizeof(*s));

    s->opts = *o;
    s->rng = o->seed;
    s->now = 1000;
    buf_init(&s->disk, DISK_MAX);
    return s;
}

void sim_configure(struct sim *s, const struct sim_opts *o)
{
    s->opts = *o;
}

struct api_faults sim_faults(const struct sim *s)
{
    static const struct api_faults usual = API_FAULTS_DEFAULTS;

    return s->opts.faults.silence_ms ? s->opts.faults : usual;
}

uint64_t sim_slowest_way(const struct sim *s)
{
    uint64_t hop = s->opts.delay_ms * (s->opts.uneven ? SIM_SLOW_FACTOR : 1);
    uint64_t depth = 0;

    for (uint64_t n = 1; n < s->opts.nodes; n = n * s->opts.radix + 1)
        depth++;
    return hop * depth;
}

void sim_ev_free(struct ev *e)
{
    buf_free(&e->data);
    free(e);
}

void sim_proc_free(struct sim *s, struct rank_proc *p)
{
    DL_DELETE(s->procs, p);
    s->nodes[p->vpid].nprocs--;
    free(p->nspace);
    free(p);
}

/* The daemons, and a former head after them. */
static uint32_t node_after(const struct sim *s, uint32_t v)
{
    return v + 1 < s->opts.nodes || v == SIM_FORMER ? v + 1 : SIM_FORMER;
}

void sim_destroy(struct sim *s)
{
    struct ev *e, *etmp;
    struct wire *w, *wtmp;

    for (uint32_t v = 0; v <= SIM_FORMER; v = node_after(s, v)) {
        sim_files_end(s, v);
        core_destroy(s->nodes[v].core);
        DL_FOREACH_SAFE(s->nodes[v].held, e, etmp)
        {
            sim_ev_free(e);
        }
    }
    DL_FOREACH_SAFE(s->blocked, e, etmp)
    {
        sim_ev_free(e);
    }
    while (s->nheap)
        sim_ev_free(s->heap[--s->nheap]);
    free(s->heap);
    buf_free(&s->disk);
    free(s->kept.callers);
    for (size_t i = 0; i < OLD_FRAMES; i++)
        buf_free(&s->old[i].data);
    DL_FOREACH_SAFE(s->wires, w, wtmp)
    {
        sim_wire_free(s, w);
    }
    while (s->procs)
        sim_proc_free(s, s->procs);
    free(s);
}

static bool event_before(const struct ev *a, const struct ev *b)
{
    return a->at != b->at ? a->at < b->at : a->number < b->number;
}

void sim_heap_put(struct sim *s, struct ev *e)
{
    size_t i = s->nheap++;

    if (s->nheap > s->heap_max) {
        s->heap_max = s->heap_max ? 2 * s->heap_max : 256;
        s->heap = xrealloc(s->heap, s->heap_max * sizeof(struct ev *));
    }
    for (; i > 0 && event_before(e, s->heap[(i - 1) / 2]); i = (i - 1) / 2)
        s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = e;
}

static struct ev *heap_take(struct sim *s)
{
    struct ev *first = s->heap[0];
    struct ev *e = s->heap[--s->nheap];
    size_t i = 0;

    for (size_t c = 1; c < s->nheap; c = 2 * i + 1) {
        if (c + 1 < s->nheap && event_before(s->heap[c + 1], s->heap[c]))
            c++;
        if (!event_before(s->heap[c], e))
            break;
        s->heap[i] = s->heap[c];
        i = c;
    }
    s->heap[i] = e;
    return first;
}

uint64_t sim_random(struct sim *s, uint64_t below)
{
    uint64_t z = dice_mix(s->rng += DICE_STEP);

    return below ? z % below : 0;
}

struct ev *sim_schedule(struct sim *s, uint64_t at, enum ev_kind kind, uint32_t vpid, uint64_t conn)
{
    struct ev *e = xcalloc(1, sizeof(*e));

    e->at = at;
    e->number = ++s->numbers;
    e->kind = kind;
    e->vpid = e->from = vpid;
    e->life = s->nodes[vpid].life;
    e->conn = conn;
    buf_init(&e->data, 128u << 20);
    sim_heap_put(s, e);
    return e;
}

uint64_t sim_draw_delay(struct sim *s)
{
    return 1 + sim_random(s, s->opts.delay_ms ? s->opts.delay_ms : 1);
}

bool sim_running(const struct sim *s, uint32_t vpid)
{
    return (vpid < s->opts.nodes || vpid == SIM_FORMER) && s->nodes[vpid].core;
}

struct ev *sim_to_peer(struct sim *s, struct wire *w, uint32_t from, enum ev_kind kind)
{
    bool from_a = w->a == from;
    uint64_t *last = from_a ? &w->last_b : &w->last_a;
    uint64_t at = s->now + sim_draw_delay(s) * w->slow;
    struct ev *e;

    *last = at > *last ? at : *last;
    e = sim_schedule(s, *last, kind, from_a ? w->b : w->a, from_a ? w->b_conn : w->a_conn);
    e->from = from;
    return e;
}

void sim_close_side(struct sim *s, struct wire *w, uint32_t vpid)
{
    bool is_a = w->a == vpid;

    if (is_a ? w->open_b && !w->mute_b : w->open_a && !w->mute_a)
        sim_to_peer(s, w, vpid, EV_CLOSED);
    *(is_a ? &w->open_a : &w->open_b) = false;
    if (!w->open_a && !w->open_b)
        sim_wire_free(s, w);
}

static void act_send(struct sim *s, uint32_t vpid, struct out_send *act)
{
    struct wire *w = sim_wire_of(s, vpid, act->conn);

    if (!w)
        return;
    if (s->opts.uneven)
        sim_keep_frame(s, vpid, &act->frame);
    if (w->a == vpid ? w->mute_b : w->mute_a)
        return;
    sim_delay_greeting(s, w, vpid, &act->frame);
    if (w->a == vpid ? w->open_b : w->open_a) {
        struct ev *e = sim_to_peer(s, w, vpid, EV_FRAME);

        buf_put_raw(&e->data, act->frame.data, act->frame.len);
    } else if (sim_running(s, w->a == vpid ? w->b : w->a) &&
               !(w->a == vpid ? w->mute_a : w->mute_b)) {
        /* the other end does not know this connection and says so */
        sim_schedule(s, s->now + sim_draw_delay(s), EV_CLOSED, vpid, act->conn)->from =
            w->a == vpid ? w->b : w->a;
    }
}

static void start_ranks(struct sim *s, uint32_t vpid, const char *nspace)
{
    const struct job_launch *l = sim_files_started(s, vpid, nspace);
    struct rank_proc *p;
    int node = job_launch_node(l, vpid);

    for (uint32_t r = 0; r < l->nranks; r++) {
        if (l->rank_node[r] != (uint32_t)node)
            continue;
        p = xcalloc(1, sizeof(*p));
        p->nspace = xstrdup(l->nspace);
        p->vpid = vpid;
        p->rank = r;
        p->run_ms = strtoull(l->spec.apps[0].argv[0], NULL, 10);
        p->exits_at = s->now + p->run_ms;
        p->stops_at = UINT64_MAX;
        if (job_stops(&l->spec, r)) {
            p->stop = l->spec.stop;
            p->stops_at = s->now + sim_random(s, 200);
            p->exits_at = UINT64_MAX;
        }
        p->status = l->spec.apps[0].argv[2] && r % 4 == SIM_LOST_RANK
                        ? SIGKILL
                        : (int)strtol(l->spec.apps[0].argv[1], NULL, 10) << 8;
        DL_APPEND(s->procs, p);
        s->nodes[vpid].nprocs++;
    }
    for (p = s->procs; p; p = p->next) {
        if (p->vpid == vpid && strcmp(p->nspace, nspace) == 0)
            core_proc(s->nodes[vpid].core, nspace, p->rank, CORE_PROC_RUNNING, 1, NULL);
    }
}

static void act_start(struct sim *s, uint32_t vpid, const char *nspace)
{
    if (sim_files_pending(s, vpid, nspace))
        start_ranks(s, vpid, nspace);
}

/* A rank that may clean up takes a millisecond for it. */
static void act_end(struct sim *s, uint32_t vpid, const char *nspace, int64_t grace_ms)
{
    struct rank_proc *p;

    if (sim_files_pending(s, vpid, nspace))
        sim_files_fail(s, vpid, nspace, ECANCELED);
    DL_FOREACH(s->procs, p)
    {
        if (p->vpid == vpid && strcmp(p->nspace, nspace) == 0) {
            p->exits_at = s->now + (grace_ms > 0);
            p->stops_at = UINT64_MAX;
            p->spawns = NULL;
            p->status = SIGTERM;
        }
    }
}

/* SIGCONT, or an event: affects only ranks that have stopped. */
static void act_continue(struct sim *s, uint32_t vpid, const char *nspace, uint32_t rank)
{
    struct rank_proc *p;

    DL_FOREACH(s->procs, p)
    {
        if (p->vpid != vpid || strcmp(p->nspace, nspace) != 0 || !p->held ||
            (rank != JOB_RANK_ALL && rank != p->rank))
            continue;
        p->held = false;
        if (p->exits_at == UINT64_MAX)
            p->exits_at = s->now + p->run_ms;
        if (p->stop == JOB_STOP_EXEC)
            core_proc(s->nodes[vpid].core, nspace, p->rank, CORE_PROC_GOES_ON, 0, NULL);
    }
}

static void act_client(struct sim *s, const struct out_client *act)
{
    struct sim_job *j = &s->jobs[act->client];
    const struct client_end *end;
    struct client_msg m;

    if (client_msg_decode(act->msg.data, act->msg.len, &m, NULL) < 0)
        return;
    end = client_msg_end(&m);
    if (m.type == CLIENT_ACCEPTED) {
        j->accepted = true;
        snprintf(j->nspace, sizeof(j->nspace), "%s", m.accepted.nspace);
    } else if (m.type == CLIENT_STATE) {
        j->state = m.state.state;
    } else if (end) {
        j->done = true;
        j->reads_at = UINT64_MAX;
        if (j->nfiles)
            files_client_gone(s->nodes[j->home].files, act->client);
        j->exit_code = (int)end->code;
        snprintf(j->text, sizeof(j->text), "%s", end->text);
    }
    client_msg_free(&m);
}

static void carry_out(struct sim *s, uint32_t vpid, struct out_act *a)
{
    struct wire *w;

    switch (a->kind) {
    case OUT_RECORDS:
        if (!sim_disk_put(s, vpid, &a->records))
            sim_crash(s, vpid);
        break;
    case OUT_CONNECT:
        sim_connect(s, vpid, &a->connect);
        break;
    case OUT_SEND:
        act_send(s, vpid, &a->send);
        break;
    case OUT_CLOSE:
        w = sim_wire_of(s, vpid, a->close.conn);
        if (w)
            sim_close_side(s, w, vpid);
        break;
    case OUT_LAUNCH:
        sim_files_launch(s, vpid, a->launch.launch);
        break;
    case OUT_TAKE_FILES:
        sim_files_take(s, vpid, a->take_files.nspace);
        break;
    case OUT_DROP_FILES:
        sim_files_drop(s, vpid, a->drop_files.nspace);
        break;
    case OUT_CREATE:
        if (sim_files_create(s, vpid, a->create.nspace, a->create.waits))
            start_ranks(s, vpid, a->create.nspace);
        break;
    case OUT_START:
        act_start(s, vpid, a->start.nspace);
        break;
    case OUT_FILES:
        files_begin(s->nodes[vpid].files, a->files.client);
        break;
    case OUT_APP:
        if (a->app.kind >= FILES_OPEN && a->app.kind < FILES_KINDS)
            files_msg(s->nodes[vpid].files, a->app.from, a->app.kind, a->app.data.data,
                      a->app.data.len);
        break;
    case OUT_MEMBER_GONE:
        files_member_gone(s->nodes[vpid].files, a->member_gone.vpid);
        break;
    case OUT_END_RANKS:
        act_end(s, vpid, a->end_ranks.nspace, (int64_t)a->end_ranks.grace_ms);
        break;
    case OUT_CONTINUE:
        act_continue(s, vpid, a->go_on.nspace, a->go_on.rank);
        break;
    case OUT_CLEAN:
        sim_files_over(s, vpid, a->clean.nspace);
        core_ranks(s->nodes[vpid].core, a->clean.nspace, CORE_RANKS_CLEANED, 0, NULL);
        break;
    case OUT_JOB_ENDED:
        sim_files_forget(s, vpid, a->job_ended.nspace);
        break;
    case OUT_CLIENT:
        if (vpid != SIM_FORMER) /* its clients have ended with the pod */
            act_client(s, &a->client);
        break;
    case OUT_PARK:
        s->nodes[vpid].parked = true;
        break;
    case OUT_EXIT:
        s->nodes[vpid].exited = true;
        break;
    case OUT_LOG:
        if (s->opts.trace)
            printf("%6llu %4u %s\n", (unsigned long long)s->now, vpid, a->log.text);
        break;
    default:
        break;
    }
}

/* A head that has asked begins within one of its inputs. */
static void note_heir(struct sim *s, uint32_t vpid)
{
    struct node *n = &s->nodes[vpid];

    if (n->asks && core_inspect_head(n->core)) {
        n->asks = false;
        sim_kept_begin(s);
        s->heirs += core_inherited(n->core);
    }
}

/* Each process has a clock of its own, as those of several hosts. */
static uint64_t draw_clock(uint64_t life, uint32_t vpid)
{
    return 1 + (life * 7919 + vpid * 104729) * 2654435761 % 100000000;
}

static uint64_t deadline_of(const struct node *n)
{
    uint64_t due = core_deadline(n->core);

    if (due == UINT64_MAX)
        return due;
    return due > n->clock_ms ? due - n->clock_ms : 0;
}

void sim_drain(struct sim *s, uint32_t vpid)
{
    struct out_act a;

    if (sim_running(s, vpid))
        note_heir(s, vpid);
    if (sim_running(s, vpid) && s->nodes[vpid].files)
        files_turn(s->nodes[vpid].files);
    while (sim_running(s, vpid) && core_next(s->nodes[vpid].core, &a)) {
        if (s->hooks.action && vpid != SIM_FORMER)
            s->hooks.action(s->hooks.arg, vpid, &a);
        carry_out(s, vpid, &a);
        if (sim_ends_now(s, vpid, &a))
            sim_crash(s, vpid);
        out_act_free(&a);
    }
    if (sim_running(s, vpid))
        s->nodes[vpid].deadline = deadline_of(&s->nodes[vpid]);
    if (sim_running(s, vpid) && s->hooks.after && vpid != SIM_FORMER)
        s->hooks.after(s->hooks.arg, vpid);
    if (s->nodes[vpid].exited && sim_running(s, vpid))
        sim_crash(s, vpid);
}

void sim_watch(struct sim *s, const struct sim_hooks *h)
{
    s->hooks = *h;
}

static void on_step(void *arg)
{
    struct node *n = arg;
    struct sim *s = n->sim;

    note_heir(s, (uint32_t)(n - s->nodes));
    if (s->hooks.step && n->core)
        s->hooks.step(s->hooks.arg, (uint32_t)(n - s->nodes));
}

void sim_start(struct sim *s, uint32_t vpid)
{
    struct node *n = &s->nodes[vpid];
    char host[32];
    char cpus[8 + 4 * SIM_SLOTS_MAX] = "own:0";
    bool small = s->opts.uneven && s->opts.seed % 2; /* messages are transfers */
    struct core_opts o = {.vpid = vpid,
                          .cluster = "sim",
                          .address = "wire",
                          .more = sim_more_addresses,
                          .nmore = s->opts.addresses > 1 ? s->opts.addresses - 1 : 0,
                          .host = host,
                          .join_port = (uint16_t)(PORT_BASE + vpid),
                          .head_host = "wire",
                          .head_port = PORT_BASE,
                          .slots = vpid ? s->opts.slots : 0,
                          .cpus = vpid ? cpus : "",
                          .radix = s->opts.radix,
                          .size = s->opts.size,
                          .drain_s = -1,
                          .backlog_max = s->opts.backlog_max,
                          .reconnect_ms = s->opts.faults.link_grace_ms,
                          .ack_ms = s->opts.faults.silence_ms,
                          .orphan_ms = s->opts.faults.head_absence_ms,
                          .links = s->opts.links,
                          .direct_bytes = small ? TRANSFERS_FROM : 0,
                          .eager_bytes = small ? 2 * TRANSFERS_FROM : 0,
                          .park = true};

    sim_crash(s, vpid); /* a head that cannot go on may wait for its keepers before it exits */
    snprintf(host, sizeof(host), "node%u", vpid);
    for (uint32_t i = 1; i < s->opts.slots && i < SIM_SLOTS_MAX; i++)
        snprintf(cpus + strlen(cpus), sizeof(cpus) - strlen(cpus), " %u", i);
    o.incarnation = vpid ? 0 : 0xabc0 + ++n->life;
    n->life++;
    n->exited = n->parked = n->stopped = false;
    o.keeps_records = vpid == 0 && s->opts.disk;
    o.keepers = vpid == 0 && s->opts.keepers;
    o.heritage = o.keeps_records && s->disk.len ? s->disk.data : NULL;
    o.heritage_len = s->disk.len;
    n->clock_ms = vpid == VPID_HEAD && n->life == 2 && s->opts.clock_ms ? s->opts.clock_ms
                                                                        : draw_clock(n->life, vpid);
    n->core = core_create(&o, s->now + n->clock_ms, sim_wall(s, vpid));
    if (o.keeps_records && !o.keepers && !core_inherited(n->core))
        sim_lose_disk(s);
    n->asks = vpid == VPID_HEAD;
    if (n->asks)
        sim_kept_start(s);
    core_inspect_watch(n->core, on_step, n);
    sim_files_start(s, vpid);
    sim_drain(s, vpid);
}

struct core *sim_core(struct sim *s, uint32_t vpid)
{
    return s->nodes[vpid].core;
}

bool sim_exited(const struct sim *s, uint32_t vpid)
{
    return s->nodes[vpid].exited;
}

bool sim_parked(const struct sim *s, uint32_t vpid)
{
    return s->nodes[vpid].parked;
}

/* --- the turn */

static void deliver_event(struct sim *s, struct ev *e)
{
    struct node *n = &s->nodes[e->vpid];
    struct wire *w;

    if (!n->core || e->life != n->life)
        return;
    sim_clock(s, e->vpid);
    switch (e->kind) {
    case EV_OPEN:
        w = sim_wire_of(s, e->vpid, e->conn);
        if (!w)
            return;
        core_conn_open(n->core, e->conn,
                       &(struct core_conn){.incoming = e->incoming,
                                           .role = e->incoming ? API_ROLE_MEMBER : API_ROLE_HEAD,
                                           .cluster = "sim",
                                           .key = w->key,
                                           .way = w->way,
                                           .own = sim_address(w->net),
                                           .other = sim_address(w->net)});
        break;
    case EV_FRAME:
        if (sim_wire_of(s, e->vpid, e->conn) && s->hooks.frame && e->vpid != SIM_FORMER)
            s->hooks.frame(s->hooks.arg, e->vpid, e->conn, e->data.data, e->data.len);
        if (n->asks)
            sim_kept_frame(s, e->conn, &e->data);
        if (sim_wire_of(s, e->vpid, e->conn))
            core_conn_frame(n->core, e->conn, e->data.data, e->data.len);
        break;
    case EV_CLOSED:
        w = sim_wire_of(s, e->vpid, e->conn);
        if (w)
            sim_close_side(s, w, e->vpid);
        core_conn_closed(n->core, e->conn, "closed by the peer");
        break;
    case EV_EXIT:
        break;
    }
    sim_drain(s, e->vpid);
}

static void note_stops(struct sim *s)
{
    struct rank_proc *p;

    DL_FOREACH(s->procs, p)
    {
        struct core *c = s->nodes[p->vpid].core;

        if (p->stops_at > s->now || s->nodes[p->vpid].stopped)
            continue;
        p->stops_at = UINT64_MAX;
        p->held = true;
        sim_clock(s, p->vpid);
        if (p->stop != JOB_STOP_EXEC)
            core_proc(c, p->nspace, p->rank, CORE_PROC_REGISTERED, 0, NULL);
        core_proc(c, p->nspace, p->rank, CORE_PROC_HELD, 0, NULL);
        sim_drain(s, p->vpid);
        note_stops(s); /* the list may have changed */
        return;
    }
}

static void note_exits(struct sim *s)
{
    struct rank_proc *p, *tmp;

    DL_FOREACH_SAFE(s->procs, p, tmp)
    {
        struct core *c = s->nodes[p->vpid].core;
        uint32_t vpid = p->vpid;

        if (p->exits_at > s->now || s->nodes[vpid].stopped || sim_in_spawn(s, p))
            continue;
        sim_clock(s, vpid);
        core_proc(c, p->nspace, p->rank, CORE_PROC_IOF_COMPLETE, 0, NULL);
        core_proc(c, p->nspace, p->rank, CORE_PROC_WAITPID, p->status, NULL);
        sim_proc_free(s, p);
        sim_drain(s, vpid);
        note_exits(s); /* the list may have changed */
        return;
    }
}

static void run_ticks(struct sim *s)
{
    for (uint32_t v = 0; v <= SIM_FORMER; v = node_after(s, v)) {
        struct core *c = s->nodes[v].core;

        if (!c || s->nodes[v].stopped || s->nodes[v].deadline > s->now)
            continue;
        sim_clock(s, v);
        core_tick(c);
        sim_drain(s, v);
    }
}

static uint64_t next_time(const struct sim *s)
{
    uint64_t at = s->nheap ? s->heap[0]->at : UINT64_MAX;
    const struct rank_proc *p;

    for (uint32_t v = 0; v <= SIM_FORMER; v = node_after(s, v)) {
        if (s->nodes[v].core && !s->nodes[v].stopped && s->nodes[v].deadline < at)
            at = s->nodes[v].deadline;
    }
    if (sim_files_next(s) < at)
        at = sim_files_next(s);
    DL_FOREACH(s->procs, p)
    {
        if (p->exits_at < at && !s->nodes[p->vpid].stopped && !sim_in_spawn(s, p))
            at = p->exits_at;
        if (p->stops_at < at && !s->nodes[p->vpid].stopped)
            at = p->stops_at;
    }
    return at;
}

/* Also behind what a partition has held back on its connection: that keeps its order. */
static bool is_held_back(const struct sim *s, const struct ev *e)
{
    const struct ev *x;

    if (e->from == e->vpid)
        return false;
    if (s->nodes[e->vpid].group != s->nodes[e->from].group)
        return true;
    DL_FOREACH(s->blocked, x)
    {
        if (x->vpid == e->vpid && x->life == e->life && x->conn == e->conn)
            return true;
    }
    return false;
}

static void run_turn(struct sim *s)
{
    while (s->nheap && s->heap[0]->at <= s->now) {
        struct ev *e = heap_take(s);

        if (is_held_back(s, e)) {
            DL_APPEND(s->blocked, e);
            continue;
        }
        if (s->nodes[e->vpid].stopped && s->nodes[e->vpid].core) {
            DL_APPEND(s->nodes[e->vpid].held, e);
            continue;
        }
        deliver_event(s, e);
        sim_ev_free(e);
    }
    note_stops(s);
    note_exits(s);
    sim_files_turn(s);
    run_ticks(s);
}

bool sim_until(struct sim *s, bool (*done)(struct sim *s, void *arg), void *arg, uint64_t for_ms)
{
    uint64_t end = s->now + for_ms;

    for (;;) {
        uint64_t at = next_time(s);

        if (done && done(s, arg))
            return true;
        if (at > end)
            break;
        s->now = at > s->now ? at : s->now;
        run_turn(s);
    }
    s->now = end;
    return false;
}

void sim_for(struct sim *s, uint64_t ms)
{
    (void)sim_until(s, NULL, NULL, ms);
}

size_t sim_nlinks(const struct sim *s)
{
    return s->opts.links ? s->opts.links : sim_naddresses(s);
}

uint64_t sim_now(const struct sim *s)
{
    return s->now;
}
