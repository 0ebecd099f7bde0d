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
 * Failures: the end of a watched daemon (ECHILD) or a request of the user (EINTR) ends the wait. So
 * do START_MS until the head listens, START_MS in which no further member is wired, and the end of
 * the event stream. The message names the members that are missing. Nothing is ended or removed
 * here; that is the caller's part. */
#include "dvm/tools/ldvm/ready.h"

#include "base/buf/buf.h"
#include "dvm/tools/cli/call.h"
#include "dvm/tools/cli/show.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define START_MS 60000

static char *show_answer(void *arg)
{
    return xstrdup("an answer of the head");
}

struct cli_limit ldvm_call_limit(void)
{
    return cli_limit_begin(cli_now_ms(), CLI_CALL_TIMEOUT_MS, show_answer, NULL);
}

int ldvm_head_open(const char *dir, struct ldvm_head *h, struct err *err)
{
    CLI_WHERE_AUTO struct cli_where w = {.named = true};
    struct cli_limit l = ldvm_call_limit();

    *h = (struct ldvm_head){0};
    w.dir = xstrdup(dir);
    w.path = xasprintf("%s/%s", dir, CLI_SOCKET_NAME);
    h->events = cli_connect(&w, err);
    if (h->events && cli_events_begin_limit(h->events, &l, err) == 0)
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
    if (procs_is_request(&e))
        return err_code(err, EINTR, "interrupted %s", what);
    if (e.kind == PROCS_ENDED) {
        FREE_AUTO char *text = procs_event_text(&e);

        return err_code(err, ECHILD, "the daemon of vpid %u %s %s", e.vpid, text, what);
    }
    return 0;
}

static char *show_listening(void *arg)
{
    return xstrdup("the head to listen");
}

static int wait_inotify(struct procs *p, int fd, struct cli_limit *l, struct err *err)
{
    struct pollfd pfd[2] = {{.fd = fd, .events = POLLIN}, {.fd = procs_fd(p), .events = POLLIN}};
    int step_ms = cli_limit_step(l, cli_now_ms());
    char events[4096];

    if (step_ms == 0)
        return err_code(err, ETIMEDOUT, "the head does not listen after %d s", START_MS / 1000);
    if (poll(pfd, 2, step_ms) < 0 && errno != EINTR)
        return err_sys(err, errno, "waiting for the head");
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
    struct cli_limit l = cli_limit_begin(cli_now_ms(), START_MS, show_listening, NULL);
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
        rc = wait_inotify(p, fd, &l, err);
    }
    end_inotify(p, fd, watch);
    return rc;
}

/* --- wired */

struct wired {
    bool *is; /* [members + 1] */
    uint32_t members;
    uint32_t missing;
    uint32_t fewest; /* that were missing at any time */
    struct cli_limit limit;
};

static void set_wired(struct wired *w, uint32_t vpid, bool is)
{
    if (!vpid || vpid > w->members || w->is[vpid] == is)
        return;
    w->is[vpid] = is;
    w->missing += is ? -1u : 1u;
    if (w->missing >= w->fewest)
        return;
    w->fewest = w->missing;
    cli_limit_renew(&w->limit, cli_now_ms());
}

static char *show_missing(const struct wired *w)
{
    FREE_AUTO uint32_t *vpids = xcalloc(w->missing + 1, sizeof(*vpids));
    size_t n = 0;

    for (uint32_t vpid = 1; vpid <= w->members; vpid++) {
        if (!w->is[vpid])
            vpids[n++] = vpid;
    }
    return show_vpids(vpids, n);
}

static char *show_wait(void *arg)
{
    FREE_AUTO char *vpids = show_missing(arg);

    return xasprintf("the members of vpids %s to join, each after the one before", vpids);
}

static int look_at_members(struct wired *w, struct ldvm_head *h, struct err *err)
{
    struct api_dvm d;

    if (cli_call_dvm_limit(h->calls, &w->limit, &d, err) < 0)
        return -1;
    for (size_t i = 0; i < d.nmembers; i++)
        set_wired(w, d.members[i].vpid, d.members[i].state == MEMBER_WIRED);
    api_dvm_free(&d);
    return 0;
}

static int next_event(struct wired *w, struct procs *p, struct ldvm_head *h, struct err *err)
{
    struct api_event e;
    int got = cli_events_next_or(h->events, procs_fd(p), &w->limit, &e, err);

    if (got < 0 && err->code == ETIMEDOUT)
        return err_code(err, ETIMEDOUT, "no further member has joined for %d s", START_MS / 1000);
    if (got < 0)
        return -1;
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
    struct wired w = {.members = members, .missing = members, .fewest = members};
    int rc;

    w.is = xcalloc(members + 1, sizeof(*w.is));
    w.limit = cli_limit_begin(cli_now_ms(), START_MS, show_wait, &w);
    rc = look_at_members(&w, h, err);
    while (rc == 0 && w.missing)
        rc = next_event(&w, p, h, err);
    if (rc < 0) {
        FREE_AUTO char *vpids = show_missing(&w);

        rc = err_wrap(err, "%u of %u members are wired, those of vpids %s are missing",
                      members - w.missing, members, vpids);
    }
    free(w.is);
    return rc;
}
