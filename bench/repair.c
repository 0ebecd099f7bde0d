/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares one repair of the tree for many departed daemons with one repair for each: time, and
 * visited positions. */
#include "bench/figures.h"
#include "dvm/protocol/member/member.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUDGET_MS 1000 /* single repairs stop after this time; the line has their number */
#define CHILDREN_MAX 65536

/* The linker redirects the tree's reads of the set of live vpids to these (Makefile: --wrap). */
static unsigned long looks;
int __real_hwloc_bitmap_isset(hwloc_const_bitmap_t set, unsigned id);
int __wrap_hwloc_bitmap_isset(hwloc_const_bitmap_t set, unsigned id);
int __wrap_hwloc_bitmap_isset(hwloc_const_bitmap_t set, unsigned id)
{
    looks++;
    return __real_hwloc_bitmap_isset(set, id);
}
int __real_hwloc_bitmap_next(hwloc_const_bitmap_t set, int id);
int __wrap_hwloc_bitmap_next(hwloc_const_bitmap_t set, int id);
int __wrap_hwloc_bitmap_next(hwloc_const_bitmap_t set, int id)
{
    looks++;
    return __real_hwloc_bitmap_next(set, id);
}

enum shape { BRANCH, SCATTERED, TRAILING, SHAPES };
static const char *const shape_names[] = {"branch", "scattered", "trailing"};

struct run {
    struct members *m; /* of n vpids, all live */
    uint32_t n, k;
    enum shape shape;
    struct msg_target *targets; /* k of them */
};

static struct epoch life(void)
{
    return (struct epoch){1, 1};
}

static void fill(struct members *m, uint32_t n)
{
    struct msg_member facts = {
        .epoch = life(), .host = "", .address = "", .port = 7400, .slots = 1};

    members_init(m, 0, 2);
    for (facts.vpid = 0; facts.vpid < n; facts.vpid++)
        members_add(m, &facts, 1);
}

/* As before the repair; filling anew would take longer than what is measured. */
static void restore(const struct run *r)
{
    for (uint32_t i = 0; i < r->k; i++)
        hwloc_bitmap_set(r->m->live, r->targets[i].vpid);
}

/* Those of one branch: breadth first below vpid 1, so that it leaves as a whole. */
static uint32_t branch(struct run *r)
{
    uint64_t lo = 1;
    uint64_t hi = 1;
    uint32_t got = 0;

    while (lo < r->n && got < r->k) {
        for (uint64_t v = lo; v <= hi && v < r->n && got < r->k; v++)
            r->targets[got++] = (struct msg_target){(uint32_t)v, life()};
        lo = lo * r->m->radix + 1;
        hi = hi * r->m->radix + r->m->radix;
    }
    return got;
}

static uint32_t scattered(struct run *r)
{
    uint32_t *all = malloc(r->n * sizeof(*all));
    unsigned seed = 1;

    for (uint32_t v = 0; v < r->n; v++)
        all[v] = v;
    for (uint32_t i = 0; i < r->k; i++) { /* vpid 0 stays */
        uint32_t j = 1 + i + (uint32_t)rand_r(&seed) % (r->n - 1 - i);
        uint32_t swap = all[1 + i];

        all[1 + i] = all[j];
        all[j] = swap;
        r->targets[i] = (struct msg_target){all[1 + i], life()};
    }
    free(all);
    return r->k;
}

static uint32_t trailing(struct run *r)
{
    for (uint32_t i = 0; i < r->k; i++)
        r->targets[i] = (struct msg_target){r->n - 1 - i, life()};
    return r->k;
}

/* What a daemon does after a removal: its parent and its children in the new tree. */
static void own_place(const struct members *m, uint32_t *children)
{
    struct tree t = members_tree(m);

    (void)members_parent(m);
    (void)tree_children(&t, m->self, children, CHILDREN_MAX);
}

struct cost {
    double ms;
    double place_ms; /* of this, what own_place() took */
    unsigned long looks;
    uint32_t done;
};

static struct cost batch(const struct run *r, uint32_t *children)
{
    struct cost c = {.done = r->k};
    double start;
    double mid;
    /* asking for CPU time takes as long as a small batch; a large one is not to count what other
     * programs do in between */
    double (*clock)(void) = r->k < 1000 ? now_ms : cpu_ms;

    looks = 0;
    start = clock();
    members_remove(r->m, r->targets, r->k, MEMBER_EV_REMOVE);
    mid = clock();
    own_place(r->m, children);
    c.place_ms = clock() - mid;
    c.ms = clock() - start;
    c.looks = looks;
    restore(r);
    return c;
}

static struct cost singles(const struct run *r, uint32_t *children)
{
    struct cost c = {0};
    double start;

    looks = 0;
    start = cpu_ms(); /* long enough for other programs to come in between */
    while (c.done < r->k && (c.done % 256 || cpu_ms() - start < BUDGET_MS)) {
        members_remove(r->m, &r->targets[c.done++], 1, MEMBER_EV_REMOVE);
        own_place(r->m, children);
    }
    c.ms = cpu_ms() - start;
    c.looks = looks;
    restore(r);
    return c;
}

/* The survivor with the most to do: the one that takes the removed ones' place, or vpid 0. */
static uint32_t heir(const struct run *r)
{
    char *leaves = calloc(r->n, 1);
    uint32_t v;

    for (uint32_t i = 0; i < r->k; i++)
        leaves[r->targets[i].vpid] = 1;
    for (v = 1; v < r->n && leaves[v]; v++)
        ;
    free(leaves);
    return v < r->n ? v : 0;
}

static double median_of_5(double *v)
{
    sort_doubles(v, 5);
    return v[2];
}

static void print(const struct run *r, uint32_t self, uint32_t *children)
{
    double ms[5];
    double place_ms[5];
    struct cost b;
    struct cost s;
    double batch_ms;

    r->m->self = self;
    for (int i = 0; i < 5; i++) {
        b = batch(r, children);
        ms[i] = b.ms;
        place_ms[i] = b.place_ms;
    }
    s = singles(r, children);
    batch_ms = median_of_5(ms);
    printf("{\"bench\": \"repair\", \"n\": %u, \"k\": %u, \"radix\": %u, \"shape\": \"%s\", "
           "\"at\": \"%s\", \"vpid\": %u, \"batch_ms\": %.4f, \"batch_place_ms\": %.4f, "
           "\"batch_looks\": %lu, \"singles_ms\": %.3f, \"singles_looks\": %lu, "
           "\"singles_done\": %u, \"ratio\": %.1f}\n",
           r->n, r->k, r->m->radix, shape_names[r->shape], self ? "daemon" : "head", self, batch_ms,
           median_of_5(place_ms), b.looks, s.ms, s.looks, s.done, s.ms / s.done * r->k / batch_ms);
    fflush(stdout);
}

static void run(struct members *m, uint32_t n, uint32_t k, enum shape shape, uint32_t *children)
{
    struct run r = {.m = m, .n = n, .k = k, .shape = shape};

    r.targets = calloc(k, sizeof(*r.targets));
    if (shape == BRANCH)
        r.k = branch(&r);
    else if (shape == SCATTERED)
        r.k = scattered(&r);
    else
        r.k = trailing(&r);
    if (r.k == k) { /* a branch of radix 64 holds less than half */
        print(&r, 0, children);
        if (heir(&r))
            print(&r, heir(&r), children);
    }
    free(r.targets);
}

static void run_all(uint32_t n, uint32_t *children)
{
    static const uint32_t radixes[] = {2, 64};
    struct members m;

    fill(&m, n);
    for (uint32_t k = 1; k <= n / 2; k = k * 10 > n / 2 && k < n / 2 ? n / 2 : k * 10) {
        for (int i = 0; i < 2; i++) {
            m.radix = radixes[i];
            for (int shape = 0; shape < SHAPES; shape++)
                run(&m, n, k, (enum shape)shape, children);
        }
    }
    members_free(&m);
}

int main(int argc, char **argv)
{
    uint32_t max = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000000;
    uint32_t *children = calloc(CHILDREN_MAX, sizeof(*children));

    for (uint32_t n = 1000; n <= max; n *= 10)
        run_all(n, children);
    free(children);
    return 0;
}
