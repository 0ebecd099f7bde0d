/* SPDX-License-Identifier: BSD-3-Clause */
/* A debugger that continues nothing: ptrace_probe PID holds the process, also if it gets SIGCONT,
 * and prints "held", or why it may not trace. It ends when the process has ended. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_S 120 /* afterwards the process goes on, if no test has ended it */

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
