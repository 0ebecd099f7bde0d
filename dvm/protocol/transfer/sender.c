/* SPDX-License-Identifier: BSD-3-Clause */
/* The sending side of transfers.
 *
 * In: messages to be sent; answers of the receiver; completions of our frames. Out: MATCH, RNDV,
 * RGET, FRAG, FIN, RNDVRESTARTNOTIFY; the end of a source.
 *
 * States: sending_fsm (docs/graphs/transfer-sender.md). A transfer counts its outstanding frames.
 * After an error it sends no more fragments, waits until nothing is outstanding, and then asks the
 * receiver to restart. The answer says where: what the receiver has is not sent again.
 *
 * What always holds: at most TRANSFER_FRAGS_MAX fragments of a transfer are outstanding, none
 * beyond what was granted. The last FIN is sent only when completions say that all bytes have
 * arrived.
 *
 * When it fails: a frame that the receiver cannot have sent in this state is logged and ignored. */
#include "dvm/protocol/transfer/transfer_private.h"

#include <stdlib.h>
#include <utlist.h>

/* A fragment may be this far from the oldest outstanding one: the receiver keeps one bit for each.
 */
#define AHEAD_MAX (64ull * TRANSFER_FRAG_BYTES)

static void step_sending(struct transfer_end *e, struct sending *s, enum sending_event event,
                         const struct msg *m, const struct frame_out *f);

struct sending *sender_find(const struct transfer_end *e, uint64_t number)
{
    struct sending *s;

    DL_FOREACH2(e->sendings, s, next_in)
    {
        if (s->number == number)
            return s;
    }
    return NULL;
}

static void end_sending(struct transfer_end *e, struct sending *s, bool arrived)
{
    DL_DELETE2(e->sendings, s, prev, next_in);
    e->stats.ended += arrived;
    e->stats.sending--;
    s->source.end(s->source.arg, arrived);
    free(s);
}

void sender_fail_all(struct transfer_end *e)
{
    frames_drop(e, true);
    while (e->sendings)
        end_sending(e, e->sendings, false);
}

static void post_control(struct transfer_end *e, struct sending *s, const struct msg *m)
{
    s->outstanding++;
    frames_post(e, true, m);
}

static void send_offer(struct transfer_end *e, struct sending *s, enum msg_type type)
{
    struct msg m = {
        .type = type,
        .rndv = {frames_new_ref(e, true, s->number, s->dance), s->source.match, s->source.size}};

    post_control(e, s, &m);
}

static void send_match(struct transfer_end *e, struct sending *s)
{
    size_t len = (size_t)s->source.size;
    struct msg m = {.type = MSG_MATCH,
                    .match = {frames_new_ref(e, true, s->number, 0), s->source.match,
                              s->source.read(s->source.arg, 0, len), len}};

    post_control(e, s, &m);
}

static void send_fin(struct transfer_end *e, struct sending *s, uint64_t offset)
{
    struct msg m = {
        .type = MSG_TRANSFER_FIN,
        .fin = {frames_new_ref(e, true, s->number, s->dance), s->source.match, offset, false}};

    s->finned = offset;
    post_control(e, s, &m);
}

static bool is_waiting(const struct transfer_end *e, const struct sending *s)
{
    return s->number >= e->sendings->number + TRANSFER_WINDOW;
}

static void make_offer(struct transfer_end *e, struct sending *s)
{
    if (s->state || is_waiting(e, s))
        return;
    if (s->source.size <= e->io.eager_bytes) {
        s->state = SENDING_MATCHED;
        send_match(e, s);
    } else {
        s->state = SENDING_OFFERED;
        send_offer(e, s, s->source.exposed ? MSG_RGET : MSG_RNDV);
    }
}

/* A receiver that has begun anew answers ANEW; for any other it is a doubled frame. */
static void repeat_offer(struct transfer_end *e, struct sending *s)
{
    if (s->state && s->outstanding == 0)
        send_offer(e, s, s->source.exposed ? MSG_RGET : MSG_RNDV);
}

void sender_new(struct transfer_end *e, const struct transfer_source *source)
{
    struct sending *s;

    DL_FOREACH2(e->sendings, s, next_in)
    {
        if (transfer_match_eq(&s->source.match, &source->match)) {
            source->end(source->arg, false);
            repeat_offer(e, s);
            return;
        }
    }
    s = xcalloc(1, sizeof(*s));
    s->number = ++e->last_number;
    s->source = *source;
    DL_APPEND2(e->sendings, s, prev, next_in);
    e->stats.sending++;
    make_offer(e, s);
}

/* --- fragments */

/* All bytes before this have arrived, by their completions. */
static uint64_t arrived_to(const struct sending *s)
{
    uint64_t to = s->next;

    for (size_t i = 0; i < s->nflying; i++)
        to = s->flying[i] < to ? s->flying[i] : to;
    return to;
}

static bool may_send_more(const struct sending *s)
{
    return s->state == SENDING_GRANTED && s->next < s->granted && s->nflying < TRANSFER_FRAGS_MAX &&
           s->next < arrived_to(s) + AHEAD_MAX;
}

static bool send_frag(struct transfer_end *e, struct sending *s, uint32_t link)
{
    uint64_t left = s->granted - s->next;
    size_t len = left < TRANSFER_FRAG_BYTES ? (size_t)left : TRANSFER_FRAG_BYTES;
    struct msg m = {.type = MSG_FRAG,
                    .frag = {frames_new_ref(e, true, s->number, s->dance), s->next,
                             s->source.read(s->source.arg, s->next, len), len}};

    if (!frames_post_on(e, link, &m))
        return false;
    s->outstanding++;
    s->flying[s->nflying++] = s->next;
    s->next += len;
    return true;
}

/* One fragment of each transfer on each link that has room, until there is none. */
void sender_push(struct transfer_end *e)
{
    uint32_t nlinks = e->io.links(e->io.arg);
    struct sending *s;
    bool moved = true;

    DL_FOREACH2(e->sendings, s, next_in)
    {
        make_offer(e, s);
    }
    while (moved) {
        moved = false;
        DL_FOREACH2(e->sendings, s, next_in)
        {
            for (uint32_t link = 0; link < nlinks; link++) {
                if (may_send_more(s) && e->io.room(e->io.arg, link))
                    moved |= send_frag(e, s, link);
            }
        }
    }
}

static void take_grant(struct sending *s, const struct msg *m)
{
    uint64_t to = m->put.offset + m->put.len;

    s->granted = to > s->granted ? to : s->granted;
    s->regions |= !s->source.exposed && s->granted < s->source.size;
}

static void resume_sending(struct sending *s, const struct msg *m)
{
    s->nflying = 0;
    s->next = s->finned = m->restart.offset;
    s->granted = s->next;
    take_grant(s, m);
}

/* After a completion or a grant: a region, or all, may have arrived. */
static void check_progress(struct transfer_end *e, struct sending *s)
{
    uint64_t to = arrived_to(s);

    if (s->state != SENDING_GRANTED)
        return;
    if (to == s->source.size)
        step_sending(e, s, SENDING_EV_ALL_ARRIVED, NULL, NULL);
    else if (s->regions && to > s->finned &&
             (to == s->granted || to >= s->finned + TRANSFER_REGION_BYTES))
        step_sending(e, s, SENDING_EV_REGION_ARRIVED, NULL, NULL);
}

static void send_notify(struct transfer_end *e, struct sending *s)
{
    s->dance++;
    e->stats.restarts++;
    send_offer(e, s, MSG_RNDVRESTARTNOTIFY);
}

/* --- the one setter of the state */

static void act_on_step(struct transfer_end *e, struct sending *s, enum sending_action action,
                        const struct msg *m, const struct frame_out *f)
{
    switch (action) {
    case SENDING_NOTHING:
        break;
    case SENDING_AGAIN:
        s->outstanding++;
        frames_again(e, f);
        break;
    case SENDING_TAKE_GRANT:
        take_grant(s, m);
        break;
    case SENDING_SEND_FIN:
        send_fin(e, s, arrived_to(s));
        break;
    case SENDING_SEND_LAST_FIN:
        if (!s->source.exposed)
            send_fin(e, s, s->source.size);
        break;
    case SENDING_SEND_NOTIFY:
        send_notify(e, s);
        break;
    case SENDING_RESUME:
        resume_sending(s, m);
        break;
    case SENDING_END:
        end_sending(e, s, true);
        break;
    case SENDING_GIVE_UP:
        end_sending(e, s, false);
        break;
    }
}

static void step_sending(struct transfer_end *e, struct sending *s, enum sending_event event,
                         const struct msg *m, const struct frame_out *f)
{
    static const struct msg no_msg;
    static const struct frame_out no_frame;
    int action = SENDING_NOTHING;
    struct err err = {0};

    if (fsm_step(&sending_fsm, &s->state, (int)event, &action, &err) < 0)
        frames_log_illegal(e, s->number, err.msg);
    else
        act_on_step(e, s, (enum sending_action)action, m ? m : &no_msg, f ? f : &no_frame);
}

/* Consequences that are not in a frame. */
static void settle_sending(struct transfer_end *e, uint64_t number)
{
    struct sending *s = sender_find(e, number);

    if (s)
        check_progress(e, s);
    if (s && s->state == SENDING_BROKEN && s->outstanding == 0)
        step_sending(e, s, SENDING_EV_QUIET, NULL, NULL);
    sender_push(e);
}

/* --- inputs */

static bool is_sound_grant(const struct sending *s, const struct msg *m)
{
    return m->put.offset <= s->source.size && m->put.len <= s->source.size - m->put.offset;
}

static bool event_of(const struct sending *s, const struct msg *m, enum sending_event *event)
{
    const struct transfer_ref *ref = frames_ref_of(m);
    bool now = ref->dance == s->dance;

    switch ((int)m->type) {
    case MSG_ACK:
    case MSG_PUT:
    case MSG_GET:
        *event = SENDING_EV_GRANT;
        return now && is_sound_grant(s, m);
    case MSG_RNDVRESTARTACK:
        *event = SENDING_EV_RESTARTACK;
        return now && is_sound_grant(s, m);
    case MSG_RECVERRNOTIFY:
        *event = SENDING_EV_RECVERR;
        return now;
    case MSG_RNDVRESTARTNACK:
        *event = SENDING_EV_RESTARTNACK;
        return true;
    case MSG_TRANSFER_FIN:
        *event = SENDING_EV_FIN;
        return s->source.exposed && transfer_match_eq(&m->fin.match, &s->source.match);
    default:
        return false;
    }
}

void sender_input(struct transfer_end *e, const struct msg *m)
{
    const struct transfer_ref *ref = frames_ref_of(m);
    struct sending *s = sender_find(e, ref->number);
    enum sending_event event;

    if (!s || !s->state || !event_of(s, m, &event)) {
        e->stats.ignored++;
        return;
    }
    step_sending(e, s, event, m, NULL);
    settle_sending(e, ref->number);
}

static void land_frag(struct sending *s, uint64_t offset)
{
    for (size_t i = 0; i < s->nflying; i++) {
        if (s->flying[i] == offset) {
            s->flying[i] = s->flying[--s->nflying];
            return;
        }
    }
}

/* An error of a frame as an event; 0: a completion without consequence of its own. */
static int event_of_completion(struct sending *s, const struct frame_out *f, bool processed)
{
    switch ((int)f->m.type) {
    case MSG_MATCH:
        return processed ? SENDING_EV_COMPLETED : SENDING_EV_LOST;
    case MSG_RNDV:
    case MSG_RGET:
        return processed ? 0 : SENDING_EV_OFFER_LOST;
    case MSG_FRAG:
        if (processed)
            land_frag(s, f->m.frag.offset);
        return processed ? 0 : SENDING_EV_FRAG_LOST;
    case MSG_TRANSFER_FIN:
        if (processed)
            return f->m.fin.offset == s->source.size ? SENDING_EV_COMPLETED : 0;
        return SENDING_EV_FIN_LOST;
    case MSG_RNDVRESTARTNOTIFY:
        return processed ? 0 : SENDING_EV_NOTIFY_LOST;
    default:
        return 0;
    }
}

void sender_completed(struct transfer_end *e, const struct frame_out *f, bool processed)
{
    uint64_t number = frames_ref_of(&f->m)->number;
    struct sending *s = sender_find(e, number);
    int event;

    if (s) {
        s->outstanding--;
        event = event_of_completion(s, f, processed);
        if (event)
            step_sending(e, s, (enum sending_event)event, NULL, f);
    }
    settle_sending(e, number);
}
