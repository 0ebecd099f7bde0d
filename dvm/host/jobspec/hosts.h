/* SPDX-License-Identifier: BSD-3-Clause */
/* --host: the daemons to which a job is limited. */
#ifndef DVM_SUBMIT_HOSTS_H
#define DVM_SUBMIT_HOSTS_H

#include "base/err/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parses a list of vpids (3), ranges (1-4), and names that end with the vpid: pods (x-3, also
 * with a domain) and daemons of a local DVM (node3). The result is ascending and without
 * duplicates; on the heap. */
int hosts_parse(const char *list, uint32_t **vpids, size_t *n, struct err *err)
    __attribute__((warn_unused_result));

/* The same of a DVM all of whose members are on this machine. Its name, as gethostname() and so
 * MPI_Get_processor_name() have it, with or without its domain, names them all: then *n is 0. It
 * comes before a member's name: a machine may be called x-3. */
int hosts_parse_local(const char *list, uint32_t **vpids, size_t *n, struct err *err)
    __attribute__((warn_unused_result));
/* Whether this is the machine's name, with or without its domain. */
bool hosts_is_machine(const char *name);

#endif
