/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the status while pods are replaced or missing, and after a restart of the operator. */
#include "operator/status/test/built.h"

static void assert_condition(const json_t *status, const char *type, const char *value,
                             const char *reason, const char *message)
{
    assert_string_equal(find_field(status, type, "status"), value);
    assert_string_equal(find_field(status, type, "reason"), reason);
    if (!strstr(find_field(status, type, "message"), message))
        fail_msg("'%s' does not say '%s'", find_field(status, type, "message"), message);
}

/* The update of member 8 is recorded; the head reports it in `phase`. */
static void fix_update(struct fix *f, enum cluster_phase recorded, int phase)
{
    fix_settled(f);
    f->c.update.max_unavailable = 1;
    f->in.child[CLUSTER_MEMBER_SET].revision = "x-5d";
    for (size_t i = 1; i < f->in.npods; i++)
        f->pods[i].outdated = f->pods[i].changed = true;
    fix_shrink(f, 8, 8, recorded, phase);
    f->c.record.campaign.kind = CLUSTER_UPDATE;
    f->view.size_members = 8;
    f->members[7].state = MEMBER_DRAINING;
}

static void a_draining_update_names_the_jobs_and_how_far_it_is(void **state)
{
    uint32_t rank = 0;
    struct api_job_ref job = {.job = (char *)"j", .nranks = 1, .ranks = &rank};
    struct fix f;

    fix_update(&f, CLUSTER_DRAINING, API_PHASE_DRAINING);
    f.reported[0].nwaiting = 1;
    f.reported[0].waiting = &job;
    json_t *s = build_status(&f);
    assert_condition(s, "Progressing", "True", "Updating",
                     "daemon 8: being replaced; the drain waits for 1 job: j (1 rank); 0 of 8 "
                     "members have the present template.");
    assert_condition(s, "Resizing", "True", "Updating", "daemon 8");
    assert_condition(s, "Ready", "False", "Updating", "daemon 8");
    assert_int_equal(json_integer_value(json_object_get(s, "updatedReplicas")), 0);
    assert_string_equal(json_string_value(json_object_get(s, "revision")), "x-5d");
    json_decref(s);
}

static void between_two_campaigns_the_update_goes_on(void **state)
{
    struct fix f;

    fix_update(&f, CLUSTER_DRAINING, API_PHASE_DRAINING);
    memset(&f.c.record.campaign, 0, sizeof(f.c.record.campaign));
    f.view.ncampaigns = 0;
    f.pods[8].outdated = f.pods[8].changed = false;
    f.members[7].state = MEMBER_REPORTED; /* the new daemon joins */
    json_t *s = build_status(&f);
    assert_condition(s, "Progressing", "True", "Updating", "1 of 8 members have the present");
    assert_condition(s, "Progressing", "True", "Updating", "7 are wired");
    assert_int_equal(json_integer_value(json_object_get(s, "updatedReplicas")), 1);
    json_decref(s);
}

static void the_head_s_pod_is_the_last_and_the_status_says_what_it_waits_for(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.disruption.head = 1;
    f.pods[0].outdated = f.pods[0].changed = true;
    json_t *s = build_status(&f);
    assert_condition(s, "Progressing", "True", "Updating", "x-head-0 is replaced when no job");
    assert_condition(s, "Ready", "False", "Updating", "x-head-0");
    json_decref(s);
    f.c.disruption.head = 0;
    s = build_status(&f);
    assert_condition(s, "Progressing", "False", "OutdatedPods", "x-head-0");
    json_decref(s);
}

static void a_pod_that_cannot_start_pauses_it_with_the_reason(void **state)
{
    struct fix f;

    fix_update(&f, CLUSTER_DRAINING, API_PHASE_DRAINING);
    memset(&f.c.record.campaign, 0, sizeof(f.c.record.campaign));
    f.view.ncampaigns = 0;
    f.pods[8] = (struct plan_pod){.name = "x-8",
                                  .uid = "new",
                                  .vpid = 8,
                                  .image = "img:2",
                                  .node = "n",
                                  .waiting = "ImagePullBackOff"};
    f.members[7].state = MEMBER_PARKED;
    PLAN(f);
    assert_actions(p, "");
    json_t *s = build_status(&f);
    assert_condition(s, "Progressing", "False", "ImagePullFailed", "x-8");
    json_decref(s);
}

static void a_pod_that_left_its_set_is_missing_although_its_daemon_is_wired(void **state)
{
    static const char *const said = "8 of 8 members are wired, 7 pods exist.";
    struct fix f;

    fix_settled(&f);
    f.pods[2] = f.pods[8];
    f.in.npods--;
    f.in.child[CLUSTER_MEMBER_SET].lacks_pods = true;
    json_t *s = build_status(&f);
    assert_condition(s, "Available", "True", "AllMembersWired", "");
    assert_condition(s, "Progressing", "True", "Growing", said);
    assert_condition(s, "Resizing", "True", "Growing", said);
    assert_condition(s, "Ready", "False", "Growing", said);
    json_decref(s);
}

static void a_silent_head_replaces_nothing(void **state)
{
    struct fix f;

    fix_update(&f, CLUSTER_DRAINING, API_PHASE_DRAINING);
    fix_head_down(&f, FIX_NOW - 60000);
    json_t *s = build_status(&f);
    assert_condition(s, "Progressing", "True", "HeadUnreachable", "No pod is replaced until");
    json_decref(s);
}

static void collect(bool warning, enum reason reason, const char *note, void *arg)
{
    char *said = arg;
    size_t n = strlen(said);

    snprintf(said + n, 512 - n, "%s%s: %s;", warning ? "!" : "", reason_word(reason), note);
}

static void its_beginning_and_end_are_events(void **state)
{
    struct fix f;
    char said[512] = "";

    fix_update(&f, CLUSTER_RECORDED, -1);
    json_t *b = build_status(&f);
    json_t *a = json_deep_copy(b);
    json_object_del(a, "campaign");
    status_events(a, b, collect, said);
    assert_string_equal(said, "UpdateRecorded: Campaign shrink-2: daemon 8 will be replaced;");
    json_t *c = json_deep_copy(b);
    json_object_set_new(json_object_get(c, "campaign"), "phase", json_string("Draining"));
    said[0] = '\0';
    status_events(b, c, collect, said);
    assert_string_equal(said, "");
    json_t *d = json_deep_copy(a);
    json_t *last = json_deep_copy(json_object_get(b, "campaign"));
    json_object_set_new(last, "phase", json_string("Complete"));
    json_object_set_new(d, "lastCampaign", last);
    status_events(c, d, collect, said);
    assert_string_equal(said,
                        "UpdateComplete: Campaign shrink-2: daemon 8 left the DVM and its pod "
                        "is replaced;");
    json_decref(a);
    json_decref(b);
    json_decref(c);
    json_decref(d);
}

static void a_restart_of_the_operator_alone_changes_no_status(void **state)
{
    struct fix f;

    fix_settled(&f);
    json_t *before = build_status(&f);
    f.c.status = before;
    f.c.conditions = json_object_get(before, "conditions");
    f.in.head = (struct plan_head){.link = PLAN_LINK_CONNECTING};
    json_t *s = build_status(&f);
    assert_int_equal(json_integer_value(json_object_get(s, "readyReplicas")), 8);
    assert_true(json_equal(s, before));
    json_decref(s);
    json_decref(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_draining_update_names_the_jobs_and_how_far_it_is),
        cmocka_unit_test(between_two_campaigns_the_update_goes_on),
        cmocka_unit_test(the_head_s_pod_is_the_last_and_the_status_says_what_it_waits_for),
        cmocka_unit_test(a_pod_that_cannot_start_pauses_it_with_the_reason),
        cmocka_unit_test(a_pod_that_left_its_set_is_missing_although_its_daemon_is_wired),
        cmocka_unit_test(a_silent_head_replaces_nothing),
        cmocka_unit_test(its_beginning_and_end_are_events),
        cmocka_unit_test(a_restart_of_the_operator_alone_changes_no_status),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
