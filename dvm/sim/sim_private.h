/* SPDX-License-Identifier: BSD-3-Clause */
/* The simulator's own records, shared by the files of this directory only. */
#ifndef DVM_SIM_SIM_PRIVATE_H
#define DVM_SIM_SIM_PRIVATE_H

#include "base/heap/hash.h"
#include "dvm/protocol/wire/msg/msg.h"
#include "dvm/sim/sim.h"

#include <utlist.h>

#define PORT_BASE 10000u

enum ev_kind { EV_OPEN, EV_FRAME, EV_CLOSED, EV_EXIT };

struct ev {
    uint64_t at, number;
    enum ev_kind kind;
    uint32_t vpid;
    uint32_t from; /* the daemon whose network it passes */
    uint64_t life;
    uint64_t conn;
    bool incoming;
    struct buf data;
    struct ev *next, *prev;
};

struct wire_key { /* a daemon's later lives number their connections anew */
    uint64_t conn, vpid, life;
};

struct wire {      /* one connection; each side knows it by an id of its own */
    uint32_t a, b; /* a connected to b */
    uint64_t a_conn, b_conn;
    bool open_a, open_b;     /* the side has not closed it */
    uint64_t last_a, last_b; /* arrival time of the last frame to that side: order is kept */
    uint64_t slow;           /* factor by which its frames are slower */
    size_t net;              /* of the interface at both of its ends */
    size_t way;              /* what `a` called it by (struct out_way) */
    bool mute_a, mute_b;     /* nothing reaches that side any more */
    struct key_id key;       /* that `a` holds */
    struct wire_key key_a, key_b;
    UT_hash_handle hh_a, hh_b;
    struct wire *next, *prev;
};

struct rank_proc {
    char *nspace;
    uint32_t vpid;
    uint32_t rank;
    uint64_t exits_at; /* UINT64_MAX: when it was continued and has run for run_ms */
    uint64_t run_ms;
    uint64_t stops_at; /* for a debugger; UINT64_MAX: it has stopped, or should not */
    bool held;
    enum job_stop stop;
    int status;
    const struct sim_job *spawns; /* it goes on when that job has started or ended; NULL: at once */
    struct rank_proc *next, *prev;
};

struct writer { /* a job with ranks on a daemon, from launch to end, and what it waits for */
    char *nspace;
    const struct job_launch *launch; /* shared */
    uint32_t vpid;
    uint32_t nfiles;
    bool full;
    bool absent;      /* its files that are needed here */
    uint32_t nfailed; /* of its ranks here, the first ones */
    bool registered;
    bool ready;   /* for pieces of its files */
    bool written; /* its files are all here */
    bool created, checked, started, over;
    bool forgotten; /* the whole job has ended, only its ranks here have not */
    struct piece_order order;
    uint64_t got; /* bytes of pieces */
    uint64_t at;  /* time of its next action; UINT64_MAX: none */
    struct writer *next, *prev;
    struct writer *next_here; /* on the same daemon */
};

struct node {
    struct core *core;
    struct files *files;
    struct sim *sim;
    uint64_t life;
    bool exited, parked, stopped;
    bool asks;                       /* for records; or its first input is to come */
    uint8_t group;                   /* of a partition */
    uint64_t clock_ms;               /* what the clock of its process is ahead of sim_now() */
    uint64_t deadline;               /* of the core, after its last input, as sim_now() has it */
    uint64_t stopped_at, resumed_at; /* the last stop, and the end of one; */
    uint64_t stopped_ms;             /* what it does not count of all that have ended */
    int64_t wall_ms;                 /* what its wall clock was ahead at `drifts_at`, */
    int64_t drift_ppm;               /* and how much faster it has been since then */
    uint64_t drifts_at;
    size_t nprocs; /* ranks that run there */
    enum sim_interface interfaces[OUT_WAYS_MAX];
    struct sim_call calls[OUT_WAYS_MAX]; /* by one address alone that were refused */
    struct ev *held;                     /* inputs that came while it was stopped */
    struct writer *writers;
};

#define OLD_FRAMES 64

struct old_frame { /* a routed frame, kept to arrive again */
    uint32_t dst;
    struct buf data;
};

#define SIM_KEEPERS_MAX 8

struct kept_at { /* a keeper */
    uint32_t vpid;
    struct epoch epoch;
    uint64_t conn; /* the new head has its answer on this connection; 0: it has none */
};

struct kept_caller { /* of the head that asks */
    uint32_t vpid;
    struct epoch epoch;
    uint64_t version; /* the last broadcast that it has processed */
};

struct kept {         /* the records of the head's last process */
    bool more;        /* it had records that its keepers had not acknowledged */
    bool ends;        /* so does its incarnation, by these records */
    bool volume;      /* its volume had all when the next one started */
    bool answers;     /* the next one has begun, and had an answer of a keeper that had all */
    bool taken;       /* it has begun with the records of the volume */
    uint64_t volumes; /* heads that have */
    size_t n;
    struct kept_at at[SIM_KEEPERS_MAX];
    size_t ncallers;
    struct kept_caller *callers;
};

struct midway { /* the end of the head's process */
    bool due;
    uint64_t groups, actions; /* after so many groups of records and, then, actions */
};

struct sim {
    struct sim_opts opts;
    struct node nodes[SIM_NODES_MAX + 1]; /* the last one: SIM_FORMER */
    struct sim_hooks hooks;
    struct ev **heap; /* by time */
    size_t nheap, heap_max;
    struct ev *blocked;   /* by a partition */
    struct buf disk;      /* the head's records, */
    size_t disk_snapshot; /* so many bytes of them in a snapshot */
    bool disk_stalled;    /* nothing is written */
    bool disk_lacks;      /* the last records, until a snapshot is written */
    bool former_goes_on;  /* although it writes nothing */
    struct midway midway;
    struct kept kept;
    uint64_t heirs; /* processes of the head that had the records of another one */
    struct old_frame old[OLD_FRAMES];
    size_t nold;
    struct wire *wires, *by_a, *by_b;
    struct rank_proc *procs;
    struct writer *writers;
    char wrong[640]; /* the first piece of a file that no writer can take; empty: none */
    uint64_t now, numbers, conns;
    uint64_t hang_until, hang_ms; /* connects take up to hang_ms */
    uint64_t late_until, late_ms; /* greetings come up to late_ms after the connection opened */
    uint64_t rng;
    struct sim_job jobs[SIM_JOBS_MAX];
    size_t njobs;
};

/* submit.c */
bool sim_in_spawn(const struct sim *s, const struct rank_proc *p); /* it does not end meanwhile */
/* sim.c */
bool sim_running(const struct sim *s, uint32_t vpid);
struct ev *sim_schedule(struct sim *s, uint64_t at, enum ev_kind kind, uint32_t vpid,
                        uint64_t conn);
/* The next event of the other side of a connection, after all frames under way to it. */
struct ev *sim_to_peer(struct sim *s, struct wire *w, uint32_t from, enum ev_kind kind);
void sim_close_side(struct sim *s, struct wire *w, uint32_t vpid);
void sim_heap_put(struct sim *s, struct ev *e);
void sim_proc_free(struct sim *s, struct rank_proc *p);
void sim_ev_free(struct ev *e);
uint64_t sim_draw_delay(struct sim *s);
/* wire.c */
extern const char *const sim_more_addresses[OUT_WAYS_MAX - 1];
const char *sim_address(size_t net); /* of each daemon in that network */
void sim_wire_free(struct sim *s, struct wire *w);
/* NULL: the daemon has no such connection, or has closed it. */
struct wire *sim_wire_of(struct sim *s, uint32_t vpid, uint64_t conn);
void sim_connect(struct sim *s, uint32_t vpid, const struct out_connect *act);
/* A daemon calls another one beside its own connections; whatever is answered, it ignores. */
struct wire *sim_call_aside(struct sim *s, uint32_t vpid, uint32_t to);
void sim_delay_greeting(struct sim *s, struct wire *w, uint32_t from, const struct buf *frame);
void sim_wire_break(struct sim *s, struct wire *w); /* both sides see it */
/* files.c */
void sim_files_start(struct sim *s, uint32_t vpid);
void sim_files_end(struct sim *s, uint32_t vpid);
void sim_files_launch(struct sim *s, uint32_t vpid, const struct job_launch *l);
void sim_files_take(struct sim *s, uint32_t vpid, const char *nspace);
void sim_files_drop(struct sim *s, uint32_t vpid, const char *nspace);
bool sim_files_create(struct sim *s, uint32_t vpid, const char *nspace, bool waits);
bool sim_files_pending(const struct sim *s, uint32_t vpid, const char *nspace);
const struct job_launch *sim_files_started(struct sim *s, uint32_t vpid, const char *nspace);
void sim_files_fail(struct sim *s, uint32_t vpid, const char *nspace, int errnum);
void sim_files_over(struct sim *s, uint32_t vpid, const char *nspace);
void sim_files_forget(struct sim *s, uint32_t vpid, const char *nspace);
uint64_t sim_files_next(const struct sim *s);
void sim_files_turn(struct sim *s);
/* disk.c */
/* False: the process may not write them, and ends. */
bool sim_disk_put(struct sim *s, uint32_t vpid, const struct out_records *group);
/* After an action of that daemon: its process ends here. */
bool sim_ends_now(struct sim *s, uint32_t vpid, const struct out_act *act);
/* kept.c */
void sim_kept_start(struct sim *s);                                         /* a new head asks */
void sim_kept_frame(struct sim *s, uint64_t conn, const struct buf *frame); /* that it gets */
void sim_kept_begin(struct sim *s);              /* it begins, with records or without */
void sim_kept_end(struct sim *s, uint32_t vpid); /* the process is about to end */
/* fault.c */
void sim_keep_frame(struct sim *s, uint32_t vpid, const struct buf *data);
uint64_t sim_wall(const struct sim *s, uint32_t vpid); /* the wall clock of a daemon */
uint64_t sim_hang(struct sim *s);                      /* the time by which a connect is late */

#endif
