/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank gives up with a code while all others wait for it; usage: mpi_abort RANK CODE. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank;

    if (argc != 3) {
        fputs("usage: mpi_abort RANK CODE\n", stderr);
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == (int)strtol(argv[1], NULL, 10))
        MPI_Abort(MPI_COMM_WORLD, (int)strtol(argv[2], NULL, 10));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
