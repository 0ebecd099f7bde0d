/* SPDX-License-Identifier: BSD-3-Clause */
/* PMIx groups: construct and destruct are collectives of the members' daemons.
 *
 * In: one request when all members on this daemon have joined, or earlier when one has ended or
 * the time limit is reached. Each daemon contributes flags and a proposal for the context id. Out:
 * the members, and for a construct with a context id the same id for all.
 *
 * Invariants: a context id is the same on all daemons and different from any other: each daemon
 * proposes its own next number with its vpid in the low bits, and the greatest proposal is taken.
 * The collective's name is that of the members and of the group, so that two groups of the same
 * members do not mix.
 *
 * Failures: a contribution that says that a member has ended, or that the time is over, ends the
 * group for all members with an error or TIMEOUT. Malformed contributions are an error. */
#include "dvm/host/pmix/pmix_private.h"

#include <stdlib.h>
#include <string.h>

/* A group's context id has to be the same on all daemons and different from any other: each
 * daemon proposes its own next number, with its vpid in the low bits, and the greatest is taken. */
#define CONTEXT_VPID_BITS 20

/* The flags that a daemon sends of its members. */
enum { GROUP_WANTS_CONTEXT = 1, GROUP_LACKS_MEMBER = 2, GROUP_TIMED_OUT = 4 };

/* The members, one entry for each rank: a client of libpmix 5 expects them in the answer. */
static void list_members(struct pmix_srv *p, struct upcall *u)
{
    struct answer *a = &u->answer;
    size_t cap = 0;

    for (size_t i = 0; i < u->nprocs; i++) {
        const struct job *j = job_find(p, u->procs[i].nspace);
        bool all = u->procs[i].rank == PMIX_RANK_WILDCARD && j;
        uint32_t n = all ? j->launch->nranks : 1;

        cap += n;
        a->members = xrealloc(a->members, cap * sizeof(*a->members));
        for (uint32_t r = 0; r < n; r++) {
            a->members[a->nmembers] = u->procs[i];
            if (all)
                a->members[a->nmembers].rank = r;
            a->nmembers++;
        }
    }
}

/* The collective's name: the members, then one more entry, which is no process. */
static void add_group_name(struct upcall *u)
{
    struct pmix_srv_proc *e;

    u->procs = xrealloc(u->procs, (u->nprocs + 1) * sizeof(*u->procs));
    e = &u->procs[u->nprocs++];
    *e = (struct pmix_srv_proc){.rank = PMIX_SRV_RANK_NONE};
    snprintf(e->nspace, sizeof(e->nspace), "%c%s", u->op, u->text);
}

/* Whether a member of this daemon has ended. */
static bool lacks_member(struct pmix_srv *p, const struct upcall *u)
{
    for (size_t i = 0; i < u->nprocs; i++) {
        const struct job *j = job_find(p, u->procs[i].nspace);
        uint32_t rank = u->procs[i].rank;

        if (j && (rank < j->launch->nranks ? j->ranks[rank].gone
                                           : rank == PMIX_RANK_WILDCARD && j->ngone))
            return true;
    }
    return false;
}

static void run_group(struct pmix_srv *p, struct upcall *u)
{
    uint64_t proposal = ++p->last_id << CONTEXT_VPID_BITS | p->vpid;
    BUF_AUTO struct buf b = {.max = PMIX_SRV_BLOB_MAX};
    pmix_req req;

    if (u->op == 'C' && lacks_member(p, u))
        u->number |= GROUP_LACKS_MEMBER;
    buf_put_u8(&b, (uint8_t)u->number);
    buf_put_u64(&b, proposal);
    buf_put_bytes(&b, u->data.data, u->data.len);
    list_members(p, u);
    add_group_name(u);
    req = pmix_srv_add_request(p, &u->answer);
    if (u->nobody)
        pmix_srv_answer(p, req, PMIX_ERR_LOST_CONNECTION, NULL, 0);
    else if (b.failed || u->data.failed)
        pmix_srv_answer(p, req, PMIX_ERR_OUT_OF_RESOURCE, NULL, 0);
    else if (p->up.on_fence)
        p->up.on_fence(req, 'g', u->procs, u->nprocs, b.data, b.len, u->timeout_s, p->arg);
    else
        pmix_srv_answer(p, req, PMIX_ERR_NOT_SUPPORTED, NULL, 0);
}

static bool wants_context(const pmix_info_t *info, size_t n)
{
    return info_true(info, n, PMIX_GROUP_ASSIGN_CONTEXT_ID);
}

/* The reason of a request before all members here have joined: one has ended, or the time limit
 * is reached. */
static unsigned what_is_lacking(const pmix_info_t *info, size_t n)
{
    const pmix_info_t *i = info_find(info, n, PMIX_LOCAL_COLLECTIVE_STATUS);

    if (!i || i->value.type != PMIX_STATUS || i->value.data.status == PMIX_SUCCESS)
        return 0;
    return i->value.data.status == PMIX_ERR_TIMEOUT ? GROUP_TIMED_OUT : GROUP_LACKS_MEMBER;
}

pmix_status_t group_on_request(pmix_group_operation_t op, char name[], const pmix_proc_t procs[],
                               size_t nprocs, const pmix_info_t info[], size_t ninfo,
                               pmix_info_cbfunc_t cb, void *cbdata)
{
    const pmix_info_t *endpoints = info_find(info, ninfo, PMIX_GROUP_ENDPT_DATA);
    struct upcall *u;

    if (op != PMIX_GROUP_CONSTRUCT && op != PMIX_GROUP_DESTRUCT)
        return PMIX_ERR_NOT_SUPPORTED;
    u = upcall_collective(op == PMIX_GROUP_CONSTRUCT ? 'C' : 'D', procs, nprocs, info, ninfo);
    if (!u)
        return PMIX_ERR_INIT;
    u->run = run_group;
    u->text = xstrdup(name);
    if (op == PMIX_GROUP_CONSTRUCT)
        u->number = (int)(what_is_lacking(info, ninfo) |
                          (wants_context(info, ninfo) ? GROUP_WANTS_CONTEXT : 0));
    if (endpoints && endpoints->value.type == PMIX_BYTE_OBJECT)
        buf_put_raw(&u->data, endpoints->value.data.bo.bytes, endpoints->value.data.bo.size);
    u->answer = (struct answer){.kind = ANSWER_GROUP, .cb.info = cb, .cbdata = cbdata};
    pmix_srv_upcall_post(u);
    return PMIX_SUCCESS;
}

/* Splits the contributions of all daemons. False: malformed. */
static bool group_read(const void *data, size_t len, unsigned *flags, uint64_t *context,
                       struct buf *endpoints)
{
    struct cur c = cur_of(data, len);

    while (!c.bad && cur_left(&c)) {
        uint8_t says = cur_u8(&c);
        uint64_t proposal = cur_u64(&c);
        size_t n;
        const uint8_t *bytes = cur_bytes(&c, PMIX_SRV_BLOB_MAX, &n);

        *flags |= says;
        if (proposal > *context)
            *context = proposal;
        if (bytes)
            buf_put_raw(endpoints, bytes, n);
    }
    return cur_done(&c) && !endpoints->failed;
}

static void load_members(pmix_info_t *info, const struct answer *a)
{
    pmix_proc_t *procs = xcalloc(a->nmembers, sizeof(*procs));
    pmix_data_array_t array = {.type = PMIX_PROC, .size = a->nmembers, .array = procs};

    for (size_t i = 0; i < a->nmembers; i++)
        PMIX_LOAD_PROCID(&procs[i], a->members[i].nspace, a->members[i].rank);
    PMIX_INFO_LOAD(info, PMIX_GROUP_MEMBERSHIP, &array, PMIX_DATA_ARRAY);
    free(procs);
}

struct group_info {
    pmix_info_t *info;
    size_t n;
};

static void on_group_read(void *arg)
{
    struct group_info *g = arg;

    PMIX_INFO_FREE(g->info, g->n);
    free(g);
}

void group_answer(const struct answer *a, int status, const void *data, size_t len)
{
    BUF_AUTO struct buf endpoints = {.max = PMIX_SRV_BLOB_MAX};
    struct group_info *g;
    unsigned flags = 0;
    bool wanted;
    uint64_t context = 0;

    if (status == PMIX_SUCCESS && !group_read(data, len, &flags, &context, &endpoints))
        status = PMIX_ERR_UNPACK_FAILURE;
    if (status == PMIX_SUCCESS && flags & GROUP_LACKS_MEMBER)
        status = PMIX_ERR_PROC_ABORTED;
    else if (status == PMIX_SUCCESS && flags & GROUP_TIMED_OUT)
        status = PMIX_ERR_TIMEOUT;
    if (status != PMIX_SUCCESS) {
        a->cb.info(status, NULL, 0, a->cbdata, NULL, NULL);
        return;
    }
    wanted = flags & GROUP_WANTS_CONTEXT;
    g = xcalloc(1, sizeof(*g));
    g->n = 1 + wanted + (endpoints.len > 0);
    g->info = xcalloc(g->n, sizeof(*g->info));
    load_members(&g->info[0], a);
    if (wanted) {
        size_t id = context;

        PMIX_INFO_LOAD(&g->info[1], PMIX_GROUP_CONTEXT_ID, &id, PMIX_SIZE);
    }
    if (endpoints.len) {
        pmix_byte_object_t bo = {.bytes = (char *)endpoints.data, .size = endpoints.len};

        PMIX_INFO_LOAD(&g->info[g->n - 1], PMIX_GROUP_ENDPT_DATA, &bo, PMIX_BYTE_OBJECT);
    }
    a->cb.info(PMIX_SUCCESS, g->info, g->n, a->cbdata, on_group_read, g);
}
