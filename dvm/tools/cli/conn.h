/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection to a daemon: frames of dvm/host/net, messages of dvm/protocol/wire/client.h. */
#ifndef DVM_CLI_CONN_H
#define DVM_CLI_CONN_H

#include "base/err/err.h"
#include "dvm/protocol/wire/client.h"
#include "dvm/tools/cli/find.h"
#include "dvm/tools/cli/limit.h"

#include <stdbool.h>
#include <stddef.h>

struct cli_conn;

/* Connects to the daemon at `where`. The error message says what to do if no daemon is there. A
 * socket that the user did not name must belong to this user or to root: another user's daemon
 * could read the environment of a submitted job. */
struct cli_conn *cli_connect(struct cli_where *where, struct err *err);
/* The same; NULL and EINTR as soon as other_fd (-1: none) is readable. */
struct cli_conn *cli_connect_or(struct cli_where *where, int other_fd, struct err *err);
/* The same, within a time; a local socket is connected at once. */
struct cli_conn *cli_connect_within(struct cli_where *where, int other_fd, int timeout_ms,
                                    struct err *err);
/* Starts a connection. A local one is complete on return. For a host, cli_conn_take() returns -1
 * if the connection fails: err->code is ECONNREFUSED, or EACCES if another attempt is pointless. */
struct cli_conn *cli_dial(const struct cli_where *where, struct err *err);
struct cli_conn *cli_conn_of(int fd); /* Takes a connected socket. */
void cli_conn_free(struct cli_conn *c);
int cli_conn_fd(const struct cli_conn *c);

/* Queues one message. -1: it exceeds NET_FRAME_MAX. */
int cli_conn_send(struct cli_conn *c, const struct client_msg *m, struct err *err)
    __attribute__((warn_unused_result));
/* Queues one encoded message, as above. */
int cli_conn_put(struct cli_conn *c, const void *data, size_t len, struct err *err)
    __attribute__((warn_unused_result));
size_t cli_conn_pending(const struct cli_conn *c); /* bytes that wait to be written */

/* Writes, and reads if `readable` was polled, without blocking. 1: connected; 0: the peer has
 * closed (messages may still be taken); -1: a fault. */
int cli_conn_pump(struct cli_conn *c, bool readable, struct err *err)
    __attribute__((warn_unused_result));
/* The next whole message: 1, 0: none yet, -1: malformed. m->data borrows until the next pump. */
int cli_conn_take(struct cli_conn *c, struct client_msg *m, struct err *err)
    __attribute__((warn_unused_result));

/* Size in bytes of the message that was taken last. */
size_t cli_conn_taken(const struct cli_conn *c);

/* For programs with one request at a time: writes everything and waits for one message. 1: a
 * message; 0: closed; -1: a fault, or timeout_ms (-1: none) has passed and err->code is
 * ETIMEDOUT. */
int cli_conn_wait(struct cli_conn *c, struct client_msg *m, int timeout_ms, struct err *err)
    __attribute__((warn_unused_result));
/* The same; returns 2 as soon as other_fd (-1: none) is readable. */
int cli_conn_wait_or(struct cli_conn *c, struct client_msg *m, int other_fd, int timeout_ms,
                     struct err *err) __attribute__((warn_unused_result));
/* The same within a limit, which gives its notice meanwhile. */
int cli_conn_wait_limit(struct cli_conn *c, struct client_msg *m, int other_fd, struct cli_limit *l,
                        struct err *err) __attribute__((warn_unused_result));

#endif
