/* SPDX-License-Identifier: BSD-3-Clause */
/* The status of a DvmCluster: counts, conditions, campaigns; and the Events between two
 * statuses. */
#ifndef OPERATOR_STATUS_STATUS_H
#define OPERATOR_STATUS_STATUS_H

#include "operator/model/cluster.h"
#include "operator/plan/plan.h"
#include "operator/status/reason.h"

/* An action that failed for a reason outside the DVM; shown by the condition Progressing. */
struct status_trouble {
    enum reason reason; /* NONE: no trouble */
    char message[ERR_MSG_MAX + 256];
};

/* The whole status object. A pure function: equal inputs give equal JSON, so an unchanged status
 * need not be written. Messages contain points in time, never durations. A new reference. */
json_t *status_build(const struct plan_input *in, const struct plan *p,
                     const struct status_trouble *trouble);
/* For a spec that cannot be decoded: the old status, with the reason in Progressing. A new
 * reference. */
json_t *status_invalid(const struct cluster *c, const json_t *old_status, const char *message,
                       int64_t now_ms);
/* The same for a status that cannot be decoded, with the way out. */
json_t *status_unreadable(const struct cluster *c, const json_t *old_status, const char *message,
                          int64_t now_ms);

/* True if the kubelet's reason says that an image cannot be pulled. */
bool status_is_pull_failure(const char *waiting);
/* The cause within the kubelet's words about an image; "": a back-off that names none. Points into
 * `message`. */
const char *status_pull_words(const char *message);
/* True if two texts differ at most in digits. */
bool status_same_but_digits(const char *a, const char *b);

/* True if the two differ at most in counts, in jobs that are waited for and in messages. Such a
 * change may be written a little later: under a stream of jobs it comes all the time. */
bool status_differs_slightly(const json_t *before, const json_t *after);

/* The Events that report the changes, in order. `note` is borrowed for the call. */
typedef void status_event_fn(bool warning, enum reason reason, const char *note, void *arg);
void status_events(const json_t *before, const json_t *after, status_event_fn *fn, void *arg);

#endif
