/* SPDX-License-Identifier: BSD-3-Clause */
#include "dvm/host/pmix/test/full.h"

#include "dvm/host/pmix/pmix_private.h"

#define MANY (1u << 20) /* beyond any limit */

void full_of_events(struct pmix_srv *p, bool full)
{
    if (full)
        atomic_fetch_add(&p->events_out, MANY);
    else
        atomic_fetch_sub(&p->events_out, MANY);
}
