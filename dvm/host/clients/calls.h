/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of the control API by clients: served at the head, passed on to it by members. */
#ifndef DVM_CLIENTS_CALLS_H
#define DVM_CLIENTS_CALLS_H

#include "dvm/host/app/app.h"
#include "dvm/host/ctl/ctl.h"
#include "dvm/host/env/host_env.h"
#include "dvm/protocol/core/core.h"
#include "dvm/protocol/wire/client.h"

struct calls_io { /* sends to a client; nothing is done if the client has left */
    void (*reply)(uint32_t client, int status, const char *body, void *arg);
    /* One event of a stream. -1: the client has left, or does not read. */
    int (*line)(uint32_t client, const char *event, void *arg);
    void (*slow)(uint32_t client, void *arg); /* its stream has ended */
    void *arg;
};

struct calls;
/* Borrows all until calls_destroy(), but copies `io`. */
struct calls *calls_create(const struct host_env *env, struct core *core, struct ctl *ctl,
                           const struct calls_io *io);
void calls_destroy(struct calls *s);
/* Each call gets one reply, maybe within the call; an event stream at the head has lines too. */
void calls_make(struct calls *s, uint32_t client, enum api_role role,
                const struct client_call *call);
void calls_handle(struct calls *s, struct app_table *t); /* APP_REPLY; at the head APP_CALL */

#endif
