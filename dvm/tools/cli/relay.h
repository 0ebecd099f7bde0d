/* SPDX-License-Identifier: BSD-3-Clause */
/* The way to a daemon of another host: bytes between one descriptor and a TLS connection. */
#ifndef DVM_CLI_RELAY_H
#define DVM_CLI_RELAY_H

#define CLI_RELAY "dvm-connect" /* the program that does it, beside the others */

struct relay_opts {
    const char *host, *port;
    const char *tls_dir; /* ca.crt, and tls.crt with tls.key of role user or operator */
    const char *address; /* where the host was reached before; NULL: its name is looked up */
};

/* Connects, sees that the other end is a daemon of the DVM that our certificate is for (the
 * authority and the cluster count, not the host's name: a forwarded port has another), tells `fd`
 * so (CLIENT_REACHED), and passes bytes on until either end closes; or tells `fd` why not
 * (CLIENT_UNREACHED). Gives the program's exit code. What `fd` has sent before it closes is
 * delivered, within a second. */
int relay_run(const struct relay_opts *o, int fd);

#endif
