/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that a job brings along: what they are called on its daemons, and how they get on their
 * way. */
#ifndef DVM_SUBMIT_FILES_H
#define DVM_SUBMIT_FILES_H

#include "base/err/err.h"
#include "dvm/protocol/wire/job.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Adds a file to the job, by its name here; *sources grows along with spec->files. A relative path
 * stays the same there, an absolute one comes by its last name. *number, if not NULL, is its place
 * from 1 on: the same file again has the one that it has. -1: it has no name there, or that of
 * another one. */
int files_add(struct job_spec *spec, char ***sources, const char *path, const char *cwd,
              uint32_t *number, struct err *err) __attribute__((warn_unused_result));
/* The same for each of several between commas. */
int files_add_list(struct job_spec *spec, char ***sources, const char *list, const char *cwd,
                   struct err *err) __attribute__((warn_unused_result));
/* The place of the file that has this relative path there, from 1 on; 0: there is none. */
uint32_t files_place(const struct job_spec *spec, const char *path);
/* The program that the shell would find by this name; NULL and a reason. */
char *files_program(const char *name, const char *path, struct err *err);
/* Each can be opened now and is a file. */
int files_check(char *const *sources, size_t n, struct err *err)
    __attribute__((warn_unused_result));

/* A process that reads them, and the pieces of it that are to be sent. */
struct files_sender;
struct files_sender *files_sender_create(char *const *sources, size_t n);
/* Its process is ended, and waited for no longer than a second. NULL is fine. */
void files_sender_destroy(struct files_sender *s);
/* So many bytes of pieces may be sent, in all. */
int files_sender_room(struct files_sender *s, uint64_t total, struct err *err)
    __attribute__((warn_unused_result));
void files_sender_want(const struct files_sender *s, struct pollfd *p); /* fd -1: nothing */
/* Reads what is there, without waiting. -1: files cannot be read; nothing more comes. */
int files_sender_pump(struct files_sender *s, struct err *err) __attribute__((warn_unused_result));
/* The next piece for which there is room; false: none now. Borrowed until the next call. */
bool files_sender_next(struct files_sender *s, const uint8_t **piece, size_t *len);

#endif
