/* SPDX-License-Identifier: BSD-3-Clause */
/* Clients of a daemon: their connections, and their messages in both directions.
 *
 * In: connections and frames of programs; messages of the core for a client; output, back pressure
 * and room for files from dvm/host/iof and dvm/protocol/files; replies to calls.
 * Out: submissions, signals, input and files to the core and those two modules; encoded messages
 * to clients.
 *
 * There are three kinds of clients. A program with a connection: when the connection ends, the
 * client and its job end. A program with a session, which may reconnect (session.c). A rank or tool
 * that spawns, without a connection (spawn.c). Each client submits one job.
 *
 * Failures: a client that sends a malformed message, or one out of order, gets the reason as
 * CLIENT_ERROR, then its connection is closed. At most CLIENTS_OUTSIDE_MAX programs connect over
 * TLS. */
#include "dvm/host/clients/clients.h"

#include "base/log/log.h"
#include "dvm/host/clients/client_private.h"
#include "dvm/host/clients/session_private.h"
#include "dvm/host/clients/spawn_private.h"
#include "dvm/host/clients/tool_private.h"
#include "dvm/host/jobspec/environ.h"
#include "dvm/host/jobspec/hosts.h"
#include "dvm/host/spawner/limits.h"

#include <pmix_common.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINES_HIGH (1u << 20) /* unwritten bytes at which an event stream is ended */

/* --- the table */

static struct client *find_by_net(const struct clients *c, uint64_t net_id)
{
    struct client *k;

    HASH_FIND(hh2, c->by_net, &net_id, sizeof(net_id), k);
    return k;
}

static void release_parts(struct clients *c, struct client *k, bool answer)
{
    session_free(k->session);
    tool_free(c, k, answer);
    spawn_free(k->spawn);
}

/* Whether a client that is refused stays, since its job goes on without it. */
static bool keeps_client(struct clients *c, struct client *k, const char *why)
{
    return session_detached(k->session) && !files_owes(c->parts.files, k->id) &&
           session_lost(c, k, why);
}

void clients_files_room(struct clients *c, uint32_t client, uint64_t total)
{
    struct client_msg m = {.type = CLIENT_FILES_ROOM, .room = {total}};
    const struct client *k = client_find(c, client);

    if (k)
        client_say(c, k, &m);
}

/* --- for calls */

void clients_reply(struct clients *c, uint32_t client, int status, const char *body)
{
    struct client_msg m = {.type = CLIENT_REPLY, .reply = {(uint32_t)status, (char *)body}};
    const struct client *k = client_find(c, client);

    if (k)
        client_say(c, k, &m);
}

int clients_line(struct clients *c, uint32_t client, const char *event)
{
    struct client_msg m = {.type = CLIENT_LINE, .line = {(char *)event}};
    const struct client *k = client_find(c, client);

    if (!k || net_pending(c->parts.net, k->net_id) > LINES_HIGH)
        return -1;
    client_say(c, k, &m);
    return 0;
}

void clients_slow(struct clients *c, uint32_t client)
{
    struct client *k = client_find(c, client);

    if (k)
        client_refuse(c, k, EXIT_CODE_USAGE, "the events were not read in time");
}

/* --- connections */

static size_t count_outside(const struct clients *c)
{
    size_t n = 0;

    for (const struct client *k = c->by_id; k; k = k->hh.next)
        n += k->outside && k->net_id;
    return n;
}

static char *refusal_of(const struct clients *c, const struct tls_peer *peer)
{
    if (strcmp(peer->cluster, c->env->cluster) != 0)
        return xasprintf("this is the DVM %s, the certificate is one of %s", c->env->cluster,
                         peer->cluster);
    if (count_outside(c) > CLIENTS_OUTSIDE_MAX)
        return xasprintf("%d programs outside are connected to this daemon already",
                         CLIENTS_OUTSIDE_MAX);
    return NULL;
}

void clients_opened(struct clients *c, uint64_t net_id, const struct tls_peer *peer)
{
    struct client *k = client_create(c, net_id);
    FREE_AUTO char *why = NULL;

    if (!peer)
        return;
    k->role = api_role_of(peer->role);
    k->outside = true;
    why = refusal_of(c, peer);
    if (why)
        client_refuse(c, k, EXIT_CODE_NOT_LAUNCHED, why);
    else /* this message shows the other side that its certificate is accepted */
        client_say(c, k, &(struct client_msg){.type = CLIENT_REACHED, .reached = {""}});
}

bool clients_closed(struct clients *c, uint64_t net_id, const char *why)
{
    struct client *k = find_by_net(c, net_id);

    if (!k)
        return false;
    HASH_DELETE(hh2, c->by_net, k);
    k->net_id = 0;
    if (!k->session || !session_lost(c, k, why))
        client_end(c, k);
    return true;
}

bool clients_drained(struct clients *c, uint64_t net_id)
{
    const struct client *k = find_by_net(c, net_id);

    if (k && (!k->session || !session_numbered(k->session)))
        iof_client_drained(c->parts.iof, k->id);
    return k != NULL;
}

/* --- messages to clients */

static void send_encoded(struct clients *c, struct client *k, const void *data, size_t len)
{
    if (k->session)
        session_said(k->session, data, len);
    if (k->net_id)
        net_send(c->parts.net, k->net_id, data, len);
}

void clients_answer(struct clients *c, uint32_t client, const void *data, size_t len, bool last)
{
    struct client *k = client_find(c, client);

    if (!k)
        return;
    if (k->spawn)
        spawn_answer(c, k, data, len);
    if (k->tool && spawn_is_answered(k->spawn) && spawn_nspace(k->spawn))
        tool_named(c, k);
    send_encoded(c, k, data, len);
    if (!last)
        return;
    if (k->session) {
        session_over(c, k);
        return;
    }
    client_disconnect(c, k, true);
    client_forget(c, k);
}

void clients_inherit(struct clients *c, uint32_t client, bool stays)
{
    struct client *k;

    if (c->last_id < client)
        c->last_id = client;
    if (!stays)
        return;
    k = client_create_as(c, client, 0);
    k->submitted = true;
    session_inherit(c, k);
}

/* --- clients that spawn */

/* A spawner that is no rank of a job here is a tool. */
static void submit_spawn(struct clients *c, pmix_req req, const struct job_spec *spec,
                         char **sources)
{
    struct client *k = client_create(c, 0);

    k->submitted = true;
    k->spawn = spawn_create(req, spec);
    if (!core_job(c->parts.core, spec->parent_nspace))
        tool_create(k, spec);
    c->io.read_files(k->id, sources, spec->nfiles, c->io.arg);
    core_submit(c->parts.core, k->id, spec);
}

/* A member that does not have the machine's name shares the machine with the others. */
static int limit_hosts(const struct clients *c, struct job_spec *spec, const char *hosts,
                       struct err *err)
{
    if (!hosts)
        return 0;
    return hosts_is_machine(c->env->host_name)
               ? hosts_parse(hosts, &spec->hosts, &spec->nhosts, err)
               : hosts_parse_local(hosts, &spec->hosts, &spec->nhosts, err);
}

void clients_spawn(struct clients *c, pmix_req req, const struct job_spec *spec, const char *hosts)
{
    struct job_spec limited = *spec, own = {0};
    char **sources = NULL;
    struct err err = {0};

    host_enter(c->env);
    if (limit_hosts(c, &limited, hosts, &err) == 0 &&
        c->io.name_files(&limited, &own, &sources, &err, c->io.arg) == 0) {
        submit_spawn(c, req, &own, sources);
    } else {
        log_info("%s[%u] spawns: %s", spec->parent_nspace, spec->parent_rank, err.msg);
        pmix_srv_answer(c->parts.pmix, req, PMIX_ERR_BAD_PARAM, NULL, 0);
    }
    job_spec_free(&own);
    free(limited.hosts);
    host_drain(c->env);
}

/* --- messages from clients */

static void submit_job(struct clients *c, struct client *k, struct job_spec *spec)
{
    if (k->submitted) {
        client_refuse(c, k, EXIT_CODE_USAGE, "one job per connection");
        return;
    }
    k->submitted = true;
    for (size_t i = 0; k->outside && i < spec->napps; i++) {
        environ_complete(&spec->apps[i], environ, spec->nfiles > 0);
        environ_drop(&spec->apps[i], LIMITS_VARIABLE); /* those of another host */
    }
    if (spec->flags & JOB_DETACH)
        session_detach(c, k);
    files_source(c->parts.files, k->id, (uint32_t)spec->nfiles);
    core_submit(c->parts.core, k->id, spec);
}

/* May free k. */
static void refer_client(struct clients *c, struct client *k)
{
    struct client_msg m = {.type = CLIENT_REFERRAL};

    m.referral = core_referral(c->parts.core, c->nreferrals);
    if (k->submitted || k->session) {
        client_refuse(c, k, EXIT_CODE_USAGE, "a client asks for a place before its job");
    } else if (!m.referral.n && !session_has_room(c)) {
        client_refuse(c, k, EXIT_CODE_NOT_LAUNCHED, SESSION_NO_ROOM);
    } else {
        c->nreferrals += m.referral.n > 0;
        client_say(c, k, &m);
    }
}

static void take_files(struct clients *c, struct client *k, const struct client_bytes *m)
{
    struct err err = {0};

    if (k->session && session_is_over(k->session))
        return; /* these messages were in flight when the job ended */
    if (files_piece(c->parts.files, k->id, m->data, m->len, &err) < 0)
        client_refuse(c, k, EXIT_CODE_USAGE, err.msg);
}

/* May free k. */
static void take_message(struct clients *c, struct client *k, struct client_msg *m)
{
    switch (m->type) {
    case CLIENT_SUBMIT:
        submit_job(c, k, &m->submit.spec);
        break;
    case CLIENT_ATTACH:
        session_attach(c, k, m->attach.nspace);
        break;
    case CLIENT_STDIN:
        iof_client_stdin(c->parts.iof, k->id, m->input.data, m->input.len);
        break;
    case CLIENT_FILES:
        take_files(c, k, &m->files);
        break;
    case CLIENT_SIGNAL:
        core_client_signal(c->parts.core, k->id, (int)m->signal.signum);
        break;
    case CLIENT_CALL:
        c->io.call(k->id, k->role, &m->call, c->io.arg);
        break;
    case CLIENT_OPEN:
        session_open(c, k, &m->open);
        break;
    case CLIENT_REFERRAL_ASK:
        refer_client(c, k);
        break;
    case CLIENT_BYE:
        session_bye(c, k);
        break;
    default:
        client_refuse(c, k, EXIT_CODE_USAGE, "a client cannot send this message");
    }
}

static void take_frame(struct clients *c, struct client *k, const uint8_t *data, size_t len)
{
    struct client_msg m;
    struct err err = {0};

    if (client_msg_decode(data, len, &m, &err) < 0) {
        log_warn("client: %s", err.msg);
        client_refuse(c, k, EXIT_CODE_USAGE, err.msg);
        return;
    }
    if (client_msg_numbered(m.type) && session_heard(c, k, len) < 0)
        client_refuse(c, k, EXIT_CODE_USAGE, "more input than was asked for");
    else if (m.type != CLIENT_ACK)
        take_message(c, k, &m);
    else if (session_ack(c, k, m.ack.have) < 0)
        client_refuse(c, k, EXIT_CODE_USAGE,
                      "the client acknowledges messages that were never sent");
    client_msg_free(&m);
}

bool clients_frame(struct clients *c, uint64_t net_id, const uint8_t *data, size_t len)
{
    struct client *k = find_by_net(c, net_id);

    if (k)
        take_frame(c, k, data, len);
    return k != NULL;
}

/* --- for dvm/host/iof */

void clients_send(struct clients *c, uint32_t client, const void *data, size_t len)
{
    struct client *k = client_find(c, client);

    if (k && k->tool)
        tool_send(c, k, data, len);
    else if (k)
        send_encoded(c, k, data, len);
}

bool clients_there(const struct clients *c, uint32_t client)
{
    return client_find(c, client) != NULL;
}

size_t clients_pending(const struct clients *c, uint32_t client)
{
    const struct client *k = client_find(c, client);

    if (!k)
        return 0;
    if (k->tool)
        return tool_pending(k->tool);
    if (k->session)
        return session_pending(c, k);
    return k->net_id ? net_pending(c->parts.net, k->net_id) : 0;
}

void clients_pause(struct clients *c, uint32_t client, bool paused)
{
    struct client *k = client_find(c, client);

    if (k && k->tool)
        tool_pause(c, k, paused);
    else if (k && k->session)
        session_hold(c, k, paused);
    else if (k && k->net_id)
        net_pause(c->parts.net, k->net_id, paused);
}

/* --- construction and destruction */

struct clients *clients_create(const struct host_env *env, const struct clients_parts *parts,
                               const struct clients_io *io)
{
    struct clients *c = xcalloc(1, sizeof(*c));

    *c = (struct clients){.env = env,
                          .parts = *parts,
                          .io = *io,
                          .hooks = {.release = release_parts, .keeps = keeps_client}};
    return c;
}

void clients_destroy(struct clients *c)
{
    struct client *k, *tmp;

    if (!c)
        return;
    HASH_CLEAR(hh2, c->by_net);
    HASH_ITER(hh, c->by_id, k, tmp)
    {
        HASH_DELETE(hh, c->by_id, k);
        release_parts(c, k, false);
        free(k);
    }
    free(c);
}
