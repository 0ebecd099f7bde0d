/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of applications and tools for another size (PMIx_Allocation_request). */
#ifndef DVM_HEAD_RESIZE_RESIZE_REQUEST_H
#define DVM_HEAD_RESIZE_RESIZE_REQUEST_H

#include "dvm/protocol/wire/msg/msg.h"

struct campaigns;

/* A daemon relays a request; it is answered once. */
void resize_request_take(struct campaigns *cs, uint32_t from, const struct msg_resize_ask *m);

#endif
