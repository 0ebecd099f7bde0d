/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of the control API over a daemon's local socket. */
#include "dvm/tools/cli/call.h"

#include <stdlib.h>
#include <string.h>

static void set_refusal(const json_t *reply, int status, struct err *err)
{
    const json_t *e = json_object_get(reply, "error");
    const char *reason = json_string_value(json_object_get(e, "reason"));
    const char *text = json_string_value(json_object_get(e, "message"));

    err_code(err, status, "%s (%s)", text ? text : "refused", reason ? reason : "no reason given");
}

static json_t *parse_reply(const struct client_msg *m, struct err *err)
{
    json_error_t je;
    json_t *o = json_loads(m->reply.body, JSON_REJECT_DUPLICATES, &je);

    if (!o) {
        err_set(err, "the daemon's answer is no JSON: %s", je.text);
        return NULL;
    }
    if (m->reply.status < 400)
        return o;
    set_refusal(o, (int)m->reply.status, err);
    json_decref(o);
    return NULL;
}

static int send_call(struct cli_conn *c, const char *method, const char *path, json_t *body,
                     struct err *err)
{
    FREE_AUTO char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    struct client_msg m = {.type = CLIENT_CALL, .call = {(char *)method, (char *)path, text}};

    json_decref(body);
    return cli_conn_send(c, &m, err);
}

static json_t *call_daemon(struct cli_conn *c, const char *method, const char *path, json_t *body,
                           struct cli_limit *l, int *status, struct err *err)
{
    struct client_msg m;
    json_t *reply = NULL;
    int got;

    if (send_call(c, method, path, body, err) < 0)
        return NULL;
    got = cli_conn_wait_limit(c, &m, -1, l, err);
    if (got < 0) {
        err_wrap(err, "%s %s", method, path);
        return NULL;
    }
    if (got == 0) {
        err_set(err, "%s %s: the daemon closed the connection", method, path);
        return NULL;
    }
    if (m.type == CLIENT_REPLY) {
        reply = parse_reply(&m, err);
        if (status)
            *status = (int)m.reply.status;
    } else if (m.type == CLIENT_ERROR) {
        err_set(err, "%s", m.error.text);
    } else {
        err_set(err, "%s %s: message of type %d in place of an answer", method, path, (int)m.type);
    }
    client_msg_free(&m);
    return reply;
}

static struct cli_limit usual_limit(void)
{
    return cli_limit_begin(cli_now_ms(), CLI_CALL_TIMEOUT_MS, NULL, NULL);
}

json_t *cli_call(struct cli_conn *c, const char *method, const char *path, json_t *body,
                 int *status, struct err *err)
{
    struct cli_limit l = usual_limit();

    return call_daemon(c, method, path, body, &l, status, err);
}

json_t *cli_call_limit(struct cli_conn *c, const char *method, const char *path, json_t *body,
                       struct cli_limit *l, struct err *err)
{
    return call_daemon(c, method, path, body, l, NULL, err);
}

int cli_call_dvm(struct cli_conn *c, struct api_dvm *out, struct err *err)
{
    struct cli_limit l = usual_limit();

    return cli_call_dvm_limit(c, &l, out, err);
}

int cli_call_dvm_limit(struct cli_conn *c, struct cli_limit *l, struct api_dvm *out,
                       struct err *err)
{
    json_t *reply = cli_call_limit(c, "GET", "/v1/dvm", NULL, l, err);
    int rc;

    if (!reply)
        return -1;
    rc = api_dvm_decode(reply, out, err);
    json_decref(reply);
    return rc < 0 ? err_wrap(err, "GET /v1/dvm") : 0;
}

int cli_call_links(struct cli_conn *c, struct api_links *out, struct err *err)
{
    json_t *reply = cli_call(c, "GET", "/v1/links", NULL, NULL, err);
    int rc;

    if (!reply)
        return -1;
    rc = api_links_decode(reply, out, err);
    json_decref(reply);
    return rc < 0 ? err_wrap(err, "GET /v1/links") : 0;
}

int cli_events_begin(struct cli_conn *c, struct err *err)
{
    struct cli_limit l = usual_limit();

    return cli_events_begin_limit(c, &l, err);
}

int cli_events_begin_limit(struct cli_conn *c, struct cli_limit *l, struct err *err)
{
    json_t *reply = cli_call_limit(c, "GET", "/v1/events", NULL, l, err);

    json_decref(reply);
    return reply ? 0 : -1;
}

static int next_line(struct cli_conn *c, int other_fd, struct cli_limit *l, char **line,
                     struct err *err)
{
    struct client_msg m;
    int got = cli_conn_wait_limit(c, &m, other_fd, l, err);

    *line = NULL;
    if (got != 1)
        return got;
    if (m.type == CLIENT_LINE) {
        *line = m.line.event;
        m.line.event = NULL;
    } else if (m.type == CLIENT_ERROR) {
        got = err_set(err, "%s", m.error.text);
    } else {
        got = err_set(err, "message of type %d in an event stream", (int)m.type);
    }
    client_msg_free(&m);
    return got;
}

/* timeout_ms < 0: none, in effect. */
static struct cli_limit timeout_limit(int timeout_ms)
{
    return cli_limit_begin(cli_now_ms(), timeout_ms < 0 ? INT64_MAX / 2 : timeout_ms, NULL, NULL);
}

int cli_events_line(struct cli_conn *c, int timeout_ms, char **line, struct err *err)
{
    struct cli_limit l = timeout_limit(timeout_ms);

    return next_line(c, -1, &l, line, err);
}

int cli_events_next_or(struct cli_conn *c, int other_fd, struct cli_limit *l, struct api_event *out,
                       struct err *err)
{
    FREE_AUTO char *line = NULL;
    json_error_t je;
    json_t *o;
    int got = next_line(c, other_fd, l, &line, err);

    if (got != 1)
        return got;
    o = json_loads(line, JSON_REJECT_DUPLICATES, &je);
    if (!o)
        return err_set(err, "an event is no JSON: %s", je.text);
    got = api_event_decode(o, out, err);
    json_decref(o);
    return got < 0 ? -1 : 1;
}

int cli_events_next(struct cli_conn *c, int timeout_ms, struct api_event *out, struct err *err)
{
    struct cli_limit l = timeout_limit(timeout_ms);

    return cli_events_next_or(c, -1, &l, out, err);
}
