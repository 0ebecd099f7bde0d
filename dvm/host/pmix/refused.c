/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that the library turns away, since their own PMIx library is too old.
 *
 * In: the library's call for such a rank. Out: one line for each rank, in the daemon's log and in
 * the errors of the job. The rank itself only sees a closed connection. */
#include "base/log/log.h"
#include "dvm/host/pmix/pmix_private.h"

#include <stdio.h>
#include <string.h>

#define VERSION_MAX 24 /* bytes of the client's text that are shown */

static void run_refused(struct pmix_srv *p, struct upcall *u)
{
    struct job *j = job_find(p, u->nspace);
    const struct job_launch *l = j ? j->launch : NULL;
    FREE_AUTO char *line = NULL;

    if (!j || !job_is_local(j, u->rank) || j->ranks[u->rank].refused)
        return;
    j->ranks[u->rank].refused = true; /* a client may try again and again */
    line =
        xasprintf("rank %u (%s): its PMIx library %s cannot talk to this DVM, which needs version "
                  "4 or later\n",
                  u->rank, l->spec.apps[l->rank_app[u->rank]].argv[0], u->text);
    log_warn("pmix: job %s %.*s", u->nspace, (int)strlen(line) - 1, line);
    if (p->up.on_log)
        p->up.on_log(pmix_srv_add_request(p, &u->answer), u->nspace, u->rank, 2, line, p->arg);
}

void refused_on_client(const pmix_proc_t *rank, const char *version)
{
    struct upcall *u = pmix_srv_upcall_new(run_refused);
    size_t len = strspn(version, "0123456789.");

    if (!u)
        return;
    snprintf(u->nspace, sizeof(u->nspace), "%s", rank->nspace);
    u->rank = rank->rank;
    u->text = xasprintf("%.*s", (int)(len < VERSION_MAX ? len : VERSION_MAX), version);
    u->answer = (struct answer){.kind = ANSWER_NONE};
    pmix_srv_upcall_post(u);
}
