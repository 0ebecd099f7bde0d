/* SPDX-License-Identifier: BSD-3-Clause */
/* Clients of a daemon: programs at its local socket or from outside, and ranks and tools that spawn
 * a job; their jobs, sessions, input and output. A client has a number, which is never used again.
 */
#ifndef DVM_CLIENTS_CLIENTS_H
#define DVM_CLIENTS_CLIENTS_H

#include "api/role.h"
#include "base/tls/tls.h"
#include "dvm/host/ctl/ctl.h"
#include "dvm/host/env/host_env.h"
#include "dvm/host/iof/iof.h"
#include "dvm/host/net/net.h"
#include "dvm/host/pmix/pmix_srv.h"
#include "dvm/protocol/core/core.h"
#include "dvm/protocol/files/files.h"
#include "dvm/protocol/wire/client.h"

#define CLIENTS_OUTSIDE_MAX 256        /* connections over TLS; further ones are refused */
#define SESSIONS_MAX 256               /* clients that may come back */
#define DETACH_OUTPUT_MAX (256u << 10) /* kept output of one detached job */
#define DETACH_OVER_MAX 64             /* ended detached jobs whose last output is kept */

struct clients_parts { /* borrowed until clients_destroy() */
    struct core *core;
    struct net *net;
    struct iof *iof;
    struct files *files;
    struct pmix_srv *pmix;
    struct ctl *ctl;
};

struct clients_io { /* callbacks that the owner gives to this service */
    /* A call of the control API. Its reply comes by clients_reply(). */
    void (*call)(uint32_t client, enum api_role role, const struct client_call *call, void *arg);
    /* The files of a job that is spawned here. `own` gets the spec with the files' names on the
     * job's daemons; the caller frees it in any case. `sources` gets the paths where the files
     * are read. -1: the reason is in err. */
    int (*name_files)(const struct job_spec *spec, struct job_spec *own, char ***sources,
                      struct err *err, void *arg);
    /* Reads them as clients_files_room() says; takes `sources`. */
    void (*read_files)(uint32_t client, char **sources, size_t n, void *arg);
    void (*gone)(uint32_t client, void *arg); /* the client has left and cannot come back */
    void *arg;
};

struct clients;
/* Borrows env, copies the rest. */
struct clients *clients_create(const struct host_env *env, const struct clients_parts *parts,
                               const struct clients_io *io);
void clients_destroy(struct clients *c);

/* Upcalls of dvm/host/net, between enter and drain. A program has connected (peer NULL: by the
 * local socket); the others return false if the connection is not a client's. */
void clients_opened(struct clients *c, uint64_t net_id, const struct tls_peer *peer);
bool clients_frame(struct clients *c, uint64_t net_id, const uint8_t *data, size_t len);
bool clients_closed(struct clients *c, uint64_t net_id, const char *why);
bool clients_drained(struct clients *c, uint64_t net_id);

/* OUT_CLIENT: an encoded client_msg of the core; `last`: the job has ended. */
void clients_answer(struct clients *c, uint32_t client, const void *data, size_t len, bool last);
/* OUT_INHERITED: the id was that of a client of the former head. `stays`: its detached job goes on.
 */
void clients_inherit(struct clients *c, uint32_t client, bool stays);
/* The client's job may send this many bytes of pieces of its files, in all. */
void clients_files_room(struct clients *c, uint32_t client, uint64_t total);

/* For dvm/host/clients/calls.h: nothing is done for a client that has left. */
void clients_reply(struct clients *c, uint32_t client, int status, const char *body);
/* -1: the client has left, or does not read. */
int clients_line(struct clients *c, uint32_t client, const char *event);
void clients_slow(struct clients *c, uint32_t client); /* the client is refused */

/* For dvm/host/iof: the members of struct iof_io. */
void clients_send(struct clients *c, uint32_t client, const void *data, size_t len);
bool clients_there(const struct clients *c, uint32_t client);
size_t clients_pending(const struct clients *c, uint32_t client);
void clients_pause(struct clients *c, uint32_t client, bool paused);

/* pmix_srv_upcalls.on_spawn() */
void clients_spawn(struct clients *c, pmix_req req, const struct job_spec *spec, const char *hosts);
/* pmix_srv_upcalls.on_push() */
void clients_push_input(struct clients *c, pmix_req req, const struct pmix_srv_proc *from,
                        const struct pmix_srv_proc *to, const void *data, size_t len, bool end);
/* pmix_srv_upcalls.on_output_read() for a client */
void clients_output_read(struct clients *c, uint32_t client, size_t len);
/* Whether a tool here has spawned this job. */
bool clients_tool_spawned(const struct clients *c, const char *nspace);

#endif
