/* SPDX-License-Identifier: BSD-3-Clause */
/* Assemblies: processes that PMIx_Connect has joined, and who is notified of a rank's loss.
 *
 * In: connects and disconnects of ranks here that have succeeded; ends of jobs; lost ranks, as the
 * head reports them. Out: one pmix_srv_notify_lost() for each lost rank, with its receivers.
 *
 * The receivers are the other ranks of the job if they go on, and the process that has spawned the
 * job. All processes of the rank's assemblies are receivers too. A process may be in several
 * assemblies.
 *
 * An assembly ends when one disconnect names all its processes. The processes of a job that ends
 * leave all assemblies. An assembly is removed when all that are left belong to one job: the ranks
 * of a job are notified of each other without it. So a rank may spawn any number of jobs.
 *
 * Limit: ASSEMBLIES_MAX. A further connect is logged and not kept: its processes are not notified
 * of each other's loss. */
#include "dvm/host/services/assemblies.h"

#include "base/log/log.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct assembly {
    size_t n;
    struct pmix_srv_proc *procs;
    struct assembly *next, *prev;
};

struct assemblies {
    struct pmix_srv *pmix;
    struct assembly *list;
    size_t n;
};

static bool covers_rank(const struct pmix_srv_proc *p, const char *nspace, uint32_t rank)
{
    return strcmp(p->nspace, nspace) == 0 && (p->rank == PMIX_SRV_RANK_ALL || p->rank == rank);
}

static bool any_covers(const struct pmix_srv_proc *procs, size_t n, const char *nspace,
                       uint32_t rank)
{
    for (size_t i = 0; i < n; i++) {
        if (covers_rank(&procs[i], nspace, rank))
            return true;
    }
    return false;
}

static void drop_assembly(struct assemblies *a, struct assembly *m)
{
    DL_DELETE(a->list, m);
    a->n--;
    free(m->procs);
    free(m);
}

void assemblies_connect(struct assemblies *a, const struct pmix_srv_proc *procs, size_t n)
{
    struct assembly *m;

    if (a->n >= ASSEMBLIES_MAX) {
        log_warn("pmix: ranks here have connected %u times and not disconnected: processes that "
                 "connect now are not notified of each other's loss",
                 ASSEMBLIES_MAX);
        return;
    }
    m = xcalloc(1, sizeof(*m));
    m->n = n;
    m->procs = memcpy(xmalloc((n + 1) * sizeof(*procs)), procs, n * sizeof(*procs));
    DL_APPEND(a->list, m);
    a->n++;
}

/* All assemblies that the disconnect names wholly: parents and children that were connected rank by
 * rank disconnect as jobs. */
void assemblies_disconnect(struct assemblies *a, const struct pmix_srv_proc *procs, size_t n)
{
    struct assembly *m, *tmp;

    DL_FOREACH_SAFE(a->list, m, tmp)
    {
        size_t i = 0;

        while (i < m->n && any_covers(procs, n, m->procs[i].nspace, m->procs[i].rank))
            i++;
        if (i == m->n)
            drop_assembly(a, m);
    }
}

static bool is_of_one_job(const struct assembly *m)
{
    for (size_t i = 1; i < m->n; i++) {
        if (strcmp(m->procs[i].nspace, m->procs[0].nspace) != 0)
            return false;
    }
    return true;
}

void assemblies_job_ended(struct assemblies *a, const char *nspace)
{
    struct assembly *m, *tmp;

    DL_FOREACH_SAFE(a->list, m, tmp)
    {
        size_t kept = 0;

        for (size_t i = 0; i < m->n; i++) {
            if (strcmp(m->procs[i].nspace, nspace) != 0)
                m->procs[kept++] = m->procs[i];
        }
        if (kept == m->n)
            continue;
        m->n = kept;
        if (is_of_one_job(m))
            drop_assembly(a, m);
    }
}

/* The ranks of its job if they go on, the spawner of the job, and the assemblies of the rank. */
static struct pmix_srv_proc *list_targets(const struct assemblies *a,
                                          const struct msg_ranks_lost *m, uint32_t rank, size_t *n)
{
    const struct assembly *s;
    struct pmix_srv_proc *to;

    *n = 2;
    DL_FOREACH(a->list, s)
    {
        *n += s->n;
    }
    to = xcalloc(*n, sizeof(*to));
    *n = 0;
    if (m->others_go_on) {
        to[(*n)++].rank = PMIX_SRV_RANK_ALL;
        memccpy(to[0].nspace, m->nspace, 0, sizeof(to[0].nspace) - 1);
    }
    if (m->parent_nspace[0]) {
        to[*n].rank = m->parent_rank;
        memccpy(to[(*n)++].nspace, m->parent_nspace, 0, sizeof(to[0].nspace) - 1);
    }
    DL_FOREACH(a->list, s)
    {
        if (!any_covers(s->procs, s->n, m->nspace, rank))
            continue;
        memcpy(to + *n, s->procs, s->n * sizeof(*to));
        *n += s->n;
    }
    return to;
}

void assemblies_ranks_lost(struct assemblies *a, const struct msg_ranks_lost *m)
{
    for (size_t i = 0; i < m->nranks; i++) {
        const struct msg_rank *r = &m->ranks[i];
        size_t n;
        FREE_AUTO struct pmix_srv_proc *to = list_targets(a, m, r->rank, &n);

        pmix_srv_notify_lost(a->pmix, m->nspace, r, to, n);
    }
}

struct assemblies *assemblies_create(struct pmix_srv *pmix)
{
    struct assemblies *a = xcalloc(1, sizeof(*a));

    a->pmix = pmix;
    return a;
}

void assemblies_destroy(struct assemblies *a)
{
    if (!a)
        return;
    while (a->list)
        drop_assembly(a, a->list);
    free(a);
}
