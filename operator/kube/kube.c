/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests and watches of the Kubernetes API: their order, their limits, and the decoded answers.
 *
 * Input: kube_request(), kube_watch(), and the ends and lines of the HTTP calls. Output: on_done
 * for a request, on_event and on_end for a watch.
 *
 * States of a request: waiting, running, pausing before its next try, ended.
 *
 * A try that is silent for longer than the server's pace allows (retry.c) is not given up: the next
 * one is sent beside it, and the first answer counts. So a slow server is heard although a request
 * that hangs is repeated early. Between two tries of a write that the server would refuse the
 * second time its object is read (abandoned.c): if it holds what the write sets, that is the
 * answer. If the reading is silent too, the write is repeated, which is safe.
 *
 * Invariants: requests start in the order of their calls; at most 32 requests run, not counting
 * watches and those that pause; a request has at most six tries, and a reading between each two; it
 * ends by its callback exactly once, and never inside kube_request().
 *
 * Failures: an answer that is not a JSON object ends the request with status 0. After 401 the files
 * with the credentials are read again. When the queue is full, kube_request() fails. */
#include "base/backoff/backoff.h"
#include "base/buf/buf.h"
#include "base/heap/hash.h"
#include "base/log/log.h"
#include "base/span/span.h"
#include "operator/kube/kube_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define RUNNING_MAX 32
#define WAITING_MAX 4096
#define WATCHES_MAX 1024
#define BODY_MAX (64u << 20)
#define LINE_MAX_BYTES (16u << 20)
#define TIMEOUT_MS 30000
#define PACE_LOOK_MS 1000

enum state { WAITING, RUNNING, PAUSING };

struct request;

/* One HTTP call of a request. */
struct call {
    struct request *request;
    struct http_call *http; /* NULL: it has ended */
    uint64_t sent_ms;
    bool look; /* reads the object of a write */
    struct call *prev, *next;
};

struct request {
    struct kube *kube;
    enum state state;
    struct kube_try tried;
    bool once;
    bool look;               /* the next call reads the object of this write */
    struct loop_timer *wait; /* a pause, or the limit of the newest call; created when needed */
    unsigned long id;
    enum kube_method method;
    char *name; /* "GET /api/...", for messages */
    char *path; /* within `name` */
    char *content_type;
    const char *accept;
    char *body; /* NULL: none */
    bool gated;
    uint64_t timeout_ms;
    uint64_t silence_ms;                                                 /* watches only; 0: none */
    struct call *calls;                                                  /* those without an end */
    struct call *newest;                                                 /* NULL: it has ended */
    void (*on_event)(const char *type, const json_t *object, void *arg); /* watches only */
    kube_done_fn *on_done;
    void *arg;
    struct request *prev, *next; /* in kube->waiting */
    UT_hash_handle hh;
};

struct kube {
    struct loop *loop;
    struct http *http;
    struct kube_config *config;
    const struct http_gate *gate; /* NULL: none */
    struct request *requests;     /* all, by id */
    struct request *waiting;
    struct loop_timer *pump; /* starts waiting requests */
    unsigned long next_id;
    struct kube_stats stats;
    struct kube_times times;
    struct kube_pace pace;
};

static const char *const METHODS[KUBE_METHODS] = {"GET", "POST", "PUT", "PATCH", "DELETE", "WATCH"};

const char *kube_method_name(enum kube_method m)
{
    return (unsigned)m < KUBE_METHODS ? METHODS[m] : "?";
}

static void on_pump(void *arg);

/* --- lifetimes */

struct kube *kube_create(struct loop *loop, struct kube_config *config, struct err *err)
{
    struct http *http = http_create(loop, err);

    if (!http) {
        kube_config_destroy(config);
        return NULL;
    }
    struct kube *k = xcalloc(1, sizeof(*k));
    k->loop = loop;
    k->http = http;
    k->config = config;
    k->pump = loop_timer_create(loop, on_pump, k);
    return k;
}

static void leave_state(struct request *r)
{
    struct kube *k = r->kube;

    if (r->state == RUNNING) {
        *(r->on_event ? &k->stats.watches_open : &k->stats.running) -= 1;
    } else if (r->state == WAITING) {
        DL_DELETE(k->waiting, r);
        k->stats.waiting--;
    }
}

static void call_free(struct call *c)
{
    struct request *r = c->request;

    http_cancel(c->http);
    if (r->newest == c)
        r->newest = NULL;
    DL_DELETE(r->calls, c);
    free(c);
}

static void request_free(struct request *r)
{
    struct kube *k = r->kube;
    struct call *c, *tmp;

    leave_state(r);
    DL_FOREACH_SAFE(r->calls, c, tmp)
    {
        call_free(c);
    }
    loop_timer_destroy(r->wait);
    HASH_DEL(k->requests, r);
    if (k->waiting)
        loop_timer_arm(k->pump, 0);
    free(r->name);
    free(r->content_type);
    free(r->body);
    free(r);
}

void kube_destroy(struct kube *k)
{
    struct request *r, *tmp;

    if (!k)
        return;
    HASH_ITER(hh, k->requests, r, tmp)
    {
        request_free(r);
    }
    loop_timer_destroy(k->pump);
    http_destroy(k->http);
    kube_config_destroy(k->config);
    free(k);
}

const char *kube_namespace(const struct kube *k)
{
    return kube_config_namespace(k->config);
}

struct kube_stats kube_stats(const struct kube *k)
{
    return k->stats;
}

void kube_count_relist(struct kube *k)
{
    k->stats.relists++;
}

/* --- answers */

static const struct {
    int status;
    const char *name;
} CODES[KUBE_CODES] = {{0, "none"},  {200, "200"}, {201, "201"}, {202, "202"}, {400, "400"},
                       {401, "401"}, {403, "403"}, {404, "404"}, {409, "409"}, {410, "410"},
                       {422, "422"}, {429, "429"}, {500, "500"}, {502, "502"}, {503, "503"},
                       {504, "504"}, {-1, "other"}};
static const unsigned BOUNDS_MS[KUBE_BOUNDS] = {5,   10,   25,   50,   100,   250,
                                                500, 1000, 2500, 5000, 10000, 30000};

const struct kube_times *kube_times(const struct kube *k)
{
    return &k->times;
}

unsigned kube_bound_ms(unsigned bound)
{
    return BOUNDS_MS[bound];
}

const char *kube_code_name(unsigned code)
{
    return CODES[code].name;
}

static void count_time(struct kube *k, enum kube_method method, int status, uint64_t ms)
{
    unsigned code = 0;

    while (code < KUBE_CODES - 1 && CODES[code].status != status)
        code++;
    struct kube_time *t = &k->times.of[method][code];
    t->n++;
    t->sum_ms += ms;
    for (unsigned i = 0; i < KUBE_BOUNDS; i++) {
        if (ms <= BOUNDS_MS[i]) {
            t->within[i]++;
            break;
        }
    }
}

static void count_end(struct kube *k, enum kube_method method, int status)
{
    struct kube_stats *s = &k->stats;
    unsigned class = (unsigned)status / 100;

    s->requests++;
    s->by_class[method][class < 6 ? class : 0]++;
    if (status == 0 || status == 429 || status >= 500)
        s->failed++;
}

/* A refusal of a server that has too much to do says nothing about its pace. */
static void count_call(const struct call *c, int status)
{
    struct request *r = c->request;
    struct kube *k = r->kube;
    enum kube_method method = c->look ? KUBE_GET : r->method;
    uint64_t ms = (uint64_t)span_ms(c->sent_ms, loop_now_ms(k->loop));

    count_end(k, method, status);
    if (method == KUBE_WATCH)
        return;
    count_time(k, method, status, ms);
    if (status > 0 && status != 429 && status < 500)
        kube_pace_note(&k->pace, ms);
}

/* Must be the caller's last step: the callback may destroy the request's kube. */
static void request_end(struct request *r, int status, const json_t *body, const struct err *err)
{
    kube_done_fn *on_done = r->on_done;
    void *arg = r->arg;

    if (status == 401)
        kube_config_distrust(r->kube->config);
    request_free(r);
    on_done(status, body, err, arg);
}

/* A NUL character is allowed, so that one odd object does not make a whole collection
 * unreadable. */
static json_t *decode_body(const char *text, size_t len, struct err *err)
{
    json_error_t e;
    json_t *o = json_loadb(text, len, JSON_ALLOW_NUL, &e);

    if (!o)
        err_set(err, "the answer is not JSON: %s at offset %d", e.text, e.position);
    else if (!json_is_object(o))
        err_set(err, "the answer is not a JSON object");
    if (json_is_object(o))
        return o;
    json_decref(o);
    return NULL;
}

/* The message of the server's refusal; without one, the beginning of the answer. */
static void set_refusal(struct request *r, int status, const json_t *body,
                        const struct http_answer *a, struct err *err)
{
    const char *message = json_string_value(json_object_get(body, "message"));

    if (message)
        err_code(err, status, "%s: %s (%d)", r->name, message, status);
    else
        err_code(err, status, "%s: HTTP status %d: %.*s", r->name, status,
                 (int)(a->len < 200 ? a->len : 200), a->body);
}

static void on_wait_over(void *arg);

static void arm_wait(struct request *r, uint64_t ms)
{
    if (!r->wait)
        r->wait = loop_timer_create(r->kube->loop, on_wait_over, r);
    loop_timer_arm(r->wait, ms);
}

/* After a pause the write is repeated; if it may have been carried out, its object is read. */
static void pause_request(struct request *r, int status, uint64_t retry_after_ms)
{
    struct kube *k = r->kube;

    k->stats.retries++;
    leave_state(r);
    r->state = PAUSING;
    arm_wait(r, kube_retry_pause_ms(&r->tried, retry_after_ms, backoff_dice()));
    if (k->waiting)
        loop_timer_arm(k->pump, 0);
}

static bool is_repeated(const struct request *r)
{
    return r->tried.repeatable && !r->once && !r->on_event;
}

static bool needs_look(const struct request *r)
{
    FREE_AUTO char *path = kube_abandoned_path(r->method, r->path, r->body);

    return path != NULL;
}

/* A failure that passes counts only of the newest call: the next one waits for that of the others
 * already. */
static void after_try(struct request *r, bool newest, int status, const struct http_answer *a,
                      const json_t *body, const struct err *err)
{
    bool passes = !r->once && !r->on_event && kube_retry_passes(&r->tried, status);

    if (passes && !newest)
        return;
    if (!passes || !kube_retry_left(&r->tried)) {
        request_end(r, status, body, err);
        return;
    }
    r->look = status == 0 && needs_look(r);
    pause_request(r, status, a->retry_after_ms);
}

static void send_beside(struct request *r);

/* The object of a write without an answer has been read, or not. */
static void after_look(struct request *r, bool newest, int status, const struct http_answer *a,
                       const json_t *body)
{
    if (status == 200 && kube_abandoned_held(r->path, r->body, body)) {
        request_end(r, r->method == KUBE_POST ? 201 : 200, body, &(struct err){0});
        return;
    }
    if (!newest)
        return;
    r->look = false;
    if (kube_retry_passes(&r->tried, status))
        pause_request(r, status, a->retry_after_ms);
    else
        send_beside(r);
}

static void on_answer(const struct http_answer *a, void *arg)
{
    struct call *c = arg;
    struct request *r = c->request;
    struct err err = {0};
    int status = a->status;
    json_t *body = NULL;
    bool look = c->look, newest = r->newest == c;

    if (status == 0)
        err_set(&err, "%s: %s", r->name, a->why);
    else if (a->len > 0)
        body = decode_body(a->body, a->len, &err);
    if (status >= 400) {
        set_refusal(r, status, body, a, &err);
    } else if (status > 0 && a->len > 0 && !body) {
        err_wrap(&err, "%s", r->name);
        status = 0;
    }
    c->http = NULL;
    count_call(c, status);
    call_free(c);
    if (look)
        after_look(r, newest, status, a, body);
    else
        after_try(r, newest, status, a, body, &err);
    json_decref(body);
}

/* An event of type ERROR ends the watch with the status in its object. */
static void watch_error(struct request *r, const json_t *object)
{
    struct err err = {0};
    int code = (int)json_integer_value(json_object_get(object, "code"));
    const char *message = json_string_value(json_object_get(object, "message"));

    if (code < 400 || code > 599)
        code = 500;
    err_code(&err, code, "%s: %s (%d)", r->name, message ? message : "error event", code);
    count_end(r->kube, r->method, code);
    request_end(r, code, object, &err);
}

static void on_watch_line(char *line, size_t len, void *arg)
{
    struct request *r = ((struct call *)arg)->request;
    struct err err = {0};

    if (len == 0)
        return;
    json_t *o = decode_body(line, len, &err);
    const char *type = json_string_value(json_object_get(o, "type"));
    const json_t *object = json_object_get(o, "object");
    if (o && (!type || !json_is_object(object)))
        err_set(&err, "an event lacks its type or its object");
    if (err.msg[0] || !type) {
        err_wrap(&err, "%s", r->name);
        count_end(r->kube, r->method, 0);
        request_end(r, 0, NULL, &err);
    } else if (strcmp(type, "ERROR") == 0) {
        watch_error(r, object);
    } else {
        r->on_event(type, object, r->arg);
    }
    json_decref(o);
}

static void on_watch_open(void *arg)
{
    struct request *r = ((struct call *)arg)->request;

    r->on_event("OPENED", NULL, r->arg);
}

/* --- requests */

static void refresh_config(struct kube *k)
{
    struct err err = {0};

    if (kube_config_refresh(k->config, loop_now_ms(k->loop), &err) < 0)
        log_warn("cannot read the credentials again, the old ones stay in use: %s", err.msg);
}

static struct http_call *start_call(struct call *c, const char *path, const char *const *headers,
                                    struct err *err)
{
    struct request *r = c->request;
    struct kube *k = r->kube;
    struct http_peer peer = kube_config_peer(k->config);
    FREE_AUTO char *url = xasprintf("%s%s", k->config->base, path);
    const char *body = c->look ? NULL : r->body;
    struct http_call_opts o = {.method = r->on_event || c->look ? "GET" : METHODS[r->method],
                               .url = url,
                               .headers = headers,
                               .body = body,
                               .body_len = body ? strlen(body) : 0,
                               .peer = &peer,
                               .gate = r->gated && !c->look ? k->gate : NULL,
                               .max_body = r->on_event ? LINE_MAX_BYTES : BODY_MAX,
                               .timeout_ms = r->timeout_ms,
                               .silence_ms = r->silence_ms,
                               .on_line = r->on_event ? on_watch_line : NULL,
                               .on_open = r->on_event ? on_watch_open : NULL,
                               .on_end = on_answer,
                               .arg = c};

    return http_start(k->http, &o, err);
}

/* Waits for the newest call. The pace may change meanwhile, so it is looked at each second. */
static void await_newest(struct request *r)
{
    struct kube *k = r->kube;
    uint64_t due_ms =
        r->newest->sent_ms + kube_retry_limit_ms(&r->tried, r->newest->look, &k->pace);
    uint64_t left_ms = (uint64_t)span_ms(loop_now_ms(k->loop), due_ms);

    if (left_ms)
        arm_wait(r, left_ms < PACE_LOOK_MS ? left_ms : PACE_LOOK_MS);
    else
        send_beside(r);
}

/* Starts the next call of the request: a try, or a reading. */
static int send_call(struct request *r, struct err *err)
{
    struct kube *k = r->kube;
    FREE_AUTO char *look = r->look ? kube_abandoned_path(r->method, r->path, r->body) : NULL;
    FREE_AUTO char *accept = xasprintf("Accept: %s", r->accept ? r->accept : "application/json");
    const char *headers[4] = {accept};
    FREE_AUTO char *type = NULL;
    FREE_AUTO char *auth = NULL;
    size_t n = 1;

    refresh_config(k);
    if (k->config->token.text)
        auth = xasprintf("Authorization: Bearer %s", k->config->token.text);
    if (r->body && !look)
        type = xasprintf("Content-Type: %s", r->content_type);
    if (auth)
        headers[n++] = auth;
    if (type)
        headers[n++] = type;
    r->tried.number += !look;
    struct call *c = xcalloc(1, sizeof(*c));
    *c = (struct call){.request = r, .look = look != NULL, .sent_ms = loop_now_ms(k->loop)};
    DL_APPEND(r->calls, c);
    c->http = start_call(c, look ? look : r->path, headers, err);
    if (!c->http) {
        call_free(c);
        return -1;
    }
    r->newest = c;
    if (is_repeated(r) && (look || kube_retry_left(&r->tried)))
        await_newest(r);
    else if (r->wait)
        loop_timer_disarm(r->wait);
    return 0;
}

/* The newest call is silent, or has shown that the write is to be repeated. */
static void send_beside(struct request *r)
{
    struct err err = {0};

    r->kube->stats.retries++;
    r->look = r->newest && !r->newest->look && needs_look(r);
    if (send_call(r, &err) < 0) {
        count_end(r->kube, r->method, 0);
        request_end(r, 0, NULL, &err);
    }
}

static void on_wait_over(void *arg)
{
    struct request *r = arg;
    struct kube *k = r->kube;

    if (r->state == RUNNING) {
        await_newest(r);
        return;
    }
    r->state = WAITING;
    DL_APPEND(k->waiting, r);
    k->stats.waiting++;
    loop_timer_arm(k->pump, 0);
}

/* The request must be in `waiting`; -1: it still is. */
static int request_send(struct request *r, struct err *err)
{
    struct kube *k = r->kube;

    if (send_call(r, err) < 0)
        return -1;
    DL_DELETE(k->waiting, r);
    k->stats.waiting--;
    r->state = RUNNING;
    *(r->on_event ? &k->stats.watches_open : &k->stats.running) += 1;
    return 0;
}

static void on_pump(void *arg)
{
    struct kube *k = arg;

    while (k->waiting && k->stats.running < RUNNING_MAX) {
        struct request *r = k->waiting;
        struct err err = {0};

        if (request_send(r, &err) < 0) {
            /* The callback may destroy the kube, so the pump sends the other requests in the next
             * turn. */
            count_end(k, r->method, 0);
            request_end(r, 0, NULL, &err);
            return;
        }
    }
}

static struct request *request_create(struct kube *k, enum kube_method method, const char *path)
{
    struct request *r = xcalloc(1, sizeof(*r));

    r->kube = k;
    r->id = ++k->next_id;
    r->method = method;
    r->name = xasprintf("%s %s", METHODS[method], path);
    r->path = r->name + strlen(METHODS[method]) + 1;
    r->timeout_ms = TIMEOUT_MS;
    HASH_ADD(hh, k->requests, id, sizeof(r->id), r);
    DL_APPEND(k->waiting, r);
    k->stats.waiting++;
    return r;
}

static int method_of(const char *name)
{
    for (int m = 0; m < KUBE_WATCH; m++) {
        if (strcmp(METHODS[m], name) == 0)
            return m;
    }
    return -1;
}

unsigned long kube_request(struct kube *k, const struct kube_verb *v, kube_done_fn *on_done,
                           void *arg, struct err *err)
{
    int method = method_of(v->method);

    if (method < 0 || v->path[0] != '/') {
        err_set(err, "%s %s is not a request", v->method, v->path);
        return 0;
    }
    if (k->stats.waiting >= WAITING_MAX) {
        err_set(err, "%s %s: %d requests are waiting already", v->method, v->path, WAITING_MAX);
        return 0;
    }
    char *body = v->body ? json_dumps(v->body, JSON_COMPACT) : NULL;
    if (v->body && !body) {
        err_set(err, "%s %s: the body cannot be encoded", v->method, v->path);
        return 0;
    }
    struct request *r = request_create(k, (enum kube_method)method, v->path);
    r->content_type = xstrdup(v->content_type ? v->content_type : "application/json");
    r->accept = v->accept;
    r->body = body;
    r->gated = method != KUBE_GET && !v->ungated;
    r->timeout_ms = v->timeout_ms > 0 ? (uint64_t)v->timeout_ms : TIMEOUT_MS;
    r->tried.repeatable = method != KUBE_POST || v->repeatable;
    r->once = v->once || v->ungated; /* the lease decides itself when to try again */
    r->on_done = on_done;
    r->arg = arg;
    loop_timer_arm(k->pump, 0);
    return r->id;
}

void kube_set_gate(struct kube *k, const struct http_gate *gate)
{
    k->gate = gate;
}

void kube_cancel(struct kube *k, unsigned long id)
{
    struct request *r = NULL;

    HASH_FIND(hh, k->requests, &id, sizeof(id), r);
    if (r)
        request_free(r);
}

unsigned long kube_watch(struct kube *k, const struct kube_stream *s,
                         void (*on_event)(const char *type, const json_t *object, void *arg),
                         kube_done_fn *on_end, void *arg, struct err *err)
{
    if (s->path[0] != '/' || k->stats.watches_open >= WATCHES_MAX) {
        err_set(err, "WATCH %s: %s", s->path,
                s->path[0] != '/' ? "is not a request" : "too many watches are open");
        return 0;
    }
    struct request *r = request_create(k, KUBE_WATCH, s->path);
    r->timeout_ms = s->opening_ms ? s->opening_ms : TIMEOUT_MS;
    if (r->timeout_ms < kube_pace_limit_ms(&k->pace))
        r->timeout_ms = kube_pace_limit_ms(&k->pace);
    r->silence_ms = s->silence_ms;
    r->accept = s->accept;
    r->on_event = on_event;
    r->on_done = on_end;
    r->arg = arg;
    if (request_send(r, err) < 0) {
        request_free(r);
        return 0;
    }
    return r->id;
}
