/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets with descriptors between daemon and spawner, and sealed memory files for long contents.
 */
#ifndef DVM_SPAWNER_SPAWN_SOCK_H
#define DVM_SPAWNER_SPAWN_SOCK_H

#include "base/buf/buf.h"
#include "base/err/err.h"
#include "dvm/host/spawner/spawn_msg.h"

#include <stddef.h>

enum spawn_sock_result {
    SPAWN_SOCK_OK,
    SPAWN_SOCK_AGAIN, /* no packet, or no room: wait for the descriptor */
    SPAWN_SOCK_LATER, /* sending only: too many descriptors are in flight; try again in some ms */
    SPAWN_SOCK_GONE,  /* the peer has closed, or err says what is wrong */
};

/* Never blocks, raises no signal. Descriptors are borrowed. */
enum spawn_sock_result spawn_sock_send(int sock, const struct buf *msg, const int *fds, size_t nfds,
                                       struct err *err);
/* Reads one packet of at most SPAWN_MSG_MAX bytes into `data`. The caller gets the descriptors
 * (close-on-exec). A descriptor that does not fit into this process is -1. */
enum spawn_sock_result spawn_sock_recv(int sock, void *data, size_t *len, int fds[SPAWN_FD_COUNT],
                                       struct err *err);
void spawn_sock_close_fds(int fds[SPAWN_FD_COUNT]);

/* A memory file with these bytes, sealed: neither side can change it any more. */
int spawn_sock_memfd_create(const struct buf *bytes, struct err *err)
    __attribute__((warn_unused_result));
/* Maps such a file for the rest of the process's life; -1 if it is unsealed, empty or longer than
 * SPAWN_SPEC_MAX. */
int spawn_sock_memfd_map(int fd, struct cur *out, struct err *err)
    __attribute__((warn_unused_result));

#endif
