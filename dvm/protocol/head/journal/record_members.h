/* SPDX-License-Identifier: BSD-3-Clause */
/* The record MEMBERS: an incarnation goes on with the table of its members, which have none of the
 * records before it. */
#ifndef DVM_HEAD_JOURNAL_RECORD_MEMBERS_H
#define DVM_HEAD_JOURNAL_RECORD_MEMBERS_H

#include "base/buf/buf.h"
#include "base/err/err.h"

#include <stdint.h>

struct record_members {
    char *cluster;
    uint64_t incarnation; /* that of all members in the table */
    uint32_t size;
    uint64_t now_ms, wall_ms; /* one moment by both clocks */
    uint64_t version;         /* of the table */
    uint64_t last_epoch;      /* the former heads may have given all up to this one, */
    uint64_t last_name;       /* and numbers of jobs, requests and releases up to this one */
    const uint8_t *table;     /* of members (dvm/protocol/member); borrowed, also when decoded */
    size_t len;
};

void record_members_put(struct buf *b, const struct record_members *r);
int record_members_get(struct cur *c, struct record_members *r, struct err *err)
    __attribute__((warn_unused_result));

#endif
