/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon's parts, shared by the daemon*.c files only. */
#ifndef DVM_DAEMON_PRIVATE_H
#define DVM_DAEMON_PRIVATE_H

#include "base/tls/tls.h"
#include "dvm/host/app_msg/app_msg.h"
#include "dvm/host/clients/calls.h"
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

#include <uthash.h>

struct toolio;
struct dclient { /* a program that has connected, or what it has left: a job to come back to */
    uint32_t id;
    uint64_t net_id;              /* 0: no connection, or none now */
    const char *role;             /* of its certificate; NULL: it came by the local socket */
    uint64_t spawn_req;           /* an application's PMIx_Spawn instead of a connection, */
    struct pmix_srv_proc spawner; /* and who called it */
    char *spawned;                /* the namespace, once accepted */
    enum job_stop stop;           /* of that job's ranks */
    struct toolio *tool;          /* it is a tool that spawned it; NULL: a rank */
    bool submitted;
    struct session *session; /* NULL: it ends with its connection */
    UT_hash_handle hh, hh2;
};

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
    struct dclient *clients, *clients_by_net;
    uint32_t next_client;
    struct app_table app_messages;
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
    bool draining, again, exiting;
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
void host_join(struct daemon *d); /* all other parts are there */
void host_part(struct daemon *d);
void host_app_message(struct daemon *d, uint32_t from, uint32_t kind, const void *data, size_t len);
/* daemon_client.c: prun and its kin, and ranks that spawn */
#define DCLIENT_OUTSIDE_MAX 256 /* connections over TLS */
struct dclient *dclient_by_net(const struct daemon *d, uint64_t id);
struct dclient *dclient_by_id(const struct daemon *d, uint32_t id);
void dclient_open(struct daemon *d, uint64_t net, const struct tls_peer *peer); /* NULL: local */
void dclient_frame(struct daemon *d, struct dclient *k, const uint8_t *data, size_t len);
void dclient_closed(struct daemon *d, struct dclient *k, const char *why);
void dclient_drained(struct daemon *d, struct dclient *k);
void dclient_say(struct daemon *d, const struct dclient *k, const struct client_msg *m);
void dclient_refuse(struct daemon *d, struct dclient *k, int code, const char *why);
void dclient_end(struct daemon *d, struct dclient *k); /* its job, too; frees k */
/* The connection of `from` becomes that of `to`; `from` is freed. */
void dclient_hand_over(struct daemon *d, struct dclient *from, struct dclient *to);
void dclient_disconnect(struct daemon *d, struct dclient *k, bool flush);
void dclient_forget(struct daemon *d, struct dclient *k);
void dclient_act(struct daemon *d, const struct out_act *act); /* OUT_CLIENT */
uint32_t dclient_of_spawn(struct daemon *d, pmix_req req, const struct job_spec *spec);
void dclient_free_all(struct daemon *d);
/* So many bytes of pieces of its job's files may come, in all. */
void dclient_files_room(struct daemon *d, uint32_t id, uint64_t total);
extern const struct iof_io dclient_iof_io;
/* daemon_tool.c: input and output of what tools spawn */
void toolio_create(struct dclient *k, const struct job_spec *spec);
void toolio_free(struct daemon *d, struct dclient *k);
/* What iof has for it (an encoded message); before the tool knows the job's name it is kept. */
void toolio_send(struct daemon *d, struct dclient *k, const void *data, size_t len);
void toolio_named(struct daemon *d, struct dclient *k); /* now it does */
size_t toolio_pending(const struct dclient *k);
void toolio_pause(struct daemon *d, struct dclient *k, bool paused); /* its input */
void toolio_output_read(struct daemon *d, uint32_t client, size_t len);
struct dclient *toolio_spawned_as(const struct daemon *d, const char *nspace); /* by a tool here */
void toolio_push(pmix_req req, const struct pmix_srv_proc *from, const struct pmix_srv_proc *to,
                 const void *data, size_t len, bool end, void *arg);
void dclient_reply(uint32_t client, int status, const char *body, void *arg);
int dclient_line(uint32_t client, const char *event, void *arg);
/* daemon_session.c: jobs whose clients come back, or others in their place */
#define SESSIONS_MAX 256               /* of clients that may come back */
#define DETACH_OUTPUT_MAX (256u << 10) /* the latest output of one detached job that is kept */
#define DETACH_OVER_MAX 64             /* such jobs that are over whose last words are kept */
void session_free(struct session *s);
void session_open(struct daemon *d, struct dclient *k,
                  const struct client_open *m);                               /* may free k */
void session_attach(struct daemon *d, struct dclient *k, const char *nspace); /* frees k */
void session_detach(struct daemon *d, struct dclient *k);
/* The client has said something that is numbered. -1: more than it may. */
int session_heard(struct daemon *d, const struct dclient *k, size_t len);
void session_hold(struct daemon *d, const struct dclient *k, bool hold); /* acknowledges nothing */
int session_ack(struct daemon *d, const struct dclient *k, uint64_t have);
void session_bye(struct daemon *d, struct dclient *k);                   /* may free k */
void session_said(struct session *s, const uint8_t *data, size_t len);   /* to the client */
bool session_lost(struct daemon *d, struct dclient *k, const char *why); /* false: it has to end */
void session_over(struct daemon *d, struct dclient *k); /* its job is; may free k */
size_t session_pending(const struct daemon *d, const struct dclient *k);
bool session_detached(const struct session *s);
bool session_is_over(const struct session *s); /* its job has been told to be */
/* Whether what waits for the client is acknowledged by it, not only written. */
bool session_numbered(const struct session *s);

#endif
