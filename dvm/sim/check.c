/* SPDX-License-Identifier: BSD-3-Clause */
/* Invariants of every daemon, checked from outside: broadcasts, streams, stale epochs, repairs,
 * agreement at rest. It also calls the checks of the other check_ files.
 *
 * In: the simulator's hooks: frames that arrive, actions before they are carried out, steps within
 * an input, and the end of each input. Out: the first failure, with the name of its invariant
 * (check_failed(), check_text()); later ones are dropped.
 *
 * After each step of a daemon: its epoch, version and repairs fit the earlier ones. After each
 * input: its links, its backlog and, at the head, all records. At rest (check_rest()): all daemons
 * agree with the head's tree, every test message has arrived, and no slot is in use.
 *
 * Names: link-exactly-once, xcast-exactly-once, stale-epoch, one-repair, no-circles,
 * no-send-to-leaving, files-before-start, checked-before-start, bounded-backlog, tree-agreement,
 * slots-balance.
 *
 * Limits: a stream may hold BACKLOG_MAX bytes, and BACKLOG_PER_MEMBER more for each vpid. After a
 * step, the head's records are checked only if a figure in struct seen_change has changed. A lost
 * LEFT, and a missed broadcast that ended an epoch, fail only if no fault is injected
 * (check_healthy()). A LEFT may also be lost over a link that is so slow that its peer has closed
 * the others before. */
#include "dvm/sim/check.h"

#include "dvm/sim/check_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limit of bytes in one stream: more than schedules of this size can need, of which two bursts
 * (outage.h) are 144,000 bytes; a launch grows with the DVM. */
#define BACKLOG_MAX (192u << 10)
#define BACKLOG_PER_MEMBER 2048u

const char *check_failed(const struct check *c)
{
    return c->name;
}

const char *check_text(const struct check *c)
{
    return c->text;
}

void check_fail(struct check *c, const char *name, const char *fmt, ...)
{
    va_list ap;

    if (*c->name)
        return;
    snprintf(c->name, sizeof(c->name), "%s", name);
    va_start(ap, fmt);
    vsnprintf(c->text, sizeof(c->text), fmt, ap);
    va_end(ap);
}

void check_healthy(struct check *c, bool healthy)
{
    c->healthy = healthy;
}

uint64_t check_digest(const struct members *m)
{
    uint64_t d = 1469598103934665603ull;
    unsigned v;

    hwloc_bitmap_foreach_begin(v, m->live)
    {
        d = (d ^ v) * 1099511628211ull;
        d = (d ^ m->tab[v].ctr) * 1099511628211ull;
    }
    hwloc_bitmap_foreach_end();
    return d;
}

/* --- test messages */

static struct seen_stream *stream_of(struct check *c, const struct stream_key *key)
{
    struct seen_stream *s;

    HASH_FIND(hh, c->streams, key, sizeof(*key), s);
    if (!s) {
        s = xcalloc(1, sizeof(*s));
        s->key = *key;
        HASH_ADD(hh, c->streams, key, sizeof(s->key), s);
    }
    return s;
}

struct test_msg {
    struct stream_key key;
    uint64_t number;
};

void check_send(struct check *c, uint32_t from, uint32_t to, enum out_class traffic)
{
    struct core *a = sim_core(c->sim, from);
    struct test_msg m;
    struct seen_stream *s;
    const struct member *peer;

    if (!a || from == to || !core_live(a, to) || !core_live(a, from))
        return;
    memset(&m, 0, sizeof(m));
    peer = members_get(core_inspect_members(a), to);
    m.key.src = from;
    m.key.dst = to;
    m.key.traffic = traffic;
    m.key.src_epoch = core_inspect_epoch(a);
    m.key.dst_epoch = members_epoch(core_inspect_members(a), peer);
    s = stream_of(c, &m.key);
    m.number = s->sent + 1;
    sim_clock(c->sim, from);
    if (core_app_send(a, to, traffic, 7, &m, sizeof(m), NULL) == 0)
        s->sent++;
    sim_drain(c->sim, from);
}

/* A new head gets what its predecessor has not acknowledged of class BULK: output of detached jobs
 * of the head's clients (core/succession.c). It knows no such client here, and drops it. */
static bool is_for_predecessor(const struct check *c, uint32_t vpid, const struct test_msg *m)
{
    struct epoch own = core_inspect_epoch(sim_core(c->sim, vpid));

    return vpid == VPID_HEAD && m->key.dst == VPID_HEAD && m->key.traffic == CLASS_BULK &&
           m->key.dst_epoch.inc == own.inc && m->key.dst_epoch.ctr < own.ctr;
}

/* Its epoch, or the one that it has given up in this input, after it took the message. */
static bool is_its_epoch(const struct check *c, uint32_t vpid, struct epoch epoch)
{
    const struct seen_node *n = &c->nodes[vpid];

    return epoch_eq(epoch, core_inspect_epoch(sim_core(c->sim, vpid))) ||
           (n->settled_life == n->life && epoch_eq(epoch, n->settled));
}

static void on_app(struct check *c, uint32_t vpid, const struct out_app *act)
{
    struct test_msg m;
    struct seen_stream *s;

    if (act->kind != 7 || act->data.len != sizeof(m))
        return;
    memcpy(&m, act->data.data, sizeof(m));
    if (is_for_predecessor(c, vpid, &m))
        return;
    if (m.key.dst != vpid || !is_its_epoch(c, vpid, m.key.dst_epoch))
        check_fail(c, "stale-epoch", "vpid %u got a message for epoch %llu of vpid %u", vpid,
                   (unsigned long long)m.key.dst_epoch.ctr, m.key.dst);
    s = stream_of(c, &m.key);
    if (m.number != s->got + 1)
        check_fail(c, "link-exactly-once", "vpid %u got number %llu from vpid %u after %llu", vpid,
                   (unsigned long long)m.number, m.key.src, (unsigned long long)s->got);
    s->got = m.number;
}

/* --- arrivals and their effects */

static struct seen_hops *hops_of(struct check *c, uint32_t at, const struct frame *f)
{
    struct seen_hops *x = xcalloc(1, sizeof(*x));
    struct seen_hops *old;

    x->key = (struct hops_key){at, f->src, f->dst, f->traffic, f->src_epoch.ctr, f->seq};
    HASH_FIND(hh, c->hops, &x->key, sizeof(x->key), old);
    if (old) {
        free(x);
        return old;
    }
    HASH_ADD(hh, c->hops, key, sizeof(x->key), x);
    return x;
}

/* A relay may pass a frame on later, or once more. */
static void note_hop(struct check *c, uint32_t at, const struct frame *f)
{
    if (f->hops <= FRAME_HOPS_MAX)
        hops_of(c, at, f)->came[f->hops] = true;
}

/* A frame begins to come in a transfer, whose match data do not have the number of its hops. */
static void note_transfer(struct check *c, uint32_t at, const struct frame *of, struct cur *body)
{
    struct transfer_match match;
    struct frame f = {0};
    struct msg m;

    if ((of->type != MSG_MATCH && of->type != MSG_RNDV && of->type != MSG_RGET) ||
        msg_decode(body, of->type, &m, NULL) < 0)
        return;
    match = of->type == MSG_MATCH  ? m.match.match
            : of->type == MSG_RNDV ? m.rndv.match
                                   : m.rget.match;
    f.src = match.src;
    f.dst = match.dst;
    f.traffic = match.traffic;
    f.src_epoch = match.src_epoch;
    f.seq = match.seq;
    hops_of(c, at, &f)->in_transfer = true;
    msg_free(&m);
}

static struct seen_left *note_left(struct check *c, const struct frame *f, struct cur *body)
{
    struct seen_left *x = xcalloc(1, sizeof(*x));
    struct seen_left *old;
    struct msg m;

    x->key.src = f->src;
    x->key.src_epoch = f->src_epoch;
    if (msg_decode(body, f->type, &m, NULL) == 0) {
        x->key.vpid = m.left.who.vpid;
        x->key.epoch = m.left.who.epoch;
        x->key.link_closed = m.left.link_closed;
        msg_free(&m);
    }
    HASH_FIND(hh, c->lefts, &x->key, sizeof(x->key), old);
    if (old) {
        free(x);
        return old;
    }
    HASH_ADD(hh, c->lefts, key, sizeof(x->key), x);
    return x;
}

/* A head that asks for records has no state. */
static bool asks_for_records(const struct check *c, uint32_t vpid)
{
    return vpid == VPID_HEAD && !sim_head(c->sim);
}

static void on_frame(void *arg, uint32_t vpid, uint64_t conn, const uint8_t *data, size_t len)
{
    struct check *c = arg;
    struct core *core = sim_core(c->sim, vpid);
    const struct members *m = core_inspect_members(core);
    struct cur cur = cur_of(data, len);
    struct frame f;

    if (frame_decode(&cur, &f, NULL) < 0)
        return;
    check_former_frame(c, vpid, conn);
    if (f.type == MSG_RECORDS && asks_for_records(c, vpid))
        check_records_given(c, conn, &cur);
    if (f.type == MSG_LEFT)
        note_left(c, &f, &cur)->came = true;
    if (msg_is_routed(f.type) && f.dst != vpid)
        note_hop(c, vpid, &f);
    note_transfer(c, vpid, &f, &cur);
    if (core_inspect_up(core, conn) && !msg_is_routed(f.type))
        check_heard(c, vpid, &f);
    if (core_inspect_up(core, conn) && f.type == MSG_RESIZE_ENDED && f.dst == vpid &&
        f.hop_seq >= core_inspect_turn(core, conn))
        check_end_comes(c, vpid, cur);
    if (!core_inspect_up(core, conn) || !msg_is_routed(f.type) || f.dst != vpid ||
        f.version > m->version)
        return;
    if (f.hop_seq && f.hop_seq != core_inspect_turn(core, conn))
        return; /* repeated, or it waits for its turn */
    if (vpid == 0 && f.type == MSG_REPORT)
        check_told(c, &f, &cur);
    c->stale_due = (!members_current(m, f.src, f.src_epoch) && !check_is_heir(m, &f)) ||
                   (f.dst_ctr && f.dst_ctr != (uint32_t)core_inspect_epoch(core).ctr);
    c->stale_before = core_stats(core).stale_frames;
    c->stale_life = sim_life(c->sim, vpid) * SIM_NODES_MAX + vpid;
}

/* A launch that has waited for keepers was decided earlier: check_head() has seen its record then.
 * A removal that was decided meanwhile follows it. One that has waited for a link may be for an
 * earlier epoch of the vpid. */
static void on_launch_frame(struct check *c, const struct frame *f)
{
    struct seen_launch *x = xcalloc(1, sizeof(*x));
    struct seen_launch *old;
    const struct member *to;

    x->key[0] = f->dst;
    x->key[1] = f->dst_ctr;
    x->key[2] = f->seq;
    HASH_FIND(hh, c->launches, x->key, sizeof(x->key), old);
    if (old) {
        free(x);
        return;
    }
    HASH_ADD(hh, c->launches, key, sizeof(x->key), x);
    to = members_get(core_inspect_members(sim_core(c->sim, 0)), f->dst);
    if (to && !c->waited && (uint32_t)to->ctr == f->dst_ctr &&
        (to->state == MEMBER_LEAVING || to->state == MEMBER_PARKED) &&
        (c->began[f->dst] != MEMBER_WIRED || c->named_now[f->dst]))
        check_fail(c, "no-send-to-leaving", "launch data goes to vpid %u, which is %s", f->dst,
                   member_state_word(to->state));
}

/* Messages that the head sent earlier in the same turn do not count against it. */
static void on_event(struct check *c, const struct api_event *e)
{
    if (!e || e->type != API_EVENT_CAMPAIGN_ACCEPTED)
        return;
    check_campaign_of(c, e->campaign.id)->shown = true;
    for (size_t i = 0; i < e->campaign.ntargets; i++) {
        if (e->campaign.targets[i] < SIM_NODES_MAX)
            c->named_now[e->campaign.targets[i]] = true;
    }
}

/* Ranks are about to start here: all daemons of their job that are not lost must have its files,
 * and must have checked their ranks. */
static void check_ready(struct check *c, uint32_t vpid, const char *nspace)
{
    const struct job_launch *l = core_job(sim_core(c->sim, vpid), nspace);

    for (size_t i = 0; l && i < l->nnodes; i++) {
        const struct core *x = sim_core(c->sim, l->nodes[i].vpid);

        if (x && core_inspect_epoch(x).ctr == l->nodes[i].epoch && core_job(x, nspace) &&
            core_live_in(sim_core(c->sim, vpid), l->nodes[i].vpid, l->nodes[i].epoch) &&
            !sim_ready(c->sim, l->nodes[i].vpid, nspace))
            check_fail(c, l->spec.nfiles ? "files-before-start" : "checked-before-start",
                       "ranks of job %s start on vpid %u, and are not ready to on vpid %u", nspace,
                       vpid, l->nodes[i].vpid);
    }
}

/* Each relay must count a hop, so that no frame runs in a circle for ever. */
static void check_hops(struct check *c, uint32_t vpid, const struct frame *f)
{
    if (f->hops > FRAME_HOPS_MAX)
        check_fail(c, "no-circles", "%s from vpid %u to %u makes %u hops", msg_name(f->type),
                   f->src, f->dst, f->hops);
    if (msg_is_routed(f->type) && f->src != vpid && f->hops <= FRAME_HOPS_MAX &&
        (f->hops == 0 ||
         !(hops_of(c, vpid, f)->came[f->hops - 1] || hops_of(c, vpid, f)->in_transfer)))
        check_fail(c, "no-circles", "vpid %u passes %s on as hop %u, it came as another one", vpid,
                   msg_name(f->type), f->hops);
}

static void on_action(void *arg, uint32_t vpid, const struct out_act *act)
{
    struct check *c = arg;
    struct cur cur;
    struct frame f;

    c->acts |= vpid == 0;
    check_obedience(c, vpid, act);
    if (vpid == 0)
        check_journal_acts(c, act);
    switch (act->kind) {
    case OUT_RECORDS:
        check_journal_disk(c, sim_core(c->sim, 0), &act->records);
        break;
    case OUT_CLIENT:
        check_client(c, &act->client);
        break;
    case OUT_APP:
        on_app(c, vpid, &act->app);
        break;
    case OUT_LAUNCH:
        if (core_state(sim_core(c->sim, vpid)) == CORE_LEAVING)
            check_fail(c, "no-send-to-leaving", "vpid %u launches while it leaves", vpid);
        check_given_back(c, vpid, act->launch.launch->nspace);
        break;
    case OUT_RANKS_LOST:
        check_ranks_lost(c, vpid, &act->ranks_lost.lost);
        break;
    case OUT_JOB_ENDED:
        check_ranks_ended(c, vpid, act->job_ended.nspace);
        break;
    case OUT_START:
        check_ready(c, vpid, act->start.nspace);
        break;
    case OUT_SEND:
        check_loss_report(c, vpid, act->send.frame.data, act->send.frame.len);
        cur = cur_of(act->send.frame.data, act->send.frame.len);
        if (frame_decode(&cur, &f, NULL) < 0)
            break;
        if (f.type == MSG_LEFT)
            (void)note_left(c, &f, &cur); /* perhaps again, over another link */
        check_hops(c, vpid, &f);
        if (vpid == 0 && f.type == MSG_LAUNCH && f.src == 0)
            on_launch_frame(c, &f);
        if (vpid == 0 && f.type == MSG_RECORDS)
            check_group_sent(c, &cur);
        break;
    case OUT_GATHER:
        check_gathered(c, vpid, &act->gather);
        break;
    case OUT_RESIZE_ANSWER:
        check_resize_answer(c, vpid, &act->resize_answer);
        break;
    case OUT_RESIZE_ENDED:
        check_resize_ended(c, vpid, &act->resize_ended.end);
        break;
    case OUT_EVENT:
        on_event(c, core_event(sim_core(c->sim, 0), act->event.number));
        break;
    default:
        break;
    }
}

/* --- after an event */

static void check_digest_at(struct check *c, uint32_t vpid, const struct members *m)
{
    size_t v = m->version;

    if (vpid == 0) {
        if (v >= c->ndigests) {
            c->digests = xrealloc(c->digests, (v + 64) * sizeof(*c->digests));
            memset(c->digests + c->ndigests, 0, (v + 64 - c->ndigests) * sizeof(*c->digests));
            c->ndigests = v + 64;
        }
        c->digests[v] = check_digest(m);
        if (m->repairs > c->nodes[0].repairs)
            check_removed(c, v);
    } else if (v && !c->older && v < c->ndigests && c->digests[v] &&
               c->digests[v] != check_digest(m)) {
        check_fail(c, "xcast-exactly-once",
                   "vpid %u has another table of members at version %llu than the head had", vpid,
                   (unsigned long long)v);
    }
}

static void check_complete(struct check *c, const struct core *head)
{
    const struct members *m = core_inspect_members(head);

    if (core_inspect_complete(head) <= c->complete)
        return;
    c->complete = core_inspect_complete(head);
    for (uint32_t v = 1; v < m->n; v++) {
        const struct core *x = v < SIM_NODES_MAX ? sim_core(c->sim, v) : NULL;

        if (!x || !members_current(m, v, core_inspect_epoch(x)) ||
            c->live[v] != core_inspect_epoch(x).ctr) /* perhaps it came with a later one */
            continue;
        if (core_inspect_members(x)->version < c->complete)
            check_fail(c, "xcast-exactly-once",
                       "broadcast %llu is taken for complete, vpid %u has only seen %llu",
                       (unsigned long long)c->complete, v,
                       (unsigned long long)core_inspect_members(x)->version);
    }
}

static void begin_incarnation(struct check *c)
{
    c->older = c->two_heads = c->ran_on = false;
    c->unsure_jobs = 0;
    c->size_sequence = 0;
    c->ndigests = 0;
    free(c->digests);
    c->digests = NULL;
    c->nremovals = 0;
    c->complete = 0;
    memset(c->live, 0, sizeof(c->live));
    memset(c->member, 0, sizeof(c->member));
    check_head_forget(c);
}

/* An heir may be of an earlier incarnation than the last head: its members were cut off while the
 * later one lived, and the last keepers of that one ended with it. */
static void new_head(struct check *c, const struct core *core)
{
    struct epoch now = core_inspect_epoch(core);

    if (core_inherited(core))
        check_records_taken(c);
    check_volume(c, core);
    if (core_inherited(core) && now.inc == c->head.inc) {
        check_heir(c, sim_head(c->sim));
        check_removed(c, core_inspect_members(core)->version); /* all daemons report it */
    } else {
        begin_incarnation(c);
        if (core_inherited(core))
            check_revived(c, sim_head(c->sim));
    }
    c->head = now;
}

/* A member of this epoch that was removed and has not processed the removal. */
static bool out_unheard(const struct check *c, uint32_t vpid, const struct core *core)
{
    const struct seen_node *n = &c->nodes[vpid];
    enum core_state s = core_state(core);

    if (s == CORE_LEAVING || s == CORE_PARKED)
        return members_live(core_inspect_members(core), vpid);
    return sim_life(c->sim, vpid) == n->life && n->version && epoch_none(core_inspect_epoch(core));
}

/* The epoch, the version and the repairs of a daemon never go back, and fit each other. */
static void see_versions(struct check *c, uint32_t vpid, const struct core *core)
{
    const struct members *m = core_inspect_members(core);
    struct seen_node *n = &c->nodes[vpid];
    struct epoch now = core_inspect_epoch(core);

    if (vpid == 0 && (!epoch_eq(now, c->head) || n->life != sim_life(c->sim, 0)))
        new_head(c, core);
    if (epoch_eq(now, n->epoch) && (vpid || n->life == sim_life(c->sim, 0))) {
        uint64_t ops = m->version - n->version;

        if (m->version < n->version)
            check_fail(c, "xcast-exactly-once", "vpid %u went back from version %llu to %llu", vpid,
                       (unsigned long long)n->version, (unsigned long long)m->version);
        else if (m->repairs - n->repairs > ops)
            check_fail(c, "one-repair", "vpid %u repaired %llu times for %llu broadcasts", vpid,
                       (unsigned long long)(m->repairs - n->repairs), (unsigned long long)ops);
    }
    if ((!epoch_eq(now, n->epoch) || m->version != n->version) && now.inc == c->head.inc) {
        check_digest_at(c, vpid, m);
        check_epochs(c, m);
    }
    if (c->healthy && vpid && out_unheard(c, vpid, core))
        check_fail(c, "xcast-exactly-once",
                   "nothing failed, and vpid %u never got the broadcast that ended its epoch",
                   vpid);
    n->epoch = now;
    n->version = m->version;
    n->repairs = m->repairs;
    n->life = sim_life(c->sim, vpid);
}

static void see_head(struct check *c, const struct core *core, bool settled)
{
    const struct members *m = core_inspect_members(core);

    check_complete(c, core);
    check_lives(c, m);
    check_head(c, core, settled);
    for (uint32_t v = 0; v < m->n && v < SIM_NODES_MAX; v++)
        c->live[v] = members_live(m, v) ? m->tab[v].ctr : 0;
}

static void begin_turn(struct check *c)
{
    c->acts = false;
    memcpy(c->began, c->state, sizeof(c->began));
    memset(c->named_now, 0, sizeof(c->named_now));
}

/* Cheap: most steps change nothing that is checked, and the whole state is checked after the
 * input anyway. */
static bool head_changed(struct check *c, const struct core *core)
{
    const struct head *h = core_inspect_head(core);
    struct seen_change now;

    memset(&now, 0, sizeof(now));
    now.version = core_inspect_members(core)->version;
    now.events = core_event_next(core);
    now.jobs = jobs_changes(head_jobs(h));
    now.fence = resize_fence_sum(head_resize(h));
    now.complete = core_inspect_complete(core);
    if (memcmp(&now, &c->change, sizeof(now)) == 0)
        return false;
    c->change = now;
    return true;
}

/* Within an input: after each message, and each step of the head. */
static void on_step(void *arg, uint32_t vpid)
{
    struct check *c = arg;
    const struct core *core = sim_core(c->sim, vpid);

    if (asks_for_records(c, vpid))
        return;
    if (vpid == 0 && c->acts)
        begin_turn(c);
    see_versions(c, vpid, core);
    if (vpid == 0 && head_changed(c, core))
        see_head(c, core, false);
}

static void on_after(void *arg, uint32_t vpid)
{
    struct check *c = arg;
    const struct core *core = sim_core(c->sim, vpid);
    const struct members *m = core_inspect_members(core);
    struct seen_node *n = &c->nodes[vpid];

    if (asks_for_records(c, vpid)) {
        c->stale_due = c->from_former = false;
        return;
    }
    if (c->stale_due && c->stale_life == sim_life(c->sim, vpid) * SIM_NODES_MAX + vpid &&
        core_stats(core).stale_frames == c->stale_before)
        check_fail(c, "stale-epoch", "vpid %u has not refused a frame of an earlier epoch", vpid);
    c->stale_due = c->from_former = false;
    see_versions(c, vpid, core);
    check_one_head(c, vpid);
    if (n->settled_life == n->life)
        check_left(c, vpid, n->settled, core);
    n->settled = n->epoch;
    n->settled_life = n->life;
    n->settled_state = core_state(core);
    if (vpid == 0) {
        c->waited = core_holds(core);
        check_adoption(c, sim_head(c->sim));
    }
    check_links(c, vpid);
    check_peers(c, vpid);
    if (*sim_files_wrong(c->sim))
        check_fail(c, "link-exactly-once", "%s", sim_files_wrong(c->sim));
    if (core_stats(core).backlog_most > BACKLOG_MAX + (size_t)m->n * BACKLOG_PER_MEMBER)
        check_fail(c, "bounded-backlog", "%llu bytes wait in one stream of vpid %u",
                   (unsigned long long)core_stats(core).backlog_most, vpid);
    if (vpid == 0) {
        see_head(c, core, true);
        check_journal(c, core);
        begin_turn(c);
    }
}

struct check *check_create(struct sim *s)
{
    struct check *c = xcalloc(1, sizeof(*c));
    struct sim_hooks h = {.arg = c,
                          .frame = on_frame,
                          .action = on_action,
                          .step = on_step,
                          .after = on_after,
                          .aside = check_journal_aside};

    c->sim = s;
    c->nlinks = sim_nlinks(s);
    c->next_event = 1;
    check_journal_create(c);
    check_kept_create(c);
    sim_watch(s, &h);
    return c;
}

void check_destroy(struct check *c)
{
    struct seen_stream *s, *stmp;
    struct seen_hops *h, *htmp;
    struct seen_left *l, *ltmp;

    if (!c)
        return;
    HASH_ITER(hh, c->lefts, l, ltmp)
    {
        HASH_DEL(c->lefts, l);
        free(l);
    }
    check_gather_free(c);
    check_ranks_free(c);
    check_resize_free(c);
    check_harm_free(c);
    check_head_forget(c);
    check_loss_forget(c);
    check_journal_free(c);
    check_kept_free(c);
    HASH_ITER(hh, c->hops, h, htmp)
    {
        HASH_DEL(c->hops, h);
        free(h);
    }
    HASH_ITER(hh, c->streams, s, stmp)
    {
        HASH_DEL(c->streams, s);
        free(s);
    }
    free(c->digests);
    free(c);
}

/* --- at rest */

static bool is_current(const struct check *c, uint32_t vpid, struct epoch e)
{
    const struct core *x = sim_core(c->sim, vpid);

    return x && epoch_eq(core_inspect_epoch(x), e);
}

/* The bound that dvm/protocol/tree/tree.h states for this set of live vpids. */
static uint32_t children_max(const struct members *m)
{
    int64_t pos = hwloc_bitmap_last(m->live);
    uint32_t level = 0;

    for (; pos > 0; pos = (pos - 1) / m->radix)
        level++;
    return m->radix + (level > 2 ? (level - 2) * (m->radix - 1) : 0);
}

static void rest_daemon(struct check *c, uint32_t vpid, const struct members *head)
{
    const struct core *x = sim_core(c->sim, vpid);
    const struct members *m;
    struct tree t = members_tree(head);
    uint32_t kids = (uint32_t)tree_children(&t, vpid, NULL, 0);
    uint32_t depth = tree_depth(&t, vpid);

    if (!x || !members_current(head, vpid, core_inspect_epoch(x))) {
        check_fail(c, "tree-agreement", "vpid %u is in the tree, but not in this epoch", vpid);
        return;
    }
    if (core_inspect_waiting(x))
        check_fail(c, "bounded-backlog", "vpid %u: %zu bytes still wait at rest", vpid,
                   core_inspect_waiting(x));
    m = core_inspect_members(x);
    if (m->version != head->version || check_digest(m) != check_digest(head))
        check_fail(c, "tree-agreement", "vpid %u is at version %llu, the head at %llu", vpid,
                   (unsigned long long)m->version, (unsigned long long)head->version);
    if (vpid && (depth == 0 || depth > head->n))
        check_fail(c, "tree-agreement", "vpid %u is not below the head", vpid);
    if (kids > children_max(head))
        check_fail(c, "tree-agreement", "vpid %u has %u children", vpid, kids);
    if (vpid && core_inspect_lifeline(x) != tree_parent(&t, vpid))
        check_fail(c, "tree-agreement", "the lifeline of vpid %u leads to %d, its parent is %u",
                   vpid, (int)core_inspect_lifeline(x), tree_parent(&t, vpid));
}

static void rest_lefts(struct check *c)
{
    struct seen_left *x, *tmp;

    HASH_ITER(hh, c->lefts, x, tmp)
    {
        if (c->healthy && !c->mapped_out && !x->came)
            check_fail(c, "link-exactly-once",
                       "nothing failed, and the LEFT of vpid %u that vpid %u sent has not arrived",
                       x->key.vpid, x->key.src);
    }
}

void check_rest(struct check *c)
{
    const struct core *head = sim_core(c->sim, 0);
    const struct members *m = core_inspect_members(head);
    struct seen_stream *s, *tmp;
    unsigned v;

    hwloc_bitmap_foreach_begin(v, m->live)
    {
        rest_daemon(c, v, m);
    }
    hwloc_bitmap_foreach_end();
    HASH_ITER(hh, c->streams, s, tmp)
    {
        if (s->got != s->sent && is_current(c, s->key.src, s->key.src_epoch) &&
            is_current(c, s->key.dst, s->key.dst_epoch))
            check_fail(c, "link-exactly-once",
                       "%llu messages from vpid %u to %u (class %u), %llu have arrived",
                       (unsigned long long)s->sent, s->key.src, s->key.dst, s->key.traffic,
                       (unsigned long long)s->got);
    }
    check_peers_rest(c);
    check_gather_rest(c);
    check_resize_rest(c);
    for (v = 0; v < m->n; v++) {
        const struct member *x = members_get(m, v);

        if (x && x->slots_used)
            check_fail(c, "slots-balance", "vpid %u: %u slots in use, no job is there", v,
                       x->slots_used);
    }
    rest_lefts(c);
    if (jobs_notified(head_jobs(core_inspect_head(head))))
        check_fail(c, "accepted-is-kept", "%zu ends of jobs are not acknowledged at rest",
                   jobs_notified(head_jobs(core_inspect_head(head))));
    if (core_inspect_complete(head) != m->version)
        check_fail(c, "xcast-exactly-once", "broadcast %llu is not complete at rest",
                   (unsigned long long)m->version);
}
