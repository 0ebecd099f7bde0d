/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses numbers that a user has written: values of options, lists of vpids. */
#ifndef BASE_CONF_NUMBER_H
#define BASE_CONF_NUMBER_H

#include "base/err/err.h"

#include <stdint.h>

/* A whole decimal number from min to max; `what` names the number in the message. */
int number_parse(const char *text, const char *what, uint64_t min, uint64_t max, uint64_t *out,
                 struct err *err) __attribute__((warn_unused_result));
/* Seconds above 0 with up to three decimals; the result is in milliseconds. */
int number_parse_seconds(const char *text, const char *what, uint64_t *ms, struct err *err)
    __attribute__((warn_unused_result));

#endif
