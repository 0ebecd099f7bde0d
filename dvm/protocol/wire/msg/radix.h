/* SPDX-License-Identifier: BSD-3-Clause */
/* The radix of the tree in messages, and its limits. */
#ifndef DVM_WIRE_MSG_RADIX_H
#define DVM_WIRE_MSG_RADIX_H

#include "base/err/err.h"

#include <stdint.h>

#define RADIX_MIN 2
#define RADIX_MAX 1024

/* -1 and a reason unless this radix is allowed for trees. */
int msg_check_radix(uint32_t radix, struct err *err) __attribute__((warn_unused_result));

#endif
