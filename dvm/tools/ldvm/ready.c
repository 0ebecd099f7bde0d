/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits for daemons by inotify, pidfds and events; never polls.
 *
 * In: the head's session directory, the ends of processes, the head's events. Out: the head's join
 * port; later the fact that all members are wired.
 *
 * Order: ldvm_wait_ports() watches the directory before it reads the ports, so it misses no write.
 * ldvm_head_open() opens the event stream. ldvm_wait_wired() then reads the members once, and
 * events until none is missing. A member that is lost or departs counts as missing again.
 *
 * Failures: the end of a watched daemon (ECHILD) or a signal (EINTR) ends the wait. So do START_MS
 * without any event, and the end of the event stream. Nothing is ended or removed here; that is the
 * caller's part. */
#include "dvm/tools/ldvm/ready.h"

#include "base/buf/buf.h"
#include "dvm/tools/cli/call.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define START_MS 60000 /* time without any event: no daemon started, ended or was wired */

int ldvm_head_open(const char *dir, struct ldvm_head *h, struct err *err)
{
    CLI_WHERE_AUTO struct cli_where w = {.named = true};

    *h = (struct ldvm_head){0};
    w.dir = xstrdup(dir);
    w.path = xasprintf("%s/%s", dir, CLI_SOCKET_NAME);
    h->events = cli_connect(&w, err);
    if (h->events && cli_events_begin(h->events, err) == 0)
        h->calls = cli_connect(&w, err);
    if (h->calls)
        return 0;
    ldvm_head_close(h);
    return -1;
}

void ldvm_head_close(struct ldvm_head *h)
{
    cli_conn_free(h->events);
    cli_conn_free(h->calls);
    *h = (struct ldvm_head){0};
}

/* An event of a process while we wait for something else always ends the wait. */
static int on_procs(struct procs *p, const char *what, struct err *err)
{
    struct procs_event e;

    if (procs_next(p, 0, &e, err) < 0)
        return -1;
    if (e.kind == PROCS_SIGNAL)
        return err_code(err, EINTR, "interrupted %s", what);
    if (e.kind == PROCS_ENDED) {
        FREE_AUTO char *text = procs_event_text(&e);

        return err_code(err, ECHILD, "the daemon of vpid %u %s %s", e.vpid, text, what);
    }
    return 0;
}

static int wait_inotify(struct procs *p, int fd, struct err *err)
{
    struct pollfd pfd[2] = {{.fd = fd, .events = POLLIN}, {.fd = procs_fd(p), .events = POLLIN}};
    int n = poll(pfd, 2, START_MS);
    char events[4096];

    if (n < 0 && errno != EINTR)
        return err_sys(err, errno, "waiting for the head");
    if (n == 0)
        return err_code(err, ETIMEDOUT, "the head does not listen after %d s", START_MS / 1000);
    if (pfd[1].revents)
        return on_procs(p, "before it listened", err);
    if (pfd[0].revents && read(fd, events, sizeof(events)) < 0)
        return err_sys(err, errno, "inotify");
    return 0;
}

/* The kernel needs some 15 ms to give up a watch, and a close waits for that. So the watch is
 * removed now, which does not wait, and the descriptor is closed after the members have started. */
static void end_inotify(struct procs *p, int fd, int watch)
{
    if (watch >= 0)
        (void)inotify_rm_watch(fd, watch);
    procs_keep_fd(p, fd);
}

int ldvm_wait_ports(struct procs *p, const char *dir, struct ldvm_ports *out, struct err *err)
{
    FREE_AUTO char *session = xasprintf("%s/0", dir);
    int fd = inotify_init1(IN_CLOEXEC);
    int watch;
    int rc = 0;

    if (fd < 0)
        return err_sys(err, errno, "inotify_init1");
    watch = inotify_add_watch(fd, session, IN_CLOSE_WRITE | IN_MOVED_TO);
    if (watch < 0)
        rc = err_sys(err, errno, "watching %s", session);
    while (rc == 0) {
        struct err why = {0};

        if (ldvm_ports(dir, out, &why) == 0)
            break;
        /* The file is missing or incomplete. */
        rc = wait_inotify(p, fd, err);
    }
    end_inotify(p, fd, watch);
    return rc;
}

/* --- wired */

struct wired {
    bool *is; /* [members + 1] */
    uint32_t members;
    uint32_t missing;
};

static void set_wired(struct wired *w, uint32_t vpid, bool is)
{
    if (!vpid || vpid > w->members || w->is[vpid] == is)
        return;
    w->is[vpid] = is;
    w->missing += is ? -1u : 1u;
}

static int look_at_members(struct wired *w, struct ldvm_head *h, struct err *err)
{
    struct api_dvm d;

    if (cli_call_dvm(h->calls, &d, err) < 0)
        return -1;
    for (size_t i = 0; i < d.nmembers; i++)
        set_wired(w, d.members[i].vpid, d.members[i].state == MEMBER_WIRED);
    api_dvm_free(&d);
    return 0;
}

static int next_event(struct wired *w, struct procs *p, struct ldvm_head *h, struct err *err)
{
    struct api_event e;
    int got = cli_events_next_or(h->events, procs_fd(p), START_MS, &e, err);

    if (got < 0)
        return err_wrap(err, "%u of %u members are wired", w->members - w->missing, w->members);
    if (got == 0)
        return err_set(err, "the head has ended before all members were wired");
    if (got == 2)
        return on_procs(p, "before all members were wired", err);
    if (e.type == API_EVENT_DAEMON_WIRED)
        set_wired(w, e.vpid, true);
    else if (e.type == API_EVENT_DAEMON_LOST || e.type == API_EVENT_DAEMON_DEPARTED)
        set_wired(w, e.vpid, false);
    api_event_free(&e);
    return 0;
}

int ldvm_wait_wired(struct procs *p, struct ldvm_head *h, uint32_t members, struct err *err)
{
    struct wired w = {.members = members, .missing = members};
    int rc;

    w.is = xcalloc(members + 1, sizeof(*w.is));
    rc = look_at_members(&w, h, err);
    while (rc == 0 && w.missing)
        rc = next_event(&w, p, h, err);
    free(w.is);
    return rc;
}
