/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a command by the shell between MPI_Init and MPI_Finalize, and exits with its code: a
 * launcher inside a rank. */
#include <mpi.h>
#include <stdlib.h>
#include <sys/wait.h>

int main(int argc, char **argv)
{
    int status;

    MPI_Init(&argc, &argv);
    status = argc == 2 ? system(argv[1]) : -1;
    MPI_Finalize();
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}
