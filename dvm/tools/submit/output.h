/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes the ranks' output to prun's own standard output and standard error. */
#ifndef DVM_SUBMIT_OUTPUT_H
#define DVM_SUBMIT_OUTPUT_H

#include "base/err/err.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* When more than this waits, the caller stops reading from the daemon (back pressure). */
#define OUTPUT_FULL (1u << 20)
/* A tagged line is held until it is complete or this long; then it is split. */
#define OUTPUT_LINE_MAX (16u << 10)

struct output;

struct output_style {
    bool tag;        /* "[RANK]<stdout>: " before each line */
    bool timestamp;  /* UTC, before each line and tag */
    bool merge;      /* the ranks' standard error goes to standard output */
    const char *dir; /* files in this directory instead of the two descriptors; NULL: none */
    int digits;      /* of a rank in the names of these files */
};

/* Creates the directory if needed and checks that files can be created in it. Does nothing
 * without a directory. */
int output_check(const struct output_style *s, struct err *err) __attribute__((warn_unused_result));

/* `fds` belong to streams 1 and 2. They stay the caller's and blocking. */
struct output *output_create(const int fds[2], const struct output_style *s);
/* The job's name is known: its files go to a directory of that name. -1: it cannot be created. */
int output_job(struct output *o, const char *nspace, struct err *err)
    __attribute__((warn_unused_result));
void output_destroy(struct output *o);
void output_add(struct output *o, uint32_t rank, int stream, const void *data, size_t len);
/* Adds text that belongs to no rank to stream 1, unchanged. */
void output_text(struct output *o, const void *data, size_t len);
/* The job has ended: unfinished lines are written. */
void output_finish(struct output *o);
size_t output_pending(const struct output *o);
/* Fills two entries for poll(2); fd is -1 if nothing waits. */
void output_want(const struct output *o, struct pollfd p[2]);
/* Writes as much as these entries allow without blocking. -1: a stream failed (reported once;
 * its later data is dropped); err->code is its errno. */
int output_pump(struct output *o, const struct pollfd p[2], struct err *err)
    __attribute__((warn_unused_result));

#endif
