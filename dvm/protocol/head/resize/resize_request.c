/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of applications and tools for another size (PMIx_Allocation_request).
 *
 * In: RESIZE_ASK of a daemon, for one of its processes: extend, release, cancel; a number of
 * daemons, or a list. Out: RESIZE_ANSWER, once, with the resulting campaign or a reason. The end of
 * the campaign is answered by campaign_end.c.
 *
 * The head chooses the vpids: an extension takes the next above the bound, a release the highest
 * members. Then the request goes through the admission of all campaigns, under an id of the head's
 * own. The size message also limits requests, and a process cannot release its own daemon.
 *
 * A rank asks by the daemon where it runs: a member cannot speak for a job elsewhere. A release may
 * end jobs, at once or at its deadline, on members that an extension of the same owner has brought
 * (asker.c). Any process may have any members drained.
 *
 * The same id of the same asker again is answered from the record, so a tool that has lost its
 * daemon may ask again at another one. A daemon repeats its requests to a new head, by its own
 * numbers: those that have a campaign are answered from the record too. */
#include "dvm/protocol/head/resize/resize_request.h"

#include "base/log/log.h"
#include "dvm/protocol/head/resize/campaign_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct request { /* the request that is being answered; borrows */
    uint32_t from;
    const struct msg_resize_ask *m;
    enum resize_kind kind;
    size_t n;
    uint32_t *vpids; /* owned */
};

static void answer_request(struct campaigns *cs, const struct request *r, enum resize_status status,
                           const struct campaign *c, const char *why)
{
    struct msg m = {.type = MSG_RESIZE_ANSWER,
                    .resize_answer = {.op = r->m->op,
                                      .status = status,
                                      .phase = c ? c->phase : 0,
                                      .campaign = c ? c->id : "",
                                      .why = (char *)why}};
    struct err err = {0};

    out_log(cs->out, LOG_LEVEL_INFO, "request of job %s rank %u at vpid %u: %s%s", r->m->nspace,
            r->m->rank, r->from, c ? c->id : "refused: ", c ? "" : why);
    if (rml_send(cs->rml, r->from, CLASS_CONTROL, &m, &err) < 0)
        out_log(cs->out, LOG_LEVEL_INFO, "%s", err.msg);
}

static enum resize_status status_of(enum api_reason reason)
{
    switch (reason) {
    case API_REASON_HEAD_CANNOT_LEAVE:
        return RESIZE_NOT_ALLOWED;
    case API_REASON_UNKNOWN_VPID:
    case API_REASON_NOT_FOUND:
        return RESIZE_NOT_FOUND;
    case API_REASON_GROW_RUNNING:
        return RESIZE_BUSY;
    case API_REASON_TOO_MANY_CAMPAIGNS:
        return RESIZE_NO_ROOM;
    case API_REASON_SHUTTING_DOWN:
        return RESIZE_UNREACHABLE;
    case API_REASON_TOO_LATE:
        return RESIZE_TOO_LATE;
    default:
        return RESIZE_BAD;
    }
}

/* A request that is repeated is answered from the campaign's record. */
static void answer_record(struct campaigns *cs, const struct request *r, const struct campaign *c)
{
    bool failed = c->phase == API_PHASE_FAILED || c->phase == API_PHASE_CANCELLED;

    answer_request(cs, r, failed && r->kind != RESIZE_CANCEL ? RESIZE_FAILED : RESIZE_OK, c,
                   failed && c->cause ? c->cause : "");
}

static bool asked_by(const struct campaign *c, const struct msg_resize_ask *m)
{
    return c->asker.nspace && strcmp(c->asker.nspace, m->nspace) == 0 && c->asker.rank == m->rank;
}

/* True if the job of this request has asked for the allocation that it names. */
static bool asked_in_job(const struct campaigns *cs, const struct msg_resize_ask *m)
{
    const struct campaign *c = campaign_by_id(cs, m->campaign);

    return c && c->asker.nspace && strcmp(c->asker.nspace, m->nspace) == 0;
}

static const struct campaign *by_own_id(const struct campaigns *cs, const struct msg_resize_ask *m)
{
    const struct campaign *c;

    DL_FOREACH(campaign_table_first(cs->table), c)
    {
        if (*m->req_id && asked_by(c, m) && strcmp(c->asker.req_id, m->req_id) == 0)
            return c;
    }
    return NULL;
}

static bool same_ask(const struct campaign *c, const struct msg_resize_ask *m)
{
    const struct campaign_asker *a = &c->asker;

    return a->kind == m->kind && a->deadline_s == m->deadline_s && a->count == m->count &&
           a->keep == m->keep && strcmp(a->of, m->campaign) == 0 && a->nvpids == m->nvpids &&
           (m->nvpids == 0 || memcmp(a->vpids, m->vpids, m->nvpids * sizeof(*m->vpids)) == 0);
}

static struct campaign_asker asker_of(const struct campaigns *cs, const struct request *r)
{
    const struct member *x = members_get(cs->members, r->from);
    struct campaign_asker a = {.daemon = {r->from, members_epoch(cs->members, x)},
                               .nspace = xstrdup(r->m->nspace),
                               .rank = r->m->rank,
                               .op = r->m->op,
                               .is_rank = jobs_find(cs->jobs, r->m->nspace) != NULL,
                               .req_id = xstrdup(r->m->req_id),
                               .of = xstrdup(r->m->campaign),
                               .kind = r->kind,
                               .deadline_s = r->m->deadline_s,
                               .count = r->m->count,
                               .keep = r->m->keep,
                               .nvpids = r->m->nvpids};

    a.vpids = xcalloc(a.nvpids + 1, sizeof(*a.vpids));
    memcpy(a.vpids, r->m->vpids, a.nvpids * sizeof(*a.vpids));
    return a;
}

/* The next vpids above the size bound. */
static void choose_next_free(const struct campaigns *cs, struct request *r, uint32_t count)
{
    r->vpids = xcalloc(count, sizeof(*r->vpids));
    for (r->n = 0; r->n < count; r->n++)
        r->vpids[r->n] = size_bound_now(cs->bound) + 1 + (uint32_t)r->n;
}

static bool may_go(const struct campaigns *cs, uint32_t vpid)
{
    const struct member *m = members_get(cs->members, vpid);

    return m && (m->state == MEMBER_WIRED || m->state == MEMBER_REPORTED) &&
           !campaign_claims(cs, vpid);
}

/* The highest `count` members, and all vpids above them up to the bound, whose daemons could come.
 */
static void choose_highest(const struct campaigns *cs, struct request *r, uint32_t count)
{
    uint32_t top = campaign_bound(cs, true);
    uint32_t first = cs->members->n;
    uint32_t found = 0;

    while (first > 1 && found < count)
        found += may_go(cs, --first);
    for (uint32_t v = cs->members->n - 1; v > top && v >= first; v--)
        top = may_go(cs, v) ? v : top;
    if (found < count)
        return;
    r->vpids = xcalloc((size_t)top - first + 1, sizeof(*r->vpids));
    for (uint32_t v = first; v <= top; v++)
        r->vpids[r->n++] = v;
}

static void choose_these(struct request *r, const uint32_t *vpids, size_t n)
{
    r->n = n;
    r->vpids = xcalloc(n + 1, sizeof(*r->vpids));
    if (n)
        memcpy(r->vpids, vpids, n * sizeof(*vpids));
}

static void choose_daemons(const struct campaigns *cs, struct request *r)
{
    const struct msg_resize_ask *m = r->m;
    const struct campaign *of = *m->campaign ? campaign_by_id(cs, m->campaign) : NULL;

    if (m->count && r->kind == RESIZE_EXTEND &&
        vpid_allowed((uint64_t)m->count + size_bound_now(cs->bound)))
        choose_next_free(cs, r, m->count);
    else if (m->count && r->kind != RESIZE_EXTEND)
        choose_highest(cs, r, m->count);
    else if (m->nvpids)
        choose_these(r, m->vpids, m->nvpids);
    else if (of && r->kind != RESIZE_EXTEND) /* targets of an extension */
        choose_these(r, of->req.targets, of->req.ntargets);
}

static bool is_known(const struct campaigns *cs, uint32_t vpid)
{
    const struct member *m = members_get(cs->members, vpid);

    return vpid <= size_bound_known(cs->bound) || (m && m->state != MEMBER_ABSENT);
}

static bool names_vpid(const struct request *r, uint32_t vpid)
{
    for (size_t i = 0; i < r->n; i++) {
        if (r->vpids[i] == vpid)
            return true;
    }
    return false;
}

static bool is_release(const struct request *r)
{
    return r->kind == RESIZE_RELEASE || r->kind == RESIZE_RELEASE_KILL;
}

/* At once, or when its time has passed. */
static bool may_end_jobs(const struct request *r)
{
    return r->kind == RESIZE_RELEASE_KILL || (r->kind == RESIZE_RELEASE && r->m->deadline_s >= 0);
}

/* All members that would leave have come by extensions of the requester. */
static bool owns_members(const struct campaigns *cs, const struct request *r)
{
    for (size_t i = 0; i < r->n; i++) {
        if (members_live(cs->members, r->vpids[i]) &&
            !asker_owns(cs, r->from, r->m->nspace, r->vpids[i]))
            return false;
    }
    return true;
}

/* The lowest, or highest, vpid of the request. */
static uint32_t extreme_vpid(const struct request *r, bool high)
{
    uint32_t v = r->vpids[0];

    for (size_t i = 1; i < r->n; i++) {
        if ((r->vpids[i] > v) == high)
            v = r->vpids[i];
    }
    return v;
}

/* The reason why the size message does not allow it; NULL: it does. */
static const char *beyond_limits(const struct campaigns *cs, const struct request *r,
                                 enum resize_status *status)
{
    *status = RESIZE_NO_ROOM;
    if (size_bound_limits(cs->bound)->set && r->kind == RESIZE_EXTEND &&
        extreme_vpid(r, true) > size_bound_limits(cs->bound)->max)
        return "the DVM may not have so many members";
    *status = RESIZE_NOT_ALLOWED;
    if (size_bound_limits(cs->bound)->set && is_release(r) &&
        extreme_vpid(r, false) <= size_bound_limits(cs->bound)->min)
        return "the DVM may not have so few members";
    return NULL;
}

/* The reason why an application's request is refused before campaign_admit() checks it; NULL: it
 * is not refused. */
static const char *check_request(const struct campaigns *cs, const struct request *r,
                                 enum resize_status *status)
{
    const struct member *x = members_get(cs->members, r->from);

    *status = RESIZE_BAD;
    if (!*r->m->nspace || strlen(r->m->nspace) > API_NAME_MAX)
        return "the requester has no name";
    if (strlen(r->m->req_id) > API_ID_MAX)
        return "the requester's own id is too long";
    if (!x || !members_live(cs->members, r->from))
        return "the requester's daemon is no member";
    if (r->kind != RESIZE_CANCEL && !r->m->count && !r->n && !*r->m->campaign)
        return "it names neither a number of daemons nor a list";
    *status = RESIZE_NOT_FOUND;
    if (r->kind != RESIZE_CANCEL && *r->m->campaign && !asked_in_job(cs, r->m))
        return "its job has no such allocation";
    for (size_t i = 0; is_release(r) && i < r->n; i++) {
        if (!is_known(cs, r->vpids[i]))
            return "one of the daemons was never part of this DVM";
    }
    *status = RESIZE_NO_ROOM;
    if (r->kind != RESIZE_CANCEL && (r->n == 0 || r->n > API_TARGETS_MAX))
        return "the DVM does not have that many daemons";
    *status = RESIZE_BUSY;
    if (is_release(r) && r->from != VPID_HEAD && names_vpid(r, r->from))
        return "it would release the requester's own daemon";
    *status = RESIZE_NOT_ALLOWED;
    if (may_end_jobs(r) && !owns_members(cs, r))
        return "jobs may be ended on members of the requester's own extensions only";
    return r->n ? beyond_limits(cs, r, status) : NULL;
}

static void ask_resize(struct campaigns *cs, const struct request *r)
{
    struct api_campaign_request body = {
        .sequence = campaign_table_sequence(cs->table),
        .kind = r->kind == RESIZE_EXTEND ? API_KIND_GROW : API_KIND_SHRINK,
        .drain_mode = r->kind == RESIZE_RELEASE_KILL ? API_DRAIN_KILL : API_DRAIN_WAIT,
        .deadline_s = r->m->deadline_s,
        .ntargets = r->n,
        .targets = r->vpids};
    struct campaign_asker asker = asker_of(cs, r);
    enum api_reason reason = API_REASON_NONE;
    struct err err = {0};
    char id[64];

    /* An extension without a deadline would not end if its daemons never come. */
    if (r->kind == RESIZE_EXTEND && body.deadline_s < 0)
        body.deadline_s = RESIZE_EXTEND_S;
    snprintf(id, sizeof(id), CAMPAIGN_REQUEST_PREFIX "%llu",
             (unsigned long long)campaign_table_requests(cs->table) + 1);
    if (campaign_admit(cs, id, &body, true, &asker, &reason, &err) == 0)
        answer_request(cs, r, RESIZE_OK, campaign_table_last(cs->table), "");
    else
        answer_request(cs, r, status_of(reason), NULL, err.msg);
    asker_free(&asker);
}

static void cancel_request(struct campaigns *cs, const struct request *r)
{
    const struct campaign *c =
        *r->m->campaign ? campaign_by_id(cs, r->m->campaign) : by_own_id(cs, r->m);
    struct api_campaign record;
    enum api_reason reason = API_REASON_NONE;
    struct err err = {0};

    if (!c) {
        answer_request(cs, r, RESIZE_NOT_FOUND, NULL, "no such request is known");
    } else if (!c->asker.nspace || strcmp(c->asker.nspace, r->m->nspace) != 0) {
        answer_request(cs, r, RESIZE_NOT_ALLOWED, NULL,
                       "another job, or the operator, has asked for it");
    } else if (campaign_cancel(cs, c->id, &record, &reason, &err) < 0) {
        answer_request(cs, r, status_of(reason), NULL, err.msg);
    } else {
        api_campaign_free(&record);
        answer_record(cs, r, c);
    }
}

/* A tool that has attached to another daemon is answered there when the campaign ends. */
static void ask_again(struct campaigns *cs, const struct request *r, const struct campaign *c)
{
    const struct member *x = members_get(cs->members, r->from);

    if (!api_phase_terminal(c->phase))
        campaign_note_asker(cs, c, (struct msg_target){r->from, members_epoch(cs->members, x)},
                            r->m->op);
    answer_record(cs, r, c);
}

/* The campaign of a request that its daemon repeats to a new head; NULL: it has none. */
static const struct campaign *by_number(const struct campaigns *cs, uint32_t from,
                                        const struct msg_resize_ask *m)
{
    const struct campaign *c;

    DL_FOREACH(campaign_table_first(cs->table), c)
    {
        const struct campaign_asker *a = &c->asker;

        if (asked_by(c, m) && a->daemon.vpid == from &&
            members_current(cs->members, from, a->daemon.epoch) &&
            (*m->req_id ? m->op <= a->op && strcmp(a->req_id, m->req_id) == 0 : m->op == a->op))
            return c;
    }
    return NULL;
}

/* The answer and the end may be lost with the former head. The daemon drops what it has had. */
static void answer_anew(struct campaigns *cs, const struct request *r, const struct campaign *c)
{
    enum api_phase first = c->req.kind == API_KIND_GROW ? API_PHASE_GATHERING : API_PHASE_DRAINING;
    struct msg m = {.type = MSG_RESIZE_ANSWER,
                    .resize_answer = {.op = r->m->op,
                                      .status = RESIZE_OK,
                                      .phase = c->asker.told == API_TOLD_EVENT ? first : c->phase,
                                      .campaign = c->id,
                                      .why = (char *)""}};
    struct err err = {0};

    if (rml_send(cs->rml, r->from, CLASS_CONTROL, &m, &err) < 0)
        out_log(cs->out, LOG_LEVEL_INFO, "%s", err.msg);
    else if (c->asker.told == API_TOLD_EVENT)
        asker_answer_end(cs, c);
}

void resize_request_take(struct campaigns *cs, uint32_t from, const struct msg_resize_ask *m)
{
    struct request r = {.from = from, .m = m, .kind = m->kind};
    const struct campaign *before = r.kind == RESIZE_CANCEL ? NULL : by_own_id(cs, m);
    const struct campaign *own = r.kind == RESIZE_CANCEL ? NULL : by_number(cs, from, m);
    enum resize_status status;
    const char *why;

    if (own && same_ask(own, m)) {
        answer_anew(cs, &r, own);
        return;
    }
    why = asker_refusal(cs, from, m->nspace, m->rank);
    if (why) {
        answer_request(cs, &r, RESIZE_NOT_ALLOWED, NULL, why);
        return;
    }
    choose_daemons(cs, &r);
    why = check_request(cs, &r, &status);
    if (before && !same_ask(before, m))
        answer_request(cs, &r, RESIZE_EXISTS, NULL,
                       "the requester's own id was used for another request");
    else if (before && members_live(cs->members, from))
        ask_again(cs, &r, before);
    else if (why)
        answer_request(cs, &r, status, NULL, why);
    else if (r.kind == RESIZE_CANCEL)
        cancel_request(cs, &r);
    else
        ask_resize(cs, &r);
    free(r.vpids);
}
