/* SPDX-License-Identifier: BSD-3-Clause */
/* Which ranks here other ranks wait for: in a collective that some participants have called, or for
 * data that a rank has not committed yet.
 *
 * A collective gets a number when it is first seen. It is kept in a field that a new one has
 * undefined and that the library does not use: memory of an ended collective becomes a later one.
 */
#include "src/include/pmix_config.h"

#include "pmix_extend.h"

#include "src/include/pmix_globals.h"
#include "src/server/pmix_server_ops.h"

#include <stdlib.h>
#include <string.h>

typedef void (*each_wait)(const struct pmix_extend_wait *w, void *arg);

static int compare_procs(const void *a, const void *b)
{
    const pmix_proc_t *x = a;
    const pmix_proc_t *y = b;
    int c = strcmp(x->nspace, y->nspace);

    return c ? c : (x->rank > y->rank) - (x->rank < y->rank);
}

/* Those here that have called, sorted. NULL: none, or no memory. */
static pmix_proc_t *list_callers(pmix_server_trkr_t *t, size_t *n)
{
    pmix_proc_t *list = calloc(pmix_list_get_size(&t->local_cbs) + 1, sizeof(*list));
    pmix_server_caddy_t *c;

    *n = 0;
    if (!list)
        return NULL;
    PMIX_LIST_FOREACH(c, &t->local_cbs, pmix_server_caddy_t)
    {
        if (!c->peer || !c->peer->info)
            continue;
        PMIX_LOAD_PROCID(&list[*n], c->peer->info->pname.nspace, c->peer->info->pname.rank);
        ++*n;
    }
    qsort(list, *n, sizeof(*list), compare_procs);
    return list;
}

static char kind_of(const pmix_server_trkr_t *t)
{
    switch (t->type) {
    case PMIX_FENCENB_CMD:
        return 'f';
    case PMIX_CONNECTNB_CMD:
        return 'c';
    case PMIX_DISCONNECTNB_CMD:
        return 'd';
    default:
        return 'g';
    }
}

static uint64_t number_of(pmix_server_trkr_t *t)
{
    static pmix_rank_t last;

    if (t->pname.rank == PMIX_RANK_UNDEF)
        t->pname.rank = last = last < PMIX_RANK_VALID ? last + 1 : 1;
    return t->pname.rank;
}

static void each_missing(pmix_server_trkr_t *t, const pmix_proc_t *of, const pmix_proc_t *called,
                         size_t n, each_wait on, void *arg)
{
    struct pmix_extend_wait w = {.what = kind_of(t), .number = number_of(t), .by = called[0]};
    pmix_rank_info_t *r;
    pmix_namespace_t *ns;

    PMIX_LIST_FOREACH(ns, &pmix_globals.nspaces, pmix_namespace_t)
    {
        if (!PMIX_CHECK_NSPACE(ns->nspace, of->nspace))
            continue;
        PMIX_LIST_FOREACH(r, &ns->ranks, pmix_rank_info_t)
        {
            if (of->rank != PMIX_RANK_WILDCARD && of->rank != r->pname.rank)
                continue;
            PMIX_LOAD_PROCID(&w.rank, ns->nspace, r->pname.rank);
            if (!bsearch(&w.rank, called, n, sizeof(*called), compare_procs))
                on(&w, arg);
        }
    }
}

static void each_collective(each_wait on, void *arg)
{
    pmix_server_trkr_t *t;

    PMIX_LIST_FOREACH(t, &pmix_server_globals.collectives, pmix_server_trkr_t)
    {
        pmix_proc_t *called;
        size_t n = 0;

        if (t->host_called)
            continue;
        called = list_callers(t, &n);
        for (size_t i = 0; n && i < t->npcs; i++)
            each_missing(t, &t->pcs[i], called, n, on, arg);
        free(called);
    }
}

static bool is_here(const pmix_proc_t *rank)
{
    pmix_rank_info_t *r;
    pmix_namespace_t *ns;

    PMIX_LIST_FOREACH(ns, &pmix_globals.nspaces, pmix_namespace_t)
    {
        if (!PMIX_CHECK_NSPACE(ns->nspace, rank->nspace))
            continue;
        PMIX_LIST_FOREACH(r, &ns->ranks, pmix_rank_info_t)
        {
            if (r->pname.rank == rank->rank)
                return true;
        }
    }
    return false;
}

/* One that still waits. */
static bool first_asker(pmix_dmdx_local_t *d, pmix_proc_t *by)
{
    pmix_dmdx_request_t *r;

    PMIX_LIST_FOREACH(r, &d->loc_reqs, pmix_dmdx_request_t)
    {
        const pmix_server_caddy_t *c = r->cbdata;

        if (!c || !c->peer || !c->peer->info || c->peer->sd < 0)
            continue;
        PMIX_LOAD_PROCID(by, c->peer->info->pname.nspace, c->peer->info->pname.rank);
        return true;
    }
    return false;
}

static void each_data(each_wait on, void *arg)
{
    pmix_dmdx_local_t *d;

    PMIX_LIST_FOREACH(d, &pmix_server_globals.local_reqs, pmix_dmdx_local_t)
    {
        struct pmix_extend_wait w = {.what = 'm', .rank = d->proc};

        if (is_here(&w.rank) && first_asker(d, &w.by))
            on(&w, arg);
    }
}

void pmix_extend_waits(each_wait on, void *arg)
{
    each_collective(on, arg);
    each_data(on, arg);
}
