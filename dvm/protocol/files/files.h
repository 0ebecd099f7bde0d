/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of jobs on their way from the submitter's daemon (the source) to the daemons of the job:
 * at the speed of the slowest disk, with a bounded number of bytes on the way. This module does
 * not access files. */
#ifndef DVM_FILES_FILES_H
#define DVM_FILES_FILES_H

#include "dvm/protocol/core/core.h"
#include "dvm/protocol/wire/piece.h"

/* Kinds of application messages (OUT_APP) that belong to this module. */
enum files_kind {
    FILES_OPEN = 1024, /* u32 client, str nspace: pieces can be written here; to the source */
    FILES_PIECE,       /* str nspace, bytes: one piece; to each daemon of the job */
    FILES_TAKEN,       /* u32 client, str nspace, u64: total bytes of pieces written here */
    FILES_KINDS
};

/* Limit of the bytes of one job that are on their way and not yet written, copies for all its
 * daemons included. FILES_TURNS jobs are served at a time; the others wait for a turn. */
#define FILES_JOB_BYTES (8u << 20)
#define FILES_TURNS 4
/* Limits of one daemon's share: at most the input buffer of a writer, at least one piece of
 * useful size. A job on more than 2,048 daemons therefore has more than FILES_JOB_BYTES on the
 * way. */
#define FILES_ROOM_MAX (512u << 10)
#define FILES_ROOM_MIN (4u << 10)

struct files_io { /* functions of the owner, which call no function of this module */
    /* The total bytes of pieces that a client may send. */
    void (*room)(uint32_t client, uint64_t total, void *arg);
    /* To the writer of a job's files here, which reports its progress by files_written(). */
    void (*write)(const char *nspace, const void *piece, size_t len, void *arg);
    void *arg;
};

struct files;
struct files *files_create(struct core *core, const struct files_io *io); /* io is copied */
void files_destroy(struct files *s);
void files_msg(struct files *s, uint32_t from, uint32_t kind, const void *data, size_t len);
void files_member_gone(struct files *s, uint32_t vpid);

/* At a daemon of the job: a writer waits for pieces of its files. */
void files_expect(struct files *s, const struct job_launch *l);
/* The total bytes of pieces that the writer has written. */
void files_written(struct files *s, const char *nspace, uint64_t total);
void files_forget(struct files *s, const char *nspace); /* no further piece is wanted */
/* After each input of the core: reports that met a full backlog go again. */
void files_turn(struct files *s);

/* At the source: a client has submitted a job with files. */
void files_source(struct files *s, uint32_t client, uint32_t nfiles);
void files_begin(struct files *s, uint32_t client); /* OUT_FILES */
/* One piece from the client. -1 and a reason: it is malformed, out of order, or exceeds the
 * client's room. Then the client is to be disconnected. */
int files_piece(struct files *s, uint32_t client, const void *data, size_t len, struct err *err)
    __attribute__((warn_unused_result));
/* The client has connected again and may not know its room. */
void files_tell_room(struct files *s, uint32_t client);
/* True if pieces of the client are still missing. */
bool files_owes(const struct files *s, uint32_t client);
void files_client_gone(struct files *s, uint32_t client);

struct files_stats {
    size_t sources, sinks;
    uint64_t on_way, on_way_most; /* bytes, copies counted, of all jobs that this daemon sends */
};
struct files_stats files_stats(const struct files *s);

#endif
