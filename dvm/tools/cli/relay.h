/* SPDX-License-Identifier: BSD-3-Clause */
/* Connects a descriptor with a daemon on another host, over TLS. */
#ifndef DVM_CLI_RELAY_H
#define DVM_CLI_RELAY_H

#define CLI_RELAY "dvm-connect" /* name of the program, which stands beside the others */

struct relay_opts {
    const char *host, *port;
    const char *tls_dir; /* ca.crt, and tls.crt with tls.key of role user or operator */
    const char *address; /* address of an earlier connection; "" or NULL: look up the name */
    const char *away;    /* addresses of the name not to be tried, "A,B,"; NULL: none */
};

/* Connects to the first address at which a daemon answers, and checks that the peer is a daemon of
 * the DVM of our certificate. Authority and cluster are checked, not the host name, since a
 * forwarded port has another name. Reports to `fd` CLIENT_REACHED, or CLIENT_UNREACHED with the
 * reason. Then copies bytes until either end closes. Bytes that `fd` sent before it closed are
 * delivered within a second. Returns the program's exit code. */
int relay_run(const struct relay_opts *o, int fd);

#endif
