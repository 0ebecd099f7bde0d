/* SPDX-License-Identifier: BSD-3-Clause */
/* A head without records, and a member that lies about jobs, or sends too much about them. */
#include "dvm/protocol/core/test/adoption.h"

#include <stdlib.h>

/* --- bounds */

/* The head takes the message as one of this member, and then goes on. */
static struct head *head_of(struct sim *s)
{
    struct head *h = (struct head *)core_inspect_head(sim_core(s, 0));

    assert_true(job_adoption_waits(head_jobs(h)));
    return h;
}

/* Small messages, so that most of the memory is what keeps them. */
static void send_many(struct sim *s, uint32_t from)
{
    struct msg m = {.type = MSG_SIGNAL, .signal = {.nspace = (char *)"x.1", .signum = 15}};
    struct head *h = head_of(s);

    for (unsigned n = 0; n < 1000000; n++)
        head_msg(h, from, &m);
}

static void assert_lost_alone(struct sim *s, uint32_t vpid, size_t job, int code)
{
    const struct members *m = core_inspect_members(sim_core(s, 0));

    sim_for(s, 100);
    assert_false(members_live(m, vpid));
    dvm_wait_job(s, job, code);
    dvm_wait_wired(s, MEMBERS - 2, 60000);
    sim_destroy(s);
}

/* On vpids 5 and 6, with its client at vpid 5. */
static size_t submit_beside_flooder(struct sim *s)
{
    struct sim_want x = {.ranks = 4, .run_ms = 60000, .code = 7, .nhosts = 2, .hosts = {5, 6}};
    size_t job = sim_submit_job(s, 5, &x);

    sim_for(s, 500);
    return job;
}

static void a_member_that_sends_too_much_is_lost_alone(void **state)
{
    struct sim *s = boot();
    size_t job = submit_beside_flooder(s);

    replace_all(s);
    send_many(s, 4);
    assert_lost_alone(s, 4, job, 7);
}

static bool still_waits(struct sim *s)
{
    return job_adoption_waits(head_jobs(core_inspect_head(sim_core(s, 0))));
}

static void assert_all_live(struct sim *s)
{
    for (uint32_t v = FIRST; v <= MEMBERS; v++)
        assert_true(members_live(core_inspect_members(sim_core(s, 0)), v));
}

/* They are the head's own: it decides at once, and no member is lost for it. */
static void the_messages_of_clients_at_the_head_are_bounded(void **state)
{
    struct sim *s = boot_shape(MEMBERS, 8);
    size_t job = submit_beside_flooder(s), own;

    replace_all(s);
    sim_for(s, 1000); /* all of the job's daemons have reported it */
    send_many(s, 0);
    own = sim_submit_job(
        s, 0, &(struct sim_want){.ranks = 1, .run_ms = 10, .code = 3, .nhosts = 1, .hosts = {3}});
    sim_for(s, 100);
    assert_false(still_waits(s));
    dvm_wait_job(s, own, 3);
    assert_all_live(s);
    dvm_wait_job(s, job, 7);
    sim_destroy(s);
}

/* A job of a million ranks: the reports of its daemons have 68 MB together, and none is lost. */
static void what_several_daemons_report_together_ends_none_of_them(void **state)
{
    enum { RANKS = 1000000, DAEMONS = 3 };
    struct sim *s = boot();
    size_t job = submit_beside_keepers(s, 6, 60000, 7);
    FREE_AUTO char **cpus = xcalloc(RANKS, sizeof(*cpus));
    FREE_AUTO uint32_t *nodes = xcalloc(RANKS, sizeof(*nodes));
    FREE_AUTO uint32_t *apps = xcalloc(RANKS, sizeof(*apps));
    struct msg m = {.type = MSG_LOCAL_JOB};
    struct job_launch *l = &m.local_job.map;

    sim_for(s, 500);
    for (uint32_t i = 0; i < RANKS; i++) {
        cpus[i] = (char *)"1234";
        nodes[i] = i % DAEMONS;
    }
    *l = *launch_at(s, 4, job);
    l->nranks = RANKS;
    l->ncpus = (RANKS + DAEMONS - 1) / DAEMONS;
    l->rank_node = nodes;
    l->rank_app = apps;
    l->cpus = cpus;
    replace_all(s);
    for (uint32_t v = 4; v <= MEMBERS; v++)
        head_msg(head_of(s), v, &m);
    sim_for(s, 100);
    assert_false(still_waits(s));
    sim_for(s, 1000);
    assert_all_live(s);
    sim_destroy(s);
}

/* Vpid 4 reports `n` jobs of its own. */
static void report_many(struct sim *s, struct job_launch *l, unsigned n)
{
    struct msg m = {.type = MSG_LOCAL_JOB, .local_job = {*l}};
    struct head *h = head_of(s);

    for (unsigned i = 0; i < n; i++) {
        m.local_job.map.universe++;
        head_msg(h, 4, &m);
    }
}

/* 64 jobs whose lists of CPUs have 128 MiB. */
static void a_member_that_reports_too_many_cpus_is_lost_alone(void **state)
{
    enum { RANKS = 256, CPUS = 8192 };
    struct sim *s = boot();
    size_t job = submit_beside_flooder(s), own;
    FREE_AUTO char *cpus = xcalloc(CPUS, 1);
    FREE_AUTO uint32_t *zeros = xcalloc(RANKS, sizeof(*zeros));
    FREE_AUTO char **lists = xcalloc(RANKS, sizeof(*lists));
    struct job_launch l;

    own = sim_submit_job(
        s, 6, &(struct sim_want){.ranks = 1, .run_ms = 60000, .nhosts = 1, .hosts = {4}});
    sim_for(s, 500);
    memset(cpus, '1', CPUS - 1);
    for (unsigned i = 0; i < RANKS; i++)
        lists[i] = cpus;
    l = *launch_at(s, 4, own);
    l.nranks = l.ncpus = RANKS;
    l.rank_node = l.rank_app = zeros;
    l.cpus = lists;
    replace_all(s);
    report_many(s, &l, 64);
    assert_lost_alone(s, 4, job, 7);
}

/* Three jobs with a million empty arguments each: 12 MiB as messages, 120 MiB on the heap. */
static void a_member_that_reports_too_many_arguments_is_lost_alone(void **state)
{
    struct sim *s = boot();
    size_t job = submit_beside_flooder(s), own;
    FREE_AUTO char **argv = xcalloc(JOB_ARGS_MAX + 1, sizeof(*argv));
    FREE_AUTO struct job_app *apps = xcalloc(JOB_APPS_MAX, sizeof(*apps));
    struct job_launch l;

    own = sim_submit_job(
        s, 6, &(struct sim_want){.ranks = 1, .run_ms = 60000, .nhosts = 1, .hosts = {4}});
    sim_for(s, 500);
    for (unsigned i = 0; i < JOB_ARGS_MAX; i++)
        argv[i] = (char *)(i ? "" : "true");
    l = *launch_at(s, 4, own);
    for (unsigned i = 0; i < JOB_APPS_MAX; i++) {
        apps[i] = l.spec.apps[0];
        apps[i].argv = argv;
    }
    l.spec.apps = apps;
    l.spec.napps = JOB_APPS_MAX;
    replace_all(s);
    report_many(s, &l, 3);
    assert_lost_alone(s, 4, job, 7);
}

/* --- forged reports */

/* Vpid 4 says that the job is its own alone. */
static void a_job_that_is_reported_in_two_ways_ends(void **state)
{
    struct sim *s = boot();
    struct sim_want x = {.ranks = 2, .run_ms = 60000, .nhosts = 1, .hosts = {3}};
    struct sim_want y = {.ranks = 2, .run_ms = 60000, .nhosts = 1, .hosts = {4}};
    size_t job = sim_submit_job(s, 5, &x), other = sim_submit_job(s, 6, &y);

    sim_for(s, 500);
    forge_name(launch_at(s, 4, other), launch_at(s, 3, job), 0);
    replace_all(s);
    dvm_wait_job(s, job, EXIT_CODE_LOST);
    assert_non_null(strstr(sim_job(s, job)->text, "in two ways"));
    dvm_wait_job(s, other, EXIT_CODE_LOST);
    sim_destroy(s);
}

/* Vpid 4 says that the client's job is its own alone, in two ways. */
static void a_job_that_is_reported_in_three_ways_ends(void **state)
{
    struct sim *s = boot();
    struct sim_want x = {.ranks = 2, .run_ms = 60000, .nhosts = 1, .hosts = {3}};
    struct sim_want y = {.ranks = 1, .run_ms = 60000, .nhosts = 1, .hosts = {4}};
    size_t job = sim_submit_job(s, 5, &x);
    size_t others[] = {sim_submit_job(s, 6, &y), sim_submit_job(s, 6, &y)};

    sim_for(s, 500);
    for (unsigned i = 0; i < 2; i++)
        forge_name(launch_at(s, 4, others[i]), launch_at(s, 3, job), i);
    replace_all(s);
    dvm_wait_job(s, job, EXIT_CODE_LOST);
    assert_non_null(strstr(sim_job(s, job)->text, "in two ways"));
    sim_for(s, 5000);
    assert_int_equal(sim_ranks(s, 3), 0);
    sim_destroy(s);
}

/* Vpid 4 alone says that the job is its own, and of daemons that were lost. */
static void a_job_with_more_daemons_than_its_forged_report_goes_on(void **state)
{
    struct job_launch *forged;
    struct sim *s = boot();
    struct sim_want x = {.ranks = 4, .run_ms = 60000, .code = 7, .nhosts = 2, .hosts = {3, 6}};
    struct sim_want y = {.ranks = 2, .run_ms = 60000, .nhosts = 1, .hosts = {4}};
    size_t job = sim_submit_job(s, 5, &x), other = sim_submit_job(s, 6, &y);

    sim_for(s, 500);
    forged = launch_at(s, 4, other);
    forge_name(forged, launch_at(s, 3, job), 0);
    forged->spec.flags |= JOB_RECOVERABLE;
    add_node(forged, 1, 1);
    add_node(forged, 2, 1);
    replace_all(s);
    dvm_wait_job(s, job, 7);
    dvm_wait_job(s, other, EXIT_CODE_LOST);
    sim_destroy(s);
}

struct lines { /* of the head's log about a job */
    const char *name;
    unsigned goes_on, ends;
};

static void note_line(void *arg, uint32_t vpid, const struct out_act *act)
{
    struct lines *x = arg;
    const char *at = act->kind == OUT_LOG && vpid == 0 ? strstr(act->log.text, x->name) : NULL;

    x->goes_on += at && strstr(at, " goes on");
    x->ends += at && strstr(at, " ends: all its records are lost");
}

/* It comes first, and names a daemon that does not report it. */
static void an_incomplete_forged_report_does_not_end_the_job(void **state)
{
    struct sim *s = boot();
    struct sim_want x = {.ranks = 2, .run_ms = 60000, .code = 7, .nhosts = 1, .hosts = {3}};
    struct sim_want y = {.ranks = 2, .run_ms = 60000, .nhosts = 1, .hosts = {4}};
    size_t job = sim_submit_job(s, 5, &x), other = sim_submit_job(s, 6, &y);
    struct lines lines = {0};
    struct msg m = {.type = MSG_LOCAL_JOB};
    struct job_launch *forged;

    sim_for(s, 500);
    forged = launch_at(s, 4, other);
    forge_name(forged, launch_at(s, 3, job), 0);
    add_node(forged, 5, core_inspect_epoch(sim_core(s, 5)).ctr);
    lines.name = sim_job(s, job)->nspace;
    replace_all(s);
    sim_watch(s, &(struct sim_hooks){.arg = &lines, .action = note_line});
    m.local_job.map = *forged;
    head_msg(head_of(s), 4, &m);
    dvm_wait_job(s, job, 7);
    assert_int_equal(lines.goes_on, 1);
    assert_int_equal(lines.ends, 0);
    sim_destroy(s);
}

/* The daemon with a job of its own, which is recoverable, reports it with this node in addition. */
static struct sim *report_node(const struct job_node *node, size_t *job)
{
    struct sim *s = boot();
    struct sim_want x = {
        .ranks = 1, .run_ms = 60000, .flags = JOB_RECOVERABLE, .nhosts = 1, .hosts = {4}};
    struct job_launch *l;

    *job = sim_submit_job(s, 4, &x);
    sim_for(s, 500);
    l = launch_at(s, 4, *job);
    add_node(l, node->vpid, node->epoch);
    free(l->nodes[1].host);
    l->nodes[1].host = xstrdup(node->host);
    replace_all(s);
    return s;
}

/* Records have no such node. Those of a head that took it would be of no use to the next one. */
static void a_map_with_a_node_that_records_cannot_have_is_not_taken(void **state)
{
    char host[255] = {0};
    struct job_node bad[] = {{VPID_MAX + 1, 1, (char *)"h"}, {2, 0, (char *)"h"}, {2, 1, host}};

    memset(host, 'h', sizeof(host) - 1);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        size_t job;
        struct sim *s = report_node(&bad[i], &job);
        uint64_t before = current_incarnation(s);

        dvm_wait_job(s, job, EXIT_CODE_LOST);
        replace_head(s);
        assert_true(current_incarnation(s) == before && has_records(s));
        sim_destroy(s);
    }
}

static void a_map_that_names_a_daemon_twice_is_not_taken(void **state)
{
    size_t job;
    struct sim *s = report_node(&(struct job_node){4, 1, (char *)"h"}, &job);

    dvm_wait_job(s, job, EXIT_CODE_LOST);
    sim_destroy(s);
}

/* Each lost daemon costs a look at each rank. */
static void a_map_of_thousands_of_lost_daemons_is_not_taken(void **state)
{
    enum { NODES = 5000 };
    struct sim *s = boot();
    struct sim_want x = {
        .ranks = 1, .run_ms = 60000, .flags = JOB_RECOVERABLE, .nhosts = 1, .hosts = {4}};
    size_t job = sim_submit_job(s, 4, &x);
    struct job_launch *l;

    sim_for(s, 500);
    l = launch_at(s, 4, job);
    for (uint32_t i = 1; i < NODES; i++)
        add_node(l, 1000 + i, 1);
    l->nranks = NODES;
    l->rank_node = xrealloc(l->rank_node, NODES * sizeof(*l->rank_node));
    l->rank_app = xrealloc(l->rank_app, NODES * sizeof(*l->rank_app));
    for (uint32_t i = 0; i < NODES; i++) {
        l->rank_node[i] = i;
        l->rank_app[i] = 0;
    }
    replace_all(s);
    dvm_wait_job(s, job, EXIT_CODE_LOST);
    assert_non_null(strstr(sim_job(s, job)->text, "too many of its daemons"));
    sim_destroy(s);
}

/* Vpid 4 reports its job as that of the next client at vpid 5. */
static void a_forged_report_does_not_end_what_a_client_submits_meanwhile(void **state)
{
    struct sim *s = boot();
    struct sim_want x = {.ranks = 1, .run_ms = 60000, .nhosts = 1, .hosts = {4}};
    size_t other = sim_submit_job(s, 6, &x), job = other + 1;
    struct job_launch *l;

    sim_for(s, 500);
    l = launch_at(s, 4, other);
    l->files_vpid = l->home_vpid = 5;
    l->files_client = l->home_client = (uint32_t)job;
    replace_all(s);
    assert_int_equal(sim_submit(s, 5, 1, 10, 3), job);
    dvm_wait_job(s, job, 3);
    dvm_wait_job(s, other, EXIT_CODE_LOST);
    sim_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_that_sends_too_much_is_lost_alone),
        cmocka_unit_test(the_messages_of_clients_at_the_head_are_bounded),
        cmocka_unit_test(what_several_daemons_report_together_ends_none_of_them),
        cmocka_unit_test(a_member_that_reports_too_many_cpus_is_lost_alone),
        cmocka_unit_test(a_member_that_reports_too_many_arguments_is_lost_alone),
        cmocka_unit_test(a_job_that_is_reported_in_two_ways_ends),
        cmocka_unit_test(a_job_that_is_reported_in_three_ways_ends),
        cmocka_unit_test(a_job_with_more_daemons_than_its_forged_report_goes_on),
        cmocka_unit_test(an_incomplete_forged_report_does_not_end_the_job),
        cmocka_unit_test(a_map_with_a_node_that_records_cannot_have_is_not_taken),
        cmocka_unit_test(a_map_that_names_a_daemon_twice_is_not_taken),
        cmocka_unit_test(a_map_of_thousands_of_lost_daemons_is_not_taken),
        cmocka_unit_test(a_forged_report_does_not_end_what_a_client_submits_meanwhile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
