/* SPDX-License-Identifier: BSD-3-Clause */
/* A campaign as the control API tells it: PUT /v1/campaigns/{id}, GET, and inside events. */
#ifndef API_CAMPAIGN_H
#define API_CAMPAIGN_H

#include "api/api.h"
#include "base/err/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum api_kind { API_KIND_SHRINK, API_KIND_GROW };
enum api_drain_mode { API_DRAIN_WAIT, API_DRAIN_KILL };

/* Body of PUT /v1/campaigns/{id}:
 * {"sequence": 7, "kind": "shrink", "targets": [5, 6],
 *  "drain": {"mode": "Wait" | "Kill", "deadlineSeconds": 30}}        drain and deadlineSeconds
 * optional
 * {"sequence": 8, "kind": "grow", "targets": [5, 6], "deadlineSeconds": 60}     all of them are
 * wired, or none; deadlineSeconds optional, from acceptance to completion
 * Idempotent by id: the same id with the same body answers the present record; with another body
 * 409. */
struct api_campaign_request {
    uint64_t sequence;
    enum api_kind kind;
    enum api_drain_mode drain_mode; /* shrinks only */
    int64_t deadline_s;             /* of the drain, or of the grow as a whole; -1: none */
    size_t ntargets;
    uint32_t *targets; /* ascending, no duplicates; owned */
};

enum api_phase {
    API_PHASE_DRAINING,  /* running work on the targets is waited for or ended; can be cancelled */
    API_PHASE_REMOVING,  /* fence up, the command is on its way; cannot be turned back */
    API_PHASE_COMPLETE,  /* terminal: no rank runs there, no route leads there, no job maps there */
    API_PHASE_CANCELLED, /* terminal: nothing has changed */
    /* of grows */
    API_PHASE_GATHERING, /* waits until the daemons of all targets have called; can be cancelled */
    API_PHASE_WIRING,    /* fence up, all are being wired at once */
    API_PHASE_ROLLING_BACK, /* fence up, those that were being wired are removed again */
    API_PHASE_FAILED,       /* terminal: membership and size are as before; see cause */
    API_PHASES
};

struct api_job_ref { /* a job of which ranks are waited for, or were ended */
    char *job;
    size_t nranks;
    uint32_t *ranks;
};

enum api_told { /* how an application has heard of the end of what it asked for */
                API_TOLD_NOT_YET,
                API_TOLD_ANSWER, /* there was nothing to do */
                API_TOLD_EVENT,
                API_TOLD_GONE, /* it could not be told: the process or its daemon had gone */
                API_TOLDS
};

struct api_requester { /* a process that asked by PMIx_Allocation_request */
    char *job;         /* namespace; NULL: nobody did */
    uint32_t rank;
    uint32_t vpid;
    char *id; /* its own, "": none */
    enum api_told told;
};

/* The answer, and `campaign` inside events. Times are wall clock milliseconds since 1970, 0: not
 * yet. */
struct api_campaign {
    char *id;
    uint64_t sequence;
    enum api_kind kind;
    enum api_phase phase;
    char *cause; /* why it failed; "" otherwise */
    struct api_requester requester;
    size_t ntargets;
    uint32_t *targets;
    size_t nwaiting;
    struct api_job_ref *waiting; /* while draining */
    size_t nended;
    struct api_job_ref *ended; /* C15: jobs whose ranks the drain has ended */
    size_t ndeparted;
    uint32_t *departed; /* targets whose link is gone */
    int64_t accepted_ms, drained_ms, fence_ms, complete_ms;
};

int api_campaign_request_decode(const json_t *body, struct api_campaign_request *out,
                                struct err *err) __attribute__((warn_unused_result));
json_t *api_campaign_request_encode(const struct api_campaign_request *r);
void api_campaign_request_free(struct api_campaign_request *r);

int api_campaign_decode(const json_t *body, struct api_campaign *out, struct err *err)
    __attribute__((warn_unused_result));
json_t *api_campaign_encode(const struct api_campaign *c);
void api_campaign_free(struct api_campaign *c);
const char *api_phase_name(enum api_phase p); /* "Draining", … */
bool api_phase_terminal(enum api_phase p);

#endif
