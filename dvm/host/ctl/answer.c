/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers to inputs of the core that wait until members keep the records of what they say.
 *
 * In: answers; OUT_ANSWER of the core, which follows the records; readers that depart. Out: the
 * answers, in their order.
 *
 * Failures: a reader that has departed gets nothing. The wait is bounded by the core
 * (dvm/protocol/core/keepers.c). */
#include "dvm/host/ctl/ctl_private.h"

#include "base/buf/buf.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

static struct ctl_answer *add_answer(struct ctl *ctl)
{
    struct ctl_answer *a = xcalloc(1, sizeof(*a));

    a->number = ++ctl->nanswers;
    DL_APPEND(ctl->answers, a);
    core_answer(ctl->core, a->number);
    return a;
}

bool ctl_answer_http(struct ctl *ctl, struct httpd_req *req, const struct ctl_reply *rp)
{
    struct ctl_answer *a;

    if (!rp->input || rp->stream || !core_holds(ctl->core))
        return false;
    a = add_answer(ctl);
    a->http = req;
    a->status = rp->status;
    a->body = rp->body;
    return true;
}

bool ctl_answer_local(struct ctl *ctl, uint64_t conn, const struct ctl_local *to, int status,
                      const char *text)
{
    struct ctl_answer *a;

    if (!to->line || !core_holds(ctl->core))
        return false;
    a = add_answer(ctl);
    a->conn = conn;
    a->local = *to;
    a->status = status;
    a->text = xstrdup(text);
    return true;
}

static void free_answer(struct ctl *ctl, struct ctl_answer *a)
{
    DL_DELETE(ctl->answers, a);
    json_decref(a->body);
    free(a->text);
    free(a);
}

static void send_answer(struct ctl *ctl, struct ctl_answer *a)
{
    if (a->http)
        httpd_reply_json(a->http, a->status, json_incref(a->body));
    else
        a->local.reply(a->conn, a->status, a->text, a->local.arg);
    free_answer(ctl, a);
}

void ctl_on_answer(struct ctl *ctl, uint64_t number)
{
    struct ctl_answer *a = ctl->answers;

    if (a && a->number == number) /* else its reader has departed */
        send_answer(ctl, a);
}

void ctl_answers_gone(struct ctl *ctl, uint64_t conn)
{
    struct ctl_answer *a, *tmp;

    DL_FOREACH_SAFE(ctl->answers, a, tmp)
    {
        if (!a->http && a->conn == conn)
            free_answer(ctl, a);
    }
}

/* A request has to be answered in any case. */
void ctl_answers_free(struct ctl *ctl)
{
    while (ctl->answers) {
        if (ctl->answers->http)
            send_answer(ctl, ctl->answers);
        else
            free_answer(ctl, ctl->answers);
    }
}
