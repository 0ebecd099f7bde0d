/* SPDX-License-Identifier: BSD-3-Clause */
/* Shrink campaigns. */
#ifndef DVM_HEAD_RESIZE_SHRINK_H
#define DVM_HEAD_RESIZE_SHRINK_H

#include <stddef.h>
#include <stdint.h>

struct campaign;
struct campaigns;

/* Of a draft: the epochs of its targets. Joiners that are not being wired are turned away. */
void shrink_find_targets(struct campaigns *cs, struct campaign *draft);
/* It begins to drain, or ends at once because no target is a member. */
void shrink_accept(struct campaigns *cs, const struct campaign *c);
void shrink_step(struct campaigns *cs, const struct campaign *c);
void shrink_cancel(struct campaigns *cs, const struct campaign *c); /* while it drains */

#endif
