/* SPDX-License-Identifier: BSD-3-Clause */
/* Each daemon's host and CPUs, as reported when it called home, and the CPUs that ranks have. */
#ifndef DVM_HEAD_MEMBERS_CPU_LEDGER_H
#define DVM_HEAD_MEMBERS_CPU_LEDGER_H

#include "base/err/err.h"
#include "dvm/protocol/head/journal/journal.h"
#include "dvm/protocol/map/topo.h"

#include <hwloc/bitmap.h>
#include <stdint.h>

struct cpu_ledger;

/* A part of the journal, which it borrows. */
struct cpu_ledger *cpu_ledger_create(struct journal *j);
void cpu_ledger_destroy(struct cpu_ledger *g);
/* A daemon (in a new epoch) has reported its host and its CPUs; "" or NULL: none. Copies both. -1
 * and a reason if the text of the CPUs is malformed. */
int cpu_ledger_put(struct cpu_ledger *g, uint32_t vpid, const char *host, const char *text,
                   struct err *err) __attribute__((warn_unused_result));
const char *cpu_ledger_host(const struct cpu_ledger *g, uint32_t vpid);
/* NULL: it has reported no CPUs. */
const struct topo *cpu_ledger_topo(const struct cpu_ledger *g, uint32_t vpid);
/* Number of ranks that have each hardware thread, [topo->npus]; NULL: none was ever taken. */
const uint16_t *cpu_ledger_load(const struct cpu_ledger *g, uint32_t vpid);
/* One more, one less rank holds these hardware threads. */
void cpu_ledger_take(struct cpu_ledger *g, uint32_t vpid, hwloc_const_bitmap_t pus);
void cpu_ledger_give(struct cpu_ledger *g, uint32_t vpid, hwloc_const_bitmap_t pus);

#endif
