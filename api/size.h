/* SPDX-License-Identifier: BSD-3-Clause */
/* The size message (PUT /v1/size), by which the operator bounds the members, and PUT
 * /v1/shutdown. */
#ifndef API_SIZE_H
#define API_SIZE_H

#include "api/api.h"
#include "base/err/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* {"sequence": 8, "members": 5}: vpids 1 to `members` may join from now on.
 * A sequence below the last one is refused (409 SequenceTooOld), and so is the last one with
 * another number of members. A shrink that runs or is complete has lowered the bound below its
 * targets; only a later size message raises it. The same message again changes nothing. The answer
 * has the same shape and holds the values in force.
 * Optional "min" and "max" bound the releases and extensions that applications ask for; without
 * them every vpid may be used. They bind neither `members` nor the campaigns of tools. */
struct api_size_limits {
    bool set; /* false: no limits, and both are 0 */
    uint32_t min, max;
};
struct api_size {
    uint64_t sequence;
    uint32_t members;
    struct api_size_limits limits;
};
bool api_size_limits_equal(const struct api_size_limits *a, const struct api_size_limits *b);
int api_size_decode(const json_t *body, struct api_size *out, struct err *err)
    __attribute__((warn_unused_result));
json_t *api_size_encode(const struct api_size *s);
/* Writes and reads both limits as members of a larger object. */
struct fields;
void api_size_limits_decode(struct fields *f, struct api_size_limits *out);
void api_size_limits_encode(json_t *o, const struct api_size_limits *l);

/* {"deadlineSeconds": 30}: jobs that still run at the deadline are ended, then members park and the
 * head exits with 0. The answer is 202 {"deadlineSeconds": 30}. */
struct api_shutdown {
    int64_t deadline_s;
};
int api_shutdown_decode(const json_t *body, struct api_shutdown *out, struct err *err)
    __attribute__((warn_unused_result));
json_t *api_shutdown_encode(const struct api_shutdown *s);

#endif
