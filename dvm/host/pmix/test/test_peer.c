/* SPDX-License-Identifier: BSD-3-Clause */
/* The process at the other end of a TCP connection, as the kernel tells it: its user, and whether
 * it is a rank or a tool. */
#include <netinet/in.h>
#include <pmix_extend.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define OTHER_UID 12345

static int listen_on(struct sockaddr_in *at)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t len = sizeof(*at);

    *at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(bind(fd, (struct sockaddr *)at, sizeof(*at)), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)at, &len), 0);
    return fd;
}

static int connect_to(const struct sockaddr_in *at)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return connect(fd, (const struct sockaddr *)at, sizeof(*at)) < 0 ? -1 : fd;
}

static void assert_user(int sd, uid_t expected)
{
    struct pmix_extend_peer asked = {.uid = expected + 1};
    struct pmix_extend_peer read = {.uid = expected + 1};

    assert_int_equal(pmix_extend_peer_find(sd, &asked), 0);
    assert_int_equal(asked.uid, expected);
    assert_int_equal(pmix_extend_peer_find_by_table(sd, &read), 0);
    assert_int_equal(read.uid, expected);
    assert_int_equal(asked.inode, read.inode);
}

static void assert_no_user(int sd)
{
    struct pmix_extend_peer peer;

    assert_int_equal(pmix_extend_peer_find(sd, &peer), -1);
    assert_int_equal(pmix_extend_peer_find_by_table(sd, &peer), -1);
}

static void a_peer_of_this_user_is_known(void **state)
{
    struct sockaddr_in at;
    int listener = listen_on(&at);
    int peer = connect_to(&at);
    int sd = accept(listener, NULL, NULL);

    assert_user(sd, geteuid());
    close(peer);
    close(sd);
    close(listener);
}

static void a_peer_of_another_user_is_known(void **state)
{
    struct sockaddr_in at;
    int listener;
    pid_t pid;
    int sd;

    if (geteuid() != 0)
        skip();
    listener = listen_on(&at);
    pid = fork();
    if (pid == 0) {
        char c;
        int fd;

        if (setresuid(OTHER_UID, OTHER_UID, OTHER_UID) < 0)
            _exit(1);
        fd = connect_to(&at);
        _exit(fd >= 0 && read(fd, &c, 1) == 0 ? 0 : 2);
    }
    sd = accept(listener, NULL, NULL);
    assert_user(sd, OTHER_UID);
    close(sd);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(listener);
}

/* The kernel would tell user 0 for it. */
static void a_peer_that_has_closed_its_end_has_no_user(void **state)
{
    struct sockaddr_in at;
    int listener = listen_on(&at);
    int peer = connect_to(&at);
    int sd = accept(listener, NULL, NULL);
    char c;

    close(peer);
    assert_int_equal(read(sd, &c, 1), 0);
    assert_no_user(sd);
    close(sd);
    close(listener);
}

static void what_is_no_tcp_connection_has_no_user(void **state)
{
    struct sockaddr_in at;
    int listener = listen_on(&at);
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_no_user(pair[0]);
    assert_no_user(listener);
    assert_no_user(-1);
    close(pair[0]);
    close(pair[1]);
    close(listener);
}

/* A process that connects and stays until the other end is closed. */
static pid_t fork_peer(const struct sockaddr_in *at, bool hidden)
{
    pid_t pid = fork();

    if (pid == 0) {
        char c;
        int fd;

        prctl(PR_SET_DUMPABLE, !hidden);
        fd = connect_to(at);
        _exit(fd >= 0 && send(fd, "h", 1, 0) == 1 && read(fd, &c, 1) == 0 ? 0 : 1);
    }
    return pid;
}

/* Returns when the peer is what it is to be. */
static int accept_peer(int listener, struct pmix_extend_peer *peer)
{
    int sd = accept(listener, NULL, NULL);
    char c;

    assert_int_equal(read(sd, &c, 1), 1);
    assert_int_equal(pmix_extend_peer_find(sd, peer), 0);
    return sd;
}

static void end_peer(pid_t pid, int sd)
{
    int status;

    close(sd);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void a_descendant_is_a_rank(void **state)
{
    struct pmix_extend_peer peer;
    struct sockaddr_in at;
    int listener = listen_on(&at);
    pid_t pid;
    int sd;

    pid = fork();
    if (pid == 0) {
        int status = -1;
        pid_t child = fork_peer(&at, false);

        _exit(waitpid(child, &status, 0) == child && status == 0 ? 0 : 1);
    }
    sd = accept_peer(listener, &peer);
    assert_true(pmix_extend_is_rank(&peer));
    assert_true(pmix_extend_is_tool(&peer));
    end_peer(pid, sd);
    close(listener);
}

static void a_process_of_other_parents_is_a_tool_and_no_rank(void **state)
{
    struct pmix_extend_peer peer;
    struct sockaddr_in at;
    int listener = listen_on(&at);
    pid_t pid = fork_peer(&at, false);
    pid_t idle = fork();
    int sd;

    if (idle == 0) {
        close(listener);
        pause();
    }
    sd = accept_peer(listener, &peer);
    pmix_extend_set_ancestor(idle);
    assert_false(pmix_extend_is_rank(&peer));
    assert_true(pmix_extend_is_tool(&peer));
    pmix_extend_set_ancestor(0);
    assert_true(pmix_extend_is_rank(&peer));
    end_peer(pid, sd);
    close(listener);
    kill(idle, SIGKILL);
    assert_int_equal(waitpid(idle, NULL, 0), idle);
}

static void a_socket_without_a_process_is_neither_rank_nor_tool(void **state)
{
    struct pmix_extend_peer peer = {.inode = 0};

    assert_false(pmix_extend_is_rank(&peer));
    assert_false(pmix_extend_is_tool(&peer));
}

/* In a process of its own, with another user than root, who sees everything. */
static int check_hidden(void)
{
    struct pmix_extend_peer peer;
    struct sockaddr_in at;
    int listener = listen_on(&at);
    pid_t hidden = fork_peer(&at, true);
    pid_t idle = fork();
    bool admitted;
    int sd;

    if (idle == 0) {
        close(listener);
        pause();
    }
    sd = accept_peer(listener, &peer);
    admitted = pmix_extend_is_rank(&peer) && !pmix_extend_is_tool(&peer);
    pmix_extend_set_ancestor(idle);
    admitted &= !pmix_extend_is_rank(&peer);
    end_peer(hidden, sd);
    close(listener);
    kill(idle, SIGKILL);
    return waitpid(idle, NULL, 0) == idle && admitted ? 0 : 1;
}

static void a_hidden_process_is_admitted_if_a_rank_is_hidden(void **state)
{
    int status = -1;
    pid_t pid;

    if (geteuid() != 0)
        skip();
    pid = fork();
    if (pid == 0) {
        if (setresuid(OTHER_UID, OTHER_UID, OTHER_UID) < 0)
            _exit(2);
        prctl(PR_SET_DUMPABLE, 1);
        _exit(check_hidden());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_peer_of_this_user_is_known),
        cmocka_unit_test(a_peer_of_another_user_is_known),
        cmocka_unit_test(a_peer_that_has_closed_its_end_has_no_user),
        cmocka_unit_test(what_is_no_tcp_connection_has_no_user),
        cmocka_unit_test(a_descendant_is_a_rank),
        cmocka_unit_test(a_process_of_other_parents_is_a_tool_and_no_rank),
        cmocka_unit_test(a_socket_without_a_process_is_neither_rank_nor_tool),
        cmocka_unit_test(a_hidden_process_is_admitted_if_a_rank_is_hidden),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
