/* SPDX-License-Identifier: BSD-3-Clause */
/* The decision that a job fails. Its causes: its submitter, a deadline, a failed rank.
 *
 * In: the first failure of a job, signals for its ranks, time limits. Out: KILL to its daemons, and
 * the same for the jobs that its ranks have spawned.
 *
 * The first failure decides exit code and text. A job that was not sent yet ends at once. Else
 * its ranks get SIGTERM, after JOB_GRACE_MS SIGKILL, and the job ends when all its daemons have
 * reported that nothing of it is left. Later failures change nothing, but for one: the loss of a
 * daemon explains why a rank elsewhere had aborted before, and takes precedence. */
#include "base/log/log.h"
#include "dvm/protocol/head/jobs/job_private.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

static void end_children(struct jobs *js, const struct job *parent);

static void kill_on_node(struct jobs *js, struct job *j, size_t node, int signum, int64_t grace_ms)
{
    struct msg m = {.type = MSG_KILL, .kill = {j->map.nspace, signum, grace_ms}};
    struct err err = {0};

    if (j->daemons[node].sent && !job_node_gone(j, node) &&
        rml_send(js->rml, j->map.nodes[node].vpid, CLASS_LAUNCH, &m, &err) < 0)
        out_log(js->out, LOG_LEVEL_INFO, "job %s: %s", j->map.nspace, err.msg);
}

void job_fail_kill(struct jobs *js, struct job *j, int signum, int64_t grace_ms)
{
    for (size_t i = 0; i < j->map.nnodes; i++)
        kill_on_node(js, j, i, signum, grace_ms);
}

bool job_outlives(const struct job *j)
{
    return job_sent(j) && job_news_goes_on(j);
}

bool job_drain_node(struct jobs *js, struct job *j, size_t node)
{
    if (j->daemons[node].drained || job_node_gone(j, node))
        return false;
    j->daemons[node].drained = true;
    kill_on_node(js, j, node, SIGTERM, JOB_GRACE_MS);
    return true;
}

void job_fail(struct jobs *js, struct job *j, enum job_event how, int exit_code, const char *fmt,
              ...)
{
    FREE_AUTO char *losses = NULL;
    char text[2048];
    va_list ap;

    if (job_state_over(j->kept->state) || (j->kept->result.failure && !j->unexplained))
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (j->unexplained) {
        j->unexplained = false;
        job_fail_explained(js, j, exit_code, text);
        return;
    }
    free(j->reason);
    losses = job_progress_losses_text(&j->kept->progress, j->map.nranks);
    j->reason = losses ? xasprintf("%s; before, %s", text, losses) : xstrdup(text);
    job_table_result(js->table, j->kept, how, exit_code, j->reason);
    j->queued = false;
    j->held_ms = 0;
    out_log(js->out, LOG_LEVEL_INFO, "job %s: %s", j->map.nspace, text);
    if (job_sent(j))
        job_fail_kill(js, j, SIGTERM, JOB_GRACE_MS);
    else
        job_step(js, j, how);
    end_children(js, j);
}

void job_fail_explained(struct jobs *js, struct job *j, int exit_code, const char *cause)
{
    bool lenient = (j->map.spec.flags & (JOB_RECOVERABLE | JOB_STRICT)) == JOB_RECOVERABLE;
    char *reason;

    if (job_state_over(j->kept->state) || !j->kept->result.failure ||
        j->kept->result.exit_code == exit_code)
        return;
    reason = xasprintf("%s; before that was noticed, %s", cause, j->reason);
    free(j->reason);
    j->reason = reason;
    job_table_result(js->table, j->kept, j->kept->result.failure,
                     lenient ? j->kept->result.exit_code : exit_code, reason);
    out_log(js->out, LOG_LEVEL_INFO, "job %s: %s", j->map.nspace, reason);
}

/* A detached job has no prun that waits, and a rank that spawns a job is no prun. */
static bool has_prun(const struct job *j)
{
    return !(j->map.spec.flags & JOB_DETACH) && !*j->map.spec.parent_nspace;
}

bool job_give_back(struct jobs *js, struct job *j)
{
    if (job_sent(j) || !has_prun(j))
        return false;
    job_fail(js, j, JOB_EV_NEVER, EXIT_CODE_LOST,
             "not launched: the daemon of its prun (vpid %u) leaves the DVM",
             j->kept->accepted.submit_vpid);
    return true;
}

void job_fail_with_parent(struct jobs *js, struct job *j, const struct job *parent)
{
    job_fail(js, j, JOB_EV_KILL, EXIT_CODE_CANCELLED, "ended with job %s, which has spawned it",
             parent->map.nspace);
}

static void end_children(struct jobs *js, const struct job *parent)
{
    struct job *j;

    if (parent->nchildren == 0)
        return;
    DL_FOREACH(js->list, j)
    {
        if (!job_family_is_child(j, parent))
            continue;
        if (job_state_over(j->kept->state))
            end_children(js, j);
        else
            job_fail_with_parent(js, j, parent);
    }
}

/* Ends the children of a job that has ended itself: its submitter waits for them. */
static void fail_family(struct jobs *js, struct job *parent, int code, const char *why)
{
    FREE_AUTO char *text = xasprintf("spawned jobs were ended: %s", why);

    if (parent->nchildren && !parent->kept->kin_text)
        job_table_kin_failed(js->table, parent->kept, code, text);
    end_children(js, parent);
}

static bool ends_jobs(int signum)
{
    return signum == SIGTERM || signum == SIGINT || signum == SIGKILL;
}

/* The submitter sends a signal for the ranks, or has departed (signal 0). */
void job_signal(struct jobs *js, const struct msg_signal *m)
{
    struct job *j = jobs_find(js, m->nspace);
    int signum = m->signum;

    if (!j)
        return;
    if (job_state_over(j->kept->state)) {
        if (signum == 0) /* prun waited for the children */
            fail_family(js, j, EXIT_CODE_CANCELLED, "its submitter has disconnected");
        else if (ends_jobs(signum))
            fail_family(js, j, exit_code_of_signal(signum), "by the user");
    } else if (signum == SIGKILL && job_sent(j)) {
        job_fail(js, j, JOB_EV_KILL, exit_code_of_signal(SIGKILL), "ended by the user");
        if (j->kept->result.failure == JOB_EV_KILL && j->kept->result.exit_code > 128)
            job_table_result(js->table, j->kept, JOB_EV_KILL, exit_code_of_signal(SIGKILL),
                             j->reason); /* a SIGKILL after a SIGTERM */
        job_fail_kill(js, j, SIGKILL, 0);
    } else if (signum == 0) {
        job_fail(js, j, JOB_EV_KILL, EXIT_CODE_CANCELLED, "its submitter has disconnected");
    } else if (ends_jobs(signum)) {
        job_fail(js, j, JOB_EV_KILL, exit_code_of_signal(signum), "ended by the user");
    } else if (job_sent(j)) {
        job_fail_kill(js, j, signum, -1);
    }
}

int job_signal_put(struct jobs *js, const char *nspace, int signum, enum api_reason *reason,
                   struct err *err)
{
    const struct job *j = jobs_find(js, nspace);
    struct msg_signal m = {(char *)nspace, signum};

    if (!j || (job_state_over(j->kept->state) && !j->nchildren)) {
        *reason = API_REASON_NOT_FOUND;
        return err_code(err, 404, "no job %s waits or runs", nspace);
    }
    job_signal(js, &m);
    return 0;
}

/* The daemon of a submitter has left or is lost, and the submitter with it. */
void job_home_gone(struct jobs *js, uint32_t vpid, struct epoch epoch, bool lost)
{
    struct job *j;

    DL_FOREACH(js->list, j)
    {
        if (j->kept->accepted.submit_vpid != vpid ||
            !epoch_eq(j->kept->accepted.submit_epoch, epoch) || job_entry_follows_head(j->kept))
            continue;
        if (lost)
            job_fail(js, j, JOB_EV_KILL, EXIT_CODE_LOST,
                     "its submitter was lost with its daemon (vpid %u)", vpid);
        else
            job_fail(js, j, JOB_EV_KILL, EXIT_CODE_CANCELLED, "its submitter left with vpid %u",
                     vpid);
    }
}

static void end_timed_out(struct jobs *js, struct job *j)
{
    FREE_AUTO char *why =
        xasprintf("its time limit of %.10g s has passed", (double)j->map.spec.timeout_ms / 1000);

    if (job_state_over(j->kept->state))
        fail_family(js, j, EXIT_CODE_TIMEOUT, why);
    else
        job_fail(js, j, JOB_EV_KILL, EXIT_CODE_TIMEOUT, "ended: %s", why);
}

void job_fail_deadlines(struct jobs *js)
{
    struct job *j;

    DL_FOREACH(js->list, j)
    {
        if (!job_deadline(j) || job_deadline(j) > js->out->now_ms)
            continue;
        j->timed_out = true;
        end_timed_out(js, j);
    }
}
