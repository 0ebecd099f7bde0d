/* SPDX-License-Identifier: BSD-3-Clause */
/* The head sends the client of a job on to a member, whose session outlives the head. */
#ifndef DVM_SUBMIT_REFERRAL_H
#define DVM_SUBMIT_REFERRAL_H

#include "dvm/tools/cli/conn.h"

struct referral { /* where the client was before; zeroed: it has not been sent on */
    char *host;   /* NULL: the same */
    char port[8];
};

/* Asks the daemon at the other end of `c`, before anything else, for members at which the job
 * should be submitted, and connects to one of them. Takes `c`. Returns the connection for the job:
 * to a member (then `where` is the member's, and `r` has the former one), or to the same daemon as
 * before. NULL: that daemon cannot be reached any more; EINTR: `signals` is readable. */
struct cli_conn *referral_follow(struct referral *r, struct cli_conn *c, struct cli_where *where,
                                 int signals, struct err *err);
/* The member takes no jobs now: `where` is the former one again, and is not connected. */
void referral_return(struct referral *r, struct cli_where *where);
void referral_free(struct referral *r);

/* The answer to REFERRAL_ASK. -1: there is none, and the connection is of no use any more. */
int referral_ask(struct cli_conn *c, int signals, int timeout_ms, struct client_referral *out,
                 struct err *err) __attribute__((warn_unused_result));
/* Whether the place may be reached from where `reached` is: both addresses are of the loopback
 * interface, or neither is. */
bool referral_fits(const struct client_place *to, const char *reached);

#endif
