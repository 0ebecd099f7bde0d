/* SPDX-License-Identifier: BSD-3-Clause */
/* The reference for links: bytes over a TCP connection of the loopback interface, with or
 * without TLS, between two processes that do nothing else. */
#ifndef BENCH_LINK_RAW_H
#define BENCH_LINK_RAW_H

#include <openssl/types.h>
#include <stdbool.h>
#include <stddef.h>

#define RAW_PIECE (256u << 10)

/* pki: a directory with the certificates of "head" and "member"; NULL: without TLS. */
double raw_stream_mb_s(const char *pki, size_t bytes);
/* A connection whose handshake is done, over a blocking socket. The caller frees it. */
SSL *raw_tls(int fd, const char *pki, bool server);
/* `ms[i]`: a message of so many bytes there and back. */
void raw_ping(const char *pki, size_t len, double *ms, size_t n);

#endif
