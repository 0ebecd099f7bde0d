/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of the messages' codecs, made from list.h. */
#include "dvm/protocol/wire/msg/msg.h"

#include <string.h>

struct codec {
    const char *name;
    enum msg_way way;
    void (*encode)(struct buf *b, const struct msg *m);
    int (*decode)(struct cur *c, struct msg *m, struct err *err);
    void (*free)(struct msg *m);
};

static void msg_nothing_free(const void *fields)
{
}

#define MSG_ROW(ID, member, kind, owned, way)                                                      \
    static void encode_##member(struct buf *b, const struct msg *m)                                \
    {                                                                                              \
        msg_##kind##_encode(b, &m->member);                                                        \
    }                                                                                              \
    static int decode_##member(struct cur *c, struct msg *m, struct err *err)                      \
    {                                                                                              \
        return msg_##kind##_decode(c, &m->member, err);                                            \
    }                                                                                              \
    static void free_##member(struct msg *m)                                                       \
    {                                                                                              \
        msg_##owned##_free(&m->member);                                                            \
    }
#include "dvm/protocol/wire/msg/list.h"
#undef MSG_ROW

#define MSG_ROW(ID, member, kind, owned, way)                                                      \
    [MSG_##ID] = {#ID, MSG_WAY_##way, encode_##member, decode_##member, free_##member},
static const struct codec codecs[MSG_TYPES] = {
#include "dvm/protocol/wire/msg/list.h"
};
#undef MSG_ROW

static bool is_type(unsigned type)
{
    return type < MSG_TYPES && codecs[type].name;
}

const char *msg_name(unsigned type)
{
    return is_type(type) ? codecs[type].name : "?";
}

enum msg_way msg_way(unsigned type)
{
    return type < MSG_TYPES ? codecs[type].way : MSG_WAY_ROUTED;
}

bool msg_is_routed(unsigned type)
{
    return msg_way(type) == MSG_WAY_ROUTED;
}

void msg_encode(struct buf *b, const struct msg *m)
{
    codecs[m->type].encode(b, m);
}

static int decode_body(struct cur *c, struct msg *m, struct err *err)
{
    if (codecs[m->type].decode(c, m, err) < 0)
        return -1;
    if (!cur_done(c))
        return err_set(err, c->bad ? "cut or out of its limits" : "bytes left over");
    return 0;
}

int msg_decode(struct cur *c, unsigned type, struct msg *out, struct err *err)
{
    struct msg m = {.type = type};

    if (!is_type(type))
        return err_set(err, "frame: unknown message type %u", type);
    if (decode_body(c, &m, err) < 0) {
        msg_free(&m);
        return err_wrap(err, "message %s", codecs[type].name);
    }
    *out = m;
    return 0;
}

void msg_free(struct msg *m)
{
    if (is_type(m->type))
        codecs[m->type].free(m);
    memset(m, 0, sizeof(*m));
}

uint64_t msg_op(const struct msg *m)
{
    return m->type == MSG_ADD        ? m->add.op
           : m->type == MSG_REMOVE   ? m->remove.op
           : m->type == MSG_SHUTDOWN ? m->shutdown.op
                                     : 0;
}

void msg_set_op(struct msg *m, uint64_t op)
{
    if (m->type == MSG_ADD)
        m->add.op = op;
    else if (m->type == MSG_REMOVE)
        m->remove.op = op;
    else if (m->type == MSG_SHUTDOWN)
        m->shutdown.op = op;
}
