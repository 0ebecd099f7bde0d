/* SPDX-License-Identifier: BSD-3-Clause */
/* Forwarding of output, input and back pressure between ranks, daemons and the submitting client.
 */
#ifndef DVM_IOF_IOF_H
#define DVM_IOF_IOF_H

#include "dvm/core/core.h"
#include "dvm/odls/odls.h"

/* Kinds of application messages (OUT_APP) that belong to this module. */
enum iof_kind {
    IOF_OUTPUT = 1,  /* nspace, client, rank, stream, bytes: to the submitter's daemon */
    IOF_PAUSE,       /* nspace, u8: the submitter is slow, stop or go on reading */
    IOF_STDIN,       /* nspace, bytes (none: end): to the daemons of the ranks that take input */
    IOF_STDIN_TAKEN, /* nspace: the ranks here have room for the next piece */
    IOF_NOTE,        /* nspace, client, text: for the user, beside the output */
    IOF_KINDS
};

#define IOF_SEND_HIGH                                                                              \
    (8u << 20) /* unacknowledged output towards one daemon at which its ranks are not read */
#define IOF_SEND_LOW (2u << 20)
#define IOF_CLIENT_HIGH (1u << 20) /* unwritten towards a client at which the job is not read */
#define IOF_INPUT_HIGH                                                                             \
    (1u << 20) /* input of a client kept here at which the client is not read                      \
                */

#define IOF_RANK_HIGH (64u << 10) /* input that waits for a rank at which no more is sent */

struct iof_io { /* what the owner does for this module */
    void (*client_send)(uint32_t client, const void *data, size_t len, void *arg);
    size_t (*client_pending)(uint32_t client, void *arg);
    void (*client_pause)(uint32_t client, bool paused, void *arg); /* stop reading from it */
    void *arg;
};

struct iof;
struct iof *iof_create(struct core *core, struct odls *odls, const struct iof_io *io);
void iof_destroy(struct iof *f);
/* A local rank of the job has written; it goes to the submitter's daemon. */
void iof_output(struct iof *f, const struct job_launch *l, uint32_t rank, int stream,
                const void *data, size_t len);
/* A word about the job's ranks here for whoever reads their output. */
void iof_note(struct iof *f, const struct job_launch *l, const char *text);
/* OUT_APP of one of our kinds. */
void iof_msg(struct iof *f, uint32_t from, uint32_t kind, const void *data, size_t len);
/* A client's input; len 0: its end. */
void iof_client_stdin(struct iof *f, uint32_t client, const void *data, size_t len);
/* OUT_STDIN: its job has started. */
void iof_client_started(struct iof *f, uint32_t client);
void iof_client_drained(struct iof *f, uint32_t client);
void iof_client_gone(struct iof *f, uint32_t client);
void iof_stdin_room(struct iof *f, const char *nspace, uint32_t rank);
/* A daemon is gone: nobody waits for its word any more. */
void iof_member_gone(struct iof *f, uint32_t vpid);
void iof_job_gone(struct iof *f, const char *nspace);
/* After each turn: reads again from ranks whose output has gone ahead. */
void iof_turn(struct iof *f);

#endif
