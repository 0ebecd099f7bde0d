/* SPDX-License-Identifier: BSD-3-Clause */
/* The vpid table: who is a member, in which life and state, with which node facts; and the tree
 * over the live ones. */
#ifndef DVM_MEMBER_MEMBER_H
#define DVM_MEMBER_MEMBER_H

#include "dvm/tree/tree.h"
#include "dvm/wire/msg.h"

enum member_state {
    MEMBER_ABSENT,
    MEMBER_REPORTED, /* has called home, is not wired yet (head only) */
    MEMBER_WIRED,
    MEMBER_DRAINING, /* nothing new maps there (head only) */
    MEMBER_LEAVING,  /* the shrink command is on its way (head only) */
    MEMBER_PARKED,   /* has left */
    MEMBER_LOST,
};

struct member {
    enum member_state state;
    struct msg_member facts; /* vpid, epoch, host, address, port, slots */
    uint32_t slots_used;     /* head only */
    uint64_t repairs;        /* head only: what the member last told */
};

struct members {
    uint32_t self;
    uint32_t n; /* vpids 0..n-1 have an entry, which may be absent */
    struct member **tab;
    hwloc_bitmap_t live; /* those in the tree of `version` */
    uint64_t version;    /* last membership broadcast processed */
    uint32_t radix;
    uint64_t repairs; /* passes over the tree, one per removal whatever its size */
};

void members_init(struct members *m, uint32_t self, uint32_t radix);
void members_free(struct members *m);
/* NULL if the vpid never had an entry. */
struct member *members_get(const struct members *m, uint32_t vpid);
/* Copies the facts into the vpid's entry (made if needed); the state is the caller's to set. */
struct member *members_put(struct members *m, const struct msg_member *facts);
bool members_live(const struct members *m, uint32_t vpid);
/* True if the vpid is in the tree and in this life. */
bool members_current(const struct members *m, uint32_t vpid, struct epoch e);
struct tree members_tree(const struct members *m);
uint32_t members_parent(const struct members *m); /* of this daemon; TREE_NONE at the head */
/* Applies the broadcasts. Entries of other lives are left alone, so a second report changes
 * nothing; returns how many vpids came or went. */
size_t members_add(struct members *m, const struct msg_member *list, size_t n);
size_t members_remove(struct members *m, const struct msg_target *list, size_t n,
                      enum member_state to);
/* The live members as a list for SNAPSHOT (nidmap); the caller frees the array alone: its texts are
 * borrowed. */
struct msg_member *members_nidmap(const struct members *m, size_t *n);
/* Replaces everything by a nidmap. */
void members_replace(struct members *m, const struct msg_member *list, size_t n);
const char *member_state_name(enum member_state s);

#endif
