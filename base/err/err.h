/* SPDX-License-Identifier: BSD-3-Clause */
/* The error object: last parameter of every fallible function. */
#ifndef BASE_ERR_ERR_H
#define BASE_ERR_ERR_H

#define ERR_MSG_MAX 512

/* A failed call says what was being done, to whom and why it failed. `code` is an errno value, an
 * HTTP status or 0; the callee's header says which. Zero-initialise it: `struct err err = {0};`. */
struct err {
    int code;
    char msg[ERR_MSG_MAX];
};

/* Each returns -1, so that a caller can `return err_set(...)`. `err` may be NULL. Messages longer
 * than ERR_MSG_MAX - 1 bytes are cut. */
int err_set(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Like err_set(), sets code = errnum and appends ": " and its text. */
int err_sys(struct err *err, int errnum, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Like err_set(), with a code. */
int err_code(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Puts "<fmt>: " before the message that is there; keeps the code. */
int err_wrap(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
