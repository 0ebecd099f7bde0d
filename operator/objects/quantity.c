/* SPDX-License-Identifier: BSD-3-Clause */
/* Quantities of Kubernetes, as far as an amount of memory needs them. */
#include "operator/objects/objects_private.h"

#include <stdlib.h>
#include <string.h>

/* Above it a double has no whole bytes any more, and no container has so much. */
#define QUANTITY_MAX 9.0e15

uint64_t objects_quantity(const json_t *value)
{
    static const struct {
        const char *suffix;
        double factor;
    } units[] = {{"", 1},     {"k", 1e3},   {"M", 1e6},           {"G", 1e9},
                 {"T", 1e12}, {"Ki", 1024}, {"Mi", 1048576},      {"Gi", 1073741824},
                 {"m", 1e-3}, {"P", 1e15},  {"Ti", 1099511627776}};
    const char *text = json_string_value(value);
    char *end = NULL;

    if (json_is_integer(value) && json_integer_value(value) > 0)
        return (uint64_t)json_integer_value(value);
    if (!text || strspn(text, "0123456789") == 0)
        return 0;
    double n = strtod(text, &end);
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (strcmp(end, units[i].suffix) == 0 && n * units[i].factor <= QUANTITY_MAX)
            return (uint64_t)(n * units[i].factor);
    }
    return 0;
}
