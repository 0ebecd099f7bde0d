/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of one end, shared by the files of this directory. */
#ifndef DVM_TRANSFER_TRANSFER_PRIVATE_H
#define DVM_TRANSFER_TRANSFER_PRIVATE_H

#include "base/heap/hash.h"
#include "dvm/protocol/transfer/transfer.h"

struct sending {
    uint64_t number;
    int state; /* enum sending_state */
    uint32_t dance;
    struct transfer_source source;
    size_t outstanding;                  /* frames without completion */
    uint64_t granted;                    /* bytes before this may be sent */
    uint64_t next;                       /* the next fragment begins here */
    uint64_t finned;                     /* FIN has been sent up to here */
    uint64_t flying[TRANSFER_FRAGS_MAX]; /* offsets of outstanding fragments */
    size_t nflying;
    bool regions; /* the receiver grants the message region by region (PUT) */
    struct sending *next_in, *prev;
};

struct taking {
    uint64_t number;
    int state; /* enum taking_state */
    uint32_t dance;
    struct transfer_match match;
    uint64_t size;
    bool exposed;  /* RGET: it is read */
    bool admitted; /* counts among TRANSFER_TAKEN_MAX */
    bool open;     /* the sink has not ended */
    struct transfer_sink sink;
    size_t outstanding;
    uint64_t granted;
    uint64_t have;   /* all bytes before this are there */
    uint64_t early;  /* bit i: the fragment i + 1 places after `have` is there */
    uint64_t finned; /* of PUT: regions before this are complete */
    struct taking *next_in, *prev;
};

struct frame_out { /* a frame without completion, or one that waits for a link */
    uint64_t id;
    struct msg m; /* without bytes */
    bool sender;  /* of a transfer of ours; else of one that we take */
    bool waits;
    UT_hash_handle hh;
};

struct transfer_end {
    struct transfer_io io;
    uint64_t mine, theirs; /* the ids of the two ends; theirs is 0 until a frame has come */
    uint64_t last_frame;
    struct frame_out *frames;
    size_t nwaiting; /* frames that wait for a link */
    /* what we send */
    struct sending *sendings; /* by number */
    uint32_t series;
    uint64_t last_number;
    /* what we take */
    struct taking *takings; /* by number */
    uint32_t their_series;
    size_t nadmitted;
    uint64_t admitted_bytes;
    uint64_t done_before;                /* all transfers before this number have ended */
    uint64_t done[TRANSFER_WINDOW / 64]; /* bit i: so has done_before + i */
    struct transfer_stats stats;
};

/* frames.c */
struct transfer_ref *frames_ref(struct msg *m);
const struct transfer_ref *frames_ref_of(const struct msg *m);
/* Sends a control frame on the best link, or as soon as there is one. */
void frames_post(struct transfer_end *e, bool sender, const struct msg *m);
/* Sends a fragment on this link; false: it is not up. */
bool frames_post_on(struct transfer_end *e, uint32_t link, const struct msg *m);
/* The frame that has been completed; false: it is not outstanding. */
bool frames_take(struct transfer_end *e, uint64_t id, struct frame_out *out);
void frames_again(struct transfer_end *e, const struct frame_out *f);
void frames_flush(struct transfer_end *e);
void frames_drop(struct transfer_end *e, bool sender);
struct transfer_ref frames_new_ref(const struct transfer_end *e, bool sender, uint64_t number,
                                   uint32_t dance);
void frames_log_illegal(struct transfer_end *e, uint64_t number, const char *why);

/* sender.c */
struct sending *sender_find(const struct transfer_end *e, uint64_t number);
void sender_new(struct transfer_end *e, const struct transfer_source *source);
void sender_input(struct transfer_end *e, const struct msg *m);
void sender_completed(struct transfer_end *e, const struct frame_out *f, bool processed);
void sender_push(struct transfer_end *e);
void sender_fail_all(struct transfer_end *e);
/* receiver.c */
void receiver_input(struct transfer_end *e, const struct msg *m);
void receiver_completed(struct transfer_end *e, const struct frame_out *f, bool processed);
void receiver_fail_all(struct transfer_end *e);

#endif
