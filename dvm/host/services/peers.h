/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections to other daemons: those of the core on those of dvm/host/net. */
#ifndef DVM_SERVICES_PEERS_H
#define DVM_SERVICES_PEERS_H

#include "dvm/host/net/net.h"
#include "dvm/protocol/core/core.h"

struct peers;
/* Borrows all until peers_destroy(). */
struct peers *peers_create(struct loop *loop, struct net *net, struct core *core);
void peers_destroy(struct peers *s); /* leaves the connections open */
/* Whether this certificate is a daemon's. The core judges connections of daemons; all others are
 * programs. */
bool peers_is_daemon(const struct tls_peer *peer);
/* The core's actions; `conn` is its own id. */
void peers_connect(struct peers *s, const struct out_connect *to);
void peers_send(struct peers *s, uint64_t conn, const void *data, size_t len);
void peers_close(struct peers *s, uint64_t conn, bool flush);
/* Upcalls of dvm/host/net; `net_id` is its id. They are the core's input: enter before, drain
 * after. */
void peers_opened(struct peers *s, uint64_t net_id, bool incoming, const struct tls_peer *peer);
void peers_frame(struct peers *s, uint64_t net_id, const uint8_t *data, size_t len);
void peers_closed(struct peers *s, uint64_t net_id, const char *why);

#endif
