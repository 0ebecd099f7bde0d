/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections between daemons by the core's ids; local clients, their jobs and calls. */
#include "dvm/daemon_private.h"

#include "base/log/log.h"

#include <pmix_common.h>
#include <stdlib.h>
#include <string.h>

/* --- between daemons */

static struct conn *by_core(const struct daemon *d, uint64_t id)
{
    struct conn *c;

    HASH_FIND(hh, d->by_core, &id, sizeof id, c);
    return c;
}

static struct conn *by_net(const struct daemon *d, uint64_t id)
{
    struct conn *c;

    HASH_FIND(hh2, d->by_net, &id, sizeof id, c);
    return c;
}

static void conn_forget(struct daemon *d, struct conn *c)
{
    HASH_DELETE(hh, d->by_core, c);
    HASH_DELETE(hh2, d->by_net, c);
    free(c);
}

/* Outgoing connections have an id of the core's own; incoming ones the net's. */
static uint64_t net_id(const struct daemon *d, uint64_t core_id)
{
    const struct conn *c = by_core(d, core_id);

    return c ? c->net_id : core_id;
}

void conn_connect(struct daemon *d, const struct out_act *act)
{
    struct conn *c = xcalloc(1, sizeof *c);

    c->core_id = act->conn;
    c->net_id = net_connect_tls(d->net, act->a, (uint16_t)act->number, 5000);
    HASH_ADD(hh, d->by_core, core_id, sizeof c->core_id, c);
    HASH_ADD(hh2, d->by_net, net_id, sizeof c->net_id, c);
}

void conn_send(struct daemon *d, const struct out_act *act)
{
    net_send(d->net, net_id(d, act->conn), act->data.data, act->data.len);
}

void conn_close(struct daemon *d, const struct out_act *act)
{
    struct conn *c = by_core(d, act->conn);

    net_close(d->net, net_id(d, act->conn), act->number == 1);
    if (c)
        conn_forget(d, c);
}

/* --- local clients */

static struct local_client *client_by_net(const struct daemon *d, uint64_t id)
{
    struct local_client *k;

    HASH_FIND(hh2, d->clients_by_net, &id, sizeof id, k);
    return k;
}

static struct local_client *client(const struct daemon *d, uint32_t id)
{
    struct local_client *k;

    HASH_FIND(hh, d->clients, &id, sizeof id, k);
    return k;
}

static struct local_client *client_new(struct daemon *d, uint64_t net)
{
    struct local_client *k = xcalloc(1, sizeof *k);

    k->id = ++d->next_client;
    k->net_id = net;
    HASH_ADD(hh, d->clients, id, sizeof k->id, k);
    if (net)
        HASH_ADD(hh2, d->clients_by_net, net_id, sizeof k->net_id, k);
    return k;
}

static void client_forget(struct daemon *d, struct local_client *k)
{
    iof_client_gone(d->iof, k->id);
    kept_free(k->kept);
    HASH_DELETE(hh, d->clients, k);
    if (k->net_id)
        HASH_DELETE(hh2, d->clients_by_net, k);
    free(k->spawned);
    free(k);
}

void conn_free_all(struct daemon *d)
{
    struct conn *c, *ctmp;
    struct local_client *k, *ktmp;

    HASH_CLEAR(hh2, d->by_net);
    HASH_ITER(hh, d->by_core, c, ctmp)
    {
        HASH_DELETE(hh, d->by_core, c);
        free(c);
    }
    HASH_CLEAR(hh2, d->clients_by_net);
    HASH_ITER(hh, d->clients, k, ktmp)
    {
        HASH_DELETE(hh, d->clients, k);
        kept_free(k->kept);
        free(k->spawned);
        free(k);
    }
}

static void say(struct daemon *d, uint64_t net, const struct client_msg *m)
{
    struct buf b BUF_AUTO = {0};

    buf_init(&b, CLIENT_BODY_MAX + 4096);
    client_msg_encode(&b, m);
    net_send(d->net, net, b.data, b.len);
}

static void on_detached(struct daemon *d, struct local_client *k)
{
    HASH_DELETE(hh2, d->clients_by_net, k);
    k->net_id = 0;
    k->followed = false;
    iof_client_drained(d->iof, k->id); /* nobody is slow any more */
}

static void refuse_client(struct daemon *d, struct local_client *k, int code, const char *why)
{
    struct client_msg m = {.type = CLIENT_ERROR, .number = (uint32_t)code, .a = (char *)why};

    say(d, k->net_id, &m);
    net_close(d->net, k->net_id, true);
    if (k->kept) {
        on_detached(d, k); /* the job goes on without who does not speak our language */
        return;
    }
    ctl_local_gone(d->ctl, k->id);
    core_client_gone(d->core, k->id);
    client_forget(d, k);
}

/* The exit codes of a submission that came to nothing, as the requester's library knows them. */
static int spawn_failure(const struct client_msg *m)
{
    if (m->number == EXIT_CODE_NOT_LAUNCHED)
        return PMIX_ERR_JOB_FAILED_TO_LAUNCH;
    return m->number == EXIT_CODE_CANCELLED ? PMIX_ERR_JOB_CANCELED : PMIX_ERR_JOB_ABORTED;
}

/* An application that spawned a job has no connection: it gets the new namespace's name when the
 * ranks have started, or the failure. */
static void spawn_answer(struct daemon *d, struct local_client *k, const struct out_act *act)
{
    struct client_msg m;
    int status = PMIX_SUCCESS;
    bool over;

    if (client_msg_decode(act->data.data, act->data.len, &m, NULL) < 0)
        return;
    over = m.type == CLIENT_DONE || m.type == CLIENT_ERROR;
    if (m.type == CLIENT_ACCEPTED && !k->spawned)
        k->spawned = xstrdup(m.a);
    if (over && m.number != 0) {
        log_info("a job that was spawned by a rank here: %s", m.a);
        status = spawn_failure(&m);
    }
    if (k->spawn_req && k->spawned &&
        (over || (m.type == CLIENT_STATE && strcmp(m.a, "STARTED") == 0))) {
        pmix_srv_answer(d->pmix, k->spawn_req, status, k->spawned, strlen(k->spawned) + 1);
        k->spawn_req = 0;
    } else if (k->spawn_req && over) {
        pmix_srv_answer(d->pmix, k->spawn_req, status, NULL, 0);
        k->spawn_req = 0;
    }
    client_msg_free(&m);
}

/* --- detached jobs */

/* The last words of jobs that are over are kept for so many of them; ids grow with time. */
static void forget_oldest_over(struct daemon *d)
{
    struct local_client *k, *tmp, *oldest = NULL;
    size_t n = 0;

    HASH_ITER(hh, d->clients, k, tmp)
    {
        if (!k->kept || !kept_over(k->kept))
            continue;
        n++;
        if (!oldest || k->id < oldest->id)
            oldest = k;
    }
    if (n > DETACH_OVER_MAX)
        client_forget(d, oldest);
}

static struct local_client *detached(const struct daemon *d, const char *nspace)
{
    struct local_client *k, *tmp;

    HASH_ITER(hh, d->clients, k, tmp)
    {
        if (k->kept && strcmp(kept_nspace(k->kept), nspace) == 0)
            return k;
    }
    return NULL;
}

struct tell {
    struct daemon *d;
    uint64_t net;
};

static void tell(void *arg, const void *data, size_t len)
{
    struct tell *t = arg;

    net_send(t->d->net, t->net, data, len);
}

/* The connection of `newcomer` becomes the job's. */
static void attach(struct daemon *d, struct local_client *newcomer, const char *nspace)
{
    struct local_client *k = detached(d, nspace);
    struct tell t = {.d = d, .net = newcomer->net_id};
    char why[128] = "";

    if (newcomer->submitted)
        snprintf(why, sizeof why, "one job per connection");
    else if (!k)
        snprintf(why, sizeof why, "no detached job %s was submitted at this daemon (vpid %u)",
                 nspace, d->opts.vpid);
    else if (k->followed)
        snprintf(why, sizeof why, "somebody follows job %s already", nspace);
    if (why[0]) {
        refuse_client(d, newcomer, EXIT_CODE_NOT_LAUNCHED, why);
        return;
    }
    client_forget(d, newcomer);
    if (k->net_id) /* its submitter is about to go */
        HASH_DELETE(hh2, d->clients_by_net, k);
    k->net_id = t.net;
    k->followed = true;
    HASH_ADD(hh2, d->clients_by_net, net_id, sizeof k->net_id, k);
    kept_tell(k->kept, tell, &t);
    if (!kept_over(k->kept))
        return;
    net_close(d->net, k->net_id, true);
    on_detached(d, k);
}

void conn_client(struct daemon *d, const struct out_act *act)
{
    struct local_client *k = client(d, (uint32_t)act->conn);

    if (!k)
        return;
    if (k->kept)
        kept_add(k->kept, act->data.data, act->data.len);
    if (k->net_id) {
        net_send(d->net, k->net_id, act->data.data, act->data.len);
        if (act->number)
            net_close(d->net, k->net_id, true);
    } else if (!k->kept) {
        spawn_answer(d, k, act);
    }
    if (!act->number)
        return;
    if (!k->kept) {
        client_forget(d, k);
        return;
    }
    if (k->net_id)
        on_detached(d, k);
    iof_client_gone(d->iof, k->id);
    forget_oldest_over(d);
}

uint32_t conn_spawn_client(struct daemon *d, pmix_req req)
{
    struct local_client *k = client_new(d, 0);

    k->spawn_req = req;
    k->submitted = true;
    return k->id;
}

/* --- calls of the control API by local clients; on a member they go to the head */

static void on_reply(uint64_t conn, int status, const char *body, void *arg)
{
    struct daemon *d = arg;
    struct client_msg m = {.type = CLIENT_REPLY, .number = (uint32_t)status, .a = (char *)body};
    const struct local_client *k = client(d, (uint32_t)conn);

    if (k)
        say(d, k->net_id, &m);
}

static int on_line(uint64_t conn, const char *event, void *arg)
{
    struct daemon *d = arg;
    struct client_msg m = {.type = CLIENT_LINE, .a = (char *)event};
    const struct local_client *k = client(d, (uint32_t)conn);

    if (!k || net_pending(d->net, k->net_id) > (1u << 20))
        return -1;
    say(d, k->net_id, &m);
    return 0;
}

static void call(struct daemon *d, const struct local_client *k, const struct client_msg *m)
{
    struct ctl_local answer = {
        .reply = on_reply, .line = on_line, .role = TLS_ROLE_OPERATOR, .arg = d};
    struct buf b BUF_AUTO = {0};

    if (d->opts.vpid == 0) {
        ctl_local_call(d->ctl, k->id, m->a, m->b, m->c, &answer);
        return;
    }
    if (!core_live(d->core, 0)) {
        on_reply(k->id, 503,
                 "{\"error\": {\"status\": 503, \"reason\": \"NotWired\", \"message\": "
                 "\"this daemon is not wired to its head\"}}",
                 d);
        return;
    }
    buf_init(&b, CLIENT_BODY_MAX);
    buf_put_u32(&b, k->id);
    buf_put_str(&b, m->a);
    buf_put_str(&b, m->b);
    buf_put_str(&b, m->c);
    daemon_send_app(d, 0, CLASS_CONTROL, APP_CALL, &b);
}

struct remote_call {
    struct daemon *d;
    uint32_t from, client;
};

static void on_remote_reply(uint64_t conn, int status, const char *body, void *arg)
{
    struct remote_call *r = arg;
    struct buf b BUF_AUTO = {0};

    buf_init(&b, CLIENT_BODY_MAX);
    buf_put_u32(&b, r->client);
    buf_put_u32(&b, (uint32_t)status);
    buf_put_str(&b, body);
    daemon_send_app(r->d, r->from, CLASS_CONTROL, APP_REPLY, &b);
}

void conn_app_call(struct daemon *d, uint32_t from, const void *data, size_t len)
{
    struct cur c = cur_of(data, len);
    struct remote_call r = {.d = d, .from = from, .client = cur_u32(&c)};
    char *method FREE_AUTO = cur_str(&c, 16);
    char *path FREE_AUTO = cur_str(&c, CLIENT_TEXT_MAX);
    char *body FREE_AUTO = cur_str(&c, CLIENT_BODY_MAX);
    struct ctl_local answer = {.reply = on_remote_reply, .role = TLS_ROLE_MEMBER, .arg = &r};

    if (cur_done(&c))
        ctl_local_call(d->ctl, UINT64_MAX, method, path, body, &answer);
}

void conn_app_reply(struct daemon *d, const void *data, size_t len)
{
    struct cur c = cur_of(data, len);
    uint32_t id = cur_u32(&c);
    uint32_t status = cur_u32(&c);
    char *body FREE_AUTO = cur_str(&c, CLIENT_BODY_MAX);

    if (cur_done(&c))
        on_reply(id, (int)status, body, d);
}

/* --- what comes in */

static void client_input(struct daemon *d, struct local_client *k, const struct client_msg *m)
{
    switch (m->type) {
    case CLIENT_SUBMIT:
        if (k->submitted) {
            refuse_client(d, k, EXIT_CODE_USAGE, "one job per connection");
            return;
        }
        k->submitted = true;
        if (m->spec.flags & JOB_DETACH)
            k->kept = kept_create();
        core_submit(d->core, k->id, &m->spec);
        break;
    case CLIENT_ATTACH:
        attach(d, k, m->a);
        break;
    case CLIENT_STDIN:
        iof_client_stdin(d->iof, k->id, m->data, m->len);
        break;
    case CLIENT_SIGNAL:
        core_client_signal(d->core, k->id, (int)m->number);
        break;
    case CLIENT_CALL:
        call(d, k, m);
        break;
    default:
        refuse_client(d, k, EXIT_CODE_USAGE, "a client cannot send this message");
    }
}

static void client_frame(struct daemon *d, struct local_client *k, const uint8_t *data, size_t len)
{
    struct client_msg m;
    struct err err = {0};

    if (client_msg_decode(data, len, &m, &err) < 0) {
        log_warn("local client: %s", err.msg);
        refuse_client(d, k, EXIT_CODE_USAGE, err.msg);
        return;
    }
    client_input(d, k, &m);
    client_msg_free(&m);
}

static void on_open(uint64_t conn, bool incoming, const struct tls_peer *peer, void *arg)
{
    struct daemon *d = arg;
    struct conn *c = by_net(d, conn);

    daemon_enter(d);
    if (peer)
        core_conn_open(d->core, c ? c->core_id : conn, incoming, peer->role, peer->cluster);
    else
        client_new(d, conn);
    daemon_drain(d);
}

static void on_frame(uint64_t conn, const uint8_t *data, size_t len, void *arg)
{
    struct daemon *d = arg;
    struct local_client *k = client_by_net(d, conn);
    struct conn *c = by_net(d, conn);

    daemon_enter(d);
    if (k)
        client_frame(d, k, data, len);
    else
        core_conn_frame(d->core, c ? c->core_id : conn, data, len);
    daemon_drain(d);
}

static void on_closed(uint64_t conn, const char *why, void *arg)
{
    struct daemon *d = arg;
    struct local_client *k = client_by_net(d, conn);
    struct conn *c = by_net(d, conn);
    uint64_t core_id = c ? c->core_id : conn;

    daemon_enter(d);
    if (c)
        conn_forget(d, c);
    if (k && k->kept) {
        on_detached(d, k);
    } else if (k) {
        ctl_local_gone(d->ctl, k->id);
        core_client_gone(d->core, k->id);
        client_forget(d, k);
    } else {
        core_conn_closed(d->core, core_id, why);
    }
    daemon_drain(d);
}

static void on_drained(uint64_t conn, void *arg)
{
    struct daemon *d = arg;
    struct local_client *k = client_by_net(d, conn);

    daemon_enter(d);
    if (k)
        iof_client_drained(d->iof, k->id);
    daemon_drain(d);
}

const struct net_upcalls conn_upcalls = {
    .on_open = on_open, .on_frame = on_frame, .on_closed = on_closed, .on_drained = on_drained};

/* --- for iof */

static void iof_client_send(uint32_t id, const void *data, size_t len, void *arg)
{
    struct daemon *d = arg;
    struct local_client *k = client(d, id);

    if (k && k->kept)
        kept_add(k->kept, data, len);
    if (k && k->net_id && (!k->kept || k->followed))
        net_send(d->net, k->net_id, data, len);
}

static size_t iof_client_pending(uint32_t id, void *arg)
{
    struct daemon *d = arg;
    const struct local_client *k = client(d, id);

    return k && k->net_id ? net_pending(d->net, k->net_id) : 0;
}

static void iof_client_pause(uint32_t id, bool paused, void *arg)
{
    struct daemon *d = arg;
    const struct local_client *k = client(d, id);

    if (k && k->net_id)
        net_pause(d->net, k->net_id, paused);
}

const struct iof_io conn_iof_io = {.client_send = iof_client_send,
                                   .client_pending = iof_client_pending,
                                   .client_pause = iof_client_pause};
