/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses numbers that a user has written. */
#include "base/conf/number.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_MAX 31536000u /* a year */

int number_parse(const char *text, const char *what, uint64_t min, uint64_t max, uint64_t *out,
                 struct err *err)
{
    const char *digits = text + (text[0] == '-');
    char *end;

    errno = 0;
    *out = strtoull(digits, &end, 10);
    if (!isdigit((unsigned char)digits[0]) || *end)
        return err_set(err, "%s: '%s' is not a whole number", what, text);
    if (errno || digits != text || *out < min || *out > max)
        return err_set(err, "%s: %s is not within %llu..%llu", what, text, (unsigned long long)min,
                       (unsigned long long)max);
    return 0;
}

int number_parse_seconds(const char *text, const char *what, uint64_t *ms, struct err *err)
{
    char whole[16] = "";
    size_t digits = strspn(text, "0123456789");
    const char *rest = text + digits;
    uint64_t seconds, scale = 100;

    if (!digits || digits >= sizeof(whole))
        return err_set(err, "%s: '%s' is not a number of seconds", what, text);
    memcpy(whole, text, digits);
    if (number_parse(whole, what, 0, SECONDS_MAX, &seconds, err) < 0)
        return -1;
    *ms = seconds * 1000;
    if (*rest == '.') {
        for (rest++; isdigit((unsigned char)*rest) && scale; rest++, scale /= 10)
            *ms += scale * (uint64_t)(*rest - '0');
    }
    if (*rest)
        return err_set(err, "%s: '%s' is not a number of seconds (at most three decimals)", what,
                       text);
    if (!*ms)
        return err_set(err, "%s: has to be more than 0", what);
    return 0;
}
