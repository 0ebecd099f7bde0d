/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives with data (fence): gathered up and sent down a radix tree over the daemons that take
 * part. */
#ifndef DVM_GATHER_GATHER_H
#define DVM_GATHER_GATHER_H

#include "dvm/protocol/rml/rml.h"

/* Of one sender: collectives that have not begun on this daemon, and signatures of such whose
 * outcome it remembers. */
#define GATHER_TOLD_MAX 1024
#define GATHER_ASK_MS 100 /* a collective waits so long before it asks who is missing */
#define GATHER_ENDED_KEPT                                                                          \
    256 /* ended jobs that are remembered, so that late messages about them are dropped */

/* The tree is over the list of participants (position arithmetic, fan-out the DVM's radix). It
 * involves no other daemon, and does not change with the DVM. */
struct gather;

/* The rank in a signature's name that stands for all ranks of the job; the one of a name that is no
 * job's, as the name of a group. */
#define GATHER_RANK_ALL 0xfffffffeu
#define GATHER_RANK_NONE 0xfffffffcu

enum gather_part {
    GATHER_JOB_UNKNOWN, /* the job has not been launched on this daemon, or has ended here */
    GATHER_OUTSIDE,     /* the rank is not on that daemon */
    GATHER_TAKES_PART,  /* it is; for GATHER_RANK_ALL: a rank of the job */
};
/* Whether that daemon has the rank of the job. */
typedef enum gather_part gather_part_fn(void *arg, const char *nspace, uint32_t rank,
                                        uint32_t vpid);

/* Ranks of a job on this daemon that a collective names; bits. */
enum {
    GATHER_RANKS_LIVE = 1,   /* one can still contribute */
    GATHER_RANKS_LEFT = 2,   /* one has ended, and contributes no more */
    GATHER_RANKS_ABSENT = 4, /* one has ended and has never been a client */
};
/* A collective waits for this rank (GATHER_RANK_ALL: for each rank) of the job here. 0: it is not
 * here. */
typedef unsigned gather_ranks_fn(void *arg, const char *nspace, uint32_t rank);

/* Borrows all. */
struct gather *gather_create(struct out *out, struct rml *rml, struct members *members);
void gather_destroy(struct gather *g);
/* Messages are checked with it from now on. Without it each sender is believed. */
void gather_check_senders(struct gather *g, gather_part_fn *part, void *arg);
/* This daemon contributes for ranks that have ended from now on. Without it, it waits for them. */
void gather_stand_in(struct gather *g, gather_ranks_fn *ranks, void *arg);
/* Collectives that run or wait for this daemon's contribution; signatures that have a count
 * here. */
size_t gather_running(const struct gather *g);
size_t gather_signatures(const struct gather *g);
struct gather_look {
    uint64_t id; /* of this collective, different for the next one of the same signature */
    bool begun;  /* here; else others wait in it */
    const void *sig;
    size_t siglen;
};
/* on() for each collective that runs. */
void gather_each(const struct gather *g, void (*on)(void *arg, const struct gather_look *look),
                 void *arg);
size_t gather_early(const struct gather *g); /* messages that wait for the launch of their job */

struct gather_call { /* a local contribution; everything is borrowed */
    uint64_t req;
    const void
        *sig; /* the same on each participant; those of one signature are numbered in order */
    size_t siglen;
    size_t n;
    const uint32_t *vpids; /* participants, ascending, this daemon among them */
    const void *data;
    size_t len;
    uint64_t timeout_ms; /* 0: none */
    bool lost;           /* the epoch of one participant has ended */
};

/* Answered by OUT_GATHER with `req`, once. */
void gather_start(struct gather *g, const struct gather_call *c);
uint64_t gather_deadline(const struct gather *g); /* UINT64_MAX: none */
void gather_tick(struct gather *g);
void gather_up(struct gather *g, uint32_t from, const struct msg_gather *m);
void gather_down(struct gather *g, uint32_t from, const struct msg_gather *m);
/* The job has been launched on this daemon: early messages about its collectives are handled. */
void gather_launched(struct gather *g, const char *nspace);
/* A rank of the job here has ended, and contributes no more. */
void gather_rank_left(struct gather *g, const char *nspace);
/* A daemon has departed: collectives in which it takes part end with GATHER_LOST. */
void gather_lost(struct gather *g, uint32_t vpid);
/* A job has ended: the counts of signatures that contain its namespace are dropped. */
void gather_forget(struct gather *g, const char *nspace);

#endif
