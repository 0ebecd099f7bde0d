/* SPDX-License-Identifier: BSD-3-Clause */
/* The incarnation of the DVM that this head began: its number, its cluster, and whether it ends. */
#ifndef DVM_HEAD_JOURNAL_INCARNATION_H
#define DVM_HEAD_JOURNAL_INCARNATION_H

#include "dvm/protocol/head/journal/journal.h"

struct incarnation;

/* A part of the journal, which it borrows: it has not begun before the record BEGIN. */
struct incarnation *incarnation_create(struct journal *j);
void incarnation_destroy(struct incarnation *i);
const char *incarnation_cluster(const struct incarnation *i);
uint64_t incarnation_number(const struct incarnation *i);  /* 0: it has not begun */
const char *incarnation_text(const struct incarnation *i); /* 16 hexadecimal digits */
/* The epoch with this counter. */
struct epoch incarnation_epoch(const struct incarnation *i, uint64_t ctr);

/* This moment by both clocks is recorded if a later process would not know it to a second: the wall
 * clock was set, or there are records a second after the last such moment. */
void incarnation_note_clock(struct incarnation *i, uint64_t now_ms, uint64_t wall_ms,
                            bool has_records);
/* By how much a later process, at this moment of its own clock and the wall clock, has to set its
 * clock forward, so that it goes on with the clock of the first one. If the wall clock has been set
 * since the last record, the result is wrong by as much. */
int64_t incarnation_clock_ahead(const struct incarnation *i, uint64_t now_ms, uint64_t wall_ms);

/* The incarnation ends at `at_ms`. With several calls, the earliest time and the first reason
 * count. True: it was not ending before. */
bool incarnation_end(struct incarnation *i, enum shutdown_why why, uint64_t at_ms);
bool incarnation_ending(const struct incarnation *i);
/* Only while it ends. */
uint64_t incarnation_ends_at(const struct incarnation *i);
enum shutdown_why incarnation_why(const struct incarnation *i);

#endif
