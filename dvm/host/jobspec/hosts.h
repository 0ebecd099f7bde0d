/* SPDX-License-Identifier: BSD-3-Clause */
/* --host: which daemons a job is limited to. */
#ifndef DVM_SUBMIT_HOSTS_H
#define DVM_SUBMIT_HOSTS_H

#include "base/err/err.h"

#include <stddef.h>
#include <stdint.h>

/* A list of vpids (3), ranges of them (1-4), and names whose number at the end is the vpid: of pods
 * (x-3, also with a domain) and of a local DVM's daemons (node3). Ascending, each once; on the
 * heap.
 */
int hosts_parse(const char *list, uint32_t **vpids, size_t *n, struct err *err)
    __attribute__((warn_unused_result));

#endif
