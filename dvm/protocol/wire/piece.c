/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of pieces of files, and the order in which they come. */
#include "dvm/protocol/wire/piece.h"

void piece_encode(struct buf *b, const struct piece *p)
{
    buf_put_u8(b, (uint8_t)p->kind);
    buf_put_u32(b, p->file);
    if (p->kind == PIECE_FILE)
        buf_put_u32(b, p->mode);
    if (p->kind == PIECE_END)
        buf_put_u64(b, p->size);
    if (p->kind != PIECE_FILE)
        buf_put_bytes(b, p->data, p->len);
}

static int check_piece(const struct piece *p, struct err *err)
{
    switch (p->kind) {
    case PIECE_FILE:
        return p->mode <= PIECE_MODE_MAX ? 0 : err_set(err, "mode 0%o of a file", p->mode);
    case PIECE_DATA:
        return p->len ? 0 : err_set(err, "data of no bytes");
    case PIECE_END:
        return p->len == PIECE_SUM_BYTES ? 0 : err_set(err, "a checksum of %zu bytes", p->len);
    default:
        return err_set(err, "unknown kind %d", (int)p->kind);
    }
}

int piece_decode(const void *data, size_t len, struct piece *out, struct err *err)
{
    struct cur c = cur_of(data, len);
    struct piece p = {.kind = cur_u8(&c), .file = cur_u32(&c)};

    if (p.kind == PIECE_FILE)
        p.mode = cur_u32(&c);
    if (p.kind == PIECE_END)
        p.size = cur_u64(&c);
    if (p.kind == PIECE_DATA || p.kind == PIECE_END)
        p.data = cur_bytes(&c, PIECE_DATA_MAX, &p.len);
    if (c.bad)
        return err_set(err, "piece of a file: cut short, or over a limit");
    if (check_piece(&p, err) < 0)
        return err_wrap(err, "piece of a file");
    if (!cur_done(&c))
        return err_set(err, "piece of a file: bytes left over");
    *out = p;
    return 0;
}

int piece_follow(struct piece_order *o, uint32_t nfiles, const struct piece *p, struct err *err)
{
    bool begins = p->kind == PIECE_FILE;

    if (p->file != o->file || p->file >= nfiles || begins == o->open)
        return err_set(err, "piece of file %u, kind %d, while file %u of %u is %s", p->file,
                       (int)p->kind, o->file, nfiles, o->open ? "under way" : "to come");
    if (p->kind == PIECE_END && p->size != o->bytes)
        return err_set(err, "file %u ends with %llu bytes, %llu have come", p->file,
                       (unsigned long long)p->size, (unsigned long long)o->bytes);
    if (p->kind == PIECE_DATA)
        o->bytes += p->len;
    if (begins)
        o->bytes = 0;
    o->open = p->kind != PIECE_END;
    o->file += p->kind == PIECE_END;
    return 0;
}
