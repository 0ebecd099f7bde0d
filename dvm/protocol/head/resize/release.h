/* SPDX-License-Identifier: BSD-3-Clause */
/* Releases that daemons request for themselves (SIGTERM). */
#ifndef DVM_HEAD_RESIZE_RELEASE_H
#define DVM_HEAD_RESIZE_RELEASE_H

#include "dvm/protocol/wire/msg/msg.h"

#define RELEASE_WINDOW_MS 50

struct campaigns;
struct releases;

struct releases *releases_create(struct campaigns *cs); /* borrows */
void releases_destroy(struct releases *rs);
void release_ask(struct releases *rs, uint32_t from, const struct msg_release_me *m);
void releases_steps(struct releases *rs);
uint64_t releases_next_deadline(const struct releases *rs); /* UINT64_MAX: none */

#endif
