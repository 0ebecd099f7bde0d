/* SPDX-License-Identifier: BSD-3-Clause */
/* The outbox of one core: an ordered list of actions for the driver. A module of the core appends
 * an action; the driver (dvm/host, dvm/sim) takes the actions after each input and carries them
 * out.
 *
 * To add an action: a struct with named fields, a line in OUT_LIST; an action that owns
 * something gets a free_ function in out.c. */
#ifndef DVM_OUT_OUT_H
#define DVM_OUT_OUT_H

#include "api/campaign.h"
#include "base/buf/buf.h"
#include "dvm/protocol/wire/job.h"
#include "dvm/protocol/wire/msg/member.h"
#include "dvm/protocol/wire/msg/ranks_lost.h"
#include "dvm/protocol/wire/msg/remove.h"
#include "dvm/protocol/wire/msg/resize_ended.h"

#include <stdarg.h>

/* X(KIND, member of struct out_act's union, its struct out_..., what is freed of it) */
#define OUT_LIST(X)                                                                                \
    X(RECORDS, records, records, records) /* of the head, to be kept before what follows */        \
    X(CONNECT, connect, connect, connect)                                                          \
    X(SEND, send, send, send)                                                                      \
    X(CLOSE, close, close, nothing)                                                                \
    /* The life of a job's ranks here (dvm/protocol/core/local.c): steps that the driver takes and \
     * reports by core_ranks() and core_proc(). out_nspace() names the job of all but LAUNCH. */   \
    X(LAUNCH, launch, launch, launch)   /* register them with the PMIx server */                   \
    X(TAKE_FILES, take_files, job, job) /* write the job's files, which will arrive */             \
    X(DROP_FILES, drop_files, job, job) /* stop writing them; an unfinished file is dropped */     \
    X(CREATE, create, create, create)                                                              \
    X(START, start, job, job) /* ranks that wait go on to their exec */                            \
    X(SIGNAL, signal, signal, signal)                                                              \
    X(END_RANKS, end_ranks, end_ranks, end_ranks)                                                  \
    X(CONTINUE, go_on, go_on, go_on) /* ranks that stopped for a debugger */                       \
    X(CLEAN, clean, job, job)        /* all its ranks have ended: remove their remains */          \
    X(JOB_ENDED, job_ended, job_ended, job_ended)                                                  \
    X(RANKS_LOST, ranks_lost, ranks_lost, ranks_lost) /* local ranks are to be notified */         \
    X(APP, app, app, app)                                                                          \
    X(GATHER, gather, gather, gather)                                                              \
    X(CLIENT, client, client, client)                                                              \
    /* An heir: this id was that of a client of the former head. */                                \
    X(INHERITED, inherited, inherited, nothing)                                                    \
    X(FILES, files, to_client, nothing) /* its job's files can go: core_files_targets() */         \
    X(STDIN, input, to_client, nothing) /* its job has started, input can go: core_stdin() */      \
    X(ANSWER, answer, answer, nothing)  /* of the control API, which waits for its records */      \
    X(EVENT, event, event, nothing)                                                                \
    X(STATE, state, state, nothing)                                                                \
    X(PARK, park, none, nothing) /* write the marker: this daemon has left */                      \
    X(EXIT, exit, exit, nothing)                                                                   \
    X(LOG, log, log, log)                                                                          \
    X(MEMBER_GONE, member_gone, member_gone, member_gone) /* modules forget it */                  \
    X(RESIZE_ANSWER, resize_answer, resize_answer, resize_answer)                                  \
    X(RESIZE_ENDED, resize_ended, resize_ended, resize_ended)

#define OUT_WAYS_MAX MEMBER_ADDRESSES_MAX

#define OUT_KIND(KIND, member, fields, owned) OUT_##KIND,
enum out_kind { OUT_LIST(OUT_KIND) OUT_KINDS };
#undef OUT_KIND

struct out_none {
    char unused;
};

struct out_records {
    struct buf data; /* each record after its length (u32) */
    bool anew;       /* a snapshot: it replaces all records that were kept before */
};

struct out_way {  /* an address of the daemon that is called */
    size_t index; /* core_conn_open() returns it */
    char *host;   /* a numeric address or a name */
    char *from;   /* our own address for the connection, if it is of the same family; NULL: any */
    uint16_t port;
    bool named; /* the certificate must be valid for `host`, else for role and cluster alone */
};

struct out_connect {
    uint64_t conn; /* id that the core has chosen (top bit set); the driver maps it to its own */
    size_t nways;  /* 1 .. OUT_WAYS_MAX; they are tried in this order, the first that opens is it */
    struct out_way ways[OUT_WAYS_MAX];
};

struct out_send {
    uint64_t conn;
    struct buf frame;
};

struct out_close {
    uint64_t conn;
    bool flush; /* earlier data is delivered first */
};

struct out_launch {
    const struct job_launch *launch; /* a reference, owned */
};

struct out_job {
    char *nspace;
};

struct out_create {
    char *nspace;
    bool waits; /* each rank waits before its exec and reports READY */
};

struct out_signal { /* to all local ranks */
    char *nspace;
    int signum;
};

struct out_end_ranks { /* SIGTERM, then SIGKILL, to all local ranks */
    char *nspace;
    uint64_t grace_ms;
};

struct out_go_on {
    char *nspace;
    uint32_t rank; /* or JOB_RANK_ALL */
};

struct out_job_ended { /* the whole job has ended: an event for local tools */
    char *nspace;
    int exit_code;
};

struct out_ranks_lost {
    struct msg_ranks_lost lost;
};

struct out_app { /* a message of a service of another daemon */
    uint32_t from;
    uint32_t kind;
    struct buf data;
};

struct out_gather { /* a collective has ended */
    uint64_t req;
    int outcome; /* enum gather_outcome */
    struct buf data;
};

struct out_client {
    uint32_t client;
    struct buf msg; /* an encoded client_msg */
    bool last;      /* the connection is closed afterwards */
};

struct out_to_client {
    uint32_t client;
};

struct out_inherited {
    uint32_t client; /* no other client gets the number */
    bool stays;      /* its detached job goes on, and can be attached */
};

struct out_answer { /* at the head */
    uint64_t number;
};

struct out_event {   /* at the head */
    uint64_t number; /* of the event that was appended */
};

struct out_state {
    int state; /* enum core_state, the new one */
};

struct out_exit { /* end the program, after what was queued */
    int code;
};

struct out_log {
    int level; /* enum log_level */
    char *text;
};

struct out_member_gone {
    uint32_t vpid;
    enum remove_why why;
    char *host; /* of a lost member; NULL: not known */
};

struct out_resize_answer { /* to a request of a local process */
    uint64_t req;
    enum resize_status status;
    enum api_phase phase;
    char *campaign;
    char *why; /* not accepted */
};

struct out_resize_ended { /* to a local process that has asked for it */
    struct msg_resize_ended end;
};

#define OUT_MEMBER(KIND, member, fields, owned) struct out_##fields member;
struct out_act {
    enum out_kind kind;
    union {
        OUT_LIST(OUT_MEMBER)
    };
    uint64_t turn; /* the group of records that it may follow */
    struct out_act *next, *prev;
};
#undef OUT_MEMBER

/* A list of actions and the present time, shared by the modules of one core. */
struct out {
    struct out_act *head;
    uint64_t now_ms;
    uint64_t wall_ms;
    /* Of the head with keepers (dvm/protocol/core/keepers.c); else all zero. */
    struct out_act *ahead; /* actions that wait for nothing */
    bool goes_ahead;       /* the next action is one of them */
    uint64_t turn;         /* of the next action */
    uint64_t kept;         /* actions up to this turn may be taken */
};

/* Appends an action whose fields are zero and whose buffers are empty; the caller fills it in. */
struct out_act *out_add(struct out *o, enum out_kind kind);
bool out_take(struct out *o, struct out_act *act);
/* The process does not end after all. False: no OUT_EXIT without an error waits. */
bool out_take_exit_back(struct out *o);
void out_act_free(struct out_act *act);
void out_free(struct out *o);
void out_close(struct out *o, uint64_t conn, bool flush);
void out_log(struct out *o, int level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The job of an action on ranks; NULL: the action is about no job. */
const char *out_nspace(const struct out_act *act);

#endif
