/* SPDX-License-Identifier: BSD-3-Clause */
/* The frames of one end that have no completion yet.
 *
 * In: control frames and fragments of both sides of this end; completions. Out: frames to the layer
 * below, each with an id of its own.
 *
 * What always holds: each frame that the layer below has accepted is here until its completion
 * comes. A control frame for which no link is up waits here, and counts as outstanding.
 *
 * When it fails: a frame that met an error leaves this list; its owner decides what follows. */
#include "dvm/protocol/transfer/transfer_private.h"

#include <stdio.h>
#include <stdlib.h>

/* All messages of a transfer begin with it. */
struct transfer_ref *frames_ref(struct msg *m)
{
    return &m->anew.ref;
}

const struct transfer_ref *frames_ref_of(const struct msg *m)
{
    return &m->anew.ref;
}

struct transfer_ref frames_new_ref(const struct transfer_end *e, bool sender, uint64_t number,
                                   uint32_t dance)
{
    return (struct transfer_ref){.from_end = e->mine,
                                 .to_end = e->theirs,
                                 .series = sender ? e->series : e->their_series,
                                 .number = number,
                                 .dance = dance};
}

void frames_log_illegal(struct transfer_end *e, uint64_t number, const char *why)
{
    char text[256];

    e->stats.illegal++;
    snprintf(text, sizeof(text), "transfer %llu: %s", (unsigned long long)number, why);
    e->io.log(e->io.arg, text);
}

static struct frame_out *add_frame(struct transfer_end *e, bool sender, const struct msg *m)
{
    struct frame_out *f = xcalloc(1, sizeof(*f));

    f->id = ++e->last_frame;
    f->m = *m;
    f->sender = sender;
    if (m->type == MSG_FRAG)
        f->m.frag.data = NULL;
    HASH_ADD(hh, e->frames, id, sizeof(f->id), f);
    return f;
}

static void drop_frame(struct transfer_end *e, struct frame_out *f)
{
    e->nwaiting -= f->waits;
    HASH_DEL(e->frames, f);
    free(f);
}

void frames_post(struct transfer_end *e, bool sender, const struct msg *m)
{
    struct frame_out *f = add_frame(e, sender, m);

    if (e->io.send(e->io.arg, TRANSFER_LINK_ANY, f->id, m))
        return;
    f->waits = true;
    e->nwaiting++;
}

bool frames_post_on(struct transfer_end *e, uint32_t link, const struct msg *m)
{
    struct frame_out *f = add_frame(e, true, m);

    if (e->io.send(e->io.arg, link, f->id, m))
        return true;
    drop_frame(e, f);
    return false;
}

bool frames_take(struct transfer_end *e, uint64_t id, struct frame_out *out)
{
    struct frame_out *f;

    HASH_FIND(hh, e->frames, &id, sizeof(id), f);
    if (!f || f->waits)
        return false;
    *out = *f;
    drop_frame(e, f);
    return true;
}

/* A frame is recreated from what is known of it; its dance has not changed. */
void frames_again(struct transfer_end *e, const struct frame_out *f)
{
    struct msg m = f->m;

    frames_ref(&m)->to_end = e->theirs;
    frames_post(e, f->sender, &m);
}

void frames_flush(struct transfer_end *e)
{
    struct frame_out *f, *tmp;

    HASH_ITER(hh, e->frames, f, tmp)
    {
        if (e->nwaiting == 0)
            return;
        if (!f->waits)
            continue;
        if (!e->io.send(e->io.arg, TRANSFER_LINK_ANY, f->id, &f->m))
            return;
        f->waits = false;
        e->nwaiting--;
    }
}

/* Completions of these frames change nothing any more. */
void frames_drop(struct transfer_end *e, bool sender)
{
    struct frame_out *f, *tmp;

    HASH_ITER(hh, e->frames, f, tmp)
    {
        if (f->sender == sender)
            drop_frame(e, f);
    }
}
