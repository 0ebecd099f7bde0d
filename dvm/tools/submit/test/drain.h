/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the output of prun from a test's pipe. */
#ifndef DVM_SUBMIT_TEST_DRAIN_H
#define DVM_SUBMIT_TEST_DRAIN_H

#include <fcntl.h>
#include <unistd.h>

/* Reads a pipe without a writer, without blocking. */
static inline void drain(int fd, char *text, size_t size)
{
    size_t len = 0;
    ssize_t n;

    fcntl(fd, F_SETFL, O_NONBLOCK);
    while (len < size - 1 && (n = read(fd, text + len, size - 1 - len)) > 0)
        len += (size_t)n;
    text[len] = '\0';
}

#endif
