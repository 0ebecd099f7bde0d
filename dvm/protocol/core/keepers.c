/* SPDX-License-Identifier: BSD-3-Clause */
/* The head sends its records to keepers, and its other actions wait for them.
 *
 * In: records, KEPT, links that come and break, the clock. Out: RECORDS to the keepers, and how far
 * the driver may take actions (struct out).
 *
 * Keepers are the two lowest children of the head in the tree. They call the next head at once; a
 * member below others does not. If one does not acknowledge in time, the next one keeps too, until
 * it does. A stream to a keeper begins with a snapshot. The records of one input are a group with a
 * number. After the first acknowledgement the keeper is in sync: actions that follow a group wait
 * until all keepers in sync have it. If the head has let others out meanwhile, the keeper has their
 * groups soon, or is left behind.
 * RECORDS and KEPT are outside of the sequence of frames between neighbours, so that they overtake
 * the frames that wait for them.
 *
 * Invariants: whatever another daemon, a client or the operator has seen is at each keeper in sync.
 * A stream uses one connection, so its pieces arrive in order.
 *
 * Failures: without an acknowledgement for KEEPERS_WAIT_MS the head goes on without that keeper,
 * says so, and begins its stream anew later. A broken connection ends the stream only. With no
 * keeper in sync nothing waits.
 *
 * Limits: the head keeps no records itself. What is under way to a keeper is bounded by
 * KEEPERS_BEHIND_BYTES and one snapshot; what a keeper has, by two snapshots and the records since
 * then (KEEPERS_LOG_BYTES, or as much as the snapshot). */
#include "dvm/protocol/core/core_private.h"

#include "base/bitmap/bitmap.h"
#include "base/log/log.h"

#include <string.h>
#include <utlist.h>

#define WANTED 2

void keepers_begin(struct core *c)
{
    struct keepers *ks = &c->keepers;

    buf_init(&ks->fresh, RECORD_SNAPSHOT_MAX);
    c->out.turn = ks->begins;
    c->out.kept = ks->begins ? 0 : UINT64_MAX;
}

void keepers_record(struct core *c, const uint8_t *data, size_t len)
{
    buf_put_bytes(&c->keepers.fresh, data, len);
}

/* --- how far actions may go */

static uint64_t find_kept(const struct keepers *ks)
{
    uint64_t kept = ks->begins ? 0 : ks->sealed;

    for (size_t i = 0; i < ks->n; i++) {
        if (ks->streams[i].in_sync && ks->streams[i].acked < kept)
            kept = ks->streams[i].acked;
    }
    return kept;
}

/* Actions since the last group follow it when it is kept. */
static void release_actions(struct core *c)
{
    struct keepers *ks = &c->keepers;
    uint64_t kept = find_kept(ks), before = c->out.kept;

    c->out.turn = ks->sealed + 1;
    c->out.kept = (kept == ks->sealed && !ks->begins) || c->finishing ? UINT64_MAX : kept;
    if (c->out.kept == UINT64_MAX)
        ks->wait_since = 0;
    else if (!ks->wait_since || (before != UINT64_MAX && kept > before))
        ks->wait_since = c->out.now_ms;
}

bool keepers_may_hand_over(const struct core *c)
{
    bool may = c->keepers.begins || (c->opts.keepers && c->opts.keeps_records);

    for (size_t i = 0; i < c->keepers.n; i++)
        may |= c->keepers.streams[i].in_sync;
    return may;
}

bool keepers_hold(const struct core *c)
{
    return c->opts.keepers && core_is_head(c) && c->out.kept != UINT64_MAX;
}

size_t keepers_in_sync(const struct core *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->keepers.n; i++)
        n += c->keepers.streams[i].in_sync && c->keepers.streams[i].conn;
    return n;
}

/* --- streams */

static struct peer_link *find_link(const struct core *c, const struct keepers_stream *s,
                                   struct neighbour **k)
{
    struct peer_link *at = NULL;

    *k = s->conn ? neighbours_by_conn(c->neighbours, s->conn, &at) : NULL;
    return *k && (*k)->state == NEIGHBOUR_UP && at->state == PEER_LINK_UP ? at : NULL;
}

static void stop_stream(struct core *c, struct keepers_stream *s, uint64_t again_ms)
{
    s->conn = 0;
    s->behind = s->marked = 0;
    s->due_at = 0;
    s->again_at = again_ms ? c->out.now_ms + again_ms : 0;
    c->keepers.check = true;
}

static void mark_group(struct keepers_stream *s)
{
    s->mark = s->sent;
    s->marked = s->behind;
}

static void send_group(struct core *c, struct keepers_stream *s, const struct buf *b, bool snapshot)
{
    struct msg_records m = {.stream = s->number,
                            .seq = c->keepers.sealed,
                            .now_ms = c->out.now_ms,
                            .snapshot = snapshot};
    struct neighbour *k;
    struct peer_link *at = find_link(c, s, &k);

    if (!at) {
        stop_stream(c, s, 0);
        return;
    }
    s->sent = m.seq;
    s->behind += b->len;
    if (!s->marked)
        mark_group(s);
    if (snapshot)
        s->snapshot = b->len;
    s->log = snapshot ? 0 : s->log + b->len;
    c->out.goes_ahead = true;
    keeper_send(c, k, at, &m, b);
    c->out.goes_ahead = false;
}

static void send_snapshot(struct core *c, struct keepers_stream *s)
{
    BUF_AUTO struct buf b = {0};

    buf_init(&b, RECORD_SNAPSHOT_MAX);
    core_snapshot(c, &b);
    s->number = ++c->keepers.numbers;
    s->due_at = s->in_sync ? 0 : c->out.now_ms + KEEPERS_WAIT_MS;
    if (b.failed)
        stop_stream(c, s, KEEPERS_AGAIN_MS);
    else
        send_group(c, s, &b, true);
}

static bool needs_snapshot(const struct keepers_stream *s, size_t more)
{
    size_t log = s->log + more;

    return log > KEEPERS_LOG_BYTES && log > s->snapshot;
}

static void stream_group(struct core *c, struct keepers_stream *s, const struct buf *b)
{
    if (!s->conn)
        return;
    if (s->behind > KEEPERS_BEHIND_BYTES + s->snapshot)
        stop_stream(c, s, KEEPERS_AGAIN_MS);
    else if (needs_snapshot(s, b->len))
        send_snapshot(c, s);
    else
        send_group(c, s, b, false);
}

static void keep_for_driver(struct core *c, const struct buf *group)
{
    if (c->opts.keeps_records && c->records_anew)
        core_snapshot(c, &c->records);
    else if (c->opts.keeps_records)
        buf_put_raw(&c->records, group->data, group->len);
}

void keepers_seal(struct core *c)
{
    struct keepers *ks = &c->keepers;
    struct buf group;

    if (c->head)
        head_note_clock(c->head, ks->fresh.len > 0);
    group = ks->fresh;
    if (group.len == 0)
        return;
    ks->fresh = (struct buf){0};
    buf_init(&ks->fresh, RECORD_SNAPSHOT_MAX);
    ks->sealed++;
    for (size_t i = 0; i < ks->n; i++)
        stream_group(c, &ks->streams[i], &group);
    keep_for_driver(c, &group);
    release_actions(c);
    buf_free(&group);
}

/* --- which members */

static struct keepers_stream *find_stream(struct keepers *ks, uint32_t vpid)
{
    for (size_t i = 0; i < ks->n; i++) {
        if (ks->streams[i].vpid == vpid)
            return &ks->streams[i];
    }
    return NULL;
}

static void remove_stream(struct keepers *ks, size_t i)
{
    ks->n--;
    memmove(&ks->streams[i], &ks->streams[i + 1], (ks->n - i) * sizeof(*ks->streams));
}

/* A member of edition 0 does not know RECORDS. */
static bool can_keep(const struct core *c, const struct neighbour *k)
{
    return k && k->state == NEIGHBOUR_UP && k->speaks >= 1 && peer_best(k->peer) &&
           members_live(&c->members, k->vpid) && members_current(&c->members, k->vpid, k->epoch);
}

static bool is_late(const struct keepers *ks, uint32_t vpid)
{
    for (size_t i = 0; i < ks->n; i++) {
        if (ks->streams[i].vpid == vpid)
            return ks->streams[i].late;
    }
    return false;
}

static hwloc_bitmap_t list_able(const struct core *c)
{
    hwloc_bitmap_t able = bitmap_alloc();
    const struct neighbour *k;

    DL_FOREACH(neighbours_first(c->neighbours), k)
    {
        if (can_keep(c, k))
            bitmap_set(able, k->vpid);
    }
    return able;
}

static bool is_child(const struct core *c, uint32_t vpid)
{
    struct tree t = members_tree(&c->members);

    return tree_parent(&t, vpid) == VPID_HEAD;
}

static size_t add_wanted(const struct core *c, hwloc_const_bitmap_t able, uint32_t wanted[WANTED],
                         size_t n, bool late, bool child)
{
    for (int v = hwloc_bitmap_first(able); v >= 0 && n < WANTED; v = hwloc_bitmap_next(able, v)) {
        if (is_late(&c->keepers, (uint32_t)v) == late && is_child(c, (uint32_t)v) == child)
            wanted[n++] = (uint32_t)v;
    }
    return n;
}

/* Children of the head in the tree come first. Others with a link to it have lost their parent, and
 * leave the head when they have another one. Those that are late come after all others. */
static size_t find_wanted(const struct core *c, uint32_t wanted[WANTED])
{
    hwloc_bitmap_t able = list_able(c);
    size_t n = 0;

    for (int late = 0; late <= 1; late++) {
        n = add_wanted(c, able, wanted, n, late, true);
        n = add_wanted(c, able, wanted, n, late, false);
    }
    hwloc_bitmap_free(able);
    return n;
}

static bool is_wanted(const uint32_t *wanted, size_t n, uint32_t vpid)
{
    for (size_t i = 0; i < n; i++) {
        if (wanted[i] == vpid)
            return true;
    }
    return false;
}

static void drop_departed(struct core *c)
{
    struct keepers *ks = &c->keepers;

    for (size_t i = ks->n; i-- > 0;) {
        struct keepers_stream *s = &ks->streams[i];

        if (!members_live(&c->members, s->vpid) || !members_current(&c->members, s->vpid, s->epoch))
            remove_stream(ks, i);
    }
}

static void end_stream(struct core *c, size_t i)
{
    struct keepers *ks = &c->keepers;
    struct msg m = {.type = MSG_RECORDS,
                    .records = {.stream = ks->streams[i].number, .drop = true}};
    struct frame from = rml_from(c->rml);
    struct neighbour *k;
    struct peer_link *at = find_link(c, &ks->streams[i], &k);

    c->out.goes_ahead = true;
    if (at)
        neighbours_send_on(c->neighbours, k, at, &from, &m);
    c->out.goes_ahead = false;
    remove_stream(ks, i);
}

/* Of those that are not wanted, one that keeps nothing now, else the one with the highest vpid. */
static size_t find_replaced(const struct core *c, const uint32_t *wanted, size_t n)
{
    const struct keepers *ks = &c->keepers;
    size_t found = ks->n;

    for (size_t i = 0; i < ks->n; i++) {
        const struct keepers_stream *s = &ks->streams[i];
        struct neighbour *k;

        if (is_wanted(wanted, n, s->vpid))
            continue;
        if (!s->in_sync || !find_link(c, s, &k))
            return i;
        if (found == ks->n || s->vpid > ks->streams[found].vpid)
            found = i;
    }
    return found;
}

static struct keepers_stream *add_stream(struct core *c, uint32_t vpid, const struct neighbour *k,
                                         const uint32_t *wanted, size_t n)
{
    struct keepers *ks = &c->keepers;
    struct keepers_stream *s;

    if (ks->n == KEEPERS_MAX)
        end_stream(c, find_replaced(c, wanted, n));
    s = &ks->streams[ks->n++];
    *s = (struct keepers_stream){.vpid = vpid, .epoch = k->epoch};
    return s;
}

static void want_stream(struct core *c, uint32_t vpid, const uint32_t *wanted, size_t n)
{
    struct keepers *ks = &c->keepers;
    struct keepers_stream *s = find_stream(ks, vpid);
    struct neighbour *k = neighbours_up(c->neighbours, &c->members, vpid), *now;

    if (!s)
        s = add_stream(c, vpid, k, wanted, n);
    if ((s->conn && find_link(c, s, &now)) || s->again_at > c->out.now_ms)
        return;
    s->conn = peer_best(k->peer)->conn;
    s->behind = s->marked = 0;
    send_snapshot(c, s);
}

/* A late one has its snapshot again after its pause, beside those that are wanted. */
static void try_late(struct core *c, const uint32_t *wanted, size_t n)
{
    struct keepers *ks = &c->keepers;

    for (size_t i = 0; i < ks->n; i++) {
        const struct keepers_stream *s = &ks->streams[i];

        if (s->late && can_keep(c, neighbours_up(c->neighbours, &c->members, s->vpid)))
            want_stream(c, s->vpid, wanted, n);
    }
}

/* Others end when those that are wanted are in sync, but for those that are late. */
static void drop_unwanted(struct core *c, const uint32_t *wanted, size_t n)
{
    struct keepers *ks = &c->keepers;

    for (size_t i = 0; i < n; i++) {
        const struct keepers_stream *s = find_stream(ks, wanted[i]);

        if (!s || !s->in_sync)
            return;
    }
    for (size_t i = ks->n; n > 0 && i-- > 0;) {
        if (!is_wanted(wanted, n, ks->streams[i].vpid) && !ks->streams[i].late)
            end_stream(c, i);
    }
}

void keepers_turn(struct core *c)
{
    if (!c->opts.keepers || !core_is_head(c) || !c->keepers.check)
        return;
    drop_departed(c);
    release_actions(c);
}

/* A snapshot overtakes what waits, so it is sent when nothing does: the WELCOME of its keeper is
 * under way then. While the head begins, each WELCOME goes ahead. */
void keepers_choose(struct core *c)
{
    struct keepers *ks = &c->keepers;
    uint32_t wanted[WANTED];
    size_t n;

    if (!c->opts.keepers || !core_is_head(c) || !ks->check || (c->out.head && !ks->begins))
        return;
    ks->check = false;
    drop_departed(c);
    n = find_wanted(c, wanted);
    for (size_t i = 0; i < n; i++)
        want_stream(c, wanted[i], wanted, n);
    try_late(c, wanted, n);
    drop_unwanted(c, wanted, n);
    release_actions(c);
}

/* --- acknowledgements and time */

static void take_kept(struct core *c, struct neighbour *k, struct msg *m)
{
    struct keepers *ks = &c->keepers;
    struct keepers_stream *s;

    if (c->asking.on) {
        asking_take_kept(c, k, &m->kept);
        return;
    }
    s = core_is_head(c) ? find_stream(ks, k->vpid) : NULL;
    if (!s || !s->conn || !epoch_eq(s->epoch, k->epoch) || m->kept.stream != s->number ||
        m->kept.seq > s->sent || m->kept.seq < s->acked)
        return;
    s->acked = m->kept.seq;
    if (s->acked >= s->mark) {
        s->behind -= s->marked;
        mark_group(s);
    }
    if (!s->in_sync) {
        s->let_out = find_kept(ks);
        s->in_sync = true;
        s->late = false;
        s->due_at = 0;
        ks->check = true;
        ks->begins = false;
        out_log(&c->out, LOG_LEVEL_INFO, "vpid %u keeps the records of the head", k->vpid);
    }
    release_actions(c);
}

static void leave_behind(struct core *c, struct keepers_stream *s)
{
    c->keepers.left_behind++;
    s->in_sync = false;
    s->late = true;
    stop_stream(c, s, KEEPERS_AGAIN_MS);
    out_log(&c->out, LOG_LEVEL_WARN,
            "the head goes on without vpid %u: it has not kept the records within %d ms", s->vpid,
            KEEPERS_WAIT_MS);
}

void keepers_tick(struct core *c)
{
    struct keepers *ks = &c->keepers;
    bool late = ks->wait_since && ks->wait_since + KEEPERS_WAIT_MS <= c->out.now_ms;
    uint64_t kept = find_kept(ks); /* those that have no more are late, others are not */

    for (size_t i = 0; i < ks->n; i++) {
        struct keepers_stream *s = &ks->streams[i];

        if (late && s->in_sync && s->acked <= kept) {
            leave_behind(c, s);
        } else if (s->again_at && s->again_at <= c->out.now_ms) {
            s->again_at = 0;
            ks->check = true;
        } else if (s->due_at && s->due_at <= c->out.now_ms) {
            s->due_at = 0;
            s->late = ks->check = true;
        }
    }
    if (late && ks->begins)
        out_log(&c->out, LOG_LEVEL_WARN, "the head begins, and no member has its records yet");
    if (late) {
        ks->begins = false;
        release_actions(c);
    }
}

uint64_t keepers_deadline(const struct core *c)
{
    const struct keepers *ks = &c->keepers;
    uint64_t due = ks->wait_since ? ks->wait_since + KEEPERS_WAIT_MS : UINT64_MAX;

    for (size_t i = 0; i < ks->n; i++) {
        const struct keepers_stream *s = &ks->streams[i];

        if (s->again_at && s->again_at < due)
            due = s->again_at;
        if (s->due_at && s->due_at < due)
            due = s->due_at;
    }
    return due;
}

void keepers_free(struct core *c)
{
    buf_free(&c->keepers.fresh);
    c->keepers = (struct keepers){0};
}

/* --- messages of all four files */

static void take_records(struct core *c, struct neighbour *k, struct msg *m)
{
    if (c->asking.on)
        asking_take_records(c, k, &m->records);
    else
        keeper_take_records(c, k, &m->records);
}

static void take_records_ask(struct core *c, struct neighbour *k, struct msg *m)
{
    keeper_answer(c, k, &m->records_ask);
}

static void take_table(struct core *c, struct neighbour *k, struct msg *m)
{
    if (c->asking.on)
        majority_take_table(c, k, &m->table);
}

const struct neighbour_handler keepers_handlers[] = {
    {MSG_RECORDS, NEIGHBOUR_WHEN_ANY, take_records},
    {MSG_KEPT, NEIGHBOUR_WHEN_ANY, take_kept},
    {MSG_RECORDS_ASK, NEIGHBOUR_WHEN_ANY, take_records_ask},
    {MSG_TABLE, NEIGHBOUR_WHEN_ANY, take_table},
    {0},
};
