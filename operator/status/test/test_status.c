/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the status: conditions, and the Events between two statuses. */
#include "operator/plan/test/fixture.h"
#include "operator/status/status.h"

static json_t *build(struct fix *f, const struct status_trouble *trouble)
{
    PLAN_AUTO struct plan *p = plan_make(&f->in);

    return status_build(&f->in, p, trouble);
}

static const json_t *condition(const json_t *status, const char *type)
{
    const json_t *list = json_object_get(status, "conditions"), *c;
    size_t i;

    json_array_foreach((json_t *)list, i, c)
    {
        if (strcmp(json_string_value(json_object_get(c, "type")), type) == 0)
            return c;
    }
    return NULL;
}

static const char *word(const json_t *status, const char *type, const char *key)
{
    const char *s = json_string_value(json_object_get(condition(status, type), key));

    return s ? s : "(none)";
}

#define assert_condition(status, type, value, reason)                                              \
    do {                                                                                           \
        assert_string_equal(word(status, type, "status"), value);                                  \
        assert_string_equal(word(status, type, "reason"), reason);                                 \
    } while (0)

/* Makes `status` the present status of the cluster. */
static void settle(struct fix *f, json_t *status)
{
    json_decref(f->c.conditions);
    f->c.conditions = json_incref(json_object_get(status, "conditions"));
    json_decref(status);
}

static void unsettle(struct fix *f)
{
    json_decref(f->c.conditions);
    f->c.conditions = NULL;
}

static void a_status_never_reports_the_wanted_as_reached(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.replicas = 9;
    f.in.npods = 6; /* the head and five members */
    fix_wire(&f, 3);
    json_t *s = build(&f, NULL);
    assert_int_equal(json_integer_value(json_object_get(s, "replicas")), 5);
    assert_int_equal(json_integer_value(json_object_get(s, "readyReplicas")), 3);
    assert_int_equal(json_integer_value(json_object_get(s, "desiredReplicas")), 9);
    assert_condition(s, "Available", "True", "SomeMembersWired");
    assert_condition(s, "Ready", "False", "Growing");
    assert_condition(s, "Degraded", "False", "AsExpected");
    assert_condition(s, "Resizing", "True", "Growing");
    json_decref(s);
}

static void an_unreachable_head_is_reported_with_its_time_and_a_remedy(void **state)
{
    struct fix f;

    fix_settled(&f);
    fix_head_down(&f, 1699999999000);
    json_t *s = build(&f, NULL);
    assert_condition(s, "Available", "False", "HeadUnreachable");
    const char *m = word(s, "Available", "message");
    assert_non_null(strstr(m, "since 2023-11-14T22:13:19Z"));
    assert_non_null(strstr(m, "pod x-head-0"));
    assert_int_equal(json_integer_value(json_object_get(s, "readyReplicas")), 0);
    json_decref(s);
}

static void a_message_is_constant_while_the_situation_lasts(void **state)
{
    struct fix f;

    fix_settled(&f);
    fix_head_down(&f, 1699999999000);
    json_t *a = build(&f, NULL);
    f.c.conditions = json_incref(json_object_get(a, "conditions"));
    f.in.now_ms += 60000;
    json_t *b = build(&f, NULL);
    assert_true(json_equal(a, b));
    json_decref(a);
    json_decref(b);
    unsettle(&f);
}

static void conditions_are_kept_while_connecting(void **state)
{
    struct fix f;

    fix_settled(&f);
    settle(&f, build(&f, NULL));
    f.in.head = (struct plan_head){.link = PLAN_LINK_CONNECTING};
    json_t *s = build(&f, NULL);
    assert_condition(s, "Available", "True", "AllMembersWired");
    assert_condition(s, "Resizing", "False", "Stable");
    json_decref(s);
    unsettle(&f);
}

static void an_image_that_cannot_be_pulled_is_named(void **state)
{
    struct fix f;

    fix_settled(&f);
    memset(&f.c.record, 0, sizeof(f.c.record));
    fix_head_down(&f, FIX_NOW);
    f.pods[0].running_since_ms = 0;
    f.pods[0].waiting = "ImagePullBackOff";
    f.pods[0].image = "no/such:1";
    json_t *s = build(&f, NULL);
    assert_condition(s, "Available", "False", "ImagePullFailed");
    assert_condition(s, "Progressing", "False", "ImagePullFailed");
    assert_non_null(strstr(word(s, "Progressing", "message"), "no/such:1"));
    json_decref(s);
}

static void trouble_with_the_api_server_has_the_servers_message(void **state)
{
    struct fix f;
    struct status_trouble t = {.reason = REASON_TEMPLATE_REFUSED,
                               .message = "violates PodSecurity"};

    fix_settled(&f);
    json_t *s = build(&f, &t);
    assert_condition(s, "Progressing", "False", "TemplateRefused");
    assert_string_equal(word(s, "Progressing", "message"), "violates PodSecurity");
    assert_condition(s, "Available", "True", "AllMembersWired");
    json_decref(s);
}

static void a_foreign_object_is_named(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.in.child[CLUSTER_HEAD_SET] = (struct plan_child_seen){.foreign = true};
    json_t *s = build(&f, NULL);
    assert_condition(s, "Progressing", "False", "NotOwned");
    assert_non_null(strstr(word(s, "Progressing", "message"), "StatefulSet x-head"));
    json_decref(s);
}

static void an_object_left_by_an_earlier_cluster_is_named_with_the_way_out(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.in.child[CLUSTER_MEMBER_SET] = (struct plan_child_seen){.foreign = true, .orphaned = true};
    json_t *s = build(&f, NULL);
    assert_condition(s, "Progressing", "False", "NotOwned");
    const char *message = word(s, "Progressing", "message");
    assert_non_null(strstr(message, "StatefulSet x has no owner"));
    assert_non_null(
        strstr(message, "kubectl delete statefulset,service,poddisruptionbudget,secret"));
    json_decref(s);
}

static void a_settled_cluster_is_available(void **state)
{
    struct fix f;

    fix_settled(&f);
    json_t *s = build(&f, NULL);
    assert_condition(s, "Available", "True", "AllMembersWired");
    assert_condition(s, "Progressing", "False", "UpToDate");
    assert_condition(s, "Resizing", "False", "Stable");
    assert_condition(s, "Suspended", "False", "NotRequested");
    assert_int_equal(
        json_integer_value(json_object_get(condition(s, "Available"), "observedGeneration")), 3);
    json_decref(s);
}

static void it_stays_available_while_it_grows_or_has_lost_a_member(void **state)
{
    struct fix f;

    fix_settled(&f);
    settle(&f, build(&f, NULL));
    fix_wire(&f, 7);
    json_t *s = build(&f, NULL);
    assert_condition(s, "Available", "True", "SomeMembersWired");
    settle(&f, s);
    fix_wire(&f, 0);
    s = build(&f, NULL);
    assert_condition(s, "Available", "False", "Forming");
    json_decref(s);
    unsettle(&f);
}

static void with_two_of_eight_wired_after_a_restart_of_the_head_jobs_can_start(void **state)
{
    struct fix f;

    fix_settled(&f);
    settle(&f, build(&f, NULL));
    snprintf(f.view.incarnation, sizeof(f.view.incarnation), FIX_OTHER_LIFE);
    fix_wire(&f, 2);
    json_t *s = build(&f, NULL);
    assert_condition(s, "Available", "True", "SomeMembersWired");
    json_decref(s);
    unsettle(&f);
}

static void without_a_wired_daemon_that_has_slots_no_job_can_start(void **state)
{
    struct fix f;

    fix_settled(&f);
    fix_wire(&f, 2);
    f.members[0].slots = 0;
    f.members[1].state = MEMBER_DRAINING;
    json_t *s = build(&f, NULL);
    assert_condition(s, "Available", "False", "MembersLeaving");
    json_decref(s);
}

static void a_head_without_members_runs_jobs_only_with_slots_of_its_own(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.replicas = 0;
    f.in.child[CLUSTER_MEMBER_SET].replicas = 0;
    f.in.npods = 1;
    f.view.size_members = 0;
    f.view.size_limits = f.c.record.size_limits = (struct api_size_limits){true, 0, 0};
    fix_wire(&f, 1);
    f.members[0] = (struct api_dvm_member){.vpid = 0, .state = MEMBER_WIRED};
    json_t *s = build(&f, NULL);
    assert_condition(s, "Available", "False", "HeadOnly");
    assert_condition(s, "Ready", "True", "UpToDate");
    json_decref(s);
    f.members[0].slots = 2;
    s = build(&f, NULL);
    assert_condition(s, "Available", "True", "HeadOnly");
    json_decref(s);
}

static void lost_members_are_named_with_their_nodes(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.members[2].state = f.members[4].state = MEMBER_LOST;
    f.pods[3].node = "worker-7";
    json_t *s = build(&f, NULL);
    assert_condition(s, "Available", "True", "SomeMembersWired");
    assert_condition(s, "Degraded", "True", "MembersLost");
    assert_string_equal(word(s, "Degraded", "message"),
                        "Daemons 3 (node worker-7), 5: lost, and not back yet.");
    json_decref(s);
}

static void a_pod_that_no_node_takes_has_the_schedulers_words(void **state)
{
    struct fix f;

    fix_settled(&f);
    fix_wire(&f, 7);
    f.pods[8].running_since_ms = 0;
    f.pods[8].unschedulable = "0/3 nodes are available: 3 Insufficient cpu.";
    json_t *s = build(&f, NULL);
    assert_condition(s, "Progressing", "False", "Unschedulable");
    assert_condition(s, "Degraded", "True", "Unschedulable");
    assert_condition(s, "Ready", "False", "Unschedulable");
    assert_string_equal(word(s, "Progressing", "message"),
                        "Pod x-8: no node takes it: 0/3 nodes are available: 3 Insufficient cpu.");
    json_decref(s);
}

static void a_daemon_that_ends_repeatedly_has_the_reason_of_its_end(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.pods[1].running_since_ms = 0;
    f.pods[1].waiting = "CrashLoopBackOff";
    f.pods[1].ended = "OOMKilled";
    f.pods[1].ended_code = 137;
    json_t *s = build(&f, NULL);
    assert_condition(s, "Progressing", "False", "DaemonCrashes");
    assert_non_null(
        strstr(word(s, "Progressing", "message"), "last with OOMKilled (exit code 137)"));
    json_decref(s);
}

static void the_words_about_an_image_are_those_of_the_cause(void **state)
{
    assert_string_equal(status_pull_words("no such host"), "no such host");
    assert_string_equal(status_pull_words("Back-off pulling image \"a:1\""), "");
    assert_string_equal(
        status_pull_words("Back-off pulling image \"a:1\": ErrImagePull: a:1: not found"),
        "a:1: not found");
    assert_true(status_same_but_digits("from 10.0.0.1:4711: refused", "from 10.0.0.1:80: refused"));
    assert_false(status_same_but_digits("timeout", "not found"));
    assert_false(status_same_but_digits("a", "ab"));
}

static void outdated_pods_are_named(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.pods[0].outdated = f.pods[3].outdated = true;
    json_t *s = build(&f, NULL);
    assert_condition(s, "Progressing", "False", "OutdatedPods");
    assert_condition(s, "Ready", "True", "OutdatedPods");
    assert_non_null(strstr(word(s, "Progressing", "message"),
                           "template: x-head-0, x-3. The operator does not"));
    json_decref(s);
    for (size_t i = 0; i < f.in.npods; i++)
        f.pods[i].outdated = true;
    s = build(&f, NULL);
    assert_non_null(strstr(word(s, "Progressing", "message"), "x-6, x-7 and 1 more. The"));
    json_decref(s);
}

static void the_last_contact_is_shown_while_the_head_does_not_answer(void **state)
{
    struct fix f;

    fix_settled(&f);
    json_t *s = build(&f, NULL);
    assert_null(json_object_get(s, "lastHeadContact"));
    json_decref(s);
    fix_head_down(&f, FIX_NOW);
    f.in.head.contact_ms = 1699999999000;
    s = build(&f, NULL);
    assert_string_equal(json_string_value(json_object_get(s, "lastHeadContact")),
                        "2023-11-14T22:13:19Z");
    json_decref(s);
    f.in.head.contact_ms = 0; /* a restarted operator has not reached the head */
    f.c.last_contact_ms = 1699999990000;
    s = build(&f, NULL);
    assert_string_equal(json_string_value(json_object_get(s, "lastHeadContact")),
                        "2023-11-14T22:13:10Z");
    json_decref(s);
}

static void a_drain_names_the_jobs_that_it_waits_for(void **state)
{
    struct fix f;
    uint32_t ranks[] = {4, 5};
    struct api_job_ref job = {.job = (char *)"sim-7", .nranks = 2, .ranks = ranks};

    fix_settled(&f);
    f.c.replicas = 4;
    fix_shrink(&f, 5, 8, CLUSTER_DRAINING, API_PHASE_DRAINING);
    f.reported[0].nwaiting = 1;
    f.reported[0].waiting = &job;
    json_t *s = build(&f, NULL);
    assert_condition(s, "Resizing", "True", "Draining");
    assert_string_equal(word(s, "Resizing", "message"),
                        "daemons 5 to 8: leaving; the drain waits for 1 job: sim-7 (2 ranks).");
    assert_string_equal(
        json_string_value(json_object_get(
            json_array_get(json_object_get(json_object_get(s, "campaign"), "waitingFor"), 0),
            "job")),
        "sim-7");
    json_decref(s);
}

static void suspended_means_that_no_pod_is_left(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.suspend = true;
    f.c.record.incarnation[0] = '\0';
    f.in.child[CLUSTER_HEAD_SET].replicas = f.in.child[CLUSTER_MEMBER_SET].replicas = 0;
    fix_head_down(&f, FIX_NOW);
    f.in.npods = 2;
    json_t *s = build(&f, NULL);
    assert_condition(s, "Suspended", "False", "Suspending");
    json_decref(s);
    f.in.npods = 0;
    s = build(&f, NULL);
    assert_condition(s, "Suspended", "True", "Suspended");
    assert_condition(s, "Available", "False", "Suspended");
    json_decref(s);
}

static void a_transition_time_changes_only_with_the_status(void **state)
{
    struct fix f;

    fix_settled(&f);
    settle(&f, build(&f, NULL));
    f.in.now_ms += 5000;
    fix_wire(&f, 7);
    json_t *s = build(&f, NULL);
    assert_string_equal(word(s, "Available", "lastTransitionTime"), "2023-11-14T22:13:20Z");
    assert_string_equal(word(s, "Resizing", "lastTransitionTime"), "2023-11-14T22:13:25Z");
    json_decref(s);
    unsettle(&f);
}

static void an_invalid_spec_changes_only_the_condition_progressing(void **state)
{
    struct fix f;

    fix_settled(&f);
    json_t *old = build(&f, NULL);
    f.c.conditions = json_incref(json_object_get(old, "conditions"));
    json_t *s = status_invalid(&f.c, old, "spec.replicas is 70000", FIX_NOW);
    assert_condition(s, "Progressing", "False", "InvalidSpec");
    assert_condition(s, "Available", "True", "AllMembersWired");
    assert_int_equal(json_integer_value(json_object_get(s, "desiredReplicas")), 8);
    json_decref(old);
    json_decref(s);
    unsettle(&f);
}

static void an_unreadable_status_is_kept_and_named(void **state)
{
    struct fix f;

    fix_settled(&f);
    json_t *old = build(&f, NULL);
    f.c.conditions = json_incref(json_object_get(old, "conditions"));
    json_t *s = status_unreadable(&f.c, old, "status.campaign: phase \"Half\" is unknown", FIX_NOW);
    assert_condition(s, "Progressing", "False", "StatusUnreadable");
    assert_non_null(strstr(word(s, "Progressing", "message"), "phase \"Half\" is unknown"));
    assert_non_null(strstr(word(s, "Progressing", "message"), "--subresource=status"));
    assert_condition(s, "Available", "True", "AllMembersWired");
    assert_int_equal(json_integer_value(json_object_get(s, "desiredReplicas")), 8);
    json_decref(old);
    json_decref(s);
    unsettle(&f);
}

static void changes_of_counts_are_slight_and_of_phases_are_not(void **state)
{
    struct fix f;

    fix_settled(&f);
    json_t *a = build(&f, NULL);
    fix_wire(&f, 9);
    json_t *b = build(&f, NULL);
    assert_false(json_equal(a, b));
    assert_true(status_differs_slightly(a, b));
    fix_wire(&f, 7); /* not all members any more: another reason */
    json_t *c = build(&f, NULL);
    assert_false(status_differs_slightly(a, c));
    assert_false(status_differs_slightly(NULL, a));
    json_decref(a);
    json_decref(b);
    json_decref(c);
}

static struct api_campaign *add_release(struct fix *f, const char *id, enum api_phase phase)
{
    struct api_campaign *c = &f->reported[f->view.ncampaigns++];

    *c = (struct api_campaign){.id = (char *)id, .phase = phase, .ntargets = 1};
    c->targets = f->reported_targets[0];
    c->targets[0] = 3;
    return c;
}

/* Makes `status` the one that was read, as the next pass finds it. */
static void read_back(struct fix *f, const json_t *status)
{
    f->c.status = (json_t *)status;
}

static void a_release_of_others_is_shown_while_it_runs_and_once_with_its_end(void **state)
{
    uint32_t rank = 4;
    struct api_job_ref job = {.job = (char *)"sim-7", .nranks = 1, .ranks = &rank};
    struct fix f;

    fix_settled(&f);
    struct api_campaign *c = add_release(&f, "release-1", API_PHASE_DRAINING);
    c->nwaiting = 1;
    c->waiting = &job;
    json_t *a = build(&f, NULL);
    assert_condition(a, "Resizing", "True", "Draining");
    assert_condition(a, "Progressing", "True", "Draining");
    assert_condition(a, "Available", "True", "AllMembersWired");
    assert_non_null(strstr(word(a, "Resizing", "message"),
                           "daemon 3: leaving by campaign release-1, which the operator has not "
                           "begun; the drain waits for 1 job: sim-7 (1 rank)."));
    read_back(&f, a);
    c->phase = API_PHASE_COMPLETE;
    c->nwaiting = 0;
    json_t *b = build(&f, NULL);
    assert_condition(b, "Resizing", "False", "Stable");
    assert_int_equal(json_array_size(json_object_get(b, "releases")), 1);
    read_back(&f, b);
    json_t *d = build(&f, NULL);
    assert_null(json_object_get(d, "releases"));
    json_decref(a);
    json_decref(b);
    json_decref(d);
}

static void the_operators_own_campaigns_are_no_releases(void **state)
{
    struct fix f;

    fix_settled(&f);
    add_release(&f, "shrink-2-01234567", API_PHASE_DRAINING);
    json_t *s = build(&f, NULL);
    assert_null(json_object_get(s, "releases"));
    json_decref(s);
    f.reported[0].id = (char *)"shrink-2-76543210"; /* of an earlier cluster of this name */
    s = build(&f, NULL);
    assert_int_equal(json_array_size(json_object_get(s, "releases")), 1);
    json_decref(s);
}

static void releases_stay_as_they_are_while_the_head_does_not_answer(void **state)
{
    struct fix f;

    fix_settled(&f);
    add_release(&f, "release-1", API_PHASE_DRAINING);
    json_t *a = build(&f, NULL);
    read_back(&f, a);
    f.in.head = (struct plan_head){.link = PLAN_LINK_CONNECTING};
    json_t *b = build(&f, NULL);
    assert_true(json_equal(json_object_get(a, "releases"), json_object_get(b, "releases")));
    json_decref(b);
    fix_head_down(&f, FIX_NOW);
    b = build(&f, NULL);
    assert_true(json_equal(json_object_get(a, "releases"), json_object_get(b, "releases")));
    json_decref(a);
    json_decref(b);
}

static void the_history_keeps_the_last_sixteen(void **state)
{
    struct fix f;
    json_t *losses = json_array();

    fix_settled(&f);
    for (int i = 1; i <= 20; i++)
        json_array_append_new(losses, json_pack("{s:i, s:s}", "vpid", i, "time", "t"));
    f.in.news.losses = losses;
    json_t *s = build(&f, NULL);
    const json_t *kept = json_object_get(s, "losses");
    assert_int_equal(json_array_size(kept), 16);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(kept, 0), "vpid")), 5);
    json_decref(losses);
    json_decref(s);
}

/* --- Events */

struct collected {
    char text[2048];
};

static void on_status_event(bool warning, enum reason reason, const char *note, void *arg)
{
    struct collected *t = arg;
    size_t n = strlen(t->text);

    snprintf(t->text + n, sizeof(t->text) - n, "%s%s;", warning ? "!" : "", reason_word(reason));
}

static void assert_news(const json_t *before, const json_t *after, const char *want)
{
    struct collected t = {""};

    status_events(before, after, on_status_event, &t);
    assert_string_equal(t.text, want);
}

static void an_unchanged_status_gives_no_event(void **state)
{
    struct fix f;

    fix_settled(&f);
    json_t *s = build(&f, NULL);
    assert_news(s, s, "");
    json_decref(s);
}

static void the_first_status_gives_the_event_head_up(void **state)
{
    struct fix f;

    fix_settled(&f);
    json_t *s = build(&f, NULL);
    assert_news(NULL, s, "HeadUp;Available;");
    json_decref(s);
}

static void requests_of_applications_give_events(void **state)
{
    struct fix f;

    fix_settled(&f);
    struct cluster_grants *g = &f.c.record.grants;
    f.c.limits.max = 9;
    json_t *a = build(&f, NULL);
    *g = (struct cluster_grants){.seen = 1, .nrunning = 1, .running = {{1, true, 1}}};
    fix_wire(&f, 9);
    f.view.ncampaigns = 1;
    f.reported[0] = (struct api_campaign){.id = (char *)"alloc-1",
                                          .kind = API_KIND_GROW,
                                          .phase = API_PHASE_WIRING,
                                          .requester = {.job = (char *)"job", .id = (char *)""},
                                          .ntargets = 1,
                                          .targets = f.reported_targets[0]};
    f.reported[0].targets[0] = 9;
    json_t *b = build(&f, NULL);
    assert_news(a, b, "ExtensionAsked;Growing;");
    assert_news(b, b, "");
    f.reported[0].phase = API_PHASE_COMPLETE;
    *g = (struct cluster_grants){.members = 1, .seen = 1};
    f.in.child[CLUSTER_MEMBER_SET].replicas = 9;
    fix_pods(&f, 9);
    f.view.size_members = 9;
    f.view.size_limits = f.c.record.size_limits = (struct api_size_limits){true, 8, 9};
    json_t *c = build(&f, NULL);
    assert_news(b, c, "Granted;");
    assert_condition(c, "Progressing", "False", "UpToDate");
    assert_non_null(
        strstr(word(c, "Progressing", "message"), "spec.replicas is 8, and applications have +1"));
    json_decref(a);
    json_decref(b);
    json_decref(c);
}

static void a_campaign_gives_events_when_recorded_accepted_and_ended(void **state)
{
    struct fix f;

    fix_settled(&f);
    json_t *a = build(&f, NULL);
    f.c.replicas = 4;
    json_t *b = build(&f, NULL); /* recorded */
    assert_news(a, b, "ShrinkRecorded;");
    fix_shrink(&f, 5, 8, CLUSTER_RECORDED, API_PHASE_DRAINING);
    snprintf(f.c.record.campaign.id, API_ID_MAX, "shrink-2-01234567");
    f.reported[0].id = f.c.record.campaign.id;
    json_t *c = build(&f, NULL);
    assert_news(b, c, "ShrinkAccepted;");
    f.reported[0].phase = API_PHASE_COMPLETE;
    f.in.child[CLUSTER_MEMBER_SET].replicas = 4;
    json_t *d = build(&f, NULL);
    assert_news(c, d, "ShrinkComplete;");
    json_decref(a);
    json_decref(b);
    json_decref(c);
    json_decref(d);
}

static void a_campaign_that_ended_jobs_gives_a_warning(void **state)
{
    json_t *after = json_loads(
        "{\"lastCampaign\": {\"id\": \"a\", \"sequence\": 1, \"kind\": \"Shrink\", \"phase\": "
        "\"Complete\", \"targets\": [3], \"endedJobs\": [{\"job\": \"j\", "
        "\"ranks\": [0]}]}}",
        0, NULL);

    assert_news(NULL, after, "!ShrinkComplete;");
    json_decref(after);
}

static void a_release_gives_events_when_it_begins_and_ends(void **state)
{
    uint32_t rank = 0;
    struct api_job_ref job = {.job = (char *)"j", .nranks = 1, .ranks = &rank};
    struct fix f;

    fix_settled(&f);
    json_t *a = build(&f, NULL);
    struct api_campaign *c = add_release(&f, "release-1", API_PHASE_DRAINING);
    json_t *b = build(&f, NULL);
    assert_news(a, b, "MembersLeaving;");
    assert_news(b, b, "");
    read_back(&f, b);
    c->phase = API_PHASE_COMPLETE;
    c->nended = 1;
    c->ended = &job;
    json_t *d = build(&f, NULL);
    assert_news(b, d, "!MembersReleased;");
    assert_news(a, d, "MembersLeaving;!MembersReleased;"); /* it was short */
    c->phase = API_PHASE_CANCELLED;
    c->nended = 0;
    json_t *e = build(&f, NULL);
    assert_news(b, e, "ReleaseCancelled;");
    json_decref(a);
    json_decref(b);
    json_decref(d);
    json_decref(e);
}

static void losses_and_ended_jobs_give_warnings_once(void **state)
{
    struct fix f;
    json_t *losses = json_pack("[{s:i, s:s, s:s}]", "vpid", 3, "time", "t", "node", "n");
    json_t *jobs = json_pack("[{s:s, s:s, s:s}]", "job", "j", "reason", "r", "time", "t");

    fix_settled(&f);
    json_t *a = build(&f, NULL);
    f.in.news = (struct plan_news){.losses = losses, .jobs = jobs};
    json_t *b = build(&f, NULL);
    assert_news(a, b, "!MemberLost;!JobEnded;");
    assert_false(status_differs_slightly(a, b));
    read_back(&f, b);
    f.in.news = (struct plan_news){0};
    json_t *c = build(&f, NULL);
    assert_news(b, c, "");
    json_decref(losses);
    json_decref(jobs);
    json_decref(a);
    json_decref(b);
    json_decref(c);
}

static void a_lost_head_gives_a_warning(void **state)
{
    struct fix f;

    fix_settled(&f);
    json_t *a = build(&f, NULL);
    fix_head_down(&f, FIX_NOW);
    json_t *b = build(&f, NULL);
    assert_news(a, b, "!HeadUnreachable;");
    json_decref(a);
    json_decref(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_status_never_reports_the_wanted_as_reached),
        cmocka_unit_test(an_unreachable_head_is_reported_with_its_time_and_a_remedy),
        cmocka_unit_test(a_message_is_constant_while_the_situation_lasts),
        cmocka_unit_test(conditions_are_kept_while_connecting),
        cmocka_unit_test(an_image_that_cannot_be_pulled_is_named),
        cmocka_unit_test(trouble_with_the_api_server_has_the_servers_message),
        cmocka_unit_test(a_foreign_object_is_named),
        cmocka_unit_test(an_object_left_by_an_earlier_cluster_is_named_with_the_way_out),
        cmocka_unit_test(an_unreadable_status_is_kept_and_named),
        cmocka_unit_test(a_settled_cluster_is_available),
        cmocka_unit_test(it_stays_available_while_it_grows_or_has_lost_a_member),
        cmocka_unit_test(with_two_of_eight_wired_after_a_restart_of_the_head_jobs_can_start),
        cmocka_unit_test(without_a_wired_daemon_that_has_slots_no_job_can_start),
        cmocka_unit_test(a_head_without_members_runs_jobs_only_with_slots_of_its_own),
        cmocka_unit_test(lost_members_are_named_with_their_nodes),
        cmocka_unit_test(a_pod_that_no_node_takes_has_the_schedulers_words),
        cmocka_unit_test(a_daemon_that_ends_repeatedly_has_the_reason_of_its_end),
        cmocka_unit_test(the_words_about_an_image_are_those_of_the_cause),
        cmocka_unit_test(outdated_pods_are_named),
        cmocka_unit_test(the_last_contact_is_shown_while_the_head_does_not_answer),
        cmocka_unit_test(a_drain_names_the_jobs_that_it_waits_for),
        cmocka_unit_test(suspended_means_that_no_pod_is_left),
        cmocka_unit_test(a_transition_time_changes_only_with_the_status),
        cmocka_unit_test(an_invalid_spec_changes_only_the_condition_progressing),
        cmocka_unit_test(changes_of_counts_are_slight_and_of_phases_are_not),
        cmocka_unit_test(a_release_of_others_is_shown_while_it_runs_and_once_with_its_end),
        cmocka_unit_test(the_operators_own_campaigns_are_no_releases),
        cmocka_unit_test(releases_stay_as_they_are_while_the_head_does_not_answer),
        cmocka_unit_test(the_history_keeps_the_last_sixteen),
        cmocka_unit_test(a_release_gives_events_when_it_begins_and_ends),
        cmocka_unit_test(losses_and_ended_jobs_give_warnings_once),
        cmocka_unit_test(an_unchanged_status_gives_no_event),
        cmocka_unit_test(the_first_status_gives_the_event_head_up),
        cmocka_unit_test(requests_of_applications_give_events),
        cmocka_unit_test(a_campaign_gives_events_when_recorded_accepted_and_ended),
        cmocka_unit_test(a_campaign_that_ended_jobs_gives_a_warning),
        cmocka_unit_test(a_lost_head_gives_a_warning),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
