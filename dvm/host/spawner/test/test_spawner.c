/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the spawner process, commanded over its own socket. */
#include "dvm/host/spawner/remove.h"
#include "dvm/host/spawner/test/command.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cmocka.h>

#define NO_CONTAINER 77 /* this process may not create namespaces */
static int body_missing_program(int sock, void *arg)
{
    struct start s = {.id = 1, .argv = (const char *const[]){"/x/no such program", NULL}};
    struct spawn_rep r;

    close(start(sock, &s));
    r = expect(sock, SPAWN_REP_FAILED, 1);
    CHECK(r.value == ENOENT);
    CHECK(strcmp(r.what, "exec /x/no such program") == 0);
    return 0;
}

static void a_missing_program_fails_with_errno_and_name(void **state)
{
    assert_int_equal(under_spawner(body_missing_program, NULL), 0);
}

static int body_not_in_path(int sock, void *arg)
{
    struct start s = {.id = 1, .argv = (const char *const[]){"no_such_program_at_all", NULL}};
    struct spawn_rep r;

    close(start(sock, &s));
    r = expect(sock, SPAWN_REP_FAILED, 1);
    CHECK(r.value == ENOENT);
    CHECK(strcmp(r.what, "exec no_such_program_at_all") == 0);
    return 0;
}

static void a_program_that_path_does_not_hold_fails(void **state)
{
    assert_int_equal(under_spawner(body_not_in_path, NULL), 0);
}

struct file_case {
    const char *bytes;
    size_t len;
    mode_t mode;
    int errnum;
    const char *what; /* after the path */
};

#define BYTES(s) s, sizeof(s) - 1

static const struct file_case file_cases[] = {
    {BYTES("#!/no/such/interpreter -x\nexit 0\n"), 0755, ENOENT,
     ": its interpreter /no/such/interpreter"},
    {BYTES("\177ELF of another kind of machine"), 0755, ENOEXEC, ""},
    {BYTES("damaged\0"), 0755, ENOEXEC, ""},
    {BYTES("exit 0\n"), 0644, EACCES, ""},
};

static int body_bad_files(int sock, void *arg)
{
    char dir[] = "/tmp/spawner_fileXXXXXX";
    char path[64];
    char want[128];

    CHECK(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/program", dir);
    for (size_t i = 0; i < sizeof(file_cases) / sizeof(*file_cases); i++) {
        const struct file_case *f = &file_cases[i];
        struct start s = {.id = i + 1, .argv = (const char *const[]){path, NULL}};
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, f->mode);
        struct spawn_rep r;

        CHECK(write(fd, f->bytes, f->len) == (ssize_t)f->len);
        CHECK(close(fd) == 0);
        close(start(sock, &s));
        r = expect(sock, SPAWN_REP_FAILED, i + 1);
        snprintf(want, sizeof(want), "exec %s%s", path, f->what);
        if (r.value != f->errnum || strcmp(r.what, want) != 0)
            fprintf(stderr, "'%s' (%d) is not '%s'\n", r.what, (int)r.value, want);
        CHECK(r.value == f->errnum && strcmp(r.what, want) == 0);
        unlink(path);
    }
    CHECK(rmdir(dir) == 0);
    return 0;
}

static void a_file_that_cannot_be_run_is_named_with_the_reason(void **state)
{
    assert_int_equal(under_spawner(body_bad_files, NULL), 0);
}

static int body_text_in_path(int sock, void *arg)
{
    char dir[] = "/tmp/spawner_pathXXXXXX";
    char path[64], env[128], text[64];
    struct start s = {.id = 1,
                      .argv = (const char *const[]){"a_text", "b c", NULL},
                      .env = (const char *const[]){env, NULL}};
    int fd;

    CHECK(mkdtemp(dir));
    snprintf(env, sizeof(env), "PATH=/no/such/dir:/etc/passwd:%s", dir);
    snprintf(path, sizeof(path), "%s/a_text", dir);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    CHECK(write(fd, "echo \"<$1>\"\n", 12) == 12);
    CHECK(close(fd) == 0);
    fd = start(sock, &s);
    expect(sock, SPAWN_REP_STARTED, 1);
    read_all(fd, text, sizeof(text));
    CHECK(strcmp(text, "<b c>\n") == 0);
    unlink(path);
    rmdir(dir);
    return 0;
}

static void a_text_in_path_is_run_by_the_shell(void **state)
{
    assert_int_equal(under_spawner(body_text_in_path, NULL), 0);
}

static int body_missing_cwd(int sock, void *arg)
{
    struct start s = {.id = 1, .argv = SH("true"), .cwd = "/no/such/dir"};
    struct spawn_rep r;

    close(start(sock, &s));
    r = expect(sock, SPAWN_REP_FAILED, 1);
    CHECK(r.value == ENOENT);
    CHECK(strcmp(r.what, "chdir /no/such/dir") == 0);
    return 0;
}

static void a_missing_working_directory_fails_with_errno_and_name(void **state)
{
    assert_int_equal(under_spawner(body_missing_cwd, NULL), 0);
}

static int body_no_such_cpu(int sock, void *arg)
{
    static const uint64_t mask[16] = {[15] = 1ull << 63};
    struct start s = {
        .id = 1, .argv = SH("true"), .cpuset = "1023", .mask = mask, .mask_len = sizeof(mask)};
    struct spawn_rep r;

    close(start(sock, &s));
    r = expect(sock, SPAWN_REP_FAILED, 1);
    CHECK(r.value == EINVAL);
    CHECK(strcmp(r.what, "binding to cpus 1023") == 0);
    return 0;
}

static void a_cpu_that_does_not_exist_fails(void **state)
{
    assert_int_equal(under_spawner(body_no_such_cpu, NULL), 0);
}

static int body_surroundings(int sock, void *arg)
{
    static const uint64_t mask[1] = {1};
    static const char *const env[] = {"PATH=/nowhere:/bin:/usr/bin", "GREETING=hello", NULL};
    struct start s = {.id = 1,
                      .argv = (const char *const[]){"sh", "-c",
                                                    "echo $GREETING; pwd; ls /proc/self/fd | wc -w;"
                                                    "grep Cpus_allowed_list /proc/self/status",
                                                    NULL},
                      .env = env,
                      .cwd = "/usr",
                      .cpuset = "0",
                      .mask = mask,
                      .mask_len = sizeof(mask)};
    char text[4096];

    CHECK(open("/dev/null", O_RDONLY) >= 0); /* not close-on-exec, and still not open in the rank */
    CHECK(run(sock, &s, text, sizeof(text)) == 0);
    /* ls has its three streams and the directory */
    CHECK(strcmp(text, "hello\n/usr\n4\nCpus_allowed_list:\t0\n") == 0);
    return 0;
}

static void a_rank_gets_its_environment_directory_and_cpus_and_no_other_descriptor(void **state)
{
    assert_int_equal(under_spawner(body_surroundings, NULL), 0);
}

static int body_signals(int sock, void *arg)
{
    struct start s = {.id = 1, .argv = SH("grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status")};
    const char *ignored;
    char text[4096];

    CHECK(run(sock, &s, text, sizeof(text)) == 0);
    CHECK(strstr(text, "SigBlk:\t0000000000000000"));
    ignored = strstr(text, "SigIgn:\t");
    CHECK(ignored);
    /* 32 and 33 are the C library's own: GNU make's way of starting programs leaves them ignored */
    CHECK((strtoull(ignored + 8, NULL, 16) & ~0x180000000ull) == 0);
    return 0;
}

static void a_rank_starts_with_default_signals(void **state)
{
    signal(SIGUSR1, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(under_spawner(body_signals, NULL), 0);
    signal(SIGUSR1, SIG_DFL);
}

static int body_big_argument(int sock, void *arg)
{
    char *big = malloc(SPAWN_STRING_MAX);
    static char text[2 * SPAWN_STRING_MAX];
    struct start s = {.id = 1,
                      .argv = (const char *const[]){
                          "/bin/sh", "-c", "printf %s \"$1\" | wc -c; ulimit -n", "sh", big, NULL}};

    memset(big, 'x', SPAWN_STRING_MAX - 1);
    big[SPAWN_STRING_MAX - 1] = '\0';
    CHECK(run(sock, &s, text, sizeof(text)) == 0);
    CHECK(strcmp(text, "131071\n123\n") == 0);
    free(big);
    return 0;
}

static void the_longest_argument_arrives_and_limits_are_unchanged(void **state)
{
    struct rlimit was;
    struct rlimit low;

    getrlimit(RLIMIT_NOFILE, &was);
    low = was;
    low.rlim_cur = 123;
    setrlimit(RLIMIT_NOFILE, &low);
    assert_int_equal(under_spawner(body_big_argument, NULL), 0);
    setrlimit(RLIMIT_NOFILE, &was);
}

static int body_hundred(int sock, void *arg)
{
    struct start s = {.job = 1, .argv = SH("exit 7")};
    int started = 0;
    int exited = 0;

    for (s.id = 1; s.id <= 100; s.id++)
        close(start(sock, &s));
    while (exited < 100) {
        struct spawn_rep r = next_report(sock);

        started += r.kind == SPAWN_REP_STARTED;
        exited += r.kind == SPAWN_REP_EXITED;
        CHECK(r.kind != SPAWN_REP_FAILED);
        if (r.kind == SPAWN_REP_EXITED)
            CHECK(WIFEXITED(r.value) && WEXITSTATUS(r.value) == 7);
    }
    CHECK(started == 100);
    return 0;
}

static void a_hundred_ranks_are_started_and_reaped(void **state)
{
    assert_int_equal(under_spawner(body_hundred, NULL), 0);
}

static int body_signal_group(int sock, void *arg)
{
    struct start s = {.id = 1, .argv = SH("sleep 1000 & echo $!; wait")};
    struct spawn_cmd kill_it = {.kind = SPAWN_CMD_SIGNAL, .id = 1, .signum = SIGKILL};
    int fd = start(sock, &s);
    pid_t grandchild;

    expect(sock, SPAWN_REP_STARTED, 1);
    grandchild = read_pid(fd);
    CHECK(is_alive(grandchild));
    send_cmd(sock, &kill_it, NULL, 0);
    CHECK(WTERMSIG(expect(sock, SPAWN_REP_EXITED, 1).value) == SIGKILL);
    CHECK(wait_gone(grandchild));
    close(fd);
    send_cmd(sock, &kill_it, NULL, 0); /* an ended rank, and an unknown one */
    kill_it.id = 99;
    send_cmd(sock, &kill_it, NULL, 0);
    return 0;
}

static void a_signal_reaches_the_whole_process_group(void **state)
{
    assert_int_equal(under_spawner(body_signal_group, NULL), 0);
}

static int body_signal_at_once(int sock, void *arg)
{
    struct start s = {.argv = SH("sleep 1000")};
    struct spawn_cmd term = {.kind = SPAWN_CMD_SIGNAL, .signum = SIGTERM};

    for (s.id = 1; s.id <= 30; s.id++) {
        struct spawn_rep r;

        close(start(sock, &s));
        term.id = s.id;
        send_cmd(sock, &term, NULL, 0);
        r = expect(sock, SPAWN_REP_STARTED, s.id);
        r = expect(sock, SPAWN_REP_EXITED, s.id);
        CHECK(WIFSIGNALED(r.value) && WTERMSIG(r.value) == SIGTERM);
    }
    return 0;
}

static void a_signal_right_behind_the_start_is_not_lost(void **state)
{
    assert_int_equal(under_spawner(body_signal_at_once, NULL), 0);
}

#define DAEMONIZED "(trap '' TERM HUP; setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 1000' &) ;"

static int body_job_end(int sock, void *arg)
{
    struct start a = {.id = 1, .job = 1, .argv = SH(DAEMONIZED)};
    struct start b = {.id = 2, .job = 2, .argv = SH(DAEMONIZED)};
    struct spawn_cmd end = {.kind = SPAWN_CMD_JOB_END, .job = 1};
    int fd_a = start(sock, &a);
    pid_t left_a = read_pid(fd_a);
    int fd_b = start(sock, &b);
    pid_t left_b = read_pid(fd_b);

    for (int i = 0; i < 4; i++)
        next_report(sock);
    send_cmd(sock, &end, NULL, 0);
    CHECK(wait_gone(left_a));
    CHECK(is_alive(left_b));
    end.job = 2;
    send_cmd(sock, &end, NULL, 0);
    CHECK(wait_gone(left_b));
    close(fd_a);
    close(fd_b);
    return 0;
}

static void the_end_of_a_job_kills_its_leftover_processes_and_no_others(void **state)
{
    assert_int_equal(under_spawner(body_job_end, NULL), 0);
}

static int body_job_end_cleared(int sock, void *arg)
{
    struct start s = {.id = 1, .job = 1, .argv = SH("env -i /bin/sleep 1000 & echo $!")};
    struct spawn_cmd end = {.kind = SPAWN_CMD_JOB_END, .job = 1};
    int fd = start(sock, &s);
    pid_t left = read_pid(fd);

    next_report(sock);
    next_report(sock);
    send_cmd(sock, &end, NULL, 0);
    CHECK(wait_gone(left));
    close(fd);
    return 0;
}

static void a_leftover_that_cleared_its_environment_is_known_by_its_session(void **state)
{
    assert_int_equal(under_spawner(body_job_end_cleared, NULL), 0);
}

struct shared {
    pid_t pids[8];
    int ready;
    char dir[64];
};

static int body_killed(int sock, void *arg)
{
    struct shared *sh = arg;
    struct start s = {
        .id = 1,
        .argv = SH("trap '' TERM; " DAEMONIZED "sleep 1000 & echo $!; echo $$; wait; wait")};
    int fd = start(sock, &s);

    expect(sock, SPAWN_REP_STARTED, 1);
    for (int i = 0; i < 3; i++)
        sh->pids[i] = read_pid(fd);
    sh->pids[3] = getpid();
    raise(SIGKILL);
    return 0;
}

static void sigkill_of_the_daemon_leaves_no_rank_and_no_grandchild(void **state)
{
    struct shared *sh = shared_alloc(sizeof(*sh));
    int64_t start_ms = test_now_ms();

    assert_int_equal(under_spawner(body_killed, sh), 128 + SIGKILL);
    assert_true(test_now_ms() - start_ms >= GRACE_MS);
    for (int i = 0; i < 4; i++) {
        struct proc_stat st;

        assert_true(sh->pids[i] > 0);
        assert_false(proc_tree_stat(sh->pids[i], &st)); /* reaped, not only dead */
    }
    munmap(sh, sizeof(*sh));
}

static bool cond_ready(const void *arg)
{
    const struct shared *sh = arg;

    return __atomic_load_n(&sh->ready, __ATOMIC_SEQ_CST);
}

static int body_wait(int sock, void *arg)
{
    struct shared *sh = arg;
    struct start s = {.id = 1, .argv = SH("echo $$; exec sleep 1000")};

    sh->pids[0] = read_pid(start(sock, &s));
    sh->pids[1] = getpid();
    __atomic_store_n(&sh->ready, 1, __ATOMIC_SEQ_CST);
    pause(); /* no handler: a signal ends it */
    return 0;
}

static bool cond_alarm(const void *arg)
{
    unsigned left_s = alarm(0);

    return left_s > 0 && left_s <= SPAWNER_OUTLIVE_S;
}

/* The daemon was stopped, and continues later. */
static int body_outlives(int sock, void *arg)
{
    struct shared *sh = arg;
    struct start s = {.id = 1, .argv = SH("echo $$; exec sleep 1000")};
    struct pollfd pfd = {.fd = sock, .events = POLLIN};

    sh->pids[0] = read_pid(start(sock, &s));
    expect(sock, SPAWN_REP_STARTED, 1);
    sh->pids[1] = getpid();
    raise(SIGSTOP);
    while (poll(&pfd, 1, DEADLINE_MS) < 0)
        CHECK(errno == EINTR);
    CHECK(pfd.revents & POLLHUP);
    CHECK(wait_gone(sh->pids[0]));
    while (getppid() == own_spawner()->pid) /* the signal arrives while it ends */
        poll(NULL, 0, 2);
    /* If it had hung, it would have been killed. */
    CHECK(eventually(cond_alarm, NULL));
    __atomic_store_n(&sh->ready, 1, __ATOMIC_SEQ_CST);
    return 0;
}

static bool cond_stopped(const void *arg)
{
    const struct shared *sh = arg;
    struct proc_stat st;

    return sh->pids[1] && proc_tree_stat(sh->pids[1], &st) && st.state == 'T';
}

static void death_of_the_spawner_ends_its_ranks_and_wakes_the_daemon_to_end(void **state)
{
    struct shared *sh = shared_alloc(sizeof(*sh));
    pid_t pid = start_under_spawner(body_outlives, sh);

    assert_true(eventually(cond_stopped, sh));
    kill(pid, SIGKILL);
    assert_int_equal(wait_spawner(pid), 1000 + SIGKILL);
    assert_true(eventually(cond_ready, sh));
    munmap(sh, sizeof(*sh));
}

static int body_pings(int sock, void *arg)
{
    send_cmd(sock, &(struct spawn_cmd){.kind = SPAWN_CMD_PING}, NULL, 0);
    expect(sock, SPAWN_REP_ALIVE, 0);
    return 0;
}

static void a_ping_is_answered(void **state)
{
    assert_int_equal(under_spawner(body_pings, NULL), 0);
}

static void sigterm_to_the_spawner_reaches_the_daemon(void **state)
{
    struct shared *sh = shared_alloc(sizeof(*sh));
    pid_t pid = start_under_spawner(body_wait, sh);

    assert_true(eventually(cond_ready, sh));
    kill(pid, SIGTERM);
    assert_int_equal(wait_spawner(pid), 128 + SIGTERM);
    assert_true(wait_gone(sh->pids[0]));
    munmap(sh, sizeof(*sh));
}

static int body_exit(int sock, void *arg)
{
    return *(const int *)arg;
}

static void the_daemon_s_exit_code_is_the_spawner_s(void **state)
{
    assert_int_equal(under_spawner(body_exit, &(int){0}), 0);
    assert_int_equal(under_spawner(body_exit, &(int){42}), 42);
}

static int body_closes_socket(int sock, void *arg)
{
    struct start s = {.id = 1, .argv = SH("echo $$; exec sleep 1000")};
    int fd = start(sock, &s);
    pid_t pid = read_pid(fd);

    close(sock);
    CHECK(wait_gone(pid));
    close(fd);
    return 5;
}

static void ranks_are_ended_when_the_daemon_closes_its_socket(void **state)
{
    assert_int_equal(under_spawner(body_closes_socket, NULL), 5);
}

static bool exists(const struct shared *sh, const char *name)
{
    char path[256];
    struct stat st;

    snprintf(path, sizeof(path), "%s/%s", sh->dir, name);
    return lstat(path, &st) == 0;
}

/* One scope for the end of the daemon, one that is run before. */
static int body_clean(int sock, void *arg)
{
    const struct shared *sh = arg;
    struct spawn_cmd c = {
        .kind = SPAWN_CMD_CLEAN_ADD, .id = 1, .flags = REMOVE_DIR | REMOVE_RECURSIVE | REMOVE_OURS};
    struct spawn_rep r;

    snprintf(c.path, sizeof(c.path), "%s/session", sh->dir);
    send_cmd(sock, &c, NULL, 0);
    snprintf(c.path, sizeof(c.path), "%s/session/../kept", sh->dir);
    send_cmd(sock, &c, NULL, 0);
    snprintf(c.path, sizeof(c.path), "%s/link", sh->dir);
    send_cmd(sock, &c, NULL, 0);
    c.id = 2;
    c.flags = 0;
    snprintf(c.path, sizeof(c.path), "%s/now", sh->dir);
    send_cmd(sock, &c, NULL, 0);
    c.kind = SPAWN_CMD_CLEAN_RUN;
    send_cmd(sock, &c, NULL, 0);
    r = expect(sock, SPAWN_REP_CLEANED, 2);
    CHECK(r.value == 0);
    CHECK(!exists(sh, "now") && exists(sh, "session"));
    raise(SIGKILL);
    return 0;
}

static void run_sh(const struct shared *sh, const char *script)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        if (chdir(sh->dir) == 0)
            execl("/bin/sh", "sh", "-c", script, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void registered_paths_are_removed_when_the_cleanup_runs_or_the_daemon_ends(void **state)
{
    struct shared *sh = shared_alloc(sizeof(*sh));

    snprintf(sh->dir, sizeof(sh->dir), "/tmp/test_spawner.XXXXXX");
    assert_non_null(mkdtemp(sh->dir));
    run_sh(sh, "mkdir -p session/a/b/c kept && touch now kept/precious session/a/b/file"
               " && ln -s ../kept session/to_dir && ln -s ../../kept/precious session/a/to_file"
               " && ln -s kept link && mkfifo session/fifo && chmod 500 session/a/b");
    assert_int_equal(under_spawner(body_clean, sh), 128 + SIGKILL);
    assert_false(exists(sh, "session"));
    assert_true(exists(sh, "kept/precious"));
    assert_true(exists(sh, "link"));
    run_sh(sh, "rm -r kept link && rmdir $PWD");
    munmap(sh, sizeof(*sh));
}

/* As in a pod: process 1 of its namespace, an arbitrary user, a root that cannot be written. */
static void enter_container(void)
{
    if (unshare(CLONE_NEWPID | CLONE_NEWNS) < 0)
        _exit(NO_CONTAINER);
}

static void set_up_container(void)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("proc", "/proc", "proc", 0, NULL) < 0 ||
        mount("/", "/", NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) < 0 ||
        setgroups(0, NULL) < 0 || setresgid(12345, 12345, 12345) < 0 ||
        setresuid(12345, 12345, 12345) < 0)
        _exit(NO_CONTAINER);
    prctl(PR_SET_DUMPABLE, 1); /* as after the exec that a container begins with */
}

/* Splits in a container, in whose namespace the spawner is process 1. */
static int under_spawner_in_container(int (*body)(int sock, void *arg), void *arg)
{
    pid_t outer;
    int status;

    fflush(NULL);
    outer = fork();
    if (outer == 0) {
        char program[PATH_MAX + 32];
        pid_t first;

        /* The user in the container may have no right to read that path. */
        find_spawner(program, sizeof(program));
        snprintf(program, sizeof(program), "/proc/self/fd/%d", open(program, O_PATH | O_CLOEXEC));
        enter_container();
        first = fork();
        if (first)
            _exit(wait_spawner(first) & 0xff);
        set_up_container();
        CHECK(getpid() == 1);
        exit(body(split(program).sock, arg));
    }
    waitpid(outer, &status, 0);
    return WEXITSTATUS(status);
}

static int body_container(int sock, void *arg)
{
    struct statvfs vfs;

    CHECK(statvfs("/", &vfs) == 0 && (vfs.f_flag & ST_RDONLY));
    CHECK(body_hundred(sock, NULL) == 0);
    kill(1, SIGTERM); /* sent by any process: process 1 passes it on */
    pause();
    return 0;
}

static void the_spawner_works_as_process_1_of_any_user_with_a_read_only_root(void **state)
{
    int rc = under_spawner_in_container(body_container, NULL);

    if (rc == NO_CONTAINER)
        skip();
    assert_int_equal(rc, 128 + SIGTERM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_program_fails_with_errno_and_name),
        cmocka_unit_test(a_program_that_path_does_not_hold_fails),
        cmocka_unit_test(a_file_that_cannot_be_run_is_named_with_the_reason),
        cmocka_unit_test(a_text_in_path_is_run_by_the_shell),
        cmocka_unit_test(a_missing_working_directory_fails_with_errno_and_name),
        cmocka_unit_test(a_cpu_that_does_not_exist_fails),
        cmocka_unit_test(a_rank_gets_its_environment_directory_and_cpus_and_no_other_descriptor),
        cmocka_unit_test(a_rank_starts_with_default_signals),
        cmocka_unit_test(the_longest_argument_arrives_and_limits_are_unchanged),
        cmocka_unit_test(a_hundred_ranks_are_started_and_reaped),
        cmocka_unit_test(a_signal_reaches_the_whole_process_group),
        cmocka_unit_test(a_signal_right_behind_the_start_is_not_lost),
        cmocka_unit_test(the_end_of_a_job_kills_its_leftover_processes_and_no_others),
        cmocka_unit_test(a_leftover_that_cleared_its_environment_is_known_by_its_session),
        cmocka_unit_test(sigkill_of_the_daemon_leaves_no_rank_and_no_grandchild),
        cmocka_unit_test(death_of_the_spawner_ends_its_ranks_and_wakes_the_daemon_to_end),
        cmocka_unit_test(a_ping_is_answered),
        cmocka_unit_test(sigterm_to_the_spawner_reaches_the_daemon),
        cmocka_unit_test(the_daemon_s_exit_code_is_the_spawner_s),
        cmocka_unit_test(ranks_are_ended_when_the_daemon_closes_its_socket),
        cmocka_unit_test(registered_paths_are_removed_when_the_cleanup_runs_or_the_daemon_ends),
        cmocka_unit_test(the_spawner_works_as_process_1_of_any_user_with_a_read_only_root),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
