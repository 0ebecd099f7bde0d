/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports of daemons about a job's ranks, and the consequences of a daemon's loss for it.
 *
 * In: LAUNCHED, REGISTERED, EXITED, LOCAL_GONE and ABORT of the job's daemons; lost members. Out:
 * steps of ranks and of the job; slots given back; reports to others (job_news.c); failures
 * (job_fail.c).
 *
 * A daemon reports its own ranks only. A rank ends once: later reports about it are dropped. A
 * job ends when nothing of it is left on any of its daemons. A rank that ends with a code or by
 * a signal, or with its daemon, fails the job unless it is recoverable. */
#include "base/log/log.h"
#include "dvm/protocol/head/jobs/job_private.h"

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
    if (job_state_over(j->kept->state) || !j->sent || j->nnodes_gone < j->map.nnodes)
        return;
    if (!j->kept->result.failure && not_running_yet(j))
        job_step(js, j, JOB_EV_FIRST); /* it ended before any daemon reported its start */
    job_step(js, j, j->kept->result.failure ? j->kept->result.failure : JOB_EV_ENDED);
}

static struct job *find_sent(struct jobs *js, const char *nspace)
{
    struct job *j = jobs_find(js, nspace);

    return j && j->sent && !job_state_over(j->kept->state) ? j : NULL;
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

static void rank_failed(struct jobs *js, struct job *j, uint32_t from, const struct msg_rank *r)
{
    uint32_t rank = r->rank;
    int status = r->value;
    bool lost = WIFSIGNALED(status);
    int code = lost ? exit_code_of_signal(WTERMSIG(status)) : WEXITSTATUS(status);
    int pid = j->ranks[rank].pid;
    char text[512];

    if (lost)
        snprintf(text, sizeof(text),
                 "rank %u on %s (vpid %u) was ended by signal %d (%s)%s, pid %d", rank,
                 host_of(j, rank), from, WTERMSIG(status), strsignal(WTERMSIG(status)),
                 note_of_signal(r), pid);
    else
        snprintf(text, sizeof(text), "rank %u on %s (vpid %u) exited with code %d, pid %d", rank,
                 host_of(j, rank), from, code, pid);
    if (!(j->map.spec.flags & JOB_RECOVERABLE))
        job_fail(js, j, JOB_EV_ABORT, code, "%s", text);
    else if (!j->kept->result.failure)
        job_news_outlived(js, j, 1, code, lost, text);
}

void job_exited(struct jobs *js, uint32_t from, const struct msg_ranks *m)
{
    struct job *j = find_sent(js, m->nspace);

    for (size_t i = 0; j && i < m->nranks; i++) {
        int64_t rank = own_rank(j, from, m->ranks[i].rank);

        if (rank < 0 || j->ranks[rank].state >= PROC_TERMINATED)
            continue;
        if (j->ranks[rank].state == PROC_INIT)
            rank_step(js, j, (uint32_t)rank, PROC_EV_RUN);
        rank_step(js, j, (uint32_t)rank, PROC_EV_IOF);
        rank_step(js, j, (uint32_t)rank, PROC_EV_WAITPID);
        j->ranks[rank].exit = m->ranks[i].value;
        job_slots_give(js, j, (uint32_t)rank);
        if (m->ranks[i].value != 0 || m->ranks[i].how != RANK_PLAIN)
            job_news_add(js, j, (uint32_t)rank, m->ranks[i].value, m->ranks[i].how);
        if (m->ranks[i].value != 0)
            rank_failed(js, j, from, &m->ranks[i]);
    }
}

static void end_node(struct jobs *js, struct job *j, int node)
{
    if (j->daemons[node].gone)
        return;
    j->daemons[node].gone = true;
    js->changes++;
    j->nnodes_gone++;
    job_debug_stop_node_over(js, j, node);
    check_over(js, j);
    job_ready_check(js, j);
}

void job_local_gone(struct jobs *js, uint32_t from, const struct msg_local_gone *m)
{
    struct job *j = find_sent(js, m->nspace);
    int node = j ? job_launch_node(&j->map, from) : -1;

    if (node >= 0)
        end_node(js, j, node);
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

void job_lose_node(struct jobs *js, struct job *j, int node, const char *why)
{
    char text[512];
    uint32_t nlost = 0;

    for (uint32_t r = 0; r < j->map.nranks; r++) {
        if (j->map.rank_node[r] != (uint32_t)node || j->ranks[r].state >= PROC_TERMINATED)
            continue;
        rank_step(js, j, r, PROC_EV_LOST);
        job_slots_give(js, j, r);
        job_news_add(js, j, r, 0, RANK_LOST);
        nlost++;
    }
    snprintf(text, sizeof(text), "%u ranks on %s were lost with their daemon (vpid %u)%s%s", nlost,
             j->map.nodes[node].host, j->map.nodes[node].vpid, why && *why ? ": " : "",
             why ? why : "");
    if (!(j->map.spec.flags & JOB_RECOVERABLE))
        job_fail(js, j, JOB_EV_ABORT, EXIT_CODE_LOST, "%s", text);
    else if (!j->kept->result.failure && nlost)
        job_news_outlived(js, j, nlost, EXIT_CODE_LOST, true, text);
    end_node(js, j, node);
}

/* A job that was sent to the lost daemon ends or continues by its own policy. A held or queued
 * job is mapped anew later. */
void job_daemon_lost(struct jobs *js, uint32_t vpid, struct epoch epoch, const char *why)
{
    struct job *j;

    DL_FOREACH(js->list, j)
    {
        int node = j->mapped ? job_launch_node(&j->map, vpid) : -1;

        if (node >= 0 && j->map.nodes[node].epoch == epoch.ctr && j->sent &&
            !job_state_over(j->kept->state) && !j->daemons[node].gone)
            job_lose_node(js, j, node, why);
    }
}
