/* SPDX-License-Identifier: BSD-3-Clause */
/* What the ranks write, on its way to prun's own standard output and standard error. */
#ifndef DVM_SUBMIT_OUTPUT_H
#define DVM_SUBMIT_OUTPUT_H

#include "base/err/err.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More than this waiting: the caller stops reading from the daemon (back pressure). */
#define OUTPUT_FULL (1u << 20)
/* A tagged line is held until it is whole or this long; then it is cut into several. */
#define OUTPUT_LINE_MAX (16u << 10)

struct output;

struct output_style {
    bool tag;        /* "[RANK]<stdout>: " before each line */
    bool timestamp;  /* UTC, before each line and tag */
    bool merge;      /* standard error of the ranks goes to standard output, too */
    const char *dir; /* files of this directory instead of the two descriptors; NULL: none */
};

/* Makes the directory if needed and sees that files can be made there; nothing to do without. */
int output_check(const struct output_style *s, struct err *err) __attribute__((warn_unused_result));

/* `fds` are those of streams 1 and 2; they stay the caller's and blocking. */
struct output *output_create(const int fds[2], const struct output_style *s);
/* The job's name is known: its files will be in a directory of that name. -1: it cannot be made. */
int output_job(struct output *o, const char *nspace, struct err *err)
    __attribute__((warn_unused_result));
void output_destroy(struct output *o);
void output_add(struct output *o, uint32_t rank, int stream, const void *data, size_t len);
/* Text that is of no rank, for stream 1 as it is. */
void output_text(struct output *o, const void *data, size_t len);
/* The job is over: lines without an end are let go. */
void output_finish(struct output *o);
size_t output_pending(const struct output *o);
/* Two entries for poll(2); fd is -1 where nothing waits. */
void output_want(const struct output *o, struct pollfd p[2]);
/* Writes what those entries say can be written without blocking. -1: a stream failed (told once;
 * what comes for it is dropped from then on); err->code is its errno. */
int output_pump(struct output *o, const struct pollfd p[2], struct err *err)
    __attribute__((warn_unused_result));

#endif
