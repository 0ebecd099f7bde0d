/* SPDX-License-Identifier: BSD-3-Clause */
/* A stand-in for operator/http: calls wait in a list until the fuzz target answers them. */
#include "operator/http/test/fake_http.h"

#include "base/buf/buf.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct http {
    int users;
};

struct http_call {
    struct http_call_opts opts;
    bool ended; /* on_end runs */
    struct http_call *prev, *next;
};

static struct http_call *calls;

struct http *http_create(struct loop *loop, struct err *err)
{
    return xcalloc(1, sizeof(struct http));
}

void http_destroy(struct http *h)
{
    free(h);
}

struct http_call *http_start(struct http *h, const struct http_call_opts *opts, struct err *err)
{
    struct http_call *c = xcalloc(1, sizeof(*c));

    c->opts = *opts;
    DL_APPEND(calls, c);
    return c;
}

void http_cancel(struct http_call *c)
{
    if (!c || c->ended)
        return;
    DL_DELETE(calls, c);
    free(c);
}

char *http_escape(const char *text)
{
    return xstrdup(text);
}

struct http_call *fake_http_find(bool stream)
{
    struct http_call *c;

    DL_FOREACH(calls, c)
    {
        if ((c->opts.on_line != NULL) == stream)
            return c;
    }
    return NULL;
}

void fake_http_open(struct http_call *c)
{
    if (c->opts.on_open)
        c->opts.on_open(c->opts.arg);
}

void fake_http_line(struct http_call *c, const char *line, size_t len)
{
    char *copy = xmalloc(len + 1);

    memcpy(copy, line, len);
    copy[len] = '\0';
    c->opts.on_line(copy, len, c->opts.arg);
    free(copy);
}

void fake_http_end(struct http_call *c, int status, const char *body, size_t len)
{
    const struct http_answer answer = {
        .status = status, .body = body, .len = len, .why = status ? "" : "broken"};

    DL_DELETE(calls, c);
    c->ended = true;
    c->opts.on_end(&answer, c->opts.arg);
    free(c);
}
