/* SPDX-License-Identifier: BSD-3-Clause */
/* The connection to one head: whether it can be reached, and its last view. */
#ifndef OPERATOR_RECONCILE_HEADLINK_H
#define OPERATOR_RECONCILE_HEADLINK_H

#include "base/loop/loop.h"
#include "operator/dvm/dvm.h"
#include "operator/plan/plan.h"

/* Time after which a stream that is not open counts as down. */
#define HEADLINK_PATIENCE_MS 5000
/* Time that the head has to send its view by the stream, before it is asked for it. */
#define HEADLINK_VIEW_MS 500
/* Time for which events are gathered before the view is read again. */
#define HEADLINK_GATHER_MS 100

/* Time without a running job after which none counts as running. */
#define HEADLINK_CALM_MS 10000

enum headlink_jobs {
    HEADLINK_JOBS_UNKNOWN, /* the head has not told since the stream was opened */
    HEADLINK_JOBS_NONE,
    HEADLINK_JOBS_RUN,
};

struct headlink;
struct headlink_opts {
    const char *host;
    const char *connect;                     /* NULL: by name */
    const char *ca_pem, *cert_pem, *key_pem; /* borrowed for the link's life */
    struct http *http;                       /* as in dvm_client_opts */
    const struct http_gate *gate;            /* as in dvm_client_opts */
    void (*on_change)(
        void *arg); /* the plan may come out differently; never called inside a call */
    void (*on_event)(const struct api_event *event, void *arg); /* each event; NULL: not wanted */
    /* What is wrong, a literal, and why. The owner logs it. */
    void (*on_warning)(const char *what, const char *why, void *arg);
    void *arg;
};
struct headlink *headlink_create(struct loop *loop, const struct headlink_opts *o, struct err *err);
void headlink_destroy(struct headlink *h);

/* A view is shared: headlink_look() gives a reference, headlink_view_release() returns it. */
struct view {
    unsigned refs;
    struct api_dvm dvm;
};
/* Fills link, down_since_ms and why. *view is NULL unless the link is up; otherwise it is the
 * caller's reference. */
void headlink_look(struct headlink *h, struct plan_head *out, struct view **view);
void headlink_view_release(struct view *v);

/* Whether jobs run that the head's end would end, or did a moment ago. NULL: unknown. */
enum headlink_jobs headlink_jobs(const struct headlink *h);

struct dvm_client *headlink_client(struct headlink *h);
/* Takes over the answer to a request: the record of a campaign, the size in force. -1:
 * malformed. */
int headlink_note_campaign(struct headlink *h, const json_t *body, struct err *err)
    __attribute__((warn_unused_result));
int headlink_note_size(struct headlink *h, const json_t *body, struct api_size *out,
                       struct err *err) __attribute__((warn_unused_result));
/* Reads the head's view again, in the next turn. */
void headlink_reread(struct headlink *h);

#endif
