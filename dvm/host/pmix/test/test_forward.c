/* SPDX-License-Identifier: BSD-3-Clause */
/* Output to tools that are behind: the request that is behind is found. The server is real, the
 * tools are not. */
#include "dvm/host/pmix/pmix_private.h"
#include "dvm/host/pmix/test/pair.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define JOB "0123456789abcdef.1"

static struct {
    struct pair_keep keep;
    struct loop *loop;
    struct pmix_srv *pmix;
    char dir[64];
} fix;

static unsigned delivered;

/* Each time that the thread looks at its clock, it has moved on. */
#define STEP_MS 300
#define PATIENCE_MS 1000 /* time that a job waits for a tool that reads nothing */
static uint64_t clock_ms = 1000000;

static uint64_t step_clock(void)
{
    return clock_ms += STEP_MS;
}

/* In place of the library's table: one request, of a tool with this many unread bytes. */
static struct pmix_extend_pull pull;

static size_t pulls_size(void)
{
    return 1;
}

static bool pull_at(size_t at, struct pmix_extend_pull *out)
{
    *out = pull;
    return at == 0;
}

static pmix_status_t deliver(size_t at, pmix_iof_channel_t channel, const pmix_proc_t *source,
                             const pmix_byte_object_t *bytes)
{
    delivered++;
    return PMIX_SUCCESS;
}

static const struct pmix_pulls pulls = {
    .now_ms = step_clock, .size = pulls_size, .at = pull_at, .deliver = deliver};

static void of_tool(const char *nspace, size_t unread)
{
    PMIX_LOAD_PROCID(&pull.tool, nspace, 0);
    pull.unread_bytes = unread;
}

static void on_output_read(uint32_t client, const char *nspace, size_t len, bool wanted, void *arg)
{
    loop_stop(fix.loop);
}

static int setup(void **state)
{
    static const struct pmix_srv_upcalls up = {.on_clean_add = pair_keep_add,
                                               .on_clean_run = pair_keep_run,
                                               .on_output_read = on_output_read};
    struct pmix_srv_opts o = {.host = "node-a", .session_dir = fix.dir, .vpid = 3};
    struct err err = {0};

    alarm(60);
    snprintf(fix.dir, sizeof(fix.dir), "/tmp/pmix-forward-XXXXXX");
    assert_non_null(mkdtemp(fix.dir));
    fix.loop = loop_create(&err);
    fix.keep.pmix = &fix.pmix;
    fix.pmix = pmix_srv_create(fix.loop, &o, &up, &fix.keep, &err);
    if (!fix.pmix)
        return -1;
    fix.pmix->pulls = &pulls;
    return 0;
}

static int teardown(void **state)
{
    pmix_srv_destroy(fix.pmix);
    loop_destroy(fix.loop);
    pair_keep_run(PAIR_KEEP_ALL, &fix.keep);
    return rmdir(fix.dir) == 0 || errno == ENOENT ? 0 : -1;
}

/* When it returns, the job waits for no tool. It has waited from its second look on, or not at all.
 */
static unsigned push_output(bool waits)
{
    uint64_t begun_ms = clock_ms;
    struct err err = {0};

    delivered = 0;
    assert_true(pmix_srv_output(fix.pmix, 0, NULL, JOB, 0, 1, "text", 4));
    assert_int_equal(loop_run(fix.loop, &err), 0);
    if (waits)
        assert_in_range(clock_ms - begun_ms, PATIENCE_MS, PATIENCE_MS + 3 * STEP_MS);
    else
        assert_int_equal(clock_ms, begun_ms);
    return delivered;
}

static void a_request_that_replaces_a_lagging_one_gets_its_first_output(void **state)
{
    pmix_proc_t job;

    PMIX_LOAD_PROCID(&job, JOB, PMIX_RANK_WILDCARD);
    pull = (struct pmix_extend_pull){
        .channels = PMIX_FWD_STDOUT_CHANNEL, .procs = &job, .nprocs = 1, .connected = true};
    of_tool("tool.1", 1u << 20);
    assert_int_equal(push_output(true), 1);  /* and the job has waited for it long enough */
    assert_int_equal(push_output(false), 0); /* output is dropped for it */
    of_tool("tool.2", 100u << 10);
    assert_int_equal(push_output(false), 1);
    of_tool("tool.1", 1u << 20);
    assert_int_equal(push_output(true), 1); /* its earlier state is forgotten */
    assert_int_equal(push_output(false), 0);
    pull.id = 1; /* it has made a new request */
    assert_int_equal(push_output(true), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(
        a_request_that_replaces_a_lagging_one_gets_its_first_output, setup, teardown)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
