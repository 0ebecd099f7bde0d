/* SPDX-License-Identifier: BSD-3-Clause */
/* The size in force, numbered by the operator, and the bound of vpids that follows from it.
 *
 * In: size messages of the operator, each with a sequence number; bounds that campaigns compute
 * (campaign_bound). Out: the bound, which limits admissions and the jobs that can ever fit.
 *
 * A size message replaces size, base and bound. Campaigns that were accepted later change the
 * bound on top of the base; a campaign whose record is forgotten leaves its change in the base.
 * An older message, and the same sequence with another content, are refused. */
#include "dvm/protocol/head/members/size_bound.h"

#include "dvm/protocol/wire/msg/msg.h"

#include <stdlib.h>

struct size_bound {
    uint32_t first; /* given at the start */
    uint64_t sequence;
    uint32_t size, bound, base;
    struct api_size_limits limits;
};

struct size_bound *size_bound_create(uint32_t size)
{
    struct size_bound *b = xcalloc(1, sizeof(*b));

    b->first = b->size = b->bound = b->base = size;
    return b;
}

void size_bound_destroy(struct size_bound *b)
{
    free(b);
}

uint32_t size_bound_now(const struct size_bound *b)
{
    return b->bound;
}

void size_bound_set(struct size_bound *b, uint32_t bound)
{
    b->bound = bound;
}

uint32_t size_bound_base(const struct size_bound *b)
{
    return b->base;
}

void size_bound_rebase(struct size_bound *b, uint32_t base)
{
    b->base = base;
}

uint32_t size_bound_known(const struct size_bound *b)
{
    return b->size > b->bound ? b->size : b->bound;
}

uint64_t size_bound_sequence(const struct size_bound *b)
{
    return b->sequence;
}

bool size_bound_given(const struct size_bound *b)
{
    return b->sequence || b->first;
}

const struct api_size_limits *size_bound_limits(const struct size_bound *b)
{
    return &b->limits;
}

struct api_size size_bound_record(const struct size_bound *b)
{
    return (struct api_size){b->sequence, b->bound, b->limits};
}

int size_bound_put(struct size_bound *b, const struct api_size *s, enum api_reason *reason,
                   struct err *err)
{
    bool changes = b->bound != s->members;

    if (s->sequence < b->sequence) {
        *reason = API_REASON_SEQUENCE_TOO_OLD;
        return err_code(err, 409, "size sequence %llu is older than %llu, which is in force",
                        (unsigned long long)s->sequence, (unsigned long long)b->sequence);
    }
    if (s->sequence == b->sequence && s->sequence) {
        if (s->members == b->size && api_size_limits_equal(&s->limits, &b->limits))
            return 0;
        *reason = API_REASON_SEQUENCE_TOO_OLD;
        return err_code(err, 409, "size sequence %llu has been used for %u members%s",
                        (unsigned long long)s->sequence, b->size,
                        s->members == b->size ? ", within other limits" : "");
    }
    if (s->members > VPID_MAX) {
        *reason = API_REASON_BAD_REQUEST;
        return err_code(err, 400, "members: %u is over the limit %u", s->members, VPID_MAX);
    }
    b->sequence = s->sequence;
    b->size = b->base = b->bound = s->members;
    b->limits = s->limits;
    return changes;
}
