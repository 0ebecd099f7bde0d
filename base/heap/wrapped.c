/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocations of a library that has no hook for its allocator, and that does not check all of them:
 * libpmix, which is linked into prted. The linker's option --wrap (Makefile) sends the calls of all
 * objects of the program here. Then an allocation that fails ends the program with one line, as
 * xmalloc() does. Shared libraries are not concerned.
 *
 * Limit: a request above MOST_BYTES fails as it would without this file. So no process ends the
 * daemon by a number that it sends. */
#include "base/buf/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MOST_BYTES ((size_t)1 << 20)

/* real_NAME() is the C library's function, wrapped_NAME() is called in its place. */
#define WRAPPED(result, name, ...)                                                                 \
    result real_##name(__VA_ARGS__) __asm__("__real_" #name);                                      \
    result wrapped_##name(__VA_ARGS__) __asm__("__wrap_" #name)

WRAPPED(void *, malloc, size_t n);
WRAPPED(void *, calloc, size_t n, size_t size);
WRAPPED(void *, realloc, void *p, size_t n);
WRAPPED(char *, strdup, const char *s);
/* With _FORTIFY_SOURCE the compiler calls the functions whose names end in _chk. */
WRAPPED(int, vasprintf, char **text, const char *fmt, va_list ap);
WRAPPED(int, asprintf, char **text, const char *fmt, ...);
WRAPPED(int, __vasprintf_chk, char **text, int flag, const char *fmt, va_list ap);
WRAPPED(int, __asprintf_chk, char **text, int flag, const char *fmt, ...);

static void *end_without(void *p, size_t n)
{
    if (!p && n > 0 && n <= MOST_BYTES)
        alloc_fail(n);
    return p;
}

static int end_without_text(int n, const char *fmt)
{
    if (n < 0 && errno == ENOMEM)
        alloc_fail(strlen(fmt));
    return n;
}

void *wrapped_malloc(size_t n)
{
    return end_without(real_malloc(n), n);
}

void *wrapped_calloc(size_t n, size_t size)
{
    size_t bytes;

    return end_without(real_calloc(n, size), __builtin_mul_overflow(n, size, &bytes) ? 0 : bytes);
}

void *wrapped_realloc(void *p, size_t n)
{
    return end_without(real_realloc(p, n), n);
}

char *wrapped_strdup(const char *s)
{
    return end_without(real_strdup(s), strlen(s) + 1);
}

int wrapped_vasprintf(char **text, const char *fmt, va_list ap)
{
    return end_without_text(real_vasprintf(text, fmt, ap), fmt);
}

int wrapped_asprintf(char **text, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = wrapped_vasprintf(text, fmt, ap);
    va_end(ap);
    return n;
}

int wrapped___vasprintf_chk(char **text, int flag, const char *fmt, va_list ap)
{
    return end_without_text(real___vasprintf_chk(text, flag, fmt, ap), fmt);
}

int wrapped___asprintf_chk(char **text, int flag, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = wrapped___vasprintf_chk(text, flag, fmt, ap);
    va_end(ap);
    return n;
}
