/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses one of the deliberate mistakes of dvm/sim/mutant_list.h for this process. */
#ifndef DVM_SIM_MUTANT_H
#define DVM_SIM_MUTANT_H

#include "base/err/err.h"

/* -1 if there is no such mutant, or this build holds none. NULL or "": none, as at the start. */
int mutant_choose(const char *name, struct err *err);
void mutant_list(void); /* to stdout, one a line: name, what is done wrong */

#endif
