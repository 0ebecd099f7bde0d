/* SPDX-License-Identifier: BSD-3-Clause */
/* Admission is delayed for a vpid with several short epochs in a row. */
#ifndef DVM_HEAD_MEMBERS_JOIN_BACKOFF_H
#define DVM_HEAD_MEMBERS_JOIN_BACKOFF_H

#include <stdint.h>

#define JOIN_SHORT_MS 10000 /* an epoch that ends sooner is short */
#define JOIN_SHORT_FREE 2   /* short epochs in a row without a delay */
/* Pause from one admission to the next after so many: the minimum, doubled for each further one. */
#define JOIN_BACKOFF_MIN_MS 1000
#define JOIN_BACKOFF_MAX_MS 30000

struct join_backoff;

struct join_backoff *join_backoff_create(void);
void join_backoff_destroy(struct join_backoff *b);
/* The time for which a vpid that calls home now has to wait for its admission; 0: it need not. */
uint64_t join_backoff_pause(struct join_backoff *b, uint32_t vpid, uint64_t now_ms);
void join_backoff_admitted(struct join_backoff *b, uint32_t vpid, uint64_t now_ms);
/* The epoch ends by the DVM's own order: it does not count. */
void join_backoff_forget(struct join_backoff *b, uint32_t vpid);

#endif
