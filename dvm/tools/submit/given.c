/* SPDX-License-Identifier: BSD-3-Clause */
/* The options that a command line gives for one program, and what their places allow.
 *
 * In: the words before a program; the words of DVM_PRUN_OPTIONS. Out: a list of options with their
 * values as text. options.c gives them their meaning.
 *
 * An option of the whole job stands before the first program. Before a later one it would hold for
 * all, against its place, so it is refused there; the same word with the same value is harmless,
 * and so are options that only add to a list of the job (OFTEN).
 * An option of the variable is replaced by the same option of the command line, or by one of its
 * group: --map-by replaces -N.
 *
 * Failures: unknown options, missing values, an open quote; for the variable also words that are no
 * options, and options that make no sense for every job. */
#include "dvm/tools/submit/given.h"

#include "base/buf/buf.h"
#include "dvm/tools/cli/usage.h"
#include "dvm/tools/submit/words.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\n"

const char submit_shorts[] = "+:n:N:x:H:svh";

const struct option submit_longs[] = {
#define OPTION_LONG(id, name, argument, holds, times) {name, argument, NULL, OPT_##id},
    SUBMIT_OPTIONS(OPTION_LONG){NULL, 0, NULL, 0},
};

static const struct row {
    const char *name;
    enum option_holds holds;
    enum option_times times;
} rows[OPT_END - OPT_EXPORT] = {{"-x", HOLDS_PROGRAM, TIMES_OFTEN},
#define OPTION_ROW(id, name, argument, holds, times) {"--" name, HOLDS_##holds, TIMES_##times},
                                SUBMIT_OPTIONS(OPTION_ROW)};

static const struct row *row_of(enum option_id opt)
{
    return &rows[opt - OPT_EXPORT];
}

static enum option_id id_of(int opt)
{
    switch (opt) {
    case 'n':
        return OPT_NP;
    case 'N':
        return OPT_NPERNODE;
    case 'x':
        return OPT_EXPORT;
    case 'H':
        return OPT_HOST;
    case 's':
        return OPT_PRELOAD_BINARY;
    case 'v':
        return OPT_VERBOSE;
    case 'h':
        return OPT_HELP;
    default:
        return (enum option_id)opt;
    }
}

char *given_keep(struct submit_opts *o, char *word)
{
    o->words = xrealloc((void *)o->words, (o->nwords + 1) * sizeof(*o->words));
    o->words[o->nwords++] = word;
    return word;
}

static void add_option(struct given *g, struct given_option option)
{
    g->v = xrealloc(g->v, (g->n + 1) * sizeof(*g->v));
    g->v[g->n++] = option;
}

void given_free(struct given *g)
{
    free(g->v);
    *g = (struct given){0};
}

/* --mca NAME VALUE: the only kind of option with two values. */
static int take_second(struct given_option *x, char *value, struct err *err)
{
    const char *option = row_of(x->opt)->name;

    if (!value)
        return err_set(err, "option %s needs a name and a value", option);
    if (!x->value[0] || strchr(x->value, '='))
        return err_set(err, "%s: '%s' is no name of a parameter", option, x->value);
    x->second = value;
    optind++;
    return 0;
}

int given_read(struct given *g, struct submit_opts *o, int argc, char **argv, struct err *err)
{
    optind = 0; /* glibc: start again, also after an earlier argv */
    opterr = 0;
    for (;;) {
        int next = optind ? optind : 1;
        struct given_option x;
        char *word = NULL;
        int opt;

        if (next < argc && submit_word(argv[next], submit_shorts, submit_longs, &word, err) < 0)
            return -1;
        if (word)
            argv[next] = given_keep(o, word);
        opt = getopt_long(argc, argv, submit_shorts, submit_longs, NULL);
        if (opt == -1)
            return optind;
        if (opt == '?' || opt == ':')
            return cli_option_error(opt, argv, err);
        x = (struct given_option){id_of(opt), optarg, NULL};
        if ((x.opt == OPT_MCA || x.opt == OPT_PMIXMCA) && take_second(&x, argv[optind], err) < 0)
            return -1;
        add_option(g, x);
        if (x.opt == OPT_HELP || x.opt == OPT_VERSION)
            return argc; /* they take precedence over everything else */
    }
}

/* --- DVM_PRUN_OPTIONS */

/* Cuts the next word off *rest, without its quotes. NULL: there is none, or a quote is open. */
static char *next_word(char **rest, struct err *err)
{
    char *word = *rest + strspn(*rest, BLANKS);
    char *at = word, *to = word;
    char quote = '\0';

    if (!*word)
        return NULL;
    for (; *at && (quote || !strchr(BLANKS, *at)); at++) {
        if (quote && *at == quote)
            quote = '\0';
        else if (!quote && (*at == '\'' || *at == '"'))
            quote = *at;
        else
            *to++ = *at;
    }
    if (quote) {
        err_set(err, "a quote %c is not closed", quote);
        return NULL;
    }
    *rest = at + (*at != '\0');
    *to = '\0';
    return word;
}

static int check_defaults(const struct given *g, const char *word, struct err *err)
{
    for (size_t i = 0; i < g->n; i++) {
        enum option_id opt = g->v[i].opt;

        if (opt == OPT_HELP || opt == OPT_VERSION || opt == OPT_ATTACH)
            return err_set(err, "%s has no place here", row_of(opt)->name);
    }
    return word ? err_set(err, "'%s' is no option", word) : 0;
}

int given_read_defaults(struct given *g, struct submit_opts *o, const char *text, struct err *err)
{
    char *rest = given_keep(o, xstrdup(text ? text : ""));
    size_t cap = strlen(rest) + 3;
    FREE_AUTO char **argv = xcalloc(cap, sizeof(*argv));
    struct err open = {0};
    int argc = 1, end;

    argv[0] = rest;
    while ((argv[argc] = next_word(&rest, &open)))
        argc++;
    if (open.msg[0])
        return err_set(err, "%s", open.msg);
    end = given_read(g, o, argc, argv, err);
    return end < 0 ? -1 : check_defaults(g, end < argc ? argv[end] : NULL, err);
}

/* --- what the places allow */

enum option_holds given_holds(enum option_id opt)
{
    return row_of(opt)->holds;
}

bool given_has(const struct given *g, enum option_id opt)
{
    for (size_t i = 0; i < g->n; i++) {
        if (g->v[i].opt == opt)
            return true;
    }
    return false;
}

const struct given_option *given_of_job(const struct given *g)
{
    for (size_t i = 0; i < g->n; i++) {
        if (given_holds(g->v[i].opt) == HOLDS_JOB || given_holds(g->v[i].opt) == HOLDS_PROGRAM)
            return &g->v[i];
    }
    return NULL;
}

static bool has_same(const struct given *g, const struct given_option *x)
{
    for (size_t i = 0; i < g->n; i++) {
        const char *value = g->v[i].value;

        if (g->v[i].opt == x->opt && strcmp(value ? value : "", x->value ? x->value : "") == 0)
            return true;
    }
    return false;
}

int given_check_later(struct given *g, const struct given *first, struct err *err)
{
    size_t kept = 0;

    for (size_t i = 0; i < g->n; i++) {
        const struct row *row = row_of(g->v[i].opt);

        if (row->holds == HOLDS_PROGRAM || row->times == TIMES_OFTEN)
            g->v[kept++] = g->v[i];
        else if (!has_same(first, &g->v[i]))
            return err_set(err,
                           "%s holds for the whole job: give it before the first program; before "
                           "another one it may only say the same",
                           row->name);
    }
    g->n = kept;
    return 0;
}

/* Options of one group cannot stand beside each other. */
static enum option_id group_of(enum option_id opt)
{
    switch (opt) {
    case OPT_NPERNODE:
        return OPT_MAP_BY;
    case OPT_SURVIVE:
        return OPT_DETACH;
    case OPT_STOP_IN_INIT:
    case OPT_STOP_IN_APP:
        return OPT_STOP_ON_EXEC;
    case OPT_RECOVERABLE:
    case OPT_STRICT:
        return OPT_RTOS;
    default:
        return opt;
    }
}

bool given_replaces(const struct given *g, const struct given_option *d)
{
    for (size_t i = 0; i < g->n; i++) {
        if (row_of(d->opt)->times == TIMES_ONCE && group_of(g->v[i].opt) == group_of(d->opt))
            return true;
    }
    return false;
}
