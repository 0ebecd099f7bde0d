/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside local launch: jobs, ranks and their pipes, and the queue of commands to the spawner. */
#ifndef DVM_ODLS_ODLS_PRIVATE_H
#define DVM_ODLS_ODLS_PRIVATE_H

#include "base/buf/buf.h"
#include "base/heap/hash.h"
#include "dvm/host/odls/odls.h"
#include "dvm/host/spawner/spawn_msg.h"

#define ODLS_RANKS_MAX 16384               /* ranks that have not ended, of all jobs */
#define ODLS_QUEUE_MAX ((size_t)256 << 20) /* bytes of queued starts */
#define ODLS_READ_MAX 65536                /* of one stream in a turn: all are served */
#define ODLS_STDIN_MAX ((size_t)1 << 20)
#define ODLS_STDIN_ROOM 65536
#define ODLS_SENDS_MAX 64   /* commands sent in one turn */
#define ODLS_RETRY_MS 2     /* retry when the kernel has too many descriptors in flight */
#define ODLS_NSPACE_MAX 255 /* longest namespace that PMIx allows */

struct odls_proc;

/* A rank's stdout or stderr. */
struct odls_stream {
    struct odls_proc *proc;
    int which;
    int fd; /* -1: its end has been reported, or it never began */
    struct loop_fd *watch;
    struct loop_timer *linger; /* armed once the rank has ended */
    bool forced;               /* only `left` more bytes are read */
    size_t left;
};

/* A rank's stdin. */
struct odls_input {
    int fd; /* -1: no stdin, or closed */
    struct loop_fd *watch;
    struct buf queue;
    size_t off; /* bytes of `data` that are written */
    bool closing;
    bool owes_room; /* the user was notified that more than ODLS_STDIN_ROOM bytes wait */
};

enum odls_proc_state { ODLS_STARTING, ODLS_RUNNING, ODLS_FAILED, ODLS_EXITED };

struct odls_proc {
    struct odls *o;
    struct odls_job *job;
    uint64_t id;
    uint32_t rank;
    pid_t pid; /* 0: not known */
    enum odls_proc_state state;
    bool ordered; /* odls_end() has named it */
    struct odls_input in;
    struct odls_stream out[2]; /* stdout, stderr */
    struct loop_timer *kill;   /* time at which the grace ends */
    uint64_t kill_at_ms;       /* 0: not armed */
    UT_hash_handle hh;         /* in odls by id */
    UT_hash_handle by_rank;    /* index in its job */
};

struct odls_job {
    char nspace[ODLS_NSPACE_MAX + 1];
    uint64_t id;
    bool paused;
    struct odls_proc *procs; /* by rank */
    UT_hash_handle hh;
};

/* A queued command for the spawner. */
struct odls_send {
    struct spawn_cmd cmd;
    struct buf spec; /* description of the rank, for a start */
    int fds[SPAWN_FD_COUNT];
    struct odls_send *prev, *next;
};

struct odls {
    struct loop *loop;
    struct odls_upcalls up;
    void *arg;
    int sock;
    struct loop_fd *watch;
    int watched; /* events that the loop watches the socket for */
    struct loop_timer *retry;
    bool lost;
    pid_t spawner;
    uint64_t token;
    struct odls_times times;
    struct loop_timer *ping;
    bool watching;    /* `ping` is armed */
    bool heard;       /* a message of the spawner has come since the last ping */
    unsigned missed;  /* ping intervals without a message */
    size_t ncleaning; /* runs of scopes that are not answered yet */
    struct odls_send *sends;
    size_t sends_bytes;
    struct odls_job *jobs;
    struct odls_proc *procs;
    uint64_t last_id;
    uint8_t *chunk; /* [ODLS_READ_MAX], of the stream that is being read */
};

/* odls_proc.c */
struct odls_proc *odls_proc_find(struct odls *o, const char *nspace, uint32_t rank);
void odls_proc_started(struct odls_proc *p, pid_t pid);
void odls_proc_failed(struct odls_proc *p, int errnum, const char *what);
void odls_proc_exited(struct odls_proc *p, int status);
/* Frees the rank, and its job, if no further report can come. */
void odls_proc_settle(struct odls_proc *p);
void odls_job_free_all(struct odls *o);

/* odls_stream.c, odls_input.c: take the descriptor, which does not block. */
void odls_stream_init(struct odls_stream *s, struct odls_proc *p, int which, int fd);
void odls_stream_start(struct odls_stream *s);
void odls_stream_pause(struct odls_stream *s);
void odls_stream_linger(struct odls_stream *s);
void odls_stream_close(struct odls_stream *s); /* reports nothing */
void odls_input_init(struct odls_input *in, int fd);
size_t odls_input_put(struct odls_proc *p, const void *data, size_t len);
/* Drops queued input; notifies the user if it waits for room. */
void odls_input_abandon(struct odls_proc *p);
void odls_input_close(struct odls_input *in); /* reports nothing */

/* odls_send.c */
struct odls_send *odls_send_new(enum spawn_cmd_kind kind);
void odls_send_queue(struct odls *o, struct odls_send *s); /* takes s */
void odls_send_free(struct odls_send *s);
void odls_send_free_all(struct odls *o);
void odls_send_flush(struct odls *o); /* tries once, without waiting; failures are not reported */
void odls_send_signal(struct odls *o, const struct odls_proc *p, int signum);
/* The socket's and the retry timer's callbacks. */
void odls_send_on_ready(int fd, int events, void *arg);
void odls_send_on_retry(void *arg);

/* odls_watch.c */
void odls_watch_start(struct odls *o);
void odls_watch_heard(struct odls *o);
void odls_watch_on_due(void *arg);
void odls_lose(struct odls *o, const char *why);

#endif
