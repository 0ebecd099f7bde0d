/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of the messages between clients and a daemon: for each kind of fields an encoder and a
 * decoder side by side.
 *
 * In: a struct client_msg, or the bytes of one frame. Out: the bytes, or the message. CLIENT_MSGS
 * assigns to each type its number, its kind of fields, and the function that frees them.
 *
 * Order of decoding: the version, the type, the fields, then the length. A field's decoder reads
 * all its fields, then refuses values out of their limits; it need not look at c->bad, since
 * decode_msg() does that.
 *
 * Invariants: strings of a decoded message are copies, owned by the message; data (kind bytes, and
 * output) points into the caller's bytes.
 *
 * Failures: another version, an unknown type, remaining bytes, and values over METHOD_MAX,
 * PATH_MAX_BYTES, SIGNAL_MAX, CLIENT_DATA_MAX, CLIENT_TEXT_MAX, CLIENT_BODY_MAX or
 * CLIENT_PLACES_MAX are refused; *out is empty then. An encoder sets b->failed for an unknown type,
 * data over CLIENT_DATA_MAX or more than CLIENT_PLACES_MAX addresses.
 *
 * Sessions are not kept here: client_msg_numbered() only says which types have numbers in one. */
#include "dvm/protocol/wire/client.h"

#include <stdlib.h>
#include <string.h>

#define METHOD_MAX 16
#define PATH_MAX_BYTES 4096
#define SIGNAL_MAX 64
#define ATTEMPT_FIRST 1

/* No encoder makes a message that the decoder refuses. */
static void put_data(struct buf *b, const uint8_t *data, size_t len)
{
    if (len > CLIENT_DATA_MAX)
        b->failed = true;
    else
        buf_put_bytes(b, data, len);
}

static int get_flag(struct cur *c, bool *flag, const char *name, struct err *err)
{
    uint8_t value = cur_u8(c);

    *flag = value == 1;
    return value > 1 ? err_set(err, "%s %u is neither 0 nor 1", name, value) : 0;
}

static void put_none(struct buf *b, const struct client_none *m)
{
}

static int get_none(struct cur *c, struct client_none *m, struct err *err)
{
    return 0;
}

static void put_submit(struct buf *b, const struct client_submit *m)
{
    job_spec_encode(b, &m->spec);
}

static int get_submit(struct cur *c, struct client_submit *m, struct err *err)
{
    if (job_spec_decode(c, &m->spec, err) == 0)
        return 0;
    memset(m, 0, sizeof(*m)); /* it has left nothing to free */
    return err_wrap(err, "job");
}

static void free_submit(struct client_submit *m)
{
    job_spec_free(&m->spec);
}

static void put_bytes(struct buf *b, const struct client_bytes *m)
{
    put_data(b, m->data, m->len);
}

static int get_bytes(struct cur *c, struct client_bytes *m, struct err *err)
{
    m->data = cur_bytes(c, CLIENT_DATA_MAX, &m->len);
    return 0;
}

static void put_signal(struct buf *b, const struct client_signal *m)
{
    buf_put_u32(b, m->signum);
}

static int get_signal(struct cur *c, struct client_signal *m, struct err *err)
{
    m->signum = cur_u32(c);
    if (!m->signum || m->signum > SIGNAL_MAX)
        return err_set(err, "signal %u is not in 1..%d", m->signum, SIGNAL_MAX);
    return 0;
}

static void put_call(struct buf *b, const struct client_call *m)
{
    buf_put_str(b, m->method);
    buf_put_str(b, m->path);
    buf_put_str(b, m->body);
}

static int get_call(struct cur *c, struct client_call *m, struct err *err)
{
    m->method = cur_str(c, METHOD_MAX);
    m->path = cur_str(c, PATH_MAX_BYTES);
    m->body = cur_str(c, CLIENT_BODY_MAX);
    if (!c->bad && (!m->method[0] || m->path[0] != '/'))
        return err_set(err, "a call needs a method and a path that begins with '/'");
    return 0;
}

static void free_call(struct client_call *m)
{
    free(m->method);
    free(m->path);
    free(m->body);
}

static void put_job(struct buf *b, const struct client_job *m)
{
    buf_put_str(b, m->nspace);
}

static int get_job(struct cur *c, struct client_job *m, struct err *err)
{
    m->nspace = cur_str(c, JOB_NSPACE_MAX);
    return !c->bad && !m->nspace[0] ? err_set(err, "a job without a name") : 0;
}

static void free_job(struct client_job *m)
{
    free(m->nspace);
}

static void put_open(struct buf *b, const struct client_open *m)
{
    buf_put_raw(b, m->token, sizeof(m->token));
    buf_put_u32(b, m->attempt);
    buf_put_u64(b, m->have);
    buf_put_u32(b, m->window_ms);
}

static int get_open(struct cur *c, struct client_open *m, struct err *err)
{
    const uint8_t *token = cur_raw(c, sizeof(m->token));

    if (token)
        memcpy(m->token, token, sizeof(m->token));
    m->attempt = cur_u32(c);
    m->have = cur_u64(c);
    m->window_ms = cur_u32(c);
    if (m->attempt < ATTEMPT_FIRST)
        return err_set(err, "attempt 0 of a session");
    if (m->window_ms > CLIENT_WINDOW_MAX_MS)
        return err_set(err, "a job cannot go on for %u ms without a connection, the limit is %u",
                       m->window_ms, CLIENT_WINDOW_MAX_MS);
    return 0;
}

static void put_ack(struct buf *b, const struct client_ack *m)
{
    buf_put_u64(b, m->have);
}

static int get_ack(struct cur *c, struct client_ack *m, struct err *err)
{
    m->have = cur_u64(c);
    return 0;
}

static void put_opened(struct buf *b, const struct client_opened *m)
{
    buf_put_u64(b, m->have);
    buf_put_u64(b, m->next);
}

static int get_opened(struct cur *c, struct client_opened *m, struct err *err)
{
    m->have = cur_u64(c);
    m->next = cur_u64(c);
    return m->next ? 0 : err_set(err, "messages are numbered from 1 on");
}

static void put_state(struct buf *b, const struct client_state *m)
{
    buf_put_u8(b, (uint8_t)m->state);
    buf_put_str(b, m->reason);
}

static int get_state(struct cur *c, struct client_state *m, struct err *err)
{
    uint8_t state = cur_u8(c);

    m->state = state;
    m->reason = cur_str(c, CLIENT_TEXT_MAX);
    return job_state_word(state) ? 0 : err_set(err, "%u is no state of a job", state);
}

static void free_state(struct client_state *m)
{
    free(m->reason);
}

static void put_output(struct buf *b, const struct client_output *m)
{
    buf_put_u32(b, m->rank);
    buf_put_u8(b, m->stream);
    put_data(b, m->data, m->len);
}

static int get_output(struct cur *c, struct client_output *m, struct err *err)
{
    m->rank = cur_u32(c);
    m->stream = cur_u8(c);
    m->data = cur_bytes(c, CLIENT_DATA_MAX, &m->len);
    if (m->stream != 1 && m->stream != 2)
        return err_set(err, "output of stream %u, which is neither 1 nor 2", m->stream);
    return 0;
}

static void put_end(struct buf *b, const struct client_end *m)
{
    buf_put_u32(b, m->code);
    buf_put_str(b, m->text);
}

static int get_end(struct cur *c, struct client_end *m, struct err *err)
{
    m->code = cur_u32(c);
    m->text = cur_str(c, CLIENT_TEXT_MAX);
    if (m->code > EXIT_CODE_MAX)
        return err_set(err, "exit code %u is over %d", m->code, EXIT_CODE_MAX);
    return 0;
}

static void free_end(struct client_end *m)
{
    free(m->text);
}

static void put_reply(struct buf *b, const struct client_reply *m)
{
    buf_put_u32(b, m->status);
    buf_put_str(b, m->body);
}

static int get_reply(struct cur *c, struct client_reply *m, struct err *err)
{
    m->status = cur_u32(c);
    m->body = cur_str(c, CLIENT_BODY_MAX);
    if (m->status < 100 || m->status > 599)
        return err_set(err, "%u is no HTTP status", m->status);
    return 0;
}

static void free_reply(struct client_reply *m)
{
    free(m->body);
}

static void put_line(struct buf *b, const struct client_line *m)
{
    buf_put_str(b, m->event);
}

static int get_line(struct cur *c, struct client_line *m, struct err *err)
{
    m->event = cur_str(c, CLIENT_BODY_MAX);
    return 0;
}

static void free_line(struct client_line *m)
{
    free(m->event);
}

static void put_pause(struct buf *b, const struct client_pause *m)
{
    buf_put_u8(b, m->paused);
}

static int get_pause(struct cur *c, struct client_pause *m, struct err *err)
{
    return get_flag(c, &m->paused, "pause", err);
}

static void put_note(struct buf *b, const struct client_note *m)
{
    buf_put_str(b, m->text);
}

static int get_note(struct cur *c, struct client_note *m, struct err *err)
{
    m->text = cur_str(c, CLIENT_TEXT_MAX);
    return 0;
}

static void free_note(struct client_note *m)
{
    free(m->text);
}

static void put_room(struct buf *b, const struct client_room *m)
{
    buf_put_u64(b, m->total);
}

static int get_room(struct cur *c, struct client_room *m, struct err *err)
{
    m->total = cur_u64(c);
    return 0;
}

static void put_referral(struct buf *b, const struct client_referral *m)
{
    b->failed = b->failed || m->n > CLIENT_PLACES_MAX;
    buf_put_u8(b, m->n);
    for (size_t i = 0; i < m->n && !b->failed; i++) {
        buf_put_str(b, m->places[i].address);
        buf_put_u16(b, m->places[i].port);
    }
}

static int get_place(struct cur *c, struct client_place *p, struct err *err)
{
    FREE_AUTO char *address = cur_str(c, CLIENT_ADDRESS_MAX - 1);

    p->port = cur_u16(c);
    if (c->bad)
        return 0;
    memcpy(p->address, address, strlen(address) + 1);
    return address[0] && p->port ? 0 : err_set(err, "a daemon without an address or a port");
}

static int get_referral(struct cur *c, struct client_referral *m, struct err *err)
{
    m->n = cur_u8(c);
    if (m->n > CLIENT_PLACES_MAX)
        return err_set(err, "addresses of %u daemons, at most %d", m->n, CLIENT_PLACES_MAX);
    for (size_t i = 0; i < m->n; i++) {
        if (get_place(c, &m->places[i], err) < 0)
            return -1;
    }
    return 0;
}

static void put_reached(struct buf *b, const struct client_reached *m)
{
    buf_put_str(b, m->address);
}

static int get_reached(struct cur *c, struct client_reached *m, struct err *err)
{
    m->address = cur_str(c, CLIENT_TEXT_MAX);
    return 0;
}

static void free_reached(struct client_reached *m)
{
    free(m->address);
}

static void put_unreached(struct buf *b, const struct client_unreached *m)
{
    buf_put_u8(b, m->final);
    buf_put_str(b, m->why);
}

static int get_unreached(struct cur *c, struct client_unreached *m, struct err *err)
{
    int rc = get_flag(c, &m->final, "final", err);

    m->why = cur_str(c, CLIENT_TEXT_MAX);
    return rc;
}

static void free_unreached(struct client_unreached *m)
{
    free(m->why);
}

/* --- by type */

static void free_nothing(const void *m)
{
}

const char *client_msg_name(unsigned type)
{
#define NAME_CASE(ID, number, member, kind, owned)                                                 \
    case CLIENT_##ID:                                                                              \
        return #ID;
    switch (type) {
        CLIENT_MSGS(NAME_CASE)
    default:
        return "?";
    }
#undef NAME_CASE
}

void client_msg_encode(struct buf *b, const struct client_msg *m)
{
    buf_put_u8(b, CLIENT_VERSION);
    buf_put_u8(b, (uint8_t)m->type);
#define PUT_CASE(ID, number, member, kind, owned)                                                  \
    case CLIENT_##ID:                                                                              \
        put_##kind(b, &m->member);                                                                 \
        break;
    switch (m->type) {
        CLIENT_MSGS(PUT_CASE)
    default:
        b->failed = true;
    }
#undef PUT_CASE
}

static int get_fields(struct cur *c, struct client_msg *m, struct err *err)
{
#define GET_CASE(ID, number, member, kind, owned)                                                  \
    case CLIENT_##ID:                                                                              \
        return get_##kind(c, &m->member, err);
    switch (m->type) {
        CLIENT_MSGS(GET_CASE)
    default:
        return err_set(err, "unknown message type %d", (int)m->type);
    }
#undef GET_CASE
}

void client_msg_free(struct client_msg *m)
{
#define FREE_CASE(ID, number, member, kind, owned)                                                 \
    case CLIENT_##ID:                                                                              \
        free_##owned(&m->member);                                                                  \
        break;
    switch (m->type) {
        CLIENT_MSGS(FREE_CASE)
    default:
        break;
    }
#undef FREE_CASE
    *m = (struct client_msg){0};
}

static int decode_msg(struct cur *c, struct client_msg *m, struct err *err)
{
    uint8_t version = cur_u8(c);
    uint8_t type = cur_u8(c);
    bool job = type == CLIENT_SUBMIT; /* the decoder's reason says more than the message's length */
    int rc;

    if (c->bad)
        return err_set(err, "message of less than 2 bytes");
    if (version != CLIENT_VERSION)
        return err_set(err, "version %u of the local protocol, this program speaks %d", version,
                       CLIENT_VERSION);
    m->type = type;
    rc = get_fields(c, m, err);
    if ((c->bad && !job) || (rc == 0 && !cur_done(c)))
        return err_set(err, "message of type %u is cut short, too long or over a limit", type);
    return rc;
}

int client_msg_decode(const void *data, size_t len, struct client_msg *out, struct err *err)
{
    struct cur c = cur_of(data, len);

    *out = (struct client_msg){0};
    if (decode_msg(&c, out, err) == 0)
        return 0;
    client_msg_free(out);
    return err_wrap(err, "client message");
}

const struct client_end *client_msg_end(const struct client_msg *m)
{
    switch (m->type) {
    case CLIENT_DONE:
        return &m->done;
    case CLIENT_ERROR:
        return &m->error;
    case CLIENT_AWAY:
        return &m->away;
    default:
        return NULL;
    }
}

bool client_msg_numbered(enum client_type type)
{
    return type != CLIENT_OPEN && type != CLIENT_OPENED && type != CLIENT_ACK &&
           type != CLIENT_NOTE && type != CLIENT_BYE && type != CLIENT_FILES_ROOM &&
           type != CLIENT_REFERRAL_ASK && type != CLIENT_REFERRAL;
}
