/* SPDX-License-Identifier: BSD-3-Clause */
/* The service's record, shared by the files of this directory only. */
#ifndef DVM_RANKS_RANKS_PRIVATE_H
#define DVM_RANKS_RANKS_PRIVATE_H

#include "base/heap/hash.h"
#include "dvm/host/ranks/ranks.h"

struct ranks_rank {  /* of a local rank */
    uint8_t nclosed; /* ended output streams, 2 at most */
    bool ordered;    /* another process has asked for its end */
};

struct ranks_job {                   /* from registration to clean-up */
    const struct job_launch *launch; /* shared */
    struct ranks_rank *ranks;        /* [nranks]; unused for ranks of other daemons */
    uint64_t oom_kills; /* in this container, at the job's start and of its ranks since then */
    bool told_open; /* the user was notified that a rank here has left a process with its output */
    UT_hash_handle hh;
};

struct writer;
struct reader;
struct ranks {
    const struct host_env *env;
    struct ranks_io io;
    struct core *core;
    struct odls *odls;
    struct pmix_srv *pmix;
    struct iof *iof;
    struct files *files;
    struct ranks_job *jobs;
    struct writer *writers; /* writer.c */
    struct reader *readers; /* reader.c */
};

/* ranks.c */
struct ranks_job *ranks_find(const struct ranks *r, const char *nspace);
/* Working directory of ranks that have none of their own; the caller frees it. */
char *ranks_own_dir(const struct ranks *r, const struct job_launch *l);
/* create.c: hands a job's ranks here to the spawner. `waits`: each rank stops before its exec. */
int ranks_create_processes(struct ranks *r, const struct job_launch *l, bool waits, struct err *err)
    __attribute__((warn_unused_result));

/* writer.c: the process that writes a job's files here. Its end is reported to the core. */
int writer_start(struct ranks *r, const struct job_launch *l, struct err *err)
    __attribute__((warn_unused_result));
void writer_stop(struct ranks *r, const char *nspace);
void writer_feed(struct ranks *r, const char *nspace, const void *piece, size_t len);
void writer_free_all(struct ranks *r);
/* reader.c: the process that reads a job's files here. */
bool reader_room(struct ranks *r, uint32_t client, uint64_t total); /* false: no reader */
void reader_free_all(struct ranks *r);

/* Upcalls of odls for processes that are no ranks. Their namespaces have a prefix that no job's
 * name has. */
#define WRITER_PREFIX "files:"
#define READER_PREFIX "read:"
void writer_failed(struct ranks *r, const char *name, int errnum, const char *what);
void writer_output(struct ranks *r, const char *name, const void *data, size_t len);
void writer_exited(struct ranks *r, const char *name, int wait_status);
void reader_failed(struct ranks *r, const char *name, const char *what);
void reader_output(struct ranks *r, const char *name, const void *data, size_t len);
void reader_exited(struct ranks *r, const char *name);

#endif
