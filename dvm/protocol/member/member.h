/* SPDX-License-Identifier: BSD-3-Clause */
/* The vpid table: members with their epochs, states and node facts; and the tree over the live
 * ones. */
#ifndef DVM_MEMBER_MEMBER_H
#define DVM_MEMBER_MEMBER_H

#include "api/member_state.h"
#include "base/fsm/fsm.h"
#include "dvm/protocol/member/facts.h"
#include "dvm/protocol/tree/tree.h"
#include "dvm/protocol/wire/msg/msg.h"

enum member_event {
    MEMBER_EV_CALL = 1,  /* has called the head and was admitted */
    MEMBER_EV_TURN_AWAY, /* its admission was taken back */
    MEMBER_EV_WIRE,   /* the broadcast that names it has been processed; at the head: by all daemons
                       */
    MEMBER_EV_NAME,   /* a shrink names it */
    MEMBER_EV_CANCEL, /* that shrink was cancelled */
    MEMBER_EV_REMOVE, /* the command to leave is being sent, or was processed */
    MEMBER_EV_LEFT,   /* the shrink is complete, or its grow has failed */
    MEMBER_EV_LOSE,   /* it is declared lost */
};

extern const struct fsm member_fsm;

/* 24 bytes, on each daemon for each vpid: facts that members share are in the factset. */
struct member {
    uint64_t ctr;        /* of its epoch; the incarnation is among the facts */
    uint32_t value;      /* the member's own part of its first address */
    uint32_t facts : 24; /* id; FACTS_NONE: the vpid never had an entry */
    uint32_t state : 8;  /* enum member_state */
    uint32_t slots_used; /* head only */
    uint32_t repairs;    /* head only: as the member last reported it */
};

struct members {
    uint32_t self;
    uint32_t n; /* vpids 0..n-1 may have an entry */
    uint32_t cap;
    struct member *tab;
    /* The own parts of further addresses, by vpid; NULL: no member has any. */
    uint32_t (*more)[MEMBER_MORE_MAX];
    struct key_id *keys; /* by vpid; NULL: no member has shown one */
    struct factset facts;
    hwloc_bitmap_t live; /* those in the tree of `version` */
    uint64_t version;    /* last membership broadcast processed */
    uint32_t radix;
    uint64_t repairs; /* passes over the tree, one per removal whatever its size */
};

void members_init(struct members *m, uint32_t self, uint32_t radix);
void members_free(struct members *m);
/* NULL if the vpid never had an entry. Valid until the next entry is made. */
const struct member *members_get(const struct members *m, uint32_t vpid);
/* The same, to be changed. At the head only the fold of its records does so. */
struct member *members_entry(struct members *m, uint32_t vpid);
struct epoch members_epoch(const struct members *m, const struct member *x);
uint32_t members_slots(const struct members *m, const struct member *x);
/* All facts of a vpid that has an entry; the caller frees the texts (msg_member_free). */
struct msg_member members_facts(const struct members *m, uint32_t vpid);
char *members_host(const struct members *m, uint32_t vpid); /* the same; the caller frees it */
/* The key that a vpid's last daemon holds; none if it has shown none, or if it is not known here.
 */
struct key_id members_key(const struct members *m, uint32_t vpid);
void members_set_key(struct members *m, uint32_t vpid, struct key_id key);
/* Leaves the keys out of an ADD unless each live member has one. The others are of edition 0, and
 * could not read it. */
void members_strip_keys(const struct members *m, struct msg_member *list, size_t n);
/* Copies the facts into the vpid's entry, which is made if needed. The caller sets the state.
 * Facts without a key leave that of the same epoch as it is. */
struct member *members_put(struct members *m, const struct msg_member *facts);
/* The one setter of the state. -1, a reason and no change if the table has no such step. */
int member_step(struct member *x, enum member_event ev, struct err *err);
bool members_live(const struct members *m, uint32_t vpid);
/* True if the vpid is in the tree in this epoch. */
bool members_current(const struct members *m, uint32_t vpid, struct epoch e);
struct tree members_tree(const struct members *m);
/* Low bits of the epoch of the head; 0: it is not known. */
uint32_t members_head(const struct members *m);
uint32_t members_parent(const struct members *m); /* of this daemon; TREE_NONE at the head */
/* Applies a broadcast. Entries in other epochs stay as they are, so a repeated one changes
 * nothing. Returns how many vpids were added or removed. */
size_t members_add(struct members *m, const struct msg_member *list, size_t n);
size_t members_remove(struct members *m, const struct msg_target *list, size_t n,
                      enum member_event how);
/* The nidmap: all live members with epochs and facts, runs of like ones together (nidmap.c). */
void members_encode(const struct members *m, struct buf *b);
/* For a daemon of edition 0: of each member only its first address. */
void members_encode_first(const struct members *m, struct buf *b);
/* Into a table that has no entry yet. -1 and a reason, and the table still empty, if it is
 * malformed. */
int members_decode(struct members *m, const void *data, size_t len, struct err *err)
    __attribute__((warn_unused_result));
/* -1 and a reason: it cannot be decoded, or has epochs of another incarnation than `last`, or later
 * ones. */
int members_check_table(const void *data, size_t len, struct epoch last, struct err *err)
    __attribute__((warn_unused_result));
size_t members_bytes(const struct members *m); /* of memory */
/* Removes all entries. */
void members_clear(struct members *m);
/* Entries first .. first+count-1, new ones empty; valid until the next is made. */
struct member *members_entries(struct members *m, uint32_t first, uint32_t count);
/* The own part of address i of a vpid that has an entry. */
uint32_t members_value(const struct members *m, uint32_t vpid, size_t i);
void members_set_value(struct members *m, uint32_t vpid, size_t i, uint32_t value);

#endif
