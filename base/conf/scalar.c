/* SPDX-License-Identifier: BSD-3-Clause */
/* Plain YAML scalars by the core schema (YAML 1.2.2, section 10.3.2). */
#include "base/conf/conf_private.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool is_one_of(const char *s, const char *const *words)
{
    while (*words) {
        if (strcmp(s, *words++) == 0)
            return true;
    }
    return false;
}

static bool has_only(const char *s, const char *digits)
{
    return *s && s[strspn(s, digits)] == '\0';
}

/* Gives the base of the integer `s` and the start of its digits; 0: `s` is not an integer. */
static int int_base(const char *s, const char **digits)
{
    if (strncmp(s, "0o", 2) == 0 && has_only(s + 2, "01234567")) {
        *digits = s + 2;
        return 8;
    }
    if (strncmp(s, "0x", 2) == 0 && has_only(s + 2, "0123456789abcdefABCDEF")) {
        *digits = s + 2;
        return 16;
    }
    *digits = s;
    return has_only(s + (*s == '-' || *s == '+'), "0123456789") ? 10 : 0;
}

static bool is_real(const char *s)
{
    size_t whole;
    size_t part = 0;

    s += *s == '-' || *s == '+';
    whole = strspn(s, "0123456789");
    s += whole;
    if (*s == '.') {
        part = strspn(s + 1, "0123456789");
        s += 1 + part;
    }
    if (whole + part == 0)
        return false;
    if (*s == 'e' || *s == 'E') {
        s++;
        s += *s == '-' || *s == '+';
        return has_only(s, "0123456789");
    }
    return *s == '\0';
}

static json_t *parse_integer(const char *digits, int base, const char *s, struct err *err)
{
    long long v;

    errno = 0;
    v = strtoll(digits, NULL, base);
    if (errno == ERANGE) {
        err_set(err, "the integer %.64s does not fit 64 bits", s);
        return NULL;
    }
    return json_integer(v);
}

static json_t *parse_real(const char *s, struct err *err)
{
    double v = strtod(s, NULL);

    if (!isfinite(v)) {
        err_set(err, "the number %.64s is out of range", s);
        return NULL;
    }
    return json_real(v);
}

json_t *conf_plain_scalar(const char *s, struct err *err)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"true", "True", "TRUE", NULL};
    static const char *const falses[] = {"false", "False", "FALSE", NULL};
    static const char *const endless[] = {".inf",  ".Inf",  ".INF",  "-.inf", "-.Inf",
                                          "-.INF", "+.inf", "+.Inf", "+.INF", ".nan",
                                          ".NaN",  ".NAN",  NULL};
    const char *digits;
    int base;

    if (is_one_of(s, nulls))
        return json_null();
    if (is_one_of(s, trues))
        return json_true();
    if (is_one_of(s, falses))
        return json_false();
    if (is_one_of(s, endless)) {
        err_set(err, "the number %s has no finite value", s);
        return NULL;
    }
    base = int_base(s, &digits);
    if (base)
        return parse_integer(digits, base, s, err);
    return is_real(s) ? parse_real(s, err) : json_string(s);
}
