/* SPDX-License-Identifier: BSD-3-Clause */
/* dvm-connect: copies bytes between a program of the DVM and a daemon of another host. */
#include "base/heap/heap.h"
#include "dvm/tools/cli/relay.h"
#include "dvm/tools/cli/usage.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char help[] =
    "Usage: dvm-connect HOST PORT DIR [ADDRESS [AWAY]]\n"
    "\n"
    "Connects its standard input, which has to be a socket, to the daemon that listens at PORT of "
    "HOST, by\n"
    "mutual TLS with tls.crt, tls.key and ca.crt of DIR. ADDRESS is used in place of the host's\n"
    "name, unless it is empty. AWAY lists addresses of the host that are not tried, with a comma "
    "after\n"
    "each. prun, pstat and pterm start it when --dvm names a host; nobody else needs to.\n"
    "\n"
    "  -h, --help     this text\n"
    "      --version  the version\n"
    "\n"
    "Exit code: 0, 1 if the daemon cannot be reached, 2 if the command line is wrong.\n";

static bool is_option(const char *word, const char *a, const char *b)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

int main(int argc, char **argv)
{
    struct relay_opts o = {0};
    int type = 0;
    socklen_t len = sizeof(type);

    heap_guard_crypto();
    if (argc == 2 && is_option(argv[1], "-h", "--help")) {
        fputs(help, stdout);
        return 0;
    }
    if (argc == 2 && is_option(argv[1], "--version", "--version")) {
        puts("dvm-connect " DVM_VERSION);
        return 0;
    }
    if (argc < 4 || argc > 6)
        return cli_usage("dvm-connect", "host, port and directory are needed");
    if (getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &len) < 0)
        return cli_usage("dvm-connect", "standard input is no socket");
    signal(SIGINT, SIG_IGN); /* the program that started us decides when to end */
    signal(SIGHUP, SIG_IGN);
    o.host = argv[1];
    o.port = argv[2];
    o.tls_dir = argv[3];
    o.address = argv[4]; /* NULL: not given */
    o.away = argc > 5 ? argv[5] : NULL;
    return relay_run(&o, STDIN_FILENO);
}
