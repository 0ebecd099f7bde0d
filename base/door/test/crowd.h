/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests of a port's limits: many silent connections to a server on this process's loop, and the
 * budgets with which doors are created (the Makefile wraps door_create()). */
#ifndef BASE_DOOR_TEST_CROWD_H
#define BASE_DOOR_TEST_CROWD_H

#include "base/door/door.h"
#include "base/loop/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#define CROWD_MAX 5000
#define CROWD_DOORS 4

struct crowd {
    struct loop *loop;
    int fds[CROWD_MAX];
    size_t n;
};

union crowd_addr {
    struct sockaddr any;
    struct sockaddr_storage room;
};

/* The address of a port of this host, or of a local socket. */
union crowd_addr crowd_at_port(uint16_t port);
union crowd_addr crowd_at_path(const char *path);
/* n more connections that send nothing. `from` is their address; NULL: any. Returns when the server
 * has accepted or refused them. */
void crowd_connect(struct crowd *c, const union crowd_addr *to, const char *from, size_t n);
/* The same, but the server has not accepted any. */
void crowd_call(struct crowd *c, const union crowd_addr *to, const char *from, size_t n);
/* How many of the connections from the `first` on the server has not closed. */
size_t crowd_open(const struct crowd *c, size_t first);
void crowd_leave(struct crowd *c);

/* Of this process, now. */
size_t crowd_open_files(void);
/* Gives the former limit. */
unsigned crowd_limit_files(unsigned n);

/* The budgets of the doors, in the order of their creation since crowd_forget_doors(). */
struct door_budget crowd_budget(size_t door, enum door_class class);
void crowd_forget_doors(void);

#endif
