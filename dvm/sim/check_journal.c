/* SPDX-License-Identifier: BSD-3-Clause */
/* journal-is-the-state: the head's state is the fold of its records, and so is that of its heir.
 *
 * A second fold gets the bytes of the records and nothing else. After each record its state has to
 * be the head's own, byte for byte; the same after some of its events without a record. At moments
 * that do not depend on the head, the fold is replaced by a new one that begins with a snapshot.
 *
 * A state of n times STATE_SMALL bytes is compared after every n-th record, so that the cost of a
 * record stays bounded. Records that an heir has from a keeper: check_kept.c. */
#include "dvm/sim/check_private.h"

#include "dvm/protocol/head/head_state.h"

#include <string.h>

#define STATE_MAX (64u << 20)
#define STATE_SMALL (2u << 10) /* bytes that are compared after each record */
#define SNAPSHOT_EVERY 64      /* records, on average */
#define LOOK_EVERY 8           /* events of the head, on average */

static void begin_fold(struct check *c, const struct journal *j)
{
    BUF_AUTO struct buf b = {0};
    struct err err = {0};

    head_fold_destroy(c->fold);
    c->fold = head_fold_create();
    buf_init(&b, STATE_MAX);
    journal_snapshot(j, &b);
    if (b.failed || head_fold_take(c->fold, b.data, b.len, &err) < 0)
        check_fail(c, "journal-is-the-state", "a snapshot is refused: %s", err.msg);
}

static void compare_states(struct check *c, const struct journal *j, const char *after)
{
    struct buf *own = &c->state_own;
    struct buf *folded = &c->state_folded;
    size_t at = 0;

    buf_reset(own);
    buf_reset(folded);
    journal_save(j, own);
    head_fold_save(c->fold, folded);
    c->journal_skip = own->len / STATE_SMALL;
    if (!own->failed && own->len == folded->len && memcmp(own->data, folded->data, own->len) == 0)
        return;
    while (at < own->len && at < folded->len && own->data[at] == folded->data[at])
        at++;
    check_fail(c, "journal-is-the-state",
               "after %s the fold has %zu bytes, the head %zu; they differ from byte %zu on", after,
               folded->len, own->len, at);
}

/* True unless the state is large, and was compared a few records ago. */
static bool is_turn(struct check *c)
{
    if (c->journal_skip == 0)
        return true;
    c->journal_skip--;
    return false;
}

/* A generator of its own: the schedule of a seed does not depend on this check. */
static bool is_due(struct check *c, unsigned every)
{
    c->journal_random = c->journal_random * 6364136223846793005ull + 1442695040888963407ull;
    return (c->journal_random >> 33) % every == 0;
}

static void on_record(void *arg, const uint8_t *data, size_t len)
{
    struct check *c = arg;
    const struct journal *j = head_journal(core_inspect_head(sim_head(c->sim)));
    struct err err = {0};

    c->made_bytes += len + sizeof(uint32_t);
    if (*c->name)
        return;
    if (head_fold_take(c->fold, data, len, &err) < 0)
        check_fail(c, "journal-is-the-state", "the fold refuses a record: %s", err.msg);
    else if (is_turn(c))
        compare_states(c, j, record_name(data[0]));
    if (is_due(c, SNAPSHOT_EVERY) && is_turn(c)) {
        begin_fold(c, j);
        compare_states(c, j, "a snapshot");
    }
}

void check_journal(struct check *c, const struct core *head)
{
    struct journal *j = head_journal(core_inspect_head(head));

    if (c->journal_life != sim_life(c->sim, 0) || !c->fold) {
        c->journal_life = sim_life(c->sim, 0);
        c->made_bytes = c->kept_bytes = 0;
        if (c->fold &&
            (c->fold_life == c->journal_life || (!sim_has_keepers(c->sim) && core_inherited(head))))
            compare_states(c, j, "the first records on the disk");
        else
            begin_fold(c, j);
        journal_stream_to(j, on_record, c);
    }
    if (!*c->name && is_due(c, LOOK_EVERY) &&
        is_turn(c)) /* state that changes without a record is found here */
        compare_states(c, j, "an event");
}

void check_journal_acts(struct check *c, const struct out_act *act)
{
    bool outside = act->kind == OUT_SEND || act->kind == OUT_CLIENT || act->kind == OUT_EVENT;

    if (outside && c->kept_bytes && c->journal_life == sim_life(c->sim, 0) &&
        c->made_bytes != c->kept_bytes)
        check_fail(c, "accepted-is-kept", "the head acts, and %llu bytes of records are not kept",
                   (unsigned long long)(c->made_bytes - c->kept_bytes));
}

static void ignore_record(void *arg, const uint8_t *data, size_t len)
{
}

void check_journal_aside(void *arg, const struct core *former)
{
    const struct head *h = core_inspect_head(former);
    struct check *c = arg;

    if (!h) /* it asks for records */
        return;
    journal_stream_to(head_journal(h), ignore_record, c);
    if (!sim_stopped(c->sim, SIM_FORMER))
        check_ran_on(c);
}

static void fold_disk(struct check *c, const struct buf *records)
{
    struct cur all = cur_of(records->data, records->len);
    struct err err = {0};

    while (cur_left(&all)) {
        size_t len;
        const uint8_t *data = cur_bytes(&all, RECORD_SNAPSHOT_MAX, &len);

        if (all.bad || head_fold_take(c->fold, data, len, &err) < 0) {
            check_fail(c, "journal-is-the-state", "the fold refuses a record on the disk: %s",
                       all.bad ? "cut" : err.msg);
            return;
        }
    }
}

/* The first records of a process are only there. An heir goes on with those of others, or begins
 * with a snapshot of all. */
void check_journal_disk(struct check *c, const struct core *head, const struct out_records *group)
{
    uint64_t life = sim_life(c->sim, 0);

    if (c->journal_life == life)
        c->kept_bytes = group->anew ? c->made_bytes : c->kept_bytes + group->data.len;
    if (c->journal_life == life || *c->name)
        return;
    if (group->anew || (!core_inherited(head) && c->fold_life != life)) {
        head_fold_destroy(c->fold);
        c->fold = head_fold_create();
        c->fold_life = life;
    }
    fold_disk(c, &group->data);
}

void check_journal_create(struct check *c)
{
    buf_init(&c->state_own, STATE_MAX);
    buf_init(&c->state_folded, STATE_MAX);
}

void check_journal_free(struct check *c)
{
    head_fold_destroy(c->fold);
    buf_free(&c->state_own);
    buf_free(&c->state_folded);
}
