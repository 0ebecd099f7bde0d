/* SPDX-License-Identifier: BSD-3-Clause */
/* What a daemon needs of libpmix beyond the PMIx standard. What is not for any thread
 * is for functions that run on the library's thread. */
#ifndef PMIX_EXTEND_H
#define PMIX_EXTEND_H

#include <pmix_common.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Runs fn(arg) on the library's thread, after so many milliseconds; those without a delay run in
 * the order of the calls. From any thread. PMIX_ERR_INIT: the library has not been started. What
 * has not run when the library ends never does. */
pmix_status_t pmix_extend_run(void (*fn)(void *arg), void *arg, unsigned delay_ms);

/* The requests of tools for output, in a table with gaps. */
struct pmix_extend_pull {
    pmix_proc_t tool;
    size_t id; /* the tool's own number of the request */
    pmix_iof_channel_t channels;
    const pmix_proc_t *procs; /* borrowed: until the library's thread goes on */
    size_t nprocs;
    bool connected;
    size_t unread_bytes; /* what the tool has yet to read of all that was sent to it */
};
size_t pmix_extend_pulls(void); /* the size of the table */
bool pmix_extend_pull_at(size_t at, struct pmix_extend_pull *out);
/* Puts output into the queue of the tool that has made this request. */
pmix_status_t pmix_extend_pull_deliver(size_t at, pmix_iof_channel_t channel,
                                       const pmix_proc_t *source, const pmix_byte_object_t *bytes);

/* Whether some process of this rank is connected: its socket has not been found closed. When it has
 * been, all that the process had sent was read before. */
bool pmix_extend_is_connected(const pmix_proc_t *rank);

/* A rank here that `by` here waits for: 'f' in a fence, 'c' a connect, 'd' a disconnect, 'g' a
 * group, which the rank has not called; 'm': for data that it has not committed. Collectives are
 * told apart by their numbers. */
struct pmix_extend_wait {
    char what;
    uint64_t number;
    pmix_proc_t rank, by;
};
void pmix_extend_waits(void (*on)(const struct pmix_extend_wait *w, void *arg), void *arg);

/* The other end of a TCP connection within this network namespace, as the kernel's socket tables
 * have it: the user of the process, and the number of its socket. 0, or -1 if the peer is elsewhere
 * or has closed its end. The second one reads /proc only, as the first does where sock_diag is not
 * allowed. From any thread. */
struct pmix_extend_peer {
    uid_t uid;
    unsigned long inode;
};
int pmix_extend_peer_find(int sd, struct pmix_extend_peer *peer);
int pmix_extend_peer_find_by_table(int sd, struct pmix_extend_peer *peer);

/* Whether the process with the peer's socket descends from the one that creates ranks, or is
 * in this process's PID namespace. A process of another container is neither. */
bool pmix_extend_is_rank(const struct pmix_extend_peer *peer);
bool pmix_extend_is_tool(const struct pmix_extend_peer *peer);
/* Before PMIx_server_init: told() is called on the library's thread for each rank that is turned
 * away since its library's version is not served. The version is the client's own text. */
void pmix_extend_on_refused(void (*told)(const pmix_proc_t *rank, const char *version));
void pmix_extend_refused(const pmix_proc_t *rank, const char *version); /* the library's call */

/* Before PMIx_server_init: the process that creates ranks. 0, and without a call: this one. */
void pmix_extend_set_ancestor(pid_t pid);

#endif
