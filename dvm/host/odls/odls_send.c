/* SPDX-License-Identifier: BSD-3-Clause */
/* The queue of commands to the spawner, and the reports that come back.
 *
 * In: commands of the other files of this directory; the socket's readiness; the retry timer. Out:
 * one packet for each command, with the descriptors of a start; for each report except ALIVE an
 * upcall, or a call of odls_proc.c.
 *
 * A command is queued, sent, then freed, and our copies of its descriptors are closed. A turn sends
 * at most ODLS_SENDS_MAX commands and reads at most REPORTS_MAX reports. While commands remain, the
 * socket is watched for writing, except during a pause.
 *
 * Invariants: commands are sent in the order in which they were queued. Sending never blocks. Each
 * report that can be read shows that the spawner answers (odls_watch.c).
 *
 * Failures: if the memory file of a start cannot be made, that rank has failed
 * (odls_proc_failed()). With too many descriptors in flight, sending pauses for ODLS_RETRY_MS. A
 * closed or broken socket means that the spawner is lost (odls_lose()), and later commands are
 * dropped. A malformed report, or one about an unknown rank, is logged and ignored.
 *
 * Limit: odls_start() bounds the bytes of queued starts (ODLS_QUEUE_MAX); other commands are not
 * counted. */
#include "base/log/log.h"
#include "dvm/host/odls/odls_private.h"
#include "dvm/host/spawner/spawn_sock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>
#include <utlist.h>

#define REPORTS_MAX 64 /* reports read in one turn */

struct odls_send *odls_send_new(enum spawn_cmd_kind kind)
{
    struct odls_send *s = xcalloc(1, sizeof(*s));

    s->cmd.kind = kind;
    for (size_t i = 0; i < SPAWN_FD_COUNT; i++)
        s->fds[i] = -1;
    buf_init(&s->spec, SPAWN_SPEC_MAX);
    return s;
}

void odls_send_free(struct odls_send *s)
{
    spawn_sock_close_fds(s->fds);
    buf_free(&s->spec);
    free(s);
}

static void drop_first(struct odls *o)
{
    struct odls_send *s = o->sends;

    DL_DELETE(o->sends, s);
    o->sends_bytes -= s->spec.len;
    odls_send_free(s);
}

void odls_send_free_all(struct odls *o)
{
    while (o->sends)
        drop_first(o);
}

void odls_send_queue(struct odls *o, struct odls_send *s)
{
    if (o->lost) {
        odls_send_free(s);
        return;
    }
    s->cmd.limit_ms = o->times.hung_ms;
    o->sends_bytes += s->spec.len;
    if (!o->sends) /* later commands of the same turn are sent with it */
        loop_fd_poke(o->watch, LOOP_WRITE);
    DL_APPEND(o->sends, s);
    odls_watch_start(o);
}

void odls_send_signal(struct odls *o, const struct odls_proc *p, int signum)
{
    struct odls_send *s;

    if (p->state != ODLS_STARTING && p->state != ODLS_RUNNING)
        return;
    s = odls_send_new(SPAWN_CMD_SIGNAL);
    s->cmd.id = p->id;
    s->cmd.signum = (uint32_t)signum;
    odls_send_queue(o, s);
}

/* The spawner does not know the rank, so its failure is reported here. */
static void fail_start(struct odls *o, uint64_t id, const struct err *err)
{
    struct odls_proc *p = NULL;

    drop_first(o);
    HASH_FIND(hh, o->procs, &id, sizeof(id), p);
    if (p)
        odls_proc_failed(p, err->code, err->msg);
}

static enum spawn_sock_result send_one(struct odls *o, struct odls_send *s, struct err *err)
{
    BUF_AUTO struct buf msg;
    size_t nfds = s->cmd.kind == SPAWN_CMD_START ? SPAWN_FD_COUNT : 0;

    if (nfds && s->fds[SPAWN_FD_SPEC] < 0)
        s->fds[SPAWN_FD_SPEC] = spawn_sock_memfd_create(&s->spec, err);
    buf_init(&msg, SPAWN_MSG_MAX);
    if (nfds && s->fds[SPAWN_FD_SPEC] < 0)
        return SPAWN_SOCK_OK; /* err holds the reason if it was not sent */
    spawn_msg_cmd_encode(&msg, &s->cmd);
    return spawn_sock_send(o->sock, &msg, s->fds, nfds, err);
}

static void watch_socket(struct odls *o, int events)
{
    if (o->watched == events)
        return;
    o->watched = events;
    loop_fd_set(o->watch, events);
}

/* False: no further packet for now. */
static bool flush_one(struct odls *o)
{
    struct odls_send *s = o->sends;
    struct err err = {0};

    switch (send_one(o, s, &err)) {
    case SPAWN_SOCK_OK:
        if (err.code)
            fail_start(o, s->cmd.id, &err);
        else
            drop_first(o);
        return true;
    case SPAWN_SOCK_LATER:
        watch_socket(o, LOOP_READ);
        loop_timer_arm(o->retry, ODLS_RETRY_MS);
        return false;
    case SPAWN_SOCK_GONE:
        odls_lose(o, err.msg);
        return false;
    case SPAWN_SOCK_AGAIN:
        watch_socket(o, LOOP_READ | LOOP_WRITE);
        break;
    }
    return false;
}

static void flush_sends(struct odls *o)
{
    for (int i = 0; i < ODLS_SENDS_MAX && o->sends; i++) {
        if (!flush_one(o))
            return;
    }
    if (!o->lost)
        watch_socket(o, o->sends ? LOOP_READ | LOOP_WRITE : LOOP_READ);
}

void odls_send_flush(struct odls *o)
{
    struct err err = {0};

    while (o->sends && send_one(o, o->sends, &err) == SPAWN_SOCK_OK)
        drop_first(o);
}

static void on_report(struct odls *o, const struct spawn_rep *r)
{
    struct odls_proc *p = NULL;

    odls_watch_heard(o);
    if (r->kind == SPAWN_REP_ALIVE)
        return;
    if (r->kind == SPAWN_REP_CLEANED) {
        o->ncleaning -= o->ncleaning > 0;
        o->up.on_cleaned(r->id, r->value, o->arg);
        return;
    }
    HASH_FIND(hh, o->procs, &r->id, sizeof(r->id), p);
    if (!p) {
        log_error("the spawner reports on a rank that is not known id=%" PRIu64, r->id);
        return;
    }
    switch (r->kind) {
    case SPAWN_REP_READY:
        o->up.on_ready(p->job->nspace, p->rank, o->arg);
        break;
    case SPAWN_REP_STARTED:
        odls_proc_started(p, r->value);
        break;
    case SPAWN_REP_FAILED:
        odls_proc_failed(p, r->value, r->what);
        break;
    case SPAWN_REP_HELD:
    case SPAWN_REP_GOES_ON:
        o->up.on_held(p->job->nspace, p->rank, r->kind == SPAWN_REP_HELD, o->arg);
        break;
    case SPAWN_REP_EXITED:
        odls_proc_exited(p, r->value);
        break;
    case SPAWN_REP_CLEANED:
    case SPAWN_REP_ALIVE:
        break;
    }
}

static void receive_reports(struct odls *o)
{
    for (int i = 0; i < REPORTS_MAX; i++) {
        uint8_t data[SPAWN_MSG_MAX];
        int fds[SPAWN_FD_COUNT];
        struct err err = {0};
        struct spawn_rep r;
        struct cur in;
        size_t len = 0;

        switch (spawn_sock_recv(o->sock, data, &len, fds, &err)) {
        case SPAWN_SOCK_OK:
            break;
        case SPAWN_SOCK_GONE:
            odls_lose(o, err.msg);
            return;
        default:
            return;
        }
        in = cur_of(data, len);
        if (spawn_msg_rep_decode(&in, &r, &err) == 0)
            on_report(o, &r);
        else
            log_error("%s", err.msg);
    }
}

void odls_send_on_ready(int fd, int events, void *arg)
{
    struct odls *o = arg;

    if (events & LOOP_WRITE)
        flush_sends(o);
    if ((events & LOOP_READ) && !o->lost)
        receive_reports(o);
}

void odls_send_on_retry(void *arg)
{
    struct odls *o = arg;

    watch_socket(o, LOOP_READ | LOOP_WRITE);
}
