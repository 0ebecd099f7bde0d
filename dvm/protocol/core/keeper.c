/* SPDX-License-Identifier: BSD-3-Clause */
/* A member keeps the records of the head, and gives them to a new head that asks.
 *
 * In: RECORDS of the head: a snapshot, then groups; RECORDS_ASK of a new head, in the place of
 * WELCOME. Out: KEPT for each complete group; what it keeps, and the records themselves.
 *
 * Invariants: what is kept is a snapshot and all groups after it, whole. A new snapshot replaces
 * the former one when it is complete. A piece of another stream changes nothing. A stream begins
 * only after all with lower numbers: each has a connection of its own, and may come late.
 *
 * Failures: a group that is cut by the end of its connection is dropped with the next one. The
 * records end with the epoch of the member. */
#include "dvm/protocol/core/core_private.h"

#include "base/log/log.h"

#define CLOCK_DRIFT 1000 /* one part in so many */

static void empty_buf(struct buf *b)
{
    buf_free(b);
    *b = (struct buf){0};
    buf_init(b, RECORD_SNAPSHOT_MAX);
}

void keeper_free(struct core *c)
{
    buf_free(&c->keeper.all);
    buf_free(&c->keeper.coming);
    c->keeper = (struct keeper){0};
}

/* Late messages of the stream are still recognized. */
static void forget_records(struct core *c)
{
    struct keeper last = c->keeper;

    keeper_free(c);
    c->keeper.head = last.head;
    c->keeper.stream = last.stream;
}

bool keeper_gather(struct buf *coming, const struct msg_records *m)
{
    if (m->begins)
        empty_buf(coming);
    buf_put_raw(coming, m->data, m->len);
    return m->ends && !coming->failed;
}

/* A group that comes late makes the head's clock seem slow. So only a group of this head that was
 * less late counts; but the two clocks may drift by CLOCK_DRIFT. */
static void note_clock(struct keeper *kp, uint64_t ctr, uint64_t head_ms, uint64_t now_ms)
{
    int64_t ahead = (int64_t)(head_ms - now_ms);
    int64_t least = kp->clock_ahead - (int64_t)((now_ms - kp->clock_at) / CLOCK_DRIFT);

    kp->clock_ahead = kp->ctr == ctr && least > ahead ? least : ahead;
    kp->clock_at = now_ms;
}

static void keep_group(struct core *c, struct neighbour *k, const struct msg_records *m)
{
    struct keeper *kp = &c->keeper;
    struct msg kept = {.type = MSG_KEPT};

    if (kp->whole) {
        buf_free(&kp->all);
        kp->all = kp->coming;
        kp->coming = (struct buf){0};
        kp->whole = false;
    } else if (kp->all.len == 0) {
        return; /* it lacks what comes before it */
    } else {
        buf_put_raw(&kp->all, kp->coming.data, kp->coming.len);
    }
    if (kp->all.failed) { /* too much to be of use */
        forget_records(c);
        return;
    }
    empty_buf(&kp->coming);
    note_clock(kp, k->epoch.ctr, m->now_ms, c->out.now_ms);
    kp->ctr = k->epoch.ctr;
    kp->seq = m->seq;
    kept.kept = (struct msg_kept){.stream = m->stream, .ctr = kp->ctr, .seq = kp->seq};
    neigh_say(c, k, &kept);
}

/* Numbers begin anew with the epoch of the head. */
static bool is_later(const struct keeper *kp, uint64_t head, uint64_t stream)
{
    return head != kp->head ? head > kp->head : stream > kp->stream;
}

static void begin_stream(struct keeper *kp, uint64_t head, uint64_t stream)
{
    kp->head = head;
    kp->stream = stream;
}

static void drop_records(struct core *c, uint64_t head, uint64_t stream)
{
    struct keeper *kp = &c->keeper;

    if (stream && is_later(&(struct keeper){.head = head, .stream = stream}, kp->head, kp->stream))
        return;
    forget_records(c);
    if (stream)
        begin_stream(kp, head, stream);
}

void keeper_take_records(struct core *c, struct neighbour *k, const struct msg_records *m)
{
    struct keeper *kp = &c->keeper;

    if (core_is_head(c) || k->incoming || k->vpid != VPID_HEAD || k->state != NEIGHBOUR_UP)
        return;
    if (m->drop) {
        drop_records(c, k->epoch.ctr, m->stream);
        return;
    }
    if (m->begins && m->snapshot && is_later(kp, k->epoch.ctr, m->stream))
        begin_stream(kp, k->epoch.ctr, m->stream);
    if (m->stream != kp->stream)
        return;
    if (m->begins)
        kp->whole = m->snapshot;
    if (keeper_gather(&kp->coming, m))
        keep_group(c, k, m);
}

void keeper_send(struct core *c, struct neighbour *k, struct peer_link *at, struct msg_records *m,
                 const struct buf *group)
{
    struct frame from = rml_from(c->rml);
    size_t sent = 0;

    do {
        struct msg piece = {.type = MSG_RECORDS, .records = *m};
        size_t left = group->len - sent;

        piece.records.data = group->data + sent;
        piece.records.len = left < RECORDS_PIECE_BYTES ? left : RECORDS_PIECE_BYTES;
        piece.records.begins = sent == 0;
        sent += piece.records.len;
        piece.records.ends = sent == group->len;
        neighbours_send_on(c->neighbours, k, at, &from, &piece);
    } while (sent < group->len);
}

/* The other side has not greeted, but its certificate is that of the head. */
void keeper_answer(struct core *c, struct neighbour *k, const struct msg_records_ask *m)
{
    struct keeper *kp = &c->keeper;
    struct tree t = members_tree(&c->members);
    struct msg kept = {.type = MSG_KEPT,
                       .kept = {.stream = kp->stream,
                                .ctr = kp->ctr,
                                .seq = kp->seq,
                                .callers = (uint32_t)tree_children(&t, VPID_HEAD, NULL, 0),
                                .child = members_parent(&c->members) == VPID_HEAD}};
    struct msg_records all = {.stream = kp->stream,
                              .seq = kp->seq,
                              .now_ms = c->out.now_ms + (uint64_t)kp->clock_ahead,
                              .snapshot = true};
    struct frame from = rml_from(c->rml);
    struct peer_link *at = neighbours_in(c->neighbours); /* others may lead to the former head */

    if (k->incoming || k->vpid != VPID_HEAD || !k->head_role || at->state >= PEER_LINK_UP)
        return;
    at->opened_ms = k->opened_ms = c->out.now_ms; /* the greeting goes on, also after a cut */
    if (m->table)
        majority_answer(c, k, at);
    else if (!m->all)
        neighbours_send_on(c->neighbours, k, at, &from, &kept);
    else if (kp->ctr)
        keeper_send(c, k, at, &all, &kp->all);
}
