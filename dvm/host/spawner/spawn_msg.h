/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between daemon and spawner: one codec for both sides. */
#ifndef DVM_SPAWNER_SPAWN_MSG_H
#define DVM_SPAWNER_SPAWN_MSG_H

#include "base/buf/buf.h"
#include "base/err/err.h"

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

/* One message is one packet of a SOCK_SEQPACKET pair. The daemon assigns ids: never 0, never
 * reused. */
#define SPAWN_MSG_MAX 8192
#define SPAWN_WHAT_MAX 1024
#define SPAWN_SPEC_MAX (8u << 20) /* bytes of one encoded struct spawn_spec */
#define SPAWN_STRINGS_MAX 65536   /* strings in one argv or environment, at most */
#define SPAWN_STRING_MAX 131072   /* bytes of one string: the kernel's limit */
#define SPAWN_MASK_MAX 8192       /* bytes of a CPU mask */

enum spawn_cmd_kind {
    SPAWN_CMD_START = 1, /* id, job, flags of a start; comes with SPAWN_FD_COUNT descriptors */
    SPAWN_CMD_SIGNAL,    /* id, signum: to the process group; an ended rank is ignored */
    SPAWN_CMD_JOB_END,   /* job: its ranks have ended; kill their leftover processes, forget the job
                          */
    SPAWN_CMD_CLEAN_ADD, /* id of a scope, flags of remove.h, path: keep for SPAWN_CMD_CLEAN_RUN */
    SPAWN_CMD_CLEAN_RUN, /* id: remove the paths of the scope, answer SPAWN_REP_CLEANED, forget it
                          */
    SPAWN_CMD_GO,        /* id of a start that waits */
    SPAWN_CMD_PING,      /* answered by SPAWN_REP_ALIVE */
};

enum spawn_start_flag {
    SPAWN_START_HELD = 1,      /* the program stops before its first instruction */
    SPAWN_START_TRACEABLE = 2, /* any process of the same user may debug it */
    SPAWN_START_WAITS = 4,     /* prepares the rank up to its exec, which waits for SPAWN_CMD_GO */
};

/* The descriptors of a start, in this order. */
enum spawn_fd { SPAWN_FD_SPEC, SPAWN_FD_STDIN, SPAWN_FD_STDOUT, SPAWN_FD_STDERR, SPAWN_FD_COUNT };

struct spawn_cmd {
    enum spawn_cmd_kind kind;
    uint64_t id;
    uint64_t job;
    uint32_t signum;
    uint32_t flags;
    uint32_t
        limit_ms; /* of each command: a daemon with ranks that is silent for so long is killed */
    char path[PATH_MAX];
};

void spawn_msg_cmd_encode(struct buf *b, const struct spawn_cmd *c);
int spawn_msg_cmd_decode(struct cur *in, struct spawn_cmd *out, struct err *err)
    __attribute__((warn_unused_result));

/* For each start: FAILED, or STARTED and later EXITED. Reports come in the order in which they
 * are sent. */
enum spawn_rep_kind {
    SPAWN_REP_READY = 1, /* with SPAWN_START_WAITS: all checks have passed */
    SPAWN_REP_STARTED,
    SPAWN_REP_FAILED,
    SPAWN_REP_HELD,    /* with SPAWN_START_HELD: the rank has stopped and can be debugged */
    SPAWN_REP_GOES_ON, /* after HELD: a process has sent SIGCONT; not reported if the rank ends at
                          once */
    SPAWN_REP_EXITED,
    SPAWN_REP_CLEANED, /* of a scope. Scopes that were not run are run when the daemon has ended */
    SPAWN_REP_ALIVE,   /* the answer to a ping; one answer may stand for several pings */
};

struct spawn_rep {
    enum spawn_rep_kind kind;
    uint64_t id;
    int32_t value; /* STARTED: pid; FAILED: errno; EXITED: status as waitpid(2) gives it;
                      CLEANED: 0 or errno */
    char what[SPAWN_WHAT_MAX]; /* FAILED: the failed action, "exec /x/y" */
};

void spawn_msg_rep_encode(struct buf *b, const struct spawn_rep *r);
int spawn_msg_rep_decode(struct cur *in, struct spawn_rep *out, struct err *err)
    __attribute__((warn_unused_result));

/* The description of a rank, in the memory file of a start. Encoding borrows, decoding
 * allocates: spawn_msg_spec_free(). */
struct spawn_spec {
    const char *const *argv; /* NULL-terminated, as is env, which may be NULL */
    const char *const *env;
    const char *cwd;
    const char *cpuset;  /* the mask as text, for messages; "" if there is none */
    const uint8_t *mask; /* for sched_setaffinity(2), in the machine's own layout */
    size_t mask_len;     /* 0: bound like the spawner */
};

/* -1: over a limit; the buffer is unusable then. */
int spawn_msg_spec_encode(struct buf *b, const struct spawn_spec *s, struct err *err)
    __attribute__((warn_unused_result));
/* -1: nothing is left allocated. The mask borrows from the input. */
int spawn_msg_spec_decode(struct cur *in, struct spawn_spec *out, struct err *err)
    __attribute__((warn_unused_result));
void spawn_msg_spec_free(struct spawn_spec *s);

#endif
