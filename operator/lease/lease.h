/* SPDX-License-Identifier: BSD-3-Clause */
/* Leadership by a Lease (coordination.k8s.io/v1): of several operators one works. */
#ifndef OPERATOR_LEASE_LEASE_H
#define OPERATOR_LEASE_LEASE_H

#include "operator/kube/kube.h"

#define LEASE_DURATION_S 15
#define LEASE_DURATION_MIN_S 3
#define LEASE_DURATION_MAX_S 3600

struct lease;
struct lease_opts {
    struct loop *loop;
    struct kube *kube;
    const char *ns;
    const char *name;
    const char *identity; /* differs between all operators that run at a time */
    int64_t duration_s;   /* the holder renews every 2/9 of it and stops after 2/3 of it */
    void (*on_acquired)(void *arg);
    /* The Lease was not renewed in time, or another operator holds it. */
    void (*on_lost)(const char *why, void *arg);
    void *arg;
};
/* Copies the texts. Reads the Lease at once, then again until it is free or has expired. */
struct lease *lease_create(const struct lease_opts *o);
void lease_destroy(struct lease *l); /* without a release */
/* True while writes are allowed; compares the time now with the own deadline. */
bool lease_held(const struct lease *l);
/* NULL, or why the last request for the Lease has failed. Borrowed until the next turn. */
const char *lease_trouble(const struct lease *l);
/* Gives the Lease up, so that the next operator takes it at once. on_done is called once, after
 * 3 s at the latest, not inside this call; on_lost is not called. */
void lease_release(struct lease *l, void (*on_done)(void *arg), void *arg);

#endif
