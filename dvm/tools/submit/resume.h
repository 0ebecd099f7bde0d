/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection to the DVM that is made again when it is lost. No message of either side is lost
 * or delivered twice (dvm/protocol/wire/client.h, sessions). */
#ifndef DVM_SUBMIT_RESUME_H
#define DVM_SUBMIT_RESUME_H

#include "dvm/tools/cli/conn.h"

#include <poll.h>

struct resume_opts {
    int64_t window_ms; /* how long to retry; 0: a lost connection is final */
    int64_t retry_ms;  /* the pause before the first retry, doubled with each; 0: 20 */
    struct cli_conn *(*dial)(void *arg,
                             struct err *err); /* starts a new connection; NULL: not possible now */
    void (*say)(void *arg, const char *text);  /* reports a line to the user */
    void *arg;
};

struct resume;
/* Takes the connection; the options are borrowed. */
struct resume *resume_create(struct cli_conn *c, const struct resume_opts *o);
/* Says goodbye, which ends a running job that is not detached. Waits a second at most. */
void resume_destroy(struct resume *r);

int resume_send(struct resume *r, const struct client_msg *m, struct err *err)
    __attribute__((warn_unused_result));
size_t resume_pending(const struct resume *r); /* bytes that the daemon has not acknowledged */

/* For poll(2): reads only if `reads`. Then call resume_turn(), and resume_take() until it
 * returns 0. */
struct pollfd resume_poll(const struct resume *r, bool reads);
int resume_timeout(const struct resume *r, int64_t now_ms); /* for poll(2); -1: none */
void resume_turn(struct resume *r, const struct pollfd *p, int64_t now_ms);
/* The next message. 1: a message; 0: none yet; -1: the connection is lost for good, or a fault. */
int resume_take(struct resume *r, struct client_msg *m, int64_t now_ms, struct err *err)
    __attribute__((warn_unused_result));

#endif
