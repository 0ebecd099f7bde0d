/* SPDX-License-Identifier: BSD-3-Clause */
/* A program of one's own for the image of this folder: pi [INTERVALS], by the midpoint rule. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    long n = argc > 1 ? strtol(argv[1], NULL, 10) : 1000000;
    int rank, size;
    double sum = 0, pi = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (long i = rank; i < n; i += size) {
        double x = ((double)i + 0.5) / (double)n;

        sum += 4 / (1 + x * x);
    }
    MPI_Reduce(&sum, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("pi is %.9f, by %d ranks\n", pi / (double)n, size);
    MPI_Finalize();
    return 0;
}
