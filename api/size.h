/* SPDX-License-Identifier: BSD-3-Clause */
/* PUT /v1/size: the operator's numbered word on how many members may join; PUT /v1/shutdown. */
#ifndef API_SIZE_H
#define API_SIZE_H

#include "api/api.h"
#include "base/err/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* {"sequence": 8, "members": 5}: vpids 1..members may join from now on. A sequence lower than the
 * last one seen, or the last one with another number of members, is refused (409 SequenceTooOld). A
 * running or completed shrink has lowered the bound below its targets until a later size message
 * raises it; the same message again changes nothing. The answer is the same shape, with what is in
 * force.
 * Optional "min" and "max": how far applications may release and extend by themselves; without
 * either, as far as there are vpids. They bind neither `members` nor campaigns of tools. */
struct api_size_limits {
    bool set; /* false: none, and the two are 0 */
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
/* The two as members of a larger object. */
struct fields;
void api_size_limits_decode(struct fields *f, struct api_size_limits *out);
void api_size_limits_encode(json_t *o, const struct api_size_limits *l);

/* {"deadlineSeconds": 30}: jobs still running at the deadline are ended, members park, the head
 * exits 0. Answer 202 {"deadlineSeconds": 30}. */
struct api_shutdown {
    int64_t deadline_s;
};
int api_shutdown_decode(const json_t *body, struct api_shutdown *out, struct err *err)
    __attribute__((warn_unused_result));
json_t *api_shutdown_encode(const struct api_shutdown *s);

#endif
