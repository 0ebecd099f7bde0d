/* SPDX-License-Identifier: BSD-3-Clause */
/* A member in a message: the node facts of one daemon.
 *
 * A daemon has up to MEMBER_ADDRESSES_MAX addresses, which other daemons call. They are in the
 * order of the networks: the first ones of all daemons are in one network, the second ones in
 * another. */
#ifndef DVM_WIRE_MSG_MEMBER_H
#define DVM_WIRE_MSG_MEMBER_H

#include "dvm/protocol/wire/msg/fields.h"

/* On the wire the addresses are one text with commas. A single one is written as in edition 0. */
#define MEMBER_ADDRESSES_MAX 4
#define MEMBER_MORE_MAX (MEMBER_ADDRESSES_MAX - 1)

struct msg_member {
    uint32_t vpid;
    struct epoch epoch;
    char *host;
    char *address; /* the first one; "": none is known */
    uint16_t port; /* the same at all addresses */
    uint32_t slots;
    uint8_t nmore;
    char *more[MEMBER_MORE_MAX]; /* further addresses */
    struct key_id key; /* not among the facts on the wire: ADD and records have it apart */
};

void msg_member_copy(struct msg_member *dst, const struct msg_member *src);
void msg_member_free(struct msg_member *m);
/* -1 and a reason: an address is missing, or is there twice. */
int msg_member_check(const struct msg_member *m, struct err *err)
    __attribute__((warn_unused_result));
size_t msg_member_addresses(const struct msg_member *m); /* how many; 0: the first one is "" */
const char *msg_member_address(const struct msg_member *m, size_t i);

void msg_put_member(struct buf *b, const struct msg_member *m);
void msg_get_member(struct cur *c, struct msg_member *m);
/* The same with its key, for records. */
void msg_put_keyed_member(struct buf *b, const struct msg_member *m);
void msg_get_keyed_member(struct cur *c, struct msg_member *m);
void msg_put_members(struct buf *b, const struct msg_member *list, size_t n);
struct msg_member *msg_get_members(struct cur *c, size_t *n);
void msg_free_members(struct msg_member *list, size_t n);

#endif
