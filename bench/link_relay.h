/* SPDX-License-Identifier: BSD-3-Clause */
/* A relay between two ports of the loopback interface, in a process of its own: it limits the rate
 * of each connection, and resets one on demand. */
#ifndef BENCH_LINK_RELAY_H
#define BENCH_LINK_RELAY_H

#include <stdint.h>
#include <sys/types.h>

struct relay {
    pid_t pid;
    uint16_t port; /* at which it listens */
    int control;
};

/* To this port; `rate`: bytes per second and direction of each connection, 0: no limit. */
struct relay relay_start(uint16_t to, uint64_t rate);
/* The next connection that carries something is reset at both ends, and what it carried is lost. */
void relay_reset(const struct relay *r);
void relay_stop(struct relay *r);

#endif
