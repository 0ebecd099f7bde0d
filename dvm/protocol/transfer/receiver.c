/* SPDX-License-Identifier: BSD-3-Clause */
/* The receiving side of transfers.
 *
 * In: MATCH, RNDV, RGET, FRAG, FIN, RNDVRESTARTNOTIFY; completions of our frames. Out: ACK, PUT,
 * GET, FIN, RECVERRNOTIFY, RNDVRESTARTACK, RNDVRESTARTNACK; bytes and the end of a sink.
 *
 * States: taking_fsm (docs/graphs/transfer-receiver.md). At most TRANSFER_TAKEN_MAX transfers, of
 * at most TRANSFER_TAKEN_BYTES together, are taken at once, and one of any length alone; further
 * offers are answered in their order when one has ended. An end remembers which of the last
 * TRANSFER_WINDOW transfers have ended, so late and doubled frames of these change nothing.
 *
 * What always holds: a message is handed over once. A fragment counts only in its dance, and a new
 * dance begins only when no frame of the receiver is outstanding.
 *
 * When it fails: an answer that met an error is not sent again; the sender is notified, and
 * restarts. A frame that the sender cannot have sent in this state is logged and ignored. */
#include "dvm/protocol/transfer/transfer_private.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

static void step_taking(struct transfer_end *e, struct taking *t, enum taking_event event,
                        const struct msg *m, const struct frame_out *f);

/* --- which transfers have ended */

static bool has_ended(const struct transfer_end *e, uint64_t number)
{
    uint64_t i = number - e->done_before;

    return number < e->done_before ||
           (i < TRANSFER_WINDOW && (e->done[i / 64] & (1ull << (i % 64))));
}

static bool is_in_window(const struct transfer_end *e, uint64_t number)
{
    return number >= e->done_before && number - e->done_before < TRANSFER_WINDOW;
}

static void shift_done(struct transfer_end *e)
{
    size_t words = sizeof(e->done) / sizeof(*e->done);

    for (size_t w = 0; w < words; w++)
        e->done[w] = e->done[w] >> 1 | (w + 1 < words ? e->done[w + 1] << 63 : 0);
    e->done_before++;
}

static void mark_ended(struct transfer_end *e, uint64_t number)
{
    uint64_t i = number - e->done_before;

    if (has_ended(e, number))
        return;
    e->done[i / 64] |= 1ull << (i % 64);
    while (e->done[0] & 1)
        shift_done(e);
}

static struct taking *find_taking(const struct transfer_end *e, uint64_t number)
{
    struct taking *t;

    DL_FOREACH2(e->takings, t, next_in)
    {
        if (t->number == number)
            return t;
    }
    return NULL;
}

static void end_sink(struct transfer_end *e, struct taking *t, bool complete)
{
    if (!t->open)
        return;
    t->open = false;
    e->stats.ended += complete;
    t->sink.end(t->sink.arg, complete);
}

static void remove_taking(struct transfer_end *e, struct taking *t)
{
    end_sink(e, t, false);
    e->nadmitted -= t->admitted;
    e->admitted_bytes -= t->admitted ? t->size : 0;
    DL_DELETE2(e->takings, t, prev, next_in);
    e->stats.taking--;
    free(t);
}

void receiver_fail_all(struct transfer_end *e)
{
    frames_drop(e, false);
    while (e->takings)
        remove_taking(e, e->takings);
    memset(e->done, 0, sizeof(e->done));
    e->done_before = 1;
}

/* --- frames of this side */

static void post_control(struct transfer_end *e, struct taking *t, const struct msg *m)
{
    t->outstanding++;
    frames_post(e, false, m);
}

static void send_grant(struct transfer_end *e, struct taking *t, enum msg_type type,
                       uint64_t offset)
{
    struct msg m = {
        .type = type,
        .ack = {frames_new_ref(e, false, t->number, t->dance), offset, t->granted - offset}};

    post_control(e, t, &m);
}

static bool goes_by_regions(const struct taking *t)
{
    return t->exposed || t->sink.regions;
}

/* Bytes that need not be granted any more: those of a written region, or those that were read. */
static uint64_t settled_to(const struct taking *t)
{
    return t->exposed ? t->have : t->finned;
}

static bool may_grant(const struct taking *t)
{
    return goes_by_regions(t) && t->granted < t->size &&
           t->granted < settled_to(t) + 2 * TRANSFER_REGION_BYTES;
}

static void grant_region(struct transfer_end *e, struct taking *t)
{
    uint64_t offset = t->granted;
    uint64_t left = t->size - offset;

    t->granted += left < TRANSFER_REGION_BYTES ? left : TRANSFER_REGION_BYTES;
    send_grant(e, t, t->exposed ? MSG_GET : MSG_PUT, offset);
}

static void answer_offer(struct transfer_end *e, struct taking *t)
{
    if (goes_by_regions(t)) {
        grant_region(e, t);
        return;
    }
    t->granted = t->size;
    send_grant(e, t, MSG_ACK, 0);
}

/* It grants all that may be granted now: another grant could arrive before it. */
static void restart_taking(struct transfer_end *e, struct taking *t)
{
    t->early = 0;
    t->finned = t->have;
    t->granted = t->size;
    if (goes_by_regions(t) && t->size - t->have > 2 * TRANSFER_REGION_BYTES)
        t->granted = t->have + 2 * TRANSFER_REGION_BYTES;
    send_grant(e, t, MSG_RNDVRESTARTACK, t->have);
}

static void send_ref(struct transfer_end *e, struct taking *t, enum msg_type type)
{
    struct msg m = {.type = type, .recverr = {frames_new_ref(e, false, t->number, t->dance)}};

    post_control(e, t, &m);
}

/* Of a transfer that has ended here. */
static void say_done(struct transfer_end *e, uint64_t number, uint32_t dance)
{
    struct msg m = {.type = MSG_RNDVRESTARTNACK, .nack = {frames_new_ref(e, false, number, dance)}};

    frames_post(e, false, &m);
}

static void send_fin(struct transfer_end *e, struct taking *t)
{
    struct msg m = {
        .type = MSG_TRANSFER_FIN,
        .fin = {frames_new_ref(e, false, t->number, t->dance), t->match, t->size, true}};

    post_control(e, t, &m);
}

/* --- bytes */

static bool is_sound_frag(const struct taking *t, const struct msg_frag *m)
{
    uint64_t left = t->size - m->offset;

    return m->offset < t->granted &&
           m->len == (left < TRANSFER_FRAG_BYTES ? left : TRANSFER_FRAG_BYTES) &&
           (m->offset < t->have || (m->offset - t->have) / TRANSFER_FRAG_BYTES <= 64);
}

static void write_frag(struct transfer_end *e, struct taking *t, const struct msg_frag *m)
{
    uint64_t place;

    if (!is_sound_frag(t, m)) {
        frames_log_illegal(e, t->number, "a fragment that was not granted");
        return;
    }
    if (m->offset < t->have) {
        e->stats.ignored++;
        return;
    }
    t->sink.write(t->sink.arg, m->offset, m->data, m->len);
    place = (m->offset - t->have) / TRANSFER_FRAG_BYTES;
    if (place > 0) {
        t->early |= 1ull << (place - 1);
        return;
    }
    t->have += m->len;
    while (t->early & 1) {
        t->early >>= 1;
        t->have +=
            t->size - t->have < TRANSFER_FRAG_BYTES ? t->size - t->have : TRANSFER_FRAG_BYTES;
    }
    t->early >>= 1;
}

/* --- the one setter of the state */

static void act_on_step(struct transfer_end *e, struct taking *t, enum taking_action action,
                        const struct msg *m, const struct frame_out *f)
{
    switch (action) {
    case TAKING_NOTHING:
        break;
    case TAKING_ANSWER:
        answer_offer(e, t);
        break;
    case TAKING_TURN_AWAY:
        say_done(e, t->number, t->dance);
        break;
    case TAKING_WRITE:
        write_frag(e, t, &m->frag);
        break;
    case TAKING_COUNT_REGION:
        t->finned = m->fin.offset > t->finned ? m->fin.offset : t->finned;
        break;
    case TAKING_GRANT:
        grant_region(e, t);
        break;
    case TAKING_SEND_FIN: /* with this FIN the sender goes on to later numbers */
        end_sink(e, t, true);
        mark_ended(e, t->number);
        send_fin(e, t);
        break;
    case TAKING_SEND_RECVERR:
        send_ref(e, t, MSG_RECVERRNOTIFY);
        break;
    case TAKING_AGAIN:
        t->outstanding++;
        frames_again(e, f);
        break;
    case TAKING_CALL:
        t->dance = m->notify.ref.dance;
        break;
    case TAKING_RESTART:
        restart_taking(e, t);
        break;
    case TAKING_END:
        end_sink(e, t, true);
        break;
    }
}

static void step_taking(struct transfer_end *e, struct taking *t, enum taking_event event,
                        const struct msg *m, const struct frame_out *f)
{
    static const struct msg no_msg;
    static const struct frame_out no_frame;
    int action = TAKING_NOTHING;
    struct err err = {0};

    if (fsm_step(&taking_fsm, &t->state, (int)event, &action, &err) < 0)
        frames_log_illegal(e, t->number, err.msg);
    else
        act_on_step(e, t, (enum taking_action)action, m ? m : &no_msg, f ? f : &no_frame);
}

static void admit_offer(struct transfer_end *e, struct taking *t)
{
    t->admitted = t->open = e->io.accept(e->io.arg, &t->match, t->size, &t->sink);
    e->nadmitted += t->admitted;
    e->admitted_bytes += t->admitted ? t->size : 0;
    step_taking(e, t, t->admitted ? TAKING_EV_ADMIT : TAKING_EV_REFUSE, NULL, NULL);
}

static bool has_room_for(const struct transfer_end *e, const struct taking *t)
{
    uint64_t max = e->io.taken_bytes ? e->io.taken_bytes : TRANSFER_TAKEN_BYTES;

    return e->nadmitted == 0 ||
           (e->nadmitted < TRANSFER_TAKEN_MAX && e->admitted_bytes + t->size <= max);
}

/* In the order of the offers, so a long message is not passed for ever. */
static void admit_offers(struct transfer_end *e)
{
    struct taking *t;

    DL_FOREACH2(e->takings, t, next_in)
    {
        if (t->state != TAKING_QUEUED)
            continue;
        if (!has_room_for(e, t))
            return;
        admit_offer(e, t);
    }
}

/* Consequences that are not in a frame. */
static void settle_one(struct transfer_end *e, struct taking *t)
{
    if (t->state == TAKING_CALLED && t->outstanding == 0)
        step_taking(e, t, TAKING_EV_QUIET, NULL, NULL);
    while (t->state == TAKING_OPEN && may_grant(t))
        step_taking(e, t, TAKING_EV_NEXT, NULL, NULL);
    if (t->exposed && t->have == t->size && (t->state == TAKING_OPEN || t->state == TAKING_BROKEN))
        step_taking(e, t, TAKING_EV_ALL_READ, NULL, NULL);
}

static bool remove_ended(struct transfer_end *e, struct taking *t)
{
    if (t->state != TAKING_DONE)
        return false;
    mark_ended(e, t->number);
    remove_taking(e, t);
    return true;
}

/* The end of one lets another one be admitted. */
static void settle_takings(struct transfer_end *e)
{
    struct taking *t, *tmp;
    bool moved = true;

    while (moved) {
        moved = false;
        admit_offers(e);
        DL_FOREACH_SAFE2(e->takings, t, tmp, next_in)
        {
            settle_one(e, t);
            moved |= remove_ended(e, t);
        }
    }
}

/* --- inputs */

static struct taking *add_taking(struct transfer_end *e, const struct msg *m)
{
    struct taking *t = xcalloc(1, sizeof(*t));

    t->number = m->rndv.ref.number;
    t->state = TAKING_QUEUED;
    t->match = m->rndv.match;
    t->size = m->rndv.size;
    t->exposed = m->type == MSG_RGET;
    DL_APPEND2(e->takings, t, prev, next_in);
    e->stats.taking++;
    return t;
}

static void take_offer(struct transfer_end *e, const struct msg *m)
{
    struct taking *t = find_taking(e, m->rndv.ref.number);

    if (t)
        step_taking(e, t, TAKING_EV_OFFER, m, NULL);
    else
        add_taking(e, m);
}

static void take_match(struct transfer_end *e, const struct msg *m)
{
    struct transfer_sink sink = {0};

    mark_ended(e, m->match.ref.number);
    e->stats.ended++;
    if (!e->io.accept(e->io.arg, &m->match.match, m->match.len, &sink))
        return;
    sink.write(sink.arg, 0, m->match.data, m->match.len);
    sink.end(sink.arg, true);
}

/* The event of a frame for a transfer that is being taken; 0: it came late. */
static int event_of(struct transfer_end *e, const struct taking *t, const struct msg *m)
{
    uint32_t dance = frames_ref_of(m)->dance;

    switch ((int)m->type) {
    case MSG_FRAG:
        return dance == t->dance ? TAKING_EV_FRAG : 0;
    case MSG_TRANSFER_FIN:
        if (dance != t->dance || t->exposed || !transfer_match_eq(&m->fin.match, &t->match))
            return 0;
        if (m->fin.offset < t->size)
            return TAKING_EV_FIN;
        if (t->have == t->size)
            return TAKING_EV_ALL_FIN;
        frames_log_illegal(e, t->number, "FIN before all bytes have come");
        return 0;
    case MSG_RNDVRESTARTNOTIFY:
        return dance > t->dance ? TAKING_EV_NOTIFY : 0;
    default:
        return 0;
    }
}

static void take_frame(struct transfer_end *e, const struct msg *m)
{
    const struct transfer_ref *ref = frames_ref_of(m);
    struct taking *t = find_taking(e, ref->number);
    int event = t ? event_of(e, t, m) : 0;

    if (!t && !has_ended(e, ref->number))
        frames_log_illegal(e, ref->number, "a frame of a transfer that was not offered");
    else if (event)
        step_taking(e, t, (enum taking_event)event, m, NULL);
    else
        e->stats.ignored++;
}

void receiver_input(struct transfer_end *e, const struct msg *m)
{
    const struct transfer_ref *ref = frames_ref_of(m);

    if (has_ended(e, ref->number)) {
        e->stats.ignored++;
        if (m->type == MSG_RNDVRESTARTNOTIFY)
            say_done(e, ref->number, ref->dance);
        return;
    }
    if (!is_in_window(e, ref->number))
        frames_log_illegal(e, ref->number, "its number is out of the window");
    else if (m->type == MSG_MATCH)
        take_match(e, m);
    else if (m->type == MSG_RNDV || m->type == MSG_RGET)
        take_offer(e, m);
    else
        take_frame(e, m);
    settle_takings(e);
}

/* A completion as an event; 0: it has no consequence of its own. */
static int event_of_completion(const struct frame_out *f, bool processed)
{
    switch ((int)f->m.type) {
    case MSG_ACK:
    case MSG_PUT:
    case MSG_GET:
        return processed ? 0 : TAKING_EV_ANSWER_LOST;
    case MSG_RECVERRNOTIFY:
        return processed ? 0 : TAKING_EV_RECVERR_LOST;
    case MSG_RNDVRESTARTACK:
        return processed ? 0 : TAKING_EV_RESTART_LOST;
    case MSG_TRANSFER_FIN:
        return processed ? TAKING_EV_COMPLETED : TAKING_EV_FIN_LOST;
    default:
        return 0;
    }
}

void receiver_completed(struct transfer_end *e, const struct frame_out *f, bool processed)
{
    struct taking *t = find_taking(e, frames_ref_of(&f->m)->number);
    int event = event_of_completion(f, processed);

    if (f->m.type == MSG_RNDVRESTARTNACK || f->m.type == MSG_ANEW) {
        if (!processed)
            frames_again(e, f);
        return;
    }
    if (!t)
        return;
    t->outstanding--;
    if (event)
        step_taking(e, t, (enum taking_event)event, NULL, f);
    settle_takings(e);
}
