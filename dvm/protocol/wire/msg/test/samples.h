/* SPDX-License-Identifier: BSD-3-Clause */
/* One message of every type between daemons, for tests, and for the corpus of the fuzz targets. */
#ifndef DVM_WIRE_MSG_TEST_SAMPLES_H
#define DVM_WIRE_MSG_TEST_SAMPLES_H

#include "dvm/protocol/wire/frame.h"
#include "dvm/protocol/wire/msg/msg.h"

/* A valid message of the type: every field holds something. Borrowed. */
struct msg sample_msg(unsigned type);
/* A whole frame of it, from vpid 3 to vpid 0. */
void sample_frame(struct buf *b, unsigned type);

#endif
