/* SPDX-License-Identifier: BSD-3-Clause */
/* The launch of a job: its map to each of its daemons, with the CPUs of the ranks there. */
#include "base/log/log.h"
#include "dvm/protocol/head/jobs/job_private.h"

#include <stdlib.h>
#include <string.h>

/* The binding of each rank of a node, for the daemon there. */
static char **cpus_of(const struct jobs *js, const struct job *j, uint32_t node, size_t *n)
{
    const struct topo *t = cpu_ledger_topo(js->ledger, j->map.nodes[node].vpid);
    char **list;

    *n = 0;
    if (!j->kept->map.taken || !t)
        return NULL;
    list = xcalloc(job_launch_local_size(&j->map, node) + 1, sizeof(*list));
    for (uint32_t r = 0; r < j->map.nranks; r++) {
        if (j->map.rank_node[r] == node)
            list[(*n)++] = j->ranks[r].taken ? topo_cpus(t, j->ranks[r].taken, j->kept->map.bind)
                                             : xstrdup("");
    }
    return list;
}

static void cpus_free(char **list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(list[i]);
    free(list);
}

/* Sent before any rank starts, so that the table comes before the ranks' output. */
void job_show_map(struct jobs *js, struct job *j)
{
    struct msg m = {.type = MSG_JOB_MAP,
                    .job_map = {.nspace = j->map.nspace,
                                .client = j->kept->accepted.submit_client,
                                .table = (const uint8_t *)j->table}};

    if (j->kept->map.note)
        out_log(js->out, LOG_LEVEL_INFO, "job %s: %s", j->map.nspace, j->kept->map.note);
    if (!j->table)
        return;
    m.job_map.len = strlen(j->table);
    job_tell(js, j, &m);
    free(j->table);
    j->table = NULL;
}

/* A launch message cannot be sent. Daemons that have theirs are ordered to end it; the others
 * count as lost nodes of the job. */
static void fail_unsent(struct jobs *js, struct job *j, const char *why)
{
    job_fail(js, j, JOB_EV_FAIL_START, EXIT_CODE_NOT_LAUNCHED, "not launched: %s", why);
    for (size_t i = 0; i < j->map.nnodes; i++) {
        if (!j->daemons[i].sent)
            job_lose_node(js, j, (int)i, NULL);
    }
}

int job_send_node(struct jobs *js, struct job *j, uint32_t node, struct err *err)
{
    struct msg m = {.type = MSG_LAUNCH, .launch = {j->map}};
    struct job_launch *map = &m.launch.map;

    map->version = js->members->version;
    map->cpus = cpus_of(js, j, node, &map->ncpus);
    j->daemons[node].sent = rml_send(js->rml, j->map.nodes[node].vpid, CLASS_LAUNCH, &m, err) == 0;
    cpus_free(map->cpus, map->ncpus);
    return j->daemons[node].sent ? 0 : -1;
}

void job_send_launch(struct jobs *js, struct job *j)
{
    uint64_t limit = j->map.spec.timeout_ms;
    struct err err = {0};

    if (job_table_sent(js->table, j->kept, limit ? js->out->now_ms + limit : 0, &err) < 0) {
        job_fail(js, j, JOB_EV_FAIL_START, EXIT_CODE_NOT_LAUNCHED, "not launched: %s", err.msg);
        return;
    }
    js->changes++;
    j->held_ms = 0;
    js->stats.started++;
    job_show_map(js, j);
    for (size_t i = 0; i < j->map.nnodes; i++) {
        if (job_send_node(js, j, (uint32_t)i, &err) < 0) {
            fail_unsent(js, j, err.msg);
            return;
        }
    }
    if (job_launch_waits(&j->map))
        job_step(js, j, JOB_EV_PREPARE);
}
