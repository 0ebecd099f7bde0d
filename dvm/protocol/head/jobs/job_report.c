/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports of daemons about a job's ranks, and the consequences of a daemon's loss for it.
 *
 * In: LAUNCHED, REGISTERED, EXITED, LOCAL_GONE and ABORT of the job's daemons; lost members. Out:
 * steps of ranks and of the job; slots given back; reports to others (job_news.c); failures
 * (job_fail.c).
 *
 * A daemon reports its own ranks only. A rank ends once: later reports about it are dropped. A
 * job ends when nothing of it is left on any of its daemons. A rank that ends with a code or by
 * a signal, or with its daemon, fails the job unless it is recoverable. So does a rank that exits
 * with code 0 after PMIx_Init without PMIx_Finalize, since others may wait for it. */
#include "base/log/log.h"
#include "dvm/protocol/head/jobs/job_private.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <utlist.h>

static bool not_running_yet(const struct job *j)
{
    return j->kept->state == JOB_SEND_LAUNCH_MSG || j->kept->state == JOB_PREPARING;
}

static void check_over(struct jobs *js, struct job *j)
{
    if (job_state_over(j->kept->state) || !job_sent(j) ||
        j->kept->progress.nnodes_gone < j->map.nnodes)
        return;
    if (!j->kept->result.failure && not_running_yet(j))
        job_step(js, j, JOB_EV_FIRST); /* it ended before any daemon reported its start */
    job_step(js, j, j->kept->result.failure ? j->kept->result.failure : JOB_EV_ENDED);
}

static struct job *find_sent(struct jobs *js, const char *nspace)
{
    struct job *j = jobs_find(js, nspace);

    return j && job_sent(j) && !job_state_over(j->kept->state) ? j : NULL;
}

/* The rank if the sender runs it, else -1: a daemon reports its own ranks only. */
static int64_t own_rank(const struct job *j, uint32_t from, uint32_t rank)
{
    if (rank >= j->map.nranks || j->map.nodes[j->map.rank_node[rank]].vpid != from)
        return -1;
    return rank;
}

static const char *host_of(const struct job *j, uint32_t rank)
{
    return j->map.nodes[j->map.rank_node[rank]].host;
}

static void rank_step(struct jobs *js, struct job *j, uint32_t rank, enum proc_event ev)
{
    struct err err = {0};

    if (fsm_step(&proc_fsm, &j->ranks[rank].state, (int)ev, NULL, &err) < 0)
        out_log(js->out, LOG_LEVEL_DEBUG, "job %s rank %u: %s", j->map.nspace, rank, err.msg);
}

/* A rank may have ended before its daemon reports the start of its neighbours. */
static bool start_is_news(const struct job *j, int64_t rank, bool failed)
{
    if (rank < 0)
        return false;
    return j->ranks[rank].state == PROC_INIT ||
           (!failed && j->ranks[rank].state == PROC_TERMINATED && !j->ranks[rank].pid);
}

void job_launched(struct jobs *js, uint32_t from, const struct msg_ranks *m)
{
    struct job *j = find_sent(js, m->nspace);

    for (size_t i = 0; j && i < m->nranks; i++) {
        int64_t rank = own_rank(j, from, m->ranks[i].rank);

        if (!start_is_news(j, rank, m->ranks[i].failed))
            continue;
        if (m->ranks[i].failed) {
            job_table_rank_ended(js->table, j->kept, (uint32_t)rank, PROC_FAILED_TO_START,
                                 m->ranks[i].value, "");
            rank_step(js, j, (uint32_t)rank, PROC_EV_FAIL);
            job_slots_give(js, j, (uint32_t)rank);
            job_fail(js, j, JOB_EV_FAIL_START, EXIT_CODE_NOT_LAUNCHED,
                     "rank %u was not started on %s (vpid %u): %s: %s", m->ranks[i].rank,
                     host_of(j, (uint32_t)rank), from, m->ranks[i].text,
                     strerror(m->ranks[i].value));
            continue;
        }
        if (j->ranks[rank].state == PROC_INIT)
            rank_step(js, j, (uint32_t)rank, PROC_EV_RUN);
        j->ranks[rank].pid = m->ranks[i].value;
        if (j->nrunning++ == 0 && not_running_yet(j))
            job_step(js, j, JOB_EV_FIRST);
    }
    if (j)
        job_ready_check(js, j);
    if (j && j->nrunning == j->map.nranks && j->kept->state == JOB_STARTED && !j->due)
        job_step(js, j, JOB_EV_ALL_RUN);
}

void job_registered(struct jobs *js, uint32_t from, const struct msg_job_name *m)
{
    struct job *j = find_sent(js, m->nspace);
    int node = j ? job_launch_node(&j->map, from) : -1;

    if (node < 0 || j->daemons[node].registered)
        return;
    j->daemons[node].registered = true;
    if (++j->nnodes_registered == j->map.nnodes && j->kept->state == JOB_RUNNING && !j->due)
        job_step(js, j, JOB_EV_REGISTERED);
}

static const char *note_of_signal(const struct msg_rank *r)
{
    if (r->how == RANK_NO_MEMORY)
        return " by the kernel, out of memory";
    return WCOREDUMP(r->value) ? ", core dumped" : "";
}

static bool is_drained(const struct job *j, uint32_t rank)
{
    return j->daemons[j->map.rank_node[rank]].drained;
}

/* The rank has left its PMIx session behind. A recoverable job goes on, and only a strict one
 * counts the rank as failed. */
static bool lacks_finalize(const struct job *j, const struct msg_rank *r)
{
    bool lenient = (j->map.spec.flags & (JOB_RECOVERABLE | JOB_STRICT)) == JOB_RECOVERABLE;

    return r->value == 0 && r->how == RANK_WO_SYNC && !lenient && !is_drained(j, r->rank);
}

/* How a rank has failed: without finalizing, with a code or by a signal. */
static char *describe_end(const struct job *j, uint32_t from, const struct msg_rank *r)
{
    const char *host = host_of(j, r->rank);
    int pid = j->ranks[r->rank].pid;
    int signum = WTERMSIG(r->value);

    if (r->value == 0)
        return xasprintf("rank %u on %s (vpid %u) exited with code 0 after MPI_Init (PMIx_Init), "
                         "but without MPI_Finalize (PMIx_Finalize): NotFinalized, pid %d",
                         r->rank, host, from, pid);
    if (is_drained(j, r->rank))
        return xasprintf("rank %u on %s (vpid %u) was ended by a shrink of the DVM, pid %d",
                         r->rank, host, from, pid);
    if (WIFSIGNALED(r->value))
        return xasprintf("rank %u on %s (vpid %u) was ended by signal %d (%s)%s, pid %d", r->rank,
                         host, from, signum, strsignal(signum), note_of_signal(r), pid);
    return xasprintf("rank %u on %s (vpid %u) exited with code %d, pid %d", r->rank, host, from,
                     WEXITSTATUS(r->value), pid);
}

/* A rank has failed, or was lost: the job continues without it, or fails. */
static void outlive_or_fail(struct jobs *js, struct job *j, int code, const char *text)
{
    if (job_news_goes_on(j))
        job_news_as_reason(j);
    else
        job_fail(js, j, JOB_EV_ABORT, code, "%s", text);
}

/* The ranks of a lost daemon fail the job. A survivor may have noticed their loss before the DVM
 * did, and have aborted. */
static void fail_by_loss(struct jobs *js, struct job *j, uint32_t nlost, const char *text)
{
    if (nlost && j->kept->result.failure == JOB_EV_ABORT)
        job_fail_explained(js, j, EXIT_CODE_LOST, text);
    else if (nlost || !job_news_goes_on(j))
        outlive_or_fail(js, j, EXIT_CODE_LOST, text);
}

/* A former head was ending the job, and this one does not know why: another report may. */
static void fail_unexplained(struct jobs *js, struct job *j)
{
    if (job_failing(j))
        return;
    job_fail(js, j, JOB_EV_ABORT, EXIT_CODE_LOST,
             "the former head was ending the job, and its heir does not know why");
    j->unexplained = true;
}

static void rank_exited(struct jobs *js, struct job *j, uint32_t from, const struct msg_rank *r)
{
    bool unfinished = lacks_finalize(j, r);
    FREE_AUTO char *text = r->value || unfinished ? describe_end(j, from, r) : NULL;
    int failed = unfinished ? EXIT_CODE_NOT_FINALIZED << 8 : r->value; /* as a wait status */
    int code = WIFSIGNALED(failed) ? exit_code_of_signal(WTERMSIG(failed)) : WEXITSTATUS(failed);
    /* A rank that a shrink ends is lost, whatever it answers to the signal. */
    int status = failed && is_drained(j, r->rank) ? SIGTERM : failed;
    enum rank_how how = r->how == RANK_ORDERED ? RANK_PLAIN : (enum rank_how)r->how;

    job_table_rank_ended(js->table, j->kept, r->rank, PROC_TERMINATED, status,
                         text && job_news_goes_on(j) ? text : "");
    if (j->ranks[r->rank].state == PROC_INIT)
        rank_step(js, j, r->rank, PROC_EV_RUN);
    rank_step(js, j, r->rank, PROC_EV_IOF);
    rank_step(js, j, r->rank, PROC_EV_WAITPID);
    j->ranks[r->rank].exit = r->value;
    job_slots_give(js, j, r->rank);
    if (r->value != 0 || how != RANK_PLAIN)
        job_news_add(js, j, r->rank, r->value, how);
    if (r->how == RANK_ORDERED && !job_news_goes_on(j))
        fail_unexplained(js, j);
    else if (text)
        outlive_or_fail(js, j, code, text);
}

void job_exited(struct jobs *js, uint32_t from, const struct msg_ranks *m)
{
    struct job *j = find_sent(js, m->nspace);

    for (size_t i = 0; j && i < m->nranks; i++) {
        int64_t rank = own_rank(j, from, m->ranks[i].rank);

        if (rank >= 0 && j->ranks[rank].state < PROC_TERMINATED)
            rank_exited(js, j, from, &m->ranks[i]);
    }
}

/* The job has nothing left on this daemon, and its record says so. */
static void after_node_gone(struct jobs *js, struct job *j, int node)
{
    js->changes++;
    job_waits_node_gone(js, j, j->map.nodes[node].vpid);
    job_debug_stop_node_over(js, j, node);
    check_over(js, j);
    job_ready_check(js, j);
}

void job_local_gone(struct jobs *js, uint32_t from, const struct msg_local_gone *m)
{
    struct job *j = find_sent(js, m->nspace);
    int node = j ? job_launch_node(&j->map, from) : -1;

    if (node < 0 || job_node_gone(j, node))
        return;
    job_table_node_gone(js->table, j->kept, (uint32_t)node, false, "");
    after_node_gone(js, j, node);
}

void job_aborted(struct jobs *js, uint32_t from, const struct msg_abort *m)
{
    struct job *j = find_sent(js, m->nspace);

    int code = m->code > 0 && m->code < 256 ? m->code : 1;

    if (!j || own_rank(j, from, m->rank) < 0)
        return;
    job_news_add(js, j, m->rank, code, RANK_ABORTED);
    job_fail(js, j, JOB_EV_ABORT, code,
             "rank %u on %s (vpid %u, pid %d) aborted the job with code %d%s%s", m->rank,
             host_of(j, m->rank), from, j->ranks[m->rank].pid, m->code, *m->text ? ": " : "",
             m->text);
}

static bool runs_on(const struct job *j, uint32_t rank, int node)
{
    return j->map.rank_node[rank] == (uint32_t)node && j->ranks[rank].state < PROC_TERMINATED;
}

void job_lose_node(struct jobs *js, struct job *j, int node, const char *why)
{
    FREE_AUTO char *text = NULL;
    uint32_t nlost = 0;
    const char *cause = why ? why : "";

    for (uint32_t r = 0; r < j->map.nranks; r++)
        nlost += runs_on(j, r, node);
    text = xasprintf("%u %s on %s %s lost with %s daemon (vpid %u)%s%.500s", nlost,
                     nlost == 1 ? "rank" : "ranks", j->map.nodes[node].host,
                     nlost == 1 ? "was" : "were", nlost == 1 ? "its" : "their",
                     j->map.nodes[node].vpid, *cause ? ": " : "", cause);
    job_table_node_gone(js->table, j->kept, (uint32_t)node, true,
                        nlost && job_news_goes_on(j) ? text : "");
    for (uint32_t r = 0; r < j->map.nranks; r++) {
        if (!runs_on(j, r, node))
            continue;
        rank_step(js, j, r, PROC_EV_LOST);
        job_slots_give(js, j, r);
        job_news_add(js, j, r, 0, RANK_LOST);
    }
    fail_by_loss(js, j, nlost, text);
    after_node_gone(js, j, node);
}

/* A job that was sent to the lost daemon ends or continues by its own policy. A held or queued
 * job is mapped anew later. The first job that waits may be too large now, and is passed. */
void job_daemon_lost(struct jobs *js, uint32_t vpid, struct epoch epoch, const char *why)
{
    struct job *j;

    js->kick = true;
    DL_FOREACH(js->list, j)
    {
        int node = j->mapped ? job_launch_node(&j->map, vpid) : -1;

        if (node >= 0 && j->map.nodes[node].epoch == epoch.ctr && job_sent(j) &&
            !job_state_over(j->kept->state) && !job_node_gone(j, node))
            job_lose_node(js, j, node, why);
    }
}
