/* SPDX-License-Identifier: BSD-3-Clause */
/* A stand-in for the head in tests of the operator: the control API, with faults on request.
 *
 *   fakehead DIR [PORT]
 *   fakehead --many FILE
 *
 * DIR has ca.crt, tls.crt and tls.key; the ports are written to DIR/ports. With --many each line of
 * FILE is "DIR ADDRESS": one head at that address and the port of the control API, without orders;
 * "ready" is printed when all listen. The second, plain port takes the orders of the test:
 *
 *   POST /hold?on=0|1            campaigns stay in phase Draining
 *   POST /advance?phase=P        all running campaigns enter this phase
 *   POST /restart                a new incarnation
 *   POST /away, /back            not reachable, reachable again with the same incarnation
 *   POST /refuse?status=&reason= refuses the next campaign
 *   POST /cap?n=                 at most n members are wired
 *   POST /release?vpid=N         member N leaves by a campaign of its own; /advance ends it
 *   POST /busy?n=N               so many jobs run
 *   POST /join?vpid=N            the daemon of a new pod has this vpid, after a shrink that kept
 * the size POST /lose?vpid=N&cause=TEXT member N is lost, and the job on it ends; until /cap GET
 * /log                     the requests of the operator, in order */
#include "api/dvm.h"
#include "api/event.h"
#include "api/size.h"
#include "base/buf/buf.h"
#include "base/log/log.h"
#include "base/loop/loop.h"
#include "base/tls/tls.h"
#include "operator/test/orders.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STREAMS_MAX 16
#define CAMPAIGNS_MAX 256
#define PARKED_MAX 64
#define BEAT_MS 4000

struct fake;
struct stream_ref { /* a stream, for the callback that reports its end */
    struct fake *f;
    int at;
};

struct fake {
    struct loop *loop;
    struct tls_ctx *tls;
    struct httpd *control, *orders;
    const char *addr;
    uint16_t port;
    struct fake *next; /* --many */
    int lives;
    int asked; /* requested by applications in this incarnation */
    char incarnation[17];
    struct api_size size;
    uint32_t size_members; /* of the last size message */
    uint64_t sequence;     /* highest campaign sequence */
    uint64_t next_event;
    size_t ncampaigns;
    struct api_campaign campaigns[CAMPAIGNS_MAX];
    bool parked[PARKED_MAX]; /* by vpid: it has left by a campaign that keeps the size */
    struct httpd_stream *streams[STREAMS_MAX];
    struct stream_ref refs[STREAMS_MAX];
    json_t *log;
    bool hold, ending;
    int refuse_status;
    char refuse_reason[64];
    long cap; /* -1: none */
    int releases;
    uint32_t lost; /* vpid of the lost member; 0: none */
    struct api_dvm_job job;
};

static void note(struct fake *f, struct httpd_req *req, const char *what)
{
    size_t len = 0;
    const char *body = httpd_body(req, &len);
    json_t *sent = json_loadb(body ? body : "", len, 0, NULL);
    const struct tls_peer *peer = httpd_peer(req);
    const char *id = httpd_param(req, "id");

    json_array_append_new(f->log, json_pack("{s:s, s:s, s:s, s:o}", "what", what, "id",
                                            id ? id : "", "role", peer ? peer->role : "", "body",
                                            sent ? sent : json_null()));
}

static void post_event(struct fake *f, struct api_event *e)
{
    e->number = f->next_event++;
    e->time_ms = (int64_t)loop_wall_ms();
    memcpy(e->incarnation, f->incarnation, sizeof(e->incarnation));
    json_t *o = api_event_encode(e);
    FREE_AUTO char *text = json_dumps(o, JSON_COMPACT);
    FREE_AUTO char *line = xasprintf("%s\n", text);
    json_decref(o);
    for (int i = 0; i < STREAMS_MAX; i++) {
        if (f->streams[i] && httpd_stream_send(f->streams[i], line, strlen(line)))
            log_warn("slow reader");
    }
}

static void send_event(struct fake *f, enum api_event_type type, const struct api_campaign *c)
{
    struct api_event e = {.type = type, .has_campaign = c != NULL};

    if (c)
        e.campaign = *c;
    post_event(f, &e);
}

static void set_phase(struct fake *f, struct api_campaign *c, enum api_phase phase)
{
    static const enum api_event_type types[] = {
        [API_PHASE_DRAINING] = API_EVENT_CAMPAIGN_ACCEPTED,
        [API_PHASE_REMOVING] = API_EVENT_CAMPAIGN_CHANGED,
        [API_PHASE_COMPLETE] = API_EVENT_CAMPAIGN_COMPLETE,
        [API_PHASE_CANCELLED] = API_EVENT_CAMPAIGN_CANCELLED,
        [API_PHASE_GATHERING] = API_EVENT_CAMPAIGN_ACCEPTED,
        [API_PHASE_WIRING] = API_EVENT_CAMPAIGN_CHANGED,
        [API_PHASE_ROLLING_BACK] = API_EVENT_CAMPAIGN_CHANGED,
        [API_PHASE_FAILED] = API_EVENT_CAMPAIGN_FAILED,
    };
    int64_t now = (int64_t)loop_wall_ms();

    c->phase = phase;
    if (phase == API_PHASE_REMOVING || phase == API_PHASE_COMPLETE)
        c->drained_ms = c->fence_ms = c->drained_ms ? c->drained_ms : now;
    if (api_phase_terminal(phase))
        c->complete_ms = now;
    bool back = phase == API_PHASE_CANCELLED || phase == API_PHASE_FAILED;
    for (size_t i = 0; c->keeps_size && phase == API_PHASE_COMPLETE && i < c->ntargets; i++)
        f->parked[c->targets[i] % PARKED_MAX] = true;
    if (back == (c->kind == API_KIND_GROW) && f->size.members >= c->targets[0] && !c->keeps_size)
        f->size.members = c->targets[0] - 1;
    else if (!back && c->kind == API_KIND_GROW)
        f->size.members = c->targets[c->ntargets - 1];
    send_event(f, types[phase], c);
}

static void new_life(struct fake *f)
{
    for (size_t i = 0; i < f->ncampaigns; i++)
        api_campaign_free(&f->campaigns[i]);
    f->ncampaigns = 0;
    memset(f->parked, 0, sizeof(f->parked));
    f->size = (struct api_size){0};
    f->sequence = 0;
    f->asked = 0;
    f->next_event = 1;
    f->ending = false;
    snprintf(f->incarnation, sizeof(f->incarnation), "%08x%08x", (unsigned)loop_wall_ms(),
             (unsigned)++f->lives);
}

static void end_streams(struct fake *f)
{
    for (int i = 0; i < STREAMS_MAX; i++) {
        if (f->streams[i])
            httpd_stream_end(f->streams[i]);
        f->streams[i] = NULL;
    }
}

/* --- control API */

static struct api_campaign *find(struct fake *f, const char *id)
{
    for (size_t i = 0; i < f->ncampaigns; i++) {
        if (strcmp(f->campaigns[i].id, id) == 0)
            return &f->campaigns[i];
    }
    return NULL;
}

static void on_campaign(struct httpd_req *req, void *arg)
{
    struct fake *f = arg;
    struct err err = {0};
    struct api_campaign_request r;
    const char *id = httpd_param(req, "id");

    note(f, req, "PUT campaign");
    if (f->refuse_status) {
        httpd_refuse(req, f->refuse_status, f->refuse_reason, "refused on order");
        f->refuse_status = 0;
        return;
    }
    json_t *body = httpd_body_json(req, &err);
    if (!body || api_campaign_request_decode(body, &r, &err)) {
        httpd_refuse(req, 400, "BadRequest", "%s", err.msg);
        json_decref(body);
        return;
    }
    json_decref(body);
    struct api_campaign *c = find(f, id);
    if (!c && r.sequence < f->sequence) {
        httpd_refuse(req, 409, "SequenceTooOld", "%llu is the last seen",
                     (unsigned long long)f->sequence);
    } else if (!c && r.targets[r.ntargets - 1] > f->size_members &&
               r.targets[r.ntargets - 1] > f->size.members) {
        httpd_refuse(req, 422, "UnknownVpid", "vpid %u was never part of this DVM",
                     r.targets[r.ntargets - 1]);
    } else {
        if (!c) {
            c = &f->campaigns[f->ncampaigns++];
            *c = (struct api_campaign){.id = xstrdup(id),
                                       .sequence = r.sequence,
                                       .keeps_size = r.keeps_size,
                                       .ntargets = r.ntargets,
                                       .targets = r.targets,
                                       .accepted_ms = (int64_t)loop_wall_ms()};
            r.targets = NULL;
            f->sequence = r.sequence;
            set_phase(f, c, f->hold ? API_PHASE_DRAINING : API_PHASE_COMPLETE);
        }
        httpd_reply_json(req, api_phase_terminal(c->phase) ? 200 : 202, api_campaign_encode(c));
    }
    api_campaign_request_free(&r);
}

static void on_cancel(struct httpd_req *req, void *arg)
{
    struct fake *f = arg;

    note(f, req, "PUT cancel");
    struct api_campaign *c = find(f, httpd_param(req, "id"));
    if (!c) {
        httpd_refuse(req, 404, "NotFound", "no such campaign");
        return;
    }
    if (c->phase == API_PHASE_REMOVING) {
        httpd_refuse(req, 409, "TooLate", "it is removing");
        return;
    }
    if (c->phase == API_PHASE_DRAINING)
        set_phase(f, c, API_PHASE_CANCELLED);
    httpd_reply_json(req, 200, api_campaign_encode(c));
}

static void on_size(struct httpd_req *req, void *arg)
{
    struct fake *f = arg;
    struct err err = {0};
    struct api_size s;

    note(f, req, "PUT size");
    json_t *body = httpd_body_json(req, &err);
    if (!body || api_size_decode(body, &s, &err)) {
        httpd_refuse(req, 400, "BadRequest", "%s", err.msg);
    } else if (s.sequence < f->size.sequence || s.sequence < f->sequence) {
        httpd_refuse(req, 409, "SequenceTooOld", "too old");
    } else {
        if (s.sequence > f->size.sequence)
            f->size = s, f->size_members = s.members;
        httpd_reply_json(req, 200, api_size_encode(&f->size));
        send_event(f, API_EVENT_SIZE, NULL);
    }
    json_decref(body);
}

static void on_shutdown(struct httpd_req *req, void *arg)
{
    struct fake *f = arg;

    note(f, req, "PUT shutdown");
    f->ending = true;
    httpd_reply_json(req, 202, json_pack("{s:i}", "deadlineSeconds", 0));
    send_event(f, API_EVENT_SHUTDOWN, NULL);
}

/* True if a campaign that keeps the size drains the member. */
static bool is_draining(const struct fake *f, uint32_t vpid)
{
    for (size_t i = 0; i < f->ncampaigns; i++) {
        const struct api_campaign *c = &f->campaigns[i];

        for (size_t k = 0; c->keeps_size && !api_phase_terminal(c->phase) && k < c->ntargets; k++) {
            if (c->targets[k] == vpid)
                return true;
        }
    }
    return false;
}

/* The members: those that may join, and those that are leaving. */
static size_t fill_members(const struct fake *f, struct api_dvm_member **out)
{
    uint32_t n = f->cap >= 0 && f->size.members > f->cap ? (uint32_t)f->cap : f->size.members;

    for (size_t i = 0; i < f->ncampaigns; i++) {
        const struct api_campaign *c = &f->campaigns[i];
        bool grow = c->kind == API_KIND_GROW;

        if (!api_phase_terminal(c->phase) && !grow && c->targets[c->ntargets - 1] > n)
            n = c->targets[c->ntargets - 1];
        if (!api_phase_terminal(c->phase) && grow && c->targets[0] <= n)
            n = c->targets[0] - 1;
    }
    *out = xcalloc(n + 1, sizeof(**out));
    for (uint32_t i = 0; i < n; i++) {
        struct api_dvm_member *m = &(*out)[i];

        *m = (struct api_dvm_member){.vpid = i + 1,
                                     .epoch = 1,
                                     .host = (char *)"h",
                                     .address = (char *)"a",
                                     .slots = 1,
                                     .depth = 1};
        m->state = i + 1 == f->lost                                ? MEMBER_LOST
                   : f->parked[(i + 1) % PARKED_MAX]               ? MEMBER_PARKED
                   : i < f->size.members && !is_draining(f, i + 1) ? MEMBER_WIRED
                                                                   : MEMBER_DRAINING;
    }
    return n;
}

static json_t *make_view(struct fake *f)
{
    struct api_dvm d = {.cluster = (char *)"t/x",
                        .version = 1,
                        .radix = 64,
                        .size_sequence = f->size.sequence,
                        .size_members = f->size.members,
                        .size_limits = f->size.limits,
                        .next_event = f->next_event,
                        .ncampaigns = f->ncampaigns,
                        .campaigns = f->campaigns,
                        .njobs = f->job.id != NULL,
                        .jobs = &f->job};

    memcpy(d.incarnation, f->incarnation, sizeof(d.incarnation));
    d.nmembers = fill_members(f, &d.members);
    json_t *o = api_dvm_encode(&d);
    free(d.members);
    return o;
}

static void on_dvm(struct httpd_req *req, void *arg)
{
    httpd_reply_json(req, 200, make_view(arg));
}

static void send_view(struct fake *f, struct httpd_stream *s)
{
    json_t *o = json_pack("{s:s, s:o}", "type", API_VIEW, "dvm", make_view(f));
    FREE_AUTO char *text = json_dumps(o, JSON_COMPACT);
    FREE_AUTO char *line = xasprintf("%s\n", text);

    json_decref(o);
    if (httpd_stream_send(s, line, strlen(line)))
        log_warn("slow reader");
}

static void on_stream_closed(void *arg)
{
    struct stream_ref *s = arg;

    s->f->streams[s->at] = NULL;
}

static void on_events(struct httpd_req *req, void *arg)
{
    struct fake *f = arg;
    const char *life = httpd_query(req, "incarnation"), *from = httpd_query(req, "from");

    if ((life && *life && strcmp(life, f->incarnation) != 0) ||
        (from && strtoull(from, NULL, 10) != f->next_event)) {
        httpd_refuse(req, 410, "Gone", "not kept");
        return;
    }
    for (int i = 0; i < STREAMS_MAX; i++) {
        if (f->streams[i])
            continue;
        f->refs[i] = (struct stream_ref){.f = f, .at = i};
        f->streams[i] =
            httpd_stream_begin(req, "application/x-ndjson", on_stream_closed, &f->refs[i]);
        if (httpd_stream_send(f->streams[i], "\n", 1))
            log_warn("slow reader");
        if (httpd_query(req, "view"))
            send_view(f, f->streams[i]);
        return;
    }
    httpd_refuse(req, 503, "Busy", "too many streams");
}

static int open_control(struct fake *f, struct err *err)
{
    struct httpd_opts o = {.addr = f->addr,
                           .port = f->port,
                           .tls = f->tls,
                           .max_body = API_BODY_MAX,
                           .max_conns = 64,
                           .idle_timeout_ms = 600000};

    f->control = httpd_create(f->loop, &o, err);
    if (!f->control)
        return -1;
    f->port = httpd_port(f->control);
    httpd_route(f->control, "PUT", "/v1/campaigns/{id}", on_campaign, f);
    httpd_route(f->control, "PUT", "/v1/campaigns/{id}/cancel", on_cancel, f);
    httpd_route(f->control, "PUT", "/v1/size", on_size, f);
    httpd_route(f->control, "PUT", "/v1/shutdown", on_shutdown, f);
    httpd_route(f->control, "GET", "/v1/dvm", on_dvm, f);
    httpd_route(f->control, "GET", "/v1/events", on_events, f);
    return 0;
}

/* --- orders */

static void on_hold(struct httpd_req *req, void *arg)
{
    struct fake *f = arg;
    const char *on = httpd_query(req, "on");

    f->hold = on && *on == '1';
    orders_done(req);
}

static void on_advance(struct httpd_req *req, void *arg)
{
    struct fake *f = arg;
    const char *name = httpd_query(req, "phase");

    for (int p = 0; p < API_PHASES; p++) {
        for (size_t i = 0; name && strcmp(name, api_phase_name(p)) == 0 && i < f->ncampaigns; i++) {
            if (!api_phase_terminal(f->campaigns[i].phase))
                set_phase(f, &f->campaigns[i], p);
        }
    }
    orders_done(req);
}

static void on_restart(struct httpd_req *req, void *arg)
{
    struct fake *f = arg;

    end_streams(f);
    new_life(f);
    orders_done(req);
}

static void on_away(struct httpd_req *req, void *arg)
{
    struct fake *f = arg;

    end_streams(f);
    httpd_destroy(f->control);
    f->control = NULL;
    orders_done(req);
}

static void on_back(struct httpd_req *req, void *arg)
{
    struct err err = {0};
    struct fake *f = arg;

    if (!f->control && open_control(f, &err))
        httpd_refuse(req, 500, "NotBack", "%s", err.msg);
    else
        orders_done(req);
}

static void on_refuse(struct httpd_req *req, void *arg)
{
    struct fake *f = arg;
    const char *status = httpd_query(req, "status"), *reason = httpd_query(req, "reason");

    f->refuse_status = status ? (int)strtol(status, NULL, 10) : 422;
    snprintf(f->refuse_reason, sizeof(f->refuse_reason), "%s", reason ? reason : "NotTrailing");
    orders_done(req);
}

static void on_cap(struct httpd_req *req, void *arg)
{
    struct fake *f = arg;
    const char *n = httpd_query(req, "n");

    f->cap = n ? strtol(n, NULL, 10) : -1;
    f->lost = 0;
    send_event(f, API_EVENT_SIZE, NULL);
    orders_done(req);
}

/* A campaign of another owner lowers the size. */
static void on_lower(struct httpd_req *req, void *arg)
{
    struct fake *f = arg;
    const char *n = httpd_query(req, "n");

    f->size.members = n ? (uint32_t)strtoul(n, NULL, 10) : 0;
    send_event(f, API_EVENT_SIZE, NULL);
    orders_done(req);
}

/* An application requests this many members more, or fewer. */
static void on_ask(struct httpd_req *req, void *arg)
{
    struct fake *f = arg;
    const char *text = httpd_query(req, "n");
    long n = text ? strtol(text, NULL, 10) : 1;
    uint32_t count = (uint32_t)labs(n), first = f->size.members + 1 - (n < 0 ? count : 0);
    struct api_campaign *c = &f->campaigns[f->ncampaigns++];

    *c = (struct api_campaign){.id = xasprintf("alloc-%d", ++f->asked),
                               .sequence = f->sequence,
                               .kind = n > 0 ? API_KIND_GROW : API_KIND_SHRINK,
                               .ntargets = count,
                               .targets = xcalloc(count, sizeof(*c->targets)),
                               .accepted_ms = (int64_t)loop_wall_ms()};
    c->requester = (struct api_requester){.job = xstrdup("job"), .vpid = 1, .id = xstrdup("")};
    for (uint32_t i = 0; i < count; i++)
        c->targets[i] = first + i;
    set_phase(f, c, n > 0 ? API_PHASE_GATHERING : API_PHASE_DRAINING);
    orders_done(req);
}

/* A member leaves without the operator, as one whose pod ends. Job "held" has a rank there. */
static void on_release(struct httpd_req *req, void *arg)
{
    struct fake *f = arg;
    const char *vpid = httpd_query(req, "vpid");
    struct api_campaign *c = &f->campaigns[f->ncampaigns++];

    *c = (struct api_campaign){.id = xasprintf("release-%d", ++f->releases),
                               .sequence = f->sequence,
                               .keeps_size = true,
                               .ntargets = 1,
                               .targets = xcalloc(1, sizeof(*c->targets)),
                               .nwaiting = 1,
                               .waiting = xcalloc(1, sizeof(*c->waiting)),
                               .accepted_ms = (int64_t)loop_wall_ms()};
    c->targets[0] = vpid ? (uint32_t)strtoul(vpid, NULL, 10) : 1;
    c->waiting[0] = (struct api_job_ref){
        .job = xstrdup("held"), .nranks = 1, .ranks = xcalloc(1, sizeof(uint32_t))};
    c->phase = API_PHASE_DRAINING;
    send_event(f, API_EVENT_CAMPAIGN_ACCEPTED, c);
    orders_done(req);
}

static void on_busy(struct httpd_req *req, void *arg)
{
    struct fake *f = arg;
    const char *n = httpd_query(req, "n");
    FREE_AUTO char *line =
        xasprintf("{\"type\": \"" API_BEAT "\", \"boundJobs\": %s}\n", n ? n : "1");

    for (int i = 0; i < STREAMS_MAX; i++) {
        if (f->streams[i] && httpd_stream_send(f->streams[i], line, strlen(line)))
            log_warn("slow reader");
    }
    orders_done(req);
}

static void on_join(struct httpd_req *req, void *arg)
{
    struct fake *f = arg;
    const char *vpid = httpd_query(req, "vpid");

    f->parked[(vpid ? strtoul(vpid, NULL, 10) : 1) % PARKED_MAX] = false;
    send_event(f, API_EVENT_SIZE, NULL);
    orders_done(req);
}

static void on_lose(struct httpd_req *req, void *arg)
{
    struct fake *f = arg;
    const char *vpid = httpd_query(req, "vpid"), *cause = httpd_query(req, "cause");
    struct api_event e = {
        .type = API_EVENT_DAEMON_LOST, .epoch = 1, .cause = (char *)(cause ? cause : "silent")};

    f->lost = e.vpid = vpid ? (uint32_t)strtoul(vpid, NULL, 10) : 1;
    f->job = (struct api_dvm_job){.id = (char *)"killed-1",
                                  .state = JOB_ABORTED,
                                  .reason = (char *)"1 rank was lost",
                                  .exit_code = API_EXIT_LOST};
    post_event(f, &e);
    orders_done(req);
}

static void on_log(struct httpd_req *req, void *arg)
{
    struct fake *f = arg;

    httpd_reply_json(req, 200,
                     json_pack("{s:s, s:O}", "incarnation", f->incarnation, "log", f->log));
}

static const struct order ORDERS[] = {
    {"POST", "/join", on_join},       {"POST", "/hold", on_hold},
    {"POST", "/advance", on_advance}, {"POST", "/restart", on_restart},
    {"POST", "/away", on_away},       {"POST", "/back", on_back},
    {"POST", "/refuse", on_refuse},   {"POST", "/cap", on_cap},
    {"POST", "/lower", on_lower},     {"POST", "/ask", on_ask},
    {"POST", "/release", on_release}, {"POST", "/lose", on_lose},
    {"POST", "/busy", on_busy},       {"GET", "/log", on_log}};

/* The loop is the caller's. */
static int open_head(struct fake *f, const char *dir, struct err *err)
{
    FREE_AUTO char *ca = xasprintf("%s/ca.crt", dir);
    FREE_AUTO char *cert = xasprintf("%s/tls.crt", dir);
    FREE_AUTO char *key = xasprintf("%s/tls.key", dir);
    struct tls_files files = {.ca = ca, .cert = cert, .key = key};

    f->cap = -1;
    f->log = json_array();
    f->tls = tls_ctx_create(&files, err);
    if (!f->tls)
        return -1;
    new_life(f);
    return open_control(f, err);
}

static void close_head(struct fake *f)
{
    end_streams(f);
    httpd_destroy(f->control);
    httpd_destroy(f->orders);
    new_life(f);
    tls_ctx_destroy(f->tls);
    json_decref(f->log);
}

static void on_signal(int signum, void *arg)
{
    loop_stop(arg);
}

static int run_one(struct loop *loop, const char *dir, uint16_t port, struct err *err)
{
    static struct fake f;

    f.loop = loop;
    f.addr = "127.0.0.1";
    f.port = port;
    int rc = open_head(&f, dir, err);
    if (!rc)
        f.orders = orders_open(loop, ORDERS, sizeof(ORDERS) / sizeof(ORDERS[0]), &f, err);
    rc = !rc && f.orders ? orders_write_ports(f.orders, dir, "CONTROL", f.port, err) : -1;
    if (!rc)
        rc = loop_run(loop, err);
    close_head(&f);
    return rc;
}

/* --- many heads */

struct many {
    struct loop *loop;
    struct loop_timer *beat;
    struct fake *heads;
};

static void send_beats(void *arg)
{
    struct many *m = arg;

    for (struct fake *f = m->heads; f; f = f->next) {
        for (int i = 0; i < STREAMS_MAX; i++) {
            if (f->streams[i] && httpd_stream_send(f->streams[i], "\n", 1))
                log_warn("slow reader");
        }
    }
    loop_timer_arm(m->beat, BEAT_MS);
}

static int open_many(struct many *m, FILE *list, struct err *err)
{
    char dir[512], addr[64];

    while (fscanf(list, "%511s %63s", dir, addr) == 2) {
        struct fake *f = xcalloc(1, sizeof(*f));

        f->loop = m->loop;
        f->addr = xstrdup(addr);
        f->port = API_PORT_CONTROL;
        f->next = m->heads;
        m->heads = f;
        if (open_head(f, dir, err))
            return -1;
    }
    puts("ready");
    fflush(stdout);
    return 0;
}

static int run_many(struct loop *loop, const char *path, struct err *err)
{
    struct many m = {.loop = loop};
    FILE *list = fopen(path, "re");

    if (!list)
        return err_set(err, "cannot read %s", path);
    m.beat = loop_timer_create(loop, send_beats, &m);
    loop_timer_arm(m.beat, BEAT_MS);
    int rc = open_many(&m, list, err);
    fclose(list);
    if (!rc)
        rc = loop_run(loop, err);
    loop_timer_destroy(m.beat);
    while (m.heads) {
        struct fake *f = m.heads;

        m.heads = f->next;
        close_head(f);
        free((char *)(uintptr_t)f->addr);
        free(f);
    }
    return rc;
}

int main(int argc, char **argv)
{
    struct err err = {0};

    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: fakehead DIR [PORT] | --many FILE\n");
        return 2;
    }
    log_init("fakehead", LOG_LEVEL_INFO);
    struct loop *loop = loop_create(&err);
    if (!loop) {
        log_error("%s", err.msg);
        return 1;
    }
    struct loop_signal *term = loop_signal_create(loop, SIGTERM, on_signal, loop);
    bool many = strcmp(argv[1], "--many") == 0 && argc == 3;
    uint16_t port = argc == 3 ? (uint16_t)strtoul(argv[2], NULL, 10) : 0;
    int rc = many ? run_many(loop, argv[2], &err) : run_one(loop, argv[1], port, &err);
    if (rc)
        log_error("%s", err.msg);
    loop_signal_destroy(term);
    loop_destroy(loop);
    return rc ? 1 : 0;
}
