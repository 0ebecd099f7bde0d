/* SPDX-License-Identifier: BSD-3-Clause */
/* In an MPI session, creates a communicator from the group of all ranks and sums the ranks with it,
 * TIMES in a row. With "keep", no communicator is freed and the session stays open until the
 * program ends. With "die", the last rank is killed while the others create the communicator.
 * usage: mpi_session TIMES [keep|die] */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Open MPI has sessions from version 5 on, although it still reports MPI 3.1. */
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)

static void must(int rc, const char *what)
{
    if (rc == MPI_SUCCESS)
        return;
    fprintf(stderr, "session: %s fails\n", what);
    exit(1);
}

static int has_right_sum(MPI_Comm comm, int rank, int size)
{
    int sum = -1;

    must(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm), "MPI_Allreduce");
    return sum == size * (size - 1) / 2;
}

int main(int argc, char **argv)
{
    long times = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
    const char *how = argc > 2 ? argv[2] : "";
    MPI_Session session;
    MPI_Group group;
    int rank, size;

    must(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session), "MPI_Session_init");
    must(MPI_Group_from_session_pset(session, "mpi://WORLD", &group), "the group of all ranks");
    MPI_Group_rank(group, &rank);
    MPI_Group_size(group, &size);
    if (strcmp(how, "die") == 0 && rank == size - 1)
        raise(SIGKILL);
    for (long i = 0; i < times; i++) {
        MPI_Comm comm;

        must(MPI_Comm_create_from_group(group, "session", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm),
             "MPI_Comm_create_from_group");
        if (!has_right_sum(comm, rank, size)) {
            fprintf(stderr, "session: rank %d has a wrong sum\n", rank);
            return 1;
        }
        if (strcmp(how, "keep") != 0)
            MPI_Comm_free(&comm);
    }
    if (rank == 0)
        printf("session: ranks=%d times=%ld ok\n", size, times);
    if (strcmp(how, "keep") == 0)
        return 0;
    MPI_Group_free(&group);
    must(MPI_Session_finalize(&session), "MPI_Session_finalize");
    return 0;
}

#else

int main(void)
{
    printf("session: this MPI library has none\n");
    return 0;
}

#endif
