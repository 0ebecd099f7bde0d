/* SPDX-License-Identifier: BSD-3-Clause */
/* GET /v1/events: the open streams and their events.
 *
 * In: a call, which may name an incarnation and the first event; new events of the core; the ends
 * of readers. Out: a line of JSON for each event, and over HTTPS every CTL_KEEPALIVE_MS an
 * empty line, or a beat (api/event.h) if the call asks for it (beat=jobs).
 *
 * A stream first sends the kept events from the named one on, then each new event. If the call
 * names no event, the stream begins with the next one. A call over HTTPS with view=1 gets the view
 * (api/event.h) between the kept events and the new ones.
 *
 * Invariant: the events of a stream are in order, and none is left out.
 *
 * Failures: 503 NotHead at a member; 400 for a malformed number, or a number without an
 * incarnation; 410 Gone for another incarnation or an event that is not kept; 503 TooManyStreams
 * beyond CTL_STREAMS_MAX. A reader that is too slow loses its stream, with a log line: an HTTPS
 * answer ends, a local client is notified. */
#include "base/log/log.h"
#include "dvm/host/ctl/ctl_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define VIEW_MAX (1u << 19) /* less than what a stream of httpd may have waiting */

static int parse_number(const char *text, uint64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && !*end && !errno ? 0 : -1;
}

void ctl_get_events(struct ctl *ctl, const struct ctl_request *rq, struct ctl_reply *rp)
{
    uint64_t next = core_event_next(ctl->core);
    uint64_t from = next;

    if (!next) {
        ctl_refuse(rp, 503, API_REASON_NOT_HEAD, "this daemon is not the head");
        return;
    }
    if (rq->from && (parse_number(rq->from, &from) < 0 || !rq->incarnation)) {
        ctl_refuse(rp, 400, API_REASON_BAD_REQUEST,
                   "from is the number of an event, and goes with its incarnation");
        return;
    }
    if (rq->incarnation && strcmp(rq->incarnation, core_incarnation(ctl->core)) != 0) {
        ctl_refuse(rp, 410, API_REASON_GONE, "incarnation '%s' has ended, this is '%s'",
                   rq->incarnation, core_incarnation(ctl->core));
        return;
    }
    if (from != next && !core_event(ctl->core, from)) {
        ctl_refuse(rp, 410, API_REASON_GONE, "event %llu is not kept, the next one will be %llu",
                   (unsigned long long)from, (unsigned long long)next);
        return;
    }
    if (ctl->nstreams >= CTL_STREAMS_MAX) {
        ctl_refuse(rp, 503, API_REASON_TOO_MANY_STREAMS, "%d event streams are open",
                   CTL_STREAMS_MAX);
        return;
    }
    rp->status = 200;
    rp->stream = true;
    rp->stream_from = from;
    rp->stream_beats = rq->beat && strcmp(rq->beat, "jobs") == 0;
    rp->stream_view = rq->view && strcmp(rq->view, "1") == 0;
}

/* --- the streams */

static void forget_stream(struct ctl_stream *s)
{
    struct ctl *ctl = s->ctl;

    DL_DELETE2(ctl->streams, s, prev, next_stream);
    ctl->nstreams--;
    free(s);
}

static void end_stream(struct ctl_stream *s)
{
    if (s->http)
        httpd_stream_end(s->http);
    forget_stream(s);
}

/* Other streams may end with it: those of the same connection. */
static void drop_reader(struct ctl_stream *s)
{
    struct ctl_local local = s->local;
    uint64_t conn = s->conn;
    bool http = s->http;

    log_warn("event stream ended at event %llu: its reader is too slow",
             (unsigned long long)s->next);
    end_stream(s);
    if (!http)
        local.slow(conn, local.arg);
}

static struct ctl_stream *stream_create(struct ctl *ctl, uint64_t from)
{
    struct ctl_stream *s = xcalloc(1, sizeof(*s));

    s->ctl = ctl;
    s->next = from;
    DL_APPEND2(ctl->streams, s, prev, next_stream);
    ctl->nstreams++;
    return s;
}

static int send_line(struct ctl_stream *s, const char *event)
{
    FREE_AUTO char *line = NULL;

    if (!s->http)
        return s->local.line(s->conn, event, s->local.arg);
    line = xasprintf("%s\n", event);
    return httpd_stream_send(s->http, line, strlen(line));
}

static int send_event(struct ctl_stream *s, const struct api_event *e)
{
    json_t *o = api_event_encode(e);
    FREE_AUTO char *text = json_dumps(o, JSON_COMPACT);

    json_decref(o);
    return text ? send_line(s, text) : -1;
}

/* Sends up to and including `last`. A reader that is behind the events that the core keeps, or
 * behind its own buffer, is disconnected. It reconnects, gets 410 and reads /v1/dvm. False: the
 * stream is closed. */
static bool send_up_to(struct ctl_stream *s, uint64_t last)
{
    for (; s->next <= last; s->next++) {
        const struct api_event *e = core_event(s->ctl->core, s->next);

        if (!e || send_event(s, e) < 0) {
            drop_reader(s);
            return false;
        }
    }
    return true;
}

/* A reader without the view reads it by GET /v1/dvm. */
static void send_view(struct ctl_stream *s)
{
    struct api_dvm d = {0};
    enum api_reason reason = API_REASON_NONE;
    struct err err = {0};

    if (core_dvm(s->ctl->core, &d, &reason, &err) < 0)
        return;
    json_t *o = json_pack("{s:s, s:o}", "type", API_VIEW, "dvm", api_dvm_encode(&d));
    FREE_AUTO char *text = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    api_dvm_free(&d);
    if (text && strlen(text) <= VIEW_MAX && send_line(s, text) < 0)
        drop_reader(s);
}

void ctl_on_event(struct ctl *ctl, uint64_t number)
{
    struct ctl_stream *s = ctl->streams;

    while (s)
        s = send_up_to(s, number) ? s->next_stream : ctl->streams;
}

static void on_http_closed(void *arg)
{
    forget_stream(arg);
}

void ctl_stream_http(struct ctl *ctl, struct httpd_req *req, const struct ctl_reply *rp)
{
    struct ctl_stream *s = stream_create(ctl, rp->stream_from);

    s->beats = rp->stream_beats;
    s->http = httpd_stream_begin(req, "application/x-ndjson", on_http_closed, s);
    if (!ctl->keepalive_armed)
        loop_timer_arm(ctl->keepalive, CTL_KEEPALIVE_MS);
    ctl->keepalive_armed = true;
    if (send_up_to(s, core_event_next(ctl->core) - 1) && rp->stream_view)
        send_view(s);
}

void ctl_stream_local(struct ctl *ctl, uint64_t conn, const struct ctl_local *local, uint64_t from)
{
    struct ctl_stream *s = stream_create(ctl, from);

    s->conn = conn;
    s->local = *local;
    send_up_to(s, core_event_next(ctl->core) - 1);
}

void ctl_local_gone(struct ctl *ctl, uint64_t conn)
{
    struct ctl_stream *s, *tmp;

    ctl_answers_gone(ctl, conn);
    DL_FOREACH_SAFE2(ctl->streams, s, tmp, next_stream)
    {
        if (!s->http && s->conn == conn)
            forget_stream(s);
    }
}

static int send_beat(struct ctl_stream *s)
{
    FREE_AUTO char *line = NULL;

    if (!s->beats)
        return httpd_stream_send(s->http, "\n", 1);
    line = xasprintf("{\"type\": \"" API_BEAT "\", \"boundJobs\": %u}\n",
                     core_jobs_bound(s->ctl->core));
    return httpd_stream_send(s->http, line, strlen(line));
}

/* Only over HTTPS: a local socket reports the end of its peer by itself. */
static void on_keepalive(void *arg)
{
    struct ctl *ctl = arg;
    struct ctl_stream *s, *tmp;
    bool more = false;

    DL_FOREACH_SAFE2(ctl->streams, s, tmp, next_stream)
    {
        if (s->http && send_beat(s) < 0)
            end_stream(s);
        else
            more = more || s->http;
    }
    if (more) /* a daemon without streams is not woken */
        loop_timer_arm(ctl->keepalive, CTL_KEEPALIVE_MS);
    ctl->keepalive_armed = more;
}

void ctl_streams_init(struct ctl *ctl)
{
    ctl->keepalive = loop_timer_create(ctl->loop, on_keepalive, ctl);
}

void ctl_streams_free(struct ctl *ctl)
{
    loop_timer_destroy(ctl->keepalive);
    while (ctl->streams)
        end_stream(ctl->streams);
}
