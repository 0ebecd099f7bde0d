/* SPDX-License-Identifier: BSD-3-Clause */
/* Forwarding of output, input and back pressure between ranks, daemons and the submitting client.
 */
#ifndef DVM_IOF_IOF_H
#define DVM_IOF_IOF_H

#include "dvm/host/odls/odls.h"
#include "dvm/protocol/core/core.h"

/* Kinds of application messages (OUT_APP) that belong to this module. */
enum iof_kind {
    IOF_OUTPUT = 1, /* nspace, client, rank, stream, bytes: to the submitter's daemon */
    IOF_PAUSE,      /* nspace, u8 enum iof_pause: stop or continue reading */
    IOF_STDIN, /* nspace, bytes (none: end of input): to the daemons of the ranks that take input */
    IOF_STDIN_TAKEN, /* nspace: the ranks here have room for the next piece */
    IOF_NOTE,        /* nspace, client, text: a message for the user, beside the output */
    /* A copy of a job's output, between a daemon whose tools have requested it and the
     * submitter's daemon. Each message is ordered after the earlier ones. */
    IOF_COPY_START,   /* nspace: to the submitter's daemon */
    IOF_COPY_STARTED, /* nspace: all output from now on will be copied */
    IOF_COPY,         /* nspace, rank, stream, bytes */
    IOF_COPY_PAUSE, /* nspace, u8: stop or continue, since the reader is behind or has caught up */
    IOF_COPY_STOP,  /* nspace: stop copying */
    IOF_COPY_END,   /* nspace: no further copies follow */
    IOF_KINDS
};

/* The cause of a pause: the submitter is behind, or readers of copies are. A rank is read when
 * neither is. */
enum iof_pause { IOF_SUBMITTER_GOES_ON, IOF_SUBMITTER_WAITS, IOF_COPIES_GO_ON, IOF_COPIES_WAIT };

#define IOF_SEND_HIGH                                                                              \
    (8u << 20) /* unacknowledged output towards one daemon at which the ranks are not read */
#define IOF_SEND_LOW (2u << 20)
#define IOF_CLIENT_HIGH (1u << 20) /* unwritten towards a client at which the job is not read */
#define IOF_INPUT_HIGH (1u << 20)  /* kept input at which a client is not read */

#define IOF_RANK_HIGH (64u << 10) /* input that waits for a rank at which no more is sent */

struct iof_io { /* callbacks that the owner gives to this module */
    void (*client_send)(uint32_t client, const void *data, size_t len, void *arg);
    /* The core may have forgotten it: what the core has ordered is carried out later. */
    bool (*client_there)(uint32_t client, void *arg);
    size_t (*client_pending)(uint32_t client, void *arg);
    void (*client_pause)(uint32_t client, bool paused, void *arg); /* stop reading it */
    /* To the reader of copies, of IOF_COPY_STARTED, IOF_COPY and IOF_COPY_END. */
    void (*copy)(enum iof_kind kind, const char *nspace, uint32_t rank, int stream,
                 const void *data, size_t len, void *arg);
    void *arg;
};

struct iof;
struct iof *iof_create(struct core *core, struct odls *odls, const struct iof_io *io);
void iof_destroy(struct iof *f);
/* A local rank of the job has written; it goes to the submitter's daemon. */
void iof_output(struct iof *f, const struct job_launch *l, uint32_t rank, int stream,
                const void *data, size_t len);
/* A text about the job's ranks here for the reader of their output. */
void iof_note(struct iof *f, const struct job_launch *l, const char *text);
/* OUT_APP of one of our kinds. */
void iof_msg(struct iof *f, uint32_t from, uint32_t kind, const void *data, size_t len);
/* A client's input; len 0: its end. */
void iof_client_stdin(struct iof *f, uint32_t client, const void *data, size_t len);
/* OUT_STDIN: the job has started. */
void iof_client_started(struct iof *f, uint32_t client);
void iof_client_drained(struct iof *f, uint32_t client);
void iof_client_gone(struct iof *f, uint32_t client);
void iof_stdin_room(struct iof *f, const char *nspace, uint32_t rank);
/* IOF_COPY_START, IOF_COPY_STOP and IOF_COPY_PAUSE to the submitter's daemon, `home`. */
void iof_copy_ask(struct iof *f, uint32_t home, enum iof_kind kind, const char *nspace, bool on);
/* A daemon has left or is lost: no further answer of it is awaited. */
void iof_member_gone(struct iof *f, uint32_t vpid);
void iof_job_gone(struct iof *f, const char *nspace);
/* Called after each turn: reads again from ranks that were paused, if their output has been
 * delivered. */
void iof_turn(struct iof *f);

#endif
