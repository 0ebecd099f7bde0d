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
#include "dvm/sim/check.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define REQUESTS_MAX 32

struct heard { /* of one request, or of one end */
    uint32_t vpid;
    int64_t status;
    enum api_phase phase;
    char id[64], own[64], cause[256], nspace[64];
    uint32_t rank;
};

struct world {
    struct sim *sim;
    uint64_t req;
    struct heard answers[REQUESTS_MAX]; /* by request */
    unsigned answered[REQUESTS_MAX];
    size_t nends;
    struct heard ends[REQUESTS_MAX];
};

static void copy(char *to, const char *from)
{
    strncpy(to, from, 63);
}

static void on_action(void *arg, uint32_t vpid, const struct out_act *act)
{
    struct world *w = arg;

    if (act->kind == OUT_RESIZE_ANSWER) {
        const struct out_resize_answer *a = &act->resize_answer;
        struct heard *h = &w->answers[a->req];

        w->answered[a->req]++;
        *h = (struct heard){.vpid = vpid, .status = a->status, .phase = a->phase};
        copy(h->id, a->campaign);
    } else if (act->kind == OUT_RESIZE_ENDED) {
        const struct msg_resize_ended *end = &act->resize_ended.end;
        struct heard *h = &w->ends[w->nends++];

        *h = (struct heard){.vpid = vpid, .status = end->status, .rank = end->rank};
        copy(h->nspace, end->nspace);
        copy(h->id, end->campaign);
        copy(h->own, end->req_id);
        copy(h->cause, end->cause);
    }
}

static struct world *boot_with(uint32_t nodes, uint32_t size, bool disk)
{
    struct world *w = xcalloc(1, sizeof(*w));
    const struct sim_hooks h = {.arg = w, .action = on_action};

    w->sim = dvm_boot(&(struct dvm_shape){.members = size,
                                          .started = size,
                                          .more = nodes - size - 1,
                                          .slots = 2,
                                          .delay_ms = 5,
                                          .disk = disk,
                                          .hooks = &h});
    sim_for(w->sim, 2000);
    return w;
}

/* The head and members 1..size run; at most `nodes` daemons exist. */
static struct world *boot(uint32_t nodes, uint32_t size)
{
    return boot_with(nodes, size, false);
}

static void end(struct world *w)
{
    for (uint64_t i = 1; i <= w->req; i++)
        assert_int_equal(w->answered[i], 1);
    sim_destroy(w->sim);
    free(w);
}

/* By a tool at that daemon, unless the request names another process. */
static uint64_t ask(struct world *w, uint32_t vpid, struct resize_request a)
{
    struct core *c = sim_core(w->sim, vpid);

    a.nspace = a.nspace ? a.nspace : "tool";
    a.req_id = a.req_id ? a.req_id : "";
    a.id = a.id ? a.id : "";
    core_time(c, sim_now(w->sim), sim_now(w->sim));
    core_resize(c, ++w->req, &a);
    sim_drain(w->sim, vpid);
    return w->req;
}

static const struct heard *answer(struct world *w, uint64_t req)
{
    sim_for(w->sim, 200);
    assert_int_equal(w->answered[req], 1);
    return &w->answers[req];
}

static struct api_requester requester(struct world *w, const char *id, enum api_phase *phase)
{
    struct api_campaign c;
    enum api_reason reason;
    struct api_requester r;

    assert_int_equal(core_campaign_get(sim_core(w->sim, 0), id, &c, &reason, NULL), 0);
    r = c.requester;
    *phase = c.phase;
    r.job = r.id = NULL;
    api_campaign_free(&c);
    return r;
}

static void assert_end(struct world *w, const char *id, enum api_phase phase, enum api_told told)
{
    enum api_phase is;
    struct api_requester r = requester(w, id, &is);

    assert_int_equal(is, phase);
    assert_int_equal(r.told, told);
}

static struct resize_request extend(uint32_t count, int64_t deadline_s)
{
    return (struct resize_request){.kind = RESIZE_EXTEND, .count = count, .deadline_s = deadline_s};
}

static struct resize_request release(uint32_t count)
{
    return (struct resize_request){.kind = RESIZE_RELEASE, .count = count, .deadline_s = -1};
}

static void assert_refused(struct world *w, uint32_t vpid, struct resize_request a,
                           enum resize_status status)
{
    uint64_t events = core_event_next(sim_core(w->sim, 0));
    const struct heard *h = answer(w, ask(w, vpid, a));

    assert_int_equal(h->status, status);
    assert_string_equal(h->id, "");
    assert_int_equal(core_event_next(sim_core(w->sim, 0)), events);
    assert_int_equal(dvm_bound(w->sim), 4);
}

static void c12_a_refused_request_changes_nothing_and_no_end_follows(void **arg)
{
    static const uint32_t head[] = {0, 4}, middle[] = {2}, never[] = {4, 9}, own[] = {3, 4};
    static char long_name[API_ID_MAX + 2];
    struct world *w = boot(7, 4);
    struct resize_request one = release(1);

    memset(long_name, 'x', sizeof(long_name) - 1);
    assert_refused(w, 1, extend(0, -1), RESIZE_BAD);
    assert_refused(w, 1, release(0), RESIZE_BAD);
    assert_refused(w, 1, extend(VPID_MAX, -1), RESIZE_NO_ROOM);
    assert_refused(w, 1, release(5), RESIZE_NO_ROOM);
    assert_refused(w, 1, release(4), RESIZE_BUSY);
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
    end(w);
}

static void put_size(struct world *w, struct api_size in)
{
    enum api_reason reason;
    struct api_size out;

    assert_int_equal(core_size_put(sim_core(w->sim, 0), &in, &out, &reason, NULL), 0);
    assert_true(api_size_limits_equal(&in.limits, &out.limits));
    sim_drain(w->sim, 0);
}

static void c12_applications_stay_within_the_limits_of_the_size_message(void **arg)
{
    static const uint32_t beyond[] = {5, 7}, below[] = {2, 3, 4};
    struct resize_request named = {
        .kind = RESIZE_EXTEND, .deadline_s = 60, .nvpids = 2, .vpids = beyond};
    struct world *w = boot(8, 4);

    put_size(w, (struct api_size){1001, 4, {true, 4, 4}}); /* as an operator sends it by default */
    assert_refused(w, 1, extend(1, 60), RESIZE_NO_ROOM);
    assert_refused(w, 1, release(1), RESIZE_NOT_ALLOWED);
    put_size(w, (struct api_size){1002, 4, {true, 2, 6}});
    assert_refused(w, 1, extend(3, 60), RESIZE_NO_ROOM);
    assert_refused(w, 1, named, RESIZE_NO_ROOM);
    assert_refused(w, 1, release(3), RESIZE_NOT_ALLOWED);
    named = (struct resize_request){
        .kind = RESIZE_RELEASE_KILL, .deadline_s = -1, .nvpids = 3, .vpids = below};
    assert_refused(w, 1, named, RESIZE_NOT_ALLOWED);
    assert_int_equal(answer(w, ask(w, 1, release(2)))->status, RESIZE_OK);
    sim_for(w->sim, 20000);
    assert_int_equal(dvm_bound(w->sim), 2);
    assert_int_equal(answer(w, ask(w, 1, extend(4, 60)))->status, RESIZE_OK);
    assert_int_equal(dvm_bound(w->sim), 6);
    put_size(w, (struct api_size){1003, 6, {false, 0, 0}});
    assert_int_equal(answer(w, ask(w, 1, extend(2, 60)))->status, RESIZE_OK);
    end(w);
}

static void a_size_message_with_other_limits_needs_another_number(void **arg)
{
    struct world *w = boot(5, 4);
    struct api_size again = {1001, 4, {true, 2, 7}}, out;
    enum api_reason reason = API_REASON_NONE;
    struct api_dvm d;

    put_size(w, (struct api_size){1001, 4, {true, 2, 6}});
    assert_int_equal(core_size_put(sim_core(w->sim, 0), &again, &out, &reason, NULL), -1);
    assert_int_equal(reason, API_REASON_SEQUENCE_TOO_OLD);
    put_size(w, (struct api_size){1001, 4, {true, 2, 6}});
    assert_int_equal(core_dvm(sim_core(w->sim, 0), &d, &reason, NULL), 0);
    assert_true(d.size_limits.set);
    assert_int_equal(d.size_limits.min, 2);
    assert_int_equal(d.size_limits.max, 6);
    api_dvm_free(&d);
    end(w);
}

static void c7_a_request_with_nothing_to_do_ends_with_its_answer(void **arg)
{
    static const uint32_t there[] = {2, 3};
    struct resize_request a = {
        .kind = RESIZE_EXTEND, .deadline_s = -1, .nvpids = 2, .vpids = there, .req_id = "a"};
    struct world *w = boot(5, 4);
    const struct heard *h = answer(w, ask(w, 1, a));

    assert_int_equal(h->status, RESIZE_OK);
    assert_int_equal(h->phase, API_PHASE_COMPLETE);
    assert_end(w, h->id, API_PHASE_COMPLETE, API_TOLD_ANSWER);
    sim_for(w->sim, 20000);
    assert_int_equal(w->nends, 0);
    end(w);
}

static void c13_the_requester_alone_is_notified_once_of_the_end_of_its_release(void **arg)
{
    struct resize_request a = release(2);
    struct world *w = boot(7, 6);
    const struct heard *h;

    a.req_id = "mine";
    a.rank = 7;
    h = answer(w, ask(w, 3, a));
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
    assert_end(w, h->id, API_PHASE_COMPLETE, API_TOLD_EVENT);
    assert_int_equal(dvm_bound(w->sim), 4);
    end(w);
}

static void c13_an_extension_is_all_or_nothing_and_its_requester_learns_the_result(void **arg)
{
    struct world *w = boot(9, 4);
    const struct heard *h = answer(w, ask(w, 2, extend(2, 60)));

    assert_int_equal(dvm_bound(w->sim), 6);
    sim_start(w->sim, 6);
    sim_for(w->sim, 2000);
    assert_int_equal(w->nends, 0);
    sim_start(w->sim, 5);
    sim_for(w->sim, 2000);
    assert_int_equal(w->nends, 1);
    assert_int_equal(w->ends[0].status, RESIZE_OK);
    assert_string_equal(w->ends[0].id, h->id);
    (void)answer(w, ask(w, 2, extend(2, 3)));
    sim_start(w->sim, 7);
    sim_for(w->sim, 5000);
    assert_int_equal(w->nends, 2);
    assert_int_equal(w->ends[1].status, RESIZE_TIMEOUT);
    assert_non_null(strstr(w->ends[1].cause, "deadline of 3 s"));
    assert_int_equal(dvm_bound(w->sim), 6);
    end(w);
}

static void an_extension_without_a_deadline_has_one_all_the_same(void **arg)
{
    struct world *w = boot(5, 4);

    (void)answer(w, ask(w, 2, extend(1, -1)));
    sim_for(w->sim, (RESIZE_EXTEND_S - 5) * 1000);
    assert_int_equal(w->nends, 0);
    sim_for(w->sim, 10000);
    assert_int_equal(w->nends, 1);
    assert_int_equal(w->ends[0].status, RESIZE_TIMEOUT);
    end(w);
}

static void c13_a_request_goes_on_without_a_notification_when_its_rank_s_daemon_is_lost(void **arg)
{
    struct world *w = boot(7, 6);
    char id[64];

    (void)sim_submit(w->sim, 0, 12, 15000, 0);
    sim_for(w->sim, 500);
    copy(id, answer(w, ask(w, 2, release(1)))->id);
    sim_crash(w->sim, 2);
    sim_for(w->sim, 5000);
    sim_start(w->sim, 2); /* another epoch is another asker */
    sim_for(w->sim, 40000);
    assert_int_equal(w->nends, 0);
    assert_end(w, id, API_PHASE_COMPLETE, API_TOLD_GONE);
    end(w);
}

/* The rank has ended before its request has. */
static void c13_a_request_goes_on_without_a_notification_when_its_rank_has_ended(void **arg)
{
    struct resize_request a = extend(1, 5);
    struct world *w = boot(7, 4);
    const char *nspace;
    char job[64], id[64];

    (void)sim_submit(w->sim, 0, 8, 2000, 0);
    sim_for(w->sim, 500);
    assert_true(sim_some_rank(w->sim, 3, &nspace, &a.rank));
    copy(job, nspace);
    a.nspace = job;
    copy(id, answer(w, ask(w, 3, a))->id);
    sim_for(w->sim, 20000);
    assert_int_equal(w->nends, 0);
    assert_end(w, id, API_PHASE_CANCELLED, API_TOLD_GONE); /* with its job */
    end(w);
}

static void c13_a_running_rank_is_notified(void **arg)
{
    struct resize_request a = extend(1, 2);
    struct world *w = boot(7, 4);
    const char *nspace;
    char job[64];

    (void)sim_submit(w->sim, 0, 8, 10000, 0);
    sim_for(w->sim, 500);
    assert_true(sim_some_rank(w->sim, 3, &nspace, &a.rank));
    copy(job, nspace);
    a.nspace = job;
    (void)answer(w, ask(w, 3, a));
    sim_for(w->sim, 5000);
    assert_int_equal(w->nends, 1);
    assert_int_equal(w->ends[0].vpid, 3);
    assert_string_equal(w->ends[0].nspace, job);
    assert_int_equal(w->ends[0].rank, a.rank);
    end(w);
}

static void
c12_the_same_request_again_is_the_same_one_and_another_by_its_name_is_refused(void **arg)
{
    struct resize_request a = extend(1, 3), other = extend(2, 3);
    struct world *w = boot(7, 4);
    char id[64];

    a.req_id = other.req_id = "a";
    copy(id, answer(w, ask(w, 2, a))->id);
    assert_string_equal(answer(w, ask(w, 2, a))->id, id);
    assert_int_equal(answer(w, ask(w, 2, other))->status, RESIZE_EXISTS);
    assert_int_equal(dvm_bound(w->sim), 5);
    sim_for(w->sim, 5000);
    assert_int_equal(w->nends, 1);
    assert_int_equal(answer(w, ask(w, 2, a))->status, RESIZE_FAILED);
    assert_string_equal(answer(w, ask(w, 2, a))->id, id);
    assert_int_equal(w->nends, 1);
    end(w);
}

static void a_tool_that_asks_again_by_another_daemon_is_answered_there(void **arg)
{
    struct resize_request a = extend(1, 20);
    struct world *w = boot(7, 4);

    a.req_id = "a";
    (void)answer(w, ask(w, 2, a));
    sim_crash(w->sim, 2);
    sim_for(w->sim, 5000);
    (void)answer(w, ask(w, 3, a));
    sim_for(w->sim, 30000);
    assert_int_equal(w->nends, 1);
    assert_int_equal(w->ends[0].vpid, 3);
    end(w);
}

static void c12_a_request_can_be_cancelled_by_its_own_job_only(void **arg)
{
    struct resize_request a = extend(1, 30);
    struct resize_request cancel = {.kind = RESIZE_CANCEL, .deadline_s = -1};
    struct world *w = boot(7, 4);
    char id[64];

    copy(id, answer(w, ask(w, 2, a))->id);
    cancel.id = id;
    cancel.nspace = "stranger";
    assert_int_equal(answer(w, ask(w, 3, cancel))->status, RESIZE_NOT_ALLOWED);
    assert_int_equal(dvm_bound(w->sim), 5);
    cancel.nspace = "tool";
    assert_int_equal(answer(w, ask(w, 3, cancel))->phase, API_PHASE_CANCELLED);
    assert_int_equal(dvm_bound(w->sim), 4);
    assert_int_equal(w->nends, 1);
    assert_int_equal(w->ends[0].status, RESIZE_CANCELLED);
    assert_int_equal(w->ends[0].vpid, 2);
    end(w);
}

static void a_campaign_of_the_operator_is_not_an_application_s_to_cancel(void **arg)
{
    uint32_t targets[] = {5};
    struct api_campaign_request r = {
        .sequence = 1, .kind = API_KIND_GROW, .deadline_s = -1, .ntargets = 1, .targets = targets};
    struct resize_request cancel = {.kind = RESIZE_CANCEL, .deadline_s = -1, .id = "g"};
    struct world *w = boot(7, 4);
    struct api_campaign out;
    enum api_reason reason;

    assert_int_equal(core_campaign_put(sim_core(w->sim, 0), "g", &r, &out, &reason, NULL), 0);
    api_campaign_free(&out);
    sim_drain(w->sim, 0);
    assert_int_equal(answer(w, ask(w, 3, cancel))->status, RESIZE_NOT_ALLOWED);
    assert_int_equal(dvm_bound(w->sim), 5);
    end(w);
}

/* A job on all daemons that ends in ten seconds; a rank on vpid 3 extends the DVM by vpid 5. */
static struct world *boot_extended(bool keep, char job[64])
{
    struct world *w = boot(7, 4);
    struct resize_request a = extend(1, 60);
    const char *nspace;

    (void)sim_submit(w->sim, 0, 8, 10000, 0);
    sim_for(w->sim, 500);
    assert_true(sim_some_rank(w->sim, 3, &nspace, &a.rank));
    copy(job, nspace);
    a.nspace = job;
    a.keep = keep;
    (void)answer(w, ask(w, 3, a));
    sim_start(w->sim, 5);
    sim_for(w->sim, 2000);
    assert_int_equal(w->nends, 1);
    assert_int_equal(w->ends[0].status, RESIZE_OK);
    assert_int_equal(dvm_bound(w->sim), 5);
    return w;
}

static void c26_an_extension_ends_with_its_job_however_that_ends(void **arg)
{
    for (int killed = 0; killed < 2; killed++) {
        char job[64];
        struct world *w = boot_extended(false, job);

        if (killed) {
            core_client_signal(sim_core(w->sim, 0), 0, SIGKILL);
            sim_drain(w->sim, 0);
        }
        sim_for(w->sim, 20000);
        assert_int_equal(dvm_bound(w->sim), 4);
        assert_end(w, "alloc-2", API_PHASE_COMPLETE, API_TOLD_GONE);
        end(w);
    }
}

/* The size has grown above the extension. */
static void an_extension_below_members_that_stay_is_not_drained_when_its_job_ends(void **arg)
{
    for (int late = 0; late < 2; late++) {
        char job[64];
        struct world *w = boot_extended(false, job);
        const struct sim_job *next;

        if (late) { /* its release waits for another job, and the size grows meanwhile */
            (void)sim_submit(w->sim, 0, 2, 15000, 0);
            sim_for(w->sim, 9000);
        }
        put_size(w, (struct api_size){.sequence = 1, .members = 6});
        sim_start(w->sim, 6);
        sim_for(w->sim, 20000);
        assert_int_equal(dvm_in_state(w->sim, MEMBER_DRAINING), 0);
        next = sim_job(w->sim, sim_submit(w->sim, 0, 12, 100, 0));
        sim_for(w->sim, 2000);
        assert_true(next->done);
        assert_int_equal(next->exit_code, 0);
        end(w);
    }
}

static void an_extension_within_the_least_size_outlasts_its_job(void **arg)
{
    char job[64];
    struct world *w = boot_extended(false, job);

    put_size(w, (struct api_size){1, 5, {true, 5, 6}});
    sim_for(w->sim, 20000);
    assert_int_equal(dvm_bound(w->sim), 5);
    end(w);
}

static void an_extension_that_is_to_stay_outlasts_its_job(void **arg)
{
    char job[64];
    struct world *w = boot_extended(true, job);

    sim_for(w->sim, 20000);
    assert_int_equal(dvm_bound(w->sim), 5);
    end(w);
}

static void an_extension_that_the_job_has_released_is_not_released_again(void **arg)
{
    char job[64];
    struct world *w = boot_extended(false, job);
    struct resize_request a = {.kind = RESIZE_RELEASE, .nspace = job, .deadline_s = -1};
    struct api_campaign c;
    enum api_reason reason;

    a.id = "alloc-1";
    (void)answer(w, ask(w, 3, a));
    sim_for(w->sim, 30000);
    assert_int_equal(dvm_bound(w->sim), 4);
    assert_int_equal(core_campaign_get(sim_core(w->sim, 0), "alloc-3", &c, &reason, NULL), -1);
    end(w);
}

/* Its daemons never come. */
static void c26_an_extension_that_gathers_is_cancelled_with_its_job(void **arg)
{
    struct world *w = boot(7, 4);
    struct resize_request a = extend(1, 600);
    const char *nspace;
    enum api_phase phase;
    char job[64];

    (void)sim_submit(w->sim, 0, 8, 5000, 0);
    sim_for(w->sim, 500);
    assert_true(sim_some_rank(w->sim, 3, &nspace, &a.rank));
    copy(job, nspace);
    a.nspace = job;
    (void)answer(w, ask(w, 3, a));
    sim_for(w->sim, 20000);
    (void)requester(w, "alloc-1", &phase);
    assert_int_equal(phase, API_PHASE_CANCELLED);
    assert_int_equal(dvm_bound(w->sim), 4);
    end(w);
}

static void extend_by(struct world *w, const char *tool, uint32_t vpid)
{
    struct resize_request a = extend(1, 60);

    a.nspace = tool;
    assert_int_equal(answer(w, ask(w, 1, a))->status, RESIZE_OK);
    sim_start(w->sim, vpid);
    sim_for(w->sim, 2000);
}

static void an_extension_of_a_job_that_has_ended_is_cancelled(void **arg)
{
    struct world *w = boot(7, 4);
    size_t job = sim_submit(w->sim, 0, 1, 10, 0);
    struct resize_request a = extend(1, 60);

    dvm_wait_job(w->sim, job, 0);
    a.nspace = sim_job(w->sim, job)->nspace;
    (void)answer(w, ask(w, 3, a)); /* it was on its way */
    assert_end(w, "alloc-1", API_PHASE_CANCELLED, API_TOLD_GONE);
    assert_int_equal(dvm_bound(w->sim), 4);
    end(w);
}

/* The lower one is drained, but its daemon leaves when the upper one has left: the resource manager
 * takes members from the top. */
static void overlapping_extensions_can_be_released_in_any_order(void **arg)
{
    struct resize_request one = {.kind = RESIZE_RELEASE, .nspace = "one", .deadline_s = -1};
    struct resize_request two = {.kind = RESIZE_RELEASE, .nspace = "two", .deadline_s = -1};
    struct world *w = boot(7, 4);
    enum api_phase phase;

    extend_by(w, "one", 5);
    extend_by(w, "two", 6);
    one.id = "alloc-1";
    two.id = "alloc-2";
    assert_int_equal(answer(w, ask(w, 1, one))->status, RESIZE_OK);
    sim_for(w->sim, 60000);
    (void)requester(w, "alloc-3", &phase);
    assert_int_equal(phase, API_PHASE_DRAINING);
    assert_int_equal(dvm_bound(w->sim), 6);
    (void)sim_submit(w->sim, 0, 10, 100, 0); /* vpids 1 to 4 and 6 */
    sim_for(w->sim, 2000);
    assert_true(sim_job(w->sim, 0)->done);
    assert_int_equal(sim_job(w->sim, 0)->exit_code, 0);
    assert_int_equal(answer(w, ask(w, 1, two))->status, RESIZE_OK);
    sim_for(w->sim, 5000);
    assert_end(w, "alloc-3", API_PHASE_COMPLETE, API_TOLD_EVENT);
    assert_end(w, "alloc-4", API_PHASE_COMPLETE, API_TOLD_EVENT);
    assert_int_equal(dvm_bound(w->sim), 4);
    end(w);
}

static void a_release_of_the_highest_vpids_also_names_members_that_could_join_above(void **arg)
{
    struct world *w = boot(7, 6);
    struct api_campaign c;
    enum api_reason reason;
    char id[64];

    sim_crash(w->sim, 6);
    sim_for(w->sim, DVM_LOSS_MS);
    copy(id, answer(w, ask(w, 1, release(1)))->id);
    assert_int_equal(core_campaign_get(sim_core(w->sim, 0), id, &c, &reason, NULL), 0);
    assert_int_equal(c.ntargets, 2);
    assert_int_equal(c.targets[0], 5);
    assert_int_equal(c.targets[1], 6);
    api_campaign_free(&c);
    assert_int_equal(dvm_bound(w->sim), 4);
    end(w);
}

/* Only the release of an extension waits until no member above it stays. */
static void a_release_of_the_highest_vpids_does_not_wait_for_members_that_join_above(void **arg)
{
    uint32_t targets[] = {5};
    struct api_campaign_request r = {
        .sequence = 1, .kind = API_KIND_GROW, .deadline_s = -1, .ntargets = 1, .targets = targets};
    struct world *w = boot(7, 4);
    struct api_campaign out;
    enum api_reason reason;

    (void)sim_submit(w->sim, 0, 8, 5000, 0);
    sim_for(w->sim, 500);
    (void)answer(w, ask(w, 2, release(1)));
    assert_int_equal(core_campaign_put(sim_core(w->sim, 0), "g", &r, &out, &reason, NULL), 0);
    api_campaign_free(&out);
    sim_drain(w->sim, 0);
    sim_start(w->sim, 5);
    sim_for(w->sim, 20000);
    assert_int_equal(dvm_in_state(w->sim, MEMBER_WIRED), 4);
    assert_int_equal(w->nends, 1);
    assert_int_equal(w->ends[0].status, RESIZE_OK);
    end(w);
}

static void a_daemon_whose_epoch_ends_answers_for_the_head(void **arg)
{
    struct world *w = boot(5, 4);
    uint64_t req;

    sim_stop(w->sim, 0, true);
    req = ask(w, 3, extend(1, 5));
    sim_crash(w->sim, 0);
    sim_start(w->sim, 0); /* another head: it knows nothing of the earlier one */
    sim_for(w->sim, 30000);
    assert_int_equal(w->answered[req], 1);
    assert_int_equal(w->answers[req].status, RESIZE_UNREACHABLE);
    assert_int_equal(w->nends, 0);
    end(w);
}

static void a_daemon_that_is_not_wired_refuses_at_once(void **arg)
{
    struct world *w = boot(5, 4);

    sim_crash(w->sim, 0);
    sim_for(w->sim, 60000);
    sim_crash(w->sim, 4);
    sim_start(w->sim, 4);
    assert_int_equal(w->answered[ask(w, 4, extend(1, 5))], 1);
    assert_int_equal(w->answers[1].status, RESIZE_UNREACHABLE);
    end(w);
}

static void replace_head(struct world *w)
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
        struct world *w = boot_with(7, 4, true);
        uint64_t req = ask(w, 2, release(1));

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
        end(w);
    }
}

/* Both have one campaign, whose end is reported once to their process. */
static void c21_a_repeated_request_has_one_campaign_under_a_new_head_too(void **arg)
{
    for (uint64_t at = 0; at < 80; at += 2) {
        struct resize_request one = release(1);
        struct world *w = boot_with(7, 4, true);

        one.req_id = "mine";
        (void)ask(w, 2, one);
        sim_for(w->sim, 3);
        (void)ask(w, 2, one);
        sim_for(w->sim, at);
        replace_head(w);
        sim_for(w->sim, 30000);
        assert_string_equal(w->answers[1].id, "alloc-1");
        assert_string_equal(w->answers[2].id, "alloc-1");
        assert_int_equal(w->nends, 1);
        end(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
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
        cmocka_unit_test(
            c13_a_request_goes_on_without_a_notification_when_its_rank_s_daemon_is_lost),
        cmocka_unit_test(c13_a_request_goes_on_without_a_notification_when_its_rank_has_ended),
        cmocka_unit_test(c13_a_running_rank_is_notified),
        cmocka_unit_test(
            c12_the_same_request_again_is_the_same_one_and_another_by_its_name_is_refused),
        cmocka_unit_test(a_tool_that_asks_again_by_another_daemon_is_answered_there),
        cmocka_unit_test(c12_a_request_can_be_cancelled_by_its_own_job_only),
        cmocka_unit_test(a_campaign_of_the_operator_is_not_an_application_s_to_cancel),
        cmocka_unit_test(c26_an_extension_ends_with_its_job_however_that_ends),
        cmocka_unit_test(an_extension_below_members_that_stay_is_not_drained_when_its_job_ends),
        cmocka_unit_test(an_extension_within_the_least_size_outlasts_its_job),
        cmocka_unit_test(an_extension_that_is_to_stay_outlasts_its_job),
        cmocka_unit_test(an_extension_that_the_job_has_released_is_not_released_again),
        cmocka_unit_test(c26_an_extension_that_gathers_is_cancelled_with_its_job),
        cmocka_unit_test(an_extension_of_a_job_that_has_ended_is_cancelled),
        cmocka_unit_test(overlapping_extensions_can_be_released_in_any_order),
        cmocka_unit_test(a_release_of_the_highest_vpids_also_names_members_that_could_join_above),
        cmocka_unit_test(a_release_of_the_highest_vpids_does_not_wait_for_members_that_join_above),
        cmocka_unit_test(a_daemon_whose_epoch_ends_answers_for_the_head),
        cmocka_unit_test(a_daemon_that_is_not_wired_refuses_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
