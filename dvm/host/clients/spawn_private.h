/* SPDX-License-Identifier: BSD-3-Clause */
/* PMIx_Spawn: a client without a connection, which stands for the rank or tool that spawns. */
#ifndef DVM_CLIENTS_SPAWN_PRIVATE_H
#define DVM_CLIENTS_SPAWN_PRIVATE_H

#include "dvm/host/clients/client_private.h"

struct spawn *spawn_create(pmix_req req, const struct job_spec *spec);
void spawn_free(struct spawn *s); /* NULL is fine */
/* A message of the core for the spawner. */
void spawn_answer(struct clients *c, struct client *k, const void *data, size_t len);
const struct pmix_srv_proc *spawn_spawner(const struct spawn *s);
const char *spawn_nspace(const struct spawn *s); /* NULL: not accepted yet */
bool spawn_is_answered(const struct spawn *s);   /* the spawner knows the namespace */

#endif
