/* SPDX-License-Identifier: BSD-3-Clause */
/* One record of every type, for tests, and for the corpus of the fuzz target. */
#ifndef DVM_HEAD_JOURNAL_TEST_SAMPLES_H
#define DVM_HEAD_JOURNAL_TEST_SAMPLES_H

#include "dvm/protocol/head/journal/record.h"

#define SAMPLE_INC 0x5f3au
#define SAMPLE_FIRST RECORD_BEGIN
#define SAMPLE_END RECORD_MEMBERS /* this one begins a journal */

/* A valid record of the type: every field holds something. Borrowed. The records from SAMPLE_FIRST
 * to the one before SAMPLE_END are a journal: each fits the state after those before it. The
 * snapshot does not fit any state. */
struct record sample_record(unsigned type);

#endif
