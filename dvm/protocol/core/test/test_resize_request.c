/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of applications for another size. A refused one changes nothing. The end of an accepted
 * one is reported to its asker once, whatever happens to the asker. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/core/core_inspect.h"
#include "dvm/protocol/core/test/dvm.h"
#include "dvm/protocol/core/test/requests.h"
#include "dvm/protocol/wire/exit_code.h"
#include "dvm/sim/check.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static void assert_refused(struct requests *w, uint32_t vpid, struct resize_request a,
                           enum resize_status status)
{
    uint64_t events = core_event_next(sim_core(w->sim, 0));
    const struct heard *h = requests_answer(w, requests_send(w, vpid, a));

    assert_int_equal(h->status, status);
    assert_string_equal(h->id, "");
    assert_int_equal(core_event_next(sim_core(w->sim, 0)), events);
    assert_int_equal(dvm_bound(w->sim), 4);
}

static void c12_a_refused_request_changes_nothing_and_no_end_follows(void **arg)
{
    static const uint32_t head[] = {0, 4}, middle[] = {2}, never[] = {4, 9}, own[] = {3, 4};
    static char long_name[API_ID_MAX + 2];
    struct requests *w = requests_boot(7, 4);
    struct resize_request one = requests_release(1);

    memset(long_name, 'x', sizeof(long_name) - 1);
    assert_refused(w, 1, requests_extend(0, -1), RESIZE_BAD);
    assert_refused(w, 1, requests_release(0), RESIZE_BAD);
    assert_refused(w, 1, requests_extend(VPID_MAX, -1), RESIZE_NO_ROOM);
    assert_refused(w, 1, requests_release(5), RESIZE_NO_ROOM);
    assert_refused(w, 1, requests_release(4), RESIZE_BUSY);
    one.req_id = long_name;
    assert_refused(w, 1, one, RESIZE_BAD);
    one = (struct resize_request){
        .kind = RESIZE_RELEASE, .deadline_s = -1, .nvpids = 2, .vpids = head};
    assert_refused(w, 1, one, RESIZE_NOT_ALLOWED);
    one.vpids = never;
    assert_refused(w, 1, one, RESIZE_NOT_FOUND);
    one.vpids = own;
    assert_refused(w, 3, one, RESIZE_BUSY);
    one = (struct resize_request){
        .kind = RESIZE_RELEASE, .deadline_s = -1, .nvpids = 1, .vpids = middle};
    assert_refused(w, 1, one, RESIZE_BAD);
    one = (struct resize_request){.kind = RESIZE_RELEASE, .deadline_s = -1, .id = "alloc-1"};
    assert_refused(w, 1, one, RESIZE_NOT_FOUND);
    one.kind = RESIZE_CANCEL;
    assert_refused(w, 1, one, RESIZE_NOT_FOUND);
    sim_for(w->sim, 20000);
    assert_int_equal(w->nends, 0);
    requests_end(w);
}

static void c12_applications_stay_within_the_limits_of_the_size_message(void **arg)
{
    static const uint32_t beyond[] = {5, 7}, below[] = {2, 3, 4};
    struct resize_request named = {
        .kind = RESIZE_EXTEND, .deadline_s = 60, .nvpids = 2, .vpids = beyond};
    struct requests *w = requests_boot(8, 4);

    requests_put_size(
        w, (struct api_size){1001, 4, {true, 4, 4}}); /* as an operator sends it by default */
    assert_refused(w, 1, requests_extend(1, 60), RESIZE_NO_ROOM);
    assert_refused(w, 1, requests_release(1), RESIZE_NOT_ALLOWED);
    requests_put_size(w, (struct api_size){1002, 4, {true, 2, 6}});
    assert_refused(w, 1, requests_extend(3, 60), RESIZE_NO_ROOM);
    assert_refused(w, 1, named, RESIZE_NO_ROOM);
    assert_refused(w, 1, requests_release(3), RESIZE_NOT_ALLOWED);
    named = (struct resize_request){
        .kind = RESIZE_RELEASE_KILL, .deadline_s = -1, .nvpids = 3, .vpids = below};
    assert_refused(w, 1, named, RESIZE_NOT_ALLOWED);
    assert_int_equal(requests_answer(w, requests_send(w, 1, requests_release(2)))->status,
                     RESIZE_OK);
    sim_for(w->sim, 20000);
    assert_int_equal(dvm_bound(w->sim), 2);
    assert_int_equal(requests_answer(w, requests_send(w, 1, requests_extend(4, 60)))->status,
                     RESIZE_OK);
    assert_int_equal(dvm_bound(w->sim), 6);
    requests_put_size(w, (struct api_size){1003, 6, {false, 0, 0}});
    assert_int_equal(requests_answer(w, requests_send(w, 1, requests_extend(2, 60)))->status,
                     RESIZE_OK);
    requests_end(w);
}

static void a_size_message_with_other_limits_needs_another_number(void **arg)
{
    struct requests *w = requests_boot(5, 4);
    struct api_size again = {1001, 4, {true, 2, 7}}, out;
    enum api_reason reason = API_REASON_NONE;
    struct api_dvm d;

    requests_put_size(w, (struct api_size){1001, 4, {true, 2, 6}});
    assert_int_equal(core_size_put(sim_core(w->sim, 0), &again, &out, &reason, NULL), -1);
    assert_int_equal(reason, API_REASON_SEQUENCE_TOO_OLD);
    requests_put_size(w, (struct api_size){1001, 4, {true, 2, 6}});
    assert_int_equal(core_dvm(sim_core(w->sim, 0), &d, &reason, NULL), 0);
    assert_true(d.size_limits.set);
    assert_int_equal(d.size_limits.min, 2);
    assert_int_equal(d.size_limits.max, 6);
    api_dvm_free(&d);
    requests_end(w);
}

static void c7_a_request_with_nothing_to_do_ends_with_its_answer(void **arg)
{
    static const uint32_t there[] = {2, 3};
    struct resize_request a = {
        .kind = RESIZE_EXTEND, .deadline_s = -1, .nvpids = 2, .vpids = there, .req_id = "a"};
    struct requests *w = requests_boot(5, 4);
    const struct heard *h = requests_answer(w, requests_send(w, 1, a));

    assert_int_equal(h->status, RESIZE_OK);
    assert_int_equal(h->phase, API_PHASE_COMPLETE);
    requests_assert_end(w, h->id, API_PHASE_COMPLETE, API_TOLD_ANSWER);
    sim_for(w->sim, 20000);
    assert_int_equal(w->nends, 0);
    requests_end(w);
}

static void c13_the_requester_alone_is_notified_once_of_the_end_of_its_release(void **arg)
{
    struct resize_request a = requests_release(2);
    struct requests *w = requests_boot(7, 6);
    const struct heard *h;

    a.req_id = "mine";
    a.rank = 7;
    h = requests_answer(w, requests_send(w, 3, a));
    assert_int_equal(h->status, RESIZE_OK);
    assert_false(api_phase_terminal(h->phase));
    sim_for(w->sim, 20000);
    assert_int_equal(w->nends, 1);
    assert_int_equal(w->ends[0].vpid, 3);
    assert_int_equal(w->ends[0].status, RESIZE_OK);
    assert_string_equal(w->ends[0].nspace, "tool");
    assert_int_equal(w->ends[0].rank, 7);
    assert_string_equal(w->ends[0].id, h->id);
    assert_string_equal(w->ends[0].own, "mine");
    requests_assert_end(w, h->id, API_PHASE_COMPLETE, API_TOLD_EVENT);
    assert_int_equal(dvm_bound(w->sim), 4);
    requests_end(w);
}

static void c13_an_extension_is_all_or_nothing_and_its_requester_learns_the_result(void **arg)
{
    struct requests *w = requests_boot(9, 4);
    const struct heard *h = requests_answer(w, requests_send(w, 2, requests_extend(2, 60)));

    assert_int_equal(dvm_bound(w->sim), 6);
    sim_start(w->sim, 6);
    sim_for(w->sim, 2000);
    assert_int_equal(w->nends, 0);
    sim_start(w->sim, 5);
    sim_for(w->sim, 2000);
    assert_int_equal(w->nends, 1);
    assert_int_equal(w->ends[0].status, RESIZE_OK);
    assert_string_equal(w->ends[0].id, h->id);
    (void)requests_answer(w, requests_send(w, 2, requests_extend(2, 3)));
    sim_start(w->sim, 7);
    sim_for(w->sim, 5000);
    assert_int_equal(w->nends, 2);
    assert_int_equal(w->ends[1].status, RESIZE_TIMEOUT);
    assert_non_null(strstr(w->ends[1].cause, "deadline of 3 s"));
    assert_int_equal(dvm_bound(w->sim), 6);
    requests_end(w);
}

static void an_extension_without_a_deadline_has_one_all_the_same(void **arg)
{
    struct requests *w = requests_boot(5, 4);

    (void)requests_answer(w, requests_send(w, 2, requests_extend(1, -1)));
    sim_for(w->sim, (RESIZE_EXTEND_S - 5) * 1000);
    assert_int_equal(w->nends, 0);
    sim_for(w->sim, 10000);
    assert_int_equal(w->nends, 1);
    assert_int_equal(w->ends[0].status, RESIZE_TIMEOUT);
    requests_end(w);
}

static void c13_a_request_goes_on_without_a_notification_when_its_rank_s_daemon_is_lost(void **arg)
{
    struct requests *w = requests_boot(7, 6);
    char id[64];

    (void)sim_submit(w->sim, 0, 12, 15000, 0);
    sim_for(w->sim, 500);
    requests_copy(id, requests_answer(w, requests_send(w, 2, requests_release(1)))->id);
    sim_crash(w->sim, 2);
    sim_for(w->sim, 5000);
    sim_start(w->sim, 2); /* another epoch is another asker */
    sim_for(w->sim, 40000);
    assert_int_equal(w->nends, 0);
    requests_assert_end(w, id, API_PHASE_COMPLETE, API_TOLD_GONE);
    requests_end(w);
}

/* The rank has ended before its request has. */
static void c13_a_request_goes_on_without_a_notification_when_its_rank_has_ended(void **arg)
{
    struct resize_request a = requests_extend(1, 5);
    struct requests *w = requests_boot(7, 4);
    const char *nspace;
    char job[64], id[64];

    (void)sim_submit(w->sim, 0, 8, 2000, 0);
    sim_for(w->sim, 500);
    assert_true(sim_some_rank(w->sim, 3, &nspace, &a.rank));
    requests_copy(job, nspace);
    a.nspace = job;
    requests_copy(id, requests_answer(w, requests_send(w, 3, a))->id);
    sim_for(w->sim, 20000);
    assert_int_equal(w->nends, 0);
    requests_assert_end(w, id, API_PHASE_CANCELLED, API_TOLD_GONE); /* with its job */
    requests_end(w);
}

static void c13_a_running_rank_is_notified(void **arg)
{
    struct resize_request a = requests_extend(1, 2);
    struct requests *w = requests_boot(7, 4);
    const char *nspace;
    char job[64];

    (void)sim_submit(w->sim, 0, 8, 10000, 0);
    sim_for(w->sim, 500);
    assert_true(sim_some_rank(w->sim, 3, &nspace, &a.rank));
    requests_copy(job, nspace);
    a.nspace = job;
    (void)requests_answer(w, requests_send(w, 3, a));
    sim_for(w->sim, 5000);
    assert_int_equal(w->nends, 1);
    assert_int_equal(w->ends[0].vpid, 3);
    assert_string_equal(w->ends[0].nspace, job);
    assert_int_equal(w->ends[0].rank, a.rank);
    requests_end(w);
}

static void
c12_the_same_request_again_is_the_same_one_and_another_by_its_name_is_refused(void **arg)
{
    struct resize_request a = requests_extend(1, 3), other = requests_extend(2, 3);
    struct requests *w = requests_boot(7, 4);
    char id[64];

    a.req_id = other.req_id = "a";
    requests_copy(id, requests_answer(w, requests_send(w, 2, a))->id);
    assert_string_equal(requests_answer(w, requests_send(w, 2, a))->id, id);
    assert_int_equal(requests_answer(w, requests_send(w, 2, other))->status, RESIZE_EXISTS);
    assert_int_equal(dvm_bound(w->sim), 5);
    sim_for(w->sim, 5000);
    assert_int_equal(w->nends, 1);
    assert_int_equal(requests_answer(w, requests_send(w, 2, a))->status, RESIZE_FAILED);
    assert_string_equal(requests_answer(w, requests_send(w, 2, a))->id, id);
    assert_int_equal(w->nends, 1);
    requests_end(w);
}

static void a_tool_that_asks_again_by_another_daemon_is_answered_there(void **arg)
{
    struct resize_request a = requests_extend(1, 20);
    struct requests *w = requests_boot(7, 4);

    a.req_id = "a";
    (void)requests_answer(w, requests_send(w, 2, a));
    sim_crash(w->sim, 2);
    sim_for(w->sim, 5000);
    (void)requests_answer(w, requests_send(w, 3, a));
    sim_for(w->sim, 30000);
    assert_int_equal(w->nends, 1);
    assert_int_equal(w->ends[0].vpid, 3);
    requests_end(w);
}

static void c12_a_request_can_be_cancelled_by_its_own_job_only(void **arg)
{
    struct resize_request a = requests_extend(1, 30);
    struct resize_request cancel = {.kind = RESIZE_CANCEL, .deadline_s = -1};
    struct requests *w = requests_boot(7, 4);
    char id[64];

    requests_copy(id, requests_answer(w, requests_send(w, 2, a))->id);
    cancel.id = id;
    cancel.nspace = "stranger";
    assert_int_equal(requests_answer(w, requests_send(w, 3, cancel))->status, RESIZE_NOT_ALLOWED);
    assert_int_equal(dvm_bound(w->sim), 5);
    cancel.nspace = "tool";
    assert_int_equal(requests_answer(w, requests_send(w, 3, cancel))->phase, API_PHASE_CANCELLED);
    assert_int_equal(dvm_bound(w->sim), 4);
    assert_int_equal(w->nends, 1);
    assert_int_equal(w->ends[0].status, RESIZE_CANCELLED);
    assert_int_equal(w->ends[0].vpid, 2);
    requests_end(w);
}

static void a_campaign_of_the_operator_is_not_an_application_s_to_cancel(void **arg)
{
    uint32_t targets[] = {5};
    struct api_campaign_request r = {
        .sequence = 1, .kind = API_KIND_GROW, .deadline_s = -1, .ntargets = 1, .targets = targets};
    struct resize_request cancel = {.kind = RESIZE_CANCEL, .deadline_s = -1, .id = "g"};
    struct requests *w = requests_boot(7, 4);
    struct api_campaign out;
    enum api_reason reason;

    assert_int_equal(core_campaign_put(sim_core(w->sim, 0), "g", &r, &out, &reason, NULL), 0);
    api_campaign_free(&out);
    sim_drain(w->sim, 0);
    assert_int_equal(requests_answer(w, requests_send(w, 3, cancel))->status, RESIZE_NOT_ALLOWED);
    assert_int_equal(dvm_bound(w->sim), 5);
    requests_end(w);
}

static void a_release_of_the_highest_vpids_also_names_members_that_could_join_above(void **arg)
{
    struct requests *w = requests_boot(7, 6);
    struct api_campaign c;
    enum api_reason reason;
    char id[64];

    sim_crash(w->sim, 6);
    sim_for(w->sim, DVM_LOSS_MS);
    requests_copy(id, requests_answer(w, requests_send(w, 1, requests_release(1)))->id);
    assert_int_equal(core_campaign_get(sim_core(w->sim, 0), id, &c, &reason, NULL), 0);
    assert_int_equal(c.ntargets, 2);
    assert_int_equal(c.targets[0], 5);
    assert_int_equal(c.targets[1], 6);
    api_campaign_free(&c);
    assert_int_equal(dvm_bound(w->sim), 4);
    requests_end(w);
}

/* Only the release of an extension waits until no member above it stays. */
static void a_release_of_the_highest_vpids_does_not_wait_for_members_that_join_above(void **arg)
{
    uint32_t targets[] = {5};
    struct api_campaign_request r = {
        .sequence = 1, .kind = API_KIND_GROW, .deadline_s = -1, .ntargets = 1, .targets = targets};
    struct requests *w = requests_boot(7, 4);
    struct api_campaign out;
    enum api_reason reason;

    (void)sim_submit(w->sim, 0, 8, 5000, 0);
    sim_for(w->sim, 500);
    (void)requests_answer(w, requests_send(w, 2, requests_release(1)));
    assert_int_equal(core_campaign_put(sim_core(w->sim, 0), "g", &r, &out, &reason, NULL), 0);
    api_campaign_free(&out);
    sim_drain(w->sim, 0);
    sim_start(w->sim, 5);
    sim_for(w->sim, 20000);
    assert_int_equal(dvm_in_state(w->sim, MEMBER_WIRED), 4);
    assert_int_equal(w->nends, 1);
    assert_int_equal(w->ends[0].status, RESIZE_OK);
    requests_end(w);
}

static void a_daemon_whose_epoch_ends_answers_for_the_head(void **arg)
{
    struct requests *w = requests_boot(5, 4);
    uint64_t req;

    sim_stop(w->sim, 0, true);
    req = requests_send(w, 3, requests_extend(1, 5));
    sim_crash(w->sim, 0);
    sim_start(w->sim, 0); /* another head: it knows nothing of the earlier one */
    sim_for(w->sim, 30000);
    assert_int_equal(w->answered[req], 1);
    assert_int_equal(w->answers[req].status, RESIZE_UNREACHABLE);
    assert_int_equal(w->nends, 0);
    requests_end(w);
}

static void a_daemon_that_is_not_wired_refuses_at_once(void **arg)
{
    struct requests *w = requests_boot(5, 4);

    sim_crash(w->sim, 0);
    sim_for(w->sim, 60000);
    sim_crash(w->sim, 4);
    sim_start(w->sim, 4);
    assert_int_equal(w->answered[requests_send(w, 4, requests_extend(1, 5))], 1);
    assert_int_equal(w->answers[1].status, RESIZE_UNREACHABLE);
    requests_end(w);
}

static void replace_head(struct requests *w)
{
    sim_break(w->sim, 0, 1);
    sim_break(w->sim, 0, 2);
    sim_crash(w->sim, 0);
    sim_for(w->sim, 300);
    sim_start(w->sim, 0);
}

/* The answer, or the end, may be lost with the former head; neither may come twice. */
static void c21_a_request_is_answered_and_its_end_reported_once_whenever_the_head_ends(void **arg)
{
    for (uint64_t at = 0; at < 80; at++) {
        struct requests *w = requests_boot_with(7, 4, true);
        uint64_t req = requests_send(w, 2, requests_release(1));

        sim_for(w->sim, at);
        replace_head(w);
        sim_for(w->sim, 30000);
        assert_int_equal(w->answered[req], 1);
        assert_int_equal(w->answers[req].status, RESIZE_OK);
        assert_string_equal(w->answers[req].id, "alloc-1");
        assert_int_equal(w->nends, 1);
        assert_int_equal(w->ends[0].status, RESIZE_OK);
        assert_string_equal(w->ends[0].id, "alloc-1");
        assert_int_equal(dvm_bound(w->sim), 3);
        requests_end(w);
    }
}

/* Both have one campaign, whose end is reported once to their process. */
static void c21_a_repeated_request_has_one_campaign_under_a_new_head_too(void **arg)
{
    for (uint64_t at = 0; at < 80; at += 2) {
        struct resize_request one = requests_release(1);
        struct requests *w = requests_boot_with(7, 4, true);

        one.req_id = "mine";
        (void)requests_send(w, 2, one);
        sim_for(w->sim, 3);
        (void)requests_send(w, 2, one);
        sim_for(w->sim, at);
        replace_head(w);
        sim_for(w->sim, 30000);
        assert_string_equal(w->answers[1].id, "alloc-1");
        assert_string_equal(w->answers[2].id, "alloc-1");
        assert_int_equal(w->nends, 1);
        requests_end(w);
    }
}

/* The head sends the end of the request `mine` before it gets the last request of that id. */
static void end_before_answer(struct requests *w)
{
    struct msg end = {.type = MSG_RESIZE_ENDED,
                      .resize_ended = {.nspace = "tool",
                                       .status = RESIZE_OK,
                                       .campaign = "alloc-1",
                                       .req_id = "mine",
                                       .cause = ""}};

    sim_clock(w->sim, VPID_HEAD);
    assert_int_equal(core_inspect_send(sim_core(w->sim, 0), 2, CLASS_CONTROL, &end), 0);
    sim_drain(w->sim, VPID_HEAD);
    sim_for(w->sim, 30000);
    assert_int_equal(w->nends, 1);
}

static void an_end_that_overtakes_the_answer_to_a_repeated_request_is_reported_once(void **arg)
{
    for (int answered = 0; answered < 2; answered++) {
        struct requests *w = requests_boot(7, 4);
        struct resize_request one = requests_release(1);

        one.req_id = "mine";
        (void)sim_submit(w->sim, 0, 8, 2000, 0); /* the release waits for it */
        sim_for(w->sim, 500);
        (void)requests_send(w, 2, one);
        if (answered)
            sim_for(w->sim, 500);
        (void)requests_send(w, 2, one);
        end_before_answer(w);
        assert_string_equal(w->answers[1].id, "alloc-1");
        assert_string_equal(w->answers[2].id, "alloc-1");
        requests_end(w);
    }
}

/* --- whose request it is */

static enum resize_status ask(struct requests *w, uint32_t vpid, struct resize_request a)
{
    return (enum resize_status)requests_answer(w, requests_send(w, vpid, a))->status;
}

/* A rank of the job that runs at that daemon. */
static struct resize_request by_rank(struct requests *w, uint32_t vpid, struct resize_request a,
                                     char job[64])
{
    const char *nspace;

    assert_true(sim_some_rank(w->sim, vpid, &nspace, &a.rank));
    requests_copy(job, nspace);
    a.nspace = job;
    return a;
}

static void c25_a_member_cannot_ask_in_the_name_of_a_job_elsewhere(void **arg)
{
    static const enum resize_kind kinds[] = {RESIZE_EXTEND, RESIZE_RELEASE, RESIZE_RELEASE_KILL,
                                             RESIZE_CANCEL};
    struct requests *w = requests_boot(7, 4);
    struct resize_request a;
    char job[64] = "";

    (void)sim_submit(w->sim, 0, 2, 60000, 0); /* on vpid 1 */
    sim_for(w->sim, 500);
    a = by_rank(w, 1, requests_extend(1, 60), job);
    a.req_id = "mine";
    assert_int_equal(ask(w, 1, a), RESIZE_OK);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        a.kind = kinds[i];
        a.req_id = i == 0 || kinds[i] == RESIZE_CANCEL ? "mine" : "";
        assert_int_equal(ask(w, 3, a), RESIZE_NOT_ALLOWED);
    }
    a.kind = RESIZE_CANCEL;
    a.rank = 2; /* the job has ranks 0 and 1 */
    assert_int_equal(ask(w, 1, a), RESIZE_NOT_ALLOWED);
    sim_start(w->sim, 5);
    sim_for(w->sim, 3000);
    assert_int_equal(w->nends, 1);
    assert_int_equal(w->ends[0].vpid, 1);
    assert_int_equal(w->ends[0].status, RESIZE_OK);
    assert_int_equal(dvm_bound(w->sim), 5);
    requests_end(w);
}

static void c25_a_release_ends_jobs_on_members_of_its_owner_s_extensions_only(void **arg)
{
    static const uint32_t four_five[] = {4, 5}, five[] = {5};
    struct requests *w = requests_boot(7, 4);
    struct resize_request kill = {
        .kind = RESIZE_RELEASE_KILL, .deadline_s = -1, .nvpids = 1, .vpids = five};
    struct resize_request late = {
        .kind = RESIZE_RELEASE, .deadline_s = 1, .nvpids = 1, .vpids = five};
    struct resize_request both = {
        .kind = RESIZE_RELEASE_KILL, .deadline_s = -1, .nvpids = 2, .vpids = four_five};
    struct resize_request top = {.kind = RESIZE_RELEASE_KILL, .deadline_s = -1, .count = 1};
    size_t wide = sim_submit(w->sim, 0, 8, 8000, 0), other;
    char job[64] = "", tool[] = "tool";

    sim_for(w->sim, 500);
    assert_int_equal(ask(w, 3, by_rank(w, 3, top, job)), RESIZE_NOT_ALLOWED);
    assert_int_equal(ask(w, 3, by_rank(w, 3, requests_extend(1, 60), job)), RESIZE_OK);
    sim_start(w->sim, 5);
    sim_for(w->sim, 2000);
    other = sim_submit(w->sim, 0, 2, 60000, 0); /* on vpid 5 */
    sim_for(w->sim, 500);
    kill.nspace = late.nspace = top.nspace = tool;
    assert_int_equal(ask(w, 3, kill), RESIZE_NOT_ALLOWED);
    assert_int_equal(ask(w, 3, late), RESIZE_NOT_ALLOWED);
    assert_int_equal(ask(w, 3, top), RESIZE_NOT_ALLOWED);
    assert_int_equal(ask(w, 3, by_rank(w, 3, both, job)), RESIZE_NOT_ALLOWED);
    assert_false(sim_job(w->sim, other)->done);
    assert_int_equal(ask(w, 3, by_rank(w, 3, kill, job)), RESIZE_OK);
    dvm_wait_job(w->sim, other, EXIT_CODE_CANCELLED);
    dvm_wait_job(w->sim, wide, 0);
    assert_int_equal(dvm_bound(w->sim), 4);
    requests_end(w);
}

/* The head does not know the tools of other daemons. */
static void a_tool_owns_an_extension_where_it_has_asked_for_it(void **arg)
{
    struct requests *w = requests_boot(7, 4);
    struct resize_request kill = {.kind = RESIZE_RELEASE_KILL, .deadline_s = -1, .count = 1};
    size_t other;

    assert_int_equal(ask(w, 1, requests_extend(1, 60)), RESIZE_OK);
    sim_start(w->sim, 5);
    sim_for(w->sim, 2000);
    other = sim_submit(w->sim, 0, 10, 60000, 0);
    sim_for(w->sim, 500);
    assert_int_equal(ask(w, 2, kill), RESIZE_NOT_ALLOWED);
    assert_int_equal(ask(w, 1, kill), RESIZE_OK);
    dvm_wait_job(w->sim, other, EXIT_CODE_CANCELLED);
    requests_end(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_end_that_overtakes_the_answer_to_a_repeated_request_is_reported_once),
        cmocka_unit_test(
            c21_a_request_is_answered_and_its_end_reported_once_whenever_the_head_ends),
        cmocka_unit_test(c21_a_repeated_request_has_one_campaign_under_a_new_head_too),
        cmocka_unit_test(c12_a_refused_request_changes_nothing_and_no_end_follows),
        cmocka_unit_test(c12_applications_stay_within_the_limits_of_the_size_message),
        cmocka_unit_test(a_size_message_with_other_limits_needs_another_number),
        cmocka_unit_test(c7_a_request_with_nothing_to_do_ends_with_its_answer),
        cmocka_unit_test(c13_the_requester_alone_is_notified_once_of_the_end_of_its_release),
        cmocka_unit_test(c13_an_extension_is_all_or_nothing_and_its_requester_learns_the_result),
        cmocka_unit_test(an_extension_without_a_deadline_has_one_all_the_same),
        cmocka_unit_test(c25_a_member_cannot_ask_in_the_name_of_a_job_elsewhere),
        cmocka_unit_test(c25_a_release_ends_jobs_on_members_of_its_owner_s_extensions_only),
        cmocka_unit_test(a_tool_owns_an_extension_where_it_has_asked_for_it),
        cmocka_unit_test(
            c13_a_request_goes_on_without_a_notification_when_its_rank_s_daemon_is_lost),
        cmocka_unit_test(c13_a_request_goes_on_without_a_notification_when_its_rank_has_ended),
        cmocka_unit_test(c13_a_running_rank_is_notified),
        cmocka_unit_test(
            c12_the_same_request_again_is_the_same_one_and_another_by_its_name_is_refused),
        cmocka_unit_test(a_tool_that_asks_again_by_another_daemon_is_answered_there),
        cmocka_unit_test(c12_a_request_can_be_cancelled_by_its_own_job_only),
        cmocka_unit_test(a_campaign_of_the_operator_is_not_an_application_s_to_cancel),
        cmocka_unit_test(a_release_of_the_highest_vpids_also_names_members_that_could_join_above),
        cmocka_unit_test(a_release_of_the_highest_vpids_does_not_wait_for_members_that_join_above),
        cmocka_unit_test(a_daemon_whose_epoch_ends_answers_for_the_head),
        cmocka_unit_test(a_daemon_that_is_not_wired_refuses_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
