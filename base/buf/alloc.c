/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocation; the program ends with one line when memory runs out. */
#include "base/buf/buf.h"
#include "base/log/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Not exit(): exit handlers and flushes could allocate again. */
void alloc_fail(size_t wanted_bytes)
{
    log_error("out of memory, the program ends wanted_bytes=%zu", wanted_bytes);
    _exit(EXIT_FAILURE);
}

void *xmalloc(size_t n)
{
    void *p = malloc(n ? n : 1);

    if (!p)
        alloc_fail(n);
    return p;
}

void *xcalloc(size_t n, size_t size)
{
    void *p = n && size ? calloc(n, size) : calloc(1, 1);

    if (!p)
        alloc_fail(size && n > (size_t)-1 / size ? (size_t)-1 : n * size);
    return p;
}

void *xrealloc(void *p, size_t n)
{
    void *q = realloc(p, n ? n : 1);

    if (!q)
        alloc_fail(n);
    return q;
}

char *xstrdup(const char *s)
{
    size_t n = strlen(s) + 1;

    return memcpy(xmalloc(n), s, n);
}

char *xstrndup(const char *s, size_t most_bytes)
{
    size_t n = strnlen(s, most_bytes);
    char *copy = xmalloc(n + 1);

    copy[n] = '\0';
    return memcpy(copy, s, n);
}

char *xvasprintf(const char *fmt, va_list ap)
{
    char *s = NULL;

    if (vasprintf(&s, fmt, ap) < 0)
        alloc_fail(strlen(fmt));
    return s;
}

char *xasprintf(const char *fmt, ...)
{
    va_list ap;
    char *s;

    va_start(ap, fmt);
    s = xvasprintf(fmt, ap);
    va_end(ap);
    return s;
}

void free_ptr(void *pp)
{
    void *p, *none = NULL;

    /* By memcpy: pp is the address of some T *, and reading it as a void * is undefined. */
    memcpy(&p, pp, sizeof(p));
    free(p);
    memcpy(pp, &none, sizeof(none));
}
