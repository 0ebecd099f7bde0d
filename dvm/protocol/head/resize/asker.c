/* SPDX-License-Identifier: BSD-3-Clause */
/* The process that asks for a campaign by PMIx: whether it is where its request comes from, which
 * members are its own, and the answer at the campaign's end.
 *
 * The owner of an extension is the job whose rank has asked for it. A tool owns an extension for
 * which it has asked by the same daemon: the head does not know the tools of other daemons. A
 * member is its owner's while the daemon runs that the extension has brought. */
#include "base/log/log.h"
#include "dvm/protocol/head/resize/campaign_private.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

void asker_free(struct campaign_asker *a)
{
    free(a->nspace);
    free(a->req_id);
    free(a->of);
    free(a->vpids);
    *a = (struct campaign_asker){0};
}

bool asker_present(const struct campaigns *cs, const struct campaign_asker *a)
{
    const struct job *j = jobs_find(cs->jobs, a->nspace);

    if (!members_current(cs->members, a->daemon.vpid, a->daemon.epoch))
        return false;
    return !a->is_rank || (j && job_rank_running(j, a->rank));
}

const char *asker_refusal(const struct campaigns *cs, uint32_t from, const char *nspace,
                          uint32_t rank)
{
    const struct job *j = jobs_find(cs->jobs, nspace);
    const struct job_launch *map = j ? job_map(j) : NULL;
    const struct member *m = members_get(cs->members, from);
    const struct job_node *node;

    if (!j)
        return jobs_has_ended(cs->jobs, nspace) ? "the requester's job has ended" : NULL;
    if (!m || !job_mapped(j) || rank >= map->nranks)
        return "the requester's job has no such rank";
    node = &map->nodes[map->rank_node[rank]];
    return node->vpid == from && node->epoch == members_epoch(cs->members, m).ctr
               ? NULL
               : "the requester does not run at the daemon that asks for it";
}

static bool is_owner(const struct campaign *c, uint32_t from, const char *nspace)
{
    return c->req.kind == API_KIND_GROW && c->asker.nspace &&
           strcmp(c->asker.nspace, nspace) == 0 &&
           (c->asker.is_rank || c->asker.daemon.vpid == from);
}

bool asker_owns(const struct campaigns *cs, uint32_t from, const char *nspace, uint32_t vpid)
{
    const struct campaign *c;

    DL_FOREACH(campaign_table_first(cs->table), c)
    {
        const struct campaign_target *t =
            is_owner(c, from, nspace) ? campaign_table_target(c, vpid) : NULL;

        if (t && t->added && roster_find(cs->roster, vpid, t->id.epoch))
            return true;
    }
    return false;
}

static void send_end(struct campaigns *cs, const struct campaign *c, enum resize_status status)
{
    struct msg m = {.type = MSG_RESIZE_ENDED,
                    .resize_ended = {.nspace = c->asker.nspace,
                                     .rank = c->asker.rank,
                                     .status = status,
                                     .campaign = c->id,
                                     .req_id = c->asker.req_id,
                                     .cause = c->cause ? c->cause : ""}};
    struct err err = {0};

    if (rml_send(cs->rml, c->asker.daemon.vpid, CLASS_CONTROL, &m, &err) < 0)
        out_log(cs->out, LOG_LEVEL_INFO, "%s", err.msg);
}

void asker_answer_end(struct campaigns *cs, const struct campaign *c)
{
    enum resize_status status = c->phase == API_PHASE_COMPLETE ? RESIZE_OK : c->why;

    send_end(cs, c, status);
}
