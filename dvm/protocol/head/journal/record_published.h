/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of the values that ranks publish. */
#ifndef DVM_HEAD_JOURNAL_RECORD_PUBLISHED_H
#define DVM_HEAD_JOURNAL_RECORD_PUBLISHED_H

#include "base/buf/buf.h"
#include "base/err/err.h"
#include "dvm/protocol/wire/msg/target.h"

#include <stdint.h>

#define RECORD_VALUES_MAX 65536u /* of one record */

/* The request that a record carries out. A daemon repeats it to a new head until it has the answer.
 * question 0: nobody repeats it. */
struct record_data_request {
    struct msg_target asker;
    uint64_t question;
    uint64_t open_from; /* the asker has the answers of its questions before this one */
};

struct record_published {
    struct record_data_request request;
    const uint8_t *blob; /* of store_publish(); borrowed, also by a decoded record */
    size_t len;
};

struct record_unpublished {
    struct record_data_request request;
    uint8_t result;        /* enum store_result, for the asker */
    const uint8_t *answer; /* for the asker; borrowed, also by a decoded record */
    size_t len;
    uint32_t n;
    uint64_t *ids; /* of the values, ascending */
};

void record_published_put(struct buf *b, const struct record_published *r);
int record_published_get(struct cur *c, struct record_published *r, struct err *err)
    __attribute__((warn_unused_result));
void record_published_put_removed(struct buf *b, const struct record_unpublished *r);
int record_published_get_removed(struct cur *c, struct record_unpublished *r, struct err *err)
    __attribute__((warn_unused_result));

/* A field that snapshots have too. */
void record_published_put_request(struct buf *b, const struct record_data_request *r);
int record_published_get_request(struct cur *c, struct record_data_request *r, struct err *err)
    __attribute__((warn_unused_result));

#endif
