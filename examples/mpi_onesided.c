/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rank puts its number into its neighbour's window and checks what it got. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size, expected, wrong, errors;
    MPI_Win win;
    int *mine;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    *mine = -1;
    MPI_Win_fence(0, win);
    MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    expected = (rank + size - 1) % size;
    wrong = *mine != expected;
    if (wrong)
        fprintf(stderr, "onesided: rank %d has %d, expected %d\n", rank, *mine, expected);
    MPI_Allreduce(&wrong, &errors, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("onesided: size=%d %s\n", size, errors ? "WRONG" : "ok");
    MPI_Win_free(&win);
    MPI_Finalize();
    return errors != 0;
}
