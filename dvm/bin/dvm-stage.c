/* SPDX-License-Identifier: BSD-3-Clause */
/* dvm-stage: reads the files that prun or a rank wants preloaded, or writes them on a daemon. */
#include "base/conf/number.h"
#include "base/heap/heap.h"
#include "dvm/host/stager/stager.h"
#include "dvm/tools/cli/usage.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "Usage: dvm-stage read BYTES\n"
    "  or:  dvm-stage write DIR\n"
    "\n"
    "Reads the files of a job whose names come on standard input, in pieces of at most BYTES; or\n"
    "writes pieces that come there to files below DIR/files. prun --preload-files and prted start\n"
    "it, so that neither waits for a disk; nobody else needs to.\n"
    "\n"
    "  -h, --help     this text\n"
    "      --version  the version\n"
    "\n"
    "Exit code: 0, 1 if a file cannot be read or written, 2 if the command line is wrong.\n";

int main(int argc, char **argv)
{
    uint64_t bytes;
    struct err err = {0};

    heap_guard_crypto();
    if (argc == 2 && (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0)) {
        fputs(help, stdout);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        puts("dvm-stage " DVM_VERSION);
        return 0;
    }
    if (argc == 3 && strcmp(argv[1], "write") == 0)
        return stager_write(argv[2], STDIN_FILENO, STDOUT_FILENO);
    if (argc != 3 || strcmp(argv[1], "read") != 0)
        return cli_usage("dvm-stage", "it is either 'read BYTES' or 'write DIR'");
    if (number_parse(argv[2], "read", 1, PIECE_DATA_MAX, &bytes, &err) < 0)
        return cli_usage("dvm-stage", "%s", err.msg);
    signal(SIGINT, SIG_IGN); /* the process that started us decides when to end */
    signal(SIGHUP, SIG_IGN);
    return stager_read((size_t)bytes, STDIN_FILENO, STDOUT_FILENO);
}
