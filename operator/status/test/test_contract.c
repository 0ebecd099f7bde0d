/* SPDX-License-Identifier: BSD-3-Clause */
/* C22 of the contract: the status names each change, whoever begins it, and `Available` is true if
 * and only if a job of one rank would start. ci/contract.txt has the mutants under which these
 * fail. */
#include "operator/status/test/built.h"

static void assert_says(const json_t *status, const char *type, const char *reason,
                        const char *words)
{
    assert_string_equal(find_field(status, type, "reason"), reason);
    if (!strstr(find_field(status, type, "message"), words))
        fail_msg("'%s' does not say '%s'", find_field(status, type, "message"), words);
}

static void note_event(bool warning, enum reason reason, const char *note, void *arg)
{
    char *said = arg;
    size_t n = strlen(said);

    snprintf(said + n, 512 - n, "%s: %s\n", reason_word(reason), note);
}

static void assert_events(const json_t *before, const json_t *after, const char *want)
{
    char said[512] = "";

    status_events(before, after, note_event, said);
    assert_string_equal(said, want);
}

/* The status that was read is the one of the last pass. */
static void read_back(struct fix *f, const json_t *status)
{
    f->c.status = (json_t *)status;
}

/* The head and two members, in each combination of states and slots, behind each state of the
 * connection. */
static void c22_available_is_true_if_and_only_if_a_job_of_one_rank_would_start(void **state)
{
    static const enum plan_link links[] = {PLAN_LINK_UP, PLAN_LINK_DOWN};

    for (unsigned n = 0; n < 2 * MEMBER_STATES * MEMBER_STATES * 8; n++) {
        struct fix f;
        bool starts = false;

        fix_settled(&f);
        f.c.replicas = 2;
        f.in.child[CLUSTER_MEMBER_SET].replicas = 2;
        f.view.size_members = 2;
        fix_wire(&f, 3);
        for (uint32_t v = 0; v < 3; v++) {
            unsigned states = n / 16;

            f.members[v].vpid = v;
            f.members[v].slots = n >> (v + 1) & 1;
            if (v > 0)
                f.members[v].state = v == 1 ? states % MEMBER_STATES : states / MEMBER_STATES;
            starts = starts || (f.members[v].state == MEMBER_WIRED && f.members[v].slots);
        }
        if (links[n % 2] == PLAN_LINK_DOWN)
            fix_head_down(&f, FIX_NOW);
        starts = starts && links[n % 2] == PLAN_LINK_UP;
        json_t *s = build_status(&f);
        assert_string_equal(find_field(s, "Available", "status"), starts ? "True" : "False");
        json_decref(s);
    }
}

static struct api_campaign *add_release(struct fix *f, const struct api_job_ref *job)
{
    struct api_campaign *c = &f->reported[f->view.ncampaigns++];

    *c = (struct api_campaign){
        .id = (char *)"release-1", .keeps_size = true, .phase = API_PHASE_DRAINING, .ntargets = 1};
    c->targets = f->reported_targets[0];
    c->targets[0] = 3;
    c->nwaiting = 1;
    c->waiting = (struct api_job_ref *)(uintptr_t)job;
    return c;
}

static uint32_t some_rank;
static const struct api_job_ref some_job = {
    .job = (char *)"sim-7", .nranks = 1, .ranks = &some_rank};

static void c22_a_change_that_others_begin_names_its_members_and_the_jobs_it_waits_for(void **state)
{
    struct fix f;

    fix_settled(&f);
    json_t *calm = build_status(&f);
    add_release(&f, &some_job);
    json_t *s = build_status(&f);
    assert_says(s, "Resizing", "Draining", "daemon 3: leaving by campaign release-1");
    assert_says(s, "Progressing", "Draining", "the drain waits for 1 job: sim-7 (1 rank)");
    assert_events(calm, s, "MembersLeaving: Campaign release-1: daemon 3 will leave\n");
    json_decref(calm);
    json_decref(s);
}

static void c22_the_end_of_a_change_that_others_began_is_reported_once(void **state)
{
    struct fix f;

    fix_settled(&f);
    struct api_campaign *c = add_release(&f, &some_job);
    json_t *runs = build_status(&f);
    read_back(&f, runs);
    c->phase = API_PHASE_COMPLETE;
    c->nwaiting = 0;
    json_t *ended = build_status(&f);
    assert_says(ended, "Resizing", "Stable", "No member is joining or leaving.");
    assert_events(runs, ended, "MembersReleased: Campaign release-1: daemon 3 left the DVM\n");
    read_back(&f, ended);
    json_t *later = build_status(&f);
    assert_null(json_object_get(later, "releases"));
    assert_events(ended, later, "");
    json_decref(runs);
    json_decref(ended);
    json_decref(later);
}

static void c22_a_set_that_was_scaled_by_hand_is_shown_as_a_change(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.in.child[CLUSTER_MEMBER_SET].replicas = 6; /* the pods 7 and 8 end, by releases */
    json_t *s = build_status(&f);
    assert_says(s, "Resizing", "Growing", "8 of 8 members are wired");
    assert_string_equal(find_field(s, "Ready", "status"), "False");
    json_decref(s);
}

static void c22_a_loss_names_member_node_and_cause(void **state)
{
    struct fix f;
    json_t *losses =
        json_pack("[{s:i, s:s, s:s, s:s}]", "vpid", 3, "time", "t", "node", "n", "cause", "silent");

    fix_settled(&f);
    json_t *before = build_status(&f);
    read_back(&f, before);
    f.members[2].state = MEMBER_LOST;
    f.pods[3].node = "n";
    f.in.news.losses = losses;
    json_t *after = build_status(&f);
    assert_says(after, "Degraded", "MembersLost", "Daemon 3 (node n): lost, and not back yet.");
    assert_events(before, after, "MemberLost: Daemon 3 (node n) is lost: silent\n");
    json_decref(losses);
    json_decref(before);
    json_decref(after);
}

static void c22_the_cause_of_a_loss_that_is_known_later_is_added_to_it(void **state)
{
    struct fix f;
    json_t *first = json_pack("[{s:i, s:s, s:s}]", "vpid", 3, "time", "t", "cause", "silent");
    json_t *more = json_pack("[{s:i, s:s, s:s}]", "vpid", 3, "time", "t", "cause", "silent; OOM");

    fix_settled(&f);
    f.in.news.losses = first;
    json_t *before = build_status(&f);
    read_back(&f, before);
    f.in.news.losses = more;
    json_t *after = build_status(&f);
    assert_int_equal(json_array_size(json_object_get(after, "losses")), 1);
    assert_events(before, after, "LossExplained: Daemon 3 is lost: silent; OOM\n");
    json_decref(first);
    json_decref(more);
    json_decref(before);
    json_decref(after);
}

static void c22_pods_that_do_not_come_are_explained_by_who_keeps_them_away(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.in.npods = 6; /* the head and five members */
    fix_wire(&f, 5);
    f.in.child[CLUSTER_MEMBER_SET].refusal = "exceeded quota: few";
    json_t *s = build_status(&f);
    assert_says(s, "Progressing", "FailedCreate",
                "StatefulSet x: the API server takes no further pod: exceeded quota: few");
    assert_says(s, "Degraded", "FailedCreate", "exceeded quota: few");
    assert_says(s, "Available", "SomeMembersWired", "5 of 8 members are wired.");
    json_decref(s);
    f.in.child[CLUSTER_HEAD_SET].refusal = "exceeded quota: none";
    fix_head_down(&f, FIX_NOW);
    s = build_status(&f);
    assert_says(s, "Available", "FailedCreate", "StatefulSet x-head: ");
    json_decref(s);
}

static void a_pod_that_is_in_the_way_of_a_missing_one_is_named(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.in.npods = 6; /* the head and five members */
    fix_wire(&f, 5);
    f.in.child[CLUSTER_MEMBER_SET].refusal = "exceeded quota: few";
    f.in.child[CLUSTER_MEMBER_SET].pod_in_the_way = "x-6";
    json_t *s = build_status(&f);
    assert_says(s, "Progressing", "NotOwned",
                "Pod x-6 exists and StatefulSet x does not control it");
    assert_says(s, "Degraded", "NotOwned", "Pod x-6");
    assert_says(s, "Available", "SomeMembersWired", "5 of 8 members are wired.");
    json_decref(s);
    f.in.child[CLUSTER_HEAD_SET].pod_in_the_way = "x-head-0";
    fix_head_down(&f, FIX_NOW);
    s = build_status(&f);
    assert_says(s, "Available", "NotOwned",
                "Pod x-head-0 exists and StatefulSet x-head does not control it");
    json_decref(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c22_available_is_true_if_and_only_if_a_job_of_one_rank_would_start),
        cmocka_unit_test(
            c22_a_change_that_others_begin_names_its_members_and_the_jobs_it_waits_for),
        cmocka_unit_test(c22_the_end_of_a_change_that_others_began_is_reported_once),
        cmocka_unit_test(c22_a_set_that_was_scaled_by_hand_is_shown_as_a_change),
        cmocka_unit_test(c22_a_loss_names_member_node_and_cause),
        cmocka_unit_test(c22_the_cause_of_a_loss_that_is_known_later_is_added_to_it),
        cmocka_unit_test(c22_pods_that_do_not_come_are_explained_by_who_keeps_them_away),
        cmocka_unit_test(a_pod_that_is_in_the_way_of_a_missing_one_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
