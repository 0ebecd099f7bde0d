/* SPDX-License-Identifier: BSD-3-Clause */
/* The tree of daemons, drawn. */
#include "base/buf/buf.h"
#include "dvm/tools/cli/say.h"
#include "dvm/tools/cli/show.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A deeper tree is not drawn further. With radix 2, 17 levels hold every vpid. */
#define DEPTH_MAX 32

struct drawing {
    const struct api_dvm *d;
    FILE *out;
    bool *drawn;          /* so that a cycle in a broken view ends */
    bool more[DEPTH_MAX]; /* per depth: more siblings follow */
};

static void draw_label(struct drawing *g, size_t i)
{
    const struct api_dvm_member *m = &g->d->members[i];
    FREE_AUTO char *host = cli_text(m->host[0] ? m->host : "-");

    fprintf(g->out, "%u  %s  %s", m->vpid, host, member_state_word(m->state));
    if (m->slots)
        fprintf(g->out, "  %u/%u slots", m->slots_used, m->slots);
    fputc('\n', g->out);
    g->drawn[i] = true;
}

/* The next member after `from` whose parent is `vpid`; nmembers if there is none. */
static size_t next_child(const struct drawing *g, uint32_t vpid, size_t from)
{
    size_t i = from;

    while (i < g->d->nmembers && (g->drawn[i] || g->d->members[i].parent != (int64_t)vpid))
        i++;
    return i;
}

static void draw_below(struct drawing *g, uint32_t vpid, int depth)
{
    size_t n = g->d->nmembers;

    for (size_t i = next_child(g, vpid, 0); i < n;) {
        size_t following = next_child(g, vpid, i + 1);

        for (int k = 0; k < depth; k++)
            fputs(g->more[k] ? "│  " : "   ", g->out);
        fputs(following < n ? "├─ " : "└─ ", g->out);
        draw_label(g, i);
        g->more[depth] = following < n;
        if (depth + 1 < DEPTH_MAX)
            draw_below(g, g->d->members[i].vpid, depth + 1);
        i = following;
    }
}

void show_tree(const struct api_dvm *d, FILE *out)
{
    struct drawing g = {.d = d, .out = out};
    bool others = false;

    g.drawn = xcalloc(d->nmembers + 1, sizeof(*g.drawn));
    for (size_t i = 0; i < d->nmembers; i++) {
        if (d->members[i].vpid == 0) {
            draw_label(&g, i);
            draw_below(&g, 0, 0);
        }
    }
    for (size_t i = 0; i < d->nmembers; i++) {
        if (g.drawn[i])
            continue;
        if (!others)
            fputs("not in the tree:\n", out);
        others = true;
        fputs("   ", out);
        draw_label(&g, i);
    }
    free(g.drawn);
}
