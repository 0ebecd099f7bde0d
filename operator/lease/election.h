/* SPDX-License-Identifier: BSD-3-Clause */
/* The rules of a Lease (coordination.k8s.io/v1): from its last contents and the time since then
 * they decide whether this operator waits, creates, takes or renews it. Times are monotonic. Pure:
 * no request, no clock of its own. */
#ifndef OPERATOR_LEASE_ELECTION_H
#define OPERATOR_LEASE_ELECTION_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum election_step {
    ELECTION_WAIT,   /* another candidate holds the Lease */
    ELECTION_CREATE, /* there is no Lease */
    ELECTION_TAKE,   /* it is free, expired, or has our identity from an earlier process */
    ELECTION_RENEW,  /* we hold it */
};

struct election {
    const char *identity; /* borrowed; differs between all candidates that run */
    int64_t duration_s;   /* after which others may take a Lease that is not renewed */
    uint64_t deadline_ms; /* less than the duration: after it the holder stops by itself */
    json_t *lease;        /* as read or written last; NULL: absent or unknown */
    uint64_t seen_ms;     /* when its spec was seen to change last */
    uint64_t held_until_ms;
};

void election_clear(struct election *e);
/* `lease` was read (NULL: it does not exist). An expiry is counted from the time at which a change
 * was seen, so the clocks of candidates need not agree. */
void election_saw(struct election *e, const json_t *lease, uint64_t now_ms);
/* Our write was accepted. The deadline is counted from the time at which it was sent, which is
 * before any other candidate can have seen it. */
void election_wrote(struct election *e, const json_t *lease, uint64_t sent_ms);
bool election_holds(const struct election *e, uint64_t now_ms);
enum election_step election_next(const struct election *e, uint64_t now_ms);
/* The holder of the Lease that was seen last; "": nobody. */
const char *election_holder(const struct election *e);

/* The Lease to write at the wall time `wall_ms`: taken or renewed by us, or released. Its
 * resourceVersion makes the server refuse the write if another candidate was faster. A new
 * reference. */
json_t *election_claim(const struct election *e, const char *name, int64_t wall_ms);
json_t *election_release(const struct election *e, int64_t wall_ms);

#endif
