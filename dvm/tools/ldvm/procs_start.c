/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts the daemons of a local DVM. */
#include "dvm/tools/ldvm/procs.h"

#include "base/buf/buf.h"
#include "dvm/tools/ldvm/procs_private.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOT_EXECUTED 127

#define ARGS_MAX 40

struct args {
    char *v[ARGS_MAX];
    int n;
};

static void add_arg(struct args *a, const char *name, char *value)
{
    a->v[a->n++] = xstrdup(name);
    if (value)
        a->v[a->n++] = value;
}

static struct args prted_args(const struct ldvm *l, uint32_t vpid, uint32_t members, uint16_t join)
{
    struct args a = {0};
    bool head = vpid == 0;

    add_arg(&a, l->prted, NULL);
    add_arg(&a, "--role", xstrdup(head ? "head" : "member"));
    add_arg(&a, "--vpid", xasprintf("%u", vpid));
    add_arg(&a, "--cluster", xstrdup(l->cluster));
    if (!head)
        add_arg(&a, "--head", xasprintf("127.0.0.1:%u", join));
    add_arg(&a, "--tls-dir", xasprintf("%s/tls/%s", l->dir, head ? "head" : "member"));
    add_arg(&a, "--session-dir", xasprintf("%s/%u", l->dir, vpid));
    add_arg(&a, "--host-name", xasprintf("node%u", vpid));
    add_arg(&a, "--address", xstrdup("127.0.0.1"));
    /* As on Kubernetes, the head runs no ranks. */
    add_arg(&a, "--slots", xasprintf("%u", head ? 0 : l->slots));
    if (head) {
        add_arg(&a, "--size", xasprintf("%u", members));
        add_arg(&a, "--radix", xasprintf("%u", l->radix));
        add_arg(&a, "--control-port", xstrdup("0"));
    }
    add_arg(&a, "--join-port", xstrdup("0"));
    add_arg(&a, "--plain-port", xstrdup("0"));
    add_arg(&a, "--exit-on-leave", NULL);
    return a;
}

static void exec_child(const struct args *a, int log_fd)
{
    sigset_t none;
    int null_fd = open("/dev/null", O_RDONLY);

    setsid(); /* a Ctrl-C at the terminal is not meant for the daemon */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    dup2(null_fd, STDIN_FILENO);
    dup2(log_fd, STDOUT_FILENO);
    dup2(log_fd, STDERR_FILENO);
    closefrom(STDERR_FILENO + 1);
    execv(a->v[0], a->v);
    dprintf(STDERR_FILENO, "executing %s: %s\n", a->v[0], strerror(errno));
    _exit(NOT_EXECUTED);
}

static pid_t fork_daemon(const struct ldvm *l, uint32_t vpid, const struct args *a, struct err *err)
{
    FREE_AUTO char *log = ldvm_path(l->dir, vpid, "prted.log");
    int log_fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    pid_t pid;

    if (log_fd < 0)
        return err_sys(err, errno, "opening %s", log);
    pid = fork();
    if (pid == 0)
        exec_child(a, log_fd);
    close(log_fd);
    return pid < 0 ? err_sys(err, errno, "starting the daemon of vpid %u", vpid) : pid;
}

int procs_start(struct procs *p, const struct ldvm *l, uint32_t vpid, uint32_t members,
                uint16_t join, struct err *err)
{
    struct args a;
    pid_t pid;

    if (ldvm_make_session(l->dir, vpid, err) < 0)
        return -1;
    a = prted_args(l, vpid, members, join);
    pid = fork_daemon(l, vpid, &a, err);
    while (a.n > 0)
        free(a.v[--a.n]);
    if (pid < 0 || procs_add(p, vpid, pid, true, err) < 0)
        return -1;
    return ldvm_pid_write(l->dir, vpid, pid, err);
}
