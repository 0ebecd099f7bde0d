/* SPDX-License-Identifier: BSD-3-Clause */
/* Text tables. */
#include "dvm/tools/cli/table.h"

#include "base/buf/buf.h"
#include "dvm/tools/cli/say.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct table {
    size_t ncols;
    bool *right;
    size_t *width; /* width on the screen */
    size_t ncells; /* including the heading */
    size_t cap;
    char **cells;
};

/* Counts characters of UTF-8 text, not bytes. */
static size_t count_columns(const char *s)
{
    size_t n = 0;

    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

static void add_cell(struct table *t, char *text)
{
    size_t col = t->ncells % t->ncols;
    size_t w = count_columns(text);

    if (t->ncells == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 64;
        t->cells = xrealloc(t->cells, t->cap * sizeof(*t->cells));
    }
    t->cells[t->ncells++] = text;
    if (w > t->width[col])
        t->width[col] = w;
}

struct table *table_create(const char *const *heads)
{
    struct table *t = xcalloc(1, sizeof(*t));

    while (heads[t->ncols])
        t->ncols++;
    t->right = xcalloc(t->ncols, sizeof(*t->right));
    t->width = xcalloc(t->ncols, sizeof(*t->width));
    for (size_t i = 0; i < t->ncols; i++) {
        t->right[i] = heads[i][0] == '>';
        add_cell(t, xstrdup(heads[i] + t->right[i]));
    }
    return t;
}

void table_destroy(struct table *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->ncells; i++)
        free(t->cells[i]);
    free(t->cells);
    free(t->right);
    free(t->width);
    free(t);
}

void table_cell(struct table *t, const char *fmt, ...)
{
    FREE_AUTO char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = xvasprintf(fmt, ap);
    va_end(ap);
    add_cell(t, cli_text(text));
}

void table_print(const struct table *t, FILE *out)
{
    for (size_t i = 0; i < t->ncells; i++) {
        size_t col = i % t->ncols;
        bool last = col + 1 == t->ncols;
        int pad = (int)(t->width[col] - count_columns(t->cells[i]));

        if (t->right[col])
            fprintf(out, "%*s%s", pad, "", t->cells[i]);
        else
            fprintf(out, "%s%*s", t->cells[i], last ? 0 : pad, "");
        fputs(last ? "\n" : "  ", out);
    }
}
