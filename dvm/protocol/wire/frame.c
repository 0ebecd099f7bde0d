/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of the frame header. */
#include "dvm/protocol/wire/frame.h"

void frame_encode(struct buf *b, const struct frame *f)
{
    buf_put_u8(b, WIRE_VERSION);
    buf_put_u8(b, f->traffic);
    buf_put_u16(b, f->type);
    buf_put_u32(b, f->src);
    buf_put_u32(b, f->dst);
    buf_put_u32(b, f->dst_ctr);
    buf_put_u64(b, f->src_epoch.inc);
    buf_put_u64(b, f->src_epoch.ctr);
    buf_put_u64(b, f->version);
    buf_put_u64(b, f->seq);
    buf_put_u64(b, f->ack);
    buf_put_u8(b, f->hops);
    buf_put_u8(b, f->speaks);
    buf_put_u16(b, 0); /* reserved, with the four bytes that follow */
    buf_put_u32(b, 0);
    buf_put_u64(b, f->hop_seq);
    buf_put_u64(b, f->hop_ack);
}

static void set_u64(uint8_t *to, uint64_t v)
{
    for (size_t i = 0; i < 8; i++)
        to[i] = (uint8_t)(v >> (56 - 8 * i));
}

void frame_set_hop(uint8_t *frame, uint64_t hop_seq, uint64_t hop_ack)
{
    set_u64(frame + FRAME_HEADER_BYTES - 16, hop_seq);
    set_u64(frame + FRAME_HEADER_BYTES - 8, hop_ack);
}

int frame_decode(struct cur *c, struct frame *out, struct err *err)
{
    uint8_t version = cur_u8(c);
    struct frame f;

    if (!c->bad && version != WIRE_VERSION) /* its header may have another length */
        return err_set(err, "frame: version %u, this daemon speaks %d", version, WIRE_VERSION);
    f.traffic = cur_u8(c);
    f.type = cur_u16(c);
    f.src = cur_u32(c);
    f.dst = cur_u32(c);
    f.dst_ctr = cur_u32(c);
    f.src_epoch.inc = cur_u64(c);
    f.src_epoch.ctr = cur_u64(c);
    f.version = cur_u64(c);
    f.seq = cur_u64(c);
    f.ack = cur_u64(c);
    f.hops = cur_u8(c);
    f.speaks = cur_u8(c);
    (void)cur_u16(c);
    (void)cur_u32(c);
    f.hop_seq = cur_u64(c);
    f.hop_ack = cur_u64(c);
    if (c->bad)
        return err_set(err, "frame: cut in its header");
    if (f.traffic >= CLASSES)
        return err_set(err, "frame: unknown traffic class %u", f.traffic);
    if (!vpid_allowed(f.src) || (!vpid_allowed(f.dst) && f.dst != VPID_NONE))
        return err_set(err, "frame: vpid out of range (%u to %u)", f.src, f.dst);
    *out = f;
    return 0;
}
