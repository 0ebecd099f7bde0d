/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of local processes for another size of the DVM: to the head, and back to who asked. */
#include "dvm/protocol/core/core_private.h"

#include <stdlib.h>
#include <utlist.h>

static void answer(struct core *c, uint64_t req, enum alloc_status status, const struct msg *m,
                   const char *why)
{
    struct out_act *act = out_add(&c->out, OUT_ALLOC);

    act->req = req;
    act->number = status;
    act->kind_app = m ? (uint32_t)m->number2 : 0;
    act->a = xstrdup(m ? m->text : "");
    buf_put_str(&act->data, why);
}

static void drop(struct core *c, struct asked *x)
{
    DL_DELETE(c->asked, x);
    c->nasked--;
    free(x);
}

void alloc_fail_all(struct core *c, const char *why)
{
    while (c->asked) {
        if (why)
            answer(c, c->asked->req, ALLOC_UNREACHABLE, NULL, why);
        drop(c, c->asked);
    }
}

static int send_ask(struct core *c, uint64_t op, const struct alloc_ask *a)
{
    struct msg m = {.type = MSG_ALLOC,
                    .op = op,
                    .nspace = (char *)a->nspace,
                    .rank = a->rank,
                    .number = a->kind,
                    .number2 = a->deadline_s,
                    .text = (char *)a->req_id,
                    .text2 = (char *)a->id,
                    .client = a->count,
                    .nvpids = a->nvpids,
                    .vpids = (uint32_t *)a->vpids};

    return core_send(c, VPID_HEAD, CLASS_CONTROL, &m);
}

void core_alloc(struct core *c, uint64_t req, const struct alloc_ask *a)
{
    struct asked *x;

    if (!members_live(&c->members, c->opts.vpid) || c->finishing) {
        answer(c, req, ALLOC_UNREACHABLE, NULL, c->text);
    } else if (c->nasked >= CORE_ASKED_MAX || send_ask(c, c->last_asked + 1, a) < 0) {
        answer(c, req, ALLOC_NO_ROOM, NULL, "too many requests wait for the head");
    } else {
        x = xcalloc(1, sizeof *x);
        *x = (struct asked){.op = ++c->last_asked, .req = req};
        DL_APPEND(c->asked, x);
        c->nasked++;
    }
    core_settle(c);
}

static void answered(struct core *c, const struct msg *m)
{
    struct asked *x;

    DL_FOREACH(c->asked, x)
    {
        if (x->op == m->op)
            break;
    }
    if (!x)
        return;
    answer(c, x->req, (enum alloc_status)m->number, m, m->text2);
    drop(c, x);
}

static void ended(struct core *c, const struct msg *m)
{
    struct out_act *act = out_add(&c->out, OUT_ALLOC_ENDED);

    act->a = xstrdup(m->nspace);
    act->rank = m->rank;
    act->number = m->number;
    buf_put_str(&act->data, m->text);
    buf_put_str(&act->data, m->text3);
    buf_put_str(&act->data, m->text2);
}

void alloc_msg_in(struct core *c, uint32_t from, const struct msg *m)
{
    if (from != VPID_HEAD)
        return;
    if (m->type == MSG_ALLOC_ANSWER)
        answered(c, m);
    else
        ended(c, m);
}
