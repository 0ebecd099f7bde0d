/* SPDX-License-Identifier: BSD-3-Clause */
/* Typed, limited fields of JSON objects: reads that remember the first failure, and safe writes.
 *
 * In: a JSON object of a peer. Out: values within the caller's limits, or an error that names the
 * first bad field. Reads after a failure give 0, NULL or the default, so a decoder checks `bad`
 * once at its end.
 *
 * Limits: integers are signed 64-bit numbers. A text is refused beyond its limit when it is read,
 * and cut when it is written. fields_put_str() cuts between characters and replaces malformed bytes
 * by '?', so that every text it writes is valid UTF-8. An optional field with null counts as
 * absent. */
#include "api/fields.h"

#include "base/buf/buf.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *type_name(const json_t *v)
{
    switch (json_typeof(v)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a fraction";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a boolean";
    case JSON_NULL:
        break;
    }
    return "null";
}

struct fields fields_of(const json_t *o, struct err *err)
{
    struct fields f = {.o = o, .err = err};

    if (!o) {
        f.bad = true;
        err_set(err, "no JSON value where an object is wanted");
    } else if (!json_is_object(o)) {
        f.bad = true;
        err_set(err, "%s where an object is wanted", type_name(o));
    }
    return f;
}

void fields_refuse(struct fields *f, const char *name, const char *fmt, ...)
{
    if (f->bad)
        return;
    f->bad = true;
    char why[ERR_MSG_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof(why), fmt, ap);
    va_end(ap);
    err_set(f->err, "%s: %s", name, why);
}

void fields_only(struct fields *f, const char *const *names)
{
    const char *key;
    json_t *v;

    if (f->bad)
        return;
    json_object_foreach((json_t *)f->o, key, v)
    {
        size_t i = 0;

        while (names[i] && strcmp(names[i], key) != 0)
            i++;
        if (!names[i])
            fields_refuse(f, key, "there is no such field");
    }
}

static const json_t *find_optional(struct fields *f, const char *name)
{
    const json_t *v = f->bad ? NULL : json_object_get(f->o, name);

    return v && !json_is_null(v) ? v : NULL;
}

static const json_t *find_required(struct fields *f, const char *name)
{
    const json_t *v = find_optional(f, name);

    if (!v)
        fields_refuse(f, name, "missing");
    return v;
}

static int64_t get_integer(struct fields *f, const char *name, const json_t *v, int64_t min,
                           int64_t max)
{
    if (!json_is_integer(v)) {
        fields_refuse(f, name, "%s where an integer is wanted", type_name(v));
        return 0;
    }
    json_int_t i = json_integer_value(v);
    if (i < min || i > max) {
        fields_refuse(f, name, "%" JSON_INTEGER_FORMAT " is not within %" PRId64 " to %" PRId64, i,
                      min, max);
        return 0;
    }
    return i;
}

/* JSON integers are read as signed 64-bit numbers. */
static int64_t signed_max(uint64_t max)
{
    return max > INT64_MAX ? INT64_MAX : (int64_t)max;
}

uint64_t fields_u64(struct fields *f, const char *name, uint64_t max)
{
    const json_t *v = find_required(f, name);

    return v ? (uint64_t)get_integer(f, name, v, 0, signed_max(max)) : 0;
}

uint64_t fields_u64_or(struct fields *f, const char *name, uint64_t max, uint64_t absent)
{
    const json_t *v = find_optional(f, name);

    return v ? (uint64_t)get_integer(f, name, v, 0, signed_max(max)) : absent;
}

int64_t fields_i64_or(struct fields *f, const char *name, int64_t min, int64_t max, int64_t absent)
{
    const json_t *v = find_optional(f, name);

    return v ? get_integer(f, name, v, min, max) : absent;
}

/* Borrowed; NULL when bad. The JSON parser refuses an embedded NUL, and so does this function for
 * values that were made otherwise. */
static const char *get_string(struct fields *f, const char *name, const json_t *v, size_t min,
                              size_t max)
{
    if (!json_is_string(v)) {
        fields_refuse(f, name, "%s where a string is wanted", type_name(v));
        return NULL;
    }
    const char *s = json_string_value(v);
    size_t len = json_string_length(v);
    if (len < min)
        fields_refuse(f, name, "empty");
    else if (len > max)
        fields_refuse(f, name, "%zu bytes, at most %zu are allowed", len, max);
    else if (strlen(s) != len)
        fields_refuse(f, name, "holds a NUL character");
    return f->bad ? NULL : s;
}

char *fields_str(struct fields *f, const char *name, size_t max)
{
    const json_t *v = find_required(f, name);
    const char *s = v ? get_string(f, name, v, 1, max) : NULL;

    return s ? xstrdup(s) : NULL;
}

char *fields_str_or(struct fields *f, const char *name, size_t max, const char *absent)
{
    const json_t *v = find_optional(f, name);

    if (!v)
        return f->bad ? NULL : xstrdup(absent);
    const char *s = get_string(f, name, v, 0, max);
    return s ? xstrdup(s) : NULL;
}

void fields_word(struct fields *f, const char *name, char *out, size_t size)
{
    const json_t *v = find_required(f, name);
    const char *s = v ? get_string(f, name, v, 1, size - 1) : NULL;

    snprintf(out, size, "%s", s ? s : "");
}

static size_t get_choice(struct fields *f, const char *name, const json_t *v,
                         const char *const *words, size_t nwords)
{
    const char *s = get_string(f, name, v, 1, SIZE_MAX);

    for (size_t i = 0; s && i < nwords; i++) {
        if (strcmp(s, words[i]) == 0)
            return i;
    }
    if (s)
        fields_refuse(f, name, "\"%.64s\" is not known here", s);
    return 0;
}

size_t fields_choice(struct fields *f, const char *name, const char *const *words, size_t nwords)
{
    const json_t *v = find_required(f, name);

    return v ? get_choice(f, name, v, words, nwords) : 0;
}

size_t fields_choice_or(struct fields *f, const char *name, const char *const *words, size_t nwords,
                        size_t absent)
{
    const json_t *v = find_optional(f, name);

    return v ? get_choice(f, name, v, words, nwords) : absent;
}

const json_t *fields_object_or_null(struct fields *f, const char *name)
{
    const json_t *v = find_optional(f, name);

    if (v && !json_is_object(v)) {
        fields_refuse(f, name, "%s where an object is wanted", type_name(v));
        return NULL;
    }
    return v;
}

static const json_t *get_array(struct fields *f, const char *name, const json_t *v, size_t max)
{
    if (v && !json_is_array(v))
        fields_refuse(f, name, "%s where a list is wanted", type_name(v));
    else if (v && json_array_size(v) > max)
        fields_refuse(f, name, "%zu elements, at most %zu are allowed", json_array_size(v), max);
    return f->bad ? NULL : v;
}

const json_t *fields_array(struct fields *f, const char *name, size_t max)
{
    return get_array(f, name, find_required(f, name), max);
}

const json_t *fields_array_or_null(struct fields *f, const char *name, size_t max)
{
    return get_array(f, name, find_optional(f, name), max);
}

static uint32_t *get_u32s(struct fields *f, const char *name, const json_t *list, bool ascending,
                          size_t *n)
{
    size_t count = json_array_size(list); /* list is NULL: 0 */

    *n = 0;
    if (count == 0)
        return NULL;
    FREE_AUTO uint32_t *out = xcalloc(count, sizeof(*out));
    for (size_t i = 0; i < count && !f->bad; i++) {
        out[i] = (uint32_t)get_integer(f, name, json_array_get(list, i), 0, UINT32_MAX);
        if (ascending && i > 0 && out[i] <= out[i - 1])
            fields_refuse(f, name, "%" PRIu32 " after %" PRIu32 ", ascending numbers are wanted",
                          out[i], out[i - 1]);
    }
    if (f->bad)
        return NULL;
    *n = count;
    uint32_t *ret = out;
    out = NULL;
    return ret;
}

uint32_t *fields_u32s(struct fields *f, const char *name, size_t max, bool ascending, size_t *n)
{
    return get_u32s(f, name, fields_array(f, name, max), ascending, n);
}

uint32_t *fields_u32s_or_none(struct fields *f, const char *name, size_t max, size_t *n)
{
    return get_u32s(f, name, fields_array_or_null(f, name, max), false, n);
}

void fields_put_u64(json_t *o, const char *name, uint64_t v)
{
    json_object_set_new(o, name, json_integer((json_int_t)v));
}

void fields_put_i64(json_t *o, const char *name, int64_t v)
{
    json_object_set_new(o, name, json_integer(v));
}

/* Length of the UTF-8 sequence at p; 0: malformed, or no character of a JSON text. */
static size_t utf8_len(const unsigned char *p)
{
    if (p[0] < 0x80)
        return 1;
    size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    }
    bool overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    bool surrogate = p[0] == 0xed && p[1] >= 0xa0;
    bool too_high = p[0] == 0xf4 && p[1] >= 0x90;
    return overlong || surrogate || too_high ? 0 : n;
}

void fields_put_str(json_t *o, const char *name, const char *s, size_t max)
{
    const unsigned char *p = (const unsigned char *)(s ? s : "");
    size_t len = strlen((const char *)p), used = 0;
    FREE_AUTO char *clean = xmalloc((len < max ? len : max) + 1);

    while (*p && used < max) {
        size_t n = utf8_len(p);

        if (used + n > max)
            break;
        if (n == 0)
            clean[used++] = '?';
        else
            memcpy(clean + used, p, n);
        used += n;
        p += n ? n : 1;
    }
    json_object_set_new(o, name, json_stringn(clean, used));
}

void fields_put_u32s(json_t *o, const char *name, const uint32_t *v, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_integer(v[i]));
    json_object_set_new(o, name, list);
}
