/* SPDX-License-Identifier: BSD-3-Clause */
/* The status of a cluster in the fixture, and the fields of its conditions. */
#ifndef OPERATOR_STATUS_TEST_BUILT_H
#define OPERATOR_STATUS_TEST_BUILT_H

#include "operator/plan/test/fixture.h"
#include "operator/status/status.h"

static inline json_t *build_status(struct fix *f)
{
    PLAN_AUTO struct plan *p = plan_make(fix_ages(f));

    return status_build(&f->in, p, NULL);
}

/* Fails the test if there is no condition of this type. */
static inline const char *find_field(const json_t *status, const char *type, const char *field)
{
    const json_t *c;
    size_t i;

    json_array_foreach(json_object_get(status, "conditions"), i, c)
    {
        if (strcmp(json_string_value(json_object_get(c, "type")), type) == 0)
            return json_string_value(json_object_get(c, field));
    }
    fail_msg("no condition %s", type);
    return NULL;
}

#endif
