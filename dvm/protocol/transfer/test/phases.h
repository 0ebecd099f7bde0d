/* SPDX-License-Identifier: BSD-3-Clause */
/* The matrix of faults that have met a transfer, in each of its phases. */
#ifndef DVM_TRANSFER_TEST_PHASES_H
#define DVM_TRANSFER_TEST_PHASES_H

#include "dvm/protocol/transfer/test/pair.h"

/* A fault of this frame: counts in the present phases of its transfer at both ends. */
void phases_note(const struct pair *p, const struct flight *f, enum pair_fault fault);
/* Forgets all faults of earlier schedules. */
void phases_clear(void);
/* The first empty cell that is not impossible, as a text; NULL: there is none. */
const char *phases_empty(void);

#endif
