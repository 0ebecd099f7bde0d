/* SPDX-License-Identifier: BSD-3-Clause */
/* dvm-spawner: creates, reaps and cleans up after the ranks of a daemon. */
#include "base/log/log.h"
#include "dvm/host/spawner/spawner.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define EXIT_USAGE 2

static const char usage_text[] =
    "Usage: dvm-spawner SOCKET DAEMON TOKEN GRACE LEVEL DIR [WORD...]\n"
    "Creates, reaps and cleans up after the ranks of a daemon. prted becomes it at its start, "
    "with\n"
    "the daemon proper as its child; it is of no use to anybody else.\n"
    "\n"
    "  SOCKET   descriptor by which the daemon commands\n"
    "  DAEMON   process id of the daemon, a child\n"
    "  TOKEN    16 hex digits that the marks of its ranks begin with\n"
    "  GRACE    milliseconds from SIGTERM to SIGKILL for the ranks, after the daemon's end\n"
    "  LEVEL    of the log: error, warn, info, debug\n"
    "  DIR      session directory, for the list of paths to be removed; empty: no list is kept\n"
    "  WORD     the daemon's own command line, for ps to show whose it is\n"
    "\n"
    "  --help, --version\n"
    "\n"
    "Exit code: that of the daemon, 128 + its number if a signal has ended it; 2 for a wrong\n"
    "command line.\n";

static int report_usage(const char *why)
{
    fprintf(stderr, "dvm-spawner: %s; see 'dvm-spawner --help'\n", why);
    return EXIT_USAGE;
}

static int parse_number(const char *text)
{
    char *end;
    long n;

    errno = 0;
    n = strtol(text, &end, 10);
    return errno || end == text || *end || n < 0 || n > INT32_MAX ? -1 : (int)n;
}

static bool parse_token(const char *text, uint64_t *out)
{
    char *end;

    *out = strtoull(text, &end, 16);
    return strspn(text, "0123456789abcdef") == 16 && !*end;
}

static bool is_packets(int fd)
{
    int type = 0;
    socklen_t len = sizeof(type);

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_SEQPACKET;
}

static bool is_child(int pid)
{
    siginfo_t info;

    return pid > 0 && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

int main(int argc, char **argv)
{
    enum log_level level;
    uint64_t mark;
    int grace_ms;

    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return fputs(usage_text, stdout) < 0;
    if (argc == 2 && strcmp(argv[1], "--version") == 0)
        return puts("dvm-spawner " DVM_VERSION) < 0;
    if (argc < 7)
        return report_usage("socket, daemon, token, grace, level and directory are needed");
    if (!is_packets(parse_number(argv[1])))
        return report_usage("the socket does not keep message boundaries");
    if (!is_child(parse_number(argv[2])))
        return report_usage("the daemon is no child of this process");
    if (!parse_token(argv[3], &mark))
        return report_usage("the token has not 16 hex digits");
    grace_ms = parse_number(argv[4]);
    if (grace_ms < 0)
        return report_usage("the grace is no number of milliseconds");
    if (log_level_parse(argv[5], &level) < 0)
        return report_usage("no such level");
    log_init("dvm-spawner", level);
    spawner_run(parse_number(argv[1]), parse_number(argv[2]), mark, (uint32_t)grace_ms, argv[6]);
}
