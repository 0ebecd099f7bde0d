/* SPDX-License-Identifier: BSD-3-Clause */
/* The error object: formatting, codes and wrapping. */
#include "base/err/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The text is formatted in a scratch buffer, because an argument may point into err->msg. */
static void set_va(struct err *err, int code, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));

static void set_va(struct err *err, int code, const char *fmt, va_list ap)
{
    char msg[ERR_MSG_MAX];

    vsnprintf(msg, sizeof(msg), fmt, ap);
    err->code = code;
    memcpy(err->msg, msg, strlen(msg) + 1);
}

static void append_text(struct err *err, const char *text)
{
    size_t used = strlen(err->msg);

    snprintf(err->msg + used, sizeof(err->msg) - used, ": %s", text);
}

int err_set(struct err *err, const char *fmt, ...)
{
    va_list ap;

    if (!err)
        return -1;
    va_start(ap, fmt);
    set_va(err, 0, fmt, ap);
    va_end(ap);
    return -1;
}

int err_code(struct err *err, int code, const char *fmt, ...)
{
    va_list ap;

    if (!err)
        return -1;
    va_start(ap, fmt);
    set_va(err, code, fmt, ap);
    va_end(ap);
    return -1;
}

int err_sys(struct err *err, int errnum, const char *fmt, ...)
{
    char text[128];
    va_list ap;

    if (!err)
        return -1;
    va_start(ap, fmt);
    set_va(err, errnum, fmt, ap);
    va_end(ap);
    append_text(err, strerror_r(errnum, text, sizeof(text)));
    return -1;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
    char cause[ERR_MSG_MAX];
    va_list ap;

    if (!err)
        return -1;
    memcpy(cause, err->msg, sizeof(cause));
    cause[sizeof(cause) - 1] = '\0';
    va_start(ap, fmt);
    set_va(err, err->code, fmt, ap);
    va_end(ap);
    append_text(err, cause);
    return -1;
}
