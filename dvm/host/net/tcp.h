/* SPDX-License-Identifier: BSD-3-Clause */
/* What all our TCP connections have in common. */
#ifndef DVM_NET_TCP_H
#define DVM_NET_TCP_H

/* A peer that does not answer for so long, sent to or not, is gone: the connection ends with
 * ETIMEDOUT. */
#define NET_SILENT_MS 35000

/* Of a connected socket: no delay, keep-alive. What the kernel refuses only makes a dead connection
 * be found later. */
void net_tcp_options(int fd);

#endif
