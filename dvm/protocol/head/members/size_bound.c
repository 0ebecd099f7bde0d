/* SPDX-License-Identifier: BSD-3-Clause */
/* The size in force, numbered by the operator, and the bound of vpids that follows from it.
 *
 * In: size messages of the operator, each with a sequence number; bounds that campaigns compute
 * (campaign_bound). Out: the bound, which limits admissions and the jobs that can ever fit.
 *
 * A size message replaces size, base and bound. Campaigns that were accepted later change the
 * bound on top of the base; a campaign whose record is forgotten leaves its change in the base.
 * An older message, and the same sequence with another content, are refused.
 *
 * All of it is in the journal: BEGIN, or MEMBERS, has the first size, SIZE the values after each
 * change. */
#include "dvm/protocol/head/members/size_bound.h"

#include "dvm/protocol/wire/msg/msg.h"

#include <stdlib.h>

struct size_bound {
    struct journal *journal;
    uint32_t first; /* given at the start */
    struct record_size now;
};

static int fold_record(void *state, const struct record *r, struct err *err)
{
    struct size_bound *b = state;

    if (r->type == RECORD_BEGIN || r->type == RECORD_MEMBERS) {
        b->first = r->type == RECORD_BEGIN ? r->begin.size : r->members.size;
        b->now = (struct record_size){.size = b->first, .bound = b->first, .base = b->first};
    } else if (r->type == RECORD_SIZE) {
        b->now = r->size;
    }
    return 0;
}

static void save_state(const void *state, struct buf *b)
{
    const struct size_bound *s = state;

    buf_put_u32(b, s->first);
    record_put_size(b, &s->now);
}

static int load_state(void *state, struct cur *c, struct err *err)
{
    struct size_bound *b = state;

    b->first = cur_u32(c);
    return record_get_size(c, &b->now, err);
}

struct size_bound *size_bound_create(struct journal *j)
{
    struct size_bound *b = xcalloc(1, sizeof(*b));
    struct journal_part part = {b, fold_record, save_state, load_state};

    b->journal = j;
    journal_add_part(j, &part);
    return b;
}

static void record_change(struct size_bound *b, const struct record_size *now)
{
    struct record r = {.type = RECORD_SIZE, .size = *now};

    journal_note(b->journal, &r);
}

void size_bound_destroy(struct size_bound *b)
{
    free(b);
}

uint32_t size_bound_now(const struct size_bound *b)
{
    return b->now.bound;
}

void size_bound_set(struct size_bound *b, uint32_t bound)
{
    struct record_size now = b->now;

    now.bound = bound;
    if (bound != b->now.bound)
        record_change(b, &now);
}

uint32_t size_bound_base(const struct size_bound *b)
{
    return b->now.base;
}

void size_bound_rebase(struct size_bound *b, uint32_t base)
{
    struct record_size now = b->now;

    now.base = base;
    if (base != b->now.base)
        record_change(b, &now);
}

uint32_t size_bound_known(const struct size_bound *b)
{
    return b->now.size > b->now.bound ? b->now.size : b->now.bound;
}

uint64_t size_bound_sequence(const struct size_bound *b)
{
    return b->now.sequence;
}

bool size_bound_given(const struct size_bound *b)
{
    return b->now.sequence || b->first;
}

const struct api_size_limits *size_bound_limits(const struct size_bound *b)
{
    return &b->now.limits;
}

struct api_size size_bound_record(const struct size_bound *b)
{
    return (struct api_size){b->now.sequence, b->now.bound, b->now.limits};
}

int size_bound_put(struct size_bound *b, const struct api_size *s, enum api_reason *reason,
                   struct err *err)
{
    struct record_size now;
    bool changes = b->now.bound != s->members;

    if (s->sequence < b->now.sequence) {
        *reason = API_REASON_SEQUENCE_TOO_OLD;
        return err_code(err, 409, "size sequence %llu is older than %llu, which is in force",
                        (unsigned long long)s->sequence, (unsigned long long)b->now.sequence);
    }
    if (s->sequence == b->now.sequence && s->sequence) {
        if (s->members == b->now.size && api_size_limits_equal(&s->limits, &b->now.limits))
            return 0;
        *reason = API_REASON_SEQUENCE_TOO_OLD;
        return err_code(err, 409, "size sequence %llu has been used for %u members%s",
                        (unsigned long long)s->sequence, b->now.size,
                        s->members == b->now.size ? ", within other limits" : "");
    }
    if (vpid_check("members", s->members, err) < 0) {
        *reason = API_REASON_BAD_REQUEST;
        return -1;
    }
    now = (struct record_size){s->sequence, s->members, s->members, s->members, s->limits};
    record_change(b, &now);
    return changes;
}
