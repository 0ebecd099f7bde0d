/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends a local DVM completely, within a limit.
 *
 * In: a request of the user; the ends of processes. Out: no process of the DVM and no directory.
 *
 * Order: the head gets PUT /v1/shutdown. It has CLI_SHUTDOWN_MS to answer, and the whole DVM has
 * the deadline of the jobs and CLI_SHUTDOWN_MS from the request on to end by itself. When the head
 * has ended, the others have LEAVE_MS, but not more than is left. Then the supervisor is ended, so
 * that it starts no other head. All processes that remain at the limit get SIGTERM together, and
 * SIGKILL TERM_MS later. These processes are spawners: their daemons have ORPHANS_MS more.
 *
 * After a second the user is told which daemons live and what the limit is.
 *
 * Failures: a head that does not answer has its DVM ended by signals. A process that lives KILL_MS
 * after SIGKILL is an error, and the directory then stays. */
#include "base/buf/buf.h"
#include "dvm/tools/cli/say.h"
#include "dvm/tools/cli/show.h"
#include "dvm/tools/cli/shutdown.h"
#include "dvm/tools/ldvm/ldvm.h"
#include "dvm/tools/ldvm/supervisor.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define LEAVE_MS 10000 /* a daemon that leaves ends within this time, unless it hangs */
#define TERM_MS 2000
#define KILL_MS 5000
#define ORPHANS_MS 3000 /* a daemon without its spawner ends within this time, unless it hangs */

/* Shared by all processes that are waited for one after the other. */
struct ending {
    struct cli_limit *self; /* until then they may end by themselves */
    int64_t kill_at_ms;     /* 0: no process has got SIGTERM yet */
    int64_t give_up_at_ms;  /* 0: no process has got SIGKILL yet */
    bool quiet;             /* that they are ended by signals is no news */
};

static int adopt_all(struct procs *p, const char *dir, struct err *err)
{
    FREE_AUTO struct ldvm_daemon *list = NULL;
    size_t n = ldvm_daemons(dir, &list);

    for (size_t i = 0; i < n; i++) {
        if (procs_adopt(p, &list[i], err) < 0)
            return -1;
    }
    return 0;
}

/* A request of the user ends their patience. */
static bool wait_own_ends(struct procs *p, struct cli_limit *l)
{
    int step_ms;

    while (procs_living(p) && (step_ms = cli_limit_step(l, cli_now_ms())) > 0) {
        struct procs_event e;

        if (procs_next(p, step_ms, &e, NULL) < 0 || procs_is_request(&e))
            cli_limit_shorten(l, cli_now_ms(), 0);
    }
    return procs_living(p) == 0;
}

/* Waits until the time in *at_ms, which is set by the first call. */
static bool wait_signalled(struct procs *p, int64_t *at_ms, int64_t after_ms)
{
    int64_t now_ms = cli_now_ms();

    if (!*at_ms)
        *at_ms = now_ms + after_ms;
    return procs_all_end(p, *at_ms > now_ms ? (int)(*at_ms - now_ms) : 0, NULL, NULL);
}

static char *living_vpids(const struct procs *p)
{
    FREE_AUTO uint32_t *vpids = procs_vpids(p);

    return show_vpids(vpids, procs_living(p));
}

static int end_all(struct procs *p, struct ending *e, struct err *err)
{
    FREE_AUTO char *text = NULL;

    if (wait_own_ends(p, e->self))
        return 0;
    text = living_vpids(p);
    if (!e->quiet)
        fprintf(stderr, "%s: the daemons of vpids %s have not ended by themselves: ending them\n",
                program_invocation_short_name, text);
    procs_kill(p, SIGTERM);
    procs_kill(p, SIGCONT); /* a stopped spawner must still end its ranks */
    if (wait_signalled(p, &e->kill_at_ms, TERM_MS))
        return 0;
    procs_kill(p, SIGKILL);
    if (wait_signalled(p, &e->give_up_at_ms, KILL_MS))
        return 0;
    free(text);
    text = living_vpids(p);
    return err_set(err, "the daemons of vpids %s cannot be ended", text);
}

/* So nobody starts the head again. */
static int end_supervisor(const char *dir, struct err *err)
{
    const struct ldvm_daemon supervisor = {SUPERVISOR_VPID, ldvm_supervisor(dir)};
    struct cli_limit now = {0};
    struct ending e = {.self = &now, .quiet = true};
    struct procs *p = procs_create(false, err);
    int rc = -1;

    if (!p)
        return -1;
    if (!supervisor.pid || procs_adopt(p, &supervisor, err) == 0)
        rc = end_all(p, &e, err);
    procs_destroy(p);
    return rc;
}

static int end_processes(const char *dir, struct procs *own, struct ending *e, struct err *err)
{
    struct procs *others = procs_create(false, err);
    int rc = -1;

    if (!others)
        return -1;
    /* Children of this process are zombies until they are reaped, and only this process can do
     * that. */
    if (end_supervisor(dir, err) == 0 && (!own || end_all(own, e, err) == 0) &&
        adopt_all(others, dir, err) == 0)
        rc = end_all(others, e, err);
    /* If spawners had to be killed, their daemons are still about to end: they kill what the ranks
     * have left behind. */
    if (rc == 0)
        rc = adopt_all(others, dir, err);
    if (procs_living(others))
        *e->self = cli_limit_begin(cli_now_ms(), ORPHANS_MS, NULL, NULL);
    if (rc == 0)
        rc = end_all(others, e, err);
    procs_destroy(others);
    return rc;
}

/* --- the request */

static char *show_living(void *arg)
{
    struct procs *p = procs_create(false, NULL);
    FREE_AUTO char *vpids = p && adopt_all(p, arg, NULL) == 0 ? living_vpids(p) : NULL;

    procs_destroy(p);
    return xasprintf("the daemons of vpids %s to end", vpids ? vpids : "-");
}

struct cli_limit ldvm_stop_limit(const char *dir)
{
    return cli_limit_begin(cli_now_ms(), CLI_SHUTDOWN_MS, show_living, (void *)dir);
}

int ldvm_finish(const char *dir, struct procs *own, struct cli_limit *l, struct err *err)
{
    struct cli_limit none = {0};
    struct ending e = {.self = l ? l : &none, .quiet = !l};

    cli_limit_shorten(e.self, cli_now_ms(), LEAVE_MS);
    return end_processes(dir, own, &e, err) < 0 ? -1 : ldvm_remove(dir, err);
}

/* The head has accepted. A head that has not ended in time is ended with the others. Takes `c`: the
 * head's process waits for some time until its clients have closed their connections. */
static int wait_and_finish(const char *dir, struct cli_conn *c, struct cli_limit *l,
                           struct err *err)
{
    struct err why = {0};

    (void)!cli_shutdown_wait(c, l, &why);
    cli_conn_free(c);
    /* The prte in whose foreground the DVM ran may have removed it. */
    return ldvm_is(dir) ? ldvm_finish(dir, NULL, l, err) : 0;
}

int ldvm_shutdown(const char *dir, struct cli_conn *c, int64_t deadline_s, struct err *err)
{
    struct cli_limit l = ldvm_stop_limit(dir);

    if (cli_shutdown_ask(c, deadline_s, &l, err) == 0)
        return wait_and_finish(dir, c, &l, err);
    cli_conn_free(c);
    return -1;
}

int ldvm_stop(const char *dir, int64_t deadline_s, struct err *err)
{
    CLI_WHERE_AUTO struct cli_where w = {.named = true};
    struct cli_limit l = ldvm_stop_limit(dir);
    struct err why = {0};
    struct cli_conn *c;

    w.dir = xstrdup(dir);
    w.path = xasprintf("%s/%s", dir, CLI_SOCKET_NAME);
    c = cli_connect(&w, &why);
    if (c && cli_shutdown_ask(c, deadline_s, &l, &why) == 0)
        return wait_and_finish(dir, c, &l, err);
    cli_conn_free(c);
    if (!ldvm_is(dir))
        return err_code(err, why.code, "%s", why.msg);
    cli_say(STDERR_FILENO, program_invocation_short_name, "%s: ending what is left of the DVM",
            why.msg);
    return ldvm_finish(dir, NULL, NULL, err);
}
