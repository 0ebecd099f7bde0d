/* SPDX-License-Identifier: BSD-3-Clause */
/* PUT /v1/jobs/{id}/signal and /v1/jobs/{id}/continue. */
#include "dvm/host/ctl/ctl_private.h"

#include "api/fields.h"

#include <signal.h>

void ctl_put_signal(struct ctl *ctl, const struct ctl_request *rq, struct ctl_reply *rp)
{
    struct err err = {0};
    struct fields f = fields_of(rq->body, &err);
    int signum = (int)fields_u64(&f, "signal", SIGRTMAX);
    enum api_reason reason = API_REASON_NONE;

    fields_only(&f, (const char *const[]){"signal", NULL});
    if (!f.bad && signum == 0)
        fields_refuse(&f, "signal", "0 is none");
    if (f.bad) {
        ctl_refuse(rp, 400, API_REASON_BAD_REQUEST, "%s", err.msg);
        return;
    }
    rp->input = true;
    if (core_signal_put(ctl->core, rq->id, signum, &reason, &err) < 0) {
        ctl_refuse_err(rp, reason, &err);
        return;
    }
    rp->status = 202;
    rp->body = json_pack("{s:s, s:i}", "job", rq->id, "signal", signum);
}

void ctl_put_continue(struct ctl *ctl, const struct ctl_request *rq, struct ctl_reply *rp)
{
    struct err err = {0};
    enum api_reason reason = API_REASON_NONE;

    rp->input = true;
    if (core_continue_put(ctl->core, rq->id, &reason, &err) < 0) {
        ctl_refuse_err(rp, reason, &err);
        return;
    }
    rp->status = 202;
    rp->body = json_pack("{s:s}", "job", rq->id);
}
