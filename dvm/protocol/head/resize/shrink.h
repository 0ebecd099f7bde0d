/* SPDX-License-Identifier: BSD-3-Clause */
/* Shrink campaigns. */
#ifndef DVM_HEAD_RESIZE_SHRINK_H
#define DVM_HEAD_RESIZE_SHRINK_H

#include <stddef.h>
#include <stdint.h>

struct campaign;
struct campaigns;

struct campaign *shrink_new(struct campaigns *cs, const char *id, const uint32_t *vpids, size_t n);
/* Its request is filled in: it begins to drain, or ends at once because no target is a member. */
void shrink_accept(struct campaigns *cs, struct campaign *c);
void shrink_step(struct campaigns *cs, struct campaign *c);
void shrink_cancel(struct campaigns *cs, struct campaign *c); /* while it drains */

#endif
