/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts a local DVM as a whole or not at all, and serves one in the foreground.
 *
 * In: directory, size and limits; in the foreground, ends of daemons, signals and words of a peer
 * (guard.c). Out: the processes of a DVM whose members are all wired; later the removal of its
 * directory.
 *
 * Order of a start: lock, directory, certificates, head, its port, members, all wired, supervisor.
 * The lock is held until the DVM is ready or removed. A DVM with a living daemon is refused by
 * ldvm_make().
 *
 * Failures: if a step after ldvm_make() fails, the daemons are killed and the directory is removed.
 * The caller gets the last TAIL_BYTES of one log: that of the first vpid whose daemon has ended and
 * has logged. Daemons that have not ended are given up after KILLED_MS.
 *
 * In the foreground the first signal asks the head to end the DVM, in a process of its own, since
 * that blocks. If it fails, or the head has not ended in time, ldvm_finish() ends all daemons. A
 * further signal sends SIGKILL. When the head has ended for good, so has its supervisor, and
 * ldvm_finish() ends the rest; a signal ends its patience. If the supervisor was killed, the head's
 * end counts.
 *
 * A peer that is in a hurry, or has ended, is the same as a signal, but all processes have HURRY_MS
 * to end. Then all descendants of this program get SIGKILL. */
#include "base/buf/buf.h"
#include "dvm/tools/cli/say.h"
#include "dvm/tools/cli/shutdown.h"
#include "dvm/tools/ldvm/certs.h"
#include "dvm/tools/ldvm/ldvm.h"
#include "dvm/tools/ldvm/procs_private.h"
#include "dvm/tools/ldvm/ready.h"
#include "dvm/tools/ldvm/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TAIL_BYTES 2048
#define CLUSTER_CHARS 40
#define CLUSTER_PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
#define KILLED_MS 10000
#define HURRY_MS 2500 /* more than the grace of a job's ranks; with SWEEP_MS less than 5 s */
#define SWEEP_MS 2000
#define ASKER (UINT32_MAX - 1) /* stands for the vpid of the process that asks the head to end */

/* prted stands beside this program. */
static char *find_prted(struct err *err)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *path;

    if (n < 0) {
        err_sys(err, errno, "/proc/self/exe");
        return NULL;
    }
    self[n] = '\0';
    path = xasprintf("%s/prted", dirname(self));
    if (access(path, X_OK) == 0)
        return path;
    err_sys(err, errno, "the daemon's program %s", path);
    free(path);
    return NULL;
}

/* FNV-1a */
static uint32_t hash_text(const char *text)
{
    uint32_t h = 2166136261u;

    while (*text)
        h = (h ^ (unsigned char)*text++) * 16777619u;
    return h;
}

/* The name stands in certificates, whose fields have 64 characters at most, and in JSON. So it has
 * CLUSTER_CHARS of the directory's last part, and a hash if these do not say it all. */
static char *name_cluster(const char *dir)
{
    const char *slash = strrchr(dir, '/');
    const char *last = slash && slash[1] ? slash + 1 : "dvm";
    FREE_AUTO char *plain = xasprintf("%.*s", CLUSTER_CHARS, last);

    for (char *c = plain; *c; c++) {
        if (!strchr(CLUSTER_PLAIN, *c))
            *c = '_';
    }
    return strcmp(plain, last) == 0 ? xasprintf("local/%s", plain)
                                    : xasprintf("local/%s-%08x", plain, hash_text(last));
}

static int fill_options(const struct ldvm_start_opts *o, struct ldvm *l, struct err *err)
{
    *l = (struct ldvm){.slots = o->slots, .radix = o->radix, .faults = o->faults};
    l->prted = find_prted(err);
    if (!l->prted)
        return -1;
    l->dir = xstrdup(o->dir);
    l->cluster = name_cluster(o->dir);
    return 0;
}

static int start_all(struct procs *p, const struct ldvm *l, uint32_t members, struct err *err)
{
    LDVM_HEAD_AUTO struct ldvm_head h = {0};
    FREE_AUTO uint32_t *vpids = xcalloc(members, sizeof(*vpids));
    const struct ldvm_ports any = {0};
    struct ldvm_ports ports;

    for (uint32_t i = 0; i < members; i++)
        vpids[i] = i + 1;
    if (procs_start(p, l, 0, members, &any, err) < 0 ||
        ldvm_wait_ports(p, l->dir, &ports, err) < 0 ||
        procs_start_members(p, l, vpids, members, &ports, err) < 0)
        return -1;
    if (ldvm_head_open(l->dir, &h, err) < 0)
        return -1;
    return ldvm_wait_wired(p, &h, members, err);
}

/* The last bytes of the log of one daemon that has ended (the lowest vpid whose log is not empty),
 * on the heap; "": no daemon has ended. */
static char *log_tail(const char *dir, uint32_t members)
{
    char text[TAIL_BYTES + 1] = "";
    size_t n = 0;

    for (uint32_t vpid = 0; vpid <= members && !n; vpid++) {
        FREE_AUTO char *path = ldvm_path(dir, vpid, "prted.log");
        FILE *f = ldvm_pid(dir, vpid) ? NULL : fopen(path, "re");

        if (!f)
            continue;
        if (fseek(f, -TAIL_BYTES, SEEK_END) < 0)
            rewind(f);
        n = fread(text, 1, TAIL_BYTES, f);
        fclose(f);
    }
    text[n] = '\0';
    return xstrdup(text);
}

/* It is watched as the daemons are. */
static int start_supervisor(struct procs *p, const struct ldvm *l, uint32_t members,
                            struct err *err)
{
    pid_t pid = supervisor_start(l, members, err);

    return pid < 0 ? -1 : procs_add(p, SUPERVISOR_VPID, pid, true, err);
}

/* Of a start that has failed. Members that no server has reported are descendants too. */
static void kill_started(struct procs *p)
{
    int64_t until_ms = procs_now_ms() + KILLED_MS;
    struct procs_event e;

    procs_kill(p, SIGKILL);
    (void)procs_kill_descendants(SWEEP_MS);
    while (procs_living(p) && procs_now_ms() < until_ms &&
           procs_next(p, (int)(until_ms - procs_now_ms()), &e, NULL) == 0)
        ;
}

struct procs *ldvm_start(const struct ldvm_start_opts *o, bool catch_signals, char **log,
                         struct err *err)
{
    LDVM_AUTO struct ldvm l = {0};
    struct err left = {0};
    struct procs *p;
    int lock;

    *log = xstrdup("");
    if (fill_options(o, &l, err) < 0 || (lock = ldvm_lock(l.dir, err)) < 0)
        return NULL;
    p = procs_create(catch_signals, err);
    if (!p || (o->peer && procs_watch_peer(p, o->peer, err) < 0) || ldvm_make(&l, err) < 0)
        goto error;
    if (ldvm_certs(&l, err) == 0 && start_all(p, &l, o->members, err) == 0 &&
        start_supervisor(p, &l, o->members, err) == 0) {
        close(lock);
        return p;
    }
    free(*log);
    *log = log_tail(l.dir, o->members);
    kill_started(p);
    if (ldvm_remove(l.dir, &left) < 0)
        cli_say(STDERR_FILENO, "prte", "%s", left.msg);
error:
    procs_destroy(p);
    close(lock);
    return NULL;
}

/* --- the foreground */

static int ask_to_end(const char *dir, bool hurry, struct err *err)
{
    CLI_WHERE_AUTO struct cli_where w = {.named = true};
    struct cli_limit l =
        hurry ? cli_limit_begin(cli_now_ms(), HURRY_MS, NULL, NULL) : ldvm_stop_limit(dir);
    struct cli_conn *c;
    int rc;

    w.dir = xstrdup(dir);
    w.path = xasprintf("%s/%s", dir, CLI_SOCKET_NAME);
    c = cli_connect(&w, err);
    if (!c)
        return -1;
    rc = cli_shutdown_ask(c, 0, &l, err) < 0 ? -1 : cli_shutdown_wait(c, &l, err);
    cli_conn_free(c);
    return rc;
}

/* ASKER ends with 0 when the head has ended. */
static int start_asker(struct procs *p, const char *dir, bool hurry, struct err *err)
{
    struct err why = {0};
    pid_t pid = fork();

    if (pid < 0)
        return err_sys(err, errno, "fork");
    if (pid == 0) {
        if (ask_to_end(dir, hurry, &why) == 0)
            _exit(EXIT_SUCCESS);
        if (!hurry)
            cli_say(STDERR_FILENO, "prte", "%s", why.msg);
        _exit(EXIT_FAILURE);
    }
    return procs_add(p, ASKER, pid, true, err);
}

/* The supervisor is the first: it would start the head again. */
static void kill_all(struct procs *p, const char *dir)
{
    pid_t supervisor = ldvm_supervisor(dir);

    if (supervisor)
        kill(supervisor, SIGKILL);
    procs_kill(p, SIGKILL);
}

/* Whether this program waits further: for the supervisor, or for the head if that has none; in a
 * hurry for all. */
struct attended {
    bool supervised, head;
    bool late; /* the head was asked to end, and has not ended: it is not waited for any more */
    int ends;  /* how often the user has asked for the end */
    int64_t hurry_at_ms; /* 0: no hurry */
};

static void on_end_request(struct procs *p, const char *dir, struct attended *a)
{
    struct err err = {0};

    if (++a->ends > 1)
        kill_all(p, dir);
    else
        a->late = start_asker(p, dir, a->hurry_at_ms > 0, &err) < 0;
}

/* Nobody needs messages any more, and a full pipe would block them. */
static void close_messages(void)
{
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (fd >= 0)
        dup2(fd, STDERR_FILENO);
}

static void on_peer(struct procs *p, const char *dir, struct attended *a, char word)
{
    if (!word)
        close_messages();
    if (word == LDVM_KILL)
        a->hurry_at_ms = procs_now_ms();
    else if (word != LDVM_END && !a->hurry_at_ms)
        a->hurry_at_ms = procs_now_ms() + HURRY_MS;
    if (!a->ends)
        on_end_request(p, dir, a);
}

static void on_end(struct procs *p, const struct procs_event *e, struct attended *a)
{
    FREE_AUTO char *text = procs_event_text(e);

    if (e->vpid == SUPERVISOR_VPID) {
        a->supervised = false;
    } else if (e->vpid == ASKER) {
        a->late = e->wait_status != 0;
    } else if (!a->hurry_at_ms && (!e->own || e->wait_status)) {
        fprintf(stderr, "prte: the daemon of vpid %u %s\n", e->vpid, text);
    }
    if (e->vpid == 0)
        a->head = false;
}

/* The supervisor has ended. A head that it has started is not among our processes. */
static int watch_head(struct procs *p, const char *dir, struct attended *a, struct err *err)
{
    struct ldvm_daemon head = {0, a->head ? 0 : ldvm_pid(dir, 0)};

    if (!head.pid)
        return 0;
    a->head = true;
    return procs_adopt(p, &head, err);
}

static bool is_attending(const struct procs *p, const struct attended *a)
{
    if (a->hurry_at_ms)
        return procs_living(p) > 0 && procs_now_ms() < a->hurry_at_ms;
    return !a->late && (a->supervised || a->head);
}

static int attend_event(struct procs *p, const char *dir, struct attended *a, struct err *err)
{
    int64_t left_ms = a->hurry_at_ms ? a->hurry_at_ms - procs_now_ms() : -1;
    struct procs_event e;

    if (procs_next(p, a->hurry_at_ms && left_ms < 0 ? 0 : (int)left_ms, &e, err) < 0)
        return -1;
    if (e.kind == PROCS_SIGNAL)
        on_end_request(p, dir, a);
    else if (e.kind == PROCS_PEER)
        on_peer(p, dir, a, e.word);
    else if (e.kind == PROCS_ENDED)
        on_end(p, &e, a);
    if (e.kind == PROCS_ENDED && e.vpid == SUPERVISOR_VPID)
        return watch_head(p, dir, a, err);
    return 0;
}

int ldvm_attend(struct procs *p, const char *dir, struct err *err)
{
    struct attended a = {.supervised = true, .head = true};
    struct cli_limit l;

    while (is_attending(p, &a)) {
        if (attend_event(p, dir, &a, err) < 0)
            return -1;
    }
    if (a.hurry_at_ms)
        (void)procs_kill_descendants(SWEEP_MS);
    l = ldvm_stop_limit(dir);
    return ldvm_finish(dir, p, a.late || a.hurry_at_ms ? NULL : &l, err);
}
