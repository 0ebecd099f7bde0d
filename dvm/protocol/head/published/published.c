/* SPDX-License-Identifier: BSD-3-Clause */
/* The head's part of publish, lookup and unpublish that is in the journal.
 *
 * In: requests of daemons for their ranks; the ends of jobs. Out: a result and, of a lookup, the
 * values. A request that changes the store is a record, PUBLISHED or UNPUBLISHED; others are none.
 *
 * A daemon that has no answer when the head's process ends repeats its request to the next head
 * (dvm/host/services/questions.c). So the result of a request that has changed something is kept,
 * by daemon and number, until the daemon says that it has the answer, or has left. The repeated
 * request gets the same result. A request that has changed nothing is served anew.
 *
 * Invariants: a request changes the store once, however often it comes. A lookup that waits has
 * read nothing. Equal records give equal stores and equal results.
 *
 * Failures: those of the store. Limits: PUBLISHED_RESULTS_MAX results, PUBLISHED_RESULTS_OF_ONE of
 * each daemon, and PUBLISHED_RESULT_BYTES of their answers are kept. A repeated request whose
 * result was forgotten is served anew: a publish is a duplicate then. */
#include "dvm/protocol/head/published/published.h"

#include "base/heap/hash.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct result {
    struct record_data_request request;
    uint8_t result;
    uint8_t *answer;
    size_t len;
    struct asker *of;
    struct result *prev, *next;       /* of all */
    struct result *of_prev, *of_next; /* of its asker */
};

struct asker { /* a daemon, in one epoch */
    uint32_t vpid;
    struct epoch epoch;
    struct result *results; /* the oldest first; never NULL */
    uint32_t n;
    UT_hash_handle hh;
};

struct published {
    struct journal *journal;
    struct store *store;
    struct asker *askers;   /* by vpid */
    struct result *results; /* the oldest first */
    uint32_t nresults;
    size_t result_bytes;
};

/* --- results */

static struct asker *find_asker(const struct published *p, uint32_t vpid)
{
    struct asker *a;

    HASH_FIND(hh, p->askers, &vpid, sizeof(vpid), a);
    return a;
}

static void drop_result(struct published *p, struct result *x)
{
    struct asker *a = x->of;

    DL_DELETE(p->results, x);
    DL_DELETE2(a->results, x, of_prev, of_next);
    p->nresults--;
    p->result_bytes -= x->len;
    free(x->answer);
    free(x);
    if (--a->n)
        return;
    HASH_DEL(p->askers, a);
    free(a);
}

/* `a` is freed with its last result. */
static void drop_all_of(struct published *p, struct asker *a)
{
    for (uint32_t n = a ? a->n : 0; n; n--)
        drop_result(p, a->results);
}

static struct asker *add_asker(struct published *p, const struct msg_target *id)
{
    struct asker *a = xcalloc(1, sizeof(*a));

    a->vpid = id->vpid;
    a->epoch = id->epoch;
    HASH_ADD(hh, p->askers, vpid, sizeof(a->vpid), a);
    return a;
}

static void append_result(struct published *p, const struct record_data_request *q, uint8_t result,
                          const uint8_t *answer, size_t len)
{
    struct asker *a = find_asker(p, q->asker.vpid);
    struct result *x = xcalloc(1, sizeof(*x));

    *x = (struct result){.request = *q, .result = result, .len = len};
    x->answer = xmalloc(len);
    if (len)
        memcpy(x->answer, answer, len);
    x->of = a ? a : add_asker(p, &q->asker);
    DL_APPEND2(x->of->results, x, of_prev, of_next);
    DL_APPEND(p->results, x);
    p->nresults++;
    p->result_bytes += len;
    if (++x->of->n > PUBLISHED_RESULTS_OF_ONE)
        drop_result(p, x->of->results);
    while (p->nresults > PUBLISHED_RESULTS_MAX || p->result_bytes > PUBLISHED_RESULT_BYTES)
        drop_result(p, p->results);
}

/* The asker has its answers before `open_from`, and an earlier process of it asks no more. */
static void keep_result(struct published *p, const struct record_data_request *q, uint8_t result,
                        const uint8_t *answer, size_t len)
{
    struct asker *a = find_asker(p, q->asker.vpid);
    struct result *x, *tmp;

    if (q->question == 0)
        return;
    if (a && !epoch_eq(a->epoch, q->asker.epoch)) {
        drop_all_of(p, a);
        a = NULL;
    }
    for (x = a ? a->results : NULL; x; x = tmp) {
        tmp = x->of_next;
        if (x->request.question < q->open_from)
            drop_result(p, x);
    }
    append_result(p, q, result, answer, len);
}

static void forget_departed(struct published *p, const struct msg_remove *m)
{
    for (size_t i = 0; i < m->ntargets; i++)
        drop_all_of(p, find_asker(p, m->targets[i].vpid));
}

static const struct result *find_result(const struct published *p,
                                        const struct record_data_request *q)
{
    const struct asker *a = q->question ? find_asker(p, q->asker.vpid) : NULL;
    const struct result *x = a && epoch_eq(a->epoch, q->asker.epoch) ? a->results : NULL;

    while (x && x->request.question != q->question)
        x = x->of_next;
    return x;
}

/* --- the part of the journal */

static int fold_published(struct published *p, const struct record_published *r, struct err *err)
{
    enum store_result result = store_publish(p->store, r->blob, r->len);

    if (result != STORE_OK)
        return err_set(err, "values of vpid %u are refused: %u", r->request.asker.vpid,
                       (unsigned)result);
    keep_result(p, &r->request, STORE_OK, NULL, 0);
    return 0;
}

static int fold_unpublished(struct published *p, const struct record_unpublished *r,
                            struct err *err)
{
    if (r->result >= STORE_WAITS)
        return err_set(err, "result %u", r->result);
    if (store_remove(p->store, r->ids, r->n, err) < 0)
        return -1;
    keep_result(p, &r->request, r->result, r->answer, r->len);
    return 0;
}

static int fold_record(void *state, const struct record *r, struct err *err)
{
    struct published *p = state;

    if (r->type == RECORD_PUBLISHED)
        return fold_published(p, &r->published, err);
    if (r->type == RECORD_UNPUBLISHED)
        return fold_unpublished(p, &r->unpublished, err);
    if (r->type == RECORD_OP_APPLIED && r->op.msg.type == MSG_REMOVE)
        forget_departed(p, &r->op.msg.remove);
    return 0;
}

static void save_state(const void *state, struct buf *b)
{
    const struct published *p = state;
    const struct result *x;

    store_save(p->store, b);
    buf_put_u32(b, p->nresults);
    DL_FOREACH(p->results, x)
    {
        record_published_put_request(b, &x->request);
        buf_put_u8(b, x->result);
        buf_put_bytes(b, x->answer, x->len);
    }
}

static int load_result(struct published *p, struct cur *c, struct err *err)
{
    struct record_data_request q = {0};
    const struct asker *a;
    const uint8_t *answer;
    uint8_t result;
    size_t len;

    if (record_published_get_request(c, &q, err) < 0)
        return -1;
    result = cur_u8(c);
    answer = cur_bytes(c, PUBLISHED_RESULT_BYTES, &len);
    a = find_asker(p, q.asker.vpid);
    if (c->bad || q.question == 0 || result >= STORE_WAITS ||
        p->result_bytes + len > PUBLISHED_RESULT_BYTES ||
        (a && (a->n == PUBLISHED_RESULTS_OF_ONE || !epoch_eq(a->epoch, q.asker.epoch))))
        return err_set(err, "malformed, or more than is kept");
    append_result(p, &q, result, answer, len);
    return 0;
}

static int load_state(void *state, struct cur *c, struct err *err)
{
    struct published *p = state;
    uint32_t n;

    if (store_load(p->store, c, err) < 0)
        return -1;
    n = cur_count(c, PUBLISHED_RESULTS_MAX, 41);
    for (uint32_t i = 0; i < n; i++) {
        if (load_result(p, c, err) < 0)
            return err_wrap(err, "result %u of %u", i + 1, n);
    }
    return 0;
}

/* --- requests */

static enum store_result publish_values(struct published *p, const struct published_ask *a)
{
    enum store_result result = store_may_publish(p->store, a->blob, a->len);
    struct record r = {.type = RECORD_PUBLISHED, .published = {a->request, a->blob, a->len}};

    if (result == STORE_OK)
        journal_note(p->journal, &r);
    return result;
}

static void remove_values(struct published *p, const struct published_ask *a, struct store_ids *ids,
                          enum store_result result, const struct buf *answer)
{
    struct record r = {.type = RECORD_UNPUBLISHED,
                       .unpublished = {.result = (uint8_t)result, .n = ids->n, .ids = ids->list}};

    if (a)
        r.unpublished.request = a->request;
    if (answer && a && a->request.question) {
        r.unpublished.answer = answer->data;
        r.unpublished.len = answer->len;
    }
    if (ids->n)
        journal_note(p->journal, &r);
    free(ids->list);
}

static bool has_to_wait(const struct published *p, const struct published_ask *a)
{
    struct store_lookup l;

    if (a->at_once || !store_lookup_head(a->blob, a->len, &l) || !l.wait)
        return false;
    return store_count_found(p->store, a->blob, a->len) < (l.wanted ? l.wanted : l.nkeys);
}

static enum store_result look_up(struct published *p, const struct published_ask *a,
                                 struct buf *answer)
{
    struct store_ids ids = {0};
    enum store_result result;

    if (has_to_wait(p, a))
        return STORE_WAITS;
    result = store_lookup(p->store, a->blob, a->len, answer, &ids);
    if (ids.n && answer->len > PUBLISHED_ANSWER_MAX) {
        ids.n = 0;
        buf_reset(answer);
        result = STORE_FULL;
    }
    remove_values(p, a, &ids, result, answer);
    return result;
}

static enum store_result serve_new(struct published *p, const struct published_ask *a,
                                   struct buf *answer)
{
    struct store_ids ids = {0};
    enum store_result result;

    if (a->op == 'p')
        return publish_values(p, a);
    if (a->op == 'l')
        return look_up(p, a, answer);
    if (a->op == 'u')
        result = store_unpublish(p->store, a->blob, a->len, &ids);
    else if (a->op == 'e')
        result = store_rank_ended(p->store, a->blob, a->len, &ids);
    else
        return STORE_BAD;
    remove_values(p, a, &ids, result, NULL);
    return result;
}

enum store_result published_serve(struct published *p, const struct published_ask *a,
                                  struct buf *answer)
{
    const struct result *x = find_result(p, &a->request);

    if (!x)
        return serve_new(p, a, answer);
    if (x->len)
        buf_put_raw(answer, x->answer, x->len);
    return (enum store_result)x->result;
}

void published_job_ended(struct published *p, const char *nspace,
                         bool (*runs)(const char *nspace, void *arg), void *arg)
{
    struct store_ids ids = {0};

    store_job_ended(p->store, nspace, runs, arg, &ids);
    remove_values(p, NULL, &ids, STORE_OK, NULL);
}

size_t published_count(const struct published *p)
{
    return store_count(p->store);
}

/* --- construction and destruction */

struct published *published_create(struct journal *j)
{
    struct published *p = xcalloc(1, sizeof(*p));
    struct journal_part part = {p, fold_record, save_state, load_state};

    p->journal = j;
    p->store = store_create();
    journal_add_part(j, &part);
    return p;
}

void published_destroy(struct published *p)
{
    if (!p)
        return;
    while (p->results)
        drop_result(p, p->results);
    store_destroy(p->store);
    free(p);
}
