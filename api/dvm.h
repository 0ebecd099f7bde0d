/* SPDX-License-Identifier: BSD-3-Clause */
/* The head's whole view: the answer to GET /v1/dvm, which pstat --json prints too. */
#ifndef API_DVM_H
#define API_DVM_H

#include "api/campaign.h"
#include "api/job_state.h"
#include "api/member_state.h"
#include "api/size.h"

/* {"incarnation": "…", "cluster": "…", "version": 3, "radix": 64, "repairs": 1,
 *  "size": {"sequence": 4, "members": 4, "min": 2, "max": 8},   the last two as in api/size.h
 *  "events": {"next": 17},
 *  "fence": {"total": 0, "holds": [{"name": "campaign x", "count": 2}]},
 *  "members": [{"vpid": 0, "epoch": 1, "state": "wired", "host": "…", "address": "…", "slots": 0,
 *               "slotsUsed": 0, "parent": -1, "depth": 0, "repairs": 1}],
 *  "jobs": [{"id": "…", "state": "RUNNING", "ranks": 4, "vpids": [1, 2], "reason": "…",
 *            "exitCode": 0}],
 *  "campaigns": [ … as in api/campaign.h … ]}
 * `jobs` has the held, queued and running jobs and the last 64 that have ended. `repairs` of the
 * head is the number of its repair passes, that of a member the last one that it has reported. */
struct api_dvm_member {
    uint32_t vpid;
    uint64_t epoch;
    enum member_state state;
    char *host;
    char *address;
    uint32_t slots;
    uint32_t slots_used;
    int64_t parent; /* -1: none */
    uint32_t depth;
    uint64_t repairs;
};

/* The exit code of a job that ended because a daemon with ranks of it was lost. */
#define API_EXIT_LOST 123

struct api_dvm_job {
    char *id;
    enum job_state state;
    char *reason;    /* why it is held, queued or failed; "": no reason */
    char *waits_for; /* what its ranks or daemons have waited for, for a while; "": nothing */
    uint32_t ranks;
    size_t nvpids;
    uint32_t *vpids; /* the daemons that it is mapped to */
    int exit_code;
};

struct api_dvm_hold {
    char *name;
    uint32_t count;
};

struct api_dvm {
    char incarnation[17];
    char *cluster;
    uint64_t version;
    uint32_t radix;
    uint64_t repairs;
    uint64_t size_sequence;
    uint32_t size_members;
    struct api_size_limits size_limits;
    uint64_t next_event;
    uint32_t fence_total;
    size_t nholds;
    struct api_dvm_hold *holds;
    size_t nmembers;
    struct api_dvm_member *members;
    size_t njobs;
    struct api_dvm_job *jobs;
    size_t ncampaigns;
    struct api_campaign *campaigns;
};

int api_dvm_decode(const json_t *o, struct api_dvm *out, struct err *err)
    __attribute__((warn_unused_result));
json_t *api_dvm_encode(const struct api_dvm *d);
void api_dvm_free(struct api_dvm *d);

#endif
