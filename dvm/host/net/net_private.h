/* SPDX-License-Identifier: BSD-3-Clause */
/* Internals of the connections: how they start and how they end. */
#ifndef DVM_NET_NET_PRIVATE_H
#define DVM_NET_NET_PRIVATE_H

#include "base/heap/hash.h"
#include "dvm/host/net/net.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <sys/socket.h>

#define NET_LOCAL_MAX 4096
#define NET_PEERS_MAX 4096
#define NET_STRANGERS_MAX 1024 /* up to 90 KiB each */
#define NET_STRANGERS_PER_SOURCE 768
#define NET_HANDSHAKE_MS 5000
#define NET_HANDSHAKE_HURRY_MS 2000
/* The rest is for the processes and files of ranks. */
#define NET_LOCAL_FDS_PERCENT 25
#define NET_PEERS_FDS_PERCENT 30
#define NET_STRANGERS_FDS_PERCENT 10
#define NET_LINGER_MS 2000
#define NET_STAGGER_MS 250 /* between attempts at the addresses of one name */
#define NET_PENDING_MAX ((size_t)512 << 20)
#define NET_PENDING_HIGH ((size_t)256 << 10)
#define NET_PENDING_LOW ((size_t)64 << 10)
#define NET_READ_MAX ((size_t)256 << 10) /* bytes read ahead, unless one frame is longer */
#define NET_HEADER 4
#define NET_RECORD_MAX ((size_t)16 << 10) /* bytes of a TLS record */

enum net_phase {
    NET_DIALING,   /* no socket yet, or not connected */
    NET_HANDSHAKE, /* TLS handshake, or a local connection that is not reported yet */
    NET_PROVING,   /* incoming: the handshake is complete, and the proof of a key is to come */
    NET_OPEN,
    NET_FLUSHING,  /* closed by us: pending bytes are written */
    NET_LINGERING, /* everything is written and our side is shut down; waits for the peer's end */
    NET_DEAD,      /* freed on the next turn */
};

struct net_dial;
struct door;
struct door_place;

struct net_addr {
    struct sockaddr_storage ss;
    socklen_t len; /* 0: none */
};

struct net_conn {
    struct net *net;
    uint64_t id;
    enum net_phase phase;
    bool incoming;
    bool tls;
    bool unnamed; /* any name in the certificate will do */
    bool paused;
    bool told;        /* on_open has been called */
    bool was_high;    /* exceeded NET_PENDING_HIGH, on_drained not called yet */
    char *why;        /* reason for on_closed */
    bool peer_ended;  /* `why` waits for frames that were already read */
    size_t want;      /* length of the frame being read, with header; 0: unknown */
    size_t unwritten; /* pending bytes when the deadline of a flush was set */
    struct bufferevent *bev;
    struct evbuffer *early; /* bytes sent before the connection was open */
    struct net_dial *dial;  /* while NET_DIALING */
    char *host;             /* that was dialed, and the port and address that answered; */
    uint16_t port;          /* NULL: incoming, local, or still NET_DIALING */
    struct net_addr reached;
    struct door_place *place;    /* NULL: not incoming */
    struct loop_timer *deadline; /* deadline of the phase; of incoming handshakes the door has it */
    struct loop_timer *soon;     /* armed with 0 for work that must not happen within a call */
    UT_hash_handle hh;
};

struct net_listener;
struct net_lookup;
struct net_known;
struct evdns_base;

struct net {
    struct loop *loop;
    struct tls_ctx *tls;
    const struct tls_held *held; /* NULL: outgoing connections prove nothing */
    struct net_upcalls up;
    void *arg;
    uint64_t last_id;
    struct door *door[2];    /* of TLS ports and of local sockets: true is an index */
    struct loop_timer *late; /* armed for the handshake that is due first */
    struct net_conn *conns;
    struct net_listener *listeners;
    struct evdns_base *dns[2]; /* of relative and absolute names; created for the first one */
    struct net_lookup *lookups;
    struct net_known *known;
    const char *resolv_conf; /* of a test; borrowed; NULL: the host's */
    unsigned families;       /* of a test (enum resolv_families); 0: the host's */
    uint64_t stagger_ms;     /* NET_STAGGER_MS, or of a test */
    uint64_t refused_ms;     /* time of the last logged refusal */
    unsigned refused_unsaid;
    struct net_handshakes shaken;
    void (*on_done)(void *arg); /* of net_finish(); NULL otherwise */
    void *done_arg;
};

/* conn.c: outgoing TLS connections resume the session of a former one to the same host and port. */
struct net_conn *net_conn_create(struct net *n, bool incoming, bool tls);
/* A connection that the owner may still refer to. */
struct net_conn *net_conn_find(const struct net *n, uint64_t id);
/* Takes a connected socket, and starts the handshake for TLS. The certificate must have the name
 * c->host, unless c->unnamed. */
void net_conn_attach(struct net_conn *c, int fd);
/* on_closed will be called on a later turn; only the first reason counts. */
void net_conn_fail(struct net_conn *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* No upcall. Freed on a later turn. */
void net_conn_drop(struct net_conn *c);
void net_conn_free(struct net_conn *c);
void net_conn_soon(struct net_conn *c);
bool net_conn_holds_back(const struct net_conn *c); /* what is sent waits until it is open */
void net_conn_drained(struct net_conn *c);
size_t net_conn_pending(const struct net_conn *c);

/* frame.c: frames that are sent before the connection is open go after the proof. */
void net_frame_put(struct net_conn *c, const void *data, size_t len);
void net_frame_deliver(
    struct net_conn *c); /* makes upcalls; c still exists afterwards, perhaps dead */

/* proof.c: after the handshake. Nothing is sent on an incoming connection, or if none is asked for.
 */
int net_proof_send(struct net_conn *c, struct err *err) __attribute__((warn_unused_result));
bool net_proof_awaited(const struct net_conn *c);
/* 1: *key is the one that the peer holds; 0: the proof has not arrived yet; -1: it is none. */
int net_proof_take(struct net_conn *c, uint8_t key[TLS_KEY_ID_BYTES], struct err *err)
    __attribute__((warn_unused_result));

/* closing.c */
void net_closing_start(struct net_conn *c);
void net_closing_turn(struct net_conn *c);
void net_closing_deadline(struct net_conn *c);
void net_closing_written(struct net_conn *c); /* true: progress was made */
void net_closing_readable(struct net_conn *c);

/* reason.c: a text in a fixed buffer. */
bool net_reason_of_end(struct net_conn *c, short what, char *text,
                       size_t size); /* true: an orderly end */
void net_reason_peer_name(int fd, char *text, size_t size);
/* Logs a refused connection, at most one per second. */
void net_reason_log_refusal(struct net *n, int fd, const char *why);

/* dial.c: copies its strings. */
void net_dial_tcp(struct net_conn *c, const struct net_target *to, uint64_t timeout_ms);
void net_dial_timeout(struct net_conn *c); /* the deadline has passed: fails the connection */
void net_dial_local(struct net_conn *c, const char *path);
void net_dial_free(struct net_dial *d);

/* known.c: the last good address of a name. */
void net_known_good(struct net *n, const char *host, uint16_t port, const struct net_addr *addr);
void net_known_doubt(struct net *n, const char *host, uint16_t port, const struct net_addr *addr);
bool net_known_find(const struct net *n, const char *host, uint16_t port, struct net_addr *addr,
                    bool *doubted);
void net_known_free_all(struct net *n);
bool net_addr_eq(const struct net_addr *a, const struct net_addr *b);

/* lookup.c: names to addresses. */
struct evutil_addrinfo;
struct net_lookup_answer {
    int gai_error;                /* 0: none */
    struct evutil_addrinfo *list; /* borrowed for the call */
    bool last;                    /* no further answer comes */
};
typedef void net_lookup_fn(struct net *n, uint64_t conn, const struct net_lookup_answer *a);
/* Numeric addresses are answered within the call, names possibly too. */
void net_lookup_start(struct net *n, uint64_t conn, const char *host, uint16_t port,
                      net_lookup_fn *fn);
void net_lookup_cancel_all(struct net *n);

/* listen.c */
void net_listen_init(struct net *n);
void net_listen_fini(struct net *n); /* after the last connection */
/* The handshake is complete; false: there is no room for one more peer. */
bool net_listen_admit(struct net_conn *c);
void net_listen_free_all(struct net *n);
int net_listen_unix_addr(const char *path, struct sockaddr_storage *ss, socklen_t *len,
                         struct err *err) __attribute__((warn_unused_result));

/* finish.c */
void net_finish_check(struct net *n);

#endif
