/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the journal, in the order of snapshots. A new part is added at the end. */
#include "dvm/protocol/head/head_state.h"

#include <stdlib.h>

#define ANY_RADIX 2 /* a fold makes no use of the tree */

void head_state_init(struct head_state *s, struct out *out, struct members *members)
{
    s->journal = journal_create(out);
    s->inc = incarnation_create(s->journal);
    s->events = event_log_create(s->journal, out, s->inc);
    s->ops = op_queue_create(s->journal);
    s->bound = size_bound_create(s->journal);
    s->ledger = cpu_ledger_create(s->journal);
    s->roster =
        roster_create(&(struct roster_uses){s->journal, out, members, s->inc, s->bound, s->ledger});
    s->campaigns = campaign_table_create(s->journal);
    s->releases = releases_create(s->journal);
    s->jobs = job_table_create(s->journal);
    s->published = published_create(s->journal);
}

void head_state_free(struct head_state *s)
{
    published_destroy(s->published);
    releases_destroy(s->releases);
    campaign_table_destroy(s->campaigns);
    job_table_destroy(s->jobs);
    roster_destroy(s->roster);
    cpu_ledger_destroy(s->ledger);
    size_bound_destroy(s->bound);
    op_queue_destroy(s->ops);
    event_log_destroy(s->events);
    incarnation_destroy(s->inc);
    journal_destroy(s->journal);
}

struct head_fold {
    struct out out;
    struct members members;
    struct head_state state;
};

struct head_fold *head_fold_create(void)
{
    struct head_fold *f = xcalloc(1, sizeof(*f));

    members_init(&f->members, VPID_HEAD, ANY_RADIX);
    head_state_init(&f->state, &f->out, &f->members);
    return f;
}

void head_fold_destroy(struct head_fold *f)
{
    if (!f)
        return;
    head_state_free(&f->state);
    members_free(&f->members);
    out_free(&f->out);
    free(f);
}

int head_fold_take(struct head_fold *f, const void *data, size_t len, struct err *err)
{
    return journal_replay(f->state.journal, data, len, err);
}

void head_fold_save(const struct head_fold *f, struct buf *b)
{
    journal_save(f->state.journal, b);
}
