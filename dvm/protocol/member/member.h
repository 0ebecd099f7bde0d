/* SPDX-License-Identifier: BSD-3-Clause */
/* The vpid table: who is a member, in which life and state, with which node facts; and the tree
 * over the live ones. */
#ifndef DVM_MEMBER_MEMBER_H
#define DVM_MEMBER_MEMBER_H

#include "base/fsm/fsm.h"
#include "dvm/protocol/member/facts.h"
#include "dvm/protocol/tree/tree.h"
#include "dvm/protocol/wire/msg/msg.h"

enum member_state {
    MEMBER_ABSENT,
    MEMBER_REPORTED, /* has called home, is not wired yet (head only) */
    MEMBER_WIRED,
    MEMBER_DRAINING, /* nothing new maps there (head only) */
    MEMBER_LEAVING,  /* the shrink command is on its way (head only) */
    MEMBER_PARKED,   /* has left */
    MEMBER_LOST,
};

enum member_event {
    MEMBER_EV_CALL = 1,  /* has called home and was admitted */
    MEMBER_EV_TURN_AWAY, /* its admission is forgotten again */
    MEMBER_EV_WIRE,   /* the broadcast that names it has been processed, at the head: everywhere */
    MEMBER_EV_NAME,   /* a shrink names it */
    MEMBER_EV_CANCEL, /* no shrink does any more */
    MEMBER_EV_REMOVE, /* the command to leave is on its way, or was processed */
    MEMBER_EV_LEFT,   /* the shrink is complete, or its grow has failed */
    MEMBER_EV_LOSE,   /* it is declared lost */
};

extern const struct fsm member_fsm;

/* 24 bytes, on each daemon for each vpid: what it shares with others is in the factset. */
struct member {
    uint64_t ctr;        /* of its epoch; the incarnation is among the facts */
    uint32_t value;      /* what its address does not share */
    uint32_t facts : 24; /* id; FACTS_NONE: the vpid never had an entry */
    uint32_t state : 8;  /* enum member_state */
    uint32_t slots_used; /* head only */
    uint32_t repairs;    /* head only: what the member last told */
};

struct members {
    uint32_t self;
    uint32_t n; /* vpids 0..n-1 may have an entry */
    uint32_t cap;
    struct member *tab;
    struct factset facts;
    hwloc_bitmap_t live; /* those in the tree of `version` */
    uint64_t version;    /* last membership broadcast processed */
    uint32_t radix;
    uint64_t repairs; /* passes over the tree, one per removal whatever its size */
};

void members_init(struct members *m, uint32_t self, uint32_t radix);
void members_free(struct members *m);
/* NULL if the vpid never had an entry. Valid until the next entry is made. */
struct member *members_get(const struct members *m, uint32_t vpid);
struct epoch members_epoch(const struct members *m, const struct member *x);
uint32_t members_slots(const struct members *m, const struct member *x);
/* All facts of a vpid that has an entry; the caller frees the texts (msg_member_free). */
struct msg_member members_facts(const struct members *m, uint32_t vpid);
char *members_host(const struct members *m, uint32_t vpid); /* the same; the caller frees it */
/* Takes the facts over into the vpid's entry (made if needed); the state is the caller's to set. */
struct member *members_put(struct members *m, const struct msg_member *facts);
/* The one setter of the state. -1, a reason and no change if the pair is not in the table. */
int member_step(struct member *x, enum member_event ev, struct err *err);
bool members_live(const struct members *m, uint32_t vpid);
/* True if the vpid is in the tree and in this life. */
bool members_current(const struct members *m, uint32_t vpid, struct epoch e);
struct tree members_tree(const struct members *m);
uint32_t members_parent(const struct members *m); /* of this daemon; TREE_NONE at the head */
/* Applies the broadcasts. Entries of other lives are left alone, so a second report changes
 * nothing; returns how many vpids came or went. */
size_t members_add(struct members *m, const struct msg_member *list, size_t n);
size_t members_remove(struct members *m, const struct msg_target *list, size_t n,
                      enum member_event how);
/* The nidmap: all live members with epochs and facts, runs of like ones together (nidmap.c). */
void members_encode(const struct members *m, struct buf *b);
/* Into a table that has no entry yet. -1 and a reason, and the table still empty, if it is
 * malformed. */
int members_decode(struct members *m, const void *data, size_t len, struct err *err)
    __attribute__((warn_unused_result));
/* All entries away. */
void members_clear(struct members *m);
/* Entries first .. first+count-1, new ones empty; valid until the next is made. */
struct member *members_entries(struct members *m, uint32_t first, uint32_t count);
const char *member_state_name(enum member_state s);

#endif
