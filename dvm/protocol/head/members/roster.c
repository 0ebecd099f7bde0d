/* SPDX-License-Identifier: BSD-3-Clause */
/* Admission, and the state of each member as the head sees it.
 *
 * In: daemons that call home with their host, slots and CPUs; steps that campaigns and batches of
 * joiners take. Out: an epoch for each admitted daemon, or a reason why it has to wait.
 *
 * States of a vpid: absent, reported (admitted), wired, draining, leaving, parked, lost
 * (docs/graphs/member.md). The epochs of one incarnation count up from 2; the head has epoch 1. No
 * two daemons ever have the same epoch.
 *
 * A daemon is refused while its vpid is live in an earlier epoch, while a campaign removes the
 * vpid, above the size bound, and during its join back-off. A refused daemon asks again; nothing
 * has changed. An admission can be taken back until a broadcast names the daemon. */
#include "dvm/protocol/head/members/roster.h"

#include "base/log/log.h"
#include "dvm/protocol/head/members/join_backoff.h"

#include <stdlib.h>

struct roster {
    struct roster_uses uses;
    struct join_backoff *backoff;
    uint64_t last_epoch;
    bool turned_away; /* an admission was taken back: the core has to notify the daemon */
};

struct roster *roster_create(const struct roster_uses *uses)
{
    struct roster *r = xcalloc(1, sizeof(*r));

    r->uses = *uses;
    r->backoff = join_backoff_create();
    r->last_epoch = 1; /* the head's own */
    return r;
}

void roster_destroy(struct roster *r)
{
    if (!r)
        return;
    join_backoff_destroy(r->backoff);
    free(r);
}

struct member *roster_find(const struct roster *r, uint32_t vpid, struct epoch epoch)
{
    struct member *m = members_get(r->uses.members, vpid);

    return m && epoch_eq(members_epoch(r->uses.members, m), epoch) ? m : NULL;
}

void roster_step(struct roster *r, struct member *m, enum member_event ev)
{
    struct err err = {0};

    if (member_step(m, ev, &err) < 0)
        out_log(r->uses.out, LOG_LEVEL_ERROR, "vpid %u: %s", (unsigned)(m - r->uses.members->tab),
                err.msg);
}

/* The reason why it is not admitted now; 0: it is. */
static int check_admission(struct roster *r, uint32_t vpid, bool named, struct epoch *epoch,
                           struct err *err)
{
    const struct member *m = members_get(r->uses.members, vpid);
    uint32_t bound = size_bound_now(r->uses.bound);
    uint64_t pause = join_backoff_pause(r->backoff, vpid, r->uses.out->now_ms);

    if (incarnation_ending(r->uses.inc))
        return err_set(err, "this incarnation of the DVM ends");
    if (vpid == VPID_HEAD)
        return err_set(err, "vpid 0 is the head's own");
    /* The earlier epoch has ended, even if other reasons refuse the next one. */
    if (m && members_live(r->uses.members, vpid)) {
        *epoch = members_epoch(r->uses.members, m);
        return err_set(err, "vpid %u: its earlier epoch is being removed", vpid);
    }
    if (named)
        return err_set(err, "vpid %u: a shrink that names it is running", vpid);
    if (vpid > bound)
        return err_set(err, "vpid %u is outside the size in force (%u)", vpid, bound);
    if (pause)
        return err_set(err,
                       "vpid %u: its processes end too early, the next one is admitted in %llu ms",
                       vpid, (unsigned long long)pause);
    return 0;
}

int roster_admit(struct roster *r, const struct msg_member *facts, const char *cpus, bool named,
                 struct epoch *epoch, struct err *err)
{
    struct msg_member mine = *facts;
    struct member *m;

    *epoch = (struct epoch){0, 0};
    if (check_admission(r, facts->vpid, named, epoch, err) < 0)
        return -1;
    if (cpu_ledger_put(r->uses.ledger, facts->vpid, facts->host, cpus, err) < 0)
        return -1;
    join_backoff_admitted(r->backoff, facts->vpid, r->uses.out->now_ms);
    mine.epoch = *epoch = incarnation_epoch(r->uses.inc, ++r->last_epoch);
    m = members_put(r->uses.members, &mine);
    roster_step(r, m, MEMBER_EV_CALL);
    m->slots_used = 0;
    m->repairs = 0;
    return 0;
}

bool roster_joining(const struct roster *r, uint32_t vpid, struct epoch epoch)
{
    const struct member *m = roster_find(r, vpid, epoch);

    return m && m->state == MEMBER_REPORTED && !members_live(r->uses.members, vpid);
}

void roster_joiner_gone(struct roster *r, uint32_t vpid, struct epoch epoch)
{
    if (roster_joining(r, vpid, epoch))
        roster_step(r, members_get(r->uses.members, vpid), MEMBER_EV_TURN_AWAY);
}

bool roster_turn_away(struct roster *r, uint32_t vpid, bool leave)
{
    struct member *m = members_get(r->uses.members, vpid);

    if (m->state != MEMBER_REPORTED || members_live(r->uses.members, vpid))
        return false;
    roster_step(r, m, leave ? MEMBER_EV_LEFT : MEMBER_EV_TURN_AWAY);
    join_backoff_forget(r->backoff, vpid);
    r->turned_away = true;
    return true;
}

bool roster_turned_away(struct roster *r)
{
    bool any = r->turned_away;

    r->turned_away = false;
    return any;
}

void roster_end_ordered(struct roster *r, uint32_t vpid)
{
    join_backoff_forget(r->backoff, vpid);
}

void roster_repairs(struct roster *r, uint32_t vpid, uint32_t repairs)
{
    struct member *m = members_get(r->uses.members, vpid);

    if (m)
        m->repairs = repairs;
}
