/* SPDX-License-Identifier: BSD-3-Clause */
/* What the conditions are made of: facts, and texts. */
#ifndef OPERATOR_STATUS_STATUS_PRIVATE_H
#define OPERATOR_STATUS_STATUS_PRIVATE_H

#include "operator/status/status.h"

/* Bounds of a status: bytes of its JSON, bytes of a text and of the message of a condition (the
 * schema of the CRD has the same), ranks in all lists of jobs together. */
#define STATUS_BYTES_MAX 65536
#define STATUS_TEXT_MAX 1024
#define STATUS_MESSAGE_MAX 2048
#define STATUS_RANKS_MAX 256

enum status_value { STATUS_FALSE, STATUS_TRUE, STATUS_UNKNOWN, STATUS_KEEP };

/* A condition before it is encoded; `message` is owned. KEEP: as in the old status, if it was
 * there. */
struct verdict {
    enum status_value value;
    enum reason reason;
    char *message;
};

struct facts {
    const struct plan_input *in;
    const struct plan *p;
    const struct status_trouble *trouble;
    uint32_t wired;
    uint32_t pods; /* member pods */
    bool stopped;  /* both StatefulSets have 0 replicas */
};

struct status_sink { /* takes the Events */
    status_event_fn *fn;
    void *arg;
};

/* words.c */
/* The text of a field; "": absent. */
const char *status_text(const json_t *o, const char *key);
struct verdict status_verdict(enum status_value value, enum reason reason, char *message);
/* "daemon 5" or "daemons 5 to 8"; "2 jobs: a (3 ranks), b (1 rank)". On the heap. */
char *status_targets_text(const struct cluster_campaign *c);
char *status_jobs_text(const json_t *jobs);

/* history.c: releases, losses and ended jobs, in the status and as Events. */
void status_put_history(json_t *status, const struct plan_input *in);
void status_history_events(const struct status_sink *n, const json_t *before, const json_t *after);
/* The first release that runs; false: there is none. */
bool status_release_runs(const struct facts *f, struct verdict *v);

/* grants.c: the owners of requests of applications, in the status and as Events. */
#define STATUS_OWNERS_MAX 64
void status_put_owners(json_t *status, const struct plan_input *in);
void status_grant_events(const struct status_sink *n, const json_t *before, const json_t *after);

/* bound.c: a copy of the status within the bounds above. Takes `status`. */
json_t *status_bound(json_t *status);

/* conditions.c */
struct verdict condition_available(const struct facts *f);
struct verdict condition_progressing(const struct facts *f);
struct verdict condition_resizing(const struct facts *f);
struct verdict condition_suspended(const struct facts *f);

/* health.c */
struct verdict status_ready(const struct verdict *progressing);
struct verdict status_stalled(const struct verdict *progressing);
struct verdict status_degraded(const struct facts *f, const struct verdict *available,
                               const struct verdict *progressing);

/* pods.c: the first pod that does not start, explained. */
bool status_pod_stuck(const struct facts *f, bool head_only, struct verdict *v);
/* Number of pods that a message names; the others are counted. */
#define STATUS_PODS_NAMED 8
/* Member pods with the present template. */
uint32_t status_updated_pods(const struct facts *f);
/* The names of the pods whose template is old, on the heap; NULL: there are none. */
char *status_outdated_text(const struct facts *f);

#endif
