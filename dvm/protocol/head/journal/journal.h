/* SPDX-License-Identifier: BSD-3-Clause */
/* The one way to change what the head alone knows: a record, which the fold applies. */
#ifndef DVM_HEAD_JOURNAL_JOURNAL_H
#define DVM_HEAD_JOURNAL_JOURNAL_H

#include "dvm/protocol/head/journal/record.h"
#include "dvm/protocol/out/out.h"

#define JOURNAL_PARTS_MAX 16
#define JOURNAL_READERS_MAX 2 /* whoever keeps the records, and a checker */

struct journal;

/* The state of one module. Only fold() and load() change it. */
struct journal_part {
    void *state; /* borrowed */
    /* Changes the state as the record says; records of other modules change nothing. -1, a reason
     * and no change if the record does not fit the state. One part at most refuses a record. */
    int (*fold)(void *state, const struct record *r, struct err *err);
    /* The state in its one form: equal states give equal bytes. */
    void (*save)(const void *state, struct buf *b);
    /* Into an empty state. -1 and a reason: the state is unusable. */
    int (*load)(void *state, struct cur *c, struct err *err);
};

struct journal *journal_create(struct out *out); /* borrows */
void journal_destroy(struct journal *j);
/* Parts fold a record, and are saved, in the order in which they were added. */
void journal_add_part(struct journal *j, const struct journal_part *part);
/* The reader `arg` gets the bytes of every record after its fold. The bytes are borrowed. */
void journal_stream_to(struct journal *j, void (*on)(void *arg, const uint8_t *data, size_t len),
                       void *arg);

/* The record function: folds the record and appends it to the stream. -1, a reason and no change
 * if the state has no such step. The content of the record is copied. */
int journal_put(struct journal *j, const struct record *r, struct err *err)
    __attribute__((warn_unused_result));
/* The same for a record that its module knows to fit; one that does not is logged. */
void journal_note(struct journal *j, const struct record *r);
/* Folds a record from its bytes. A snapshot is the first record, or is not accepted. -1 and a
 * reason; after a malformed snapshot the state is unusable. */
int journal_replay(struct journal *j, const void *data, size_t len, struct err *err)
    __attribute__((warn_unused_result));
/* The record of the whole state. */
void journal_snapshot(const struct journal *j, struct buf *b);
/* The whole state in its one form. */
void journal_save(const struct journal *j, struct buf *b);
uint64_t journal_records(const struct journal *j); /* folded so far */

#endif
