/* SPDX-License-Identifier: BSD-3-Clause */
/* One daemon: builds its parts, feeds the core, and carries out the core's actions in order.
 *
 * In: events of sockets, timers, signals, the PMIx library and clients. Each enters the core
 * through enter_core(), which gives it the time, and ends with drain_core(). Out: the core's
 * actions. host.c carries out those of the services; this file parks, exits and logs.
 *
 * Invariants: actions are carried out in the order in which the core has made them. An action may
 * give the core new input: then the outermost drain_core() carries out the new actions too. After
 * each drain the timer is armed for the core's next deadline.
 *
 * Failures: a part that cannot be built ends the program with the reason. SIGTERM lets the core
 * leave the DVM first. Certificates that cannot be read again stay in force as they were. */
#include "dvm/host/daemon.h"

#include "base/log/log.h"
#include "base/span/span.h"
#include "base/tls/tls.h"
#include "dvm/host/held_key.h"
#include "dvm/host/host.h"
#include "dvm/host/records/records.h"
#include "dvm/protocol/files/files.h"
#include "dvm/protocol/map/topo.h"

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

struct daemon {
    struct daemon_opts opts;
    struct host_env env; /* for services */
    struct loop *loop;
    struct loop_timer *timer; /* core_deadline() */
    struct loop_timer *tls_timer;
    struct loop_signal *sigterm, *sigint;
    struct host_parts parts;
    struct tls_held *held;   /* a member's key */
    struct host *host;       /* the services */
    struct records *records; /* the head's; NULL: they are not kept */
    bool draining, exiting;
    int exit_code;
};

static void enter_core(struct daemon *d)
{
    core_time(d->parts.core, loop_now_ms(d->loop), loop_wall_ms());
}

static void drain_core(struct daemon *d);

static int send_app(struct daemon *d, uint32_t vpid, enum out_class traffic, uint32_t kind,
                    const struct buf *b)
{
    struct err err = {0};
    int rc;

    if (b->failed) { /* the buffer has only a part of it */
        log_info("a message to vpid %u is too long", vpid);
        return -1;
    }
    enter_core(d);
    rc = core_app_send(d->parts.core, vpid, traffic, kind, b->data, b->len, &err);
    if (rc < 0)
        log_info("%s", err.msg);
    drain_core(d);
    return rc;
}

static char *session_path(const struct daemon *d, const char *name)
{
    return xasprintf("%s/%s", d->opts.session_dir, name);
}

static int write_file(const struct daemon *d, const char *name, const char *text, struct err *err)
{
    FREE_AUTO char *tmp = xasprintf("%s/.%s.tmp", d->opts.session_dir, name);
    FREE_AUTO char *path = session_path(d, name);
    int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0)
        ok &= close(fd) == 0;
    if (!ok || rename(tmp, path) < 0)
        return err_sys(err, errno, "writing %s", path);
    return 0;
}

static void write_marker(const struct daemon *d)
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
    if (d->records && code == 0 && core_incarnation_ends(d->parts.core))
        records_remove(d->records);          /* else the next process of the head goes on */
    net_finish(d->parts.net, on_flushed, d); /* queued bytes are written first */
}

static void log_act(const struct out_log *act)
{
    switch ((enum log_level)act->level) {
    case LOG_LEVEL_ERROR:
        log_error("%s", act->text);
        break;
    case LOG_LEVEL_WARN:
        log_warn("%s", act->text);
        break;
    case LOG_LEVEL_INFO:
        log_info("%s", act->text);
        break;
    case LOG_LEVEL_DEBUG:
        log_debug("%s", act->text);
        break;
    }
}

/* With keepers also called when nothing was put: a thread writes the file then. */
static void on_records_failed(const struct err *why, void *arg)
{
    struct daemon *d = arg;

    if (records_there(d->records)) {
        log_warn("records of the head: no snapshot: %s", why->msg);
        return;
    }
    log_error("%s: %s", why->msg,
              d->opts.keepers ? "members alone keep them from now on"
                              : "the end of this process will be the end of the DVM");
    core_records_lost(d->parts.core);
}

/* All records up to this action are the state of the core: a snapshot may replace them. */
static int compact_records(struct daemon *d, struct err *err)
{
    BUF_AUTO struct buf b = {0};

    buf_init(&b, RECORD_SNAPSHOT_MAX);
    core_snapshot(d->parts.core, &b);
    if (b.failed)
        return err_set(err, "it is too large");
    return records_compact(d->records, b.data, b.len, err);
}

static int write_records(struct daemon *d, const struct out_records *act, struct err *err)
{
    const struct buf *b = &act->data;

    if (!act->anew)
        return records_put(d->records, b->data, b->len, err);
    if (!b->failed)
        return records_replace(d->records, b->data, b->len, err);
    records_remove(d->records); /* it lacks what comes before the next group */
    return err_set(err, "records of the head: they are too large");
}

static void keep_records(struct daemon *d, const struct out_records *act)
{
    struct err err = {0};
    int rc;

    if (!d->records)
        return;
    rc = write_records(d, act, &err);
    if (rc == 0 && records_full(d->records))
        rc = compact_records(d, &err);
    if (rc < 0)
        on_records_failed(&err, d);
}

/* The daemon's own actions. */
static void carry_out(struct daemon *d, const struct out_act *act)
{
    switch (act->kind) {
    case OUT_RECORDS:
        keep_records(d, &act->records);
        break;
    case OUT_PARK:
        write_marker(d);
        break;
    case OUT_EXIT:
        end_program(d, act->exit.code);
        break;
    case OUT_LOG:
        log_act(&act->log);
        break;
    default:
        break;
    }
}

/* An action may give the core new input. Then the outermost call carries out the new actions too,
 * in order. */
static void drain_core(struct daemon *d)
{
    struct out_act act;
    uint64_t due;

    if (d->draining)
        return;
    d->draining = true;
    if (d->parts.files)
        files_turn(d->parts.files);
    while (core_next(d->parts.core, &act)) {
        if (!host_carry_out(d->host, &act))
            carry_out(d, &act);
        out_act_free(&act);
        if (d->parts.iof)
            iof_turn(d->parts.iof);
    }
    d->draining = false;
    due = core_deadline(d->parts.core);
    if (due == UINT64_MAX)
        loop_timer_disarm(d->timer);
    else
        loop_timer_arm(d->timer, span_ms(loop_now_ms(d->loop), due));
}

static void on_due(void *arg)
{
    struct daemon *d = arg;

    enter_core(d);
    core_tick(d->parts.core);
    drain_core(d);
}

static void keep_for_service(void *arg)
{
    struct daemon *d = arg;
    struct out_act act;

    if (!core_next_records(d->parts.core, &act))
        return;
    keep_records(d, &act.records);
    out_act_free(&act);
}

static void drain_for_service(void *arg)
{
    drain_core(arg);
}

static void on_term(int signum, void *arg)
{
    struct daemon *d = arg;

    log_info("signal %d: leaving", signum);
    enter_core(d);
    core_sigterm(d->parts.core);
    drain_core(d);
}

static void on_tls_due(void *arg)
{
    struct daemon *d = arg;
    struct err err = {0};
    int rc = tls_ctx_refresh(d->parts.tls, &err);

    if (rc < 0)
        log_warn("certificates: %s", err.msg);
    else if (rc > 0)
        log_info("certificates: read again");
    loop_timer_arm(d->tls_timer, TLS_REFRESH_MS);
}

/* --- construction */

static void enter_for_service(void *arg)
{
    enter_core(arg);
}

static int send_for_service(uint32_t vpid, enum out_class traffic, uint32_t kind,
                            const struct buf *b, void *arg)
{
    return send_app(arg, vpid, traffic, kind, b);
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

struct tls_ctx *daemon_tls(const char *tls_dir, struct err *err)
{
    FREE_AUTO char *ca = xasprintf("%s/ca.crt", tls_dir);
    FREE_AUTO char *cert = xasprintf("%s/tls.crt", tls_dir);
    FREE_AUTO char *key = xasprintf("%s/tls.key", tls_dir);
    struct tls_files files = {ca, cert, key};
    struct tls_ctx *t = tls_ctx_create(&files, err);

    if (!t)
        err_wrap(err, "certificates of this daemon");
    return t;
}

static int make_tls(struct daemon *d, struct err *err)
{
    d->parts.tls = d->opts.tls ? d->opts.tls : daemon_tls(d->opts.tls_dir, err);
    return d->parts.tls ? 0 : -1;
}

/* Nobody calls as the head: its certificate is enough. */
static int make_key(struct daemon *d, struct err *err)
{
    if (d->opts.vpid == 0)
        return 0;
    d->held = held_key_open(d->opts.session_dir, err);
    return d->held ? 0 : err_wrap(err, "the key of this daemon");
}

static int make_sockets(struct daemon *d, uint16_t *join_port, struct err *err)
{
    FREE_AUTO char *path = session_path(d, "prted.sock");

    d->parts.net = net_create(d->loop, d->parts.tls, &host_net_upcalls, d->host, err);
    if (!d->parts.net)
        return -1;
    net_prove(d->parts.net, d->held);
    *join_port = d->opts.join_port;
    if (net_listen_all(d->parts.net, d->opts.binds, d->opts.nbinds, join_port, err) < 0)
        return -1;
    return net_listen_local(d->parts.net, path, err);
}

static int make_pmix(struct daemon *d, const struct spawner_handle *spawner, struct err *err)
{
    struct pmix_srv_opts o = {.host = d->opts.host_name,
                              .session_dir = d->opts.session_dir,
                              .dvm_dir = d->opts.dvm_dir,
                              .vpid = d->opts.vpid,
                              .owns_cpus = topo_text_is_own(d->opts.cpus),
                              .topology = d->opts.topology,
                              .spawner = spawner->pid,
                              .silent_ms = d->opts.pmix_silent_ms};

    d->parts.pmix = pmix_srv_create(d->loop, &o, &host_pmix_upcalls, d->host, err);
    return d->parts.pmix ? 0 : -1;
}

/* *heritage gets the records of the head's former process. A head with keepers can do without its
 * file, which may be on a volume: a former head that hangs may have it still, and no write is
 * waited for. Without keepers the file has the records before anybody sees what they say. */
static int open_records(struct daemon *d, struct buf *heritage, struct err *err)
{
    const char *dir = d->opts.records_dir ? d->opts.records_dir : d->opts.session_dir;
    FREE_AUTO char *path = xasprintf("%s/records", dir);

    (void)mkdir(dir, 0700); /* of a new volume; a failure shows when the file is opened */
    d->records = records_open(path, heritage, err);
    if (d->records && d->opts.keepers)
        return records_write_behind(d->records, d->loop, on_records_failed, d, err);
    if (d->records)
        return 0;
    if (!d->opts.keepers)
        return -1;
    log_error("%s: members alone keep the records", err->msg);
    buf_reset(heritage);
    return 0;
}

static int make_core(struct daemon *d, uint16_t join_port, struct err *err)
{
    FREE_AUTO char *marker = session_path(d, "parked");
    BUF_AUTO struct buf heritage = {0};
    struct core_opts o = {.vpid = d->opts.vpid,
                          .cluster = d->opts.cluster,
                          .host = d->opts.host_name,
                          .address = d->opts.addresses[0],
                          .nmore = d->opts.naddresses - 1,
                          .more = d->opts.addresses + 1,
                          .join_port = join_port,
                          .head_host = d->opts.head_host,
                          .head_port = d->opts.head_port,
                          .slots = d->opts.slots,
                          .cpus = d->opts.cpus,
                          .radix = d->opts.radix,
                          .size = d->opts.size,
                          .keeps_records = d->opts.keep_records && d->opts.vpid == 0,
                          .keepers = d->opts.keepers && d->opts.vpid == 0,
                          .park = d->opts.park,
                          .parked = d->opts.park && access(marker, F_OK) == 0,
                          .drain_s = d->opts.drain_s,
                          .drain_kill = d->opts.drain_kill,
                          .reconnect_ms = d->opts.reconnect_ms,
                          .ack_ms = d->opts.ack_ms,
                          .orphan_ms = d->opts.orphan_ms,
                          .links = d->opts.links,
                          .leave_ms = d->opts.leave_ms};

    while (o.incarnation == 0) {
        if (getrandom(&o.incarnation, sizeof(o.incarnation), 0) != sizeof(o.incarnation))
            return err_sys(err, errno, "a random incarnation");
    }
    if (o.keeps_records && open_records(d, &heritage, err) < 0)
        return -1;
    o.keeps_records = d->records;
    o.heritage = heritage.len ? heritage.data : NULL;
    o.heritage_len = heritage.len;
    d->parts.core = core_create(&o, loop_now_ms(d->loop), loop_wall_ms());
    if (d->records && !o.keepers && !core_inherited(d->parts.core))
        return records_begin(d->records, err);
    return 0;
}

static int make_ctl(struct daemon *d, struct err *err)
{
    struct ctl_opts o = {.tls = d->opts.vpid == 0 ? d->parts.tls : NULL,
                         .control_addr = d->opts.binds[0],
                         .control_port = d->opts.control_port,
                         .plain_addr = d->opts.binds[0],
                         .plain_port = d->opts.plain_port,
                         .net = d->parts.net,
                         .has_file = d->opts.keep_records && d->opts.vpid == 0,
                         .records = d->records,
                         .keep = keep_for_service,
                         .drain = drain_for_service,
                         .drain_arg = d};

    d->parts.ctl = ctl_create(d->loop, d->parts.core, &o, err);
    return d->parts.ctl ? 0 : -1;
}

static int write_ports(struct daemon *d, uint16_t join_port, struct err *err)
{
    FREE_AUTO char *text =
        xasprintf("{\"control\": %u, \"join\": %u, \"plain\": %u}\n",
                  ctl_control_port(d->parts.ctl), join_port, ctl_plain_port(d->parts.ctl));

    return write_file(d, "ports.json", text, err);
}

/* The head has declared this daemon lost long before. */
static uint32_t daemon_hung_ms(const struct daemon_opts *o)
{
    const struct api_faults f = {o->reconnect_ms, o->ack_ms, o->orphan_ms};
    uint64_t ms = api_faults_lost_ms(&f);

    return ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX;
}

static int build_parts(struct daemon *d, const struct spawner_handle *spawner, uint16_t *join_port,
                       struct err *err)
{
    const struct odls_times times = {d->opts.ack_ms, ODLS_LINGER_MS, daemon_hung_ms(&d->opts)};
    struct iof_io iof_io = host_iof_io(d->host);
    struct files_io files_io = host_files_io(d->host);
    struct host_odls odls = host_odls(d->host);

    d->parts.odls = odls_create(d->loop, spawner, &times, odls.upcalls, odls.arg, err);
    if (make_tls(d, err) < 0 || make_key(d, err) < 0 || !d->parts.odls ||
        make_sockets(d, join_port, err) < 0 || make_pmix(d, spawner, err) < 0 ||
        make_core(d, *join_port, err) < 0)
        return -1;
    d->parts.iof = iof_create(d->parts.core, d->parts.odls, &iof_io);
    d->parts.files = files_create(d->parts.core, &files_io);
    return make_ctl(d, err);
}

static void watch_time_and_signals(struct daemon *d)
{
    d->timer = loop_timer_create(d->loop, on_due, d);
    d->tls_timer = loop_timer_create(d->loop, on_tls_due, d);
    d->sigterm = loop_signal_create(d->loop, SIGTERM, on_term, d);
    d->sigint = loop_signal_create(d->loop, SIGINT, on_term, d);
    loop_timer_arm(d->tls_timer, TLS_REFRESH_MS);
}

static int build_daemon(struct daemon *d, const struct spawner_handle *spawner, struct err *err)
{
    uint16_t join_port;

    d->host = host_create(&d->env, &d->parts);
    if (build_parts(d, spawner, &join_port, err) < 0)
        return -1;
    d->parts.wait_told_ms = d->opts.wait_told_ms;
    host_join(d->host);
    watch_time_and_signals(d);
    if (write_ports(d, join_port, err) < 0)
        return -1;
    log_info("vpid %u listens on ports: join %u, control %u, plain %u", d->opts.vpid, join_port,
             ctl_control_port(d->parts.ctl), ctl_plain_port(d->parts.ctl));
    return 0;
}

struct daemon *daemon_create(struct loop *loop, const struct daemon_opts *o,
                             const struct spawner_handle *spawner, struct err *err)
{
    struct daemon *d = xcalloc(1, sizeof(*d));

    d->opts = *o;
    d->loop = loop;
    make_env(d);
    signal(SIGPIPE, SIG_IGN);
    if (build_daemon(d, spawner, err) < 0) {
        daemon_destroy(d);
        return NULL;
    }
    drain_core(d);
    return d;
}

void daemon_destroy(struct daemon *d)
{
    if (!d)
        return;
    pmix_srv_destroy(d->parts.pmix); /* ends pending requests, whose callbacks call the others */
    ctl_destroy(d->parts.ctl);
    iof_destroy(d->parts.iof);
    files_destroy(d->parts.files);
    net_destroy(d->parts.net);
    odls_destroy(d->parts.odls);
    host_destroy(d->host);
    records_close(d->records); /* may report a failure to the core */
    core_destroy(d->parts.core);
    tls_held_destroy(d->held);
    tls_ctx_destroy(d->parts.tls);
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
