/* SPDX-License-Identifier: BSD-3-Clause */
/* The embedded PMIx server: registers jobs, answers clients, hands upcalls from PMIx's thread to
 * the loop. */
#ifndef DVM_PMIX_PMIX_SRV_H
#define DVM_PMIX_PMIX_SRV_H

#include "base/err/err.h"
#include "base/loop/loop.h"
#include "dvm/protocol/wire/alloc.h"
#include "dvm/protocol/wire/job.h"
#include "dvm/protocol/wire/msg/msg.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A request of the library that waits for an answer. Answer it once by pmix_srv_answer(); ids are
 * never reused. */
typedef uint64_t pmix_req;

#define SPAWN_OWN_CWD "."

struct pmix_srv_proc {
    char nspace[256];
    uint32_t rank; /* PMIX_SRV_RANK_ALL for all */
};
/* The library's numbers (PMIX_RANK_WILDCARD, PMIX_RANK_INVALID), not those of
 * dvm/protocol/wire/job.h. */
#define PMIX_SRV_RANK_ALL 0xfffffffeu
#define PMIX_SRV_RANK_NONE 0xfffffffcu

/* Of whom a credential speaks. */
struct pmix_srv_holder {
    struct pmix_srv_proc proc;
    uint32_t uid, gid;
    bool tool; /* it is of no job */
};
#define PMIX_SRV_CRED_MAX 4096

/* Whom an event of a local rank is for, beside those on this daemon, who have it already. */
struct pmix_srv_reach {
    enum { PMIX_SRV_REACH_JOB, PMIX_SRV_REACH_ALL, PMIX_SRV_REACH_LIST } kind;
    const struct pmix_srv_proc *procs; /* PMIX_SRV_REACH_LIST */
    size_t nprocs;
};
#define PMIX_SRV_REACH_MAX 65536
#define PMIX_SRV_EVENT_MAX (32u << 20) /* of its blob: more than a client can send */

/* All are called on the loop's thread. Data is borrowed for the call. Opaque `blob`s are packed by
 * this module and understood by its peer on another daemon; they are bounded to 64 MiB. */
struct pmix_srv_upcalls {
    void (*on_connected)(const char *nspace, uint32_t rank, void *arg); /* PMIx_Init */
    void (*on_finalized)(const char *nspace, uint32_t rank, void *arg);
    /* PMIx_Abort: by whom, with which exit code and text; answered when the abort has been ordered.
     */
    void (*on_abort)(pmix_req req, const char *nspace, uint32_t rank, int code, const char *text,
                     void *arg);
    /* All local participants have arrived. `sig` names the collective the same way on every daemon:
     * the participants (sorted); `data` is this daemon's contribution. Answer: status and the
     * contributions of all, concatenated. `kind`: 'f' fence, 'c' connect, 'd' disconnect, 'g' group
     * construct/destruct: the last of procs is then no process but the group's name (its rank is
     * PMIX_SRV_RANK_NONE): part of the signature, not of the participants. */
    void (*on_fence)(pmix_req req, char kind, const struct pmix_srv_proc *procs, size_t nprocs,
                     const void *data, size_t len, int timeout_s, void *arg);
    /* Direct modex for a rank of another daemon. Answer with its data. */
    void (*on_dmodex)(pmix_req req, const char *nspace, uint32_t rank, int timeout_s, void *arg);
    /* Data service of the head: op 'p' publish, 'l' lookup, 'u' unpublish, 'e' a rank that has
     * published for its own life is over; answer a blob ('l') or a status. */
    void (*on_data)(pmix_req req, char op, const void *blob, size_t len, void *arg);
    /* PMIx_Spawn: a job spec; its files are as the rank names them, `program` is 1 if that is one
     * of them, and a working directory SPAWN_OWN_CWD is that of its files. `hosts`
     * are names as the rank has written them, for spec->hosts; NULL: none. Answer: status and, as
     * data, the new namespace's name. */
    void (*on_spawn)(pmix_req req, const struct job_spec *spec, const char *hosts, void *arg);
    /* An event of a local client of `nspace` to be told to other daemons (blob for
     * pmix_srv_notify()). Answer when all have it: until then it counts against the limit on those
     * that are on their way. */
    void (*on_notify)(pmix_req req, const char *nspace, const struct pmix_srv_reach *to,
                      const void *blob, size_t len, void *arg);
    /* A local rank stands still in PMIx_Init, or where its program stops, until
     * pmix_srv_continue(). */
    void (*on_held)(const char *nspace, uint32_t rank, void *arg);
    /* PMIX_DEBUGGER_RELEASE: a rank, or PMIX_SRV_RANK_ALL, may go on, wherever it is. */
    void (*on_continue)(const char *nspace, uint32_t rank, void *arg);
    /* PMIx_Query_info: answer a struct jobtable, encoded, with the processes of the jobs named
     * ("a,b"; unknown ones are left out). */
    void (*on_query)(pmix_req req, const char *nspaces, void *arg);
    /* PMIx_Log: a text for the job's output (1) or errors (2), or the daemon's log (0). */
    void (*on_log)(pmix_req req, const char *nspace, uint32_t rank, int stream, const char *text,
                   void *arg);
    /* Keep a path to be removed when the scope is run, or when this daemon is gone. Flags are those
     * of dvm/host/spawner/remove.h; the same path of the same kind again changes them. */
    void (*on_clean_add)(uint64_t scope, unsigned flags, const char *path, void *arg);
    /* Remove what the scope holds, then pmix_srv_cleaned(); it is not heard of again. */
    void (*on_clean_run)(uint64_t scope, void *arg);
    /* Job control of the host: kill, signal, terminate for procs. */
    void (*on_control)(pmix_req req, const struct pmix_srv_proc *procs, size_t nprocs, int signum,
                       void *arg);
    /* PMIx_Allocation_request. `nodes` are names as the client has written them, for ask->vpids,
     * which are not filled in; "": none. Answer by pmix_srv_alloc_answer(). */
    void (*on_alloc)(pmix_req req, const struct alloc_ask *ask, const char *nodes, void *arg);
    /* PMIx_Get_credential of a process that is connected here. Answer: a status and the bytes, up
     * to PMIX_SRV_CRED_MAX. */
    void (*on_cred_get)(pmix_req req, const struct pmix_srv_holder *who, void *arg);
    /* PMIx_Validate_credential. Answer by pmix_srv_cred_answer(). */
    void (*on_cred_check)(pmix_req req, const void *data, size_t len, void *arg);
    /* A tool attaches. Answer when events may come here for it. */
    void (*on_tool)(pmix_req req, void *arg);
    /* PMIx_IOF_pull: the output of these (ranks of) jobs is wanted. Answer when it will come. */
    void (*on_pull)(pmix_req req, const struct pmix_srv_proc *procs, size_t nprocs, void *arg);
    /* So much of what pmix_srv_output() has taken for this client, or job, has left, or was
     * dropped; not wanted: by nobody any more. */
    void (*on_output_read)(uint32_t client, const char *nspace, size_t len, bool wanted, void *arg);
    /* All that was taken before pmix_srv_output_over() has been handed to the library. */
    void (*on_output_over)(const char *nspace, void *arg);
    /* PMIx_IOF_push: input for a job, up to PMIX_SRV_PUSH_MAX bytes, and its end. Answer when there
     * is room for more. */
    void (*on_push)(pmix_req req, const struct pmix_srv_proc *from, const struct pmix_srv_proc *to,
                    const void *data, size_t len, bool end, void *arg);
    /* The library has been asked and answers nothing any more: the daemon has to end. Once. */
    void (*on_silent)(const char *why, void *arg);
};

#define PMIX_SRV_PUSH_MAX (1u << 20)

struct pmix_srv;
struct pmix_srv_opts {
    const char *host;        /* this daemon's node name */
    const char *session_dir; /* for rendezvous files and job directories; exists, ours alone */
    uint32_t vpid;
    /* Of the machine, borrowed until pmix_srv_destroy(); NULL: the library reads its own, with all
     * devices, in 15 ms of processor time. */
    struct hwloc_topology *topology;
    uint64_t silent_ms; /* of the library, until on_silent(); 0: PMIX_SRV_SILENT_MS */
};
#define PMIX_SRV_SILENT_MS 60000
struct pmix_srv *pmix_srv_create(struct loop *loop, const struct pmix_srv_opts *o,
                                 const struct pmix_srv_upcalls *up, void *arg, struct err *err);
/* A library that cannot be ended (its thread stands still) is left as it is, with what it refers
 * to, after silent_ms, 10 s at most, or at once if on_silent() has been called: the process has to
 * end. */
void pmix_srv_destroy(struct pmix_srv *p);

/* Registers the namespace with everything that Open MPI asks of job info, and its local ranks as
 * clients of `uid`, `gid`; done(0 or a PMIx status). Makes the job's directory under the session
 * directory. Keeps a reference to the launch, which has to be a shared one. */
void pmix_srv_register(struct pmix_srv *p, const struct job_launch *l, uid_t uid, gid_t gid,
                       void (*done)(int status, void *arg), void *arg);
/* Makes the directory of a job with ranks here, which its first rank that connects would do. */
int pmix_srv_make_dir(struct pmix_srv *p, const char *nspace, struct err *err)
    __attribute__((warn_unused_result));
/* The environment of a local rank: a copy of `env` (NULL-terminated) with PMIx's variables; freed
 * by pmix_srv_env_free(). NULL on error. Does not block: registration is done. */
char **pmix_srv_env(struct pmix_srv *p, const char *nspace, uint32_t rank, char *const *env,
                    struct err *err);
void pmix_srv_env_free(char **env);
/* At each exit of a local rank, and at the end of the job: run the registered cleanup. done() comes
 * when all is removed. */
void pmix_srv_rank_gone(struct pmix_srv *p, const char *nspace, uint32_t rank,
                        void (*done)(int status, void *arg), void *arg);
/* Whether the end of this rank, if it were now, removes something. */
bool pmix_srv_cleans(struct pmix_srv *p, const char *nspace, uint32_t rank);
void pmix_srv_cleaned(struct pmix_srv *p, uint64_t scope);
void pmix_srv_job_gone(struct pmix_srv *p, const char *nspace, void (*done)(int status, void *arg),
                       void *arg);

void pmix_srv_answer(struct pmix_srv *p, pmix_req req, int status, const void *data, size_t len);
/* A peer asks for the modex of a local rank: done(status, data, len) once, also if the rank never
 * puts any (after timeout_s). */
void pmix_srv_dmodex_serve(struct pmix_srv *p, const char *nspace, uint32_t rank, int timeout_s,
                           void (*done)(int status, const void *data, size_t len, void *arg),
                           void *arg);
/* Head only: the store behind on_data. `from` is the namespace/rank in the blob. Answers a blob. */
int pmix_srv_data_serve(struct pmix_srv *p, char op, const void *blob, size_t len, void **answer,
                        size_t *answer_len);
/* The same for a head that can answer later: a lookup that asks to wait (MPI_Comm_accept and
 * _connect do) is answered when its keys have come, or its time is up. done() once, maybe within
 * the call. */
void pmix_srv_data_ask(struct pmix_srv *p, char op, const void *blob, size_t len,
                       void (*done)(int status, const void *answer, size_t alen, void *arg),
                       void *arg);
/* The local ranks that stand still (one, or PMIX_SRV_RANK_ALL) are told to go on, each once. */
void pmix_srv_continue(struct pmix_srv *p, const char *nspace, uint32_t rank);
/* PMIX_READY_FOR_DEBUG for a local process: all ranks of `nspace` that are to stop do, there. */
void pmix_srv_notify_held(struct pmix_srv *p, const struct pmix_srv_proc *to, const char *nspace,
                          enum job_stop where);
/* Whether this local rank, if it ended now, would do so as a client that has not finalized. */
bool pmix_srv_in_session(struct pmix_srv *p, const char *nspace, uint32_t rank);
/* An event from a peer; done() when the library has it. */
void pmix_srv_notify(struct pmix_srv *p, const void *blob, size_t len,
                     void (*done)(int status, void *arg), void *arg);
/* Output of a rank (stream 1, 2) for those tools here that have asked for it. The job waits for the
 * tool that owns it (NULL: none); for others a second, then they lose what they do not read, and
 * are told. True: on_output_read() follows. */
bool pmix_srv_output(struct pmix_srv *p, uint32_t client, const struct pmix_srv_proc *owner,
                     const char *nspace, uint32_t rank, int stream, const void *data, size_t len);
void pmix_srv_output_over(struct pmix_srv *p, const char *nspace);
/* A job is over: what it has published goes. */
void pmix_srv_job_over(struct pmix_srv *p, const char *nspace);
/* Our own, for those who have registered for their codes: the end of a job to all ranks here, its
 * start and the loss of one of its ranks to those named. */
void pmix_srv_notify_job_end(struct pmix_srv *p, const char *nspace, int exit_code);
void pmix_srv_notify_job_start(struct pmix_srv *p, const char *nspace,
                               const struct pmix_srv_proc *to);
void pmix_srv_notify_lost(struct pmix_srv *p, const char *nspace, const struct msg_rank *r,
                          const struct pmix_srv_proc *to, size_t nto);
/* The DVM has lost the daemon of this node: to all processes and tools here that have registered
 * for it. */
void pmix_srv_notify_offline(struct pmix_srv *p, uint32_t vpid, const char *host);
/* To a request for another size: ALLOC_OK with the campaign's id and its phase, or why not. */
void pmix_srv_alloc_answer(struct pmix_srv *p, pmix_req req, enum alloc_status status,
                           const char *id, const char *phase);
/* To a credential that was to be checked: a status, and of whom it speaks if it is good. */
void pmix_srv_cred_answer(struct pmix_srv *p, pmix_req req, int status,
                          const struct pmix_srv_holder *who);
struct pmix_srv_alloc_end {
    const char *nspace; /* to whom, and nobody else */
    uint32_t rank;
    enum alloc_status
        status;         /* ALLOC_OK: PMIX_DVM_IS_READY; else PMIX_ERR_DVM_MOD for this cause */
    const char *id;     /* the campaign's */
    const char *req_id; /* the asker's own, "": none */
    const char *cause;  /* "": none */
};
/* What was accepted has come to its end. Dropped if the asker has gone. */
void pmix_srv_alloc_ended(struct pmix_srv *p, const struct pmix_srv_alloc_end *e);
/* Fence data of several daemons is their concatenation in any order: the library reads it so. */

#endif
