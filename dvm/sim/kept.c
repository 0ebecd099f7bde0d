/* SPDX-License-Identifier: BSD-3-Clause */
/* Knows which members have the records of the simulated head when its process ends.
 *
 * In: the end of the head's process; time until the next one begins. Out: whether the next one must
 * have all that others have seen, and whether the former one knew more.
 *
 * A head that asks has no state yet: sim_head() is NULL, and its end changes nothing.
 *
 * Invariants: a keeper that had all records of what others have seen counts if it runs in the same
 * epoch, is not cut off, and has answered the new head on a connection that works when that head
 * begins. sim_kept_step() is called at least four times a second.
 *
 * Limits: whether a new head has waited long enough for an answer is not known here. */
#include "dvm/protocol/core/core_inspect.h"
#include "dvm/sim/sim_private.h"

struct core *sim_head(const struct sim *s)
{
    struct core *c = s->nodes[VPID_HEAD].core;

    return c && core_inspect_head(c) ? c : NULL;
}

bool sim_has_keepers(const struct sim *s)
{
    return s->opts.keepers;
}

static struct epoch keeper_epoch(const struct sim *s, uint32_t vpid)
{
    const struct core *c = s->nodes[vpid].core;

    return c ? core_inspect_epoch(c) : (struct epoch){0, 0};
}

void sim_kept_end(struct sim *s, uint32_t vpid)
{
    const struct core *head = vpid == VPID_HEAD && s->opts.keepers ? sim_head(s) : NULL;
    uint32_t vpids[SIM_KEEPERS_MAX];
    struct kept *k = &s->kept;
    size_t n;

    if (!head)
        return;
    k->more = core_holds(head);
    n = core_inspect_keepers(head, vpids, SIM_KEEPERS_MAX);
    k->n = 0;
    for (size_t i = 0; i < n; i++) {
        struct epoch e = keeper_epoch(s, vpids[i]);

        if (members_current(core_inspect_members(head), vpids[i], e) &&
            core_inspect_kept_all(head, vpids[i]))
            k->at[k->n++] = (struct kept_at){vpids[i], e, 0};
    }
}

static void drop_lost(struct sim *s)
{
    struct kept *k = &s->kept;

    for (size_t i = k->n; i-- > 0;) {
        const struct node *n = &s->nodes[k->at[i].vpid];

        if (!n->core || !epoch_eq(keeper_epoch(s, k->at[i].vpid), k->at[i].epoch) || n->stopped ||
            n->group != s->nodes[VPID_HEAD].group)
            k->at[i] = k->at[--k->n];
    }
}

void sim_kept_step(struct sim *s)
{
    if (!sim_head(s))
        drop_lost(s);
}

void sim_kept_start(struct sim *s)
{
    s->kept.is = false;
    for (size_t i = 0; i < s->kept.n; i++)
        s->kept.at[i].conn = 0;
}

void sim_kept_frame(struct sim *s, uint64_t conn, const struct buf *frame)
{
    struct cur c = cur_of(frame->data, frame->len);
    struct frame f;

    if (frame_decode(&c, &f, NULL) < 0 || f.type != MSG_KEPT)
        return;
    for (size_t i = 0; i < s->kept.n; i++) {
        struct kept_at *at = &s->kept.at[i];

        if (at->vpid == f.src && epoch_eq(at->epoch, f.src_epoch))
            at->conn = conn;
    }
}

void sim_kept_begin(struct sim *s)
{
    drop_lost(s);
    for (size_t i = 0; i < s->kept.n; i++) {
        const struct wire *w = sim_wire_of(s, VPID_HEAD, s->kept.at[i].conn);

        s->kept.is |= w && !w->mute_a && !w->mute_b;
    }
}

bool sim_is_kept(const struct sim *s)
{
    return s->kept.is;
}

bool sim_knew_more(const struct sim *s)
{
    return s->kept.more;
}

void sim_end_keepers(struct sim *s, bool all)
{
    uint32_t vpids[SIM_KEEPERS_MAX];
    size_t n = sim_head(s) ? core_inspect_keepers(sim_head(s), vpids, SIM_KEEPERS_MAX) : 0;

    sim_crash(s, VPID_HEAD);
    for (size_t i = 0; i < (all || n == 0 ? n : 1); i++)
        sim_crash(s, vpids[i]);
}
