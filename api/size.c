/* SPDX-License-Identifier: BSD-3-Clause */
/* The size message and the shutdown message: encode and decode side by side. */
#include "api/size.h"

#include "api/fields.h"

bool api_size_limits_equal(const struct api_size_limits *a, const struct api_size_limits *b)
{
    return a->set == b->set && a->min == b->min && a->max == b->max;
}

void api_size_limits_decode(struct fields *f, struct api_size_limits *out)
{
    uint64_t none = (uint64_t)API_TARGETS_MAX + 1;
    uint64_t min = fields_u64_or(f, "min", API_TARGETS_MAX, none);
    uint64_t max = fields_u64_or(f, "max", API_TARGETS_MAX, none);

    *out = (struct api_size_limits){.set = !f->bad && (min != none || max != none)};
    if (!out->set)
        return;
    out->min = min == none ? 0 : (uint32_t)min;
    out->max = max == none ? API_TARGETS_MAX : (uint32_t)max;
    if (out->min > out->max)
        fields_refuse(f, "min", "%u is over max, %u", out->min, out->max);
}

void api_size_limits_encode(json_t *o, const struct api_size_limits *l)
{
    if (!l->set)
        return;
    fields_put_u64(o, "min", l->min);
    fields_put_u64(o, "max", l->max);
}

int api_size_decode(const json_t *body, struct api_size *out, struct err *err)
{
    *out = (struct api_size){0};
    struct fields f = fields_of(body, err);
    out->sequence = fields_u64(&f, "sequence", INT64_MAX);
    out->members = (uint32_t)fields_u64(&f, "members", API_TARGETS_MAX);
    fields_only(&f, (const char *const[]){"sequence", "members", "min", "max", NULL});
    api_size_limits_decode(&f, &out->limits);
    if (!f.bad)
        return 0;
    *out = (struct api_size){0};
    return -1;
}

json_t *api_size_encode(const struct api_size *s)
{
    json_t *o = json_object();

    fields_put_u64(o, "sequence", s->sequence);
    fields_put_u64(o, "members", s->members);
    api_size_limits_encode(o, &s->limits);
    return o;
}

int api_shutdown_decode(const json_t *body, struct api_shutdown *out, struct err *err)
{
    *out = (struct api_shutdown){0};
    struct fields f = fields_of(body, err);
    out->deadline_s = (int64_t)fields_u64(&f, "deadlineSeconds", API_DEADLINE_MAX);
    fields_only(&f, (const char *const[]){"deadlineSeconds", NULL});
    if (!f.bad)
        return 0;
    *out = (struct api_shutdown){0};
    return -1;
}

json_t *api_shutdown_encode(const struct api_shutdown *s)
{
    json_t *o = json_object();

    fields_put_i64(o, "deadlineSeconds", s->deadline_s);
    return o;
}
