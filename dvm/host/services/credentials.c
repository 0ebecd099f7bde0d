/* SPDX-License-Identifier: BSD-3-Clause */
/* Credentials of ranks and tools: made here for processes that are connected here, checked for any
 * process. */
#include "dvm/host/services/credentials.h"

#include "base/log/log.h"
#include "dvm/host/cred/sign.h"

#include <pmix_common.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct check { /* a credential with a valid signature, while the job of its holder is looked up */
    struct credentials *s;
    pmix_req req;
    struct pmix_srv_holder who;
    struct check *next, *prev;
};

struct credentials {
    const struct host_env *env;
    const struct tls_ctx *tls;
    struct core *core;
    struct pmix_srv *pmix;
    const struct host_jobs *jobs;
    struct check *checks;
};

void credentials_make(struct credentials *s, pmix_req req, const struct pmix_srv_holder *who)
{
    struct cred k = {.rank = who->proc.rank, .uid = who->uid, .gid = who->gid, .tool = who->tool};
    BUF_AUTO struct buf b = {0};
    struct err err = {0};

    buf_init(&b, CRED_MAX);
    memccpy(k.incarnation, core_incarnation(s->core), 0, sizeof(k.incarnation) - 1);
    memccpy(k.nspace, who->proc.nspace, 0, sizeof(k.nspace) - 1);
    if (!*k.incarnation) {
        pmix_srv_answer(s->pmix, req, PMIX_ERR_UNREACH, NULL, 0);
    } else if (cred_sign(s->tls, &k, loop_wall_ms(), &b, &err) < 0) {
        log_error("for job %s rank %u: %s", k.nspace, k.rank, err.msg);
        pmix_srv_answer(s->pmix, req, PMIX_ERROR, NULL, 0);
    } else {
        pmix_srv_answer(s->pmix, req, PMIX_SUCCESS, b.data, b.len);
    }
}

static void free_check(struct check *c)
{
    DL_DELETE(c->s->checks, c);
    free(c);
}

static void on_job_known(bool known, void *waiter)
{
    struct check *c = waiter;
    const struct job_launch *l = host_job_find(c->s->jobs, c->who.proc.nspace);
    bool runs = c->who.tool || (known && l && c->who.proc.rank < l->nranks);

    pmix_srv_cred_answer(c->s->pmix, c->req, runs ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND, &c->who);
    free_check(c);
}

/* The signature is checked first: bytes that no daemon has signed cause no question to the head. */
void credentials_check(struct credentials *s, pmix_req req, const void *data, size_t len)
{
    struct err err = {0};
    struct check *c;
    struct cred k;

    if (cred_check(s->tls, s->env->cluster, core_incarnation(s->core), loop_wall_ms(), data, len,
                   &k, &err) < 0) {
        log_info("a credential is refused: %s", err.msg);
        pmix_srv_cred_answer(s->pmix, req, PMIX_ERR_INVALID_CRED, NULL);
        return;
    }
    c = xcalloc(1, sizeof(*c));
    c->s = s;
    c->req = req;
    c->who =
        (struct pmix_srv_holder){.proc.rank = k.rank, .uid = k.uid, .gid = k.gid, .tool = k.tool};
    memccpy(c->who.proc.nspace, k.nspace, 0, sizeof(c->who.proc.nspace) - 1);
    DL_APPEND(s->checks, c);
    host_jobs_learn(s->jobs, &c->who.proc, k.tool ? 0 : 1, on_job_known, c);
}

/* --- construction and destruction */

struct credentials *credentials_create(const struct host_env *env, const struct tls_ctx *tls,
                                       struct core *core, struct pmix_srv *pmix,
                                       const struct host_jobs *jobs)
{
    struct credentials *s = xcalloc(1, sizeof(*s));

    *s = (struct credentials){.env = env, .tls = tls, .core = core, .pmix = pmix, .jobs = jobs};
    return s;
}

void credentials_destroy(struct credentials *s)
{
    if (!s)
        return;
    while (s->checks)
        free_check(s->checks);
    free(s);
}
