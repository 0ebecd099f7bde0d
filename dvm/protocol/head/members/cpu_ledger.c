/* SPDX-License-Identifier: BSD-3-Clause */
/* The CPU ledger: host and CPUs of each daemon in the form that mapping needs. Without it mapping
 * would build them from the table of members each time.
 *
 * In: host and CPUs of a daemon at its admission; hardware threads that a rank takes and gives
 * back. Out: a daemon's host, its topology, and for each hardware thread the number of ranks that
 * have it.
 *
 * Daemons of one kind report the same text of CPUs: its topology is kept once, with a count of
 * its users. A new epoch of a vpid begins with an empty account. Threads may be given back only
 * in the epoch in which they were taken (slots.c sees to that). */
#include "dvm/protocol/head/members/cpu_ledger.h"

#include "base/buf/buf.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

/* Daemons of one kind report the same text: it is kept once. */
struct cpus_kind {
    char *text;
    struct topo *topo;
    uint32_t users;
    UT_hash_handle hh;
};

struct cpu_account {
    char *host;
    struct cpus_kind *kind; /* NULL: it has reported none */
    uint16_t *load;         /* [kind->topo->npus]; NULL: none is taken */
};

struct cpu_ledger {
    struct cpus_kind *kinds;      /* by text */
    struct cpu_account *accounts; /* [n] by vpid */
    uint32_t n;
};

struct cpu_ledger *cpu_ledger_create(void)
{
    return xcalloc(1, sizeof(struct cpu_ledger));
}

static void clear_account(struct cpu_ledger *g, struct cpu_account *c)
{
    struct cpus_kind *k = c->kind;

    free(c->host);
    free(c->load);
    *c = (struct cpu_account){0};
    if (!k || --k->users)
        return;
    HASH_DEL(g->kinds, k);
    topo_free(k->topo);
    free(k->text);
    free(k);
}

static struct cpus_kind *kind_of(struct cpu_ledger *g, const char *text, struct err *err)
{
    struct cpus_kind *k;
    struct topo *t;

    HASH_FIND_STR(g->kinds, text, k);
    if (k)
        return k;
    t = topo_of_text(text, err);
    if (!t)
        return NULL;
    k = xcalloc(1, sizeof(*k));
    k->text = xstrdup(text);
    k->topo = t;
    HASH_ADD_KEYPTR(hh, g->kinds, k->text, strlen(k->text), k);
    return k;
}

int cpu_ledger_put(struct cpu_ledger *g, uint32_t vpid, const char *host, const char *text,
                   struct err *err)
{
    struct cpus_kind *k = NULL;

    if (text && text[0]) {
        k = kind_of(g, text, err);
        if (!k)
            return err_wrap(err, "vpid %u", vpid);
        k->users++;
    }
    if (vpid >= g->n) {
        g->accounts = xrealloc(g->accounts, (vpid + 1) * sizeof(*g->accounts));
        memset(g->accounts + g->n, 0, (vpid + 1 - g->n) * sizeof(*g->accounts));
        g->n = vpid + 1;
    }
    clear_account(g, &g->accounts[vpid]);
    g->accounts[vpid].kind = k;
    g->accounts[vpid].host = xstrdup(host);
    return 0;
}

const char *cpu_ledger_host(const struct cpu_ledger *g, uint32_t vpid)
{
    return vpid < g->n && g->accounts[vpid].host ? g->accounts[vpid].host : "";
}

const struct topo *cpu_ledger_topo(const struct cpu_ledger *g, uint32_t vpid)
{
    return vpid < g->n && g->accounts[vpid].kind ? g->accounts[vpid].kind->topo : NULL;
}

const uint16_t *cpu_ledger_load(const struct cpu_ledger *g, uint32_t vpid)
{
    return vpid < g->n ? g->accounts[vpid].load : NULL;
}

void cpu_ledger_take(struct cpu_ledger *g, uint32_t vpid, hwloc_const_bitmap_t pus)
{
    struct cpu_account *c = &g->accounts[vpid];
    int i;

    if (!c->load)
        c->load = xcalloc(c->kind->topo->npus, sizeof(*c->load));
    for (i = hwloc_bitmap_first(pus); i >= 0; i = hwloc_bitmap_next(pus, i))
        c->load[i]++;
}

void cpu_ledger_give(struct cpu_ledger *g, uint32_t vpid, hwloc_const_bitmap_t pus)
{
    struct cpu_account *c = &g->accounts[vpid];
    int i;

    for (i = hwloc_bitmap_first(pus); i >= 0; i = hwloc_bitmap_next(pus, i))
        c->load[i]--;
}

void cpu_ledger_destroy(struct cpu_ledger *g)
{
    if (!g)
        return;
    for (uint32_t v = 0; v < g->n; v++)
        clear_account(g, &g->accounts[v]);
    free(g->accounts);
    free(g);
}
