/* SPDX-License-Identifier: BSD-3-Clause */
/* The header of every frame between daemons. */
#ifndef DVM_WIRE_FRAME_H
#define DVM_WIRE_FRAME_H

#include "base/buf/buf.h"
#include "base/err/err.h"
#include "dvm/protocol/wire/epoch.h"

#include <stdint.h>

#define WIRE_VERSION 2
#define VPID_NONE UINT32_MAX
#define VPID_HEAD 0u
#define VPID_MAX 1048575u
#define FRAME_HEADER_BYTES 64
/* Up and down again in the deepest tree (radix 2, VPID_MAX) takes 40. While daemons hold different
 * trees a frame may run in a circle; it ends here, and comes again when they agree. */
#define FRAME_HOPS_MAX 64

/* Traffic classes: messages of different classes do not wait for each other. */
enum out_class { CLASS_CONTROL, CLASS_LAUNCH, CLASS_MODEX, CLASS_BULK, CLASSES };

struct frame {
    uint8_t traffic; /* enum out_class */
    uint16_t type;   /* enum msg_type */
    uint32_t src;
    uint32_t dst; /* VPID_NONE: whoever is at the other end of the link */
    struct epoch src_epoch;
    uint32_t dst_ctr; /* low bits of the receiver's epoch, same incarnation; 0: any life */
    uint64_t version; /* last membership broadcast that the sender had processed */
    uint64_t seq;     /* routed messages: number in the stream src -> dst of this class, from 1 */
    uint64_t ack;     /* all up to this one of the opposite stream have arrived */
    uint8_t hops;     /* routed messages: relays that have passed it on so far */
};

void frame_encode(struct buf *b, const struct frame *f);
/* Reads the header and leaves the cursor at the body. -1 and a reason if it is cut or out of its
 * limits; `out` is untouched then. */
int frame_decode(struct cur *c, struct frame *out, struct err *err)
    __attribute__((warn_unused_result));

#endif
