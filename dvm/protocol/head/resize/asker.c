/* SPDX-License-Identifier: BSD-3-Clause */
/* The process that has asked for a campaign by PMIx, and the answer at the campaign's end. */
#include "base/log/log.h"
#include "dvm/protocol/head/resize/campaign_private.h"

#include <stdlib.h>

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
