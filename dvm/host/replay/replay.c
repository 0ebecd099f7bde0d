/* SPDX-License-Identifier: BSD-3-Clause */
/* A list of numbered messages that may have to be sent again, for one side of a session.
 *
 * In: encoded messages, acknowledgements. Out: the messages that the other side does not have.
 *
 * There are two kinds of list. Without `latest_max` an acknowledged message is dropped. With
 * `latest_max` (the daemon's side of a detached job) messages stay after their acknowledgement, for
 * another program that attaches later: all of REPLAY_ALWAYS, the latest bytes of REPLAY_OUTPUT, and
 * the newest of REPLAY_STATE.
 *
 * Invariants: numbers rise by one and are never used again; a dropped message leaves a gap. `owed`
 * is the size of what is kept and not acknowledged, `kept` that of everything.
 *
 * Limits: nothing is refused. The caller watches replay_owed() and stops its producer. A message
 * that is acknowledged but was never added is an error of the other side. */
#include "dvm/host/replay/replay.h"

#include "base/buf/buf.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct word { /* one encoded message */
    uint64_t number;
    enum replay_kind kind;
    struct word *next, *prev;
    size_t len;
    uint8_t data[];
};

_Static_assert(sizeof(struct word) <= REPLAY_OVERHEAD, "the bound on memory counts it");

struct replay {
    size_t latest_max;
    uint64_t last, acked;
    struct word *words;
    size_t kept, owed;
    size_t output; /* bytes of `kept` that belong to REPLAY_OUTPUT messages */
    uint64_t dropped;
};

struct replay *replay_create(size_t latest_max)
{
    struct replay *r = xcalloc(1, sizeof(*r));

    r->latest_max = latest_max;
    return r;
}

static size_t size_of(const struct word *w)
{
    return REPLAY_OVERHEAD + w->len;
}

static void drop_word(struct replay *r, struct word *w)
{
    r->kept -= size_of(w);
    if (w->number > r->acked)
        r->owed -= size_of(w);
    if (w->kind == REPLAY_OUTPUT)
        r->output -= size_of(w);
    DL_DELETE(r->words, w);
    free(w);
}

void replay_destroy(struct replay *r)
{
    if (!r)
        return;
    while (r->words)
        drop_word(r, r->words);
    free(r);
}

/* The oldest message of the kind; NULL: none. */
static struct word *first_of_kind(const struct replay *r, enum replay_kind kind)
{
    struct word *w;

    DL_FOREACH(r->words, w)
    {
        if (w->kind == kind)
            return w;
    }
    return NULL;
}

static void make_room(struct replay *r, enum replay_kind kind, size_t size)
{
    struct word *w = kind == REPLAY_STATE ? first_of_kind(r, kind) : NULL;

    if (w)
        drop_word(r, w);
    while (kind == REPLAY_OUTPUT && r->output + size > r->latest_max &&
           (w = first_of_kind(r, REPLAY_OUTPUT))) {
        r->dropped += w->len;
        drop_word(r, w);
    }
}

void replay_add(struct replay *r, enum replay_kind kind, const void *data, size_t len)
{
    struct word *w = xmalloc(sizeof(*w) + len);

    *w = (struct word){.number = ++r->last, .kind = kind, .len = len};
    memcpy(w->data, data, len);
    if (r->latest_max)
        make_room(r, kind, size_of(w));
    DL_APPEND(r->words, w);
    r->kept += size_of(w);
    r->owed += size_of(w);
    if (kind == REPLAY_OUTPUT)
        r->output += size_of(w);
}

int replay_ack(struct replay *r, uint64_t number)
{
    struct word *w, *tmp;

    if (number > r->last)
        return -1;
    DL_FOREACH_SAFE(r->words, w, tmp)
    {
        if (w->number > number)
            break;
        if (!r->latest_max)
            drop_word(r, w);
        else if (w->number > r->acked)
            r->owed -= size_of(w);
    }
    r->acked = number > r->acked ? number : r->acked;
    return 0;
}

void replay_rewind(struct replay *r)
{
    r->acked = 0;
    r->owed = r->kept;
}

uint64_t replay_last(const struct replay *r)
{
    return r->last;
}

size_t replay_owed(const struct replay *r)
{
    return r->owed;
}

size_t replay_kept(const struct replay *r)
{
    return r->kept;
}

uint64_t replay_dropped(const struct replay *r)
{
    return r->dropped;
}

void replay_each(const struct replay *r,
                 void (*fn)(uint64_t number, const void *data, size_t len, void *arg), void *arg)
{
    const struct word *w;

    DL_FOREACH(r->words, w)
    {
        if (w->number > r->acked)
            fn(w->number, w->data, w->len, arg);
    }
}
