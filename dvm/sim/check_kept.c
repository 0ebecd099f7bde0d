/* SPDX-License-Identifier: BSD-3-Clause */
/* journal-is-the-state, of an heir that has its records from a keeper: their fold is the state that
 * the former head had.
 *
 * In: RECORDS that the head sends, and its state then; RECORDS that a new head gets, and its first
 * step. Out: failures by check_fail().
 *
 * The head sends a group at once when it is complete, so its state is the one at the group's end.
 * Others may not have seen this group yet, and a keeper may have it all the same. So the digest of
 * the state is noted for each group, by the group's number. When a new head begins, the records
 * that it has taken are folded, and compared with the digest of their last group.
 *
 * Limits: only keepers are compared that were in sync when the former head ended. Groups of earlier
 * processes of the head are not known any more, nor are those of one that runs on after it was
 * replaced. What an heir adds with its first input is not compared: nobody gets these records. Nor
 * is an heir that goes on with the table of most members, or has the records of one that waited for
 * reports of jobs. */
#include "dvm/sim/check_private.h"

#include "dvm/protocol/head/head_state.h"

#include <stdlib.h>

struct seen_group {
    uint64_t seq, digest;
};

static uint64_t digest_state(const struct buf *b)
{
    uint64_t d = 1469598103934665603ull;

    for (size_t i = 0; i < b->len; i++)
        d = (d ^ b->data[i]) * 1099511628211ull;
    return d;
}

static void note_group(struct check *c, uint64_t seq)
{
    struct seen_kept *k = &c->kept;
    struct buf *state = &c->state_own;

    if (k->life != sim_life(c->sim, VPID_HEAD)) {
        k->life = sim_life(c->sim, VPID_HEAD);
        k->ngroups = 0;
    }
    if (k->ngroups && k->groups[k->ngroups - 1].seq == seq)
        return;
    buf_reset(state);
    journal_save(head_journal(core_inspect_head(sim_head(c->sim))), state);
    k->groups = xrealloc(k->groups, (k->ngroups + 1) * sizeof(*k->groups));
    k->groups[k->ngroups++] = (struct seen_group){seq, digest_state(state)};
}

void check_group_sent(struct check *c, struct cur *body)
{
    struct msg m;

    if (msg_decode(body, MSG_RECORDS, &m, NULL) < 0)
        return;
    if (m.records.ends)
        note_group(c, m.records.seq);
    msg_free(&m);
}

static void gather_piece(struct seen_kept *k, uint64_t conn, const struct msg_records *m)
{
    if (m->begins) {
        buf_reset(&k->given);
        k->conn = conn;
    }
    if (conn != k->conn)
        return;
    buf_put_raw(&k->given, m->data, m->len);
    k->whole = m->ends;
    k->seq = m->seq;
}

void check_records_given(struct check *c, uint64_t conn, struct cur *body)
{
    struct msg m;

    c->kept.whole = false;
    if (!sim_in_sync(c->sim, conn) || msg_decode(body, MSG_RECORDS, &m, NULL) < 0)
        return;
    gather_piece(&c->kept, conn, &m.records);
    msg_free(&m);
}

static int fold_given(struct check *c, struct buf *state, struct err *err)
{
    struct cur all = cur_of(c->kept.given.data, c->kept.given.len);
    struct head_fold *fold = head_fold_create();
    int rc = 0;

    while (rc == 0 && cur_left(&all)) {
        size_t len;
        const uint8_t *data = cur_bytes(&all, RECORD_SNAPSHOT_MAX, &len);

        rc = all.bad ? err_set(err, "cut") : head_fold_take(fold, data, len, err);
    }
    buf_reset(state);
    if (rc == 0)
        head_fold_save(fold, state);
    head_fold_destroy(fold);
    return rc;
}

static const struct seen_group *find_group(const struct seen_kept *k, uint64_t seq)
{
    for (size_t i = k->ngroups; i-- > 0;) {
        if (k->groups[i].seq == seq)
            return &k->groups[i];
    }
    return NULL;
}

void check_records_taken(struct check *c)
{
    struct seen_kept *k = &c->kept;
    const struct seen_group *g = find_group(k, k->seq);
    bool others = sim_volume_taken(c->sim) ||
                  job_adoption_waits(head_jobs(core_inspect_head(sim_head(c->sim))));
    struct err err = {0};

    if (!k->whole || others)
        return;
    if (!g && !c->ran_on)
        check_fail(c, "journal-is-the-state", "an heir takes group %llu, which no head has sent",
                   (unsigned long long)k->seq);
    else if (fold_given(c, &c->state_folded, &err) < 0)
        check_fail(c, "journal-is-the-state", "a record of a keeper is refused: %s", err.msg);
    else if (g && digest_state(&c->state_folded) != g->digest)
        check_fail(c, "journal-is-the-state",
                   "the records that an heir takes give another state than the former head had "
                   "with group %llu",
                   (unsigned long long)k->seq);
    k->whole = false;
}

void check_kept_create(struct check *c)
{
    buf_init(&c->kept.given, RECORD_SNAPSHOT_MAX);
}

void check_kept_free(struct check *c)
{
    free(c->kept.groups);
    buf_free(&c->kept.given);
}
