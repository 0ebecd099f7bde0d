/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes limits and umask of the submitting shell to the ranks.
 *
 * In: those of prun. Out: a variable in the environment of each program of the job, which goes to
 * each daemon as all variables do, and to spawned jobs with the environment of their parent. The
 * spawner applies it between fork and exec.
 *
 * Invariant: no limit becomes higher than the hard limit of the spawner. So whoever may choose the
 * environment of a rank gains nothing by the variable.
 *
 * Failure: a malformed variable has no effect. */
#include "dvm/host/spawner/limits.h"

#include "base/buf/buf.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct kind {
    int resource;
    const char *name;
    rlim_t unit; /* in which the shell's ulimit shows it */
    const char *unit_name;
};

static const struct kind kinds[LIMITS_COUNT] = {{RLIMIT_STACK, "stack", 1024, " kB"},
                                                {RLIMIT_CORE, "core", 1024, " kB"},
                                                {RLIMIT_NOFILE, "nofile", 1, ""},
                                                {RLIMIT_MEMLOCK, "memlock", 1024, " kB"},
                                                {RLIMIT_CPU, "cpu", 1, " s"}};

struct limits limits_read(void)
{
    struct limits l = {.umask = umask(0)};

    umask(l.umask);
    for (size_t i = 0; i < LIMITS_COUNT; i++) {
        if (getrlimit((__rlimit_resource_t)kinds[i].resource, &l.of[i]) < 0)
            l.of[i] = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
    }
    return l;
}

static void show_limit(char out[24], rlim_t limit)
{
    if (limit == RLIM_INFINITY)
        snprintf(out, 24, "-");
    else
        snprintf(out, 24, "%llu", (unsigned long long)limit);
}

char *limits_encode(const struct limits *l)
{
    char *text = xasprintf(LIMITS_VARIABLE "=%03o", (unsigned)l->umask);

    for (size_t i = 0; i < LIMITS_COUNT; i++) {
        char soft[24], hard[24];
        char *longer;

        show_limit(soft, l->of[i].rlim_cur);
        show_limit(hard, l->of[i].rlim_max);
        longer = xasprintf("%s %s:%s", text, soft, hard);
        free(text);
        text = longer;
    }
    return text;
}

/* Digits of this base, and then the character `end`. Moves *text behind that. */
static bool read_number(const char **text, int base, char end, unsigned long long *out)
{
    char *after;

    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    *out = strtoull(*text, &after, base);
    if (errno || *after != end)
        return false;
    *text = after + (end != '\0');
    return true;
}

static bool read_limit(const char **text, char end, rlim_t *out)
{
    unsigned long long n = 0;

    if ((*text)[0] == '-' && (*text)[1] == end) {
        *out = RLIM_INFINITY;
        *text += end ? 2 : 1;
        return true;
    }
    if (!read_number(text, 10, end, &n) || n >= RLIM_INFINITY)
        return false;
    *out = (rlim_t)n;
    return true;
}

bool limits_decode(const char *text, struct limits *out)
{
    unsigned long long mask = 0;

    if (!read_number(&text, 8, ' ', &mask) || mask > 0777)
        return false;
    out->umask = (mode_t)mask;
    for (size_t i = 0; i < LIMITS_COUNT; i++) {
        struct rlimit *r = &out->of[i];

        if (!read_limit(&text, ':', &r->rlim_cur) ||
            !read_limit(&text, i + 1 < LIMITS_COUNT ? ' ' : '\0', &r->rlim_max) ||
            r->rlim_cur > r->rlim_max)
            return false;
    }
    return true;
}

static rlim_t lower_of(rlim_t a, rlim_t b)
{
    return a < b ? a : b; /* RLIM_INFINITY is the highest */
}

int limits_apply(const struct limits *l)
{
    for (size_t i = 0; i < LIMITS_COUNT; i++) {
        __rlimit_resource_t resource = (__rlimit_resource_t)kinds[i].resource;
        struct rlimit r;

        if (getrlimit(resource, &r) < 0)
            continue;
        r.rlim_cur = lower_of(l->of[i].rlim_cur, r.rlim_max);
        r.rlim_max = lower_of(l->of[i].rlim_max, r.rlim_max);
        if (setrlimit(resource, &r) < 0)
            return errno;
    }
    umask(l->umask);
    return 0;
}

char *limits_over(const struct limits *l, pid_t pid)
{
    char *text = NULL;

    for (size_t i = 0; i < LIMITS_COUNT; i++) {
        struct rlimit r;
        char *longer;

        if (prlimit(pid, (__rlimit_resource_t)kinds[i].resource, NULL, &r) < 0 ||
            l->of[i].rlim_cur <= r.rlim_max)
            continue;
        longer = xasprintf("%s%s%s %llu%s", text ? text : "", text ? ", " : "", kinds[i].name,
                           (unsigned long long)(r.rlim_max / kinds[i].unit), kinds[i].unit_name);
        free(text);
        text = longer;
    }
    return text;
}
