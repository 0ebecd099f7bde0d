/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside the sockets: connections, how they come to be, and how they end. */
#ifndef DVM_NET_NET_PRIVATE_H
#define DVM_NET_NET_PRIVATE_H

#include "dvm/host/net/net.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <sys/socket.h>
#include <uthash.h>

#define NET_INCOMING_MAX 4096
#define NET_HANDSHAKE_MS 10000
#define NET_LINGER_MS 2000
#define NET_PENDING_MAX ((size_t)512 << 20)
#define NET_PENDING_HIGH ((size_t)256 << 10)
#define NET_PENDING_LOW ((size_t)64 << 10)
#define NET_READ_MAX ((size_t)256 << 10) /* bytes read ahead, unless one frame is longer */
#define NET_HEADER 4
#define NET_RECORD_MAX ((size_t)16 << 10) /* bytes of a TLS record */

enum net_phase {
    NET_DIALING,   /* no socket yet, or no connection on it */
    NET_HANDSHAKE, /* TLS, or a local one that is to be told */
    NET_OPEN,
    NET_FLUSHING,  /* closed by us: what waits is written */
    NET_LINGERING, /* all is written and our side shut: the peer's end is waited for */
    NET_DEAD,      /* freed when the loop turns */
};

struct net_dial;

struct net_conn {
    struct net *net;
    uint64_t id;
    enum net_phase phase;
    bool incoming;
    bool tls;
    bool paused;
    bool told;        /* on_open has been called */
    bool was_high;    /* over NET_PENDING_HIGH, and on_drained not told yet */
    char *why;        /* to be told by on_closed */
    bool peer_ended;  /* `why` waits for frames that are read already */
    size_t want;      /* bytes of the frame that is being read, header included; 0: unknown */
    size_t unwritten; /* what waited when the deadline of a flush was set */
    struct bufferevent *bev;
    struct evbuffer *early;      /* what was sent before there was a bev */
    struct net_dial *dial;       /* while NET_DIALING */
    struct loop_timer *deadline; /* of the phase */
    struct loop_timer *soon;     /* armed with 0: work that may not be done within a call */
    UT_hash_handle hh;
};

struct net_listener;
struct net_lookup;
struct evdns_base;

struct net {
    struct loop *loop;
    struct tls_ctx *tls;
    struct net_upcalls up;
    void *arg;
    uint64_t last_id;
    size_t nincoming;
    struct net_conn *conns;
    struct net_listener *listeners;
    struct evdns_base *dns; /* made for the first name */
    struct net_lookup *lookups;
    uint64_t refused_ms; /* when a refusal was logged last */
    unsigned refused_unsaid;
    void (*on_done)(void *arg); /* of net_finish(); NULL otherwise */
    void *done_arg;
};

/* conn.c */
struct net_conn *net_conn_create(struct net *n, bool incoming, bool tls);
/* One that the user may still talk about. */
struct net_conn *net_conn_find(const struct net *n, uint64_t id);
/* Takes a connected socket, and for TLS shakes hands. `host`: whom the certificate has to name. */
void net_conn_attach(struct net_conn *c, int fd, const char *host);
/* on_closed will be called, on a later turn; only the first reason counts. */
void net_conn_fail(struct net_conn *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* No upcall. Freed on a later turn. */
void net_conn_drop(struct net_conn *c);
void net_conn_free(struct net_conn *c);
void net_conn_soon(struct net_conn *c);
void net_conn_drained(struct net_conn *c);
size_t net_conn_pending(const struct net_conn *c);

/* frame.c */
void net_frame_put(struct net_conn *c, const void *data, size_t len);
void net_frame_deliver(struct net_conn *c); /* calls up; c is still there afterwards, maybe dead */

/* closing.c */
void net_closing_start(struct net_conn *c);
void net_closing_turn(struct net_conn *c);
void net_closing_deadline(struct net_conn *c);
void net_closing_written(struct net_conn *c); /* something was */
void net_closing_readable(struct net_conn *c);

/* reason.c: in words, into a fixed buffer. */
bool net_reason_of_end(struct net_conn *c, short what, char *text,
                       size_t size); /* true: a plain end */
void net_reason_peer_name(int fd, char *text, size_t size);
/* A refused stranger, at most once a second. */
void net_reason_log_refusal(struct net *n, int fd, const char *why);

/* dial.c: takes none of its strings. */
void net_dial_tcp(struct net_conn *c, const char *host, uint16_t port, uint64_t timeout_ms);
void net_dial_local(struct net_conn *c, const char *path);
void net_dial_free(struct net_dial *d);

/* lookup.c: names to addresses. */
struct evutil_addrinfo;
typedef void net_lookup_fn(struct net *n, uint64_t conn, int gai_error,
                           struct evutil_addrinfo *list); /* takes list */
/* Numeric addresses are answered within the call, names perhaps too. */
void net_lookup_start(struct net *n, uint64_t conn, const char *host, uint16_t port,
                      net_lookup_fn *fn);
void net_lookup_cancel_all(struct net *n);

/* listen.c */
void net_listen_free_all(struct net *n);
int net_listen_unix_addr(const char *path, struct sockaddr_storage *ss, socklen_t *len,
                         struct err *err) __attribute__((warn_unused_result));

/* finish.c */
void net_finish_check(struct net *n);

#endif
