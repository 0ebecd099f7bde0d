/* SPDX-License-Identifier: BSD-3-Clause */
/* The head's table of members: admission, epoch, and state of each. */
#ifndef DVM_HEAD_MEMBERS_ROSTER_H
#define DVM_HEAD_MEMBERS_ROSTER_H

#include "dvm/protocol/head/journal/incarnation.h"
#include "dvm/protocol/head/members/cpu_ledger.h"
#include "dvm/protocol/head/members/size_bound.h"
#include "dvm/protocol/member/heads.h"
#include "dvm/protocol/member/member.h"
#include "dvm/protocol/out/out.h"

struct roster;

struct roster_uses { /* borrowed */
    struct journal *journal;
    struct out *out; /* not used by a fold at another place, nor are the last three */
    struct members *members;
    const struct incarnation *inc;
    const struct size_bound *bound;
    struct cpu_ledger *ledger;
};

/* A part of the journal: epochs, facts and states of the members. */
struct roster *roster_create(const struct roster_uses *uses);
void roster_destroy(struct roster *r);

/* A daemon calls home and reports its CPUs. named: a campaign removes this vpid. 0: admitted,
 * *epoch is its new epoch. -1: err says why not now. If the reason is that the vpid is live,
 * *epoch is that epoch, else none. liveness_lost() ends that epoch when the caller is known to
 * be no late frame. */
int roster_admit(struct roster *r, const struct msg_member *facts, const char *cpus, bool named,
                 struct epoch *epoch, struct err *err) __attribute__((warn_unused_result));
uint64_t roster_last_epoch(const struct roster *r);
const struct heads *roster_heads(const struct roster *r); /* without the first */
/* A new process is the head: its epoch, which the table gets with the operation that follows. So
 * many others before it are not used, nor are so many names (record_heir). */
struct epoch roster_succeed(struct roster *r, const struct msg_member *head, uint64_t skipped,
                            uint64_t names);
/* Admissions of daemons that called the former process are taken back: they call again. */
void roster_turn_callers_away(struct roster *r);
/* True if this daemon was admitted in this epoch and waits to be wired. */
bool roster_joining(const struct roster *r, uint32_t vpid, struct epoch epoch);
/* An admitted daemon's connection ended before it was wired. */
void roster_joiner_gone(struct roster *r, uint32_t vpid, struct epoch epoch);
/* Forgets its admission and returns true if it has called home and no broadcast has named it
 * yet. leave: it is not to call again. */
bool roster_turn_away(struct roster *r, uint32_t vpid, bool leave);
/* True once after roster_turn_away(): the daemon has to be notified. */
bool roster_turned_away(struct roster *r);

/* The member if this epoch is its last, else NULL. */
const struct member *roster_find(const struct roster *r, uint32_t vpid, struct epoch epoch);
/* The one setter of its state, by the table (dvm/protocol/member). An illegal step is logged. */
void roster_step(struct roster *r, const struct member *m, enum member_event ev);
/* The head applies a broadcast: ADD, REMOVE or SHUTDOWN. */
void roster_apply(struct roster *r, const struct msg *op);
/* The epoch is about to end by the DVM's own order: the join back-off does not count it. */
void roster_end_ordered(struct roster *r, uint32_t vpid);
/* The member has reported its number of repairs of the tree. */
void roster_repairs(struct roster *r, uint32_t vpid, uint32_t repairs);

#endif
