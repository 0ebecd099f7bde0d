/* SPDX-License-Identifier: BSD-3-Clause */
/* The invariants of the DVM, looked at from outside after every event; the first that fails is kept
 * with its name. */
#ifndef DVM_SIM_CHECK_H
#define DVM_SIM_CHECK_H

#include "dvm/sim/sim.h"

/* No job is held longer than this (virtual time), whatever comes: HEAD_PARKED_MAX_MS, and then what
 * runs still ends; a chain of silent daemons, parent and child, delays that by 12 s each. */
#define CHECK_HELD_MAX_MS 90000

struct check;

struct check *check_create(struct sim *s); /* watches from now on; borrows */
void check_destroy(struct check *c);
/* True: nothing is made to fail, so nobody may be taken as silent or lost. */
void check_healthy(struct check *c, bool healthy);
/* "": nothing has failed; else the invariant's name, and what was seen. */
const char *check_failed(const struct check *c);
const char *check_text(const struct check *c);
void check_fail(struct check *c, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A numbered message between two members of this moment; its arrival is checked. */
void check_send(struct check *c, uint32_t from, uint32_t to, enum out_class traffic);
/* Collectives of these members, in their present lives, one after the other; contributions are made
 * by check_gather_go(), whenever now() says so, with its timeout. */
void check_gather(struct check *c, const uint32_t *vpids, uint32_t n, uint32_t rounds);
void check_gather_go(struct check *c, bool (*now)(void *arg, uint64_t *timeout_ms), void *arg);
/* A request for another size by a rank that runs on that daemon, or by a tool there. */
void check_alloc(struct check *c, uint32_t vpid, const struct alloc_ask *a, bool tool);
/* True if a job may end so although only links have failed: its submitter's daemon, or one with its
 * ranks, was rightly given up; or it had not been sent when its submitter's daemon left. */
bool check_excused(struct check *c, const struct sim_job *j);
/* Nothing happens any more: everybody has to agree, and everything has to have arrived. */
void check_rest(struct check *c);

/* Jobs that stop for a debugger, or some of them, may go on. */
void check_let_go(struct check *c, bool all);

#endif
