/* SPDX-License-Identifier: BSD-3-Clause */
/* Which message types a fuzz target has decoded; printed by name at its end. */
#ifndef DVM_WIRE_TEST_REACHED_H
#define DVM_WIRE_TEST_REACHED_H

/* name(): "?" for a number that is no type. */
void reached_start(unsigned types, const char *(*name)(unsigned type));
void reached(unsigned type);

#endif
