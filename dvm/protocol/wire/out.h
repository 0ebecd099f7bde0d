/* SPDX-License-Identifier: BSD-3-Clause */
/* The outbox: what the pure core wants done, in order; the driver (daemon.c, sim) carries it out.
 */
#ifndef DVM_WIRE_OUT_H
#define DVM_WIRE_OUT_H

#include "base/buf/buf.h"
#include "dvm/protocol/wire/job.h"

#include <stdarg.h>

enum out_class { CLASS_CONTROL, CLASS_LAUNCH, CLASS_MODEX, CLASS_BULK, CLASSES };

enum out_kind {
    OUT_CONNECT, /* conn: id that core chose (top bit set); a: host, number: port. The driver maps
                    it to its own */
    OUT_SEND,    /* conn, data */
    OUT_CLOSE,   /* conn, number: 1 flush */
    /* The life of a job's ranks here (dvm/protocol/core/local.c), each a step that the driver takes
     * and reports by core_ranks() and core_proc() */
    OUT_LAUNCH,     /* launch: register them with the PMIx server */
    OUT_TAKE_FILES, /* a: nspace: the job's files come and are to be written */
    OUT_DROP_FILES, /* a: nspace: no more of them; what is being written is given up */
    OUT_CREATE,     /* a: nspace, number: 1 if each waits before its exec and reports READY */
    OUT_START,      /* a: nspace: those that wait go on to their exec */
    OUT_SIGNAL,     /* a: nspace, rank (or JOB_RANK_ALL), number: signal */
    OUT_END_RANKS,  /* a: nspace: SIGTERM, number ms of grace, SIGKILL */
    OUT_CONTINUE,   /* a: nspace, rank (or JOB_RANK_ALL): held ranks go on */
    OUT_CLEAN,      /* a: nspace: all its ranks here are over: remove what they have left */
    OUT_JOB_ENDED, /* a: nspace, number: exit code: the whole job is over (event for local tools) */
    OUT_RANKS_LOST, /* data: the body of MSG_RANKS_LOST (dvm/protocol/wire/msg/msg.h): to be told to
                     * local ranks
                     */
    OUT_APP,        /* from vpid: kind, data */
    OUT_GATHER,     /* req, number: 0 or an outcome of dvm/protocol/gather/gather.h, data */
    OUT_CLIENT, /* client (uint32 in conn), data: an encoded client_msg; number 1: close afterwards
                 */
    OUT_FILES,  /* client (in conn): its job's files can go: core_files_targets() */
    OUT_STDIN,  /* client (in conn): its job has started, input can go: core_stdin() */
    OUT_EVENT,  /* req: event number that was appended (head) */
    OUT_STATE,  /* core_state() has changed; number: the new one */
    OUT_PARK,   /* write the marker: this daemon has left */
    OUT_EXIT,   /* number: exit code: end the program, after what was queued */
    OUT_LOG,    /* number: enum log_level, a: text */
    OUT_MEMBER_GONE, /* vpid, a: its host, number: enum remove_why: modules forget it */
    OUT_ALLOC,       /* req, number: enum alloc_status, kind_app: enum api_phase, a: the campaign's
                        id, data: a string, why not */
    OUT_ALLOC_ENDED, /* to a: nspace, rank; number: enum alloc_status; data: strings: the campaign's
                        id, the asker's own, the cause */
};

struct out_act {
    enum out_kind kind;
    uint64_t conn;
    uint64_t req;
    uint32_t vpid;
    uint32_t rank;
    uint32_t kind_app;
    int64_t number;
    char *a;
    struct buf data;
    const struct job_launch *launch; /* a reference, owned by the act */
    struct out_act *next, *prev;
};

/* A list of actions and the present time, shared by the modules of one core. */
struct out {
    struct out_act *head;
    uint64_t now_ms;
    uint64_t wall_ms;
};

struct out_act *out_add(struct out *o, enum out_kind kind); /* zeroed, appended; fill it in */
bool out_take(struct out *o, struct out_act *act);
void out_act_free(struct out_act *act);
void out_free(struct out *o);
void out_log(struct out *o, int level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
