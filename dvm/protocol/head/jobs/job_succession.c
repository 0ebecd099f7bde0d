/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs under a new head, which has folded the records of the former one.
 *
 * In: the entries of the table of jobs; questions of daemons whose clients wait for a job; reports
 * of jobs that the head has not. Out: the record of each job beside its entry, with its slots; the
 * launch again to each daemon that may not have it; the answers.
 *
 * Daemons report the rest after they have heard of the new head: which are ready, which ranks run.
 * So the counts of those begin at zero, and the steps that follow from them are taken again. A
 * repeated launch, start or end changes nothing at a daemon that has had it.
 *
 * A detached job whose client was at the head goes on too. This process is its submitter's daemon:
 * the epoch in its record is that of a former process.
 *
 * Invariants: a job of which no daemon was lost goes on, unless the records lack its launch or its
 * end. The order of the queue is that of the numbers. A client gets the end of its job, or is
 * notified that the head does not know the job. */
#include "base/log/log.h"
#include "dvm/protocol/head/jobs/job_private.h"
#include "dvm/protocol/state/state.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/* Its daemons have all that they need to start the ranks. */
static bool has_files(const struct job_entry *e)
{
    return !e->accepted.spec.nfiles ||
           (e->progress.sent && e->state != JOB_SEND_LAUNCH_MSG && e->state != JOB_PREPARING);
}

bool job_entry_follows_head(const struct job_entry *e)
{
    const struct record_job *a = &e->accepted;

    return a->submit_vpid == VPID_HEAD && a->spec.flags & JOB_DETACH && has_files(e);
}

static void report_client(const struct jobs *js, const struct job_entry *e,
                          void (*on)(void *arg, const struct job_client *k), void *arg)
{
    FREE_AUTO char *name = job_name(js, e->accepted.number);
    FREE_AUTO uint32_t *ended = xcalloc(e->map.nnodes + 1, sizeof(*ended));
    struct job_client k = {.id = e->accepted.submit_client,
                           .stays = job_entry_follows_head(e),
                           .name = name,
                           .ended = ended};

    for (size_t i = 0; e->progress.sent && i < e->map.nnodes; i++) {
        if (e->progress.gone[i])
            ended[k.nended++] = e->map.nodes[i].vpid;
    }
    on(arg, &k);
}

struct each_client {
    const struct jobs *js;
    void (*on)(void *arg, const struct job_client *k);
    void *arg;
};

static void on_entry(void *arg, const struct job_entry *e)
{
    const struct each_client *each = arg;

    if (e->accepted.submit_vpid == VPID_HEAD)
        report_client(each->js, e, each->on, each->arg);
}

void jobs_each_client(const struct jobs *js, void (*on)(void *arg, const struct job_client *k),
                      void *arg)
{
    struct each_client each = {js, on, arg};

    job_table_each(js->table, on_entry, &each);
}

/* Takes the ends of the job's ranks from its records. A rank without an end holds its slots, and
 * its daemon will report whether it runs. */
static void adopt_ranks(struct jobs *js, struct job *j)
{
    const struct job_progress *p = &j->kept->progress;

    for (uint32_t r = 0; p->sent && r < j->map.nranks; r++) {
        if (!p->ends[r].state)
            continue;
        j->ranks[r].state = p->ends[r].state;
        j->ranks[r].exit = p->ends[r].status;
        job_slots_give(js, j, r);
        if (job_state_over(j->kept->state) || !job_news_goes_on(j))
            continue;
        if (p->ends[r].state == PROC_LOST)
            job_news_add(js, j, r, 0, RANK_LOST);
        else if (p->ends[r].status != 0)
            job_news_add(js, j, r, p->ends[r].status, RANK_PLAIN);
    }
    for (size_t i = 0; p->sent && i < j->map.nnodes; i++) {
        j->daemons[i].sent = true;
        if (p->gone[i])
            job_debug_stop_node_over(js, j, (int)i);
    }
}

/* A job that has not been sent takes its step again; one that was sent shows its state again. */
void job_succeed(void *jobs, const struct job_entry *e)
{
    struct jobs *js = jobs;
    struct job *j, *parent;

    if (e->state == JOB_NOTIFIED) {
        job_notified_add(js, e);
        return;
    }
    j = job_append(js, e);
    parent = e->accepted.adopted ? job_family_parent(js, &j->map.spec) : NULL;
    job_family_join(j, parent);
    if (e->map.nnodes) {
        job_map_take(js, j);
        adopt_ranks(js, j);
    }
    if (e->result.failure)
        job_set_reason(j, e->result.reason);
    else if (job_sent(j))
        job_news_as_reason(j);
    if (e->state == JOB_WAITING_FOR_DAEMONS) {
        j->held = j->mapped ? JOB_HELD_LAUNCH : JOB_HELD_MAP;
        j->held_ms = js->out->now_ms;
        j->due = false;
    } else if (e->state == JOB_SEND_LAUNCH_MSG) {
        j->due = !job_sent(j);
    }
}

void jobs_succeed(struct jobs *js)
{
    js->inherited = job_table_last(js->table);
    job_table_each(js->table, job_succeed, js);
    if (job_table_adopts(js->table))
        job_adoption_begin(js);
}

static void resume_job(struct jobs *js, struct job *j)
{
    struct err err = {0};

    for (size_t i = 0; i < j->map.nnodes; i++) {
        if (!job_node_gone(j, i) && job_node_current(js, &j->map.nodes[i]) &&
            job_send_node(js, j, (uint32_t)i, &err) < 0)
            out_log(js->out, LOG_LEVEL_WARN, "job %s: %s", j->map.nspace, err.msg);
    }
    job_ready_check(js, j);
    if (job_failing(j))
        job_fail_kill(js, j, SIGTERM, JOB_GRACE_MS);
}

/* If the records lack the end of the job, its daemon has no such client and ends the job. */
static void tell_accepted(struct jobs *js, const struct job *j)
{
    struct msg m = {.type = MSG_ACCEPTED,
                    .accepted = {j->map.nspace, j->kept->accepted.submit_client}};

    if (!job_state_over(j->kept->state))
        job_tell(js, j, &m);
}

void jobs_resume(struct jobs *js, bool lacking)
{
    struct job *j;

    js->lacking = lacking;
    job_notified_resume(js);
    DL_FOREACH(js->list, j)
    {
        if (lacking)
            tell_accepted(js, j);
        if (job_running(j))
            resume_job(js, j);
    }
}

static struct job *find_submitted(const struct jobs *js, uint32_t from, uint32_t client)
{
    struct epoch epoch = members_epoch(js->members, members_get(js->members, from));
    struct job *j;

    DL_FOREACH(js->list, j)
    {
        const struct record_job *a = &j->kept->accepted;

        if (a->submit_vpid == from && a->submit_client == client &&
            (epoch_eq(a->submit_epoch, epoch) || job_entry_follows_head(j->kept)))
            return j;
    }
    return NULL;
}

static const struct job_past *find_past(const struct jobs *js, const char *nspace)
{
    const struct job_past *p = job_notified_find(js, nspace);

    if (p)
        return p;
    DL_FOREACH(job_table_history(js->table)->list, p)
    {
        FREE_AUTO char *name = job_name(js, p->number);

        if (strcmp(name, nspace) == 0)
            return p;
    }
    return NULL;
}

static const struct job_past *find_past_of(const struct jobs *js, uint32_t from, uint32_t client)
{
    struct epoch epoch = members_epoch(js->members, members_get(js->members, from));
    const struct job_past *p;

    DL_FOREACH(job_table_history(js->table)->list, p)
    {
        if (p->submitter.vpid == from && epoch_eq(p->submitter.epoch, epoch) && p->client == client)
            return p;
    }
    return NULL;
}

bool job_inherited(const struct jobs *js, uint32_t from, uint32_t client)
{
    const struct job *j = js->inherited ? find_submitted(js, from, client) : NULL;

    if (js->inherited && (job_notified_has(js, from, client) || find_past_of(js, from, client)))
        return true;
    return j && j->kept->accepted.number <= js->inherited;
}

/* Its submitter does not know that it was accepted. */
static void answer_accepted(struct jobs *js, uint32_t from, const struct job_past *p)
{
    FREE_AUTO char *name = job_name(js, p->number);
    struct msg m = {.type = MSG_ACCEPTED, .accepted = {name, p->client}};
    struct err err = {0};

    if (rml_send(js->rml, from, CLASS_LAUNCH, &m, &err) < 0)
        out_log(js->out, LOG_LEVEL_INFO, "%s", err.msg);
}

/* The former head may have answered, or not. All output has come, since all daemons of the job have
 * reported their end after it, or were lost. */
static void answer_past(struct jobs *js, uint32_t from, const struct msg_client_job *m)
{
    const struct job_past *p =
        *m->nspace ? find_past(js, m->nspace) : find_past_of(js, from, m->client);
    FREE_AUTO char *name = p ? job_name(js, p->number) : xstrdup(m->nspace);
    struct msg done = {.type = MSG_DONE, .done = {.nspace = name, .client = m->client}};
    struct err err = {0};

    done.done.exit_code = p            ? p->exit_code
                          : *m->nspace ? EXIT_CODE_LOST
                                       : EXIT_CODE_NOT_LAUNCHED; /* it was refused */
    done.done.text = p            ? p->reason
                     : *m->nspace ? (char *)"the head was lost, and its heir does not know the job"
                                  : (char *)"the former head has not accepted the job";
    if (p && !*m->nspace)
        answer_accepted(js, from, p);
    if (rml_send(js->rml, from, CLASS_LAUNCH, &done, &err) < 0)
        out_log(js->out, LOG_LEVEL_WARN, "%s", err.msg);
}

void job_asked(struct jobs *js, uint32_t from, const struct msg_client_job *m)
{
    struct job *j = find_submitted(js, from, m->client);
    struct msg accepted = {.type = MSG_ACCEPTED};

    if (!j || (*m->nspace && strcmp(j->map.nspace, m->nspace) != 0)) {
        if (!job_notified_answer(js, from, m) &&
            !job_adoption_answers(js, from, m->client, m->nspace))
            answer_past(js, from, m);
        return;
    }
    accepted.accepted = (struct msg_client_job){j->map.nspace, m->client};
    job_tell(js, j, &accepted);
    if (j->kept->state == JOB_PREPARING)
        job_ready_begin(js, j);
    if (job_sent(j) && !job_state_over(j->kept->state) && j->kept->state != JOB_SEND_LAUNCH_MSG &&
        j->kept->state != JOB_PREPARING)
        job_tell_started(js, j);
    job_tell_state(js, j);
}

void job_end_there(struct jobs *js, uint32_t from, const char *nspace, int exit_code)
{
    struct msg ended = {.type = MSG_JOB_ENDED, .job_ended = {(char *)nspace, exit_code}};
    struct err err = {0};

    if (rml_send(js->rml, from, CLASS_LAUNCH, &ended, &err) < 0)
        out_log(js->out, LOG_LEVEL_INFO, "job %s: %s", nspace, err.msg);
}

static void end_unknown(struct jobs *js, uint32_t from, const char *nspace)
{
    const struct job_past *p = find_past(js, nspace);

    if (!p)
        out_log(js->out, LOG_LEVEL_WARN,
                "vpid %u has ranks of job %s, which is not known: they end", from, nspace);
    job_end_there(js, from, nspace, p ? p->exit_code : EXIT_CODE_LOST);
}

static bool is_its_map(const struct job *j, const struct job_launch *l)
{
    const struct job_launch *own = &j->map;

    if (!job_sent(j) || own->nnodes != l->nnodes || own->nranks != l->nranks)
        return false;
    for (size_t i = 0; i < l->nnodes; i++) {
        if (own->nodes[i].vpid != l->nodes[i].vpid || own->nodes[i].epoch != l->nodes[i].epoch)
            return false;
    }
    return memcmp(own->rank_node, l->rank_node, l->nranks * sizeof(*l->rank_node)) == 0 &&
           memcmp(own->rank_app, l->rank_app, l->nranks * sizeof(*l->rank_app)) == 0;
}

/* The former head has accepted the job, and may have launched it in records that are lost. A member
 * that lies can say so of such jobs only. */
static bool may_be_launched(const struct jobs *js, uint32_t from, const struct job *j,
                            const struct job_launch *l)
{
    int node = job_launch_node(l, from);

    return js->lacking && j->kept->accepted.number <= js->inherited && node >= 0 &&
           job_node_current(js, &l->nodes[node]);
}

/* The records may lack the launch of a job. Then it has no map here, or has got another one since,
 * and some of its ranks would be there twice: it ends. */
void job_reported(struct jobs *js, uint32_t from, const struct job_launch *l)
{
    struct job *j = jobs_find(js, l->nspace);

    if (!j && job_adoption_report(js, from, l))
        return;
    if (!j) {
        end_unknown(js, from, l->nspace);
        return;
    }
    if (is_its_map(j, l) || !may_be_launched(js, from, j, l))
        return;
    if (!job_sent(j) || job_launch_node(&j->map, from) < 0)
        job_end_there(js, from, l->nspace, EXIT_CODE_LOST);
    job_fail(js, j, JOB_EV_KILL, EXIT_CODE_LOST,
             "the head was lost, and its heir does not know the job's launch");
}
