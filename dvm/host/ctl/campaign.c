/* SPDX-License-Identifier: BSD-3-Clause */
/* PUT /v1/campaigns/{id}, its cancel, GET. */
#include "dvm/host/ctl/ctl_private.h"

#include <string.h>

static int check_id(const char *id, struct ctl_reply *rp)
{
    if (id && id[0] && strlen(id) <= API_ID_MAX)
        return 0;
    ctl_refuse(rp, 400, API_REASON_BAD_REQUEST, "a campaign's id has 1 to %d bytes", API_ID_MAX);
    return -1;
}

static void answer_campaign(struct ctl_reply *rp, int status, struct api_campaign *c)
{
    rp->status = status;
    rp->body = api_campaign_encode(c);
    api_campaign_free(c);
}

void ctl_put_campaign(struct ctl *ctl, const struct ctl_request *rq, struct ctl_reply *rp)
{
    struct api_campaign_request r = {0};
    struct api_campaign c = {0};
    enum api_reason reason = API_REASON_NONE;
    struct err err = {0};

    if (check_id(rq->id, rp) < 0)
        return;
    if (api_campaign_request_decode(rq->body, &r, &err) < 0) {
        ctl_refuse(rp, 400, API_REASON_BAD_REQUEST, "%s", err.msg);
        return;
    }
    rp->input = true;
    if (core_campaign_put(ctl->core, rq->id, &r, &c, &reason, &err) < 0)
        ctl_refuse_err(rp, reason, &err);
    else
        answer_campaign(rp, api_phase_terminal(c.phase) ? 200 : 202, &c);
    api_campaign_request_free(&r);
}

void ctl_cancel_campaign(struct ctl *ctl, const struct ctl_request *rq, struct ctl_reply *rp)
{
    struct api_campaign c = {0};
    enum api_reason reason = API_REASON_NONE;
    struct err err = {0};

    if (check_id(rq->id, rp) < 0)
        return;
    rp->input = true;
    if (core_campaign_cancel(ctl->core, rq->id, &c, &reason, &err) < 0)
        ctl_refuse_err(rp, reason, &err);
    else
        answer_campaign(rp, 200, &c);
}

void ctl_get_campaign(struct ctl *ctl, const struct ctl_request *rq, struct ctl_reply *rp)
{
    struct api_campaign c = {0};
    enum api_reason reason = API_REASON_NONE;
    struct err err = {0};

    if (check_id(rq->id, rp) < 0)
        return;
    if (core_campaign_get(ctl->core, rq->id, &c, &reason, &err) < 0)
        ctl_refuse_err(rp, reason, &err);
    else
        answer_campaign(rp, 200, &c);
}
