/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of dvm/host/pmix: the server object, upcalls under way, pending
 * operations. */
#ifndef DVM_PMIX_PMIX_PRIVATE_H
#define DVM_PMIX_PMIX_PRIVATE_H

#include "base/buf/buf.h"
#include "base/heap/hash.h"
#include "dvm/host/pmix/cleanup.h"
#include "dvm/host/pmix/pmix_srv.h"

#include <pmix.h>
#include <pmix_extend.h>
#include <pmix_server.h>
#include <stdatomic.h>

#define PMIX_SRV_NSPACE "dvm" /* the servers' own namespace; a server's rank is its vpid */
#define PMIX_SRV_KEYS_MAX 65536
#define RESIZE_LIST_MAX (1u << 20) /* bytes of a list of nodes */

/* How a request of the library is answered: the callback that it gave. */
enum answer_kind {
    ANSWER_NONE,
    ANSWER_OP,
    ANSWER_MODEX,
    ANSWER_LOOKUP,
    ANSWER_SPAWN,
    ANSWER_INFO,
    ANSWER_GROUP,
    ANSWER_QUERY,
    ANSWER_EVENT,
    ANSWER_RESIZE,
    ANSWER_CRED,
    ANSWER_CHECKED,
    ANSWER_TOOL
};
struct answer {
    enum answer_kind kind;
    union {
        pmix_op_cbfunc_t op;
        pmix_modex_cbfunc_t modex;
        pmix_lookup_cbfunc_t lookup;
        pmix_spawn_cbfunc_t spawn;
        pmix_info_cbfunc_t info;
        pmix_credential_cbfunc_t cred;
        pmix_validation_cbfunc_t checked;
        pmix_tool_connection_cbfunc_t tool;
    } cb;
    void *cbdata;
    struct pmix_srv_proc *members; /* ANSWER_GROUP, ANSWER_TOOL (one): owned */
    size_t nmembers;
    struct query *query; /* ANSWER_QUERY: owned */
    size_t len;          /* ANSWER_EVENT */
    char *req_id;        /* ANSWER_RESIZE: owned */
    int64_t uid, gid;    /* ANSWER_CHECKED: the expected ones; -1: any */
};

/* A request or a result that was packed on PMIx's thread and is run on the loop's. `run` reads
 * the fields that its constructor has filled in. */
struct upcall {
    struct pmix_srv *srv;
    void (*run)(struct pmix_srv *p, struct upcall *u);
    struct answer answer;
    char nspace[PMIX_MAX_NSLEN + 1];
    uint32_t rank;
    int number; /* status, exit code, signal, range */
    int timeout_s;
    char op;
    bool nobody; /* a collective of which all participants here have ended */
    uint64_t id; /* of an operation */
    char *text;
    struct pmix_srv_proc *procs;
    size_t nprocs;
    struct buf data;
    struct job_spec spec;
    struct cleanup_req cleanup;
    struct { /* texts are owned */
        char *req_id, *id;
        uint32_t count;
        int64_t deadline_s;
        bool keep;
    } resize;
};
struct pmix_srv *pmix_srv_current(void); /* on PMIx's thread; NULL when none is running */
/* On PMIx's thread. NULL when no server is running (the library is being shut down). */
struct upcall *pmix_srv_upcall_new(void (*run)(struct pmix_srv *p, struct upcall *u));
void pmix_srv_upcall_post(struct upcall *u); /* takes ownership */
void pmix_srv_upcall_free(struct upcall *u); /* for one that is not posted */
void pmix_srv_upcall_procs(struct upcall *u, const pmix_proc_t *procs, size_t n);
struct upcall *upcall_collective(char op, const pmix_proc_t *procs, size_t nprocs,
                                 const pmix_info_t *info, size_t ninfo);

/* An operation: a call of ours into the library, or several that count as one, until all have
 * called back. */
struct op {
    uint64_t id;
    struct pmix_srv *srv;
    unsigned left; /* callbacks still expected */
    int status;    /* first failure */
    char *nspace;
    uint32_t rank;
    void (*then)(struct pmix_srv *p, struct op *op); /* before done() */
    void (*done)(int status, void *arg);
    void (*done_data)(int status, const void *data, size_t len, void *arg);
    void *arg;
    pmix_data_array_t info; /* lent to the library until the end */
    struct loop_timer *timer;
    UT_hash_handle hh;
};
struct op *op_new(struct pmix_srv *p, const char *nspace, uint32_t rank);
void *op_cbdata(const struct op *op);
/* The argument of the library's callback is op_cbdata(). */
void op_on_status(pmix_status_t status, void *cbdata);
void op_on_data(pmix_status_t status, char *data, size_t len, void *cbdata);
/* Ends one of op->left that is no call into the library. */
void op_part_done(uint64_t id, int status);
/* The status of a library call: after success its callback follows, after an error it does not.
 * done() is called on a later turn in either case. */
void op_returned(struct op *op, pmix_status_t rc);
void op_finish(struct op *op, int status, const void *data, size_t len); /* done() now, and freed */
void op_finish_all_of(struct pmix_srv *p, const char *nspace, uint32_t rank, int status);

/* A rank of a job, as this server keeps it. */
struct pmix_srv_rank {
    uint32_t local_rank; /* on the rank's own node */
    uint32_t app_rank;
    /* Of local ranks: */
    bool has_dir;   /* used by the library's thread alone */
    bool gone;      /* it has ended */
    bool connected; /* it is a PMIx client now */
    bool refused;   /* its library is too old, and that was said */
    bool tells_end; /* to the head: it has published values until its end, or a lookup waits */
    bool waiting;   /* for PMIX_DEBUGGER_RELEASE */
    /* Between PMIx_Init and PMIx_Finalize; set before the rank is answered, so that it is right
     * when the rank's end is reported. */
    atomic_bool in_session;
    struct cleanup_scope *cleanup; /* run at its end; NULL as long as there is none */
};

/* Its ranks are registered with this as their object, which the library hands to
 * upcall_on_connected(). Only that reads it outside the loop's thread: what it reads does not
 * change between registration and the end of deregistration, after which no rank can connect. */
struct job {
    struct pmix_srv *srv;
    /* From registration to the end of deregistration only the library's thread uses these. */
    bool described;
    bool made_dir; /* has tried to make it */
    uid_t uid;
    gid_t gid;
    char *nspace;
    const struct job_launch *launch; /* shared: the library's thread reads it too */
    uint32_t node;                   /* our index in its nodes; JOB_NO_VPID: no rank is here */
    struct pmix_srv_rank *ranks;     /* [nranks] */
    uint32_t *node_size;             /* [nnodes] */
    uint32_t ngone;
    struct cleanup_scope cleanup; /* run at the end of the last rank here */
    UT_hash_handle hh;
};
struct job *job_find(struct pmix_srv *p, const char *nspace);
struct job *job_add(struct pmix_srv *p, const struct job_launch *l);
void job_remove(struct pmix_srv *p, struct job *j);
bool job_is_local(const struct job *j, uint32_t rank);

/* refused.c; on the library's thread */
void refused_on_client(const pmix_proc_t *rank, const char *version);
uint32_t job_local_size(const struct job *j);
void job_connected(struct pmix_srv *p, const char *nspace, uint32_t rank, bool now);
/* On PMIx's thread, for a rank that connects: makes the directories and the job info. The rank
 * cannot ask before, since the library takes this request off its queue first. NULL: a client of
 * no job. */
pmix_status_t job_prepare(struct job *j, uint32_t rank);

/* watch.c: whether the library's thread answers, while it has requests. */
struct watch {
    struct loop_timer *timer;
    uint64_t silent_ms;
    uint64_t asked;                /* number of all requests */
    atomic_uint_fast64_t answered; /* done by the library's thread */
    uint64_t seen;                 /* done, at the last look */
    unsigned missed;
    bool armed, lost;
};
void watch_start(struct pmix_srv *p, uint64_t silent_ms);
void watch_stop(struct pmix_srv *p);
void watch_asked(struct pmix_srv *p); /* the library will answer */
void watch_answered(void);            /* on the library's thread */
void watch_look(struct pmix_srv *p);
/* PMIx_server_finalize(). False: it cannot be ended, its thread still runs. */
bool watch_finalize(struct pmix_srv *p) __attribute__((warn_unused_result));

/* A request of the library that waits for an answer. */
struct req {
    pmix_req id;
    struct answer answer;
    char *nspace; /* of the rank that waits, */
    char *waits;  /* and for what; NULL: it is not told */
    UT_hash_handle hh;
};
struct waiter;
struct cleaning;
struct pmix_srv {
    struct loop *loop;
    struct pmix_srv_upcalls up;
    void *arg;
    /* pmix_extend_run() and the library's requests for output; tests replace them. */
    pmix_status_t (*run_on_thread)(void (*fn)(void *arg), void *arg, unsigned delay_ms);
    const struct pmix_pulls *pulls;
    char *host;
    char *session_dir;
    char *dvm_dir;
    uint32_t vpid;
    bool owns_cpus;     /* as in pmix_srv_opts */
    uint32_t ncpus;     /* that this process may use */
    size_t nclients;    /* ranks that are connected */
    bool tools;         /* may attach: on a loopback port that asks for no secret */
    bool shares_host;   /* with other daemons, or possibly so */
    char *home;         /* of a rank whose environment has none */
    bool only_loopback; /* there is no other network interface */
    /* Posted upcalls outlive pmix_srv_destroy(), since the loop does: the last one frees. */
    atomic_uint refs;
    bool closed;
    atomic_uint events_out; /* of local ranks, under way to other daemons */
    atomic_size_t events_out_bytes;
    uint64_t last_id;
    struct req *reqs;
    struct op *ops;
    struct job *jobs;
    struct waiter *waiters; /* head: lookups that wait for a value */
    size_t nwaiters;
    struct closed_port *ports; /* head: the last ones that were closed, the oldest first */
    size_t nports;
    struct cleaning *cleanings; /* scopes that are being removed */
    atomic_bool session_told;   /* to the library */
    struct watch watch;
    struct { /* what ranks see of the machine */
        char *path;
        size_t address, size;
        bool tried;        /* the library's thread's */
        atomic_bool ready; /* address and size do not change any more */
    } topology;
};
/* Takes a->members, a->query, a->req_id. */
pmix_req pmix_srv_add_request(struct pmix_srv *p, struct answer *a);
void query_free(struct query *q);
void query_answer(const struct answer *a, int status, const void *data, size_t len);

/* data.c: reports the end of this rank to the head, whose store then removes its values
 * (PMIX_PERSIST_PROC). */
void data_rank_gone(struct pmix_srv *p, const char *nspace, uint32_t rank);
/* dataserve.c: answers the waiting lookups of a job (NULL: of all jobs) with `status`. */
void dataserve_end_waiters(struct pmix_srv *p, const char *nspace, uint32_t rank, int status);
void dataserve_free_ports(struct pmix_srv *p);

/* jobinfo.c: all attributes of a job that the library and Open MPI read. The caller releases
 * *out by PMIX_DATA_ARRAY_DESTRUCT. */
int jobinfo_build(const struct pmix_srv *p, const struct job *j, pmix_data_array_t *out,
                  struct err *err) __attribute__((warn_unused_result));

/* waits.c: on the library's thread; on_waits() follows. */
void waits_collect(void *nothing);

/* event.c: an event of this size has been delivered. */
void event_out_done(struct pmix_srv *p, size_t len);

/* handback.c: run(arg) on the library's thread; drop(arg) instead if the server ends before. */
void handback_post(struct pmix_srv *p, void (*run)(void *arg), void (*drop)(void *arg), void *arg);
void handback_after(const struct pmix_srv *p, unsigned ms, void (*run)(void *arg),
                    void (*drop)(void *arg), void *arg);
void handback_end(void); /* after the library's thread */
void forward_end(void);  /* forward.c: the same */
/* The functions of the library's thread that forward.c needs, and its clock; tests replace them. */
struct pmix_pulls {
    uint64_t (*now_ms)(void);
    size_t (*size)(void);
    bool (*at)(size_t at, struct pmix_extend_pull *out);
    pmix_status_t (*deliver)(size_t at, pmix_iof_channel_t channel, const pmix_proc_t *source,
                             const pmix_byte_object_t *bytes);
};
extern const struct pmix_pulls pmix_pulls_of_library;
/* rendezvous.c: the one place of the DVM where tools look. */
void rendezvous_open(const struct pmix_srv *p);
void rendezvous_close(const struct pmix_srv *p);
/* jobclean.c. Registers u->cleanup for u->procs, or for the job of the caller: all or nothing. */
pmix_status_t jobclean_register(struct pmix_srv *p, const struct upcall *u);
/* The cleanup that the job's submission has requested. */
void jobclean_spec(struct pmix_srv *p, struct job *j);
/* At the end of the daemon, however it ends: removes what is left of jobs' directories. */
void jobclean_sessions(struct pmix_srv *p);
/* The operation then waits for the removal. */
void jobclean_dir(struct pmix_srv *p, const struct job *j, struct op *op); /* the job's own */
void jobclean_rank_gone(struct pmix_srv *p, struct job *j, uint32_t rank, struct op *op);
void jobclean_end(struct pmix_srv *p, struct job *j, struct op *op);
void jobclean_free(struct job *j);
void jobclean_free_all(struct pmix_srv *p);

/* envdefault.c: adds the variables that Open MPI needs and the user has not set. */
void envdefault_add(char ***env, const struct pmix_srv *p, const struct job *j, uint32_t rank);
bool envdefault_shares_host(const char *host); /* our node name is not the host's */
char *envdefault_home(void); /* the user's, or "/" without an entry in the password file */
bool envdefault_only_loopback(void);

/* Values of an info array, whatever integer type the client chose. */
const pmix_info_t *info_find(const pmix_info_t *info, size_t n, const char *key);
long info_int(const pmix_info_t *info, size_t n, const char *key, long otherwise);
bool info_true(const pmix_info_t *info, size_t n, const char *key);
/* True if no attribute that is marked as required is unknown: PMIx standard, "pmix_info_t",
 * PMIX_INFO_REQD. */
bool info_understood(const pmix_info_t *info, size_t n, bool (*is_known)(const pmix_info_t *i));
/* Of a value that is a process or an array of them; NULL: it is neither, or is empty. */
const pmix_proc_t *info_procs(const pmix_info_t *i, size_t *n);

/* The upcalls of the module table, by file; all on PMIx's thread. */
pmix_status_t upcall_on_connected(const pmix_proc_t *proc, void *object, pmix_info_t info[],
                                  size_t ninfo, pmix_op_cbfunc_t cb, void *cbdata);
pmix_status_t upcall_on_finalized(const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t cb,
                                  void *cbdata);
pmix_status_t upcall_on_abort(const pmix_proc_t *proc, void *object, int status, const char text[],
                              pmix_proc_t procs[], size_t nprocs, pmix_op_cbfunc_t cb,
                              void *cbdata);
void upcall_abort_unlaunched(const char *nspace, uint32_t rank, const char *why);
pmix_status_t upcall_on_fence(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                              size_t ninfo, char *data, size_t len, pmix_modex_cbfunc_t cb,
                              void *cbdata);
pmix_status_t upcall_on_dmodex(const pmix_proc_t *proc, const pmix_info_t info[], size_t ninfo,
                               pmix_modex_cbfunc_t cb, void *cbdata);
pmix_status_t upcall_on_connect(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                                size_t ninfo, pmix_op_cbfunc_t cb, void *cbdata);
pmix_status_t upcall_on_disconnect(const pmix_proc_t procs[], size_t nprocs,
                                   const pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t cb,
                                   void *cbdata);
pmix_status_t group_on_request(pmix_group_operation_t op, char name[], const pmix_proc_t procs[],
                               size_t nprocs, const pmix_info_t info[], size_t ninfo,
                               pmix_info_cbfunc_t cb, void *cbdata);
pmix_status_t data_on_publish(const pmix_proc_t *proc, const pmix_info_t info[], size_t ninfo,
                              pmix_op_cbfunc_t cb, void *cbdata);
pmix_status_t data_on_lookup(const pmix_proc_t *proc, char **keys, const pmix_info_t info[],
                             size_t ninfo, pmix_lookup_cbfunc_t cb, void *cbdata);
pmix_status_t data_on_unpublish(const pmix_proc_t *proc, char **keys, const pmix_info_t info[],
                                size_t ninfo, pmix_op_cbfunc_t cb, void *cbdata);
pmix_status_t spawn_on_request(const pmix_proc_t *proc, const pmix_info_t info[], size_t ninfo,
                               const pmix_app_t apps[], size_t napps, pmix_spawn_cbfunc_t cb,
                               void *cbdata);
pmix_status_t event_on_notify(pmix_status_t code, const pmix_proc_t *source,
                              pmix_data_range_t range, pmix_info_t info[], size_t ninfo,
                              pmix_op_cbfunc_t cb, void *cbdata);
/* hold.c: where the ranks of a spawned job stop. */
pmix_status_t hold_of(const pmix_info_t *info, size_t n, struct job_spec *spec);
/* Whether the event names the receivers of a PMIX_DEBUGGER_RELEASE. */
pmix_status_t hold_check_release(pmix_data_range_t range, const pmix_info_t *info, size_t ninfo);
/* True if it is an event of a debugger, which is not passed on; `rc` is the answer. */
bool hold_takes(pmix_status_t code, const pmix_proc_t *source, pmix_data_range_t range,
                const pmix_info_t info[], size_t ninfo, pmix_status_t *rc);
/* event.c: sends it to local processes, with op->info. */
void event_tell(struct op *op, pmix_status_t code, const pmix_proc_t *source,
                pmix_data_range_t range);
/* To a tool that has pulled a job's output and has lost this many bytes of it. */
void event_output_dropped(struct pmix_srv *p, const struct pmix_srv_proc *to, const char *nspace,
                          uint64_t len);
pmix_status_t event_on_register(pmix_status_t *codes, size_t ncodes, const pmix_info_t info[],
                                size_t ninfo, pmix_op_cbfunc_t cb, void *cbdata);
pmix_status_t event_on_deregister(pmix_status_t *codes, size_t ncodes, pmix_op_cbfunc_t cb,
                                  void *cbdata);
pmix_status_t control_on_request(const pmix_proc_t *requestor, const pmix_proc_t targets[],
                                 size_t ntargets, const pmix_info_t info[], size_t ninfo,
                                 pmix_info_cbfunc_t cb, void *cbdata);
pmix_status_t query_on_request(pmix_proc_t *proc, pmix_query_t *queries, size_t nqueries,
                               pmix_info_cbfunc_t cb, void *cbdata);
pmix_status_t resize_on_request(const pmix_proc_t *client, pmix_alloc_directive_t directive,
                                const pmix_info_t info[], size_t ninfo, pmix_info_cbfunc_t cb,
                                void *cbdata);
pmix_status_t cred_on_get(const pmix_proc_t *proc, const pmix_info_t info[], size_t ninfo,
                          pmix_credential_cbfunc_t cb, void *cbdata);
pmix_status_t cred_on_check(const pmix_proc_t *proc, const pmix_byte_object_t *cred,
                            const pmix_info_t info[], size_t ninfo, pmix_validation_cbfunc_t cb,
                            void *cbdata);
/* "<incarnation>.<number>" of a job, running or ended, or the name of the servers: no tool may
 * have it. */
bool upcall_nspace_is_taken(const char *name);
void upcall_on_tool(pmix_info_t *info, size_t ninfo, pmix_tool_connection_cbfunc_t cb,
                    void *cbdata);
pmix_status_t forward_on_pull(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                              size_t ninfo, pmix_iof_channel_t channels, pmix_op_cbfunc_t cb,
                              void *cbdata);
pmix_status_t forward_on_push(const pmix_proc_t *source, const pmix_proc_t targets[],
                              size_t ntargets, const pmix_info_t info[], size_t ninfo,
                              const pmix_byte_object_t *bo, pmix_op_cbfunc_t cb, void *cbdata);
void control_on_log(const pmix_proc_t *client, const pmix_info_t data[], size_t ndata,
                    const pmix_info_t directives[], size_t ndirs, pmix_op_cbfunc_t cb,
                    void *cbdata);

/* Answers by kind, for pmix_srv_answer(). */
void data_answer_lookup(const struct answer *a, int status, const void *data, size_t len);
void resize_answer(const struct answer *a, int status, const void *data, size_t len);
void upcall_answer_tool(const struct answer *a);
void group_answer(const struct answer *a, int status, const void *data, size_t len);
void cred_answer(const struct answer *a, int status, void *data, size_t len);
void cred_answer_check(const struct answer *a, int status, const void *data, size_t len);

/* topology.c. Once, and at the end; and on PMIx's thread, before the first job is described. */
void topology_start(struct pmix_srv *p);
void topology_end(struct pmix_srv *p);
void topology_share(struct pmix_srv *p);
void topology_add(void *list, const struct pmix_srv *p, const struct job *j);

#endif
