/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of campaigns: a part of the journal. Its campaigns change by records only, and are
 * constant everywhere else. */
#ifndef DVM_HEAD_RESIZE_CAMPAIGN_TABLE_H
#define DVM_HEAD_RESIZE_CAMPAIGN_TABLE_H

#include "dvm/protocol/head/journal/journal.h"

struct campaign_table;

struct campaign_table *campaign_table_create(struct journal *j); /* borrows */
void campaign_table_destroy(struct campaign_table *t);

/* In order of acceptance; NULL: there is none. A campaign stays where it is until it is forgotten.
 */
const struct campaign *campaign_table_first(const struct campaign_table *t);
const struct campaign *campaign_table_last(const struct campaign_table *t);
const struct campaign *campaign_table_find(const struct campaign_table *t, const char *id);
const struct campaign_target *campaign_table_target(const struct campaign *c, uint32_t vpid);
size_t campaign_table_count(const struct campaign_table *t);
/* The campaign that the next CAMPAIGN will replace; NULL: there is room, or none has ended. */
const struct campaign *campaign_table_next_forgotten(const struct campaign_table *t);
bool campaign_table_room(const struct campaign_table *t); /* for one more */

/* The highest sequence that a requester has used. */
uint64_t campaign_table_sequence(const struct campaign_table *t);
/* Campaigns so far that applications, and daemons that leave, have asked for. */
uint64_t campaign_table_requests(const struct campaign_table *t);
uint64_t campaign_table_releases(const struct campaign_table *t);

#endif
