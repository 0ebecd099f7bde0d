/* SPDX-License-Identifier: BSD-3-Clause */
/* The status that people and programs read: counts, conditions, campaigns; and the news between two
 * of them. */
#ifndef OPERATOR_STATUS_STATUS_H
#define OPERATOR_STATUS_STATUS_H

#include "operator/model/cluster.h"
#include "operator/plan/plan.h"

/* What could not be done, and not because of the DVM: told by condition Progressing. */
struct status_trouble {
    char reason[64]; /* CamelCase; "": none */
    char message[ERR_MSG_MAX + 256];
};

/* The whole status object, a pure function: equal inputs give equal JSON, so that an unchanged one
 * need not be written. Lasting times in messages are points in time, never durations. A new
 * reference. */
json_t *status_build(const struct plan_input *in, const struct plan *p,
                     const struct status_trouble *trouble);
/* For a spec that cannot be decoded: the old status, with Progressing saying why. A new reference.
 */
json_t *status_invalid(const struct cluster *c, const json_t *old_status, const char *message,
                       int64_t now_ms);

/* True if the two differ at most in counts, in jobs that are waited for and in what messages say:
 * writing that may wait a little, since under a stream of jobs it changes all the time. */
bool status_differs_slightly(const json_t *before, const json_t *after);

/* News, in the order told. `note` lives for the call. */
typedef void status_news_fn(bool warning, const char *reason, const char *note, void *arg);
void status_news(const json_t *before, const json_t *after, status_news_fn *fn, void *arg);

#endif
