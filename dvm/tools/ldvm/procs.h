/* SPDX-License-Identifier: BSD-3-Clause */
/* The processes of a local DVM's daemons: starts them and reports their ends. */
#ifndef DVM_LDVM_PROCS_H
#define DVM_LDVM_PROCS_H

#include "dvm/tools/ldvm/dir.h"

#include <stdbool.h>

struct procs;

/* `catch_signals`: procs_next() reports SIGINT, SIGTERM and SIGHUP; they do not end this
 * program. */
struct procs *procs_create(bool catch_signals, struct err *err);
void procs_destroy(struct procs *p); /* the processes are not ended */
size_t procs_living(const struct procs *p);
/* The vpids of those that live, ascending: procs_living() of them, on the heap. */
uint32_t *procs_vpids(const struct procs *p);

/* Starts prted for a vpid in a session of its own, with its output in DIR/<vpid>/prted.log, and
 * writes its pid file. `members`: the initial size for the head; `ports`: the head's, on which it
 * is to listen. */
int procs_start(struct procs *p, const struct ldvm *l, uint32_t vpid, uint32_t members,
                const struct ldvm_ports *ports, struct err *err)
    __attribute__((warn_unused_result));
/* Starts members as procs_start() does; `vpids` are ascending. Members with numbers of one length
 * that follow each other are forked by one prted (dvm/host/forkserver). */
int procs_start_members(struct procs *p, const struct ldvm *l, const uint32_t *vpids, size_t n,
                        const struct ldvm_ports *ports, struct err *err)
    __attribute__((warn_unused_result));
/* Takes a descriptor that procs_destroy() closes. */
void procs_keep_fd(struct procs *p, int fd);
/* Watches a process that another program started; returns 0 also if it has just ended. */
int procs_adopt(struct procs *p, const struct ldvm_daemon *d, struct err *err)
    __attribute__((warn_unused_result));

enum procs_kind { PROCS_TIMEOUT, PROCS_ENDED, PROCS_SIGNAL };
struct procs_event {
    enum procs_kind kind;
    uint32_t vpid;   /* ENDED */
    bool own;        /* ENDED: it was our child, so wait_status is known */
    int wait_status; /* as of waitpid(2) */
    int signum;      /* SIGNAL */
};
int procs_fd(const struct procs *p); /* readable: procs_next() has an event */
int procs_next(struct procs *p, int timeout_ms, struct procs_event *e, struct err *err)
    __attribute__((warn_unused_result));
typedef void procs_end_fn(void *arg, uint32_t vpid);
/* Waits until all have ended, `timeout_ms` in all; reports each end. `tell` may be NULL. A signal
 * ends the wait. True: all have ended. */
bool procs_all_end(struct procs *p, int timeout_ms, procs_end_fn *tell, void *arg);
int64_t procs_now_ms(void);                   /* of the monotonic clock */
void procs_kill(struct procs *p, int signum); /* ends all that live */

/* Text such as "ended with 3", "was ended by signal 9 (Killed)", "has ended"; on the heap. */
char *procs_event_text(const struct procs_event *e);

#endif
