/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parser of events (yaml.c) and the parser of scalars (scalar.c) share. */
#ifndef BASE_CONF_CONF_PRIVATE_H
#define BASE_CONF_CONF_PRIVATE_H

#include "base/conf/conf.h"

/* The value of an unquoted scalar; a new reference, or NULL and the reason. `s` is valid UTF-8. */
json_t *conf_plain_scalar(const char *s, struct err *err);

#endif
