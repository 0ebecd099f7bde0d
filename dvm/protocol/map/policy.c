/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes policies of mapping, ranking and binding, and the policy for failed ranks, as
 * text.
 *
 * In: the values of --map-by, --rank-by, --bind-to and --rtos, from an option or an attribute of
 * PMIx_Spawn. Out: fields and flags of struct job_spec, or the text of such fields (policy_text()).
 *
 * Order: each value is parsed by itself, then policy_check() tests whether the values fit together;
 * for --rtos, policy_rtos() is called for each text, then policy_rtos_set() once. Words are
 * compared without regard to case, and the older word "socket" means package.
 *
 * Failures: an unknown word, a number outside 1..JOB_RANKS_MAX (ppr) or 1..JOB_PE_MAX (pe), and a
 * second pe= are refused with a text that names the permitted values. A refused --map-by may have
 * set some fields already.
 *
 * This file maps nothing: whether a job fits the members is decided by the mapper. */
#include "dvm/protocol/map/policy.h"

#include "dvm/protocol/map/level.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const rank_words[] = {NULL, "slot", "node", "fill", "span"};
static const char *const bind_words[] = {NULL, "none", "package", "numa", "core", "hwthread"};

/* Index of the word, from 1 on; 0: unknown. */
static unsigned word_of(const char *text, const char *const *words, unsigned n)
{
    for (unsigned i = 1; i < n; i++) {
        if (strcasecmp(text, words[i]) == 0)
            return i;
    }
    return 0;
}

static int parse_number(const char *text, const char *of, uint32_t max, uint32_t *out,
                        struct err *err)
{
    char *end = NULL;
    unsigned long n = strspn(text, "0123456789") == strlen(text) ? strtoul(text, &end, 10) : 0;

    if (n == 0 || n > max)
        return err_set(err, "--map-by: %s%s is no number within 1..%u", of, text, max);
    *out = (uint32_t)n;
    return 0;
}

/* Translates Open MPI's older word. */
static const char *modern_word(const char *text)
{
    return strcasecmp(text, "socket") == 0 ? "package" : text;
}

/* -1: unknown part. */
static int level_of(const char *text)
{
    text = modern_word(text);
    for (int level = JOB_LEVEL_NODE; level < JOB_LEVELS; level++) {
        if (strcasecmp(text, level_name((enum job_level)level)) == 0)
            return level;
    }
    return -1;
}

static int unknown_policy(const char *text, struct err *err)
{
    return err_set(err,
                   "--map-by: '%s' is not one of slot, node, package, numa, core, hwthread, "
                   "ppr:N:node|package|numa|core|hwthread",
                   text);
}

static int set_ppr(const char *count, const char *part, struct job_spec *s, struct err *err)
{
    int level = part ? level_of(part) : -1;

    if (!count || !part)
        return err_set(err, "--map-by: ppr is ppr:N:node|package|numa|core|hwthread");
    if (level < 0)
        return err_set(err, "--map-by ppr: '%s' is not one of node, package, numa, core, hwthread",
                       part);
    s->map_by = JOB_MAP_BY_PPR;
    s->level = (enum job_level)level;
    return parse_number(count, "ppr:", JOB_RANKS_MAX, &s->ppr, err);
}

static int set_policy(const char *word, char **rest, struct job_spec *s, struct err *err)
{
    int level = level_of(word);

    if (strcasecmp(word, "ppr") == 0) {
        const char *count = strsep(rest, ":");

        return set_ppr(count, strsep(rest, ":,"), s, err);
    }
    if (!*word || strcasecmp(word, "slot") == 0) { /* ":pe=2" modifies the default */
        s->map_by = JOB_MAP_BY_SLOT;
    } else if (level == JOB_LEVEL_NODE) {
        s->map_by = JOB_MAP_BY_NODE;
    } else if (level > 0) {
        s->map_by = JOB_MAP_BY_OBJECT;
        s->level = (enum job_level)level;
    } else {
        return unknown_policy(word, err);
    }
    return 0;
}

static int set_qualifier(const char *word, struct job_spec *s, struct err *err)
{
    if (strcasecmp(word, "oversubscribe") == 0) {
        s->flags |= JOB_OVERSUBSCRIBE;
    } else if (strcasecmp(word, "nolocal") == 0) {
        s->flags |= JOB_NOLOCAL;
    } else if (strncasecmp(word, "pe=", 3) == 0) {
        if (s->pe)
            return err_set(err, "--map-by: pe= is given twice");
        return parse_number(word + 3, "pe=", JOB_PE_MAX, &s->pe, err);
    } else {
        return err_set(err, "--map-by: '%s' is not one of pe=N, oversubscribe, nolocal", word);
    }
    return 0;
}

int policy_map_by(const char *text, struct job_spec *s, struct err *err)
{
    FREE_AUTO char *copy = xstrdup(text);
    char *rest = copy;
    const char *word = strsep(&rest, ":");

    if (!*text)
        return unknown_policy(text, err);
    if (set_policy(word, &rest, s, err) < 0)
        return -1;
    while ((word = strsep(&rest, ":,"))) {
        if (set_qualifier(word, s, err) < 0)
            return -1;
    }
    return 0;
}

int policy_rank_by(const char *text, struct job_spec *s, struct err *err)
{
    s->rank_by = word_of(text, rank_words, 5);
    if (s->rank_by == 0)
        return err_set(err, "--rank-by: '%s' is not one of slot, node, fill, span", text);
    return 0;
}

int policy_bind_to(const char *text, struct job_spec *s, struct err *err)
{
    s->bind_to = word_of(modern_word(text), bind_words, 6);
    if (s->bind_to == 0 && strchr(text, ':'))
        return err_set(err, "--bind-to %s: it takes no qualifiers; %s", text,
                       "with --oversubscribe ranks may share what they are bound to");
    if (s->bind_to == 0)
        return err_set(err, "--bind-to: '%s' is not one of none, hwthread, core, numa, package",
                       text);
    return 0;
}

static bool by_parts(const struct job_spec *s)
{
    return s->map_by == JOB_MAP_BY_OBJECT ||
           (s->map_by == JOB_MAP_BY_PPR && s->level != JOB_LEVEL_NODE);
}

int policy_check(const struct job_spec *s, struct err *err)
{
    if (s->rank_by >= JOB_RANK_BY_FILL && !by_parts(s))
        return err_set(err,
                       "--rank-by %s goes over the parts of a daemon: it needs --map-by package, "
                       "numa, core or hwthread",
                       rank_words[s->rank_by]);
    if (!s->pe)
        return 0;
    if (s->bind_to == JOB_BIND_HWTHREAD &&
        !(s->map_by == JOB_MAP_BY_OBJECT && s->level == JOB_LEVEL_HWTHREAD))
        return err_set(err, "--bind-to hwthread is less than the cores that pe=%u gives each rank",
                       s->pe);
    if (s->pe > 1 && by_parts(s) && s->level >= JOB_LEVEL_CORE)
        return err_set(err, "pe=%u: one %s holds no more than one CPU of a rank; map by %s", s->pe,
                       level_name(s->level), "slot, node, numa or package");
    return 0;
}

int policy_rtos(const char *text, unsigned *words, struct err *err)
{
    static const char *const names[] = {NULL, "recoverable", "abort", "strict"};
    FREE_AUTO char *copy = xstrdup(text);
    char *rest = copy;
    const char *word;

    while ((word = strsep(&rest, ","))) {
        unsigned n = word_of(word, names, 4);

        if (n == 0)
            return err_set(err, "--rtos: '%s' is not one of recoverable, abort, strict", word);
        *words |= 1u << (n - 1);
    }
    return 0;
}

int policy_rtos_set(unsigned words, struct job_spec *s, struct err *err)
{
    if ((words & POLICY_ABORT) && (words & (POLICY_RECOVERABLE | POLICY_STRICT)))
        return err_set(err,
                       "abort and %s contradict each other: a job ends with the first rank "
                       "that fails, or goes on without it",
                       words & POLICY_RECOVERABLE ? "recoverable" : "strict");
    if ((words & POLICY_STRICT) && !(words & POLICY_RECOVERABLE))
        return err_set(err, "strict says how a job ends that goes on without lost ranks: it needs "
                            "recoverable");
    if (words & POLICY_RECOVERABLE)
        s->flags |= JOB_RECOVERABLE;
    if (words & POLICY_STRICT)
        s->flags |= JOB_STRICT;
    return 0;
}

char *policy_text(const struct job_spec *s)
{
    FREE_AUTO char *ppr = s->map_by == JOB_MAP_BY_PPR
                              ? xasprintf("ppr:%u:%s", s->ppr, level_name(s->level))
                              : xstrdup(s->map_by == JOB_MAP_BY_SLOT   ? "slot"
                                        : s->map_by == JOB_MAP_BY_NODE ? "node"
                                                                       : level_name(s->level));
    FREE_AUTO char *pe = s->pe ? xasprintf(":pe=%u", s->pe) : xstrdup("");

    return xasprintf("map-by %s%s%s%s%s%s%s%s", ppr, pe,
                     s->flags & JOB_OVERSUBSCRIBE ? ":oversubscribe" : "",
                     s->flags & JOB_NOLOCAL ? ":nolocal" : "", s->rank_by ? ", rank-by " : "",
                     s->rank_by ? rank_words[s->rank_by] : "", s->bind_to ? ", bind-to " : "",
                     s->bind_to ? bind_words[s->bind_to] : "");
}
