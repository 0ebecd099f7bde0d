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
    bool lost_lifeline; /* of vpid 1 */
};

static void on_action(void *arg, uint32_t vpid, const struct out_act *act)
{
    struct world *w = arg;
    uint64_t number;

    if (act->kind == OUT_LOG && vpid == 1 && strstr(act->log.text, "lifeline to vpid 0:"))
        w->lost_lifeline = true;
    if (act->kind != OUT_APP || act->app.kind != KIND)
        return;
    assert_int_equal(act->app.data.len, sizeof(number));
    memcpy(&number, act->app.data.data, sizeof(number));
    assert_int_equal(number, w->got + 1);
    w->got = number;
}

static void boot_dvm(struct world *w, uint32_t links)
{
    struct sim_opts o = {
        .nodes = 2, .radix = 2, .slots = 1, .size = 1, .seed = 42, .delay_ms = 3, .links = links};
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

static void send_some(struct world *w, size_t n)
{
    while (n--) {
        w->sent++;
        core_time(sim_core(w->sim, 1), sim_now(w->sim), sim_now(w->sim));
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

static void a_member_opens_the_links_that_it_is_configured_for(void **state)
{
    struct world w;

    for (uint32_t links = 1; links <= PEER_LINKS_MAX; links++) {
        boot_dvm(&w, links);
        assert_int_equal(lifeline_of(&w).links, links);
        sim_destroy(w.sim);
    }
}

static void the_reset_of_one_of_two_links_is_not_noticed_above_and_the_link_comes_back(void **state)
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

static void a_reset_of_the_only_link_continues_the_session_at_once(void **state)
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

static void a_link_that_fails_in_one_direction_is_mapped_out_and_replaced(void **state)
{
    struct world w;

    for (unsigned i = 0; i < 8; i++) {
        boot_dvm(&w, 2);
        for (unsigned skip = 0; skip < i; skip++)
            (void)sim_random(w.sim, 2); /* another link, or another direction */
        fail_one(&w, SIM_LINK_MUTE);
        send_some(&w, 20);
        sim_for(w.sim, 2 * PEER_SLOW_MS);
        assert_int_equal(w.got, 20);
        assert_false(w.lost_lifeline);
        sim_for(w.sim, 30000);
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
    core_time(head, sim_now(w->sim), sim_now(w->sim));
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

static void a_parent_without_any_link_is_shown_until_the_grace_ends(void **state)
{
    struct api_link_peer up;
    struct world w;

    boot_dvm(&w, 1);
    assert_int_equal(only_peer(&w, 1).round_trip_ms, -1); /* there was no reason to probe it */
    sim_for(w.sim, 30000);
    assert_true(only_peer(&w, 1).round_trip_ms >= 2);
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
            the_reset_of_one_of_two_links_is_not_noticed_above_and_the_link_comes_back),
        cmocka_unit_test(a_reset_of_the_only_link_continues_the_session_at_once),
        cmocka_unit_test(only_frames_that_have_not_arrived_are_sent_again),
        cmocka_unit_test(a_link_that_fails_in_one_direction_is_mapped_out_and_replaced),
        cmocka_unit_test(a_greeting_or_a_probe_with_a_number_closes_its_link),
        cmocka_unit_test(links_that_fail_are_counted),
        cmocka_unit_test(each_side_shows_its_links_to_the_other_and_counts_the_lost_one),
        cmocka_unit_test(a_parent_without_any_link_is_shown_until_the_grace_ends),
        cmocka_unit_test(a_member_without_any_link_is_lost_after_the_grace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
