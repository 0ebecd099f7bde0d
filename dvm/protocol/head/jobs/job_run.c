/* SPDX-License-Identifier: BSD-3-Clause */
/* A job from its submission to its launch: the action on entering each state.
 *
 * In: SUBMIT; the end of a resize; the turn. Out: ACCEPTED or a refusal to the submitter, and the
 * next state.
 *
 * A job waits at two boundaries. Before its map it is held while the fence is up; before its launch
 * it is held while members are leaving. When the fence is down it continues, or is mapped anew if
 * one of its members is not wired any more. SYSTEM_PREP ends the turn, so that a resize that comes
 * with the next input finds the job mapped and not sent.
 *
 * A job of which only the map is wanted ends after MAP_COMPLETE.
 *
 * A job that waits for slots is tried again when some may have become free, in the order of
 * submission (job_queue.c). If the fence is up then, it is tried when the fence is down. */
#include "base/log/log.h"
#include "dvm/protocol/head/jobs/job_private.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

static void refuse_job(struct jobs *js, uint32_t from, uint32_t client, const char *why)
{
    struct msg m = {
        .type = MSG_DONE,
        .done = {.client = client, .exit_code = EXIT_CODE_NOT_LAUNCHED, .text = (char *)why}};
    struct err err = {0};

    if (rml_send(js->rml, from, CLASS_LAUNCH, &m, &err) < 0)
        out_log(js->out, LOG_LEVEL_WARN, "%s", err.msg);
}

/* The home of its output, and some flags, are those of its parent. */
static const struct job_entry *accept_job(struct jobs *js, uint32_t from,
                                          const struct msg_submit *m, const struct job *parent)
{
    const struct member *home = members_get(js->members, from);
    struct record_job r = {.submit_vpid = from,
                           .submit_client = m->client,
                           .submit_epoch = members_epoch(js->members, home),
                           .home_vpid = parent ? parent->map.home_vpid : from,
                           .home_client = parent ? parent->map.home_client : m->client,
                           .adopted = parent != NULL,
                           .spec = m->spec};

    if (parent)
        r.spec.flags |= parent->map.spec.flags & (JOB_OVERSUBSCRIBE | JOB_NO_WAIT);
    return job_table_accept(js->table, &r);
}

static const char *refusal_of(const struct jobs *js, const struct member *home)
{
    if (incarnation_ending(js->inc))
        return "the DVM is shutting down";
    if (js->n >= JOB_COUNT_MAX)
        return "too many jobs";
    if (home->state != MEMBER_WIRED)
        return "this daemon leaves the DVM, submit at another one";
    return NULL;
}

void job_submit(struct jobs *js, uint32_t from, const struct msg_submit *m)
{
    const char *no = refusal_of(js, members_get(js->members, from));
    /* Its acknowledgement was lost with the head. */
    bool known = job_adoption_answers_submit(js, from, m) || job_inherited(js, from, m->client);
    struct job *parent = no || known ? NULL : job_family_parent(js, &m->spec);
    const struct job_entry *kept = no || known ? NULL : accept_job(js, from, m, parent);
    struct msg accepted = {.type = MSG_ACCEPTED};
    struct job *j;

    if (known)
        return;
    if (!kept) {
        refuse_job(js, from, m->client, no ? no : "the head's journal refuses the job");
        return;
    }
    j = job_append(js, kept);
    accepted.accepted = (struct msg_client_job){j->map.nspace, m->client};
    job_tell(js, j, &accepted);
    job_family_join(j, parent);
    if (parent) /* it waits from now on, so others may have no hope and be passed */
        js->kick = true;
    if (parent && parent->kept->result.failure)
        job_fail_with_parent(js, j, parent);
    else
        job_hosts_check(js, j);
}

/* Contract C1: the job is judged by the size at which it came. If it fits, a shrink that begins
 * while the job is held cannot fail it. */
static void judge_held(struct jobs *js, struct job *j)
{
    uint32_t bound = size_bound_now(js->bound);

    if (!job_judged(j) && job_map_has_hope(js, j, 0, bound) && !job_queue_in_circle(js, j, bound))
        job_map_judge(js, j);
}

static void hold_job(struct jobs *js, struct job *j, enum job_held at)
{
    if (at == JOB_HELD_MAP)
        judge_held(js, j);
    j->held = at;
    if (!j->held_ms)
        j->held_ms = js->out->now_ms;
    job_set_reason(j, at == JOB_HELD_MAP ? "held before mapping: the DVM changes its size"
                                         : "held before launch: daemons are leaving the DVM");
    *(at == JOB_HELD_MAP ? &js->stats.held_map : &js->stats.held_launch) += 1;
    job_step(js, j, JOB_EV_HOLD);
    j->due = false;
    job_tell_state(js, j);
}

void jobs_release_held(struct jobs *js)
{
    struct job *j;

    DL_FOREACH(js->list, j)
    {
        enum job_held at = j->held;

        if (j->kept->state != JOB_WAITING_FOR_DAEMONS)
            continue;
        j->held = JOB_NOT_HELD;
        job_set_reason(j, "");
        if (at == JOB_HELD_MAP)
            job_step(js, j, JOB_EV_RELEASE);
        else if (job_map_stale(js, j))
            job_map_anew(js, j);
        else
            job_step(js, j, JOB_EV_RELAUNCH);
    }
}

static void vm_ready(struct jobs *js, struct job *j)
{
    const struct job *first = job_queue_before(js, j);

    if (js->resize.fence_raised(js->resize.arg)) {
        hold_job(js, j, JOB_HELD_MAP);
    } else if (first && !job_queue_may_pass(js, first, j)) {
        job_map_wait_behind(js, j, first);
    } else {
        job_step(js, j, JOB_EV_DONE);
    }
}

static void map_complete(struct jobs *js, struct job *j)
{
    if (!(j->map.spec.flags & JOB_MAP_ONLY)) {
        job_step(js, j, JOB_EV_DONE);
        return;
    }
    job_show_map(js, j);
    job_step(js, j, JOB_EV_MAP_ONLY);
}

static void launch_apps(struct jobs *js, struct job *j)
{
    if (job_map_stale(js, j))
        job_map_anew(js, j);
    else if (js->resize.members_leave(js->resize.arg))
        hold_job(js, j, JOB_HELD_LAUNCH);
    else
        job_step(js, j, JOB_EV_DONE);
}

/* The action on entering a state. SYSTEM_PREP ends the turn, so that a resize that comes with
 * the next input finds the job mapped and not sent. */
static void enter_state(struct jobs *js, struct job *j)
{
    switch ((enum job_state)j->kept->state) {
    case JOB_INIT:
    case JOB_INIT_COMPLETE:
    case JOB_ALLOCATE:
    case JOB_ALLOCATION_COMPLETE:
    case JOB_SYSTEM_PREP:
    case JOB_TERMINATED:
    case JOB_KILLED_BY_CMD:
    case JOB_ABORTED:
    case JOB_FAILED_TO_START:
    case JOB_NEVER_LAUNCHED:
    case JOB_MAP_FAILED:
        job_step(js, j, JOB_EV_DONE);
        break;
    case JOB_VM_READY:
        vm_ready(js, j);
        break;
    case JOB_MAP:
        job_map_now(js, j);
        break;
    case JOB_MAP_COMPLETE:
        map_complete(js, j);
        break;
    case JOB_LAUNCH_APPS:
        launch_apps(js, j);
        break;
    case JOB_SEND_LAUNCH_MSG:
        job_send_launch(js, j);
        break;
    case JOB_PREPARING:
        job_ready_begin(js, j);
        if (j->map.spec.nfiles)
            job_tell_state(js, j);
        break;
    case JOB_NOTIFY_COMPLETED:
        job_end_notify(js, j);
        break;
    case JOB_STARTED:
        job_tell_state(js, j);
        if (j->nrunning == j->map.nranks)
            job_step(js, j, JOB_EV_ALL_RUN);
        break;
    case JOB_RUNNING:
        job_tell_state(js, j);
        if (j->nnodes_registered == j->map.nnodes)
            job_step(js, j, JOB_EV_REGISTERED);
        else
            job_debug_stop_check(js, j);
        break;
    case JOB_REGISTERED:
        job_tell_state(js, j);
        job_debug_stop_check(js, j);
        break;
    case JOB_READY_FOR_DEBUG:
        job_tell_state(js, j);
        break;
    default:
        break;
    }
}

/* While the fence is up nothing is mapped: the jobs are tried when it is down. */
static bool is_queue_due(const struct jobs *js)
{
    return js->kick && !js->resize.fence_raised(js->resize.arg);
}

static void try_queue(struct jobs *js)
{
    struct job *j;

    js->kick = false;
    DL_FOREACH(js->list, j)
    {
        if (j->queued) {
            j->queued = false;
            j->due = true;
        }
    }
}

const char *jobs_overlooked(struct jobs *js)
{
    struct job *j;

    if (js->resize.fence_raised(js->resize.arg) || jobs_next_deadline(js) <= js->out->now_ms)
        return NULL;
    js->stuck.number = 0;
    DL_FOREACH(js->list, j)
    {
        const struct job *first = job_queue_before(js, j);

        if (j->queued && (!first || job_queue_may_pass(js, first, j)) && job_map_fits(js, j))
            return j->map.nspace;
    }
    return NULL;
}

void jobs_steps(struct jobs *js)
{
    struct job *j, *tmp;

    js->stuck.number = 0; /* members may have changed */
    job_fail_deadlines(js);
    if (is_queue_due(js))
        try_queue(js);
    DL_FOREACH_SAFE(js->list, j, tmp)
    {
        while (j->due && j->not_in_turn != js->turn) {
            if (j->kept->state == JOB_SYSTEM_PREP)
                j->not_in_turn = js->turn;
            j->due = false;
            enter_state(js, j);
        }
        if (j->kept->state == JOB_NOTIFIED)
            job_end_retire(js, j);
    }
    job_notified_forget(js);
    job_news_steps(js);
}

uint64_t jobs_next_deadline(const struct jobs *js)
{
    uint64_t due = job_news_next_deadline(js);
    bool queue_due = is_queue_due(js);
    const struct job *j;

    if (job_adoption_next_deadline(js) < due)
        due = job_adoption_next_deadline(js);
    DL_FOREACH(js->list, j)
    {
        if (j->due || (j->queued && queue_due))
            return js->out->now_ms;
        if (job_deadline(j) && job_deadline(j) < due)
            due = job_deadline(j);
    }
    return due;
}

void jobs_destroy(struct jobs *js)
{
    struct job *j, *tmp;

    if (!js)
        return;
    HASH_CLEAR(hh, js->by_nspace);
    DL_FOREACH_SAFE(js->list, j, tmp)
    {
        job_free(j);
    }
    job_notified_free_all(js);
    job_adoption_free(js);
    free(js);
}
