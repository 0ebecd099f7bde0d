/* SPDX-License-Identifier: BSD-3-Clause */
/* One client, for the files of this folder. */
#ifndef DVM_CLIENTS_CLIENT_PRIVATE_H
#define DVM_CLIENTS_CLIENT_PRIVATE_H

#include "base/heap/hash.h"
#include "dvm/host/clients/clients.h"

struct session;
struct spawn;
struct tool;
struct client { /* a program that has connected, or its session after the connection is lost */
    uint32_t id;
    uint64_t net_id;    /* 0: no connection at present */
    enum api_role role; /* of its certificate; a program on the local socket is an operator */
    bool outside;       /* it has come by TCP, with a certificate */
    bool submitted;
    struct session *session; /* NULL: it ends with its connection */
    struct spawn *spawn;     /* NULL: it is no PMIx_Spawn */
    struct tool *tool;       /* the tool that spawned; NULL: a rank spawned, or it is no spawn */
    UT_hash_handle hh, hh2;
};

struct clients {
    const struct host_env *env;
    struct clients_parts parts;
    struct clients_io io;
    struct { /* set by clients.c: calls that session.c, spawn.c and tool.c need*/
        /* `answer`: pending requests of the client are answered. */
        void (*release)(struct clients *c, struct client *k, bool answer);
        /* Whether a client that is refused stays, since its job goes on without it. */
        bool (*keeps)(struct clients *c, struct client *k, const char *why);
    } hooks;
    struct client *by_id, *by_net;
    uint32_t last_id;
    uint64_t nreferrals; /* clients that were sent on to members */
};

/* net_id 0: without a connection. */
struct client *client_create(struct clients *c, uint64_t net_id);
struct client *client_create_as(struct clients *c, uint32_t id, uint64_t net_id);
struct client *client_find(const struct clients *c, uint32_t id); /* NULL: it has left */
/* Sends a message that is neither numbered nor kept. */
void client_say(struct clients *c, const struct client *k, const struct client_msg *m);
/* Sends the reason, disconnects, and ends the client and its job unless the job is detached. May
 * free k. */
void client_refuse(struct clients *c, struct client *k, enum exit_code code, const char *why);
void client_end(struct clients *c, struct client *k); /* ends the client and its job; frees k */
void client_disconnect(struct clients *c, struct client *k, bool flush);
void client_forget(struct clients *c, struct client *k); /* frees k */
/* The connection of `from` becomes that of `to`; `from` is freed. */
void client_hand_over(struct clients *c, struct client *from, struct client *to);

#endif
