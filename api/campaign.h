/* SPDX-License-Identifier: BSD-3-Clause */
/* A campaign (one shrink or grow of the DVM) in the control API: the request and the record. */
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
 *  "drain": {"mode": "Wait" | "Kill", "deadlineSeconds": 30}, "size": "Reduce" | "Keep"}
 * {"sequence": 8, "kind": "grow", "targets": [5, 6], "deadlineSeconds": 60}
 * `drain`, `size` and `deadlineSeconds` are optional. A shrink usually reduces the size, and then
 * its targets are the highest members. One that keeps it may have any members as targets, and new
 * daemons of these vpids are admitted: so a pod is replaced. A grow wires all its targets or none;
 * its deadline runs from acceptance to completion. A repeated request with the same id and body is
 * answered with the present record; with another body it is answered 409. */
struct api_campaign_request {
    uint64_t sequence;
    enum api_kind kind;
    enum api_drain_mode drain_mode; /* shrinks only */
    bool keeps_size;                /* shrinks only */
    int64_t deadline_s;             /* of the drain, or of the grow as a whole; -1: none */
    size_t ntargets;
    uint32_t *targets; /* ascending, no duplicates; owned */
};

enum api_phase {
    API_PHASE_DRAINING,  /* ranks on the targets are waited for or ended; can be cancelled */
    API_PHASE_REMOVING,  /* the fence is raised and the command is sent; can no longer be cancelled
                          */
    API_PHASE_COMPLETE,  /* terminal: no rank runs there, no route leads there, no job maps there */
    API_PHASE_CANCELLED, /* terminal: nothing has changed */
    /* phases of a grow */
    API_PHASE_GATHERING, /* waits until the daemons of all targets have connected; can be cancelled
                          */
    API_PHASE_WIRING,    /* the fence is raised, all targets are being wired at once */
    API_PHASE_ROLLING_BACK, /* the fence is raised, targets that were being wired are removed again
                             */
    API_PHASE_FAILED,       /* terminal: membership and size are as before; see cause */
    API_PHASES
};

struct api_job_ref { /* a job whose ranks a drain waits for, or has ended */
    char *job;
    size_t nranks;
    uint32_t *ranks;
};

enum api_told { /* how the requesting application was notified of the end of its request */
                API_TOLD_NOT_YET,
                API_TOLD_ANSWER, /* there was nothing to do */
                API_TOLD_EVENT,
                API_TOLD_GONE, /* it was not notified: the process or its daemon had ended */
                API_TOLDS
};

struct api_requester { /* a process that called PMIx_Allocation_request */
    char *job;         /* namespace; NULL: no application asked */
    uint32_t rank;
    uint32_t vpid;
    char *id; /* the request's id, given by the application; "": none */
    enum api_told told;
};

/* The answer of the head, and `campaign` inside events. Times are milliseconds since 1970, wall
 * clock; 0: not reached yet. */
struct api_campaign {
    char *id;
    uint64_t sequence;
    enum api_kind kind;
    bool keeps_size; /* shrinks: new daemons of these vpids are admitted */
    enum api_phase phase;
    char *cause; /* why it failed; "" otherwise */
    struct api_requester requester;
    size_t ntargets;
    uint32_t *targets;
    size_t nwaiting;
    struct api_job_ref *waiting; /* while draining */
    size_t nended;
    struct api_job_ref *ended; /* jobs whose ranks the drain has ended (contract, C15) */
    size_t ndeparted;
    uint32_t *departed; /* targets whose connection has closed */
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
