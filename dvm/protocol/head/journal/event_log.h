/* SPDX-License-Identifier: BSD-3-Clause */
/* The numbered events of one incarnation, for the operator's event stream. */
#ifndef DVM_HEAD_JOURNAL_EVENT_LOG_H
#define DVM_HEAD_JOURNAL_EVENT_LOG_H

#include "api/event.h"
#include "dvm/protocol/head/journal/incarnation.h"
#include "dvm/protocol/out/out.h"

struct event_log;

/* A part of the journal. Borrows all. */
struct event_log *event_log_create(struct journal *j, struct out *out,
                                   const struct incarnation *inc);
void event_log_destroy(struct event_log *log);
/* Appends an event and adds OUT_EVENT for the driver. vpid and epoch: 0 unless the event is
 * about one daemon. record: of the campaign that the event is about, else NULL; its content is
 * taken. */
void event_log_add(struct event_log *log, enum api_event_type type, uint32_t vpid, uint64_t epoch,
                   struct api_campaign *record);
/* The same for the loss of a daemon; cause: why, NULL: unknown. */
void event_log_add_loss(struct event_log *log, uint32_t vpid, uint64_t epoch, const char *cause);
/* NULL: not appended yet, or no longer among the last API_EVENTS_KEPT. Borrowed until the next
 * add. */
const struct api_event *event_log_get(const struct event_log *log, uint64_t number);
uint64_t event_log_next(const struct event_log *log); /* the number of the next event */

#endif
