/* SPDX-License-Identifier: BSD-3-Clause */
/* The exit codes of prun that are not those of ranks: numbers and texts, defined only here
 * (docs/prun.md, Exit code). */
#ifndef DVM_WIRE_EXIT_CODE_H
#define DVM_WIRE_EXIT_CODE_H

/* X(ID, code, what it means): of the end of a job, in the order of the help text. */
#define EXIT_CODES(X)                                                                              \
    X(NOT_FINALIZED, 1, "a rank exited with 0 after MPI_Init, but without MPI_Finalize")           \
    X(ENDED, 143, "ended by the user (137: killed)")                                               \
    X(CANCELLED, 122, "cancelled: ended by a drain, a shutdown, or because its prun was killed")   \
    X(LOST, 123, "a daemon with ranks of the job was lost, or the connection to the DVM")          \
    X(TIMEOUT, 124, "the time of --timeout has passed")                                            \
    X(NOT_LAUNCHED, 125, "not launched: refused, never fits, program not executable, no DVM there")

/* A job's end is sent as one byte, which holds one of these, the exit code of a rank, or that of a
 * signal. */
#define EXIT_CODE_MAX 255
#define EXIT_CODE_MEMBER(id, code, text) EXIT_CODE_##id = (code),
enum exit_code {
    EXIT_CODE_OK = 0,
    EXIT_CODE_USAGE = 2, /* of every tool: the command line is wrong, nothing was started */
    EXIT_CODES(EXIT_CODE_MEMBER)
};
#undef EXIT_CODE_MEMBER

/* Shells report the death of a process by a signal in this way. */
static inline int exit_code_of_signal(int signum)
{
    return 128 + signum;
}

#endif
