/* SPDX-License-Identifier: BSD-3-Clause */
/* Session control, as the library would call it: what is refused, and what the rest becomes; who
 * gets a credential; and what is logged. Each
 * test has a process of its own, since the library allows one server per process. */
#include "dvm/host/pmix/pmix_private.h"
#include "dvm/host/pmix/session.h"
#include "dvm/host/pmix/test/pair.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define JOB "0123456789abcdef.1"
#define NOTHING (-1) /* no upcall came */

static struct {
    struct pair_keep keep;
    struct loop *loop;
    struct pmix_srv *pmix;
    char dir[64];
    int asked;           /* signal of the upcall */
    pmix_status_t given; /* what the library was answered */
    size_t logged;       /* bytes */
} fix;

static void on_asked(pmix_req req, int signum, void *arg)
{
    fix.asked = signum;
    pmix_srv_answer(fix.pmix, req, PMIX_SUCCESS, NULL, 0);
}

/* Of this process's loop, or of the library's thread. */
static void stop(void *arg)
{
    loop_stop(fix.loop);
}

static void on_given(pmix_status_t status, pmix_info_t info[], size_t ninfo, void *cbdata,
                     pmix_release_cbfunc_t release, void *release_cbdata)
{
    fix.given = status;
    loop_post(fix.loop, stop, NULL);
}

static void on_cred(pmix_req req, const struct pmix_srv_holder *who, void *arg)
{
    fix.asked = who->tool;
    pmix_srv_answer(fix.pmix, req, PMIX_ERR_NOT_FOUND, NULL, 0);
}

static void on_cred_given(pmix_status_t status, pmix_byte_object_t *cred, pmix_info_t info[],
                          size_t ninfo, void *cbdata)
{
    fix.given = status;
    loop_post(fix.loop, stop, NULL);
}

static void on_logged(pmix_req req, const char *nspace, uint32_t rank, int stream, const char *text,
                      void *arg)
{
    fix.logged = strlen(text);
    pmix_srv_answer(fix.pmix, req, PMIX_SUCCESS, NULL, 0);
}

static void on_log_done(pmix_status_t status, void *cbdata)
{
    fix.given = status;
    loop_post(fix.loop, stop, NULL);
}

static void open_server(bool tools)
{
    static const struct pmix_srv_upcalls up = {.on_clean_add = pair_keep_add,
                                               .on_clean_run = pair_keep_run,
                                               .on_session = on_asked,
                                               .on_cred_get = on_cred,
                                               .on_log = on_logged};
    struct pmix_srv_opts o = {.host = "node-a", .session_dir = fix.dir, .vpid = 3};
    struct err err = {0};

    alarm(60);
    if (tools)
        setenv("DVM_PMIX_TOOLS", "1", 1);
    snprintf(fix.dir, sizeof(fix.dir), "/tmp/pmix-session-XXXXXX");
    EXPECT(mkdtemp(fix.dir));
    fix.loop = loop_create(&err);
    fix.keep.pmix = &fix.pmix;
    fix.pmix = pmix_srv_create(fix.loop, &o, &up, &fix.keep, &err);
    EXPECT(fix.pmix);
}

static void on_registered(int status, void *arg)
{
    EXPECT(status == PMIX_SUCCESS);
    loop_stop(fix.loop);
}

static void register_job(void)
{
    static struct job_node node = {.vpid = 3, .host = "node-a"};
    static uint32_t zero;
    static char *argv[] = {"prog", NULL};
    static struct job_app app = {.argv = argv, .cwd = "/tmp"};
    struct job_launch l = {.nspace = JOB,
                           .spec = {.parent_nspace = "", .napps = 1, .apps = &app},
                           .universe = 1,
                           .nnodes = 1,
                           .nodes = &node,
                           .nranks = 1,
                           .rank_node = &zero,
                           .rank_app = &zero};
    struct err err = {0};

    pair_register(fix.pmix, &l, on_registered, NULL);
    EXPECT(loop_run(fix.loop, &err) == 0);
}

static void close_server(void)
{
    pmix_srv_destroy(fix.pmix);
    loop_destroy(fix.loop);
    pair_keep_run(PAIR_KEEP_ALL, &fix.keep);
    EXPECT(rmdir(fix.dir) == 0 || errno == ENOENT);
}

static void (*body)(void);

static void body_and_close(void)
{
    body();
    close_server();
}

static void with_server(void (*fn)(void))
{
    body = fn;
    in_child(body_and_close);
}

/* What a process is answered in the end, whichever way. */
static pmix_status_t ask(const char *nspace, uint32_t session, const pmix_info_t *info, size_t n)
{
    struct err err = {0};
    pmix_proc_t who;
    pmix_status_t rc;

    PMIX_LOAD_PROCID(&who, nspace, 0);
    fix.asked = NOTHING;
    rc = on_session(&who, session, info, n, on_given, NULL);
    if (rc != PMIX_SUCCESS)
        return rc;
    EXPECT(loop_run(fix.loop, &err) == 0);
    return fix.given;
}

static pmix_status_t ask_cred(const char *nspace)
{
    struct err err = {0};
    pmix_proc_t who;

    PMIX_LOAD_PROCID(&who, nspace, 0);
    fix.asked = NOTHING;
    EXPECT(on_cred_get(&who, NULL, 0, on_cred_given, NULL) == PMIX_SUCCESS);
    EXPECT(loop_run(fix.loop, &err) == 0);
    return fix.given;
}

static pmix_status_t ask_flag(const char *nspace, const char *key)
{
    pmix_info_t info;

    PMIX_INFO_LOAD(&info, key, NULL, PMIX_BOOL);
    return ask(nspace, SESSION_OURS, &info, 1);
}

static void unknown_sessions(void)
{
    pmix_info_t info;

    open_server(true);
    PMIX_INFO_LOAD(&info, PMIX_SESSION_PAUSE, NULL, PMIX_BOOL);
    EXPECT(ask(JOB, 1, &info, 1) == PMIX_ERR_NOT_FOUND);
    EXPECT(ask("tool", SESSION_ALL - 1, &info, 1) == PMIX_ERR_NOT_FOUND);
    EXPECT(fix.asked == NOTHING);
    EXPECT(ask(JOB, SESSION_ALL, &info, 1) == PMIX_SUCCESS && fix.asked == SIGSTOP);
}

static void directives_without_a_meaning(void)
{
    static const char *const keys[] = {PMIX_SESSION_APP,
                                       PMIX_SESSION_PROVISION,
                                       PMIX_SESSION_PROVISION_NODES,
                                       PMIX_SESSION_PROVISION_IMAGE,
                                       PMIX_SESSION_PREEMPT,
                                       PMIX_SESSION_RESTORE,
                                       PMIX_SESSION_COMPLETE};
    pmix_info_t info[2];

    open_server(true);
    PMIX_INFO_LOAD(&info[0], PMIX_SESSION_PAUSE, NULL, PMIX_BOOL);
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        EXPECT(ask_flag("tool", keys[i]) == PMIX_ERR_NOT_SUPPORTED);
        PMIX_INFO_LOAD(&info[1], keys[i], NULL, PMIX_BOOL);
        EXPECT(ask("tool", SESSION_OURS, info, 2) == PMIX_ERR_NOT_SUPPORTED);
        EXPECT(fix.asked == NOTHING);
    }
    PMIX_INFO_LOAD(&info[1], "no.such.key", NULL, PMIX_BOOL);
    PMIX_INFO_REQUIRED(&info[1]);
    EXPECT(ask("tool", SESSION_OURS, info, 2) == PMIX_ERR_NOT_SUPPORTED);
    EXPECT(fix.asked == NOTHING);
}

static void no_action_two_actions_no_signal(void)
{
    static const int signals[] = {0, -9, NSIG};
    bool no = false;
    pmix_info_t info[2];

    open_server(true);
    EXPECT(ask("tool", SESSION_OURS, NULL, 0) == PMIX_ERR_BAD_PARAM);
    PMIX_INFO_LOAD(&info[0], PMIX_SESSION_PAUSE, NULL, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_SESSION_TERMINATE, NULL, PMIX_BOOL);
    EXPECT(ask("tool", SESSION_OURS, info, 2) == PMIX_ERR_BAD_PARAM);
    PMIX_INFO_LOAD(&info[0], PMIX_SESSION_PAUSE, &no, PMIX_BOOL);
    EXPECT(ask("tool", SESSION_OURS, info, 1) == PMIX_ERR_BAD_PARAM);
    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
        PMIX_INFO_LOAD(&info[0], PMIX_SESSION_SIGNAL, &signals[i], PMIX_INT);
        EXPECT(ask("tool", SESSION_OURS, info, 1) == PMIX_ERR_BAD_PARAM);
    }
    EXPECT(fix.asked == NOTHING);
}

static void a_rank_that_ends_the_session(void)
{
    open_server(true);
    register_job();
    EXPECT(ask_flag(JOB, PMIX_SESSION_TERMINATE) == PMIX_ERR_NO_PERMISSIONS);
    EXPECT(fix.asked == NOTHING);
}

/* Its request is run when its job is forgotten. */
static void a_rank_that_asks_last(void)
{
    open_server(true);
    EXPECT(ask_flag(JOB, PMIX_SESSION_TERMINATE) == PMIX_ERR_NO_PERMISSIONS);
    EXPECT(fix.asked == NOTHING);
}

static void who_gets_a_credential(void)
{
    open_server(true);
    EXPECT(ask_cred("tool") == PMIX_ERR_NOT_FOUND && fix.asked == true);
    EXPECT(ask_cred(JOB) == PMIX_ERR_NO_PERMISSIONS && fix.asked == NOTHING);
    EXPECT(ask_cred(PMIX_SRV_NSPACE) == PMIX_ERR_NO_PERMISSIONS && fix.asked == NOTHING);
    register_job();
    EXPECT(ask_cred(JOB) == PMIX_ERR_NOT_FOUND && fix.asked == false);
}

/* Of so many bytes without an end. */
static size_t logged_of(size_t size)
{
    pmix_byte_object_t blob = {.bytes = xmalloc(size), .size = size};
    struct err err = {0};
    pmix_info_t info;
    pmix_proc_t who;

    memset(blob.bytes, 'x', size);
    PMIX_LOAD_PROCID(&who, JOB, 0);
    PMIX_INFO_LOAD(&info, PMIX_LOG_MSG, &blob, PMIX_BYTE_OBJECT);
    on_log(&who, &info, 1, NULL, 0, on_log_done, NULL);
    EXPECT(loop_run(fix.loop, &err) == 0);
    EXPECT(fix.given == PMIX_SUCCESS);
    PMIX_INFO_DESTRUCT(&info);
    free(blob.bytes);
    return fix.logged;
}

static void blobs_to_log(void)
{
    open_server(false);
    EXPECT(logged_of(1) == 1);
    EXPECT(logged_of(4096) == 4096);
    EXPECT(logged_of(4097) == 4096);
    EXPECT(logged_of(1u << 20) == 4096);
}

static void where_no_tools_are_admitted(void)
{
    unsetenv("DVM_PMIX_TOOLS");
    open_server(false);
    EXPECT(ask_flag("tool", PMIX_SESSION_TERMINATE) == PMIX_ERR_NO_PERMISSIONS);
    EXPECT(fix.asked == NOTHING);
}

static void what_is_asked_for(void)
{
    int signum = SIGUSR1;
    pmix_info_t info[2];

    open_server(true);
    register_job();
    EXPECT(ask_flag(JOB, PMIX_SESSION_PAUSE) == PMIX_SUCCESS && fix.asked == SIGSTOP);
    EXPECT(ask_flag(JOB, PMIX_SESSION_RESUME) == PMIX_SUCCESS && fix.asked == SIGCONT);
    PMIX_INFO_LOAD(&info[0], PMIX_SESSION_SIGNAL, &signum, PMIX_INT);
    PMIX_INFO_LOAD(&info[1], PMIX_SESSION_CTRL_ID, "mine", PMIX_STRING);
    EXPECT(ask(JOB, SESSION_OURS, info, 2) == PMIX_SUCCESS && fix.asked == SIGUSR1);
    EXPECT(ask_flag("tool", PMIX_SESSION_TERMINATE) == PMIX_SUCCESS && fix.asked == 0);
    PMIX_INFO_DESTRUCT(&info[1]);
}

static void a_session_that_is_not_ours_is_not_found(void **state)
{
    with_server(unknown_sessions);
}

static void directives_without_a_meaning_here_are_refused_and_nothing_is_done(void **state)
{
    with_server(directives_without_a_meaning);
}

static void a_request_is_for_one_action(void **state)
{
    with_server(no_action_two_actions_no_signal);
}

static void the_session_is_not_a_rank_s_to_end(void **state)
{
    with_server(a_rank_that_ends_the_session);
    with_server(a_rank_that_asks_last);
    with_server(where_no_tools_are_admitted);
}

static void no_tool_s_credential_has_the_name_of_a_job_that_is_over(void **state)
{
    with_server(who_gets_a_credential);
}

static void of_a_blob_is_logged_what_a_line_holds(void **state)
{
    with_server(blobs_to_log);
}

static void the_rest_is_a_signal_or_the_end(void **state)
{
    with_server(what_is_asked_for);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_that_is_not_ours_is_not_found),
        cmocka_unit_test(directives_without_a_meaning_here_are_refused_and_nothing_is_done),
        cmocka_unit_test(a_request_is_for_one_action),
        cmocka_unit_test(the_session_is_not_a_rank_s_to_end),
        cmocka_unit_test(no_tool_s_credential_has_the_name_of_a_job_that_is_over),
        cmocka_unit_test(of_a_blob_is_logged_what_a_line_holds),
        cmocka_unit_test(the_rest_is_a_signal_or_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
