/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts the daemons of a local DVM: the head alone, members by fork servers.
 *
 * A process of its own executes the head's prted, with its output in its log. Members whose
 * numbers follow each other and have the same length come from one prted, a fork server
 * (dvm/host/forkserver), which reports the process of each member in order. All servers start
 * before the first one is waited for.
 *
 * Invariants: each daemon has a session of its own and a session directory; its number and process
 * are written down as soon as they are known. When a server has ended, its members are children of
 * this program, which watches them by pidfds (procs.c).
 *
 * Failures: prted cannot be executed, a server ends too soon, or it is killed: at a request of the
 * user, or when it has reported no further member for REPORT_MS. Members that exist are added also
 * after an error, so that the caller can end them. */
#include "dvm/tools/ldvm/procs.h"

#include "base/buf/buf.h"
#include "dvm/host/forkserver/forkserver.h"
#include "dvm/tools/cli/limit.h"
#include "dvm/tools/ldvm/procs_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOT_EXECUTED 127
#define REPORT_MS 60000

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

static struct args prted_args(const struct ldvm *l, uint32_t vpid, uint32_t members,
                              const struct ldvm_ports *ports)
{
    struct args a = {0};
    bool head = vpid == 0;

    add_arg(&a, l->prted, NULL);
    add_arg(&a, "--role", xstrdup(head ? "head" : "member"));
    add_arg(&a, "--vpid", xasprintf("%u", vpid));
    add_arg(&a, "--cluster", xstrdup(l->cluster));
    if (!head)
        add_arg(&a, "--head", xasprintf("127.0.0.1:%u", ports->join));
    add_arg(&a, "--tls-dir", xasprintf("%s/tls/%s", l->dir, head ? "head" : "member"));
    add_arg(&a, "--session-dir", xasprintf("%s/%u", l->dir, vpid));
    add_arg(&a, "--dvm-dir", xstrdup(l->dir));
    add_arg(&a, "--host-name", xasprintf("node%u", vpid));
    if (!getenv("DVM_ADDRESSES")) /* prted reads it */
        add_arg(&a, "--address", xstrdup("127.0.0.1"));
    /* As on Kubernetes, the head runs no ranks. */
    add_arg(&a, "--slots", xasprintf("%u", head ? 0 : l->slots));
    if (head) {
        add_arg(&a, "--size", xasprintf("%u", members));
        add_arg(&a, "--radix", xasprintf("%u", l->radix));
        add_arg(&a, "--control-port", xasprintf("%u", ports->control));
        add_arg(&a, "--keep-records", NULL);
    }
    add_arg(&a, "--join-port", xasprintf("%u", head ? ports->join : 0));
    add_arg(&a, "--plain-port", xasprintf("%u", head ? ports->plain : 0));
    add_arg(&a, "--link-grace-ms", xasprintf("%" PRIu64, l->faults.link_grace_ms));
    add_arg(&a, "--silence-ms", xasprintf("%" PRIu64, l->faults.silence_ms));
    add_arg(&a, "--head-absence-ms", xasprintf("%" PRIu64, l->faults.head_absence_ms));
    add_arg(&a, "--exit-on-leave", NULL);
    return a;
}

/* What the process of prted gets. */
struct child {
    struct args args;
    int log_fd;
    int out_fd;    /* standard output */
    uint32_t last; /* of a fork server; 0: one daemon */
};

static void exec_child(const struct child *c)
{
    sigset_t none;
    int null_fd = open("/dev/null", O_RDONLY);
    char last[16];

    setsid(); /* a Ctrl-C at the terminal is not meant for the daemon */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    dup2(null_fd, STDIN_FILENO);
    dup2(c->out_fd, STDOUT_FILENO);
    dup2(c->log_fd, STDERR_FILENO);
    closefrom(STDERR_FILENO + 1);
    snprintf(last, sizeof(last), "%u", c->last);
    if (c->last)
        setenv(FORKSERVER_LAST, last, 1);
    else
        unsetenv(FORKSERVER_LAST);
    execv(c->args.v[0], c->args.v);
    dprintf(STDERR_FILENO, "executing %s: %s\n", c->args.v[0], strerror(errno));
    _exit(NOT_EXECUTED);
}

/* `out_fd` -1: standard output goes to the log too. */
static pid_t fork_prted(const struct ldvm *l, uint32_t vpid, struct child *c, struct err *err)
{
    FREE_AUTO char *log = ldvm_path(l->dir, vpid, FORKSERVER_LOG);
    pid_t pid;

    c->log_fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (c->log_fd < 0)
        return err_sys(err, errno, "opening %s", log);
    if (c->out_fd < 0)
        c->out_fd = c->log_fd;
    pid = fork();
    if (pid == 0)
        exec_child(c);
    close(c->log_fd);
    return pid < 0 ? err_sys(err, errno, "starting the daemon of vpid %u", vpid) : pid;
}

static void free_args(struct args *a)
{
    while (a->n > 0)
        free(a->v[--a->n]);
}

static int add_daemon(struct procs *p, const struct ldvm *l, uint32_t vpid, pid_t pid,
                      struct err *err)
{
    if (procs_add(p, vpid, pid, true, err) < 0)
        return -1;
    return ldvm_pid_write(l->dir, vpid, pid, err);
}

int procs_start(struct procs *p, const struct ldvm *l, uint32_t vpid, uint32_t members,
                const struct ldvm_ports *ports, struct err *err)
{
    struct child c = {.out_fd = -1};
    pid_t pid;

    if (ldvm_make_session(l->dir, vpid, err) < 0)
        return -1;
    c.args = prted_args(l, vpid, members, ports);
    pid = fork_prted(l, vpid, &c, err);
    free_args(&c.args);
    return pid < 0 ? -1 : add_daemon(p, l, vpid, pid, err);
}

/* --- several members */

/* A fork server: the members `first` to `last`. Their lines come on `from`. */
struct server {
    uint32_t first, last;
    uint32_t next; /* the first one that it has not reported */
    pid_t pid;     /* 0: not started */
    FILE *from;
    bool late; /* it was killed, since it reported nothing */
    bool cut;  /* it was killed, since the user wants no DVM any more */
};

static int start_server(const struct ldvm *l, struct server *s, const struct ldvm_ports *ports,
                        struct err *err)
{
    struct child c = {.last = s->last};
    int ends[2];

    for (uint32_t vpid = s->first; vpid <= s->last; vpid++) {
        if (ldvm_make_session(l->dir, vpid, err) < 0)
            return -1;
    }
    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_sys(err, errno, "a pipe for the daemons' numbers");
    s->from = fdopen(ends[0], "r");
    if (!s->from)
        alloc_fail(0);
    setvbuf(s->from, NULL, _IONBF, 0); /* so that poll() sees what fgets() will read */
    c.out_fd = ends[1];
    c.args = prted_args(l, s->first, 0, ports);
    s->pid = fork_prted(l, s->first, &c, err);
    free_args(&c.args);
    close(ends[1]);
    return s->pid < 0 ? -1 : 0;
}

static char *show_unreported(void *arg)
{
    const struct server *s = arg;

    return s->next == s->last
               ? xasprintf("the daemon of vpid %u to be started", s->last)
               : xasprintf("the daemons of vpids %u-%u to be started", s->next, s->last);
}

/* Waits until it has reported a member or ended. A killed one ends soon. */
static void wait_report(const struct procs *p, struct server *s)
{
    struct cli_limit l = cli_limit_begin(cli_now_ms(), REPORT_MS, show_unreported, s);
    struct pollfd fds[1 + PROCS_REQUESTS] = {{.fd = fileno(s->from), .events = POLLIN}};
    size_t n = 1 + (s->cut ? 0 : procs_requests(p, fds + 1));
    int step_ms;

    while ((step_ms = cli_limit_step(&l, cli_now_ms())) > 0) {
        if (poll(fds, n, step_ms) <= 0)
            continue;
        s->cut = s->cut || !fds[0].revents;
        if (s->cut)
            kill(s->pid, SIGKILL);
        return;
    }
    s->late = true;
    kill(s->pid, SIGKILL);
}

/* The process of the next member; 0: the server has not reported it. */
static pid_t read_member(const struct procs *p, struct server *s)
{
    char line[32];
    char *end;
    long pid;

    wait_report(p, s);
    if (s->late || !fgets(line, sizeof(line), s->from) || strtoul(line, &end, 10) != s->next ||
        *end != ' ')
        return 0;
    pid = strtol(end, &end, 10);
    return pid > 0 && pid <= INT_MAX && *end == '\n' ? (pid_t)pid : 0;
}

/* Adds the members that the server has forked, in the order of their numbers. */
static int add_members(struct procs *p, const struct ldvm *l, struct server *s, struct err *err)
{
    pid_t pid;

    while (s->next <= s->last && (pid = read_member(p, s)) > 0) {
        if (add_daemon(p, l, s->next, pid, err) < 0)
            return -1;
        s->next++;
    }
    return 0;
}

/* After this its members are children of this process. */
static int end_server(struct server *s, struct err *err)
{
    struct procs_event e = {.kind = PROCS_ENDED, .own = true};
    FREE_AUTO char *text = NULL;

    if (s->from)
        fclose(s->from);
    if (s->pid <= 0)
        return 0;
    while (waitpid(s->pid, &e.wait_status, 0) < 0) {
        if (errno != EINTR)
            return err_sys(err, errno, "the process that forks daemons");
    }
    text = s->late  ? xasprintf("has not reported vpid %u for %d s", s->next, REPORT_MS / 1000)
           : s->cut ? xstrdup("was interrupted")
           : e.wait_status      ? procs_event_text(&e)
           : s->next <= s->last ? xasprintf("has not reported vpid %u", s->next)
                                : NULL;
    return text ? err_set(err, "the process that forks the daemons of vpids %u to %u %s", s->first,
                          s->last, text)
                : 0;
}

/* The servers for these vpids; returns their number. */
static size_t plan_servers(const uint32_t *vpids, size_t n, struct server *out)
{
    size_t servers = 0;

    for (size_t i = 0; i < n; i++) {
        struct server *s = servers ? &out[servers - 1] : NULL;

        if (s && s->last + 1 == vpids[i] && forkserver_last(s->first, vpids[i]) == vpids[i])
            s->last = vpids[i];
        else
            out[servers++] = (struct server){.first = vpids[i], .last = vpids[i], .next = vpids[i]};
    }
    return servers;
}

/* All servers start before the first one is waited for. Also after an error the members that exist
 * are added, so that the caller can end them. */
static int run_servers(struct procs *p, const struct ldvm *l, struct server *s, size_t n,
                       const struct ldvm_ports *ports, struct err *err)
{
    struct err later = {0};
    size_t started = 0;
    int rc = 0;

    while (rc == 0 && started < n)
        rc = start_server(l, &s[started++], ports, err);
    for (size_t i = 0; i < started; i++) {
        if (s[i].pid > 0 && add_members(p, l, &s[i], rc < 0 ? &later : err) < 0)
            rc = -1;
        if (end_server(&s[i], rc < 0 ? &later : err) < 0)
            rc = -1;
    }
    return rc;
}

int procs_start_members(struct procs *p, const struct ldvm *l, const uint32_t *vpids, size_t n,
                        const struct ldvm_ports *ports, struct err *err)
{
    FREE_AUTO struct server *servers = xcalloc(n, sizeof(*servers));
    int before = 0;
    int rc;

    /* When a server ends, its members become children of this process, which can wait for them. */
    if (prctl(PR_GET_CHILD_SUBREAPER, &before) < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return err_sys(err, errno, "becoming the subreaper");
    rc = run_servers(p, l, servers, plan_servers(vpids, n, servers), ports, err);
    prctl(PR_SET_CHILD_SUBREAPER, before);
    return rc;
}
