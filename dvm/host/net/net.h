/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections that carry frames: over mutual TLS between daemons, over a local socket to
 * clients. */
#ifndef DVM_NET_NET_H
#define DVM_NET_NET_H

#include "base/err/err.h"
#include "base/loop/loop.h"
#include "base/tls/tls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NET_FRAME_MAX (64u << 20) /* bytes of one frame */

/* This module knows neither vpids nor messages. A frame is a 32-bit big-endian length and that
 * many bytes. Connection ids are never reused and never 0. No upcall comes from within a net_*
 * call. */
struct net_upcalls {
    /* Connected, and the TLS handshake is complete (peer: its certificate, and of an incoming one
     * the key that it has proved to hold; NULL on a local socket). */
    void (*on_open)(uint64_t conn, bool incoming, const struct tls_peer *peer, void *arg);
    void (*on_frame)(uint64_t conn, const uint8_t *data, size_t len, void *arg);
    /* Called once for every id, also for a connection that never opened; not after net_close(). */
    void (*on_closed)(uint64_t conn, const char *why, void *arg);
    /* Pending bytes fell below 64 KiB after they had exceeded 256 KiB. */
    void (*on_drained)(uint64_t conn, void *arg);
};

struct net;
/* `tls` is borrowed; NULL if only local sockets are used. */
struct net *net_create(struct loop *loop, struct tls_ctx *tls, const struct net_upcalls *up,
                       void *arg, struct err *err);
void net_destroy(struct net *n);
/* On outgoing TLS connections this program proves from now on that it holds the key, to servers
 * that ask for it. Borrowed. */
void net_prove(struct net *n, const struct tls_held *held);
/* All of the numeric addresses, with one port. Port 0: any; *port returns the bound one. At most
 * 4096 peers are connected; more are refused after their handshake. At most 1024 are in their
 * handshake, 768 from one address: the oldest one makes room for the next. One that is not complete
 * is closed after 5 s, or 2 s while there are many. */
int net_listen_tls(struct net *n, const char *addr, uint16_t *port, struct err *err)
    __attribute__((warn_unused_result));
#define NET_LISTEN_MAX 4 /* addresses */
int net_listen_all(struct net *n, const char *const *addrs, size_t count, uint16_t *port,
                   struct err *err) __attribute__((warn_unused_result));
/* Replaces a stale socket file; mode 0600. At most 4096 are connected; more are closed at once.
 * Only peers of the same uid (SO_PEERCRED), or root, are accepted. */
int net_listen_local(struct net *n, const char *path, struct err *err)
    __attribute__((warn_unused_result));
/* Tries the last good address of the name first, then the answers of the name servers, without
 * blocking. `host` is a numeric address or a name; a dot at its end makes a name absolute. Gives up
 * after timeout_ms (on_closed has the reason). Sets TCP_NODELAY and keep-alive. */
uint64_t net_connect_tls(struct net *n, const char *host, uint16_t port, uint64_t timeout_ms);
/* The same with a choice of our own end. */
struct net_target {
    const char *host;
    uint16_t port;
    const char *from; /* numeric; tried first if it is of the family of `host`; NULL: any */
    bool unnamed;     /* the certificate needs no name: the caller checks its role and cluster */
};
uint64_t net_connect_to(struct net *n, const struct net_target *to, uint64_t timeout_ms);
/* Numeric addresses of both ends of a connection that is open over TCP; "" otherwise. */
#define NET_ADDRESS_MAX 46
struct net_ends {
    char own[NET_ADDRESS_MAX], other[NET_ADDRESS_MAX];
};
struct net_ends net_ends(const struct net *n, uint64_t conn);
uint64_t net_connect_local(struct net *n, const char *path);
/* Queues one frame; unknown ids are ignored. More than 512 MiB pending closes the connection
 * (on_closed). */
void net_send(struct net *n, uint64_t conn, const void *data, size_t len);
size_t net_pending(const struct net *n, uint64_t conn); /* bytes that wait to be written */
/* TLS handshakes that were completed, of both directions. */
struct net_handshakes {
    uint64_t full, resumed;
};
struct net_handshakes net_handshakes(const struct net *n);
/* flush: queued frames are written and our side is shut down. Input is read and dropped until
 * the peer closes or 2 s have passed, so that unread input cannot reset the connection. Without
 * flush the socket is closed at once. No upcall follows. */
void net_close(struct net *n, uint64_t conn, bool flush);
/* Stops and resumes reading from one connection (back pressure). */
void net_pause(struct net *n, uint64_t conn, bool paused);

/* Closes every connection with flush, accepts no further one, and calls on_done on a later turn
 * when none is left: 2 s after the last byte at most. */
void net_finish(struct net *n, void (*on_done)(void *arg), void *arg);

#endif
