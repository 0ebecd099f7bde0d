/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of the local clients' messages. */
#include "dvm/protocol/wire/client.h"

#include <stdlib.h>
#include <string.h>

#define METHOD_MAX 16
#define PATH_MAX_BYTES 4096
#define STATE_MAX 64
#define SIGNAL_MAX 64

static void put_data(struct buf *b, const struct client_msg *m)
{
    /* One rule for both directions: what no decoder takes, no encoder makes. */
    if (m->len > CLIENT_DATA_MAX)
        b->failed = true;
    else
        buf_put_bytes(b, m->data, m->len);
}

/* What sessions are made of. */
static void put_session(struct buf *b, const struct client_msg *m)
{
    switch (m->type) {
    case CLIENT_OPEN:
        buf_put_raw(b, m->token, sizeof m->token);
        buf_put_u32(b, m->number);
        buf_put_u64(b, m->have);
        buf_put_u32(b, m->window_ms);
        break;
    case CLIENT_ACK:
        buf_put_u64(b, m->have);
        break;
    case CLIENT_OPENED:
        buf_put_u64(b, m->have);
        buf_put_u64(b, m->next);
        break;
    case CLIENT_BYE:
        break;
    default:
        b->failed = true;
    }
}

static void put_fields(struct buf *b, const struct client_msg *m)
{
    switch (m->type) {
    case CLIENT_SUBMIT:
        job_spec_encode(b, &m->spec);
        break;
    case CLIENT_STDIN:
    case CLIENT_FILES:
    case CLIENT_MAP:
        put_data(b, m);
        break;
    case CLIENT_SIGNAL:
        buf_put_u32(b, m->number);
        break;
    case CLIENT_CALL:
        buf_put_str(b, m->a);
        buf_put_str(b, m->b);
        buf_put_str(b, m->c);
        break;
    case CLIENT_ATTACH:
    case CLIENT_ACCEPTED:
    case CLIENT_LINE:
    case CLIENT_NOTE:
    case CLIENT_REACHED:
        buf_put_str(b, m->a);
        break;
    case CLIENT_STATE:
        buf_put_str(b, m->a);
        buf_put_str(b, m->b);
        break;
    case CLIENT_OUTPUT:
        buf_put_u32(b, m->number);
        buf_put_u8(b, m->stream);
        put_data(b, m);
        break;
    case CLIENT_DONE:
    case CLIENT_ERROR:
    case CLIENT_REPLY:
        buf_put_u32(b, m->number);
        buf_put_str(b, m->a);
        break;
    case CLIENT_STDIN_PAUSE:
        buf_put_u8(b, m->number ? 1 : 0);
        break;
    case CLIENT_UNREACHED:
        buf_put_u8(b, m->number ? 1 : 0);
        buf_put_str(b, m->a);
        break;
    case CLIENT_FILES_ROOM:
        buf_put_u64(b, m->room);
        break;
    default:
        put_session(b, m);
    }
}

void client_msg_encode(struct buf *b, const struct client_msg *m)
{
    buf_put_u8(b, CLIENT_VERSION);
    buf_put_u8(b, (uint8_t)m->type);
    put_fields(b, m);
}

static int get_session(struct cur *c, struct client_msg *m)
{
    const uint8_t *token;

    switch (m->type) {
    case CLIENT_OPEN:
        token = cur_raw(c, sizeof m->token);
        if (token)
            memcpy(m->token, token, sizeof m->token);
        m->number = cur_u32(c);
        m->have = cur_u64(c);
        m->window_ms = cur_u32(c);
        return 0;
    case CLIENT_ACK:
        m->have = cur_u64(c);
        return 0;
    case CLIENT_OPENED:
        m->have = cur_u64(c);
        m->next = cur_u64(c);
        return 0;
    case CLIENT_BYE:
        return 0;
    default:
        return -1;
    }
}

/* Reads the fields of every type but SUBMIT; -1: no such type. */
static int get_fields(struct cur *c, struct client_msg *m)
{
    switch (m->type) {
    case CLIENT_STDIN:
    case CLIENT_FILES:
    case CLIENT_MAP:
        m->data = cur_bytes(c, CLIENT_DATA_MAX, &m->len);
        return 0;
    case CLIENT_SIGNAL:
        m->number = cur_u32(c);
        return 0;
    case CLIENT_CALL:
        m->a = cur_str(c, METHOD_MAX);
        m->b = cur_str(c, PATH_MAX_BYTES);
        m->c = cur_str(c, CLIENT_BODY_MAX);
        return 0;
    case CLIENT_ATTACH:
    case CLIENT_ACCEPTED:
        m->a = cur_str(c, JOB_NSPACE_MAX);
        return 0;
    case CLIENT_STATE:
        m->a = cur_str(c, STATE_MAX);
        m->b = cur_str(c, CLIENT_TEXT_MAX);
        return 0;
    case CLIENT_OUTPUT:
        m->number = cur_u32(c);
        m->stream = cur_u8(c);
        m->data = cur_bytes(c, CLIENT_DATA_MAX, &m->len);
        return 0;
    case CLIENT_DONE:
    case CLIENT_ERROR:
        m->number = cur_u32(c);
        m->a = cur_str(c, CLIENT_TEXT_MAX);
        return 0;
    case CLIENT_REPLY:
        m->number = cur_u32(c);
        m->a = cur_str(c, CLIENT_BODY_MAX);
        return 0;
    case CLIENT_LINE:
        m->a = cur_str(c, CLIENT_BODY_MAX);
        return 0;
    case CLIENT_NOTE:
    case CLIENT_REACHED:
        m->a = cur_str(c, CLIENT_TEXT_MAX);
        return 0;
    case CLIENT_STDIN_PAUSE:
        m->number = cur_u8(c);
        return 0;
    case CLIENT_UNREACHED:
        m->number = cur_u8(c);
        m->a = cur_str(c, CLIENT_TEXT_MAX);
        return 0;
    case CLIENT_FILES_ROOM:
        m->room = cur_u64(c);
        return 0;
    default:
        return get_session(c, m);
    }
}

static int check_values(const struct client_msg *m, struct err *err)
{
    switch (m->type) {
    case CLIENT_SIGNAL:
        if (!m->number || m->number > SIGNAL_MAX)
            return err_set(err, "signal %u is none of 1..%d", m->number, SIGNAL_MAX);
        return 0;
    case CLIENT_CALL:
        if (!m->a[0] || m->b[0] != '/')
            return err_set(err, "a call needs a method and a path that begins with '/'");
        return 0;
    case CLIENT_ATTACH:
    case CLIENT_ACCEPTED:
        if (!m->a[0])
            return err_set(err, "a job without a name");
        return 0;
    case CLIENT_OUTPUT:
        if (m->stream != 1 && m->stream != 2)
            return err_set(err, "output of stream %u, which is neither 1 nor 2", m->stream);
        return 0;
    case CLIENT_DONE:
    case CLIENT_ERROR:
        if (m->number > 255)
            return err_set(err, "exit code %u is over 255", m->number);
        return 0;
    case CLIENT_REPLY:
        if (m->number < 100 || m->number > 599)
            return err_set(err, "%u is no HTTP status", m->number);
        return 0;
    case CLIENT_STDIN_PAUSE:
        if (m->number > 1)
            return err_set(err, "pause %u is neither 0 nor 1", m->number);
        return 0;
    case CLIENT_UNREACHED:
        if (m->number > 1)
            return err_set(err, "final %u is neither 0 nor 1", m->number);
        return 0;
    case CLIENT_OPEN:
        if (!m->number)
            return err_set(err, "attempt 0 of a session");
        if (m->window_ms > CLIENT_WINDOW_MAX_MS)
            return err_set(err,
                           "a job cannot go on for %u ms without a connection, the limit is %u",
                           m->window_ms, CLIENT_WINDOW_MAX_MS);
        return 0;
    case CLIENT_OPENED:
        if (!m->next)
            return err_set(err, "messages are numbered from 1 on");
        return 0;
    default:
        return 0;
    }
}

static int decode(struct cur *c, struct client_msg *m, struct err *err)
{
    uint8_t version = cur_u8(c);
    uint8_t type = cur_u8(c);

    if (c->bad)
        return err_set(err, "message of less than 2 bytes");
    if (version != CLIENT_VERSION)
        return err_set(err, "version %u of the local protocol, this program speaks %d", version,
                       CLIENT_VERSION);
    m->type = type;
    if (m->type == CLIENT_SUBMIT) {
        if (job_spec_decode(c, &m->spec, err) < 0) {
            m->type = 0; /* it has left nothing to free */
            return err_wrap(err, "job");
        }
    } else if (get_fields(c, m) < 0) {
        return err_set(err, "unknown message type %u", type);
    }
    if (!cur_done(c))
        return err_set(err, "message of type %u is cut short, too long or over a limit", type);
    return check_values(m, err);
}

int client_msg_decode(const void *data, size_t len, struct client_msg *out, struct err *err)
{
    struct cur c = cur_of(data, len);

    *out = (struct client_msg){0};
    if (decode(&c, out, err) == 0)
        return 0;
    client_msg_free(out);
    return err_wrap(err, "client message");
}

void client_msg_free(struct client_msg *m)
{
    if (m->type == CLIENT_SUBMIT)
        job_spec_free(&m->spec);
    free(m->a);
    free(m->b);
    free(m->c);
    *m = (struct client_msg){0};
}

bool client_msg_numbered(enum client_type type)
{
    return type != CLIENT_OPEN && type != CLIENT_OPENED && type != CLIENT_ACK &&
           type != CLIENT_NOTE && type != CLIENT_BYE && type != CLIENT_FILES_ROOM;
}
