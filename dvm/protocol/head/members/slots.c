/* SPDX-License-Identifier: BSD-3-Clause */
/* The head's account of slots: the only writer of the members' used slots and of the CPU ledger's
 * load.
 *
 * In: a rank takes, a rank gives back. Out: sums for the queue and for the question whether a job
 * can ever fit.
 *
 * Invariants: the used slots of a member are the sum over the ranks that are mapped to its present
 * epoch. A new epoch begins with none (roster.c), so ranks of an earlier epoch change nothing when
 * they take or give back slots. */
#include "dvm/protocol/head/members/slots.h"

void slots_take(struct slots s, uint32_t vpid, struct epoch epoch, uint32_t n,
                hwloc_const_bitmap_t pus)
{
    struct member *m = members_entry(s.members, vpid);

    if (!m || !epoch_eq(members_epoch(s.members, m), epoch))
        return;
    m->slots_used += n;
    if (pus)
        cpu_ledger_take(s.ledger, vpid, pus);
}

void slots_give(struct slots s, uint32_t vpid, struct epoch epoch, uint32_t n,
                hwloc_const_bitmap_t pus)
{
    struct member *m = members_entry(s.members, vpid);

    if (!m || !epoch_eq(members_epoch(s.members, m), epoch))
        return;
    m->slots_used -= n;
    if (pus)
        cpu_ledger_give(s.ledger, vpid, pus);
}

uint64_t slots_free(struct slots s)
{
    uint64_t n = 0;

    for (uint32_t v = 1; v < s.members->n; v++) {
        const struct member *m = members_get(s.members, v);

        if (m && m->state == MEMBER_WIRED && members_slots(s.members, m) > m->slots_used)
            n += members_slots(s.members, m) - m->slots_used;
    }
    return n;
}

uint64_t slots_present(struct slots s)
{
    uint64_t sum = 0;

    for (uint32_t v = 0; v < s.members->n; v++) {
        const struct member *m = members_get(s.members, v);

        sum += m && m->state == MEMBER_WIRED ? members_slots(s.members, m) : 0;
    }
    return sum;
}

uint64_t slots_maximum(struct slots s, uint32_t bound)
{
    uint64_t present = 0;
    uint32_t most = 0;
    uint32_t here = 0;

    for (uint32_t v = 0; v < s.members->n; v++) {
        const struct member *m = members_get(s.members, v);
        uint32_t slots = m ? members_slots(s.members, m) : 0;

        if (!m || m->state != MEMBER_WIRED)
            continue;
        present += slots;
        here += v > 0;
        most = v > 0 && slots > most ? slots : most;
    }
    if (here == 0 || bound == 0)
        return 0;
    return present + (uint64_t)(bound > here ? bound - here : 0) * most;
}
