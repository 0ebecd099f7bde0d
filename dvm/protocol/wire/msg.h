/* SPDX-License-Identifier: BSD-3-Clause */
/* Every message between daemons: one struct, one table of layouts, so that encode and decode cannot
 * differ. */
#ifndef DVM_WIRE_MSG_H
#define DVM_WIRE_MSG_H

#include "dvm/protocol/wire/frame.h"
#include "dvm/protocol/wire/job.h"

#define MSG_DATA_MAX (64u << 20)
#define MSG_TEXT_MAX 16384u
#define RADIX_MIN 2
#define RADIX_MAX 1024

enum msg_type {
    /* between neighbours, on the link that carries them */
    MSG_HELLO = 1, /* number: enum hello_why, text: cluster, one member, op: last broadcast
                      processed, text2: the caller's CPUs (dvm/protocol/map/topo.h) if it joins */
    MSG_WELCOME,   /* number: radix, epoch: the caller's life, one member: the answering daemon */
    MSG_REFUSE,    /* number: enum refuse_why, text */
    MSG_BYE,       /* nothing follows on this link from this side */
    MSG_PING,
    MSG_PONG,
    MSG_ADD,      /* broadcast op: members that join */
    MSG_REMOVE,   /* broadcast op: targets that leave (number: enum remove_why), text: campaign */
    MSG_SHUTDOWN, /* broadcast op: number: enum shutdown_why, text */
    MSG_SNAPSHOT, /* not a broadcast: all members as of op, number: radix, data: nidmap */
    MSG_XACK,     /* op: the sender's whole subtree in the tree of op has processed op */
    MSG_LEFT, /* number 0: targets[0] has processed the removal that names it; 1: its link is gone.
                 From leaving daemons only, who have no routes: passed up until a survivor makes
                 MSG_GONE of it */
    /* routed along the tree, once and in order per (source, destination, class) */
    MSG_ROUTED,
    MSG_RACK = MSG_ROUTED, /* acknowledgement only: ack in the header */
    /* to the head */
    MSG_SUBMIT,     /* client, spec */
    MSG_SIGNAL,     /* nspace, number: signal (of the client's job); 0: the client is gone */
    MSG_LAUNCHED,   /* nspace, ranks: pid, or errno and what */
    MSG_REGISTERED, /* nspace: all local ranks called PMIx_Init */
    MSG_EXITED,     /* nspace, ranks: wait status */
    MSG_LOCAL_GONE, /* nspace: nothing of it is left on the sender; number 1: but output on its
                       way to this client of the head, whose end (IOF_END) counts first */
    MSG_ABORT,      /* nspace, rank, number: exit code, text */
    MSG_LOST,       /* targets: a neighbour is gone without a word, text */
    MSG_GONE,       /* targets, number as in MSG_LEFT */
    MSG_RELEASE_ME, /* number: seconds until it has to be gone, -1: none; number2: enum
                       api_drain_mode */
    MSG_REPORT, /* op: version, number: repairs; after each removal, or a snapshot in its place, and
                   first in answer to ASK */
    MSG_LOCAL_JOB, /* launch; in answer to ASK, for each job with ranks on the sender; what has been
                      said of them follows once more: LAUNCHED, EXITED, REGISTERED, LOCAL_GONE */
    /* to a member */
    MSG_LAUNCH, /* launch */
    MSG_KILL, /* nspace, number: signal; number2: ms of grace before SIGKILL, -1: only the signal */
    MSG_ACCEPTED,  /* nspace, client */
    MSG_JOB_STATE, /* nspace, client, number: enum job_state, text2: reason, vpids: who takes input,
                      once started */
    MSG_JOB_MAP,   /* nspace, client, data: a table, before any rank starts */
    MSG_DONE, /* nspace, client, number: exit code, text, vpids whose output is still to come */
    MSG_JOB_ENDED, /* nspace, number: exit code */
    MSG_ASK,       /* by the head: tell what you know */
    /* to any */
    MSG_IOF_END,     /* nspace, client: no more output of it from the sender */
    MSG_APP,         /* number: kind, data */
    MSG_GATHER_UP,   /* op: sequence, data2: signature, vpids, data */
    MSG_GATHER_DOWN, /* op: sequence, data2: signature, number: status, data */
    /* a job's files */
    MSG_STAGE,  /* nspace, client: its files go to targets now; to the submitter's daemon */
    MSG_STAGED, /* nspace: they are on the sender; or number: errno, text: why not; to the head */
    MSG_START,  /* nspace: they are on all daemons of the job, its ranks can start */
    /* to a member, by the head */
    MSG_RANKS_LOST, /* nspace, ranks: wait status and how; number: 1 if the other ranks go on; text,
                       rank: the process that has spawned the job, "" if none has */
    /* debugger hold */
    MSG_HELD,         /* to the head: nspace, number: ranks that stand still on the sender; when all
                         that are to are, and when none is any more */
    MSG_CONTINUE_ASK, /* to the head: nspace, rank (or JOB_RANK_ALL): let it go on */
    MSG_CONTINUE,     /* to a member: the same */
    /* An application's request for another size (dvm/protocol/wire/alloc.h): to the head, and its
       answers */
    MSG_ALLOC,        /* op: the daemon's number of it, nspace, rank: who asks; number: enum
                         alloc_kind, number2: seconds, -1: without end; text: the asker's own id,
                         text2: the campaign that is meant; client: how many, 0: vpids */
    MSG_ALLOC_ANSWER, /* op: as above, number: enum alloc_status, number2: enum api_phase, text: id
                         of the campaign, text2: why not */
    MSG_ALLOC_ENDED,  /* nspace, rank: to whom; number: enum alloc_status, text: id of the campaign,
                         text2: the cause, text3: the asker's own id */
    MSG_TYPES
};

enum hello_why { HELLO_JOIN, HELLO_LINK, HELLO_RESUME };
enum refuse_why {
    REFUSE_RETRY,      /* not now: try again later */
    REFUSE_EPOCH_OVER, /* this life is over */
    REFUSE_LEFT,       /* this life was removed while it was cut off, or its grow has failed */
    REFUSE_NEVER,      /* another cluster, a wrong role: a mistake of configuration */
};
enum remove_why { REMOVE_SHRINK, REMOVE_LOST };
enum shutdown_why { SHUTDOWN_DVM, SHUTDOWN_INCARNATION };

/* Node facts of one daemon, as nidmap and hello carry them. */
struct msg_member {
    uint32_t vpid;
    struct epoch epoch;
    char *host;
    char *address;
    uint16_t port;
    uint32_t slots;
};

struct msg_target {
    uint32_t vpid;
    struct epoch epoch;
};

/* What a wait status does not tell of a rank's end. */
enum rank_how {
    RANK_PLAIN,   /* nothing */
    RANK_WO_SYNC, /* it was a PMIx client and had not finalized */
    RANK_BY_CMD,  /* another process had it ended */
    RANK_ABORTED, /* it called PMIx_Abort; the status is the code it gave */
    RANK_LOST,    /* with its daemon: there is no status */
    RANK_HOWS
};

struct msg_rank {
    uint32_t rank;
    bool failed;
    uint8_t how; /* enum rank_how */
    int32_t value;
    char *text;
};

struct msg {
    enum msg_type type;
    uint64_t op;
    int64_t number;
    int64_t number2;
    struct epoch epoch;
    uint32_t client;
    uint32_t rank;
    char *nspace;
    char *text;
    char *text2;
    char *text3;
    size_t nvpids;
    uint32_t *vpids;
    size_t nmembers;
    struct msg_member *members;
    size_t ntargets;
    struct msg_target *targets;
    size_t nranks;
    struct msg_rank *ranks;
    const uint8_t *data; /* borrowed, also after decoding */
    size_t len;
    const uint8_t *data2;
    size_t len2;
    struct job_spec spec;
    struct job_launch launch;
};

const char *msg_name(unsigned type); /* "HELLO", "?" */
/* Encodes the fields that the type's layout names; missing texts are "", longer ones than
 * MSG_TEXT_MAX are cut there. */
void msg_encode(struct buf *b, const struct msg *m);
/* Decodes the body of `type`; -1, a reason, nothing allocated and `out` untouched if it is
 * malformed, too long, unknown, or says what no daemon may be told: a radix out of its limits, a
 * life without an epoch, a table of members without the head, the head among those that come or
 * go, a request for a size that names a daemon twice. */
int msg_decode(struct cur *c, unsigned type, struct msg *out, struct err *err)
    __attribute__((warn_unused_result));
void msg_free(struct msg *m); /* what msg_decode() allocated */
void msg_member_copy(struct msg_member *dst, const struct msg_member *src);
void msg_member_free(struct msg_member *m);

#endif
