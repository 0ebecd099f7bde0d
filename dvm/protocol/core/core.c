/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon as one object: its creation, its inputs, and their consequences.
 *
 * In: everything that core.h declares, each with the time set before it. Out: actions in the outbox
 * (dvm/protocol/out/out.h).
 *
 * States: joining, wired, leaving, parked, ending (core_fsm). An input is handed to its module.
 * Then core_settle() delivers messages, lets the head take its steps and applies its broadcasts,
 * until nothing more follows.
 *
 * Invariants: no module calls out of the core; each effect is an action. When an input has
 * been settled, the outbox holds all its consequences, in order.
 *
 * Failures: a peer whose backlog is full is declared lost by the head; if that peer is the
 * head, this member gives its own epoch up. core_reset() ends an epoch: its jobs, clients and
 * links are dropped, and the daemon joins anew. */
#include "dvm/protocol/core/core_private.h"

#include "base/log/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

bool core_is_head(const struct core *c)
{
    return c->head != NULL;
}

static const struct fsm_name core_states[] = {{CORE_JOINING, "joining"},
                                              {CORE_WIRED, "wired"},
                                              {CORE_LEAVING, "leaving"},
                                              {CORE_PARKED, "parked"},
                                              {CORE_ENDING, "ending"}};

static const struct fsm_name core_events[] = {{CORE_JOINING, "this epoch has ended"},
                                              {CORE_WIRED, "has a lifeline"},
                                              {CORE_LEAVING, "is ordered to leave"},
                                              {CORE_PARKED, "has left, links closed"},
                                              {CORE_ENDING, "the DVM ends"}};

static const struct fsm_row core_rows[] = {
    {CORE_JOINING, CORE_WIRED, CORE_WIRED, 0},   {CORE_JOINING, CORE_LEAVING, CORE_LEAVING, 0},
    {CORE_JOINING, CORE_ENDING, CORE_ENDING, 0}, {CORE_WIRED, CORE_LEAVING, CORE_LEAVING, 0},
    {CORE_WIRED, CORE_ENDING, CORE_ENDING, 0},   {CORE_WIRED, CORE_JOINING, CORE_JOINING, 0},
    {CORE_LEAVING, CORE_PARKED, CORE_PARKED, 0}, {CORE_LEAVING, CORE_JOINING, CORE_JOINING, 0},
    {CORE_ENDING, CORE_PARKED, CORE_PARKED, 0},  {CORE_ENDING, CORE_JOINING, CORE_JOINING, 0},
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

const struct fsm core_fsm = {.name = "daemon",
                             .states = core_states,
                             .nstates = COUNT(core_states),
                             .events = core_events,
                             .nevents = COUNT(core_events),
                             .rows = core_rows,
                             .nrows = COUNT(core_rows)};

static bool may_become(struct core *c, enum core_state s)
{
    int from = (int)c->state;
    struct err err = {0};

    if (!*c->text ||
        fsm_step(&core_fsm, &from, (int)s, NULL, &err) == 0) /* the first state, or a legal step */
        return true;
    out_log(&c->out, LOG_LEVEL_ERROR, "%s", err.msg);
    return false;
}

/* The one setter of the state. The same state again only changes the text. */
void core_set_state(struct core *c, enum core_state s, const char *fmt, ...)
{
    bool changed = !*c->text || c->state != s;
    va_list ap;

    if (changed && !may_become(c, s))
        return;

    va_start(ap, fmt);
    vsnprintf(c->text, sizeof(c->text), fmt, ap);
    va_end(ap);
    c->state = s;
    if (changed)
        out_add(&c->out, OUT_STATE)->state.state = s;
    out_log(&c->out, changed ? LOG_LEVEL_INFO : LOG_LEVEL_DEBUG, "%s", c->text);
}

/* Whoever keeps the records gets those of an input before its other actions. */
static void on_record(void *arg, const uint8_t *data, size_t len)
{
    keepers_record(arg, data, len);
}

static void begin_incarnation(struct core *c, const struct head_opts *o)
{
    c->self.epoch = (struct epoch){c->opts.incarnation, 1};
    rml_set_epoch(c->rml, c->self.epoch);
    members_add(&c->members, &c->self, 1);
    c->head = head_create(o, &c->out, &c->members, c->rml, NULL);
}

static struct head_opts head_opts_of(struct core *c)
{
    const struct api_faults faults = {c->opts.reconnect_ms, c->opts.ack_ms, c->opts.orphan_ms};

    return (struct head_opts){.cluster = c->opts.cluster,
                              .cpus = c->opts.cpus,
                              .incarnation = c->opts.incarnation,
                              .size = c->opts.size,
                              .ack_ms = c->opts.ack_ms,
                              .silent_ms = api_faults_lost_ms(&faults),
                              .on_record =
                                  c->opts.keeps_records || c->opts.keepers ? on_record : NULL,
                              .arg = c};
}

bool core_inherit(struct core *c, const int64_t *clock_ahead)
{
    struct head_opts o = head_opts_of(c);

    o.clock_ahead = clock_ahead;
    c->head = c->opts.heritage ? succession_take(c, &o) : NULL;
    c->opts.heritage = NULL; /* borrowed */
    return c->head != NULL;
}

void core_disinherit(struct core *c)
{
    c->out.now_ms -= (uint64_t)head_clock_ahead(c->head); /* the clock is its own one again */
    head_destroy(c->head);
    c->head = NULL;
    succession_forget(c);
}

void core_start_head(struct core *c)
{
    struct head_opts o = head_opts_of(c);

    buf_init(&c->records, RECORD_SNAPSHOT_MAX);
    keepers_begin(c);
    c->inherited = c->head || core_inherit(c, NULL);
    if (!c->inherited)
        begin_incarnation(c, &o);
    snprintf(c->incarnation, sizeof(c->incarnation), "%016llx",
             (unsigned long long)head_incarnation(c->head));
    /* The text is public (the plain port), the incarnation is not: it is part of jobs' names. */
    core_set_state(c, CORE_WIRED, "head of %s", c->opts.cluster);
    out_log(&c->out, LOG_LEVEL_INFO, "incarnation %s", c->incarnation);
    if (!c->inherited)
        return;
    succession_begin(c);
    core_settle(c);
}

static void copy_opts(struct core *c, const struct core_opts *o)
{
    c->opts = *o;
    c->opts.cluster = xstrdup(o->cluster);
    c->opts.cpus = xstrdup(o->cpus ? o->cpus : "");
    c->opts.head_host = xstrdup(o->head_host ? o->head_host : "");
    c->opts.host = c->opts.address = NULL; /* in self */
    c->opts.radix = o->radix ? o->radix : 64;
    c->opts.reconnect_ms = o->reconnect_ms ? o->reconnect_ms : API_FAULTS_LINK_GRACE_MS;
    c->opts.ack_ms = o->ack_ms ? o->ack_ms : API_FAULTS_SILENCE_MS;
    c->opts.leave_ms = o->leave_ms ? o->leave_ms : 10000;
    c->opts.orphan_ms = o->orphan_ms ? o->orphan_ms : API_FAULTS_HEAD_ABSENCE_MS;
    c->self = (struct msg_member){.vpid = o->vpid,
                                  .host = xstrdup(o->host ? o->host : ""),
                                  .address = xstrdup(o->address ? o->address : ""),
                                  .port = o->join_port,
                                  .slots = o->slots};
    c->opts.more = NULL; /* in self */
    for (; c->self.nmore < o->nmore && c->self.nmore < MEMBER_MORE_MAX; c->self.nmore++)
        c->self.more[c->self.nmore] = xstrdup(o->more[c->self.nmore]);
}

static void create_transport(struct core *c)
{
    c->rml = rml_create(&c->out, &c->members, c->neighbours, c->opts.backlog_max);
    rml_set_hop_limits(c->rml, &(struct hop_limits){c->opts.direct_bytes, c->opts.eager_bytes, 0});
    c->xcast = xcast_create(&c->out, &c->members, c->neighbours);
    c->gather = gather_create(&c->out, c->rml, &c->members);
    gather_check_senders(c->gather, local_rank_part_of, c);
    gather_stand_in(c->gather, local_rank_awaited, c);
}

static void destroy_transport(struct core *c)
{
    gather_destroy(c->gather);
    xcast_destroy(c->xcast);
    rml_destroy(c->rml);
}

static size_t larger_of(size_t x, size_t y)
{
    return x > y ? x : y;
}

/* The transport ends with the epoch; what it has counted stays. */
static void keep_counts(struct core *c)
{
    struct rml_stats now = rml_stats(c->rml);

    c->past.stale += now.stale;
    c->past.circled += now.circled;
    c->past.transfers.ended += now.transfers.ended;
    c->past.transfers.restarts += now.transfers.restarts;
    c->past.backlog_most = larger_of(c->past.backlog_most, now.backlog_most);
    c->past_repairs += c->members.repairs;
}

struct core *core_create(const struct core_opts *o, uint64_t now_ms, uint64_t wall_ms)
{
    struct core *c = xcalloc(1, sizeof(*c));

    copy_opts(c, o);
    core_time(c, now_ms, wall_ms);
    members_init(&c->members, o->vpid, c->opts.radix);
    c->neighbours = neighbours_create(&c->out);
    create_transport(c);
    c->retry_ms = CORE_RETRY_MIN_MS;
    c->out.kept = UINT64_MAX;
    /* A former process of the head may have had the same epoch. */
    if (o->vpid == VPID_HEAD)
        neighbours_begin_sessions(c->neighbours, o->incarnation << CORE_SESSION_BITS);
    if (o->vpid == VPID_HEAD && o->keepers) {
        asking_begin(c);
    } else if (o->vpid == VPID_HEAD) {
        core_start_head(c);
    } else if (o->parked) {
        core_set_state(c, CORE_PARKED,
                       "parked: this daemon had left the DVM before it was restarted");
    } else {
        core_set_state(c, CORE_JOINING, "vpid %u connects to the head at %s:%u", o->vpid,
                       c->opts.head_host, o->head_port);
        c->retry_at = now_ms;
    }
    return c;
}

void core_destroy(struct core *c)
{
    if (!c)
        return;
    local_free(c);
    client_free_all(c);
    local_resize_fail_all(c, NULL);
    neigh_free(c);
    hwloc_bitmap_free(c->know_orphaned);
    origin_clear(&c->origin);
    head_destroy(c->head);
    destroy_transport(c);
    neighbours_destroy(c->neighbours);
    members_free(&c->members);
    keepers_free(c);
    keeper_free(c);
    asking_free(c);
    out_free(&c->out);
    buf_free(&c->records);
    msg_member_free(&c->self);
    free((char *)c->opts.cluster);
    free((char *)c->opts.cpus);
    free((char *)c->opts.head_host);
    free(c);
}

void core_time(struct core *c, uint64_t now_ms, uint64_t wall_ms)
{
    now_ms += (uint64_t)c->clock_ahead;
    neigh_skip_stop(c, now_ms);
    c->out.now_ms = now_ms;
    c->out.wall_ms = wall_ms;
}

static void show_step(struct core *c)
{
    if (c->watcher.on_step)
        c->watcher.on_step(c->watcher.arg);
}

bool core_next_records(struct core *c, struct out_act *act)
{
    keepers_seal(c);
    if (c->records.len == 0)
        return false;
    *act = (struct out_act){.kind = OUT_RECORDS, .records = {c->records, c->records_anew}};
    c->records = (struct buf){0};
    c->records_anew = false;
    buf_init(&c->records, RECORD_SNAPSHOT_MAX);
    return true;
}

bool core_next(struct core *c, struct out_act *act)
{
    do {
        if (core_next_records(c, act) || out_take(&c->out, act))
            return true;
        keepers_choose(c);
        if (out_take(&c->out, act))
            return true;
        show_step(c); /* of the frames that have come early, each has a turn */
    } while (conn_take_early(c));
    return false;
}

int core_send(struct core *c, uint32_t vpid, enum out_class traffic, const struct msg *m)
{
    struct err err = {0};

    if (rml_send(c->rml, vpid, traffic, m, &err) == 0)
        return 0;
    out_log(&c->out, LOG_LEVEL_INFO, "%s", err.msg);
    return -1;
}

void core_reset(struct core *c, const char *why)
{
    out_log(&c->out, LOG_LEVEL_WARN, "%s", why);
    local_drop_all(c);
    client_fail_all(c, why);
    local_resize_fail_all(c, why);
    keeper_free(c);
    while (neighbours_first(c->neighbours))
        neighbours_close(c->neighbours, neighbours_first(c->neighbours), true);
    neigh_free(c);
    keep_counts(c);
    destroy_transport(c);
    origin_clear(&c->origin);
    members_free(&c->members);
    members_init(&c->members, c->opts.vpid, c->opts.radix);
    create_transport(c);
    c->self.epoch = (struct epoch){0, 0};
    c->parent_id = 0;
    c->finishing = c->ask_head = c->head_ended = false;
    c->lost_at = 0;
    c->retry_ms = CORE_RETRY_MIN_MS;
    c->retry_at = c->out.now_ms + c->retry_ms;
    core_set_state(c, CORE_JOINING, "vpid %u joins anew: %s", c->opts.vpid, why);
    if (c->sigterm) { /* it is departing anyway */
        c->retry_at = 0;
        out_add(&c->out, OUT_EXIT);
    }
}

static bool deliver_next(struct core *c)
{
    struct buf bytes;
    struct err err = {0};
    struct frame f = {0};
    struct msg m;

    if (!rml_next(c->rml, &bytes))
        return false;
    struct cur cur = cur_of(bytes.data, bytes.len);
    if (frame_decode(&cur, &f, &err) < 0 || msg_decode(&cur, f.type, &m, &err) < 0) {
        out_log(&c->out, LOG_LEVEL_WARN, "refused from vpid %u: %s", f.src, err.msg);
        c->stale++;
    } else {
        if (f.src == VPID_HEAD)
            c->head_speaks = f.speaks;
        dispatch_routed(c, &f, &m);
        msg_free(&m);
    }
    buf_free(&bytes);
    return true;
}

static bool run_head(struct core *c)
{
    struct msg op;
    bool moved = false;

    head_run(c->head);
    show_step(c);
    if (head_turned_away(c->head))
        greet_turn_away(c);
    while (head_next_op(c->head, &op)) {
        apply_op(c, &op);
        show_step(c);
        msg_free(&op);
        moved = true;
    }
    moved |= head_completed(c->head, xcast_completed(c->xcast));
    show_step(c);
    if (head_ended(c->head) && !c->finishing)
        finish_start(c, AFTER_EXIT,
                     "the DVM has ended"); /* processes that wait for the end see the exit */
    return moved;
}

/* A peer with a full backlog has missed a message, so one of the two epochs has to end. */
static bool give_up_behind(struct core *c)
{
    struct msg_target who;
    size_t limit;
    char why[96];

    if (!rml_behind(c->rml, &who, &limit))
        return false;
    snprintf(why, sizeof(why), "more than %zu bytes wait for vpid %u", limit, who.vpid);
    if (core_is_head(c))
        head_lost(c->head, who.vpid, who.epoch, why);
    else
        core_reset(c, why);
    return true;
}

/* Processes all consequences of an input. Afterwards the outbox is complete. */
void core_settle(struct core *c)
{
    bool moved = true;

    asking_turn(c);
    if (core_is_head(c))
        head_turn(c->head);
    while (moved) {
        moved = false;
        while (deliver_next(c)) {
            show_step(c);
            moved = true;
        }
        local_reports(c);
        moved |= give_up_behind(c);
        if (core_is_head(c))
            moved |= run_head(c);
        moved |= rml_has_next(c->rml);
    }
    finish_check(c);
    rml_tick(c->rml);
    conn_acks(c);
    keepers_turn(c);
    if (c->sigterm && core_is_head(c) && !head_ending(c->head) && !keepers_may_hand_over(c) &&
        out_take_exit_back(&c->out)) {
        head_shutdown(c->head, SHUTDOWN_INCARNATION, 0); /* nobody would go on with the records */
        core_settle(c);
    }
}

uint64_t core_deadline(const struct core *c)
{
    uint64_t due = neigh_deadline(c);
    uint64_t rml = rml_deadline(c->rml);
    uint64_t gather = gather_deadline(c->gather);

    due = rml < due ? rml : due;
    due = gather < due ? gather : due;
    due = asking_deadline(c) < due ? asking_deadline(c) : due;
    due = keepers_deadline(c) < due ? keepers_deadline(c) : due;
    if (core_is_head(c)) {
        uint64_t launch = head_deadline(c->head);

        due = launch < due ? launch : due;
    }
    if (due == UINT64_MAX)
        return due;
    return (int64_t)due > c->clock_ahead ? due - (uint64_t)c->clock_ahead : 0;
}

bool core_holds(const struct core *c)
{
    return keepers_hold(c);
}

void core_answer(struct core *c, uint64_t number)
{
    out_add(&c->out, OUT_ANSWER)->answer.number = number;
}

bool core_inherited(const struct core *c)
{
    return c->inherited;
}

bool core_incarnation_ends(const struct core *c)
{
    return core_is_head(c) && head_ending(c->head);
}

void core_records_lost(struct core *c)
{
    c->opts.keeps_records = false;
    buf_reset(&c->records);
}

void core_snapshot(const struct core *c, struct buf *b)
{
    size_t at = b->len;

    buf_put_u32(b, 0);
    journal_snapshot(head_journal(c->head), b);
    if (!b->failed)
        buf_patch_u32(b, at, (uint32_t)(b->len - at - 4));
}

void core_tick(struct core *c)
{
    neigh_tick(c);
    gather_tick(c->gather);
    keepers_tick(c);
    core_settle(c);
}

void core_gather(struct core *c, const struct gather_call *call)
{
    gather_start(c->gather, call);
    core_settle(c);
}

int core_app_send(struct core *c, uint32_t vpid, enum out_class traffic, uint32_t kind,
                  const void *data, size_t len, struct err *err)
{
    struct msg m = {.type = MSG_APP, .app = {kind, data, len}};

    if (rml_send(c->rml, vpid, traffic, &m, err) < 0)
        return -1;
    core_settle(c);
    return 0;
}

size_t core_app_backlog(const struct core *c, uint32_t vpid, enum out_class traffic)
{
    return rml_backlog(c->rml, vpid, traffic);
}

void core_sigterm(struct core *c)
{
    struct msg m = {.type = MSG_RELEASE_ME,
                    .release_me = {.deadline_s = c->opts.drain_s, .kill = c->opts.drain_kill}};

    c->sigterm = true;
    if (core_is_head(c) && keepers_may_hand_over(c) && !head_ending(c->head)) {
        out_log(&c->out, LOG_LEVEL_INFO, "this process ends, and the next one goes on");
        out_add(&c->out, OUT_EXIT); /* it follows the records */
    } else if (core_is_head(c)) {
        head_shutdown(c->head, SHUTDOWN_INCARNATION, 0);
    } else if (c->state == CORE_WIRED) {
        core_send(c, VPID_HEAD, CLASS_CONTROL, &m);
    } else if (c->state == CORE_JOINING || c->state == CORE_PARKED) {
        out_add(&c->out, OUT_EXIT);
    }
    core_settle(c);
}

void core_fail(struct core *c, const char *why)
{
    struct msg_target self = {c->opts.vpid, c->self.epoch};
    struct msg m = {.type = MSG_LOST, .lost = {self, (char *)why}};

    if (!core_is_head(c) && c->state == CORE_WIRED)
        core_send(c, VPID_HEAD, CLASS_CONTROL, &m);
    core_settle(c);
    out_add(&c->out, OUT_EXIT)->exit.code = EXIT_FAILURE;
}

enum core_state core_state(const struct core *c)
{
    return c->state;
}

const char *core_state_text(const struct core *c)
{
    return c->text;
}

const char *core_incarnation(const struct core *c)
{
    return c->incarnation;
}

static void count_links(const struct core *c, struct core_stats *s)
{
    const struct peer_link *at;
    const struct neighbour *k;

    DL_FOREACH(neighbours_first(c->neighbours), k)
    {
        DL_FOREACH(peer_links(k->peer), at)
        {
            s->links += at->state >= PEER_LINK_UP;
            s->links_out += at->state == PEER_LINK_OUT;
        }
    }
    s->links_lost = c->conns_lost;
    s->links_mapped_out = c->conns_mapped_out;
    s->links_taken_back = c->conns_taken_back;
    s->frames_again = neighbours_again(c->neighbours);
}

/* Not those that only greet, call or end. */
static bool is_in_tree(const struct neighbour *k)
{
    return neighbour_is_greeted(k) && !k->joining;
}

static bool is_faster(const struct peer_link *at, int64_t than_ms)
{
    return at->state == PEER_LINK_UP && at->measured &&
           (than_ms < 0 || (int64_t)at->delay_ms < than_ms);
}

/* Links between the same two addresses are one path. */
static struct api_link_path *find_path(struct api_link_peer *p, const struct peer_link *at)
{
    struct api_link_path *x;

    for (size_t i = 0; i < p->npaths; i++) {
        x = &p->paths[i];
        if (strcmp(x->own, at->own) == 0 && strcmp(x->other, at->other) == 0)
            return x;
    }
    if (p->npaths == API_LINK_PATHS_MAX)
        return NULL;
    x = &p->paths[p->npaths++];
    snprintf(x->own, sizeof(x->own), "%s", at->own);
    snprintf(x->other, sizeof(x->other), "%s", at->other);
    x->round_trip_ms = -1;
    return x;
}

static void describe_path(struct api_link_peer *p, const struct peer_link *at)
{
    struct api_link_path *x;

    if (at->state < PEER_LINK_UP || !*at->own || !*at->other)
        return;
    x = find_path(p, at);
    if (!x)
        return;
    x->up += at->state == PEER_LINK_UP;
    x->mapped_out += at->state == PEER_LINK_OUT;
    if (is_faster(at, x->round_trip_ms))
        x->round_trip_ms = (int64_t)at->delay_ms;
}

static struct api_link_peer describe_peer(const struct neighbour *k)
{
    const struct peer_link *at;
    struct peer_stats s = peer_stats(k->peer);
    struct api_link_peer p = {.vpid = k->vpid,
                              .role = k->incoming ? API_LINK_CHILD : API_LINK_PARENT,
                              .round_trip_ms = -1,
                              .queued_bytes = s.bytes,
                              .lost = k->lost,
                              .sent_again = s.again};

    DL_FOREACH(peer_links(k->peer), at)
    {
        p.up += at->state == PEER_LINK_UP;
        p.mapped_out += at->state == PEER_LINK_OUT;
        if (is_faster(at, p.round_trip_ms))
            p.round_trip_ms = (int64_t)at->delay_ms;
        describe_path(&p, at);
    }
    return p;
}

static int compare_vpids(const void *a, const void *b)
{
    const struct api_link_peer *x = a, *y = b;

    return (x->vpid > y->vpid) - (x->vpid < y->vpid);
}

struct api_links core_links(const struct core *c)
{
    struct api_links l = {.vpid = c->opts.vpid};
    const struct neighbour *k;

    l.peers = xcalloc(neighbours_count(c->neighbours) + 1, sizeof(*l.peers));
    DL_FOREACH(neighbours_first(c->neighbours), k)
    {
        if (is_in_tree(k))
            l.peers[l.npeers++] = describe_peer(k);
    }
    qsort(l.peers, l.npeers, sizeof(*l.peers), compare_vpids);
    return l;
}

uint32_t core_jobs_bound(const struct core *c)
{
    return core_is_head(c) ? head_jobs_bound(c->head, keepers_in_sync(c) > 0) : 0;
}

struct core_stats core_stats(const struct core *c)
{
    struct rml_stats rml = rml_stats(c->rml);
    struct core_stats s = {.repairs = c->past_repairs + c->members.repairs,
                           .xcasts = c->members.version,
                           .stale_frames = c->stale + c->past.stale + rml.stale,
                           .forged_frames = c->forged,
                           .circled_frames = c->past.circled + rml.circled,
                           .transfers = c->past.transfers.ended + rml.transfers.ended,
                           .transfer_restarts = c->past.transfers.restarts + rml.transfers.restarts,
                           .routed_frames = c->routed,
                           .backlog_most = larger_of(c->past.backlog_most, rml.backlog_most),
                           .version = c->members.version,
                           .keepers = (uint32_t)keepers_in_sync(c),
                           .left_behind = c->keepers.left_behind,
                           .live = (uint32_t)hwloc_bitmap_weight(c->members.live)};

    count_links(c, &s);
    if (core_is_head(c)) {
        struct jobs_stats jobs = head_job_stats(c->head);

        s.jobs_started = jobs.started;
        s.jobs_ended = jobs.ended;
        s.held_map = jobs.held_map;
        s.held_launch = jobs.held_launch;
        s.remapped = jobs.remapped;
    }
    return s;
}
