/* SPDX-License-Identifier: BSD-3-Clause */
/* Joins the services of a daemon: creates each one with what it needs of others, and passes every
 * event to the service that it is for.
 *
 * In: upcalls of connections, of the PMIx library, of jobs' output and of jobs' files; messages of
 * other daemons; the core's actions. Out: calls of services, of the core and of the daemon's parts.
 *
 * Order: host_create() makes the host and the service for ranks. The daemon then builds its parts
 * with the tables of upcalls from this file. host_join() makes the other services. host_destroy()
 * comes after the end of the parts, except the core.
 *
 * Invariants: no service includes the header of another one in services/. One that needs another is
 * given a table of functions here. A connection belongs to peers if its certificate is a daemon's
 * or this daemon has made it, otherwise to clients. Upcalls of connections run between host_enter()
 * and host_drain().
 *
 * Failures: a PMIx server that hangs ends this daemon with its ranks (core_fail()). An action of
 * the core that is for no service is left to the daemon (host_carry_out()). */
#include "dvm/host/host.h"

#include "base/log/log.h"
#include "dvm/host/app/app.h"
#include "dvm/host/clients/calls.h"
#include "dvm/host/clients/clients.h"
#include "dvm/host/ranks/ranks.h"
#include "dvm/host/services/assemblies.h"
#include "dvm/host/services/collectives.h"
#include "dvm/host/services/control.h"
#include "dvm/host/services/credentials.h"
#include "dvm/host/services/events.h"
#include "dvm/host/services/foreign_jobs.h"
#include "dvm/host/services/modex.h"
#include "dvm/host/services/peers.h"
#include "dvm/host/services/pulled_output.h"
#include "dvm/host/services/queries.h"
#include "dvm/host/services/questions.h"
#include "dvm/host/services/resize_requests.h"
#include "dvm/host/services/waits.h"

#include <pmix_common.h>
#include <stdlib.h>

struct host {
    const struct host_env *env;
    const struct host_parts *parts; /* of the daemon, which fills them in as it builds them */
    struct app_table app_messages;
    struct ranks *ranks;
    struct clients *clients;
    struct calls *calls;
    struct peers *peers;
    struct questions *questions;
    struct foreign_jobs *foreign_jobs;
    struct collectives *collectives;
    struct assemblies *assemblies;
    struct modex *modex;
    struct events *events;
    struct queries *queries;
    struct control *control;
    struct credentials *credentials;
    struct resize_requests *resize_requests;
    struct pulled_output *pulled_output;
    struct waits *waits;
};

/* --- connections: a daemon's certificate makes a peer, anything else a client */

static void on_open(uint64_t conn, bool incoming, const struct tls_peer *peer, void *arg)
{
    struct host *h = arg;

    host_enter(h->env);
    if (peers_is_daemon(peer) || !incoming)
        peers_opened(h->peers, conn, incoming, peer);
    else
        clients_opened(h->clients, conn, peer);
    host_drain(h->env);
}

static void on_frame(uint64_t conn, const uint8_t *data, size_t len, void *arg)
{
    struct host *h = arg;

    host_enter(h->env);
    if (!clients_frame(h->clients, conn, data, len))
        peers_frame(h->peers, conn, data, len);
    host_drain(h->env);
}

static void on_closed(uint64_t conn, const char *why, void *arg)
{
    struct host *h = arg;

    host_enter(h->env);
    if (!clients_closed(h->clients, conn, why))
        peers_closed(h->peers, conn, why);
    host_drain(h->env);
}

static void on_drained(uint64_t conn, void *arg)
{
    struct host *h = arg;

    host_enter(h->env);
    (void)clients_drained(h->clients, conn);
    host_drain(h->env);
}

const struct net_upcalls host_net_upcalls = {
    .on_open = on_open, .on_frame = on_frame, .on_closed = on_closed, .on_drained = on_drained};

/* --- the PMIx library: reports of ranks */

static void on_connected(const char *nspace, uint32_t rank, void *arg)
{
    struct host *h = arg;

    host_enter(h->env);
    core_proc(h->parts->core, nspace, rank, CORE_PROC_REGISTERED, 0, NULL);
    host_drain(h->env);
}

static void on_finalized(const char *nspace, uint32_t rank, void *arg)
{
    log_debug("job %s rank %u has finalized", nspace, rank);
}

static void on_abort(pmix_req req, const char *nspace, uint32_t rank, int code, const char *text,
                     void *arg)
{
    struct host *h = arg;

    host_enter(h->env);
    core_abort(h->parts->core, nspace, rank, code, text);
    pmix_srv_answer(h->parts->pmix, req, PMIX_SUCCESS, NULL, 0);
    host_drain(h->env);
}

static void on_held(const char *nspace, uint32_t rank, void *arg)
{
    struct host *h = arg;

    host_enter(h->env);
    core_proc(h->parts->core, nspace, rank, CORE_PROC_HELD, 0, NULL);
    host_drain(h->env);
}

static void on_continue(const char *nspace, uint32_t rank, void *arg)
{
    struct host *h = arg;

    host_enter(h->env);
    core_job_continue(h->parts->core, nspace, rank == PMIX_SRV_RANK_ALL ? JOB_RANK_ALL : rank);
    host_drain(h->env);
}

static void on_clean_add(uint64_t scope, unsigned flags, const char *path, void *arg)
{
    struct host *h = arg;

    odls_clean_add(h->parts->odls, scope, flags, path);
}

static void on_clean_run(uint64_t scope, void *arg)
{
    struct host *h = arg;

    odls_clean_run(h->parts->odls, scope);
}

static void on_silent(const char *why, void *arg)
{
    struct host *h = arg;
    FREE_AUTO char *text = xasprintf("its PMIx server hangs: %s", why);

    log_error("the PMIx server hangs, this daemon ends with all ranks here: %s", why);
    host_enter(h->env);
    core_fail(h->parts->core, text);
    host_drain(h->env);
}

/* --- the PMIx library: requests for a service */

static void on_spawn(pmix_req req, const struct job_spec *spec, const char *hosts, void *arg)
{
    struct host *h = arg;

    clients_spawn(h->clients, req, spec, hosts);
}

static void on_push(pmix_req req, const struct pmix_srv_proc *from, const struct pmix_srv_proc *to,
                    const void *data, size_t len, bool end, void *arg)
{
    struct host *h = arg;

    clients_push_input(h->clients, req, from, to, data, len, end);
}

static void on_fence(pmix_req req, char kind, const struct pmix_srv_proc *procs, size_t nprocs,
                     const void *data, size_t len, int timeout_s, void *arg)
{
    struct host *h = arg;

    collectives_join(h->collectives, req, kind, procs, nprocs, data, len, timeout_s);
}

static void on_dmodex(pmix_req req, const char *nspace, uint32_t rank, int timeout_s, void *arg)
{
    struct host *h = arg;

    modex_fetch(h->modex, req, nspace, rank, timeout_s);
}

static void on_data(pmix_req req, char op, const void *blob, size_t len, void *arg)
{
    struct host *h = arg;

    modex_data(h->modex, req, op, blob, len);
}

static enum store_result on_data_serve(const struct pmix_srv_data_ask *a, bool at_once,
                                       struct buf *answer, void *arg)
{
    const struct host *h = arg;
    struct published_ask of = {.request = {.question = a->question, .open_from = a->open_from},
                               .op = a->op,
                               .at_once = at_once,
                               .blob = a->blob,
                               .len = a->len};

    return core_published_serve(h->parts->core, a->from, &of, answer);
}

static void on_notify(pmix_req req, const char *nspace, const struct pmix_srv_reach *to,
                      const void *blob, size_t len, void *arg)
{
    struct host *h = arg;

    events_notify(h->events, req, nspace, to, blob, len);
}

static void on_tool(pmix_req req, void *arg)
{
    struct host *h = arg;

    events_tool_attached(h->events, req);
}

static void on_query(pmix_req req, const char *nspaces, void *arg)
{
    struct host *h = arg;

    queries_ask(h->queries, req, nspaces);
}

static void on_control(pmix_req req, const char *nspace, const struct pmix_srv_proc *procs,
                       size_t nprocs, int signum, void *arg)
{
    struct host *h = arg;

    control_signal(h->control, req, nspace, procs, nprocs, signum);
}

static void on_log(pmix_req req, const char *nspace, uint32_t rank, int stream, const char *text,
                   void *arg)
{
    struct host *h = arg;

    control_log(h->control, req, nspace, rank, stream, text);
}

static void on_resize(pmix_req req, const struct resize_request *ask, const char *nodes, void *arg)
{
    struct host *h = arg;

    resize_requests_ask(h->resize_requests, req, ask, nodes);
}

static void on_cred_get(pmix_req req, const struct pmix_srv_holder *who, void *arg)
{
    struct host *h = arg;

    credentials_make(h->credentials, req, who);
}

static void on_cred_check(pmix_req req, const void *data, size_t len, void *arg)
{
    struct host *h = arg;

    credentials_check(h->credentials, req, data, len);
}

static void on_pull(pmix_req req, const struct pmix_srv_proc *procs, size_t nprocs, void *arg)
{
    struct host *h = arg;

    pulled_output_ask(h->pulled_output, req, procs, nprocs);
}

static void on_output_read(uint32_t client, const char *nspace, size_t len, bool wanted, void *arg)
{
    struct host *h = arg;

    if (client == 0)
        pulled_output_read(h->pulled_output, nspace, len, wanted);
    else
        clients_output_read(h->clients, client, len);
}

static void on_output_over(const char *nspace, void *arg)
{
    struct host *h = arg;

    pulled_output_over(h->pulled_output, nspace);
}

static void on_waits(const struct pmix_srv_wait *list, size_t n, void *arg)
{
    struct host *h = arg;

    waits_seen(h->waits, list, n);
}

const struct pmix_srv_upcalls host_pmix_upcalls = {.on_connected = on_connected,
                                                   .on_finalized = on_finalized,
                                                   .on_abort = on_abort,
                                                   .on_fence = on_fence,
                                                   .on_dmodex = on_dmodex,
                                                   .on_data = on_data,
                                                   .on_data_serve = on_data_serve,
                                                   .on_spawn = on_spawn,
                                                   .on_notify = on_notify,
                                                   .on_held = on_held,
                                                   .on_continue = on_continue,
                                                   .on_clean_add = on_clean_add,
                                                   .on_clean_run = on_clean_run,
                                                   .on_control = on_control,
                                                   .on_resize = on_resize,
                                                   .on_cred_get = on_cred_get,
                                                   .on_cred_check = on_cred_check,
                                                   .on_query = on_query,
                                                   .on_log = on_log,
                                                   .on_tool = on_tool,
                                                   .on_pull = on_pull,
                                                   .on_output_read = on_output_read,
                                                   .on_output_over = on_output_over,
                                                   .on_push = on_push,
                                                   .on_waits = on_waits,
                                                   .on_silent = on_silent};

/* --- other daemons */

static void take_app_message(struct host *h, uint32_t from, uint32_t kind, const void *data,
                             size_t len)
{
    if (kind < IOF_KINDS)
        iof_msg(h->parts->iof, from, kind, data, len);
    else if (kind >= FILES_OPEN && kind < FILES_KINDS)
        files_msg(h->parts->files, from, kind, data, len);
    else
        app_table_dispatch(&h->app_messages, from, kind, data, len);
}

static void handle_app_messages(struct host *h)
{
    struct app_table *t = &h->app_messages;

    questions_handle(h->questions, t);
    foreign_jobs_handle(h->foreign_jobs, t);
    modex_handle(h->modex, t);
    events_handle(h->events, t);
    queries_handle(h->queries, t);
    control_handle(h->control, t);
    calls_handle(h->calls, t);
    waits_handle(h->waits, t);
}

/* --- output and input of jobs */

static void client_send(uint32_t client, const void *data, size_t len, void *arg)
{
    struct host *h = arg;

    clients_send(h->clients, client, data, len);
}

static bool client_there(uint32_t client, void *arg)
{
    const struct host *h = arg;

    return clients_there(h->clients, client);
}

static size_t client_pending(uint32_t client, void *arg)
{
    const struct host *h = arg;

    return clients_pending(h->clients, client);
}

static void client_pause(uint32_t client, bool paused, void *arg)
{
    struct host *h = arg;

    clients_pause(h->clients, client, paused);
}

/* From the daemon of a job's submitter, for tools here. */
static void copy_output(enum iof_kind kind, const char *nspace, uint32_t rank, int stream,
                        const void *data, size_t len, void *arg)
{
    struct host *h = arg;

    pulled_output_copy(h->pulled_output, kind, nspace, rank, stream, data, len);
}

struct iof_io host_iof_io(struct host *h)
{
    return (struct iof_io){.client_send = client_send,
                           .client_there = client_there,
                           .client_pending = client_pending,
                           .client_pause = client_pause,
                           .copy = copy_output,
                           .arg = h};
}

struct files_io host_files_io(struct host *h)
{
    struct files_io io = ranks_files_io;

    io.arg = h->ranks;
    return io;
}

struct host_odls host_odls(struct host *h)
{
    return (struct host_odls){&ranks_odls_upcalls, h->ranks};
}

static void on_files_room(uint32_t client, uint64_t total, void *arg)
{
    struct host *h = arg;

    clients_files_room(h->clients, client, total);
}

/* --- calls from one service to another */

static void on_call(uint32_t client, enum api_role role, const struct client_call *call, void *arg)
{
    struct host *h = arg;

    calls_make(h->calls, client, role, call);
}

static void on_reply(uint32_t client, int status, const char *body, void *arg)
{
    struct host *h = arg;

    clients_reply(h->clients, client, status, body);
}

static int on_line(uint32_t client, const char *event, void *arg)
{
    struct host *h = arg;

    return clients_line(h->clients, client, event);
}

static void on_slow(uint32_t client, void *arg)
{
    struct host *h = arg;

    clients_slow(h->clients, client);
}

static int name_files(const struct job_spec *spec, struct job_spec *own, char ***sources,
                      struct err *err, void *arg)
{
    const struct host *h = arg;

    return ranks_spawn_files(h->ranks, spec, own, sources, err);
}

static void read_files(uint32_t client, char **sources, size_t n, void *arg)
{
    const struct host *h = arg;

    ranks_read_files(h->ranks, client, sources, n);
}

static void on_client_gone(uint32_t client, void *arg)
{
    const struct host *h = arg;

    ranks_client_gone(h->ranks, client);
}

static void on_connected_procs(const struct pmix_srv_proc *procs, size_t n, void *arg)
{
    struct host *h = arg;

    assemblies_connect(h->assemblies, procs, n);
}

static void on_disconnected_procs(const struct pmix_srv_proc *procs, size_t n, void *arg)
{
    struct host *h = arg;

    assemblies_disconnect(h->assemblies, procs, n);
}

static void signal_rank(const char *nspace, uint32_t rank, int signum, void *arg)
{
    const struct host *h = arg;

    ranks_signal_one(h->ranks, nspace, rank, signum);
}

static void write_output(const char *nspace, uint32_t rank, int stream, const void *data,
                         size_t len, void *arg)
{
    const struct host *h = arg;

    ranks_write(h->ranks, nspace, rank, stream, data, len);
}

static bool is_spawned_here(const char *nspace, void *arg)
{
    const struct host *h = arg;

    return clients_tool_spawned(h->clients, nspace);
}

/* --- the core's actions */

static void end_job(struct host *h, const struct out_job_ended *act)
{
    pmix_srv_job_over(h->parts->pmix, act->nspace);
    pulled_output_job_ended(h->pulled_output, act->nspace, act->exit_code);
    foreign_jobs_ended(h->foreign_jobs, act->nspace);
    assemblies_job_ended(h->assemblies, act->nspace);
}

static void forget_member(struct host *h, const struct out_member_gone *act)
{
    questions_member_gone(h->questions, act->vpid);
    iof_member_gone(h->parts->iof, act->vpid);
    pulled_output_member_gone(h->pulled_output, act->vpid);
    events_member_gone(h->events, act->vpid);
    if (act->why == REMOVE_LOST)
        pmix_srv_notify_offline(h->parts->pmix, act->vpid, act->host);
    files_member_gone(h->parts->files, act->vpid);
}

bool host_carry_out(struct host *h, const struct out_act *act)
{
    switch (act->kind) {
    case OUT_CONNECT:
        peers_connect(h->peers, &act->connect);
        break;
    case OUT_SEND:
        peers_send(h->peers, act->send.conn, act->send.frame.data, act->send.frame.len);
        break;
    case OUT_CLOSE:
        peers_close(h->peers, act->close.conn, act->close.flush);
        break;
    case OUT_LAUNCH:
        waits_begin(h->waits);
        ranks_act(h->ranks, act);
        break;
    case OUT_TAKE_FILES:
    case OUT_DROP_FILES:
    case OUT_CREATE:
    case OUT_START:
    case OUT_SIGNAL:
    case OUT_END_RANKS:
    case OUT_CONTINUE:
    case OUT_CLEAN:
        ranks_act(h->ranks, act);
        break;
    case OUT_JOB_ENDED:
        end_job(h, &act->job_ended);
        break;
    case OUT_RANKS_LOST:
        assemblies_ranks_lost(h->assemblies, &act->ranks_lost.lost);
        break;
    case OUT_APP:
        take_app_message(h, act->app.from, act->app.kind, act->app.data.data, act->app.data.len);
        break;
    case OUT_GATHER:
        collectives_ended(h->collectives, act->gather.req, act->gather.outcome,
                          act->gather.data.data, act->gather.data.len);
        break;
    case OUT_CLIENT:
        clients_answer(h->clients, act->client.client, act->client.msg.data, act->client.msg.len,
                       act->client.last);
        break;
    case OUT_INHERITED:
        clients_inherit(h->clients, act->inherited.client, act->inherited.stays);
        break;
    case OUT_FILES:
        files_begin(h->parts->files, act->files.client);
        break;
    case OUT_STDIN:
        iof_client_started(h->parts->iof, act->input.client);
        break;
    case OUT_EVENT:
        ctl_on_event(h->parts->ctl, act->event.number);
        break;
    case OUT_ANSWER:
        ctl_on_answer(h->parts->ctl, act->answer.number);
        break;
    case OUT_MEMBER_GONE:
        forget_member(h, &act->member_gone);
        break;
    case OUT_RESIZE_ANSWER:
        resize_requests_answered(h->resize_requests, &act->resize_answer);
        break;
    case OUT_RESIZE_ENDED:
        resize_requests_ended(h->resize_requests, &act->resize_ended.end);
        break;
    default:
        return false;
    }
    return true;
}

/* --- construction and destruction */

static void join_ranks(struct host *h)
{
    struct ranks_parts parts = {.core = h->parts->core,
                                .odls = h->parts->odls,
                                .pmix = h->parts->pmix,
                                .iof = h->parts->iof,
                                .files = h->parts->files};

    ranks_join(h->ranks, &parts);
}

static void join_clients(struct host *h)
{
    struct clients_parts parts = {.core = h->parts->core,
                                  .net = h->parts->net,
                                  .iof = h->parts->iof,
                                  .files = h->parts->files,
                                  .pmix = h->parts->pmix,
                                  .ctl = h->parts->ctl};
    struct clients_io clients_io = {.call = on_call,
                                    .name_files = name_files,
                                    .read_files = read_files,
                                    .gone = on_client_gone,
                                    .arg = h};
    struct calls_io calls_io = {.reply = on_reply, .line = on_line, .slow = on_slow, .arg = h};

    h->clients = clients_create(h->env, &parts, &clients_io);
    h->calls = calls_create(h->env, h->parts->core, h->parts->ctl, &calls_io);
}

void host_join(struct host *h)
{
    struct collectives_io collectives_io = {
        .connected = on_connected_procs, .disconnected = on_disconnected_procs, .arg = h};
    struct control_io control_io = {
        .signal_rank = signal_rank, .write_output = write_output, .arg = h};
    struct pulled_output_io pulled_io = {.is_spawned_here = is_spawned_here, .arg = h};
    const struct host_env *env = h->env;
    const struct host_ask *ask;
    const struct host_jobs *jobs;

    join_ranks(h);
    join_clients(h);
    h->peers = peers_create(h->env->loop, h->parts->net, h->parts->core);
    h->questions = questions_create(env, h->parts->core, h->parts->pmix);
    ask = questions_asking(h->questions);
    h->foreign_jobs = foreign_jobs_create(env, h->parts->core, h->parts->pmix, ask);
    jobs = foreign_jobs_known(h->foreign_jobs);
    h->assemblies = assemblies_create(h->parts->pmix);
    h->collectives = collectives_create(env, h->parts->core, h->parts->pmix, jobs, &collectives_io);
    h->modex = modex_create(h->parts->core, h->parts->pmix, ask, jobs);
    h->events = events_create(env, h->parts->core, h->parts->pmix, ask);
    h->queries = queries_create(env, h->parts->core, h->parts->pmix, ask);
    h->control = control_create(env, h->parts->core, h->parts->pmix, ask, jobs, &control_io);
    h->credentials = credentials_create(env, h->parts->tls, h->parts->core, h->parts->pmix, jobs);
    h->resize_requests = resize_requests_create(env, h->parts->core, h->parts->pmix);
    h->pulled_output =
        pulled_output_create(env, h->parts->core, h->parts->pmix, h->parts->iof, jobs, &pulled_io);
    h->waits =
        waits_create(env, h->parts->core, h->parts->pmix, h->parts->odls, h->parts->wait_told_ms);
    handle_app_messages(h);
}

struct host *host_create(const struct host_env *env, const struct host_parts *parts)
{
    struct host *h = xcalloc(1, sizeof(*h));
    struct ranks_io ranks_io = {.files_room = on_files_room, .arg = h};

    h->env = env;
    h->parts = parts;
    h->ranks = ranks_create(env, &ranks_io);
    return h;
}

void host_destroy(struct host *h)
{
    if (!h)
        return;
    ranks_destroy(h->ranks);
    clients_destroy(h->clients);
    calls_destroy(h->calls);
    foreign_jobs_destroy(h->foreign_jobs);
    questions_destroy(h->questions);
    assemblies_destroy(h->assemblies);
    collectives_destroy(h->collectives);
    modex_destroy(h->modex);
    events_destroy(h->events);
    queries_destroy(h->queries);
    control_destroy(h->control);
    credentials_destroy(h->credentials);
    resize_requests_destroy(h->resize_requests);
    pulled_output_destroy(h->pulled_output);
    waits_destroy(h->waits);
    peers_destroy(h->peers);
    free(h);
}
