/* SPDX-License-Identifier: BSD-3-Clause */
/* Loading of YAML files, and lookup by path in the result. */
#include "base/conf/conf.h"

#include "base/buf/buf.h"

#include <string.h>

json_t *conf_load_yaml(const char *path, struct err *err)
{
    size_t len;
    FREE_AUTO char *text = conf_read_file(path, CONF_MAX_BYTES, &len, err);

    return text ? conf_parse_yaml(text, len, path, err) : NULL;
}

static const json_t *get_path(const json_t *o, const char *path)
{
    while (o) {
        const char *dot = strchrnul(path, '.');

        o = json_object_getn(o, path, (size_t)(dot - path));
        if (!*dot)
            return o;
        path = dot + 1;
    }
    return NULL;
}

const char *conf_str(const json_t *o, const char *path)
{
    return json_string_value(get_path(o, path));
}
