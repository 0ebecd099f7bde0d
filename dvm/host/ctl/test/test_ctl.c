/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the control API over the local socket's calls, with the real core of a head. */
#include "dvm/host/ctl/ctl.h"

#include "base/buf/buf.h"
#include "dvm/host/ctl/ctl_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CONN 7
#define LINES_MAX 64

struct world {
    struct loop *loop;
    struct core *core;
    struct ctl *ctl;
    int status;
    char *body;
    int replies;
    int drains;
    int keeps, kept_groups;
    int keeps_at_reply;   /* how often records had been kept when the last answer was given */
    int replies_at_drain; /* how many answers had been given when core's actions were taken last */
    bool slow;            /* the reader of lines takes no more */
    int slow_readers;     /* calls */
    size_t nlines;
    char *lines[LINES_MAX];
};

static void on_drain(void *arg)
{
    struct world *w = arg;
    struct out_act act;

    w->drains++;
    w->replies_at_drain = w->replies;
    while (core_next(w->core, &act)) {
        if (act.kind == OUT_EVENT)
            ctl_on_event(w->ctl, act.event.number);
        out_act_free(&act);
    }
}

static void on_keep(void *arg)
{
    struct world *w = arg;
    struct out_act act;

    w->keeps++;
    if (!core_next_records(w->core, &act))
        return;
    w->kept_groups++;
    out_act_free(&act);
}

static void on_reply(uint64_t conn, int status, const char *body, void *arg)
{
    struct world *w = arg;

    assert_int_equal(conn, CONN);
    free(w->body);
    w->status = status;
    w->body = xstrdup(body);
    w->replies++;
    w->keeps_at_reply = w->keeps;
}

static int on_line(uint64_t conn, const char *event, void *arg)
{
    struct world *w = arg;

    if (w->slow)
        return -1;
    assert_true(w->nlines < LINES_MAX);
    w->lines[w->nlines++] = xstrdup(event);
    return 0;
}

/* The client is disconnected, with all its streams. */
static void on_slow(uint64_t conn, void *arg)
{
    struct world *w = arg;

    assert_int_equal(conn, CONN);
    w->slow_readers++;
    ctl_local_gone(w->ctl, conn);
}

static int setup_daemon(void **state, uint32_t vpid)
{
    struct world *w = xcalloc(1, sizeof(*w));
    struct ctl_opts opts = {.keep = on_keep, .drain = on_drain, .drain_arg = w};
    struct core_opts co = {.vpid = vpid,
                           .cluster = "local/test",
                           .host = "here",
                           .address = "",
                           .join_port = 1,
                           .head_host = "127.0.0.1",
                           .head_port = 1,
                           .radix = 2,
                           .incarnation = vpid ? 0 : 0x5f3a,
                           .keeps_records = vpid == 0,
                           .size = 4};

    w->loop = loop_create(NULL);
    w->core = core_create(&co, loop_now_ms(w->loop), loop_wall_ms());
    w->ctl = ctl_create(w->loop, w->core, &opts, NULL);
    assert_non_null(w->ctl);
    on_drain(w);
    w->drains = 0;
    *state = w;
    return 0;
}

static int setup_head(void **state)
{
    return setup_daemon(state, 0);
}

static int setup_member(void **state)
{
    return setup_daemon(state, 3);
}

static int teardown(void **state)
{
    struct world *w = *state;

    ctl_destroy(w->ctl);
    core_destroy(w->core);
    loop_destroy(w->loop);
    for (size_t i = 0; i < w->nlines; i++)
        free(w->lines[i]);
    free(w->body);
    free(w);
    return 0;
}

static void call(struct world *w, const char *method, const char *path, const char *body)
{
    struct ctl_local answer = {
        .role = API_ROLE_OPERATOR, .reply = on_reply, .line = on_line, .slow = on_slow, .arg = w};
    int before = w->replies;

    ctl_local_call(w->ctl, CONN, method, path, body, &answer);
    assert_int_equal(w->replies, before + 1);
}

static void assert_answer(struct world *w, int status, const char *text)
{
    if (w->status != status || !strstr(w->body, text))
        fail_msg("answer %d %s, not %d with '%s'", w->status, w->body, status, text);
}

static void put_size(struct world *w, int sequence, int members)
{
    FREE_AUTO char *body = xasprintf("{\"sequence\": %d, \"members\": %d}", sequence, members);

    call(w, "PUT", "/v1/size", body);
}

/* --- refusals */

static void an_unknown_path_is_not_found(void **state)
{
    static const char *const paths[] = {"/",
                                        "/v2/dvm",
                                        "/v1/dvm/",
                                        "/v1/campaigns",
                                        "/v1/campaigns/",
                                        "/v1/campaigns/a/b",
                                        "/v1/campaigns//cancel",
                                        "/v1/campaigns/a/cancel/b"};

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        call(*state, "GET", paths[i], "");
        assert_answer(*state, 404, "\"reason\":\"NotFound\"");
    }
}

static void a_known_path_with_another_method_is_not_allowed(void **state)
{
    call(*state, "DELETE", "/v1/dvm", "");
    assert_answer(*state, 405, "MethodNotAllowed");
    call(*state, "GET", "/v1/size", "");
    assert_answer(*state, 405, "MethodNotAllowed");
}

static void a_body_that_is_no_object_is_a_bad_request_and_changes_nothing(void **state)
{
    static const char *const bodies[] = {
        "", "{", "[]", "3", "{}", "null", "{\"sequence\":1,\"sequence\":1}"};
    struct world *w = *state;

    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        call(w, "PUT", "/v1/size", bodies[i]);
        assert_answer(w, 400, "BadRequest");
        call(w, "PUT", "/v1/campaigns/a", bodies[i]);
        assert_answer(w, 400, "BadRequest");
        call(w, "PUT", "/v1/shutdown", bodies[i]);
        assert_answer(w, 400, "BadRequest");
    }
    assert_int_equal(w->drains, 0);
}

static void a_campaign_s_id_that_is_too_long_is_a_bad_request(void **state)
{
    char path[API_ID_MAX + 64];

    memset(path, 'x', sizeof(path));
    memcpy(path, "/v1/campaigns/", 14);
    path[sizeof(path) - 1] = '\0';
    call(*state, "GET", path, "");
    assert_answer(*state, 400, "1 to 128 bytes");
}

static void text_that_is_no_utf8_is_refused(void **state)
{
    call(*state, "GET", "/v1/\xff\xfe", "");
    assert_answer(*state, 404, "NotFound");
}

static void an_unknown_campaign_is_not_found(void **state)
{
    call(*state, "GET", "/v1/campaigns/nope", "");
    assert_answer(*state, 404, "NotFound");
    call(*state, "PUT", "/v1/campaigns/nope/cancel", "");
    assert_answer(*state, 404, "NotFound");
}

static void a_signal_needs_a_number_and_a_job_that_is_there(void **state)
{
    call(*state, "PUT", "/v1/jobs/7.1/signal", "{}");
    assert_answer(*state, 400, "signal");
    call(*state, "PUT", "/v1/jobs/7.1/signal", "{\"signal\": 0}");
    assert_answer(*state, 400, "signal: 0 is none");
    call(*state, "PUT", "/v1/jobs/7.1/signal", "{\"signal\": 65}");
    assert_answer(*state, 400, "signal");
    call(*state, "PUT", "/v1/jobs/7.1/signal", "{\"signal\": 15}");
    assert_answer(*state, 404, "no job 7.1 waits or runs");
    call(*state, "PUT", "/v1/jobs/7.1/continue", "");
    assert_answer(*state, 404, "no job 7.1 waits or runs");
}

static void a_shrink_that_names_the_head_is_refused_with_core_s_reason(void **state)
{
    call(*state, "PUT", "/v1/campaigns/a", "{\"sequence\":1,\"kind\":\"shrink\",\"targets\":[0]}");
    assert_answer(*state, 422, "HeadCannotLeave");
}

static void an_older_sequence_is_refused(void **state)
{
    put_size(*state, 5, 4);
    put_size(*state, 4, 4);
    assert_answer(*state, 409, "SequenceTooOld");
}

static void every_role_may_use_its_verbs_only(void **state)
{
    static const enum api_role roles[] = {API_ROLE_OPERATOR, API_ROLE_USER, API_ROLE_MEMBER,
                                          API_ROLE_HEAD,     API_ROLE_NONE, API_ROLE_CA};
    /* A copy of the table in docs/control-api.md, one letter per role: operator, user, member. */
    static const struct {
        const char *method, *pattern, *allowed;
    } table[] = {
        {"PUT", "/v1/campaigns/{id}", "ou"},
        {"PUT", "/v1/campaigns/{id}/cancel", "ou"},
        {"GET", "/v1/campaigns/{id}", "oum"},
        {"PUT", "/v1/jobs/{id}/signal", "oum"},
        {"PUT", "/v1/jobs/{id}/continue", "oum"},
        {"PUT", "/v1/size", "o"},
        {"PUT", "/v1/shutdown", "ou"},
        {"GET", "/v1/events", "ou"},
        {"GET", "/v1/dvm", "oum"},
        {"GET", "/v1/links", "oum"},
    };
    struct world *w = *state;

    assert_int_equal(ctl_nverbs, sizeof(table) / sizeof(table[0]));
    for (size_t v = 0; v < ctl_nverbs; v++) {
        assert_string_equal(ctl_verbs[v].method, table[v].method);
        assert_string_equal(ctl_verbs[v].pattern, table[v].pattern);
        for (size_t r = 0; r < 6; r++) {
            bool allowed = r < 3 && strchr(table[v].allowed, api_role_word(roles[r])[0]);
            json_t *body = json_object();
            struct ctl_request rq = {.role = roles[r], .id = "a", .body = body};
            struct ctl_reply rp;

            ctl_call(w->ctl, &ctl_verbs[v], &rq, &rp);
            if ((rp.status != 403) != allowed)
                fail_msg("%s %s as '%s': %d", table[v].method, table[v].pattern,
                         api_role_word(roles[r]), rp.status);
            json_decref(rp.body);
            json_decref(body);
        }
    }
}

static void a_member_refuses_the_head_s_verbs(void **state)
{
    struct world *w = *state;

    call(w, "GET", "/v1/dvm", "");
    assert_answer(w, 503, "NotHead");
    call(w, "GET", "/v1/events", "");
    assert_answer(w, 503, "NotHead");
    put_size(w, 1, 1);
    assert_answer(w, 503, "NotHead");
    call(w, "PUT", "/v1/shutdown", "{\"deadlineSeconds\":0}");
    assert_answer(w, 503, "NotHead");
}

static void a_member_answers_for_its_own_links(void **state)
{
    assert_true(ctl_is_everywhere("GET", "/v1/links"));
    assert_false(ctl_is_everywhere("PUT", "/v1/links"));
    assert_false(ctl_is_everywhere("GET", "/v1/dvm"));
    call(*state, "GET", "/v1/links", ""); /* it calls the head: no neighbour of the tree yet */
    assert_answer(*state, 200, "{\"vpid\":3,\"peers\":[]}");
}

/* --- events */

static void events_from_a_number_need_their_incarnation(void **state)
{
    call(*state, "GET", "/v1/events?from=1", "");
    assert_answer(*state, 400, "BadRequest");
    call(*state, "GET", "/v1/events?incarnation=0000000000005f3a&from=x", "");
    assert_answer(*state, 400, "BadRequest");
    call(*state, "GET", "/v1/events?incarnation=0000000000005f3a&from=", "");
    assert_answer(*state, 400, "BadRequest");
}

static void events_of_another_incarnation_are_answered_with_gone(void **state)
{
    call(*state, "GET", "/v1/events?incarnation=0000000000005f3b&from=1", "");
    assert_answer(*state, 410, "Gone");
    call(*state, "GET", "/v1/events?incarnation=0000000000005f3b", "");
    assert_answer(*state, 410, "Gone");
}

static void numbers_of_future_events_and_0_are_answered_with_gone(void **state)
{
    call(*state, "GET", "/v1/events?incarnation=0000000000005f3a&from=1000", "");
    assert_answer(*state, 410, "Gone");
    call(*state, "GET", "/v1/events?incarnation=0000000000005f3a&from=0", "");
    assert_answer(*state, 410, "Gone");
}

static void a_stream_carries_the_events_from_its_start_on(void **state)
{
    struct world *w = *state;

    put_size(w, 1, 4);
    call(w, "GET", "/v1/events", "");
    assert_int_equal(w->status, 200);
    assert_int_equal(w->nlines, 0);
    put_size(w, 2, 5);
    assert_int_equal(w->nlines, 1);
    assert_non_null(strstr(w->lines[0], "\"type\":\"Size\""));
}

static void a_stream_from_an_earlier_number_begins_with_the_earlier_events(void **state)
{
    struct world *w = *state;
    uint64_t first = core_event_next(w->core);
    FREE_AUTO char *path = xasprintf("/v1/events?incarnation=%s&from=%lu",
                                     core_incarnation(w->core), (unsigned long)first);

    put_size(w, 1, 5);
    put_size(w, 2, 6);
    call(w, "GET", path, "");
    assert_int_equal(w->status, 200);
    assert_int_equal(w->nlines, 2);
    put_size(w, 3, 7);
    assert_int_equal(w->nlines, 3);
}

static void a_reader_that_is_too_slow_loses_its_stream(void **state)
{
    struct world *w = *state;

    call(w, "GET", "/v1/events", "");
    call(w, "GET", "/v1/events", ""); /* ends with the first one */
    w->slow = true;
    put_size(w, 1, 5);
    assert_int_equal(w->slow_readers, 1);
    w->slow = false;
    put_size(w, 2, 6);
    assert_int_equal(w->nlines, 0);
}

static void a_closed_connection_gets_no_more_events(void **state)
{
    struct world *w = *state;

    call(w, "GET", "/v1/events", "");
    ctl_local_gone(w->ctl, CONN);
    put_size(w, 1, 5);
    assert_int_equal(w->nlines, 0);
}

static void a_caller_that_cannot_receive_events_gets_no_stream(void **state)
{
    struct world *w = *state;
    struct ctl_local answer = {.role = API_ROLE_OPERATOR, .reply = on_reply, .arg = w};

    ctl_local_call(w->ctl, CONN, "GET", "/v1/events", "", &answer);
    assert_answer(w, 503, "NotHead");
    put_size(w, 1, 5);
    assert_int_equal(w->nlines, 0);
}

static void a_caller_s_role_holds_on_the_local_socket_too(void **state)
{
    struct world *w = *state;
    struct ctl_local answer = {.role = API_ROLE_USER, .reply = on_reply, .arg = w};

    ctl_local_call(w->ctl, CONN, "PUT", "/v1/size", "{\"sequence\":1,\"members\":1}", &answer);
    assert_answer(w, 403, "RoleNotAllowed");
}

static void one_stream_too_many_is_refused(void **state)
{
    struct world *w = *state;

    for (int i = 0; i < CTL_STREAMS_MAX; i++) {
        call(w, "GET", "/v1/events", "");
        assert_int_equal(w->status, 200);
    }
    call(w, "GET", "/v1/events", "");
    assert_answer(w, 503, "TooManyStreams");
    ctl_local_gone(w->ctl, CONN);
    call(w, "GET", "/v1/events", "");
    assert_int_equal(w->status, 200);
}

/* --- accepted requests */

static void the_view_has_incarnation_and_size(void **state)
{
    call(*state, "GET", "/v1/dvm", "");
    assert_answer(*state, 200, "\"incarnation\":\"0000000000005f3a\"");
    assert_answer(*state, 200, "\"members\":[");
}

static void a_size_is_answered_with_the_size_in_force(void **state)
{
    put_size(*state, 3, 6);
    assert_answer(*state, 200, "\"members\":6");
}

static void a_shrink_that_removes_no_daemon_is_complete_at_once(void **state)
{
    static const char body[] = "{\"sequence\":1,\"kind\":\"shrink\",\"targets\":[3,4]}";

    call(*state, "PUT", "/v1/campaigns/a", body);
    assert_answer(*state, 200, "\"phase\":\"Complete\"");
    call(*state, "PUT", "/v1/campaigns/a", body);
    assert_answer(*state, 200, "\"phase\":\"Complete\"");
    call(*state, "GET", "/v1/campaigns/a", "");
    assert_answer(*state, 200, "\"id\":\"a\"");
}

static void the_same_id_with_other_targets_is_refused(void **state)
{
    call(*state, "PUT", "/v1/campaigns/a", "{\"sequence\":1,\"kind\":\"shrink\",\"targets\":[4]}");
    call(*state, "PUT", "/v1/campaigns/a",
         "{\"sequence\":1,\"kind\":\"shrink\",\"targets\":[3,4]}");
    assert_answer(*state, 409, "IdReused");
}

static void the_answer_is_given_before_core_s_actions_are_taken(void **state)
{
    struct world *w = *state;

    call(w, "PUT", "/v1/shutdown", "{\"deadlineSeconds\":0}");
    assert_answer(w, 202, "\"deadlineSeconds\":0");
    assert_int_equal(w->drains, 1);
    assert_int_equal(w->replies_at_drain, 1);
}

static void what_is_answered_is_kept_before(void **state)
{
    struct world *w = *state;

    put_size(w, 1, 2);
    assert_int_equal(w->keeps, 1);
    assert_int_equal(w->keeps_at_reply, 1);
    assert_int_equal(w->kept_groups, 1);
    call(w, "GET", "/v1/dvm", ""); /* it changes nothing */
    assert_int_equal(w->kept_groups, 1);
}

#define HEAD(f) cmocka_unit_test_setup_teardown(f, setup_head, teardown)
#define MEMBER(f) cmocka_unit_test_setup_teardown(f, setup_member, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HEAD(what_is_answered_is_kept_before),
        HEAD(an_unknown_path_is_not_found),
        HEAD(a_known_path_with_another_method_is_not_allowed),
        HEAD(a_body_that_is_no_object_is_a_bad_request_and_changes_nothing),
        HEAD(a_campaign_s_id_that_is_too_long_is_a_bad_request),
        HEAD(text_that_is_no_utf8_is_refused),
        HEAD(an_unknown_campaign_is_not_found),
        HEAD(a_signal_needs_a_number_and_a_job_that_is_there),
        HEAD(a_shrink_that_names_the_head_is_refused_with_core_s_reason),
        HEAD(an_older_sequence_is_refused),
        HEAD(every_role_may_use_its_verbs_only),
        MEMBER(a_member_refuses_the_head_s_verbs),
        MEMBER(a_member_answers_for_its_own_links),
        HEAD(events_from_a_number_need_their_incarnation),
        HEAD(events_of_another_incarnation_are_answered_with_gone),
        HEAD(numbers_of_future_events_and_0_are_answered_with_gone),
        HEAD(a_stream_carries_the_events_from_its_start_on),
        HEAD(a_stream_from_an_earlier_number_begins_with_the_earlier_events),
        HEAD(a_reader_that_is_too_slow_loses_its_stream),
        HEAD(a_closed_connection_gets_no_more_events),
        HEAD(a_caller_that_cannot_receive_events_gets_no_stream),
        HEAD(a_caller_s_role_holds_on_the_local_socket_too),
        HEAD(one_stream_too_many_is_refused),
        HEAD(the_view_has_incarnation_and_size),
        HEAD(a_size_is_answered_with_the_size_in_force),
        HEAD(a_shrink_that_removes_no_daemon_is_complete_at_once),
        HEAD(the_same_id_with_other_targets_is_refused),
        HEAD(the_answer_is_given_before_core_s_actions_are_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
