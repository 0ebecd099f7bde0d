/* SPDX-License-Identifier: BSD-3-Clause */
/* PUT /v1/shutdown. */
#include "dvm/host/ctl/ctl_private.h"

void ctl_put_shutdown(struct ctl *ctl, const struct ctl_request *rq, struct ctl_reply *rp)
{
    struct api_shutdown s;
    enum api_reason reason = API_REASON_NONE;
    struct err err = {0};

    if (api_shutdown_decode(rq->body, &s, &err) < 0) {
        ctl_refuse(rp, 400, API_REASON_BAD_REQUEST, "%s", err.msg);
        return;
    }
    rp->input = true;
    if (core_shutdown(ctl->core, &s, &reason, &err) < 0) {
        ctl_refuse_err(rp, reason, &err);
        return;
    }
    rp->status = 202;
    rp->body = api_shutdown_encode(&s);
}
