/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection to a daemon: frames of dvm/host/net, messages of dvm/protocol/wire/client.h. */
#ifndef DVM_CLI_CONN_H
#define DVM_CLI_CONN_H

#include "base/err/err.h"
#include "dvm/protocol/wire/client.h"
#include "dvm/tools/cli/find.h"

#include <stdbool.h>
#include <stddef.h>

struct cli_conn;

/* The message says what to do when nobody is there. A socket that we only guessed has to belong to
 * this user or to root: another user's could read the environment that a job brings along. */
struct cli_conn *cli_connect(struct cli_where *where, struct err *err);
/* The same, but to a host it is only begun: cli_conn_take() says -1 if it comes to nothing, with
 * ECONNREFUSED in err->code, or EACCES if another try would be of no use. */
struct cli_conn *cli_dial(const struct cli_where *where, struct err *err);
struct cli_conn *cli_conn_of(int fd); /* takes a connected socket */
void cli_conn_free(struct cli_conn *c);
int cli_conn_fd(const struct cli_conn *c);

/* Queues one message; -1 if it is over NET_FRAME_MAX. */
int cli_conn_send(struct cli_conn *c, const struct client_msg *m, struct err *err)
    __attribute__((warn_unused_result));
/* The same of an encoded message. */
int cli_conn_put(struct cli_conn *c, const void *data, size_t len, struct err *err)
    __attribute__((warn_unused_result));
size_t cli_conn_pending(const struct cli_conn *c); /* bytes that wait to be written */

/* Writes and (if `readable` was polled) reads what can be without blocking. 1: connected, 0: the
 * peer has closed (messages may still be taken), -1: a fault. */
int cli_conn_pump(struct cli_conn *c, bool readable, struct err *err)
    __attribute__((warn_unused_result));
/* The next whole message: 1, 0: none yet, -1: malformed. m->data borrows until the next pump. */
int cli_conn_take(struct cli_conn *c, struct client_msg *m, struct err *err)
    __attribute__((warn_unused_result));

/* Bytes of the message that was taken last. */
size_t cli_conn_taken(const struct cli_conn *c);

/* For programs that do one thing at a time: writes everything, waits for one message. 1, 0: closed,
 * -1: a fault or timeout_ms (-1: none) is over, err->code is ETIMEDOUT then. */
int cli_conn_wait(struct cli_conn *c, struct client_msg *m, int timeout_ms, struct err *err)
    __attribute__((warn_unused_result));
/* The same, and 2 as soon as other_fd (-1: none) is readable. */
int cli_conn_wait_or(struct cli_conn *c, struct client_msg *m, int other_fd, int timeout_ms,
                     struct err *err) __attribute__((warn_unused_result));

#endif
