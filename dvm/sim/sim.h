/* SPDX-License-Identifier: BSD-3-Clause */
/* N daemons in one process: virtual time, virtual wires with delay, crashes and stops; for tests
 * only. */
#ifndef DVM_SIM_SIM_H
#define DVM_SIM_SIM_H

#include "dvm/core/core.h"

#define SIM_NODES_MAX 2048
#define SIM_JOBS_MAX 4096

struct sim;

struct sim_opts {
    uint32_t nodes; /* vpids 0..nodes-1 exist; members are started by sim_start() */
    uint32_t radix;
    uint32_t slots; /* per member; the head has none */
    uint32_t size;  /* first size bound */
    unsigned seed;
    uint64_t delay_ms; /* each frame takes 1..delay_ms; order per connection is kept */
    bool trace;
};

struct sim_job { /* a job as its submitter saw it */
    bool accepted, done;
    char nspace[64];
    int exit_code;
    char text[256];
    char state[32];
};

struct sim *sim_create(const struct sim_opts *o);
void sim_destroy(struct sim *s);
void sim_start(struct sim *s, uint32_t vpid); /* a new life of the daemon */
void sim_crash(struct sim *s, uint32_t vpid); /* its connections break at once */
void sim_stop(struct sim *s, uint32_t vpid,
              bool stopped);                           /* neither reads nor closes, or goes on */
void sim_break(struct sim *s, uint32_t a, uint32_t b); /* every connection between the two breaks */
struct core *sim_core(struct sim *s, uint32_t vpid);   /* NULL: not running */
bool sim_exited(const struct sim *s, uint32_t vpid);
bool sim_parked(const struct sim *s, uint32_t vpid);
/* Call after any core_* input made by the test itself. */
void sim_drain(struct sim *s, uint32_t vpid);
/* A job of n ranks that run for so long and then exit with `code`; returns its index. */
size_t sim_submit(struct sim *s, uint32_t vpid, uint32_t ranks, uint64_t run_ms, int code);
const struct sim_job *sim_job(const struct sim *s, size_t index);
/* Goes on until done() is true or `for_ms` of virtual time have passed; true if done. */
bool sim_until(struct sim *s, bool (*done)(struct sim *s, void *arg), void *arg, uint64_t for_ms);
void sim_for(struct sim *s, uint64_t ms);
uint64_t sim_now(const struct sim *s);
/* Ranks alive on a daemon now. */
size_t sim_ranks(const struct sim *s, uint32_t vpid);

#endif
