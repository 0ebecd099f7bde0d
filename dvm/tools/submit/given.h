/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of one program as they were given, before their values are looked at. */
#ifndef DVM_SUBMIT_GIVEN_H
#define DVM_SUBMIT_GIVEN_H

#include "base/err/err.h"
#include "dvm/tools/submit/option_list.h"
#include "dvm/tools/submit/options.h"

#include <stdbool.h>
#include <stddef.h>

struct given_option {
    enum option_id opt;
    char *value;  /* NULL: it takes none; borrowed from argv */
    char *second; /* of --mca and --pmixmca */
};

struct given {
    struct given_option *v;
    size_t n;
};

/* Reads the options up to the program's name; argv[0] is the preceding word. Words of other
 * launchers are replaced in argv by ours, which `o` keeps. Reading ends at --help and --version.
 * Returns the index of the program's name, or -1. */
int given_read(struct given *g, struct submit_opts *o, int argc, char **argv, struct err *err)
    __attribute__((warn_unused_result));
/* Reads the words of DVM_PRUN_OPTIONS, separated by blanks; '...' and "..." keep blanks. `o` keeps
 * the words. NULL: there are none. */
int given_read_defaults(struct given *g, struct submit_opts *o, const char *text, struct err *err)
    __attribute__((warn_unused_result));
void given_free(struct given *g);

bool given_has(const struct given *g, enum option_id opt);
/* The first option that is of the job or a program, not of prun itself; NULL: there is none. */
const struct given_option *given_of_job(const struct given *g);
/* Options before a later program: those of the whole job are dropped if they are in `first` with
 * the same value, and refused otherwise. */
int given_check_later(struct given *g, const struct given *first, struct err *err)
    __attribute__((warn_unused_result));
/* Whether an option of DVM_PRUN_OPTIONS is replaced by one of the command line: by the same, or by
 * one that cannot stand beside it. */
bool given_replaces(const struct given *g, const struct given_option *d);
enum option_holds given_holds(enum option_id opt);

/* Takes `word`, which is freed with the options. */
char *given_keep(struct submit_opts *o, char *word);

#endif
