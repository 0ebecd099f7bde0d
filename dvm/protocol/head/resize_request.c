/* SPDX-License-Identifier: BSD-3-Clause */
/* Campaigns that applications and tools ask for (PMIx_Allocation_request): which daemons are meant,
 * the answer, and one word to the asker at the end. */
#include "base/log/log.h"
#include "dvm/protocol/head/head_private.h"
#include "dvm/protocol/wire/mutant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct request { /* one that is being looked at; borrows */
    uint32_t from;
    const struct msg *m;
    enum alloc_kind kind;
    size_t n;
    uint32_t *vpids; /* owned */
};

void asker_free(struct asker *a)
{
    free(a->nspace);
    free(a->req_id);
    free(a->of);
    free(a->vpids);
    *a = (struct asker){0};
}

/* --- the answer */

static void answer(struct head *l, const struct request *r, enum alloc_status status,
                   const struct campaign *c, const char *why)
{
    struct msg m = {.type = MSG_ALLOC_ANSWER,
                    .op = r->m->op,
                    .number = status,
                    .number2 = c ? (int64_t)c->phase : 0,
                    .text = c ? c->id : "",
                    .text2 = (char *)why};
    struct err err = {0};

    out_log(l->out, LOG_LEVEL_INFO, "request of job %s rank %u at vpid %u: %s%s", r->m->nspace,
            r->m->rank, r->from, c ? c->id : "refused: ", c ? "" : why);
    if (rml_send(l->rml, r->from, CLASS_CONTROL, &m, &err) < 0)
        out_log(l->out, LOG_LEVEL_INFO, "%s", err.msg);
}

static const struct {
    const char *reason;
    enum alloc_status status;
} statuses[] = {
    {"HeadCannotLeave", ALLOC_NOT_ALLOWED},
    {"UnknownVpid", ALLOC_NOT_FOUND},
    {"NotFound", ALLOC_NOT_FOUND},
    {"GrowRunning", ALLOC_BUSY},
    {"TooManyCampaigns", ALLOC_NO_ROOM},
    {"ShuttingDown", ALLOC_UNREACHABLE},
    {"TooLate", ALLOC_TOO_LATE},
};

static enum alloc_status status_of(const char *reason)
{
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        if (strcmp(statuses[i].reason, reason) == 0)
            return statuses[i].status;
    }
    return ALLOC_BAD;
}

/* The record, again, for whoever asks again. */
static void answer_record(struct head *l, const struct request *r, const struct campaign *c)
{
    bool failed = c->phase == API_PHASE_FAILED || c->phase == API_PHASE_CANCELLED;

    answer(l, r, failed && r->kind != ALLOC_CANCEL ? ALLOC_FAILED : ALLOC_OK, c,
           failed && c->cause ? c->cause : "");
}

/* --- who has asked */

static bool asked_by(const struct campaign *c, const struct msg *m)
{
    return c->asker.nspace && strcmp(c->asker.nspace, m->nspace) == 0 && c->asker.rank == m->rank;
}

/* The allocation that a request names is one that its job has asked for. */
static bool asked_in_job(const struct head *l, const struct msg *m)
{
    const struct campaign *c = campaign_by_id(l, m->text2);

    return c && c->asker.nspace && strcmp(c->asker.nspace, m->nspace) == 0;
}

static struct campaign *by_own_id(const struct head *l, const struct msg *m)
{
    struct campaign *c;

    DL_FOREACH(l->campaigns, c)
    {
        if (*m->text && asked_by(c, m) && strcmp(c->asker.req_id, m->text) == 0)
            return c;
    }
    return NULL;
}

static bool same_ask(const struct campaign *c, const struct msg *m)
{
    const struct asker *a = &c->asker;

    return a->kind == (enum alloc_kind)m->number && a->deadline_s == m->number2 &&
           a->count == m->client && strcmp(a->of, m->text2) == 0 && a->nvpids == m->nvpids &&
           (m->nvpids == 0 || memcmp(a->vpids, m->vpids, m->nvpids * sizeof *m->vpids) == 0);
}

static struct asker asker_of(const struct head *l, const struct request *r)
{
    const struct member *x = members_get(l->members, r->from);
    struct asker a = {.daemon = {r->from, members_epoch(l->members, x)},
                      .nspace = xstrdup(r->m->nspace),
                      .rank = r->m->rank,
                      .is_rank = head_job_find(l, r->m->nspace) != NULL,
                      .req_id = xstrdup(r->m->text),
                      .of = xstrdup(r->m->text2),
                      .kind = r->kind,
                      .deadline_s = r->m->number2,
                      .count = r->m->client,
                      .nvpids = r->m->nvpids};

    a.vpids = xcalloc(a.nvpids + 1, sizeof *a.vpids);
    memcpy(a.vpids, r->m->vpids, a.nvpids * sizeof *a.vpids);
    return a;
}

static bool still_there(const struct head *l, const struct asker *a)
{
    const struct job *j = head_job_find(l, a->nspace);

    if (!members_current(l->members, a->daemon.vpid, a->daemon.epoch))
        return false;
    return !a->is_rank ||
           (j && j->mapped && a->rank < j->map.nranks && j->rank_state[a->rank] < PROC_TERMINATED);
}

/* --- which daemons */

/* Above all that are there or on their way. */
static void next_free(const struct head *l, struct request *r, uint32_t count)
{
    r->vpids = xcalloc(count, sizeof *r->vpids);
    for (r->n = 0; r->n < count; r->n++)
        r->vpids[r->n] = l->bound + 1 + (uint32_t)r->n;
}

static bool may_go(const struct head *l, uint32_t vpid)
{
    const struct member *m = members_get(l->members, vpid);

    return m && (m->state == MEMBER_WIRED || m->state == MEMBER_REPORTED) &&
           !grow_atomic_claims(l, vpid);
}

/* The highest ones that are there, and with them the vpids above, which could come. */
static void highest(const struct head *l, struct request *r, uint32_t count)
{
    uint32_t top = bound_now(l, true);
    uint32_t first = l->members->n;
    uint32_t found = 0;

    while (first > 1 && found < count)
        found += may_go(l, --first);
    for (uint32_t v = l->members->n - 1; v > top && v >= first; v--)
        top = may_go(l, v) ? v : top;
    if (found < count)
        return;
    r->vpids = xcalloc((size_t)top - first + 1, sizeof *r->vpids);
    for (uint32_t v = first; v <= top; v++)
        r->vpids[r->n++] = v;
}

static void these(struct request *r, const uint32_t *vpids, size_t n)
{
    r->n = n;
    r->vpids = xcalloc(n + 1, sizeof *r->vpids);
    if (n)
        memcpy(r->vpids, vpids, n * sizeof *vpids);
}

static void choose(const struct head *l, struct request *r)
{
    const struct msg *m = r->m;
    const struct campaign *of = *m->text2 ? campaign_by_id(l, m->text2) : NULL;

    if (m->client && r->kind == ALLOC_EXTEND && m->client <= VPID_MAX - l->bound)
        next_free(l, r, m->client);
    else if (m->client && r->kind != ALLOC_EXTEND)
        highest(l, r, m->client);
    else if (m->nvpids)
        these(r, m->vpids, m->nvpids);
    else if (of && r->kind != ALLOC_EXTEND) /* what an extension has brought */
        these(r, of->req.targets, of->req.ntargets);
}

static bool known(const struct head *l, uint32_t vpid)
{
    const struct member *m = members_get(l->members, vpid);

    return vpid <= (l->size > l->bound ? l->size : l->bound) || (m && m->state != MEMBER_ABSENT);
}

static bool named(const struct request *r, uint32_t vpid)
{
    for (size_t i = 0; i < r->n; i++) {
        if (r->vpids[i] == vpid)
            return true;
    }
    return false;
}

static bool releases(const struct request *r)
{
    return r->kind == ALLOC_RELEASE || r->kind == ALLOC_RELEASE_KILL;
}

/* The lowest, or highest, vpid that is asked for. */
static uint32_t edge(const struct request *r, bool high)
{
    uint32_t v = r->vpids[0];

    for (size_t i = 1; i < r->n; i++) {
        if ((r->vpids[i] > v) == high)
            v = r->vpids[i];
    }
    return v;
}

/* What the size message lets applications do. */
static const char *beyond_limits(const struct head *l, const struct request *r,
                                 enum alloc_status *status)
{
    *status = ALLOC_NO_ROOM;
    if (l->limits.set && r->kind == ALLOC_EXTEND && edge(r, true) > l->limits.max)
        return "the DVM may not have so many members";
    *status = ALLOC_NOT_ALLOWED;
    if (l->limits.set && releases(r) && edge(r, false) <= l->limits.min)
        return "the DVM may not have so few members";
    return NULL;
}

/* What the rules for everybody (campaign_admit) do not say. NULL: nothing is wrong. */
static const char *wrong(const struct head *l, const struct request *r, enum alloc_status *status)
{
    const struct member *x = members_get(l->members, r->from);

    *status = ALLOC_BAD;
    if (!*r->m->nspace || strlen(r->m->nspace) > API_NAME_MAX)
        return "who asks has no name";
    if (strlen(r->m->text) > API_ID_MAX)
        return "the asker's own id is too long";
    if (!x || !members_live(l->members, r->from))
        return "the asker's daemon is no member";
    if (r->kind != ALLOC_CANCEL && !r->m->client && !r->n && !*r->m->text2)
        return "it says neither how many daemons nor which";
    *status = ALLOC_NOT_FOUND;
    if (r->kind != ALLOC_CANCEL && *r->m->text2 && !asked_in_job(l, r->m))
        return "its job has no such allocation";
    for (size_t i = 0; releases(r) && i < r->n; i++) {
        if (!known(l, r->vpids[i]))
            return "one of the daemons was never part of this DVM";
    }
    *status = ALLOC_NO_ROOM;
    if (r->kind != ALLOC_CANCEL && (r->n == 0 || r->n > API_TARGETS_MAX))
        return "there are not so many daemons";
    *status = ALLOC_BUSY;
    if (releases(r) && r->from != VPID_HEAD && named(r, r->from))
        return "it would release the asker's own daemon";
    return r->n && !MUTANT(BEYOND_LIMITS) ? beyond_limits(l, r, status) : NULL;
}

/* --- what is asked for */

static void resize(struct head *l, const struct request *r)
{
    struct api_campaign_request body = {
        .sequence = l->campaign_sequence,
        .kind = r->kind == ALLOC_EXTEND ? API_KIND_GROW : API_KIND_SHRINK,
        .drain_mode = r->kind == ALLOC_RELEASE_KILL ? API_DRAIN_KILL : API_DRAIN_WAIT,
        .deadline_s = r->m->number2,
        .ntargets = r->n,
        .targets = r->vpids};
    struct asker asker = asker_of(l, r);
    const char *reason = "";
    struct err err = {0};
    char id[64];

    /* Nobody else would ever end it. */
    if (r->kind == ALLOC_EXTEND && body.deadline_s < 0)
        body.deadline_s = HEAD_EXTEND_S;
    snprintf(id, sizeof id, ALLOC_PREFIX "%llu", (unsigned long long)l->next_alloc + 1);
    if (campaign_admit(l, id, &body, true, &asker, &reason, &err) == 0) {
        l->next_alloc++;
        answer(l, r, ALLOC_OK, l->campaigns->prev, "");
    } else {
        answer(l, r, status_of(reason), NULL, err.msg);
    }
    asker_free(&asker);
}

static void cancel(struct head *l, const struct request *r)
{
    struct campaign *c = *r->m->text2 ? campaign_by_id(l, r->m->text2) : by_own_id(l, r->m);
    struct api_campaign record;
    const char *reason = "";
    struct err err = {0};

    if (!c) {
        answer(l, r, ALLOC_NOT_FOUND, NULL, "no such request is known");
    } else if (!c->asker.nspace || strcmp(c->asker.nspace, r->m->nspace) != 0) {
        answer(l, r, ALLOC_NOT_ALLOWED, NULL, "another job, or the operator, has asked for it");
    } else if (head_campaign_cancel(l, c->id, &record, &reason, &err) < 0) {
        answer(l, r, status_of(reason), NULL, err.msg);
    } else {
        api_campaign_free(&record);
        answer_record(l, r, c);
    }
}

/* A tool may have lost its daemon and have attached to another one: the end is told there. */
static void ask_again(struct head *l, const struct request *r, struct campaign *c)
{
    const struct member *x = members_get(l->members, r->from);

    if (!api_phase_terminal(c->phase))
        c->asker.daemon = (struct msg_target){r->from, members_epoch(l->members, x)};
    answer_record(l, r, c);
}

void resize_request_take(struct head *l, uint32_t from, const struct msg *m)
{
    struct request r = {.from = from, .m = m, .kind = (enum alloc_kind)m->number};
    struct campaign *before = r.kind == ALLOC_CANCEL ? NULL : by_own_id(l, m);
    enum alloc_status status;
    const char *why;

    choose(l, &r);
    why = wrong(l, &r, &status);
    if (before && !same_ask(before, m))
        answer(l, &r, ALLOC_EXISTS, NULL, "the asker's own id was used for another request");
    else if (before && members_live(l->members, from) && !MUTANT(PUT_AGAIN_IS_NEW))
        ask_again(l, &r, before);
    else if (why)
        answer(l, &r, status, NULL, why);
    else if (r.kind == ALLOC_CANCEL)
        cancel(l, &r);
    else
        resize(l, &r);
    free(r.vpids);
}

/* --- the end */

static void tell(struct head *l, const struct campaign *c, enum alloc_status status)
{
    struct msg m = {.type = MSG_ALLOC_ENDED,
                    .nspace = c->asker.nspace,
                    .rank = c->asker.rank + (MUTANT(TELL_ANOTHER) ? 1 : 0),
                    .number = status,
                    .text = c->id,
                    .text2 = c->cause ? c->cause : "",
                    .text3 = c->asker.req_id};
    struct err err = {0};

    if (rml_send(l->rml, c->asker.daemon.vpid, CLASS_CONTROL, &m, &err) < 0)
        out_log(l->out, LOG_LEVEL_INFO, "%s", err.msg);
}

/* An asker that has gone is not told, and the record says so; the campaign was not stopped. */
void resize_request_ended(struct head *l, struct campaign *c)
{
    if (!c->asker.nspace)
        return;
    if (!still_there(l, &c->asker) && !MUTANT(TELL_THE_GONE)) {
        c->asker.told = API_TOLD_GONE;
        out_log(l->out, LOG_LEVEL_INFO, "campaign %s: job %s rank %u has gone and is not told",
                c->id, c->asker.nspace, c->asker.rank);
        return;
    }
    c->asker.told = API_TOLD_EVENT;
    if (!MUTANT(ASKER_UNTOLD))
        tell(l, c, c->phase == API_PHASE_COMPLETE ? ALLOC_OK : c->why);
    if (MUTANT(ASKER_TOLD_TWICE))
        tell(l, c, c->phase == API_PHASE_COMPLETE ? ALLOC_OK : c->why);
}
