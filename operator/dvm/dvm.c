/* SPDX-License-Identifier: BSD-3-Clause */
/* Client of one head: follows its event stream and sends requests to its control API.
 *
 * Input: lines of the event stream, answers, and the owner's requests. Output: on_event for each
 * event, on_link for each change of the stream, on_done for each request.
 *
 * States of the stream. Open: lines arrive. Waiting: the timer `retry` runs after a failure.
 *
 * Invariants: an event is reported once and in order, as (incarnation, number) tells; on_link
 * alternates between up and down, after a first down at most.
 *
 * Failures: a broken stream is resumed behind the last event. If the head cannot resume (410, a new
 * incarnation, a gap in the numbers), the stream starts without a position and the owner reads the
 * whole view. The head sends an empty line every 4 s (a head with an older image: every 15 s). A
 * stream without a byte for SILENCE_MS counts as broken; after three empty lines that came quickly
 * one after the other QUICK_SILENCE_MS is the bound. */
#include "operator/dvm/dvm.h"

#include "base/backoff/backoff.h"
#include "base/buf/buf.h"
#include "base/span/span.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define TIMEOUT_MS 10000
#define SILENCE_MS 40000
#define QUICK_SILENCE_MS 10000
/* Longest time between two empty lines of a head that sends them every 4 s. */
#define QUICK_BEAT_MS 9000
/* Number of such times in a row. One alone tells nothing: a head sends its first empty line when
 * the stream begins. */
#define QUICK_BEATS 2
#define ASKS_MAX 64
#define BODY_MAX (64u << 20)
#define LINE_MAX_BYTES (4u << 20)

const struct backoff DVM_BACKOFF = {.min_ms = 200, .max_ms = 10000};

struct ask {
    struct dvm_client *client;
    struct http_call *call;
    char *name; /* "PUT /v1/size", for messages */
    dvm_done_fn *on_done;
    void *arg;
    struct ask *prev, *next;
};

struct dvm_client {
    struct loop *loop;
    struct http *http;
    bool http_is_ours;
    struct dvm_client_opts opts; /* without host and connect */
    char *base;                  /* "https://host:port" */
    char *connect;
    struct http_call *stream; /* NULL: waits for `retry` */
    struct loop_timer *retry;
    struct loop_timer *silence; /* armed after each line of a head with quick empty lines */
    uint64_t beat_ms;           /* when the last empty line came, by the loop's clock; 0: none */
    unsigned quick_beats;       /* consecutive empty lines that came quickly */
    int64_t heard_wall_ms;      /* the last line; 0: none */
    uint64_t heard_ms;          /* the same by the loop's clock */
    unsigned failures;          /* consecutive */
    bool up;
    bool down_reported;
    /* The last event that was reported; "" and 0: no position to resume from. */
    char incarnation[17];
    uint64_t number;
    struct ask *asks;
    size_t nasks;
};

/* --- the stream of events */

static void follow_events(void *arg);

static void forget_position(struct dvm_client *c)
{
    c->incarnation[0] = '\0';
    c->number = 0;
}

/* Must be the caller's last step: the callback may destroy the client. */
static void stream_down(struct dvm_client *c, const char *why)
{
    bool report = c->up || !c->down_reported;

    http_cancel(c->stream);
    c->stream = NULL;
    loop_timer_disarm(c->silence);
    c->quick_beats = 0;
    c->beat_ms = 0;
    c->up = false;
    c->down_reported = true;
    loop_timer_arm(c->retry, backoff_pause_ms(&DVM_BACKOFF, c->failures++, backoff_dice()));
    if (report && c->opts.on_link)
        c->opts.on_link(false, why, c->opts.arg);
}

static void on_open(void *arg)
{
    struct dvm_client *c = arg;

    c->up = true;
    if (c->opts.on_link)
        c->opts.on_link(true, "", c->opts.arg);
}

/* The position is dropped: the next stream begins without one, and its on_link(up) makes the owner
 * read the whole view. */
static void start_over(struct dvm_client *c, const char *why)
{
    forget_position(c);
    stream_down(c, why);
}

/* 1: report it; 0: it was reported before, or its type is unknown; -1: the stream is not as
 * promised. */
static int take_event(struct dvm_client *c, const json_t *o, struct api_event *e, struct err *err)
{
    const char *incarnation = json_string_value(json_object_get(o, "incarnation"));
    uint64_t number = (uint64_t)json_integer_value(json_object_get(o, "number"));

    if (!incarnation || strlen(incarnation) >= sizeof(c->incarnation) || number == 0)
        return err_set(err, "an event has no incarnation or number");
    if (c->number > 0 && strcmp(incarnation, c->incarnation) != 0)
        return err_set(err, "the incarnation of the head changed within the stream");
    if (c->number > 0 && number <= c->number)
        return 0;
    if (c->number > 0 && number != c->number + 1)
        return err_set(err, "event %" PRIu64 " follows event %" PRIu64, number, c->number);
    snprintf(c->incarnation, sizeof(c->incarnation), "%s", incarnation);
    c->number = number;
    const char *type = json_string_value(json_object_get(o, "type"));
    bool known = !type; /* the decoder refuses an event without a type */
    for (int t = 0; t < API_EVENT_TYPES && !known; t++)
        known = strcmp(api_event_type_name((enum api_event_type)t), type) == 0;
    if (!known)
        return 0;
    return api_event_decode(o, e, err) < 0 ? -1 : 1;
}

static void on_silence(void *arg)
{
    stream_down(arg, "the head has been silent for 10 s");
}

/* Learns how often the head sends empty lines, and waits for the next sign. */
static void note_line(struct dvm_client *c, bool empty)
{
    uint64_t now_ms = loop_now_ms(c->loop);

    c->heard_wall_ms = (int64_t)loop_wall_ms();
    c->heard_ms = now_ms;
    if (empty) {
        bool soon = c->beat_ms && span_ms(c->beat_ms, now_ms) <= QUICK_BEAT_MS;

        c->quick_beats = soon ? c->quick_beats + 1 : 0;
        c->beat_ms = now_ms;
    }
    if (c->quick_beats >= QUICK_BEATS)
        loop_timer_arm(c->silence, QUICK_SILENCE_MS);
}

static bool has_type(const json_t *o, const char *type)
{
    const char *word = json_string_value(json_object_get(o, "type"));

    return word && strcmp(word, type) == 0;
}

/* True if the line is the head's sign of life with the number of jobs that its end would end. */
static bool take_beat(struct dvm_client *c, const json_t *o)
{
    const json_t *bound = json_object_get(o, "boundJobs");
    json_int_t n = json_integer_value(bound);

    if (!has_type(o, API_BEAT))
        return false;
    note_line(c, true);
    if (c->opts.on_beat && json_is_integer(bound) && n >= 0)
        c->opts.on_beat(n < UINT32_MAX ? (uint32_t)n : UINT32_MAX, c->opts.arg);
    return true;
}

/* True if the line is the head's view. */
static bool take_view(struct dvm_client *c, const json_t *o)
{
    if (!has_type(o, API_VIEW))
        return false;
    note_line(c, false);
    if (c->opts.on_view)
        c->opts.on_view(json_object_get(o, "dvm"), c->opts.arg);
    return true;
}

static void on_line(char *line, size_t len, void *arg)
{
    struct dvm_client *c = arg;
    struct err err = {0};
    struct api_event e = {0};
    json_error_t jerr;

    c->failures = 0;
    json_t *o = len ? json_loadb(line, len, 0, &jerr) : NULL;
    if (len == 0 || take_beat(c, o) || take_view(c, o)) {
        if (len == 0)
            note_line(c, true);
        json_decref(o);
        return;
    }
    note_line(c, false);
    int rc = o ? take_event(c, o, &e, &err) : err_set(&err, "an event is not JSON: %s", jerr.text);
    json_decref(o);
    if (rc < 0)
        start_over(c, err.msg);
    else if (rc > 0 && c->opts.on_event)
        c->opts.on_event(&e, c->opts.arg);
    api_event_free(&e);
}

/* The decoded answer, NULL: there is none. For status >= 400 err has the head's message. */
static json_t *answer_of(const char *name, const struct http_answer *a, int *status,
                         struct err *err)
{
    json_error_t jerr;
    json_t *o = a->len > 0 ? json_loadb(a->body, a->len, 0, &jerr) : NULL;
    const json_t *e = json_object_get(o, "error");
    const char *reason = json_string_value(json_object_get(e, "reason"));
    const char *message = json_string_value(json_object_get(e, "message"));

    *status = a->status;
    if (a->status == 0)
        err_set(err, "%s: %s", name, a->why);
    else if (a->status >= 400 && message)
        err_code(err, a->status, "%s: %s (%d %s)", name, message, a->status, reason ? reason : "");
    else if (a->status >= 400)
        err_code(err, a->status, "%s: HTTP status %d", name, a->status);
    else if (!json_is_object(o))
        err_set(err, "%s: the answer is not a JSON object", name);
    if (a->status < 400 && err->msg[0])
        *status = 0;
    if (json_is_object(o))
        return o;
    json_decref(o);
    return NULL;
}

static void on_stream_end(const struct http_answer *a, void *arg)
{
    struct dvm_client *c = arg;
    struct err err = {0};
    int status = a->status;

    c->stream = NULL;
    if (c->up && status)
        err_set(&err, "the head ended the stream");
    else
        json_decref(answer_of("GET /v1/events", a, &status, &err));
    if (status == 410)
        start_over(c, err.msg);
    else
        stream_down(c, err.msg);
}

static struct http_peer peer_of(const struct dvm_client *c)
{
    return (struct http_peer){.ca_pem = c->opts.ca_pem,
                              .cert_pem = c->opts.cert_pem,
                              .key_pem = c->opts.key_pem,
                              .borrowed = true,
                              .one_of_many = true,
                              .connect = c->connect,
                              .tls13_only = true};
}

static void follow_events(void *arg)
{
    struct dvm_client *c = arg;
    struct err err = {0};
    struct http_peer peer = peer_of(c);
    FREE_AUTO char *incarnation = http_escape(c->incarnation);
    FREE_AUTO char *url = c->number > 0 ? xasprintf("%s/v1/events?beat=jobs&view=1&incarnation=%s"
                                                    "&from=%" PRIu64,
                                                    c->base, incarnation, c->number + 1)
                                        : xasprintf("%s/v1/events?beat=jobs&view=1", c->base);
    struct http_call_opts o = {.method = "GET",
                               .url = url,
                               .peer = &peer,
                               .max_body = LINE_MAX_BYTES,
                               .timeout_ms = TIMEOUT_MS,
                               .silence_ms = SILENCE_MS,
                               .on_line = on_line,
                               .on_open = on_open,
                               .quiet = true,
                               .on_end = on_stream_end,
                               .arg = c};

    c->stream = http_start(c->http, &o, &err);
    if (!c->stream)
        stream_down(c, err.msg);
}

/* --- requests */

static void ask_free(struct ask *a)
{
    http_cancel(a->call);
    DL_DELETE(a->client->asks, a);
    a->client->nasks--;
    free(a->name);
    free(a);
}

static void on_answer(const struct http_answer *answer, void *arg)
{
    struct ask *a = arg;
    struct err err = {0};
    int status;
    json_t *body = answer_of(a->name, answer, &status, &err);
    dvm_done_fn *on_done = a->on_done;
    void *done_arg = a->arg;

    a->call = NULL;
    ask_free(a);
    on_done(status, body, &err, done_arg);
    json_decref(body);
}

/* Takes `body` (may be NULL). */
static int send_request(struct dvm_client *c, const char *method, const char *path, json_t *body,
                        dvm_done_fn *on_done, void *arg, struct err *err)
{
    static const char *const headers[] = {"Content-Type: application/json", NULL};
    FREE_AUTO char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    FREE_AUTO char *url = xasprintf("%s%s", c->base, path);

    json_decref(body);
    if (c->nasks >= ASKS_MAX)
        return err_set(err, "%s %s: %d requests are not answered yet", method, path, ASKS_MAX);
    struct http_peer peer = peer_of(c);
    struct ask *a = xcalloc(1, sizeof(*a));
    struct http_call_opts o = {.method = method,
                               .url = url,
                               .headers = text ? headers : NULL,
                               .body = text,
                               .body_len = text ? strlen(text) : 0,
                               .peer = &peer,
                               .gate = strcmp(method, "GET") == 0 ? NULL : c->opts.gate,
                               .max_body = BODY_MAX,
                               .timeout_ms = TIMEOUT_MS,
                               .on_end = on_answer,
                               .arg = a};
    a->client = c;
    a->name = xasprintf("%s %s", method, path);
    a->on_done = on_done;
    a->arg = arg;
    DL_APPEND(c->asks, a);
    c->nasks++;
    a->call = http_start(c->http, &o, err);
    if (a->call)
        return 0;
    ask_free(a);
    return -1;
}

static char *campaign_path(const char *id, const char *verb)
{
    FREE_AUTO char *escaped = http_escape(id);

    return xasprintf("/v1/campaigns/%s%s", escaped, verb);
}

int dvm_client_put_campaign(struct dvm_client *c, const char *id,
                            const struct api_campaign_request *r, dvm_done_fn *on_done, void *arg,
                            struct err *err)
{
    FREE_AUTO char *path = campaign_path(id, "");

    return send_request(c, "PUT", path, api_campaign_request_encode(r), on_done, arg, err);
}

int dvm_client_cancel_campaign(struct dvm_client *c, const char *id, dvm_done_fn *on_done,
                               void *arg, struct err *err)
{
    FREE_AUTO char *path = campaign_path(id, "/cancel");

    return send_request(c, "PUT", path, NULL, on_done, arg, err);
}

int dvm_client_put_size(struct dvm_client *c, const struct api_size *s, dvm_done_fn *on_done,
                        void *arg, struct err *err)
{
    return send_request(c, "PUT", "/v1/size", api_size_encode(s), on_done, arg, err);
}

int dvm_client_put_shutdown(struct dvm_client *c, const struct api_shutdown *s,
                            dvm_done_fn *on_done, void *arg, struct err *err)
{
    return send_request(c, "PUT", "/v1/shutdown", api_shutdown_encode(s), on_done, arg, err);
}

int dvm_client_get_dvm(struct dvm_client *c, dvm_done_fn *on_done, void *arg, struct err *err)
{
    return send_request(c, "GET", "/v1/dvm", NULL, on_done, arg, err);
}

/* --- creation and destruction */

struct dvm_client *dvm_client_create(struct loop *loop, const struct dvm_client_opts *opts,
                                     struct err *err)
{
    if (!opts->ca_pem || !opts->cert_pem || !opts->key_pem) {
        err_set(err, "client of %s: authority, certificate and key are needed", opts->host);
        return NULL;
    }
    struct http *http = opts->http ? opts->http : http_create(loop, err);
    if (!http)
        return NULL;
    struct dvm_client *c = xcalloc(1, sizeof(*c));
    c->loop = loop;
    c->http = http;
    c->http_is_ours = !opts->http;
    c->opts = *opts;
    c->base = xasprintf("https://%s:%u", opts->host, (unsigned)opts->port);
    c->connect = opts->connect ? xstrdup(opts->connect) : NULL;
    c->opts.host = c->opts.connect = NULL;
    c->retry = loop_timer_create(loop, follow_events, c);
    c->silence = loop_timer_create(loop, on_silence, c);
    loop_timer_arm(c->retry, 0);
    return c;
}

void dvm_client_destroy(struct dvm_client *c)
{
    struct ask *a, *tmp;

    if (!c)
        return;
    DL_FOREACH_SAFE(c->asks, a, tmp)
    {
        ask_free(a);
    }
    http_cancel(c->stream);
    loop_timer_destroy(c->retry);
    loop_timer_destroy(c->silence);
    if (c->http_is_ours)
        http_destroy(c->http);
    free(c->base);
    free(c->connect);
    free(c);
}

void dvm_client_poke(struct dvm_client *c)
{
    c->failures = 0;
    if (!c->stream)
        loop_timer_arm(c->retry, 0);
}

int64_t dvm_client_heard_wall_ms(const struct dvm_client *c)
{
    return c->heard_wall_ms;
}

uint64_t dvm_client_silent_ms(const struct dvm_client *c)
{
    return c->heard_wall_ms ? span_ms(c->heard_ms, loop_now_ms(c->loop)) : 0;
}
