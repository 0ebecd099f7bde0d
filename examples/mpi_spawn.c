/* SPDX-License-Identifier: BSD-3-Clause */
/* Parents spawn children, sum up with them over the intercommunicator and part. usage: mpi_spawn
 * [CHILDREN [ROUNDS]] */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what, int got, int expected)
{
    fprintf(stderr, "spawn: %s is %d, expected %d\n", what, got, expected);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Each side gets the sum of the other's contributions: rank + 1 of a parent, 100 * (rank + 1) of a
 * child. */
static void sum_up(MPI_Comm inter, int mine, int expected, const char *who)
{
    int sum = 0;

    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter);
    if (sum != expected)
        fail(who, sum, expected);
}

static int child(MPI_Comm parent)
{
    int rank, size, parents, whole;
    MPI_Comm all;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_remote_size(parent, &parents);
    sum_up(parent, 100 * (rank + 1), parents * (parents + 1) / 2, "sum of the parents");
    MPI_Intercomm_merge(parent, 1, &all);
    MPI_Comm_size(all, &whole);
    if (whole != size + parents)
        fail("size of both together", whole, size + parents);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&parent);
    return 0;
}

static void parent(const char *program, int children, bool last)
{
    char *args[] = {"child", NULL};
    int rank, size, place, got, *codes = calloc((size_t)children, sizeof(*codes));
    MPI_Comm inter, all;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_spawn(program, args, children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes);
    for (int i = 0; i < children; i++) {
        if (codes[i] != MPI_SUCCESS)
            fail("code of a child", codes[i], MPI_SUCCESS);
    }
    MPI_Comm_remote_size(inter, &got);
    if (got != children)
        fail("number of children", got, children);
    sum_up(inter, rank + 1, 100 * children * (children + 1) / 2, "sum of the children");
    MPI_Intercomm_merge(inter, 0, &all);
    MPI_Comm_rank(all, &place);
    if (place != rank)
        fail("rank among all", place, rank);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&inter);
    if (rank == 0 && last)
        printf("spawn: parents=%d children=%d ok\n", size, children);
    free(codes);
}

static void spawn_rounds(const char *program, int children, int rounds)
{
    for (int i = 1; i <= rounds; i++)
        parent(program, children, i == rounds);
}

int main(int argc, char **argv)
{
    MPI_Comm up;

    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&up);
    if (up != MPI_COMM_NULL)
        child(up);
    else
        spawn_rounds(argv[0], argc > 1 ? (int)strtol(argv[1], NULL, 10) : 2,
                     argc > 2 ? (int)strtol(argv[2], NULL, 10) : 1);
    MPI_Finalize();
    return 0;
}
