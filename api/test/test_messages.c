/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the messages between operator and head: refusals first, then round trips. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "api/dvm.h"
#include "api/event.h"
#include "api/links.h"
#include "api/reason.h"
#include "api/size.h"

#include <string.h>

static json_t *json(const char *text)
{
    json_error_t e;
    json_t *o = json_loads(text, JSON_DECODE_ANY, &e);

    assert_non_null(o);
    return o;
}

struct refusal {
    const char *text;
    const char *message;
};

static void check_request(const struct refusal *r)
{
    json_t *o = json(r->text);
    struct api_campaign_request q;
    struct err err = {0};

    assert_int_equal(api_campaign_request_decode(o, &q, &err), -1);
    assert_string_equal(err.msg, r->message);
    assert_null(q.targets);
    json_decref(o);
}

static void a_bad_campaign_request_is_refused_by_the_name_of_its_field(void **state)
{
    static const struct refusal refusals[] = {
        {"[]", "a list where an object is wanted"},
        {"{\"sequence\": 1, \"targets\": [1]}", "kind: missing"},
        {"{\"kind\": \"turn\", \"sequence\": 1, \"targets\": []}",
         "kind: \"turn\" is not known here"},
        {"{\"kind\": \"grow\", \"sequence\": 1, \"targets\": [1], \"drain\": {}}",
         "drain: a grow campaign cannot have a drain policy"},
        {"{\"kind\": \"grow\", \"sequence\": 1, \"targets\": [1], \"deadlineSeconds\": -1}",
         "deadlineSeconds: -1 is not within 0 to 315360000"},
        {"{\"kind\": \"grow\", \"sequence\": 1, \"targets\": [1], \"size\": \"Keep\"}",
         "size: a grow campaign cannot keep the size"},
        {"{\"kind\": \"shrink\", \"sequence\": 1, \"targets\": [1], \"size\": true}",
         "size: a boolean where a string is wanted"},
        {"{\"kind\": \"shrink\", \"sequence\": 1, \"targets\": [1], \"size\": \"No\"}",
         "size: \"No\" is not known here"},
        {"{\"kind\": \"shrink\", \"targets\": [1]}", "sequence: missing"},
        {"{\"kind\": \"shrink\", \"sequence\": \"1\", \"targets\": [1]}",
         "sequence: a string where an integer is wanted"},
        {"{\"kind\": \"shrink\", \"sequence\": 1}", "targets: missing"},
        {"{\"kind\": \"shrink\", \"sequence\": 1, \"targets\": [2, 1]}",
         "targets: 1 after 2, ascending numbers are wanted"},
        {"{\"kind\": \"shrink\", \"sequence\": 1, \"targets\": [4294967296]}",
         "targets: 4294967296 is not within 0 to 4294967295"},
        {"{\"kind\": \"shrink\", \"sequence\": 1, \"targets\": [1], \"drain\": 3}",
         "drain: an integer where an object is wanted"},
        {"{\"kind\": \"shrink\", \"sequence\": 1, \"targets\": [1], \"drain\": {\"mode\": \"No\"}}",
         "drain: mode: \"No\" is not known here"},
        {"{\"kind\": \"shrink\", \"sequence\": 1, \"targets\": [1],"
         " \"drain\": {\"deadlineSeconds\": -1}}",
         "drain: deadlineSeconds: -1 is not within 0 to 315360000"},
    };

    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
        check_request(&refusals[i]);
}

static void a_request_with_more_targets_than_allowed_is_refused(void **state)
{
    json_t *list = json_array();

    for (int i = 0; i <= API_TARGETS_MAX; i++)
        json_array_append_new(list, json_integer(i));
    json_t *o = json_pack("{s:s, s:i, s:o}", "kind", "shrink", "sequence", 1, "targets", list);
    struct api_campaign_request q;
    struct err err = {0};
    assert_int_equal(api_campaign_request_decode(o, &q, &err), -1);
    assert_string_equal(err.msg, "targets: 65536 elements, at most 65535 are allowed");
    json_decref(o);
}

static void a_request_without_drain_waits_without_a_deadline(void **state)
{
    json_t *o = json("{\"kind\": \"shrink\", \"sequence\": 3, \"targets\": []}");
    struct api_campaign_request q;
    struct err err = {0};

    assert_int_equal(api_campaign_request_decode(o, &q, &err), 0);
    assert_int_equal(q.drain_mode, API_DRAIN_WAIT);
    assert_false(q.keeps_size);
    assert_int_equal(q.deadline_s, -1);
    assert_int_equal(q.ntargets, 0);
    assert_int_equal(q.sequence, 3);
    api_campaign_request_free(&q);
    json_decref(o);
}

static void a_campaign_request_survives_the_round_trip(void **state)
{
    uint32_t targets[] = {5, 6, 4294967295u};
    struct api_campaign_request in = {.sequence = INT64_MAX,
                                      .drain_mode = API_DRAIN_KILL,
                                      .keeps_size = true,
                                      .deadline_s = 0,
                                      .ntargets = 3,
                                      .targets = targets};
    json_t *o = api_campaign_request_encode(&in);
    struct api_campaign_request out;
    struct err err = {0};

    assert_int_equal(api_campaign_request_decode(o, &out, &err), 0);
    assert_true(out.sequence == in.sequence);
    assert_int_equal(out.drain_mode, API_DRAIN_KILL);
    assert_true(out.keeps_size);
    assert_int_equal(out.deadline_s, 0);
    assert_int_equal(out.ntargets, 3);
    assert_memory_equal(out.targets, targets, sizeof(targets));
    api_campaign_request_free(&out);
    json_decref(o);
}

static void a_grow_request_survives_the_round_trip(void **state)
{
    uint32_t targets[] = {5, 6};
    struct api_campaign_request in = {
        .sequence = 2, .kind = API_KIND_GROW, .deadline_s = 9, .ntargets = 2, .targets = targets};
    json_t *o = api_campaign_request_encode(&in);
    struct api_campaign_request out;
    struct err err = {0};

    assert_null(json_object_get(o, "drain"));
    assert_int_equal(api_campaign_request_decode(o, &out, &err), 0);
    assert_int_equal(out.kind, API_KIND_GROW);
    assert_int_equal(out.deadline_s, 9);
    api_campaign_request_free(&out);
    json_object_del(o, "deadlineSeconds");
    assert_int_equal(api_campaign_request_decode(o, &out, &err), 0);
    assert_int_equal(out.deadline_s, -1);
    api_campaign_request_free(&out);
    json_decref(o);
}

static uint32_t some_ranks[] = {2, 3};
static uint32_t some_targets[] = {5, 6};
static uint32_t some_departed[] = {6};
static struct api_job_ref some_refs[] = {{.job = "job-1", .nranks = 2, .ranks = some_ranks},
                                         {.job = "job-2"}};

static struct api_campaign some_campaign(void)
{
    return (struct api_campaign){.id = "c-7",
                                 .sequence = 7,
                                 .phase = API_PHASE_REMOVING,
                                 .ntargets = 2,
                                 .targets = some_targets,
                                 .nwaiting = 1,
                                 .waiting = some_refs,
                                 .nended = 2,
                                 .ended = some_refs,
                                 .ndeparted = 1,
                                 .departed = some_departed,
                                 .accepted_ms = 1,
                                 .drained_ms = 2,
                                 .fence_ms = 3,
                                 .complete_ms = 0};
}

static void check_campaign(const struct api_campaign *c)
{
    assert_string_equal(c->id, "c-7");
    assert_int_equal(c->sequence, 7);
    assert_int_equal(c->phase, API_PHASE_REMOVING);
    assert_int_equal(c->ntargets, 2);
    assert_int_equal(c->targets[1], 6);
    assert_int_equal(c->nwaiting, 1);
    assert_int_equal(c->nended, 2);
    assert_string_equal(c->ended[0].job, "job-1");
    assert_int_equal(c->ended[0].nranks, 2);
    assert_int_equal(c->ended[0].ranks[1], 3);
    assert_int_equal(c->ended[1].nranks, 0);
    assert_int_equal(c->ndeparted, 1);
    assert_int_equal(c->departed[0], 6);
    assert_int_equal(c->accepted_ms, 1);
    assert_int_equal(c->drained_ms, 2);
    assert_int_equal(c->fence_ms, 3);
    assert_int_equal(c->complete_ms, 0);
}

static void a_bad_campaign_record_is_refused_with_the_path_to_its_field(void **state)
{
    static const struct refusal refusals[] = {
        {"{\"sequence\": 1, \"phase\": \"Draining\", \"targets\": []}", "id: missing"},
        {"{\"id\": \"x\", \"sequence\": 1, \"phase\": \"Done\", \"targets\": []}",
         "phase: \"Done\" is not known here"},
        {"{\"id\": \"x\", \"sequence\": 1, \"phase\": \"Draining\", \"targets\": [],"
         " \"waiting\": [{\"job\": \"j\", \"ranks\": []}, {\"job\": \"k\", \"ranks\": [-1]}]}",
         "waiting[1]: ranks: -1 is not within 0 to 4294967295"},
        {"{\"id\": \"x\", \"sequence\": 1, \"phase\": \"Draining\", \"targets\": [],"
         " \"ended\": [7]}",
         "ended[0]: an integer where an object is wanted"},
        {"{\"id\": \"x\", \"sequence\": 1, \"phase\": \"Draining\", \"targets\": [],"
         " \"requester\": {\"job\": \"j\", \"rank\": 0, \"vpid\": 2, \"told\": \"Maybe\"}}",
         "requester: told: \"Maybe\" is not known here"},
    };

    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        json_t *o = json(refusals[i].text);
        struct api_campaign c;
        struct err err = {0};

        assert_int_equal(api_campaign_decode(o, &c, &err), -1);
        assert_string_equal(err.msg, refusals[i].message);
        json_decref(o);
    }
}

static void a_campaign_of_an_application_names_the_requester(void **state)
{
    struct api_campaign in = some_campaign(), out;
    struct err err = {0};
    json_t *o;

    in.requester = (struct api_requester){"5f.1", 3, 2, "mine", API_TOLD_GONE};
    o = api_campaign_encode(&in);
    assert_int_equal(api_campaign_decode(o, &out, &err), 0);
    assert_string_equal(out.requester.job, "5f.1");
    assert_int_equal(out.requester.rank, 3);
    assert_int_equal(out.requester.vpid, 2);
    assert_string_equal(out.requester.id, "mine");
    assert_int_equal(out.requester.told, API_TOLD_GONE);
    api_campaign_free(&out);
    json_decref(o);
    in = some_campaign();
    o = api_campaign_encode(&in);
    assert_null(json_object_get(o, "requester"));
    json_decref(o);
}

static void a_failed_grow_reports_its_cause(void **state)
{
    struct api_campaign in = some_campaign(), out;
    struct err err = {0};

    in.kind = API_KIND_GROW;
    in.phase = API_PHASE_FAILED;
    in.cause = "vpid 6 was lost";
    json_t *o = api_campaign_encode(&in);
    assert_int_equal(api_campaign_decode(o, &out, &err), 0);
    assert_int_equal(out.kind, API_KIND_GROW);
    assert_int_equal(out.phase, API_PHASE_FAILED);
    assert_true(api_phase_terminal(out.phase));
    assert_string_equal(out.cause, "vpid 6 was lost");
    api_campaign_free(&out);
    json_decref(o);
}

static void a_campaign_record_survives_the_round_trip(void **state)
{
    struct api_campaign in = some_campaign(), out;
    struct err err = {0};
    json_t *o = api_campaign_encode(&in);

    assert_int_equal(api_campaign_decode(o, &out, &err), 0);
    check_campaign(&out);
    api_campaign_free(&out);
    json_decref(o);
}

static void only_complete_and_cancelled_are_terminal(void **state)
{
    assert_false(api_phase_terminal(API_PHASE_DRAINING));
    assert_false(api_phase_terminal(API_PHASE_REMOVING));
    assert_true(api_phase_terminal(API_PHASE_COMPLETE));
    assert_true(api_phase_terminal(API_PHASE_CANCELLED));
}

static void a_bad_event_is_refused_by_the_name_of_its_field(void **state)
{
    static const struct refusal refusals[] = {
        {"{}", "incarnation: missing"},
        {"{\"incarnation\": \"01234567890123456\", \"number\": 1, \"type\": \"Size\"}",
         "incarnation: 17 bytes, at most 16 are allowed"},
        {"{\"incarnation\": \"a\", \"number\": 0, \"type\": \"Size\"}",
         "number: 0, events count from 1"},
        {"{\"incarnation\": \"a\", \"number\": 1, \"type\": \"Party\"}",
         "type: \"Party\" is not known here"},
        {"{\"incarnation\": \"a\", \"number\": 1, \"type\": \"DaemonWired\"}", "vpid: missing"},
        {"{\"incarnation\": \"a\", \"number\": 1, \"type\": \"DaemonWired\", \"vpid\": 1,"
         " \"epoch\": \"b.1\"}",
         "epoch: \"b.1\" is not a.<number>"},
        {"{\"incarnation\": \"a\", \"number\": 1, \"type\": \"DaemonWired\", \"vpid\": 1,"
         " \"epoch\": \"a.\"}",
         "epoch: \"a.\" is not a.<number>"},
        {"{\"incarnation\": \"a\", \"number\": 1, \"type\": \"CampaignComplete\"}",
         "campaign: missing"},
        {"{\"incarnation\": \"a\", \"number\": 1, \"type\": \"NodesOffered\", \"campaign\": {}}",
         "campaign: id: missing"},
    };

    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        json_t *o = json(refusals[i].text);
        struct api_event e;
        struct err err = {0};

        assert_int_equal(api_event_decode(o, &e, &err), -1);
        assert_string_equal(err.msg, refusals[i].message);
        json_decref(o);
    }
}

static void every_type_of_event_survives_the_round_trip(void **state)
{
    for (int t = 0; t < API_EVENT_TYPES; t++) {
        bool campaign = t >= API_EVENT_CAMPAIGN_ACCEPTED && t <= API_EVENT_CAMPAIGN_CANCELLED;
        bool daemon = t <= API_EVENT_DAEMON_DEPARTED;
        struct api_event in = {.incarnation = "0123456789abcdef",
                               .number = 12,
                               .time_ms = 99,
                               .type = (enum api_event_type)t,
                               .vpid = daemon ? 5 : 0,
                               .epoch = daemon ? 9 : 0,
                               .has_campaign = campaign};

        if (campaign)
            in.campaign = some_campaign();
        struct api_event out;
        struct err err = {0};
        json_t *o = api_event_encode(&in);
        assert_int_equal(api_event_decode(o, &out, &err), 0);
        assert_string_equal(out.incarnation, in.incarnation);
        assert_int_equal(out.number, 12);
        assert_int_equal(out.time_ms, 99);
        assert_int_equal(out.type, t);
        assert_int_equal(out.vpid, in.vpid);
        assert_int_equal(out.epoch, in.epoch);
        assert_int_equal(out.has_campaign, campaign);
        if (campaign)
            check_campaign(&out.campaign);
        api_event_free(&out);
        json_decref(o);
    }
}

static void the_epoch_of_a_daemon_is_written_with_its_incarnation(void **state)
{
    struct api_event e = {
        .incarnation = "5f3a", .number = 1, .type = API_EVENT_DAEMON_LOST, .vpid = 5, .epoch = 9};
    json_t *o = api_event_encode(&e);

    assert_string_equal(json_string_value(json_object_get(o, "epoch")), "5f3a.9");
    json_decref(o);
}

static void the_cause_of_a_loss_is_carried(void **state)
{
    struct api_event e = {.incarnation = "5f3a",
                          .number = 1,
                          .type = API_EVENT_DAEMON_LOST,
                          .vpid = 5,
                          .epoch = 9,
                          .cause = (char *)"it is silent"};
    struct api_event out;
    struct err err = {0};
    json_t *o = api_event_encode(&e);

    assert_int_equal(api_event_decode(o, &out, &err), 0);
    assert_string_equal(out.cause, "it is silent");
    api_event_free(&out);
    json_object_del(o, "cause"); /* of a head with an older image */
    assert_int_equal(api_event_decode(o, &out, &err), 0);
    assert_null(out.cause);
    api_event_free(&out);
    json_object_set_new(o, "cause", json_integer(3));
    assert_int_equal(api_event_decode(o, &out, &err), -1);
    json_decref(o);
}

static void sizes_and_shutdowns_out_of_their_limits_are_refused(void **state)
{
    json_t *o = json("{\"sequence\": 1, \"members\": 65536, \"deadlineSeconds\": 1.5}");
    struct api_size size;
    struct api_shutdown shutdown;
    struct err err = {0};

    assert_int_equal(api_size_decode(o, &size, &err), -1);
    assert_string_equal(err.msg, "members: 65536 is not within 0 to 65535");
    assert_int_equal(api_shutdown_decode(o, &shutdown, &err), -1);
    assert_string_equal(err.msg, "deadlineSeconds: a fraction where an integer is wanted");
    json_decref(o);
}

static void contradictory_limits_for_applications_are_refused(void **state)
{
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"{\"sequence\": 1, \"members\": 4, \"min\": 5, \"max\": 4}", "min: 5 is over max, 4"},
        {"{\"sequence\": 1, \"members\": 4, \"max\": 65536}",
         "max: 65536 is not within 0 to 65535"},
        {"{\"sequence\": 1, \"members\": 4, \"min\": -1}", "min: -1 is not within 0 to 65535"},
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        json_t *o = json(bad[i].text);
        struct api_size size = {.limits = {true, 7, 7}};
        struct err err = {0};

        assert_int_equal(api_size_decode(o, &size, &err), -1);
        assert_string_equal(err.msg, bad[i].why);
        assert_false(size.limits.set);
        json_decref(o);
    }
}

static void limits_for_applications_may_be_absent_one_or_both(void **state)
{
    static const struct {
        const char *text;
        struct api_size_limits want;
    } good[] = {
        {"{\"sequence\": 1, \"members\": 4}", {false, 0, 0}},
        {"{\"sequence\": 1, \"members\": 4, \"max\": 9}", {true, 0, 9}},
        {"{\"sequence\": 1, \"members\": 4, \"min\": 2}", {true, 2, API_TARGETS_MAX}},
        {"{\"sequence\": 1, \"members\": 4, \"min\": 0, \"max\": 0}", {true, 0, 0}},
    };

    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        json_t *o = json(good[i].text), *again;
        struct api_size size, back;
        struct err err = {0};

        assert_int_equal(api_size_decode(o, &size, &err), 0);
        assert_true(api_size_limits_equal(&size.limits, &good[i].want));
        again = api_size_encode(&size);
        assert_int_equal(api_size_decode(again, &back, &err), 0);
        assert_true(api_size_limits_equal(&back.limits, &good[i].want));
        json_decref(o);
        json_decref(again);
    }
}

static void sizes_and_shutdowns_survive_the_round_trip(void **state)
{
    struct api_size size = {.sequence = 8, .members = 65535};
    struct api_shutdown shutdown = {.deadline_s = 30};
    struct err err = {0};
    json_t *a = api_size_encode(&size), *b = api_shutdown_encode(&shutdown);

    size = (struct api_size){0};
    shutdown = (struct api_shutdown){0};
    assert_int_equal(api_size_decode(a, &size, &err), 0);
    assert_int_equal(api_shutdown_decode(b, &shutdown, &err), 0);
    assert_int_equal(size.sequence, 8);
    assert_int_equal(size.members, 65535);
    assert_int_equal(shutdown.deadline_s, 30);
    json_decref(a);
    json_decref(b);
}

static void a_bad_view_is_refused_with_the_path_to_its_field(void **state)
{
#define HEAD "{\"incarnation\": \"a\", \"size\": {\"sequence\": 1, \"members\": 1},"
#define EVENTS "\"events\": {\"next\": 1}"
    static const struct refusal refusals[] = {
        {"{\"incarnation\": \"a\"}", "size: missing"},
        {"{\"incarnation\": \"a\", \"size\": {\"sequence\": 1}, " EVENTS "}",
         "size: members: missing"},
        {HEAD "\"members\": []}", "events: missing"},
        {HEAD EVENTS "}", "members: missing"},
        {HEAD EVENTS ", \"members\": [{\"vpid\": 0, \"epoch\": 1, \"state\": \"wired\"}, {}]}",
         "members[1]: vpid: missing"},
        {HEAD EVENTS ", \"members\": [{\"vpid\": 0, \"epoch\": 1, \"state\": \"RUNNING\"}]}",
         "members[0]: state: \"RUNNING\" is no state"},
        {HEAD EVENTS ", \"members\": [], \"jobs\": [{\"id\": \"1\", \"state\": \"wired\"}]}",
         "jobs[0]: state: \"wired\" is no state"},
        {HEAD EVENTS ", \"members\": [], \"jobs\": [{\"id\": \"\"}]}", "jobs[0]: id: empty"},
        {HEAD EVENTS ", \"members\": [], \"campaigns\": [{\"id\": 3}]}",
         "campaigns[0]: id: an integer where a string is wanted"},
        {HEAD EVENTS
         ", \"members\": [], \"fence\": {\"total\": 1, \"holds\": [{\"name\": \"x\"}]}}",
         "fence: holds[0]: count: missing"},
    };
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        json_t *o = json(refusals[i].text);
        struct api_dvm d;
        struct err err = {0};

        assert_int_equal(api_dvm_decode(o, &d, &err), -1);
        assert_string_equal(err.msg, refusals[i].message);
        json_decref(o);
    }
}

static void every_state_of_a_job_and_of_a_member_is_found_by_its_word(void **state)
{
    static const char *const members[] = {"absent",  "reported", "wired", "draining",
                                          "leaving", "parked",   "lost"};
    unsigned njobs = 0;

    for (unsigned s = 0; s < MEMBER_STATES; s++) {
        assert_string_equal(member_state_word(s), members[s]);
        assert_int_equal(member_state_of(members[s]), s);
    }
    assert_string_equal(member_state_word(MEMBER_STATES), "?");
    assert_int_equal(member_state_of("?"), -1);
    for (unsigned s = 0; s < 256; s++) {
        if (job_state_word(s))
            assert_int_equal(job_state_of(job_state_word(s)), s);
        njobs += job_state_word(s) != NULL;
    }
    assert_int_equal(njobs, 24);
    assert_string_equal(job_state_word(JOB_RUNNING), "RUNNING");
    assert_int_equal(job_state_of("UNTERMINATED"), -1);
}

static void every_reason_is_found_by_its_word(void **state)
{
    for (int r = API_REASON_NONE + 1; r < API_REASONS; r++) {
        assert_int_equal(api_reason_of(api_reason_word((enum api_reason)r)), r);
        assert_string_not_equal(api_reason_word((enum api_reason)r), "");
    }
    assert_string_equal(api_reason_word(API_REASON_SEQUENCE_TOO_OLD), "SequenceTooOld");
    assert_string_equal(api_reason_word(API_REASONS), "");
    assert_int_equal(api_reason_of(""), API_REASON_NONE);
    assert_int_equal(api_reason_of("LaterThanThis"), API_REASON_NONE);
}

static void a_view_survives_the_round_trip(void **state)
{
    struct api_dvm_hold holds[] = {{.name = "campaign c-7", .count = 2}};
    struct api_dvm_member members[] = {
        {.vpid = 0, .epoch = 1, .state = MEMBER_WIRED, .host = "x-head-0", .parent = -1},
        {.vpid = 5,
         .epoch = 9,
         .state = MEMBER_LEAVING,
         .host = "x-5",
         .address = "10.0.0.5:7400",
         .slots = 4,
         .slots_used = 3,
         .parent = 0,
         .depth = 1,
         .repairs = 2},
    };
    struct api_dvm_job jobs[] = {{.id = "job-1",
                                  .state = JOB_RUNNING,
                                  .reason = "held",
                                  .ranks = 4,
                                  .nvpids = 2,
                                  .vpids = some_targets,
                                  .exit_code = -6}};
    struct api_campaign campaigns[] = {some_campaign()};
    struct api_dvm in = {.incarnation = "5f3a",
                         .cluster = "ns/x",
                         .version = 3,
                         .radix = 64,
                         .repairs = 1,
                         .size_sequence = 4,
                         .size_members = 5,
                         .next_event = 17,
                         .fence_total = 2,
                         .nholds = 1,
                         .holds = holds,
                         .nmembers = 2,
                         .members = members,
                         .njobs = 1,
                         .jobs = jobs,
                         .ncampaigns = 1,
                         .campaigns = campaigns};
    json_t *a = api_dvm_encode(&in);
    struct api_dvm out;
    struct err err = {0};

    assert_int_equal(api_dvm_decode(a, &out, &err), 0);
    assert_int_equal(out.members[1].state, MEMBER_LEAVING);
    assert_int_equal(out.jobs[0].state, JOB_RUNNING);
    assert_int_equal(out.members[0].parent, -1);
    assert_int_equal(out.jobs[0].exit_code, -6);
    assert_int_equal(out.next_event, 17);
    check_campaign(&out.campaigns[0]);
    json_t *b = api_dvm_encode(&out);
    assert_true(json_equal(a, b));
    api_dvm_free(&out);
    json_decref(a);
    json_decref(b);
}

#define PEER_BUT_SENT                                                                              \
    "{\"vpid\": 1, \"peers\": [{\"vpid\": 0, \"role\": \"parent\", \"up\": 2, \"mappedOut\": 1, "  \
    "\"queuedBytes\": 65536, \"lost\": 3"

static void bad_links_are_refused_with_the_path_to_their_field(void **state)
{
    static const struct refusal refusals[] = {
        {"[]", "a list where an object is wanted"},
        {"{\"peers\": []}", "vpid: missing"},
        {"{\"vpid\": 1}", "peers: missing"},
        {PEER_BUT_SENT "}]}", "peers[0]: sentAgain: missing"},
        {"{\"vpid\": 1, \"peers\": [{\"vpid\": 0, \"role\": \"aunt\"}]}",
         "peers[0]: role: \"aunt\" is not known here"},
        {PEER_BUT_SENT ", \"sentAgain\": 1, \"addresses\": [{\"own\": \"\"}]}]}",
         "peers[0]: addresses[0]: own: empty"},
        {PEER_BUT_SENT ", \"sentAgain\": 1, \"addresses\": [1, 2, 3, 4, 5, 6, 7, 8, 9]}]}",
         "peers[0]: addresses: 9 elements, at most 8 are allowed"},
        {PEER_BUT_SENT ", \"sentAgain\": 1, \"roundTripMs\": -2}]}",
         "peers[0]: roundTripMs: -2 is not within -1 to 9223372036854775807"},
    };

    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        json_t *o = json(refusals[i].text);
        struct api_links l;
        struct err err = {0};

        assert_int_equal(api_links_decode(o, &l, &err), -1);
        assert_string_equal(err.msg, refusals[i].message);
        assert_null(l.peers);
        json_decref(o);
    }
}

static void links_survive_the_round_trip(void **state)
{
    json_t *a =
        json("{\"vpid\": 1, \"peers\": ["
             "{\"vpid\": 0, \"role\": \"parent\", \"up\": 2, \"mappedOut\": 1, \"roundTripMs\": 7, "
             "\"queuedBytes\": 65536, \"lost\": 3, \"sentAgain\": 12, \"addresses\": ["
             "{\"own\": \"10.1.0.2\", \"other\": \"10.1.0.1\", \"up\": 2, \"mappedOut\": 0, "
             "\"roundTripMs\": 7},"
             "{\"own\": \"fd00::2\", \"other\": \"fd00::1\", \"up\": 0, \"mappedOut\": 1, "
             "\"roundTripMs\": -1}]},"
             "{\"vpid\": 4, \"role\": \"child\", \"up\": 0, \"mappedOut\": 0, \"roundTripMs\": -1, "
             "\"queuedBytes\": 0, \"lost\": 1, \"sentAgain\": 0, \"addresses\": []}]}");
    struct err err = {0};
    struct api_links l;

    assert_int_equal(api_links_decode(a, &l, &err), 0);
    assert_int_equal(l.npeers, 2);
    assert_int_equal(l.peers[1].role, API_LINK_CHILD);
    assert_int_equal(l.peers[1].round_trip_ms, -1);
    json_t *b = api_links_encode(&l);
    assert_true(json_equal(a, b));
    api_links_free(&l);
    json_decref(a);
    json_decref(b);
}

static void an_unknown_field_of_a_request_is_refused_by_its_name(void **state)
{
    static const struct {
        const char *body, *why;
    } rows[] = {
        {"{'kind':'shrink','sequence':1,'targets':[1],'drian':{}}",
         "drian: there is no such field"},
        {"{'kind':'shrink','sequence':1,'targets':[1],'deadlineSeconds':3}",
         "deadlineSeconds: there is no such field"},
        {"{'kind':'shrink','sequence':1,'targets':[1],'drain':{'mode':'Kill','after':3}}",
         "drain: after: there is no such field"},
        {"{'kind':'grow','sequence':1,'targets':[1],'deadline':3}",
         "deadline: there is no such field"},
    };
    struct api_campaign_request q;
    struct api_shutdown shutdown;
    struct api_size size;
    struct err err;
    json_t *o;

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char text[256];

        snprintf(text, sizeof(text), "%s", rows[i].body);
        for (char *c = text; *c; c++)
            *c = (char)(*c == '\'' ? '"' : *c);
        o = json_loads(text, 0, NULL);
        assert_int_equal(api_campaign_request_decode(o, &q, &err), -1);
        assert_string_equal(err.msg, rows[i].why);
        json_decref(o);
    }
    o = json_pack("{s:i, s:i, s:i}", "sequence", 1, "members", 2, "memebrs", 3);
    assert_int_equal(api_size_decode(o, &size, &err), -1);
    assert_string_equal(err.msg, "memebrs: there is no such field");
    json_decref(o);
    o = json_pack("{s:i, s:i}", "deadlineSeconds", 1, "now", 1);
    assert_int_equal(api_shutdown_decode(o, &shutdown, &err), -1);
    assert_string_equal(err.msg, "now: there is no such field");
    json_decref(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unknown_field_of_a_request_is_refused_by_its_name),
        cmocka_unit_test(a_bad_campaign_request_is_refused_by_the_name_of_its_field),
        cmocka_unit_test(a_request_with_more_targets_than_allowed_is_refused),
        cmocka_unit_test(a_request_without_drain_waits_without_a_deadline),
        cmocka_unit_test(a_campaign_request_survives_the_round_trip),
        cmocka_unit_test(a_grow_request_survives_the_round_trip),
        cmocka_unit_test(a_campaign_of_an_application_names_the_requester),
        cmocka_unit_test(a_failed_grow_reports_its_cause),
        cmocka_unit_test(a_bad_campaign_record_is_refused_with_the_path_to_its_field),
        cmocka_unit_test(a_campaign_record_survives_the_round_trip),
        cmocka_unit_test(only_complete_and_cancelled_are_terminal),
        cmocka_unit_test(a_bad_event_is_refused_by_the_name_of_its_field),
        cmocka_unit_test(every_type_of_event_survives_the_round_trip),
        cmocka_unit_test(the_epoch_of_a_daemon_is_written_with_its_incarnation),
        cmocka_unit_test(the_cause_of_a_loss_is_carried),
        cmocka_unit_test(sizes_and_shutdowns_out_of_their_limits_are_refused),
        cmocka_unit_test(contradictory_limits_for_applications_are_refused),
        cmocka_unit_test(limits_for_applications_may_be_absent_one_or_both),
        cmocka_unit_test(sizes_and_shutdowns_survive_the_round_trip),
        cmocka_unit_test(a_bad_view_is_refused_with_the_path_to_its_field),
        cmocka_unit_test(every_state_of_a_job_and_of_a_member_is_found_by_its_word),
        cmocka_unit_test(every_reason_is_found_by_its_word),
        cmocka_unit_test(a_view_survives_the_round_trip),
        cmocka_unit_test(bad_links_are_refused_with_the_path_to_their_field),
        cmocka_unit_test(links_survive_the_round_trip),
    };

    return cmocka_run_group_tests_name("messages", tests, NULL, NULL);
}
