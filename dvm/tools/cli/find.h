/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the daemon is: at a local socket, or at a host outside. */
#ifndef DVM_CLI_FIND_H
#define DVM_CLI_FIND_H

#include "base/err/err.h"

#include <stdbool.h>

#define CLI_SOCKET_NAME "prted.sock"
#define CLI_POD_DIR "/run/dvm" /* session directory of the daemon in a pod */

#define CLI_JOIN_PORT 7400 /* of daemons outside, unless one is named */

/* A `dvm` (a --dvm value) without '/' that is no file is HOST[:PORT], an IPv6 address with a port
 * in brackets: then `host` is set, and where the credentials are. Else the socket is in the first
 * of: `dvm` (directory or socket), the environment's DVM_SESSION_DIR, /run/dvm if a socket is
 * there,
 * ${XDG_RUNTIME_DIR:-/tmp}/dvm-<uid>. `named`: the user or the environment said so, it is no guess
 * of ours. */
struct cli_where {
    char *dir;
    char *path; /* of the socket; what was said, if it is a host */
    bool named;
    char *host; /* NULL: at the socket */
    char port[8];
    char *tls_dir; /* tls.crt, tls.key, ca.crt */
    char *address; /* of the host, once it was reached: later connections go there */
};

/* tls_dir: a --tls-dir value or NULL, then the environment's DVM_TLS_DIR counts. -1: a host without
 * credentials, a --tls-dir without a host, or no port; nothing is left allocated. */
int cli_find(const char *dvm, const char *tls_dir, struct cli_where *out, struct err *err)
    __attribute__((warn_unused_result));
void cli_where_free(struct cli_where *w); /* also the cleanup attribute's function */
#define CLI_WHERE_AUTO __attribute__((cleanup(cli_where_free)))

/* What --help says of all that, from --dvm to --tls-dir. */
#define CLI_WHERE_HELP                                                                             \
    "      --dvm DIR|SOCKET|HOST[:PORT]\n"                                                         \
    "                        session directory or socket of a daemon on this host (default:\n"     \
    "                        $DVM_SESSION_DIR, else /run/dvm in a pod, else\n"                     \
    "                        ${XDG_RUNTIME_DIR:-/tmp}/dvm-$UID), or a daemon elsewhere, by\n"      \
    "                        mutual TLS at its join port (default: 7400)\n"                        \
    "      --tls-dir DIR     credentials for a HOST: tls.crt and tls.key of role user, ca.crt\n"   \
    "                        (default: $DVM_TLS_DIR)\n"

/* The same for a local DVM that is to be made: never /run/dvm by default. On the heap. */
char *cli_new_dir(const char *dvm);

#endif
