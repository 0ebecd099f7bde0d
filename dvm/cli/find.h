/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the daemon's local socket is. */
#ifndef DVM_CLI_FIND_H
#define DVM_CLI_FIND_H

#include <stdbool.h>

#define CLI_SOCKET_NAME "prted.sock"
#define CLI_POD_DIR "/run/dvm" /* session directory of the daemon in a pod */

/* The first of: `dvm` (a --dvm value: directory or socket), the environment's DVM_SESSION_DIR,
 * /run/dvm if a socket is there, ${XDG_RUNTIME_DIR:-/tmp}/dvm-<uid>. `named`: the user or the
 * environment said so, it is no guess of ours. */
struct cli_where {
    char *dir;
    char *path; /* of the socket */
    bool named;
};

void cli_find(const char *dvm, struct cli_where *out);
void cli_where_free(struct cli_where *w); /* also the cleanup attribute's function */
#define CLI_WHERE_AUTO __attribute__((cleanup(cli_where_free)))

/* The same for a local DVM that is to be made: never /run/dvm by default. On the heap. */
char *cli_new_dir(const char *dvm);

#endif
