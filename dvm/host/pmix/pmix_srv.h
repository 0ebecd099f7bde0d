/* SPDX-License-Identifier: BSD-3-Clause */
/* The embedded PMIx server: registers jobs, answers clients, passes upcalls from PMIx's thread
 * to the loop. */
#ifndef DVM_PMIX_PMIX_SRV_H
#define DVM_PMIX_PMIX_SRV_H

#include "base/err/err.h"
#include "base/loop/loop.h"
#include "dvm/protocol/head/published/store.h"
#include "dvm/protocol/wire/job.h"
#include "dvm/protocol/wire/msg/msg.h"
#include "dvm/protocol/wire/resize_request.h"

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

/* The holder of a credential. */
struct pmix_srv_holder {
    struct pmix_srv_proc proc;
    uint32_t uid, gid;
    bool tool; /* it is of no job */
};
#define PMIX_SRV_CRED_MAX 4096

/* The receivers of a local rank's event on other daemons; those on this daemon have it already. */
struct pmix_srv_reach {
    enum { PMIX_SRV_REACH_JOB, PMIX_SRV_REACH_ALL, PMIX_SRV_REACH_LIST } kind;
    const struct pmix_srv_proc *procs; /* PMIX_SRV_REACH_LIST */
    size_t nprocs;
};
#define PMIX_SRV_REACH_MAX 65536
#define PMIX_SRV_EVENT_MAX (32u << 20) /* of its blob: more than a client can send */

/* Of the data of a call, or of an answer. The library itself takes 128 MB of each rank for its own
 * node and as much for others. */
#define PMIX_SRV_BLOB_MAX (512u << 20)

/* A request for published values, of a client of the daemon `from`. */
struct pmix_srv_data_ask {
    uint32_t from;
    uint64_t question, open_from; /* dvm/protocol/head/journal/record_published.h */
    char op;                      /* of on_data() */
    const void *blob;             /* of on_data(); borrowed for the call */
    size_t len;
};

/* The cause for which a job with ranks here waits. Kind and id stay the same while the wait lasts;
 * its text may change. */
struct pmix_srv_wait {
    char kind; /* of on_fence(), 'm' data of a rank, 'r' a request of a rank */
    uint64_t id;
    char *nspace, *text;
};
#define PMIX_SRV_WAITS_MAX 1024

/* All are called on the loop's thread. Data is borrowed for the call. Opaque `blob`s are packed by
 * this module and understood by its peer on another daemon. */
struct pmix_srv_upcalls {
    void (*on_connected)(const char *nspace, uint32_t rank, void *arg); /* PMIx_Init */
    void (*on_finalized)(const char *nspace, uint32_t rank, void *arg);
    /* PMIx_Abort: the process, its exit code and text; answered when the abort has been ordered. */
    void (*on_abort)(pmix_req req, const char *nspace, uint32_t rank, int code, const char *text,
                     void *arg);
    /* All local participants have arrived. `sig` names the collective the same way on every daemon:
     * the participants (sorted); `data` is this daemon's contribution. Answer: status and the
     * contributions of all, concatenated. `kind`: 'f' fence, 'c' connect, 'd' disconnect, 'g' group
     * construct/destruct: the last of procs is then no process but 'C' or 'D' and the group's name
     * (its rank is PMIX_SRV_RANK_NONE): part of the signature, not of the participants. */
    void (*on_fence)(pmix_req req, char kind, const struct pmix_srv_proc *procs, size_t nprocs,
                     const void *data, size_t len, int timeout_s, void *arg);
    /* Direct modex for a rank of another daemon. Answer with its data. */
    void (*on_dmodex)(pmix_req req, const char *nspace, uint32_t rank, int timeout_s, void *arg);
    /* Data service of the head: op 'p' publish, 'l' lookup, 'u' unpublish, 'e' the end of a rank
     * that has published for its own life, 'c' a port that is closed. The answer is a blob ('l') or
     * a status. */
    void (*on_data)(pmix_req req, char op, const void *blob, size_t len, void *arg);
    /* The head only: serves such a request from the published values (published_serve()). */
    enum store_result (*on_data_serve)(const struct pmix_srv_data_ask *a, bool at_once,
                                       struct buf *answer, void *arg);
    /* PMIx_Spawn: a job spec; its files are as the rank names them, `program` is 1 if that is one
     * of them, and a working directory SPAWN_OWN_CWD is that of its files. `hosts`
     * are names as the rank has written them, for spec->hosts; NULL: none. Answer: status and, as
     * data, the new namespace's name. */
    void (*on_spawn)(pmix_req req, const struct job_spec *spec, const char *hosts, void *arg);
    /* An event of a local client of `nspace`, for other daemons (blob for pmix_srv_notify()).
     * Answer when all have it: until then it counts against the limit of events under way. */
    void (*on_notify)(pmix_req req, const char *nspace, const struct pmix_srv_reach *to,
                      const void *blob, size_t len, void *arg);
    /* A local rank has stopped in PMIx_Init, or where its program stops, until
     * pmix_srv_continue(). */
    void (*on_held)(const char *nspace, uint32_t rank, void *arg);
    /* PMIX_DEBUGGER_RELEASE: a rank, or PMIX_SRV_RANK_ALL, may go on, on whichever daemon it is. */
    void (*on_continue)(const char *nspace, uint32_t rank, void *arg);
    /* PMIx_Query_info: answer a struct jobtable, encoded, with the processes of the jobs named
     * ("a,b"; unknown ones are left out). */
    void (*on_query)(pmix_req req, const char *nspaces, void *arg);
    /* PMIx_Log: a text for the job's output (1) or errors (2), or the daemon's log (0). */
    void (*on_log)(pmix_req req, const char *nspace, uint32_t rank, int stream, const char *text,
                   void *arg);
    /* Register a path, to be removed when the scope is run or this daemon ends. Flags are those
     * of dvm/host/spawner/remove.h; the same path of the same kind again changes them. */
    void (*on_clean_add)(uint64_t scope, unsigned flags, const char *path, void *arg);
    /* Remove the paths of the scope, then call pmix_srv_cleaned(); the scope is not used again. */
    void (*on_clean_run)(uint64_t scope, void *arg);
    /* Job control for the host: a process of this job, or a tool of this name, wants the procs to
     * be signalled. */
    void (*on_control)(pmix_req req, const char *nspace, const struct pmix_srv_proc *procs,
                       size_t nprocs, int signum, void *arg);
    /* PMIx_Allocation_request. `nodes` are names as the client has written them, for ask->vpids,
     * which are not filled in; "": none. Answer by pmix_srv_resize_answer(). */
    void (*on_resize)(pmix_req req, const struct resize_request *ask, const char *nodes, void *arg);
    /* PMIx_Get_credential of a process that is connected here. The answer is a status and the
     * bytes, up to PMIX_SRV_CRED_MAX. */
    void (*on_cred_get)(pmix_req req, const struct pmix_srv_holder *who, void *arg);
    /* PMIx_Validate_credential. Answer by pmix_srv_cred_answer(). */
    void (*on_cred_check)(pmix_req req, const void *data, size_t len, void *arg);
    /* A tool attaches. Answer when events for it may arrive here. */
    void (*on_tool)(pmix_req req, void *arg);
    /* PMIx_IOF_pull: a tool wants the output of these jobs or ranks. Answer when the output will
     * follow. */
    void (*on_pull)(pmix_req req, const struct pmix_srv_proc *procs, size_t nprocs, void *arg);
    /* This many bytes that pmix_srv_output() has taken for this client, or job, were delivered
     * or dropped; not wanted: no tool requests them any more. */
    void (*on_output_read)(uint32_t client, const char *nspace, size_t len, bool wanted, void *arg);
    /* All output taken before pmix_srv_output_over() has been given to the library. */
    void (*on_output_over)(const char *nspace, void *arg);
    /* PMIx_IOF_push: input for a job, up to PMIX_SRV_PUSH_MAX bytes, and its end. Answer when there
     * is room for more. */
    void (*on_push)(pmix_req req, const struct pmix_srv_proc *from, const struct pmix_srv_proc *to,
                    const void *data, size_t len, bool end, void *arg);
    /* The answer to pmix_srv_look(). */
    void (*on_waits)(const struct pmix_srv_wait *list, size_t n, void *arg);
    /* The library has requests and answers none any more: the daemon has to end. Called once. */
    void (*on_silent)(const char *why, void *arg);
};

#define PMIX_SRV_PUSH_MAX (1u << 20)

struct pmix_srv;
struct pmix_srv_opts {
    const char *host; /* this daemon's node name */
    const char
        *session_dir; /* for rendezvous files and job directories; exists, accessible to us only */
    const char *dvm_dir; /* DVM_SESSION_DIR of ranks; NULL: session_dir */
    uint32_t vpid;
    bool owns_cpus; /* nobody else's processes run on the daemon's CPUs */
    /* The machine's, borrowed until pmix_srv_destroy(); NULL: the library reads its own, with
     * all devices, in 15 ms of CPU. */
    struct hwloc_topology *topology;
    pid_t spawner;      /* ranks descend from it; 0: from this process */
    uint64_t silent_ms; /* of the library, before on_silent(); 0: PMIX_SRV_SILENT_MS */
};
#define PMIX_SRV_SILENT_MS 60000
struct pmix_srv *pmix_srv_create(struct loop *loop, const struct pmix_srv_opts *o,
                                 const struct pmix_srv_upcalls *up, void *arg, struct err *err);
/* If the library cannot be ended since its thread hangs, it is left as it is, with the objects
 * to which it refers: after silent_ms, 10 s at most, or at once if on_silent() has been called.
 * The process then has to end. */
void pmix_srv_destroy(struct pmix_srv *p);

/* Registers the namespace with everything that Open MPI asks of job info, and its local ranks as
 * clients of `uid`, `gid`; done(0 or a PMIx status). Makes the job's directory under the session
 * directory. Keeps a reference to the launch, which has to be a shared one. */
void pmix_srv_register(struct pmix_srv *p, const struct job_launch *l, uid_t uid, gid_t gid,
                       void (*done)(int status, void *arg), void *arg);
/* Makes the directory of a job with ranks here, as its first rank that connects would do. */
int pmix_srv_make_dir(struct pmix_srv *p, const char *nspace, struct err *err)
    __attribute__((warn_unused_result));
/* The environment of a local rank: a copy of `env` (NULL-terminated) with PMIx's variables; freed
 * by pmix_srv_env_free(). NULL on error. Does not block: registration is done. */
char **pmix_srv_env(struct pmix_srv *p, const char *nspace, uint32_t rank, char *const *env,
                    struct err *err);
void pmix_srv_env_free(char **env);
/* At each exit of a local rank, and at the end of the job: runs the registered cleanup. done()
 * is called when all is removed. */
void pmix_srv_rank_gone(struct pmix_srv *p, const char *nspace, uint32_t rank,
                        void (*done)(int status, void *arg), void *arg);
/* Whether the end of this rank, if it came now, would remove something. */
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
/* Head only: answers a request for published values by on_data_serve(). A lookup that asks to wait
 * (of MPI_Comm_accept and _connect) is answered when its keys have been published, or at its time
 * limit. done() once, maybe within the call; the answer is a blob. */
void pmix_srv_data_ask(struct pmix_srv *p, const struct pmix_srv_data_ask *a,
                       void (*done)(int status, const void *answer, size_t alen, void *arg),
                       void *arg);
/* Nobody publishes values of this port any more (names "PORT:…"): lookups of the job of `of` that
 * wait for one fail, on whichever daemon, now and later. */
void pmix_srv_close_port(struct pmix_srv *p, const struct pmix_srv_proc *of, const char *port);
/* Lets local ranks that have stopped (one, or PMIX_SRV_RANK_ALL) go on, each once. */
void pmix_srv_continue(struct pmix_srv *p, const char *nspace, uint32_t rank);
/* PMIX_READY_FOR_DEBUG for a local process: all ranks of `nspace` that are to stop have stopped
 * there. */
void pmix_srv_notify_held(struct pmix_srv *p, const struct pmix_srv_proc *to, const char *nspace,
                          enum job_stop where);
/* Whether this local rank, if it ended now, would do so as a client that has not finalized. */
bool pmix_srv_in_session(struct pmix_srv *p, const char *nspace, uint32_t rank);
/* The process of this local rank has ended: done() when the library has handled all that it had
 * sent, after some seconds at the most. */
void pmix_srv_settle(struct pmix_srv *p, const char *nspace, uint32_t rank,
                     void (*done)(int status, void *arg), void *arg);
/* An event from another daemon; done() when the library has it. */
void pmix_srv_notify(struct pmix_srv *p, const void *blob, size_t len,
                     void (*done)(int status, void *arg), void *arg);
/* Output of a rank (stream 1, 2) for the tools here that have requested it. The job waits for
 * the tool that owns it (NULL: none). It waits for other tools a second, then they lose the
 * output that they do not read, and are notified. True: on_output_read() follows. */
bool pmix_srv_output(struct pmix_srv *p, uint32_t client, const struct pmix_srv_proc *owner,
                     const char *nspace, uint32_t rank, int stream, const void *data, size_t len);
void pmix_srv_output_over(struct pmix_srv *p, const char *nspace);
/* The text that on_waits() reports for the job `nspace` until the request is answered. Takes the
 * text. */
void pmix_srv_request_waits(struct pmix_srv *p, pmix_req req, const char *nspace, char *text);
/* Asks what the jobs here wait for now: on_waits() follows, unless the library ends before. */
void pmix_srv_look(struct pmix_srv *p);
/* A job has ended: answers the lookups of its ranks that wait. */
void pmix_srv_job_over(struct pmix_srv *p, const char *nspace);
/* Events of the DVM for processes that have registered for their codes: the end of a job to all
 * ranks here, its start and the loss of one of its ranks to the named processes. */
void pmix_srv_notify_job_end(struct pmix_srv *p, const char *nspace, int exit_code);
void pmix_srv_notify_job_start(struct pmix_srv *p, const char *nspace,
                               const struct pmix_srv_proc *to);
void pmix_srv_notify_lost(struct pmix_srv *p, const char *nspace, const struct msg_rank *r,
                          const struct pmix_srv_proc *to, size_t nto);
/* The DVM has lost the daemon of this node: to all processes and tools here that have registered
 * for it. */
void pmix_srv_notify_offline(struct pmix_srv *p, uint32_t vpid, const char *host);
/* Answers a request for another size: RESIZE_OK with the campaign's id and its phase, or the
 * reason of the refusal. */
void pmix_srv_resize_answer(struct pmix_srv *p, pmix_req req, enum resize_status status,
                            const char *id, const char *phase);
/* Answers the check of a credential: a status, and the holder if the credential is valid. */
void pmix_srv_cred_answer(struct pmix_srv *p, pmix_req req, int status,
                          const struct pmix_srv_holder *who);
struct pmix_srv_resize_end {
    const char *nspace; /* the only receiver */
    uint32_t rank;
    enum resize_status
        status;         /* RESIZE_OK: PMIX_DVM_IS_READY; else PMIX_ERR_DVM_MOD for this cause */
    const char *id;     /* the campaign's */
    const char *req_id; /* the requester's own, "": none */
    const char *cause;  /* "": none */
};
/* An accepted request has ended. Dropped if the requester has ended too. */
void pmix_srv_resize_ended(struct pmix_srv *p, const struct pmix_srv_resize_end *e);
/* Fence data of several daemons is their concatenation in any order: the library reads it so. */

#endif
