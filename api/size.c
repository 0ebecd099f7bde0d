/* SPDX-License-Identifier: BSD-3-Clause */
/* The size message and the shutdown message: encode and decode side by side. */
#include "api/size.h"

#include "api/fields.h"

int api_size_decode(const json_t *body, struct api_size *out, struct err *err)
{
    *out = (struct api_size){0};
    struct fields f = fields_of(body, err);
    out->sequence = fields_u64(&f, "sequence", INT64_MAX);
    out->members = (uint32_t)fields_u64(&f, "members", API_TARGETS_MAX);
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
    return o;
}

int api_shutdown_decode(const json_t *body, struct api_shutdown *out, struct err *err)
{
    *out = (struct api_shutdown){0};
    struct fields f = fields_of(body, err);
    out->deadline_s = (int64_t)fields_u64(&f, "deadlineSeconds", API_DEADLINE_MAX);
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
