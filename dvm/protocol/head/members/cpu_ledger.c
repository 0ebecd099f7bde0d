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
 * in the epoch in which they were taken (slots.c sees to that).
 *
 * Hosts and CPUs are in the journal: the record CPUS. The account of a daemon follows from the
 * ranks that run there. */
#include "dvm/protocol/head/members/cpu_ledger.h"

#include "base/buf/buf.h"
#include "base/heap/hash.h"

#include <stdlib.h>
#include <string.h>

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
    struct journal *journal;
    struct cpus_kind *kinds;      /* by text */
    struct cpu_account *accounts; /* [n] by vpid */
    uint32_t n;
};

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

static int put_account(struct cpu_ledger *g, const struct record_cpus *r, struct err *err)
{
    struct cpus_kind *k = NULL;

    if (r->text[0]) {
        k = kind_of(g, r->text, err);
        if (!k)
            return err_wrap(err, "vpid %u", r->vpid);
        k->users++;
    }
    if (r->vpid >= g->n) {
        g->accounts = xrealloc(g->accounts, (r->vpid + 1) * sizeof(*g->accounts));
        memset(g->accounts + g->n, 0, (r->vpid + 1 - g->n) * sizeof(*g->accounts));
        g->n = r->vpid + 1;
    }
    clear_account(g, &g->accounts[r->vpid]);
    g->accounts[r->vpid].kind = k;
    g->accounts[r->vpid].host = xstrdup(r->host);
    return 0;
}

static int fold_record(void *state, const struct record *r, struct err *err)
{
    return r->type == RECORD_CPUS ? put_account(state, &r->cpus, err) : 0;
}

static void save_state(const void *state, struct buf *b)
{
    const struct cpu_ledger *g = state;
    size_t at = b->len;
    uint32_t n = 0;

    buf_put_u32(b, 0);
    for (uint32_t v = 0; v < g->n; v++) {
        const struct cpu_account *a = &g->accounts[v];
        struct record_cpus r = {v, a->host, a->kind ? a->kind->text : ""};

        if (!a->host)
            continue;
        record_put_cpus(b, &r);
        n++;
    }
    if (!b->failed)
        buf_patch_u32(b, at, n);
}

static int load_state(void *state, struct cur *c, struct err *err)
{
    uint32_t n = cur_count(c, VPID_MAX + 1, 12);

    for (uint32_t i = 0; i < n; i++) {
        struct record_cpus r = {0};
        int rc = record_get_cpus(c, &r, err);

        if (rc == 0)
            rc = put_account(state, &r, err);
        free(r.host);
        free(r.text);
        if (rc < 0)
            return -1;
    }
    return 0;
}

struct cpu_ledger *cpu_ledger_create(struct journal *j)
{
    struct cpu_ledger *g = xcalloc(1, sizeof(*g));
    struct journal_part part = {g, fold_record, save_state, load_state};

    g->journal = j;
    journal_add_part(j, &part);
    return g;
}

int cpu_ledger_put(struct cpu_ledger *g, uint32_t vpid, const char *host, const char *text,
                   struct err *err)
{
    struct record r = {.type = RECORD_CPUS,
                       .cpus = {vpid, (char *)host, (char *)(text ? text : "")}};

    return journal_put(g->journal, &r, err);
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
