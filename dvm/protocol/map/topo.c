/* SPDX-License-Identifier: BSD-3-Clause */
/* The CPUs of a daemon: from an hwloc topology, to text and back, and questions about their parts.
 *
 * In: an hwloc topology and the hardware threads that the daemon may use, or the text that another
 * daemon has sent. Out: struct topo, its text, counts of parts, lists of CPUs for the kernel, and a
 * description for users.
 *
 * A hardware thread has the number of its part at each level: package, NUMA node, core, itself. In
 * the text, the separator before a thread says which new parts begin with it (read_separator()).
 * The prefix says how the CPUs may be used (enum topo_use).
 *
 * Invariants: numbers of parts start at 0 and rise by at most 1 from one thread to the next. So the
 * threads of a part are adjacent. topo_of_text() reads what topo_text() has written.
 *
 * Failures: no thread, more than TOPO_PUS_MAX threads, or a kernel number over OS_MAX makes
 * topo_from_hwloc() return NULL. topo_of_text() refuses an unknown prefix or separator and a
 * repeated thread too. A thread without a core counts as a core of its own.
 *
 * Binding is decided in bind.c. */
#include "dvm/protocol/map/topo.h"

#include "base/bitmap/bitmap.h"

#include <stdlib.h>
#include <string.h>

#define OS_MAX 65535

static const char *const use_names[] = {"own:", "shared:", "quota:"};

/* The separator between two cores says which objects they share: NUMA node, package. */
static const char separators[2][2] = {{';', '/'}, {'|', ' '}};

static void count_parts(struct topo *t)
{
    const struct topo_pu *last = &t->pus[t->npus - 1];

    t->count[JOB_LEVEL_NODE] = 1;
    for (int level = JOB_LEVEL_PACKAGE; level < JOB_LEVELS; level++)
        t->count[level] = last->id[level] + 1u;
}

/* Appends a hardware thread; `fresh` names the levels at which it begins a new part. */
static void add_pu(struct topo *t, uint32_t os, const bool fresh[JOB_LEVELS])
{
    struct topo_pu *p = &t->pus[t->npus];

    *p = (struct topo_pu){.os = os};
    for (int level = JOB_LEVEL_PACKAGE; t->npus && level < JOB_LEVELS; level++)
        p->id[level] = (uint16_t)(p[-1].id[level] + fresh[level]);
    t->npus++;
}

/* If a core has several kinds of memory, the first one counts, as for numactl. */
static hwloc_obj_t numa_of(hwloc_topology_t t, hwloc_obj_t pu)
{
    hwloc_obj_t numa = NULL;

    while ((numa = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_NUMANODE, numa))) {
        if (numa->cpuset && hwloc_bitmap_isset(numa->cpuset, pu->os_index))
            return numa;
    }
    return NULL;
}

static void find_parts(hwloc_topology_t t, hwloc_obj_t pu, hwloc_obj_t in[JOB_LEVELS])
{
    hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(t, HWLOC_OBJ_CORE, pu);

    in[JOB_LEVEL_NODE] = NULL;
    in[JOB_LEVEL_PACKAGE] = hwloc_get_ancestor_obj_by_type(t, HWLOC_OBJ_PACKAGE, pu);
    in[JOB_LEVEL_NUMA] = numa_of(t, pu);
    in[JOB_LEVEL_CORE] = core ? core : pu; /* some virtual machines report no cores */
    in[JOB_LEVEL_HWTHREAD] = pu;
}

static void read_hwloc(struct topo *to, hwloc_topology_t t, hwloc_const_bitmap_t allowed)
{
    hwloc_obj_t last[JOB_LEVELS] = {0};
    hwloc_obj_t pu = NULL;

    while ((pu = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_PU, pu))) {
        hwloc_obj_t in[JOB_LEVELS];
        bool fresh[JOB_LEVELS];

        if (allowed && !hwloc_bitmap_isset(allowed, pu->os_index))
            continue;
        if (to->npus == TOPO_PUS_MAX || pu->os_index > OS_MAX) {
            to->npus = 0;
            return;
        }
        find_parts(t, pu, in);
        for (int level = 0; level < JOB_LEVELS; level++)
            fresh[level] = in[level] != last[level];
        add_pu(to, pu->os_index, fresh);
        memcpy(last, in, sizeof(last));
    }
}

struct topo *topo_from_hwloc(hwloc_topology_t t, hwloc_const_bitmap_t allowed, enum topo_use use,
                             struct err *err)
{
    struct topo *to = xcalloc(1, sizeof(*to));

    to->use = use;
    to->pus = xcalloc(TOPO_PUS_MAX, sizeof(*to->pus));
    read_hwloc(to, t, allowed);
    if (to->npus == 0) {
        topo_free(to);
        err_set(err, "the topology has no CPU that is allowed, or more than %d", TOPO_PUS_MAX);
        return NULL;
    }
    to->pus = xrealloc(to->pus, to->npus * sizeof(*to->pus));
    count_parts(to);
    return to;
}

void topo_free(struct topo *t)
{
    if (t)
        free(t->pus);
    free(t);
}

char *topo_text(const struct topo *t)
{
    BUF_AUTO struct buf b = {.max = 8 * TOPO_PUS_MAX};

    buf_put_raw(&b, use_names[t->use], strlen(use_names[t->use]));
    for (uint32_t i = 0; i < t->npus; i++) {
        const struct topo_pu *p = &t->pus[i];
        FREE_AUTO char *number = xasprintf("%u", p->os);

        if (i && p->id[JOB_LEVEL_CORE] == p[-1].id[JOB_LEVEL_CORE])
            buf_put_u8(&b, ',');
        else if (i)
            buf_put_u8(&b,
                       (uint8_t)separators[p->id[JOB_LEVEL_PACKAGE] == p[-1].id[JOB_LEVEL_PACKAGE]]
                                          [p->id[JOB_LEVEL_NUMA] == p[-1].id[JOB_LEVEL_NUMA]]);
        buf_put_raw(&b, number, strlen(number));
    }
    buf_put_u8(&b, 0);
    return xstrdup((const char *)b.data);
}

/* The separator before the next number; false: it is unknown. */
static bool read_separator(char c, bool fresh[JOB_LEVELS])
{
    fresh[JOB_LEVEL_NODE] = false;
    fresh[JOB_LEVEL_HWTHREAD] = true;
    fresh[JOB_LEVEL_CORE] = c != ',';
    fresh[JOB_LEVEL_NUMA] = c == '|' || c == ';';
    fresh[JOB_LEVEL_PACKAGE] = c == '/' || c == ';';
    return c && strchr(", |/;", c);
}

static int read_pus(struct topo *t, const char *at, hwloc_bitmap_t seen, struct err *err)
{
    bool fresh[JOB_LEVELS] = {0};

    for (;;) {
        char *end;
        unsigned long os = *at >= '0' && *at <= '9' ? strtoul(at, &end, 10) : OS_MAX + 1ul;

        if (os > OS_MAX || hwloc_bitmap_isset(seen, (unsigned)os) || t->npus == TOPO_PUS_MAX)
            return err_set(err, "'%.20s' is no new CPU", at);
        bitmap_set(seen, (unsigned)os);
        add_pu(t, (uint32_t)os, fresh);
        if (!*end)
            return 0;
        if (!read_separator(*end, fresh))
            return err_set(err, "'%.20s' is no separator of CPUs", end);
        at = end + 1;
    }
}

bool topo_text_is_own(const char *text)
{
    return strncmp(text, use_names[TOPO_OWN], strlen(use_names[TOPO_OWN])) == 0;
}

struct topo *topo_of_text(const char *text, struct err *err)
{
    struct topo *t = xcalloc(1, sizeof(*t));
    hwloc_bitmap_t seen = bitmap_alloc();
    int use = TOPO_QUOTA;
    int rc;

    while (use >= 0 && strncmp(text, use_names[use], strlen(use_names[use])) != 0)
        use--;
    t->pus = xcalloc(TOPO_PUS_MAX, sizeof(*t->pus));
    if (use < 0) {
        rc = err_set(err, "it does not say whether the CPUs are its own");
    } else {
        t->use = (enum topo_use)use;
        rc = read_pus(t, text + strlen(use_names[use]), seen, err);
    }
    hwloc_bitmap_free(seen);
    if (rc < 0) {
        topo_free(t);
        err_wrap(err, "a list of CPUs");
        return NULL;
    }
    t->pus = xrealloc(t->pus, t->npus * sizeof(*t->pus));
    count_parts(t);
    return t;
}

uint32_t topo_units(const struct topo *t, enum job_level level, uint32_t id, enum job_level unit)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < t->npus; i++) {
        const struct topo_pu *p = &t->pus[i];

        if (p->id[level] == id && (n == 0 || p->id[unit] != p[-1].id[unit]))
            n++;
    }
    return n;
}

/* The parts of a level that contain given hardware threads. */
static hwloc_bitmap_t parts_of(const struct topo *t, hwloc_const_bitmap_t pus, enum job_level level)
{
    hwloc_bitmap_t parts = bitmap_alloc();
    int i;

    for (i = hwloc_bitmap_first(pus); i >= 0; i = hwloc_bitmap_next(pus, i))
        bitmap_set(parts, t->pus[i].id[level]);
    return parts;
}

static char *list_text(hwloc_bitmap_t set)
{
    char *text = bitmap_list_text(set);

    hwloc_bitmap_free(set);
    return text;
}

char *topo_cpus(const struct topo *t, hwloc_const_bitmap_t pus, enum job_level level)
{
    hwloc_bitmap_t parts = parts_of(t, pus, level);
    hwloc_bitmap_t cpus = bitmap_alloc();

    for (uint32_t i = 0; i < t->npus; i++) {
        if (hwloc_bitmap_isset(parts, t->pus[i].id[level]))
            bitmap_set(cpus, t->pus[i].os);
    }
    hwloc_bitmap_free(parts);
    return list_text(cpus);
}

hwloc_bitmap_t topo_pus(const struct topo *t, const char *cpus)
{
    hwloc_bitmap_t os = bitmap_alloc(), pus = bitmap_alloc();

    if (bitmap_list_parse(os, cpus) == 0) {
        for (uint32_t i = 0; i < t->npus; i++) {
            if (hwloc_bitmap_isset(os, t->pus[i].os))
                bitmap_set(pus, i);
        }
    }
    hwloc_bitmap_free(os);
    if (!hwloc_bitmap_iszero(pus))
        return pus;
    hwloc_bitmap_free(pus);
    return NULL;
}

char *topo_where(const struct topo *t, hwloc_const_bitmap_t pus)
{
    FREE_AUTO char *package = list_text(parts_of(t, pus, JOB_LEVEL_PACKAGE));
    FREE_AUTO char *numa = list_text(parts_of(t, pus, JOB_LEVEL_NUMA));
    FREE_AUTO char *core = list_text(parts_of(t, pus, JOB_LEVEL_CORE));

    return xasprintf("package %s numa %s core %s", package, numa, core);
}
