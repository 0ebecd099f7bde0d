/* SPDX-License-Identifier: BSD-3-Clause */
/* The way of prun's input and output without daemons: as many processes, which copy bytes only. */
#ifndef BENCH_LINK_CHAIN_H
#define BENCH_LINK_CHAIN_H

/* Copies standard input to standard output by way of two processes that TLS joins and of `cat`.
 * pki: a directory with the certificates of "head" and "member". */
void chain_run(const char *pki);

#endif
