/* SPDX-License-Identifier: BSD-3-Clause */
/* How soon the children of a head whose process has ended call the next one, and what that costs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/core/core_private.h"
#include "dvm/protocol/core/test/dvm.h"

#include <string.h>

#define MEMBERS 6        /* 1 and 2 are the head's children */
#define GREETINGS_MS 100 /* from a call until all members know the head */

static unsigned calls[MEMBERS + 1];

static void on_action(void *arg, uint32_t vpid, const struct out_act *act)
{
    if (act->kind == OUT_CONNECT && vpid <= MEMBERS)
        calls[vpid]++;
}

/* A DVM whose head has ended, that long ago. */
static struct sim *boot_without_head(uint64_t away_ms)
{
    static const struct sim_hooks hooks = {.action = on_action};
    struct sim *s = dvm_boot(&(struct dvm_shape){
        .members = MEMBERS, .started = MEMBERS, .slots = 1, .hooks = &hooks, .disk = true});

    dvm_wait_wired(s, MEMBERS, 4000);
    sim_for(s, 100);
    memset(calls, 0, sizeof(calls));
    sim_crash(s, 0);
    sim_for(s, away_ms);
    return s;
}

static void members_call_the_next_head_soon_however_long_it_is_away(void **state)
{
    for (uint64_t away_ms = 50; away_ms < 5000; away_ms += 73) {
        struct sim *s = boot_without_head(away_ms);
        uint32_t all = MEMBERS;

        sim_start(s, 0);
        if (!sim_until(s, dvm_head_known, &all, CORE_RETRY_HEAD_MS + GREETINGS_MS))
            fail_msg("the head was away for %d ms, and is not known yet", (int)away_ms);
        sim_destroy(s);
    }
}

static void only_the_children_of_the_head_call_it_and_not_more_often_than_allowed(void **state)
{
    enum { AWAY_MS = 5000 };
    struct sim *s = boot_without_head(AWAY_MS);

    for (uint32_t v = 1; v <= 2; v++)
        assert_in_range(calls[v], 2, AWAY_MS / CORE_RETRY_HEAD_MS + 3);
    for (uint32_t v = 3; v <= MEMBERS; v++)
        assert_int_equal(calls[v], 0);
    sim_destroy(s);
}

static uint64_t sessions[64];
static size_t nsessions;

static void on_welcome(void *arg, uint32_t vpid, uint64_t conn, const uint8_t *data, size_t len)
{
    struct cur c = cur_of(data, len);
    struct frame f;
    struct msg m;

    if (frame_decode(&c, &f, NULL) < 0 || f.type != MSG_WELCOME || f.src != *(uint32_t *)arg ||
        msg_decode(&c, f.type, &m, NULL) < 0)
        return;
    assert_true(nsessions < 64);
    sessions[nsessions++] = m.welcome.session;
    msg_free(&m);
}

/* A child that still has a session of the former process does not continue one of the new process:
 * the numbers of their frames differ. */
static void c21_no_two_processes_of_a_daemon_have_sessions_of_the_same_number(void **state)
{
    for (uint32_t parent = 0; parent <= 1; parent++) {
        const struct sim_hooks hooks = {.frame = on_welcome, .arg = &parent};
        struct sim *s = dvm_boot(&(struct dvm_shape){
            .members = MEMBERS, .started = MEMBERS, .slots = 1, .hooks = &hooks, .disk = true});
        size_t former;

        nsessions = 0;
        dvm_wait_wired(s, MEMBERS, 20000);
        former = nsessions;
        sim_crash(s, parent);
        sim_for(s, DVM_AWAY_MS);
        sim_start(s, parent);
        sim_for(s, 20000);
        assert_true(former > 0 && nsessions > former);
        for (size_t i = 0; i < former; i++) {
            for (size_t k = former; k < nsessions; k++)
                assert_int_not_equal(sessions[i], sessions[k]);
        }
        sim_destroy(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_call_the_next_head_soon_however_long_it_is_away),
        cmocka_unit_test(c21_no_two_processes_of_a_daemon_have_sessions_of_the_same_number),
        cmocka_unit_test(only_the_children_of_the_head_call_it_and_not_more_often_than_allowed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
