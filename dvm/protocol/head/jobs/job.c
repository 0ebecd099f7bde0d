/* SPDX-License-Identifier: BSD-3-Clause */
/* The record of a job, its state and its submitter.
 *
 * In: submissions (job_run.c makes a record of each), steps of the state machine. Out: messages to
 * the daemon whose client has submitted the job: state, map, end.
 *
 * The files of this folder, from the bottom up; each calls only those before it:
 *   job_history   the last jobs that have ended
 *   job_table     the accepted jobs in the head's journal: submitter, specification, state, result
 *   job_progress  what has become of a job since its launch was decided
 *   job.c         a job beside its entry there: reason, accessors
 *   job_family    parents and children: jobs that ranks of other jobs have spawned
 *   job_news      ends of ranks while their job goes on
 *   job_slots     slots and hardware threads that ranks hold
 *   job_queue     jobs that wait for slots, and which of them may pass
 *   job_debug_stop ranks that stop for a debugger
 *   job_fail      the decision that a job fails; deadlines, signals
 *   job_ready     daemons check and get files; then all ranks start
 *   job_report    reports of daemons about ranks; lost daemons
 *   job_map       ranks to members
 *   job_send      the launch messages
 *   job_end       the end: its daemons and submitter are notified
 *   job_notified  jobs that have ended, until the daemons of their submitters have acknowledged it
 *   job_run       the steps: what entering a state does
 *   job_succession jobs under a new head
 *   job_adoption  jobs that no record has, but their daemons
 *
 * A job's name is "<incarnation>.<number>". It is found by it until it is retired. States and
 * their steps: docs/graphs/job.md. */
#include "base/log/log.h"
#include "dvm/protocol/head/jobs/job_private.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct jobs *jobs_create(const struct jobs_uses *u)
{
    struct jobs *js = xcalloc(1, sizeof(*js));

    js->out = u->out;
    js->members = u->members;
    js->rml = u->rml;
    js->inc = u->inc;
    js->bound = u->bound;
    js->roster = u->roster;
    js->ledger = u->ledger;
    js->table = u->table;
    js->published = u->published;
    js->report_ms = u->report_ms;
    js->slots = (struct slots){u->members, u->ledger};
    js->changes = 1;
    return js;
}

void jobs_ask_resize(struct jobs *js, const struct jobs_resize *resize)
{
    js->resize = *resize;
}

void job_forget_map(struct job *j)
{
    free(j->ranks);
    free(j->daemons);
    free(j->table);
    j->map.nodes = NULL;
    j->map.rank_node = j->map.rank_app = NULL;
    j->ranks = NULL;
    j->daemons = NULL;
    j->table = NULL;
    j->stops = false;
    j->map.nnodes = j->map.nranks = 0;
}

char *job_name(const struct jobs *js, uint64_t number)
{
    return xasprintf("%s.%llu", incarnation_text(js->inc), (unsigned long long)number);
}

void job_free(struct job *j)
{
    job_forget_map(j);
    free(j->watchers);
    free(j->news);
    free(j->map.nspace);
    free(j->reason);
    job_waits_free(j);
    free(j);
}

struct job *job_append(struct jobs *js, const struct job_entry *kept)
{
    struct job *j = xcalloc(1, sizeof(*j));

    j->kept = kept;
    j->map.nspace = job_name(js, kept->accepted.number);
    j->map.spec = kept->accepted.spec;
    j->map.files_vpid = kept->accepted.submit_vpid;
    j->map.files_client = kept->accepted.submit_client;
    j->map.home_vpid = kept->accepted.home_vpid;
    j->map.home_client = kept->accepted.home_client;
    j->due = true;
    job_set_reason(j, "");
    DL_APPEND(js->list, j);
    HASH_ADD_KEYPTR(hh, js->by_nspace, j->map.nspace, strlen(j->map.nspace), j);
    js->n++;
    return j;
}

struct job *jobs_first(const struct jobs *js)
{
    return js->list;
}

struct job *job_next(const struct job *j)
{
    return j->next;
}

struct job *jobs_find(const struct jobs *js, const char *nspace)
{
    struct job *j;

    HASH_FIND(hh, js->by_nspace, nspace, strlen(nspace), j);
    return j;
}

const struct job_launch *job_map(const struct job *j)
{
    return &j->map;
}

bool job_mapped(const struct job *j)
{
    return j->mapped;
}

bool job_running(const struct job *j)
{
    return job_sent(j) && !job_state_over(j->kept->state);
}

bool job_sent(const struct job *j)
{
    return j->kept->progress.sent;
}

bool job_node_gone(const struct job *j, size_t node)
{
    return job_sent(j) && j->kept->progress.gone[node];
}

uint64_t job_deadline(const struct job *j)
{
    return j->timed_out ? 0 : j->kept->progress.deadline_ms;
}

bool job_failing(const struct job *j)
{
    return j->kept->result.failure != 0;
}

bool job_on_node(const struct job *j, size_t node)
{
    return j->mapped && !job_node_gone(j, node);
}

bool job_rank_running(const struct job *j, uint32_t rank)
{
    return j->mapped && rank < j->map.nranks && j->ranks[rank].state < PROC_TERMINATED;
}

struct msg_target job_submitter(const struct job *j)
{
    return (struct msg_target){j->kept->accepted.submit_vpid, j->kept->accepted.submit_epoch};
}

bool job_needs_grow(const struct job *j)
{
    return j->kept->judgement == JOB_FITS_GROWN;
}

void job_clear_needs_grow(struct jobs *js, struct job *j)
{
    job_table_judge(js->table, j->kept, JOB_FITS);
}

bool job_judged(const struct job *j)
{
    return j->kept->judgement != JOB_NOT_JUDGED;
}

bool jobs_acknowledged_by(const struct jobs *js, uint32_t vpid)
{
    return rml_backlog(js->rml, vpid, CLASS_LAUNCH) == 0;
}

/* Sends a message to the daemon whose client submitted the job. */
void job_tell(struct jobs *js, const struct job *j, const struct msg *m)
{
    struct err err = {0};

    if (!job_entry_follows_head(j->kept) &&
        !members_current(js->members, j->kept->accepted.submit_vpid,
                         j->kept->accepted.submit_epoch))
        return;
    if (rml_send(js->rml, j->kept->accepted.submit_vpid, CLASS_LAUNCH, m, &err) < 0)
        out_log(js->out, LOG_LEVEL_WARN, "job %s: %s", j->map.nspace, err.msg);
}

/* Daemons that get the submitter's input. */
static uint32_t *stdin_vpids(const struct job *j, size_t *n)
{
    uint32_t *list = xcalloc(j->map.nnodes + 1, sizeof(*list));
    uint32_t rank = j->map.spec.stdin_rank;

    *n = 0;
    if (rank == JOB_RANK_ALL) {
        for (size_t i = 0; i < j->map.nnodes; i++)
            list[(*n)++] = j->map.nodes[i].vpid;
    } else if (rank < j->map.nranks) {
        list[(*n)++] = j->map.nodes[j->map.rank_node[rank]].vpid;
    }
    return list;
}

static char *reason_of(const struct job *j)
{
    return j->kept->state == JOB_RUNNING && j->kept->map.note ? j->kept->map.note : j->reason;
}

static void tell_state(struct jobs *js, const struct job *j, enum job_state state, char *reason)
{
    FREE_AUTO uint32_t *vpids = NULL;
    struct msg m = {.type = MSG_JOB_STATE,
                    .job_state = {.nspace = j->map.nspace,
                                  .client = j->kept->accepted.submit_client,
                                  .state = state,
                                  .reason = reason}};

    if (state == JOB_STARTED)
        vpids = stdin_vpids(j, &m.job_state.nstdin);
    m.job_state.stdin_vpids = vpids;
    job_tell(js, j, &m);
}

void job_tell_state(struct jobs *js, const struct job *j)
{
    tell_state(js, j, (enum job_state)j->kept->state, reason_of(j));
}

void job_tell_waits(struct jobs *js, const struct job *j)
{
    const char *waits = job_waits_text(j);
    FREE_AUTO char *both = xasprintf("%s%s%s", j->reason, *j->reason && *waits ? "; " : "", waits);

    tell_state(js, j, (enum job_state)j->kept->state, both);
}

void job_tell_started(struct jobs *js, const struct job *j)
{
    tell_state(js, j, JOB_STARTED, reason_of(j));
}

bool job_was_given_back(int failure, int exit_code)
{
    return failure == JOB_EV_NEVER && exit_code == EXIT_CODE_LOST;
}

void job_tell_given_back(struct jobs *js, const struct job *j)
{
    tell_state(js, j, JOB_NEVER_LAUNCHED, reason_of(j));
}

void job_set_reason(struct job *j, const char *text)
{
    free(j->reason);
    j->reason = xstrdup(text);
}

void job_step(struct jobs *js, struct job *j, enum job_event ev)
{
    struct err err = {0};
    int from = j->kept->state;

    if (job_table_step(js->table, j->kept, ev, &err) < 0) {
        out_log(js->out, LOG_LEVEL_ERROR, "job %s: %s", j->map.nspace, err.msg);
        return;
    }
    j->due = true;
    js->changes++;
    out_log(js->out, LOG_LEVEL_DEBUG, "job %s: %s -> %s on %s", j->map.nspace,
            fsm_state_name(&job_fsm, from), fsm_state_name(&job_fsm, j->kept->state),
            fsm_event_name(&job_fsm, ev));
}

bool job_node_current(const struct jobs *js, const struct job_node *n)
{
    return members_current(js->members, n->vpid, incarnation_epoch(js->inc, n->epoch));
}

void jobs_turn(struct jobs *js)
{
    js->turn++;
}

void jobs_kick(struct jobs *js)
{
    js->kick = true;
}

bool jobs_held_long(const struct jobs *js)
{
    const struct job *j;

    if (job_adoption_waits(js))
        return true;
    DL_FOREACH(js->list, j)
    {
        if (j->held_ms && js->out->now_ms - j->held_ms >= JOB_HELD_MAX_MS)
            return true;
    }
    return false;
}

uint64_t jobs_changes(const struct jobs *js)
{
    return js->changes;
}

size_t jobs_notified(const struct jobs *js)
{
    return js->nnotified;
}

size_t jobs_count(const struct jobs *js)
{
    return js->n;
}

void jobs_each(const struct jobs *js, void (*on)(void *arg, const struct job_look *j), void *arg)
{
    const struct job *j;

    DL_FOREACH(js->list, j)
    {
        struct job_look x = {.nspace = j->map.nspace,
                             .reason = j->reason,
                             .state = j->kept->state,
                             .exit_code = j->kept->result.exit_code,
                             .failure = j->kept->result.failure,
                             .spec = &j->map.spec,
                             .mapped = j->mapped,
                             .sent = job_sent(j),
                             .queued = j->queued,
                             .home_vpid = j->map.home_vpid,
                             .wants = job_slots_wanted(j),
                             .nranks = j->mapped ? j->map.nranks : 0,
                             .nnodes = j->mapped ? j->map.nnodes : 0,
                             .nodes = j->map.nodes,
                             .rank_node = j->map.rank_node,
                             .ranks = j->ranks};

        on(arg, &x);
    }
}

struct jobs_stats jobs_stats(const struct jobs *js)
{
    return js->stats;
}
