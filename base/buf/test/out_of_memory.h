/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a function that gets no memory ends the program with exit code 1 and one line. */
#ifndef BASE_BUF_TEST_OUT_OF_MEMORY_H
#define BASE_BUF_TEST_OUT_OF_MEMORY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* The exit code of a child, and what it wrote to its standard error; -1: a signal has ended it. */
static inline int run_in_child(void (*allocate)(void), char *said, size_t size)
{
    int ends[2];
    int status;
    pid_t child;
    size_t len = 0;
    ssize_t n;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        allocate();
        _exit(0);
    }
    close(ends[1]);
    while ((n = read(ends[0], said + len, size - 1 - len)) > 0)
        len += (size_t)n;
    said[len] = '\0';
    close(ends[0]);
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Lines of the sanitizer may come before it. */
static inline void assert_one_line_and_the_end(void (*allocate)(void))
{
    char said[8192];
    const char *line;

    assert_int_equal(run_in_child(allocate, said, sizeof(said)), EXIT_FAILURE);
    line = strstr(said, "out of memory, the program ends wanted_bytes=");
    assert_non_null(line);
    line = strchr(line, '\n');
    assert_non_null(line);
    assert_int_equal(line[1], '\0');
}

#endif
