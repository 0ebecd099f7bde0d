/* SPDX-License-Identifier: BSD-3-Clause */
/* The random schedule: which action at what time, on which daemon.
 *
 * In: a seed, a number of daemons and a generation (struct script_opts). Out: the first invariant
 * that failed, counts, and the matrix of phases, faults and jobs (struct script_result).
 *
 * Steps: the DVM forms; then 20 to 139 steps draw actions, with time between them; then none until
 * the DVM is at rest. An action is a job, a message, a collective, a campaign, a request, a signal,
 * a departing client, or a fault. The profile limits the faults: none, those of links, of members
 * too, of the head too.
 *
 * Invariants: all follows from the seed and the options. A generation draws only the actions that
 * script.h lists for it, so an old seed keeps its meaning. Pods come back up to the replicas.
 *
 * Failures: a failed invariant ends the schedule. Jobs and campaigns must end, and members come, in
 * REST_MAX_MS of virtual time. Then the checks of the rest must hold. */
#include "dvm/sim/script.h"

#include "dvm/protocol/core/core_inspect.h"
#include "dvm/sim/ask.h"
#include "dvm/sim/check.h"
#include "dvm/sim/lie.h"
#include "dvm/sim/rest.h"
#include "dvm/sim/values.h"
#include "dvm/sim/work.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REST_MAX_MS 240000u

struct pod {
    uint64_t start_at; /* 0: runs, or is not wanted */
    uint64_t resume_at;
    uint64_t kill_at; /* parked and no longer wanted */
};

struct script {
    struct script_opts opts;
    struct sim *sim;
    struct check *check;
    struct work *work;
    struct outage *outage; /* NULL: the seed has none, */
    struct heir *heir;     /* or its head has neither a disk nor keepers */
    struct script_result *result;
    uint32_t nodes, replicas;
    unsigned profile; /* 0: no faults, 1: links, 2: daemons too, 3: the head too */
    bool kills;
    enum script_phase until; /* condition at which pass_time() stops; 0: none */
    bool resting;
    uint64_t sequence;
    uint64_t heal_at;
    uint64_t ncampaigns;
    struct pod pods[SIM_NODES_MAX];
};

/* Actions that came with that generation are drawn. */
static bool done_since(const struct script *s, unsigned generation)
{
    return s->opts.generation == 0 || s->opts.generation >= generation;
}

static uint64_t roll_dice(struct script *s, uint64_t below)
{
    return sim_random(s->sim, below);
}

static void __attribute__((format(printf, 2, 3))) trace_line(struct script *s, const char *fmt, ...)
{
    char text[256];
    va_list ap;

    if (!s->opts.trace)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    printf("%6llu   -> %s\n", (unsigned long long)sim_now(s->sim), text);
}

/* --- the matrix */

static void count_fault(struct script *s, enum script_fault f)
{
    const struct core *head = sim_head(s->sim);
    struct script_seen x;

    s->result->faults += f != FAULT_NONE;
    if (!head)
        return;
    x = script_look(head);
    for (unsigned j = 0; j < JOBS_KINDS; j++)
        s->result->matrix[x.phase][f][j] += x.jobs[j];
}

/* --- time and pods */

static bool has_failed(struct sim *sim, void *arg)
{
    return *check_failed(arg) != 0;
}

static void resume_daemon(struct script *s, uint32_t v)
{
    s->pods[v].resume_at = 0;
    trace_line(s, "vpid %u goes on", v);
    sim_stop(s->sim, v, false);
}

/* Starts, ends and restores daemons, as the StatefulSets would. */
static void pod_step(struct script *s, uint32_t v)
{
    struct pod *p = &s->pods[v];
    uint64_t now = sim_now(s->sim);
    bool wanted = v <= s->replicas;

    if (p->resume_at && p->resume_at <= now)
        resume_daemon(s, v);
    if (sim_core(s->sim, v)) {
        bool parked = sim_parked(s->sim, v);

        p->start_at = 0;
        if (parked && !p->kill_at)
            p->kill_at = now + 1 + roll_dice(s, 1000);
        if (p->kill_at && p->kill_at <= now) {
            p->kill_at = 0;
            if (!wanted || parked) {
                trace_line(s, "pod %u is removed", v);
                sim_crash(s->sim, v);
            }
        }
        return;
    }
    if (!wanted || p->start_at > now || (v == 0 && s->heir))
        return;
    if (p->start_at == 0) {
        p->start_at = now + 1 + roll_dice(s, 3) * roll_dice(s, 1500);
        return;
    }
    p->start_at = p->kill_at = 0;
    trace_line(s, "pod %u starts", v);
    sim_start(s->sim, v);
}

static void see_failure(void *arg, const struct resize_campaign *c)
{
    bool *any = arg;

    *any |= c->kind == API_KIND_GROW &&
            (c->phase == API_PHASE_FAILED || c->phase == API_PHASE_CANCELLED);
}

/* The resource manager removes pods that it started for a failed grow. */
static void follow_failures(struct script *s)
{
    const struct core *head = sim_head(s->sim);
    bool any = false;

    if (!head || !done_since(s, 2))
        return;
    if (done_since(s, 8))
        s->replicas = ask_follow(s->sim, s->nodes, s->replicas, s->resting);
    resize_each_campaign(head_resize(core_inspect_head(head)), see_failure, &any);
    if (any && head_size_bound(core_inspect_head(head)) < s->replicas)
        s->replicas = head_size_bound(core_inspect_head(head));
}

static bool rank_contributes(void *arg, uint64_t *timeout_ms)
{
    struct script *s = arg;

    if (!s->resting && roll_dice(s, 3))
        return false;
    if (roll_dice(s, 6) == 0)
        *timeout_ms = 1 + roll_dice(s, 4000);
    return true;
}

/* The schedule waits only for time to pass, unless it has set `until`. */
static bool may_stop(struct sim *sim, void *arg)
{
    const struct script *s = arg;

    return has_failed(sim, s->check) ||
           (s->until && sim_head(sim) && script_look(sim_head(sim)).phase == s->until);
}

static bool may_pause(struct sim *sim, void *arg)
{
    const struct script *s = arg;

    return may_stop(sim, arg) || heir_is_due(s->heir);
}

static void pass_time(struct script *s, uint64_t ms)
{
    uint64_t end = sim_now(s->sim) + ms;

    while (sim_now(s->sim) < end && !may_stop(s->sim, s)) {
        uint64_t step = end - sim_now(s->sim);

        (void)sim_until(s->sim, may_pause, s, step > 250 ? 250 : step);
        heir_step(s->heir);
        if (s->heal_at && s->heal_at <= sim_now(s->sim)) {
            s->heal_at = 0;
            trace_line(s, "the partition is healed");
            sim_heal(s->sim);
        }
        follow_failures(s);
        if (done_since(s, 7) && (s->resting || roll_dice(s, 4) == 0))
            check_let_go(s->check, s->resting);
        check_gather_go(s->check, rank_contributes, s);
        outage_step(s->outage);
        for (uint32_t v = 0; v < s->nodes; v++)
            pod_step(s, v);
    }
}

/* --- work */

static void crash_daemon(struct script *s, uint32_t v);
static void inject_fault(struct script *s);

static uint32_t some_node(struct script *s)
{
    return (uint32_t)roll_dice(s, s->nodes);
}

static uint32_t some_member(struct script *s)
{
    return 1 + (uint32_t)roll_dice(s, s->nodes - 1);
}

static void submit_job(struct script *s, uint32_t v)
{
    char text[WORK_TEXT_MAX];

    if (!work_submit(s->work, v, s->replicas, text))
        return;
    trace_line(s, "%s", text);
    s->result->jobs++;
}

static void send_message(struct script *s)
{
    uint32_t from = some_node(s);

    if (!sim_stopped(s->sim, from))
        check_send(s->check, from, some_node(s), (enum out_class)roll_dice(s, CLASSES));
}

static void grow_dvm(struct script *s, uint32_t to)
{
    struct api_size in = {.sequence = ++s->sequence, .members = to};
    uint32_t slack = (uint32_t)(in.sequence % 5); /* of a third: applications stay within limits */
    struct api_size out;
    enum api_reason reason;

    if (in.sequence % 3 == 0)
        in.limits = (struct api_size_limits){true, to > slack ? to - slack : 0, to + slack};
    if (!sim_head(s->sim))
        return;
    trace_line(s, "size %u", to);
    sim_clock(s->sim, VPID_HEAD);
    if (core_size_put(sim_head(s->sim), &in, &out, &reason, NULL) == 0 && to > s->replicas)
        s->replicas = to;
    sim_drain(s->sim, 0);
}

/* Grows to `to`, all or nothing. Pods that do not run are started now; some never come. */
static void grow_whole(struct script *s)
{
    uint32_t targets[SIM_NODES_MAX];
    uint32_t first = 1 + (uint32_t)roll_dice(s, s->replicas + 1);
    uint32_t last = first + (uint32_t)roll_dice(s, s->nodes);
    struct api_campaign_request r = {.sequence = ++s->sequence,
                                     .kind = API_KIND_GROW,
                                     .deadline_s = roll_dice(s, 2) ? (int64_t)roll_dice(s, 8) : -1,
                                     .targets = targets};
    struct api_campaign out;
    enum api_reason reason;
    char id[32];

    last = last < s->nodes ? last : s->nodes - 1;
    for (uint32_t v = first; v <= last; v++)
        targets[r.ntargets++] = v;
    if (r.ntargets == 0 || !sim_head(s->sim) || sim_stopped(s->sim, 0))
        return;
    snprintf(id, sizeof(id), "c%llu", (unsigned long long)++s->ncampaigns);
    sim_clock(s->sim, VPID_HEAD);
    if (core_campaign_put(sim_head(s->sim), id, &r, &out, &reason, NULL) < 0) {
        trace_line(s, "grow %u..%u refused: %s", first, last, api_reason_word(reason));
        return;
    }
    s->replicas = last > s->replicas ? last : s->replicas;
    s->result->campaigns++;
    trace_line(s, "grow %s %u..%u, deadline %lld s: %s", id, first, last, (long long)r.deadline_s,
               api_phase_name(out.phase));
    api_campaign_free(&out);
    sim_drain(s->sim, 0);
}

/* The operator removes pods when the campaign is complete; here the parked daemon shows that. One
 * of five shrinks keeps the size, and has any members. */
static void shrink_dvm(struct script *s, uint32_t to)
{
    uint32_t targets[SIM_NODES_MAX];
    struct api_campaign_request r = {.sequence = ++s->sequence,
                                     .drain_mode =
                                         roll_dice(s, 4) ? API_DRAIN_WAIT : API_DRAIN_KILL,
                                     .keeps_size = !roll_dice(s, 5),
                                     .deadline_s = roll_dice(s, 3) ? -1 : (int64_t)roll_dice(s, 3),
                                     .targets = targets};
    struct api_campaign out;
    enum api_reason reason;
    char id[32];

    for (uint32_t v = r.keeps_size ? 1 : to + 1; v < s->nodes; v++) {
        if (!r.keeps_size || !roll_dice(s, 3))
            targets[r.ntargets++] = v;
    }
    if (r.ntargets == 0)
        return;
    snprintf(id, sizeof(id), "c%llu", (unsigned long long)++s->ncampaigns);
    sim_clock(s->sim, VPID_HEAD);
    if (core_campaign_put(sim_head(s->sim), id, &r, &out, &reason, NULL) < 0) {
        trace_line(s, "shrink to %u refused: %s", to, api_reason_word(reason));
        return;
    }
    s->kills |= r.drain_mode == API_DRAIN_KILL || r.deadline_s >= 0;
    if (!r.keeps_size)
        s->replicas = to < s->replicas ? to : s->replicas;
    s->result->campaigns++;
    trace_line(s, "shrink %s %s %u", id, r.keeps_size ? "of any, not" : "to", to);
    api_campaign_free(&out);
    sim_drain(s->sim, 0);
}

/* A fault while a grow campaign wires its daemons, which takes only moments. */
static void strike_grow(struct script *s)
{
    s->until = PHASE_WIRING;
    pass_time(s, 3000);
    s->until = PHASE_NONE;
    if (has_failed(s->sim, s->check) || !sim_head(s->sim) || sim_stopped(s->sim, 0))
        return;
    if (s->profile == 3 && roll_dice(s, 3) == 0)
        crash_daemon(s, 0);
    else if (s->profile >= 2 && roll_dice(s, 2))
        crash_daemon(s, some_member(s));
    else
        inject_fault(s);
}

static void resize_dvm(struct script *s)
{
    uint32_t to = (uint32_t)roll_dice(s, s->nodes);
    bool midway = roll_dice(s, 3) == 0;

    if (!sim_head(s->sim) || sim_stopped(s->sim, 0))
        return;
    if (midway)
        submit_job(s, 0);  /* mapped and not yet sent when the campaign comes */
    if (!sim_head(s->sim)) /* it had been told to end, and has */
        return;
    if (done_since(s, 2) && roll_dice(s, 3) == 0)
        grow_whole(s);
    else if (to >= s->replicas && roll_dice(s, 4))
        grow_dvm(s, to);
    else
        shrink_dvm(s, to);
    if (s->profile && done_since(s, 4) && roll_dice(s, 4) == 0)
        strike_grow(s);
    if (s->profile >= 2 && roll_dice(s, midway ? 3 : 16) == 0)
        crash_daemon(s, some_member(s)); /* the campaign must wait for its report */
}

static void cancel_campaign(struct script *s)
{
    struct api_campaign out;
    enum api_reason reason;
    char id[32];

    if (!sim_head(s->sim) || sim_stopped(s->sim, 0) || s->ncampaigns == 0)
        return;
    snprintf(id, sizeof(id), "c%llu", (unsigned long long)(s->ncampaigns - roll_dice(s, 2)));
    sim_clock(s->sim, VPID_HEAD);
    if (core_campaign_cancel(sim_head(s->sim), id, &out, &reason, NULL) < 0)
        return;
    trace_line(s, "cancel %s: %s", id, api_phase_name(out.phase));
    api_campaign_free(&out);
    sim_drain(s->sim, 0);
    if (roll_dice(s, 2))
        grow_dvm(s, s->nodes - 1);
}

static void ask_resize(struct script *s)
{
    struct asked_some a;

    if (!ask_some(s->sim, s->check, some_node(s), &a))
        return;
    s->kills |= a.kills;
    s->result->asks++;
    trace_line(s, "%s", a.text);
}

static void send_sigterm(struct script *s)
{
    uint32_t v = some_member(s);

    if (!sim_core(s->sim, v) || sim_stopped(s->sim, v))
        return;
    trace_line(s, "SIGTERM to vpid %u", v);
    if (core_state(sim_core(s->sim, v)) == CORE_JOINING)
        check_healthy(s->check, false); /* its greeting may still be under way */
    sim_clock(s->sim, v);
    core_sigterm(sim_core(s->sim, v));
    sim_drain(s->sim, v);
}

static void client_gone(struct script *s)
{
    char text[WORK_TEXT_MAX];

    if (work_client_gone(s->work, some_node(s), text))
        trace_line(s, "%s", text);
}

/* A signal for a job, or a rank that aborts its own. */
static void disturb_job(struct script *s)
{
    char text[WORK_TEXT_MAX];
    uint32_t v = some_node(s);

    if (roll_dice(s, 2) ? work_signal(s->work, v, text) : work_abort(s->work, v, text))
        trace_line(s, "%s", text);
}

static void begin_gather(struct script *s)
{
    uint32_t vpids[SIM_NODES_MAX];
    uint64_t odds = 1 + roll_dice(s, 3);
    uint32_t n = 0;

    for (uint32_t v = 0; v < s->nodes; v++) {
        const struct core *x = sim_core(s->sim, v);

        if (x && core_state(x) == CORE_WIRED && sim_head(s->sim) &&
            core_live_in(sim_head(s->sim), v, core_inspect_epoch(x).ctr) &&
            roll_dice(s, 1 + odds) != 0)
            vpids[n++] = v;
    }
    if (n == 0)
        return;
    trace_line(s, "a collective of %u members, the first is vpid %u", n, vpids[0]);
    check_gather(s->check, vpids, n, 1 + (uint32_t)roll_dice(s, 4));
}

/* --- faults */

static void break_link(struct script *s)
{
    uint32_t a, b;

    if (!sim_some_wire(s->sim, &a, &b))
        return;
    if (roll_dice(s, 2)) {
        count_fault(s, FAULT_BREAK);
        trace_line(s, "the link of vpids %u and %u breaks", a, b);
        sim_break(s->sim, a, b);
    } else {
        uint64_t late = 1 + roll_dice(s, 1500);

        count_fault(s, FAULT_HALF);
        trace_line(s, "the link of vpids %u and %u breaks, %u sees it %llu ms later", a, b, b,
                   (unsigned long long)late);
        sim_break_half(s->sim, a, b, late);
    }
}

static void crash_daemon(struct script *s, uint32_t v)
{
    if (!sim_core(s->sim, v))
        return;
    s->pods[v] = (struct pod){0};
    if (v == 0)
        count_fault(s, FAULT_HEAD);
    if (roll_dice(s, 3) == 0) {
        count_fault(s, FAULT_VANISH);
        trace_line(s, "vpid %u vanishes", v);
        sim_vanish(s->sim, v);
    } else if (!sim_stopped(s->sim, v) && roll_dice(s, 3) == 0) {
        count_fault(s, FAULT_CRASH);
        trace_line(s, "vpid %u cannot go on", v);
        sim_clock(s->sim, v);
        core_fail(sim_core(s->sim, v), "it cannot go on");
        sim_drain(s->sim, v);
    } else {
        count_fault(s, FAULT_CRASH);
        trace_line(s, "vpid %u crashes", v);
        sim_crash(s->sim, v);
    }
    if (roll_dice(s, 3) == 0) { /* back before any daemon has noticed */
        count_fault(s, FAULT_RESTART);
        trace_line(s, "pod %u starts at once", v);
        sim_start(s->sim, v);
    }
}

static void stop_daemon(struct script *s)
{
    uint32_t v = s->profile < 3 ? some_member(s) : some_node(s);

    if (!sim_core(s->sim, v) || sim_stopped(s->sim, v))
        return;
    count_fault(s, FAULT_STOP);
    s->pods[v].resume_at = sim_now(s->sim) + (v == 0            ? 1 + roll_dice(s, 3000)
                                              : roll_dice(s, 2) ? 1 + roll_dice(s, 3000)
                                                                : 5000 + roll_dice(s, 30000));
    trace_line(s, "vpid %u stops until %llu", v, (unsigned long long)s->pods[v].resume_at);
    sim_stop(s->sim, v, true);
}

static void cut_network(struct script *s)
{
    if (s->heal_at)
        return;
    count_fault(s, FAULT_PARTITION);
    s->heal_at = sim_now(s->sim) + 1 + (roll_dice(s, 2) ? roll_dice(s, 3000) : roll_dice(s, 25000));
    trace_line(s, "a partition until %llu", (unsigned long long)s->heal_at);
    for (uint32_t v = 1; v < s->nodes; v++) {
        if (roll_dice(s, 3) == 0) {
            trace_line(s, "  without vpid %u", v);
            sim_partition(s->sim, v, 1);
        }
    }
}

static void late_frame(struct script *s)
{
    count_fault(s, FAULT_LATE);
    sim_replay(s->sim);
}

/* One link fails, or one after the other. */
static void fail_link(struct script *s)
{
    enum sim_link_fault how = (enum sim_link_fault)roll_dice(s, SIM_LINK_FAULTS);
    uint64_t times = roll_dice(s, 4) ? 1 : 1 + roll_dice(s, 8);
    uint32_t a, b;

    while (times-- && sim_link_fails(s->sim, how, &a, &b)) {
        count_fault(s, FAULT_LINK);
        trace_line(s, "one link of vpids %u and %u fails (%d)", a, b, how);
        if (times)
            pass_time(s, roll_dice(s, 200));
    }
}

static void tell_lie(struct script *s, lie_fn *lie)
{
    char text[LIE_TEXT_MAX];

    if (!lie(s->sim, some_member(s), text))
        return;
    s->result->faults++;
    trace_line(s, "%s", text);
}

static void inject_fault(struct script *s)
{
    uint64_t d;

    if (s->profile == 0)
        return;
    if (done_since(s, 13) && roll_dice(s, 3) == 0)
        tell_lie(s, lie_some);
    if (done_since(s, 18) && roll_dice(s, 6) == 0)
        tell_lie(s, done_since(s, 19) && roll_dice(s, 2) ? lie_some_more : lie_some_call);
    if (done_since(s, 11) && roll_dice(s, 3) == 0) {
        fail_link(s);
        return;
    }
    d = roll_dice(s, 20);
    if (d < 6)
        late_frame(s);
    else if (d < 12 || s->profile == 1)
        break_link(s);
    else if (d < 15)
        crash_daemon(s, s->profile == 3 && roll_dice(s, 6) == 0 ? 0 : some_member(s));
    else if (d < 18)
        stop_daemon(s);
    else
        cut_network(s);
}

static void begin_heir(struct script *s)
{
    char text[HEIR_TEXT_MAX], job[WORK_TEXT_MAX];
    enum volume_kind volume = heir_disturb_volume(s->heir, text);
    enum heir_kind k = heir_draw(s->heir);

    if (volume != VOLUME_KINDS) {
        s->result->volumes[volume]++;
        trace_line(s, "%s", text);
    }
    if (k == HEIR_KINDS)
        return;
    count_fault(s, FAULT_HEAD);
    if (k == HEIR_NONE && sim_has_keepers(s->sim) && work_submit_beside_keepers(s->work, job))
        trace_line(s, "%s", job);
    heir_begin(s->heir, k, text);
    s->result->heirs[k]++;
    trace_line(s, "%s", text);
}

static void begin_outage(struct script *s)
{
    char text[OUTAGE_TEXT_MAX], job[WORK_TEXT_MAX];
    enum outage_kind k = outage_begin(s->outage, text);

    begin_heir(s);
    if (outage_spawns(s->outage) && work_spawn(s->work, some_node(s), s->replicas, job)) {
        s->result->spawned++;
        trace_line(s, "%s", job);
    }
    if (k == OUTAGES)
        return;
    s->result->outages[k]++;
    s->result->faults++;
    trace_line(s, "%s", text);
}

static void take_step(struct script *s)
{
    uint64_t d = roll_dice(s, 20);

    begin_outage(s);
    if (!sim_has_keepers(s->sim)) /* their frames would change the schedules */
        values_request(s->sim, s->opts.seed ^ sim_now(s->sim));
    if (done_since(s, 3) && roll_dice(s, 8) == 0)
        begin_gather(s);
    if (done_since(s, 8) && roll_dice(s, 8) == 0)
        ask_resize(s);
    if (done_since(s, 12) && roll_dice(s, 10) == 0)
        disturb_job(s);

    if (d < 6)
        submit_job(s, some_node(s));
    else if (d < 10)
        send_message(s);
    else if (d < 13)
        resize_dvm(s);
    else if (d < 14)
        cancel_campaign(s);
    else if (d < 15)
        send_sigterm(s);
    else if (d < 16)
        client_gone(s);
    else
        inject_fault(s);
    count_fault(s, FAULT_NONE);
}

/* --- rest */

static void come_to_rest(struct script *s)
{
    uint64_t end = sim_now(s->sim) + REST_MAX_MS;
    unsigned quiet = 0;

    trace_line(s, "no more faults, no more work");
    outage_end(s->outage);
    heir_end(s->heir);
    sim_heal(s->sim);
    sim_links_even(s->sim);
    s->heal_at = 0;
    s->resting = true;
    for (uint32_t v = 0; v < s->nodes; v++) {
        if (sim_stopped(s->sim, v))
            resume_daemon(s, v);
    }
    for (;;) {
        struct rest r = {0, 0};

        pass_time(s, 500);
        if (has_failed(s->sim, s->check))
            return;
        if (sim_head(s->sim)) {
            r = rest_look(sim_head(s->sim));
            if (r.campaigns == 0 && s->replicas < s->nodes - 1)
                grow_dvm(s, s->nodes - 1); /* so that every job finds its slots */
            else if (r.campaigns == 0 && rest_missing(s->sim, s->replicas) == 0)
                work_end_too_large(s->work);
            else if (r.campaigns)
                rest_cancel_drain(s->sim, end - REST_MAX_MS / 2);
            quiet = r.jobs || r.campaigns || rest_missing(s->sim, s->replicas) ? 0 : quiet + 1;
            if (quiet > 60 && (quiet > 300 || !rest_has_out(s->sim)))
                return; /* requests may be under way for 30 s, and links on probation for longer */
        }
        if (quiet || sim_now(s->sim) < end)
            continue;
        if (r.campaigns)
            check_fail(s->check, "one-terminal-event", "%zu campaigns do not end", r.campaigns);
        else if (r.jobs)
            check_fail(s->check, "nobody-parked-forever", "%zu jobs do not end", r.jobs);
        else
            check_fail(s->check, "tree-agreement", "%u of %u members do not come",
                       rest_missing(s->sim, s->replicas), s->replicas);
        return;
    }
}

static void begin_schedule(struct script *s)
{
    static const uint32_t radixes[] = {2, 2, 3, 4, 32, 64};
    struct sim_opts o = {
        .seed = s->opts.seed, .faults = SIM_FAULTS, .uneven = true, .trace = s->opts.trace};

    s->sim = sim_create(&o);
    for (unsigned i = 0; i < 3; i++)
        (void)roll_dice(s, 2); /* from here on neighbouring seeds have little in common */
    s->nodes = s->opts.nodes ? s->opts.nodes : 3 + (uint32_t)roll_dice(s, roll_dice(s, 2) ? 8 : 23);
    s->profile = (unsigned)roll_dice(s, 4);
    s->replicas = s->nodes - 1;
    o.nodes = s->nodes;
    o.size = s->replicas;
    o.radix = radixes[roll_dice(s, 6)];
    o.slots = 1 + (uint32_t)roll_dice(s, 3);
    o.links = done_since(s, 11) ? 1 + (uint32_t)roll_dice(s, 3) : 1;
    o.addresses = done_since(s, 15) ? outage_addresses(s->opts.seed) : 1;
    o.links = o.links == o.addresses ? 0 : o.links; /* one by each address is the default */
    o.backlog_max = done_since(s, 14) ? outage_backlog(s->opts.seed, s->profile) : 0;
    o.disk = done_since(s, 16) && heir_has_disk(s->opts.seed);
    o.keepers = s->opts.keepers && heir_has_keepers(s->opts.seed);
    o.disk |= o.keepers && done_since(s, 17) && heir_has_volume(s->opts.seed);
    o.delay_ms = 1 + roll_dice(s, 3) * roll_dice(s, 30);
    if (done_since(s, 10))
        o.faults = sim_draw_faults(s->sim);
    else
        o.faults.link_grace_ms = 2000; /* the default of those generations */
    sim_configure(s->sim, &o);
    trace_line(s,
               "seed %llu: %u nodes, radix %u, slots %u, links %zu, addresses %u, delay %u ms, "
               "profile %u, %u ms",
               (unsigned long long)s->opts.seed, s->nodes, o.radix, o.slots, sim_nlinks(s->sim),
               o.addresses, (unsigned)o.delay_ms, s->profile, (unsigned)o.faults.link_grace_ms);
    s->check = check_create(s->sim);
    s->work = work_create(s->sim, s->opts.generation);
    check_healthy(s->check, s->profile == 0 && !o.disk && !o.keepers);
    if (done_since(s, 14))
        s->outage = outage_create(s->sim, s->check, s->opts.seed, s->nodes, s->profile,
                                  done_since(s, 15) ? OUTAGES : OUTAGE_INTERFACE);
    outage_drift(s->outage, done_since(s, 19));
    if (o.disk || o.keepers)
        s->heir = heir_create(s->sim, s->opts.seed, s->profile < 2, s->opts.generation);
    for (uint32_t v = 0; v < s->nodes; v++)
        sim_start(s->sim, v);
}

void script_run(const struct script_opts *o, struct script_result *r)
{
    struct script *s = xcalloc(1, sizeof(*s));
    unsigned steps;

    s->opts = *o;
    s->result = r;
    begin_schedule(s);
    pass_time(s, roll_dice(s, 2) ? 2000 : roll_dice(s, 500));
    steps = 20 + (unsigned)roll_dice(s, 120);
    while (steps-- && !has_failed(s->sim, s->check)) {
        take_step(s);
        pass_time(s, roll_dice(s, 3)   ? roll_dice(s, 60)
                     : roll_dice(s, 8) ? roll_dice(s, 500)
                                       : roll_dice(s, 5000));
    }
    if (!has_failed(s->sim, s->check))
        come_to_rest(s);
    if (!has_failed(s->sim, s->check)) {
        check_rest(s->check);
        work_check(s->work, s->check, s->kills, s->profile >= 2 || heir_lost(s->heir));
    }
    if (has_failed(s->sim, s->check) && s->opts.trace)
        rest_print(s->sim, s->nodes);
    r->nodes = s->nodes;
    snprintf(r->name, sizeof(r->name), "%s", check_failed(s->check));
    snprintf(r->text, sizeof(r->text), "%s", check_text(s->check));
    r->at_ms = sim_now(s->sim);
    r->taken += sim_volumes_taken(s->sim);
    script_add_stats(r, sim_head(s->sim));
    heir_destroy(s->heir);
    outage_destroy(s->outage);
    work_destroy(s->work);
    sim_destroy(s->sim);
    check_destroy(s->check);
    free(s);
}
