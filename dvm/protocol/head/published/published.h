/* SPDX-License-Identifier: BSD-3-Clause */
/* The values that ranks have published, as a part of the journal, and the requests for them. */
#ifndef DVM_HEAD_PUBLISHED_PUBLISHED_H
#define DVM_HEAD_PUBLISHED_PUBLISHED_H

#include "dvm/protocol/head/journal/journal.h"
#include "dvm/protocol/head/published/store.h"

/* Results that are kept for repeated requests. Beyond a limit the oldest are forgotten. */
#define PUBLISHED_RESULTS_MAX 65536u
#define PUBLISHED_RESULTS_OF_ONE 4096u /* of one daemon */
#define PUBLISHED_RESULT_BYTES (64u << 20)
/* Of the answer to a lookup that removes values. A longer one is STORE_FULL. */
#define PUBLISHED_ANSWER_MAX (MSG_DATA_MAX - (1u << 20))

struct published;

/* A part of the journal, which it borrows. */
struct published *published_create(struct journal *j);
void published_destroy(struct published *p);

struct published_ask {
    struct record_data_request request; /* of a daemon's process; question 0: never repeated */
    char op;          /* 'p' publish, 'l' lookup, 'u' unpublish, 'e' the end of a rank */
    bool at_once;     /* a lookup does not wait */
    const void *blob; /* of the store's functions; borrowed */
    size_t len;
};
/* A lookup appends its values to `answer`. STORE_WAITS: it asks to wait, and there are not enough
 * values yet; nothing was read. A request with the daemon and the number of an earlier one that has
 * changed something gets the result of that one, and changes nothing. */
enum store_result published_serve(struct published *p, const struct published_ask *a,
                                  struct buf *answer);
/* A job has ended: removes the values that were published for its life. `runs`: store.h. */
void published_job_ended(struct published *p, const char *nspace,
                         bool (*runs)(const char *nspace, void *arg), void *arg);
size_t published_count(const struct published *p);

#endif
