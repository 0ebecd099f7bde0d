/* SPDX-License-Identifier: BSD-3-Clause */
/* YAML (libyaml) read into jansson values, for kubeconfigs and configuration files. */
#ifndef BASE_CONF_CONF_H
#define BASE_CONF_CONF_H

#include "base/err/err.h"

#include <jansson.h>
#include <stddef.h>

/* One document. Plain scalars become null, true/false, integers, reals or strings by the YAML 1.2
 * core schema; quoted ones are strings. Refused with line and column: anchors and aliases, tags
 * other than !!str, duplicate keys, nesting over 64, non-scalar keys, more than `CONF_MAX_BYTES`. A
 * new reference, or NULL; a text without a document gives JSON's null. `name` is for messages. */
#define CONF_MAX_BYTES (4u << 20)
json_t *conf_parse_yaml(const char *text, size_t len, const char *name, struct err *err);
json_t *conf_load_yaml(const char *path, struct err *err);
/* A whole regular file as a NUL-terminated heap string; refuses more than max bytes. `len` may be
 * NULL. err->code is an errno value. */
char *conf_read_file(const char *path, size_t max, size_t *len, struct err *err);
/* By dotted path, e.g. conf_str(o, "a.b.c"): borrowed, NULL if absent or no string. */
const char *conf_str(const json_t *o, const char *path);

#endif
