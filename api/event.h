/* SPDX-License-Identifier: BSD-3-Clause */
/* The event stream, GET /v1/events?incarnation=I&from=N: one JSON object a line, without an end. */
#ifndef API_EVENT_H
#define API_EVENT_H

#include "api/campaign.h"

/* The type of the lines that take the place of empty ones if the call has beat=jobs:
 * {"type": "Beat", "boundJobs": 2}. The running jobs that the end of the head's process would end.
 * They have no number: they are no events. */
#define API_BEAT "Beat"
/* The type of the line that follows the kept events if the call has view=1:
 * {"type": "View", "dvm": {…}}. The same view as that of GET /v1/dvm, at this place of the stream.
 * A head does not send a view of more than 512 KiB so. */
#define API_VIEW "View"

/* {"incarnation": "5f3a…", "number": 12, "timeMs": …, "type": "CampaignComplete", "campaign": {…}}
 * {"incarnation": …, "number": 13, "timeMs": …, "type": "DaemonDeparted", "vpid": 5, "epoch":
 * "5f3a….9"} DaemonLost may have a "cause". Numbers count up from 1 in each
 * incarnation of the head. `from` is the first number wanted (default: the next one). An unknown
 * incarnation, or a number no longer kept or not yet given, is answered 410: read /v1/dvm and go on
 * from events.next there. An empty line is sent every 4 s to show that the stream lives. */
enum api_event_type {
    API_EVENT_DAEMON_WIRED,
    API_EVENT_DAEMON_LOST,
    API_EVENT_DAEMON_DEPARTED,
    API_EVENT_CAMPAIGN_ACCEPTED,
    API_EVENT_CAMPAIGN_CHANGED,  /* the phase, or the ranks that a drain waits for */
    API_EVENT_NODES_OFFERED,     /* the nodes of a shrink are free; sent before the terminal event
                                    (contract, C14) */
    API_EVENT_CAMPAIGN_COMPLETE, /* terminal: a campaign has exactly one of these three */
    API_EVENT_CAMPAIGN_FAILED,
    API_EVENT_CAMPAIGN_CANCELLED,
    API_EVENT_SIZE,     /* the bound on the members has changed */
    API_EVENT_SHUTDOWN, /* this incarnation of the head ends */
    API_EVENT_TYPES
};

struct api_event {
    char incarnation[17];
    uint64_t number;
    int64_t time_ms;
    enum api_event_type type;
    uint32_t vpid;     /* DAEMON_* only */
    uint64_t epoch;    /* DAEMON_* only: the counter within the incarnation */
    char *cause;       /* DAEMON_LOST only; NULL: unknown */
    bool has_campaign; /* CAMPAIGN_*, NODES_OFFERED */
    struct api_campaign campaign;
};

const char *api_event_type_name(enum api_event_type t); /* "DaemonWired", … */
int api_event_decode(const json_t *o, struct api_event *out, struct err *err)
    __attribute__((warn_unused_result));
json_t *api_event_encode(const struct api_event *e);
void api_event_free(struct api_event *e);

#endif
