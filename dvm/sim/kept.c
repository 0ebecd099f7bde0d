/* SPDX-License-Identifier: BSD-3-Clause */
/* Knows which members have the records of the simulated head when its process ends, and whether its
 * volume has them.
 *
 * In: the end of the head's process; calls to the next one, and time until it begins. Out: whether
 * it must have all that others have seen, whether the former one knew more, and whether the records
 * of the volume were rightly taken or left.
 *
 * A head that asks has no state yet: sim_head() is NULL, and its end changes nothing.
 *
 * Invariants: a keeper that had all records of what others have seen counts if it runs in the same
 * epoch, is not cut off, and has answered the new head on a connection that works when that head
 * begins. sim_kept_step() is called at least four times a second. A call of a member counts until
 * the head begins, although its connection may have closed.
 *
 * Limits: whether a new head has waited long enough for an answer is not known here. */
#include "dvm/protocol/core/core_inspect.h"
#include "dvm/sim/sim_private.h"

#include <stdlib.h>

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
    k->ends = head_ending(core_inspect_head(head));
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
    struct kept *k = &s->kept;

    k->answers = k->taken = false;
    k->volume = s->opts.disk && s->disk.len && !s->disk_lacks;
    k->ncallers = 0;
    for (size_t i = 0; i < k->n; i++)
        k->at[i].conn = 0;
}

static void note_answer(struct kept *k, const struct frame *f, uint64_t conn)
{
    for (size_t i = 0; i < k->n; i++) {
        struct kept_at *at = &k->at[i];

        if (at->vpid == f->src && epoch_eq(at->epoch, f->src_epoch))
            at->conn = conn;
    }
}

static struct kept_caller *find_caller(struct kept *k, uint32_t vpid)
{
    for (size_t i = 0; i < k->ncallers; i++) {
        if (k->callers[i].vpid == vpid)
            return &k->callers[i];
    }
    k->callers = xrealloc(k->callers, (k->ncallers + 1) * sizeof(*k->callers));
    k->callers[k->ncallers] = (struct kept_caller){.vpid = vpid};
    return &k->callers[k->ncallers++];
}

/* Of a member: a daemon that joins knows nothing. */
static void note_caller(struct kept *k, const struct msg_hello *m)
{
    struct kept_caller *x;

    if (m->why == HELLO_JOIN)
        return;
    x = find_caller(k, m->self.vpid);
    if (!epoch_eq(x->epoch, m->self.epoch) || m->version > x->version)
        *x = (struct kept_caller){m->self.vpid, m->self.epoch, m->version};
}

void sim_kept_frame(struct sim *s, uint64_t conn, const struct buf *frame)
{
    struct cur c = cur_of(frame->data, frame->len);
    struct frame f;
    struct msg m;

    if (frame_decode(&c, &f, NULL) < 0)
        return;
    if (f.type == MSG_KEPT)
        note_answer(&s->kept, &f, conn);
    if (f.type != MSG_HELLO || !sim_wire_of(s, VPID_HEAD, conn) ||
        msg_decode(&c, MSG_HELLO, &m, NULL) < 0)
        return;
    note_caller(&s->kept, &m.hello);
    msg_free(&m);
}

void sim_kept_begin(struct sim *s)
{
    struct kept *k = &s->kept;

    drop_lost(s);
    for (size_t i = 0; i < k->n; i++) {
        const struct wire *w = sim_wire_of(s, VPID_HEAD, k->at[i].conn);

        k->answers |= w && !w->mute_a && !w->mute_b;
    }
    k->taken = core_inspect_from_volume(s->nodes[VPID_HEAD].core);
    k->volumes += k->taken;
}

bool sim_is_kept(const struct sim *s)
{
    return s->kept.answers || (s->kept.taken && s->kept.volume);
}

/* Its volume has those too. */
bool sim_knew_more(const struct sim *s)
{
    return s->kept.more && !(s->kept.taken && s->kept.volume);
}

bool sim_in_sync(const struct sim *s, uint64_t conn)
{
    for (size_t i = 0; i < s->kept.n; i++) {
        if (s->kept.at[i].conn == conn)
            return true;
    }
    return false;
}

/* --- the volume */

uint64_t sim_volumes_taken(const struct sim *s)
{
    return s->kept.volumes;
}

bool sim_volume_taken(const struct sim *s)
{
    return s->kept.taken;
}

bool sim_keeper_has_all(const struct sim *s)
{
    return s->kept.answers;
}

bool sim_volume_has_all(const struct sim *s)
{
    return s->kept.volume && !s->kept.ends;
}

bool sim_caller_ahead(const struct sim *s, struct epoch head, uint64_t version, uint32_t *vpid)
{
    for (size_t i = 0; i < s->kept.ncallers; i++) {
        const struct kept_caller *x = &s->kept.callers[i];

        *vpid = x->vpid;
        if (x->epoch.inc == head.inc && (x->version > version || x->epoch.ctr >= head.ctr))
            return true;
    }
    return false;
}

size_t sim_callers(const struct sim *s, uint64_t inc, size_t *others)
{
    *others = 0;
    for (size_t i = 0; i < s->kept.ncallers; i++)
        *others += s->kept.callers[i].epoch.inc != inc;
    return s->kept.ncallers;
}

void sim_end_keepers(struct sim *s, bool all)
{
    uint32_t vpids[SIM_KEEPERS_MAX];
    size_t n = sim_head(s) ? core_inspect_keepers(sim_head(s), vpids, SIM_KEEPERS_MAX) : 0;

    sim_crash(s, VPID_HEAD);
    for (size_t i = 0; i < (all || n == 0 ? n : 1); i++)
        sim_crash(s, vpids[i]);
}
