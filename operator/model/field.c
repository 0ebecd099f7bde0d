/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the members of a JSON object with checks of type and range. */
#include "operator/model/field.h"

#include <string.h>

int field_int(const json_t *o, const char *path, int64_t min, int64_t max, int64_t *out,
              struct err *err)
{
    const char *key = strrchr(path, '.');
    const json_t *v = json_object_get(o, key ? key + 1 : path);

    if (!v || json_is_null(v))
        return 0;
    if (!json_is_integer(v))
        return err_set(err, "%s must be a whole number", path);
    json_int_t n = json_integer_value(v);
    if (n < min || n > max)
        return err_set(err, "%s is %lld, it must be between %lld and %lld", path, (long long)n,
                       (long long)min, (long long)max);
    *out = n;
    return 0;
}

int field_str(const json_t *o, const char *path, size_t max, const char **out, struct err *err)
{
    const char *key = strrchr(path, '.');
    const json_t *v = json_object_get(o, key ? key + 1 : path);

    if (!v || json_is_null(v))
        return 0;
    if (!json_is_string(v))
        return err_set(err, "%s must be a string", path);
    if (json_string_length(v) > max)
        return err_set(err, "%s is longer than %zu bytes", path, max);
    *out = json_string_value(v);
    return 0;
}

int field_bool(const json_t *o, const char *path, bool *out, struct err *err)
{
    const char *key = strrchr(path, '.');
    const json_t *v = json_object_get(o, key ? key + 1 : path);

    if (!v || json_is_null(v))
        return 0;
    if (!json_is_boolean(v))
        return err_set(err, "%s must be true or false", path);
    *out = json_is_true(v);
    return 0;
}

int field_object(const json_t *o, const char *path, const json_t **out, struct err *err)
{
    const char *key = strrchr(path, '.');
    const json_t *v = json_object_get(o, key ? key + 1 : path);

    if (!v || json_is_null(v))
        return 0;
    if (!json_is_object(v))
        return err_set(err, "%s must be an object", path);
    *out = v;
    return 0;
}
