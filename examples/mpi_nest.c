/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a program between MPI_Init and MPI_Finalize, and exits with its code: a launcher inside a
 * rank. */
#include <mpi.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int status = -1;
    pid_t pid;

    MPI_Init(&argc, &argv);
    pid = fork();
    if (pid == 0) {
        execvp(argv[1], argv + 1);
        _exit(EXIT_FAILURE);
    }
    while (pid > 0 && waitpid(pid, &status, 0) != pid)
        ;
    MPI_Finalize();
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}
