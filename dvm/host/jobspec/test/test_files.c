/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the process that reads a job's files: when it ends early, and when it does not end. */
#include "dvm/host/jobspec/files.h"

#include "base/buf/buf.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Beside this program, the one of that name is `what`, until the caller removes it. */
static char *put_reader(const char *what)
{
    char self[4096] = "";
    char *path;

    assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
    path = xasprintf("%.*s/dvm-stage", (int)(strrchr(self, '/') - self), self);
    assert_int_equal(symlink(what, path), 0);
    return path;
}

/* It ends before it has read a list that is longer than a socket's buffer: prun does not wait for
 * it. */
static void a_reader_that_ends_at_once_is_reported(void **state)
{
    enum { FILES = 256, LENGTH = 4000 };
    char *path = put_reader("/bin/true");
    char *name = xmalloc(LENGTH + 1);
    char *sources[FILES];
    struct files_sender *s;
    struct err err = {0};

    memset(name, 'a', LENGTH);
    name[LENGTH] = '\0';
    for (size_t i = 0; i < FILES; i++)
        sources[i] = name;
    s = files_sender_create(sources, FILES);
    assert_int_equal(files_sender_room(s, 4096, &err), -1);
    assert_string_equal(err.msg, "sending dvm-stage the list of files: Broken pipe");
    files_sender_destroy(s);
    assert_int_equal(unlink(path), 0);
    free(path);
    free(name);
}

/* A reader that SIGKILL does not end, as on a hung file system. A tracer keeps its end from its
 * parent. The tracer prints both pids when it has attached. */
static _Noreturn void held_reader(void)
{
    pid_t pids[2] = {getpid(), 0};
    int says;

    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    pids[1] = fork();
    if (pids[1] == 0) {
        pids[1] = getpid();
        says = open(getenv("TEST_HELD"), O_WRONLY);
        if (ptrace(PTRACE_SEIZE, pids[0], NULL, PTRACE_O_TRACEEXIT) == 0)
            (void)!write(says, pids, sizeof(pids));
        close(says);
    }
    for (;;)
        pause();
}

static void a_reader_that_does_not_end_is_left_behind(void **state)
{
    char dir[] = "/tmp/test_files.XXXXXX";
    char *path = put_reader("/proc/self/exe");
    char *sources[] = {"/here/f"};
    struct files_sender *s = files_sender_create(sources, 1);
    struct err err = {0};
    pid_t pids[2] = {0};
    int status = 0;
    char *fifo;
    int says;

    assert_non_null(mkdtemp(dir));
    fifo = xasprintf("%s/held", dir);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    setenv("TEST_HELD", fifo, 1);
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* of the tracer */
    assert_int_equal(files_sender_room(s, 4096, &err), 0);
    says = open(fifo, O_RDONLY);
    assert_int_equal(read(says, pids, sizeof(pids)), sizeof(pids));
    alarm(30);
    files_sender_destroy(s);
    alarm(0);
    assert_int_equal(waitpid(pids[0], &status, WNOHANG), 0); /* the tracer could not attach */
    kill(pids[1], SIGKILL);
    assert_int_equal(waitpid(pids[0], &status, 0), pids[0]);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(waitpid(pids[1], NULL, 0), pids[1]);
    close(says);
    unlink(fifo);
    rmdir(dir);
    unlink(path);
    free(fifo);
    free(path);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reader_that_ends_at_once_is_reported),
        cmocka_unit_test(a_reader_that_does_not_end_is_left_behind),
    };

    if (strcmp(argv[0], "dvm-stage") == 0)
        held_reader();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
