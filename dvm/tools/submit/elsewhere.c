/* SPDX-License-Identifier: BSD-3-Clause */
/* The search for a daemon that takes a job. In: a name with several addresses, of which one has
 * answered that it takes no jobs now: it leaves, or has not joined yet. Out: a connection to
 * another. Addresses that have answered so are left out. When none is left, the list starts anew
 * after a pause, since daemons come and go while the DVM changes its size. */
#include "dvm/tools/submit/elsewhere.h"

#include "base/buf/buf.h"
#include "dvm/tools/submit/now.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#define PAUSE_MIN_MS 100
#define PAUSE_MAX_MS 2000

static void leave_out(struct cli_where *w)
{
    char *away = xasprintf("%s%s,", w->away ? w->away : "", w->address);

    free(w->away);
    free(w->address);
    w->away = away;
    w->address = NULL;
}

static void start_anew(struct cli_where *w)
{
    free(w->away);
    w->away = NULL;
}

/* False: a signal has come. */
static bool pause_for(int signals, int64_t ms)
{
    struct pollfd p = {.fd = signals, .events = POLLIN};

    return poll(&p, 1, (int)ms) <= 0; /* a stop of this program interrupts it too */
}

struct cli_conn *elsewhere_connect(struct cli_where *where, int signals, int64_t until,
                                   struct err *err)
{
    int64_t pause = PAUSE_MIN_MS;

    if (where->address)
        leave_out(where);
    for (;;) {
        struct err why = {0};
        struct cli_conn *c = cli_connect_or(where, signals, &why);

        if (c)
            return c;
        start_anew(where);
        if (why.code == EINTR || why.code == EACCES)
            *err = why;
        if (err->code || submit_now_ms() + pause >= until)
            return NULL;
        if (!pause_for(signals, pause)) {
            err_code(err, EINTR, "interrupted");
            return NULL;
        }
        pause = 2 * pause < PAUSE_MAX_MS ? 2 * pause : PAUSE_MAX_MS;
    }
}
