/* SPDX-License-Identifier: BSD-3-Clause */
/* The processes of a local DVM's daemons: starts them and reports their ends. */
#ifndef DVM_LDVM_PROCS_H
#define DVM_LDVM_PROCS_H

#include "dvm/tools/ldvm/dir.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>

struct procs;

/* `catch_signals`: procs_next() reports those of procs_signals(); they do not end this program. */
struct procs *procs_create(bool catch_signals, struct err *err);
/* SIGINT and SIGTERM; SIGHUP and SIGQUIT unless they are ignored. */
void procs_signals(sigset_t *set);
/* Reports one more signal. `catch_signals` was true. */
int procs_catch(struct procs *p, int signum, struct err *err) __attribute__((warn_unused_result));
/* Reports what comes from a stream socket, as PROCS_PEER. Takes the descriptor. */
int procs_watch_peer(struct procs *p, int fd, struct err *err) __attribute__((warn_unused_result));
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

enum procs_kind { PROCS_TIMEOUT, PROCS_ENDED, PROCS_SIGNAL, PROCS_PEER };
struct procs_event {
    enum procs_kind kind;
    uint32_t vpid;   /* ENDED */
    bool own;        /* ENDED: it was our child, so wait_status is known */
    int wait_status; /* as of waitpid(2) */
    int signum;      /* SIGNAL */
    char word;       /* PEER; 0: the far end is closed, which is reported once */
};
/* The user, or the program at the peer's end, wants something else than to wait. */
static inline bool procs_is_request(const struct procs_event *e)
{
    return e->kind == PROCS_SIGNAL || e->kind == PROCS_PEER;
}
/* Where such requests come from, for poll(2); returns their number. */
#define PROCS_REQUESTS 2
size_t procs_requests(const struct procs *p, struct pollfd out[PROCS_REQUESTS]);
int procs_fd(const struct procs *p); /* readable: procs_next() has an event */
int procs_next(struct procs *p, int timeout_ms, struct procs_event *e, struct err *err)
    __attribute__((warn_unused_result));
typedef void procs_end_fn(void *arg, uint32_t vpid);
/* Waits until all have ended, `timeout_ms` in all; reports each end. `tell` may be NULL. A request
 * ends the wait. True: all have ended. */
bool procs_all_end(struct procs *p, int timeout_ms, procs_end_fn *tell, void *arg);
int64_t procs_now_ms(void);                   /* of the monotonic clock */
void procs_kill(struct procs *p, int signum); /* ends all that live */
/* SIGKILL to all descendants of this program until none lives or the time has passed. Reaps none.
 * Processes that leave their parent are only found if this program is a subreaper. */
bool procs_kill_descendants(int timeout_ms);

/* Text such as "ended with 3", "was ended by signal 9 (Killed)", "has ended"; on the heap. */
char *procs_event_text(const struct procs_event *e);

#endif
