/* SPDX-License-Identifier: BSD-3-Clause */
/* Joins the services of a daemon: creates each with what it needs of others, and passes upcalls of
 * the PMIx library, of the network and of other daemons to the service that they are for. No
 * service names another one: all that they have to do with each other is here. */
#include "dvm/host/daemon_private.h"

#include "base/log/log.h"

#include <pmix_common.h>
#include <stdlib.h>

/* --- connections: a daemon's certificate makes a peer, anything else a client */

static void on_open(uint64_t conn, bool incoming, const struct tls_peer *peer, void *arg)
{
    struct daemon *d = arg;

    daemon_enter(d);
    if (peers_is_daemon(peer) || !incoming)
        peers_opened(d->peers, conn, incoming, peer);
    else
        clients_opened(d->clients, conn, peer);
    daemon_drain(d);
}

static void on_frame(uint64_t conn, const uint8_t *data, size_t len, void *arg)
{
    struct daemon *d = arg;

    daemon_enter(d);
    if (!clients_frame(d->clients, conn, data, len))
        peers_frame(d->peers, conn, data, len);
    daemon_drain(d);
}

static void on_closed(uint64_t conn, const char *why, void *arg)
{
    struct daemon *d = arg;

    daemon_enter(d);
    if (!clients_closed(d->clients, conn, why))
        peers_closed(d->peers, conn, why);
    daemon_drain(d);
}

static void on_drained(uint64_t conn, void *arg)
{
    struct daemon *d = arg;

    daemon_enter(d);
    (void)clients_drained(d->clients, conn);
    daemon_drain(d);
}

const struct net_upcalls host_net_upcalls = {
    .on_open = on_open, .on_frame = on_frame, .on_closed = on_closed, .on_drained = on_drained};

/* --- the PMIx library: ranks come, go and stand still */

static void on_connected(const char *nspace, uint32_t rank, void *arg)
{
    struct daemon *d = arg;

    daemon_enter(d);
    core_proc(d->core, nspace, rank, CORE_PROC_REGISTERED, 0, NULL);
    daemon_drain(d);
}

static void on_finalized(const char *nspace, uint32_t rank, void *arg)
{
    log_debug("job %s rank %u has finalized", nspace, rank);
}

static void on_abort(pmix_req req, const char *nspace, uint32_t rank, int code, const char *text,
                     void *arg)
{
    struct daemon *d = arg;

    daemon_enter(d);
    core_abort(d->core, nspace, rank, code, text);
    pmix_srv_answer(d->pmix, req, PMIX_SUCCESS, NULL, 0);
    daemon_drain(d);
}

static void on_held(const char *nspace, uint32_t rank, void *arg)
{
    struct daemon *d = arg;

    daemon_enter(d);
    core_proc(d->core, nspace, rank, CORE_PROC_HELD, 0, NULL);
    daemon_drain(d);
}

static void on_continue(const char *nspace, uint32_t rank, void *arg)
{
    struct daemon *d = arg;

    daemon_enter(d);
    core_job_continue(d->core, nspace, rank == PMIX_SRV_RANK_ALL ? JOB_RANK_ALL : rank);
    daemon_drain(d);
}

static void on_clean_add(uint64_t scope, unsigned flags, const char *path, void *arg)
{
    struct daemon *d = arg;

    odls_clean_add(d->odls, scope, flags, path);
}

static void on_clean_run(uint64_t scope, void *arg)
{
    struct daemon *d = arg;

    odls_clean_run(d->odls, scope);
}

static void on_silent(const char *why, void *arg)
{
    struct daemon *d = arg;
    FREE_AUTO char *text = xasprintf("its PMIx server stands still: %s", why);

    log_error("the PMIx server stands still, this daemon ends with all ranks here: %s", why);
    daemon_enter(d);
    core_fail(d->core, text);
    daemon_drain(d);
}

/* --- the PMIx library: requests for a service */

static void on_spawn(pmix_req req, const struct job_spec *spec, const char *hosts, void *arg)
{
    struct daemon *d = arg;

    clients_spawn(d->clients, req, spec, hosts);
}

static void on_push(pmix_req req, const struct pmix_srv_proc *from, const struct pmix_srv_proc *to,
                    const void *data, size_t len, bool end, void *arg)
{
    struct daemon *d = arg;

    clients_push_input(d->clients, req, from, to, data, len, end);
}

static void on_fence(pmix_req req, char kind, const struct pmix_srv_proc *procs, size_t nprocs,
                     const void *data, size_t len, int timeout_s, void *arg)
{
    struct daemon *d = arg;

    collectives_join(d->collectives, req, kind, procs, nprocs, data, len, timeout_s);
}

static void on_dmodex(pmix_req req, const char *nspace, uint32_t rank, int timeout_s, void *arg)
{
    struct daemon *d = arg;

    modex_fetch(d->modex, req, nspace, rank, timeout_s);
}

static void on_data(pmix_req req, char op, const void *blob, size_t len, void *arg)
{
    struct daemon *d = arg;

    modex_data(d->modex, req, op, blob, len);
}

static void on_notify(pmix_req req, const char *nspace, const struct pmix_srv_reach *to,
                      const void *blob, size_t len, void *arg)
{
    struct daemon *d = arg;

    events_notify(d->events, req, nspace, to, blob, len);
}

static void on_tool(pmix_req req, void *arg)
{
    struct daemon *d = arg;

    events_tool_attached(d->events, req);
}

static void on_query(pmix_req req, const char *nspaces, void *arg)
{
    struct daemon *d = arg;

    queries_ask(d->queries, req, nspaces);
}

static void on_control(pmix_req req, const struct pmix_srv_proc *procs, size_t nprocs, int signum,
                       void *arg)
{
    struct daemon *d = arg;

    control_signal(d->control, req, procs, nprocs, signum);
}

static void on_log(pmix_req req, const char *nspace, uint32_t rank, int stream, const char *text,
                   void *arg)
{
    struct daemon *d = arg;

    control_log(d->control, req, nspace, rank, stream, text);
}

static void on_alloc(pmix_req req, const struct alloc_ask *ask, const char *nodes, void *arg)
{
    struct daemon *d = arg;

    resize_requests_ask(d->resize_requests, req, ask, nodes);
}

static void on_cred_get(pmix_req req, const struct pmix_srv_holder *who, void *arg)
{
    struct daemon *d = arg;

    credentials_make(d->credentials, req, who);
}

static void on_cred_check(pmix_req req, const void *data, size_t len, void *arg)
{
    struct daemon *d = arg;

    credentials_check(d->credentials, req, data, len);
}

static void on_pull(pmix_req req, const struct pmix_srv_proc *procs, size_t nprocs, void *arg)
{
    struct daemon *d = arg;

    pulled_output_ask(d->pulled_output, req, procs, nprocs);
}

static void on_output_read(uint32_t client, const char *nspace, size_t len, bool wanted, void *arg)
{
    struct daemon *d = arg;

    if (client == 0)
        pulled_output_read(d->pulled_output, nspace, len, wanted);
    else
        clients_output_read(d->clients, client, len);
}

static void on_output_over(const char *nspace, void *arg)
{
    struct daemon *d = arg;

    pulled_output_over(d->pulled_output, nspace);
}

const struct pmix_srv_upcalls host_pmix_upcalls = {.on_connected = on_connected,
                                                   .on_finalized = on_finalized,
                                                   .on_abort = on_abort,
                                                   .on_fence = on_fence,
                                                   .on_dmodex = on_dmodex,
                                                   .on_data = on_data,
                                                   .on_spawn = on_spawn,
                                                   .on_notify = on_notify,
                                                   .on_held = on_held,
                                                   .on_continue = on_continue,
                                                   .on_clean_add = on_clean_add,
                                                   .on_clean_run = on_clean_run,
                                                   .on_control = on_control,
                                                   .on_alloc = on_alloc,
                                                   .on_cred_get = on_cred_get,
                                                   .on_cred_check = on_cred_check,
                                                   .on_query = on_query,
                                                   .on_log = on_log,
                                                   .on_tool = on_tool,
                                                   .on_pull = on_pull,
                                                   .on_output_read = on_output_read,
                                                   .on_output_over = on_output_over,
                                                   .on_push = on_push,
                                                   .on_silent = on_silent};

/* --- other daemons */

void host_app_message(struct daemon *d, uint32_t from, uint32_t kind, const void *data, size_t len)
{
    if (kind < IOF_KINDS)
        iof_msg(d->iof, from, kind, data, len);
    else if (kind >= STAGE_READY && kind < STAGE_KINDS)
        stage_msg(d->stage, from, kind, data, len);
    else
        app_table_dispatch(&d->app_messages, from, kind, data, len);
}

static void handle_app_messages(struct daemon *d)
{
    struct app_table *t = &d->app_messages;

    questions_handle(d->questions, t);
    foreign_jobs_handle(d->foreign_jobs, t);
    modex_handle(d->modex, t);
    events_handle(d->events, t);
    queries_handle(d->queries, t);
    control_handle(d->control, t);
    calls_handle(d->calls, t);
}

/* --- output and input of jobs */

static void client_send(uint32_t client, const void *data, size_t len, void *arg)
{
    struct daemon *d = arg;

    clients_send(d->clients, client, data, len);
}

static size_t client_pending(uint32_t client, void *arg)
{
    const struct daemon *d = arg;

    return clients_pending(d->clients, client);
}

static void client_pause(uint32_t client, bool paused, void *arg)
{
    struct daemon *d = arg;

    clients_pause(d->clients, client, paused);
}

/* From the daemon of a job's submitter, for tools here. */
static void copy_output(enum iof_kind kind, const char *nspace, uint32_t rank, int stream,
                        const void *data, size_t len, void *arg)
{
    struct daemon *d = arg;

    pulled_output_copy(d->pulled_output, kind, nspace, rank, stream, data, len);
}

const struct iof_io host_iof_io = {.client_send = client_send,
                                   .client_pending = client_pending,
                                   .client_pause = client_pause,
                                   .copy = copy_output};

/* --- what one service tells another */

static void on_call(uint32_t client, const char *role, const struct client_call *call, void *arg)
{
    struct daemon *d = arg;

    calls_make(d->calls, client, role, call);
}

static void on_reply(uint32_t client, int status, const char *body, void *arg)
{
    struct daemon *d = arg;

    clients_reply(d->clients, client, status, body);
}

static int on_line(uint32_t client, const char *event, void *arg)
{
    struct daemon *d = arg;

    return clients_line(d->clients, client, event);
}

static int name_files(const struct job_spec *spec, struct job_spec *own, char ***sources,
                      struct err *err, void *arg)
{
    const struct daemon *d = arg;

    return ranks_spawn_files(d->ranks, spec, own, sources, err);
}

static void read_files(uint32_t client, char **sources, size_t n, void *arg)
{
    const struct daemon *d = arg;

    ranks_read_files(d->ranks, client, sources, n);
}

static void on_client_gone(uint32_t client, void *arg)
{
    const struct daemon *d = arg;

    ranks_client_gone(d->ranks, client);
}

static void connected(const struct pmix_srv_proc *procs, size_t n, void *arg)
{
    struct daemon *d = arg;

    assemblies_connect(d->assemblies, procs, n);
}

static void disconnected(const struct pmix_srv_proc *procs, size_t n, void *arg)
{
    struct daemon *d = arg;

    assemblies_disconnect(d->assemblies, procs, n);
}

static void signal_rank(const char *nspace, uint32_t rank, int signum, void *arg)
{
    const struct daemon *d = arg;

    ranks_signal_one(d->ranks, nspace, rank, signum);
}

static void write_output(const char *nspace, uint32_t rank, int stream, const void *data,
                         size_t len, void *arg)
{
    const struct daemon *d = arg;

    ranks_write(d->ranks, nspace, rank, stream, data, len);
}

static bool is_spawned_here(const char *nspace, void *arg)
{
    const struct daemon *d = arg;

    return clients_tool_spawned(d->clients, nspace);
}

/* --- life */

static void join_clients(struct daemon *d)
{
    struct clients_parts parts = {.core = d->core,
                                  .net = d->net,
                                  .iof = d->iof,
                                  .stage = d->stage,
                                  .pmix = d->pmix,
                                  .ctl = d->ctl};
    struct clients_io clients_io = {.call = on_call,
                                    .name_files = name_files,
                                    .read_files = read_files,
                                    .gone = on_client_gone,
                                    .arg = d};
    struct calls_io calls_io = {.reply = on_reply, .line = on_line, .arg = d};

    d->clients = clients_create(&d->env, &parts, &clients_io);
    d->calls = calls_create(&d->env, d->core, d->ctl, &calls_io);
}

void host_join(struct daemon *d)
{
    struct collectives_io collectives_io = {
        .connected = connected, .disconnected = disconnected, .arg = d};
    struct control_io control_io = {
        .signal_rank = signal_rank, .write_output = write_output, .arg = d};
    struct pulled_output_io pulled_io = {.is_spawned_here = is_spawned_here, .arg = d};
    const struct host_env *env = &d->env;
    const struct host_ask *ask;
    const struct host_jobs *jobs;

    join_clients(d);
    d->peers = peers_create(d->net, d->core);
    d->questions = questions_create(env, d->core, d->pmix);
    ask = questions_asking(d->questions);
    d->foreign_jobs = foreign_jobs_create(env, d->core, d->pmix, ask);
    jobs = foreign_jobs_known(d->foreign_jobs);
    d->assemblies = assemblies_create(d->pmix);
    d->collectives = collectives_create(env, d->core, d->pmix, jobs, &collectives_io);
    d->modex = modex_create(d->pmix, ask, jobs);
    d->events = events_create(env, d->core, d->pmix, ask);
    d->queries = queries_create(env, d->core, d->pmix, ask);
    d->control = control_create(env, d->core, d->pmix, ask, jobs, &control_io);
    d->credentials = credentials_create(env, d->tls, d->core, d->pmix, jobs);
    d->resize_requests = resize_requests_create(env, d->core, d->pmix);
    d->pulled_output = pulled_output_create(env, d->core, d->pmix, d->iof, jobs, &pulled_io);
    handle_app_messages(d);
}

void host_part(struct daemon *d)
{
    clients_destroy(d->clients);
    calls_destroy(d->calls);
    foreign_jobs_destroy(d->foreign_jobs);
    questions_destroy(d->questions);
    assemblies_destroy(d->assemblies);
    collectives_destroy(d->collectives);
    modex_destroy(d->modex);
    events_destroy(d->events);
    queries_destroy(d->queries);
    control_destroy(d->control);
    credentials_destroy(d->credentials);
    resize_requests_destroy(d->resize_requests);
    pulled_output_destroy(d->pulled_output);
    peers_destroy(d->peers);
}
