/* SPDX-License-Identifier: BSD-3-Clause */
/* Job info: sizes, maps, ranks, nodes and directories of a job, as PMIx attributes.
 *
 * In: the launch of a job. Out: one list for PMIx_server_register_nspace(). Attributes and their C
 * types: PMIx standard 4.1, chapter "Process Management", section on job, application, node and
 * process information; docs/pmix/job-info.md lists them.
 *
 * Invariants: nodes without ranks are left out; nodes and ranks of the maps have one order. What
 * the library derives from the maps (LOCAL_SIZE, LOCALLDR, LOCAL_PEERS, HOSTNAME) is not given
 * twice. The session's attribute goes with one job only: libpmix 4.2.2 keeps session data beyond
 * its jobs.
 *
 * Failures: maps that the library cannot pack give an error, by which the job ends (jobs.c). */
#include "dvm/host/pmix/pmix_private.h"

#include "base/bitmap/bitmap.h"

#include <hwloc.h>
#include <string.h>

/* Attributes and their C types: PMIx standard 4.1, chapter "Process Management", section on job,
 * application, node and process information; docs/pmix/job-info.md lists them. */

static void add_u32(void *list, const char *key, uint32_t v)
{
    PMIx_Info_list_add(list, key, &v, PMIX_UINT32);
}

static void add_u16(void *list, const char *key, uint32_t v)
{
    uint16_t small = v > UINT16_MAX ? UINT16_MAX : (uint16_t)v;

    PMIx_Info_list_add(list, key, &small, PMIX_UINT16);
}

static void add_rank(void *list, const char *key, uint32_t rank)
{
    pmix_rank_t r = rank;

    PMIx_Info_list_add(list, key, &r, PMIX_PROC_RANK);
}

static void add_str(void *list, const char *key, const char *s)
{
    PMIx_Info_list_add(list, key, s, PMIX_STRING);
}

/* Moves the list `part` into `list` as one array. */
static void add_part(void *list, const char *key, void *part)
{
    pmix_data_array_t array = PMIX_DATA_ARRAY_STATIC_INIT;

    if (PMIx_Info_list_convert(part, &array) == PMIX_SUCCESS)
        PMIx_Info_list_add(list, key, &array, PMIX_DATA_ARRAY);
    PMIX_DATA_ARRAY_DESTRUCT(&array);
    PMIx_Info_list_release(part);
}

static void put_text(struct buf *b, const char *s)
{
    buf_put_raw(b, s, strlen(s));
}

/* "0,2,4": the ranks of each node, one string a node. */
static void node_ranks(const struct job *j, struct buf *text)
{
    const struct job_launch *l = j->launch;

    for (size_t i = 0; i < l->nnodes; i++)
        buf_init(&text[i], PMIX_SRV_BLOB_MAX);
    for (uint32_t r = 0; r < l->nranks; r++) {
        struct buf *b = &text[l->rank_node[r]];
        char number[16];

        snprintf(number, sizeof(number), b->len ? ",%u" : "%u", r);
        put_text(b, number);
    }
    for (size_t i = 0; i < l->nnodes; i++)
        buf_put_u8(&text[i], 0);
}

static const char *text_of(const struct buf *b)
{
    return (const char *)b->data;
}

/* Names and ranks of the nodes, in one order, packed by the library. Nodes without ranks are no
 * part of the job and left out. */
static int add_maps(void *list, const struct job *j, const struct buf *ranks, struct err *err)
{
    BUF_AUTO struct buf names = {.max = PMIX_SRV_BLOB_MAX};
    BUF_AUTO struct buf procs = {.max = PMIX_SRV_BLOB_MAX};
    char *names_map = NULL, *procs_map = NULL;
    pmix_status_t rc;

    for (size_t i = 0; i < j->launch->nnodes; i++) {
        if (!j->node_size[i])
            continue;
        put_text(&names, names.len ? "," : "");
        put_text(&names, j->launch->nodes[i].host);
        put_text(&procs, procs.len ? ";" : "");
        put_text(&procs, text_of(&ranks[i]));
    }
    buf_put_u8(&names, 0);
    buf_put_u8(&procs, 0);
    rc = PMIx_generate_regex(text_of(&names), &names_map);
    if (rc == PMIX_SUCCESS)
        rc = PMIx_generate_ppn(text_of(&procs), &procs_map);
    if (rc == PMIX_SUCCESS) {
        PMIx_Info_list_add(list, PMIX_NODE_MAP, names_map, PMIX_REGEX);
        PMIx_Info_list_add(list, PMIX_PROC_MAP, procs_map, PMIX_REGEX);
    }
    free(names_map);
    free(procs_map);
    return rc == PMIX_SUCCESS ? 0 : err_set(err, "map of nodes: %s", PMIx_Error_string(rc));
}

/* The library derives LOCAL_SIZE, LOCALLDR and LOCAL_PEERS from the maps. */
static void add_node(void *list, const struct job *j, uint32_t node)
{
    const struct job_node *n = &j->launch->nodes[node];
    void *part = PMIx_Info_list_start();

    add_str(part, PMIX_HOSTNAME, n->host);
    /* The same number in every job, so that ranks of two jobs know whether they share a node. */
    add_u32(part, PMIX_NODEID, n->vpid);
    add_u32(part, PMIX_NODE_SIZE, j->node_size[node]);
    add_part(list, PMIX_NODE_INFO_ARRAY, part);
}

static int add_nodes(void *list, const struct job *j, struct err *err)
{
    size_t n = j->launch->nnodes;
    FREE_AUTO struct buf *ranks = xcalloc(n, sizeof(*ranks));
    int rc;

    node_ranks(j, ranks);
    rc = add_maps(list, j, ranks, err);
    for (uint32_t i = 0; i < n; i++) {
        if (rc == 0 && j->node_size[i])
            add_node(list, j, i);
        buf_free(&ranks[i]);
    }
    return rc;
}

static void add_app(void *list, const struct job *j, uint32_t app)
{
    const struct job_app *a = &j->launch->spec.apps[app];
    BUF_AUTO struct buf argv = {.max = PMIX_SRV_BLOB_MAX};
    uint32_t size = 0, leader = PMIX_RANK_INVALID;
    void *part = PMIx_Info_list_start();

    for (uint32_t r = 0; r < j->launch->nranks; r++) {
        if (j->launch->rank_app[r] == app && size++ == 0)
            leader = r;
    }
    for (size_t i = 0; a->argv[i]; i++) {
        put_text(&argv, i ? " " : "");
        put_text(&argv, a->argv[i]);
    }
    buf_put_u8(&argv, 0);
    add_u32(part, PMIX_APPNUM, app);
    add_u32(part, PMIX_APP_SIZE, size);
    add_rank(part, PMIX_APPLDR, leader);
    add_str(part, PMIX_WDIR, a->cwd);
    add_str(part, PMIX_APP_ARGV, text_of(&argv));
    add_part(list, PMIX_APP_INFO_ARRAY, part);
}

static void add_parent(void *part, const struct job_spec *spec)
{
    pmix_proc_t parent;

    if (!spec->parent_nspace || !spec->parent_nspace[0])
        return;
    PMIX_LOAD_PROCID(&parent, spec->parent_nspace, spec->parent_rank);
    PMIx_Info_list_add(part, PMIX_PARENT_ID, &parent, PMIX_PROC);
}

/* The library derives each rank's HOSTNAME from the maps. */
/* The place of a bound rank, for its peers on the node: Open MPI finds out by it which ranks
 * share a cache or a NUMA node. The library writes the text from its own topology. */
static void add_cpus(void *part, const struct job_launch *l, uint32_t local_rank)
{
    pmix_cpuset_t set = {.source = (char *)"hwloc"};
    FREE_AUTO char *cpus = NULL;
    char *locality = NULL;

    if (local_rank >= l->ncpus || !l->cpus[local_rank][0])
        return;
    cpus = xasprintf("hwloc:%s", l->cpus[local_rank]);
    add_str(part, PMIX_CPUSET, cpus);
    set.bitmap = bitmap_alloc();
    if (bitmap_list_parse(set.bitmap, l->cpus[local_rank]) == 0 &&
        PMIx_server_generate_locality_string(&set, &locality) == PMIX_SUCCESS && locality)
        add_str(part, PMIX_LOCALITY_STRING, locality);
    free(locality);
    hwloc_bitmap_free(set.bitmap);
}

static void add_proc(void *list, const struct pmix_srv *p, const struct job *j, uint32_t rank)
{
    const struct job_launch *l = j->launch;
    uint32_t node = l->rank_node[rank];
    void *part = PMIx_Info_list_start();

    add_rank(part, PMIX_RANK, rank); /* has to be the first */
    add_rank(part, PMIX_GLOBAL_RANK, rank);
    add_rank(part, PMIX_APP_RANK, j->ranks[rank].app_rank);
    add_u32(part, PMIX_APPNUM, l->rank_app[rank]);
    add_u16(part, PMIX_LOCAL_RANK, j->ranks[rank].local_rank);
    add_u16(part, PMIX_NODE_RANK, j->ranks[rank].local_rank);
    add_u32(part, PMIX_NODEID, l->nodes[node].vpid);
    add_u32(part, PMIX_REINCARNATION, 0);
    add_parent(part, &l->spec);
    if (node == j->node) {
        FREE_AUTO char *dir = xasprintf("%s/%s/%u", p->session_dir, j->nspace, rank);

        add_str(part, PMIX_PROCDIR, dir);
        add_cpus(part, l, j->ranks[rank].local_rank);
    }
    add_part(list, PMIX_PROC_DATA, part);
}

/* libpmix stops ranks in PMIx_Init by this attribute. Version 4.2.2 stops every rank that gets
 * it, whichever rank it names; the daemon releases the neighbours of the one that is to stop at
 * once. A program that stops elsewhere does so by itself. */
static void add_stop(void *list, const struct job *j)
{
    const struct job_spec *s = &j->launch->spec;
    bool all = s->stop_rank == JOB_RANK_ALL;

    if (s->stop == JOB_STOP_INIT && (all || job_is_local(j, s->stop_rank)))
        add_rank(list, PMIX_DEBUG_STOP_IN_INIT, PMIX_RANK_WILDCARD);
    if (s->stop == JOB_STOP_APP)
        add_rank(list, PMIX_DEBUG_STOP_IN_APP, all ? PMIX_RANK_WILDCARD : s->stop_rank);
}

/* A DVM is one session. The attribute goes with one job only: libpmix 4.2.2 keeps session data
 * beyond its jobs, and adds a copy each time. */
static void add_session(void *list, const struct job *j, uint32_t slots)
{
    void *part;

    if (atomic_exchange(&j->srv->session_told, true))
        return;
    part = PMIx_Info_list_start();
    add_u32(part, PMIX_SESSION_ID, 0);
    add_u32(part, PMIX_UNIV_SIZE, slots);
    add_part(list, PMIX_SESSION_INFO_ARRAY, part);
}

static void add_job(void *list, const struct pmix_srv *p, const struct job *j)
{
    const struct job_launch *l = j->launch;
    FREE_AUTO char *nsdir = xasprintf("%s/%s", p->session_dir, j->nspace);
    uint32_t slots = l->universe > l->nranks ? l->universe : l->nranks;
    uint32_t nodes_used = 0;

    for (size_t i = 0; i < l->nnodes; i++)
        nodes_used += j->node_size[i] > 0;
    add_str(list, PMIX_SERVER_NSPACE, PMIX_SRV_NSPACE);
    add_rank(list, PMIX_SERVER_RANK, p->vpid);
    add_session(list, j, slots);
    add_str(list, PMIX_JOBID, j->nspace);
    add_rank(list, PMIX_NPROC_OFFSET, 0);
    add_u32(list, PMIX_JOB_SIZE, l->nranks);
    add_u32(list, PMIX_UNIV_SIZE, slots);
    add_u32(list, PMIX_MAX_PROCS, slots);
    add_u32(list, PMIX_JOB_NUM_APPS, (uint32_t)l->spec.napps);
    add_u32(list, PMIX_NUM_NODES, nodes_used);
    add_stop(list, j);
    /* Ranks that wait for a message then yield their CPU and do not spin. */
    if (j->node != JOB_NO_VPID && j->node_size[j->node] > p->ncpus)
        PMIx_Info_list_add(list, PMIX_NODE_OVERSUBSCRIBED, NULL, PMIX_BOOL);
    add_str(list, PMIX_TMPDIR, p->session_dir);
    add_str(list, PMIX_NSDIR, nsdir);
    topology_add(list, p, j);
    /* Without it, a rank of Open MPI that aborts removes all three directories, and the daemon's
     * files in them. */
    PMIx_Info_list_add(list, PMIX_TDIR_RMCLEAN, NULL, PMIX_BOOL);
}

int jobinfo_build(const struct pmix_srv *p, const struct job *j, pmix_data_array_t *out,
                  struct err *err)
{
    void *list = PMIx_Info_list_start();
    int rc;

    add_job(list, p, j);
    rc = add_nodes(list, j, err);
    for (uint32_t a = 0; rc == 0 && a < j->launch->spec.napps; a++)
        add_app(list, j, a);
    for (uint32_t r = 0; rc == 0 && r < j->launch->nranks; r++)
        add_proc(list, p, j, r);
    if (rc == 0 && PMIx_Info_list_convert(list, out) != PMIX_SUCCESS)
        rc = err_set(err, "list of attributes: out of memory");
    PMIx_Info_list_release(list);
    return rc < 0 ? err_wrap(err, "job info of %s", j->nspace) : 0;
}
