/* SPDX-License-Identifier: BSD-3-Clause */
/* Test fixture: one or two PMIx servers, each in a process of its own, joined by a socket, that run
 * one job of real clients. */
#ifndef DVM_PMIX_TEST_PAIR_H
#define DVM_PMIX_TEST_PAIR_H

#include "dvm/protocol/head/published/store.h"

#include <stddef.h>
#include <stdint.h>

#define PAIR_NSPACE "7.1"
#define PAIR_CLIENTS "clients" /* as argv[0]: the program of this test's clients */

struct pair_plan {
    const char *const *argv; /* program and arguments of each rank, NULL-terminated */
    uint32_t ranks[2];       /* on each server, alternating; ranks[1] == 0: one server */
    const char *const *env;  /* "NAME=value" in addition to ours; may be NULL */
};

struct pair_result {
    int failed; /* ranks that did not exit 0, and servers that failed */
    char *out;  /* output of the ranks, and lines of the servers: "abort ...", "notify ..." */
};

/* Runs the job to its end. A run that hangs is ended by SIGALRM after a minute. The caller frees
 * out. */
struct pair_result pair_run(const struct pair_plan *plan);

/* The same, of the client of that name in clients/, with COLOUR=red in its environment. */
struct pair_result pair_run_client(const char *client, uint32_t ranks_a, uint32_t ranks_b);

/* A test in a process of its own, since the library allows one server per process. cmocka's
 * assertions cannot report from there; a line and an exit code can. */
int pair_child(void (*fn)(void)); /* its wait status */
#define in_child(fn) assert_int_equal(pair_child(fn), 0)
#define EXPECT(cond)                                                                               \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond);                   \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* Upcall of a head that keeps the values for this process. */
struct pmix_srv_data_ask;
enum store_result pair_data_serve(const struct pmix_srv_data_ask *a, bool at_once,
                                  struct buf *answer, void *arg);

struct pmix_srv;
/* Registers a copy of the sample, which the server then owns alone. */
struct job_launch;
void pair_register(struct pmix_srv *p, const struct job_launch *sample,
                   void (*done)(int status, void *arg), void *arg);

/* Upcalls of cleanup that keep and remove in this process; `arg` is this. */
struct pair_kept;
struct pair_keep {
    struct pmix_srv **pmix;
    struct pair_kept *kept;
};
#define PAIR_KEEP_ALL UINT64_MAX /* as a scope: all paths, at the end of the daemon */
void pair_keep_add(uint64_t scope, unsigned flags, const char *path, void *arg);
void pair_keep_run(uint64_t scope, void *arg);

#endif
