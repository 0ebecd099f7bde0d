/* SPDX-License-Identifier: BSD-3-Clause */
/* Grow campaigns: daemons that call home are admitted within the size bound and wired in batches as
 * they arrive. */
#include "dvm/protocol/head/head_private.h"

#include "base/log/log.h"
#include "dvm/protocol/wire/mutant.h"

#include <stdlib.h>
#include <string.h>

#define GROW_FENCE_NAME "grow"

struct member *member_now(const struct head *l, uint32_t vpid, struct epoch epoch)
{
    struct member *m = members_get(l->members, vpid);

    return m && epoch_eq(members_epoch(l->members, m), epoch) ? m : NULL;
}

void member_event(struct head *l, struct member *m, enum member_event ev)
{
    struct err err = {0};

    if (member_step(m, ev, &err) < 0)
        out_log(l->out, LOG_LEVEL_ERROR, "vpid %u: %s", (unsigned)(m - l->members->tab), err.msg);
}

int head_admit(struct head *l, const struct msg_member *facts, const char *cpus,
               struct epoch *epoch, struct err *err)
{
    struct member *m = members_get(l->members, facts->vpid);
    struct msg_member mine = *facts;
    uint64_t pause = join_backoff_pause(l, facts->vpid);

    *epoch = (struct epoch){0, 0};
    if (l->ending)
        return err_set(err, "this incarnation of the DVM ends");
    if (facts->vpid == VPID_HEAD)
        return err_set(err, "vpid 0 is the head's own");
    /* That life is over, whatever else speaks against the next one. */
    if (m && members_live(l->members, facts->vpid) &&
        !(MUTANT(FORMER_LIFE_STAYS) && campaign_names(l, facts->vpid))) {
        *epoch = members_epoch(l->members, m);
        return err_set(err, "vpid %u: its earlier life is being removed", facts->vpid);
    }
    if (campaign_names(l, facts->vpid))
        return err_set(err, "vpid %u: a shrink that names it is running", facts->vpid);
    if (facts->vpid > l->bound)
        return err_set(err, "vpid %u is outside the size in force (%u)", facts->vpid, l->bound);
    if (pause)
        return err_set(err, "vpid %u: its lives are short, the next begins in %llu ms", facts->vpid,
                       (unsigned long long)pause);
    if (cpu_ledger_put(l, facts->vpid, facts->host, cpus, err) < 0)
        return -1;
    join_backoff_admitted(l, facts->vpid);
    mine.epoch = *epoch = (struct epoch){l->opts.incarnation, ++l->next_epoch};
    m = members_put(l->members, &mine);
    member_event(l, m, MEMBER_EV_CALL);
    m->slots_used = 0;
    m->repairs = 0;
    return 0;
}

bool head_joining(const struct head *l, uint32_t vpid, struct epoch epoch)
{
    const struct member *m = member_now(l, vpid, epoch);

    return m && m->state == MEMBER_REPORTED && !members_live(l->members, vpid);
}

void head_joiner_gone(struct head *l, uint32_t vpid, struct epoch epoch)
{
    if (head_joining(l, vpid, epoch))
        member_event(l, members_get(l->members, vpid), MEMBER_EV_TURN_AWAY);
}

bool grow_turn_away(struct head *l, uint32_t vpid, bool leave)
{
    struct member *m = members_get(l->members, vpid);

    if (m->state != MEMBER_REPORTED || members_live(l->members, vpid) || MUTANT(KEEP_JOINER))
        return false;
    member_event(l, m, leave ? MEMBER_EV_LEFT : MEMBER_EV_TURN_AWAY);
    join_backoff_forget(l, vpid);
    l->turned_away = true;
    return true;
}

bool head_turned_away(struct head *l)
{
    bool any = l->turned_away;

    l->turned_away = false;
    return any;
}

/* Those that a grow campaign gathers are wired by it. */
static bool joins_alone(const struct head *l, uint32_t vpid)
{
    return members_get(l->members, vpid)->state == MEMBER_REPORTED && !grow_atomic_claims(l, vpid);
}

/* Everybody who has reported by now is one batch; while one is being wired the next gathers. */
void grow_steps(struct head *l)
{
    struct msg add = {.type = MSG_ADD};

    if (l->grow_op || l->normal_running || l->ending || fence_defers(l))
        return;
    for (uint32_t v = 1; v < l->members->n; v++) {
        const struct member *m = members_get(l->members, v);

        if (m && joins_alone(l, v))
            add.nmembers++;
    }
    if (add.nmembers == 0)
        return;
    add.members = xcalloc(add.nmembers, sizeof *add.members);
    add.nmembers = 0;
    for (uint32_t v = 1; v < l->members->n; v++) {
        const struct member *m = members_get(l->members, v);

        if (m && joins_alone(l, v))
            add.members[add.nmembers++] = members_facts(l->members, v);
    }
    fence_raise(l, GROW_FENCE_NAME, (uint32_t)add.nmembers);
    l->batches++;
    l->grow_op = UINT64_MAX; /* queued; its number comes when it starts */
    op_queue(l, &add, false, NULL);
    for (size_t i = 0; i < add.nmembers; i++)
        msg_member_free(&add.members[i]);
    free(add.members);
}

/* members_add() has put them into the tree as wired; for mapping they count from completion on. A
 * shrink may have named them in between. */
void grow_wired(struct head *l)
{
    for (uint32_t v = 1; v < l->members->n; v++) {
        struct member *m = members_get(l->members, v);

        if (!m || m->state != MEMBER_REPORTED || !members_live(l->members, v))
            continue;
        member_event(l, m, campaign_names(l, v) ? MEMBER_EV_NAME : MEMBER_EV_WIRE);
        head_event_add(l, API_EVENT_DAEMON_WIRED, v, m->ctr, NULL);
    }
    l->kick = true;
}

void grow_completed(struct head *l)
{
    l->grow_op = 0;
    grow_wired(l);
    fence_lower(l, GROW_FENCE_NAME);
}
