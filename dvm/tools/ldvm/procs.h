/* SPDX-License-Identifier: BSD-3-Clause */
/* The processes of a local DVM's daemons: starts them, sees them end. */
#ifndef DVM_LDVM_PROCS_H
#define DVM_LDVM_PROCS_H

#include "dvm/tools/ldvm/dir.h"

#include <stdbool.h>

struct procs;

/* `catch_signals`: SIGINT, SIGTERM and SIGHUP are told by procs_next() in place of ending this
 * program. */
struct procs *procs_create(bool catch_signals, struct err *err);
void procs_destroy(struct procs *p); /* the processes live on */
size_t procs_living(const struct procs *p);

/* Starts prted for a vpid as a session of its own, with its output in DIR/<vpid>/prted.log, and
 * notes its pid. `members`: the size that the head begins with; `join`: the head's port (members).
 */
int procs_start(struct procs *p, const struct ldvm *l, uint32_t vpid, uint32_t members,
                uint16_t join, struct err *err) __attribute__((warn_unused_result));
/* Watches one that somebody else has started; 0 also if it has just ended. */
int procs_adopt(struct procs *p, const struct ldvm_daemon *d, struct err *err)
    __attribute__((warn_unused_result));

enum procs_kind { PROCS_TIMEOUT, PROCS_ENDED, PROCS_SIGNAL };
struct procs_event {
    enum procs_kind kind;
    uint32_t vpid;   /* ENDED */
    bool own;        /* ENDED: our child, so wait_status is known */
    int wait_status; /* as of waitpid(2) */
    int signum;      /* SIGNAL */
};
int procs_fd(const struct procs *p); /* readable: procs_next() has something */
int procs_next(struct procs *p, int timeout_ms, struct procs_event *e, struct err *err)
    __attribute__((warn_unused_result));
void procs_kill(struct procs *p, int signum); /* all that live */

/* "ended with 3", "was ended by signal 9 (Killed)", "has ended"; on the heap. */
char *procs_event_text(const struct procs_event *e);

#endif
