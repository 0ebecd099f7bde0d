/* SPDX-License-Identifier: BSD-3-Clause */
/* The incarnation of the DVM that this head began: its number, its cluster, and whether it ends. */
#ifndef DVM_HEAD_JOURNAL_INCARNATION_H
#define DVM_HEAD_JOURNAL_INCARNATION_H

#include "dvm/protocol/wire/msg/msg.h"

struct incarnation;

/* Copies `cluster`. `number` is random and not 0. */
struct incarnation *incarnation_create(const char *cluster, uint64_t number);
void incarnation_destroy(struct incarnation *i);
const char *incarnation_cluster(const struct incarnation *i);
const char *incarnation_text(const struct incarnation *i); /* 16 hexadecimal digits */
/* The epoch with this counter. */
struct epoch incarnation_epoch(const struct incarnation *i, uint64_t ctr);

/* The incarnation ends at `at_ms`. With several calls, the earliest time and the first reason
 * count. True: it was not ending before. */
bool incarnation_end(struct incarnation *i, enum shutdown_why why, uint64_t at_ms);
bool incarnation_ending(const struct incarnation *i);
/* Only while it ends. */
uint64_t incarnation_ends_at(const struct incarnation *i);
enum shutdown_why incarnation_why(const struct incarnation *i);

#endif
