/* SPDX-License-Identifier: BSD-3-Clause */
/* A token goes round all ranks, each adds its number; usage: mpi_ring [rounds [file]]. With a file
 * it goes round until that exists, for the given number of rounds at least. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct token {
    long sum;
    long last; /* no round follows */
};

/* One round from rank 0 back to rank 0. */
static void pass_on(struct token *t, int rank, int size)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;

    if (size == 1)
        return;
    if (rank == 0)
        MPI_Send(t, 2, MPI_LONG, next, 0, MPI_COMM_WORLD);
    MPI_Recv(t, 2, MPI_LONG, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    t->sum += rank;
    if (rank != 0)
        MPI_Send(t, 2, MPI_LONG, next, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 10;
    const char *file = argc > 2 ? argv[2] : NULL;
    struct token t = {0};
    long done = 0, expected;
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    while (!t.last && (done < rounds || file)) {
        done++;
        if (rank == 0)
            t.last = done >= rounds && (!file || access(file, F_OK) == 0);
        pass_on(&t, rank, size);
    }
    expected = done * size * (size - 1) / 2;
    if (rank == 0)
        printf("ring: size=%d rounds=%ld token=%ld %s\n", size, done, t.sum,
               t.sum == expected ? "ok" : "WRONG");
    MPI_Finalize();
    return rank == 0 && t.sum != expected;
}
