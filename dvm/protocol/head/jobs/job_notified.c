/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs that have ended, until the daemons of their submitters have acknowledged it.
 *
 * In: jobs whose DONE is on its way (job_end.c); acknowledgements, which the streams of messages
 * count (rml.h); questions of daemons after a change of the head. Out: JOB_FORGOTTEN; under a new
 * head, and as the answer to a question, ACCEPTED and DONE again.
 *
 * A job stays in the table of jobs, in the state NOTIFIED, until its DONE has arrived. So the next
 * head knows how the job has ended, and that it is not to run again. A daemon that has had these
 * messages ignores them.
 *
 * Limits: a daemon that departs acknowledges nothing more, and its jobs are forgotten at once. If
 * more than JOB_NOTIFIED_MAX jobs wait, the oldest one is forgotten. It is known as long as the
 * history has it. */
#include "base/log/log.h"
#include "dvm/protocol/head/jobs/job_private.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

static bool is_member(const struct jobs *js, const struct job_notified *n)
{
    return members_current(js->members, n->past->submitter.vpid, n->past->submitter.epoch);
}

void job_notified_add(struct jobs *js, const struct job_entry *kept)
{
    struct job_notified *n = xcalloc(1, sizeof(*n));

    n->kept = kept;
    n->past = job_table_past(kept);
    n->seq = rml_sent(js->rml, n->past->submitter.vpid, CLASS_LAUNCH);
    DL_APPEND(js->notified, n);
    js->nnotified++;
}

static void drop_notified(struct jobs *js, struct job_notified *n)
{
    DL_DELETE(js->notified, n);
    js->nnotified--;
    job_past_free(n->past);
    free(n);
}

void job_notified_free_all(struct jobs *js)
{
    while (js->notified)
        drop_notified(js, js->notified);
}

static void forget_job(struct jobs *js, struct job_notified *n)
{
    job_table_forget(js->table, n->kept);
    drop_notified(js, n);
}

/* A stream acknowledges in order: after one job of a daemon that waits, its later ones wait too. */
void job_notified_forget(struct jobs *js)
{
    struct job_notified *n, *tmp;
    uint32_t waits = VPID_NONE;

    DL_FOREACH_SAFE(js->notified, n, tmp)
    {
        uint32_t vpid = n->past->submitter.vpid;

        if (vpid == waits && is_member(js, n))
            continue;
        if (!is_member(js, n) || rml_arrived(js->rml, vpid, CLASS_LAUNCH, n->seq))
            forget_job(js, n);
        else
            waits = vpid;
    }
    while (js->notified && js->nnotified > JOB_NOTIFIED_MAX)
        forget_job(js, js->notified);
}

const struct job_past *job_notified_find(const struct jobs *js, const char *nspace)
{
    const struct job_notified *n;

    DL_FOREACH(js->notified, n)
    {
        FREE_AUTO char *name = job_name(js, n->past->number);

        if (strcmp(name, nspace) == 0)
            return n->past;
    }
    return NULL;
}

static struct job_notified *find_of(const struct jobs *js, uint32_t from, uint32_t client)
{
    struct job_notified *n;

    DL_FOREACH(js->notified, n)
    {
        if (n->past->submitter.vpid == from && n->past->client == client && is_member(js, n))
            return n;
    }
    return NULL;
}

bool job_notified_has(const struct jobs *js, uint32_t from, uint32_t client)
{
    return find_of(js, from, client) != NULL;
}

static void tell_submitter(struct jobs *js, const struct job_notified *n, const struct msg *m)
{
    struct err err = {0};

    if (rml_send(js->rml, n->past->submitter.vpid, CLASS_LAUNCH, m, &err) < 0)
        out_log(js->out, LOG_LEVEL_WARN, "job %llu: %s", (unsigned long long)n->past->number,
                err.msg);
}

/* ACCEPTED first: a client that has no name of its job would submit it at another daemon. */
static void notify_again(struct jobs *js, struct job_notified *n)
{
    FREE_AUTO char *name = job_name(js, n->past->number);
    FREE_AUTO char *text = job_end_text(n->kept, n->past->reason);
    struct msg accepted = {.type = MSG_ACCEPTED, .accepted = {name, n->past->client}};
    struct msg given_back = {.type = MSG_JOB_STATE,
                             .job_state = {.nspace = name,
                                           .client = n->past->client,
                                           .state = JOB_NEVER_LAUNCHED,
                                           .reason = n->past->reason}};
    struct msg done = {.type = MSG_DONE,
                       .done = {.nspace = name,
                                .client = n->past->client,
                                .exit_code = job_end_code(n->kept),
                                .text = text}};

    tell_submitter(js, n, &accepted);
    if (job_was_given_back(n->past->failure, n->past->exit_code))
        tell_submitter(js, n, &given_back);
    tell_submitter(js, n, &done);
    n->seq = rml_sent(js->rml, n->past->submitter.vpid, CLASS_LAUNCH);
}

bool job_notified_answer(struct jobs *js, uint32_t from, const struct msg_client_job *m)
{
    struct job_notified *n = find_of(js, from, m->client);
    FREE_AUTO char *name = n ? job_name(js, n->past->number) : NULL;

    if (!n || (*m->nspace && strcmp(name, m->nspace) != 0))
        return false;
    notify_again(js, n);
    return true;
}

void job_notified_resume(struct jobs *js)
{
    struct job_notified *n;

    DL_FOREACH(js->notified, n)
    {
        if (is_member(js, n))
            notify_again(js, n);
    }
}
