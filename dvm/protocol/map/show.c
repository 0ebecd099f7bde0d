/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints a map as a table for people. */
#include "dvm/protocol/map/map.h"

#include "base/bitmap/bitmap.h"
#include "dvm/protocol/map/policy.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 512

static void append_text(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void append_text(struct buf *b, const char *fmt, ...)
{
    char line[LINE_BYTES];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    if (n > 0)
        buf_put_raw(b, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
}

static void append_title(struct buf *b, const char *nspace, const struct job_spec *s,
                         const struct map *m)
{
    FREE_AUTO char *policy = policy_text(s);
    hwloc_bitmap_t on = bitmap_alloc();
    int used;

    for (uint32_t r = 0; r < m->nranks; r++)
        bitmap_set(on, m->rank_node[r]);
    used = hwloc_bitmap_weight(on);
    hwloc_bitmap_free(on);
    append_text(b, "job %s: %u rank%s on %d daemon%s, %s\n", nspace, m->nranks,
                m->nranks > 1 ? "s" : "", used, used > 1 ? "s" : "", policy);
}

static int host_width(const struct map_node *nodes, const struct map *m)
{
    size_t width = strlen("NODE");

    for (uint32_t r = 0; r < m->nranks; r++) {
        size_t len = strlen(nodes[m->rank_node[r]].host);

        width = len > width ? len : width;
    }
    return width < 64 ? (int)width : 64;
}

static void append_row(struct buf *b, uint32_t r, int width, bool cpus,
                       const struct map_node *nodes, const struct map *m)
{
    const struct map_node *n = &nodes[m->rank_node[r]];

    append_text(b, "%6u  %3u  %-*.*s  %5u", r, m->rank_app[r], width, width, n->host, n->vpid);
    if (cpus && m->taken && m->taken[r]) {
        FREE_AUTO char *list = topo_cpus(n->topo, m->taken[r], m->bind);
        FREE_AUTO char *where = topo_where(n->topo, m->taken[r]);

        append_text(b, "  %-10.400s  %.64s", list, where);
    } else if (cpus) {
        append_text(b, "  not bound");
    }
    append_text(b, "\n");
}

char *map_show(const char *nspace, const struct job_spec *s, const struct map_node *nodes,
               const struct map *m)
{
    BUF_AUTO struct buf b = {.max = MAP_SHOW_MAX};
    bool cpus = s->flags & JOB_DISPLAY_BIND;
    int width = host_width(nodes, m);
    uint32_t r = 0;

    append_title(&b, nspace, s, m);
    append_text(&b, "%6s  %3s  %-*s  %5s%s\n", "RANK", "APP", width, "NODE", "VPID",
                cpus ? "  CPUS        OF" : "");
    for (; r < m->nranks && b.len < MAP_SHOW_MAX - 2 * LINE_BYTES; r++)
        append_row(&b, r, width, cpus, nodes, m);
    if (r < m->nranks)
        append_text(&b, "and %u more\n", m->nranks - r);
    if (cpus && m->note)
        append_text(&b, "%s\n", m->note);
    buf_put_u8(&b, 0);
    return xstrdup((const char *)b.data);
}
