/* SPDX-License-Identifier: BSD-3-Clause */
/* A token goes round all ranks, each adds its number; usage: mpi_ring [rounds]. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* One round from rank 0 back to rank 0. */
static long pass_on(long token, int rank, int size)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;

    if (size == 1)
        return token;
    if (rank == 0) {
        MPI_Send(&token, 1, MPI_LONG, next, 0, MPI_COMM_WORLD);
        MPI_Recv(&token, 1, MPI_LONG, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return token;
    }
    MPI_Recv(&token, 1, MPI_LONG, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    token += rank;
    MPI_Send(&token, 1, MPI_LONG, next, 0, MPI_COMM_WORLD);
    return token;
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 10;
    long token = 0, expected;
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (long i = 0; i < rounds; i++)
        token = pass_on(token, rank, size);
    expected = rounds * size * (size - 1) / 2;
    if (rank == 0)
        printf("ring: size=%d rounds=%ld token=%ld %s\n", size, rounds, token,
               token == expected ? "ok" : "WRONG");
    MPI_Finalize();
    return rank == 0 && token != expected;
}
