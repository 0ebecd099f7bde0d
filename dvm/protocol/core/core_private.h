/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon as one object, shared by the files of this directory only. */
#ifndef DVM_CORE_CORE_PRIVATE_H
#define DVM_CORE_CORE_PRIVATE_H

#include "dvm/protocol/core/core.h"
#include "dvm/protocol/core/dispatch.h"
#include "dvm/protocol/core/keepers_private.h"
#include "dvm/protocol/core/origin.h"
#include "dvm/protocol/gather/gather.h"
#include "dvm/protocol/head/head.h"
#include "dvm/protocol/link_loss/link_loss.h"
#include "dvm/protocol/member/heads.h"
#include "dvm/protocol/member/member.h"
#include "dvm/protocol/neighbour/neighbour.h"
#include "dvm/protocol/rml/rml.h"
#include "dvm/protocol/state/state.h"
#include "dvm/protocol/xcast/xcast.h"

#include <hwloc/bitmap.h>

#define CORE_RETRY_MIN_MS 50
#define CORE_RETRY_MAX_MS 2000
#define CORE_RETRY_HEAD_MS 250 /* at most, towards a head whose end was seen */
#define CORE_ASK_HEAD_MS 500   /* without a lifeline: then the head is called too */
/* Longest step by which the head's absence is counted: between two inputs that are further apart,
 * this daemon was stopped. */
#define CORE_STEP_MS 1000
/* Of the number of a session; the others show which process of the daemon has given it. */
#define CORE_SESSION_BITS 16
#define CORE_CLIENTS_MAX 4096
#define CORE_ASKED_MAX 4096 /* requests of local processes whose answer or end is to come */

struct missing { /* a child in the tree that has no link to us */
    struct msg_target id;
    uint64_t due_ms;
    bool mute; /* the link was closed because it was silent */
    bool hung; /* it was silent, and a child of it has no link to it either */
    struct missing *next, *prev;
};

struct local_job; /* local_private.h */

struct client {
    uint32_t id;
    char *nspace; /* NULL until the head has accepted the job */
    bool gone;
    bool done;
    int exit_code;
    char *text;
    size_t ntargets;
    struct msg_target *targets; /* of its job's files */
    bool started;               /* input can go to its daemons */
    bool given_back;            /* nothing of the job ran: another daemon may take it */
    size_t nstdin;
    uint32_t *stdin_vpids;
    size_t nwait;
    uint32_t *wait;            /* daemons whose output is not complete yet */
    hwloc_bitmap_t ended;      /* daemons that have sent their end of output */
    hwloc_bitmap_t gone_early; /* daemons whose LOCAL_GONE came before their end of output */
    struct client *next, *prev;
};

struct asked { /* a request for another size, whose answer or end is to come */
    uint64_t op, req;
    struct msg ask; /* RESIZE_ASK, for a new head */
    bool answered;  /* its campaign runs: */
    char *campaign;
    bool ended; /* its campaign's end was reported, by another request of the same process */
    struct asked *next, *prev;
};

#define CORE_ENDED_MAX 256

struct core {
    struct core_opts opts;
    struct out out;
    struct members members;
    struct neighbours *neighbours;
    struct rml *rml;
    struct xcast *xcast;
    struct gather *gather;
    struct head *head;  /* the head's; else NULL */
    struct buf records; /* of the head, each after its length; taken before all other actions */
    bool records_anew;  /* the next ones are a snapshot, which replaces all that were kept */
    bool from_volume;   /* the head has begun with the records of its volume */
    struct keepers keepers;
    struct keeper keeper;
    struct asking asking;
    int64_t clock_ahead; /* of our own clock; 0: this process has begun the incarnation */
    struct msg_member self;
    struct heads heads;           /* a member: those since it has joined */
    hwloc_bitmap_t know_orphaned; /* the head: vpids whose process has called with edition 1 */
    /* of the parent */
    uint64_t parent_id; /* the lifeline (struct neighbour); 0: none */
    uint64_t retry_at;  /* when to connect again; 0: nothing to do */
    uint64_t retry_ms;
    bool head_ended;  /* the lifeline led to the head, and was closed by it: it was not silent */
    uint64_t lost_at; /* since when the lifeline to the parent is missing, moved by the time in
                         which this daemon was stopped; 0: it is not missing */
    struct missing *missing;
    enum core_state state;
    char text[256];
    char incarnation[17];
    bool inherited;
    uint8_t head_speaks; /* the newest edition that the head knows */
    bool ask_head; /* the parent closed the link in order, or our table is stale: the head knows the
                      next parent */
    bool has_early; /* frames of the hop that came early may have their turn */
    /* the end */
    bool sigterm;
    bool finishing; /* leaving or ending: links are closed from the top down */
    enum { AFTER_PARK, AFTER_EXIT, AFTER_REJOIN } after;
    uint64_t finish_by;
    struct local_job *jobs;
    struct client *clients;
    struct ranks_reported *reported; /* lost ranks, by job (local_losses.c) */
    char *ended[CORE_ENDED_MAX];     /* names of the last jobs of which the head has sent the end */
    size_t nended;
    size_t nclients;
    struct asked *asked;
    size_t nasked;
    uint64_t last_asked;
    uint64_t conns_lost, conns_mapped_out, conns_taken_back;
    struct origin origin;
    struct rml_stats past; /* counted while it had earlier epochs */
    uint64_t past_repairs;
    uint64_t stale;
    uint64_t forged; /* of them, frames that their sender may not send */
    uint64_t routed; /* frames of messages, ours or to be passed on */
    struct {
        void (*on_step)(void *arg); /* NULL: there is none */
        void *arg;
    } watcher; /* core_inspect_watch() */
};

/* core.c */
void core_set_state(struct core *c, enum core_state s, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void core_settle(struct core *c);
void core_start_head(struct core *c); /* with core_opts' heritage, if it is of use */
/* The head has the state of core_opts' heritage, and has not begun; false: it is of no use. */
bool core_inherit(struct core *c, const int64_t *clock_ahead); /* struct head_opts */
void core_disinherit(struct core *c);                          /* and shall not */
bool core_is_head(const struct core *c);
int core_send(struct core *c, uint32_t vpid, enum out_class traffic, const struct msg *m);
void core_reset(
    struct core *c,
    const char *why); /* this epoch has ended: the DVM is forgotten, and the daemon joins anew */
/* succession.c: another process of the head */
struct succession { /* messages to the former head that it has not acknowledged */
    bool near;
    size_t n;
    struct buf *frames;
};
/* The head with the state of core_opts' heritage, or NULL. */
struct head *succession_take(struct core *c, const struct head_opts *o);
void succession_forget(struct core *c); /* the members of that state */
void succession_begin(struct core *c);
/* True if `head` is about to replace the head's entry in the table of this member. */
bool succession_is_near(const struct core *c, const struct msg_member *head);
void succession_keep(const struct core *c, struct succession *s);
void succession_drop(struct succession *s);
/* The table has the new head: streams to its former process end, and links to it. */
void succession_leave_former(struct core *c);
void succession_learn(struct core *c, struct succession *s); /* after that, and a new lifeline */
/* neigh.c: links and the lifeline */
extern const struct neighbour_handler neigh_handlers[];
extern const struct routed_handler neigh_routed_handlers[];
void neigh_update(struct core *c); /* the tree has changed */
void neigh_tick(struct core *c);
/* Before the time is set: a time in which this daemon was stopped is no absence of the head. */
void neigh_skip_stop(struct core *c, uint64_t now_ms);
uint64_t neigh_deadline(const struct core *c);
void neigh_say(struct core *c, struct neighbour *k, const struct msg *m);
void neigh_bye(struct core *c, struct neighbour *k);
void neigh_tell_departure(struct core *c, struct msg_departed who); /* to the head */
/* The head: this member has called it, since it has no link to its parent. */
void neigh_tell_orphaned(struct core *c, uint32_t child);
void neigh_free(struct core *c);
/* It is waited for, if it may come back; otherwise its connections are closed. */
void neigh_lost(struct core *c, struct neighbour *k, enum link_loss_how how, const char *why);
/* The addresses at which a daemon with these facts is called; how many. They borrow of the facts.
 */
size_t neigh_ways(const struct core *c, const struct msg_member *facts,
                  struct out_way ways[OUT_WAYS_MAX]);
/* Both sides have said BYE. */
void neigh_end(struct core *c, struct neighbour *k, const char *why);
/* conn.c: the connections to a neighbour */
extern const struct neighbour_handler conn_handlers[];
void conn_tick(struct core *c);
uint64_t conn_deadline(const struct core *c);
/* Processes one frame that came early and whose turn has come, after the actions of those before it
 * have been carried out. False: there is none. */
bool conn_take_early(struct core *c);
void conn_acks(struct core *c); /* sends acknowledgements that are due */
/* Closes the connections in order, and forgets the neighbour. Each says before what has arrived, so
 * that the other side sends nothing again over one that is closed already: that would reset it,
 * with what is under way on it. */
void conn_end(struct core *c, struct neighbour *k);
/* A connection has greeted within a session that has others, or had. -1: the numbers are wrong. */
int conn_joined(struct core *c, struct neighbour *k, struct peer_link *at, uint64_t received);
void conn_redial_later(struct core *c, struct neighbour *k, size_t way);
/* PING, whose answer shows the delay of the connection. */
void conn_probe(struct core *c, struct neighbour *k, struct peer_link *at);
/* Counts, logs and answers a message that its sender cannot have sent in this state. */
void conn_refuse_frame(struct core *c, struct neighbour *k, const struct err *err);
/* greet.c: hello, welcome, refuse */
void greet_open(struct core *c, struct neighbour *k, struct peer_link *at);
extern const struct neighbour_handler greet_handlers[];
void greet_snapshot(struct core *c, struct neighbour *k);
void greet_up(struct core *c, struct neighbour *k, uint64_t have);
void greet_turn_away(struct core *c); /* its admission was taken back */
/* apply.c: broadcasts */
extern const struct neighbour_handler apply_handlers[];
void apply_op(struct core *c, struct msg *m);
void apply_forget_peer(struct core *c, uint32_t vpid, enum remove_why why); /* of that epoch */
void apply_left(struct core *c, const char *why); /* removed while we were disconnected */
/* finish.c: leaving and ending */
void finish_start(struct core *c, int after, const char *text);
void finish_check(struct core *c);
/* local*.c: the ranks here */
extern const struct routed_handler local_handlers[];
void local_reports(struct core *c);
void local_report_all(struct core *c); /* to a new head */
void local_report_end(struct core *c); /* all that it has to know was sent before */
/* Marks ends that a former head had ordered. */
void local_rank_note_orders(const struct core *c, struct msg_ranks *ends);
void local_drop_all(struct core *c);
void local_free(struct core *c);
gather_part_fn local_rank_part_of; /* of the core, by the launches of jobs on this daemon */
gather_ranks_fn local_rank_awaited;
/* clients.c */
extern const struct routed_handler client_handlers[];
void client_member_gone(struct core *c, uint32_t vpid);
void client_fail_all(struct core *c, const char *why);
void client_turn_away_all(struct core *c, const char *why); /* those whose job is not taken */
void client_ask_all(struct core *c);     /* a new head: about the jobs that clients wait for */
void client_inherit_all(struct core *c); /* this is a new head: of its former process */
void client_free_all(struct core *c);
/* local_resize.c */
extern const struct routed_handler resize_handlers[];
void local_resize_fail_all(struct core *c, const char *why); /* NULL: forgets them */
void local_resize_ask_all(struct core *c);                   /* a new head, in their order */
void local_resize_over(struct core *c, const char *nspace);  /* the job's processes have ended */

#endif
