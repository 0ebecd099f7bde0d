/* SPDX-License-Identifier: BSD-3-Clause */
/* The logger: formats a record on the stack, escapes it and writes it with one write(2).
 *
 * Invariants: a record is one line of at most RECORD_MAX bytes of printable UTF-8, so records of
 * several threads or processes on one pipe do not mix. The logger allocates no memory and takes no
 * lock, so it works when memory has run out.
 *
 * Failures: a record that cannot be written is counted and dropped. The next record that can be
 * written is preceded by one with the number of lost records. After a partial write the next record
 * begins on a new line. */
#include "base/log/log.h"

#include "base/text/printable.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* PIPE_BUF on Linux: the kernel does not split such a record or mix it with another one on a
 * pipe. */
#define RECORD_MAX 4096
#define CUT_MARK "..."

static struct {
    const char *program; /* NULL: the name that the process was started with */
    enum log_level level;
    atomic_ulong lost;   /* since the start */
    atomic_ulong untold; /* lost, and no record has reported them yet */
    atomic_bool torn;    /* a record was written in part: the next one begins a new line */
} logger = {.level = LOG_LEVEL_INFO};

static const char *const level_names[] = {"error", "warn", "info", "debug"};

void log_init(const char *program, enum log_level level)
{
    logger.program = program;
    logger.level = level;
}

int log_level_parse(const char *text, enum log_level *level)
{
    for (size_t i = 0; i < sizeof(level_names) / sizeof(level_names[0]); i++) {
        if (strcmp(text, level_names[i]) == 0) {
            *level = (enum log_level)i;
            return 0;
        }
    }
    return -1;
}

const char *log_level_name(enum log_level level)
{
    return level_names[level];
}

unsigned long log_lost(void)
{
    return atomic_load(&logger.lost);
}

static size_t format_line(char *out, size_t size, enum log_level level, const char *text)
{
    struct timespec now;
    struct tm tm;
    char head[160];
    size_t len = 0;
    bool whole;

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    len = strftime(head, sizeof(head), "%Y-%m-%dT%H:%M:%S", &tm);
    /* A debug log has microseconds, for measurements. */
    if (logger.level == LOG_LEVEL_DEBUG)
        len += (size_t)snprintf(head + len, sizeof(head) - len, ".%06ld", now.tv_nsec / 1000);
    else
        len += (size_t)snprintf(head + len, sizeof(head) - len, ".%03ld", now.tv_nsec / 1000000);
    snprintf(head + len, sizeof(head) - len, "Z %s %s: ", level_names[level],
             logger.program ? logger.program : program_invocation_short_name);
    len = 0;
    whole = printable_copy(out, &len, size - sizeof(CUT_MARK), head) &&
            printable_copy(out, &len, size - sizeof(CUT_MARK), text);
    if (!whole) {
        memcpy(out + len, CUT_MARK, sizeof(CUT_MARK) - 1);
        len += sizeof(CUT_MARK) - 1;
    }
    out[len++] = '\n';
    return len;
}

static bool put_line(enum log_level level, const char *text)
{
    char record[RECORD_MAX];
    size_t lead = atomic_exchange(&logger.torn, false) ? 1 : 0;
    size_t len = lead + format_line(record + lead, sizeof(record) - lead, level, text);
    ssize_t n;

    if (lead)
        record[0] = '\n';
    n = write(STDERR_FILENO, record, len);
    if (n == (ssize_t)len)
        return true;
    if (lead || n > 0)
        atomic_store(&logger.torn, true);
    return false;
}

static void emit_line(enum log_level level, const char *text)
{
    unsigned long untold = atomic_exchange(&logger.untold, 0);

    if (untold) {
        char notice[64];

        snprintf(notice, sizeof(notice), "records lost before this one count=%lu", untold);
        if (!put_line(LOG_LEVEL_WARN, notice))
            atomic_fetch_add(&logger.untold, untold);
    }
    if (!put_line(level, text)) {
        atomic_fetch_add(&logger.lost, 1);
        atomic_fetch_add(&logger.untold, 1);
    }
}

static void log_va(enum log_level level, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

static void log_va(enum log_level level, const char *fmt, va_list ap)
{
    char text[RECORD_MAX];

    vsnprintf(text, sizeof(text), fmt, ap);
    emit_line(level, text);
}

void log_error(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    log_va(LOG_LEVEL_ERROR, fmt, ap);
    va_end(ap);
}

void log_warn(const char *fmt, ...)
{
    va_list ap;

    if (logger.level < LOG_LEVEL_WARN)
        return;
    va_start(ap, fmt);
    log_va(LOG_LEVEL_WARN, fmt, ap);
    va_end(ap);
}

void log_info(const char *fmt, ...)
{
    va_list ap;

    if (logger.level < LOG_LEVEL_INFO)
        return;
    va_start(ap, fmt);
    log_va(LOG_LEVEL_INFO, fmt, ap);
    va_end(ap);
}

void log_debug(const char *fmt, ...)
{
    va_list ap;

    if (logger.level < LOG_LEVEL_DEBUG)
        return;
    va_start(ap, fmt);
    log_va(LOG_LEVEL_DEBUG, fmt, ap);
    va_end(ap);
}
