/* SPDX-License-Identifier: BSD-3-Clause */
/* Slots and hardware threads of members that ranks have taken. */
#ifndef DVM_HEAD_MEMBERS_SLOTS_H
#define DVM_HEAD_MEMBERS_SLOTS_H

#include "dvm/protocol/head/members/cpu_ledger.h"
#include "dvm/protocol/member/member.h"

struct slots { /* borrows both; a plain struct, so that it is passed by value */
    struct members *members;
    struct cpu_ledger *ledger;
};

/* A rank takes n slots of a member, and these hardware threads if pus is not NULL. */
void slots_take(struct slots s, uint32_t vpid, struct epoch epoch, uint32_t n,
                hwloc_const_bitmap_t pus);
/* It gives back exactly what it took. For an earlier epoch of the vpid nothing changes. */
void slots_give(struct slots s, uint32_t vpid, struct epoch epoch, uint32_t n,
                hwloc_const_bitmap_t pus);
/* Of wired members without the head: free slots. */
uint64_t slots_free(struct slots s);
/* Of all wired members. */
uint64_t slots_present(struct slots s);
/* Of a DVM with all of its `bound` members; 0: no member has come yet to judge by. */
uint64_t slots_maximum(struct slots s, uint32_t bound);

#endif
