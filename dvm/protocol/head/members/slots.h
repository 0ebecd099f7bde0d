/* SPDX-License-Identifier: BSD-3-Clause */
/* Slots and hardware threads that ranks hold of the members. */
#ifndef DVM_HEAD_MEMBERS_SLOTS_H
#define DVM_HEAD_MEMBERS_SLOTS_H

#include "dvm/protocol/head/members/cpu_ledger.h"
#include "dvm/protocol/member/member.h"

struct slots { /* borrows both; plain, so that it is passed by value */
    struct members *members;
    struct cpu_ledger *ledger;
};

/* A rank takes n slots of a member, and these hardware threads if pus is not NULL. */
void slots_take(struct slots s, uint32_t vpid, uint32_t n, hwloc_const_bitmap_t pus);
/* It gives back exactly what it took. A later epoch of the vpid owes nothing: no change then. */
void slots_give(struct slots s, uint32_t vpid, struct epoch epoch, uint32_t n,
                hwloc_const_bitmap_t pus);
/* Of wired members without the head: slots that no rank holds. */
uint64_t slots_free(struct slots s);
/* Of all wired members. */
uint64_t slots_present(struct slots s);
/* Of a DVM of `bound` members if all were here; 0: no member has come yet to judge by. */
uint64_t slots_maximum(struct slots s, uint32_t bound);

#endif
