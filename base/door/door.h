/* SPDX-License-Identifier: BSD-3-Clause */
/* Which connections of a port stay when there are more than its budgets allow. Pure: the owner of
 * the port has the sockets and the clock. */
#ifndef BASE_DOOR_DOOR_H
#define BASE_DOOR_DOOR_H

#include <stdint.h>

struct door;
struct door_place; /* one connection */
struct sockaddr;

enum door_class {
    DOOR_STRANGER, /* has shown no credential yet; on a plain port: always */
    DOOR_KNOWN,    /* has completed a TLS handshake, or is a local socket of this user */
    DOOR_CLASSES,
};

struct door_budget {
    unsigned max;        /* connections of this class */
    unsigned per_source; /* of these, from one source address; 0: max */
    uint64_t idle_ms;    /* an idle connection is closed after this time; 0: never */
    uint64_t hurry_ms;   /* the same while three quarters of `max` are taken; 0: idle_ms */
};

struct door_opts {
    struct door_budget of[DOOR_CLASSES];
};

/* Copies the options. */
struct door *door_create(const struct door_opts *opts);
void door_destroy(struct door *d); /* frees the places that are left */

/* A new connection, idle. A source is an IPv4 address, the first 64 bits of an IPv6 address, or all
 * of any other family (also NULL). When the budget of its source is taken, the oldest idle
 * connection of that source makes room; when the whole budget is, the oldest idle one of the source
 * that has the most idle ones. NULL: all are busy, and the caller closes the newcomer.
 * `owner` is what door_next_out() gives for this connection. */
struct door_place *door_enter(struct door *d, enum door_class as, const struct sockaddr *from,
                              void *owner, uint64_t now_ms);
/* A stranger has shown its credential: it is counted with the known ones, idle. Makes room as
 * door_enter() does; -1: there is none, and the caller closes the connection. */
int door_admit(struct door_place *p, uint64_t now_ms) __attribute__((warn_unused_result));
/* Of these, NULL is fine. A busy connection has no deadline and makes room for nobody. */
void door_busy(struct door_place *p);
void door_idle(struct door_place *p, uint64_t now_ms); /* waits for the next request, from now on */
/* The connection is closed. Frees the place. */
void door_leave(struct door_place *p);

/* The owner of a connection that makes room or whose time has passed; NULL: none. Each connection
 * is given once; it is not counted any more, and the caller closes it and calls door_leave(). */
void *door_next_out(struct door *d, uint64_t now_ms);
/* The time at which door_next_out() has the next one; UINT64_MAX: none is due. */
uint64_t door_deadline(const struct door *d);

/* `wanted`, or less where the process may have few descriptors: `percent` of its limit, 4 at
 * least. */
unsigned door_share(unsigned wanted, unsigned percent);

#endif
