/* SPDX-License-Identifier: BSD-3-Clause */
/* The head's verbs, as the control API calls them; on any other daemon they are refused. */
#include "dvm/protocol/core/core_private.h"

static int not_head(const struct core *c, enum api_reason *reason, struct err *err)
{
    *reason = API_REASON_NOT_HEAD;
    return err_code(err, 503, "vpid %u is not the head", c->opts.vpid);
}

int core_campaign_put(struct core *c, const char *id, const struct api_campaign_request *r,
                      struct api_campaign *out, enum api_reason *reason, struct err *err)
{
    int rc;

    if (!core_is_head(c))
        return not_head(c, reason, err);
    rc = head_campaign_put(c->head, id, r, out, reason, err);
    core_settle(c);
    return rc;
}

int core_campaign_cancel(struct core *c, const char *id, struct api_campaign *out,
                         enum api_reason *reason, struct err *err)
{
    int rc;

    if (!core_is_head(c))
        return not_head(c, reason, err);
    rc = head_campaign_cancel(c->head, id, out, reason, err);
    core_settle(c);
    return rc;
}

int core_campaign_get(struct core *c, const char *id, struct api_campaign *out,
                      enum api_reason *reason, struct err *err)
{
    return core_is_head(c) ? head_campaign_get(c->head, id, out, reason, err)
                           : not_head(c, reason, err);
}

int core_signal_put(struct core *c, const char *nspace, int signum, enum api_reason *reason,
                    struct err *err)
{
    int rc;

    if (!core_is_head(c))
        return not_head(c, reason, err);
    rc = head_signal_put(c->head, nspace, signum, reason, err);
    core_settle(c);
    return rc;
}

int core_continue_put(struct core *c, const char *nspace, enum api_reason *reason, struct err *err)
{
    int rc;

    if (!core_is_head(c))
        return not_head(c, reason, err);
    rc = head_continue_put(c->head, nspace, reason, err);
    core_settle(c);
    return rc;
}

int core_size_put(struct core *c, const struct api_size *s, struct api_size *out,
                  enum api_reason *reason, struct err *err)
{
    int rc;

    if (!core_is_head(c))
        return not_head(c, reason, err);
    rc = head_size_put(c->head, s, out, reason, err);
    core_settle(c);
    return rc;
}

int core_shutdown(struct core *c, const struct api_shutdown *s, enum api_reason *reason,
                  struct err *err)
{
    if (!core_is_head(c))
        return not_head(c, reason, err);
    head_shutdown(c->head, SHUTDOWN_DVM, s->deadline_s);
    core_settle(c);
    return 0;
}

int core_dvm(struct core *c, struct api_dvm *out, enum api_reason *reason, struct err *err)
{
    if (!core_is_head(c))
        return not_head(c, reason, err);
    head_view(c->head, out);
    return 0;
}

const struct job_launch *core_job_watch(struct core *c, const char *nspace, uint32_t vpid)
{
    return core_is_head(c) ? head_job_watch(c->head, nspace, vpid) : NULL;
}

enum job_control core_job_control(const struct core *c, uint32_t from, const char *asker,
                                  const char *target)
{
    return core_is_head(c) ? head_job_control(c->head, from, asker, target) : JOB_CONTROL_UNKNOWN;
}

void core_job_waits(struct core *c, uint32_t from, const char *nspace, const char *text)
{
    if (!core_is_head(c))
        return;
    head_job_waits(c->head, from, nspace, text);
    core_settle(c);
}

enum store_result core_published_serve(struct core *c, uint32_t from, const struct published_ask *a,
                                       struct buf *answer)
{
    struct published_ask of = *a;
    enum store_result result;

    if (!core_is_head(c) || !members_live(&c->members, from))
        return STORE_BAD;
    of.request.asker.vpid = from;
    of.request.asker.epoch = members_epoch(&c->members, members_get(&c->members, from));
    result = head_published_serve(c->head, &of, answer);
    core_settle(c);
    return result;
}

bool core_head_speaks(const struct core *c, uint8_t n)
{
    return c->head_speaks >= n;
}

void core_daemons_of(const struct core *c, const char *nspace, uint32_t rank, hwloc_bitmap_t to)
{
    if (core_is_head(c))
        head_daemons_of(c->head, nspace, rank, to);
}

const struct job_launch *core_job_ranks(const struct core *c, const char *nspace,
                                        const struct job_rank **ranks)
{
    return core_is_head(c) ? head_job_ranks(c->head, nspace, ranks) : NULL;
}

const struct api_event *core_event(const struct core *c, uint64_t number)
{
    return core_is_head(c) ? head_event(c->head, number) : NULL;
}

uint64_t core_event_next(const struct core *c)
{
    return core_is_head(c) ? head_event_next(c->head) : 0;
}
