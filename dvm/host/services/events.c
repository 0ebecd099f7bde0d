/* SPDX-License-Identifier: BSD-3-Clause */
/* Events that concern more than one daemon: those of ranks on their way to others, the loss of
 * ranks, and who has connected to whom and is told of it. */
#include "dvm/host/daemon_private.h"

#include "base/log/log.h"

#include <hwloc/bitmap.h>
#include <pmix_common.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define ASK_MAX (64u << 20)
#define ASSEMBLIES_MAX 1024
/* Of events that the head passes on, in bytes times receivers; others wait for them, and so do
 * their senders' daemons, which have a limit of their own. At least one is on its way. */
#define RELAYED_MAX (64u << 20)

/* An event to be told to a set of daemons. */
struct spread {
    struct daemon *d;
    hwloc_bitmap_t to;
    struct buf blob;
    unsigned left; /* daemons that have not said that they have it */
    size_t cost;   /* of one that is passed on */
    pmix_req req;  /* of a local rank; 0: the head passes it on for `from` */
    uint32_t from;
    uint64_t id;
    struct spread *next, *prev; /* in the order in which they wait to be passed on */
    uint64_t number;            /* of those that are on their way */
    UT_hash_handle hh;
};

static struct spread *spread_new(struct daemon *d, const void *blob, size_t len)
{
    struct spread *s = xcalloc(1, sizeof *s);

    s->d = d;
    s->to = hwloc_bitmap_alloc();
    buf_init(&s->blob, PMIX_SRV_EVENT_MAX);
    buf_put_raw(&s->blob, blob, len);
    return s;
}

static void spread_free(struct spread *s)
{
    hwloc_bitmap_free(s->to);
    buf_free(&s->blob);
    free(s);
}

static void pass_on_next(struct daemon *d);

static void spread_step(struct spread *s)
{
    struct daemon *d = s->d;

    if (--s->left > 0)
        return;
    HASH_DEL(d->spreads, s);
    if (s->req) {
        pmix_srv_answer(d->pmix, s->req, PMIX_SUCCESS, NULL, 0);
    } else {
        d->relayed -= s->cost;
        dpmix_reply(d, s->from, s->id, PMIX_SUCCESS, NULL, 0);
    }
    spread_free(s);
    pass_on_next(d);
}

struct told { /* one of the set */
    struct spread *s;
};

static void on_told(struct daemon *d, int status, const void *data, size_t len, void *arg)
{
    struct told *t = arg;

    spread_step(t->s);
    free(t);
}

static void spread_go(struct spread *s)
{
    struct daemon *d = s->d;
    unsigned v;

    s->number = ++d->next_waiting;
    HASH_ADD(hh, d->spreads, number, sizeof s->number, s);
    s->left = 1;
    hwloc_bitmap_foreach_begin(v, s->to)
    {
        struct buf b BUF_AUTO = {0};
        struct told *t = xmalloc(sizeof *t);

        t->s = s;
        s->left++;
        buf_init(&b, ASK_MAX);
        buf_put_u64(&b, 0);
        buf_put_bytes(&b, s->blob.data, s->blob.len);
        dpmix_ask(d, v, APP_NOTIFY, &b, on_told, t);
    }
    hwloc_bitmap_foreach_end();
    spread_step(s);
}

/* --- from a rank here */

static void put_reach(struct buf *b, const struct pmix_srv_reach *to)
{
    buf_put_u8(b, to->kind);
    buf_put_u32(b, (uint32_t)to->nprocs);
    for (size_t i = 0; i < to->nprocs; i++) {
        buf_put_str(b, to->procs[i].nspace);
        buf_put_u32(b, to->procs[i].rank);
    }
}

static void tell_job(struct daemon *d, pmix_req req, const char *nspace, const void *blob,
                     size_t len)
{
    const struct job_launch *l = core_job(d->core, nspace);
    struct spread *s = spread_new(d, blob, len);

    s->req = req;
    for (size_t i = 0; l && i < l->nnodes; i++) {
        if (l->nodes[i].vpid != d->opts.vpid &&
            core_live_in(d->core, l->nodes[i].vpid, l->nodes[i].epoch))
            hwloc_bitmap_set(s->to, l->nodes[i].vpid);
    }
    spread_go(s);
}

/* The head alone knows which daemons have ranks, and wakes no other. */
void devent_notify(pmix_req req, const char *nspace, const struct pmix_srv_reach *to,
                   const void *blob, size_t len, void *arg)
{
    struct daemon *d = arg;
    struct buf b BUF_AUTO = {0};

    if (to->kind == PMIX_SRV_REACH_JOB) {
        tell_job(d, req, nspace, blob, len);
        return;
    }
    buf_init(&b, ASK_MAX);
    buf_put_u64(&b, 0);
    put_reach(&b, to);
    buf_put_bytes(&b, blob, len);
    dpmix_ask_for(d, req, 0, APP_NOTIFY_ALL, &b);
}

/* --- at a daemon with ranks that are to hear of it */

struct heard {
    struct daemon *d;
    uint32_t from;
    uint64_t id;
};

static void on_heard(int status, void *arg)
{
    struct heard *h = arg;

    dpmix_reply(h->d, h->from, h->id, PMIX_SUCCESS, NULL, 0);
    free(h);
}

void devent_in(struct daemon *d, uint32_t from, struct cur *c)
{
    struct heard *h = xmalloc(sizeof *h);
    size_t len;
    const uint8_t *blob;

    *h = (struct heard){d, from, cur_u64(c)};
    blob = cur_bytes(c, PMIX_SRV_EVENT_MAX, &len);
    if (cur_done(c))
        pmix_srv_notify(d->pmix, blob, len, on_heard, h);
    else
        on_heard(PMIX_ERR_BAD_PARAM, h);
}

/* --- at the head */

static void add_tools(const struct daemon *d, hwloc_bitmap_t to)
{
    if (d->tools)
        hwloc_bitmap_or(to, to, d->tools);
}

/* Whose name is no job's may be a tool. */
static bool is_job(const struct daemon *d, const char *nspace)
{
    const struct rank_facts *facts;
    const int *state;

    return core_job_ranks(d->core, nspace, &state, &facts) != NULL;
}

/* False if the list is cut, or out of its limits. */
static bool get_reach(struct daemon *d, struct cur *c, hwloc_bitmap_t to)
{
    uint8_t kind = cur_u8(c);
    uint32_t n = cur_count(c, PMIX_SRV_REACH_MAX, 8);

    if (kind == PMIX_SRV_REACH_ALL) {
        core_daemons_of(d->core, NULL, JOB_RANK_ALL, to);
        add_tools(d, to);
    }
    for (uint32_t i = 0; i < n && !c->bad; i++) {
        char *nspace FREE_AUTO = cur_str(c, PMIX_MAX_NSLEN);
        uint32_t rank = cur_u32(c);

        core_daemons_of(d->core, nspace, rank == PMIX_SRV_RANK_ALL ? JOB_RANK_ALL : rank, to);
        if (!is_job(d, nspace))
            add_tools(d, to);
    }
    return !c->bad;
}

/* In their order, as many as the limit has room for. */
static void pass_on_next(struct daemon *d)
{
    if (d->relaying) /* called from below: the outermost goes on */
        return;
    d->relaying = true;
    while (d->relays && (!d->relayed || d->relayed + d->relays->cost <= RELAYED_MAX)) {
        struct spread *s = d->relays;

        DL_DELETE(d->relays, s);
        d->relayed += s->cost;
        spread_go(s);
    }
    d->relaying = false;
}

void devent_asked(struct daemon *d, uint32_t from, struct cur *c)
{
    uint64_t id = cur_u64(c);
    hwloc_bitmap_t to = hwloc_bitmap_alloc();
    struct spread *s = NULL;
    size_t len;
    bool ok = get_reach(d, c, to);
    const uint8_t *blob = cur_bytes(c, PMIX_SRV_EVENT_MAX, &len);

    hwloc_bitmap_clr(to, from); /* its library has told its ranks */
    if (ok && cur_done(c)) {
        s = spread_new(d, blob, len);
        hwloc_bitmap_copy(s->to, to);
        s->from = from;
        s->id = id;
        s->cost = (len + 1) * (size_t)(hwloc_bitmap_weight(to) + 1);
        DL_APPEND(d->relays, s);
    }
    hwloc_bitmap_free(to);
    if (s)
        pass_on_next(d);
    else
        dpmix_reply(d, from, id, PMIX_ERR_BAD_PARAM, NULL, 0);
}

/* --- tools: nobody hears of their end, so that their daemons are told until they are gone */

static void on_tool_known(struct daemon *d, int status, const void *data, size_t len, void *arg)
{
    pmix_req *req = arg;

    if (status != PMIX_SUCCESS)
        log_info("a tool hears of no events of other daemons: the head cannot be told of it");
    pmix_srv_answer(d->pmix, *req, PMIX_SUCCESS, NULL, 0);
    free(req);
}

void devent_tool(pmix_req req, void *arg)
{
    struct daemon *d = arg;
    struct buf b BUF_AUTO = {0};
    pmix_req *mine = xmalloc(sizeof *mine);

    *mine = req;
    daemon_enter(d);
    buf_init(&b, 64);
    buf_put_u64(&b, 0);
    dpmix_ask(d, 0, APP_TOOL_HERE, &b, on_tool_known, mine);
    daemon_drain(d);
}

void devent_tool_there(struct daemon *d, uint32_t from, struct cur *c)
{
    uint64_t id = cur_u64(c);
    bool ok = cur_done(c);

    if (ok && !d->tools)
        d->tools = hwloc_bitmap_alloc();
    if (ok)
        hwloc_bitmap_set(d->tools, from);
    dpmix_reply(d, from, id, ok ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM, NULL, 0);
}

void devent_member_gone(struct daemon *d, const struct out_act *act)
{
    if (d->tools)
        hwloc_bitmap_clr(d->tools, act->vpid);
    if (act->number == REMOVE_LOST)
        pmix_srv_notify_offline(d->pmix, act->vpid, act->a);
}

/* --- who has connected */

/* Processes, some of them here, that are told of each other's loss. */
struct assembly {
    size_t n;
    struct pmix_srv_proc *procs;
    struct assembly *next, *prev;
};

/* A connect or disconnect that is under way. */
struct joining {
    pmix_req req;
    char kind;
    size_t n;
    struct pmix_srv_proc *procs;
    struct joining *next, *prev;
};

static struct pmix_srv_proc *procs_copy(const struct pmix_srv_proc *procs, size_t n)
{
    return memcpy(xmalloc((n + 1) * sizeof *procs), procs, n * sizeof *procs);
}

static bool covers(const struct pmix_srv_proc *p, const char *nspace, uint32_t rank)
{
    return strcmp(p->nspace, nspace) == 0 && (p->rank == PMIX_SRV_RANK_ALL || p->rank == rank);
}

static bool any_covers(const struct pmix_srv_proc *procs, size_t n, const char *nspace,
                       uint32_t rank)
{
    for (size_t i = 0; i < n; i++) {
        if (covers(&procs[i], nspace, rank))
            return true;
    }
    return false;
}

static void assembly_drop(struct daemon *d, struct assembly *a)
{
    DL_DELETE(d->assemblies, a);
    d->nassemblies--;
    free(a->procs);
    free(a);
}

static void assembly_add(struct daemon *d, const struct joining *j)
{
    struct assembly *a;

    if (d->nassemblies >= ASSEMBLIES_MAX) {
        log_warn("pmix: ranks here have connected %u times and not disconnected: of the losses of "
                 "those that connect now nobody is told",
                 ASSEMBLIES_MAX);
        return;
    }
    a = xcalloc(1, sizeof *a);
    a->n = j->n;
    a->procs = procs_copy(j->procs, j->n);
    DL_APPEND(d->assemblies, a);
    d->nassemblies++;
}

/* All that a disconnect names wholly: parents and children that were connected rank by rank part as
 * jobs. */
static void assembly_part(struct daemon *d, const struct joining *j)
{
    struct assembly *a, *tmp;

    DL_FOREACH_SAFE(d->assemblies, a, tmp)
    {
        size_t i = 0;

        while (i < a->n && any_covers(j->procs, j->n, a->procs[i].nspace, a->procs[i].rank))
            i++;
        if (i == a->n)
            assembly_drop(d, a);
    }
}

void devent_joining(struct daemon *d, pmix_req req, char kind, const struct pmix_srv_proc *procs,
                    size_t n)
{
    struct joining *j;

    if (kind != 'c' && kind != 'd')
        return;
    j = xcalloc(1, sizeof *j);
    *j = (struct joining){.req = req, .kind = kind, .n = n, .procs = procs_copy(procs, n)};
    DL_APPEND(d->joining, j);
}

static void joining_free(struct daemon *d, struct joining *j)
{
    DL_DELETE(d->joining, j);
    free(j->procs);
    free(j);
}

void devent_joined(struct daemon *d, pmix_req req, bool well)
{
    struct joining *j;

    DL_SEARCH_SCALAR(d->joining, j, req, req);
    if (!j)
        return;
    if (well && j->kind == 'c')
        assembly_add(d, j);
    else if (well)
        assembly_part(d, j);
    joining_free(d, j);
}

/* Those of a job that is over have nobody left to tell, and nothing to be told of. */
void devent_job_ended(struct daemon *d, const char *nspace)
{
    struct assembly *a, *tmp;

    DL_FOREACH_SAFE(d->assemblies, a, tmp)
    {
        size_t kept = 0;

        for (size_t i = 0; i < a->n; i++) {
            if (strcmp(a->procs[i].nspace, nspace) != 0)
                a->procs[kept++] = a->procs[i];
        }
        a->n = kept;
        if (kept == 0)
            assembly_drop(d, a);
    }
}

/* --- ranks that are lost */

/* The ranks of its job if they go on, who has spawned the job, and who has connected to it. */
static struct pmix_srv_proc *whom_to_tell(const struct daemon *d, const struct msg *m,
                                          uint32_t rank, size_t *n)
{
    const struct assembly *a;
    struct pmix_srv_proc *to;

    *n = 2;
    DL_FOREACH(d->assemblies, a)
    {
        *n += a->n;
    }
    to = xcalloc(*n, sizeof *to);
    *n = 0;
    if (m->number)
        to[(*n)++].rank = PMIX_SRV_RANK_ALL;
    if (m->number)
        memccpy(to[0].nspace, m->nspace, 0, sizeof to[0].nspace - 1);
    if (m->text[0]) {
        to[*n].rank = m->rank;
        memccpy(to[(*n)++].nspace, m->text, 0, sizeof to[0].nspace - 1);
    }
    DL_FOREACH(d->assemblies, a)
    {
        if (!any_covers(a->procs, a->n, m->nspace, rank))
            continue;
        memcpy(to + *n, a->procs, a->n * sizeof *to);
        *n += a->n;
    }
    return to;
}

void devent_ranks_lost(struct daemon *d, const struct out_act *act)
{
    struct cur c = cur_of(act->data.data, act->data.len);
    struct msg m;

    if (msg_decode(&c, MSG_RANKS_LOST, &m, NULL) < 0)
        return; /* our own core has packed it */
    for (size_t i = 0; i < m.nranks; i++) {
        size_t n;
        struct pmix_srv_proc *to FREE_AUTO = whom_to_tell(d, &m, m.ranks[i].rank, &n);

        pmix_srv_notify_lost(d->pmix, m.nspace, &m.ranks[i], to, n);
    }
    msg_free(&m);
}

/* --- the end */

void devent_free_all(struct daemon *d)
{
    struct spread *s, *tmp;

    HASH_ITER(hh, d->spreads, s, tmp)
    {
        HASH_DEL(d->spreads, s);
        spread_free(s);
    }
    DL_FOREACH_SAFE(d->relays, s, tmp)
    {
        spread_free(s);
    }
    hwloc_bitmap_free(d->tools);
    while (d->assemblies)
        assembly_drop(d, d->assemblies);
    while (d->joining)
        joining_free(d, d->joining);
}
