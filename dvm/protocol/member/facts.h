/* SPDX-License-Identifier: BSD-3-Clause */
/* Node facts that many daemons have in common, kept once: patterns of host name and addresses,
 * port, slots, incarnation. */
#ifndef DVM_MEMBER_FACTS_H
#define DVM_MEMBER_FACTS_H

#include "base/heap/hash.h"
#include "dvm/protocol/wire/msg/msg.h"

#define FACTS_NONE 0u /* the id of no facts */

/* A pattern is a letter for its form, then text:
 *   =text    the text itself
 *   %text    with the vpid's decimal digits in place of the byte 1: names and DNS names of pods
 *   4        an IPv4 address, all of it in the member's value
 *   6prefix  an IPv6 address whose last group, in hexadecimal digits, is the value
 *   @        (host) the same as the first address
 * A text that fits no other form is kept with '='; it takes more memory and loses nothing. */
struct facts {
    uint32_t id;
    uint32_t uses;
    uint64_t inc;
    uint32_t slots;
    uint16_t port;
    uint8_t naddresses; /* 1 .. MEMBER_ADDRESSES_MAX */
    const char *host;   /* all patterns lie within the key */
    const char *address[MEMBER_ADDRESSES_MAX];
    UT_hash_handle hh;
    size_t len;
    uint8_t key[];
};

struct factset {
    struct facts **tab; /* by id; 0 is not used */
    uint32_t n, cap;
    uint32_t *unused; /* unused ids below n */
    uint32_t nunused;
    struct facts *by_key;
};

void facts_set_free(struct factset *s);
size_t facts_set_bytes(const struct factset *s); /* of memory */
/* The id of the facts that the member shares with others, with one more use. value[i]: its own
 * part of address i. */
uint32_t facts_set_take(struct factset *s, const struct msg_member *m,
                        uint32_t value[MEMBER_ADDRESSES_MAX]);
/* The same from patterns, as a nidmap holds them. Of `like` the texts and numbers are used. */
uint32_t facts_set_take_patterns(struct factset *s, const struct facts *like);
void facts_set_use(struct factset *s, uint32_t id);  /* one more use */
void facts_set_drop(struct factset *s, uint32_t id); /* one less; FACTS_NONE is allowed */
const struct facts *facts_set_get(const struct factset *s, uint32_t id);
/* The texts, on the heap: the caller frees them. */
char *facts_host(const struct facts *f, uint32_t vpid, uint32_t value);
char *facts_address(const struct facts *f, size_t i, uint32_t vpid, uint32_t value);
bool facts_has_value(const struct facts *f, size_t i);
/* Whether a text from a peer is a pattern at all. */
bool facts_pattern_ok(const char *pattern, bool host);

#endif
