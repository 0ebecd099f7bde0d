/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps the reports, messages and questions of members about jobs that no record has, until the
 * head decides which jobs go on (job_adoption.c).
 *
 * In: LOCAL_JOB of the daemons of a job: equal ones are one report. All other messages about jobs,
 * which wait in their order.
 *
 * Limits: ADOPTION_BYTES_MAX in all. If there is more, and more than half of that is of one member,
 * what it has sent is dropped, and it is lost. Else it is decided at once. What a member's clients
 * submit counts as its own. */
#include "base/bitmap/bitmap.h"
#include "dvm/protocol/head/jobs/job_adoption_private.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define STRING_BYTES 40 /* of an empty string on the heap, with the pointer to it */

/* --- what is kept until the decision */

void job_adoption_begin(struct jobs *js)
{
    struct job_adoption *a = xcalloc(1, sizeof(*a));

    a->until_ms = js->out->now_ms + js->report_ms;
    a->members = bitmap_alloc();
    js->adoption = a;
}

static size_t count_strings(const struct job_spec *s)
{
    size_t n = s->ncleanups + s->nfiles;

    for (size_t i = 0; i < s->napps; i++) {
        for (char **p = s->apps[i].argv; *p; p++)
            n++;
        for (char **p = s->apps[i].env; *p; p++)
            n++;
    }
    return n;
}

/* Without the lists of CPUs, which come from several daemons. */
static size_t reported_bytes(const struct reported_job *r)
{
    const struct job_launch *l = &r->launch;

    return sizeof(*r) + 2 * r->bytes.len + l->nranks * sizeof(*r->cpus) +
           (count_strings(&l->spec) + l->nnodes) * STRING_BYTES;
}

static size_t cpus_bytes(const char *cpus)
{
    return cpus ? strlen(cpus) + STRING_BYTES : 0;
}

static size_t deferred_bytes(const struct deferred_msg *d)
{
    return sizeof(*d) + d->bytes.len;
}

static size_t client_job_bytes(const struct client_job *c)
{
    return sizeof(*c) + c->key.len;
}

static void free_cpus(struct job_adoption *a, struct reported_job *r, uint32_t rank)
{
    a->bytes -= cpus_bytes(r->cpus[rank]);
    free_ptr(&r->cpus[rank]);
}

static void free_reported(struct job_adoption *a, struct reported_job *r)
{
    HASH_DEL(a->jobs, r);
    for (uint32_t i = 0; i < r->launch.nranks; i++)
        free_cpus(a, r, i);
    a->bytes -= reported_bytes(r);
    free(r->cpus);
    hwloc_bitmap_free(r->nodes);
    job_launch_free(&r->launch);
    buf_free(&r->bytes);
    free(r->why);
    free(r);
}

void job_adoption_free_deferred(struct job_adoption *a, struct deferred_msg *d)
{
    DL_DELETE(a->deferred, d);
    a->bytes -= deferred_bytes(d);
    buf_free(&d->bytes);
    free(d);
}

static void free_client_job(struct job_adoption *a, struct client_job **set, struct client_job *c)
{
    HASH_DEL(*set, c);
    a->bytes -= client_job_bytes(c);
    buf_free(&c->key);
    free(c);
}

static void free_client_jobs(struct job_adoption *a, struct client_job **set)
{
    while (*set)
        free_client_job(a, set, *set);
}

void job_adoption_free(struct jobs *js)
{
    struct job_adoption *a = js->adoption;

    if (!a)
        return;
    while (a->jobs)
        free_reported(a, a->jobs);
    while (a->deferred)
        job_adoption_free_deferred(a, a->deferred);
    free_client_jobs(a, &a->asked);
    free_client_jobs(a, &a->refused);
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

/* Without what a head may change before the launch. */
static void put_spec(struct buf *b, const struct job_spec *s)
{
    struct job_spec own = *s;

    own.flags &= ~(JOB_OVERSUBSCRIBE | JOB_NO_WAIT);
    own.stop = JOB_STOP_NONE;
    job_spec_encode(b, &own);
}

static void put_key(struct buf *b, const struct client_key *k)
{
    buf_init(b, RECORD_BYTES_MAX);
    buf_put_u32(b, k->vpid);
    buf_put_u32(b, k->client);
    buf_put_u8(b, k->spec != NULL);
    if (k->spec)
        put_spec(b, k->spec);
    else
        buf_put_str(b, k->nspace);
}

const struct client_job *job_adoption_find_client(const struct client_job *set,
                                                  const struct client_key *k)
{
    BUF_AUTO struct buf key = {0};
    struct client_job *c;

    put_key(&key, k);
    HASH_FIND(hh, set, key.data, key.len, c);
    return c;
}

void job_adoption_add_client(struct job_adoption *a, struct client_job **set,
                             const struct client_key *k, const struct reported_job *refused)
{
    struct client_job *c;

    if (job_adoption_find_client(*set, k))
        return;
    c = xcalloc(1, sizeof(*c));
    put_key(&c->key, k);
    c->vpid = k->vpid;
    c->refused = refused;
    a->bytes += client_job_bytes(c);
    HASH_ADD_KEYPTR(hh, *set, c->key.data, c->key.len, c);
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
    a->bytes += deferred_bytes(d);
    DL_APPEND(a->deferred, d);
    if (m->type == MSG_JOB_ASK)
        job_adoption_add_client(
            a, &a->asked, &(struct client_key){from, m->job_ask.client, m->job_ask.nspace, NULL},
            NULL);
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
    a->bytes += reported_bytes(r);
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
        r->cpus[rank] = xstrdup(l->cpus[n++]);
        a->bytes += cpus_bytes(r->cpus[rank]);
    }
}

/* A map names each daemon once. */
static bool names_each_once(const struct job_launch *l)
{
    hwloc_bitmap_t vpids = bitmap_alloc();
    size_t n;

    for (size_t i = 0; i < l->nnodes; i++)
        bitmap_set(vpids, l->nodes[i].vpid);
    n = (size_t)hwloc_bitmap_weight(vpids);
    hwloc_bitmap_free(vpids);
    return n == l->nnodes;
}

bool job_adoption_report(struct jobs *js, uint32_t from, const struct job_launch *l)
{
    uint64_t number = job_adoption_waits(js) ? number_of(js, l->nspace) : 0;
    int node = job_launch_node(l, from);
    struct reported_job *r;

    if (!number || node < 0 || !job_node_current(js, &l->nodes[node]) || !names_each_once(l))
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

/* --- the bound */

static uint32_t find_reporter(const struct reported_job *r, uint32_t rank)
{
    return r->launch.nodes[r->launch.rank_node[rank]].vpid;
}

/* A report is of all that have sent it. */
static void add_report(const struct jobs *js, const struct reported_job *r, size_t *sums)
{
    size_t each = reported_bytes(r) / (size_t)hwloc_bitmap_weight(r->nodes);
    unsigned i;

    hwloc_bitmap_foreach_begin(i, r->nodes)
    {
        if (job_node_current(js, &r->launch.nodes[i]))
            sums[r->launch.nodes[i].vpid] += each;
    }
    hwloc_bitmap_foreach_end();
    for (uint32_t rank = 0; rank < r->launch.nranks; rank++) {
        const struct job_node *n = &r->launch.nodes[r->launch.rank_node[rank]];

        if (r->cpus[rank] && job_node_current(js, n))
            sums[n->vpid] += cpus_bytes(r->cpus[rank]);
    }
}

/* The member of which most is kept, with as much. */
static uint32_t find_most(const struct jobs *js, size_t *bytes)
{
    const struct job_adoption *a = js->adoption;
    FREE_AUTO size_t *sums = xcalloc(js->members->n + 1, sizeof(*sums));
    const struct deferred_msg *d;
    const struct reported_job *r;
    const struct client_job *c;
    uint32_t most = VPID_HEAD;

    DL_FOREACH(a->deferred, d)
    {
        if (members_current(js->members, d->from, d->epoch))
            sums[d->from] += deferred_bytes(d);
    }
    for (r = a->jobs; r; r = r->hh.next)
        add_report(js, r, sums);
    for (c = a->asked; c; c = c->hh.next)
        sums[c->vpid] += client_job_bytes(c);
    sums[VPID_HEAD] = 0;
    for (uint32_t v = 1; v < js->members->n; v++)
        most = sums[v] > sums[most] ? v : most;
    *bytes = sums[most];
    return most;
}

/* The report stays if other daemons have sent it too, without the CPUs of this one. */
static void drop_report(struct job_adoption *a, struct reported_job *r, uint32_t vpid)
{
    int node = job_launch_node(&r->launch, vpid);

    if (node < 0 || !hwloc_bitmap_isset(r->nodes, (unsigned)node))
        return;
    bitmap_clr(r->nodes, (unsigned)node);
    if (hwloc_bitmap_iszero(r->nodes)) {
        free_reported(a, r);
        return;
    }
    for (uint32_t i = 0; i < r->launch.nranks; i++) {
        if (find_reporter(r, i) == vpid)
            free_cpus(a, r, i);
    }
}

static void drop_member(struct job_adoption *a, uint32_t vpid)
{
    struct deferred_msg *d, *next;
    struct reported_job *r, *later;
    struct client_job *c, *other;

    DL_FOREACH_SAFE(a->deferred, d, next)
    {
        if (d->from == vpid)
            job_adoption_free_deferred(a, d);
    }
    HASH_ITER(hh, a->jobs, r, later)
    {
        drop_report(a, r, vpid);
    }
    HASH_ITER(hh, a->asked, c, other)
    {
        if (c->vpid == vpid)
            free_client_job(a, &a->asked, c);
    }
}

bool job_adoption_overflows(struct jobs *js, uint32_t *vpid)
{
    size_t most;

    if (!job_adoption_waits(js) || js->adoption->bytes <= ADOPTION_BYTES_MAX)
        return false;
    *vpid = find_most(js, &most);
    if (most <= ADOPTION_BYTES_MAX / 2)
        return false;
    drop_member(js->adoption, *vpid);
    return true;
}
