/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of decoding a DvmCluster: refused fields, and a status record that is encoded and
 * decoded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka wants the three above first */
#include <cmocka.h>

#include "base/buf/buf.h"
#include "operator/model/cluster.h"
#include "operator/model/timestamp.h"

#include <string.h>

#define META                                                                                       \
    "\"metadata\": {\"name\": \"x\", \"namespace\": \"n\", \"uid\": \"u\", "                       \
    "\"resourceVersion\": \"7\", \"generation\": 3}"

static json_t *parse(const char *text)
{
    json_error_t e;
    json_t *o = json_loads(text, 0, &e);

    if (!o)
        fail_msg("%s in %s", e.text, text);
    return o;
}

static void assert_spec_refused(const char *spec, const char *why)
{
    FREE_AUTO char *text = xasprintf("{" META ", \"spec\": %s}", spec);
    json_t *o = parse(text);
    struct cluster c;
    struct err err = {0};

    assert_int_equal(cluster_decode(o, &c, &err), 0);
    if (cluster_decode_spec(o, &c, &err) == 0)
        fail_msg("accepted: %s", spec);
    if (!strstr(err.msg, why))
        fail_msg("\"%s\" does not say \"%s\"", err.msg, why);
    assert_int_equal(c.replicas, 1); /* the defaults: nothing is decoded in part */
    assert_null(c.template);
    cluster_free(&c);
    json_decref(o);
}

static void a_spec_with_a_wrong_field_is_refused_with_its_path(void **state)
{
    assert_spec_refused("{\"replicas\": -1}", "spec.replicas is -1");
    assert_spec_refused("{\"replicas\": 70000}", "spec.replicas is 70000");
    assert_spec_refused("{\"replicas\": \"4\"}", "spec.replicas must be a whole number");
    assert_spec_refused("{\"replicas\": 1.5}", "spec.replicas must be a whole number");
    assert_spec_refused("{\"replicas\": 4, \"applicationLimits\": {\"min\": 5}}",
                        "spec.applicationLimits.min is 5, it must be at most spec.replicas, 4");
    assert_spec_refused("{\"replicas\": 4, \"applicationLimits\": {\"max\": 3}}",
                        "spec.applicationLimits.max is 3, it must be at least spec.replicas, 4");
    assert_spec_refused("{\"applicationLimits\": {\"max\": 65536}}",
                        "spec.applicationLimits.max is 65536");
    assert_spec_refused("{\"slotsPerDaemon\": 0}", "spec.slotsPerDaemon is 0");
    assert_spec_refused("{\"security\": {\"runAsUser\": 0}}", "spec.security.runAsUser is 0");
    assert_spec_refused("{\"security\": {\"runAsUser\": \"root\"}}", "spec.security.runAsUser");
    assert_spec_refused("{\"security\": {\"userFrom\": \"Node\"}}",
                        "spec.security.userFrom is \"Node\"");
    assert_spec_refused("{\"security\": {\"userFrom\": \"Namespace\", \"runAsUser\": 5}}",
                        "spec.security.runAsUser is only possible with userFrom Spec");
    assert_spec_refused("{\"security\": {\"authorityRevision\": -1}}",
                        "spec.security.authorityRevision is -1");
    assert_spec_refused("{\"security\": {\"overlapSeconds\": 1}}",
                        "spec.security.overlapSeconds is 1");
    assert_spec_refused("{\"security\": {\"issuerRef\": {\"kind\": \"Issuer\"}}}",
                        "spec.security.issuerRef needs a name");
    assert_spec_refused("{\"disruption\": {\"headMaxUnavailable\": 2}}",
                        "spec.disruption.headMaxUnavailable is 2");
    assert_spec_refused("{\"managedBy\": 1}", "spec.managedBy must be a string");
    assert_spec_refused("{\"suspend\": 1}", "spec.suspend must be true or false");
    assert_spec_refused("{\"image\": 7}", "spec.image must be a string");
    assert_spec_refused("{\"image\": \"\"}", "spec.image is empty");
    assert_spec_refused("{\"head\": []}", "spec.head must be an object");
    assert_spec_refused("{\"head\": {\"slots\": 5000}}", "spec.head.slots is 5000");
    assert_spec_refused("{\"head\": {\"storage\": \"v\"}}", "spec.head.storage must be an object");
    assert_spec_refused("{\"head\": {\"storage\": {}}}", "spec.head.storage.claimName is missing");
    assert_spec_refused("{\"head\": {\"storage\": {\"claimName\": 1}}}",
                        "spec.head.storage.claimName must be a string");
    assert_spec_refused("{\"drain\": {\"mode\": \"Never\"}}", "drain.mode is \"Never\"");
    assert_spec_refused("{\"drain\": {\"deadlineSeconds\": -1}}", "drain.deadlineSeconds is -1");
    assert_spec_refused("{\"updateStrategy\": 5}", "spec.updateStrategy must be an object");
    assert_spec_refused(
        "{\"updateStrategy\": {\"type\": \"Recreate\"}}",
        "spec.updateStrategy.type is \"Recreate\", it must be RollingUpdate or OnDelete");
    static const char *const numbers[] = {"0",        "\"0%\"", "\"101%\"", "\"1000%\"",
                                          "\"-1%\"",  "\"5\"",  "\"%\"",    "\"01%\"",
                                          "\"1.5%\"", "\"\"",   "\"5%%\"",  "true"};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        FREE_AUTO char *spec = xasprintf(
            "{\"updateStrategy\": {\"rollingUpdate\": {\"maxUnavailable\": %s}}}", numbers[i]);

        assert_spec_refused(spec, "spec.updateStrategy.rollingUpdate.maxUnavailable");
    }
    assert_spec_refused("{\"faults\": 5}", "spec.faults must be an object");
    assert_spec_refused("{\"faults\": {\"nodeLost\": \"Forget\"}}",
                        "spec.faults.nodeLost is \"Forget\", it must be Replace or Wait");
    assert_spec_refused("{\"faults\": {\"linkGraceSeconds\": 0}}",
                        "spec.faults.linkGraceSeconds is 0");
    assert_spec_refused("{\"faults\": {\"silenceSeconds\": \"9\"}}",
                        "spec.faults.silenceSeconds must be a whole number");
    assert_spec_refused(
        "{\"faults\": {\"linkGraceSeconds\": 11}}",
        "spec.faults: the link grace is 11 s, it must be at most the silence, 10 s");
    assert_spec_refused("{\"faults\": {\"headAbsenceSeconds\": 19}}",
                        "the head's absence is 19 s, it must be at least");
    assert_spec_refused("{\"template\": []}", "spec.template must be an object");
}

static void the_claim_of_the_head_has_the_name_of_an_object(void **state)
{
    static const char *const wrong[] = {"",   ".",  "a.",   ".a",  "a..b", "A",
                                        "-a", "a-", "a.-b", "a_b", "a/b"};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        FREE_AUTO char *spec =
            xasprintf("{\"head\": {\"storage\": {\"claimName\": \"%s\"}}}", wrong[i]);
        FREE_AUTO char *why = xasprintf("spec.head.storage.claimName is \"%s\"", wrong[i]);

        assert_spec_refused(spec, why);
    }
}

static void a_template_may_not_change_the_daemons_command(void **state)
{
    assert_spec_refused("{\"template\": {\"spec\": {\"containers\": [{\"name\": \"prted\", "
                        "\"args\": [\"x\"]}]}}}",
                        "containers[0].args");
    assert_spec_refused("{\"template\": {\"spec\": {\"containers\": [{\"name\": \"prted\", "
                        "\"image\": \"x\"}]}}}",
                        "use spec.image");
    assert_spec_refused("{\"template\": {\"spec\": {\"containers\": [{}]}}}", "has no name");
    assert_spec_refused("{\"template\": {\"spec\": {\"containers\": {}}}}", "must be a list");
    assert_spec_refused("{\"head\": {\"template\": {\"spec\": {\"containers\": [{\"name\": "
                        "\"prted\", \"image\": \"i\"}]}}}}",
                        "spec.head.template.spec.containers[0].image");
    assert_spec_refused("{\"head\": {\"template\": {\"spec\": []}}}", "spec.head.template: spec");
    assert_spec_refused("{\"head\": {\"template\": 3}}", "spec.head.template must be an object");
}

static void assert_name(const char *name, bool fine)
{
    FREE_AUTO char *text = xasprintf("{\"metadata\": {\"name\": \"%s\", \"namespace\": \"n\", "
                                     "\"uid\": \"u\", \"resourceVersion\": \"7\"}, \"spec\": {}}",
                                     name);
    json_t *o = parse(text);
    struct cluster c;
    struct err err = {0};

    assert_int_equal(cluster_decode(o, &c, &err), 0);
    if ((cluster_decode_spec(o, &c, &err) == 0) != fine)
        fail_msg("%s: %s", name, err.msg);
    cluster_free(&c);
    json_decref(o);
}

static void a_name_that_is_impossible_for_its_pods_is_refused(void **state)
{
    assert_name("a23456789012345678901234567890123456789012345678", false); /* 48 */
    assert_name("a2345678901234567890123456789012345678901234567", true);   /* 47 */
    assert_name("4lambda", false);
    assert_name("a.b", false);
    assert_name("a-", false);
    assert_name("x-head", false);
    assert_name("x-1", true);
}

static void an_object_without_metadata_is_refused(void **state)
{
    static const char *const bad[] = {"[]", "{}", "{\"metadata\": {}}",
                                      "{\"metadata\": {\"name\": \"x\", \"namespace\": \"n\"}}"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        json_t *o = parse(bad[i]);
        struct cluster c;
        struct err err = {0};

        assert_int_equal(cluster_decode(o, &c, &err), -1);
        assert_true(err.msg[0]);
        json_decref(o);
    }
}

static void assert_status_refused(const char *status, const char *why)
{
    FREE_AUTO char *text = xasprintf("{" META ", \"status\": %s}", status);
    json_t *o = parse(text);
    struct cluster c;
    struct err err = {0};

    assert_int_equal(cluster_decode(o, &c, &err), -1);
    if (!strstr(err.msg, why))
        fail_msg("\"%s\" does not say \"%s\"", err.msg, why);
    json_decref(o);
}

static void a_malformed_status_record_is_refused(void **state)
{
    assert_status_refused("{\"sequence\": -1}", "status.sequence");
    assert_status_refused("{\"campaign\": {\"id\": \"a\", \"kind\": \"Shrink\", \"phase\": "
                          "\"Recorded\", \"sequence\": 1, \"targets\": [5, 7]}}",
                          "targets[1] is 7, expected 6");
    assert_status_refused("{\"campaign\": {\"id\": \"a\", \"kind\": \"Shrink\", \"phase\": "
                          "\"Recorded\", \"sequence\": 1, \"targets\": [0]}}",
                          "not the vpid of a member");
    assert_status_refused("{\"campaign\": {\"id\": \"a\", \"kind\": \"Dance\", \"phase\": "
                          "\"Recorded\", \"sequence\": 1, \"targets\": []}}",
                          "kind \"Dance\"");
    assert_status_refused("{\"campaign\": {\"id\": \"a\", \"kind\": \"Shrink\", \"phase\": "
                          "\"Half\", \"sequence\": 1, \"targets\": []}}",
                          "phase \"Half\"");
    assert_status_refused("{\"grants\": {\"members\": 70000, \"seen\": 1}}",
                          "status.grants.members");
    assert_status_refused("{\"grants\": {\"members\": 0, \"seen\": 1, \"running\": {}}}",
                          "status.grants.running must be a list");
    assert_status_refused(
        "{\"grants\": {\"members\": 0, \"seen\": 1, \"running\": [{\"number\": 1, "
        "\"kind\": \"Lend\", \"members\": 1}]}}",
        "status.grants.running[0]: kind \"Lend\"");
    assert_status_refused("{\"campaign\": {\"id\": \"a\", \"kind\": \"Shrink\", \"phase\": "
                          "\"Complete\", \"sequence\": 1, \"targets\": [2], \"appliedTime\": "
                          "\"yesterday\"}}",
                          "appliedTime is not a time");
    assert_status_refused("{\"campaign\": {\"id\": \"a\", \"kind\": \"Shrink\", \"phase\": "
                          "\"Complete\", \"sequence\": 1, \"targets\": []}}",
                          "the Shrink has no targets");
    assert_status_refused("{\"campaign\": {\"id\": \"a\", \"kind\": \"Shrink\", \"phase\": "
                          "\"Recorded\", \"sequence\": 1, \"targetRange\": {\"first\": 4, "
                          "\"last\": 3}}}",
                          "targetRange is from 4 to 3");
    assert_status_refused("{\"campaign\": {\"id\": \"a\", \"kind\": \"Shrink\", \"phase\": "
                          "\"Recorded\", \"sequence\": 1, \"targetRange\": {\"last\": 3}}}",
                          "targetRange is from 0 to 3");
}

static void a_last_campaign_that_cannot_be_read_is_none(void **state)
{
    json_t *o = parse("{" META ", \"status\": {\"sequence\": 7, \"lastCampaign\": {\"id\": \"a\", "
                      "\"kind\": \"Shrink\", \"result\": \"r\", \"phase\": \"Danced\"}}}");
    struct cluster c;
    struct err err = {0};

    assert_int_equal(cluster_decode(o, &c, &err), 0);
    assert_false(c.record.last.present);
    assert_int_equal(c.record.sequence, 7);
    assert_string_equal(err.msg, "");
    cluster_free(&c);
    json_decref(o);
}

static void metadata_and_conditions_are_decoded_without_the_record(void **state)
{
    json_t *o = parse("{" META ", \"status\": {\"sequence\": -1, \"conditions\": [{}]}}");
    struct cluster c;
    struct err err = {0};

    assert_int_equal(cluster_decode(o, &c, &err), -1);
    assert_int_equal(cluster_decode_meta(o, &c, &err), 0);
    assert_string_equal(c.name, "x");
    assert_int_equal(json_array_size(c.conditions), 1);
    cluster_free(&c);
    json_decref(o);
}

/* A status of 65,535 targets must stay far below the limit of etcd, 1.5 MiB. */
static void many_targets_are_a_range_and_few_are_a_list_too(void **state)
{
    static const struct {
        uint32_t first, last;
        size_t listed;
    } cases[] = {{3, 4, 2}, {1, 64, 64}, {1, 65, 0}, {1, 65535, 0}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct cluster_record r = {.sequence = 1};
        struct cluster c;
        struct err err = {0};

        r.campaign = (struct cluster_campaign){
            .present = true, .id = "a", .sequence = 1, .first = cases[i].first};
        r.campaign.last = cases[i].last;
        json_t *status = cluster_record_encode(&r);
        json_t *campaign = json_object_get(status, "campaign");
        assert_int_equal(json_array_size(json_object_get(campaign, "targets")), cases[i].listed);
        FREE_AUTO char *text = json_dumps(status, JSON_COMPACT);
        assert_true(strlen(text) < 1024);
        json_t *o = parse("{" META "}");
        json_object_set_new(o, "status", status);
        assert_int_equal(cluster_decode(o, &c, &err), 0);
        assert_int_equal(c.record.campaign.first, cases[i].first);
        assert_int_equal(c.record.campaign.last, cases[i].last);
        cluster_free(&c);
        json_decref(o);
    }
}

/* Rounded down, and at least one, as Kubernetes does for Deployments and StatefulSets. */
static void a_percentage_of_the_members_is_rounded_down(void **state)
{
    static const struct {
        const char *value;
        uint32_t members, want;
    } rows[] = {{"1", 0, 1},      {"7", 4, 7},       {"\"25%\"", 8, 2},  {"\"25%\"", 7, 1},
                {"\"1%\"", 4, 1}, {"\"50%\"", 0, 1}, {"\"100%\"", 9, 9}, {"\"99%\"", 65535, 64879}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        FREE_AUTO char *text =
            xasprintf("{" META ", \"spec\": {\"updateStrategy\": {\"rollingUpdate\": "
                      "{\"maxUnavailable\": %s}}}}",
                      rows[i].value);
        json_t *o = parse(text);
        struct cluster c;
        struct err err = {0};

        assert_int_equal(cluster_decode(o, &c, &err), 0);
        assert_int_equal(cluster_decode_spec(o, &c, &err), 0);
        assert_int_equal(cluster_update_bound(&c.update, rows[i].members), rows[i].want);
        cluster_free(&c);
        json_decref(o);
    }
}

static void a_whole_spec_is_decoded(void **state)
{
    json_t *o = parse("{" META ", \"spec\": {\"replicas\": 5, \"applicationLimits\": {\"min\": 0, "
                      "\"max\": 9}, \"suspend\": true, "
                      "\"slotsPerDaemon\": 2, \"image\": \"i\", \"head\": {\"slots\": 1, "
                      "\"resources\": {\"limits\": {\"cpu\": 1}}}, \"drain\": {\"mode\": \"Kill\", "
                      "\"deadlineSeconds\": 9}, \"faults\": {\"silenceSeconds\": 20, "
                      "\"headAbsenceSeconds\": 60}, \"updateStrategy\": {\"type\": \"OnDelete\"}, "
                      "\"template\": {\"spec\": {}}}}");
    struct cluster c;
    struct err err = {0};

    assert_int_equal(cluster_decode(o, &c, &err), 0);
    assert_int_equal(cluster_decode_spec(o, &c, &err), 0);
    assert_int_equal(c.replicas, 5);
    assert_true(c.suspend);
    assert_int_equal(c.slots, 2);
    assert_string_equal(c.image, "i");
    assert_int_equal(c.head_slots, 1);
    assert_non_null(c.head_resources);
    assert_int_equal(c.drain.mode, API_DRAIN_KILL);
    assert_int_equal(c.drain.deadline_s, 9);
    assert_int_equal(c.faults.link_grace_ms, API_FAULTS_LINK_GRACE_MS);
    assert_int_equal(c.faults.silence_ms, 20000);
    assert_int_equal(c.faults.head_absence_ms, 60000);
    assert_true(c.update.on_delete);
    assert_int_equal(cluster_update_bound(&c.update, 100), 1);
    assert_int_equal(c.generation, 3);
    assert_int_equal(c.limits.min, 0);
    assert_int_equal(c.limits.max, 9);
    cluster_free(&c);
    json_decref(o);
}

static void a_record_survives_encoding_and_decoding(void **state)
{
    struct cluster_record r = {.sequence = 9, .size_sequence = 8, .size_members = 5};

    r.size_limits = (struct api_size_limits){true, 0, 12};
    r.grants = (struct cluster_grants){.members = -2, .seen = 8, .nrunning = 2};
    r.grants.running[0] = (struct cluster_grant){6, true, 3};
    r.grants.running[1] = (struct cluster_grant){8, false, -1};
    struct cluster_campaign *g = &r.campaign;
    memcpy(r.incarnation, "0123456789abcdef", sizeof(r.incarnation));
    *g = (struct cluster_campaign){.present = true,
                                   .sequence = 9,
                                   .kind = CLUSTER_SHRINK,
                                   .first = 5,
                                   .last = 8,
                                   .generation = 4,
                                   .drain = {.mode = API_DRAIN_WAIT, .deadline_s = 30},
                                   .phase = CLUSTER_DRAINING,
                                   .recorded_ms = 1700000000123,
                                   .accepted_ms = 1700000000456};
    memcpy(g->id, "shrink-9", sizeof("shrink-9"));
    g->waiting = parse("[{\"job\": \"j\", \"ranks\": [1, 2]}]");
    json_t *o = parse("{" META "}");
    json_object_set_new(o, "status", cluster_record_encode(&r));
    struct cluster c;
    struct err err = {0};
    assert_int_equal(cluster_decode(o, &c, &err), 0);
    json_t *again = cluster_record_encode(&c.record);
    assert_true(json_equal(json_object_get(o, "status"), again));
    json_decref(again);
    assert_true(api_size_limits_equal(&r.size_limits, &c.record.size_limits));
    assert_int_equal(c.record.grants.members, -2);
    assert_int_equal(c.record.grants.seen, 8);
    assert_int_equal(c.record.grants.nrunning, 2);
    assert_true(c.record.grants.running[0].extend);
    assert_int_equal(c.record.grants.running[1].members, -1);
    assert_int_equal(c.record.campaign.recorded_ms, 1700000000123);
    assert_int_equal(c.record.campaign.last, 8);
    assert_int_equal(c.record.campaign.drain.deadline_s, 30);
    cluster_free(&c);
    cluster_record_free(&r);
    json_decref(o);
}

static void an_older_answer_does_not_set_a_campaign_back(void **state)
{
    struct cluster_campaign c = {.present = true, .phase = CLUSTER_REMOVING};
    struct api_campaign reported = {.phase = API_PHASE_DRAINING};

    cluster_campaign_merge(&c, &reported);
    assert_int_equal(c.phase, CLUSTER_REMOVING);
    reported.phase = API_PHASE_COMPLETE;
    cluster_campaign_merge(&c, &reported);
    assert_int_equal(c.phase, CLUSTER_COMPLETE);
    reported.phase = API_PHASE_CANCELLED;
    cluster_campaign_merge(&c, &reported);
    assert_int_equal(c.phase, CLUSTER_COMPLETE);
}

static void the_jobs_that_a_status_names_are_bounded(void **state)
{
    struct api_job_ref jobs[CLUSTER_JOBS_MAX + 10];
    uint32_t ranks[CLUSTER_RANKS_MAX + 10] = {0};

    for (size_t i = 0; i < CLUSTER_JOBS_MAX + 10; i++)
        jobs[i] = (struct api_job_ref){
            .job = (char *)"j", .nranks = CLUSTER_RANKS_MAX + 10, .ranks = ranks};
    struct api_campaign reported = {
        .phase = API_PHASE_DRAINING, .nwaiting = CLUSTER_JOBS_MAX + 10, .waiting = jobs};
    struct cluster_campaign c = {.present = true};
    cluster_campaign_merge(&c, &reported);
    assert_int_equal(json_array_size(c.waiting), CLUSTER_JOBS_MAX);
    assert_int_equal(json_array_size(json_object_get(json_array_get(c.waiting, 0), "ranks")),
                     CLUSTER_RANKS_MAX);
    cluster_campaign_clear(&c);
}

static void a_drain_that_kills_has_no_deadline(void **state)
{
    struct cluster_campaign c = {
        .first = 2, .last = 4, .sequence = 3, .drain = {.mode = API_DRAIN_KILL, .deadline_s = 30}};
    struct api_campaign_request r;

    cluster_campaign_request(&c, &r);
    assert_int_equal(r.deadline_s, -1);
    assert_int_equal(r.ntargets, 3);
    assert_int_equal(r.targets[2], 4);
    api_campaign_request_free(&r);
}

static void times_are_read_with_and_without_fractions(void **state)
{
    int64_t ms = 0;

    assert_int_equal(timestamp_parse("2023-11-14T22:13:20Z", &ms), 0);
    assert_int_equal(ms, 1700000000000);
    assert_int_equal(timestamp_parse("2023-11-14T22:13:20.123456Z", &ms), 0);
    assert_int_equal(ms, 1700000000123);
    assert_int_equal(timestamp_parse("2023-11-14T22:13:20+01:00", &ms), -1);
    assert_int_equal(timestamp_parse("", &ms), -1);
    FREE_AUTO char *text = timestamp_s(1700000000123);
    assert_string_equal(text, "2023-11-14T22:13:20Z");
}

static void an_identity_fits_a_certificate_for_the_longest_names(void **state)
{
    struct cluster c = {.ns = "hpc", .name = "a", .uid = "0e8c4f6a-2f0b-4a53-9f3f-0d4c5f6a7b8c"};
    FREE_AUTO char *short_one = cluster_identity(&c);

    assert_string_equal(short_one, "hpc/a");
    c.ns = "a-namespace-of-sixty-three-bytes-which-is-as-long-as-it-may-be0";
    FREE_AUTO char *long_one = cluster_identity(&c);
    assert_string_equal(long_one, c.uid);
}

static void security_disruption_manager_and_storage_are_decoded(void **state)
{
    json_t *o =
        parse("{\"metadata\": {\"name\": \"x\", \"namespace\": \"n\", \"uid\": \"u\", "
              "\"resourceVersion\": \"7\", \"labels\": {\"kueue.x-k8s.io/queue-name\": \"q\"}, "
              "\"annotations\": {\"dvm.openpmix.io/dry-run\": \"skip\"}}, "
              "\"spec\": {\"security\": {\"userFrom\": \"Namespace\", "
              "\"authorityRevision\": 3, \"issuerRef\": {\"name\": \"i\"}}, "
              "\"disruption\": {\"maxUnavailable\": 0}, \"managedBy\": \"other/one\", "
              "\"head\": {\"storage\": {\"claimName\": \"x-1.records\"}}}}");
    struct cluster c;
    struct err err = {0};

    assert_int_equal(cluster_decode(o, &c, &err), 0);
    assert_int_equal(cluster_decode_spec(o, &c, &err), 0);
    assert_int_equal(c.security.user, CLUSTER_USER_OF_NAMESPACE);
    assert_int_equal(c.security.authority_revision, 3);
    assert_int_equal(c.security.overlap_s, CLUSTER_OVERLAP_S);
    assert_string_equal(c.security.issuer.name, "i");
    assert_string_equal(c.security.issuer.kind, "Issuer");
    assert_string_equal(c.security.issuer.group, "cert-manager.io");
    assert_int_equal(c.disruption.members, 0);
    assert_int_equal(c.disruption.head, 1);
    assert_true(c.foreign);
    assert_true(c.untried);
    assert_string_equal(c.queue, "q");
    assert_string_equal(c.head_claim, "x-1.records");
    cluster_free(&c);
    json_decref(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spec_with_a_wrong_field_is_refused_with_its_path),
        cmocka_unit_test(the_claim_of_the_head_has_the_name_of_an_object),
        cmocka_unit_test(a_template_may_not_change_the_daemons_command),
        cmocka_unit_test(a_name_that_is_impossible_for_its_pods_is_refused),
        cmocka_unit_test(an_object_without_metadata_is_refused),
        cmocka_unit_test(a_malformed_status_record_is_refused),
        cmocka_unit_test(a_last_campaign_that_cannot_be_read_is_none),
        cmocka_unit_test(metadata_and_conditions_are_decoded_without_the_record),
        cmocka_unit_test(many_targets_are_a_range_and_few_are_a_list_too),
        cmocka_unit_test(a_percentage_of_the_members_is_rounded_down),
        cmocka_unit_test(a_whole_spec_is_decoded),
        cmocka_unit_test(security_disruption_manager_and_storage_are_decoded),
        cmocka_unit_test(a_record_survives_encoding_and_decoding),
        cmocka_unit_test(an_older_answer_does_not_set_a_campaign_back),
        cmocka_unit_test(the_jobs_that_a_status_names_are_bounded),
        cmocka_unit_test(a_drain_that_kills_has_no_deadline),
        cmocka_unit_test(an_identity_fits_a_certificate_for_the_longest_names),
        cmocka_unit_test(times_are_read_with_and_without_fractions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
