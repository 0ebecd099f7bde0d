/* SPDX-License-Identifier: BSD-3-Clause
 * Holds a pod's namespaces: waits for the end, collecting the orphans that come to it as process 1.
 */
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>

int main(void)
{
    sigset_t set;
    int sig = 0;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    while (sigwait(&set, &sig) == 0 && sig == SIGCHLD)
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    return 0;
}
