/* SPDX-License-Identifier: BSD-3-Clause */
/* The connection to one head, and its view.
 *
 * Input: events and link changes of the client (operator/dvm), and the answers to the operator's
 * requests. Output: a struct plan_head for the plan, and on_change when a plan may come out
 * differently.
 *
 * States: up with a view; up without one (it is being read); not up for less than
 * HEADLINK_PATIENCE_MS (connecting); down.
 *
 * Invariants: the view is that of the present incarnation; it is missing while the stream is down.
 * The head sends its view when the stream begins. An event with a campaign changes the view at
 * once; after any event the view is read again, once for a burst of events.
 *
 * Failures: a view that cannot be read is asked for again with back-off (DVM_BACKOFF), or
 * when an event comes. A broken stream is reported as down only after the patience has passed, so a
 * short break changes no condition. */
#include "operator/reconcile/headlink.h"

#include "base/backoff/backoff.h"
#include "base/buf/buf.h"
#include "base/log/log.h"
#include "base/span/span.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VIEW_NOT_READ "the head's view is not read"

struct headlink {
    struct loop *loop;
    struct dvm_client *client;
    struct loop_timer *reread; /* reads the view when it is due */
    struct loop_timer *patience;
    struct view *view;
    char *host;
    bool up;
    bool impatient; /* the patience has passed since the stream broke */
    bool reading;
    unsigned failures; /* to read the view, consecutive */
    enum headlink_jobs jobs;
    uint64_t busy_ms;      /* the last sign of a running job, by the loop's clock */
    bool dirty;            /* an event arrived since the reading began */
    int64_t down_since_ms; /* wall clock */
    uint64_t broken_ms;    /* the same by the loop's clock */
    char why[ERR_MSG_MAX];
    void (*on_change)(void *arg);
    void (*on_event)(const struct api_event *event, void *arg);
    void (*on_warning)(const char *what, const char *why, void *arg);
    void *arg;
};

void headlink_view_release(struct view *v)
{
    if (!v || --v->refs > 0)
        return;
    api_dvm_free(&v->dvm);
    free(v);
}

static void set_view(struct headlink *h, struct view *v)
{
    headlink_view_release(h->view);
    h->view = v;
}

/* Drops the view and starts the patience, which counts from the head's last sign: a head that has
 * been silent for longer is down at once. */
static void start_patience(struct headlink *h)
{
    uint64_t silent_ms = h->client ? dvm_client_silent_ms(h->client) : 0;

    set_view(h, NULL);
    h->impatient = false;
    h->down_since_ms = (int64_t)loop_wall_ms();
    h->broken_ms = loop_now_ms(h->loop);
    loop_timer_arm(h->patience, span_ms(silent_ms, HEADLINK_PATIENCE_MS));
}

static void read_later(struct headlink *h)
{
    loop_timer_arm(h->reread, backoff_pause_ms(&DVM_BACKOFF, h->failures++, backoff_dice()));
}

static int take_view(struct headlink *h, const json_t *body, struct err *err)
{
    struct view *v = xcalloc(1, sizeof(*v));

    if (api_dvm_decode(body, &v->dvm, err)) {
        free(v);
        return -1;
    }
    v->refs = 1;
    h->failures = 0;
    if (h->up) {
        set_view(h, v);
        loop_timer_disarm(h->patience);
    } else {
        headlink_view_release(v);
    }
    return 0;
}

static void on_answer(int status, const json_t *body, const struct err *err, void *arg)
{
    struct headlink *h = arg;
    struct err why = {0};

    h->reading = false;
    if (status != 200 || take_view(h, body, &why)) {
        h->on_warning(VIEW_NOT_READ, status == 200 ? why.msg : err->msg, h->arg);
        if (h->up)
            read_later(h);
        return;
    }
    if (h->dirty && h->up)
        loop_timer_arm(h->reread, HEADLINK_GATHER_MS);
    h->on_change(h->arg);
}

/* The stream has sent it, before all events that the link has not seen. */
static void on_view(const json_t *dvm, void *arg)
{
    struct headlink *h = arg;
    struct err why = {0};

    if (take_view(h, dvm, &why)) {
        h->on_warning(VIEW_NOT_READ, why.msg, h->arg);
        return;
    }
    loop_timer_disarm(h->reread);
    h->on_change(h->arg);
}

static void read_now(void *arg)
{
    struct headlink *h = arg;
    struct err err = {0};

    if (!h->up)
        return;
    if (h->reading) {
        h->dirty = true;
        return;
    }
    h->dirty = false;
    if (dvm_client_get_dvm(h->client, on_answer, h, &err)) {
        h->on_warning(VIEW_NOT_READ, err.msg, h->arg);
        read_later(h);
        return;
    }
    h->reading = true;
}

void headlink_reread(struct headlink *h)
{
    h->dirty = h->reading;
    if (!h->reading)
        loop_timer_arm(h->reread, 0);
}

/* The head changes the bound of members by itself: targets of a shrink may not join again, unless
 * it keeps the size. Targets of a grow may join, and may not any more if it fails. */
static void move_bound(struct api_dvm *d, const struct api_campaign *c)
{
    uint32_t first = c->targets[0], last = c->targets[c->ntargets - 1];
    bool back = c->phase == API_PHASE_CANCELLED || c->phase == API_PHASE_ROLLING_BACK ||
                c->phase == API_PHASE_FAILED;

    if (c->kind == API_KIND_SHRINK && !c->keeps_size && !back && d->size_members >= first)
        d->size_members = first - 1;
    if (c->kind == API_KIND_GROW && !api_phase_terminal(c->phase) && !back &&
        d->size_members < last)
        d->size_members = last;
    if (c->kind == API_KIND_GROW && back && d->size_members == last)
        d->size_members = first - 1;
}

static bool is_target(const struct api_campaign *c, uint32_t vpid)
{
    for (size_t i = 0; i < c->ntargets; i++) {
        if (c->targets[i] == vpid)
            return true;
    }
    return false;
}

/* The targets of a shrink that runs or is complete are no members for jobs. The view, which is read
 * after each event, has the rest. */
static void mark_targets(struct api_dvm *d, const struct api_campaign *c)
{
    bool over = c->phase == API_PHASE_COMPLETE;

    if (c->kind != API_KIND_SHRINK || c->phase == API_PHASE_CANCELLED)
        return;
    for (size_t i = 0; i < d->nmembers; i++) {
        struct api_dvm_member *m = &d->members[i];

        if ((m->state == MEMBER_WIRED || (over && m->state == MEMBER_DRAINING)) &&
            is_target(c, m->vpid))
            m->state = over ? MEMBER_PARKED : MEMBER_DRAINING;
    }
}

static void put_campaign(struct view *v, struct api_campaign *c)
{
    struct api_dvm *d = &v->dvm;

    if (c->ntargets)
        move_bound(d, c);
    mark_targets(d, c);
    for (size_t i = 0; i < d->ncampaigns; i++) {
        if (strcmp(d->campaigns[i].id, c->id) != 0)
            continue;
        api_campaign_free(&d->campaigns[i]);
        d->campaigns[i] = *c;
        return;
    }
    d->campaigns = xrealloc(d->campaigns, (d->ncampaigns + 1) * sizeof(*d->campaigns));
    d->campaigns[d->ncampaigns++] = *c;
}

int headlink_note_campaign(struct headlink *h, const json_t *body, struct err *err)
{
    struct api_campaign c;

    if (api_campaign_decode(body, &c, err))
        return err_wrap(err, "the head's answer");
    if (h->view)
        put_campaign(h->view, &c);
    else
        api_campaign_free(&c);
    return 0;
}

int headlink_note_size(struct headlink *h, const json_t *body, struct api_size *out,
                       struct err *err)
{
    if (api_size_decode(body, out, err))
        return err_wrap(err, "the head's answer");
    if (h->view) {
        h->view->dvm.size_members = out->members;
        h->view->dvm.size_sequence = out->sequence;
        h->view->dvm.size_limits = out->limits;
    }
    return 0;
}

/* The event has the campaign's change. For changes of members the view is read, once for a burst of
 * events. */
static void on_event(const struct api_event *e, void *arg)
{
    struct headlink *h = arg;

    if (h->on_event)
        h->on_event(e, h->arg);
    if (h->view && strcmp(h->view->dvm.incarnation, e->incarnation) != 0)
        start_patience(h);
    if (e->has_campaign && h->view) {
        struct err err = {0};
        json_t *copy = api_campaign_encode(&e->campaign);

        if (headlink_note_campaign(h, copy, &err))
            h->on_warning("the head's event is malformed", err.msg, h->arg);
        json_decref(copy);
        h->on_change(h->arg);
    }
    if (h->reading)
        h->dirty = true;
    else
        loop_timer_arm(h->reread, HEADLINK_GATHER_MS);
}

/* Many short jobs are one time of work, so that the budget of the head's pod does not change with
 * each of them. */
static void on_beat(uint32_t bound_jobs, void *arg)
{
    struct headlink *h = arg;
    enum headlink_jobs before = h->jobs;
    uint64_t now_ms = loop_now_ms(h->loop);

    if (bound_jobs) {
        h->jobs = HEADLINK_JOBS_RUN;
        h->busy_ms = now_ms;
    } else if (h->jobs != HEADLINK_JOBS_RUN || span_ms(h->busy_ms, now_ms) >= HEADLINK_CALM_MS) {
        h->jobs = HEADLINK_JOBS_NONE;
    }
    if (h->jobs != before)
        h->on_change(h->arg);
}

enum headlink_jobs headlink_jobs(const struct headlink *h)
{
    return h ? h->jobs : HEADLINK_JOBS_UNKNOWN;
}

static void on_link(bool up, const char *why, void *arg)
{
    struct headlink *h = arg;

    if (up) {
        log_info("connected to the head head=%s", h->host);
        h->up = true;
        h->dirty = h->reading;
        loop_timer_arm(h->reread, HEADLINK_VIEW_MS);
        return;
    }
    if (!h->up) { /* a further attempt failed; the head is down since the first */
        snprintf(h->why, sizeof(h->why), "%s", why ? why : "");
        return;
    }
    h->on_warning("no connection to the head", why ? why : "", h->arg);
    h->up = false;
    h->jobs = HEADLINK_JOBS_UNKNOWN;
    snprintf(h->why, sizeof(h->why), "%s", why ? why : "");
    loop_timer_disarm(h->reread);
    start_patience(h);
    h->on_change(h->arg);
}

static void on_patience_over(void *arg)
{
    struct headlink *h = arg;

    h->impatient = true;
    h->on_change(h->arg);
}

struct headlink *headlink_create(struct loop *loop, const struct headlink_opts *o, struct err *err)
{
    struct headlink *h = xcalloc(1, sizeof(*h));

    h->loop = loop;
    h->host = xstrdup(o->host);
    h->on_change = o->on_change;
    h->on_event = o->on_event;
    h->on_warning = o->on_warning;
    h->arg = o->arg;
    h->reread = loop_timer_create(loop, read_now, h);
    h->patience = loop_timer_create(loop, on_patience_over, h);
    start_patience(h);
    struct dvm_client_opts d = {.host = o->host,
                                .connect = o->connect,
                                .port = API_PORT_CONTROL,
                                .ca_pem = o->ca_pem,
                                .cert_pem = o->cert_pem,
                                .key_pem = o->key_pem,
                                .http = o->http,
                                .gate = o->gate,
                                .on_event = on_event,
                                .on_beat = on_beat,
                                .on_view = on_view,
                                .on_link = on_link,
                                .arg = h};
    h->client = dvm_client_create(loop, &d, err);
    if (h->client)
        return h;
    headlink_destroy(h);
    return NULL;
}

void headlink_destroy(struct headlink *h)
{
    if (!h)
        return;
    dvm_client_destroy(h->client);
    loop_timer_destroy(h->reread);
    loop_timer_destroy(h->patience);
    set_view(h, NULL);
    free(h->host);
    free(h);
}

void headlink_look(struct headlink *h, struct plan_head *out, struct view **view)
{
    bool ready = h->up && h->view;

    *view = NULL;
    *out =
        (struct plan_head){.link = ready          ? PLAN_LINK_UP
                                   : h->impatient ? PLAN_LINK_DOWN
                                                  : PLAN_LINK_CONNECTING,
                           .down_since_ms = ready ? 0 : h->down_since_ms,
                           .down_for_ms = ready ? 0 : span_ms(h->broken_ms, loop_now_ms(h->loop)),
                           .contact_ms = dvm_client_heard_wall_ms(h->client),
                           .why = h->why};
    if (!ready)
        return;
    h->view->refs++;
    *view = h->view;
    out->view = &h->view->dvm;
}

struct dvm_client *headlink_client(struct headlink *h)
{
    return h->client;
}
