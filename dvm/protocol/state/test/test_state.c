/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of jobs and processes: an illegal pair changes nothing, an ended state stays, and
 * every path leads to an end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/state/state.h"

#include <string.h>

/* The end of a step from each state with each event; 0: illegal. */
static int step(const struct fsm *m, int state, int event)
{
    int s = state;

    return fsm_step(m, &s, event, NULL, NULL) < 0 ? 0 : s;
}

static void the_tables_are_sound(void **state)
{
    struct err err = {0};

    if (fsm_check(&job_fsm, &err) < 0 || fsm_check(&proc_fsm, &err) < 0 ||
        fsm_check(&campaign_fsm, &err) < 0 || fsm_check(&ranks_fsm, &err) < 0)
        fail_msg("%s", err.msg);
}

static void assert_illegal_pairs_are_named(const struct fsm *m)
{
    size_t illegal = 0;

    for (size_t i = 0; i < m->nstates; i++) {
        for (size_t j = 0; j < m->nevents; j++) {
            struct err err = {0};
            int s = m->states[i].value;

            if (fsm_step(m, &s, m->events[j].value, NULL, &err) == 0)
                continue;
            illegal++;
            assert_int_equal(s, m->states[i].value);
            assert_non_null(strstr(err.msg, m->states[i].name));
            assert_non_null(strstr(err.msg, m->events[j].name));
        }
    }
    assert_true(illegal > m->nstates); /* most pairs are */
}

static void every_illegal_pair_changes_nothing_and_is_named(void **state)
{
    assert_illegal_pairs_are_named(&job_fsm);
    assert_illegal_pairs_are_named(&proc_fsm);
    assert_illegal_pairs_are_named(&ranks_fsm);
}

/* A late report of a rank, a second signal, a deadline that fires afterwards. */
static void a_job_that_has_ended_changes_no_more(void **state)
{
    for (size_t i = 0; i < job_fsm.nstates; i++) {
        int from = job_fsm.states[i].value;

        if (!job_state_over(from))
            continue;
        for (size_t j = 0; j < job_fsm.nevents; j++) {
            int event = job_fsm.events[j].value;
            int to = step(&job_fsm, from, event);

            if (event == JOB_EV_DONE && from != JOB_NOTIFIED)
                assert_int_equal(to, from == JOB_NOTIFY_COMPLETED ? JOB_NOTIFIED
                                                                  : JOB_NOTIFY_COMPLETED);
            else if (to)
                fail_msg("%s leaves %s by '%s'", fsm_state_name(&job_fsm, to),
                         job_fsm.states[i].name, job_fsm.events[j].name);
        }
    }
}

static void a_running_job_can_fail_in_every_state(void **state)
{
    static const struct {
        int event, to;
    } ends[] = {{JOB_EV_FAIL_START, JOB_FAILED_TO_START},
                {JOB_EV_ABORT, JOB_ABORTED},
                {JOB_EV_KILL, JOB_KILLED_BY_CMD},
                {JOB_EV_NEVER, JOB_NEVER_LAUNCHED},
                {JOB_EV_NO_MAP, JOB_MAP_FAILED}};

    for (size_t i = 0; i < job_fsm.nstates; i++) {
        for (size_t e = 0; e < 5 && !job_state_over(job_fsm.states[i].value); e++)
            assert_int_equal(step(&job_fsm, job_fsm.states[i].value, ends[e].event), ends[e].to);
    }
}

static void a_process_that_has_ended_takes_no_event(void **state)
{
    static const int over[] = {PROC_TERMINATED, PROC_FAILED_TO_START, PROC_LOST};

    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < proc_fsm.nevents; j++)
            assert_int_equal(step(&proc_fsm, over[i], proc_fsm.events[j].value), 0);
    }
}

static void a_process_is_terminated_when_reaped_and_its_output_has_ended(void **state)
{
    static const int starts[] = {PROC_RUNNING, PROC_REGISTERED};

    for (size_t i = 0; i < 2; i++) {
        int iof = step(&proc_fsm, starts[i], PROC_EV_IOF);
        int reaped = step(&proc_fsm, starts[i], PROC_EV_WAITPID);

        assert_int_equal(iof, PROC_IOF_COMPLETE);
        assert_int_equal(reaped, PROC_WAITPID_FIRED);
        assert_int_equal(step(&proc_fsm, iof, PROC_EV_WAITPID), PROC_TERMINATED);
        assert_int_equal(step(&proc_fsm, reaped, PROC_EV_IOF), PROC_TERMINATED);
        assert_int_equal(step(&proc_fsm, iof, PROC_EV_IOF), 0);
        assert_int_equal(step(&proc_fsm, reaped, PROC_EV_WAITPID), 0);
    }
}

/* A state from which no event leads to the end would keep a job for ever. */
static void assert_all_are_reached_and_end(const struct fsm *m, int first, const int *ends,
                                           size_t n)
{
    for (size_t i = 0; i < m->nstates; i++) {
        bool reached[128] = {false};
        bool ended = false;
        bool from_first = false;

        for (int pass = 0; pass < 2; pass++) {
            memset(reached, 0, sizeof(reached));
            reached[pass ? m->states[i].value : first] = true;
            for (size_t round = 0; round < m->nstates; round++) {
                for (size_t s = 0; s < m->nstates; s++) {
                    for (size_t e = 0; e < m->nevents && reached[m->states[s].value]; e++)
                        reached[step(m, m->states[s].value, m->events[e].value)] = true;
                }
            }
            if (pass == 0)
                from_first = reached[m->states[i].value];
        }
        for (size_t e = 0; e < n; e++)
            ended |= reached[ends[e]];
        if (!from_first || !ended)
            fail_msg("%s %s: reached %d, ends %d", m->name, m->states[i].name, from_first, ended);
    }
}

static void every_state_is_reached_and_leads_to_an_end(void **state)
{
    assert_all_are_reached_and_end(&job_fsm, JOB_INIT, (int[]){JOB_NOTIFIED}, 1);
    assert_all_are_reached_and_end(&proc_fsm, PROC_INIT,
                                   (int[]){PROC_TERMINATED, PROC_FAILED_TO_START, PROC_LOST}, 3);
    assert_all_are_reached_and_end(&ranks_fsm, RANKS_REGISTERING, (int[]){RANKS_GONE}, 1);
}

static void ranks_can_be_ended_in_every_state_and_none_starts_afterwards(void **state)
{
    for (size_t i = 0; i < ranks_fsm.nstates; i++)
        assert_true(step(&ranks_fsm, ranks_fsm.states[i].value, RANKS_EV_END) >= (int)RANKS_ENDING);
    for (size_t i = 0; i < ranks_fsm.nrows; i++) {
        const struct fsm_row *row = &ranks_fsm.rows[i];

        if (row->state < (int)RANKS_ENDING)
            continue;
        assert_true(row->next >= row->state);
        assert_int_not_equal(row->action, RANKS_CREATE);
        assert_int_not_equal(row->action, RANKS_START);
        assert_int_not_equal(row->action, RANKS_TELL_READY);
    }
}

/* Both boundaries, and the way back to the map if a daemon has left meanwhile. */
static void a_job_is_held_at_both_boundaries_and_only_there(void **state)
{
    for (size_t i = 0; i < job_fsm.nstates; i++) {
        int s = job_fsm.states[i].value;

        assert_int_equal(step(&job_fsm, s, JOB_EV_HOLD),
                         s == JOB_VM_READY || s == JOB_LAUNCH_APPS ? JOB_WAITING_FOR_DAEMONS : 0);
    }
    assert_int_equal(step(&job_fsm, JOB_WAITING_FOR_DAEMONS, JOB_EV_RELEASE), JOB_VM_READY);
    assert_int_equal(step(&job_fsm, JOB_WAITING_FOR_DAEMONS, JOB_EV_RELAUNCH), JOB_LAUNCH_APPS);
    assert_int_equal(step(&job_fsm, JOB_WAITING_FOR_DAEMONS, JOB_EV_REMAP), JOB_VM_READY);
    assert_int_equal(step(&job_fsm, JOB_SEND_LAUNCH_MSG, JOB_EV_REMAP), 0);
}

static void names_and_numbers_are_those_of_prrte(void **state)
{
    static const struct {
        int number;
        const char *name;
    } jobs[] = {{1, "INIT"},
                {4, "ALLOCATION_COMPLETE"},
                {5, "MAP"},
                {7, "SYSTEM_PREP"},
                {11, "VM_READY"},
                {12, "LAUNCH_APPS"},
                {14, "RUNNING"},
                {17, "WAITING_FOR_DAEMONS"},
                {20, "STARTED"},
                {31, "TERMINATED"},
                {35, "NOTIFIED"},
                {51, "KILLED_BY_CMD"},
                {52, "ABORTED"},
                {53, "FAILED_TO_START"},
                {60, "NEVER_LAUNCHED"},
                {69, "MAP_FAILED"}};

    for (size_t i = 0; i < sizeof(jobs) / sizeof(*jobs); i++)
        assert_string_equal(fsm_state_name(&job_fsm, jobs[i].number), jobs[i].name);
    assert_string_equal(fsm_state_name(&job_fsm, 0), "?");
    assert_string_equal(fsm_state_name(&proc_fsm, PROC_TERMINATED), "TERMINATED");
    assert_string_equal(fsm_event_name(&proc_fsm, PROC_EV_WAITPID), "reaped");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tables_are_sound),
        cmocka_unit_test(every_illegal_pair_changes_nothing_and_is_named),
        cmocka_unit_test(a_job_that_has_ended_changes_no_more),
        cmocka_unit_test(a_running_job_can_fail_in_every_state),
        cmocka_unit_test(a_process_that_has_ended_takes_no_event),
        cmocka_unit_test(a_process_is_terminated_when_reaped_and_its_output_has_ended),
        cmocka_unit_test(every_state_is_reached_and_leads_to_an_end),
        cmocka_unit_test(ranks_can_be_ended_in_every_state_and_none_starts_afterwards),
        cmocka_unit_test(a_job_is_held_at_both_boundaries_and_only_there),
        cmocka_unit_test(names_and_numbers_are_those_of_prrte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
