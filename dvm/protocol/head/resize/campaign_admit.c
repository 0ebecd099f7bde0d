/* SPDX-License-Identifier: BSD-3-Clause */
/* Admission of campaigns, and the verbs of the control API.
 *
 * In: a request of the operator, of an application's process, or of daemons that leave. Out: a new
 * campaign that drains or gathers, or a reason.
 *
 * A request is checked as a whole: a refused one changes nothing. A requester's sequence may not
 * decrease, and the ids that the head gives itself are refused. A shrink of a requester takes
 * members from the top, since a StatefulSet can only remove its highest pods. Grows that a shrink
 * leaves no room for are cancelled or fail.
 *
 * The same id again with the same content is answered from the record; with another content it
 * is refused. */
#include "dvm/protocol/head/resize/campaign_private.h"
#include "dvm/protocol/head/resize/grow_atomic.h"
#include "dvm/protocol/head/resize/shrink.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <utlist.h>

static bool same_request(const struct api_campaign_request *a, const struct api_campaign_request *b)
{
    return a->kind == b->kind && a->sequence == b->sequence && a->drain_mode == b->drain_mode &&
           a->deadline_s == b->deadline_s && a->keeps_size == b->keeps_size &&
           a->ntargets == b->ntargets &&
           memcmp(a->targets, b->targets, a->ntargets * sizeof(*a->targets)) == 0;
}

static int __attribute__((format(printf, 5, 6)))
reject_request(enum api_reason *reason, enum api_reason why, int status, struct err *err,
               const char *fmt, ...)
{
    char text[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    *reason = why;
    return err_code(err, status, "%s", text);
}

static bool names_vpid(const struct api_campaign_request *r, uint32_t vpid)
{
    for (size_t i = 0; i < r->ntargets; i++) {
        if (r->targets[i] == vpid)
            return true;
    }
    return false;
}

/* The resource manager can only take members from the top. */
static int check_trailing(const struct campaigns *cs, const struct api_campaign_request *r,
                          enum api_reason *reason, struct err *err)
{
    for (uint32_t v = r->targets[0]; v < cs->members->n; v++) {
        const struct member *m = members_get(cs->members, v);

        if (m && (m->state == MEMBER_WIRED || m->state == MEMBER_REPORTED) && !names_vpid(r, v) &&
            !campaign_claims(cs, v)) /* a grow gives way */
            return reject_request(
                reason, API_REASON_NOT_TRAILING, 422, err,
                "vpid %u lies above the first target and is not among the targets", v);
    }
    return 0;
}

static int check_targets(const struct campaigns *cs, const struct api_campaign_request *r,
                         bool from_top, enum api_reason *reason, struct err *err)
{
    uint32_t known = size_bound_known(cs->bound);

    if (r->targets[0] == VPID_HEAD)
        return reject_request(reason, API_REASON_HEAD_CANNOT_LEAVE, 422, err,
                              "vpid 0 is the head's own");
    for (size_t i = 0; i < r->ntargets; i++) {
        uint32_t v = r->targets[i];
        const struct member *m = members_get(cs->members, v);

        if (size_bound_sequence(cs->bound) && v > known && !(m && m->state != MEMBER_ABSENT))
            return reject_request(reason, API_REASON_UNKNOWN_VPID, 422, err,
                                  "vpid %u was never part of this DVM", v);
    }
    return from_top ? check_trailing(cs, r, reason, err) : 0;
}

/* The content of the asker is taken. */
static struct campaign *draft_of(const struct campaigns *cs, const char *id,
                                 const struct api_campaign_request *r, bool asked,
                                 struct campaign_asker *asker)
{
    struct campaign *draft = xcalloc(1, sizeof(*draft));

    draft->id = xstrdup(id);
    draft->req = *r;
    draft->req.ntargets = 0;
    draft->req.targets = NULL;
    draft->has_requester = asked;
    if (asker) {
        draft->asker = *asker;
        *asker = (struct campaign_asker){0};
    }
    draft->phase = r->kind == API_KIND_GROW ? API_PHASE_GATHERING : API_PHASE_DRAINING;
    draft->targets = xcalloc(r->ntargets, sizeof(*draft->targets));
    for (size_t i = 0; i < r->ntargets; i++)
        draft->targets[i].id.vpid = r->targets[i];
    draft->ntargets = r->ntargets;
    draft->size_sequence = size_bound_sequence(cs->bound);
    if (r->deadline_s >= 0)
        draft->deadline_ms = cs->out->now_ms + (uint64_t)r->deadline_s * 1000 + 1;
    draft->accepted_wall = (int64_t)cs->out->wall_ms;
    return draft;
}

static int accept_request(struct campaigns *cs, const char *id,
                          const struct api_campaign_request *r, bool asked,
                          struct campaign_asker *asker, enum api_reason *reason, struct err *err)
{
    bool grow = r->kind == API_KIND_GROW;
    struct campaign *draft = draft_of(cs, id, r, asked, asker);
    char why[API_ID_MAX + 16];
    const struct campaign *c;
    struct err odd = {0};

    snprintf(why, sizeof(why), "the shrink %s", id);
    if (!grow && asked && !r->keeps_size && campaign_is_top(cs, draft))
        grow_atomic_give_way(cs, r->targets[0] - 1, why);
    if (!grow)
        shrink_find_targets(cs, draft);
    c = campaign_accept(cs, draft, &odd);
    record_campaign_free(draft);
    if (!c)
        return reject_request(reason, API_REASON_BAD_REQUEST, 400, err, "%s", odd.msg);
    if (grow)
        grow_atomic_accept(cs, c);
    else
        shrink_accept(cs, c);
    return 0;
}

static bool is_heads_own(const char *id)
{
    return strncmp(id, CAMPAIGN_RELEASE_PREFIX, sizeof(CAMPAIGN_RELEASE_PREFIX) - 1) == 0 ||
           strncmp(id, CAMPAIGN_REQUEST_PREFIX, sizeof(CAMPAIGN_REQUEST_PREFIX) - 1) == 0;
}

static int check_sequence(const struct campaigns *cs, const char *id,
                          const struct api_campaign_request *r, enum api_reason *reason,
                          struct err *err)
{
    if (is_heads_own(id))
        return reject_request(reason, API_REASON_BAD_REQUEST, 400, err,
                              "ids that begin with " CAMPAIGN_RELEASE_PREFIX
                              " or " CAMPAIGN_REQUEST_PREFIX " are the head's own");
    if (r->sequence < campaign_table_sequence(cs->table) && !incarnation_ending(cs->inc))
        return reject_request(reason, API_REASON_SEQUENCE_TOO_OLD, 409, err,
                              "sequence %llu is older than %llu, which has been seen",
                              (unsigned long long)r->sequence,
                              (unsigned long long)campaign_table_sequence(cs->table));
    return 0;
}

int campaign_admit(struct campaigns *cs, const char *id, const struct api_campaign_request *r,
                   bool asked, struct campaign_asker *asker, enum api_reason *reason,
                   struct err *err)
{
    /* The release of an extension waits until it is its turn (campaign_is_top()). */
    bool from_top = asked && !r->keeps_size && !(asker && *asker->of);

    if (asked && !asker && check_sequence(cs, id, r, reason, err) < 0)
        return -1;
    if (incarnation_ending(cs->inc))
        return reject_request(reason, API_REASON_SHUTTING_DOWN, 503, err,
                              "this incarnation of the DVM ends");
    if (r->ntargets == 0)
        return reject_request(reason, API_REASON_BAD_REQUEST, 400, err,
                              "targets: at least one vpid");
    if (vpid_check("targets", r->targets[r->ntargets - 1], err) < 0) { /* they ascend */
        *reason = API_REASON_BAD_REQUEST;
        return -1;
    }
    if (!campaign_table_room(cs->table))
        return reject_request(reason, API_REASON_TOO_MANY_CAMPAIGNS, 503, err,
                              "%zu campaigns are running", campaign_table_count(cs->table));
    if (r->kind == API_KIND_GROW ? grow_atomic_check(cs, r, reason, err) < 0
                                 : check_targets(cs, r, from_top, reason, err) < 0)
        return -1;
    return accept_request(cs, id, r, asked, asker, reason, err);
}

int campaign_put(struct campaigns *cs, const char *id, const struct api_campaign_request *r,
                 struct api_campaign *out, enum api_reason *reason, struct err *err)
{
    const struct campaign *c = campaign_by_id(cs, id);

    if (c && !same_request(&c->req, r))
        return reject_request(reason, API_REASON_ID_REUSED, 409, err,
                              "campaign id %s was used with another body", id);
    if (!c && campaign_admit(cs, id, r, true, NULL, reason, err) < 0)
        return -1;
    campaign_fill(cs, c ? c : campaign_table_last(cs->table), out);
    return 0;
}

int campaign_get(struct campaigns *cs, const char *id, struct api_campaign *out,
                 enum api_reason *reason, struct err *err)
{
    const struct campaign *c = campaign_by_id(cs, id);

    if (!c) {
        *reason = API_REASON_NOT_FOUND;
        return err_code(err, 404, "no campaign %s is known to this incarnation", id);
    }
    campaign_fill(cs, c, out);
    return 0;
}

int campaign_cancel(struct campaigns *cs, const char *id, struct api_campaign *out,
                    enum api_reason *reason, struct err *err)
{
    const struct campaign *c = campaign_by_id(cs, id);

    if (!c)
        return campaign_get(cs, id, out, reason, err);
    if (c->phase == API_PHASE_GATHERING) {
        grow_atomic_cancel(cs, c);
    } else if (c->phase == API_PHASE_DRAINING) {
        shrink_cancel(cs, c);
    } else if (!api_phase_terminal(c->phase)) {
        *reason = API_REASON_TOO_LATE;
        return err_code(err, 409, "campaign %s is %s already", id, api_phase_name(c->phase));
    }
    campaign_fill(cs, c, out);
    return 0;
}
