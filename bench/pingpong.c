/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the time that a message of 8 bytes takes between two MPI ranks: half a round, in
 * microseconds, the median of BATCHES batches. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define BATCHES 21
#define ROUNDS 20000

static void swap_once(int rank)
{
    long data = rank;

    if (rank == 0) {
        MPI_Send(&data, 1, MPI_LONG, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(&data, 1, MPI_LONG, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(&data, 1, MPI_LONG, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&data, 1, MPI_LONG, 0, 0, MPI_COMM_WORLD);
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    double us[BATCHES];
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int b = 0; b < BATCHES; b++) {
        double begun = MPI_Wtime();

        for (int i = 0; i < ROUNDS; i++)
            swap_once(rank);
        us[b] = (MPI_Wtime() - begun) * 1e6 / ROUNDS / 2;
    }
    qsort(us, BATCHES, sizeof(*us), by_size);
    if (rank == 0)
        printf("%.3f\n", us[BATCHES / 2]);
    MPI_Finalize();
    return 0;
}
