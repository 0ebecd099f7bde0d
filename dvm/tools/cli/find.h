/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the daemon is: at a local socket or on another host. */
#ifndef DVM_CLI_FIND_H
#define DVM_CLI_FIND_H

#include "base/err/err.h"

#include <stdbool.h>

#define CLI_SOCKET_NAME "prted.sock"
#define CLI_POD_DIR "/run/dvm" /* session directory of a pod's daemon */

#define CLI_JOIN_PORT 7400 /* default port of a daemon on another host */

/* Where a daemon was looked for. A --dvm value without '/' that names no file is HOST[:PORT], or
 * an IPv6 address with a port in brackets: then `host` and the credentials are set. Otherwise
 * `path` is the first of: `dvm` (directory or socket), $DVM_SESSION_DIR, /run/dvm if it has a
 * socket, ${XDG_RUNTIME_DIR:-/tmp}/dvm-<uid>. `named`: the user or the environment named it. */
struct cli_where {
    char *dir;
    char *path; /* path of the socket; for a host, the value that the user gave */
    bool named;
    char *host; /* NULL: a local socket */
    char port[8];
    char *tls_dir; /* directory of tls.crt, tls.key, ca.crt */
    char *address; /* address at which the host was reached: later connections use it */
    char *away;    /* addresses not to be tried, with a ',' after each; NULL: none */
};

/* `tls_dir` is a --tls-dir value or NULL; then $DVM_TLS_DIR counts. -1: a host without
 * credentials, a --tls-dir without a host, or a bad port; nothing is left allocated. */
int cli_find(const char *dvm, const char *tls_dir, struct cli_where *out, struct err *err)
    __attribute__((warn_unused_result));
void cli_where_free(struct cli_where *w); /* also the cleanup attribute's function */
#define CLI_WHERE_AUTO __attribute__((cleanup(cli_where_free)))

/* The --help text for all of this, from --dvm to --tls-dir. */
#define CLI_WHERE_HELP                                                                             \
    "      --dvm DIR|SOCKET|HOST[:PORT]\n"                                                         \
    "                        session directory or socket of a daemon on this host (default:\n"     \
    "                        $DVM_SESSION_DIR, else /run/dvm in a pod, else\n"                     \
    "                        ${XDG_RUNTIME_DIR:-/tmp}/dvm-$UID), or a daemon elsewhere, by\n"      \
    "                        mutual TLS at its join port (default: 7400)\n"                        \
    "      --tls-dir DIR     credentials for a HOST: tls.crt and tls.key of role user, ca.crt\n"   \
    "                        (default: $DVM_TLS_DIR)\n"

/* The session directory of a local DVM that is to be created; never /run/dvm by default. On the
 * heap. */
char *cli_new_dir(const char *dvm);

#endif
