/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of a local DVM's directory, certificates and processes; shell scripts stand for prted. */
#include "base/buf/buf.h"
#include "base/tls/tls.h"
#include "dvm/tools/ldvm/certs.h"
#include "dvm/tools/ldvm/procs.h"
#include "dvm/tools/ldvm/ready.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct world {
    char base[64]; /* a new directory */
    char *dir;     /* base/d: the DVM's */
    struct ldvm l;
};

static void write_text(const char *path, const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static int setup(void **state)
{
    struct world *w = xcalloc(1, sizeof(*w));

    snprintf(w->base, sizeof(w->base), "/tmp/ldvm-test-XXXXXX");
    assert_non_null(mkdtemp(w->base));
    w->dir = xasprintf("%s/d", w->base);
    w->l = (struct ldvm){.dir = xstrdup(w->dir),
                         .cluster = xstrdup("local/d"),
                         .prted = xasprintf("%s/prted", w->base),
                         .slots = 2,
                         .radix = 4,
                         .faults = {2500, 7000, 15000}};
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    if (ldvm_is(w->dir))
        assert_int_equal(ldvm_remove(w->dir, NULL), 0);
    rmdir(w->dir);
    unlink(w->l.prted);
    rmdir(w->base);
    ldvm_free(&w->l);
    free(w->dir);
    free(w);
    return 0;
}

static void make(struct world *w)
{
    struct err err = {0};
    int lock = ldvm_lock(w->dir, &err);

    assert_true(lock >= 0);
    if (ldvm_make(&w->l, &err) < 0)
        fail_msg("%s", err.msg);
    close(lock);
}

static bool exists(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

/* --- the directory */

static void files_of_another_user_are_not_touched(void **state)
{
    struct world *w = *state;
    FREE_AUTO char *precious = xasprintf("%s/precious", w->dir);
    struct err err = {0};
    int lock = ldvm_lock(w->dir, &err);

    write_text(precious, "x", 0600);
    assert_int_equal(ldvm_make(&w->l, &err), -1);
    assert_int_equal(err.code, ENOTEMPTY);
    assert_int_equal(ldvm_remove(w->dir, &err), 0);
    assert_true(exists(precious));
    unlink(precious);
    close(lock);
}

static void a_dvm_with_a_living_daemon_is_not_replaced(void **state)
{
    struct world *w = *state;
    struct err err = {0};
    int lock;

    make(w);
    assert_int_equal(ldvm_make_session(w->dir, 3, &err), 0);
    assert_int_equal(ldvm_pid_write(w->dir, 3, getpid(), &err), 0);
    lock = ldvm_lock(w->dir, &err);
    assert_int_equal(ldvm_make(&w->l, &err), -1);
    assert_int_equal(err.code, EBUSY);
    assert_non_null(strstr(err.msg, "prte stop"));
    close(lock);
}

static void a_directory_in_use_cannot_be_locked_again(void **state)
{
    struct world *w = *state;
    struct err err = {0};
    int lock = ldvm_lock(w->dir, &err);

    assert_int_equal(ldvm_lock(w->dir, &err), -1);
    assert_int_equal(err.code, EBUSY);
    close(lock);
    lock = ldvm_lock(w->dir, &err);
    assert_true(lock >= 0);
    close(lock);
}

static void removal_follows_no_links(void **state)
{
    struct world *w = *state;
    FREE_AUTO char *outside = xasprintf("%s/outside", w->base);
    FREE_AUTO char *file = xasprintf("%s/file", outside);
    FREE_AUTO char *link = xasprintf("%s/link", w->dir);

    make(w);
    assert_int_equal(mkdir(outside, 0700), 0);
    write_text(file, "x", 0600);
    assert_int_equal(symlink(outside, link), 0);
    assert_int_equal(ldvm_remove(w->dir, NULL), 0);
    assert_false(exists(w->dir));
    assert_true(exists(file));
    unlink(file);
    rmdir(outside);
}

static void a_damaged_record_is_refused(void **state)
{
    struct world *w = *state;
    FREE_AUTO char *path = xasprintf("%s/local.json", w->dir);
    struct ldvm l;
    struct err err = {0};

    make(w);
    write_text(path, "{\"cluster\": 3}", 0600);
    assert_int_equal(ldvm_load(w->dir, &l, &err), -1);
    write_text(path, "", 0600);
    assert_int_equal(ldvm_load(w->dir, &l, &err), -1);
}

static void without_a_dvm_the_error_names_the_command_that_starts_one(void **state)
{
    struct world *w = *state;
    struct ldvm l;
    struct err err = {0};

    assert_int_equal(ldvm_load(w->dir, &l, &err), -1);
    assert_non_null(strstr(err.msg, "prte start"));
}

static void a_written_dvm_directory_is_read_back(void **state)
{
    struct world *w = *state;
    struct ldvm l;

    make(w);
    assert_int_equal(ldvm_load(w->dir, &l, NULL), 0);
    assert_string_equal(l.cluster, "local/d");
    assert_string_equal(l.prted, w->l.prted);
    assert_int_equal(l.slots, 2);
    assert_int_equal(l.radix, 4);
    assert_int_equal(l.faults.link_grace_ms, 2500);
    assert_int_equal(l.faults.silence_ms, 7000);
    assert_int_equal(l.faults.head_absence_ms, 15000);
    ldvm_free(&l);
}

static void files_of_an_ended_dvm_are_replaced(void **state)
{
    struct world *w = *state;
    FREE_AUTO char *old = ldvm_path(w->dir, 7, "left");

    make(w);
    assert_int_equal(ldvm_make_session(w->dir, 7, NULL), 0);
    write_text(old, "x", 0600);
    make(w);
    assert_false(exists(old));
    assert_true(ldvm_is(w->dir));
}

/* --- daemons that run there */

static void a_later_process_of_the_same_number_is_not_the_daemon(void **state)
{
    struct world *w = *state;
    FREE_AUTO char *path = ldvm_path(w->dir, 1, "pid");
    FREE_AUTO char *text = xasprintf("%d 1\n", (int)getpid());

    make(w);
    assert_int_equal(ldvm_make_session(w->dir, 1, NULL), 0);
    write_text(path, text, 0600);
    assert_int_equal(ldvm_pid(w->dir, 1), 0);
}

static void a_malformed_pid_file_names_no_process(void **state)
{
    static const char *const texts[] = {"", "x", "-1 5", "99999999999 5", "1"};
    struct world *w = *state;
    FREE_AUTO char *path = ldvm_path(w->dir, 1, "pid");

    make(w);
    assert_int_equal(ldvm_make_session(w->dir, 1, NULL), 0);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        write_text(path, texts[i], 0600);
        assert_int_equal(ldvm_pid(w->dir, 1), 0);
    }
}

static void a_zombie_does_not_live(void **state)
{
    struct world *w = *state;
    siginfo_t info;
    int gate[2];
    pid_t pid;

    make(w);
    assert_int_equal(ldvm_make_session(w->dir, 1, NULL), 0);
    assert_int_equal(pipe(gate), 0);
    pid = fork();
    if (pid == 0) {
        close(gate[1]);
        _exit(read(gate[0], &info, 1) != 0);
    }
    assert_int_equal(ldvm_pid_write(w->dir, 1, pid, NULL), 0);
    assert_int_equal(ldvm_pid(w->dir, 1), pid);
    close(gate[1]);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(ldvm_pid(w->dir, 1), 0);
    waitpid(pid, NULL, 0);
    close(gate[0]);
}

/* --- processes */

static struct procs *start(struct world *w, const char *script, uint32_t vpid)
{
    struct procs *p = procs_create(false, NULL);
    struct err err = {0};

    make(w);
    write_text(w->l.prted, script, 0700);
    if (procs_start(p, &w->l, vpid, 5, &(struct ldvm_ports){.join = 77}, &err) < 0)
        fail_msg("%s", err.msg);
    return p;
}

static char *log_of(struct world *w, uint32_t vpid)
{
    FREE_AUTO char *path = ldvm_path(w->dir, vpid, "prted.log");
    char *text = xcalloc(1, 4096);
    FILE *f = fopen(path, "r");

    assert_non_null(f);
    assert_true(fread(text, 1, 4095, f) > 0);
    fclose(f);
    return text;
}

static struct procs_event next(struct procs *p)
{
    struct procs_event e;

    assert_int_equal(procs_next(p, 20000, &e, NULL), 0);
    return e;
}

static void a_daemon_s_end_is_reported_with_its_exit_code(void **state)
{
    struct procs *p = start(*state, "#!/bin/sh\nexit 7\n", 2);
    struct procs_event e = next(p);
    FREE_AUTO char *text = procs_event_text(&e);

    assert_int_equal(e.kind, PROCS_ENDED);
    assert_int_equal(e.vpid, 2);
    assert_string_equal(text, "ended with exit code 7");
    assert_int_equal(procs_living(p), 0);
    procs_destroy(p);
}

static void a_program_that_cannot_be_executed_is_reported_in_its_log(void **state)
{
    struct world *w = *state;
    struct procs *p = start(w, "#!/no/such/shell\n", 1);
    struct procs_event e = next(p);
    FREE_AUTO char *log = log_of(w, 1);

    assert_int_equal(WEXITSTATUS(e.wait_status), 127);
    assert_non_null(strstr(log, "No such file or directory"));
    procs_destroy(p);
}

static void a_member_learns_its_head_and_the_head_its_size(void **state)
{
    struct world *w = *state;
    struct procs *p = start(w, "#!/bin/sh\necho \"$@\"\n", 2);
    const struct ldvm_ports any = {0};
    char *member = NULL;
    char *head = NULL;

    next(p);
    member = log_of(w, 2);
    assert_int_equal(procs_start(p, &w->l, 0, 5, &any, NULL), 0);
    next(p);
    head = log_of(w, 0);
    assert_non_null(strstr(member, "--role member --vpid 2 --cluster local/d --head 127.0.0.1:77"));
    assert_non_null(strstr(member, "--slots 2"));
    assert_null(strstr(member, "--size"));
    assert_non_null(
        strstr(member, "--link-grace-ms 2500 --silence-ms 7000 --head-absence-ms 15000"));
    assert_non_null(strstr(head, "--link-grace-ms 2500 --silence-ms 7000 --head-absence-ms 15000"));
    assert_non_null(strstr(head, "--role head --vpid 0 --cluster local/d --tls-dir"));
    assert_non_null(strstr(head, "--slots 0 --size 5 --radix 4"));
    procs_destroy(p);
    free(member);
    free(head);
}

static void a_killed_daemon_is_reported_with_the_signal(void **state)
{
    struct procs *p = start(*state, "#!/bin/sh\nexec tail -f /dev/null\n", 1);
    struct procs_event e;
    char *text = NULL;

    procs_kill(p, SIGKILL);
    e = next(p);
    text = procs_event_text(&e);
    assert_non_null(strstr(text, "signal 9"));
    procs_destroy(p);
    free(text);
}

static void a_daemon_of_another_user_is_watched_by_its_pid(void **state)
{
    struct world *w = *state;
    struct procs *starter = start(w, "#!/bin/sh\nexec tail -f /dev/null\n", 1);
    struct procs *other = procs_create(false, NULL);
    FREE_AUTO struct ldvm_daemon *list = NULL;
    struct procs_event e;

    assert_int_equal(ldvm_daemons(w->dir, &list), 1);
    assert_int_equal(procs_adopt(other, &list[0], NULL), 0);
    procs_kill(other, SIGKILL);
    e = next(other);
    assert_int_equal(e.vpid, 1);
    assert_false(e.own);
    next(starter); /* reaps it */
    procs_destroy(other);
    procs_destroy(starter);
}

static void ports_are_read_as_soon_as_they_are_written(void **state)
{
    struct world *w = *state;
    FREE_AUTO char *script =
        xasprintf("#!/bin/sh\nprintf '{\"join\":' > %s/0/ports.json\n"
                  "printf '%%s' '4711}' >> %s/0/ports.json\nexec tail -f /dev/null\n",
                  w->dir, w->dir);
    struct procs *p = start(w, script, 0);
    struct err err = {0};
    struct ldvm_ports ports = {0};

    if (ldvm_wait_ports(p, w->dir, &ports, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(ports.join, 4711);
    procs_kill(p, SIGKILL);
    next(p);
    procs_destroy(p);
}

static void a_kept_descriptor_is_closed_at_the_end(void **state)
{
    struct procs *p = procs_create(false, NULL);
    int ends[2];
    int later[2];
    char byte;

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pipe(later), 0);
    procs_keep_fd(p, ends[1]);
    assert_int_equal(write(ends[1], "x", 1), 1); /* still open */
    assert_int_equal(read(ends[0], &byte, 1), 1);
    procs_keep_fd(p, later[1]);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    procs_destroy(p);
    assert_int_equal(read(later[0], &byte, 1), 0);
    close(ends[0]);
    close(later[0]);
}

static void a_head_that_ends_before_it_listens_is_reported(void **state)
{
    struct world *w = *state;
    struct procs *p = start(w, "#!/bin/sh\nexit 1\n", 0);
    struct err err = {0};
    struct ldvm_ports ports;

    assert_int_equal(ldvm_wait_ports(p, w->dir, &ports, &err), -1);
    assert_int_equal(err.code, ECHILD);
    assert_non_null(strstr(err.msg, "vpid 0 ended with exit code 1 before it listened"));
    procs_destroy(p);
}

/* --- members from fork servers */

/* Members that end with their vpid as exit code, as soon as they read a line from the gate (%s). */
#define FORK_MEMBERS                                                                               \
    "#!/bin/sh\necho server $4 $DVM_LAST_VPID >&2\n"                                               \
    "for v in $(seq $4 $DVM_LAST_VPID); do\n"                                                      \
    "(read line < %s; exit $v) > /dev/null & echo $v $!; done\n"

static struct procs *start_members(struct world *w, const char *script, const uint32_t *vpids,
                                   size_t n, int rc, struct err *err)
{
    struct procs *p = procs_create(false, NULL);

    make(w);
    write_text(w->l.prted, script, 0700);
    if (procs_start_members(p, &w->l, vpids, n, &(struct ldvm_ports){.join = 77}, err) != rc)
        fail_msg("%s", err->msg);
    return p;
}

static void assert_log(struct world *w, uint32_t vpid, const char *expected)
{
    FREE_AUTO char *log = log_of(w, vpid);

    assert_string_equal(log, expected);
}

static void members_are_own_processes_from_one_server_per_run_of_numbers(void **state)
{
    static const uint32_t vpids[] = {8, 9, 10, 11, 14};
    struct world *w = *state;
    FREE_AUTO char *gate = xasprintf("%s/gate", w->base);
    FREE_AUTO char *script = xasprintf(FORK_MEMBERS, gate);
    int fd = mkfifo(gate, 0600) == 0 ? open(gate, O_RDWR | O_CLOEXEC) : -1;
    struct err err = {0};
    struct procs *p = start_members(w, script, vpids, 5, 0, &err);
    uint32_t sum = 0;

    assert_int_equal(procs_living(p), 5);
    assert_int_equal(write(fd, "\n\n\n\n\n", 5), 5);
    for (int i = 0; i < 5; i++) {
        struct procs_event e = next(p);

        assert_true(e.own);
        assert_int_equal(WEXITSTATUS(e.wait_status), e.vpid);
        sum += e.vpid;
    }
    assert_int_equal(sum, 8 + 9 + 10 + 11 + 14);
    assert_log(w, 8, "server 8 9\n");
    assert_log(w, 10, "server 10 11\n");
    assert_log(w, 14, "server 14 14\n");
    procs_destroy(p);
    close(fd);
    unlink(gate);
}

struct slow_end {
    int gate;
    int64_t until_ms;
};

/* Takes all the time that is left, and lets the other four end. */
static void end_slowly(void *arg, uint32_t vpid)
{
    const struct slow_end *s = arg;

    while (procs_now_ms() < s->until_ms)
        continue;
    assert_int_equal(write(s->gate, "\n\n\n\n", 4), 4);
}

static void the_ends_of_some_do_not_prolong_the_wait_for_all(void **state)
{
    static const uint32_t vpids[] = {1, 2, 3, 4, 5};
    struct world *w = *state;
    FREE_AUTO char *gate = xasprintf("%s/gate", w->base);
    FREE_AUTO char *script = xasprintf(FORK_MEMBERS, gate);
    int fd = mkfifo(gate, 0600) == 0 ? open(gate, O_RDWR | O_CLOEXEC) : -1;
    struct err err = {0};
    struct procs *p = start_members(w, script, vpids, 5, 0, &err);
    struct pollfd one = {.fd = procs_fd(p), .events = POLLIN};
    struct slow_end slow = {.gate = fd};

    assert_int_equal(write(fd, "\n", 1), 1);
    assert_int_equal(poll(&one, 1, -1), 1);
    slow.until_ms = procs_now_ms() + 100;
    assert_false(procs_all_end(p, 100, end_slowly, &slow));
    assert_int_equal(procs_living(p), 4);
    while (procs_living(p))
        next(p);
    procs_destroy(p);
    close(fd);
    unlink(gate);
}

static void a_server_that_fails_is_reported_with_its_exit_code(void **state)
{
    static const uint32_t vpids[] = {1, 2};
    struct err err = {0};
    struct procs *p =
        start_members(*state, "#!/bin/sh\ntail -f /dev/null > /dev/null & echo 1 $!\nexit 5\n",
                      vpids, 2, -1, &err);

    assert_non_null(strstr(err.msg, "the daemons of vpids 1 to 2 ended with exit code 5"));
    assert_int_equal(procs_living(p), 1); /* what it had reported */
    procs_kill(p, SIGKILL);
    next(p);
    procs_destroy(p);
}

static void a_server_that_reports_too_few_or_other_members_is_an_error(void **state)
{
    static const uint32_t vpids[] = {1, 2};
    struct err err = {0};
    struct procs *p = start_members(
        *state, "#!/bin/sh\ntail -f /dev/null > /dev/null & echo 1 $!\n", vpids, 2, -1, &err);

    assert_non_null(strstr(err.msg, "vpids 1 to 2 has not reported vpid 2"));
    procs_kill(p, SIGKILL);
    next(p);
    procs_destroy(p);
    p = start_members(*state, "#!/bin/sh\necho 2 $$\n", vpids, 2, -1, &err);
    assert_non_null(strstr(err.msg, "vpids 1 to 2 has not reported vpid 1"));
    assert_int_equal(procs_living(p), 0);
    procs_destroy(p);
}

/* --- certificates */

static void every_role_has_a_certificate_that_only_its_owner_can_read(void **state)
{
    static const char *const roles[] = {"head", "member", "operator", "user"};
    struct world *w = *state;

    make(w);
    assert_int_equal(ldvm_certs(&w->l, NULL), 0);
    for (size_t i = 0; i < 4; i++) {
        FREE_AUTO char *ca = xasprintf("%s/tls/%s/ca.crt", w->dir, roles[i]);
        FREE_AUTO char *cert = xasprintf("%s/tls/%s/tls.crt", w->dir, roles[i]);
        FREE_AUTO char *key = xasprintf("%s/tls/%s/tls.key", w->dir, roles[i]);
        struct tls_files files = {ca, cert, key};
        struct tls_ctx *tls = tls_ctx_create(&files, NULL);
        struct stat st;

        assert_non_null(tls);
        tls_ctx_destroy(tls);
        assert_int_equal(stat(key, &st), 0);
        assert_int_equal(st.st_mode & 077, 0);
    }
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(files_of_another_user_are_not_touched),
        T(a_dvm_with_a_living_daemon_is_not_replaced),
        T(a_directory_in_use_cannot_be_locked_again),
        T(removal_follows_no_links),
        T(a_damaged_record_is_refused),
        T(without_a_dvm_the_error_names_the_command_that_starts_one),
        T(a_written_dvm_directory_is_read_back),
        T(files_of_an_ended_dvm_are_replaced),
        T(a_later_process_of_the_same_number_is_not_the_daemon),
        T(a_malformed_pid_file_names_no_process),
        T(a_zombie_does_not_live),
        T(a_daemon_s_end_is_reported_with_its_exit_code),
        T(a_program_that_cannot_be_executed_is_reported_in_its_log),
        T(a_member_learns_its_head_and_the_head_its_size),
        T(a_killed_daemon_is_reported_with_the_signal),
        T(a_daemon_of_another_user_is_watched_by_its_pid),
        T(ports_are_read_as_soon_as_they_are_written),
        T(a_kept_descriptor_is_closed_at_the_end),
        T(a_head_that_ends_before_it_listens_is_reported),
        T(members_are_own_processes_from_one_server_per_run_of_numbers),
        T(the_ends_of_some_do_not_prolong_the_wait_for_all),
        T(a_server_that_fails_is_reported_with_its_exit_code),
        T(a_server_that_reports_too_few_or_other_members_is_an_error),
        T(every_role_has_a_certificate_that_only_its_owner_can_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
