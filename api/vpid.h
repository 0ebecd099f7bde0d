/* SPDX-License-Identifier: BSD-3-Clause */
/* The limit of vpids, and the checks of every vpid that a request, an option, a frame or a record
 * names. */
#ifndef API_VPID_H
#define API_VPID_H

#include "base/err/err.h"

#include <stdbool.h>
#include <stdint.h>

/* The head has vpid 0, members have 1 to VPID_MAX. So a DVM has VPID_MAX members at most. */
#define VPID_MAX 65535

/* Decides alone whether a vpid, or a number of members, is within the limit. All others ask it. */
bool vpid_allowed(uint64_t vpid);
/* -1, status 400 and a reason with the limit. `what` names the field or option. */
int vpid_check(const char *what, uint64_t vpid, struct err *err)
    __attribute__((warn_unused_result));
/* Reads a vpid, or a number of members, that a user has written. */
int vpid_parse(const char *text, const char *what, uint32_t *out, struct err *err)
    __attribute__((warn_unused_result));

#endif
