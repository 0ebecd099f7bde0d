/* SPDX-License-Identifier: BSD-3-Clause */
/* The client's side of a session: a connection to the DVM that is made again when it is lost.
 *
 * In: messages of prun for the daemon, frames of the daemon, the clock. Out: frames with numbers,
 * messages for prun, a line for the user when the connection is lost and when it is there again.
 *
 * States: connected and opened (messages go out, and are kept until they are acknowledged);
 * connected and not opened (OPEN is sent, the position of the daemon is not known yet); not
 * connected (the next attempt is at retry_at); failed. After a loss it dials at intervals that
 * double from retry_ms to RETRY_MAX_MS. OPEN and OPENED exchange the last numbers, then both sides
 * send the rest again.
 *
 * Invariants: no message is lost or delivered twice, wherever the connection is cut. An attempt
 * carries a rising number, so that a late earlier connection does not take the session over.
 *
 * Failures: the loss is final when window_ms have passed, when the daemon refuses the certificate,
 * or when it does not know the session. The reason is that of the last attempt. Without a window (a
 * local socket) each loss is final. */
#include "dvm/tools/submit/resume.h"

#include "base/buf/buf.h"
#include "dvm/host/net/net.h"
#include "dvm/host/replay/replay.h"
#include "dvm/tools/submit/now.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define RETRY_MIN_MS 20
#define RETRY_MAX_MS 2000
#define BYE_MS 1000

struct resume {
    const struct resume_opts *o;
    struct cli_conn *c; /* NULL: not connected */
    bool alive;         /* the peer has not closed */
    bool opened;        /* the daemon's position is known, or need not be */
    bool failed;        /* `why` is final */
    struct err why;     /* time of the last loss */
    uint8_t token[CLIENT_TOKEN_BYTES];
    uint32_t attempt;
    struct replay *said;
    uint64_t have;    /* number of the last message received from the daemon */
    size_t unacked;   /* bytes of the received messages that are not acknowledged */
    int64_t lost_at;  /* -1: not lost */
    int64_t retry_at; /* while not connected */
    int64_t retry_ms;
};

static bool has_session(const struct resume *r)
{
    return r->o->window_ms > 0;
}

/* Messages without a number: sent now or never. */
static void say_now(struct resume *r, const struct client_msg *m)
{
    struct err ignored = {0};

    if (r->c && cli_conn_send(r->c, m, &ignored) < 0)
        r->alive = false;
}

static void say_open(struct resume *r)
{
    struct client_msg m = {
        .type = CLIENT_OPEN,
        .open = {.attempt = ++r->attempt, .have = r->have, .window_ms = (uint32_t)r->o->window_ms}};

    memcpy(m.open.token, r->token, sizeof(m.open.token));
    say_now(r, &m);
}

struct resume *resume_create(struct cli_conn *c, const struct resume_opts *o)
{
    struct resume *r = xcalloc(1, sizeof(*r));

    r->o = o;
    r->c = c;
    r->alive = r->opened = true; /* the position of a new session is known */
    r->lost_at = -1;
    if (!has_session(r))
        return r;
    r->said = replay_create(0);
    if (getrandom(r->token, sizeof(r->token), 0) != sizeof(r->token)) {
        r->failed = true;
        err_sys(&r->why, errno, "a random number");
    }
    say_open(r);
    return r;
}

static void say_bye(struct resume *r)
{
    int64_t until = submit_now_ms() + BYE_MS;
    struct err ignored = {0};

    say_now(r, &(struct client_msg){.type = CLIENT_BYE});
    while (cli_conn_pump(r->c, false, &ignored) == 1 && cli_conn_pending(r->c)) {
        struct pollfd p = {.fd = cli_conn_fd(r->c), .events = POLLOUT};
        int64_t left = until - submit_now_ms();

        if (left <= 0 || poll(&p, 1, (int)left) <= 0)
            return;
    }
}

void resume_destroy(struct resume *r)
{
    if (!r)
        return;
    if (has_session(r) && r->c && r->alive && r->opened)
        say_bye(r);
    cli_conn_free(r->c);
    replay_destroy(r->said);
    free(r);
}

int resume_send(struct resume *r, const struct client_msg *m, struct err *err)
{
    BUF_AUTO struct buf b = {0};

    if (!has_session(r))
        return cli_conn_send(r->c, m, err);
    buf_init(&b, NET_FRAME_MAX);
    client_msg_encode(&b, m);
    if (b.failed)
        return err_code(err, EMSGSIZE, "more than the %u MiB that a daemon takes at once",
                        NET_FRAME_MAX >> 20);
    replay_add(r->said, REPLAY_ALWAYS, b.data, b.len);
    return r->c && r->opened ? cli_conn_put(r->c, b.data, b.len, err) : 0;
}

size_t resume_pending(const struct resume *r)
{
    return has_session(r) ? replay_owed(r->said) : cli_conn_pending(r->c);
}

/* --- loss and reconnect */

static void note_lost(struct resume *r, int64_t now_ms, const struct err *why)
{
    struct err line = {0};

    cli_conn_free(r->c);
    r->c = NULL;
    r->why = *why;
    r->failed = r->failed || why->code == EACCES;
    if (r->lost_at < 0) {
        r->lost_at = now_ms;
        r->retry_ms = r->o->retry_ms ? r->o->retry_ms : RETRY_MIN_MS;
        err_set(&line, "the connection to the DVM is lost (%s), trying again for %lld s", why->msg,
                (long long)(r->o->window_ms + 999) / 1000);
        r->o->say(r->o->arg, line.msg);
    }
    r->retry_at = now_ms + r->retry_ms;
    r->retry_ms = 2 * r->retry_ms < RETRY_MAX_MS ? 2 * r->retry_ms : RETRY_MAX_MS;
}

static void dial_daemon(struct resume *r, int64_t now_ms)
{
    struct err err = {0};

    r->c = r->o->dial(r->o->arg, &err);
    if (!r->c) {
        note_lost(r, now_ms, &err);
        return;
    }
    r->alive = true;
    r->opened = false;
    say_open(r);
}

static bool is_over(const struct resume *r, int64_t now_ms)
{
    return r->failed || (r->lost_at >= 0 && now_ms - r->lost_at >= r->o->window_ms);
}

int resume_timeout(const struct resume *r, int64_t now_ms)
{
    int64_t at = r->lost_at + r->o->window_ms;

    if (r->lost_at < 0 && !r->failed)
        return -1;
    if (!r->c && r->retry_at < at)
        at = r->retry_at;
    return r->failed || at <= now_ms ? 0 : (int)(at - now_ms);
}

struct pollfd resume_poll(const struct resume *r, bool reads)
{
    bool writes = r->c && cli_conn_pending(r->c) > 0;
    struct pollfd p = {.fd = -1};

    /* A poll entry that only ever reports POLLHUP would make the loop spin. */
    if (r->c && r->alive && (reads || writes)) {
        p.fd = cli_conn_fd(r->c);
        p.events = (short)((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
    }
    return p;
}

void resume_turn(struct resume *r, const struct pollfd *p, int64_t now_ms)
{
    int rc;

    if (!r->c && has_session(r) && !is_over(r, now_ms) && now_ms >= r->retry_at)
        dial_daemon(r, now_ms);
    if (!r->c || !p->revents)
        return;
    rc = cli_conn_pump(r->c, p->revents & ~POLLOUT, &r->why);
    if (rc < 1)
        r->alive = false;
    if (rc == 0)
        err_code(&r->why, ECONNRESET, "it was closed");
}

/* --- messages of the daemon */

static void put_one(uint64_t number, const void *data, size_t len, void *arg)
{
    struct resume *r = arg;

    if (cli_conn_put(r->c, data, len, &r->why) < 0)
        r->failed = true;
}

static int on_acked(struct resume *r, uint64_t have, struct err *err)
{
    if (replay_ack(r->said, have) < 0)
        return err_set(err, "the daemon has received more of this session than was sent");
    return 2;
}

static int on_opened(struct resume *r, const struct client_opened *m, struct err *err)
{
    int rc = on_acked(r, m->have, err);

    r->have = m->next - 1;
    if (rc < 0 || r->opened)
        return rc;
    r->opened = true;
    replay_each(r->said, put_one, r);
    r->lost_at = -1;
    r->o->say(r->o->arg, "the connection to the DVM is there again");
    return rc;
}

static void count_attempt(struct resume *r)
{
    struct client_msg m = {.type = CLIENT_ACK};

    r->have++;
    r->unacked += cli_conn_taken(r->c) + CLIENT_OVERHEAD;
    if (r->unacked < CLIENT_ACK_EVERY)
        return;
    r->unacked = 0;
    m.ack.have = r->have;
    say_now(r, &m);
}

/* As resume_take(); 2: the message was for this module. */
static int take_one(struct resume *r, struct client_msg *m, int64_t now_ms, struct err *err)
{
    int got = cli_conn_take(r->c, m, err);

    if (got < 1 && has_session(r) && (err->code == EACCES || err->code == ECONNREFUSED)) {
        note_lost(r, now_ms, err);
        return 0;
    }
    if (got < 1 || !has_session(r))
        return got;
    if (m->type == CLIENT_OPENED)
        return on_opened(r, &m->opened, err);
    if (m->type == CLIENT_ACK)
        return on_acked(r, m->ack.have, err);
    if (client_msg_numbered(m->type))
        count_attempt(r);
    return 1;
}

static int no_more(struct resume *r, int64_t now_ms, struct err *err)
{
    if (!has_session(r)) {
        if (!r->alive)
            *err = r->why;
        return r->alive ? 0 : -1;
    }
    if (r->c && !r->alive)
        note_lost(r, now_ms, &r->why);
    if (r->failed)
        return err_set(err, "the connection to the DVM is lost and cannot be restored: %s",
                       r->why.msg);
    if (is_over(r, now_ms))
        return err_set(err, "the connection to the DVM was not restored within %lld s: %s",
                       (long long)(r->o->window_ms + 999) / 1000, r->why.msg);
    return 0;
}

int resume_take(struct resume *r, struct client_msg *m, int64_t now_ms, struct err *err)
{
    int got = 2;

    while (got == 2 && r->c && !r->failed)
        got = take_one(r, m, now_ms, err);
    return got == 1 || got == -1 ? got : no_more(r, now_ms, err);
}
