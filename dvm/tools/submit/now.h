/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock of prun's loop. A test that defines the function itself has a clock of its own. */
#ifndef DVM_SUBMIT_NOW_H
#define DVM_SUBMIT_NOW_H

#include <stdint.h>

int64_t submit_now_ms(void); /* monotonic */

#endif
