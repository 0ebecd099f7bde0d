/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the bounds of a status: what the API server would refuse is not in it. */
#include "operator/status/test/built.h"

static void report(struct fix *f, const char *id, const char *job)
{
    struct api_campaign *c = &f->reported[f->view.ncampaigns++];

    *c = (struct api_campaign){.id = (char *)id, .phase = API_PHASE_DRAINING, .ntargets = 1};
    c->requester.job = (char *)job;
    c->targets = f->reported_targets[0];
    c->targets[0] = 3;
}

/* Ids and numbers are keys of their lists. */
static void what_the_head_reports_twice_is_listed_once(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.record.grants = (struct cluster_grants){.seen = 7};
    report(&f, "release-1", NULL);
    report(&f, "release-1", NULL);
    report(&f, "alloc-7", "job");
    report(&f, "alloc-7", "job");
    json_t *s = build_status(&f);
    const json_t *grants = json_object_get(s, "grants");
    assert_int_equal(json_array_size(json_object_get(s, "releases")), 2);
    assert_int_equal(json_array_size(json_object_get(grants, "owners")), 1);
    json_decref(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_head_reports_twice_is_listed_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
