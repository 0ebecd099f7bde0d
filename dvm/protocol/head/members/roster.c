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
 * has changed. An admission can be taken back until a broadcast names the daemon.
 *
 * Epochs, facts, states, the tree's members and the heads so far are in the journal: BEGIN,
 * MEMBERS, ADMITTED, STEP, OP_APPLIED. Join back-off and the numbers of repairs are not: a new head
 * begins without them. */
#include "dvm/protocol/head/members/roster.h"

#include "base/bitmap/bitmap.h"
#include "base/log/log.h"
#include "dvm/protocol/head/members/join_backoff.h"

#include <stdlib.h>

struct roster {
    struct roster_uses uses;
    struct join_backoff *backoff;
    uint64_t last_epoch;
    struct heads heads; /* after the first */
    bool turned_away;   /* an admission was taken back: the core has to notify the daemon */
};

/* --- the fold */

static int fold_admission(struct roster *r, const struct msg_member *facts, struct err *err)
{
    const struct member *before = members_get(r->uses.members, facts->vpid);
    struct member probe = before ? *before : (struct member){0};
    struct member *m;

    if (facts->epoch.ctr != r->last_epoch + 1)
        return err_set(err, "vpid %u: epoch %llu after %llu", facts->vpid,
                       (unsigned long long)facts->epoch.ctr, (unsigned long long)r->last_epoch);
    if (member_step(&probe, MEMBER_EV_CALL, err) < 0)
        return -1;
    r->last_epoch = facts->epoch.ctr;
    m = members_put(r->uses.members, facts);
    m->state = probe.state;
    m->slots_used = 0;
    m->repairs = 0;
    return 0;
}

/* The table names its own head alone. So a member that knows an earlier head is refused as unknown,
 * and joins anew. */
static int fold_members(struct roster *r, const struct record_members *x, struct err *err)
{
    struct members *m = r->uses.members;

    if (members_decode(m, x->table, x->len, err) < 0)
        return -1;
    m->version = x->version;
    r->last_epoch = x->last_epoch;
    heads_add(&r->heads, members_get(m, VPID_HEAD)->ctr, 1);
    return 0;
}

static int fold_heir(struct roster *r, const struct msg_member *head, struct err *err)
{
    if (head->epoch.ctr <= r->last_epoch)
        return err_set(err, "epoch %llu of a head after %llu", (unsigned long long)head->epoch.ctr,
                       (unsigned long long)r->last_epoch);
    r->last_epoch = head->epoch.ctr; /* the operation that follows puts it into the table */
    return 0;
}

static int fold_step(struct roster *r, const struct record_step *s, struct err *err)
{
    struct member *m = members_entry(r->uses.members, s->vpid);

    if (!m)
        return err_set(err, "vpid %u never was a member", s->vpid);
    return member_step(m, (enum member_event)s->event, err);
}

static int fold_op(struct roster *r, const struct msg *op, struct err *err)
{
    struct members *m = r->uses.members;

    if (msg_op(op) != m->version + 1)
        return err_set(err, "version %llu after %llu", (unsigned long long)msg_op(op),
                       (unsigned long long)m->version);
    m->version = msg_op(op);
    if (op->type == MSG_ADD && op->add.nmembers && op->add.members[0].vpid == VPID_HEAD)
        heads_add(&r->heads, op->add.members[0].epoch.ctr, m->version);
    if (op->type == MSG_ADD)
        members_add(m, op->add.members, op->add.nmembers);
    else if (op->type == MSG_REMOVE)
        members_remove(m, op->remove.targets, op->remove.ntargets,
                       op->remove.why == REMOVE_SHRINK ? MEMBER_EV_REMOVE : MEMBER_EV_LOSE);
    return 0;
}

static int fold_record(void *state, const struct record *x, struct err *err)
{
    struct roster *r = state;

    switch (x->type) {
    case RECORD_BEGIN:
        members_add(r->uses.members, &x->begin.head, 1);
        r->last_epoch = x->begin.head.epoch.ctr;
        return 0;
    case RECORD_MEMBERS:
        return fold_members(r, &x->members, err);
    case RECORD_ADMITTED:
        return fold_admission(r, &x->admitted.facts, err);
    case RECORD_HEIR:
        return fold_heir(r, &x->heir.head, err);
    case RECORD_STEP:
        return fold_step(r, &x->step, err);
    case RECORD_OP_APPLIED:
        return fold_op(r, &x->op.msg, err);
    default:
        return 0;
    }
}

static void save_member(const struct members *table, uint32_t vpid, struct buf *b)
{
    struct msg_member facts = members_facts(table, vpid);

    msg_put_keyed_member(b, &facts);
    buf_put_u8(b, (uint8_t)members_get(table, vpid)->state);
    buf_put_u8(b, members_live(table, vpid));
    msg_member_free(&facts);
}

static void save_state(const void *state, struct buf *b)
{
    const struct roster *r = state;
    const struct members *m = r->uses.members;
    uint32_t n = 0;

    buf_put_u64(b, r->last_epoch);
    buf_put_u64(b, m->version);
    buf_put_u64(b, m->repairs);
    for (uint32_t v = 0; v < m->n; v++)
        n += members_get(m, v) != NULL;
    buf_put_u32(b, n);
    for (uint32_t v = 0; v < m->n; v++) {
        if (members_get(m, v))
            save_member(m, v, b);
    }
    buf_put_u32(b, (uint32_t)r->heads.n);
    for (size_t i = 0; i < r->heads.n; i++) {
        buf_put_u64(b, r->heads.tab[i].ctr);
        buf_put_u64(b, r->heads.tab[i].since);
    }
}

static int load_member(struct members *table, struct cur *c, struct err *err)
{
    struct msg_member facts = {0};
    struct member *m;

    msg_get_keyed_member(c, &facts);
    if (c->bad || epoch_none(facts.epoch)) {
        msg_member_free(&facts);
        return err_set(err, "a malformed member");
    }
    m = members_put(table, &facts);
    m->state = msg_get_enum(c, MEMBER_STATES);
    if (msg_get_flag(c))
        bitmap_set(table->live, facts.vpid);
    msg_member_free(&facts);
    return 0;
}

static int load_state(void *state, struct cur *c, struct err *err)
{
    struct roster *r = state;
    struct members *m = r->uses.members;
    uint32_t n;

    r->last_epoch = cur_u64(c);
    m->version = cur_u64(c);
    m->repairs = cur_u64(c);
    n = cur_count(c, VPID_MAX + 1, 52);
    for (uint32_t i = 0; i < n; i++) {
        if (load_member(m, c, err) < 0)
            return -1;
    }
    n = cur_count(c, HEADS_MAX, 16);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t ctr = cur_u64(c);

        if (i && ctr <= r->heads.tab[i - 1].ctr)
            return err_set(err, "head %llu after a later one", (unsigned long long)ctr);
        heads_add(&r->heads, ctr, cur_u64(c));
    }
    return 0;
}

struct roster *roster_create(const struct roster_uses *uses)
{
    struct roster *r = xcalloc(1, sizeof(*r));
    struct journal_part part = {r, fold_record, save_state, load_state};

    r->uses = *uses;
    r->backoff = join_backoff_create();
    journal_add_part(uses->journal, &part);
    return r;
}

void roster_destroy(struct roster *r)
{
    if (!r)
        return;
    join_backoff_destroy(r->backoff);
    free(r);
}

/* --- decisions */

const struct member *roster_find(const struct roster *r, uint32_t vpid, struct epoch epoch)
{
    const struct member *m = members_get(r->uses.members, vpid);

    return m && epoch_eq(members_epoch(r->uses.members, m), epoch) ? m : NULL;
}

void roster_step(struct roster *r, const struct member *m, enum member_event ev)
{
    uint32_t vpid = (uint32_t)(m - r->uses.members->tab);
    struct record x = {.type = RECORD_STEP, .step = {vpid, (uint8_t)ev}};
    struct err err = {0};

    if (journal_put(r->uses.journal, &x, &err) < 0)
        out_log(r->uses.out, LOG_LEVEL_ERROR, "vpid %u: %s", vpid, err.msg);
}

void roster_apply(struct roster *r, const struct msg *op)
{
    struct record x = {.type = RECORD_OP_APPLIED, .op.msg = *op};

    journal_note(r->uses.journal, &x);
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
    struct record x = {.type = RECORD_ADMITTED, .admitted.facts = *facts};

    *epoch = (struct epoch){0, 0};
    if (check_admission(r, facts->vpid, named, epoch, err) < 0)
        return -1;
    if (cpu_ledger_put(r->uses.ledger, facts->vpid, facts->host, cpus, err) < 0)
        return -1;
    join_backoff_admitted(r->backoff, facts->vpid, r->uses.out->now_ms);
    x.admitted.facts.epoch = incarnation_epoch(r->uses.inc, r->last_epoch + 1);
    if (journal_put(r->uses.journal, &x, err) < 0)
        return -1;
    *epoch = x.admitted.facts.epoch;
    return 0;
}

uint64_t roster_last_epoch(const struct roster *r)
{
    return r->last_epoch;
}

struct epoch roster_succeed(struct roster *r, const struct msg_member *head, uint64_t skipped,
                            uint64_t names)
{
    struct record x = {.type = RECORD_HEIR, .heir = {*head, names}};

    x.heir.head.epoch = incarnation_epoch(r->uses.inc, r->last_epoch + 1 + skipped);
    journal_note(r->uses.journal, &x);
    return x.heir.head.epoch;
}

const struct heads *roster_heads(const struct roster *r)
{
    return &r->heads;
}

void roster_turn_callers_away(struct roster *r)
{
    for (uint32_t v = 1; v < r->uses.members->n; v++) {
        const struct member *m = members_get(r->uses.members, v);

        if (m && m->state == MEMBER_REPORTED && !members_live(r->uses.members, v))
            roster_step(r, m, MEMBER_EV_TURN_AWAY);
    }
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
    const struct member *m = members_get(r->uses.members, vpid);

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
    struct member *m = members_entry(r->uses.members, vpid);

    if (m)
        m->repairs = repairs;
}
