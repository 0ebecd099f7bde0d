/* SPDX-License-Identifier: BSD-3-Clause */
/* The connections to a neighbour: their frames, probes and failures.
 *
 * In: connections that open and close, their frames, the clock. Out: frames in their order for the
 * modules above; PING, PONG, HOP_ACK and LINK_OUT; further connections to the parent; neigh_lost()
 * when a neighbour has no connection left.
 *
 * A connection that fails while others work costs nothing above: dvm/protocol/peer sends again what
 * it carried. The other side is notified over a good connection, so both map it out although only
 * one has noticed. A closed connection is made again by the side that made it, with back-off.
 *
 * Invariants: a connection that is up carries frames of its neighbour only, in the epoch of
 * the greeting. Frames in another epoch change nothing.
 *
 * Failures: a connection that is silent for ack_ms is closed. A malformed frame, or a number
 * that the other side cannot have sent, closes its connection. */
#include "dvm/protocol/core/core_private.h"

#include "base/log/log.h"

#include <stdio.h>
#include <string.h>
#include <utlist.h>

#define REDIAL_MIN_MS 100
#define REDIAL_MAX_MS 5000

/* --- failures */

/* The next connection by this address is made after a time that doubles with each failure. */
void conn_redial_later(struct core *c, struct neighbour *k, size_t way)
{
    struct neighbour_way *w = &k->ways[way];

    if (way >= k->nways)
        return;
    w->redial_ms = w->redial_ms == 0                  ? REDIAL_MIN_MS
                   : w->redial_ms > REDIAL_MAX_MS / 2 ? REDIAL_MAX_MS
                                                      : 2 * w->redial_ms;
    w->redial_at = c->out.now_ms + w->redial_ms;
}

/* While others carry on. Once for each time that the address fails. */
static void log_unreached(struct core *c, const struct neighbour *k, size_t way, const char *why)
{
    if (way < k->nways && k->ways[way].redial_ms <= REDIAL_MIN_MS)
        out_log(&c->out, LOG_LEVEL_WARN, "no further link to vpid %u by %s: %s", k->vpid,
                k->ways[way].to.host, why);
}

static void tell_link_out(struct core *c, struct neighbour *k, uint32_t number, bool closed)
{
    struct msg m = {.type = MSG_LINK_OUT, .link_out = {number, closed}};

    if (k->state == NEIGHBOUR_UP)
        neigh_say(c, k, &m);
}

/* The connection is closed already. */
static void lose_conn(struct core *c, struct neighbour *k, struct peer_link *at,
                      enum link_loss_how how, const char *why)
{
    uint32_t number = at->number;
    size_t way = at->way;
    bool was_up = at->state >= PEER_LINK_UP;
    bool broke = was_up && how == LOSS_BY_BREAK;

    c->conns_lost += broke;
    k->lost += broke;
    if (at->state == PEER_LINK_GREETING && k->nways) /* it has opened, and is of no use */
        k->good = (way + 1) % k->nways;
    neighbours_drop_conn(c->neighbours, k, at);
    c->keepers.check = true;
    if (peer_links_greeted(k->peer)) {
        if (was_up && k->state == NEIGHBOUR_UP) {
            k->failed = true;
            out_log(&c->out, LOG_LEVEL_INFO, "one of the links to vpid %u is lost: %s", k->vpid,
                    why);
            tell_link_out(c, k, number, true);
        } else if (!was_up) {
            log_unreached(c, k, way, why);
        }
        conn_redial_later(c, k, way);
        return;
    }
    neigh_lost(c, k, how, why);
}

/* flush: what was said on it last is still written. */
static void end_conn(struct core *c, struct neighbour *k, struct peer_link *at, const char *why,
                     bool flush)
{
    bool closing = k->state == NEIGHBOUR_CLOSING || k->peer_bye;

    out_close(&c->out, at->conn, flush);
    lose_conn(c, k, at, closing ? LOSS_AFTER_BYE : LOSS_BY_BREAK, why);
}

static void close_conn(struct core *c, struct neighbour *k, struct peer_link *at, const char *why)
{
    end_conn(c, k, at, why, false);
}

static void map_out(struct core *c, struct neighbour *k, struct peer_link *at, const char *why)
{
    if (!peer_link_fail(k->peer, at))
        return;
    c->keepers.check = true; /* a stream takes another link */
    c->conns_mapped_out++;
    k->failed = true;
    out_log(&c->out, LOG_LEVEL_WARN, "link %u to vpid %u is mapped out: %s", at->number, k->vpid,
            why);
    tell_link_out(c, k, at->number, false);
}

/* --- time */

void conn_probe(struct core *c, struct neighbour *k, struct peer_link *at)
{
    struct msg m = {.type = MSG_PING, .ping = {c->out.now_ms}};
    struct frame from = rml_from(c->rml);

    neighbours_send_on(c->neighbours, k, at, &from, &m);
    peer_link_asked(k->peer, at);
}

/* Its limit is silence_due(). */
static bool is_ending(const struct neighbour *k)
{
    return k->state == NEIGHBOUR_CLOSING || k->state == NEIGHBOUR_REFUSED;
}

static uint64_t conn_due(const struct core *c, const struct peer_link *at)
{
    if (at->state >= PEER_LINK_UP)
        return at->heard_ms + (at->pinged ? c->opts.ack_ms : c->opts.ack_ms / 2);
    return at->opened_ms + c->opts.ack_ms;
}

/* Times of the neighbour as a whole. */
static uint64_t silence_due(const struct core *c, const struct neighbour *k)
{
    switch (k->state) {
    case NEIGHBOUR_CLOSING:
        return k->opened_ms + c->opts.leave_ms;
    case NEIGHBOUR_REFUSED:
    case NEIGHBOUR_CUT:
        return k->opened_ms + c->opts.ack_ms;
    default:
        return k->leaves_by ? k->leaves_by : UINT64_MAX;
    }
}

/* True if the list may have changed. */
static bool end_neighbour(struct core *c, struct neighbour *k)
{
    if (silence_due(c, k) > c->out.now_ms)
        return false;
    if (k->state == NEIGHBOUR_CUT && !peer_links(k->peer)) { /* its loss is known */
        neighbours_drop(c->neighbours, k);
    } else {
        enum link_loss_how how = k->state == NEIGHBOUR_CLOSING ? LOSS_AFTER_BYE : LOSS_BY_BREAK;

        if (k->state == NEIGHBOUR_CUT) /* it is being called in vain */
            k->state = NEIGHBOUR_GREETING;
        neigh_lost(c, k, how, "the peer is silent");
    }
    return true;
}

/* No other connection of it is greeted. */
static bool is_last(const struct neighbour *k, const struct peer_link *at)
{
    return peer_links_greeted(k->peer) <= (at->state >= PEER_LINK_UP);
}

static bool check_silence(struct core *c, struct neighbour *k)
{
    struct peer_link *at, *tmp;

    if (is_ending(k))
        return false;
    DL_FOREACH_SAFE(peer_links(k->peer), at, tmp)
    {
        if (conn_due(c, at) > c->out.now_ms)
            continue;
        if (at->state >= PEER_LINK_UP && !at->pinged) {
            at->pinged = true;
            conn_probe(c, k, at);
            continue;
        }
        k->silent = is_last(k, at) && k->heard_ms + c->opts.ack_ms <= c->out.now_ms;
        if (!k->incoming && k->vpid == members_parent(&c->members) && is_last(k, at))
            c->ask_head = true; /* a parent that hangs would not answer the next call either */
        close_conn(c, k, at, "the peer is silent");
        return true;
    }
    return false;
}

static void compare_conns(struct core *c, struct neighbour *k)
{
    struct peer_link *at;

    if (k->state != NEIGHBOUR_UP)
        return;
    at = peer_link_slow(k->peer);
    if (at)
        map_out(c, k, at, "far slower than others");
    while ((at = peer_link_probe(k->peer)))
        conn_probe(c, k, at);
}

static size_t links_wanted(const struct core *c, const struct neighbour *k)
{
    return c->opts.links ? c->opts.links : k->nways;
}

static bool wants_more(const struct core *c, const struct neighbour *k)
{
    const struct peer_link *at;
    size_t n = 0;

    DL_COUNT(peer_links(k->peer), at, n);
    return k->id == c->parent_id && k->state == NEIGHBOUR_UP && !c->finishing &&
           n < links_wanted(c, k);
}

/* Link i is by address i modulo their number. */
static bool lacks_link(const struct core *c, const struct neighbour *k, size_t way)
{
    size_t wanted = links_wanted(c, k);

    return neighbour_count_way(k, way) < (wanted - way + k->nways - 1) / k->nways && way < wanted;
}

/* The address by which the next link is made, or NULL. */
static const struct neighbour_way *next_way(const struct core *c, const struct neighbour *k)
{
    const struct neighbour_way *best = NULL;

    for (size_t i = 0; i < k->nways; i++) {
        const struct neighbour_way *w = &k->ways[i];

        if (lacks_link(c, k, i) && (!best || w->redial_at < best->redial_at))
            best = w;
    }
    return best;
}

static void dial_more(struct core *c, struct neighbour *k)
{
    while (wants_more(c, k)) {
        const struct neighbour_way *w = next_way(c, k);

        if (!w || w->redial_at > c->out.now_ms || !neighbours_dial(c->neighbours, k, w->to.index))
            return;
        if (w->redial_at)
            return; /* one at a time after a failure */
    }
}

/* After a change of the list the next tick goes on. */
void conn_tick(struct core *c)
{
    struct neighbour *k, *tmp;

    DL_FOREACH_SAFE(neighbours_first(c->neighbours), k, tmp)
    {
        compare_conns(c, k);
        dial_more(c, k);
        if (end_neighbour(c, k) || check_silence(c, k))
            return;
    }
}

static uint64_t pick_earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t conn_deadline(const struct core *c)
{
    uint64_t due = UINT64_MAX;
    const struct peer_link *at;
    const struct neighbour *k;

    DL_FOREACH(neighbours_first(c->neighbours), k)
    {
        due = pick_earlier(due, silence_due(c, k));
        if (!is_ending(k)) {
            DL_FOREACH(peer_links(k->peer), at)
            {
                due = pick_earlier(due, conn_due(c, at));
            }
        }
        if (k->state == NEIGHBOUR_UP)
            due = pick_earlier(due, peer_deadline(k->peer));
        if (wants_more(c, k) && next_way(c, k))
            due = pick_earlier(due, next_way(c, k)->redial_at);
    }
    return due;
}

void conn_acks(struct core *c)
{
    struct frame from = rml_from(c->rml);
    struct neighbour *k;

    DL_FOREACH(neighbours_first(c->neighbours), k)
    {
        struct msg m = {.type = MSG_HOP_ACK};

        if (k->state != NEIGHBOUR_UP || !peer_ack_due(k->peer))
            continue;
        m.hop_ack.n = peer_ranges(k->peer, m.hop_ack.ranges);
        neighbours_send_on(c->neighbours, k, peer_ack_link(k->peer), &from, &m);
    }
}

void conn_end(struct core *c, struct neighbour *k)
{
    struct frame from = rml_from(c->rml);
    struct peer_link *at;

    DL_FOREACH(peer_links(k->peer), at)
    {
        struct msg m = {.type = MSG_HOP_ACK};

        if (at->state < PEER_LINK_UP)
            continue;
        m.hop_ack.n = peer_ranges(k->peer, m.hop_ack.ranges);
        neighbours_send_on(c->neighbours, k, at, &from, &m);
    }
    neighbours_close(c->neighbours, k, true);
}

/* --- connections that open and close */

int conn_joined(struct core *c, struct neighbour *k, struct peer_link *at, uint64_t received)
{
    struct err err = {0};
    bool probation = k->failed && peer_links_greeted(k->peer);

    k->good = at->way;
    if (peer_link_greeted(k->peer, at, received, probation) < 0) {
        err_set(&err, "it acknowledges frames that were never sent");
        conn_refuse_frame(c, k, &err);
        return -1;
    }
    if (k->state == NEIGHBOUR_CUT)
        k->state = NEIGHBOUR_UP;
    k->silent = k->orphaned = false;
    conn_probe(c, k, at);
    return 0;
}

static bool is_accepted(const struct core *c, const struct neighbour *k)
{
    return k->member_role && (k->vpid != VPID_HEAD || k->head_role);
}

static void keep_ends(struct peer_link *at, const struct core_conn *as)
{
    at->way = as->way;
    snprintf(at->own, sizeof(at->own), "%s", as->own ? as->own : "");
    snprintf(at->other, sizeof(at->other), "%s", as->other ? as->other : "");
}

void core_conn_open(struct core *c, uint64_t conn, const struct core_conn *as)
{
    struct peer_link *at = NULL;
    struct neighbour *k;

    if (as->incoming)
        neighbours_accept(c->neighbours, conn);
    k = neighbours_by_conn(c->neighbours, conn, &at);
    if (!k)
        return;
    k->head_role = as->role == API_ROLE_HEAD;
    k->member_role = api_role_is_daemon(as->role) && strcmp(as->cluster, c->opts.cluster) == 0;
    k->key = as->key;
    keep_ends(at, as);
    peer_link_opened(k->peer, at);
    if (is_ending(k)) {
        neighbours_close_conn(c->neighbours, k, at, false);
    } else if (!as->incoming && !is_accepted(c, k)) {
        out_log(&c->out, LOG_LEVEL_ERROR,
                "the daemon at the other end shows a certificate of role %s, cluster %s",
                api_role_word(as->role), as->cluster);
        close_conn(c, k, at, "wrong certificate");
    } else if (!as->incoming) {
        greet_open(c, k, at);
    }
    core_settle(c);
}

void core_conn_closed(struct core *c, uint64_t conn, const char *why)
{
    struct peer_link *at;
    struct neighbour *k = neighbours_by_conn(c->neighbours, conn, &at);

    if (k)
        lose_conn(c, k, at,
                  k->state == NEIGHBOUR_CLOSING || k->peer_bye ? LOSS_AFTER_BYE : LOSS_BY_BREAK,
                  why);
    core_settle(c);
}

/* --- frames */

static void refuse_frame(struct core *c, struct neighbour *k, const struct err *err, bool flush)
{
    struct peer_link *at =
        neighbours_in(c->neighbours) ? neighbours_in(c->neighbours) : peer_best(k->peer);

    c->stale++;
    out_log(&c->out, LOG_LEVEL_WARN, "link of vpid %d closed: %s",
            k->vpid == VPID_NONE ? -1 : (int)k->vpid, err->msg);
    if (at)
        end_conn(c, k, at, err->msg, flush);
}

void conn_refuse_frame(struct core *c, struct neighbour *k, const struct err *err)
{
    refuse_frame(c, k, err, false);
}

/* A new process of the head answers, while other links still seem to lead to the former one. */
static bool is_of_heir(const struct neighbour *k, const struct peer_link *at, const struct frame *f)
{
    return at && at->state == PEER_LINK_GREETING && k->vpid == VPID_HEAD && f->src == VPID_HEAD &&
           (epoch_none(f->src_epoch) ||
            (f->src_epoch.inc == k->epoch.inc && f->src_epoch.ctr > k->epoch.ctr));
}

/* A link that is up carries frames of its peer only, in the epoch of the greeting. */
static bool is_peers(const struct neighbour *k, const struct peer_link *at, const struct frame *f)
{
    return is_of_heir(k, at, f) || (k->state != NEIGHBOUR_UP && k->state != NEIGHBOUR_CLOSING) ||
           (f->src == k->vpid && epoch_eq(f->src_epoch, k->epoch));
}

static void drop_frame(struct core *c, const struct neighbour *k, const struct frame *f)
{
    c->stale++;
    out_log(&c->out, LOG_LEVEL_INFO,
            "%s from vpid %u epoch %llu refused: the link is that of vpid %u epoch %llu",
            msg_name(f->type), f->src, (unsigned long long)f->src_epoch.ctr, k->vpid,
            (unsigned long long)k->epoch.ctr);
}

/* The sender may not send this message. Before the greeting that ends the link. */
static void refuse_sender(struct core *c, struct neighbour *k, const struct frame *f,
                          const char *why)
{
    const struct peer_link *at = neighbours_in(c->neighbours);
    struct err err = {0};

    c->forged++;
    err_set(&err, "%s from vpid %u epoch %llu refused, which came over the link of vpid %d: %s",
            msg_name(f->type), f->src, (unsigned long long)f->src_epoch.ctr,
            k->vpid == VPID_NONE ? -1 : (int)k->vpid, why);
    if (at && at->state < PEER_LINK_UP) {
        conn_refuse_frame(c, k, &err);
        return;
    }
    c->stale++;
    out_log(&c->out, LOG_LEVEL_WARN, "%s", err.msg);
}

/* Messages that change the table of members. */
static bool is_table(unsigned type)
{
    return type == MSG_ADD || type == MSG_REMOVE || type == MSG_SHUTDOWN || type == MSG_SNAPSHOT;
}

static void take_neighbours(struct core *c, struct neighbour *k, const struct frame *f,
                            struct cur *body)
{
    struct err err = {0};
    const char *why;
    struct msg m;

    if (msg_decode(body, f->type, &m, &err) < 0) {
        conn_refuse_frame(c, k, &err);
        return;
    }
    if (f->type == MSG_HELLO || f->type == MSG_WELCOME)
        k->speaks = f->speaks;
    if (f->type == MSG_HELLO || is_table(f->type))
        k->knows_head = f->dst_ctr;
    if (!is_peers(k, neighbours_in(c->neighbours), f))
        drop_frame(c, k, f);
    else if ((why = origin_refusal(c, k, f)))
        refuse_sender(c, k, f, why);
    else
        dispatch_neighbour(c, k, &m);
    msg_free(&m);
}

static void take_routed(struct core *c, struct neighbour *k, const struct frame *f,
                        const uint8_t *data, size_t len)
{
    const char *why = origin_refusal(c, k, f);

    if (k->state != NEIGHBOUR_UP && k->state != NEIGHBOUR_CLOSING)
        return;
    if (why) {
        refuse_sender(c, k, f, why);
        return;
    }
    c->routed++;
    rml_input(c->rml, f, data, len);
}

/* Frames that have come as transfers (dvm/protocol/rml/hop.h). */
static void take_transfer(struct core *c, struct neighbour *k, struct msg *m)
{
    struct buf b;

    rml_transfer(c->rml, k, m);
    while (rml_transferred(c->rml, &b)) {
        struct cur cur = cur_of(b.data, b.len);
        struct frame f;

        if (frame_decode(&cur, &f, NULL) == 0)
            take_routed(c, k, &f, b.data, b.len);
        buf_free(&b);
    }
}

/* A sender of another layout learns why its link ends; it can at least read the version. */
static void refuse_header(struct core *c, struct neighbour *k, const uint8_t *data, size_t len,
                          const struct err *err)
{
    struct msg m = {.type = MSG_REFUSE, .refuse = {REFUSE_NEVER, (char *)err->msg}};
    struct peer_link *at = neighbours_in(c->neighbours);
    struct frame from = rml_from(c->rml);
    bool other_version = len && data[0] != WIRE_VERSION;

    if (at && other_version)
        neighbours_send_on(c->neighbours, k, at, &from, &m);
    refuse_frame(c, k, err, other_version);
}

/* A frame in its turn. */
static void take_frame(struct core *c, struct neighbour *k, const uint8_t *data, size_t len)
{
    struct cur cur = cur_of(data, len);
    struct err err = {0};
    struct frame f;

    if (frame_decode(&cur, &f, &err) < 0) {
        refuse_header(c, k, data, len, &err);
    } else if (!msg_is_routed(f.type)) {
        take_neighbours(c, k, &f, &cur);
    } else {
        take_routed(c, k, &f, data, len);
    }
}

bool conn_take_early(struct core *c)
{
    struct neighbour *k;
    struct buf b;

    if (!c->has_early)
        return false;
    DL_FOREACH(neighbours_first(c->neighbours), k)
    {
        if (!peer_next(k->peer, &b))
            continue;
        take_frame(c, k, b.data, b.len); /* the neighbour may depart with it */
        buf_free(&b);
        core_settle(c);
        return true;
    }
    c->has_early = false;
    return false;
}

/* Only within a session the header's numbers of the hop mean something. */
static enum peer_taken number_frame(struct neighbour *k, struct peer_link *at, const uint8_t *data,
                                    size_t len)
{
    struct cur cur = cur_of(data, len);
    struct frame f;

    if (at->state < PEER_LINK_UP || frame_decode(&cur, &f, NULL) < 0)
        return PEER_DELIVER;
    if (f.hop_seq && msg_way(f.type) == MSG_WAY_ON_LINK)
        return PEER_WRONG;
    return peer_take(k->peer, at, &f, data, len);
}

void core_conn_frame(struct core *c, uint64_t conn, const uint8_t *data, size_t len)
{
    struct peer_link *at;
    struct neighbour *k = neighbours_by_conn(c->neighbours, conn, &at);
    struct err err = {0};

    if (!k)
        return;
    at->heard_ms = k->heard_ms = c->out.now_ms;
    at->pinged = false;
    k->silent = k->orphaned = false;
    neighbours_set_in(c->neighbours, at);
    switch (number_frame(k, at, data, len)) {
    case PEER_WRONG:
        err_set(&err, "a number of the hop that cannot be right");
        conn_refuse_frame(c, k, &err);
        break;
    case PEER_DELIVER:
        take_frame(c, k, data, len);
        c->has_early = true; /* perhaps: their turn may have come */
        break;
    case PEER_KEPT:
        break;
    }
    neighbours_set_in(c->neighbours, NULL);
    rml_room(c->rml);
    core_settle(c);
}

/* --- messages about connections */

static void take_ping(struct core *c, struct neighbour *k, struct msg *m)
{
    struct msg pong = {.type = MSG_PONG, .pong = m->ping};

    if (k->state ==
        NEIGHBOUR_UP) /* after BYE a message could reach a closed connection and reset the link */
        neigh_say(c, k, &pong);
}

static void take_pong(struct core *c, struct neighbour *k, struct msg *m)
{
    struct peer_link *at = neighbours_in(c->neighbours);

    if (m->pong.sent_ms > c->out.now_ms ||
        !peer_link_answered(k->peer, at, c->out.now_ms - m->pong.sent_ms))
        return;
    if (at->way < k->nways)
        k->ways[at->way].redial_ms = 0;
    c->conns_taken_back++;
    out_log(&c->out, LOG_LEVEL_INFO, "link %u to vpid %u is taken back", at->number, k->vpid);
}

static void take_hop_ack(struct core *c, struct neighbour *k, struct msg *m)
{
    peer_acked(k->peer, m->hop_ack.ranges, m->hop_ack.n);
}

static void take_link_out(struct core *c, struct neighbour *k, struct msg *m)
{
    struct peer_link *at = peer_link_numbered(k->peer, m->link_out.number);

    if (!at || at->state < PEER_LINK_UP)
        return;
    if (m->link_out.closed) {
        close_conn(c, k, at, "the other side has lost it");
    } else if (peer_link_fail(k->peer, at)) {
        c->conns_mapped_out++;
        k->failed = true;
        out_log(&c->out, LOG_LEVEL_WARN, "link %u to vpid %u is mapped out by the other side",
                at->number, k->vpid);
    }
}

const struct neighbour_handler conn_handlers[] = {
    {MSG_PING, NEIGHBOUR_WHEN_GREETED, take_ping},
    {MSG_PONG, NEIGHBOUR_WHEN_GREETED, take_pong},
    {MSG_HOP_ACK, NEIGHBOUR_WHEN_GREETED, take_hop_ack},
    {MSG_LINK_OUT, NEIGHBOUR_WHEN_GREETED, take_link_out},
    {MSG_MATCH, NEIGHBOUR_WHEN_GREETED, take_transfer},
    {MSG_RNDV, NEIGHBOUR_WHEN_GREETED, take_transfer},
    {MSG_RGET, NEIGHBOUR_WHEN_GREETED, take_transfer},
    {MSG_FRAG, NEIGHBOUR_WHEN_GREETED, take_transfer},
    {MSG_ACK, NEIGHBOUR_WHEN_GREETED, take_transfer},
    {MSG_PUT, NEIGHBOUR_WHEN_GREETED, take_transfer},
    {MSG_GET, NEIGHBOUR_WHEN_GREETED, take_transfer},
    {MSG_TRANSFER_FIN, NEIGHBOUR_WHEN_GREETED, take_transfer},
    {MSG_RNDVRESTARTNOTIFY, NEIGHBOUR_WHEN_GREETED, take_transfer},
    {MSG_RECVERRNOTIFY, NEIGHBOUR_WHEN_GREETED, take_transfer},
    {MSG_RNDVRESTARTACK, NEIGHBOUR_WHEN_GREETED, take_transfer},
    {MSG_RNDVRESTARTNACK, NEIGHBOUR_WHEN_GREETED, take_transfer},
    {MSG_ANEW, NEIGHBOUR_WHEN_GREETED, take_transfer},
    {MSG_TAKEN, NEIGHBOUR_WHEN_GREETED, take_transfer},
    {0},
};
