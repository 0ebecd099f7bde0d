/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions: jobs that outlive a connection of their clients. */
#ifndef DVM_CLIENTS_SESSION_PRIVATE_H
#define DVM_CLIENTS_SESSION_PRIVATE_H

#include "dvm/host/clients/client_private.h"

#define SESSION_NO_ROOM "too many jobs of clients outside at this daemon"

void session_free(struct session *s);           /* NULL is fine */
bool session_has_room(const struct clients *c); /* for one more client that may come back */
void session_open(struct clients *c, struct client *k,
                  const struct client_open *m);                               /* may free k */
void session_attach(struct clients *c, struct client *k, const char *nspace); /* frees k */
void session_detach(struct clients *c, struct client *k);
/* The detached job of a client of the former head. */
void session_inherit(struct clients *c, struct client *k);
/* A numbered message of the client has arrived. -1: it exceeds the limit of unacknowledged
 * input. */
int session_heard(struct clients *c, const struct client *k, size_t len);
void session_hold(struct clients *c, const struct client *k, bool hold); /* acknowledges nothing */
/* The client has all messages up to number `have`. -1: this number was never sent. */
int session_ack(struct clients *c, const struct client *k, uint64_t have);
void session_bye(struct clients *c, struct client *k);                 /* may free k */
void session_said(struct session *s, const uint8_t *data, size_t len); /* to the client */
/* The connection is lost. False: the client has no session and has to end. */
bool session_lost(struct clients *c, struct client *k, const char *why);
void session_over(struct clients *c, struct client *k); /* its job has ended; may free k */
size_t session_pending(const struct clients *c, const struct client *k);
bool session_detached(const struct session *s);
bool session_is_over(const struct session *s); /* the client was sent the end of its job */
/* Whether the backlog of the client counts until it is acknowledged, not only until it is
 * written. */
bool session_numbered(const struct session *s);

#endif
