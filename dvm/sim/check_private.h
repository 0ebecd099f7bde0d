/* SPDX-License-Identifier: BSD-3-Clause */
/* The checker's memory, shared by the files of this directory only. */
#ifndef DVM_SIM_CHECK_PRIVATE_H
#define DVM_SIM_CHECK_PRIVATE_H

#include "base/heap/hash.h"
#include "dvm/protocol/core/core_inspect.h"
#include "dvm/protocol/wire/exit_code.h"
#include "dvm/protocol/wire/msg/msg.h"
#include "dvm/sim/check.h"

struct seen_node { /* a daemon's state after its last step */
    struct epoch epoch;
    uint64_t version, repairs;
    uint64_t life;        /* of its process */
    struct epoch settled; /* after its last input, whose actions have been carried out */
    uint64_t settled_life;
    enum core_state settled_state;
    struct seen_link *up;   /* its links */
    uint64_t linked_ran_ms; /* how long it had run when it last had one to its lifeline */
    struct epoch head;      /* by its table */
};

struct seen_member { /* in the head's table after its last step */
    uint64_t ctr;
    enum member_state state;
    bool live;
};

struct seen_report { /* of a removal; the head takes it when all before it in its stream have come
                      */
    uint32_t head_ctr;
    enum out_class traffic;
    uint64_t seq, version;
};

struct seen_life { /* one epoch of a vpid */
    struct msg_target id;
    uint64_t since_ms;
    bool reported;               /* declared lost by its neighbour */
    bool wired;                  /* has been in the tree */
    uint64_t told;               /* the last removal whose report the head has taken, */
    struct seen_report *waiting; /* and reports that it has not taken yet */
    size_t nwaiting;
    bool lost, left;
    UT_hash_handle hh;
};

struct link_key {
    uint32_t at, vpid;
    struct epoch epoch;
};

struct left_key {
    uint32_t src, vpid;
    struct epoch src_epoch, epoch;
    uint64_t link_closed;
};

struct seen_left { /* a LEFT between neighbours, over one of their links or, again, over another */
    struct left_key key;
    bool came;
    UT_hash_handle hh;
};

struct seen_removal {
    uint64_t version, ms;
};

struct seen_link { /* a daemon's view of that epoch of another daemon */
    struct link_key id;
    bool up, seen;
    uint64_t up_ms; /* until when */
    uint64_t since_ms, heard_ms;
    uint64_t report; /* number of the message by which it was reported as lost */
    struct seen_link *next, *prev;
    UT_hash_handle hh;
};

struct seen_job {
    char nspace[64];
    int state;
    bool mapped, sent, seen;
    uint64_t map_digest;
    uint64_t held_since; /* 0: not held */
    bool known, fits;    /* it fitted when the head accepted it */
    bool harmed;         /* its first failure has been seen */
    bool unsure;         /* it was ready for a debugger, by records that are older than its end */
    bool shown;          /* its submitter had its name when the head was replaced */
    uint32_t home;
    UT_hash_handle hh;
};

struct seen_adoption { /* by a head without records, of jobs that run */
    uint64_t life;
    bool waits; /* for reports of jobs */
    uint64_t since_ms;
};

struct seen_fit { /* a job that fitted when the head accepted it, of any head */
    char nspace[64];
    UT_hash_handle hh;
};

struct seen_campaign {
    char id[64];
    unsigned offered, complete, failed, cancelled, accepted;
    enum api_phase phase;
    uint64_t op, back;      /* its broadcast, and the one that reverses it */
    uint64_t removes_since; /* time; 0: it removes nobody */
    uint64_t waits_since;   /* the same, under this process of the head, */
    uint64_t waits_ran;     /* and how long the head had run then: sim_ran_ms() */
    unsigned losses;        /* of daemons since then */
    bool ended;
    bool found;   /* at an heir */
    bool adopted; /* by another process of the head, while it removed members */
    bool held;    /* it had raised the fence after the head's last step */
    bool may_end_jobs, removing;
    bool shown;                       /* its beginning was reported */
    bool unsure;                      /* its events may belong to a head whose records are lost */
    uint32_t removes;                 /* members, */
    uint64_t own[SIM_NODES_MAX / 64]; /* and which vpids */
    UT_hash_handle hh;
};

struct stream_key {
    uint32_t src, dst, traffic, pad;
    struct epoch src_epoch, dst_epoch;
};

struct seen_stream { /* test messages of one direction between two epochs */
    struct stream_key key;
    uint64_t sent, got;
    UT_hash_handle hh;
};

struct seen_told { /* a process was notified of the end of a rank */
    struct {
        char nspace[64];
        uint64_t life;
        uint32_t vpid, rank;
    } id;
    UT_hash_handle hh;
};

struct seen_launch { /* launch data under way */
    uint64_t key[3]; /* dst, epoch of dst, sequence */
    UT_hash_handle hh;
};

struct hops_key { /* a routed frame at a relay */
    uint32_t at, src, dst, traffic;
    uint64_t src_epoch, seq;
};

struct seen_hops {
    struct hops_key key;
    bool came[FRAME_HOPS_MAX + 1]; /* as which hop it has come */
    bool in_transfer;              /* as a hop that the checker has not seen */
    UT_hash_handle hh;
};

struct seen_kept {             /* groups of records, at keepers */
    struct seen_group *groups; /* [ngroups] that this process of the head has sent */
    size_t ngroups;
    uint64_t life;
    struct buf given;   /* to a new head, by a keeper in sync, */
    uint64_t conn, seq; /* on this connection, up to that group */
    bool whole;         /* with this input */
};

struct seen_change { /* figures of the head that change with its state */
    uint64_t version, events, jobs, fence, complete;
};

struct check {
    struct sim *sim;
    struct seen_change change;
    struct seen_kept kept;
    char name[32];
    char text[512];
    struct seen_node nodes[SIM_NODES_MAX];
    struct seen_member member[SIM_NODES_MAX];
    struct epoch head; /* its epoch */
    uint64_t *digests; /* of the table of members, by version, in this incarnation */
    size_t ndigests;
    struct seen_removal *removals; /* [nremovals] in this incarnation */
    size_t nremovals;
    uint64_t complete;
    struct epoch offered[SIM_NODES_MAX]; /* last epoch of which a shrink has offered the node, */
    struct epoch unseen[SIM_NODES_MAX];  /* or may have offered it before the checker saw it */
    uint64_t departed[SIM_NODES_MAX];    /* the last epoch whose departure was announced */
    uint64_t live[SIM_NODES_MAX]; /* epoch in the tree after the head's last step; 0: absent */
    uint8_t state[SIM_NODES_MAX]; /* enum member_state at the head after its last step, */
    uint8_t began[SIM_NODES_MAX]; /* and when its turn began */
    bool settled;                 /* the head's turn has ended */
    bool acts;                    /* actions of the head's last turn have been carried out */
    bool waited;                  /* those of an earlier turn waited for keepers then */
    uint64_t used[SIM_NODES_MAX]; /* slots by the records of jobs */
    uint32_t held[SIM_NODES_MAX][SIM_SLOTS_MAX]; /* CPUs by the records of jobs */
    uint64_t next_event;
    bool lost_now;     /* this step has declared a daemon lost */
    char holding[128]; /* raised the fence before this step and has not ended */
    uint32_t fence;
    struct head_batch batch; /* of joiners, after the head's last step */
    uint32_t holds_sum;
    uint32_t growing_holds;
    uint32_t changing, changing_holds; /* campaigns */
    bool healthy;
    bool mapped_out; /* a link has been, by one of its ends */
    struct seen_hops *hops;
    size_t nlinks; /* of a member to its parent */
    struct seen_left *lefts;
    bool named_now[SIM_NODES_MAX];  /* by a campaign accepted in this turn */
    bool named_step[SIM_NODES_MAX]; /* in this step */
    struct seen_job *jobs;
    struct seen_fit *fits;
    struct seen_campaign *campaigns;
    struct seen_stream *streams;
    struct seen_launch *launches;
    struct seen_told *told;
    struct seen_gather *gathers;
    uint64_t ngathers;
    struct seen_ask *asks;
    uint64_t nasks;
    struct seen_life *lives;
    struct seen_link *links;
    bool stale_due; /* the arriving frame is of an earlier epoch */
    uint64_t stale_before;
    uint64_t stale_life;    /* the vpid and the process that got it: it may have ended meanwhile */
    struct head_fold *fold; /* of the records of this head, */
    uint64_t made_bytes, kept_bytes; /* of records, since the process has these */
    uint64_t journal_life;           /* of the head's process with these records, */
    uint64_t fold_life;              /* and of the last one that began a fold on its disk */
    uint64_t size_sequence;          /* the last one that was in force */
    bool older;                      /* the head goes on with older records than others have seen */
    bool from_former; /* a former head has sent the frame, and the member knows its heir */
    bool left_before; /* the member was leaving before that frame */
    bool two_heads;   /* a former head has run beside its heir, */
    bool ran_on;      /* or before that one has begun: it was replaced while it ran */
    struct buf state_own, state_folded;
    uint64_t journal_random;
    size_t journal_skip; /* records until the next comparison */
    size_t unsure_jobs;  /* the first ones, submitted before the head took older records */
    struct seen_adoption adoption;
};

uint64_t check_digest(const struct members *m);
/* check_harm.c */
void check_harm(struct check *c, struct seen_job *j, const struct job_look *x);
void check_shrink(struct check *c, struct seen_campaign *k, const struct resize_campaign *x);
void check_share(struct check *c, const struct seen_campaign *k, uint32_t count);
void check_harm_free(struct check *c);
void check_harm_again(struct check *c); /* jobs may have the numbers of others */
void check_departed(struct check *c, uint32_t vpid, uint64_t ctr);
/* check_gather.c */
void check_gather_unsure(struct check *c); /* the head has older records */
void check_gathered(struct check *c, uint32_t vpid, const struct out_gather *act);
void check_gather_rest(struct check *c);
void check_gather_free(struct check *c);
/* check_resize.c */
void check_resize_answer(struct check *c, uint32_t vpid, const struct out_resize_answer *act);
void check_end_comes(struct check *c, uint32_t vpid, struct cur body); /* a RESIZE_ENDED */
void check_resize_ended(struct check *c, uint32_t vpid, const struct msg_resize_ended *end);
void check_resize_event(struct check *c, const struct api_event *e);
void check_resize_rest(struct check *c);
void check_resize_free(struct check *c);
/* check_links.c */
void check_peers(struct check *c, uint32_t vpid);
void check_peers_rest(struct check *c);
/* check_loss.c */
bool check_is_unsure(const struct check *c, const struct sim_job *j);      /* an heir may lack it */
void check_given_back(struct check *c, uint32_t vpid, const char *nspace); /* a job is launched */
void check_links(struct check *c, uint32_t vpid);
void check_lives(struct check *c, const struct members *m);
void check_epochs(struct check *c, const struct members *m); /* a table has changed */
void check_loss_report(struct check *c, uint32_t from, const uint8_t *data, size_t len);
/* A frame that its neighbour has sent arrives at `at`. */
void check_heard(struct check *c, uint32_t at, const struct frame *f);
void check_loss(struct check *c, uint32_t vpid, uint64_t ctr, const char *cause);
/* The head has a report; it has removed a member. */
void check_told(struct check *c, const struct frame *f, struct cur *body);
/* A daemon has lost its links to that epoch since then, or shortly before; another one than the
 * head up to so long before. */
bool check_was_cut(const struct check *c, const struct msg_target *id, uint64_t since_ms,
                   uint64_t member_ms);
bool check_was_lost(const struct check *c, const struct msg_target *id);
void check_removed(struct check *c, uint64_t version);
void check_left(struct check *c, uint32_t vpid, struct epoch before, const struct core *now);
void check_loss_forget(struct check *c);
/* check_ranks.c */
void check_ranks_lost(struct check *c, uint32_t vpid, const struct msg_ranks_lost *m);
void check_ranks_ended(struct check *c, uint32_t vpid, const char *nspace);
void check_ranks_again(struct check *c); /* the head has older records */
void check_ranks_free(struct check *c);
/* check_journal.c */
void check_journal_create(struct check *c);
void check_journal(struct check *c, const struct core *head); /* after each event of the head */
/* The head acts: all that it has decided is on its disk. */
void check_journal_acts(struct check *c, const struct out_act *act);
void check_journal_aside(void *arg, const struct core *former);
/* Records that the head has given to its disk. */
void check_journal_disk(struct check *c, const struct core *head, const struct out_records *group);
void check_journal_free(struct check *c);
struct seen_campaign *check_campaign_of(struct check *c, const char *id);
/* check_kept.c */
void check_kept_create(struct check *c);
/* RECORDS: the head sends some, one that asks gets some; it begins with those of its last input. */
void check_group_sent(struct check *c, struct cur *body);
void check_records_given(struct check *c, uint64_t conn, struct cur *body);
void check_records_taken(struct check *c);
void check_kept_free(struct check *c);
/* check_adoption.c */
void check_adoption(struct check *c, struct core *head); /* after each input of the head */
/* check_heir.c */
void check_ran_on(struct check *c);                     /* the head is replaced while it runs */
void check_heir(struct check *c, struct core *head);    /* its first step */
void check_revived(struct check *c, struct core *head); /* an heir of an earlier incarnation */
void check_volume(struct check *c, const struct core *head); /* a head begins, with it or without */
void check_one_head(struct check *c, uint32_t vpid);
/* The frame is of a head that this member does not know yet. */
bool check_is_heir(const struct members *m, const struct frame *f);
void check_former_frame(struct check *c, uint32_t vpid, uint64_t conn);
void check_obedience(struct check *c, uint32_t vpid, const struct out_act *act);
void check_client(struct check *c, const struct out_client *act);
/* check_head.c */
/* settled: the turn has ended. Before, jobs may still wait for the head's next step. */
void check_head(struct check *c, const struct core *core, bool settled);
void check_head_forget(struct check *c);
void check_head_again(struct check *c, const struct core *head); /* with older records */
void check_head_succeed(struct check *c); /* another process goes on with its records */

#endif
