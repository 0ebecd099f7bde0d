/* SPDX-License-Identifier: BSD-3-Clause */
/* Points in time as Kubernetes writes them: RFC 3339 in UTC. */
#ifndef OPERATOR_MODEL_TIMESTAMP_H
#define OPERATOR_MODEL_TIMESTAMP_H

#include <stdint.h>

/* RFC 3339 in UTC: with milliseconds, and without (the form of metav1.Time). */
char *timestamp_ms(int64_t wall_ms);
char *timestamp_s(int64_t wall_ms);
/* -1: malformed. Digits beyond milliseconds are ignored. */
int timestamp_parse(const char *text, int64_t *wall_ms) __attribute__((warn_unused_result));

#endif
