/* SPDX-License-Identifier: BSD-3-Clause */
/* The user at the other end of a TCP connection, as the kernel tells it. */
#include <netinet/in.h>
#include <pmix_extend.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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
    uid_t uid = expected + 1;

    assert_int_equal(pmix_extend_peer_uid(sd, &uid), 0);
    assert_int_equal(uid, expected);
    uid = expected + 1;
    assert_int_equal(pmix_extend_peer_uid_by_table(sd, &uid), 0);
    assert_int_equal(uid, expected);
}

static void assert_no_user(int sd)
{
    uid_t uid;

    assert_int_equal(pmix_extend_peer_uid(sd, &uid), -1);
    assert_int_equal(pmix_extend_peer_uid_by_table(sd, &uid), -1);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_peer_of_this_user_is_known),
        cmocka_unit_test(a_peer_of_another_user_is_known),
        cmocka_unit_test(a_peer_that_has_closed_its_end_has_no_user),
        cmocka_unit_test(what_is_no_tcp_connection_has_no_user),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
