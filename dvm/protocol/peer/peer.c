/* SPDX-License-Identifier: BSD-3-Clause */
/* The sequence of frames of one neighbour, and the choice of a link for each.
 *
 * In: encoded frames to be sent, frames that have come with the link that carried them, links that
 * come and fail, answers to probes, the time. Out: SEND actions; frames in their order.
 *
 * A frame to be sent waits in a list, in order of its number. It is sent when a link has room:
 * short classes over the link with the least delay, bulk over the one with most room. It leaves the
 * list when it is acknowledged. States of a link: peer_link_fsm.
 *
 * Links that are up are compared in rounds. One that shows no progress, or whose probes are
 * steadily far slower than those of another one, is mapped out.
 *
 * Invariants: a frame is delivered once and in order within a session. A frame is sent again only
 * if the link that carried it was lost or mapped out before the acknowledgement. The link that
 * is up last is never mapped out.
 *
 * Failures: without a link frames wait; beyond PEER_BACKLOG_MAX the routed ones are refused. A
 * number that the other side cannot have sent is reported, and the caller closes the link. */
#include "dvm/protocol/peer/peer.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct peer_frame {
    uint64_t seq;
    struct buf bytes;
    struct peer_link *link; /* that carries it; NULL: it waits */
    bool again;             /* it was sent before */
    struct peer_frame *next, *prev;
};

struct peer {
    struct out *out;
    uint64_t session;
    struct peer_link *links;
    size_t nlinks;
    uint32_t last_number;
    /* to the other side */
    struct peer_frame *unacked; /* by number */
    struct peer_frame *waiting; /* the first one of them that no link carries */
    uint64_t last_seq;
    uint64_t acked;
    size_t bytes;
    uint64_t again;
    uint64_t check_at;   /* 0: no link has to be compared with others */
    uint64_t measure_at; /* the next time at which all links are probed, if there is traffic */
    /* from the other side */
    uint64_t received;
    uint64_t delivered;
    struct peer_frame *early; /* by number */
    size_t nearly;
    size_t owed_bytes, owed_frames; /* came since the last acknowledgement */
    uint64_t ack_at;                /* 0: none is owed */
    struct peer_link *came_on;      /* that has carried the last frame; may be NULL */
};

static const struct fsm_name link_states[] = {{PEER_LINK_DIALING, "dialing"},
                                              {PEER_LINK_GREETING, "greeting"},
                                              {PEER_LINK_UP, "up"},
                                              {PEER_LINK_OUT, "mapped out"}};

static const struct fsm_name link_events[] = {{PEER_LINK_OPENED, "is open"},
                                              {PEER_LINK_GREETED, "has greeted"},
                                              {PEER_LINK_ON_PROBATION, "has greeted, on probation"},
                                              {PEER_LINK_FAILED, "failed"},
                                              {PEER_LINK_PROVED, "has proved itself"},
                                              {PEER_LINK_NEEDED, "is the only one"}};

static const struct fsm_row link_rows[] = {
    {PEER_LINK_DIALING, PEER_LINK_OPENED, PEER_LINK_GREETING, 0},
    {PEER_LINK_GREETING, PEER_LINK_GREETED, PEER_LINK_UP, 0},
    {PEER_LINK_GREETING, PEER_LINK_ON_PROBATION, PEER_LINK_OUT, 0},
    {PEER_LINK_UP, PEER_LINK_FAILED, PEER_LINK_OUT, 0},
    {PEER_LINK_OUT, PEER_LINK_PROVED, PEER_LINK_UP, 0},
    {PEER_LINK_OUT, PEER_LINK_NEEDED, PEER_LINK_UP, 0},
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

const struct fsm peer_link_fsm = {.name = "link",
                                  .states = link_states,
                                  .nstates = COUNT(link_states),
                                  .events = link_events,
                                  .nevents = COUNT(link_events),
                                  .rows = link_rows,
                                  .nrows = COUNT(link_rows)};

/* The one setter of a link's state. An event that means nothing in this state changes nothing. */
static void step_link(struct peer_link *k, enum peer_link_event e)
{
    (void)!fsm_step(&peer_link_fsm, &k->state, e, NULL, NULL);
}

static void free_frame(struct peer_frame **list, struct peer_frame *f)
{
    DL_DELETE(*list, f);
    buf_free(&f->bytes);
    free(f);
}

static struct peer_frame *copy_frame(const void *data, size_t len, uint64_t seq)
{
    struct peer_frame *f = xcalloc(1, sizeof(*f));

    buf_init(&f->bytes, len);
    buf_put_raw(&f->bytes, data, len);
    f->seq = seq;
    return f;
}

struct peer *peer_create(struct out *out)
{
    struct peer *p = xcalloc(1, sizeof(*p));

    p->out = out;
    return p;
}

static void drop_frames(struct peer *p)
{
    while (p->unacked)
        free_frame(&p->unacked, p->unacked);
    while (p->early)
        free_frame(&p->early, p->early);
    p->waiting = NULL;
}

void peer_destroy(struct peer *p)
{
    if (!p)
        return;
    drop_frames(p);
    while (p->links) {
        struct peer_link *k = p->links;

        DL_DELETE(p->links, k);
        free(k);
    }
    free(p);
}

void peer_begin(struct peer *p, uint64_t session)
{
    struct peer_link *k;

    drop_frames(p);
    DL_FOREACH(p->links, k)
    {
        k->in_flight = 0;
    }
    p->session = session;
    p->last_seq = p->acked = p->received = p->delivered = 0;
    p->bytes = p->nearly = p->owed_bytes = p->owed_frames = 0;
    p->ack_at = 0;
}

uint64_t peer_session(const struct peer *p)
{
    return p->session;
}

uint64_t peer_received(const struct peer *p)
{
    return p->received;
}

static size_t count_state(const struct peer *p, enum peer_link_state state)
{
    const struct peer_link *k;
    size_t n = 0;

    DL_FOREACH(p->links, k)
    {
        n += k->state == (int)state;
    }
    return n;
}

/* --- acknowledgements to the other side */

static void owe_ack(struct peer *p, size_t len)
{
    uint64_t due = p->out->now_ms + PEER_ACK_DELAY_MS;

    p->owed_bytes += len;
    p->owed_frames++;
    if (p->owed_bytes >= PEER_ACK_BYTES || p->owed_frames >= PEER_ACK_FRAMES)
        due = p->out->now_ms;
    if (!p->ack_at || due < p->ack_at)
        p->ack_at = due;
}

bool peer_ack_due(const struct peer *p)
{
    return p->ack_at && p->ack_at <= p->out->now_ms && count_state(p, PEER_LINK_UP);
}

struct peer_link *peer_ack_link(const struct peer *p)
{
    return p->came_on && p->came_on->state == PEER_LINK_UP ? p->came_on : peer_best(p);
}

size_t peer_ranges(struct peer *p, struct hop_range *list)
{
    const struct peer_frame *f;
    size_t n = 0;

    p->owed_bytes = p->owed_frames = p->ack_at = 0;
    DL_FOREACH(p->early, f)
    {
        if (n && list[n - 1].last + 1 == f->seq) {
            list[n - 1].last = f->seq;
            continue;
        }
        if (n == HOP_RANGES_MAX)
            break;
        list[n++] = (struct hop_range){f->seq, f->seq};
    }
    return n;
}

/* --- sending */

static bool has_room(const struct peer_link *k, size_t len)
{
    return k->state == PEER_LINK_UP &&
           (k->in_flight == 0 || k->in_flight + len <= PEER_LINK_WINDOW_BYTES);
}

struct peer_link *peer_best(const struct peer *p)
{
    struct peer_link *k, *best = NULL;

    DL_FOREACH(p->links, k)
    {
        if (k->state == PEER_LINK_UP && (!best || k->delay_ms < best->delay_ms))
            best = k;
    }
    return best;
}

static bool is_preferred(const struct peer_link *a, const struct peer_link *b, bool bulk)
{
    return bulk ? a->in_flight < b->in_flight : a->delay_ms < b->delay_ms;
}

static struct peer_link *choose_link(const struct peer *p, const struct peer_frame *f)
{
    uint8_t traffic = f->bytes.data[1]; /* dvm/protocol/wire/frame.c */
    bool bulk = traffic == CLASS_BULK || traffic == CLASS_MODEX;
    struct peer_link *k, *best = NULL;

    DL_FOREACH(p->links, k)
    {
        if (has_room(k, f->bytes.len) && (!best || is_preferred(k, best, bulk)))
            best = k;
    }
    return best;
}

static void emit_frame(struct peer *p, uint64_t conn, const void *frame, size_t len, uint64_t seq)
{
    struct out_act *act = out_add(p->out, OUT_SEND);

    act->send.conn = conn;
    buf_put_raw(&act->send.frame, frame, len);
    frame_set_hop(act->send.frame.data, seq, p->received);
    if (!p->early) /* the header acknowledges everything that has come */
        p->owed_bytes = p->owed_frames = p->ack_at = 0;
}

/* Now and then each link is probed, so the delays of links with traffic are known. */
static void measure_links(struct peer *p)
{
    struct peer_link *k;

    if (p->measure_at > p->out->now_ms)
        return;
    p->measure_at = p->out->now_ms + PEER_MEASURE_MS;
    DL_FOREACH(p->links, k)
    {
        if (k->state == PEER_LINK_UP && !k->asked_ms)
            k->probe_at = p->out->now_ms;
    }
}

/* While a link owes an answer, and others are up, they are compared in rounds. */
static void compare_links(struct peer *p)
{
    const struct peer_link *k;
    size_t up = 0, owing = 0;

    DL_FOREACH(p->links, k)
    {
        if (k->state == PEER_LINK_UP) {
            up++;
            owing += k->in_flight || k->asked_ms;
        }
    }
    if (up < 2 || !owing) {
        p->check_at = 0;
        return;
    }
    measure_links(p);
    if (!p->check_at || p->check_at <= p->out->now_ms)
        p->check_at = p->out->now_ms + PEER_ROUND_MS;
}

/* Numbers go out in order, except those of a failed link. */
static void push_frames(struct peer *p)
{
    struct peer_frame *f = p->waiting;

    for (; f; f = f->next) {
        if (f->link)
            continue;
        if (f->seq > p->acked + PEER_WINDOW_FRAMES)
            break;
        f->link = choose_link(p, f);
        if (!f->link)
            break;
        f->link->in_flight += f->bytes.len;
        p->again += f->again;
        f->again = true;
        emit_frame(p, f->link->conn, f->bytes.data, f->bytes.len, f->seq);
    }
    p->waiting = f;
    compare_links(p);
}

bool peer_full(const struct peer *p)
{
    return p->bytes >= PEER_BACKLOG_MAX;
}

void peer_send(struct peer *p, const void *frame, size_t len)
{
    struct peer_frame *f = copy_frame(frame, len, ++p->last_seq);

    p->bytes += len;
    DL_APPEND(p->unacked, f);
    if (!p->waiting)
        p->waiting = f;
    push_frames(p);
}

void peer_send_on(struct peer *p, struct peer_link *k, const void *frame, size_t len)
{
    emit_frame(p, k->conn, frame, len, 0);
}

/* --- acknowledgements of the other side */

static void free_acked(struct peer *p, struct peer_frame *f)
{
    if (f->link) {
        f->link->in_flight -= f->bytes.len;
        f->link->progress = true;
    }
    p->bytes -= f->bytes.len;
    if (p->waiting == f)
        p->waiting = f->next;
    free_frame(&p->unacked, f);
}

static void take_ack(struct peer *p, uint64_t up_to)
{
    if (up_to <= p->acked)
        return;
    p->acked = up_to;
    while (p->unacked && p->unacked->seq <= up_to)
        free_acked(p, p->unacked);
    push_frames(p);
}

void peer_acked(struct peer *p, const struct hop_range *list, size_t n)
{
    struct peer_frame *f, *tmp;
    size_t i = 0;

    DL_FOREACH_SAFE(p->unacked, f, tmp)
    {
        while (i < n && list[i].last < f->seq)
            i++;
        if (i == n)
            break;
        if (f->seq >= list[i].first)
            free_acked(p, f);
    }
    push_frames(p);
}

/* --- frames that have come */

/* In order of the numbers, each once. */
static void keep_early(struct peer *p, uint64_t seq, const uint8_t *data, size_t len)
{
    struct peer_frame *f = p->early ? p->early->prev : NULL; /* the last one */
    struct peer_frame *new;

    while (f && f->seq > seq)
        f = f == p->early ? NULL : f->prev;
    if (f && f->seq == seq)
        return;
    new = copy_frame(data, len, seq);
    if (f)
        DL_APPEND_ELEM(p->early, f, new);
    else
        DL_PREPEND(p->early, new);
    p->nearly++;
}

enum peer_taken peer_take(struct peer *p, struct peer_link *k, const struct frame *f,
                          const uint8_t *data, size_t len)
{
    if (f->hop_ack > p->last_seq || f->hop_seq > p->received + PEER_WINDOW_FRAMES)
        return PEER_WRONG;
    take_ack(p, f->hop_ack);
    if (f->hop_seq == 0)
        return PEER_DELIVER;
    p->came_on = k;
    owe_ack(p, len);
    if (f->hop_seq == p->received + 1) {
        p->received++;
        p->delivered++;
        return PEER_DELIVER;
    }
    if (f->hop_seq > p->received)
        keep_early(p, f->hop_seq, data, len);
    return PEER_KEPT;
}

bool peer_next(struct peer *p, struct buf *frame)
{
    struct peer_frame *f = p->early;

    if (!f || f->seq != p->received + 1)
        return false;
    p->received++;
    p->delivered++;
    p->nearly--;
    *frame = f->bytes;
    DL_DELETE(p->early, f);
    free(f);
    return true;
}

/* --- links */

struct peer_link *peer_links(const struct peer *p)
{
    return p->links;
}

struct peer_link *peer_link_add(struct peer *p, uint64_t conn, enum peer_link_state state)
{
    struct peer_link *k;

    if (p->nlinks >= PEER_LINKS_MAX)
        return NULL;
    k = xcalloc(1, sizeof(*k));
    k->conn = conn;
    k->state = state;
    k->opened_ms = k->heard_ms = p->out->now_ms;
    k->probe_ms = PEER_PROBE_MIN_MS;
    DL_APPEND(p->links, k);
    p->nlinks++;
    return k;
}

struct peer_link *peer_link_of(const struct peer *p, uint64_t conn)
{
    struct peer_link *k;

    DL_FOREACH(p->links, k)
    {
        if (k->conn == conn)
            return k;
    }
    return NULL;
}

struct peer_link *peer_link_numbered(const struct peer *p, uint32_t number)
{
    struct peer_link *k;

    DL_FOREACH(p->links, k)
    {
        if (k->number == number)
            return k;
    }
    return NULL;
}

size_t peer_links_greeted(const struct peer *p)
{
    return count_state(p, PEER_LINK_UP) + count_state(p, PEER_LINK_OUT);
}

uint32_t peer_next_number(struct peer *p)
{
    return ++p->last_number;
}

struct peer_link *peer_link_move(struct peer *to, struct peer *from)
{
    struct peer_link *k = from->links;

    if (!k || to->nlinks >= PEER_LINKS_MAX)
        return NULL;
    DL_DELETE(from->links, k);
    from->nlinks--;
    DL_APPEND(to->links, k);
    to->nlinks++;
    return k;
}

void peer_link_opened(struct peer *p, struct peer_link *k)
{
    step_link(k, PEER_LINK_OPENED);
    k->opened_ms = k->heard_ms = p->out->now_ms;
}

/* Frames that were sent over the link and are not acknowledged wait for another link. */
static void take_back_frames(struct peer *p, const struct peer_link *k)
{
    struct peer_frame *f;

    DL_FOREACH(p->unacked, f)
    {
        if (f->link == k)
            f->link = NULL;
    }
    p->waiting = p->unacked;
    push_frames(p);
}

/* It was taken back a moment ago: it waits for longer than the last time. */
static void set_hold(struct peer *p, struct peer_link *k)
{
    uint64_t now = p->out->now_ms;

    if (!k->back_ms || k->back_ms + PEER_FLAP_MS <= now)
        k->hold_ms = 0;
    else
        k->hold_ms = k->hold_ms == 0                     ? PEER_HOLD_MIN_MS
                     : k->hold_ms > PEER_HOLD_MAX_MS / 2 ? PEER_HOLD_MAX_MS
                                                         : 2 * k->hold_ms;
    k->hold_until = now + k->hold_ms;
}

static void begin_probation(struct peer *p, struct peer_link *k)
{
    k->proofs = 0;
    k->probe_at = p->out->now_ms + k->probe_ms;
}

/* If no link is up, one that was mapped out has to do. */
static void use_what_is_left(struct peer *p)
{
    struct peer_link *k;

    if (count_state(p, PEER_LINK_UP))
        return;
    DL_FOREACH(p->links, k)
    {
        if (k->state != PEER_LINK_OUT)
            continue;
        step_link(k, PEER_LINK_NEEDED);
        k->asked_ms = k->probe_at = 0;
    }
}

int peer_link_greeted(struct peer *p, struct peer_link *k, uint64_t received, bool probation)
{
    if (received > p->last_seq)
        return -1;
    if (k->state == PEER_LINK_DIALING)
        peer_link_opened(p, k);
    step_link(k, probation ? PEER_LINK_ON_PROBATION : PEER_LINK_GREETED);
    k->missed = 0;
    if (probation)
        begin_probation(p, k);
    use_what_is_left(p);
    take_ack(p, received);
    push_frames(p);
    return 0;
}

void peer_link_drop(struct peer *p, struct peer_link *k)
{
    DL_DELETE(p->links, k);
    p->nlinks--;
    if (p->came_on == k)
        p->came_on = NULL;
    if (p->received && !p->ack_at) /* it may have carried the last acknowledgement */
        p->ack_at = p->out->now_ms + PEER_ACK_DELAY_MS;
    use_what_is_left(p);
    take_back_frames(p, k);
    free(k);
}

bool peer_link_fail(struct peer *p, struct peer_link *k)
{
    if (k->state != PEER_LINK_UP || count_state(p, PEER_LINK_UP) < 2)
        return false;
    step_link(k, PEER_LINK_FAILED);
    k->in_flight = 0;
    k->asked_ms = 0;
    k->slow = 0;
    k->missed = 0;
    set_hold(p, k);
    if (p->received && !p->ack_at)
        p->ack_at = p->out->now_ms + PEER_ACK_DELAY_MS;
    k->probe_ms = PEER_PROBE_MIN_MS;
    begin_probation(p, k);
    take_back_frames(p, k);
    return true;
}

static uint64_t least_delay(const struct peer *p, const struct peer_link *but)
{
    const struct peer_link *k;
    uint64_t least = UINT64_MAX;

    DL_FOREACH(p->links, k)
    {
        if (k != but && k->state == PEER_LINK_UP && k->measured && k->delay_ms < least)
            least = k->delay_ms;
    }
    return least;
}

static bool is_far_slower(const struct peer *p, const struct peer_link *k, uint64_t factor)
{
    uint64_t least = least_delay(p, k);

    return least != UINT64_MAX && k->delay_ms > PEER_SLOW_MS && k->delay_ms > factor * least;
}

/* The answer to a probe of a link that is up. */
static void note_delay(struct peer *p, struct peer_link *k)
{
    if (!is_far_slower(p, k, PEER_SLOW_FACTOR)) {
        k->slow = 0;
    } else if (k->slow == 0 || k->slow_until <= p->out->now_ms) {
        k->slow++;
        k->slow_until = p->out->now_ms + PEER_MEASURE_MS;
    }
}

/* The answer to a probe of a mapped-out link. True: it is the last proof. */
static bool note_proof(struct peer *p, struct peer_link *k)
{
    if (is_far_slower(p, k, PEER_BACK_FACTOR) || p->out->now_ms < k->hold_until) {
        k->proofs = 0;
        return false;
    }
    k->probe_ms = PEER_PROBE_MIN_MS;
    k->probe_at = p->out->now_ms + k->probe_ms;
    return ++k->proofs >= PEER_PROOFS;
}

void peer_link_asked(struct peer *p, struct peer_link *k)
{
    if (!k->asked_ms)
        k->asked_ms = p->out->now_ms;
    compare_links(p);
}

bool peer_link_answered(struct peer *p, struct peer_link *k, uint64_t delay_ms)
{
    k->delay_ms = delay_ms;
    k->measured = true;
    k->asked_ms = 0;
    k->progress = k->answered = true;
    if (k->state == PEER_LINK_UP)
        note_delay(p, k);
    if (k->state != PEER_LINK_OUT || !note_proof(p, k))
        return false;
    step_link(k, PEER_LINK_PROVED);
    k->back_ms = p->out->now_ms;
    push_frames(p);
    return true;
}

/* It has work without a sign of success since the last round. */
static bool is_behind(const struct peer_link *k)
{
    return k->state == PEER_LINK_UP && !k->progress && (k->asked_ms || k->in_flight);
}

/* Long frames take their time. */
static bool has_missed_all(const struct peer_link *k)
{
    return k->missed >= PEER_SLOW_ROUNDS + k->in_flight / PEER_ROUND_BYTES;
}

/* A round ends. Whoever is behind although another one has answered its probe has missed it. The
 * next round begins with a probe of each link, if one is behind. */
static struct peer_link *end_round(struct peer *p)
{
    struct peer_link *k, *slow = NULL;
    size_t answered = 0, behind = 0;

    DL_FOREACH(p->links, k)
    {
        answered += k->state == PEER_LINK_UP && k->answered;
        behind += is_behind(k);
    }
    DL_FOREACH(p->links, k)
    {
        if (k->state != PEER_LINK_UP)
            continue;
        if (!is_behind(k))
            k->missed = 0;
        else if (k->asked_ms && answered)
            k->missed++;
        if (has_missed_all(k))
            slow = k;
        k->progress = k->answered = false;
        if (behind)
            k->probe_at = p->out->now_ms;
    }
    compare_links(p);
    return slow;
}

/* The answers to its probes are steadily slow. */
static struct peer_link *find_slow(const struct peer *p)
{
    struct peer_link *k;

    DL_FOREACH(p->links, k)
    {
        if (k->state == PEER_LINK_UP && k->slow >= PEER_SLOW_MEASURES)
            return k;
    }
    return NULL;
}

struct peer_link *peer_link_slow(struct peer *p)
{
    struct peer_link *k = find_slow(p);

    if (!k)
        return p->check_at && p->check_at <= p->out->now_ms ? end_round(p) : NULL;
    k->slow = 0;
    return k;
}

struct peer_link *peer_link_probe(struct peer *p)
{
    struct peer_link *k;

    DL_FOREACH(p->links, k)
    {
        if (k->state < PEER_LINK_UP || !k->probe_at || k->probe_at > p->out->now_ms)
            continue;
        if (k->state == PEER_LINK_OUT)
            k->probe_ms = k->probe_ms > PEER_PROBE_MAX_MS / 2 ? PEER_PROBE_MAX_MS : 2 * k->probe_ms;
        k->probe_at = k->state == PEER_LINK_OUT ? p->out->now_ms + k->probe_ms : 0;
        return k;
    }
    return NULL;
}

uint64_t peer_deadline(const struct peer *p)
{
    uint64_t due = p->ack_at && count_state(p, PEER_LINK_UP) ? p->ack_at : UINT64_MAX;
    const struct peer_link *k;

    if (p->check_at && p->check_at < due)
        due = p->check_at;
    if (find_slow(p))
        due = p->out->now_ms;
    DL_FOREACH(p->links, k)
    {
        if (k->state >= PEER_LINK_UP && k->probe_at && k->probe_at < due)
            due = k->probe_at;
    }
    return due;
}

struct peer_stats peer_stats(const struct peer *p)
{
    return (struct peer_stats){.sent = p->last_seq,
                               .acked = p->acked,
                               .delivered = p->delivered,
                               .received = p->received,
                               .again = p->again,
                               .bytes = p->bytes,
                               .early = p->nearly};
}
