/* SPDX-License-Identifier: BSD-3-Clause */
/* Stand-ins for the parts of the daemon that a service uses. */
#include "dvm/host/services/test/fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void enter_core(void *arg)
{
    struct fake *f = arg;

    f->depth++;
}

static void drain_core(void *arg)
{
    struct fake *f = arg;

    assert_true(f->depth > 0);
    f->depth--;
}

static struct fake_question *add_question(struct fake *f, uint32_t vpid, uint32_t kind,
                                          const struct buf *b)
{
    struct fake_question *q = &f->questions[f->n];

    assert_true(f->n < FAKE_QUESTIONS);
    assert_false(b->failed);
    f->n++;
    q->vpid = vpid;
    q->kind = kind;
    return q;
}

static void ask_daemon(uint32_t vpid, uint32_t kind, struct buf *b, host_answer answered,
                       void *asker, void *arg)
{
    struct fake_question *q = add_question(arg, vpid, kind, b);

    q->answered = answered;
    q->asker = asker;
}

static void ask_for_request(pmix_req req, uint32_t vpid, uint32_t kind, struct buf *b, void *arg)
{
    add_question(arg, vpid, kind, b)->req = req;
}

static void ask_for_data(pmix_req req, char op, const void *blob, size_t len, void *arg)
{
    BUF_AUTO struct buf b = {0};

    app_data_ask_encode(&b, &(struct app_data_ask){.op = op, .blob = blob, .len = len});
    add_question(arg, 0, APP_DATA_ASK, &b)->req = req;
}

static void reply_to_daemon(uint32_t vpid, uint64_t question, int status, const void *data,
                            size_t len, void *arg)
{
    struct fake *f = arg;

    f->replied.n++;
    f->replied.vpid = vpid;
    f->replied.question = question;
    f->replied.status = status;
}

static const struct job_launch *find_job(const char *nspace, void *arg)
{
    const struct fake *f = arg;

    return strcmp(nspace, f->known->nspace) == 0 ? f->known : NULL;
}

static void learn_jobs(const struct pmix_srv_proc *procs, size_t nprocs, host_jobs_learnt learnt,
                       void *waiter, void *arg)
{
    const struct fake *f = arg;

    learnt(f->learnt, waiter);
}

void pmix_srv_answer(struct pmix_srv *p, pmix_req req, int status, const void *data, size_t len)
{
    struct fake *f = (struct fake *)p;

    f->answered.n++;
    f->answered.req = req;
    f->answered.status = status;
}

struct pmix_srv *fake_pmix(struct fake *f)
{
    return (struct pmix_srv *)f;
}

void fake_open(struct fake *f)
{
    static char nspace[] = "a.1";
    static struct job_node nodes[] = {{.vpid = 3}, {.vpid = 4}};
    static uint32_t rank_node[] = {0, 0, 1};

    memset(f, 0, sizeof(*f));
    f->env = (struct host_env){.vpid = 1, .enter = enter_core, .drain = drain_core, .arg = f};
    f->ask = (struct host_ask){.ask = ask_daemon,
                               .ask_for = ask_for_request,
                               .ask_data = ask_for_data,
                               .reply = reply_to_daemon,
                               .arg = f};
    f->jobs = (struct host_jobs){.find = find_job, .learn = learn_jobs, .arg = f};
    f->learnt = true;
    f->known = xcalloc(1, sizeof(*f->known));
    *f->known = (struct job_launch){
        .nspace = nspace, .nodes = nodes, .nnodes = 2, .rank_node = rank_node, .nranks = 3};
}

void fake_close(struct fake *f)
{
    assert_int_equal(f->depth, 0);
    free(f->known);
}
