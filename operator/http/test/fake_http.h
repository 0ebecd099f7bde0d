/* SPDX-License-Identifier: BSD-3-Clause */
/* A stand-in for operator/http without a network: calls wait until the fuzz target answers them. A
 * program that links fake_http.o gets these functions in place of those of operator/http/http.c. */
#ifndef OPERATOR_HTTP_TEST_FAKE_HTTP_H
#define OPERATOR_HTTP_TEST_FAKE_HTTP_H

#include "operator/http/http.h"

/* The oldest call that runs, of a stream or of a whole answer; NULL: there is none. */
struct http_call *fake_http_find(bool stream);
/* The three call the caller's callbacks, which may end any call, this one too. A stream gets a copy
 * of the line, whose end the sanitizers watch. */
void fake_http_open(struct http_call *c);
void fake_http_line(struct http_call *c, const char *line, size_t len);
void fake_http_end(struct http_call *c, int status, const char *body, size_t len);

#endif
