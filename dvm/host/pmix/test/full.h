/* SPDX-License-Identifier: BSD-3-Clause */
/* A server whose ranks have as many events in flight as they may have, or fewer again. */
#ifndef DVM_PMIX_TEST_FULL_H
#define DVM_PMIX_TEST_FULL_H

#include <stdbool.h>

struct pmix_srv;
void full_of_events(struct pmix_srv *p, bool full);

#endif
