/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of the control API by clients of this daemon (pstat, pterm, prte).
 *
 * The head serves the call. A member serves only what is about itself, also while it is not wired.
 * Any other call it sends to the head as APP_CALL; the head serves it with the rights of a member
 * and sends APP_REPLY, which the member gives to its client.
 *
 * Invariants: a call has one reply, and a member keeps nothing of a call: the client's number goes
 * with the call and comes back with the reply. Only the head sends lines of an event stream.
 *
 * Failures: a call that the head cannot be sent, a reply that the member cannot be sent, and a
 * member that is not wired give a refusal with a reason of api/reason.h. A reply to a client that
 * has disconnected is dropped by io.reply. */
#include "dvm/host/clients/calls.h"

#include "base/buf/buf.h"

#include <stdlib.h>

struct calls {
    const struct host_env *env;
    struct core *core;
    struct ctl *ctl;
    struct calls_io io;
};

/* `why` needs no escapes of JSON. The caller frees it. */
static char *write_refusal(int status, enum api_reason reason, const char *why)
{
    return xasprintf("{\"error\": {\"status\": %d, \"reason\": \"%s\", \"message\": \"%s\"}}",
                     status, api_reason_word(reason), why);
}

/* --- of a client here */

static void on_reply(uint64_t conn, int status, const char *body, void *arg)
{
    const struct calls *s = arg;

    s->io.reply((uint32_t)conn, status, body, s->io.arg);
}

static int on_line(uint64_t conn, const char *event, void *arg)
{
    const struct calls *s = arg;

    return s->io.line((uint32_t)conn, event, s->io.arg);
}

static void on_slow(uint64_t conn, void *arg)
{
    const struct calls *s = arg;

    s->io.slow((uint32_t)conn, s->io.arg);
}

static void refuse_call(struct calls *s, uint32_t client, int status, enum api_reason reason,
                        const char *why)
{
    FREE_AUTO char *body = write_refusal(status, reason, why);

    on_reply(client, status, body, s);
}

static void pass_to_head(struct calls *s, uint32_t client, const struct client_call *call)
{
    struct app_call m = {client, call->method, call->path, call->body};
    BUF_AUTO struct buf b = {0};

    app_call_encode(&b, &m);
    if (host_send(s->env, 0, CLASS_CONTROL, APP_CALL, &b) < 0)
        refuse_call(s, client, 413, API_REASON_TOO_LONG,
                    "the head cannot be sent that much at once");
}

void calls_make(struct calls *s, uint32_t client, enum api_role role,
                const struct client_call *call)
{
    struct ctl_local answer = {
        .reply = on_reply, .line = on_line, .slow = on_slow, .role = role, .arg = s};

    if (s->env->vpid == 0 || ctl_is_everywhere(call->method, call->path))
        ctl_local_call(s->ctl, client, call->method, call->path, call->body, &answer);
    else if (core_live(s->core, 0))
        pass_to_head(s, client, call);
    else
        refuse_call(s, client, 503, API_REASON_NOT_WIRED, "this daemon is not wired to its head");
}

static void on_head_reply(uint32_t from, struct cur *c, void *service)
{
    struct app_reply m;

    if (app_reply_decode(c, &m) == 0)
        on_reply(m.client, (int)m.status, m.body, service);
    app_reply_free(&m);
}

/* --- at the head, of a member's client */

struct remote_call {
    const struct calls *s;
    uint32_t from, client;
};

static int send_reply(const struct remote_call *r, int status, const char *body)
{
    struct app_reply m = {r->client, (uint32_t)status, (char *)body};
    BUF_AUTO struct buf b = {0};

    app_reply_encode(&b, &m);
    return host_send(r->s->env, r->from, CLASS_CONTROL, APP_REPLY, &b);
}

/* The client waits for an answer of another daemon, or of an event stream. */
static void on_remote_reply(uint64_t conn, int status, const char *body, void *arg)
{
    const struct remote_call *r = arg;

    if (send_reply(r, status, body) == 0)
        return;
    FREE_AUTO char *instead =
        write_refusal(500, API_REASON_TOO_LONG, "the head's answer is too long to be passed on");
    (void)send_reply(r, 500, instead);
}

static void on_call(uint32_t from, struct cur *c, void *service)
{
    struct calls *s = service;
    struct app_call m;
    bool ok = app_call_decode(c, &m) == 0;
    struct remote_call r = {.s = s, .from = from, .client = m.client};
    struct ctl_local answer = {.reply = on_remote_reply, .role = API_ROLE_MEMBER, .arg = &r};

    if (ok)
        ctl_local_call(s->ctl, UINT64_MAX, m.method, m.path, m.body, &answer);
    app_call_free(&m);
}

/* --- construction and destruction */

void calls_handle(struct calls *s, struct app_table *t)
{
    static const struct app_handler handlers[] = {{APP_CALL, on_call}, {APP_REPLY, on_head_reply}};

    app_table_add(t, handlers, sizeof(handlers) / sizeof(*handlers), s);
}

struct calls *calls_create(const struct host_env *env, struct core *core, struct ctl *ctl,
                           const struct calls_io *io)
{
    struct calls *s = xcalloc(1, sizeof(*s));

    *s = (struct calls){.env = env, .core = core, .ctl = ctl, .io = *io};
    return s;
}

void calls_destroy(struct calls *s)
{
    free(s);
}
