/* SPDX-License-Identifier: BSD-3-Clause */
/* The records of job files, shared by the files of this directory only. */
#ifndef DVM_FILES_FILES_PRIVATE_H
#define DVM_FILES_FILES_PRIVATE_H

#include "base/heap/hash.h"
#include "dvm/protocol/files/files.h"

#include <hwloc/bitmap.h>

struct files_target { /* a daemon of the job */
    uint32_t vpid;
    uint64_t taken; /* bytes of pieces that it has written */
};

struct source { /* a client here with a job that has files */
    uint32_t client;
    uint32_t nfiles;
    char *nspace;        /* NULL until it begins */
    hwloc_bitmap_t open; /* daemons that wait for pieces */
    size_t ntargets;
    struct files_target *targets; /* without those that have departed */
    struct piece_order order;
    uint64_t sent; /* bytes of pieces that have been passed on */
    uint64_t told; /* total that the client may send; 0: it has not had its turn yet */
    bool turn;     /* it has one of the turns */
    UT_hash_handle hh;
};

struct sink { /* a job with ranks here that has files */
    char *nspace;
    uint32_t vpid; /* of the source */
    uint32_t client;
    bool opened;          /* the source knows that pieces can come */
    uint64_t taken, told; /* bytes written, and those that the source knows of */
    bool unreported;      /* one of these is still to be reported */
    bool over;            /* no further piece is wanted: it goes when all is reported */
    UT_hash_handle hh;
};

struct files {
    struct core *core;
    struct files_io io;
    struct source *sources; /* in the order of their submission, which is that of turns */
    struct sink *sinks;
    size_t unreported; /* sinks with something to report */
    unsigned turns;
    uint64_t on_way_most;
};

/* source.c */
void source_open(struct files *s, uint32_t from, uint32_t client);
void source_taken(struct files *s, uint32_t from, uint32_t client, const char *nspace,
                  uint64_t total);
void source_member_gone(struct files *s, uint32_t vpid);
void source_free_all(struct files *s);

#endif
