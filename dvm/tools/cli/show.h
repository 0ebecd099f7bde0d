/* SPDX-License-Identifier: BSD-3-Clause */
/* The head's view, its campaigns and events, a daemon's links, as text for people. */
#ifndef DVM_CLI_SHOW_H
#define DVM_CLI_SHOW_H

#include "api/dvm.h"
#include "api/event.h"
#include "api/links.h"

#include <stdio.h>

/* "1-3,5"; "-" for none. `v` is ascending. On the heap. */
char *show_vpids(const uint32_t *v, size_t n);
/* "job 5f.2 ranks 0-3, job …"; "" for none. On the heap. */
char *show_job_refs(const struct api_job_ref *refs, size_t n);

void show_summary(const struct api_dvm *d, FILE *out);
void show_members(const struct api_dvm *d, FILE *out);
void show_tree(const struct api_dvm *d, FILE *out);
void show_jobs(const struct api_dvm *d, FILE *out);
void show_campaigns(const struct api_dvm *d, FILE *out);
void show_links(const struct api_links *l, FILE *out);
void show_event(const struct api_event *e, FILE *out); /* one line */

#endif
