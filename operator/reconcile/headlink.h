/* SPDX-License-Identifier: BSD-3-Clause */
/* What the operator knows of one head: whether it can be asked, and what it said last. */
#ifndef OPERATOR_RECONCILE_HEADLINK_H
#define OPERATOR_RECONCILE_HEADLINK_H

#include "base/loop/loop.h"
#include "operator/dvm/dvm.h"
#include "operator/plan/plan.h"

/* A link that is not up is called down only after this time. */
#define HEADLINK_PATIENCE_MS 5000
/* Events that only change members are gathered this long before the head's view is read anew. */
#define HEADLINK_GATHER_MS 100

struct headlink;
struct headlink_opts {
    const char *host;
    const char *connect; /* NULL: by name */
    const char *ca_pem, *cert_pem, *key_pem;
    void (*on_change)(void *arg); /* something that a plan depends on; never inside a call */
    void *arg;
};
struct headlink *headlink_create(struct loop *loop, const struct headlink_opts *o, struct err *err);
void headlink_destroy(struct headlink *h);

/* The view is shared: hold it with headlink_view(), give it back with headlink_view_release(). */
struct view {
    unsigned refs;
    struct api_dvm dvm;
};
/* Fills link, down_since_ms, why; *view is NULL unless up, else the caller's reference. */
void headlink_look(struct headlink *h, struct plan_head *out, struct view **view);
void headlink_view_release(struct view *v);

struct dvm_client *headlink_client(struct headlink *h);
/* What a verb's answer has told: a campaign's record, the size in force. -1 if it cannot be
 * understood. */
int headlink_note_campaign(struct headlink *h, const json_t *body, struct err *err)
    __attribute__((warn_unused_result));
int headlink_note_size(struct headlink *h, const json_t *body, struct api_size *out,
                       struct err *err) __attribute__((warn_unused_result));
/* Reads the head's view anew, soon. */
void headlink_reread(struct headlink *h);

#endif
