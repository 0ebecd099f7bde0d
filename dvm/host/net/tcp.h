/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of all our TCP connections. */
#ifndef DVM_NET_TCP_H
#define DVM_NET_TCP_H

/* A peer that does not answer for this time, with or without data under way, is lost: the
 * connection ends with ETIMEDOUT. */
#define NET_SILENT_MS 35000

/* For a connected socket: no delay, keep-alive. If the kernel refuses an option, a dead
 * connection is only noticed later. */
void net_tcp_options(int fd);

#endif
