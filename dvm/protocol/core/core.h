/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon as a pure state machine: membership, tree, broadcast, campaigns, jobs. It takes
 * inputs and makes actions; it has no clock and no socket. */
#ifndef DVM_CORE_CORE_H
#define DVM_CORE_CORE_H

#include "api/campaign.h"
#include "api/dvm.h"
#include "api/event.h"
#include "api/faults.h"
#include "api/links.h"
#include "api/reason.h"
#include "api/role.h"
#include "api/size.h"
#include "base/fsm/fsm.h"
#include "dvm/protocol/head/head.h"
#include "dvm/protocol/out/out.h"
#include "dvm/protocol/wire/client.h"
#include "dvm/protocol/wire/job.h"
#include "dvm/protocol/wire/resize_request.h"

#include <hwloc/bitmap.h>

#define CORE_HUNG_MS                                                                               \
    500 /* a daemon that is silent at its parent and a child is lost so much later */

struct core;
struct gather_call;

struct core_opts {
    const char *cluster; /* "<namespace>/<name>"; the same in every daemon and certificate */
    const char *host;    /* node name for other daemons and PMIx */
    const char *address; /* address at which other daemons reach our join port; "": the address that
                            they see */
    size_t nmore;        /* up to MEMBER_MORE_MAX */
    const char *const *more; /* further addresses, in the order of their networks */
    const char *head_host;   /* members: the head's stable name */
    const char
        *cpus; /* CPUs that ranks may use here (dvm/protocol/map/topo.h); "" or NULL: not known */
    uint64_t incarnation;    /* head: random, not 0 */
    const uint8_t *heritage; /* head: the records of its former process, as OUT_RECORDS had them;
                                NULL: there was none; copied if members are asked first */
    size_t heritage_len;
    int64_t drain_s;       /* SIGTERM: time for jobs here to end by themselves; -1: no limit */
    uint64_t reconnect_ms; /* grace for a broken link; 0: API_FAULTS_LINK_GRACE_MS */
    uint64_t ack_ms;    /* time without an acknowledgement after which a daemon is declared lost; 0:
                           API_FAULTS_SILENCE_MS */
    size_t backlog_max; /* dvm/protocol/rml/rml.h; 0: RML_BACKLOG_MAX */
    size_t direct_bytes, eager_bytes; /* dvm/protocol/rml/hop.h; 0: the defaults */
    uint64_t orphan_ms; /* time without any path to the head after which a member ends its ranks; 0:
                           API_FAULTS_HEAD_ABSENCE_MS */
    uint64_t leave_ms;  /* limit for the links of a leaving daemon to be closed; 0: 10000 */
    uint32_t vpid;      /* 0: the head */
    uint32_t slots;
    uint32_t radix;     /* the head decides; 2..1024 */
    uint32_t size;      /* head: first size bound (0 on Kubernetes, N for prte) */
    uint32_t links;     /* connections to the parent, 1..8; 0: one by each of its addresses */
    uint16_t join_port; /* our own */
    uint16_t head_port; /* the head's join port */
    bool keeps_records; /* head: its records go to the driver (OUT_RECORDS) */
    bool keepers;       /* head: members keep its records, and it asks them before it begins; the
                           heritage counts if they have none */
    bool park;          /* after the removal: park (pods) instead of ending the program */
    bool drain_kill;    /* SIGTERM: jobs here are ended at once */
    bool parked;        /* a marker says that this daemon has left: it stays parked */
};

struct core *core_create(const struct core_opts *opts, uint64_t now_ms, uint64_t wall_ms);
void core_destroy(struct core *c);

/* After every input the driver takes the actions (dvm/protocol/out/out.h) in order until none is
 * left. Then it arms one timer for core_deadline() (absolute milliseconds, UINT64_MAX: none), at
 * which it calls core_tick(). `now` is monotonic, `wall` counts from 1970. */
void core_time(struct core *c, uint64_t now_ms, uint64_t wall_ms); /* before each input */
bool core_next(struct core *c, struct out_act *act); /* the caller frees it with out_act_free() */
uint64_t core_deadline(const struct core *c);
void core_tick(struct core *c);

/* Connections, by the ids of dvm/host/net. */
struct core_conn {
    bool incoming;
    enum api_role role; /* of the peer's certificate, like the cluster */
    const char *cluster;
    struct key_id key;       /* incoming: that the caller holds */
    size_t way;              /* outgoing: index of the way that was taken (struct out_way) */
    const char *own, *other; /* numeric addresses of its two ends; NULL: not known */
};
void core_conn_open(struct core *c, uint64_t conn, const struct core_conn *as);
void core_conn_frame(struct core *c, uint64_t conn, const uint8_t *data, size_t len);
void core_conn_closed(struct core *c, uint64_t conn, const char *why);

/* Events of local ranks (the driver gets them from odls and pmix). */
enum core_proc_event {
    CORE_PROC_RUNNING,
    CORE_PROC_FAILED,
    CORE_PROC_REGISTERED,
    CORE_PROC_IOF_COMPLETE,
    CORE_PROC_WAITPID,
    CORE_PROC_HELD, /* stopped, as its job asked for, until OUT_CONTINUE */
    CORE_PROC_GOES_ON,
    CORE_PROC_READY /* it can probably be started, and waits for OUT_START */
};
/* value: pid, errno, 0, 0, wait status, 0, 0, 0. text: for FAILED, the step that failed. */
void core_proc(struct core *c, const char *nspace, uint32_t rank, enum core_proc_event ev,
               int value, const char *text);
/* A step of all ranks of a job here has ended, which an action has asked for. errnum not 0: it
 * failed, and the text names the step. */
enum core_ranks_step {
    CORE_RANKS_REGISTERED,  /* OUT_LAUNCH: the PMIx server knows them */
    CORE_RANKS_FILES,       /* OUT_TAKE_FILES: the files are here, all of them */
    CORE_RANKS_NOT_CREATED, /* OUT_CREATE failed: the spawner has none */
    CORE_RANKS_CLEANED      /* OUT_CLEAN: everything of the job is removed here */
};
void core_ranks(struct core *c, const char *nspace, enum core_ranks_step step, int errnum,
                const char *what);
/* WAITPID, with details that the wait status does not hold. */
void core_proc_ended(struct core *c, const char *nspace, uint32_t rank, int wait_status,
                     enum rank_how how);
/* The process of a rank here has ended. core_proc_ended() may follow later. */
void core_rank_ended(struct core *c, const char *nspace, uint32_t rank);
/* It has, and the PMIx server reports nothing more of it: collectives do not wait for it. */
void core_rank_left(struct core *c, const char *nspace, uint32_t rank);
struct core_wait {
    char kind;   /* of a collective, or 's': a step of the job's life on this daemon */
    uint64_t id; /* of one kind: the same as long as it is one wait */
    const char *nspace, *text;
};
/* on() for what a job here waits for, as far as the core knows it; more than one per job.
 * Returns the number of jobs here. */
size_t core_waits(const struct core *c, void (*on)(void *arg, const struct core_wait *w),
                  void *arg);
/* Head only: the daemon `from`, which has ranks of the job, says what they wait for; "": for
 * nothing. */
void core_job_waits(struct core *c, uint32_t from, const char *nspace, const char *text);
/* True if it has left, or its job has ended here. */
bool core_has_left(const struct core *c, const char *nspace, uint32_t rank);
/* PMIx_Abort by a local rank. */
void core_abort(struct core *c, const char *nspace, uint32_t rank, int code, const char *text);
/* A signal for a whole job, requested by one of its processes (PMIx job control). */
void core_job_signal(struct core *c, const char *nspace, int signum);
/* Stopped ranks continue: one, or with JOB_RANK_ALL all, and then later ranks do not stop
 * either. */
void core_job_continue(struct core *c, const char *nspace, uint32_t rank);
/* The launch message of a job with ranks here (borrowed), or NULL. */
const struct job_launch *core_job(const struct core *c, const char *nspace);

/* Head only: the map of a running job (borrowed), or NULL. The daemon that asks is notified of
 * the job's end (OUT_JOB_ENDED) like the daemons with its ranks. */
const struct job_launch *core_job_watch(struct core *c, const char *nspace, uint32_t vpid);

/* Head only (others: JOB_CONTROL_UNKNOWN): job_family_control() for a process on the daemon `from`.
 */
enum job_control core_job_control(const struct core *c, uint32_t from, const char *asker,
                                  const char *target);

/* Head only (others: STORE_BAD): a request of the daemon `from` for published values.
 * published_ask.request.asker is filled in. The result of a request waits for its record: an answer
 * by core_app_send() follows it. */
enum store_result core_published_serve(struct core *c, uint32_t from, const struct published_ask *a,
                                       struct buf *answer);
/* Whether the head understands messages of edition n (docs/protocol/versions.md). */
bool core_head_speaks(const struct core *c, uint8_t n);

/* Head only: adds the daemons with this rank (or JOB_RANK_ALL) of the running job. NULL: of any
 * job. */
void core_daemons_of(const struct core *c, const char *nspace, uint32_t rank, hwloc_bitmap_t to);

/* Head only: states (enum proc_state), process ids and wait statuses of a job's ranks (borrowed).
 */
const struct job_launch *core_job_ranks(const struct core *c, const char *nspace,
                                        const struct job_rank **ranks);

/* Head: where a client from outside should submit its job instead. `turn` counts such clients, so
 * that members take turns. */
struct client_referral core_referral(const struct core *c, uint64_t turn);

/* Local clients (prun): submit, signals; answers are OUT_CLIENT actions. */
void core_submit(struct core *c, uint32_t client, const struct job_spec *spec);
void core_client_signal(struct core *c, uint32_t client, int signum);
void core_client_gone(struct core *c, uint32_t client); /* the client's job is ended */

/* Messages of the host's services between daemons: in order within a class, exactly once while
 * both epochs last. */
int core_app_send(struct core *c, uint32_t vpid, enum out_class traffic, uint32_t kind,
                  const void *data, size_t len, struct err *err);
/* Bytes towards vpid in the class that wait or are unacknowledged, for back pressure. */
size_t core_app_backlog(const struct core *c, uint32_t vpid, enum out_class traffic);

/* The local client (prun) that submitted the job; false if it is no client of ours, or has
 * departed. */
bool core_client_of(const struct core *c, const char *nspace, uint32_t *client);
/* False if the client is not known, or has departed. Actions about it may still wait. */
bool core_client_there(const struct core *c, uint32_t client);
/* The daemons that a client's input goes to; false until its job has started. */
bool core_stdin(const struct core *c, uint32_t client, const char **nspace, const uint32_t **vpids,
                size_t *n);
/* The daemons, with their epochs, that get the files of a client's job (borrowed). False until
 * the job is mapped and these daemons know it, and after the client has departed. */
bool core_files_targets(const struct core *c, uint32_t client, const char **nspace,
                        const struct msg_target **targets, size_t *n);
/* True if a vpid is a member now, in the epoch that a map names (struct job_node). */
bool core_live(const struct core *c, uint32_t vpid);
bool core_live_in(const struct core *c, uint32_t vpid, uint64_t epoch);

/* One local contribution to a collective (dvm/protocol/gather/gather.h), answered by OUT_GATHER. */
void core_gather(struct core *c, const struct gather_call *call);

/* PMIx_Allocation_request of a local rank or tool. OUT_RESIZE_ANSWER answers once. If the answer
 * is RESIZE_OK in a phase that is not terminal, one OUT_RESIZE_ENDED follows, unless the asker
 * departs or this epoch ends before. The same id of the same asker again is answered from the
 * record. */
void core_resize(struct core *c, uint64_t req, const struct resize_request *a);

/* SIGTERM: a member asks for its release, a parked daemon exits. A head whose records members keep
 * exits, and the next head goes on; another one ends its incarnation. */
void core_sigterm(struct core *c);

/* This daemon cannot go on, and ends at once. The head is notified of the cause, and no answer
 * is waited for. Its ranks no longer exist. */
void core_fail(struct core *c, const char *why);

/* State for readiness and humans. */
enum core_state { CORE_JOINING, CORE_WIRED, CORE_LEAVING, CORE_PARKED, CORE_ENDING };
extern const struct fsm core_fsm; /* its events have the numbers of the states that they lead to */
enum core_state core_state(const struct core *c);
const char *core_state_text(const struct core *c); /* one line: the current wait */

/* The head's verbs. err->code is the HTTP status, and *reason the CamelCase word of
 * docs/control-api.md. Any other daemon answers 503 NotHead. */
int core_campaign_put(struct core *c, const char *id, const struct api_campaign_request *r,
                      struct api_campaign *out, enum api_reason *reason, struct err *err);
int core_campaign_cancel(struct core *c, const char *id, struct api_campaign *out,
                         enum api_reason *reason, struct err *err);
int core_campaign_get(struct core *c, const char *id, struct api_campaign *out,
                      enum api_reason *reason, struct err *err);
int core_signal_put(struct core *c, const char *nspace, int signum, enum api_reason *reason,
                    struct err *err);
int core_continue_put(struct core *c, const char *nspace, enum api_reason *reason, struct err *err);
int core_size_put(struct core *c, const struct api_size *s, struct api_size *out,
                  enum api_reason *reason, struct err *err);
int core_shutdown(struct core *c, const struct api_shutdown *s, enum api_reason *reason,
                  struct err *err);
int core_dvm(struct core *c, struct api_dvm *out, enum api_reason *reason, struct err *err);
/* Head: it goes on with the records of its former process; false: it has begun an incarnation. */
bool core_inherited(const struct core *c);
/* The incarnation of this head ends in order: no other process is to go on with its records. */
bool core_incarnation_ends(const struct core *c);
/* Head: OUT_RECORDS alone, if it is due: an answer that does not come from core_next() waits for
 * its records. */
bool core_next_records(struct core *c, struct out_act *act);
/* Head: actions wait until members keep its records. An answer waits with them: OUT_ANSWER with
 * this number is the last of the actions so far. */
bool core_holds(const struct core *c);
void core_answer(struct core *c, uint64_t number);
/* Head: the one record that stands for all that OUT_RECORDS has had so far, in the same form. */
void core_snapshot(const struct core *c, struct buf *b);
/* Head: its records cannot be written any more. No OUT_RECORDS follows; members may keep them. */
void core_records_lost(struct core *c);
/* The incarnation of the head as 16 hex digits; "" if unknown. */
const char *core_incarnation(const struct core *c);
/* Event number n of this incarnation, from a ring of API_EVENTS_KEPT (borrowed), or NULL. The
 * next number is core_event_next(). */
const struct api_event *core_event(const struct core *c, uint64_t number);
uint64_t core_event_next(const struct core *c);
/* At the head: the number of running jobs that the end of its process would end (jobs_bound()). At
 * a member: 0. */
uint32_t core_jobs_bound(const struct core *c);

/* Figures for /metrics and tests. */
struct core_stats {
    uint64_t repairs;          /* repair passes of the tree */
    uint64_t xcasts;           /* broadcasts processed */
    uint64_t stale_frames;     /* refused: earlier epoch, malformed or forged */
    uint64_t forged_frames;    /* of them, those that their sender may not send */
    uint64_t circled_frames;   /* not relayed any more: more hops than any tree has */
    uint64_t routed_frames;    /* only of messages; heartbeats and broadcasts do not count */
    uint64_t links, links_out; /* that have greeted; those of them that are mapped out */
    uint64_t links_lost, links_mapped_out, links_taken_back;
    uint64_t frames_again;      /* between neighbours, after the failure of a link */
    uint64_t backlog_most;      /* the most bytes that have waited in one stream */
    uint64_t transfers;         /* large messages that have gone to or come from a neighbour */
    uint64_t transfer_restarts; /* of those that were sent */
    uint64_t jobs_started, jobs_ended;
    uint64_t held_map, held_launch, remapped;
    uint32_t keepers;     /* members that keep the head's records, all of them */
    uint64_t left_behind; /* so often the head has gone on without one */
    uint32_t live;        /* daemons in the tree, in this daemon's table */
    uint64_t version;
};
struct core_stats core_stats(const struct core *c);
/* The parent and the children of this daemon, by vpid; api_links_free() it. */
struct api_links core_links(const struct core *c);

#endif
