/* SPDX-License-Identifier: BSD-3-Clause */
/* A debugger that lets nothing go on: ptrace_probe PID holds the process, SIGCONT or not, and says
 * "held", or why it may not; it ends when the process is gone. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_S 120 /* a process that nobody ends goes on then */

int main(int argc, char **argv)
{
    pid_t pid = argc == 2 ? (pid_t)strtol(argv[1], NULL, 10) : 0;
    int status = 0;

    if (pid <= 0)
        return 2;
    alarm(LIMIT_S);
    if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) < 0) {
        puts(strerror(errno));
        return 1;
    }
    if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
        return 1;
    puts("held");
    fflush(stdout);
    while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status))
        ;
    return 0;
}
