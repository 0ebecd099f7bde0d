/* SPDX-License-Identifier: BSD-3-Clause */
/* Variables by which a launcher or an allocation outside the DVM tells its processes who they are.
 */
#ifndef DVM_JOBSPEC_OUTER_H
#define DVM_JOBSPEC_OUTER_H

#include <stdbool.h>

/* The list, NULL-terminated. A name that ends with '*' stands for all names with that beginning. A
 * name behind '!' is a parameter, although an earlier name stands for it. */
extern const char *const outer_names[];

/* Whether `entry`, "NAME=value" or "NAME", is such a variable. */
bool outer_is_identity(const char *entry);
/* Removes such variables from this process's environment. Before its first thread. */
void outer_forget(void);

#endif
