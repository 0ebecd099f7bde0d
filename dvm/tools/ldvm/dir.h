/* SPDX-License-Identifier: BSD-3-Clause */
/* The directory of a local DVM: its content, its living daemons, its removal. */
#ifndef DVM_LDVM_DIR_H
#define DVM_LDVM_DIR_H

#include "api/faults.h"
#include "base/err/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LDVM_MEMBERS_MAX 1024u

/* DIR/ 0700, the user's own: local.json, the options of the start; prted.sock -> 0/prted.sock,
 * the head's socket; tls/<role>/ with ca.crt, tls.crt, tls.key for the roles head, member,
 * operator, user; <vpid>/, the session directory of that daemon, with prted.log and pid;
 * 0/ports.json {"control": …, "join": …, "plain": …}, written by the head; supervisor, the process
 * that starts the head again. */
struct ldvm {
    char *dir;     /* absolute */
    char *cluster; /* "local/<name>" */
    char *prted;   /* the daemon's program */
    uint32_t slots;
    uint32_t radix;
    struct api_faults faults;
};

void ldvm_free(struct ldvm *l); /* also the cleanup attribute's function */
#define LDVM_AUTO __attribute__((cleanup(ldvm_free)))

/* Locks the DVM against other prte processes that start or resize it, until the descriptor is
 * closed. Creates the directory if needed. -1: another prte has the lock, the directory is not
 * this user's, or its path is too long for the sockets in it. */
int ldvm_lock(const char *dir, struct err *err) __attribute__((warn_unused_result));
/* Fills the directory for `l` (all fields set), under the lock. Remains of a DVM without living
 * daemons are replaced. A living DVM, another user's directory, and a directory with other files
 * are errors. */
int ldvm_make(const struct ldvm *l, struct err *err) __attribute__((warn_unused_result));
int ldvm_load(const char *dir, struct ldvm *out, struct err *err)
    __attribute__((warn_unused_result));
bool ldvm_is(const char *dir); /* true: a local DVM was created there */
/* Removes the directory and its content; links are never followed. Nothing is removed, and that is
 * no error, unless ldvm_is() holds. */
int ldvm_remove(const char *dir, struct err *err) __attribute__((warn_unused_result));

char *ldvm_path(const char *dir, uint32_t vpid, const char *name); /* on the heap */
/* DIR/<vpid>, mode 0700; an existing one is kept. */
int ldvm_make_session(const char *dir, uint32_t vpid, struct err *err)
    __attribute__((warn_unused_result));
struct ldvm_ports { /* of the head; 0: any */
    uint16_t control, join, plain;
};
/* Reads the head's ports. -1 with err->code ENOENT: the head has not written them yet. */
int ldvm_ports(const char *dir, struct ldvm_ports *out, struct err *err)
    __attribute__((warn_unused_result));

/* The process of a vpid's daemon. Its start time tells it from a later process with the same
 * number. */
int ldvm_pid_write(const char *dir, uint32_t vpid, pid_t pid, struct err *err)
    __attribute__((warn_unused_result));
pid_t ldvm_pid(const char *dir, uint32_t vpid); /* 0: it does not live */
int ldvm_supervisor_write(const char *dir, pid_t pid, struct err *err)
    __attribute__((warn_unused_result));
pid_t ldvm_supervisor(const char *dir); /* 0: it does not live */

struct ldvm_daemon {
    uint32_t vpid;
    pid_t pid;
};
/* The living daemons: returns their number, *list is on the heap. */
size_t ldvm_daemons(const char *dir, struct ldvm_daemon **list);

#endif
