/* SPDX-License-Identifier: BSD-3-Clause */
/* Failures of links between a member and the head, over virtual wires: what the daemons above
 * notice of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/core/core_inspect.h"
#include "dvm/sim/sim.h"

#include <stdio.h>
#include <string.h>

#define KIND 7

struct world {
    struct sim *sim;
    uint64_t got; /* number of the last message that the head got; they come in order */
    uint64_t sent;
    bool lost_lifeline;              /* of vpid 1 */
    uint64_t probed[PEER_LINKS_MAX]; /* connections on which vpid 1 has sent PING */
    size_t nprobed;
    unsigned calls; /* of vpid 1 */
};

static void note_probe(struct world *w, const struct out_send *send)
{
    struct cur c = cur_of(send->frame.data, send->frame.len);
    struct frame f;

    if (frame_decode(&c, &f, NULL) < 0 || f.type != MSG_PING)
        return;
    for (size_t i = 0; i < w->nprobed; i++) {
        if (w->probed[i] == send->conn)
            return;
    }
    if (w->nprobed < PEER_LINKS_MAX)
        w->probed[w->nprobed++] = send->conn;
}

static void on_action(void *arg, uint32_t vpid, const struct out_act *act)
{
    struct world *w = arg;
    uint64_t number;

    if (act->kind == OUT_SEND && vpid == 1)
        note_probe(w, &act->send);
    w->calls += act->kind == OUT_CONNECT && vpid == 1;
    if (act->kind == OUT_LOG && vpid == 1 && strstr(act->log.text, "lifeline to vpid 0:"))
        w->lost_lifeline = true;
    if (act->kind != OUT_APP || act->app.kind != KIND)
        return;
    assert_int_equal(act->app.data.len, sizeof(number));
    memcpy(&number, act->app.data.data, sizeof(number));
    assert_int_equal(number, w->got + 1);
    w->got = number;
}

static void boot_with(struct world *w, uint32_t links, uint32_t addresses)
{
    struct sim_opts o = {.nodes = 2,
                         .radix = 2,
                         .slots = 1,
                         .size = 1,
                         .seed = 42,
                         .delay_ms = 3,
                         .links = links,
                         .addresses = addresses};
    struct sim_hooks h = {.arg = w, .action = on_action};

    memset(w, 0, sizeof(*w));
    w->sim = sim_create(&o);
    sim_watch(w->sim, &h);
    sim_start(w->sim, 0);
    sim_start(w->sim, 1);
    sim_for(w->sim, 1000);
    assert_int_equal(core_state(sim_core(w->sim, 1)), CORE_WIRED);
    w->lost_lifeline = false;
}

static void boot_dvm(struct world *w, uint32_t links)
{
    boot_with(w, links, 1);
}

static void send_some(struct world *w, size_t n)
{
    while (n--) {
        w->sent++;
        sim_clock(w->sim, 1);
        assert_int_equal(core_app_send(sim_core(w->sim, 1), 0, CLASS_BULK, KIND, &w->sent,
                                       sizeof(w->sent), NULL),
                         0);
        sim_drain(w->sim, 1);
    }
}

static void keep_peer(void *arg, const struct core_inspect_peer *p)
{
    *(struct core_inspect_peer *)arg = *p;
}

static struct core_inspect_peer lifeline_of(struct world *w)
{
    struct core_inspect_peer p = {.vpid = VPID_NONE};

    core_inspect_peers(sim_core(w->sim, 1), keep_peer, &p);
    return p;
}

static void fail_one(struct world *w, enum sim_link_fault how)
{
    uint32_t a, b;

    assert_true(sim_link_fails(w->sim, how, &a, &b));
}

/* Nothing, if the link is closed on one side already. */
static void fail_some(struct world *w)
{
    uint32_t a, b;

    (void)sim_link_fails(w->sim, (enum sim_link_fault)sim_random(w->sim, SIM_LINK_FAULTS), &a, &b);
}

static void a_member_opens_the_links_that_it_is_configured_for(void **state)
{
    struct world w;

    for (uint32_t links = 1; links <= PEER_LINKS_MAX; links++) {
        boot_dvm(&w, links);
        assert_int_equal(lifeline_of(&w).links, links);
        sim_destroy(w.sim);
    }
}

static void
c24_the_reset_of_one_of_two_links_is_not_noticed_above_and_the_link_comes_back(void **state)
{
    struct world w;
    uint64_t session, before;

    boot_dvm(&w, 2);
    session = lifeline_of(&w).session;
    send_some(&w, 20);
    fail_one(&w, SIM_LINK_BREAK);
    before = sim_now(w.sim);
    send_some(&w, 20);
    sim_for(w.sim, 40);
    assert_int_equal(w.got, 40);
    assert_true(sim_now(w.sim) - before <= 40);
    assert_false(w.lost_lifeline);
    sim_for(w.sim, 5000);
    assert_int_equal(lifeline_of(&w).links, 2);
    assert_int_equal(lifeline_of(&w).out, 0);
    assert_int_equal(lifeline_of(&w).session, session);
    sim_destroy(w.sim);
}

static void c24_a_reset_of_the_only_link_continues_the_session_at_once(void **state)
{
    struct world w;
    uint64_t session, version;

    boot_dvm(&w, 1);
    session = lifeline_of(&w).session;
    version = core_stats(sim_core(w.sim, 0)).version;
    send_some(&w, 20);
    sim_break(w.sim, 0, 1);
    send_some(&w, 20);
    sim_for(w.sim, 40); /* a connection, a greeting, the frames */
    assert_int_equal(w.got, 40);
    assert_int_equal(lifeline_of(&w).session, session);
    assert_int_equal(core_stats(sim_core(w.sim, 0)).version, version);
    sim_destroy(w.sim);
}

/* Without a measured delay a link would count as the fastest one. */
static void every_link_is_probed_on_greeting(void **state)
{
    struct world w;

    for (uint32_t links = 1; links <= 3; links++) {
        boot_dvm(&w, links);
        assert_int_equal(w.nprobed, links);
        sim_destroy(w.sim);
    }
}

/* Each kind of failure, on one link after the other and on several at once. */
static void fail_at_random(struct world *w, uint32_t links)
{
    uint64_t version = core_stats(sim_core(w->sim, 0)).version;

    for (unsigned i = 0; i < 200; i++) {
        send_some(w, 1 + sim_random(w->sim, 5));
        if (sim_random(w->sim, 4) == 0)
            fail_some(w);
        sim_for(w->sim, 20 + sim_random(w->sim, 400));
    }
    sim_links_even(w->sim);
    sim_for(w->sim, 60000);
    assert_int_equal(w->got, w->sent);
    assert_int_equal(core_stats(sim_core(w->sim, 0)).version, version);
    assert_int_equal(lifeline_of(w).links, links);
    assert_int_equal(lifeline_of(w).out, 0);
}

static void c24_no_message_is_lost_doubled_or_out_of_order_whatever_links_fail(void **state)
{
    struct world w;

    for (uint32_t seed = 1; seed <= 30; seed++) {
        uint32_t links = 1 + seed % 3;

        boot_dvm(&w, links);
        for (uint32_t i = 0; i < seed; i++)
            (void)sim_random(w.sim, 2);
        fail_at_random(&w, links);
        sim_destroy(w.sim);
    }
}

static void only_frames_that_have_not_arrived_are_sent_again(void **state)
{
    struct world w;

    boot_dvm(&w, 1);
    send_some(&w, 20);
    sim_for(w.sim, 1000);
    assert_int_equal(w.got, 20);
    sim_break(w.sim, 0, 1);
    sim_for(w.sim, 1000);
    assert_int_equal(lifeline_of(&w).frames.again, 0);
    sim_destroy(w.sim);
}

static void c24_a_link_that_fails_in_one_direction_is_mapped_out_and_replaced(void **state)
{
    struct world w;

    for (unsigned i = 0; i < 8; i++) {
        boot_dvm(&w, 2);
        for (unsigned skip = 0; skip < i; skip++)
            (void)sim_random(w.sim, 2); /* another link, or another direction */
        fail_one(&w, SIM_LINK_MUTE);
        send_some(&w, 20);
        sim_for(w.sim, 2ull * PEER_SLOW_ROUNDS * PEER_ROUND_MS);
        assert_int_equal(w.got, 20);
        assert_false(w.lost_lifeline);
        sim_for(w.sim, 30000);
        assert_int_equal(lifeline_of(&w).links, 2);
        assert_int_equal(lifeline_of(&w).out, 0);
        sim_destroy(w.sim);
    }
}

/* Interface i of one of the two daemons fails, while messages flow. */
static void fail_interface(uint32_t vpid, size_t i, enum sim_interface how)
{
    struct world w;
    uint64_t session, version;

    boot_with(&w, 0, 2);
    session = lifeline_of(&w).session;
    version = core_stats(sim_core(w.sim, 0)).version;
    assert_int_equal(lifeline_of(&w).by_way[0], 1);
    assert_int_equal(lifeline_of(&w).by_way[1], 1);
    sim_set_interface(w.sim, vpid, i, how);
    for (unsigned n = 0; n < 100; n++) {
        send_some(&w, 2);
        sim_for(w.sim, 300);
    }
    assert_int_equal(w.got, 200);
    assert_false(w.lost_lifeline);
    assert_int_equal(lifeline_of(&w).by_way[i], 0);
    sim_set_interface(w.sim, vpid, i, SIM_INTERFACE_UP);
    sim_for(w.sim, 30000);
    assert_int_equal(lifeline_of(&w).by_way[0], 1);
    assert_int_equal(lifeline_of(&w).by_way[1], 1);
    assert_int_equal(lifeline_of(&w).out, 0);
    assert_int_equal(lifeline_of(&w).session, session);
    assert_int_equal(core_stats(sim_core(w.sim, 0)).version, version);
    sim_destroy(w.sim);
}

static void c24_an_interface_that_fails_costs_the_links_over_it_alone(void **state)
{
    for (size_t i = 0; i < 2; i++) {
        for (uint32_t vpid = 0; vpid < 2; vpid++) {
            fail_interface(vpid, i, SIM_INTERFACE_REFUSES);
            fail_interface(vpid, i, SIM_INTERFACE_HANGS);
        }
    }
}

/* After 100, 200, 400, … ms, and then every 5 s. */
static void c24_an_address_that_refuses_is_called_ever_more_seldom(void **state)
{
    struct world w;

    boot_with(&w, 0, 2);
    sim_set_interface(w.sim, 1, 1, SIM_INTERFACE_REFUSES);
    w.calls = 0;
    sim_for(w.sim, 3000);
    assert_in_range(w.calls, 4, 6);
    w.calls = 0;
    sim_for(w.sim, 60000);
    assert_in_range(w.calls, 11, 14);
    sim_destroy(w.sim);
}

/* The frames that a silent interface swallowed are sent again when its silence is noticed. */
static void c24_the_only_link_is_made_again_by_another_address(void **state)
{
    static const enum sim_interface hows[] = {SIM_INTERFACE_REFUSES, SIM_INTERFACE_HANGS};
    struct world w;
    uint64_t session, version;

    for (size_t i = 0; i < 2; i++) {
        boot_with(&w, 1, 2);
        session = lifeline_of(&w).session;
        version = core_stats(sim_core(w.sim, 0)).version;
        assert_int_equal(lifeline_of(&w).by_way[0], 1);
        sim_set_interface(w.sim, 1, 0, hows[i]);
        send_some(&w, 20);
        sim_for(w.sim, API_FAULTS_SILENCE_MS + API_FAULTS_LINK_GRACE_MS);
        assert_int_equal(w.got, 20);
        assert_int_equal(lifeline_of(&w).by_way[1], 1);
        assert_int_equal(lifeline_of(&w).session, session);
        assert_int_equal(core_stats(sim_core(w.sim, 0)).version, version);
        sim_destroy(w.sim);
    }
}

static bool is_slow_out(struct world *w)
{
    send_some(w, 1);
    sim_for(w->sim, 100);
    return lifeline_of(w).out > 0;
}

/* Within so many tenths of a second. */
static bool gets_out(struct world *w, unsigned within)
{
    while (within-- && !is_slow_out(w))
        ;
    return is_slow_out(w);
}

static void
c24_a_steadily_slow_link_is_mapped_out_and_taken_back_when_it_is_fast_again(void **state)
{
    struct world w;

    for (size_t i = 0; i < 2; i++) {
        boot_with(&w, 0, 2);
        sim_set_interface(w.sim, 1, i, SIM_INTERFACE_SLOW);
        assert_true(gets_out(&w, 100));
        assert_false(w.lost_lifeline);
        assert_int_equal(lifeline_of(&w).links, 2);
        assert_int_equal(core_stats(sim_core(w.sim, 0)).links_out, 1); /* it was notified */
        for (unsigned n = 0; n < 300; n++)
            assert_true(is_slow_out(&w)); /* its answers come, and prove nothing */
        sim_set_interface(w.sim, 1, i, SIM_INTERFACE_UP);
        sim_for(w.sim, 10000);
        assert_int_equal(lifeline_of(&w).out, 0);
        assert_int_equal(core_stats(sim_core(w.sim, 0)).links_out, 0);
        assert_int_equal(core_stats(sim_core(w.sim, 1)).links_lost, 0);
        assert_int_equal(w.got, w.sent);
        sim_destroy(w.sim);
    }
}

static void a_link_that_is_slow_for_a_moment_stays_in_use(void **state)
{
    struct world w;

    boot_with(&w, 0, 2);
    for (unsigned n = 0; n < 20; n++) {
        sim_set_interface(w.sim, 1, 1, SIM_INTERFACE_SLOW);
        assert_false(gets_out(&w, 15));
        sim_set_interface(w.sim, 1, 1, SIM_INTERFACE_UP);
        assert_false(gets_out(&w, 20));
    }
    sim_destroy(w.sim);
}

static void links_that_are_all_slow_stay_in_use(void **state)
{
    struct world w;

    boot_with(&w, 0, 2);
    sim_set_interface(w.sim, 1, 0, SIM_INTERFACE_SLOW);
    sim_set_interface(w.sim, 1, 1, SIM_INTERFACE_SLOW);
    assert_false(gets_out(&w, 600));
    sim_destroy(w.sim);
}

/* It is fast while it carries nothing, as a link with little bandwidth is. */
static void c24_a_link_that_is_slow_under_load_alone_does_not_flap(void **state)
{
    struct world w;

    boot_with(&w, 0, 2);
    for (unsigned n = 0; n < 3000; n++)
        sim_set_interface(w.sim, 1, 1, is_slow_out(&w) ? SIM_INTERFACE_UP : SIM_INTERFACE_SLOW);
    /* In 300 s: after 1, 2, 4, … 64 s, and each time the time in which it is noticed. */
    assert_in_range(core_stats(sim_core(w.sim, 1)).links_mapped_out, 3, 12);
    assert_int_equal(w.got, w.sent);
    assert_false(w.lost_lifeline);
    sim_destroy(w.sim);
}

/* After traffic of another link, and after the limit of a greeting. */
static void c24_a_greeting_that_comes_late_costs_nothing(void **state)
{
    struct world w;
    uint64_t session;

    for (unsigned seed = 0; seed < 10; seed++) {
        boot_dvm(&w, 2);
        for (unsigned skip = 0; skip < seed; skip++)
            (void)sim_random(w.sim, 2); /* another link, and another delay */
        session = lifeline_of(&w).session;
        sim_late_greetings(w.sim, sim_now(w.sim) + 60000, 2ull * API_FAULTS_SILENCE_MS);
        fail_one(&w, SIM_LINK_BREAK);
        for (unsigned n = 0; n < 50; n++) {
            send_some(&w, 2);
            sim_for(w.sim, 1000);
        }
        sim_for(w.sim, 60000);
        assert_int_equal(w.got, 100);
        assert_false(w.lost_lifeline);
        assert_int_equal(lifeline_of(&w).session, session);
        assert_int_equal(lifeline_of(&w).links, 2);
        assert_int_equal(lifeline_of(&w).out, 0);
        sim_destroy(w.sim);
    }
}

/* The head's connections that have greeted get the same frame. */
static void feed_head(struct world *w, const struct msg *m, uint64_t number)
{
    struct core *head = sim_core(w->sim, 0);
    struct frame f = {
        .type = (uint16_t)m->type, .src = 1, .src_epoch = core_inspect_epoch(sim_core(w->sim, 1))};
    BUF_AUTO struct buf b = {0};

    buf_init(&b, 1u << 20);
    frame_encode(&b, &f);
    msg_encode(&b, m);
    frame_set_hop(b.data, number, 0);
    sim_clock(w->sim, VPID_HEAD);
    for (uint64_t conn = 1; conn <= 8; conn++) {
        if (core_inspect_up(head, conn))
            core_conn_frame(head, conn, b.data, b.len);
    }
    sim_drain(w->sim, 0);
}

static void a_greeting_or_a_probe_with_a_number_closes_its_link(void **state)
{
    char text[] = "x";
    const struct msg msgs[] = {
        {.type = MSG_HELLO, .hello = {.cluster = text, .self.host = text}},
        {.type = MSG_WELCOME, .welcome = {.self.host = text}},
        {.type = MSG_REFUSE, .refuse = {.text = text}},
        {.type = MSG_PING},
        {.type = MSG_PONG},
        {.type = MSG_HOP_ACK},
    };
    struct world w;

    for (size_t i = 0; i < sizeof(msgs) / sizeof(*msgs); i++) {
        for (uint64_t ahead = 1; ahead <= 2; ahead++) {
            boot_dvm(&w, 1);
            feed_head(&w, &msgs[i], lifeline_of(&w).frames.sent + ahead);
            assert_int_equal(core_stats(sim_core(w.sim, 0)).links_lost, 1);
            sim_for(w.sim, 1000);
            send_some(&w, 20);
            sim_for(w.sim, 1000);
            assert_int_equal(w.got, 20);
            sim_destroy(w.sim);
        }
    }
}

static void links_that_fail_are_counted(void **state)
{
    struct world w;

    boot_dvm(&w, 2);
    assert_int_equal(core_stats(sim_core(w.sim, 1)).links, 2);
    fail_one(&w, SIM_LINK_BREAK);
    sim_for(w.sim, 30000);
    assert_int_equal(core_stats(sim_core(w.sim, 1)).links_lost, 1);
    assert_int_equal(core_stats(sim_core(w.sim, 1)).links_taken_back, 1);
    fail_one(&w, SIM_LINK_MUTE);
    send_some(&w, 20);
    sim_for(w.sim, 30000);
    assert_true(core_stats(sim_core(w.sim, 0)).links_mapped_out +
                    core_stats(sim_core(w.sim, 1)).links_mapped_out >
                0);
    assert_int_equal(core_stats(sim_core(w.sim, 1)).links, 2);
    assert_int_equal(core_stats(sim_core(w.sim, 1)).links_out, 0);
    sim_destroy(w.sim);
}

/* The only neighbour of this daemon. */
static struct api_link_peer only_peer(struct world *w, uint32_t vpid)
{
    struct api_links l = core_links(sim_core(w->sim, vpid));
    struct api_link_peer p;

    assert_int_equal(l.vpid, vpid);
    assert_int_equal(l.npeers, 1);
    p = l.peers[0];
    api_links_free(&l);
    return p;
}

static void each_side_shows_its_links_to_the_other_and_counts_the_lost_one(void **state)
{
    struct api_link_peer up, down;
    struct world w;

    boot_dvm(&w, 2);
    up = only_peer(&w, 1);
    down = only_peer(&w, 0);
    assert_int_equal(up.vpid, 0);
    assert_int_equal(up.role, API_LINK_PARENT);
    assert_int_equal(down.vpid, 1);
    assert_int_equal(down.role, API_LINK_CHILD);
    assert_int_equal(up.up, 2);
    assert_true(up.round_trip_ms >= 2 && up.round_trip_ms <= 6); /* 1 to 3 in each direction */
    assert_int_equal(up.lost + up.sent_again + up.mapped_out + up.queued_bytes, 0);
    send_some(&w, 20);
    assert_true(only_peer(&w, 1).queued_bytes > 0);
    fail_one(&w, SIM_LINK_BREAK);
    send_some(&w, 20);
    sim_for(w.sim, 30000);
    up = only_peer(&w, 1);
    assert_int_equal(up.up, 2);
    assert_int_equal(up.lost, 1);
    assert_int_equal(only_peer(&w, 0).lost, 1);
    assert_int_equal(up.sent_again, core_stats(sim_core(w.sim, 1)).frames_again);
    assert_int_equal(up.queued_bytes, 0);
    sim_destroy(w.sim);
}

/* One entry for each pair of addresses, with the links between them. */
static void the_addresses_of_links_are_shown_with_their_states(void **state)
{
    struct api_link_peer p;
    struct world w;

    boot_with(&w, 3, 2);
    for (uint32_t vpid = 0; vpid < 2; vpid++) {
        p = only_peer(&w, vpid);
        assert_int_equal(p.npaths, 2);
        assert_string_equal(p.paths[0].own, "wire");
        assert_string_equal(p.paths[0].other, "wire");
        assert_string_equal(p.paths[1].own, "wire1");
        assert_int_equal(p.paths[0].up + p.paths[1].up, 3);
        assert_int_equal(p.paths[1].up, 1);
        assert_true(p.paths[1].round_trip_ms >= 2);
    }
    sim_set_interface(w.sim, 1, 1, SIM_INTERFACE_HANGS);
    send_some(&w, 20);
    sim_for(w.sim, 2ull * PEER_SLOW_ROUNDS * PEER_ROUND_MS);
    p = only_peer(&w, 1);
    assert_int_equal(p.npaths, 2);
    assert_int_equal(p.paths[1].up, 0);
    assert_int_equal(p.paths[1].mapped_out, 1);
    assert_int_equal(p.paths[1].round_trip_ms, -1);
    sim_for(w.sim, 2ull * API_FAULTS_SILENCE_MS);
    assert_int_equal(only_peer(&w, 1).npaths, 1); /* its silence has closed it */
    sim_destroy(w.sim);
}

static void the_first_link_of_a_session_is_probed_on_greeting_by_both_sides(void **state)
{
    struct world w;

    boot_dvm(&w, 1);
    assert_true(only_peer(&w, 0).round_trip_ms >= 2);
    assert_true(only_peer(&w, 1).round_trip_ms >= 2);
    sim_crash(w.sim, 0); /* the member joins the next head */
    sim_start(w.sim, 0);
    sim_for(w.sim, 3000);
    assert_int_equal(core_state(sim_core(w.sim, 1)), CORE_WIRED);
    assert_true(only_peer(&w, 0).round_trip_ms >= 2);
    assert_true(only_peer(&w, 1).round_trip_ms >= 2);
    sim_destroy(w.sim);
}

static void a_parent_without_any_link_is_shown_until_the_grace_ends(void **state)
{
    struct api_link_peer up;
    struct world w;

    boot_dvm(&w, 1);
    sim_partition(w.sim, 1, 1);
    sim_break(w.sim, 0, 1);
    sim_for(w.sim, 1000);
    up = only_peer(&w, 1);
    assert_int_equal(up.role, API_LINK_PARENT);
    assert_int_equal(up.up, 0);
    assert_int_equal(up.round_trip_ms, -1);
    assert_int_equal(up.lost, 1);
    sim_destroy(w.sim);
}

static void a_member_without_any_link_is_lost_after_the_grace(void **state)
{
    struct world w;

    boot_dvm(&w, 2);
    sim_partition(w.sim, 1, 1);
    sim_break(w.sim, 0, 1);
    sim_for(w.sim, 1000);
    assert_int_equal(core_stats(sim_core(w.sim, 0)).live, 2);
    sim_for(w.sim, 30000);
    assert_int_equal(core_stats(sim_core(w.sim, 0)).live, 1);
    sim_heal(w.sim);
    sim_for(w.sim, 30000);
    assert_int_equal(core_stats(sim_core(w.sim, 0)).live, 2); /* it has joined anew */
    sim_destroy(w.sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_opens_the_links_that_it_is_configured_for),
        cmocka_unit_test(
            c24_the_reset_of_one_of_two_links_is_not_noticed_above_and_the_link_comes_back),
        cmocka_unit_test(c24_a_reset_of_the_only_link_continues_the_session_at_once),
        cmocka_unit_test(every_link_is_probed_on_greeting),
        cmocka_unit_test(c24_no_message_is_lost_doubled_or_out_of_order_whatever_links_fail),
        cmocka_unit_test(only_frames_that_have_not_arrived_are_sent_again),
        cmocka_unit_test(c24_a_link_that_fails_in_one_direction_is_mapped_out_and_replaced),
        cmocka_unit_test(c24_an_interface_that_fails_costs_the_links_over_it_alone),
        cmocka_unit_test(c24_an_address_that_refuses_is_called_ever_more_seldom),
        cmocka_unit_test(c24_the_only_link_is_made_again_by_another_address),
        cmocka_unit_test(
            c24_a_steadily_slow_link_is_mapped_out_and_taken_back_when_it_is_fast_again),
        cmocka_unit_test(a_link_that_is_slow_for_a_moment_stays_in_use),
        cmocka_unit_test(links_that_are_all_slow_stay_in_use),
        cmocka_unit_test(c24_a_link_that_is_slow_under_load_alone_does_not_flap),
        cmocka_unit_test(c24_a_greeting_that_comes_late_costs_nothing),
        cmocka_unit_test(a_greeting_or_a_probe_with_a_number_closes_its_link),
        cmocka_unit_test(links_that_fail_are_counted),
        cmocka_unit_test(each_side_shows_its_links_to_the_other_and_counts_the_lost_one),
        cmocka_unit_test(the_addresses_of_links_are_shown_with_their_states),
        cmocka_unit_test(the_first_link_of_a_session_is_probed_on_greeting_by_both_sides),
        cmocka_unit_test(a_parent_without_any_link_is_shown_until_the_grace_ends),
        cmocka_unit_test(a_member_without_any_link_is_lost_after_the_grace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
