/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of verbs with the roles that may use them, and the handling of one call. */
#include "dvm/host/ctl/ctl_private.h"

#include "api/fields.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define EVERYBODY (CTL_ROLE_OPERATOR | CTL_ROLE_USER | CTL_ROLE_MEMBER)
#define PEOPLE (CTL_ROLE_OPERATOR | CTL_ROLE_USER)

/* The same table as in docs/control-api.md. */
const struct ctl_verb ctl_verbs[] = {
    {"PUT", "/v1/campaigns/{id}", PEOPLE, true, false, ctl_put_campaign},
    {"PUT", "/v1/campaigns/{id}/cancel", PEOPLE, false, false, ctl_cancel_campaign},
    {"GET", "/v1/campaigns/{id}", EVERYBODY, false, false, ctl_get_campaign},
    {"PUT", "/v1/jobs/{id}/signal", EVERYBODY, true, false, ctl_put_signal},
    {"PUT", "/v1/jobs/{id}/continue", EVERYBODY, false, false, ctl_put_continue},
    {"PUT", "/v1/size", CTL_ROLE_OPERATOR, true, false, ctl_put_size},
    {"PUT", "/v1/shutdown", PEOPLE, true, false, ctl_put_shutdown},
    {"GET", "/v1/events", PEOPLE, false, false, ctl_get_events},
    {"GET", "/v1/dvm", EVERYBODY, false, false, ctl_get_dvm},
    {"GET", "/v1/links", EVERYBODY, false, true, ctl_get_links},
};
const size_t ctl_nverbs = sizeof(ctl_verbs) / sizeof(ctl_verbs[0]);

void ctl_refuse(struct ctl_reply *rp, int status, enum api_reason reason, const char *fmt, ...)
{
    char text[ERR_MSG_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    json_decref(rp->body);
    rp->status = status;
    rp->body = json_pack("{s:{s:i, s:s, s:s}}", "error", "status", status, "reason",
                         api_reason_word(reason), "message", text);
    if (!rp->body) /* the text quotes bytes of the request that are not UTF-8 */
        rp->body = json_pack("{s:{s:i, s:s, s:s}}", "error", "status", status, "reason",
                             api_reason_word(reason), "message",
                             "refused; the reason cannot be shown as UTF-8");
}

void ctl_refuse_err(struct ctl_reply *rp, enum api_reason reason, const struct err *err)
{
    int status = err->code >= 400 && err->code <= 599 ? err->code : 500;

    ctl_refuse(rp, status, reason ? reason : API_REASON_INTERNAL, "%s", err->msg);
}

/* A verb without a body takes an empty object too. */
static bool has_stray_field(const struct ctl_verb *verb, const struct ctl_request *rq,
                            struct err *err)
{
    struct fields f = fields_of(rq->body, err);

    if (!verb->body)
        fields_only(&f, (const char *const[]){NULL});
    return f.bad;
}

void ctl_call(struct ctl *ctl, const struct ctl_verb *verb, const struct ctl_request *rq,
              struct ctl_reply *rp)
{
    struct err err = {0};

    *rp = (struct ctl_reply){0};
    if (!(1u << rq->role & verb->roles)) {
        ctl_refuse(rp, 403, API_REASON_ROLE_NOT_ALLOWED, "role '%s' may not use %s %s",
                   api_role_word(rq->role), verb->method, verb->pattern);
        return;
    }
    if (has_stray_field(verb, rq, &err)) {
        ctl_refuse(rp, 400, API_REASON_BAD_REQUEST, "%s", err.msg);
        return;
    }
    core_time(ctl->core, loop_now_ms(ctl->loop), loop_wall_ms());
    verb->fn(ctl, rq, rp);
}
