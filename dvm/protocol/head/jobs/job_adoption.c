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
 *   - each daemon of its map is a member in that epoch, and has reported the job with the same map,
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
#include "dvm/protocol/head/jobs/job_private.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/* Of reports, messages and questions, with what keeps them. Then it is decided at once. */
#define ADOPTION_BYTES_MAX (64u << 20)

struct reported_job { /* as at least one of its daemons has it */
    struct buf bytes; /* of the launch, without what differs between daemons: its key */
    struct job_launch launch;
    uint64_t number;
    hwloc_bitmap_t nodes; /* that have reported it */
    char **cpus;          /* [launch.nranks] as the rank's daemon binds it; NULL: not bound */
    char *why;            /* it is not adopted; NULL: it is */
    UT_hash_handle hh;
};

struct deferred_msg {
    uint32_t from;
    struct epoch epoch;
    unsigned type;
    struct buf bytes;
    struct deferred_msg *next, *prev;
};

struct client_job { /* of a client at a member */
    char *key;      /* "vpid client namespace" */
    const struct reported_job *refused;
    UT_hash_handle hh;
};

struct job_adoption {
    uint64_t until_ms;
    hwloc_bitmap_t members; /* vpids that have reported all */
    struct reported_job *jobs;
    struct deferred_msg *deferred;
    struct client_job *asked;   /* by JOB_ASK */
    struct client_job *refused; /* with and without the namespace */
    size_t bytes;
    bool decided;
};

/* --- what is kept until the decision */

void job_adoption_begin(struct jobs *js)
{
    struct job_adoption *a = xcalloc(1, sizeof(*a));

    a->until_ms = js->out->now_ms + js->report_ms;
    a->members = bitmap_alloc();
    js->adoption = a;
}

static void free_reported(struct job_adoption *a, struct reported_job *r)
{
    HASH_DEL(a->jobs, r);
    for (uint32_t i = 0; i < r->launch.nranks; i++)
        free(r->cpus[i]);
    free(r->cpus);
    hwloc_bitmap_free(r->nodes);
    job_launch_free(&r->launch);
    buf_free(&r->bytes);
    free(r->why);
    free(r);
}

static void free_deferred(struct job_adoption *a, struct deferred_msg *d)
{
    DL_DELETE(a->deferred, d);
    buf_free(&d->bytes);
    free(d);
}

static void free_client_jobs(struct client_job **set)
{
    struct client_job *c, *tmp;

    HASH_ITER(hh, *set, c, tmp)
    {
        HASH_DEL(*set, c);
        free(c->key);
        free(c);
    }
}

void job_adoption_free(struct jobs *js)
{
    struct job_adoption *a = js->adoption;

    if (!a)
        return;
    while (a->jobs)
        free_reported(a, a->jobs);
    while (a->deferred)
        free_deferred(a, a->deferred);
    free_client_jobs(&a->asked);
    free_client_jobs(&a->refused);
    hwloc_bitmap_free(a->members);
    free(a);
    js->adoption = NULL;
}

bool job_adoption_waits(const struct jobs *js)
{
    return js->adoption && !js->adoption->decided;
}

static bool is_about_jobs(unsigned type)
{
    switch (type) {
    case MSG_SUBMIT:
    case MSG_SIGNAL:
    case MSG_LAUNCHED:
    case MSG_REGISTERED:
    case MSG_EXITED:
    case MSG_LOCAL_GONE:
    case MSG_ABORT:
    case MSG_READY:
    case MSG_NO_FILES:
    case MSG_HELD:
    case MSG_CONTINUE_ASK:
    case MSG_JOB_ASK:
    case MSG_RESIZE_ASK:
        return true;
    default:
        return false;
    }
}

static const struct client_job *find_client_job(const struct client_job *set, uint32_t vpid,
                                                uint32_t client, const char *nspace)
{
    FREE_AUTO char *key = xasprintf("%u %u %s", vpid, client, nspace);
    struct client_job *c;

    HASH_FIND_STR(set, key, c);
    return c;
}

/* The first one of that name stays. */
static void add_client_job(struct job_adoption *a, struct client_job **set, uint32_t vpid,
                           uint32_t client, const char *nspace, const struct reported_job *refused)
{
    struct client_job *c;

    if (find_client_job(*set, vpid, client, nspace))
        return;
    c = xcalloc(1, sizeof(*c));
    c->key = xasprintf("%u %u %s", vpid, client, nspace);
    c->refused = refused;
    a->bytes += sizeof(*c) + strlen(c->key);
    HASH_ADD_STR(*set, key, c);
}

bool job_adoption_defers(struct jobs *js, uint32_t from, const struct msg *m)
{
    struct job_adoption *a = js->adoption;
    struct deferred_msg *d;

    if (!job_adoption_waits(js) || !is_about_jobs(m->type) || !members_get(js->members, from))
        return false;
    d = xcalloc(1, sizeof(*d));
    d->from = from;
    d->epoch = members_epoch(js->members, members_get(js->members, from));
    d->type = m->type;
    buf_init(&d->bytes, RECORD_BYTES_MAX);
    msg_encode(&d->bytes, m);
    a->bytes += sizeof(*d) + d->bytes.len;
    DL_APPEND(a->deferred, d);
    if (m->type == MSG_JOB_ASK)
        add_client_job(a, &a->asked, from, m->job_ask.client, m->job_ask.nspace, NULL);
    return true;
}

void job_adoption_reported_all(struct jobs *js, uint32_t from)
{
    if (job_adoption_waits(js))
        bitmap_set(js->adoption->members, from);
}

/* The number in "<incarnation>.<number>"; 0: a former head has given no such name. */
static uint64_t number_of(const struct jobs *js, const char *nspace)
{
    const char *dot = strchr(nspace, '.');
    uint64_t number = dot ? strtoull(dot + 1, NULL, 10) : 0;
    FREE_AUTO char *name = job_name(js, number);

    return strcmp(name, nspace) == 0 && number <= js->inherited ? number : 0;
}

static struct reported_job *add_reported(struct job_adoption *a, const struct buf *key)
{
    struct reported_job *r = xcalloc(1, sizeof(*r));
    struct cur c = cur_of(key->data, key->len);
    struct err err = {0};

    if (job_launch_decode(&c, &r->launch, &err) < 0) {
        free(r);
        return NULL;
    }
    buf_init(&r->bytes, RECORD_BYTES_MAX);
    buf_put_raw(&r->bytes, key->data, key->len);
    r->nodes = bitmap_alloc();
    r->cpus = xcalloc(r->launch.nranks + 1, sizeof(*r->cpus));
    HASH_ADD_KEYPTR(hh, a->jobs, r->bytes.data, r->bytes.len, r);
    a->bytes += sizeof(*r) + 2 * r->bytes.len + r->launch.nranks * sizeof(*r->cpus);
    return r;
}

/* The same job at several daemons differs in these: the version of the members at its launch, and
 * the CPUs of the ranks there. */
static struct reported_job *find_or_add(struct job_adoption *a, const struct job_launch *l)
{
    struct job_launch same = *l;
    struct reported_job *r;
    BUF_AUTO struct buf key = {0};

    same.version = 0;
    same.ncpus = 0;
    same.cpus = NULL;
    buf_init(&key, RECORD_BYTES_MAX);
    job_launch_encode(&key, &same);
    HASH_FIND(hh, a->jobs, key.data, key.len, r);
    return r || key.failed ? r : add_reported(a, &key);
}

static void take_cpus(struct job_adoption *a, struct reported_job *r, const struct job_launch *l,
                      uint32_t node)
{
    size_t n = 0;

    for (uint32_t rank = 0; rank < l->nranks && n < l->ncpus; rank++) {
        if (l->rank_node[rank] != node)
            continue;
        a->bytes += strlen(l->cpus[n]);
        r->cpus[rank] = xstrdup(l->cpus[n++]);
    }
}

bool job_adoption_report(struct jobs *js, uint32_t from, const struct job_launch *l)
{
    uint64_t number = job_adoption_waits(js) ? number_of(js, l->nspace) : 0;
    int node = job_launch_node(l, from);
    struct reported_job *r;

    if (!number || node < 0 || !job_node_current(js, &l->nodes[node]))
        return false;
    r = find_or_add(js->adoption, l);
    if (!r)
        return false;
    r->number = number;
    if (hwloc_bitmap_isset(r->nodes, (unsigned)node))
        return true;
    bitmap_set(r->nodes, (unsigned)node);
    take_cpus(js->adoption, r, l, (uint32_t)node);
    return true;
}

/* --- the decision */

static char *explain_nodes(const struct jobs *js, const struct reported_job *r)
{
    for (size_t i = 0; i < r->launch.nnodes; i++) {
        const struct job_node *n = &r->launch.nodes[i];

        if (!job_node_current(js, n))
            return xasprintf("vpid %u with some of its ranks is no member any more", n->vpid);
        if (!hwloc_bitmap_isset(r->nodes, (unsigned)i))
            return xasprintf("vpid %u has not reported the same job", n->vpid);
    }
    return NULL;
}

/* Why the reported job is not adopted, on the heap; NULL: it is. */
static char *explain_refusal(const struct jobs *js, const struct reported_job *r)
{
    const struct job_launch *l = &r->launch;

    if (l->nranks == 0)
        return xstrdup("it has no ranks");
    if (l->files_vpid == VPID_HEAD)
        return xstrdup("its client was at the head");
    if (!members_live(js->members, l->files_vpid))
        return xasprintf("vpid %u with its client is no member any more", l->files_vpid);
    if (!find_client_job(js->adoption->asked, l->files_vpid, l->files_client, l->nspace))
        return xasprintf("no client at vpid %u waits for it", l->files_vpid);
    return explain_nodes(js, r);
}

static int compare_numbers(const struct reported_job *a, const struct reported_job *b)
{
    return a->number < b->number ? -1 : a->number > b->number;
}

/* In the order of numbers. One of two complete ones has forged it; there may be more of them. */
static void refuse_rivals(struct job_adoption *a)
{
    struct reported_job *before = NULL, *r, *tmp;

    HASH_ITER(hh, a->jobs, r, tmp)
    {
        if (r->why)
            continue;
        if (before && before->number == r->number) {
            r->why = xstrdup("its daemons have reported it in two ways");
            if (!before->why)
                before->why = xstrdup(r->why);
        }
        before = r;
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
    }
}

static void end_reported(struct jobs *js, const struct reported_job *r)
{
    struct job_adoption *a = js->adoption;
    const struct job_launch *l = &r->launch;

    add_client_job(a, &a->refused, l->files_vpid, l->files_client, l->nspace, r);
    add_client_job(a, &a->refused, l->files_vpid, l->files_client, "", r);
    published_job_ended(js->published, r->launch.nspace);
    out_log(js->out, LOG_LEVEL_WARN, "job %s ends: all its records are lost, and %s",
            r->launch.nspace, r->why);
    for (size_t i = 0; i < r->launch.nnodes; i++) {
        const struct job_node *n = &r->launch.nodes[i];

        if (hwloc_bitmap_isset(r->nodes, (unsigned)i) && job_node_current(js, n))
            job_end_there(js, n->vpid, r->launch.nspace, EXIT_CODE_LOST);
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
        if (r->why)
            end_reported(js, r);
        else
            out_log(js->out, LOG_LEVEL_INFO, "job %s goes on: its %zu daemons have reported it",
                    r->launch.nspace, r->launch.nnodes);
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
        free_deferred(a, d);
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
bool job_adoption_answers(struct jobs *js, uint32_t from, uint32_t client, const char *nspace)
{
    const struct client_job *c =
        js->adoption ? find_client_job(js->adoption->refused, from, client, nspace) : NULL;
    const struct reported_job *r = c ? c->refused : NULL;
    FREE_AUTO char *text =
        r ? xasprintf("the head was lost with all records of the job, and %s", r->why) : NULL;
    struct msg accepted = {.type = MSG_ACCEPTED};
    struct msg done = {.type = MSG_DONE};

    if (!r)
        return false;
    accepted.accepted = (struct msg_client_job){r->launch.nspace, client};
    done.done = (struct msg_done){
        .nspace = r->launch.nspace, .client = client, .exit_code = EXIT_CODE_LOST, .text = text};
    tell_client(js, from, &accepted);
    tell_client(js, from, &done);
    return true;
}
