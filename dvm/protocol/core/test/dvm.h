/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of whole DVMs share: a head with members over virtual wires, and what the head
 * knows of them. */
#ifndef DVM_CORE_TEST_DVM_H
#define DVM_CORE_TEST_DVM_H

#include "dvm/protocol/core/core_inspect.h"
#include "dvm/sim/sim.h"

struct dvm_shape {
    uint32_t members; /* vpids 1..members may come; the first size bound */
    uint32_t started; /* 1..started do at once */
    uint32_t more;    /* vpids above the size */
    uint32_t radix;   /* 0: 2 */
    uint32_t slots;
    uint64_t delay_ms; /* 0: 3 */
    size_t backlog_max;
};

/* SIM_TRACE in the environment prints every frame. */
struct sim *dvm_boot(const struct dvm_shape *d);
size_t dvm_in_state(struct sim *s, enum member_state state); /* members, as the head sees them */
/* Fails the test if there are not n of them wired within the time. */
void dvm_wait_wired(struct sim *s, size_t n, uint64_t within_ms);
size_t dvm_events(struct sim *s, enum api_event_type type);
/* True once the job that *arg is the index of has ended, for its submitter. */
bool dvm_job_over(struct sim *s, void *arg);

#endif
