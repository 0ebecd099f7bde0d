/* SPDX-License-Identifier: BSD-3-Clause */
/* What mapping asks of each daemon, so that it need not be made of the table of members each time:
 * its host; its CPUs as it told them when it called home, and how many ranks have each for their
 * own. */
#include "dvm/protocol/head/head_private.h"

#include <stdlib.h>
#include <string.h>

/* Daemons of one kind tell the same: it is kept once. */
struct cpus_kind {
    char *text;
    struct topo *topo;
    uint32_t users;
    UT_hash_handle hh;
};

struct cpu_account {
    char *host;
    struct cpus_kind *kind; /* NULL: it has told none */
    uint16_t *load;         /* [kind->topo->npus]; NULL: none is taken */
};

static void let_go(struct head *l, struct cpu_account *c)
{
    struct cpus_kind *k = c->kind;

    free(c->host);
    free(c->load);
    *c = (struct cpu_account){0};
    if (!k || --k->users)
        return;
    HASH_DEL(l->cpus_kinds, k);
    topo_free(k->topo);
    free(k->text);
    free(k);
}

static struct cpus_kind *kind_of(struct head *l, const char *text, struct err *err)
{
    struct cpus_kind *k;
    struct topo *t;

    HASH_FIND_STR(l->cpus_kinds, text, k);
    if (k)
        return k;
    t = topo_of_text(text, err);
    if (!t)
        return NULL;
    k = xcalloc(1, sizeof *k);
    k->text = xstrdup(text);
    k->topo = t;
    HASH_ADD_KEYPTR(hh, l->cpus_kinds, k->text, strlen(k->text), k);
    return k;
}

int cpu_ledger_put(struct head *l, uint32_t vpid, const char *host, const char *text,
                   struct err *err)
{
    struct cpus_kind *k = NULL;

    if (text && text[0]) {
        k = kind_of(l, text, err);
        if (!k)
            return err_wrap(err, "vpid %u", vpid);
        k->users++;
    }
    if (vpid >= l->ncpus) {
        l->cpus = xrealloc(l->cpus, (vpid + 1) * sizeof *l->cpus);
        memset(l->cpus + l->ncpus, 0, (vpid + 1 - l->ncpus) * sizeof *l->cpus);
        l->ncpus = vpid + 1;
    }
    let_go(l, &l->cpus[vpid]);
    l->cpus[vpid].kind = k;
    l->cpus[vpid].host = xstrdup(host);
    return 0;
}

const char *cpu_ledger_host(const struct head *l, uint32_t vpid)
{
    return vpid < l->ncpus && l->cpus[vpid].host ? l->cpus[vpid].host : "";
}

const struct topo *cpu_ledger_topo(const struct head *l, uint32_t vpid)
{
    return vpid < l->ncpus && l->cpus[vpid].kind ? l->cpus[vpid].kind->topo : NULL;
}

const uint16_t *cpu_ledger_load(const struct head *l, uint32_t vpid)
{
    return vpid < l->ncpus ? l->cpus[vpid].load : NULL;
}

void cpu_ledger_take(struct head *l, uint32_t vpid, hwloc_const_bitmap_t pus)
{
    struct cpu_account *c = &l->cpus[vpid];
    int i;

    if (!c->load)
        c->load = xcalloc(c->kind->topo->npus, sizeof *c->load);
    for (i = hwloc_bitmap_first(pus); i >= 0; i = hwloc_bitmap_next(pus, i))
        c->load[i]++;
}

void cpu_ledger_give(struct head *l, uint32_t vpid, hwloc_const_bitmap_t pus)
{
    struct cpu_account *c = &l->cpus[vpid];
    int i;

    for (i = hwloc_bitmap_first(pus); i >= 0; i = hwloc_bitmap_next(pus, i))
        c->load[i]--;
}

void cpu_ledger_free_all(struct head *l)
{
    for (uint32_t v = 0; v < l->ncpus; v++)
        let_go(l, &l->cpus[v]);
    free(l->cpus);
}
