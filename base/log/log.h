/* SPDX-License-Identifier: BSD-3-Clause */
/* The logger: one line per record on standard error, "time level program: text key=value ...". */
#ifndef BASE_LOG_LOG_H
#define BASE_LOG_LOG_H

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Called once in a program, before threads are started. `program` is borrowed for the program's
 * life. Before, records have the name that the process was started with, and the level is
 * LOG_LEVEL_INFO. */
void log_init(const char *program, enum log_level level);

/* Parses "error", "warn", "info", "debug". -1: unknown, and *level is unchanged. */
int log_level_parse(const char *text, enum log_level *level) __attribute__((warn_unused_result));
const char *log_level_name(enum log_level level);

/* Thread-safe. A record is one write(2) of at most 4096 bytes; control characters are escaped.
 * A record that cannot be written (disk full) is counted, is not retried and is no error of the
 * caller. The next record that can be written is preceded by one with the number of lost
 * records. */
void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Number of records that could not be written so far. */
unsigned long log_lost(void);

#endif
