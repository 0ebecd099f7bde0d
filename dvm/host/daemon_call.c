/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of the control API by clients; on a member they go to the head. */
#include "dvm/host/daemon_private.h"

static void on_reply(uint64_t conn, int status, const char *body, void *arg)
{
    struct daemon *d = arg;
    struct client_msg m = {.type = CLIENT_REPLY, .reply = {(uint32_t)status, (char *)body}};
    const struct dclient *k = dclient_by_id(d, (uint32_t)conn);

    if (k)
        dclient_say(d, k, &m);
}

static int on_line(uint64_t conn, const char *event, void *arg)
{
    struct daemon *d = arg;
    struct client_msg m = {.type = CLIENT_LINE, .line = {(char *)event}};
    const struct dclient *k = dclient_by_id(d, (uint32_t)conn);

    if (!k || net_pending(d->net, k->net_id) > (1u << 20))
        return -1;
    dclient_say(d, k, &m);
    return 0;
}

void dcall(struct daemon *d, const struct dclient *k, const struct client_call *m)
{
    struct ctl_local answer = {.reply = on_reply,
                               .line = on_line,
                               .role = k->role ? k->role : TLS_ROLE_OPERATOR,
                               .arg = d};
    struct buf b BUF_AUTO = {0};

    if (d->opts.vpid == 0) {
        ctl_local_call(d->ctl, k->id, m->method, m->path, m->body, &answer);
        return;
    }
    if (!core_live(d->core, 0)) {
        on_reply(k->id, 503,
                 "{\"error\": {\"status\": 503, \"reason\": \"NotWired\", \"message\": "
                 "\"this daemon is not wired to its head\"}}",
                 d);
        return;
    }
    app_call_encode(&b, &(struct app_call){k->id, m->method, m->path, m->body});
    if (daemon_send_app(d, 0, CLASS_CONTROL, APP_CALL, &b) < 0)
        on_reply(k->id, 413,
                 "{\"error\": {\"status\": 413, \"reason\": \"TooLong\", \"message\": "
                 "\"the head cannot be sent that much at once\"}}",
                 d);
}

struct remote_call {
    struct daemon *d;
    uint32_t from, client;
};

static int send_reply(const struct remote_call *r, int status, const char *body)
{
    struct buf b BUF_AUTO = {0};

    app_reply_encode(&b, &(struct app_reply){r->client, (uint32_t)status, (char *)body});
    return daemon_send_app(r->d, r->from, CLASS_CONTROL, APP_REPLY, &b);
}

/* The client waits for an answer of some kind. */
static void on_remote_reply(uint64_t conn, int status, const char *body, void *arg)
{
    const struct remote_call *r = arg;

    if (send_reply(r, status, body) < 0)
        (void)send_reply(r, 500,
                         "{\"error\": {\"status\": 500, \"reason\": \"TooLong\", \"message\": "
                         "\"the head's answer is too long to be passed on\"}}");
}

void dcall_from_member(struct daemon *d, uint32_t from, struct cur *c)
{
    struct app_call m;
    bool ok = app_call_decode(c, &m) == 0;
    struct remote_call r = {.d = d, .from = from, .client = m.client};
    struct ctl_local answer = {.reply = on_remote_reply, .role = TLS_ROLE_MEMBER, .arg = &r};

    if (ok)
        ctl_local_call(d->ctl, UINT64_MAX, m.method, m.path, m.body, &answer);
    app_call_free(&m);
}

void dcall_reply(struct daemon *d, struct cur *c)
{
    struct app_reply m;

    if (app_reply_decode(c, &m) == 0)
        on_reply(m.client, (int)m.status, m.body, d);
    app_reply_free(&m);
}
