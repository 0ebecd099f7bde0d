/* SPDX-License-Identifier: BSD-3-Clause */
/* The header of every frame between daemons, and the versions of what daemons say.
 *
 * A frame is a header of FRAME_HEADER_BYTES and the body of one message (dvm/protocol/wire/msg). A
 * frame between neighbours has seq 0. A routed frame has a number in its stream (src, dst, class),
 * and each relay counts one hop.
 *
 * Invariants: decoding refuses a header that is cut or has a field out of its limits, and
 * changes nothing then. */
#ifndef DVM_WIRE_FRAME_H
#define DVM_WIRE_FRAME_H

#include "api/vpid.h"
#include "base/buf/buf.h"
#include "base/err/err.h"
#include "dvm/protocol/wire/epoch.h"

#include <stdint.h>

/* The layout of the header. Daemons of another layout cannot read each other's frames; the one that
 * is called says so in REFUSE. */
#define WIRE_VERSION 4
/* The newest set of messages and fields that this daemon knows. Daemons of editions n and n-1
 * understand each other: docs/protocol/versions.md says how a message changes. 0: release 0.1.0. */
#define WIRE_EDITION 1
#define VPID_NONE UINT32_MAX
#define VPID_HEAD 0u
#define FRAME_HEADER_BYTES 80
/* A path up and down the deepest tree (radix 2, VPID_MAX) has 32 hops. While daemons hold
 * different trees a frame may circle. It is dropped at this limit, and sent again later. */
#define FRAME_HOPS_MAX 64

/* Traffic classes: messages of different classes do not wait for each other. */
enum out_class { CLASS_CONTROL, CLASS_LAUNCH, CLASS_MODEX, CLASS_BULK, CLASSES };

struct frame {
    uint8_t traffic; /* enum out_class */
    uint16_t type;   /* enum msg_type */
    uint32_t src;
    uint32_t dst; /* VPID_NONE: the daemon at the other end of the link */
    struct epoch src_epoch;
    uint32_t dst_ctr; /* low bits of the receiver's epoch, same incarnation; 0: any epoch. HELLO,
                         ADD, REMOVE, SHUTDOWN, SNAPSHOT: of the epoch of the head that the sender
                         knows */
    uint64_t version; /* last membership broadcast that the sender had processed */
    uint64_t seq;     /* routed messages: number in the stream src -> dst of this class, from 1 */
    uint64_t ack;     /* all frames of the opposite stream up to this number have arrived */
    uint8_t hops;     /* routed messages: relays so far */
    uint8_t speaks;   /* the newest edition that the source knows */
    /* Between neighbours (dvm/protocol/peer); each hop sets them anew. */
    uint64_t hop_seq; /* number in the sequence of this peer and direction; 0: outside of it */
    uint64_t hop_ack; /* all frames of the opposite direction up to this number have arrived */
};

void frame_encode(struct buf *b, const struct frame *f);
/* Sets the two numbers of the hop in an encoded frame of at least FRAME_HEADER_BYTES. */
void frame_set_hop(uint8_t *frame, uint64_t hop_seq, uint64_t hop_ack);
/* Reads the header and leaves the cursor at the body. -1 and a reason if it is cut or out of its
 * limits; `out` is untouched then. */
int frame_decode(struct cur *c, struct frame *out, struct err *err)
    __attribute__((warn_unused_result));

#endif
