/* SPDX-License-Identifier: BSD-3-Clause */
/* A job as it is submitted and as it is launched, with their codecs. */
#ifndef DVM_WIRE_JOB_H
#define DVM_WIRE_JOB_H

#include "base/buf/buf.h"
#include "base/err/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOB_APPS_MAX 64
#define JOB_ARGS_MAX 16384    /* strings in one argv or environment */
#define JOB_STRING_MAX 131072 /* bytes of one string, the kernel's limit */
#define JOB_RANKS_MAX 1048576
#define JOB_NSPACE_MAX 63 /* "<incarnation>.<number>" */
#define JOB_PE_MAX 65535
#define JOB_NO_VPID UINT32_MAX
#define JOB_RANK_ALL UINT32_MAX
#define JOB_RANK_NONE (UINT32_MAX - 1)

struct job_app {
    char **argv; /* NULL-terminated, as is env; argv[0] is looked up in the PATH of env on the
                    rank's node */
    char **env;
    char *cwd; /* absolute; "": the directory of the job's files, or the session's if the job has
                  none */
    uint32_t nprocs;  /* 0: as many as the policy allows (every free slot) */
    uint32_t program; /* 0: argv[0] as given; else this program runs the spec's file of that number,
                         from 1 */
};

/* Parts of a daemon's CPUs, from the whole down. */
enum job_level {
    JOB_LEVEL_NODE,
    JOB_LEVEL_PACKAGE,
    JOB_LEVEL_NUMA,
    JOB_LEVEL_CORE,
    JOB_LEVEL_HWTHREAD,
    JOB_LEVELS
};

enum job_map_by {
    JOB_MAP_BY_SLOT,
    JOB_MAP_BY_NODE,
    JOB_MAP_BY_PPR,   /* so many ranks on each part of `level` */
    JOB_MAP_BY_OBJECT /* one rank on each part of `level` in turn, a daemon after the other */
};

enum job_rank_by {
    JOB_RANK_BY_DEFAULT,
    JOB_RANK_BY_SLOT,
    JOB_RANK_BY_NODE,
    JOB_RANK_BY_FILL,
    JOB_RANK_BY_SPAN
};

/* From JOB_BIND_PACKAGE on: enum job_level plus 1. */
enum job_bind_to {
    JOB_BIND_DEFAULT,
    JOB_BIND_NONE,
    JOB_BIND_PACKAGE,
    JOB_BIND_NUMA,
    JOB_BIND_CORE,
    JOB_BIND_HWTHREAD
};

#define JOB_NO_WAIT 1u     /* fail at once if the slots are not free now */
#define JOB_RECOVERABLE 2u /* lost ranks do not end the others */
#define JOB_DETACH                                                                                 \
    4u /* the job continues without its client, which may attach again: CLIENT_ATTACH */
#define JOB_OVERSUBSCRIBE 8u
#define JOB_TOOL 16u             /* uses no slots */
#define JOB_STRICT 32u           /* with JOB_RECOVERABLE: lost ranks are still a failure */
#define JOB_NOLOCAL 0x10000u     /* no rank on the daemon of its submitter */
#define JOB_DISPLAY_MAP 0x20000u /* the submitter is sent the map as a table */
#define JOB_DISPLAY_BIND 0x40000u
#define JOB_MAP_ONLY 0x80000u /* it ends well when it has been mapped; no rank is started */

/* As in dvm/host/spawner/remove.h. */
enum job_clean {
    JOB_CLEAN_DIR = 1, /* else a file */
    JOB_CLEAN_RECURSIVE = 2,
    JOB_CLEAN_LEAVE_TOPDIR = 4,
    JOB_CLEAN_ONLY_EMPTY = 8,
    JOB_CLEAN_IGNORE = 32, /* is not removed */
    JOB_CLEAN_KNOWN = 47
};
#define JOB_CLEANUPS_MAX 256
#define JOB_PATH_MAX 4095
/* Removed on each daemon that has ranks of the job, when the last of them has ended. */
struct job_cleanup {
    char *path; /* absolute, without ".." */
    uint32_t flags;
};

#define JOB_FILES_MAX 256
#define JOB_FILE_PATH_MAX 1023
#define JOB_FILES_DIR "files" /* in the job's directory on each daemon */
/* Where ranks stop for a debugger, until a request continues them. */
enum job_stop {
    JOB_STOP_NONE,
    JOB_STOP_EXEC, /* before the program's first instruction, by a signal */
    JOB_STOP_INIT, /* in PMIx_Init */
    JOB_STOP_APP   /* where the program itself stops, by PMIX_READY_FOR_DEBUG */
};

struct job_spec {
    uint32_t flags;
    enum job_map_by map_by;
    enum job_level level; /* of JOB_MAP_BY_PPR and _OBJECT */
    uint32_t ppr;         /* JOB_MAP_BY_PPR: ranks per part */
    uint32_t pe;          /* CPUs (cores, or hardware threads) of each rank; 0: not given */
    enum job_rank_by rank_by;
    enum job_bind_to bind_to;
    uint32_t stdin_rank; /* a rank, JOB_RANK_ALL or JOB_RANK_NONE */
    uint64_t timeout_ms; /* 0: none */
    enum job_stop stop;
    uint32_t stop_rank; /* that stops, or JOB_RANK_ALL */
    size_t nhosts;      /* vpids the job is limited to; 0: all */
    uint32_t *hosts;
    char *parent_nspace; /* of a spawn by an application, else "" */
    uint32_t parent_rank;
    size_t ncleanups;
    struct job_cleanup *cleanups;
    size_t nfiles; /* present on every daemon of the job before any rank starts; their paths are */
    char **files;  /*   below JOB_FILES_DIR; no path twice */
    size_t napps;
    struct job_app *apps;
};
/* Why this path cannot be cleaned up; NULL: it can. */
const char *job_cleanup_refused(const char *path);
/* Why nothing can be put below a directory under this name; NULL: it can. */
const char *job_file_refused(const char *path);

struct job_node { /* a daemon with ranks of the job */
    uint32_t vpid;
    uint64_t epoch;
    char *host;
};

/* The launch of a job, for each daemon concerned: the whole map, so that a daemon can answer for
 * any rank. */
struct job_launch {
    char *nspace;
    uint64_t version;   /* membership version of its map */
    uint32_t home_vpid; /* the daemon whose client gets the output; JOB_NO_VPID: none */
    uint32_t home_client;
    uint32_t files_vpid; /* the daemon whose client sends the job's files, if it has any */
    uint32_t files_client;
    struct job_spec spec; /* environments and arguments included */
    uint32_t universe;    /* slots of the whole DVM now, for PMIX_UNIV_SIZE */
    size_t nnodes;
    struct job_node *nodes;
    uint32_t nranks;
    uint32_t *rank_node; /* [nranks] index into nodes */
    uint32_t *rank_app;  /* [nranks] index into spec.apps */
    size_t ncpus;        /* 0: no rank of the receiver is bound; else its number of ranks there */
    char **cpus;         /* of each, by rank: hwloc list of the machine's CPUs; "": not bound */
    unsigned refs;       /* owners of a shared one; 0: it is not shared */
};

void job_spec_encode(struct buf *b, const struct job_spec *s);
/* -1 and a reason; nothing remains allocated then. */
int job_spec_decode(struct cur *c, struct job_spec *out, struct err *err)
    __attribute__((warn_unused_result));
void job_spec_copy(struct job_spec *dst, const struct job_spec *src);
void job_spec_free(struct job_spec *s);

void job_launch_encode(struct buf *b, const struct job_launch *l);
int job_launch_decode(struct cur *c, struct job_launch *out, struct err *err)
    __attribute__((warn_unused_result));
void job_launch_free(struct job_launch *l);
/* A launch is shared by all parts of a daemon that need it, and is constant. References are
 * taken and returned on the loop's thread only. The PMIx library's thread reads a launch without
 * a reference of its own, while the job is registered. job_launch_share() takes the contents of
 * `l`, which is empty afterwards; the caller owns the first reference. job_launch_unref(NULL) is
 * allowed. */
const struct job_launch *job_launch_share(struct job_launch *l);
const struct job_launch *job_launch_ref(const struct job_launch *l);
void job_launch_unref(const struct job_launch *l);
/* Index of the vpid in nodes; -1 if the job has no rank there. */
int job_launch_node(const struct job_launch *l, uint32_t vpid);
/* Ranks on one node: number, and the local rank of `rank` among them. */
uint32_t job_launch_local_size(const struct job_launch *l, uint32_t node);
uint32_t job_launch_local_rank(const struct job_launch *l, uint32_t rank);
/* Whether its ranks start only after all its daemons have sent READY, by START. */
bool job_launch_waits(const struct job_launch *l);
/* Whether the rank is to stop, at any of these places. */
bool job_stops(const struct job_spec *s, uint32_t rank);

#endif
