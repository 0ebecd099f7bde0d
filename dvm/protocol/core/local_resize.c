/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of local processes for another size of the DVM, their answers and their ends.
 *
 * In: core_resize() for a process on this daemon; RESIZE_ANSWER and RESIZE_ENDED of the head. Out:
 * RESIZE_ASK to the head; OUT_RESIZE_ANSWER and OUT_RESIZE_ENDED for the process.
 *
 * A request is kept from RESIZE_ASK until its answer, and one whose campaign runs until its end. A
 * new head gets all of them again, by their numbers. At most CORE_ASKED_MAX are kept: the oldest
 * one whose campaign runs makes room.
 *
 * Invariants: a request is answered once, and its end is reported once. Requests of one process
 * that have one campaign have one end.
 *
 * Failures: a daemon outside the DVM, or one that is leaving, answers UNREACHABLE. With too
 * many requests the answer is NO_ROOM. local_resize_fail_all() answers the waiting requests with
 * UNREACHABLE, or only forgets them. After that ends are dropped: the process does not know that
 * such a request has begun a campaign. */
#include "dvm/protocol/core/core_private.h"

#include <stdlib.h>
#include <string.h>
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
    msg_free(&x->ask);
    free(x->campaign);
    free(x);
}

void local_resize_fail_all(struct core *c, const char *why)
{
    while (c->asked) {
        if (why && !c->asked->answered)
            answer_request(c, c->asked->req, RESIZE_UNREACHABLE, NULL, why);
        drop_asked(c, c->asked);
    }
}

/* The message owns a copy of the request. */
static struct msg ask_of(const struct core *c, uint64_t op, const struct resize_request *a)
{
    struct msg m = {.type = MSG_RESIZE_ASK,
                    .resize_ask = {.op = op,
                                   .nspace = xstrdup(a->nspace),
                                   .rank = a->rank,
                                   .kind = a->kind,
                                   .deadline_s = a->deadline_s,
                                   .req_id = xstrdup(a->req_id),
                                   .campaign = xstrdup(a->id),
                                   .count = a->count,
                                   .nvpids = a->nvpids,
                                   .vpids = xcalloc(a->nvpids + 1, sizeof(*a->vpids)),
                                   /* A head of edition 0 keeps every extension. */
                                   .keep = a->keep && c->head_speaks >= 1}};

    if (a->nvpids)
        memcpy(m.resize_ask.vpids, a->vpids, a->nvpids * sizeof(*a->vpids));
    return m;
}

/* False: all of them wait for their answers. */
static bool make_room(struct core *c)
{
    struct asked *x;

    if (c->nasked < CORE_ASKED_MAX)
        return true;
    DL_FOREACH(c->asked, x)
    {
        if (x->answered)
            break;
    }
    if (x)
        drop_asked(c, x);
    return x != NULL;
}

static void send_request(struct core *c, uint64_t req, const struct resize_request *a)
{
    struct asked *x = xcalloc(1, sizeof(*x));

    *x = (struct asked){.op = c->last_asked + 1, .req = req};
    x->ask = ask_of(c, x->op, a);
    DL_APPEND(c->asked, x);
    c->nasked++;
    if (core_send(c, VPID_HEAD, CLASS_CONTROL, &x->ask) == 0) {
        c->last_asked = x->op;
        return;
    }
    answer_request(c, req, RESIZE_NO_ROOM, NULL, "too many requests wait for the head");
    drop_asked(c, x);
}

void core_resize(struct core *c, uint64_t req, const struct resize_request *a)
{
    if (!members_live(&c->members, c->opts.vpid) || c->finishing)
        answer_request(c, req, RESIZE_UNREACHABLE, NULL, c->text);
    else if (!make_room(c))
        answer_request(c, req, RESIZE_NO_ROOM, NULL, "too many requests wait for the head");
    else
        send_request(c, req, a);
    core_settle(c);
}

void local_resize_ask_all(struct core *c)
{
    const struct asked *x;

    DL_FOREACH(c->asked, x)
    {
        core_send(c, VPID_HEAD, CLASS_CONTROL, &x->ask);
    }
}

void local_resize_over(struct core *c, const char *nspace)
{
    struct asked *x, *tmp;

    DL_FOREACH_SAFE(c->asked, x, tmp)
    {
        if (x->answered && strcmp(x->ask.resize_ask.nspace, nspace) == 0)
            drop_asked(c, x);
    }
}

/* True if its campaign runs now, whose end will be reported. */
static bool begins_campaign(const struct asked *x, const struct msg_resize_answer *r)
{
    return r->status == RESIZE_OK && !api_phase_terminal(r->phase) &&
           x->ask.resize_ask.kind != RESIZE_CANCEL;
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
    if (!x || x->answered)
        return;
    answer_request(c, x->req, r->status, r, r->why);
    if (x->ended || !begins_campaign(x, r)) {
        drop_asked(c, x);
        return;
    }
    x->answered = true;
    x->campaign = xstrdup(r->campaign);
}

static bool is_of(const struct asked *x, const struct msg_resize_ended *end)
{
    return x->answered && x->ask.resize_ask.rank == end->rank &&
           strcmp(x->ask.resize_ask.nspace, end->nspace) == 0 &&
           strcmp(x->campaign, end->campaign) == 0;
}

/* It repeats that request, and waits for its answer. */
static bool is_repeat_of(const struct asked *x, const struct msg_resize_ended *end)
{
    const struct msg_resize_ask *a = &x->ask.resize_ask;

    return !x->answered && *end->req_id && strcmp(a->req_id, end->req_id) == 0 &&
           a->rank == end->rank && strcmp(a->nspace, end->nspace) == 0;
}

static void take_ended(struct core *c, const struct frame *f, struct msg *m)
{
    struct asked *x, *tmp;
    bool known = false;

    if (c->finishing)
        return;
    DL_FOREACH_SAFE(c->asked, x, tmp)
    {
        if (!is_of(x, &m->resize_ended))
            continue;
        known = true;
        drop_asked(c, x);
    }
    if (!known)
        return;
    DL_FOREACH(c->asked, x)
    {
        x->ended |= is_repeat_of(x, &m->resize_ended);
    }
    out_add(&c->out, OUT_RESIZE_ENDED)->resize_ended.end = m->resize_ended;
    m->resize_ended = (struct msg_resize_ended){0}; /* taken */
}

const struct routed_handler resize_handlers[] = {
    {MSG_RESIZE_ANSWER, take_answer},
    {MSG_RESIZE_ENDED, take_ended},
    {0},
};
