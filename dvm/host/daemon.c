/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds the parts of a daemon, feeds the core, carries out its actions in order. */
#include "dvm/host/daemon_private.h"

#include "base/log/log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define TLS_REFRESH_MS 30000
#define SILENT_MS 10000 /* as other daemons have, if no option says */

void daemon_enter(struct daemon *d)
{
    core_time(d->core, loop_now_ms(d->loop), loop_wall_ms());
}

int daemon_send_app(struct daemon *d, uint32_t vpid, enum out_class traffic, uint32_t kind,
                    const struct buf *b)
{
    struct err err = {0};
    int rc;

    if (b->failed) { /* what is there of it is not to be taken for the whole */
        log_info("a message to vpid %u is too long", vpid);
        return -1;
    }
    daemon_enter(d);
    rc = core_app_send(d->core, vpid, traffic, kind, b->data, b->len, &err);
    if (rc < 0)
        log_info("%s", err.msg);
    daemon_drain(d);
    return rc;
}

static char *session_path(const struct daemon *d, const char *name)
{
    return xasprintf("%s/%s", d->opts.session_dir, name);
}

static int write_file(const struct daemon *d, const char *name, const char *text, struct err *err)
{
    char *tmp FREE_AUTO = xasprintf("%s/.%s.tmp", d->opts.session_dir, name);
    char *path FREE_AUTO = session_path(d, name);
    int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0)
        ok &= close(fd) == 0;
    if (!ok || rename(tmp, path) < 0)
        return err_sys(err, errno, "writing %s", path);
    return 0;
}

static void park(struct daemon *d)
{
    struct err err = {0};

    if (write_file(d, "parked", "this daemon has left its DVM\n", &err) < 0)
        log_error("%s", err.msg);
}

static void on_flushed(void *arg)
{
    struct daemon *d = arg;

    loop_stop(d->loop);
}

static void end_program(struct daemon *d, int code)
{
    if (d->exiting)
        return;
    d->exiting = true;
    d->exit_code = code;
    net_finish(d->net, on_flushed, d); /* what was queued leaves the sockets first */
}

static void log_act(const struct out_act *act)
{
    switch ((enum log_level)act->number) {
    case LOG_LEVEL_ERROR:
        log_error("%s", act->a);
        break;
    case LOG_LEVEL_WARN:
        log_warn("%s", act->a);
        break;
    case LOG_LEVEL_INFO:
        log_info("%s", act->a);
        break;
    case LOG_LEVEL_DEBUG:
        log_debug("%s", act->a);
        break;
    }
}

static void carry_out(struct daemon *d, struct out_act *act)
{
    switch (act->kind) {
    case OUT_CONNECT:
        peers_connect(d->peers, act->conn, act->a, (uint16_t)act->number);
        break;
    case OUT_SEND:
        peers_send(d->peers, act->conn, act->data.data, act->data.len);
        break;
    case OUT_CLOSE:
        peers_close(d->peers, act->conn, act->number == 1);
        break;
    case OUT_LAUNCH:
    case OUT_TAKE_FILES:
    case OUT_DROP_FILES:
    case OUT_CREATE:
    case OUT_START:
    case OUT_SIGNAL:
    case OUT_END_RANKS:
    case OUT_CONTINUE:
    case OUT_CLEAN:
        ranks_act(d->ranks, act);
        break;
    case OUT_JOB_ENDED:
        pmix_srv_job_over(d->pmix, act->a);
        pulled_output_job_ended(d->pulled_output, act->a, (int)act->number);
        foreign_jobs_ended(d->foreign_jobs, act->a);
        assemblies_job_ended(d->assemblies, act->a);
        break;
    case OUT_RANKS_LOST:
        assemblies_ranks_lost(d->assemblies, act->data.data, act->data.len);
        break;
    case OUT_APP:
        host_app_message(d, act->vpid, act->kind_app, act->data.data, act->data.len);
        break;
    case OUT_GATHER:
        collectives_ended(d->collectives, act->req, (int)act->number, act->data.data,
                          act->data.len);
        break;
    case OUT_CLIENT:
        clients_answer(d->clients, (uint32_t)act->conn, act->data.data, act->data.len,
                       act->number != 0);
        break;
    case OUT_STAGE:
        stage_begin(d->stage, (uint32_t)act->conn);
        break;
    case OUT_STDIN:
        iof_client_started(d->iof, (uint32_t)act->conn);
        break;
    case OUT_EVENT:
        ctl_on_event(d->ctl, act->req);
        break;
    case OUT_STATE:
        break;
    case OUT_PARK:
        park(d);
        break;
    case OUT_EXIT:
        end_program(d, (int)act->number);
        break;
    case OUT_LOG:
        log_act(act);
        break;
    case OUT_MEMBER_GONE:
        questions_member_gone(d->questions, act->vpid);
        iof_member_gone(d->iof, act->vpid);
        pulled_output_member_gone(d->pulled_output, act->vpid);
        events_member_gone(d->events, act->vpid);
        if (act->number == REMOVE_LOST)
            pmix_srv_notify_offline(d->pmix, act->vpid, act->a);
        stage_member_gone(d->stage, act->vpid);
        break;
    case OUT_ALLOC:
        resize_requests_answered(d->resize_requests, act);
        break;
    case OUT_ALLOC_ENDED:
        resize_requests_ended(d->resize_requests, act);
        break;
    }
}

/* What an action leads to may give the core new input: the outermost call carries everything out,
 * in order. */
void daemon_drain(struct daemon *d)
{
    struct out_act act;
    uint64_t due;

    if (d->draining)
        return;
    d->draining = true;
    while (core_next(d->core, &act)) {
        carry_out(d, &act);
        out_act_free(&act);
        if (d->iof)
            iof_turn(d->iof);
    }
    d->draining = false;
    due = core_deadline(d->core);
    if (due == UINT64_MAX)
        loop_timer_disarm(d->timer);
    else
        loop_timer_arm(d->timer, due > loop_now_ms(d->loop) ? due - loop_now_ms(d->loop) : 0);
}

static void on_due(void *arg)
{
    struct daemon *d = arg;

    daemon_enter(d);
    core_tick(d->core);
    daemon_drain(d);
}

static void drain_for_service(void *arg)
{
    daemon_drain(arg);
}

static void on_term(int signum, void *arg)
{
    struct daemon *d = arg;

    log_info("signal %d: leaving", signum);
    daemon_enter(d);
    core_sigterm(d->core);
    daemon_drain(d);
}

static void on_tls_due(void *arg)
{
    struct daemon *d = arg;
    struct err err = {0};
    int rc = tls_ctx_refresh(d->tls, &err);

    if (rc < 0)
        log_warn("certificates: %s", err.msg);
    else if (rc > 0)
        log_info("certificates: read again");
    loop_timer_arm(d->tls_timer, TLS_REFRESH_MS);
}

/* --- construction */

static void enter_for_service(void *arg)
{
    daemon_enter(arg);
}

static int send_for_service(uint32_t vpid, enum out_class traffic, uint32_t kind,
                            const struct buf *b, void *arg)
{
    return daemon_send_app(arg, vpid, traffic, kind, b);
}

static void make_env(struct daemon *d)
{
    d->env = (struct host_env){.loop = d->loop,
                               .vpid = d->opts.vpid,
                               .cluster = d->opts.cluster,
                               .host_name = d->opts.host_name,
                               .session_dir = d->opts.session_dir,
                               .enter = enter_for_service,
                               .drain = drain_for_service,
                               .send = send_for_service,
                               .arg = d};
}

static int make_tls(struct daemon *d, struct err *err)
{
    char *ca FREE_AUTO = xasprintf("%s/ca.crt", d->opts.tls_dir);
    char *cert FREE_AUTO = xasprintf("%s/tls.crt", d->opts.tls_dir);
    char *key FREE_AUTO = xasprintf("%s/tls.key", d->opts.tls_dir);
    struct tls_files files = {ca, cert, key};

    d->tls = tls_ctx_create(&files, err);
    return d->tls ? 0 : err_wrap(err, "certificates of this daemon");
}

static int make_sockets(struct daemon *d, uint16_t *join_port, struct err *err)
{
    char *path FREE_AUTO = session_path(d, "prted.sock");

    d->net = net_create(d->loop, d->tls, &host_net_upcalls, d, err);
    if (!d->net)
        return -1;
    *join_port = d->opts.join_port;
    if (net_listen_tls(d->net, d->opts.bind_addr, join_port, err) < 0)
        return -1;
    return net_listen_local(d->net, path, err);
}

static int make_pmix(struct daemon *d, struct err *err)
{
    struct pmix_srv_opts o = {.host = d->opts.host_name,
                              .session_dir = d->opts.session_dir,
                              .vpid = d->opts.vpid,
                              .topology = d->opts.topology,
                              .silent_ms = d->opts.pmix_silent_ms};

    d->pmix = pmix_srv_create(d->loop, &o, &host_pmix_upcalls, d, err);
    return d->pmix ? 0 : -1;
}

static int make_core(struct daemon *d, uint16_t join_port, struct err *err)
{
    char *marker FREE_AUTO = session_path(d, "parked");
    struct core_opts o = {.vpid = d->opts.vpid,
                          .cluster = d->opts.cluster,
                          .host = d->opts.host_name,
                          .address = d->opts.address,
                          .join_port = join_port,
                          .head_host = d->opts.head_host,
                          .head_port = d->opts.head_port,
                          .slots = d->opts.slots,
                          .cpus = d->opts.cpus,
                          .radix = d->opts.radix,
                          .size = d->opts.size,
                          .park = d->opts.park,
                          .parked = d->opts.park && access(marker, F_OK) == 0,
                          .drain_s = d->opts.drain_s,
                          .drain_kill = d->opts.drain_kill,
                          .reconnect_ms = d->opts.reconnect_ms,
                          .ack_ms = d->opts.ack_ms,
                          .leave_ms = d->opts.leave_ms};

    while (o.incarnation == 0) {
        if (getrandom(&o.incarnation, sizeof o.incarnation, 0) != sizeof o.incarnation)
            return err_sys(err, errno, "a random incarnation");
    }
    d->core = core_create(&o, loop_now_ms(d->loop), loop_wall_ms());
    return 0;
}

static int make_ctl(struct daemon *d, struct err *err)
{
    struct ctl_opts o = {.tls = d->opts.vpid == 0 ? d->tls : NULL,
                         .control_addr = d->opts.bind_addr,
                         .control_port = d->opts.control_port,
                         .plain_addr = d->opts.bind_addr,
                         .plain_port = d->opts.plain_port,
                         .drain = drain_for_service,
                         .drain_arg = d};

    d->ctl = ctl_create(d->loop, d->core, &o, err);
    return d->ctl ? 0 : -1;
}

static int write_ports(struct daemon *d, uint16_t join_port, struct err *err)
{
    char *text FREE_AUTO = xasprintf("{\"control\": %u, \"join\": %u, \"plain\": %u}\n",
                                     ctl_control_port(d->ctl), join_port, ctl_plain_port(d->ctl));

    return write_file(d, "ports.json", text, err);
}

static void on_files_room(uint32_t client, uint64_t total, void *arg)
{
    const struct daemon *d = arg;

    clients_files_room(d->clients, client, total);
}

static int build(struct daemon *d, const struct spawner_handle *spawner, struct err *err)
{
    struct iof_io io = host_iof_io;
    struct stage_io stage_io = ranks_stage_io;
    struct ranks_io ranks_io = {.files_room = on_files_room, .arg = d};
    const struct odls_times times = {d->opts.ack_ms ? d->opts.ack_ms : SILENT_MS, ODLS_LINGER_MS};
    uint16_t join_port;

    d->ranks = ranks_create(&d->env, &ranks_io);
    io.arg = d;
    stage_io.arg = d->ranks;
    d->odls = odls_create(d->loop, spawner, &times, &ranks_odls_upcalls, d->ranks, err);
    if (!d->odls || make_tls(d, err) < 0 || make_sockets(d, &join_port, err) < 0 ||
        make_pmix(d, err) < 0 || make_core(d, join_port, err) < 0)
        return -1;
    d->iof = iof_create(d->core, d->odls, &io);
    d->stage = stage_create(d->core, &stage_io);
    ranks_join(
        d->ranks,
        &(struct ranks_parts){
            .core = d->core, .odls = d->odls, .pmix = d->pmix, .iof = d->iof, .stage = d->stage});
    d->timer = loop_timer_create(d->loop, on_due, d);
    d->tls_timer = loop_timer_create(d->loop, on_tls_due, d);
    d->sigterm = loop_signal_create(d->loop, SIGTERM, on_term, d);
    d->sigint = loop_signal_create(d->loop, SIGINT, on_term, d);
    loop_timer_arm(d->tls_timer, TLS_REFRESH_MS);
    if (make_ctl(d, err) < 0 || write_ports(d, join_port, err) < 0)
        return -1;
    host_join(d);
    log_info("vpid %u listens: join %u control %u plain %u", d->opts.vpid, join_port,
             ctl_control_port(d->ctl), ctl_plain_port(d->ctl));
    return 0;
}

struct daemon *daemon_create(struct loop *loop, const struct daemon_opts *o,
                             const struct spawner_handle *spawner, struct err *err)
{
    struct daemon *d = xcalloc(1, sizeof *d);

    d->opts = *o;
    d->loop = loop;
    make_env(d);
    signal(SIGPIPE, SIG_IGN);
    if (build(d, spawner, err) < 0) {
        daemon_destroy(d);
        return NULL;
    }
    daemon_drain(d);
    return d;
}

void daemon_destroy(struct daemon *d)
{
    if (!d)
        return;
    pmix_srv_destroy(d->pmix); /* ends what waits for it, which tells the others */
    ctl_destroy(d->ctl);
    iof_destroy(d->iof);
    stage_destroy(d->stage);
    net_destroy(d->net);
    odls_destroy(d->odls);
    ranks_destroy(d->ranks);
    host_part(d);
    core_destroy(d->core);
    tls_ctx_destroy(d->tls);
    loop_timer_destroy(d->timer);
    loop_timer_destroy(d->tls_timer);
    loop_signal_destroy(d->sigterm);
    loop_signal_destroy(d->sigint);
    free(d);
}

int daemon_exit_code(const struct daemon *d)
{
    return d->exit_code;
}
