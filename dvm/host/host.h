/* SPDX-License-Identifier: BSD-3-Clause */
/* The services of a daemon and how they are joined. The daemon (daemon.c) builds the parts below
 * them and carries out the rest of the core's actions. */
#ifndef DVM_HOST_HOST_H
#define DVM_HOST_HOST_H

#include "base/tls/tls.h"
#include "dvm/host/ctl/ctl.h"
#include "dvm/host/env/host_env.h"
#include "dvm/host/iof/iof.h"
#include "dvm/host/net/net.h"
#include "dvm/host/odls/odls.h"
#include "dvm/host/pmix/pmix_srv.h"
#include "dvm/protocol/core/core.h"
#include "dvm/protocol/files/files.h"

struct host_parts {
    struct tls_ctx *tls;
    struct net *net;
    struct odls *odls;
    struct pmix_srv *pmix;
    struct core *core;
    struct ctl *ctl;
    struct iof *iof;
    struct files *files;
    uint64_t wait_told_ms; /* waits_create() */
};

struct host;
/* Borrows both. The daemon fills in the parts as it builds them, with the upcalls and io tables
 * below. The PMIx server already asks for clean-up (on_clean_add(), on_clean_run()) while it is
 * created: odls is there by then. */
struct host *host_create(const struct host_env *env, const struct host_parts *parts);
void host_join(struct host *h); /* creates the services; all parts are there */
/* After the parts, except the core: those that end tell the services. */
void host_destroy(struct host *h);

extern const struct net_upcalls host_net_upcalls;       /* arg: the host */
extern const struct pmix_srv_upcalls host_pmix_upcalls; /* arg: the host */
struct iof_io host_iof_io(struct host *h);
struct files_io host_files_io(struct host *h);
struct host_odls {
    const struct odls_upcalls *upcalls;
    void *arg;
};
struct host_odls host_odls(struct host *h);

/* Passes an action of the core to the service that it is for. False: it is the daemon's own
 * (OUT_STATE, OUT_PARK, OUT_EXIT, OUT_LOG). */
bool host_carry_out(struct host *h, const struct out_act *act);

#endif
