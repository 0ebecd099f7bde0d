/* SPDX-License-Identifier: BSD-3-Clause */
/* A job from its launch to its end: reports of daemons, failures, deadlines, the final word. */
#include "base/log/log.h"
#include "dvm/protocol/head/head_private.h"
#include "dvm/protocol/wire/mutant.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <utlist.h>

static void kill_ranks(struct head *l, struct job *j, int signum, int64_t grace_ms)
{
    struct msg m = {
        .type = MSG_KILL, .nspace = j->map.nspace, .number = signum, .number2 = grace_ms};
    struct err err = {0};

    for (size_t i = 0; i < j->map.nnodes; i++) {
        if (j->node_sent[i] && !j->node_gone[i] &&
            rml_send(l->rml, j->map.nodes[i].vpid, CLASS_LAUNCH, &m, &err) < 0)
            out_log(l->out, LOG_LEVEL_INFO, "job %s: %s", j->map.nspace, err.msg);
    }
}

static bool not_running_yet(const struct job *j)
{
    return j->state == JOB_SEND_LAUNCH_MSG || j->state == JOB_STAGING;
}

static void check_over(struct head *l, struct job *j)
{
    if (job_state_over(j->state) || !j->sent || j->nnodes_gone < j->map.nnodes)
        return;
    if (!j->failure && not_running_yet(j))
        job_event(l, j, JOB_EV_FIRST); /* ended before anybody said that it ran */
    job_event(l, j, j->failure ? j->failure : JOB_EV_ENDED);
}

/* The first failure decides code and text; the other ranks are ended, and the job is over when all
 * are gone. */
void job_fail(struct head *l, struct job *j, enum job_event how, int exit_code, const char *fmt,
              ...)
{
    char text[2048];
    va_list ap;

    if (job_state_over(j->state) || j->failure)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    j->failure = how;
    j->exit_code = exit_code;
    free(j->reason);
    j->reason = j->losses ? xasprintf("%s; before, %u of %u ranks failed or were lost: %s", text,
                                      j->nbad, j->map.nranks, j->losses)
                          : xstrdup(text);
    j->queued = false;
    j->parked_ms = 0;
    out_log(l->out, LOG_LEVEL_INFO, "job %s: %s", j->map.nspace, text);
    if (j->sent)
        kill_ranks(l, j, SIGTERM, HEAD_GRACE_MS);
    else
        job_event(l, j, how);
    job_family_end_children(l, j);
}

static struct job *find(struct head *l, const struct msg *m)
{
    struct job *j = head_job_find(l, m->nspace);

    return j && j->sent && !job_state_over(j->state) ? j : NULL;
}

/* The rank if the sender runs it, else -1: nobody speaks for another daemon's ranks. */
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

static void rank_step(struct head *l, struct job *j, uint32_t rank, enum proc_event ev)
{
    struct err err = {0};

    if (fsm_step(&proc_fsm, &j->rank_state[rank], (int)ev, NULL, &err) < 0)
        out_log(l->out, LOG_LEVEL_DEBUG, "job %s rank %u: %s", j->map.nspace, rank, err.msg);
}

/* A rank may have ended before its daemon has reported that its neighbours have started too. */
static bool start_is_news(const struct job *j, int64_t rank, bool failed)
{
    if (rank < 0)
        return false;
    return j->rank_state[rank] == PROC_INIT ||
           (!failed && j->rank_state[rank] == PROC_TERMINATED && !j->rank_facts[rank].pid);
}

void job_launched(struct head *l, uint32_t from, const struct msg *m)
{
    struct job *j = find(l, m);

    for (size_t i = 0; j && i < m->nranks; i++) {
        int64_t rank = own_rank(j, from, m->ranks[i].rank);

        if (!start_is_news(j, rank, m->ranks[i].failed))
            continue;
        if (m->ranks[i].failed) {
            rank_step(l, j, (uint32_t)rank, PROC_EV_FAIL);
            job_give_back(l, j, (uint32_t)rank);
            job_fail(l, j, JOB_EV_FAIL_START, EXIT_CODE_NOT_LAUNCHED,
                     "rank %u was not started on %s (vpid %u): %s: %s", m->ranks[i].rank,
                     host_of(j, (uint32_t)rank), from, m->ranks[i].text,
                     strerror(m->ranks[i].value));
            continue;
        }
        if (j->rank_state[rank] == PROC_INIT)
            rank_step(l, j, (uint32_t)rank, PROC_EV_RUN);
        j->rank_facts[rank].pid = m->ranks[i].value;
        if (j->nrunning++ == 0 && not_running_yet(j))
            job_event(l, j, JOB_EV_FIRST);
    }
    if (j && j->nrunning == j->map.nranks && j->state == JOB_STARTED && !j->due)
        job_event(l, j, JOB_EV_ALL_RUN);
}

void job_registered(struct head *l, uint32_t from, const struct msg *m)
{
    struct job *j = find(l, m);
    int node = j ? job_launch_node(&j->map, from) : -1;

    if (node < 0 || j->node_registered[node])
        return;
    j->node_registered[node] = true;
    if (++j->nnodes_registered == j->map.nnodes && j->state == JOB_RUNNING && !j->due)
        job_event(l, j, JOB_EV_REGISTERED);
}

static void rank_failed(struct head *l, struct job *j, uint32_t from, uint32_t rank, int status)
{
    bool lost = WIFSIGNALED(status);
    int code = lost ? exit_code_of_signal(WTERMSIG(status)) : WEXITSTATUS(status);
    int pid = j->rank_facts[rank].pid;
    char text[512];

    if (lost)
        snprintf(text, sizeof text, "rank %u on %s (vpid %u) was ended by signal %d (%s)%s, pid %d",
                 rank, host_of(j, rank), from, WTERMSIG(status), strsignal(WTERMSIG(status)),
                 WCOREDUMP(status) ? ", core dumped" : "", pid);
    else
        snprintf(text, sizeof text, "rank %u on %s (vpid %u) exited with code %d, pid %d", rank,
                 host_of(j, rank), from, code, pid);
    if (!(j->map.spec.flags & JOB_RECOVERABLE))
        job_fail(l, j, JOB_EV_ABORT, code, "%s", text);
    else if (!j->failure)
        rank_news_outlived(j, 1, code, lost, text);
}

void job_exited(struct head *l, uint32_t from, const struct msg *m)
{
    struct job *j = find(l, m);

    for (size_t i = 0; j && i < m->nranks; i++) {
        int64_t rank = own_rank(j, from, m->ranks[i].rank);

        if (rank < 0 || j->rank_state[rank] >= PROC_TERMINATED)
            continue;
        if (j->rank_state[rank] == PROC_INIT)
            rank_step(l, j, (uint32_t)rank, PROC_EV_RUN);
        rank_step(l, j, (uint32_t)rank, PROC_EV_IOF);
        rank_step(l, j, (uint32_t)rank, PROC_EV_WAITPID);
        j->rank_facts[rank].exit = m->ranks[i].value;
        job_give_back(l, j, (uint32_t)rank);
        if (m->ranks[i].value != 0 || m->ranks[i].how != RANK_PLAIN)
            rank_news_add(l, j, (uint32_t)rank, m->ranks[i].value, m->ranks[i].how);
        if (m->ranks[i].value != 0)
            rank_failed(l, j, from, (uint32_t)rank, m->ranks[i].value);
    }
}

static void node_over(struct head *l, struct job *j, int node)
{
    if (j->node_gone[node])
        return;
    j->node_gone[node] = true;
    l->job_changes++;
    j->nnodes_gone++;
    debug_stop_node_over(l, j, node);
    check_over(l, j);
    job_ready_check(l, j);
}

void job_local_gone(struct head *l, uint32_t from, const struct msg *m)
{
    struct job *j = find(l, m);
    int node = j ? job_launch_node(&j->map, from) : -1;

    if (node >= 0)
        node_over(l, j, node);
}

void job_aborted(struct head *l, uint32_t from, const struct msg *m)
{
    struct job *j = find(l, m);

    int code = m->number > 0 && m->number < 256 ? (int)m->number : 1;

    if (!j || own_rank(j, from, m->rank) < 0)
        return;
    rank_news_add(l, j, m->rank, code, RANK_ABORTED);
    job_fail(l, j, JOB_EV_ABORT, code,
             "rank %u on %s (vpid %u, pid %d) aborted the job with code %lld%s%s", m->rank,
             host_of(j, m->rank), from, j->rank_facts[m->rank].pid, (long long)m->number,
             *m->text ? ": " : "", m->text);
}

static bool ends_jobs(int signum)
{
    return signum == 0 || signum == SIGTERM || signum == SIGINT || signum == SIGKILL;
}

/* The submitter's word: a signal for the ranks, or that it is gone (0). */
void job_signal(struct head *l, const struct msg *m)
{
    struct job *j = head_job_find(l, m->nspace);
    int signum = (int)m->number;

    if (!j)
        return;
    if (job_state_over(j->state)) {
        if (ends_jobs(signum)) /* prun waits for them */
            job_family_end(l, j, exit_code_of_signal(signum ? signum : SIGTERM), "by the user");
    } else if (signum == SIGKILL && j->sent) {
        job_fail(l, j, JOB_EV_KILL, exit_code_of_signal(SIGKILL), "ended by the user");
        if (j->failure == JOB_EV_KILL && j->exit_code > 128)
            j->exit_code = exit_code_of_signal(SIGKILL); /* the second word */
        kill_ranks(l, j, SIGKILL, 0);
    } else if (signum == 0) {
        job_fail(l, j, JOB_EV_KILL, EXIT_CODE_CANCELLED, "its submitter is gone");
    } else if (ends_jobs(signum)) {
        job_fail(l, j, JOB_EV_KILL, exit_code_of_signal(signum), "ended by the user");
    } else if (j->sent) {
        kill_ranks(l, j, signum, -1);
    }
}

int head_signal_put(struct head *l, const char *nspace, int signum, const char **reason,
                    struct err *err)
{
    const struct job *j = head_job_find(l, nspace);
    struct msg m = {.nspace = (char *)nspace, .number = signum};

    if (!j || (job_state_over(j->state) && !j->nchildren)) {
        *reason = "NotFound";
        return err_code(err, 404, "no job %s waits or runs", nspace);
    }
    job_signal(l, &m);
    return 0;
}

void job_lose_node(struct head *l, struct job *j, int node, const char *why)
{
    char text[512];
    uint32_t nlost = 0;

    for (uint32_t r = 0; r < j->map.nranks; r++) {
        if (j->map.rank_node[r] != (uint32_t)node || j->rank_state[r] >= PROC_TERMINATED)
            continue;
        rank_step(l, j, r, PROC_EV_LOST);
        job_give_back(l, j, r);
        rank_news_add(l, j, r, 0, RANK_LOST);
        nlost++;
    }
    snprintf(text, sizeof text, "%u ranks on %s were lost with their daemon (vpid %u)%s%s", nlost,
             j->map.nodes[node].host, j->map.nodes[node].vpid, why && *why ? ": " : "",
             why ? why : "");
    if (!(j->map.spec.flags & JOB_RECOVERABLE))
        job_fail(l, j, JOB_EV_ABORT, EXIT_CODE_LOST, "%s", text);
    else if (!j->failure && nlost)
        rank_news_outlived(j, nlost, EXIT_CODE_LOST, true, text);
    node_over(l, j, node);
}

/* A held or queued job is mapped anew when it goes on; one that runs there ends by its own policy.
 */
void job_daemon_lost(struct head *l, uint32_t vpid, struct epoch epoch, const char *why)
{
    struct job *j;

    DL_FOREACH(l->jobs, j)
    {
        int node = j->mapped ? job_launch_node(&j->map, vpid) : -1;

        if (node >= 0 && j->map.nodes[node].epoch == epoch.ctr &&
            (j->sent || MUTANT(LOSS_ENDS_HELD)) && !job_state_over(j->state) && !j->node_gone[node])
            job_lose_node(l, j, node, why);
    }
}

/* The daemon whose client has submitted a job is out: so is the client. */
void job_home_gone(struct head *l, uint32_t vpid, struct epoch epoch)
{
    struct job *j;

    DL_FOREACH(l->jobs, j)
    {
        if (j->submit_vpid == vpid && epoch_eq(j->submit_epoch, epoch))
            job_fail(l, j, JOB_EV_KILL, EXIT_CODE_CANCELLED, "its submitter is gone with vpid %u",
                     vpid);
    }
}

static void time_over(struct head *l, struct job *j)
{
    char *why FREE_AUTO =
        xasprintf("its time of %.10g s is over", (double)j->map.spec.timeout_ms / 1000);

    if (job_state_over(j->state))
        job_family_end(l, j, EXIT_CODE_TIMEOUT, why);
    else
        job_fail(l, j, JOB_EV_KILL, EXIT_CODE_TIMEOUT, "ended: %s", why);
}

void job_deadlines(struct head *l)
{
    struct job *j;

    DL_FOREACH(l->jobs, j)
    {
        if (!j->deadline_ms || j->deadline_ms > l->out->now_ms)
            continue;
        j->deadline_ms = 0;
        time_over(l, j);
    }
}

uint64_t job_next_deadline(const struct head *l)
{
    uint64_t due = UINT64_MAX;
    const struct job *j;

    DL_FOREACH(l->jobs, j)
    {
        if (j->due)
            return l->out->now_ms;
        if (j->deadline_ms && j->deadline_ms < due)
            due = j->deadline_ms;
    }
    return due;
}

static void tell_ended(struct head *l, const struct job *j, uint32_t vpid)
{
    struct msg ended = {.type = MSG_JOB_ENDED, .nspace = j->map.nspace, .number = j->exit_code};
    struct err err = {0};

    if (rml_send(l->rml, vpid, CLASS_LAUNCH, &ended, &err) < 0)
        out_log(l->out, LOG_LEVEL_INFO, "job %s: %s", j->map.nspace, err.msg);
}

static bool node_current(const struct head *l, const struct job_node *n)
{
    return members_current(l->members, n->vpid, (struct epoch){l->opts.incarnation, n->epoch});
}

static bool watches(const struct job *j, uint32_t vpid)
{
    size_t i = 0;

    while (i < j->nwatchers && j->watchers[i] != vpid)
        i++;
    return i < j->nwatchers;
}

/* Every daemon concerned, and those that have asked about the job; and the head, which has what its
 * ranks have published. */
static void tell_all_ended(struct head *l, struct job *j)
{
    if (j->ended_told)
        return;
    j->ended_told = true;
    rank_news_tell(l, j);
    for (size_t i = 0; j->sent && i < j->map.nnodes; i++) {
        if (node_current(l, &j->map.nodes[i]))
            tell_ended(l, j, j->map.nodes[i].vpid);
    }
    for (size_t i = 0; i < j->nwatchers; i++) {
        if (members_live(l->members, j->watchers[i]) &&
            (!j->sent || job_launch_node(&j->map, j->watchers[i]) < 0))
            tell_ended(l, j, j->watchers[i]);
    }
    if (j->sent && job_launch_node(&j->map, VPID_HEAD) < 0 && !watches(j, VPID_HEAD))
        tell_ended(l, j, VPID_HEAD);
}

/* What its own ranks have come to goes before what spawned jobs have. */
static char *final_text(const struct job *j)
{
    const char *own = j->failure || j->nbad ? j->reason : "";
    bool kin = j->kin_text && !j->failure;

    return xasprintf("%s%s%s", own, kin && *own ? "; " : "", kin ? j->kin_text : "");
}

/* The final word goes to the submitter, with the daemons whose output it has to wait for; when the
 * job is not the last of its family, the family's last member calls again. */
void job_notify(struct head *l, struct job *j)
{
    uint32_t *vpids FREE_AUTO = xcalloc(j->map.nnodes + 1, sizeof *vpids);
    char *text FREE_AUTO = final_text(j);
    struct msg done = {.type = MSG_DONE,
                       .number = j->exit_code ? j->exit_code : j->kin_code,
                       .text = text,
                       .vpids = vpids};
    bool is_home = j->submit_vpid == j->map.home_vpid && j->submit_client == j->map.home_client;

    tell_all_ended(l, j);
    if (j->nchildren)
        return;
    for (size_t i = 0; is_home && j->sent && i < j->map.nnodes; i++) {
        if (j->node_sent[i] && node_current(l, &j->map.nodes[i]))
            vpids[done.nvpids++] = j->map.nodes[i].vpid;
    }
    job_tell(l, j, &done);
    l->stats.jobs_ended++;
    job_event(l, j, JOB_EV_DONE);
    job_family_left(l, j);
}

static void history_add(struct head *l, const struct job *j)
{
    struct history *h = xcalloc(1, sizeof *h);

    h->job.id = xstrdup(j->map.nspace);
    snprintf(h->job.state, sizeof h->job.state, "%s",
             j->failure
                 ? fsm_state_name(&job_fsm, j->failure == JOB_EV_ABORT        ? JOB_ABORTED
                                            : j->failure == JOB_EV_KILL       ? JOB_KILLED_BY_CMD
                                            : j->failure == JOB_EV_FAIL_START ? JOB_FAILED_TO_START
                                            : j->failure == JOB_EV_NO_MAP     ? JOB_MAP_FAILED
                                                                              : JOB_NEVER_LAUNCHED)
                 : "TERMINATED");
    h->job.reason = xstrdup(j->reason);
    h->job.ranks = j->map.nranks;
    h->job.exit_code = j->exit_code;
    h->job.vpids = xcalloc(j->map.nnodes + 1, sizeof *h->job.vpids);
    for (size_t i = 0; i < j->map.nnodes; i++)
        h->job.vpids[h->job.nvpids++] = j->map.nodes[i].vpid;
    DL_APPEND(l->history, h);
    if (++l->nhistory > HEAD_HISTORY_MAX) {
        h = l->history;
        DL_DELETE(l->history, h);
        free(h->job.id);
        free(h->job.reason);
        free(h->job.vpids);
        free(h);
        l->nhistory--;
    }
}

void job_retire(struct head *l, struct job *j)
{
    history_add(l, j);
    if (j->mapped)
        job_unmap(l, j);
    HASH_DEL(l->by_nspace, j);
    DL_DELETE(l->jobs, j);
    l->njobs--;
    l->kick = true;
    job_free(j);
}
