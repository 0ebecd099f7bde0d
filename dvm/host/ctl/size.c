/* SPDX-License-Identifier: BSD-3-Clause */
/* PUT /v1/size. */
#include "dvm/host/ctl/ctl_private.h"

void ctl_put_size(struct ctl *ctl, const struct ctl_request *rq, struct ctl_reply *rp)
{
    struct api_size asked, in_force;
    enum api_reason reason = API_REASON_NONE;
    struct err err = {0};

    if (api_size_decode(rq->body, &asked, &err) < 0) {
        ctl_refuse(rp, 400, API_REASON_BAD_REQUEST, "%s", err.msg);
        return;
    }
    rp->input = true;
    if (core_size_put(ctl->core, &asked, &in_force, &reason, &err) < 0) {
        ctl_refuse_err(rp, reason, &err);
        return;
    }
    rp->status = 200;
    rp->body = api_size_encode(&in_force);
}
