/* SPDX-License-Identifier: BSD-3-Clause */
/* A settled cluster of any size, for tests and the benchmark of the plan. */
#ifndef OPERATOR_PLAN_TEST_LARGE_H
#define OPERATOR_PLAN_TEST_LARGE_H

#include "base/buf/buf.h"
#include "operator/plan/plan.h"

#include <stdio.h>
#include <stdlib.h>

#define LARGE_LIFE "aaaaaaaaaaaaaaaa"

struct large {
    struct cluster c;
    struct plan_input in;
    struct api_dvm view;
    struct api_dvm_member *members;
    struct plan_pod *pods;
    char (*names)[16];
};

static inline void large_fill(struct large *l, uint32_t n)
{
    for (uint32_t i = 0; i <= n; i++) {
        snprintf(l->names[i], sizeof(l->names[i]), i ? "x-%u" : "x-head-%u", i);
        l->members[i] = (struct api_dvm_member){.vpid = i, .epoch = 1, .slots = 1};
        l->members[i].state = MEMBER_WIRED;
        l->pods[i] = (struct plan_pod){.name = l->names[i],
                                       .uid = l->names[i],
                                       .vpid = i,
                                       .ready = true,
                                       .running_since_ms = 1,
                                       .running_for_ms = 3600000,
                                       .image = "img:1"};
    }
}

static inline void large_settle(struct large *l, uint32_t n)
{
    *l = (struct large){.members = xcalloc((size_t)n + 1, sizeof(*l->members)),
                        .pods = xcalloc((size_t)n + 1, sizeof(*l->pods)),
                        .names = xcalloc((size_t)n + 1, sizeof(*l->names))};
    large_fill(l, n);
    l->c = (struct cluster){.ns = (char *)"n",
                            .name = (char *)"x",
                            .uid = (char *)"0123456789",
                            .resource_version = (char *)"77",
                            .generation = 3,
                            .replicas = n,
                            .limits = {-1, -1},
                            .slots = 1,
                            .drain = {.mode = API_DRAIN_WAIT, .deadline_s = -1},
                            .update = {.max_unavailable = 1}};
    l->c.record.sequence = l->c.record.size_sequence = 1;
    l->c.record.size_members = n;
    l->c.record.size_limits = l->view.size_limits = (struct api_size_limits){true, n, n};
    snprintf(l->c.record.incarnation, sizeof(l->c.record.incarnation), LARGE_LIFE);
    snprintf(l->view.incarnation, sizeof(l->view.incarnation), LARGE_LIFE);
    l->view.size_sequence = 1;
    l->view.size_members = n;
    l->view.members = l->members;
    l->view.nmembers = (size_t)n + 1;
    l->in = (struct plan_input){.cluster = &l->c,
                                .credentials = true,
                                .pods = l->pods,
                                .npods = (size_t)n + 1,
                                .now_ms = 1700000000000,
                                .head = {.link = PLAN_LINK_UP, .view = &l->view}};
    for (int i = 0; i < CLUSTER_CHILDREN; i++)
        l->in.child[i] = (struct plan_child_seen){
            .exists = true, .current = true, .uid = "u", .resource_version = "99"};
    l->in.child[CLUSTER_HEAD_SET].replicas = 1;
    l->in.child[CLUSTER_MEMBER_SET].replicas = n;
}

/* The user has changed the template, and no pod has the new one. */
static inline void large_outdate(struct large *l)
{
    for (size_t i = 0; i < l->in.npods; i++)
        l->pods[i].outdated = l->pods[i].changed = l->pods[i].stale = true;
}

/* All nodes have restarted at once: daemons run and are parked. */
static inline void large_park(struct large *l)
{
    for (size_t i = 1; i < l->in.npods; i++) {
        l->pods[i].ready = false;
        l->members[i].state = MEMBER_PARKED;
    }
}

static inline void large_free(struct large *l)
{
    free(l->members);
    free(l->pods);
    free(l->names);
}

#endif
