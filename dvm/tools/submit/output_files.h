/* SPDX-License-Identifier: BSD-3-Clause */
/* --output dir=PATH: a file for each rank's stream, PATH/JOB/rank.N.out and rank.N.err. */
#ifndef DVM_SUBMIT_OUTPUT_FILES_H
#define DVM_SUBMIT_OUTPUT_FILES_H

#include "base/err/err.h"

#include <stddef.h>
#include <stdint.h>

/* Files that are open at a time; beyond it the least recently used one is closed. */
#define OUTPUT_FILES_OPEN_MAX 256

struct output_files;

int output_files_check(const char *dir, struct err *err) __attribute__((warn_unused_result));
/* `dir` is borrowed. Names have so many digits of the rank at least, so that they sort. */
struct output_files *output_files_create(const char *dir, int digits);
void output_files_destroy(struct output_files *f);
/* Creates dir/nspace. An existing directory is an error, since it would be another job's. */
int output_files_job(struct output_files *f, const char *nspace, struct err *err)
    __attribute__((warn_unused_result));
int output_files_write(struct output_files *f, uint32_t rank, int stream, const void *data,
                       size_t len, struct err *err) __attribute__((warn_unused_result));

#endif
