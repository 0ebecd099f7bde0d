/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks the invariants of the DVM from outside after every event. The first failure is kept
 * with its name. */
#ifndef DVM_SIM_CHECK_H
#define DVM_SIM_CHECK_H

#include "dvm/sim/sim.h"

/* No job may be held longer than this (virtual time): JOB_HELD_MAX_MS, and then the time that
 * running operations take. A chain of silent daemons, parent and child, delays that by 12 s
 * each. */
#define CHECK_HELD_MAX_MS 90000

struct check;

struct check *check_create(struct sim *s); /* watches from now on; borrows the simulator */
void check_destroy(struct check *c);
/* True: no fault is injected, so no daemon may be taken as silent or lost. */
void check_healthy(struct check *c, bool healthy);
/* "": no failure; else the invariant's name and what was seen. */
const char *check_failed(const struct check *c);
const char *check_text(const struct check *c);
void check_fail(struct check *c, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Sends a numbered message between two present members; its arrival is checked. */
void check_send(struct check *c, uint32_t from, uint32_t to, enum out_class traffic);
/* Runs collectives of these members, in their present epochs, one after the other.
 * check_gather_go() makes the contributions whenever now() says so, with its timeout. */
void check_gather(struct check *c, const uint32_t *vpids, uint32_t n, uint32_t rounds);
void check_gather_go(struct check *c, bool (*now)(void *arg, uint64_t *timeout_ms), void *arg);
/* Requests another size for a rank or tool at that daemon. */
void check_resize(struct check *c, uint32_t vpid, const struct resize_request *a, bool tool);
/* True if the job may end although only links have failed: its submitter's daemon, or one with
 * its ranks, was rightly declared lost; or it had not been sent when its submitter's daemon left,
 * or that daemon could not learn that it has left. fails_at_start: on one of its daemons, which may
 * be the one that a recoverable job has lost. */
bool check_excused(struct check *c, const struct sim_job *j, bool fails_at_start);
/* True if the job fitted the DVM when the head accepted it, so that no resize may fail it. */
bool check_fitted(const struct check *c, const char *nspace);
/* No event is pending any more: all daemons must agree, and every message must have arrived. */
void check_rest(struct check *c);

/* Jobs that stop for a debugger, or some of them, are continued. */
void check_let_go(struct check *c, bool all);

#endif
