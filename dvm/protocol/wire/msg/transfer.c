/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of the messages of a transfer. */
#include "dvm/protocol/wire/msg/transfer.h"

static void put_ref(struct buf *b, const struct transfer_ref *r)
{
    buf_put_u64(b, r->from_end);
    buf_put_u64(b, r->to_end);
    buf_put_u32(b, r->series);
    buf_put_u64(b, r->number);
    buf_put_u32(b, r->dance);
}

static void get_ref(struct cur *c, struct transfer_ref *r)
{
    r->from_end = cur_u64(c);
    r->to_end = cur_u64(c);
    r->series = cur_u32(c);
    r->number = cur_u64(c);
    r->dance = cur_u32(c);
    c->bad |= r->from_end == 0;
}

static void put_match(struct buf *b, const struct transfer_match *m)
{
    buf_put_u32(b, m->src);
    buf_put_u32(b, m->dst);
    msg_put_epoch(b, m->src_epoch);
    buf_put_u8(b, m->traffic);
    buf_put_u64(b, m->seq);
}

static void get_match(struct cur *c, struct transfer_match *m)
{
    m->src = cur_u32(c);
    m->dst = cur_u32(c);
    m->src_epoch = msg_get_epoch(c);
    m->traffic = msg_get_enum(c, CLASSES);
    m->seq = cur_u64(c);
    c->bad |= !vpid_allowed(m->src) || !vpid_allowed(m->dst);
}

void msg_match_encode(struct buf *b, const struct msg_match *m)
{
    put_ref(b, &m->ref);
    put_match(b, &m->match);
    buf_put_bytes(b, m->data, m->len);
}

int msg_match_decode(struct cur *c, struct msg_match *m, struct err *err)
{
    get_ref(c, &m->ref);
    get_match(c, &m->match);
    m->data = cur_bytes(c, TRANSFER_EAGER_BYTES, &m->len);
    return 0;
}

void msg_rndv_encode(struct buf *b, const struct msg_rndv *m)
{
    put_ref(b, &m->ref);
    put_match(b, &m->match);
    buf_put_u64(b, m->size);
}

int msg_rndv_decode(struct cur *c, struct msg_rndv *m, struct err *err)
{
    get_ref(c, &m->ref);
    get_match(c, &m->match);
    m->size = cur_u64(c);
    if (!c->bad && (m->size == 0 || m->size > INT64_MAX))
        return err_set(err, "a message of %llu bytes", (unsigned long long)m->size);
    return 0;
}

void msg_frag_encode(struct buf *b, const struct msg_frag *m)
{
    put_ref(b, &m->ref);
    buf_put_u64(b, m->offset);
    buf_put_bytes(b, m->data, m->len);
}

int msg_frag_decode(struct cur *c, struct msg_frag *m, struct err *err)
{
    get_ref(c, &m->ref);
    m->offset = cur_u64(c);
    m->data = cur_bytes(c, TRANSFER_FRAG_BYTES, &m->len);
    if (!c->bad && (m->offset % TRANSFER_FRAG_BYTES || m->len == 0))
        return err_set(err, "a fragment of %zu bytes at %llu", m->len,
                       (unsigned long long)m->offset);
    return 0;
}

void msg_grant_encode(struct buf *b, const struct msg_grant *m)
{
    put_ref(b, &m->ref);
    buf_put_u64(b, m->offset);
    buf_put_u64(b, m->len);
}

int msg_grant_decode(struct cur *c, struct msg_grant *m, struct err *err)
{
    get_ref(c, &m->ref);
    m->offset = cur_u64(c);
    m->len = cur_u64(c);
    if (m->offset > INT64_MAX || m->len > INT64_MAX)
        return err_set(err, "a region beyond every message");
    return 0;
}

void msg_fin_encode(struct buf *b, const struct msg_fin *m)
{
    put_ref(b, &m->ref);
    put_match(b, &m->match);
    buf_put_u64(b, m->offset);
    buf_put_u8(b, m->by_receiver);
}

int msg_fin_decode(struct cur *c, struct msg_fin *m, struct err *err)
{
    get_ref(c, &m->ref);
    get_match(c, &m->match);
    m->offset = cur_u64(c);
    m->by_receiver = msg_get_flag(c);
    return 0;
}

void msg_ref_encode(struct buf *b, const struct msg_ref *m)
{
    put_ref(b, &m->ref);
}

int msg_ref_decode(struct cur *c, struct msg_ref *m, struct err *err)
{
    get_ref(c, &m->ref);
    return 0;
}

void msg_taken_encode(struct buf *b, const struct msg_taken *m)
{
    buf_put_u64(b, m->count);
}

int msg_taken_decode(struct cur *c, struct msg_taken *m, struct err *err)
{
    m->count = cur_u64(c);
    return 0;
}
