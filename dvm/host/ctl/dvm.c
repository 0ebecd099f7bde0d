/* SPDX-License-Identifier: BSD-3-Clause */
/* GET /v1/dvm. */
#include "dvm/host/ctl/ctl_private.h"

void ctl_get_dvm(struct ctl *ctl, const struct ctl_request *rq, struct ctl_reply *rp)
{
    struct api_dvm d = {0};
    enum api_reason reason = API_REASON_NONE;
    struct err err = {0};

    if (core_dvm(ctl->core, &d, &reason, &err) < 0) {
        ctl_refuse_err(rp, reason, &err);
        return;
    }
    rp->status = 200;
    rp->body = api_dvm_encode(&d);
    api_dvm_free(&d);
}
