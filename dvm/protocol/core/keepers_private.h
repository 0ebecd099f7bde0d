/* SPDX-License-Identifier: BSD-3-Clause */
/* The keepers of the head's records: the streams at the head (keepers.c), the records at a keeper
 * (keeper.c), the question of a new head (asking.c), the answers of members that keep none
 * (majority.c). Of one core each; zeroed at first. */
#ifndef DVM_CORE_KEEPERS_PRIVATE_H
#define DVM_CORE_KEEPERS_PRIVATE_H

#include "dvm/protocol/neighbour/neighbour.h"

#define KEEPERS_WAIT_MS 1000  /* without progress; then the head goes on without a keeper */
#define KEEPERS_AGAIN_MS 5000 /* then it gets a snapshot, and may catch up */
#define KEEPERS_BEHIND_BYTES (16u << 20) /* not acknowledged, beside a snapshot */
#define KEEPERS_LOG_BYTES (4u << 20)     /* since the snapshot, if that is not larger */
#define KEEPERS_MAX 4                    /* two, and two that replace them */
/* Callers' different tables, encoded and decoded, and lists of links. The largest table, which a
 * message bounds, is not counted: one of any size is taken, and leaves room for others. */
#define MAJORITY_BYTES_MAX (16u << 20)

struct core;

struct keepers_stream { /* the head: to one keeper */
    uint32_t vpid;
    struct epoch epoch;
    uint64_t conn; /* the connection that carries it; 0: none, it begins again with a snapshot */
    uint64_t number;
    uint64_t sent, acked; /* groups */
    bool in_sync;         /* the head waits for it, */
    uint64_t let_out;     /* and the actions up to this group were let out before */
    uint64_t again_at;    /* 0: at once */
    uint64_t due_at;      /* its first acknowledgement; 0: it has come, or is late */
    bool late;            /* it has not acknowledged in time: another member is chosen too */
    size_t behind;        /* bytes that are not acknowledged, at most */
    uint64_t mark;        /* a group that was sent; when it is acknowledged, */
    size_t marked;        /* so many of those bytes are */
    size_t log, snapshot; /* bytes at the keeper */
};

struct keepers {
    struct buf fresh;     /* records since the last group */
    uint64_t sealed;      /* groups so far */
    uint64_t numbers;     /* streams so far */
    uint64_t wait_since;  /* for an acknowledgement; 0: the head does not wait */
    uint64_t left_behind; /* so often it has gone on without a keeper */
    bool check;           /* links or members have changed */
    bool begins;          /* a head that has asked: nothing goes out before a keeper is in sync */
    size_t n;
    struct keepers_stream streams[KEEPERS_MAX];
};

void keepers_begin(struct core *c); /* the head begins */
void keepers_record(struct core *c, const uint8_t *data, size_t len);
/* All records so far are a group, which later actions follow. Before the driver takes actions. */
void keepers_seal(struct core *c);
/* If links or members have changed. After an input: departed keepers are not waited for. */
void keepers_turn(struct core *c);
/* When the driver has taken all actions: streams begin and end. */
void keepers_choose(struct core *c);
void keepers_tick(struct core *c);
uint64_t keepers_deadline(const struct core *c);
size_t keepers_in_sync(const struct core *c);
/* A keeper may have all records before this process ends. */
bool keepers_may_hand_over(const struct core *c);
bool keepers_hold(const struct core *c); /* actions wait for an acknowledgement */
void keepers_free(struct core *c);

struct keeper {            /* a member */
    struct buf all;        /* each record after its length, as core_opts' heritage */
    struct buf coming;     /* a group that is not complete */
    bool whole;            /* it is a snapshot */
    uint64_t head, stream; /* the last stream that has begun, or was dropped: epoch, number */
    uint64_t ctr, seq;     /* of the head's epoch, and of the last group; 0: nothing is kept */
    int64_t clock_ahead;   /* of the head's clock, by the group that was least late, */
    uint64_t clock_at;     /* as of the last group */
};

void keeper_free(struct core *c);
/* The pieces of a group. The caller fills `m` but for them. */
void keeper_send(struct core *c, struct neighbour *k, struct peer_link *at, struct msg_records *m,
                 const struct buf *group);
void keeper_take_records(struct core *c, struct neighbour *k, const struct msg_records *m);
void keeper_answer(struct core *c, struct neighbour *k, const struct msg_records_ask *m);
/* Adds a piece to a group; true: the group is complete. */
bool keeper_gather(struct buf *coming, const struct msg_records *m);

struct asking_table { /* what callers know of the members; freed with the last of them */
    size_t callers;
    uint64_t version;
    struct buf bytes; /* of the message, to be compared */
    struct members members;
    size_t size; /* bytes of memory */
    struct asking_table *next, *prev;
};

struct asking_caller {
    uint64_t conn;
    uint32_t vpid;
    struct key_id key;
    struct buf hello; /* its HELLO waits for the answer */
    bool joins;       /* it is new, and has no records */
    bool answered;    /* with what it keeps, or with nothing */
    bool mute;        /* of edition 0: it cannot be asked */
    struct epoch epoch;
    uint32_t head;        /* low bits of the epoch of the head that it knows; 0: none */
    uint64_t version;     /* the last broadcast that it has processed */
    struct msg_kept kept; /* its answer; zeroed: none yet */
    bool table_asked, table_come;
    struct asking_table *table; /* shared with others; NULL: none, or it was not taken */
    size_t nlinked;
    uint32_t *linked; /* its children that have a link to it */
    struct asking_caller *next, *prev;
};

struct asking_seen { /* a member that has called, whether or not its connection is still there */
    uint32_t vpid;
    struct key_id key;
    struct epoch epoch;
    uint32_t head;    /* the latest that it has named, */
    uint64_t version; /* and the latest broadcast */
};

struct asking { /* a new head */
    bool on;
    bool ended; /* the best records end their incarnation: older ones are not asked for */
    uint64_t begin_ms, joiner_ms, member_ms, keeper_ms; /* the first of each has called; 0: none */
    uint64_t lost_ms;  /* since then the best keeper may call again; 0: it has not closed */
    uint64_t again_ms; /* since then the last keeper that was asked for all may call again */
    struct asking_caller *callers;
    struct asking_table *tables; /* each one once */
    size_t tables_bytes;         /* of memory, with the callers' lists of links */
    size_t nseen;
    struct asking_seen *seen;
    uint64_t from, from_ms; /* the connection by which the records come, and since when; 0: none */
    struct buf got, coming;
    int64_t clock_ahead; /* of the clock of the head that has made them */
    struct buf volume;   /* records of the head's own volume, if no keeper has any; may be empty */
};

void asking_begin(struct core *c);
void asking_take_hello(struct core *c, struct neighbour *k, const struct msg *m);
void asking_take_records(struct core *c, struct neighbour *k, const struct msg_records *m);
void asking_take_kept(struct core *c, struct neighbour *k, const struct msg_kept *m);
/* Decides if enough is known: the head begins. */
void asking_turn(struct core *c);
uint64_t asking_deadline(const struct core *c);
void asking_free(struct core *c);

/* NULL: no caller waits on this connection. */
struct asking_caller *callers_find(const struct asking *a, uint64_t conn);
/* Whether a caller counts, compared with `as`. A vpid counts once, however many calls name it. */
typedef bool callers_test(const struct asking_caller *x, const struct asking_caller *as);
unsigned callers_count(const struct asking *a, callers_test *counts,
                       const struct asking_caller *as);

/* The new head: asks callers that keep no records for their tables. */
void majority_ask(struct core *c);
uint64_t majority_due(const struct core *c);
void majority_take_table(struct core *c, struct neighbour *k, const struct msg_table *m);
/* The record of the table that most members agree on, with its length; false: they do not. */
bool majority_record(struct core *c, struct buf *b);
void majority_drop_table(struct asking *a, struct asking_caller *x);
/* A member: to a new head, on this connection. */
void majority_answer(struct core *c, struct neighbour *k, struct peer_link *at);

extern const struct neighbour_handler keepers_handlers[];

#endif
