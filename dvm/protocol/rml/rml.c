/* SPDX-License-Identifier: BSD-3-Clause */
/* Routed messages: streams with sequence numbers and cumulative acknowledgements, over next hops
 * that may change at any time.
 *
 * In: messages of this daemon (rml_send()), routed frames from links (rml_input()), changes of
 * routes and members, the time. Out: frames on the link to the next hop; messages for this daemon,
 * in order (rml_next()).
 *
 * A stream belongs to a peer and a class, and ends with the peer's epoch. An outgoing frame waits,
 * then is in flight (at most RML_WINDOW_BYTES of a stream), then is acknowledged and freed. An
 * incoming frame is delivered in its turn, kept if it is early, or dropped if it is repeated.
 *
 * A frame goes to the next hop as it is or, if it is large, as a transfer (hop.c).
 *
 * Invariants: messages of a stream are delivered once and in order while both epochs last. A
 * frame of a later membership version waits until this daemon has that version. A relay keeps no
 * frames: only the sender sends again.
 *
 * Failures: without progress all unacknowledged frames are sent again, after 1, 2, 4, then
 * 8 s; after a change of their route first after 250 and 500 ms. A frame from or to another epoch
 * is refused with a log line. If a backlog exceeds twice its limit, rml_behind() names the peer,
 * and the core declares it lost. */
#include "dvm/protocol/rml/rml.h"

#include "base/heap/hash.h"
#include "base/log/log.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct rml_frame { /* an encoded frame that waits for its acknowledgement, or for its turn */
    uint64_t seq;
    struct buf bytes;
    bool sent;
    struct rml_frame *next, *prev;
};

struct rml_key {
    uint32_t vpid;
    uint32_t traffic;
};

struct rml_stream {
    struct rml_key key;
    struct rml_frame *unacked;
    size_t bytes;      /* in unacked */
    size_t long_bytes; /* those of them in frames that are longer than backlog_max (is_long()) */
    size_t in_flight;  /* those of them that are in flight */
    uint64_t next_seq;
    uint64_t rx_next; /* the number that is delivered next */
    struct rml_frame *early;
    size_t nearly, early_bytes; /* at most a window, if the sender respects it */
    uint64_t ack_at;            /* an acknowledgement is owed by then; 0: none */
    size_t owed;                /* received bytes that are not acknowledged yet */
    uint64_t resend_at;         /* 0: nothing on the way */
    uint64_t route;             /* of the frames in flight (find_route()) */
    unsigned backoff;           /* resends without progress; at most RML_BACKOFFS - 1 */
    unsigned waits_in;          /* the list of resends that it is in */
    UT_hash_handle hh;
    struct rml_stream *ack_next, *ack_prev, *resend_next, *resend_prev;
};

struct rml {
    struct out *out;
    struct members *members;
    struct neighbours *neighbours;
    struct hops *hops;
    struct rml_stream *streams; /* by (vpid, class) */
    struct rml_stream *acks;    /* that owe an acknowledgement, by time */
    struct rml_stream
        *resends[RML_BACKOFFS]; /* with frames in flight, by time; one list for each backoff */
    struct rml_frame
        *inbox; /* whole frames to be delivered, in order; also messages of this daemon to itself */
    struct rml_frame *deferred; /* of a later membership version */
    size_t ndeferred, deferred_bytes;
    size_t backlog_max;       /* RML_BACKLOG_MAX; at twice that the peer is lost */
    size_t backlog_most;      /* that any stream has had */
    struct msg_target behind; /* a peer beyond that limit; vpid VPID_NONE: none */
    struct epoch epoch;       /* our own epoch */
    uint64_t stale;           /* frames refused */
    uint64_t circled;         /* frames that had made FRAME_HOPS_MAX hops and were not passed on */
    bool no_room;             /* a frame of this daemon has met a full neighbour */
};

/* --- timers. The delay of a list is constant, so its order is that of the times. */

static void drop_ack(struct rml *r, struct rml_stream *s)
{
    if (s->ack_at)
        DL_DELETE2(r->acks, s, ack_prev, ack_next);
    s->ack_at = 0;
}

/* Due at once, before all that are due after the delay; or after the delay. */
static void want_ack(struct rml *r, struct rml_stream *s, bool at_once)
{
    if (s->ack_at && !at_once)
        return; /* due sooner */
    drop_ack(r, s);
    s->ack_at = r->out->now_ms + (at_once ? 0 : RML_ACK_DELAY_MS);
    if (at_once)
        DL_PREPEND2(r->acks, s, ack_prev, ack_next);
    else
        DL_APPEND2(r->acks, s, ack_prev, ack_next);
}

static void drop_resend(struct rml *r, struct rml_stream *s)
{
    if (s->resend_at)
        DL_DELETE2(r->resends[s->waits_in], s, resend_prev, resend_next);
    s->resend_at = 0;
}

/* Long messages take their time: at least 1 s for RML_RESEND_BYTES in flight. */
static unsigned least_backoff(const struct rml_stream *s)
{
    unsigned n = RML_BACKOFF_FIRST;

    while (n < RML_BACKOFFS - 1 && s->in_flight > (size_t)RML_RESEND_BYTES
                                                      << (n - RML_BACKOFF_FIRST))
        n++;
    return s->in_flight > RML_RESEND_BYTES ? n : 0;
}

static void want_resend(struct rml *r, struct rml_stream *s)
{
    unsigned least = least_backoff(s);

    drop_resend(r, s);
    s->waits_in = s->backoff > least ? s->backoff : least;
    s->resend_at = r->out->now_ms + (((uint64_t)RML_RESEND_MS << s->waits_in) >> RML_BACKOFF_FIRST);
    DL_APPEND2(r->resends[s->waits_in], s, resend_prev, resend_next);
}

struct rml *rml_create(struct out *out, struct members *members, struct neighbours *neighbours,
                       size_t backlog_max)
{
    struct rml *r = xcalloc(1, sizeof(*r));

    r->out = out;
    r->members = members;
    r->neighbours = neighbours;
    r->hops = hops_create(out, members, neighbours);
    r->backlog_max = backlog_max ? backlog_max : RML_BACKLOG_MAX;
    r->behind.vpid = VPID_NONE;
    return r;
}

void rml_set_epoch(struct rml *r, struct epoch epoch)
{
    r->epoch = epoch;
    hops_set_epoch(r->hops, epoch);
}

void rml_set_hop_limits(struct rml *r, const struct hop_limits *limits)
{
    hops_set_limits(r->hops, limits);
}

bool rml_behind(struct rml *r, struct msg_target *who, size_t *limit)
{
    *who = r->behind;
    *limit = 2 * r->backlog_max;
    r->behind.vpid = VPID_NONE;
    return who->vpid != VPID_NONE;
}

bool rml_has_next(const struct rml *r)
{
    return r->inbox != NULL;
}

struct rml_stats rml_stats(const struct rml *r)
{
    return (struct rml_stats){.stale = r->stale,
                              .circled = r->circled,
                              .backlog_most = r->backlog_most,
                              .nstreams = HASH_COUNT(r->streams),
                              .ndeferred = r->ndeferred,
                              .deferred_bytes = r->deferred_bytes,
                              .transfers = hops_stats(r->hops)};
}

static struct rml_frame *frame_new(const void *data, size_t len, uint64_t seq)
{
    struct rml_frame *f = xcalloc(1, sizeof(*f));

    buf_init(&f->bytes, HOP_FRAME_BYTES);
    buf_put_raw(&f->bytes, data, len);
    f->seq = seq;
    return f;
}

static void frame_free(struct rml_frame **list, struct rml_frame *f)
{
    DL_DELETE(*list, f);
    buf_free(&f->bytes);
    free(f);
}

static void list_free(struct rml_frame **list)
{
    while (*list)
        frame_free(list, *list);
}

static void stream_free(struct rml *r, struct rml_stream *s)
{
    HASH_DEL(r->streams, s);
    drop_ack(r, s);
    drop_resend(r, s);
    list_free(&s->unacked);
    list_free(&s->early);
    free(s);
}

void rml_destroy(struct rml *r)
{
    struct rml_stream *s, *tmp;

    if (!r)
        return;
    HASH_ITER(hh, r->streams, s, tmp)
    {
        stream_free(r, s);
    }
    list_free(&r->inbox);
    list_free(&r->deferred);
    hops_destroy(r->hops);
    free(r);
}

static struct rml_stream *find_stream(const struct rml *r, uint32_t vpid, uint32_t traffic)
{
    struct rml_key key = {vpid, traffic};
    struct rml_stream *s;

    HASH_FIND(hh, r->streams, &key, sizeof(key), s);
    return s;
}

static struct rml_stream *get_stream(struct rml *r, uint32_t vpid, uint32_t traffic)
{
    struct rml_stream *s = find_stream(r, vpid, traffic);

    if (s)
        return s;
    s = xcalloc(1, sizeof(*s));
    s->key = (struct rml_key){vpid, traffic};
    s->next_seq = 1;
    s->rx_next = 1;
    s->backoff = RML_BACKOFF_FIRST;
    HASH_ADD(hh, r->streams, key, sizeof(s->key), s);
    return s;
}

struct frame rml_from(const struct rml *r)
{
    return (struct frame){.src = r->members->self,
                          .dst = VPID_NONE,
                          .src_epoch = r->epoch,
                          .version = r->members->version,
                          .speaks = WIRE_EDITION};
}

static struct frame make_header(const struct rml *r, const struct rml_stream *s, uint16_t type)
{
    const struct member *peer = members_get(r->members, s->key.vpid);
    struct frame f = rml_from(r);

    f.traffic = (uint8_t)s->key.traffic;
    f.type = type;
    f.dst = s->key.vpid;
    f.dst_ctr = (uint32_t)peer->ctr;
    f.ack = s->rx_next - 1;
    return f;
}

/* The neighbour that is the next hop, or NULL while no link to it is up. */
static struct neighbour *find_hop(const struct rml *r, uint32_t dst)
{
    struct tree t = members_tree(r->members);
    uint32_t next = tree_next_hop(&t, r->members->self, dst);

    return next == TREE_NONE ? NULL : neighbours_hop(r->neighbours, r->members, next);
}

static uint64_t mix_route(uint64_t route, uint64_t part)
{
    return (route ^ part) * 1099511628211ull;
}

/* Names the session with the next hop, and the relays that follow with their epochs. While it is
 * the same, no relay can have lost a frame: neighbours lose none within a session. */
static uint64_t find_route(const struct rml *r, const struct neighbour *hop, uint32_t dst)
{
    struct tree t = members_tree(r->members);
    uint64_t route = mix_route(mix_route(1469598103934665603ull, hop->id), peer_session(hop->peer));
    uint32_t v = hop->vpid;

    for (size_t hops = 0; v != TREE_NONE && v != dst && hops < FRAME_HOPS_MAX; hops++) {
        route = mix_route(mix_route(route, v), members_get(r->members, v)->ctr);
        v = tree_next_hop(&t, v, dst);
    }
    return route;
}

static void push_frames(struct rml *r, struct rml_stream *s)
{
    struct neighbour *k = find_hop(r, s->key.vpid);
    struct rml_frame *f;

    if (!k || !s->unacked)
        return;
    if (!s->in_flight)
        s->route = find_route(r, k, s->key.vpid);
    DL_FOREACH(s->unacked, f)
    {
        if (f->sent)
            continue;
        if (s->in_flight > 0 && s->in_flight + f->bytes.len > RML_WINDOW_BYTES)
            return;
        if (hops_send(r->hops, k, f->bytes.data, f->bytes.len) < 0) {
            r->no_room = true;
            return;
        }
        f->sent = true;
        s->in_flight += f->bytes.len;
        if (s->resend_at == 0)
            want_resend(r, s);
    }
}

/* The sender of a contribution reports that it is refused. Nobody could report a refused report or
 * a refused outcome: the participants would differ in how the collective ended. */
static bool is_refusable(const struct msg *m)
{
    return m->type == MSG_SUBMIT || m->type == MSG_LAUNCH || m->type == MSG_APP ||
           m->type == MSG_LOCAL_JOB || m->type == MSG_RESIZE_ASK ||
           (m->type == MSG_GATHER_UP && gather_is_good(m->gather_up.outcome));
}

static bool is_long(const struct rml *r, size_t len)
{
    return len > r->backlog_max;
}

static bool fits_backlog(struct rml *r, const struct rml_stream *s, const struct msg *m, size_t len)
{
    bool refusable = is_refusable(m);

    if (refusable ? s->bytes == 0 || s->bytes + len <= r->backlog_max
                  : is_long(r, len) || s->bytes - s->long_bytes + len <= 2 * r->backlog_max)
        return true;
    if (!refusable)
        r->behind = (struct msg_target){
            s->key.vpid, members_epoch(r->members, members_get(r->members, s->key.vpid))};
    return false;
}

int rml_send(struct rml *r, uint32_t vpid, enum out_class traffic, const struct msg *m,
             struct err *err)
{
    BUF_AUTO struct buf b = {0};
    struct rml_stream *s;
    struct rml_frame *f;
    struct frame h;

    if (!members_live(r->members, vpid))
        return err_set(err, "message %s to vpid %u: not a member", msg_name(m->type), vpid);
    s = get_stream(r, vpid, traffic);
    h = make_header(r, s, m->type);
    h.seq = s->next_seq;
    buf_init(&b, HOP_FRAME_BYTES);
    frame_encode(&b, &h);
    msg_encode(&b, m);
    if (b.failed)
        return err_set(err, "message %s to vpid %u: too long", msg_name(m->type), vpid);
    if (vpid == r->members->self) {
        f = frame_new(b.data, b.len, s->next_seq);
        DL_APPEND(r->inbox, f);
        return 0;
    }
    if (!fits_backlog(r, s, m, b.len))
        return err_set(err, "message %s to vpid %u: %zu bytes wait for it already",
                       msg_name(m->type), vpid, s->bytes);
    f = frame_new(b.data, b.len, s->next_seq);
    s->next_seq++;
    drop_ack(r, s); /* the header carries it */
    s->owed = 0;
    s->bytes += b.len;
    s->long_bytes += is_long(r, b.len) ? b.len : 0;
    r->backlog_most = s->bytes > r->backlog_most ? s->bytes : r->backlog_most;
    DL_APPEND(s->unacked, f);
    push_frames(r, s);
    return 0;
}

static void drop_acked(struct rml *r, struct rml_stream *s, uint64_t ack)
{
    bool progress = false;

    while (s->unacked && s->unacked->seq <= ack) {
        s->bytes -= s->unacked->bytes.len;
        s->long_bytes -= is_long(r, s->unacked->bytes.len) ? s->unacked->bytes.len : 0;
        if (s->unacked->sent)
            s->in_flight -= s->unacked->bytes.len;
        frame_free(&s->unacked, s->unacked);
        progress = true;
    }
    if (!progress)
        return;
    s->backoff = RML_BACKOFF_FIRST;
    if (s->in_flight)
        want_resend(r, s);
    else
        drop_resend(r, s);
    push_frames(r, s);
}

/* Delivers the frame in its turn, with early frames that follow it. */
static void take_frame(struct rml *r, struct rml_stream *s, struct rml_frame *f)
{
    struct rml_frame *e;

    if (f->seq != s->rx_next) {
        bool keep = f->seq > s->rx_next && s->nearly < RML_REORDER_MAX &&
                    (!s->nearly || s->early_bytes + f->bytes.len <= RML_WINDOW_BYTES);

        DL_FOREACH(s->early, e)
        {
            if (e->seq == f->seq)
                keep = false;
        }
        if (!keep) {
            buf_free(&f->bytes);
            free(f);
            return;
        }
        DL_APPEND(s->early, f);
        s->nearly++;
        s->early_bytes += f->bytes.len;
        return;
    }
    DL_APPEND(r->inbox, f);
    s->rx_next++;
    DL_FOREACH(s->early, e)
    {
        if (e->seq == s->rx_next) {
            DL_DELETE(s->early, e);
            s->nearly--;
            s->early_bytes -= e->bytes.len;
            take_frame(r, s, e);
            return;
        }
    }
}

static void refuse_frame(struct rml *r, const struct frame *f, const char *why)
{
    r->stale++;
    out_log(r->out, LOG_LEVEL_INFO, "%s from vpid %u epoch %llu to epoch %u refused: %s",
            msg_name(f->type), f->src, (unsigned long long)f->src_epoch.ctr, f->dst_ctr, why);
}

static void local_input(struct rml *r, const struct frame *f, const uint8_t *data, size_t len)
{
    struct rml_stream *s;

    if ((!members_current(r->members, f->src, f->src_epoch) ||
         (f->dst_ctr && f->dst_ctr != (uint32_t)r->epoch.ctr))) {
        refuse_frame(r, f, "its epoch, or ours in its header, has ended or is unknown");
        return;
    }
    s = get_stream(r, f->src, f->traffic);
    if (f->ack >= s->next_seq) {
        refuse_frame(r, f, "it acknowledges a message that was never sent");
        return;
    }
    drop_acked(r, s, f->ack);
    if (f->type == MSG_RACK)
        return;
    s->owed += len;
    /* At once before the sender's window is full, and for the end of a job's output: the sender
     * reports the job's end only after this acknowledgement. (The head keeps that order itself.) */
    want_ack(r, s,
             (f->type == MSG_IOF_END && f->dst != VPID_HEAD) || s->owed >= RML_WINDOW_BYTES / 4);
    take_frame(r, s, frame_new(data, len, f->seq));
}

/* A frame that is not relayed is sent again by its source when the routes are there. */
static void relay_frame(struct rml *r, const struct frame *f, const uint8_t *data, size_t len)
{
    struct neighbour *k = find_hop(r, f->dst);

    if (f->hops >= FRAME_HOPS_MAX)
        r->circled++;
    else if (k)
        (void)!hops_relay(r->hops, k, f, data + FRAME_HEADER_BYTES, len - FRAME_HEADER_BYTES);
}

/* A frame of a later membership version waits, while there is room. */
static void defer_frame(struct rml *r, const struct frame *f, const uint8_t *data, size_t len)
{
    struct rml_frame *d;

    if (r->ndeferred >= RML_DEFER_MAX ||
        (r->ndeferred && r->deferred_bytes + len > RML_DEFER_BYTES))
        return;
    d = frame_new(data, len, f->version);
    DL_APPEND(r->deferred, d);
    r->ndeferred++;
    r->deferred_bytes += len;
}

void rml_input(struct rml *r, const struct frame *f, const uint8_t *data, size_t len)
{
    if (f->dst != r->members->self) {
        relay_frame(r, f, data, len);
        return;
    }
    if (f->version > r->members->version &&
        epoch_eq(f->src_epoch, (struct epoch){r->epoch.inc, f->src_epoch.ctr}))
        defer_frame(r, f, data, len);
    else
        local_input(r, f, data, len);
}

void rml_transfer(struct rml *r, struct neighbour *k, const struct msg *m)
{
    hops_input(r->hops, k, m);
}

bool rml_transferred(struct rml *r, struct buf *frame)
{
    return hops_next(r->hops, frame);
}

/* The membership version has changed: frames that waited for it are processed. */
static void take_deferred(struct rml *r)
{
    struct rml_frame *d, *tmp;

    DL_FOREACH_SAFE(r->deferred, d, tmp)
    {
        struct cur c = cur_of(d->bytes.data, d->bytes.len);
        struct frame f;

        if (d->seq > r->members->version)
            continue;
        if (frame_decode(&c, &f, NULL) == 0)
            local_input(r, &f, d->bytes.data, d->bytes.len);
        r->ndeferred--;
        r->deferred_bytes -= d->bytes.len;
        frame_free(&r->deferred, d);
    }
}

bool rml_next(struct rml *r, struct buf *bytes)
{
    struct rml_frame *f = r->inbox;

    if (!f)
        return false;
    *bytes = f->bytes;
    DL_DELETE(r->inbox, f);
    free(f);
    return true;
}

/* Of a stream with frames in flight. */
static void resend_unacked(struct rml *r, struct rml_stream *s)
{
    struct rml_frame *f;

    DL_FOREACH(s->unacked, f)
    {
        f->sent = false;
    }
    want_resend(r, s); /* by the bytes that were in flight: they go again */
    s->in_flight = 0;
    push_frames(r, s);
}

void rml_routes_changed(struct rml *r)
{
    struct rml_stream *s, *tmp;

    take_deferred(r);
    hops_check(r->hops);
    HASH_ITER(hh, r->streams, s, tmp)
    {
        const struct neighbour *k = s->in_flight ? find_hop(r, s->key.vpid) : NULL;

        if (k && s->route != find_route(r, k, s->key.vpid)) {
            s->backoff = 0; /* the relays may not have their links yet */
            resend_unacked(r, s);
        } else {
            push_frames(r, s);
        }
    }
}

void rml_room(struct rml *r)
{
    struct rml_stream *s, *tmp;

    if (!r->no_room)
        return;
    r->no_room = false;
    HASH_ITER(hh, r->streams, s, tmp)
    {
        push_frames(r, s);
    }
}

void rml_new_session(struct rml *r, const struct neighbour *k)
{
    hops_new_session(r->hops, k);
}

void rml_forget(struct rml *r, uint32_t vpid)
{
    hops_forget(r->hops, vpid);
    for (uint32_t traffic = 0; traffic < CLASSES; traffic++) {
        struct rml_stream *s = find_stream(r, vpid, traffic);

        if (s)
            stream_free(r, s);
    }
}

static void send_ack(struct rml *r, struct rml_stream *s)
{
    struct neighbour *k = find_hop(r, s->key.vpid);
    struct frame h = make_header(r, s, MSG_RACK);
    BUF_AUTO struct buf b = {0};

    drop_ack(r, s);
    s->owed = 0;
    if (!k)
        return;
    buf_init(&b, FRAME_HEADER_BYTES);
    frame_encode(&b, &h);
    if (neighbours_send_raw(r->neighbours, k, b.data, b.len) < 0)
        want_ack(r, s, false);
}

/* The next hop is cut: what was sent still waits here. */
static bool is_at_hand(const struct rml *r, const struct rml_stream *s)
{
    const struct neighbour *k = find_hop(r, s->key.vpid);

    return k && k->state == NEIGHBOUR_CUT;
}

void rml_tick(struct rml *r)
{
    hops_tick(r->hops);
    while (r->acks && r->acks->ack_at <= r->out->now_ms)
        send_ack(r, r->acks);
    for (size_t i = 0; i < RML_BACKOFFS; i++) {
        struct rml_stream *s, *tmp;

        DL_FOREACH_SAFE2(r->resends[i], s, tmp, resend_next)
        {
            if (s->resend_at > r->out->now_ms)
                break;
            s->backoff += s->backoff + 1 < RML_BACKOFFS;
            if (is_at_hand(r, s))
                want_resend(r, s);
            else
                resend_unacked(r, s);
        }
    }
}

uint64_t rml_deadline(const struct rml *r)
{
    uint64_t due = r->acks ? r->acks->ack_at : UINT64_MAX;

    for (size_t i = 0; i < RML_BACKOFFS; i++) {
        if (r->resends[i] && r->resends[i]->resend_at < due)
            due = r->resends[i]->resend_at;
    }
    return due;
}

size_t rml_waiting(const struct rml *r)
{
    const struct rml_stream *s, *tmp;
    size_t n = 0;

    HASH_ITER(hh, r->streams, s, tmp)
    {
        n += s->bytes;
    }
    return n;
}

size_t rml_backlog(const struct rml *r, uint32_t vpid, enum out_class traffic)
{
    struct rml_stream *s = find_stream(r, vpid, traffic);

    return s ? s->bytes : 0;
}

uint64_t rml_sent(const struct rml *r, uint32_t vpid, enum out_class traffic)
{
    struct rml_stream *s = find_stream(r, vpid, traffic);

    return s ? s->next_seq - 1 : 0;
}

void rml_each_unacked(const struct rml *r, uint32_t vpid, enum out_class traffic,
                      void (*each)(void *arg, const uint8_t *data, size_t len), void *arg)
{
    const struct rml_stream *s = find_stream(r, vpid, traffic);
    const struct rml_frame *f;

    DL_FOREACH(s ? s->unacked : NULL, f)
    {
        each(arg, f->bytes.data, f->bytes.len);
    }
}

uint64_t rml_taken(const struct rml *r, uint32_t vpid, enum out_class traffic)
{
    struct rml_stream *s = find_stream(r, vpid, traffic);

    return s ? s->rx_next - 1 : 0;
}

bool rml_arrived(const struct rml *r, uint32_t vpid, enum out_class traffic, uint64_t seq)
{
    struct rml_stream *s = find_stream(r, vpid, traffic);

    return !s || !s->unacked || s->unacked->seq > seq;
}
