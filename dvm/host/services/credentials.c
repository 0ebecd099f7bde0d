/* SPDX-License-Identifier: BSD-3-Clause */
/* Credentials of ranks and tools: made here for those that are connected here, checked for anybody.
 */
#include "dvm/host/cred/sign.h"
#include "dvm/host/daemon_private.h"

#include "base/log/log.h"

#include <pmix_common.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

void dcred_get(pmix_req req, const struct pmix_srv_holder *who, void *arg)
{
    struct daemon *d = arg;
    struct cred k = {.rank = who->proc.rank, .uid = who->uid, .gid = who->gid, .tool = who->tool};
    struct buf b BUF_AUTO = {0};
    struct err err = {0};

    buf_init(&b, CRED_MAX);
    memccpy(k.incarnation, core_incarnation(d->core), 0, sizeof k.incarnation - 1);
    memccpy(k.nspace, who->proc.nspace, 0, sizeof k.nspace - 1);
    if (!*k.incarnation) {
        pmix_srv_answer(d->pmix, req, PMIX_ERR_UNREACH, NULL, 0);
    } else if (cred_sign(d->tls, &k, loop_wall_ms(), &b, &err) < 0) {
        log_error("for job %s rank %u: %s", k.nspace, k.rank, err.msg);
        pmix_srv_answer(d->pmix, req, PMIX_ERROR, NULL, 0);
    } else {
        pmix_srv_answer(d->pmix, req, PMIX_SUCCESS, b.data, b.len);
    }
}

struct cred_check { /* a good credential of a rank, whose job may be over */
    pmix_req req;
    struct pmix_srv_holder who;
    struct cred_check *next, *prev;
};

static void forget(struct daemon *d, struct cred_check *c)
{
    DL_DELETE(d->cred_checks, c);
    free(c);
}

void dcred_free_all(struct daemon *d)
{
    while (d->cred_checks)
        forget(d, d->cred_checks);
}

static void on_job_known(struct daemon *d, bool known, void *arg)
{
    struct cred_check *c = arg;
    const struct job_launch *l = foreign_job(d, c->who.proc.nspace);
    bool there = c->who.tool || (known && l && c->who.proc.rank < l->nranks);

    pmix_srv_cred_answer(d->pmix, c->req, there ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND, &c->who);
    forget(d, c);
}

/* The head is asked about a job only on the word of a daemon. */
void dcred_check(pmix_req req, const void *data, size_t len, void *arg)
{
    struct daemon *d = arg;
    struct err err = {0};
    struct cred_check *c;
    struct cred k;

    if (cred_check(d->tls, d->opts.cluster, core_incarnation(d->core), loop_wall_ms(), data, len,
                   &k, &err) < 0) {
        log_info("a credential is refused: %s", err.msg);
        pmix_srv_cred_answer(d->pmix, req, PMIX_ERR_INVALID_CRED, NULL);
        return;
    }
    c = xcalloc(1, sizeof *c);
    c->req = req;
    c->who =
        (struct pmix_srv_holder){.proc.rank = k.rank, .uid = k.uid, .gid = k.gid, .tool = k.tool};
    memccpy(c->who.proc.nspace, k.nspace, 0, sizeof c->who.proc.nspace - 1);
    DL_APPEND(d->cred_checks, c);
    foreign_learn(d, &c->who.proc, k.tool ? 0 : 1, on_job_known, c);
}
