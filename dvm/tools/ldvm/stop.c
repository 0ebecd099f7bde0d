/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends a local DVM completely. */
#include "base/buf/buf.h"
#include "dvm/tools/cli/show.h"
#include "dvm/tools/cli/shutdown.h"
#include "dvm/tools/ldvm/ldvm.h"
#include "dvm/tools/ldvm/supervisor.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define LEAVE_MS 15000 /* for members that have been asked to leave */
#define TERM_MS 2000
#define KILL_MS 5000

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

/* patience_ms: how long daemons that have been asked to leave may take for it. */
static int end_all(struct procs *p, int patience_ms, struct err *err)
{
    FREE_AUTO uint32_t *vpids = NULL;
    FREE_AUTO char *text = NULL;

    if (procs_all_end(p, patience_ms, NULL, NULL))
        return 0;
    if (patience_ms > 0)
        fprintf(stderr, "prte: %zu daemons have not ended by themselves: ending them\n",
                procs_living(p));
    procs_kill(p, SIGTERM);
    procs_kill(p, SIGCONT); /* a stopped spawner must still end its ranks */
    if (procs_all_end(p, TERM_MS, NULL, NULL))
        return 0;
    procs_kill(p, SIGKILL);
    if (procs_all_end(p, KILL_MS, NULL, NULL))
        return 0;
    vpids = procs_vpids(p);
    text = show_vpids(vpids, procs_living(p));
    return err_set(err, "the daemons of vpids %s cannot be ended", text);
}

/* So nobody starts the head again. */
static int end_supervisor(const char *dir, struct err *err)
{
    const struct ldvm_daemon supervisor = {SUPERVISOR_VPID, ldvm_supervisor(dir)};
    struct procs *p = procs_create(false, err);
    int rc = -1;

    if (!p)
        return -1;
    if (!supervisor.pid || procs_adopt(p, &supervisor, err) == 0)
        rc = end_all(p, 0, err);
    procs_destroy(p);
    return rc;
}

static int left_of(int64_t until_ms)
{
    int64_t left = until_ms - procs_now_ms();

    return left > 0 ? (int)left : 0;
}

int ldvm_finish(const char *dir, struct procs *own, bool patient, struct err *err)
{
    int64_t until_ms = procs_now_ms() + (patient ? LEAVE_MS : 0); /* for all of them */
    struct procs *others = procs_create(false, err);
    int rc = -1;

    if (!others)
        return -1;
    if (end_supervisor(dir, err) < 0) {
        procs_destroy(others);
        return -1;
    }
    /* Children of this process are zombies until they are reaped, and only this process can do
     * that. */
    if ((!own || end_all(own, left_of(until_ms), err) == 0) && adopt_all(others, dir, err) == 0)
        rc = end_all(others, left_of(until_ms), err);
    /* If spawners had to be killed, their daemons are still about to end. */
    if (rc == 0)
        rc = adopt_all(others, dir, err);
    if (rc == 0)
        rc = end_all(others, left_of(until_ms), err);
    procs_destroy(others);
    return rc < 0 ? rc : ldvm_remove(dir, err);
}

int ldvm_stop(const char *dir, int64_t deadline_s, struct err *err)
{
    CLI_WHERE_AUTO struct cli_where w = {.named = true};
    struct err why = {0};
    struct cli_conn *c;
    bool asked;

    w.dir = xstrdup(dir);
    w.path = xasprintf("%s/%s", dir, CLI_SOCKET_NAME);
    c = cli_connect(&w, &why);
    asked = c && cli_shutdown(c, deadline_s, &why) == 0;
    cli_conn_free(c);
    if (!ldvm_is(dir))
        return asked ? 0 : err_code(err, why.code, "%s", why.msg);
    if (!asked)
        fprintf(stderr, "prte: %s: ending what is left of the DVM\n", why.msg);
    return ldvm_finish(dir, NULL, asked, err);
}
