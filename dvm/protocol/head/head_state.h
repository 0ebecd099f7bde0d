/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of the head's knowledge that is in the journal, at the head or folded at another place.
 */
#ifndef DVM_HEAD_HEAD_STATE_H
#define DVM_HEAD_HEAD_STATE_H

#include "dvm/protocol/head/jobs/job_table.h"
#include "dvm/protocol/head/journal/event_log.h"
#include "dvm/protocol/head/journal/incarnation.h"
#include "dvm/protocol/head/journal/journal.h"
#include "dvm/protocol/head/journal/op_queue.h"
#include "dvm/protocol/head/members/roster.h"
#include "dvm/protocol/head/published/published.h"
#include "dvm/protocol/head/resize/campaign_table.h"
#include "dvm/protocol/head/resize/release.h"

struct head_state {
    struct journal *journal;
    struct incarnation *inc;
    struct event_log *events;
    struct op_queue *ops;
    struct size_bound *bound;
    struct cpu_ledger *ledger;
    struct roster *roster;
    struct campaign_table *campaigns;
    struct releases *releases;
    struct job_table *jobs;
    struct published *published;
};

/* Empty until the first record: BEGIN, or a snapshot. Borrows both. */
void head_state_init(struct head_state *s, struct out *out, struct members *members);
void head_state_free(struct head_state *s);

/* The same state at another place: it gets the records' bytes, and decides and sends nothing. */
struct head_fold;

struct head_fold *head_fold_create(void);
void head_fold_destroy(struct head_fold *f);
/* The first record is BEGIN or a snapshot. -1 and a reason: the record is malformed or does not
 * fit. */
int head_fold_take(struct head_fold *f, const void *data, size_t len, struct err *err)
    __attribute__((warn_unused_result));
void head_fold_save(const struct head_fold *f, struct buf *b); /* journal_save() */

#endif
