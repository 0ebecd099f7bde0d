/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults that last longer than the DVM's limits, and the end of the head on purpose. */
#ifndef DVM_SIM_OUTAGE_H
#define DVM_SIM_OUTAGE_H

#include "dvm/sim/sim.h"

#define OUTAGE_TEXT_MAX 160

enum outage_kind {
    OUTAGE_HEAD_ENDS, /* SIGTERM to the head: its incarnation ends, members join the next one */
    OUTAGE_DVM_ENDS,  /* pterm: the head ends the DVM, with a deadline or without */
    OUTAGE_HEAD_PAUSE,
    OUTAGE_PAUSE,
    OUTAGE_CUT,   /* a partition */
    OUTAGE_SLOW,  /* a daemon that reads and acts only now and then */
    OUTAGE_HANG,  /* connects that hang, or greetings that come late */
    OUTAGE_BURST, /* many messages between two daemons at once */
    OUTAGE_CLOCK, /* the wall clock of a daemon jumps */
    /* Since generation 15: */
    OUTAGE_INTERFACE, /* one of a daemon's interfaces is down for a while */
    OUTAGE_FLAP,      /* it goes down and up again and again */
    OUTAGE_GREETING,  /* HELLO and WELCOME come late */
    OUTAGES
};

struct outage;
struct check;

/* NULL: the schedule of this seed has no outages. Those before `end` are drawn. */
struct outage *outage_create(struct sim *s, struct check *c, uint64_t seed, uint32_t nodes,
                             unsigned profile, enum outage_kind end);
void outage_drift(struct outage *o, bool on); /* clocks that jump may drift too */
void outage_destroy(struct outage *o);
/* Buffers of daemons, in bytes, for one of three schedules with outages; else 0. */
size_t outage_backlog(uint64_t seed, unsigned profile);
/* Addresses of each daemon: 2 to 4 in half of the schedules with outages, else 1. */
uint32_t outage_addresses(uint64_t seed);
/* Begins an outage, described in `text`; OUTAGES: none. */
enum outage_kind outage_begin(struct outage *o, char text[OUTAGE_TEXT_MAX]);
bool outage_spawns(struct outage *o); /* a rank spawns a job now */
/* Time has passed: pauses and partitions end. */
void outage_step(struct outage *o);
/* At rest: all outages end. */
void outage_end(struct outage *o);
const char *outage_name(enum outage_kind k);

#endif
