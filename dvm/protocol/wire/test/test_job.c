/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the job codecs: round trips, truncation at every byte, wrong counts, bad values. */
#include "dvm/protocol/wire/job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BUF_MAX (1u << 20)

/* A bigger allocation ends the test: the inputs here are far smaller. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "max_allocation_size_mb=4";
}

static char *strs_argv[] = {"prog", "-x", "", NULL};
static char *strs_env[] = {"PATH=/bin", NULL};
static char *strs_argv2[] = {"other", NULL};
static char *strs_none[] = {NULL};
static char *strs_files[] = {"in/data", "prog", "x"};

static struct job_app *sample_apps(void)
{
    static struct job_app apps[2];

    apps[0] = (struct job_app){
        .argv = strs_argv, .env = strs_env, .cwd = "/tmp", .nprocs = 3, .program = 2};
    apps[1] = (struct job_app){.argv = strs_argv2, .env = strs_none, .cwd = "", .nprocs = 1};
    return apps;
}

static struct job_launch sample(void)
{
    static uint32_t hosts[] = {1, 7};
    static struct job_node nodes[2] = {{.vpid = 1, .epoch = 1ull << 40, .host = "x-1"},
                                       {.vpid = 7, .epoch = 9, .host = "x-7"}};
    static uint32_t rank_node[] = {0, 1, 0, 1};
    static uint32_t rank_app[] = {0, 0, 0, 1};
    static char *cpus[] = {"0-3,8", ""};

    return (struct job_launch){
        .nspace = "5.12",
        .version = 3,
        .home_vpid = 1,
        .home_client = 44,
        .files_vpid = 7,
        .files_client = 45,
        .spec = {.flags = JOB_NO_WAIT | JOB_DETACH,
                 .map_by = JOB_MAP_BY_PPR,
                 .level = JOB_LEVEL_NUMA,
                 .ppr = 2,
                 .pe = 3,
                 .rank_by = JOB_RANK_BY_SPAN,
                 .bind_to = JOB_BIND_PACKAGE,
                 .stdin_rank = JOB_RANK_NONE,
                 .timeout_ms = 1ull << 33,
                 .nhosts = 2,
                 .hosts = hosts,
                 .parent_nspace = "5.1",
                 .parent_rank = 6,
                 .nfiles = 2,
                 .files = strs_files,
                 .napps = 2,
                 .apps = sample_apps()},
        .universe = 8,
        .nnodes = 2,
        .nodes = nodes,
        .nranks = 4,
        .rank_node = rank_node,
        .rank_app = rank_app,
        .ncpus = 2,
        .cpus = cpus,
    };
}

static struct buf encoded(const struct job_launch *l)
{
    struct buf b;

    buf_init(&b, BUF_MAX);
    job_launch_encode(&b, l);
    assert_false(b.failed);
    return b;
}

/* Decodes and expects a refusal whose text contains `why`. */
static void assert_refused(const struct job_launch *l, const char *why)
{
    BUF_AUTO struct buf b = encoded(l);
    struct cur c = cur_of(b.data, b.len);
    struct job_launch out;
    struct err err = {0};

    assert_int_equal(job_launch_decode(&c, &out, &err), -1);
    assert_true(c.bad);
    if (!strstr(err.msg, why))
        fail_msg("'%s' does not say '%s'", err.msg, why);
}

static void a_launch_survives_the_round_trip(void **state)
{
    struct job_launch l = sample();
    BUF_AUTO struct buf b = encoded(&l);
    struct cur c = cur_of(b.data, b.len);
    struct job_launch out;
    struct err err = {0};

    assert_int_equal(job_launch_decode(&c, &out, &err), 0);
    assert_true(cur_done(&c));
    assert_string_equal(out.nspace, "5.12");
    assert_int_equal(out.home_client, 44);
    assert_int_equal(out.files_vpid, 7);
    assert_int_equal(out.files_client, 45);
    assert_int_equal(out.spec.nfiles, 2);
    assert_string_equal(out.spec.files[0], "in/data");
    assert_int_equal(out.spec.apps[0].program, 2);
    assert_int_equal(out.spec.timeout_ms, 1ull << 33);
    assert_int_equal(out.spec.hosts[1], 7);
    assert_string_equal(out.spec.parent_nspace, "5.1");
    assert_string_equal(out.spec.apps[0].argv[1], "-x");
    assert_string_equal(out.spec.apps[0].argv[2], "");
    assert_null(out.spec.apps[0].argv[3]);
    assert_string_equal(out.spec.apps[0].env[0], "PATH=/bin");
    assert_null(out.spec.apps[1].env[0]);
    assert_string_equal(out.nodes[1].host, "x-7");
    assert_int_equal(out.nodes[0].epoch, 1ull << 40);
    assert_memory_equal(out.rank_node, l.rank_node, 4 * sizeof(uint32_t));
    assert_memory_equal(out.rank_app, l.rank_app, 4 * sizeof(uint32_t));
    assert_int_equal(out.spec.level, JOB_LEVEL_NUMA);
    assert_int_equal(out.spec.pe, 3);
    assert_int_equal(out.spec.rank_by, JOB_RANK_BY_SPAN);
    assert_int_equal(out.spec.bind_to, JOB_BIND_PACKAGE);
    assert_int_equal(out.ncpus, 2);
    assert_string_equal(out.cpus[0], "0-3,8");
    assert_string_equal(out.cpus[1], "");
    job_launch_free(&out);
}

static void encoding_a_decoded_message_gives_the_same_bytes(void **state)
{
    struct job_launch l = sample();
    BUF_AUTO struct buf b = encoded(&l);
    struct cur c = cur_of(b.data, b.len);
    struct job_launch out;
    struct err err = {0};

    assert_int_equal(job_launch_decode(&c, &out, &err), 0);
    BUF_AUTO struct buf again = encoded(&out);
    assert_int_equal(again.len, b.len);
    assert_memory_equal(again.data, b.data, b.len);
    job_launch_free(&out);
}

static void a_copy_of_a_spec_is_independent_and_equal(void **state)
{
    struct job_launch l = sample();
    struct job_spec copy;
    BUF_AUTO struct buf a = {.max = BUF_MAX};
    BUF_AUTO struct buf b = {.max = BUF_MAX};

    job_spec_copy(&copy, &l.spec);
    assert_ptr_not_equal(copy.apps[0].argv[0], l.spec.apps[0].argv[0]);
    job_spec_encode(&a, &l.spec);
    job_spec_encode(&b, &copy);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    job_spec_free(&copy);
    job_spec_free(&copy);
}

static void a_launch_cut_at_any_byte_is_refused(void **state)
{
    struct job_launch l = sample();
    BUF_AUTO struct buf b = encoded(&l);

    for (size_t n = 0; n < b.len; n++) {
        /* A copy of exact size, so that the sanitizer sees a read past the end. */
        FREE_AUTO uint8_t *cut = xmalloc(n);
        struct cur c = cur_of(memcpy(cut, b.data, n), n);
        struct job_launch out;
        struct err err = {0};

        assert_int_equal(job_launch_decode(&c, &out, &err), -1);
        assert_true(err.msg[0]);
        assert_null(out.nspace);
        assert_null(out.spec.apps);
    }
}

static void
any_field_replaced_by_a_huge_number_allocates_no_more_than_the_input_allows(void **state)
{
    struct job_launch l = sample();
    BUF_AUTO struct buf b = encoded(&l);

    for (size_t off = 0; off + 4 <= b.len; off++) {
        FREE_AUTO uint8_t *lie = memcpy(xmalloc(b.len), b.data, b.len);
        struct cur c = cur_of(lie, b.len);
        struct job_launch out;
        struct err err = {0};

        memset(lie + off, 0xff, 4);
        if (job_launch_decode(&c, &out, &err) == 0)
            job_launch_free(&out);
    }
}

static void more_applications_than_the_limit_are_refused(void **state)
{
    struct job_launch l = sample();
    struct job_app *apps = xcalloc(JOB_APPS_MAX + 1, sizeof(*apps));

    for (size_t i = 0; i <= JOB_APPS_MAX; i++)
        apps[i] = sample_apps()[1];
    l.spec.apps = apps;
    l.spec.napps = JOB_APPS_MAX + 1;
    assert_refused(&l, "over its limit");
    free(apps);
}

static void a_job_without_an_application_is_refused(void **state)
{
    struct job_launch l = sample();

    l.spec.napps = 0;
    assert_refused(&l, "no application");
}

static void an_application_without_a_program_is_refused(void **state)
{
    struct job_launch l = sample();

    l.spec.apps[1].argv = strs_none;
    assert_refused(&l, "application 1 names no program");
}

static void a_relative_working_directory_is_refused(void **state)
{
    struct job_launch l = sample();

    l.spec.apps[0].cwd = "tmp";
    assert_refused(&l, "not absolute");
}

static void an_unknown_flag_is_refused(void **state)
{
    struct job_launch l = sample();

    l.spec.flags = 1u << 30;
    assert_refused(&l, "unknown flags 0x40000000");
}

static void files_that_could_lead_elsewhere_are_refused(void **state)
{
    static char deep[JOB_FILE_PATH_MAX + 2];
    static const struct {
        char *path;
        const char *why;
    } bad[] = {{"", "has an empty name in it"},     {"/etc/passwd", "is absolute"},
               {"..", "leads up by '..'"},          {"a/../../b", "leads up by '..'"},
               {"a//b", "has an empty name in it"}, {"a/", "has an empty name in it"},
               {"./a", "has an empty name in it"},  {"a/.", "has an empty name in it"},
               {"in/data", "is named twice"},       {deep, "over its limit"}};

    memset(deep, 'a', sizeof(deep) - 1);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct job_launch l = sample();
        char *files[] = {"in/data", bad[i].path};

        l.spec.files = files;
        assert_refused(&l, bad[i].why);
    }
    assert_null(job_file_refused("..."));
    assert_null(job_file_refused("..a/.b/c.."));
}

static void a_program_that_is_not_among_the_files_is_refused(void **state)
{
    struct job_launch l = sample();

    l.spec.nfiles = 1;
    assert_refused(&l, "application 0 is file 2 of 1");
}

static void strict_without_recoverable_is_refused(void **state)
{
    struct job_launch l = sample();

    l.spec.flags = JOB_STRICT;
    assert_refused(&l, "strict is only valid for a recoverable job");
}

static void zero_ranks_per_daemon_are_refused(void **state)
{
    struct job_launch l = sample();

    l.spec.ppr = 0;
    assert_refused(&l, "0 ranks per daemon");
}

static void unknown_policies_are_refused(void **state)
{
    struct job_launch l = sample();

    l.spec.map_by = 4;
    assert_refused(&l, "unknown mapping policy 4");
    l = sample();
    l.spec.level = JOB_LEVELS;
    assert_refused(&l, "unknown mapping policy 2 of level 5");
    l = sample();
    l.spec.pe = JOB_PE_MAX + 1;
    assert_refused(&l, "65536 CPUs for each rank");
    l = sample();
    l.spec.rank_by = 5;
    assert_refused(&l, "unknown ranking policy 5");
    l = sample();
    l.spec.bind_to = 6;
    assert_refused(&l, "unknown binding policy 6");
}

static void a_rank_on_a_node_that_is_not_in_the_map_is_refused(void **state)
{
    struct job_launch l = sample();
    uint32_t rank_node[] = {0, 1, 2, 1};

    l.rank_node = rank_node;
    assert_refused(&l, "rank 2 is on node 2 of 2");
}

static void a_rank_of_an_application_that_is_not_there_is_refused(void **state)
{
    struct job_launch l = sample();
    uint32_t rank_app[] = {0, 2, 0, 1};

    l.rank_app = rank_app;
    assert_refused(&l, "rank 1 is of application 2 of 2");
}

static void a_namespace_that_is_no_plain_file_name_is_refused(void **state)
{
    static const char *const bad[] = {"", "..", ".x", "a/b", "a b"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct job_launch l = sample();

        l.nspace = (char *)bad[i];
        assert_refused(&l, "is no namespace");
    }
}

static void helpers_give_node_local_size_and_local_rank(void **state)
{
    struct job_launch l = sample();

    assert_int_equal(job_launch_node(&l, 7), 1);
    assert_int_equal(job_launch_node(&l, 2), -1);
    assert_int_equal(job_launch_local_size(&l, 0), 2);
    assert_int_equal(job_launch_local_rank(&l, 0), 0);
    assert_int_equal(job_launch_local_rank(&l, 3), 1);
    assert_int_equal(job_launch_local_rank(&l, 99), 0);
}

/* The sanitizers report if it is freed too early, twice or never. */
static void a_shared_launch_is_freed_by_its_last_owner(void **state)
{
    struct job_launch l = sample();
    BUF_AUTO struct buf b = encoded(&l);
    struct cur c = cur_of(b.data, b.len);
    struct job_launch decoded;
    const struct job_launch *first, *second;

    assert_int_equal(job_launch_decode(&c, &decoded, NULL), 0);
    first = job_launch_share(&decoded);
    assert_null(decoded.nspace);
    second = job_launch_ref(first);
    assert_ptr_equal(first, second);
    job_launch_unref(first);
    assert_string_equal(second->nspace, l.nspace);
    job_launch_unref(second);
    job_launch_unref(NULL);
}

static void freeing_null_is_allowed(void **state)
{
    struct job_launch l = {0};
    struct job_spec s = {0};

    job_launch_free(NULL);
    job_launch_free(&l);
    job_spec_free(NULL);
    job_spec_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launch_cut_at_any_byte_is_refused),
        cmocka_unit_test(
            any_field_replaced_by_a_huge_number_allocates_no_more_than_the_input_allows),
        cmocka_unit_test(more_applications_than_the_limit_are_refused),
        cmocka_unit_test(a_job_without_an_application_is_refused),
        cmocka_unit_test(an_application_without_a_program_is_refused),
        cmocka_unit_test(a_relative_working_directory_is_refused),
        cmocka_unit_test(an_unknown_flag_is_refused),
        cmocka_unit_test(strict_without_recoverable_is_refused),
        cmocka_unit_test(zero_ranks_per_daemon_are_refused),
        cmocka_unit_test(files_that_could_lead_elsewhere_are_refused),
        cmocka_unit_test(a_program_that_is_not_among_the_files_is_refused),
        cmocka_unit_test(unknown_policies_are_refused),
        cmocka_unit_test(a_rank_on_a_node_that_is_not_in_the_map_is_refused),
        cmocka_unit_test(a_rank_of_an_application_that_is_not_there_is_refused),
        cmocka_unit_test(a_namespace_that_is_no_plain_file_name_is_refused),
        cmocka_unit_test(a_launch_survives_the_round_trip),
        cmocka_unit_test(encoding_a_decoded_message_gives_the_same_bytes),
        cmocka_unit_test(a_copy_of_a_spec_is_independent_and_equal),
        cmocka_unit_test(helpers_give_node_local_size_and_local_rank),
        cmocka_unit_test(a_shared_launch_is_freed_by_its_last_owner),
        cmocka_unit_test(freeing_null_is_allowed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
