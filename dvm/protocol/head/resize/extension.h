/* SPDX-License-Identifier: BSD-3-Clause */
/* Extensions end with the job that has asked for them. */
#ifndef DVM_HEAD_RESIZE_EXTENSION_H
#define DVM_HEAD_RESIZE_EXTENSION_H

#include "dvm/protocol/head/resize/campaign_private.h"

/* Cancels an extension whose job has ended, or releases its members. False: there is none. */
bool extension_end_one(struct campaigns *cs);

#endif
