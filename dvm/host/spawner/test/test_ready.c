/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that wait before their exec: which checks have passed by then, which have not, and how the
 * ranks continue. */
#include "dvm/host/spawner/test/command.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

static void go(int sock, uint64_t id)
{
    send_cmd(sock, &(struct spawn_cmd){.kind = SPAWN_CMD_GO, .id = id}, NULL, 0);
}

static int start_waiting(int sock, struct start s)
{
    int out;

    s.flags |= SPAWN_START_WAITS;
    out = start(sock, &s);
    expect(sock, SPAWN_REP_READY, s.id);
    return out;
}

static bool nothing_comes(int out)
{
    struct pollfd pfd = {.fd = out, .events = POLLIN};

    return poll(&pfd, 1, 50) == 0;
}

static int body_waits(int sock, void *arg)
{
    char text[16];
    int a = start_waiting(sock, (struct start){.id = 1, .job = 5, .argv = SH("echo a")});
    int b = start_waiting(sock, (struct start){.id = 2, .job = 5, .argv = SH("echo b")});

    CHECK(nothing_comes(a) && nothing_comes(b));
    go(sock, 2);
    CHECK(expect(sock, SPAWN_REP_STARTED, 2).value > 0);
    CHECK(expect(sock, SPAWN_REP_EXITED, 2).value == 0);
    read_all(b, text, sizeof(text));
    CHECK(strcmp(text, "b\n") == 0);
    CHECK(nothing_comes(a));
    go(sock, 77); /* nobody */
    go(sock, 1);
    go(sock, 1);
    expect(sock, SPAWN_REP_STARTED, 1);
    expect(sock, SPAWN_REP_EXITED, 1);
    read_all(a, text, sizeof(text));
    CHECK(strcmp(text, "a\n") == 0);
    go(sock, 1); /* too late to have an effect */
    return 0;
}

static void a_rank_runs_when_it_is_released_and_not_before(void **state)
{
    assert_int_equal(under_spawner(body_waits, NULL), 0);
}

static void fails(int sock, uint64_t id, struct start s, int errnum, const char *what)
{
    struct spawn_rep r;

    s.id = id;
    s.flags = SPAWN_START_WAITS;
    close(start(sock, &s));
    r = expect(sock, SPAWN_REP_FAILED, id); /* and it was never ready */
    if (r.value != errnum || strcmp(r.what, what) != 0)
        fprintf(stderr, "%s: %s\n", r.what, strerror(r.value));
    CHECK(r.value == errnum && strcmp(r.what, what) == 0);
}

#define RUN(...) ((const char *const[]){__VA_ARGS__, NULL})

static int body_fails(int sock, void *arg)
{
    const char *dir = arg;
    FREE_AUTO char *plain = xasprintf("%s/plain", dir);
    FREE_AUTO char *script = xasprintf("%s/script", dir);
    FREE_AUTO char *path = xasprintf("PATH=/no/such:%s", dir);
    FREE_AUTO char *says = xasprintf("exec %s: its interpreter /no/such", script);
    FREE_AUTO char *denied = xasprintf("exec %s", plain);
    const char *env[] = {path, NULL};
    uint64_t id = 0;

    fails(sock, ++id, (struct start){.argv = RUN("/x/y")}, ENOENT, "exec /x/y");
    fails(sock, ++id, (struct start){.argv = RUN("true"), .cwd = "/x"}, ENOENT, "chdir /x");
    fails(sock, ++id, (struct start){.argv = RUN("./true")}, ENOENT, "exec ./true");
    fails(sock, ++id, (struct start){.argv = RUN("/etc")}, EACCES, "exec /etc");
    fails(sock, ++id, (struct start){.argv = RUN(plain)}, EACCES, denied);
    fails(sock, ++id, (struct start){.argv = RUN(script)}, ENOENT, says);
    fails(sock, ++id, (struct start){.argv = RUN("script"), .env = env}, ENOENT, says);
    fails(sock, ++id, (struct start){.argv = RUN("true"), .env = env}, ENOENT, "exec true");
    fails(sock, ++id, (struct start){.argv = RUN("plain"), .env = env}, EACCES, "exec plain");
    /* By the rank's own environment and directory. */
    close(start_waiting(sock, (struct start){.id = ++id, .argv = RUN("true")}));
    close(start_waiting(sock, (struct start){.id = ++id, .argv = RUN("./true"), .cwd = "/bin"}));
    return 0;
}

static void put(const char *dir, const char *name, const char *text, mode_t mode)
{
    FREE_AUTO char *path = xasprintf("%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, mode);

    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

static void drop(const char *dir, const char *name)
{
    FREE_AUTO char *path = xasprintf("%s/%s", dir, name);

    assert_int_equal(unlink(path), 0);
}

static void a_rank_that_cannot_run_fails_instead_of_becoming_ready(void **state)
{
    char dir[] = "/tmp/ready.XXXXXX";

    assert_non_null(mkdtemp(dir));
    put(dir, "plain", "x", 0644);
    put(dir, "script", "#! /no/such shell\n", 0755);
    assert_int_equal(under_spawner(body_fails, dir), 0);
    drop(dir, "plain");
    drop(dir, "script");
    assert_int_equal(rmdir(dir), 0);
}

static int body_ended(int sock, void *arg)
{
    char text[16];
    int out = start_waiting(sock, (struct start){.id = 9, .argv = SH("echo no")});
    struct spawn_rep r;

    send_cmd(sock, &(struct spawn_cmd){.kind = SPAWN_CMD_SIGNAL, .id = 9, .signum = SIGTERM}, NULL,
             0);
    r = expect(sock, SPAWN_REP_FAILED, 9);
    CHECK(r.value == ECANCELED && strcmp(r.what, "ended before its start") == 0);
    go(sock, 9);
    read_all(out, text, sizeof(text));
    CHECK(!*text);
    return 0;
}

static void a_rank_that_is_ended_while_it_waits_has_never_run(void **state)
{
    assert_int_equal(under_spawner(body_ended, NULL), 0);
}

static int body_late(int sock, void *arg)
{
    const char *path = arg;

    close(start_waiting(sock, (struct start){.id = 3, .argv = (const char *const[]){path, NULL}}));
    CHECK(unlink(path) == 0);
    go(sock, 3);
    CHECK(expect(sock, SPAWN_REP_FAILED, 3).value == ENOENT);
    return 0;
}

static void a_program_removed_after_the_check_still_fails(void **state)
{
    char path[] = "/tmp/ready.XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0 && write(fd, "true\n", 5) == 5 && fchmod(fd, 0755) == 0);
    close(fd);
    assert_int_equal(under_spawner(body_late, path), 0);
}

/* Number of descriptors of a process above its three streams. */
static int open_fds(pid_t pid)
{
    FREE_AUTO char *path = xasprintf("/proc/%d/fd", (int)pid);
    DIR *d = opendir(path);
    const struct dirent *e;
    int n = 0;

    CHECK(d);
    while ((e = readdir(d)))
        n += e->d_name[0] != '.' && strtol(e->d_name, NULL, 10) > 2;
    closedir(d);
    return n;
}

/* The one child of a process that is not `but`. */
static pid_t child_of(pid_t parent, pid_t but)
{
    FREE_AUTO char *path = xasprintf("/proc/%d/task/%d/children", (int)parent, (int)parent);
    FILE *f = fopen(path, "re");
    char text[4096] = "";
    pid_t found = 0;

    CHECK(f && fgets(text, sizeof(text), f));
    for (char *at = text, *end; *at && *at != '\n'; at = end + strspn(end, " ")) {
        long pid = strtol(at, &end, 10);

        CHECK(end != at);
        if (pid != but)
            found = (pid_t)pid;
    }
    fclose(f);
    return found;
}

static int body_holds_nothing(int sock, void *arg)
{
    int a = start_waiting(sock, (struct start){.id = 1, .argv = SH("echo a")});
    int b = start_waiting(sock, (struct start){.id = 2, .argv = SH("echo b")});

    CHECK(open_fds(child_of(getppid(), getpid())) == 1); /* for the command to continue */
    go(sock, 1);
    expect(sock, SPAWN_REP_STARTED, 1);
    expect(sock, SPAWN_REP_EXITED, 1);
    close(a);
    close(b);
    return 0;
}

static void a_waiting_rank_holds_no_descriptor_of_the_spawner_or_of_others(void **state)
{
    assert_int_equal(under_spawner(body_holds_nothing, NULL), 0);
}

static int body_held(int sock, void *arg)
{
    int out = start_waiting(
        sock, (struct start){.id = 4, .argv = SH("exec sleep 60"), .flags = SPAWN_START_HELD});

    CHECK(nothing_comes(out));
    go(sock, 4);
    expect(sock, SPAWN_REP_STARTED, 4);
    expect(sock, SPAWN_REP_HELD, 4);
    CHECK(nothing_comes(out));
    send_cmd(sock, &(struct spawn_cmd){.kind = SPAWN_CMD_SIGNAL, .id = 4, .signum = SIGCONT}, NULL,
             0);
    expect(sock, SPAWN_REP_GOES_ON, 4);
    send_cmd(sock, &(struct spawn_cmd){.kind = SPAWN_CMD_SIGNAL, .id = 4, .signum = SIGKILL}, NULL,
             0);
    CHECK(expect(sock, SPAWN_REP_EXITED, 4).value == SIGKILL);
    close(out);
    return 0;
}

static void a_rank_with_stop_on_exec_stops_when_it_is_released(void **state)
{
    assert_int_equal(under_spawner(body_held, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_runs_when_it_is_released_and_not_before),
        cmocka_unit_test(a_rank_that_cannot_run_fails_instead_of_becoming_ready),
        cmocka_unit_test(a_rank_that_is_ended_while_it_waits_has_never_run),
        cmocka_unit_test(a_program_removed_after_the_check_still_fails),
        cmocka_unit_test(a_waiting_rank_holds_no_descriptor_of_the_spawner_or_of_others),
        cmocka_unit_test(a_rank_with_stop_on_exec_stops_when_it_is_released),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
