/* SPDX-License-Identifier: BSD-3-Clause */
/* Output to tools that are behind: which request it is that is. The server is a real one, the tools
 * are not. */
#include "dvm/host/pmix/pmix_private.h"
#include "dvm/host/pmix/test/pair.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <src/include/pmix_config.h>

#include <src/class/pmix_pointer_array.h>
#include <src/include/pmix_globals.h>

#include <cmocka.h>

#define JOB "0123456789abcdef.1"

static struct {
    struct pair_keep keep;
    struct loop *loop;
    struct pmix_srv *pmix;
    char dir[64];
} fix;

static unsigned delivered;

/* In place of the library's own. */
pmix_status_t pmix_iof_process_iof(pmix_iof_channel_t channels, const pmix_proc_t *source,
                                   const pmix_byte_object_t *bo, const pmix_info_t *info,
                                   size_t ninfo, const pmix_iof_req_t *req);
pmix_status_t pmix_iof_process_iof(pmix_iof_channel_t channels, const pmix_proc_t *source,
                                   const pmix_byte_object_t *bo, const pmix_info_t *info,
                                   size_t ninfo, const pmix_iof_req_t *req)
{
    delivered++;
    return PMIX_SUCCESS;
}

/* A tool that has so much yet to read. */
struct tool {
    pmix_rank_info_t info;
    pmix_buffer_t buffer;
    pmix_ptl_send_t msg;
    pmix_peer_t peer;
};

static void tool_init(struct tool *t, char *nspace, size_t unread)
{
    *t = (struct tool){.info.pname.nspace = nspace, .buffer.bytes_used = unread};
    PMIX_CONSTRUCT(&t->peer.send_queue, pmix_list_t);
    t->msg.data = &t->buffer;
    t->peer.send_msg = &t->msg;
    t->peer.info = &t->info;
    t->peer.sd = STDOUT_FILENO; /* any that is open */
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
    return fix.pmix ? 0 : -1;
}

static int teardown(void **state)
{
    pmix_srv_destroy(fix.pmix);
    loop_destroy(fix.loop);
    pair_keep_run(PAIR_KEEP_ALL, &fix.keep);
    return rmdir(fix.dir) == 0 || errno == ENOENT ? 0 : -1;
}

/* When it returns, nobody is waited for. */
static unsigned output(void)
{
    struct err err = {0};

    delivered = 0;
    assert_true(pmix_srv_output(fix.pmix, 0, NULL, JOB, 0, 1, "text", 4));
    assert_int_equal(loop_run(fix.loop, &err), 0);
    return delivered;
}

static void a_request_in_the_place_of_one_that_was_behind_gets_its_first_output(void **state)
{
    pmix_globals_t *globals = dlsym(RTLD_DEFAULT, "pmix_globals");
    pmix_proc_t job;
    pmix_iof_req_t req = {.procs = &job, .nprocs = 1, .channels = PMIX_FWD_STDOUT_CHANNEL};
    struct tool behind;
    struct tool next;
    int place;

    PMIX_LOAD_PROCID(&job, JOB, PMIX_RANK_WILDCARD);
    tool_init(&behind, "tool.1", 1u << 20);
    tool_init(&next, "tool.2", 100u << 10);
    req.requestor = &behind.peer;
    place = pmix_pointer_array_add(&globals->iof_requests, &req);
    assert_int_equal(output(), 1); /* and is waited for in vain */
    assert_int_equal(output(), 0); /* dropped for it */
    req.requestor = &next.peer;
    assert_int_equal(output(), 1);
    req.requestor = &behind.peer;
    assert_int_equal(output(), 1); /* what it was is forgotten */
    assert_int_equal(output(), 0);
    req.remote_id = 1; /* it has asked anew */
    assert_int_equal(output(), 1);
    pmix_pointer_array_set_item(&globals->iof_requests, place, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(
        a_request_in_the_place_of_one_that_was_behind_gets_its_first_output, setup, teardown)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
