/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of senders, and the source of routed frames. */
#include "dvm/protocol/core/origin.h"

#include "base/bitmap/bitmap.h"
#include "dvm/protocol/core/core_private.h"

static const uint8_t senders[MSG_TYPES] = {
    [MSG_HELLO] = ORIGIN_CALLER,
    [MSG_WELCOME] = ORIGIN_CALLED,
    [MSG_REFUSE] = ORIGIN_NEIGHBOUR, /* also to a parent that is declared lost */
    [MSG_BYE] = ORIGIN_NEIGHBOUR,
    [MSG_PING] = ORIGIN_NEIGHBOUR,
    [MSG_PONG] = ORIGIN_NEIGHBOUR,
    [MSG_HOP_ACK] = ORIGIN_NEIGHBOUR,
    [MSG_LINK_OUT] = ORIGIN_NEIGHBOUR,
    [MSG_MATCH] = ORIGIN_NEIGHBOUR,
    [MSG_RNDV] = ORIGIN_NEIGHBOUR,
    [MSG_RGET] = ORIGIN_NEIGHBOUR,
    [MSG_FRAG] = ORIGIN_NEIGHBOUR,
    [MSG_ACK] = ORIGIN_NEIGHBOUR,
    [MSG_PUT] = ORIGIN_NEIGHBOUR,
    [MSG_GET] = ORIGIN_NEIGHBOUR,
    [MSG_TRANSFER_FIN] = ORIGIN_NEIGHBOUR,
    [MSG_RNDVRESTARTNOTIFY] = ORIGIN_NEIGHBOUR,
    [MSG_RECVERRNOTIFY] = ORIGIN_NEIGHBOUR,
    [MSG_RNDVRESTARTACK] = ORIGIN_NEIGHBOUR,
    [MSG_RNDVRESTARTNACK] = ORIGIN_NEIGHBOUR,
    [MSG_ANEW] = ORIGIN_NEIGHBOUR,
    [MSG_TAKEN] = ORIGIN_NEIGHBOUR,
    [MSG_RECORDS] = ORIGIN_NEIGHBOUR, /* from the head, or to a new head that has asked */
    [MSG_KEPT] = ORIGIN_NEIGHBOUR,    /* to the head, also from a caller that has not greeted */
    [MSG_RECORDS_ASK] = ORIGIN_CALLED,
    [MSG_TABLE] = ORIGIN_NEIGHBOUR,
    [MSG_ADD] = ORIGIN_ABOVE,
    [MSG_REMOVE] = ORIGIN_ABOVE,
    [MSG_SHUTDOWN] = ORIGIN_ABOVE,
    [MSG_SNAPSHOT] = ORIGIN_ABOVE,
    [MSG_XACK] = ORIGIN_BELOW,
    [MSG_LEFT] = ORIGIN_BELOW,

    [MSG_SUBMIT] = ORIGIN_TO_HEAD,
    [MSG_SIGNAL] = ORIGIN_TO_HEAD,
    [MSG_LAUNCHED] = ORIGIN_TO_HEAD,
    [MSG_REGISTERED] = ORIGIN_TO_HEAD,
    [MSG_EXITED] = ORIGIN_TO_HEAD,
    [MSG_LOCAL_GONE] = ORIGIN_TO_HEAD,
    [MSG_ABORT] = ORIGIN_TO_HEAD,
    [MSG_LOST] = ORIGIN_TO_HEAD,
    [MSG_GONE] = ORIGIN_TO_HEAD,
    [MSG_RELEASE_ME] = ORIGIN_TO_HEAD,
    [MSG_REPORT] = ORIGIN_TO_HEAD,
    [MSG_LOCAL_JOB] = ORIGIN_TO_HEAD,
    [MSG_READY] = ORIGIN_TO_HEAD,
    [MSG_NO_FILES] = ORIGIN_TO_HEAD,
    [MSG_HELD] = ORIGIN_TO_HEAD,
    [MSG_CONTINUE_ASK] = ORIGIN_TO_HEAD,
    [MSG_RESIZE_ASK] = ORIGIN_TO_HEAD,
    [MSG_JOB_ASK] = ORIGIN_TO_HEAD,

    [MSG_ASK] = ORIGIN_HEAD,
    [MSG_LAUNCH] = ORIGIN_HEAD,
    [MSG_START] = ORIGIN_HEAD,
    [MSG_KILL] = ORIGIN_HEAD,
    [MSG_CONTINUE] = ORIGIN_HEAD,
    [MSG_RANKS_LOST] = ORIGIN_HEAD,
    [MSG_JOB_ENDED] = ORIGIN_HEAD,
    [MSG_ACCEPTED] = ORIGIN_HEAD,
    [MSG_JOB_STATE] = ORIGIN_HEAD,
    [MSG_JOB_MAP] = ORIGIN_HEAD,
    [MSG_FILES] = ORIGIN_HEAD,
    [MSG_DONE] = ORIGIN_HEAD,
    [MSG_RESIZE_ANSWER] = ORIGIN_HEAD,
    [MSG_RESIZE_ENDED] = ORIGIN_HEAD,
    [MSG_ORPHANED] = ORIGIN_HEAD,

    [MSG_RACK] = ORIGIN_ANY,
    [MSG_IOF_END] = ORIGIN_ANY,
    [MSG_APP] = ORIGIN_ANY,
    [MSG_GATHER_UP] = ORIGIN_ANY,
    [MSG_GATHER_DOWN] = ORIGIN_ANY,
};

enum origin_who origin_of(unsigned type)
{
    return type < MSG_TYPES ? (enum origin_who)senders[type] : ORIGIN_NOBODY;
}

void origin_note_tree(struct origin *o, hwloc_const_bitmap_t live)
{
    hwloc_bitmap_t *slot = &o->past[o->next++ % ORIGIN_TREES];

    hwloc_bitmap_free(*slot);
    *slot = bitmap_dup(live);
}

/* The tree without a daemon that has just come: frames still take the ways of that tree. */
void origin_note_joined(struct origin *o, hwloc_const_bitmap_t live, uint32_t self)
{
    origin_note_tree(o, live);
    bitmap_clr(o->past[(o->next - 1) % ORIGIN_TREES], self);
}

void origin_clear(struct origin *o)
{
    for (size_t i = 0; i < ORIGIN_TREES; i++)
        hwloc_bitmap_free(o->past[i]);
    *o = (struct origin){0};
}

bool origin_was_child(const struct core *c, uint32_t vpid)
{
    const struct origin *o = &c->origin;
    struct tree t = members_tree(&c->members);

    t.live = o->next ? o->past[(o->next - 1) % ORIGIN_TREES] : NULL;
    return t.live && hwloc_bitmap_isset(t.live, c->opts.vpid) && hwloc_bitmap_isset(t.live, vpid) &&
           tree_parent(&t, vpid) == c->opts.vpid;
}

static bool is_child(const struct core *c, uint32_t vpid)
{
    struct tree t = members_tree(&c->members);

    return members_live(&c->members, vpid) && members_live(&c->members, c->opts.vpid) &&
           tree_parent(&t, vpid) == c->opts.vpid;
}

static bool is_below(const struct tree *t, uint32_t above, uint32_t vpid)
{
    if (!t->live || !hwloc_bitmap_isset(t->live, VPID_HEAD) || !hwloc_bitmap_isset(t->live, vpid))
        return false;
    while (vpid != above && vpid != TREE_NONE)
        vpid = tree_parent(t, vpid);
    return vpid == above;
}

/* True if the source is in the neighbour's subtree, now or in an earlier tree. */
static bool is_behind(const struct core *c, uint32_t neighbour, uint32_t src)
{
    struct tree t = members_tree(&c->members);

    if (src == neighbour || is_below(&t, neighbour, src))
        return true;
    for (size_t i = 0; i < ORIGIN_TREES; i++) {
        t.live = c->origin.past[i];
        if (is_below(&t, neighbour, src))
            return true;
    }
    return false;
}

static const char *refuse_neighbour(const struct core *c, const struct neighbour *k,
                                    enum origin_who who)
{
    switch (who) {
    case ORIGIN_NEIGHBOUR:
        return NULL;
    case ORIGIN_CALLER:
        return k->incoming ? NULL : "a daemon that was called does not send it";
    case ORIGIN_CALLED:
        return k->incoming ? "a daemon that calls does not send it" : NULL;
    case ORIGIN_ABOVE:
        return k->incoming ? "it comes from below" : NULL;
    case ORIGIN_BELOW:
        return k->incoming || is_child(c, k->vpid) ? NULL : "it comes from above";
    default:
        return "no daemon sends it";
    }
}

static const char *refuse_source(const struct core *c, const struct neighbour *k,
                                 const struct frame *f, enum origin_who who)
{
    if (who < ORIGIN_HEAD)
        return "no daemon sends it";
    if (who == ORIGIN_HEAD && f->src != VPID_HEAD)
        return "the head alone sends it";
    if (who == ORIGIN_TO_HEAD && f->dst != VPID_HEAD)
        return "it is for the head alone";
    if (k->incoming && f->src == VPID_HEAD)
        return "a message of the head does not come from below";
    return !k->incoming || is_behind(c, k->vpid, f->src)
               ? NULL
               : "its source is not behind the neighbour that has passed it on";
}

const char *origin_refusal(const struct core *c, const struct neighbour *k, const struct frame *f)
{
    return !msg_is_routed(f->type) ? refuse_neighbour(c, k, origin_of(f->type))
                                   : refuse_source(c, k, f, origin_of(f->type));
}
