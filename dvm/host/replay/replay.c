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

struct message { /* encoded */
    uint64_t number;
    enum replay_kind kind;
    struct message *next, *prev;
    size_t len;
    uint8_t data[];
};

_Static_assert(sizeof(struct message) <= REPLAY_OVERHEAD, "the bound on memory counts it");

struct replay {
    size_t latest_max;
    uint64_t last, acked;
    struct message *messages;
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

static size_t size_of(const struct message *m)
{
    return REPLAY_OVERHEAD + m->len;
}

static void drop_message(struct replay *r, struct message *m)
{
    r->kept -= size_of(m);
    if (m->number > r->acked)
        r->owed -= size_of(m);
    if (m->kind == REPLAY_OUTPUT)
        r->output -= size_of(m);
    DL_DELETE(r->messages, m);
    free(m);
}

void replay_destroy(struct replay *r)
{
    if (!r)
        return;
    while (r->messages)
        drop_message(r, r->messages);
    free(r);
}

/* The oldest message of the kind; NULL: none. */
static struct message *first_of_kind(const struct replay *r, enum replay_kind kind)
{
    struct message *m;

    DL_FOREACH(r->messages, m)
    {
        if (m->kind == kind)
            return m;
    }
    return NULL;
}

static void make_room(struct replay *r, enum replay_kind kind, size_t size)
{
    struct message *m = kind == REPLAY_STATE ? first_of_kind(r, kind) : NULL;

    if (m)
        drop_message(r, m);
    while (kind == REPLAY_OUTPUT && r->output + size > r->latest_max &&
           (m = first_of_kind(r, REPLAY_OUTPUT))) {
        r->dropped += m->len;
        drop_message(r, m);
    }
}

void replay_add(struct replay *r, enum replay_kind kind, const void *data, size_t len)
{
    struct message *m = xmalloc(sizeof(*m) + len);

    *m = (struct message){.number = ++r->last, .kind = kind, .len = len};
    memcpy(m->data, data, len);
    if (r->latest_max)
        make_room(r, kind, size_of(m));
    DL_APPEND(r->messages, m);
    r->kept += size_of(m);
    r->owed += size_of(m);
    if (kind == REPLAY_OUTPUT)
        r->output += size_of(m);
}

int replay_ack(struct replay *r, uint64_t number)
{
    struct message *m, *tmp;

    if (number > r->last)
        return -1;
    DL_FOREACH_SAFE(r->messages, m, tmp)
    {
        if (m->number > number)
            break;
        if (!r->latest_max)
            drop_message(r, m);
        else if (m->number > r->acked)
            r->owed -= size_of(m);
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
    const struct message *m;

    DL_FOREACH(r->messages, m)
    {
        if (m->number > r->acked)
            fn(m->number, m->data, m->len, arg);
    }
}
