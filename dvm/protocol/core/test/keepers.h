/* SPDX-License-Identifier: BSD-3-Clause */
/* The tests of keepers: a DVM whose head has them, and the end of its process. */
#ifndef DVM_CORE_TEST_KEEPERS_H
#define DVM_CORE_TEST_KEEPERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/core/test/dvm.h"

#include <stdio.h>
#include <string.h>

#define MEMBERS 6 /* a tree of radix 2: the head has two children, which are the keepers */

static inline struct sim *boot_shape(uint32_t members, uint32_t radix)
{
    struct sim *s = dvm_boot(&(struct dvm_shape){
        .members = members, .started = members, .radix = radix, .slots = 2, .keepers = true});

    dvm_wait_wired(s, members, 20000);
    sim_for(s, 100);
    return s;
}

static inline struct sim *boot(void)
{
    return boot_shape(MEMBERS, 2);
}

static inline void cut_off(struct sim *s, uint32_t vpid)
{
    sim_partition(s, vpid, 1);
    sim_break(s, 0, vpid);
}

static inline bool is_head(struct sim *s, void *arg)
{
    return sim_core(s, 0) && core_state(sim_core(s, 0)) == CORE_WIRED;
}

static inline void replace_head(struct sim *s)
{
    dvm_replace_head(s);
    assert_true(sim_until(s, is_head, NULL, 30000));
}

static inline void replace_head_at_once(struct sim *s)
{
    dvm_replace_head_at_once(s);
    assert_true(sim_until(s, is_head, NULL, 30000));
}

/* A head has begun just now. True: with records, not with the table of most members. */
static inline bool has_records(struct sim *s)
{
    return !job_adoption_waits(head_jobs(core_inspect_head(sim_core(s, 0))));
}

#endif
