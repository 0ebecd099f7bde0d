/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon's parts, shared by the daemon*.c files only. */
#ifndef DVM_DAEMON_PRIVATE_H
#define DVM_DAEMON_PRIVATE_H

#include "base/tls/tls.h"
#include "dvm/host/ctl/ctl.h"
#include "dvm/host/daemon.h"
#include "dvm/host/env/host_env.h"
#include "dvm/host/iof/iof.h"
#include "dvm/host/net/net.h"
#include "dvm/host/odls/odls.h"
#include "dvm/host/pmix/pmix_srv.h"
#include "dvm/protocol/core/core.h"
#include "dvm/protocol/stage/stage.h"
#include "dvm/protocol/wire/client.h"

#include <uthash.h>

/* Application messages between daemons beside those of iof. */
enum app_kind {
    APP_DMODEX_ASK = IOF_KINDS, /* u64 request, nspace, rank, timeout s */
    APP_DATA_ASK,               /* u64 request, u8 op, bytes: to the head */
    APP_ANSWER,                 /* u64 request, i32 status, bytes: to either of the above */
    APP_NOTIFY,                 /* u64 request, bytes of pmix_srv_notify() */
    APP_QUERY_ASK,              /* u64 request, namespaces: to the head, for a job table */
    APP_SIGNAL_ASK,             /* u64 request, nspace, rank, u32 signal: to the rank's daemon */
    APP_JOB_ASK,                /* u64 request, nspace: to the head, for a job's launch */
    APP_CALL,       /* u32 client, str method, path, body: a member's client calls the head */
    APP_REPLY,      /* u32 client, u32 status, str body */
    APP_NOTIFY_ALL, /* u64 request, u8 whom, names and ranks of processes, bytes as in APP_NOTIFY:
                       to the head, which passes it on to daemons with such ranks */
    APP_TOOL_HERE,  /* u64 request: to the head, which passes events on to the sender from now on */
};

struct conn { /* the core's id of an outgoing connection and the driver's */
    uint64_t core_id, net_id;
    UT_hash_handle hh, hh2;
};

struct toolio;
struct dclient { /* a program that has connected, or what it has left: a job to come back to */
    uint32_t id;
    uint64_t net_id;              /* 0: no connection, or none now */
    const char *role;             /* of its certificate; NULL: it came by the local socket */
    uint64_t spawn_req;           /* an application's PMIx_Spawn instead of a connection, */
    struct pmix_srv_proc spawner; /* and who called it */
    char *spawned;                /* the namespace, once accepted */
    enum job_stop stop;           /* of that job's ranks */
    struct toolio *tool;          /* it is a tool that spawned it; NULL: a rank */
    bool submitted;
    struct session *session; /* NULL: it ends with its connection */
    UT_hash_handle hh, hh2;
};

struct djob { /* a job with ranks here, from registration to clean-up */
    char *nspace;
    const struct job_launch *launch; /* shared */
    bool writing;   /* its files */
    bool started;   /* handed to odls, */
    bool waits;     /* where all its ranks wait until each daemon of the job has checked its own */
    bool cancelled; /* ended before that */
    bool failed;    /* nothing of it will ever start */
    bool over;      /* the core wants it cleaned up */
    bool told_open; /* the user knows that a rank here has left a process with its output */
    uint32_t alive; /* ranks handed to odls and not yet reaped */
    uint32_t nlocal, nready; /* handed to odls in all; of those, checked */
    uint8_t *eofs;           /* [nranks] output streams that have ended */
    bool *ordered;           /* [nranks] to end, by another process */
    UT_hash_handle hh;
};

/* A question to another daemon: `answered` gets what comes back, once. */
typedef void (*dpmix_answer)(struct daemon *d, int status, const void *data, size_t len, void *arg);
struct waiting {
    uint64_t id;
    uint32_t vpid;
    dpmix_answer answered;
    void *arg;
    UT_hash_handle hh;
};

struct daemon {
    struct daemon_opts opts;
    struct host_env env; /* for services */
    struct loop *loop;
    struct loop_timer *timer;
    struct loop_timer *tls_timer;
    struct loop_signal *sigterm, *sigint;
    struct tls_ctx *tls;
    struct net *net;
    struct odls *odls;
    struct pmix_srv *pmix;
    struct core *core;
    struct ctl *ctl;
    struct iof *iof;
    struct stage *stage;
    struct dwriter *writers;
    struct dreader *readers;
    struct conn *by_core, *by_net;
    struct dclient *clients, *clients_by_net;
    uint32_t next_client;
    struct djob *jobs;
    struct waiting *waiting;
    struct foreign *foreign;
    struct pull *pulls;
    struct pending *pending;
    struct cred_check *cred_checks;
    struct spread *spreads, *relays; /* events on their way; those that the head has yet to pass */
    size_t relayed;
    bool relaying;
    hwloc_bitmap_t tools; /* head: daemons that tools have attached to; NULL: none */
    struct assembly *assemblies;
    size_t nassemblies;
    struct joining *joining;
    uint64_t next_waiting;
    bool draining, again, exiting;
    int exit_code;
};

/* daemon.c */
void daemon_enter(struct daemon *d); /* tells the core the time; before each input */
void daemon_drain(struct daemon *d); /* carries out what the core wants; after each input */
int daemon_send_app(struct daemon *d, uint32_t vpid, enum out_class traffic, uint32_t kind,
                    const struct buf *b);
/* daemon_conn.c: connections */
void conn_connect(struct daemon *d, const struct out_act *act);
void conn_send(struct daemon *d, const struct out_act *act);
void conn_close(struct daemon *d, const struct out_act *act);
void conn_free_all(struct daemon *d);
extern const struct net_upcalls conn_upcalls;
/* daemon_client.c: prun and its kin, and ranks that spawn */
#define DCLIENT_OUTSIDE_MAX 256 /* connections over TLS */
struct dclient *dclient_by_net(const struct daemon *d, uint64_t id);
struct dclient *dclient_by_id(const struct daemon *d, uint32_t id);
void dclient_open(struct daemon *d, uint64_t net, const struct tls_peer *peer); /* NULL: local */
void dclient_frame(struct daemon *d, struct dclient *k, const uint8_t *data, size_t len);
void dclient_closed(struct daemon *d, struct dclient *k, const char *why);
void dclient_drained(struct daemon *d, struct dclient *k);
void dclient_say(struct daemon *d, const struct dclient *k, const struct client_msg *m);
void dclient_refuse(struct daemon *d, struct dclient *k, int code, const char *why);
void dclient_end(struct daemon *d, struct dclient *k); /* its job, too; frees k */
/* The connection of `from` becomes that of `to`; `from` is freed. */
void dclient_hand_over(struct daemon *d, struct dclient *from, struct dclient *to);
void dclient_disconnect(struct daemon *d, struct dclient *k, bool flush);
void dclient_forget(struct daemon *d, struct dclient *k);
void dclient_act(struct daemon *d, const struct out_act *act); /* OUT_CLIENT */
uint32_t dclient_of_spawn(struct daemon *d, pmix_req req, const struct job_spec *spec);
void dclient_free_all(struct daemon *d);
/* So many bytes of pieces of its job's files may come, in all. */
void dclient_files_room(struct daemon *d, uint32_t id, uint64_t total);
extern const struct iof_io dclient_iof_io;
/* daemon_tool.c: input and output of what tools spawn */
void toolio_create(struct dclient *k, const struct job_spec *spec);
void toolio_free(struct daemon *d, struct dclient *k);
/* What iof has for it (an encoded message); before the tool knows the job's name it is kept. */
void toolio_send(struct daemon *d, struct dclient *k, const void *data, size_t len);
void toolio_named(struct daemon *d, struct dclient *k); /* now it does */
size_t toolio_pending(const struct dclient *k);
void toolio_pause(struct daemon *d, struct dclient *k, bool paused); /* its input */
void toolio_output_read(uint32_t client, const char *nspace, size_t len, bool wanted, void *arg);
struct dclient *toolio_spawned_as(const struct daemon *d, const char *nspace); /* by a tool here */
void toolio_push(pmix_req req, const struct pmix_srv_proc *from, const struct pmix_srv_proc *to,
                 const void *data, size_t len, bool end, void *arg);
/* daemon_pull.c: output of all other jobs, for tools here */
void pull_asked(pmix_req req, const struct pmix_srv_proc *procs, size_t nprocs, void *arg);
void pull_copy(enum iof_kind kind, const char *nspace, uint32_t rank, int stream, const void *data,
               size_t len, void *arg);
void pull_read(struct daemon *d, const char *nspace, size_t len, bool wanted);
void pull_over(const char *nspace, void *arg);
/* A job has ended, which ranks and tools here are told when its output has been. */
void pull_job_ended(struct daemon *d, const char *nspace, int exit_code);
void pull_member_gone(struct daemon *d, uint32_t vpid);
void pull_free_all(struct daemon *d);
/* daemon_call.c: the control API by clients; members pass calls on */
void dcall(struct daemon *d, const struct dclient *k, const struct client_call *m);
void dcall_from_member(struct daemon *d, uint32_t from, const void *data, size_t len);
void dcall_reply(struct daemon *d, const void *data, size_t len);
/* daemon_session.c: jobs whose clients come back, or others in their place */
#define SESSIONS_MAX 256               /* of clients that may come back */
#define DETACH_OUTPUT_MAX (256u << 10) /* the latest output of one detached job that is kept */
#define DETACH_OVER_MAX 64             /* such jobs that are over whose last words are kept */
void session_free(struct session *s);
void session_open(struct daemon *d, struct dclient *k,
                  const struct client_open *m);                               /* may free k */
void session_attach(struct daemon *d, struct dclient *k, const char *nspace); /* frees k */
void session_detach(struct daemon *d, struct dclient *k);
/* The client has said something that is numbered. -1: more than it may. */
int session_heard(struct daemon *d, const struct dclient *k, size_t len);
void session_hold(struct daemon *d, const struct dclient *k, bool hold); /* acknowledges nothing */
int session_ack(struct daemon *d, const struct dclient *k, uint64_t have);
void session_bye(struct daemon *d, struct dclient *k);                   /* may free k */
void session_said(struct session *s, const uint8_t *data, size_t len);   /* to the client */
bool session_lost(struct daemon *d, struct dclient *k, const char *why); /* false: it has to end */
void session_over(struct daemon *d, struct dclient *k); /* its job is; may free k */
size_t session_pending(const struct daemon *d, const struct dclient *k);
bool session_detached(const struct session *s);
bool session_is_over(const struct session *s); /* its job has been told to be */
/* Whether what waits for the client is acknowledged by it, not only written. */
bool session_numbered(const struct session *s);
/* daemon_job.c: ranks */
void djob_launch(struct daemon *d, const struct job_launch *launch);
void djob_start(struct daemon *d, const char *nspace);
char *djob_own_dir(const struct daemon *d,
                   const struct job_launch *l); /* of those without --wdir */
/* The writer of its files is gone: all of them are here, or errnum and what could not be done. */
void djob_files(struct daemon *d, const char *nspace, int errnum, const char *what);
void djob_signal(struct daemon *d, const char *nspace, int signum);
void djob_end(struct daemon *d, const char *nspace, uint64_t grace_ms);
void djob_gone(struct daemon *d, const char *nspace);
void djob_continue(struct daemon *d, const char *nspace, uint32_t rank_or_all);
void djob_free_all(struct daemon *d);
extern const struct odls_upcalls djob_odls_upcalls;
/* daemon_stage.c: writers of jobs' files */
extern const struct stage_io dstage_io;
bool dstage_is(const char *odls_nspace); /* a process of ours, to odls */
int dstage_start(struct daemon *d, const struct job_launch *l, struct err *err)
    __attribute__((warn_unused_result));
void dstage_stop(struct daemon *d, const char *nspace);
void dstage_failed(struct daemon *d, const char *odls_nspace, int errnum, const char *what);
void dstage_output(struct daemon *d, const char *odls_nspace, int stream, const void *data,
                   size_t len);
void dstage_exited(struct daemon *d, const char *odls_nspace, int wait_status);
/* daemon_read.c: readers of files that ranks spawn jobs with */
/* The spec with names of the files on the job's daemons; `own` is to be freed in any case. */
int dstage_spec(struct daemon *d, const struct job_spec *spec, struct job_spec *own,
                char ***sources, struct err *err) __attribute__((warn_unused_result));
void dstage_source(struct daemon *d, uint32_t client, char **sources, size_t n); /* takes */
bool dstage_room(struct daemon *d, uint32_t client, uint64_t total); /* false: none of them */
void dstage_client_gone(struct daemon *d, uint32_t client);
/* Of a process: true if it was one of them. */
bool dread_output(struct daemon *d, const char *odls_nspace, const void *data, size_t len);
bool dread_exited(struct daemon *d, const char *odls_nspace);
bool dread_failed(struct daemon *d, const char *odls_nspace, const char *what);
void dread_free_all(struct daemon *d);
void dstage_free_all(struct daemon *d);
/* daemon_pmix.c: the library's requests */
extern const struct pmix_srv_upcalls dpmix_upcalls;
void dpmix_msg(struct daemon *d, uint32_t from, uint32_t kind, const void *data, size_t len);
void dpmix_member_gone(struct daemon *d, uint32_t vpid);
void dpmix_gather(struct daemon *d, const struct out_act *act);
void dpmix_free_all(struct daemon *d);
/* Sends `b`, which begins with a place for the question's number, to the daemon. */
void dpmix_ask(struct daemon *d, uint32_t vpid, uint32_t kind, struct buf *b,
               dpmix_answer on_answer, void *arg);
/* The same for a request of the library, and nothing more: the answer is its own. */
void dpmix_ask_for(struct daemon *d, pmix_req req, uint32_t vpid, uint32_t kind, struct buf *b);
void dpmix_reply(struct daemon *d, uint32_t vpid, uint64_t id, int status, const void *data,
                 size_t len);
/* daemon_event.c */
void devent_notify(pmix_req req, const char *nspace, const struct pmix_srv_reach *to,
                   const void *blob, size_t len, void *arg);
void devent_in(struct daemon *d, uint32_t from, struct cur *c);
void devent_asked(struct daemon *d, uint32_t from, struct cur *c);
void devent_tool(pmix_req req, void *arg);
void devent_tool_there(struct daemon *d, uint32_t from, struct cur *c);
void devent_member_gone(struct daemon *d, const struct out_act *act);
/* A collective of this kind begins, and is over: who connects is told of losses from then on. */
void devent_joining(struct daemon *d, pmix_req req, char kind, const struct pmix_srv_proc *procs,
                    size_t n);
void devent_joined(struct daemon *d, pmix_req req, bool well);
void devent_job_ended(struct daemon *d, const char *nspace);
void devent_ranks_lost(struct daemon *d, const struct out_act *act);
void devent_free_all(struct daemon *d);
/* daemon_ask.c: queries, control, log */
void ask_query(pmix_req req, const char *nspaces, void *arg);
void ask_control(pmix_req req, const struct pmix_srv_proc *procs, size_t nprocs, int signum,
                 void *arg);
void ask_log(pmix_req req, const char *nspace, uint32_t rank, int stream, const char *text,
             void *arg);
void ask_query_in(struct daemon *d, uint32_t from, struct cur *c);
void ask_signal_in(struct daemon *d, uint32_t from, struct cur *c);
void djob_signal_rank(struct daemon *d, const char *nspace, uint32_t rank, int signum);
void djob_write(struct daemon *d, const char *nspace, uint32_t rank, int stream, const void *data,
                size_t len);
/* daemon_cred.c: credentials */
void dcred_get(pmix_req req, const struct pmix_srv_holder *who, void *arg);
void dcred_check(pmix_req req, const void *data, size_t len, void *arg);
void dcred_free_all(struct daemon *d);
/* daemon_alloc.c: requests for another size */
void alloc_ask(pmix_req req, const struct alloc_ask *a, const char *nodes, void *arg);
void alloc_answered(struct daemon *d, const struct out_act *act);
void alloc_over(struct daemon *d, const struct out_act *act);
/* daemon_foreign.c: jobs that run elsewhere, of which ranks here want to know */
const struct job_launch *foreign_job(const struct daemon *d,
                                     const char *nspace); /* or a local one */
/* Makes all of them known to the library too, or finds that one is over; then() once, maybe within
 * the call. */
void foreign_learn(struct daemon *d, const struct pmix_srv_proc *procs, size_t nprocs,
                   void (*then)(struct daemon *d, bool known, void *arg), void *arg);
void foreign_asked(struct daemon *d, uint32_t from, struct cur *c);
void foreign_ended(struct daemon *d, const char *nspace);
void foreign_free_all(struct daemon *d);

#endif
