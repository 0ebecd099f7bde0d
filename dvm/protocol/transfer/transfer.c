/* SPDX-License-Identifier: BSD-3-Clause */
/* One end of the transfers between two neighbours.
 *
 * In: messages to be sent, frames of the other end, completions. Out: frames (struct transfer_io).
 * The two sides of a transfer are in sender.c and receiver.c.
 *
 * Each frame names both ends. A frame for an end that exists no more changes nothing: the new end
 * answers ANEW, the transfers to the former one have failed at their sender, and it numbers later
 * ones in another series.
 *
 * What always holds: what one end holds is bounded: TRANSFER_WINDOW records in each direction, and
 * TRANSFER_FRAGS_MAX fragments of a transfer without completion.
 *
 * When it fails: transfer_end_destroy() ends all sources and sinks with false. */
#include "dvm/protocol/transfer/transfer.h"

#include "dvm/protocol/transfer/transfer_private.h"

#include <stdlib.h>

struct transfer_end *transfer_end_create(const struct transfer_io *io, uint64_t id)
{
    struct transfer_end *e = xcalloc(1, sizeof(*e));

    e->io = *io;
    if (io->eager_bytes == 0)
        e->io.eager_bytes = TRANSFER_EAGER_BYTES;
    e->mine = id;
    e->series = 1;
    e->done_before = 1;
    return e;
}

void transfer_end_destroy(struct transfer_end *e)
{
    if (!e)
        return;
    sender_fail_all(e);
    receiver_fail_all(e);
    free(e);
}

void transfer_send(struct transfer_end *e, const struct transfer_source *source)
{
    sender_new(e, source);
    sender_push(e);
}

/* Frames of the sending side; FIN may be of either. */
static bool is_of_sender(const struct msg *m)
{
    return m->type == MSG_MATCH || m->type == MSG_RNDV || m->type == MSG_RGET ||
           m->type == MSG_FRAG || m->type == MSG_RNDVRESTARTNOTIFY ||
           (m->type == MSG_TRANSFER_FIN && !m->fin.by_receiver);
}

/* The other end has nothing of our transfers: their owners may send them again. */
static void begin_series(struct transfer_end *e)
{
    e->series++;
    e->last_number = 0;
    sender_fail_all(e);
}

static void say_anew(struct transfer_end *e)
{
    struct msg m = {.type = MSG_ANEW, .anew = {frames_new_ref(e, false, 0, 0)}};

    frames_post(e, false, &m);
}

static void meet_end(struct transfer_end *e, uint64_t id)
{
    bool another = e->theirs != 0;

    receiver_fail_all(e);
    e->theirs = id;
    e->their_series = 0;
    if (another)
        begin_series(e);
}

/* True: the frame is of the present series of its transfer. */
static bool take_series(struct transfer_end *e, const struct msg *m)
{
    const struct transfer_ref *ref = frames_ref_of(m);

    if (!is_of_sender(m))
        return ref->to_end == e->mine && ref->series == e->series;
    if (ref->series > e->their_series) {
        receiver_fail_all(e);
        e->their_series = ref->series;
    }
    return ref->series == e->their_series;
}

/* True: the frame is between the two ends that there are now. */
static bool take_ends(struct transfer_end *e, const struct msg *m)
{
    const struct transfer_ref *ref = frames_ref_of(m);

    if (ref->from_end < e->theirs)
        return false;
    if (ref->from_end > e->theirs)
        meet_end(e, ref->from_end);
    if (ref->to_end == 0 || ref->to_end == e->mine)
        return m->type != MSG_ANEW;
    if (is_of_sender(m))
        say_anew(e);
    return false;
}

void transfer_input(struct transfer_end *e, const struct msg *m)
{
    if (!take_ends(e, m) || !take_series(e, m))
        e->stats.ignored++;
    else if (is_of_sender(m))
        receiver_input(e, m);
    else
        sender_input(e, m);
}

void transfer_sent(struct transfer_end *e, uint64_t frame, bool processed)
{
    struct frame_out f;

    if (!frames_take(e, frame, &f))
        return;
    if (f.sender)
        sender_completed(e, &f, processed);
    else
        receiver_completed(e, &f, processed);
}

void transfer_push(struct transfer_end *e)
{
    frames_flush(e);
    sender_push(e);
}

struct transfer_stats transfer_stats(const struct transfer_end *e)
{
    struct transfer_stats s = e->stats;

    s.outstanding = HASH_COUNT(e->frames);
    return s;
}
