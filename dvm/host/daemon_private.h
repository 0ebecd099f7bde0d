/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon's parts, for daemon.c and host.c. */
#ifndef DVM_DAEMON_PRIVATE_H
#define DVM_DAEMON_PRIVATE_H

#include "base/tls/tls.h"
#include "dvm/host/app_msg/app_msg.h"
#include "dvm/host/clients/calls.h"
#include "dvm/host/clients/clients.h"
#include "dvm/host/ctl/ctl.h"
#include "dvm/host/daemon.h"
#include "dvm/host/env/host_env.h"
#include "dvm/host/iof/iof.h"
#include "dvm/host/net/net.h"
#include "dvm/host/odls/odls.h"
#include "dvm/host/pmix/pmix_srv.h"
#include "dvm/host/ranks/ranks.h"
#include "dvm/host/services/assemblies.h"
#include "dvm/host/services/collectives.h"
#include "dvm/host/services/control.h"
#include "dvm/host/services/credentials.h"
#include "dvm/host/services/events.h"
#include "dvm/host/services/foreign_jobs.h"
#include "dvm/host/services/modex.h"
#include "dvm/host/services/peers.h"
#include "dvm/host/services/pulled_output.h"
#include "dvm/host/services/queries.h"
#include "dvm/host/services/questions.h"
#include "dvm/host/services/resize_requests.h"
#include "dvm/protocol/core/core.h"
#include "dvm/protocol/stage/stage.h"
#include "dvm/protocol/wire/client.h"

struct daemon {
    struct daemon_opts opts;
    struct host_env env; /* for services */
    struct loop *loop;
    struct loop_timer *timer;
    struct loop_timer *tls_timer;
    struct loop_signal *sigterm, *sigint;
    struct tls_ctx *tls;
    struct net *net;
    struct odls *odls;
    struct pmix_srv *pmix;
    struct core *core;
    struct ctl *ctl;
    struct iof *iof;
    struct stage *stage;
    struct ranks *ranks;
    struct app_table app_messages;
    struct clients *clients;
    struct calls *calls;
    struct peers *peers;
    struct questions *questions;
    struct foreign_jobs *foreign_jobs;
    struct collectives *collectives;
    struct assemblies *assemblies;
    struct modex *modex;
    struct events *events;
    struct queries *queries;
    struct control *control;
    struct credentials *credentials;
    struct resize_requests *resize_requests;
    struct pulled_output *pulled_output;
    bool draining, exiting;
    int exit_code;
};

/* daemon.c */
void daemon_enter(struct daemon *d); /* tells the core the time; before each input */
void daemon_drain(struct daemon *d); /* carries out what the core wants; after each input */
int daemon_send_app(struct daemon *d, uint32_t vpid, enum out_class traffic, uint32_t kind,
                    const struct buf *b);
/* host.c: the services */
extern const struct net_upcalls host_net_upcalls;
extern const struct pmix_srv_upcalls host_pmix_upcalls;
extern const struct iof_io host_iof_io; /* its arg has to be set */
void host_join(struct daemon *d);       /* all other parts are there */
void host_part(struct daemon *d);
void host_app_message(struct daemon *d, uint32_t from, uint32_t kind, const void *data, size_t len);

#endif
