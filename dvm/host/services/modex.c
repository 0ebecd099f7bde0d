/* SPDX-License-Identifier: BSD-3-Clause */
/* Data of ranks on other daemons: direct modex, and the data store of the head. */
#include "dvm/host/services/modex.h"

#include <pmix_common.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct fetch { /* a request that waits until the job of its rank is known here */
    struct modex *m;
    pmix_req req;
    struct pmix_srv_proc proc;
    int timeout_s;
    struct fetch *next, *prev;
};

struct modex {
    const struct core *core;
    struct pmix_srv *pmix;
    const struct host_ask *ask;
    const struct host_jobs *jobs;
    struct fetch *fetches;
};

/* --- for ranks here */

static void free_fetch(struct fetch *f)
{
    DL_DELETE(f->m->fetches, f);
    free(f);
}

static void on_job_known(bool known, void *waiter)
{
    struct fetch *f = waiter;
    struct modex *m = f->m;
    const struct job_launch *l = host_job_find(m->jobs, f->proc.nspace);
    struct app_modex_ask ask = {
        .nspace = f->proc.nspace, .rank = f->proc.rank, .timeout_s = (uint32_t)f->timeout_s};
    BUF_AUTO struct buf b = {0};

    if (!l || f->proc.rank >= l->nranks) {
        pmix_srv_answer(m->pmix, f->req, PMIX_ERR_NOT_FOUND, NULL, 0);
    } else {
        app_modex_ask_encode(&b, &ask);
        host_ask_for(m->ask, f->req, l->nodes[l->rank_node[f->proc.rank]].vpid, APP_MODEX_ASK, &b);
    }
    free_fetch(f);
}

void modex_fetch(struct modex *m, pmix_req req, const char *nspace, uint32_t rank, int timeout_s)
{
    struct fetch *f = xcalloc(1, sizeof(*f));

    *f = (struct fetch){.m = m, .req = req, .proc.rank = rank, .timeout_s = timeout_s};
    memccpy(f->proc.nspace, nspace, 0, sizeof(f->proc.nspace) - 1);
    DL_APPEND(m->fetches, f);
    host_jobs_learn(m->jobs, &f->proc, 1, on_job_known, f);
}

void modex_data(struct modex *m, pmix_req req, char op, const void *blob, size_t len)
{
    host_ask_data(m->ask, req, op, blob, len);
}

/* --- for other daemons */

struct serving { /* the library answers later */
    const struct host_ask *ask;
    uint32_t from;
    uint64_t question;
};

static void on_served(int status, const void *data, size_t len, void *arg)
{
    struct serving *s = arg;

    host_reply(s->ask, s->from, s->question, status, data, len);
    free(s);
}

static struct serving *serving_create(const struct modex *m, uint32_t from, uint64_t question)
{
    struct serving *s = xmalloc(sizeof(*s));

    *s = (struct serving){m->ask, from, question};
    return s;
}

static void on_modex_ask(uint32_t from, struct cur *c, void *service)
{
    struct modex *m = service;
    struct app_modex_ask ask;

    if (app_modex_ask_decode(c, &ask) < 0)
        host_reply(m->ask, from, ask.question, PMIX_ERR_BAD_PARAM, NULL, 0);
    else if (core_has_left(m->core, ask.nspace, ask.rank)) /* the library may not know the job */
        host_reply(m->ask, from, ask.question, PMIX_ERR_NOT_FOUND, NULL, 0);
    else
        pmix_srv_dmodex_serve(m->pmix, ask.nspace, ask.rank, (int)ask.timeout_s, on_served,
                              serving_create(m, from, ask.question));
    app_modex_ask_free(&ask);
}

/* A request that the asker will not repeat has no number here. */
static void serve_data(struct modex *m, uint32_t from, const struct app_data_ask *ask)
{
    struct pmix_srv_data_ask a = {.from = from,
                                  .question = ask->open_from ? ask->question : 0,
                                  .open_from = ask->open_from,
                                  .op = ask->op,
                                  .blob = ask->blob,
                                  .len = ask->len};

    pmix_srv_data_ask(m->pmix, &a, on_served, serving_create(m, from, ask->question));
}

static void on_data_ask(uint32_t from, struct cur *c, void *service)
{
    struct modex *m = service;
    struct app_data_ask ask;

    if (app_data_ask_decode(c, &ask) == 0)
        serve_data(m, from, &ask);
    else
        host_reply(m->ask, from, ask.question, PMIX_ERR_BAD_PARAM, NULL, 0);
}

void modex_handle(struct modex *m, struct app_table *t)
{
    static const struct app_handler handlers[] = {{APP_MODEX_ASK, on_modex_ask},
                                                  {APP_DATA_ASK, on_data_ask}};

    app_table_add(t, handlers, sizeof(handlers) / sizeof(*handlers), m);
}

/* --- construction and destruction */

struct modex *modex_create(const struct core *core, struct pmix_srv *pmix,
                           const struct host_ask *ask, const struct host_jobs *jobs)
{
    struct modex *m = xcalloc(1, sizeof(*m));

    *m = (struct modex){.core = core, .pmix = pmix, .ask = ask, .jobs = jobs};
    return m;
}

void modex_destroy(struct modex *m)
{
    if (!m)
        return;
    while (m->fetches)
        free_fetch(m->fetches);
    free(m);
}
