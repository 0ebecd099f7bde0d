/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the members of a JSON object with checks of type and range. */
#ifndef OPERATOR_MODEL_FIELD_H
#define OPERATOR_MODEL_FIELD_H

#include "base/err/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each reads the member of `o` (may be NULL) that the last part of `path` names. If it is absent or
 * null, *out is unchanged. If it is wrong, the error names the path. */
int field_int(const json_t *o, const char *path, int64_t min, int64_t max, int64_t *out,
              struct err *err) __attribute__((warn_unused_result));
int field_str(const json_t *o, const char *path, size_t max, const char **out, struct err *err)
    __attribute__((warn_unused_result));
int field_bool(const json_t *o, const char *path, bool *out, struct err *err)
    __attribute__((warn_unused_result));
int field_object(const json_t *o, const char *path, const json_t **out, struct err *err)
    __attribute__((warn_unused_result));

#endif
