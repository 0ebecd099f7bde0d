/* SPDX-License-Identifier: BSD-3-Clause */
/* One daemon in the middle of its work. The test holds one of its links: it sends frames on it and
 * sees the daemon's actions. */
#ifndef DVM_CORE_TEST_SCENE_H
#define DVM_CORE_TEST_SCENE_H

#include "dvm/protocol/core/core_inspect.h"
#include "dvm/protocol/wire/msg/msg.h"
#include "dvm/sim/sim.h"

/* A head with four members in a tree of radix 2, a job that runs, a shrink that waits for it. */
enum scene_kind {
    SCENE_HEAD_MEMBER,     /* the head; the peer is vpid 1, a member */
    SCENE_HEAD_STRANGER,   /* the head; a daemon that has not greeted yet */
    SCENE_MEMBER_PARENT,   /* vpid 1; the peer is the head, its parent */
    SCENE_MEMBER_CHILD,    /* vpid 1; the peer is vpid 3, its child */
    SCENE_MEMBER_STRANGER, /* vpid 1; a daemon that has not greeted yet */
    SCENE_JOINER,          /* vpid 5, which calls home; the peer is the head, WELCOME is due */
    /* In a DVM of a head and vpid 1, which keeps its records. */
    SCENE_HEAD_KEEPER,   /* the head, which streams them; the peer is their keeper */
    SCENE_KEEPER_HEAD,   /* their keeper; the peer is the head */
    SCENE_KEEPER_CALLER, /* the same, which has called the next head; RECORDS_ASK is due */
    SCENE_NEW_HEAD,      /* it asks for them; the peer is their keeper, which has called */
    SCENES
};

struct scene {
    enum scene_kind kind;
    struct sim *sim;   /* NULL: the core has no simulator */
    struct core *core; /* the simulator's core, or one of the test's own */
    uint32_t self;
    uint32_t peer; /* who speaks */
    struct epoch peer_epoch;
    uint64_t conn;
    uint64_t conns; /* made by the test */
    uint64_t links[8][8];
    struct msg_kept kept; /* what vpid 1 has answered, or would */
    struct buf records;   /* all of them, as a keeper sends them to a new head */
    uint64_t called;      /* the last connection that vpid 1 has asked for */
    bool greeted;         /* a HELLO has come to the head since this was false */
};

struct scene_answer { /* the consequences of one input */
    char why[512];    /* logged texts, one after the other */
    bool closed;      /* the link */
    bool held;        /* actions wait for a keeper; the texts are among them */
    size_t acts;
};

void scene_open(struct scene *s, enum scene_kind kind);
void scene_close(struct scene *s);
void scene_input(struct scene *s, const uint8_t *data, size_t len, struct scene_answer *a);
/* Opens the link again if the daemon has closed it. */
void scene_again(struct scene *s);
/* A frame of the sample of this type as the peer would send it. */
void scene_frame(const struct scene *s, unsigned type, struct buf *b);
/* Everything that a refused frame must not change: members, campaigns, jobs, events, versions. */
void scene_digest(const struct scene *s, struct buf *b);

#endif
