/* SPDX-License-Identifier: BSD-3-Clause */
/* The accepted jobs, in the order of their numbers, which is the order of the queue.
 *
 * In: decisions about jobs (job_run.c, job.c, job_fail.c, job_end.c), each as a record. Out: the
 * entry of each job: its submitter, its specification, its map, its state and its result.
 *
 * JOB_ACCEPTED gives a job the next number. No number is given twice: HEIR skips those that a
 * former head may have given in records that are lost. Between MEMBERS and JOBS_ADOPTED it names a
 * job of a former head, which members have reported (job_adoption.c). JOB_JUDGED says that it may
 * wait for slots. JOB_STEP is a step of the table of states (docs/graphs/job.md). JOB_MAPPED gives
 * its ranks their nodes; the step "remap" takes them away until JOB_SENT. What comes between
 * JOB_SENT and the end is folded by job_progress.c. JOB_RESULT says that the job fails, how and
 * why; the first failure decides, and a job that has ended keeps its result. JOB_FORGOTTEN moves
 * the end of a job whose submitter has acknowledged it into the history.
 *
 * The specification and the map are owned by the entry. The job's own record borrows them
 * (job_private.h). */
#include "dvm/protocol/head/jobs/job_table.h"

#include "base/heap/hash.h"
#include "dvm/protocol/state/state.h"

#include <stdlib.h>
#include <utlist.h>

struct table_job {
    struct job_entry e; /* the first member: an entry is its table_job */
    UT_hash_handle hh;
    struct table_job *next, *prev;
};

struct job_table {
    struct journal *journal;
    /* the fold */
    uint64_t last;
    bool adopts;            /* jobs of former heads, up to `last` */
    struct table_job *list; /* in the order of numbers */
    struct table_job *by_number;
    struct job_history history;
};

static struct table_job *find_job(const struct job_table *t, uint64_t number)
{
    struct table_job *k;

    HASH_FIND(hh, t->by_number, &number, sizeof(number), k);
    return k;
}

static struct table_job *add_job(struct job_table *t)
{
    struct table_job *k = xcalloc(1, sizeof(*k));

    k->e.state = JOB_INIT;
    k->e.result.reason = xstrdup("");
    DL_APPEND(t->list, k);
    return k;
}

static void drop_job(struct job_table *t, struct table_job *k)
{
    DL_DELETE(t->list, k);
    record_job_free(&k->e.accepted);
    record_job_map_free(&k->e.map);
    job_progress_free(&k->e.progress);
    free(k->e.result.reason);
    free(k->e.kin_text);
    free(k);
}

static int check_number(const struct job_table *t, uint64_t number, struct err *err)
{
    const struct table_job *before = t->list ? t->list->prev : NULL;
    uint64_t after = !t->adopts ? t->last : before ? before->e.accepted.number : 0;

    if (t->adopts ? number <= after || number > t->last : number != after + 1)
        return err_set(err, "job %llu after %llu", (unsigned long long)number,
                       (unsigned long long)after);
    return 0;
}

static int fold_accepted(struct job_table *t, const struct record_job *r, struct err *err)
{
    struct table_job *k;

    if (check_number(t, r->number, err) < 0)
        return -1;
    k = add_job(t);
    k->e.accepted = *r;
    job_spec_copy(&k->e.accepted.spec, &r->spec);
    k->e.result.number = r->number;
    if (!t->adopts)
        t->last = r->number;
    HASH_ADD(hh, t->by_number, e.accepted.number, sizeof(k->e.accepted.number), k);
    return 0;
}

static int fold_members(struct job_table *t, const struct record_members *r)
{
    t->last = r->last_name;
    t->adopts = true;
    return 0;
}

static int fold_adopted(struct job_table *t, struct err *err)
{
    if (!t->adopts)
        return err_set(err, "no job is adopted");
    t->adopts = false;
    return 0;
}

static int fold_heir(struct job_table *t, const struct record_heir *r)
{
    t->last += r->skipped;
    return 0;
}

static int fold_step(struct table_job *k, const struct record_job_step *r, struct err *err)
{
    if (r->event == JOB_EV_REMAP && k->e.progress.sent)
        return err_set(err, "job %llu is sent", (unsigned long long)r->number);
    if (fsm_step(&job_fsm, &k->e.state, r->event, NULL, err) < 0)
        return -1;
    if (r->event == JOB_EV_REMAP)
        record_job_map_free(&k->e.map);
    return 0;
}

static int check_map(const struct table_job *k, const struct record_job_map *m, struct err *err)
{
    if (m->nnodes == 0 || m->nranks == 0)
        return err_set(err, "the map of job %llu is empty", (unsigned long long)m->number);
    for (uint32_t r = 0; r < m->nranks; r++) {
        if (m->rank_app[r] >= k->e.accepted.spec.napps)
            return err_set(err, "rank %u of job %llu is of application %u of %zu", r,
                           (unsigned long long)m->number, m->rank_app[r], k->e.accepted.spec.napps);
    }
    return 0;
}

static int fold_mapped(struct table_job *k, const struct record_job_map *m, struct err *err)
{
    if (job_state_over(k->e.state) || k->e.map.nnodes)
        return err_set(err, "job %llu is %s, %smapped", (unsigned long long)m->number,
                       fsm_state_name(&job_fsm, k->e.state), k->e.map.nnodes ? "" : "not ");
    if (check_map(k, m, err) < 0)
        return -1;
    record_job_map_copy(&k->e.map, m);
    k->e.judgement = JOB_FITS;
    return 0;
}

static int fold_judged(struct table_job *k, const struct record_job_judged *r, struct err *err)
{
    if (job_state_over(k->e.state) || k->e.judgement == r->judgement)
        return err_set(err, "job %llu has %s", (unsigned long long)r->number,
                       k->e.judgement == r->judgement ? "this judgement" : "ended");
    k->e.judgement = r->judgement;
    return 0;
}

static int fold_kin_failed(struct table_job *k, const struct record_job_kin_failed *r,
                           struct err *err)
{
    if (k->e.kin_text)
        return err_set(err, "the first failure of a job of job %llu is known",
                       (unsigned long long)r->number);
    k->e.kin_code = r->exit_code;
    k->e.kin_text = xstrdup(r->text);
    return 0;
}

static int fold_result(struct table_job *k, const struct record_job_result *r, struct err *err)
{
    char *old = k->e.result.reason;

    if (r->failure == 0 || job_state_over(k->e.state))
        return err_set(err, "job %llu has %s", (unsigned long long)r->number,
                       r->failure ? "ended" : "not failed");
    if (k->e.result.failure && k->e.result.failure != r->failure)
        return err_set(err, "job %llu fails by %s already", (unsigned long long)r->number,
                       fsm_event_name(&job_fsm, k->e.result.failure));
    k->e.result = *r;
    k->e.result.reason = xstrdup(r->reason);
    free(old);
    return 0;
}

static int fold_progress(struct table_job *k, const struct record *r, struct err *err)
{
    struct job_progress *p = &k->e.progress;
    const struct record_job_map *map = &k->e.map;
    bool any = k->e.accepted.spec.flags & JOB_STRICT;
    int rc;

    if (job_state_over(k->e.state))
        return err_set(err, "job %llu has ended", (unsigned long long)k->e.accepted.number);
    if (r->type == RECORD_JOB_SENT)
        rc = job_progress_sent(p, map, &r->job_sent, err);
    else if (r->type == RECORD_JOB_RANK_ENDED)
        rc = job_progress_rank_ended(p, map, &r->job_rank_ended, err);
    else
        rc = job_progress_node_gone(p, map, &r->job_node_gone, err);
    if (rc == 0 && !k->e.result.failure)
        k->e.result.exit_code = job_progress_exit_code(p, map->nranks, any);
    return rc;
}

struct job_past *job_table_past(const struct job_entry *e)
{
    struct job_past *p = xcalloc(1, sizeof(*p));

    p->number = e->accepted.number;
    p->submitter = (struct msg_target){e->accepted.submit_vpid, e->accepted.submit_epoch};
    p->client = e->accepted.submit_client;
    p->failure = e->result.failure;
    p->exit_code = e->result.exit_code;
    if (!p->failure)
        p->reason = job_progress_losses_text(&e->progress, e->map.nranks);
    if (!p->reason)
        p->reason = xstrdup(e->result.reason);
    p->nranks = e->map.nranks;
    p->vpids = xcalloc(e->map.nnodes + 1, sizeof(*p->vpids));
    for (size_t i = 0; i < e->map.nnodes; i++)
        p->vpids[p->nvpids++] = e->map.nodes[i].vpid;
    return p;
}

static int fold_forgotten(struct job_table *t, struct table_job *k, struct err *err)
{
    if (!job_state_over(k->e.state))
        return err_set(err, "job %llu is %s", (unsigned long long)k->e.accepted.number,
                       fsm_state_name(&job_fsm, k->e.state));
    job_history_add(&t->history, job_table_past(&k->e));
    HASH_DEL(t->by_number, k);
    drop_job(t, k);
    return 0;
}

static uint64_t number_of(const struct record *r)
{
    switch (r->type) {
    case RECORD_JOB_JUDGED:
        return r->job_judged.number;
    case RECORD_JOB_KIN_FAILED:
        return r->job_kin_failed.number;
    case RECORD_JOB_MAPPED:
        return r->job_map.number;
    case RECORD_JOB_SENT:
        return r->job_sent.number;
    case RECORD_JOB_RANK_ENDED:
        return r->job_rank_ended.number;
    case RECORD_JOB_NODE_GONE:
        return r->job_node_gone.number;
    case RECORD_JOB_STEP:
        return r->job_step.number;
    case RECORD_JOB_RESULT:
        return r->job_result.number;
    default:
        return r->job_forgotten.number;
    }
}

static int fold_known(struct job_table *t, const struct record *r, struct err *err)
{
    struct table_job *k = find_job(t, number_of(r));

    if (!k)
        return err_set(err, "there is no job %llu", (unsigned long long)number_of(r));
    switch (r->type) {
    case RECORD_JOB_JUDGED:
        return fold_judged(k, &r->job_judged, err);
    case RECORD_JOB_KIN_FAILED:
        return fold_kin_failed(k, &r->job_kin_failed, err);
    case RECORD_JOB_MAPPED:
        return fold_mapped(k, &r->job_map, err);
    case RECORD_JOB_STEP:
        return fold_step(k, &r->job_step, err);
    case RECORD_JOB_RESULT:
        return fold_result(k, &r->job_result, err);
    case RECORD_JOB_FORGOTTEN:
        return fold_forgotten(t, k, err);
    default:
        return fold_progress(k, r, err);
    }
}

static int fold_record(void *state, const struct record *r, struct err *err)
{
    switch (r->type) {
    case RECORD_MEMBERS:
        return fold_members(state, &r->members);
    case RECORD_JOBS_ADOPTED:
        return fold_adopted(state, err);
    case RECORD_HEIR:
        return fold_heir(state, &r->heir);
    case RECORD_JOB_ACCEPTED:
        return fold_accepted(state, &r->job, err);
    case RECORD_JOB_JUDGED:
    case RECORD_JOB_KIN_FAILED:
    case RECORD_JOB_MAPPED:
    case RECORD_JOB_SENT:
    case RECORD_JOB_RANK_ENDED:
    case RECORD_JOB_NODE_GONE:
    case RECORD_JOB_STEP:
    case RECORD_JOB_RESULT:
    case RECORD_JOB_FORGOTTEN:
        return fold_known(state, r, err);
    default:
        return 0;
    }
}

static void save_state(const void *state, struct buf *b)
{
    const struct job_table *t = state;
    const struct table_job *k;

    buf_put_u64(b, t->last);
    buf_put_u8(b, t->adopts);
    job_history_save(&t->history, b);
    buf_put_u32(b, HASH_COUNT(t->by_number));
    DL_FOREACH(t->list, k)
    {
        record_put_job(b, &k->e.accepted);
        buf_put_u8(b, (uint8_t)k->e.state);
        record_put_job_result(b, &k->e.result);
        record_job_map_put(b, &k->e.map);
        job_progress_save(&k->e.progress, &k->e.map, b);
        buf_put_u8(b, k->e.judgement);
        buf_put_u8(b, (uint8_t)k->e.kin_code);
        buf_put_str(b, k->e.kin_text ? k->e.kin_text : "");
    }
}

static int check_loaded(const struct job_table *t, const struct table_job *k, struct err *err)
{
    const struct table_job *before = k == t->list ? NULL : k->prev;
    uint64_t number = k->e.accepted.number;

    if (number > t->last || (before && before->e.accepted.number >= number) ||
        k->e.result.number != number)
        return err_set(err, "job %llu of %llu is not in order", (unsigned long long)number,
                       (unsigned long long)t->last);
    if (k->e.map.nnodes && (k->e.map.number != number || check_map(k, &k->e.map, err) < 0))
        return err_set(err, "the map of job %llu is not its own", (unsigned long long)number);
    return job_state_word((unsigned)k->e.state) ? 0 : err_set(err, "job state %d", k->e.state);
}

static void load_kin(struct table_job *k, struct cur *c)
{
    k->e.kin_code = cur_u8(c);
    k->e.kin_text = cur_str(c, RECORD_REASON_MAX);
    if (c->bad || k->e.kin_text[0])
        return;
    free(k->e.kin_text);
    k->e.kin_text = NULL;
}

static int load_job(struct job_table *t, struct cur *c, struct err *err)
{
    struct table_job *k = add_job(t);

    free(k->e.result.reason);
    k->e.result.reason = NULL;
    if (record_get_job(c, &k->e.accepted, err) < 0)
        return -1;
    HASH_ADD(hh, t->by_number, e.accepted.number, sizeof(k->e.accepted.number), k);
    k->e.state = cur_u8(c);
    if (record_get_job_result(c, &k->e.result, err) < 0 ||
        record_job_map_get(c, &k->e.map, err) < 0)
        return -1;
    if (k->e.map.nnodes == 0)
        record_job_map_free(&k->e.map);
    if (job_progress_load(&k->e.progress, &k->e.map, c, err) < 0)
        return -1;
    k->e.judgement = msg_get_enum(c, JOB_JUDGEMENTS);
    load_kin(k, c);
    return c->bad ? err_set(err, "a job is cut") : check_loaded(t, k, err);
}

static int load_state(void *state, struct cur *c, struct err *err)
{
    struct job_table *t = state;
    uint32_t n;

    t->last = cur_u64(c);
    t->adopts = msg_get_flag(c);
    if (job_history_load(&t->history, c, err) < 0)
        return -1;
    n = cur_count(c, UINT32_MAX, RECORD_JOB_MIN);
    for (uint32_t i = 0; i < n && !c->bad; i++) {
        if (load_job(t, c, err) < 0)
            return -1;
    }
    return 0;
}

struct job_table *job_table_create(struct journal *j)
{
    struct job_table *t = xcalloc(1, sizeof(*t));
    struct journal_part part = {t, fold_record, save_state, load_state};

    t->journal = j;
    journal_add_part(j, &part);
    return t;
}

void job_table_destroy(struct job_table *t)
{
    if (!t)
        return;
    HASH_CLEAR(hh, t->by_number);
    while (t->list)
        drop_job(t, t->list);
    job_history_free(&t->history);
    free(t);
}

uint64_t job_table_last(const struct job_table *t)
{
    return t->last;
}

void job_table_each(const struct job_table *t, void (*on)(void *arg, const struct job_entry *e),
                    void *arg)
{
    const struct table_job *k;

    DL_FOREACH(t->list, k)
    {
        on(arg, &k->e);
    }
}

const struct job_history *job_table_history(const struct job_table *t)
{
    return &t->history;
}

const struct job_entry *job_table_accept(struct job_table *t, struct record_job *job)
{
    struct record r = {.type = RECORD_JOB_ACCEPTED};
    const struct table_job *k;

    job->number = t->last + 1;
    r.job = *job;
    journal_note(t->journal, &r);
    k = find_job(t, job->number);
    return k ? &k->e : NULL;
}

bool job_table_adopts(const struct job_table *t)
{
    return t->adopts;
}

const struct job_entry *job_table_adopt(struct job_table *t, const struct record_job *job,
                                        struct err *err)
{
    struct record r = {.type = RECORD_JOB_ACCEPTED, .job = *job};

    return journal_put(t->journal, &r, err) < 0 ? NULL : &find_job(t, job->number)->e;
}

void job_table_adopted_all(struct job_table *t)
{
    struct record r = {.type = RECORD_JOBS_ADOPTED};

    journal_note(t->journal, &r);
}

void job_table_judge(struct job_table *t, const struct job_entry *e, enum job_judgement judgement)
{
    struct record r = {.type = RECORD_JOB_JUDGED,
                       .job_judged = {e->accepted.number, (uint8_t)judgement}};

    journal_note(t->journal, &r);
}

void job_table_kin_failed(struct job_table *t, const struct job_entry *e, int exit_code,
                          const char *text)
{
    struct record r = {.type = RECORD_JOB_KIN_FAILED,
                       .job_kin_failed = {e->accepted.number, exit_code, (char *)text}};

    journal_note(t->journal, &r);
}

int job_table_map(struct job_table *t, const struct job_entry *e, struct record_job_map *map,
                  struct err *err)
{
    struct record r = {.type = RECORD_JOB_MAPPED};

    map->number = e->accepted.number;
    r.job_map = *map;
    return journal_put(t->journal, &r, err);
}

int job_table_sent(struct job_table *t, const struct job_entry *e, uint64_t deadline_ms,
                   struct err *err)
{
    struct record r = {.type = RECORD_JOB_SENT, .job_sent = {e->accepted.number, deadline_ms}};

    return journal_put(t->journal, &r, err);
}

void job_table_rank_ended(struct job_table *t, const struct job_entry *e, uint32_t rank, int state,
                          int status, const char *loss)
{
    struct record r = {
        .type = RECORD_JOB_RANK_ENDED,
        .job_rank_ended = {e->accepted.number, rank, (uint8_t)state, status, (char *)loss}};

    journal_note(t->journal, &r);
}

void job_table_node_gone(struct job_table *t, const struct job_entry *e, uint32_t node, bool lost,
                         const char *loss)
{
    struct record r = {.type = RECORD_JOB_NODE_GONE,
                       .job_node_gone = {e->accepted.number, node, lost, (char *)loss}};

    journal_note(t->journal, &r);
}

int job_table_step(struct job_table *t, const struct job_entry *e, int event, struct err *err)
{
    struct record r = {.type = RECORD_JOB_STEP, .job_step = {e->accepted.number, (uint8_t)event}};

    return journal_put(t->journal, &r, err);
}

void job_table_result(struct job_table *t, const struct job_entry *e, int failure, int exit_code,
                      const char *reason)
{
    struct record r = {
        .type = RECORD_JOB_RESULT,
        .job_result = {e->accepted.number, (uint8_t)failure, exit_code, (char *)reason}};

    journal_note(t->journal, &r);
}

void job_table_forget(struct job_table *t, const struct job_entry *e)
{
    struct record r = {.type = RECORD_JOB_FORGOTTEN, .job_forgotten.number = e->accepted.number};

    journal_note(t->journal, &r);
}
