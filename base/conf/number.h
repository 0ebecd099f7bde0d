/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers in texts that a user has written: option values, lists of vpids. */
#ifndef BASE_CONF_NUMBER_H
#define BASE_CONF_NUMBER_H

#include "base/err/err.h"

#include <stdint.h>

/* Whole decimal number within [min, max]; the message names `what`. */
int number_parse(const char *text, const char *what, uint64_t min, uint64_t max, uint64_t *out,
                 struct err *err) __attribute__((warn_unused_result));
/* Seconds, with up to three decimals, above 0, as milliseconds. */
int number_parse_seconds(const char *text, const char *what, uint64_t *ms, struct err *err)
    __attribute__((warn_unused_result));

#endif
