/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of local processes for another size of the DVM, and their answers.
 *
 * In: core_resize() for a process on this daemon; RESIZE_ANSWER and RESIZE_ENDED of the head. Out:
 * RESIZE_ASK to the head; OUT_RESIZE_ANSWER and OUT_RESIZE_ENDED for the process.
 *
 * A request is kept from RESIZE_ASK until its answer. At most CORE_ASKED_MAX requests wait. The end
 * of a request needs no record here: RESIZE_ENDED names the process.
 *
 * Invariants: a request is answered at most once, and its record is freed then.
 *
 * Failures: a daemon outside the DVM, or one that is leaving, answers UNREACHABLE. With too
 * many requests the answer is NO_ROOM. local_resize_fail_all() answers the waiting requests with
 * UNREACHABLE, or only forgets them. After that ends are dropped: the process does not know that
 * such a request has begun a campaign. */
#include "dvm/protocol/core/core_private.h"

#include <stdlib.h>
#include <utlist.h>

static void answer_request(struct core *c, uint64_t req, enum resize_status status,
                           const struct msg_resize_answer *m, const char *why)
{
    out_add(&c->out, OUT_RESIZE_ANSWER)->resize_answer =
        (struct out_resize_answer){.req = req,
                                   .status = status,
                                   .phase = m ? m->phase : 0,
                                   .campaign = xstrdup(m ? m->campaign : ""),
                                   .why = xstrdup(why)};
}

static void drop_asked(struct core *c, struct asked *x)
{
    DL_DELETE(c->asked, x);
    c->nasked--;
    free(x);
}

void local_resize_fail_all(struct core *c, const char *why)
{
    while (c->asked) {
        if (why)
            answer_request(c, c->asked->req, RESIZE_UNREACHABLE, NULL, why);
        drop_asked(c, c->asked);
    }
}

static int send_ask(struct core *c, uint64_t op, const struct resize_request *a)
{
    struct msg m = {.type = MSG_RESIZE_ASK,
                    .resize_ask = {.op = op,
                                   .nspace = (char *)a->nspace,
                                   .rank = a->rank,
                                   .kind = a->kind,
                                   .deadline_s = a->deadline_s,
                                   .req_id = (char *)a->req_id,
                                   .campaign = (char *)a->id,
                                   .count = a->count,
                                   .nvpids = a->nvpids,
                                   .vpids = (uint32_t *)a->vpids}};

    return core_send(c, VPID_HEAD, CLASS_CONTROL, &m);
}

void core_resize(struct core *c, uint64_t req, const struct resize_request *a)
{
    struct asked *x;

    if (!members_live(&c->members, c->opts.vpid) || c->finishing) {
        answer_request(c, req, RESIZE_UNREACHABLE, NULL, c->text);
    } else if (c->nasked >= CORE_ASKED_MAX || send_ask(c, c->last_asked + 1, a) < 0) {
        answer_request(c, req, RESIZE_NO_ROOM, NULL, "too many requests wait for the head");
    } else {
        x = xcalloc(1, sizeof(*x));
        *x = (struct asked){.op = ++c->last_asked, .req = req};
        DL_APPEND(c->asked, x);
        c->nasked++;
    }
    core_settle(c);
}

static void take_answer(struct core *c, const struct frame *f, struct msg *m)
{
    const struct msg_resize_answer *r = &m->resize_answer;
    struct asked *x;

    DL_FOREACH(c->asked, x)
    {
        if (x->op == r->op)
            break;
    }
    if (!x)
        return;
    answer_request(c, x->req, r->status, r, r->why);
    drop_asked(c, x);
}

static void take_ended(struct core *c, const struct frame *f, struct msg *m)
{
    if (c->finishing)
        return;
    out_add(&c->out, OUT_RESIZE_ENDED)->resize_ended.end = m->resize_ended;
    m->resize_ended = (struct msg_resize_ended){0}; /* taken */
}

const struct routed_handler resize_handlers[] = {
    {MSG_RESIZE_ANSWER, take_answer},
    {MSG_RESIZE_ENDED, take_ended},
    {0},
};
