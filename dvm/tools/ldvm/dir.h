/* SPDX-License-Identifier: BSD-3-Clause */
/* The directory of a local DVM: what is in it, who lives in it, how it goes away. */
#ifndef DVM_LDVM_DIR_H
#define DVM_LDVM_DIR_H

#include "base/err/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LDVM_MEMBERS_MAX 1024u

/*  DIR/                 0700, the user's own
 *    local.json         what was asked for at the start
 *    prted.sock         -> 0/prted.sock, the head's
 *    tls/<role>/        ca.crt, tls.crt, tls.key; roles head, member, operator, user
 *    <vpid>/            session directory of that daemon, with prted.log and pid
 *    0/ports.json       {"control": …, "join": …, "plain": …}, written by the head */
struct ldvm {
    char *dir;     /* absolute */
    char *cluster; /* "local/<name>" */
    char *prted;   /* the daemon's program */
    uint32_t slots;
    uint32_t radix;
};

void ldvm_free(struct ldvm *l); /* also the cleanup attribute's function */
#define LDVM_AUTO __attribute__((cleanup(ldvm_free)))

/* Keeps other prte from starting or resizing the same DVM until the descriptor is closed. Makes the
 * directory if need be. -1: one does so now, or the directory is not this user's. */
int ldvm_lock(const char *dir, struct err *err) __attribute__((warn_unused_result));
/* Fills the directory for l (all fields set), under the lock. What a DVM without living daemons
 * left behind is replaced; a living one, somebody else's directory or one with other files in it is
 * an error. */
int ldvm_make(const struct ldvm *l, struct err *err) __attribute__((warn_unused_result));
int ldvm_load(const char *dir, struct ldvm *out, struct err *err)
    __attribute__((warn_unused_result));
bool ldvm_is(const char *dir); /* a local DVM has been made there */
/* Everything in it and itself; links are never followed. Only for what ldvm_is(). */
int ldvm_remove(const char *dir, struct err *err) __attribute__((warn_unused_result));

char *ldvm_path(const char *dir, uint32_t vpid, const char *name); /* on the heap */
/* DIR/<vpid>, 0700; an existing one is kept. */
int ldvm_make_session(const char *dir, uint32_t vpid, struct err *err)
    __attribute__((warn_unused_result));
/* The head's ports, once it has written them. -1 and err->code ENOENT: not yet. */
int ldvm_ports(const char *dir, uint16_t *join, struct err *err)
    __attribute__((warn_unused_result));

/* Which process is the daemon of a vpid; told from a later process of the same number by the time
 * at which it was started. */
int ldvm_pid_write(const char *dir, uint32_t vpid, pid_t pid, struct err *err)
    __attribute__((warn_unused_result));
pid_t ldvm_pid(const char *dir, uint32_t vpid); /* 0: it does not live */

struct ldvm_daemon {
    uint32_t vpid;
    pid_t pid;
};
/* Those that live; the number of them, *list on the heap. */
size_t ldvm_daemons(const char *dir, struct ldvm_daemon **list);

#endif
