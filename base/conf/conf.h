/* SPDX-License-Identifier: BSD-3-Clause */
/* YAML (libyaml) as jansson values, for kubeconfigs and configuration files. */
#ifndef BASE_CONF_CONF_H
#define BASE_CONF_CONF_H

#include "base/err/err.h"

#include <jansson.h>
#include <stddef.h>

/* Parses one document and returns a new reference, or NULL and err. A text without a document gives
 * JSON's null.
 * Plain scalars become null, true, false, integers, reals or strings by the YAML 1.2 core schema;
 * quoted scalars are strings.
 * Refused, with line and column: anchors and aliases, tags other than !!str, duplicate keys, more
 * than 64 levels, keys that are not scalars, more than CONF_MAX_BYTES. `name` is the text's name in
 * messages. */
#define CONF_MAX_BYTES (4u << 20)
json_t *conf_parse_yaml(const char *text, size_t len, const char *name, struct err *err);
json_t *conf_load_yaml(const char *path, struct err *err);
/* Reads a whole regular file of at most `max` bytes as a NUL-terminated heap string. `len` may be
 * NULL. err->code is an errno value. */
char *conf_read_file(const char *path, size_t max, size_t *len, struct err *err);
/* Looks up a dotted path, for example conf_str(o, "a.b.c"). Borrowed; NULL if absent or not a
 * string. */
const char *conf_str(const json_t *o, const char *path);

#endif
