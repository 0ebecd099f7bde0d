/* SPDX-License-Identifier: BSD-3-Clause */
/* Releases that daemons request for themselves (SIGTERM). */
#ifndef DVM_HEAD_RESIZE_RELEASE_H
#define DVM_HEAD_RESIZE_RELEASE_H

#include "dvm/protocol/head/journal/journal.h"

#define RELEASE_WINDOW_MS 50

struct campaigns;
struct releases;

/* A part of the journal, which it borrows. */
struct releases *releases_create(struct journal *j);
void releases_destroy(struct releases *rs);
void release_ask(struct campaigns *cs, uint32_t from, const struct msg_release_me *m);
void releases_steps(struct campaigns *cs);
uint64_t releases_next_deadline(const struct releases *rs); /* UINT64_MAX: none */

#endif
