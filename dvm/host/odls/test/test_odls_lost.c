/* SPDX-License-Identifier: BSD-3-Clause */
/* A spawner that is killed, stopped or silent: the end of its ranks, and the upcalls of the
 * daemon. */
#include "dvm/host/odls/test/fixture.h"

#include "base/loop/test/clock.h"
#include "dvm/host/odls/odls_private.h"
#include "dvm/host/spawner/spawn_sock.h"

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>

#define SILENT_MS 600

struct shared {
    pid_t pids[3];
    int over;
};

static bool is_lost(const struct t *t)
{
    return t->lost > 0;
}

static bool cond_over(const void *arg)
{
    const struct shared *sh = arg;

    return __atomic_load_n(&sh->over, __ATOMIC_SEQ_CST);
}

static bool has_pids(const struct t *t)
{
    size_t lines = 0;

    for (size_t i = 0; i < t->out.len; i++)
        lines += t->out.data[i] == '\n';
    return lines == 3;
}

/* The rank, its child in another session, and a process that only its session identifies. */
static void start_family(struct t *t, struct shared *sh)
{
    char *text;

    start_sh(t,
             "setsid sleep 1000 >/dev/null 2>&1 & echo $!;"
             "env -i sleep 1000 >/dev/null 2>&1 & echo $!;"
             "echo $$; wait",
             false);
    run_until(t, has_pids);
    buf_put_u8(&t->out, 0);
    text = (char *)t->out.data;
    for (int i = 0; i < 3; i++)
        sh->pids[i] = (pid_t)strtol(text, &text, 10);
}

static int body_killed(int sock, void *arg)
{
    struct shared *sh = arg;
    struct t t;

    set_up_with(&t, own_spawner(), 60000);
    start_family(&t, sh);
    kill(own_spawner()->pid, SIGKILL);
    run_until(&t, is_lost);
    for (int i = 0; i < 3; i++)
        CHECK(!is_alive(sh->pids[i])); /* at the time of the upcall, not later */
    CHECK(t.lost == 1 && t.exited == 0);
    tear_down(&t);
    __atomic_store_n(&sh->over, 1, __ATOMIC_SEQ_CST);
    return 0;
}

static void sigkill_of_the_spawner_leaves_no_rank_and_no_grandchild(void **state)
{
    struct shared *sh = shared_alloc(sizeof(*sh));

    assert_int_equal(under_spawner(body_killed, sh), 1000 + SIGKILL);
    assert_true(eventually(cond_over, sh));
    munmap(sh, sizeof(*sh));
}

static bool has_pid(const struct t *t)
{
    return t->exited == 1 && t->out.len > 0 && memchr(t->out.data, '\n', t->out.len);
}

/* Its rank has been reaped, so another process may have that session number. The process here
 * stands for it: it has no mark, and it holds the rank's output. It prints its number itself, once
 * the mark is removed. */
static int body_reaped(int sock, void *arg)
{
    struct shared *sh = arg;
    struct t t;

    set_up_with(&t, own_spawner(), 60000);
    start_sh(&t, "env -i sh -c 'echo $$; exec sleep 1000' &", false);
    run_until(&t, has_pid);
    buf_put_u8(&t.out, 0);
    sh->pids[0] = (pid_t)strtol((char *)t.out.data, NULL, 10);
    kill(own_spawner()->pid, SIGKILL);
    run_until(&t, is_lost);
    sh->pids[1] = is_alive(sh->pids[0]) ? sh->pids[0] : 0;
    kill(sh->pids[0], SIGKILL);
    tear_down(&t);
    __atomic_store_n(&sh->over, 1, __ATOMIC_SEQ_CST);
    return 0;
}

static void the_pid_of_a_reaped_rank_is_no_longer_its_session(void **state)
{
    struct shared *sh = shared_alloc(sizeof(*sh));

    assert_int_equal(under_spawner(body_reaped, sh), 1000 + SIGKILL);
    assert_true(eventually(cond_over, sh));
    assert_true(sh->pids[0] > 0);
    assert_int_equal(sh->pids[0], sh->pids[1]);
    munmap(sh, sizeof(*sh));
}

static bool has_started(const struct t *t)
{
    return t->started > 0;
}

static int body_stopped(int sock, void *arg)
{
    struct t t;

    set_up_with(&t, own_spawner(), SILENT_MS);
    kill(own_spawner()->pid, SIGSTOP);
    start_sh(&t, "exec sleep 1000", false);
    CALL(&t, odls_signal(t.o, NS, 0, SIGUSR1));
    clock_run_for(t.loop, SILENT_MS);
    run_until(&t, one_over);
    CHECK(t.lost == 0 && WTERMSIG(t.status) == SIGUSR1);
    clock_run_for(t.loop, 3 * SILENT_MS); /* no request to it is pending */
    CHECK(t.lost == 0);
    return tear_down(&t);
}

static void a_stopped_spawner_is_continued(void **state)
{
    assert_int_equal(under_spawner(body_stopped, NULL), 0);
}

/* It gets a ping at each half of SILENT_MS, and answers before the next one. */
static int body_long(int sock, void *arg)
{
    struct t t;

    set_up_with(&t, own_spawner(), SILENT_MS);
    start_sh(&t, "exec sleep 1000", false);
    run_until(&t, has_started);
    for (int i = 0; i < 8; i++) {
        clock_run_for(t.loop, SILENT_MS / 2);
        while (!t.o->heard)
            clock_turn(t.loop);
    }
    CHECK(t.lost == 0 && t.started == 1 && t.exited == 0);
    return tear_down(&t);
}

static void a_spawner_without_messages_for_long_is_not_lost(void **state)
{
    assert_int_equal(under_spawner(body_long, NULL), 0);
}

/* It runs, and never answers. */
static pid_t start_mute(int sv[2])
{
    pid_t pid;

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv), 0);
    pid = fork();
    if (pid == 0) {
        for (;;)
            pause();
    }
    return pid;
}

static void a_spawner_that_does_not_answer_is_killed_and_lost(void **state)
{
    int sv[2];
    pid_t pid = start_mute(sv);
    struct t t;

    set_up_with(&t, &(struct spawner_handle){.sock = sv[0], .pid = pid}, SILENT_MS);
    start_sh(&t, "true", false);
    clock_run_for(t.loop, SILENT_MS / 2 * 3 - 1);
    assert_int_equal(t.lost, 0);
    clock_run_for(t.loop, 1);
    assert_int_equal(t.lost, 1);
    clock_run_for(t.loop, 10 * SILENT_MS);
    assert_int_equal(t.lost, 1);
    assert_int_equal(wait_spawner(pid), 1000 + SIGKILL);
    close(sv[1]);
    tear_down(&t);
}

/* The kinds of the commands that wait in the socket, as digits. */
static void kinds_of(int sock, char *text)
{
    uint8_t data[SPAWN_MSG_MAX];
    int fds[SPAWN_FD_COUNT];
    size_t len;

    while (spawn_sock_recv(sock, data, &len, fds, NULL) == SPAWN_SOCK_OK) {
        *text++ = (char)('0' + data[0]);
        spawn_sock_close_fds(fds);
    }
    *text = '\0';
}

static void the_spawner_is_pinged_only_while_a_request_is_pending(void **state)
{
    char text[64];
    struct t t;
    int sv[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv), 0);
    set_up_with(&t, &(struct spawner_handle){.sock = sv[0], .pid = getpid()}, 2000);
    clock_run_for(t.loop, 1500);
    kinds_of(sv[1], text);
    assert_string_equal(text, "");
    start_sh(&t, "true", false);
    clock_run_for(t.loop, 1500);
    kinds_of(sv[1], text);
    assert_string_equal(text, "17"); /* START, PING */
    close(sv[1]);
    run_until(&t, is_lost);
    tear_down(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sigkill_of_the_spawner_leaves_no_rank_and_no_grandchild),
        cmocka_unit_test(the_pid_of_a_reaped_rank_is_no_longer_its_session),
        cmocka_unit_test(a_stopped_spawner_is_continued),
        cmocka_unit_test(a_spawner_without_messages_for_long_is_not_lost),
        cmocka_unit_test(a_spawner_that_does_not_answer_is_killed_and_lost),
        cmocka_unit_test(the_spawner_is_pinged_only_while_a_request_is_pending),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
