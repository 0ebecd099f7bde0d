/* SPDX-License-Identifier: BSD-3-Clause */
/* What a detached job has said: its name, its last state, the latest of its output, its end.
 * Whoever attaches gets that; so nothing is lost with a follower that is killed. */
#include "dvm/daemon_private.h"

#include <stdlib.h>
#include <utlist.h>

struct word { /* one encoded message */
    struct buf frame;
    enum client_type type;
    struct word *next, *prev;
};

struct kept {
    char *nspace;
    bool over;
    struct word *words;
    size_t output; /* bytes that all CLIENT_OUTPUT words take */
    uint64_t dropped;
};

struct kept *kept_create(void)
{
    struct kept *k = xcalloc(1, sizeof *k);

    k->nspace = xstrdup("");
    return k;
}

static void drop(struct kept *k, struct word *w)
{
    if (w->type == CLIENT_OUTPUT)
        k->output -= sizeof *w + w->frame.len;
    DL_DELETE(k->words, w);
    buf_free(&w->frame);
    free(w);
}

void kept_free(struct kept *k)
{
    if (!k)
        return;
    while (k->words)
        drop(k, k->words);
    free(k->nspace);
    free(k);
}

const char *kept_nspace(const struct kept *k)
{
    return k->nspace;
}

bool kept_over(const struct kept *k)
{
    return k->over;
}

/* The oldest message of the type; NULL: none. */
static struct word *first(const struct kept *k, enum client_type type)
{
    struct word *w;

    DL_FOREACH(k->words, w)
    {
        if (w->type == type)
            return w;
    }
    return NULL;
}

static void add(struct kept *k, enum client_type type, const void *data, size_t len)
{
    struct word *w = type == CLIENT_STATE ? first(k, type) : NULL;

    if (w) /* only the present state is of interest */
        drop(k, w);
    w = xcalloc(1, sizeof *w);
    w->type = type;
    buf_init(&w->frame, len);
    buf_put_raw(&w->frame, data, len);
    DL_APPEND(k->words, w);
    if (type == CLIENT_OUTPUT)
        k->output += sizeof *w + len;
    while (k->output > DETACH_OUTPUT_MAX) {
        w = first(k, CLIENT_OUTPUT);
        k->dropped += w->frame.len;
        drop(k, w);
    }
}

void kept_add(struct kept *k, const void *data, size_t len)
{
    struct client_msg m;

    if (client_msg_decode(data, len, &m, NULL) < 0)
        return;
    if (m.type == CLIENT_ACCEPTED) {
        free(k->nspace);
        k->nspace = m.a;
        m.a = NULL;
    }
    k->over = k->over || m.type == CLIENT_DONE || m.type == CLIENT_ERROR;
    if (m.type != CLIENT_ACCEPTED && m.type != CLIENT_STDIN_PAUSE)
        add(k, m.type, data, len);
    client_msg_free(&m);
}

static void tell_dropped(const struct kept *k, void (*say)(void *arg, const void *data, size_t len),
                         void *arg)
{
    char *text FREE_AUTO = xasprintf("about %llu bytes of earlier output were not kept",
                                     (unsigned long long)k->dropped);
    struct client_msg m = {.type = CLIENT_NOTE, .a = text};
    struct buf b BUF_AUTO = {0};

    if (!k->dropped)
        return;
    buf_init(&b, 4096);
    client_msg_encode(&b, &m);
    say(arg, b.data, b.len);
}

void kept_tell(const struct kept *k, void (*say)(void *arg, const void *data, size_t len),
               void *arg)
{
    struct client_msg m = {.type = CLIENT_ACCEPTED, .a = k->nspace};
    struct buf b BUF_AUTO = {0};
    const struct word *w;

    buf_init(&b, 4096);
    client_msg_encode(&b, &m);
    say(arg, b.data, b.len);
    tell_dropped(k, say, arg);
    DL_FOREACH(k->words, w)
    {
        say(arg, w->frame.data, w->frame.len);
    }
}
