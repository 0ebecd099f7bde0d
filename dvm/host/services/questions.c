/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions between daemons.
 *
 * In: a question of a service for another daemon; APP_ANSWER of that daemon; the loss of a daemon.
 * Out: the question on its way, in the class of modex data; the answer to the service that asked.
 *
 * A question waits from ask() until its answer. It has a number that is never used again, which the
 * answer carries. An answer counts only from the daemon that was asked: others, and a second one,
 * are dropped. A question to a daemon that is not a member, or whose queue is full, is answered at
 * once with an error. The loss of a daemon answers all questions to it. So every question gets one
 * answer, as long as this daemon lives, and waits no longer than the other daemon does.
 *
 * Requests for published values wait longer: when the head has another process, they go to that one
 * again, in their order and with their numbers. The head keeps the result of each request that has
 * changed something, so it is carried out once (dvm/protocol/head/published). A head of edition 0
 * has no successor. */
#include "dvm/host/services/questions.h"

#include "base/heap/hash.h"

#include <pmix_common.h>
#include <stdlib.h>

#define REPEATS_SINCE 1 /* edition: the head keeps results */

struct question {
    uint64_t id;
    uint32_t vpid;
    host_answer answered; /* NULL: the answer goes to `req` */
    void *asker;
    pmix_req req;
    char op; /* a request for published values; 0: another question */
    struct buf blob;
    uint64_t asked_ms;
    UT_hash_handle hh;
};

struct questions {
    const struct host_env *env;
    struct core *core;
    struct pmix_srv *pmix;
    struct host_ask asking;
    struct question *waiting;
    uint64_t last_id;
};

static void answer_question(struct questions *q, struct question *w, int status, const void *data,
                            size_t len)
{
    HASH_DEL(q->waiting, w);
    if (w->answered)
        w->answered(status, data, len, w->asker);
    else
        pmix_srv_answer(q->pmix, w->req, status, data, len);
    buf_free(&w->blob);
    free(w);
}

static void add_question(struct questions *q, struct question *w)
{
    w->id = ++q->last_id;
    HASH_ADD(hh, q->waiting, id, sizeof(w->id), w);
}

/* `w` is already freed if the question could not be sent. */
static void post_question(struct questions *q, struct question *w, uint32_t kind,
                          const struct buf *b)
{
    if (!core_live(q->core, w->vpid))
        answer_question(q, w, PMIX_ERR_LOST_CONNECTION, NULL, 0);
    else if (host_send(q->env, w->vpid, CLASS_MODEX, kind, b) < 0)
        answer_question(q, w, PMIX_ERR_OUT_OF_RESOURCE, NULL, 0);
}

static void send_question(struct questions *q, struct question *w, uint32_t kind, struct buf *b)
{
    add_question(q, w);
    if (!b->failed) {
        buf_patch_u32(b, 0, (uint32_t)(w->id >> 32));
        buf_patch_u32(b, 4, (uint32_t)w->id);
    }
    post_question(q, w, kind, b);
}

/* --- requests for published values */

/* The first of them without an answer: they are in the order of their numbers. */
static uint64_t first_open(const struct questions *q)
{
    const struct question *w = q->waiting;

    while (w && !w->op)
        w = w->hh.next;
    return w ? w->id : 0;
}

static void send_data(struct questions *q, struct question *w)
{
    struct app_data_ask ask = {
        .question = w->id, .op = w->op, .blob = w->blob.data, .len = w->blob.len};
    BUF_AUTO struct buf b = {0};

    if (core_head_speaks(q->core, REPEATS_SINCE))
        ask.open_from = first_open(q);
    app_data_ask_encode(&b, &ask);
    post_question(q, w, APP_DATA_ASK, &b);
}

static void ask_for_data(pmix_req req, char op, const void *blob, size_t len, void *arg)
{
    struct question *w = xcalloc(1, sizeof(*w));
    struct questions *q = arg;

    *w = (struct question){
        .vpid = VPID_HEAD, .req = req, .op = op, .asked_ms = loop_now_ms(q->env->loop)};
    buf_init(&w->blob, len);
    buf_put_raw(&w->blob, blob, len);
    add_question(q, w);
    send_data(q, w);
}

static void repeat_data(struct questions *q, struct question *w)
{
    uint64_t now = loop_now_ms(q->env->loop);

    if (w->op == 'l')
        store_lookup_shorten(w->blob.data, w->blob.len, (uint32_t)((now - w->asked_ms) / 1000));
    w->asked_ms = now;
    send_data(q, w);
}

/* --- other questions, and answers */

static void ask_daemon(uint32_t vpid, uint32_t kind, struct buf *b, host_answer answered,
                       void *asker, void *arg)
{
    struct question *w = xcalloc(1, sizeof(*w));

    *w = (struct question){.vpid = vpid, .answered = answered, .asker = asker};
    send_question(arg, w, kind, b);
}

static void ask_for_request(pmix_req req, uint32_t vpid, uint32_t kind, struct buf *b, void *arg)
{
    struct question *w = xcalloc(1, sizeof(*w));

    *w = (struct question){.vpid = vpid, .req = req};
    send_question(arg, w, kind, b);
}

static int send_answer(struct questions *q, uint32_t vpid, const struct app_answer *m)
{
    BUF_AUTO struct buf b = {0};

    app_answer_encode(&b, m);
    return host_send(q->env, vpid, CLASS_MODEX, APP_ANSWER, &b);
}

static void reply_to_daemon(uint32_t vpid, uint64_t question, int status, const void *data,
                            size_t len, void *arg)
{
    struct questions *q = arg;
    struct app_answer m = {question, status, data, len};
    struct app_answer too_long = {question, PMIX_ERR_OUT_OF_RESOURCE, NULL, 0};

    if (core_live(q->core, vpid) && send_answer(q, vpid, &m) < 0 && len)
        (void)send_answer(q, vpid, &too_long);
}

static void on_answer(uint32_t from, struct cur *c, void *service)
{
    struct questions *q = service;
    struct app_answer m;
    struct question *w;

    if (app_answer_decode(c, &m) < 0)
        return;
    HASH_FIND(hh, q->waiting, &m.question, sizeof(m.question), w);
    if (w && w->vpid == from)
        answer_question(q, w, m.status, m.data, m.len);
}

void questions_handle(struct questions *q, struct app_table *t)
{
    static const struct app_handler handlers[] = {{APP_ANSWER, on_answer}};

    app_table_add(t, handlers, sizeof(handlers) / sizeof(*handlers), q);
}

void questions_member_gone(struct questions *q, uint32_t vpid)
{
    bool again = vpid == VPID_HEAD && core_live(q->core, vpid); /* it has another process */
    uint64_t last = q->last_id;
    struct question *w, *tmp;

    HASH_ITER(hh, q->waiting, w, tmp)
    {
        if (w->vpid != vpid || w->id > last)
            continue;
        if (again && w->op)
            repeat_data(q, w);
        else
            answer_question(q, w, PMIX_ERR_LOST_CONNECTION, NULL, 0);
    }
}

const struct host_ask *questions_asking(struct questions *q)
{
    return &q->asking;
}

struct questions *questions_create(const struct host_env *env, struct core *core,
                                   struct pmix_srv *pmix)
{
    struct questions *q = xcalloc(1, sizeof(*q));

    *q = (struct questions){.env = env, .core = core, .pmix = pmix};
    q->asking = (struct host_ask){.ask = ask_daemon,
                                  .ask_for = ask_for_request,
                                  .ask_data = ask_for_data,
                                  .reply = reply_to_daemon,
                                  .arg = q};
    return q;
}

void questions_destroy(struct questions *q)
{
    struct question *w, *tmp;

    if (!q)
        return;
    HASH_ITER(hh, q->waiting, w, tmp)
    {
        HASH_DEL(q->waiting, w);
        if (w->answered)
            free(w->asker);
        buf_free(&w->blob);
        free(w);
    }
    free(q);
}
