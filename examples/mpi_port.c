/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 opens a port under a name; rank 1 looks it up, connects and sends a number through it. */
#include <mpi.h>
#include <stdio.h>

#define SERVICE "mpi_port example"
#define NUMBER 4711

static int serve(void)
{
    char port[MPI_MAX_PORT_NAME];
    int got = 0;
    MPI_Comm peer;

    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Publish_name(SERVICE, MPI_INFO_NULL, port);
    MPI_Barrier(MPI_COMM_WORLD); /* from now on a lookup finds it */
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &peer);
    MPI_Recv(&got, 1, MPI_INT, 0, 0, peer, MPI_STATUS_IGNORE);
    MPI_Comm_disconnect(&peer);
    MPI_Unpublish_name(SERVICE, MPI_INFO_NULL, port);
    MPI_Close_port(port);
    printf("port: number=%d %s\n", got, got == NUMBER ? "ok" : "WRONG");
    return got != NUMBER;
}

static void call(void)
{
    char port[MPI_MAX_PORT_NAME];
    int number = NUMBER;
    MPI_Comm peer;

    MPI_Lookup_name(SERVICE, MPI_INFO_NULL, port);
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &peer);
    MPI_Send(&number, 1, MPI_INT, 0, 0, peer);
    MPI_Comm_disconnect(&peer);
}

int main(int argc, char **argv)
{
    int rank, size, failed = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2) {
        fprintf(stderr, "port: needs two ranks\n");
        failed = 1;
    } else if (rank == 0) {
        failed = serve();
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1)
            call();
    }
    MPI_Finalize();
    return failed;
}
