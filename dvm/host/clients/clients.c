/* SPDX-License-Identifier: BSD-3-Clause */
/* Clients: programs at the local socket or from outside, and ranks that spawn; their jobs, input
 * and output. */
#include "dvm/host/daemon_private.h"

#include "base/log/log.h"
#include "dvm/host/jobspec/environ.h"

#include <pmix_common.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINES_HIGH (1u << 20) /* of an event stream, unwritten, at which it is ended */

struct dclient *dclient_by_net(const struct daemon *d, uint64_t id)
{
    struct dclient *k;

    HASH_FIND(hh2, d->clients_by_net, &id, sizeof id, k);
    return k;
}

struct dclient *dclient_by_id(const struct daemon *d, uint32_t id)
{
    struct dclient *k;

    HASH_FIND(hh, d->clients, &id, sizeof id, k);
    return k;
}

static struct dclient *create(struct daemon *d, uint64_t net)
{
    struct dclient *k = xcalloc(1, sizeof *k);

    k->id = ++d->next_client;
    k->net_id = net;
    HASH_ADD(hh, d->clients, id, sizeof k->id, k);
    if (net)
        HASH_ADD(hh2, d->clients_by_net, net_id, sizeof k->net_id, k);
    return k;
}

void dclient_disconnect(struct daemon *d, struct dclient *k, bool flush)
{
    if (!k->net_id)
        return;
    net_close(d->net, k->net_id, flush);
    HASH_DELETE(hh2, d->clients_by_net, k);
    k->net_id = 0;
}

void dclient_forget(struct daemon *d, struct dclient *k)
{
    iof_client_gone(d->iof, k->id);
    stage_client_gone(d->stage, k->id);
    ranks_client_gone(d->ranks, k->id);
    session_free(k->session);
    toolio_free(d, k);
    HASH_DELETE(hh, d->clients, k);
    if (k->net_id)
        HASH_DELETE(hh2, d->clients_by_net, k);
    free(k->spawned);
    free(k);
}

void dclient_free_all(struct daemon *d)
{
    struct dclient *k, *tmp;

    HASH_CLEAR(hh2, d->clients_by_net);
    HASH_ITER(hh, d->clients, k, tmp)
    {
        HASH_DELETE(hh, d->clients, k);
        session_free(k->session);
        toolio_free(NULL, k);
        free(k->spawned);
        free(k);
    }
}

void dclient_hand_over(struct daemon *d, struct dclient *from, struct dclient *to)
{
    uint64_t net = from->net_id;

    to->role = from->role;
    dclient_forget(d, from);
    dclient_disconnect(d, to, true);
    to->net_id = net;
    HASH_ADD(hh2, d->clients_by_net, net_id, sizeof to->net_id, to);
}

void dclient_say(struct daemon *d, const struct dclient *k, const struct client_msg *m)
{
    struct buf b BUF_AUTO = {0};

    buf_init(&b, CLIENT_BODY_MAX + 4096);
    client_msg_encode(&b, m);
    if (k->net_id)
        net_send(d->net, k->net_id, b.data, b.len);
}

void dclient_end(struct daemon *d, struct dclient *k)
{
    ctl_local_gone(d->ctl, k->id);
    core_client_gone(d->core, k->id);
    dclient_forget(d, k);
}

void dclient_refuse(struct daemon *d, struct dclient *k, int code, const char *why)
{
    struct client_msg m = {.type = CLIENT_ERROR, .error = {(uint32_t)code, (char *)why}};

    dclient_say(d, k, &m);
    dclient_disconnect(d, k, true);
    if (!k->session || !session_detached(k->session) || stage_owes(d->stage, k->id) ||
        !session_lost(d, k, why))
        dclient_end(d, k);
}

void dclient_files_room(struct daemon *d, uint32_t id, uint64_t total)
{
    struct client_msg m = {.type = CLIENT_FILES_ROOM, .room = {total}};
    const struct dclient *k = dclient_by_id(d, id);

    if (k)
        dclient_say(d, k, &m);
}

/* --- for calls */

void dclient_reply(uint32_t client, int status, const char *body, void *arg)
{
    struct client_msg m = {.type = CLIENT_REPLY, .reply = {(uint32_t)status, (char *)body}};
    const struct dclient *k = dclient_by_id(arg, client);

    if (k)
        dclient_say(arg, k, &m);
}

int dclient_line(uint32_t client, const char *event, void *arg)
{
    const struct daemon *d = arg;
    struct client_msg m = {.type = CLIENT_LINE, .line = {(char *)event}};
    const struct dclient *k = dclient_by_id(d, client);

    if (!k || net_pending(d->net, k->net_id) > LINES_HIGH)
        return -1;
    dclient_say(arg, k, &m);
    return 0;
}

/* --- connections */

static size_t outside(const struct daemon *d)
{
    size_t n = 0;

    for (const struct dclient *k = d->clients; k; k = k->hh.next)
        n += k->role && k->net_id;
    return n;
}

void dclient_open(struct daemon *d, uint64_t net, const struct tls_peer *peer)
{
    struct dclient *k = create(d, net);
    char *why FREE_AUTO = NULL;

    if (!peer)
        return;
    k->role = strcmp(peer->role, TLS_ROLE_USER) == 0 ? TLS_ROLE_USER : TLS_ROLE_OPERATOR;
    if (strcmp(peer->cluster, d->opts.cluster) != 0)
        why = xasprintf("this is the DVM %s, the certificate is one of %s", d->opts.cluster,
                        peer->cluster);
    else if (outside(d) > DCLIENT_OUTSIDE_MAX)
        why = xasprintf("%d programs outside are connected to this daemon already",
                        DCLIENT_OUTSIDE_MAX);
    if (why)
        dclient_refuse(d, k, EXIT_CODE_NOT_LAUNCHED, why);
    else /* now the other side knows that its certificate is good enough */
        dclient_say(d, k, &(struct client_msg){.type = CLIENT_REACHED, .reached = {""}});
}

void dclient_closed(struct daemon *d, struct dclient *k, const char *why)
{
    HASH_DELETE(hh2, d->clients_by_net, k);
    k->net_id = 0;
    if (!k->session || !session_lost(d, k, why))
        dclient_end(d, k);
}

void dclient_drained(struct daemon *d, struct dclient *k)
{
    if (!k->session || !session_numbered(k->session))
        iof_client_drained(d->iof, k->id);
}

/* --- what they are told */

static void tell(struct daemon *d, struct dclient *k, const void *data, size_t len)
{
    if (k->session)
        session_said(k->session, data, len);
    if (k->net_id)
        net_send(d->net, k->net_id, data, len);
}

/* The exit codes of a submission that came to nothing, as the requester's library knows them. */
static int spawn_failure(uint32_t code)
{
    if (code == EXIT_CODE_NOT_LAUNCHED)
        return PMIX_ERR_JOB_FAILED_TO_LAUNCH;
    return code == EXIT_CODE_CANCELLED ? PMIX_ERR_JOB_CANCELED : PMIX_ERR_JOB_ABORTED;
}

/* An application that spawned a job has no connection: it gets the new namespace's name when the
 * ranks have started, or the failure. */
static void spawn_answer(struct daemon *d, struct dclient *k, const struct out_act *act)
{
    struct client_msg m;
    const struct client_end *end;
    int status = PMIX_SUCCESS;
    enum job_state state;
    bool over, started;

    if (client_msg_decode(act->data.data, act->data.len, &m, NULL) < 0)
        return;
    end = m.type == CLIENT_DONE ? &m.done : &m.error;
    over = m.type == CLIENT_DONE || m.type == CLIENT_ERROR;
    state = m.type == CLIENT_STATE ? m.state.state : 0;
    if (m.type == CLIENT_ACCEPTED && !k->spawned)
        k->spawned = xstrdup(m.accepted.nspace);
    if (k->spawned && state == JOB_READY_FOR_DEBUG)
        pmix_srv_notify_held(d->pmix, &k->spawner, k->spawned, k->stop);
    if (over && end->code != EXIT_CODE_OK) {
        log_info("a job that was spawned by a rank here: %s", end->text);
        status = spawn_failure(end->code);
    }
    started = k->spawned && state == JOB_STARTED;
    if (started)
        pmix_srv_notify_job_start(d->pmix, k->spawned, &k->spawner);
    if (k->spawn_req && k->spawned && (over || started)) {
        pmix_srv_answer(d->pmix, k->spawn_req, status, k->spawned, strlen(k->spawned) + 1);
        k->spawn_req = 0;
        toolio_named(d, k);
    } else if (k->spawn_req && over) {
        pmix_srv_answer(d->pmix, k->spawn_req, status, NULL, 0);
        k->spawn_req = 0;
    }
    client_msg_free(&m);
}

void dclient_act(struct daemon *d, const struct out_act *act)
{
    struct dclient *k = dclient_by_id(d, (uint32_t)act->conn);

    if (!k)
        return;
    if (!k->net_id && !k->session)
        spawn_answer(d, k, act);
    tell(d, k, act->data.data, act->data.len);
    if (!act->number)
        return;
    if (k->session) {
        session_over(d, k);
        return;
    }
    dclient_disconnect(d, k, true);
    dclient_forget(d, k);
}

uint32_t dclient_of_spawn(struct daemon *d, pmix_req req, const struct job_spec *spec)
{
    struct dclient *k = create(d, 0);

    k->stop = spec->stop;
    if (!core_job(d->core, spec->parent_nspace))
        toolio_create(k, spec);
    k->spawn_req = req;
    k->spawner.rank = spec->parent_rank;
    memccpy(k->spawner.nspace, spec->parent_nspace, 0, sizeof k->spawner.nspace - 1);
    k->submitted = true;
    return k->id;
}

/* --- what they say */

static void submit(struct daemon *d, struct dclient *k, struct job_spec *spec)
{
    if (k->submitted) {
        dclient_refuse(d, k, EXIT_CODE_USAGE, "one job per connection");
        return;
    }
    k->submitted = true;
    for (size_t i = 0; k->role && i < spec->napps; i++)
        environ_complete(&spec->apps[i], environ, spec->nfiles > 0);
    if (spec->flags & JOB_DETACH)
        session_detach(d, k);
    stage_source(d->stage, k->id, (uint32_t)spec->nfiles);
    core_submit(d->core, k->id, spec);
}

static void files(struct daemon *d, struct dclient *k, const struct client_bytes *m)
{
    struct err err = {0};

    if (k->session && session_is_over(k->session))
        return; /* they were on their way when it ended */
    if (stage_piece(d->stage, k->id, m->data, m->len, &err) < 0)
        dclient_refuse(d, k, EXIT_CODE_USAGE, err.msg);
}

static void input(struct daemon *d, struct dclient *k, struct client_msg *m)
{
    switch (m->type) {
    case CLIENT_SUBMIT:
        submit(d, k, &m->submit.spec);
        break;
    case CLIENT_ATTACH:
        session_attach(d, k, m->attach.nspace);
        break;
    case CLIENT_STDIN:
        iof_client_stdin(d->iof, k->id, m->input.data, m->input.len);
        break;
    case CLIENT_FILES:
        files(d, k, &m->files);
        break;
    case CLIENT_SIGNAL:
        core_client_signal(d->core, k->id, (int)m->signal.signum);
        break;
    case CLIENT_CALL:
        calls_make(d->calls, k->id, k->role ? k->role : TLS_ROLE_OPERATOR, &m->call);
        break;
    case CLIENT_OPEN:
        session_open(d, k, &m->open);
        break;
    case CLIENT_BYE:
        session_bye(d, k);
        break;
    default:
        dclient_refuse(d, k, EXIT_CODE_USAGE, "a client cannot send this message");
    }
}

void dclient_frame(struct daemon *d, struct dclient *k, const uint8_t *data, size_t len)
{
    struct client_msg m;
    struct err err = {0};

    if (client_msg_decode(data, len, &m, &err) < 0) {
        log_warn("client: %s", err.msg);
        dclient_refuse(d, k, EXIT_CODE_USAGE, err.msg);
        return;
    }
    if (client_msg_numbered(m.type) && session_heard(d, k, len) < 0)
        dclient_refuse(d, k, EXIT_CODE_USAGE, "more input than was asked for");
    else if (m.type != CLIENT_ACK)
        input(d, k, &m);
    else if (session_ack(d, k, m.ack.have) < 0)
        dclient_refuse(d, k, EXIT_CODE_USAGE, "what was never said cannot be acknowledged");
    client_msg_free(&m);
}

/* --- for iof */

static void iof_send(uint32_t id, const void *data, size_t len, void *arg)
{
    struct dclient *k = dclient_by_id(arg, id);

    if (k && k->tool)
        toolio_send(arg, k, data, len);
    else if (k)
        tell(arg, k, data, len);
}

static size_t iof_pending(uint32_t id, void *arg)
{
    const struct daemon *d = arg;
    const struct dclient *k = dclient_by_id(d, id);

    if (!k)
        return 0;
    if (k->tool)
        return toolio_pending(k);
    if (k->session)
        return session_pending(d, k);
    return k->net_id ? net_pending(d->net, k->net_id) : 0;
}

static void iof_pause(uint32_t id, bool paused, void *arg)
{
    struct daemon *d = arg;
    struct dclient *k = dclient_by_id(d, id);

    if (k && k->tool)
        toolio_pause(d, k, paused);
    else if (k && k->session)
        session_hold(d, k, paused);
    else if (k && k->net_id)
        net_pause(d->net, k->net_id, paused);
}

/* From the daemon of a job's submitter, for tools here. */
static void iof_copy(enum iof_kind kind, const char *nspace, uint32_t rank, int stream,
                     const void *data, size_t len, void *arg)
{
    struct daemon *d = arg;

    pulled_output_copy(d->pulled_output, kind, nspace, rank, stream, data, len);
}

const struct iof_io dclient_iof_io = {.client_send = iof_send,
                                      .client_pending = iof_pending,
                                      .client_pause = iof_pause,
                                      .copy = iof_copy};
