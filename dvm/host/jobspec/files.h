/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that a job brings along: their names on its daemons, and the process that sends them. */
#ifndef DVM_SUBMIT_FILES_H
#define DVM_SUBMIT_FILES_H

#include "base/err/err.h"
#include "dvm/protocol/wire/job.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Adds a file to the job by its local name; *sources grows along with spec->files. A relative
 * path stays the same there; an absolute one is reduced to its last component. *number, if not
 * NULL, is its place from 1 on; a repeated file keeps its place. -1: the name is not possible
 * there, or belongs to another file. */
int files_add(struct job_spec *spec, char ***sources, const char *path, const char *cwd,
              uint32_t *number, struct err *err) __attribute__((warn_unused_result));
/* Adds each file of a list separated by commas. */
int files_add_list(struct job_spec *spec, char ***sources, const char *list, const char *cwd,
                   struct err *err) __attribute__((warn_unused_result));
/* The place, from 1 on, of the file with this relative path there; 0: there is none. */
uint32_t files_place(const struct job_spec *spec, const char *path);
/* The program that the shell would find by this name; NULL and a reason if there is none. */
char *files_program(const char *name, const char *path, struct err *err);
/* Checks that each can be opened now and is a file. */
int files_check(char *const *sources, size_t n, struct err *err)
    __attribute__((warn_unused_result));

/* A process that reads the files, and the pieces to send. */
struct files_sender;
struct files_sender *files_sender_create(char *const *sources, size_t n);
/* Ends its process, and waits for it a second at most. NULL is fine. */
void files_sender_destroy(struct files_sender *s);
/* Allows `total` bytes of pieces to be sent, counted from the beginning. */
int files_sender_room(struct files_sender *s, uint64_t total, struct err *err)
    __attribute__((warn_unused_result));
void files_sender_want(const struct files_sender *s,
                       struct pollfd *p); /* fd -1: nothing to wait for */
/* Reads available data without blocking. -1: files cannot be read; nothing more comes. */
int files_sender_pump(struct files_sender *s, struct err *err) __attribute__((warn_unused_result));
/* The next piece that may be sent; false: none now. Borrowed until the next call. */
bool files_sender_next(struct files_sender *s, const uint8_t **piece, size_t *len);

#endif
