/* SPDX-License-Identifier: BSD-3-Clause */
/* One prted: builds the parts and joins them; the pure core decides, this carries out. */
#ifndef DVM_DAEMON_H
#define DVM_DAEMON_H

#include "base/err/err.h"
#include "base/loop/loop.h"
#include "dvm/host/spawner/spawner.h"

#include <stdbool.h>
#include <stdint.h>

struct tls_ctx;

struct daemon_opts {
    const char *cluster;
    const char *host_name;           /* node name */
    struct hwloc_topology *topology; /* of the machine; borrowed until the end; NULL: unknown */
    const char *cpus;             /* that ranks may use (dvm/protocol/map/topo.h); "": not known */
    size_t naddresses;            /* 1 .. ADDRESSES_MAX */
    const char *const *addresses; /* that others reach us at */
    const char *head_host;
    const char *tls_dir; /* ca.crt, tls.crt, tls.key */
    struct tls_ctx *tls; /* of tls_dir; the daemon takes it; NULL: the daemon reads the files */
    const char *session_dir;
    const char *dvm_dir; /* NULL: session_dir; DVM_SESSION_DIR of ranks */
    size_t nbinds; /* 1 .. ADDRESSES_MAX; the control and the plain port are at the first one */
    const char *const *binds;
    int64_t drain_s;
    uint64_t reconnect_ms, ack_ms, orphan_ms; /* api/faults.h */
    uint64_t leave_ms;                        /* 0: the core's default */
    uint64_t pmix_silent_ms;                  /* 0: PMIX_SRV_SILENT_MS */
    uint64_t wait_told_ms;                    /* 0: WAITS_TOLD_MS */
    uint32_t vpid;                            /* 0: the head */
    uint32_t slots, radix, size;
    uint32_t links; /* to the parent, up to DAEMON_LINKS_MAX; 0: one by each of its addresses */
    uint16_t head_port;
    uint16_t control_port, join_port, plain_port; /* 0: any */
    const char *records_dir; /* of the file with the head's records; NULL: the session directory */
    bool keep_records;       /* head: in a file, for its next process */
    bool keepers;            /* head: members keep its records, and its next process asks them */
    bool park;               /* after leaving; otherwise the program ends */
    bool drain_kill;
};

#define DAEMON_LINKS_MAX 8

/* Reads the certificates of `tls_dir`. NULL and a reason on failure. */
struct tls_ctx *daemon_tls(const char *tls_dir, struct err *err);

struct daemon;
/* The spawner from spawner_split(); its socket is taken. Listens and writes <session>/ports.json
 * before it returns. */
struct daemon *daemon_create(struct loop *loop, const struct daemon_opts *o,
                             const struct spawner_handle *spawner, struct err *err);
void daemon_destroy(struct daemon *d);
/* After loop_run() has returned. */
int daemon_exit_code(const struct daemon *d);

#endif
