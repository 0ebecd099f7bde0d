/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs that no record has, since all records were lost, but that their daemons run.
 *
 *   members                               new head, which began with their table (record MEMBERS)
 *     |-- REPORT, LOCAL_JOB, READY, ... ---->|  keeps LOCAL_JOB; all other messages about jobs wait
 *     |-- JOB_ASK of each client ----------->|
 *     |-- REPORT (all, CPUs) --------------->|  of the last member, or report_ms later:
 *     |                                      |  each job is adopted, or it ends
 *     |                                      |  JOBS_ADOPTED; the messages that have waited
 *
 * In: LOCAL_JOB: the specification and the map of a job, as one of its daemons has it. Out: for an
 * adopted job the records that its former head had (JOB_ACCEPTED, JOB_MAPPED, JOB_SENT, JOB_STEP);
 * for another one JOB_ENDED to the daemons that have reported it, and DONE to its client.
 *
 * A job is adopted if
 *   - each daemon of its map is a member in that epoch, or is none and the job is recoverable,
 *   - each of those that are members has reported the job with the same map,
 *   - its client waits for it by its name, at a member,
 *   - and the job that has spawned it, if there is one, is adopted.
 * Each daemon repeats how its ranks stand, and reports nothing of a job that has ended everywhere.
 * So no end of a rank is missing, and no rank runs twice.
 *
 * Until the decision no job is accepted, and no member is added or removed by a campaign: slots and
 * CPUs of the jobs that run are known before others are mapped.
 *
 * Limits: the time limit of an adopted job begins anew. Its losses so far, failures of jobs that it
 * has spawned, and published values are lost. */
#include "base/bitmap/bitmap.h"
#include "base/log/log.h"
#include "dvm/protocol/head/jobs/job_adoption_private.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

static char *explain_nodes(const struct jobs *js, const struct reported_job *r)
{
    for (size_t i = 0; i < r->launch.nnodes; i++) {
        const struct job_node *n = &r->launch.nodes[i];

        if (!job_node_current(js, n) && !(r->launch.spec.flags & JOB_RECOVERABLE))
            return xasprintf("vpid %u with some of its ranks is no member any more", n->vpid);
        if (job_node_current(js, n) && !hwloc_bitmap_isset(r->nodes, (unsigned)i))
            return xasprintf("vpid %u has not reported the same job", n->vpid);
    }
    return NULL;
}

/* Each lost daemon of a recoverable job costs a look at all of its ranks. */
static bool costs_too_much(const struct jobs *js, const struct reported_job *r)
{
    const struct job_launch *l = &r->launch;
    size_t n = 0;

    for (size_t i = 0; i < l->nnodes; i++)
        n += !job_node_current(js, &l->nodes[i]);
    js->adoption->looks += n * l->nranks;
    return js->adoption->looks > ADOPTION_LOOKS_MAX;
}

/* Why the reported job is not adopted, on the heap; NULL: it is. */
static char *explain_refusal(const struct jobs *js, const struct reported_job *r)
{
    const struct job_launch *l = &r->launch;
    struct client_key client = {l->files_vpid, l->files_client, l->nspace, NULL};
    char *why;

    if (l->nranks == 0)
        return xstrdup("it has no ranks");
    if (l->files_vpid == VPID_HEAD)
        return xstrdup("its client was at the head");
    if (!members_live(js->members, l->files_vpid))
        return xasprintf("vpid %u with its client is no member any more", l->files_vpid);
    if (!job_adoption_find_client(js->adoption->asked, &client))
        return xasprintf("no client at vpid %u waits for it", l->files_vpid);
    why = explain_nodes(js, r);
    if (!why && costs_too_much(js, r))
        why = xstrdup("too many of its daemons are no members any more");
    return why;
}

/* Of one number, that with the most daemons comes first. */
static int compare_numbers(const struct reported_job *a, const struct reported_job *b)
{
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return hwloc_bitmap_weight(b->nodes) - hwloc_bitmap_weight(a->nodes);
}

/* In the order of numbers. Of several complete ones that with the most daemons counts: the others
 * are forged. If two have as many, no one knows which. */
static void refuse_rivals(struct job_adoption *a)
{
    struct reported_job *first = NULL, *r, *tmp;

    HASH_ITER(hh, a->jobs, r, tmp)
    {
        if (r->why)
            continue;
        if (!first || first->number != r->number) {
            first = r;
            continue;
        }
        r->why = xstrdup("its daemons have reported it in two ways");
        if (!first->why && hwloc_bitmap_weight(first->nodes) == hwloc_bitmap_weight(r->nodes))
            first->why = xstrdup(r->why);
    }
}

/* The hardware threads of each rank; NULL: no rank is bound. */
static hwloc_bitmap_t *list_taken(const struct jobs *js, const struct reported_job *r)
{
    hwloc_bitmap_t *taken = xcalloc(r->launch.nranks + 1, sizeof(*taken));
    bool any = false;

    for (uint32_t i = 0; i < r->launch.nranks; i++) {
        uint32_t vpid = r->launch.nodes[r->launch.rank_node[i]].vpid;
        const struct topo *t = cpu_ledger_topo(js->ledger, vpid);

        taken[i] = t && r->cpus[i] ? topo_pus(t, r->cpus[i]) : NULL;
        any |= taken[i] != NULL;
    }
    if (any)
        return taken;
    free(taken);
    return NULL;
}

static void free_taken(hwloc_bitmap_t *taken, uint32_t n)
{
    for (uint32_t i = 0; taken && i < n; i++) {
        if (taken[i])
            hwloc_bitmap_free(taken[i]);
    }
    free(taken);
}

/* A rank is bound as its daemon says. So its hardware threads are all of that list. */
static int put_map(struct jobs *js, const struct job_entry *e, const struct reported_job *r,
                   struct err *err)
{
    const struct job_launch *l = &r->launch;
    struct record_job_map map = {.universe = l->universe,
                                 .nnodes = l->nnodes,
                                 .nodes = l->nodes,
                                 .nranks = l->nranks,
                                 .rank_node = l->rank_node,
                                 .rank_app = l->rank_app,
                                 .taken = list_taken(js, r),
                                 .bind = JOB_LEVEL_HWTHREAD};
    int rc = job_table_map(js->table, e, &map, err);

    free_taken(map.taken, l->nranks);
    return rc;
}

static int put_launch(struct jobs *js, const struct job_entry *e, const struct reported_job *r,
                      struct err *err)
{
    uint64_t limit = r->launch.spec.timeout_ms;

    if (put_map(js, e, r, err) < 0)
        return -1;
    while (e->state != JOB_SEND_LAUNCH_MSG) {
        if (job_table_step(js->table, e, JOB_EV_DONE, err) < 0)
            return -1;
    }
    if (job_table_sent(js->table, e, limit ? js->out->now_ms + limit : 0, err) < 0)
        return -1;
    return job_launch_waits(&r->launch) ? job_table_step(js->table, e, JOB_EV_PREPARE, err) : 0;
}

/* Its output goes to its client, or to where that of its parent goes. */
static bool has_its_home(const struct job_launch *l, const struct job *parent)
{
    uint32_t vpid = parent ? parent->map.home_vpid : l->files_vpid;
    uint32_t client = parent ? parent->map.home_client : l->files_client;

    return l->home_vpid == vpid && l->home_client == client;
}

/* A recoverable job goes on without them. What their ranks have reported is lost. */
static void lose_departed(struct jobs *js, struct job *j)
{
    for (size_t i = 0; i < j->map.nnodes; i++) {
        if (!job_node_current(js, &j->map.nodes[i]))
            job_lose_node(js, j, (int)i, "it departed while there was no head");
    }
}

static void adopt_job(struct jobs *js, struct reported_job *r)
{
    const struct job_launch *l = &r->launch;
    const struct job *parent = job_family_parent(js, &l->spec);
    struct record_job job = {
        .number = r->number,
        .submit_vpid = l->files_vpid,
        .submit_client = l->files_client,
        .submit_epoch = members_epoch(js->members, members_get(js->members, l->files_vpid)),
        .home_vpid = l->home_vpid,
        .home_client = l->home_client,
        .adopted = parent != NULL,
        .spec = l->spec};
    const struct job_entry *e;
    struct err err = {0};

    if (*l->spec.parent_nspace && !parent) {
        r->why = xasprintf("job %s, which has spawned it, ends", l->spec.parent_nspace);
    } else if (!has_its_home(l, parent)) {
        r->why = xstrdup("its output goes to another client");
    } else {
        e = job_table_adopt(js->table, &job, &err);
        if (!e || put_launch(js, e, r, &err) < 0)
            r->why = xstrdup(err.msg);
        if (e)
            job_succeed(js, e);
        if (e && r->why)
            job_fail(js, jobs_find(js, l->nspace), JOB_EV_NO_MAP, EXIT_CODE_LOST, "%s", r->why);
        else if (e)
            lose_departed(js, jobs_find(js, l->nspace));
    }
}

static void end_reported(struct jobs *js, const struct reported_job *r)
{
    struct job_adoption *a = js->adoption;
    const struct job_launch *l = &r->launch;
    struct client_key by_name = {l->files_vpid, l->files_client, l->nspace, NULL};
    struct client_key by_spec = {l->files_vpid, l->files_client, NULL, &l->spec};
    const struct job *j = jobs_find(js, l->nspace);
    bool goes_on = j && !job_failing(j);

    if (!goes_on) {
        job_adoption_add_client(a, &a->refused, &by_name, r);
        job_adoption_add_client(a, &a->refused, &by_spec, r);
        job_end_values(js, l->nspace);
    }
    out_log(js->out, LOG_LEVEL_WARN,
            goes_on ? "another report of job %s is not taken: %s"
                    : "job %s ends: all its records are lost, and %s",
            l->nspace, r->why);
    for (size_t i = 0; i < l->nnodes; i++) {
        if (hwloc_bitmap_isset(r->nodes, (unsigned)i) && job_node_current(js, &l->nodes[i]))
            job_end_there(js, l->nodes[i].vpid, l->nspace, EXIT_CODE_LOST);
    }
}

static void decide_all(struct jobs *js)
{
    struct job_adoption *a = js->adoption;
    struct reported_job *r, *tmp;

    HASH_SORT(a->jobs, compare_numbers);
    HASH_ITER(hh, a->jobs, r, tmp)
    {
        r->why = explain_refusal(js, r);
    }
    refuse_rivals(a);
    HASH_ITER(hh, a->jobs, r, tmp)
    {
        if (!r->why)
            adopt_job(js, r);
    }
    HASH_ITER(hh, a->jobs, r, tmp)
    {
        if (r->why)
            end_reported(js, r);
        else
            out_log(js->out, LOG_LEVEL_INFO, "job %s goes on: %d of its daemons have reported it",
                    r->launch.nspace, hwloc_bitmap_weight(r->nodes));
    }
    job_table_adopted_all(js->table);
    a->decided = true;
    js->kick = true;
}

/* Those that have joined this head have nothing to report. */
static bool have_all_reported(const struct jobs *js)
{
    uint64_t own = members_get(js->members, VPID_HEAD)->ctr;
    unsigned v;
    bool all = true;

    hwloc_bitmap_foreach_begin(v, js->members->live)
    {
        all &= v == VPID_HEAD || members_get(js->members, v)->ctr > own ||
               hwloc_bitmap_isset(js->adoption->members, v);
    }
    hwloc_bitmap_foreach_end();
    return all;
}

void job_adoption_steps(struct jobs *js)
{
    const struct job_adoption *a = js->adoption;

    if (job_adoption_waits(js) &&
        (a->until_ms <= js->out->now_ms || a->bytes > ADOPTION_BYTES_MAX || have_all_reported(js)))
        decide_all(js);
}

uint64_t job_adoption_next_deadline(const struct jobs *js)
{
    return job_adoption_waits(js) ? js->adoption->until_ms : UINT64_MAX;
}

/* --- afterwards */

bool job_adoption_next(struct jobs *js, uint32_t *from, struct msg *m)
{
    struct job_adoption *a = js->adoption;
    bool found = false;

    while (a && a->decided && a->deferred && !found) {
        struct deferred_msg *d = a->deferred;
        struct cur c = cur_of(d->bytes.data, d->bytes.len);

        *from = d->from;
        found = members_current(js->members, d->from, d->epoch) &&
                msg_decode(&c, d->type, m, NULL) == 0;
        job_adoption_free_deferred(a, d);
    }
    if (!found && a && a->decided)
        job_adoption_free(js);
    return found;
}

static void tell_client(struct jobs *js, uint32_t from, const struct msg *m)
{
    struct err err = {0};

    if (rml_send(js->rml, from, CLASS_LAUNCH, m, &err) < 0)
        out_log(js->out, LOG_LEVEL_INFO, "%s", err.msg);
}

/* ACCEPTED first: a client without the name of its job would submit it at another daemon. */
static bool answer_refused(struct jobs *js, const struct client_key *k)
{
    const struct client_job *c =
        js->adoption ? job_adoption_find_client(js->adoption->refused, k) : NULL;
    const struct reported_job *r = c ? c->refused : NULL;
    FREE_AUTO char *text =
        r ? xasprintf("the head was lost with all records of the job, and %s", r->why) : NULL;
    struct msg accepted = {.type = MSG_ACCEPTED};
    struct msg done = {.type = MSG_DONE};

    if (!r)
        return false;
    accepted.accepted = (struct msg_client_job){r->launch.nspace, k->client};
    done.done = (struct msg_done){
        .nspace = r->launch.nspace, .client = k->client, .exit_code = EXIT_CODE_LOST, .text = text};
    tell_client(js, k->vpid, &accepted);
    tell_client(js, k->vpid, &done);
    return true;
}

bool job_adoption_answers(struct jobs *js, uint32_t from, uint32_t client, const char *nspace)
{
    return answer_refused(js, &(struct client_key){from, client, nspace, NULL});
}

bool job_adoption_answers_submit(struct jobs *js, uint32_t from, const struct msg_submit *m)
{
    return answer_refused(js, &(struct client_key){from, m->client, NULL, &m->spec});
}
