/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of a job's output for other daemons, whose tools have requested it.
 *
 * In: output of ranks, as it arrives at the submitter's daemon; requests of readers (start, pause,
 * stop). Out: copies to each reader; pauses for the daemons of the ranks.
 *
 * A reader is in `to` while it gets copies. It is in `slow` while it has requested a pause, and in
 * `behind` while this daemon has more than IOF_SEND_HIGH bytes for it that are not acknowledged.
 * While either set has a member, each daemon that sends output is paused once (`paused`). When both
 * are empty, all paused daemons go on.
 *
 * Invariants: a reader that stops, or whose daemon departs, holds nobody up any more. A job without
 * readers and without paused daemons has no entry.
 *
 * Limits: the slowest reader determines the speed of the job. The time for which a reader may be
 * behind is limited at its own daemon, not here. A copy that cannot be sent is
 * lost and logged. */
#include "dvm/host/iof/tap.h"

#include "base/bitmap/bitmap.h"
#include "base/heap/hash.h"
#include "base/log/log.h"
#include "dvm/protocol/wire/client.h"

#include <hwloc/bitmap.h>
#include <stdlib.h>
#include <string.h>

struct tap { /* a job whose output is copied */
    char *nspace;
    hwloc_bitmap_t to;
    hwloc_bitmap_t slow;   /* readers that are behind */
    hwloc_bitmap_t behind; /* readers towards which this daemon has too many unacknowledged bytes */
    hwloc_bitmap_t paused; /* daemons of the job's ranks that were paused */
    UT_hash_handle hh;
};

struct taps {
    struct core *core;
    struct tap *all;
};

struct taps *taps_create(struct core *core)
{
    struct taps *t = xcalloc(1, sizeof(*t));

    t->core = core;
    return t;
}

static void tap_free(struct taps *t, struct tap *x)
{
    HASH_DEL(t->all, x);
    hwloc_bitmap_free(x->to);
    hwloc_bitmap_free(x->slow);
    hwloc_bitmap_free(x->behind);
    hwloc_bitmap_free(x->paused);
    free(x->nspace);
    free(x);
}

void taps_destroy(struct taps *t)
{
    struct tap *x, *tmp;

    HASH_ITER(hh, t->all, x, tmp)
    {
        tap_free(t, x);
    }
    free(t);
}

static struct tap *find_tap(const struct taps *t, const char *nspace)
{
    struct tap *x;

    HASH_FIND_STR(t->all, nspace, x);
    return x;
}

static struct tap *tap_of(struct taps *t, const char *nspace)
{
    struct tap *x = find_tap(t, nspace);

    if (x)
        return x;
    x = xcalloc(1, sizeof(*x));
    x->nspace = xstrdup(nspace);
    x->to = bitmap_alloc();
    x->slow = bitmap_alloc();
    x->behind = bitmap_alloc();
    x->paused = bitmap_alloc();
    HASH_ADD_KEYPTR(hh, t->all, x->nspace, strlen(x->nspace), x);
    return x;
}

static void send_message(struct taps *t, uint32_t to, enum iof_kind kind, const struct buf *b)
{
    struct err err = {0};

    if (core_app_send(t->core, to, CLASS_BULK, kind, b->data, b->len, &err) < 0)
        log_debug("copies of output: %s", err.msg);
}

static void tell_reader(struct taps *t, uint32_t to, enum iof_kind kind, const char *nspace,
                        uint8_t what)
{
    BUF_AUTO struct buf b = {0};

    buf_init(&b, 1024);
    buf_put_str(&b, nspace);
    buf_put_u8(&b, what);
    send_message(t, to, kind, &b);
}

/* All paused daemons go on when no reader is behind any more. */
static void settle_tap(struct taps *t, struct tap *x)
{
    unsigned v;

    if (!hwloc_bitmap_iszero(x->slow) || !hwloc_bitmap_iszero(x->behind))
        return;
    hwloc_bitmap_foreach_begin(v, x->paused)
    {
        tell_reader(t, v, IOF_PAUSE, x->nspace, IOF_COPIES_GO_ON);
    }
    hwloc_bitmap_foreach_end();
    hwloc_bitmap_zero(x->paused);
    if (hwloc_bitmap_iszero(x->to))
        tap_free(t, x);
}

void taps_output(struct taps *t, uint32_t from, const char *nspace, uint32_t rank, int stream,
                 const void *data, size_t len)
{
    struct tap *x = find_tap(t, nspace);
    BUF_AUTO struct buf b = {0};
    unsigned v;

    if (!x)
        return;
    buf_init(&b, len + 1024);
    buf_put_str(&b, nspace);
    buf_put_u32(&b, rank);
    buf_put_u8(&b, (uint8_t)stream);
    buf_put_bytes(&b, data, len);
    hwloc_bitmap_foreach_begin(v, x->to)
    {
        send_message(t, v, IOF_COPY, &b);
        if (core_app_backlog(t->core, v, CLASS_BULK) > IOF_SEND_HIGH)
            bitmap_set(x->behind, v);
    }
    hwloc_bitmap_foreach_end();
    if (hwloc_bitmap_isset(x->paused, from) ||
        (hwloc_bitmap_iszero(x->slow) && hwloc_bitmap_iszero(x->behind)))
        return;
    bitmap_set(x->paused, from);
    tell_reader(t, from, IOF_PAUSE, nspace, IOF_COPIES_WAIT);
}

static void stop_copy(struct taps *t, struct tap *x, uint32_t vpid)
{
    bitmap_clr(x->to, vpid);
    bitmap_clr(x->slow, vpid);
    bitmap_clr(x->behind, vpid);
    settle_tap(t, x);
}

static void note_paused(struct taps *t, struct tap *x, uint32_t vpid, bool on)
{
    if (on && hwloc_bitmap_isset(x->to, vpid))
        bitmap_set(x->slow, vpid);
    else
        bitmap_clr(x->slow, vpid);
    settle_tap(t, x);
}

void taps_msg(struct taps *t, uint32_t from, enum iof_kind kind, const char *nspace, bool on)
{
    struct tap *x = find_tap(t, nspace);

    if (kind == IOF_COPY_START) {
        bitmap_set(tap_of(t, nspace)->to, from);
        tell_reader(t, from, IOF_COPY_STARTED, nspace, 0);
    } else if (kind == IOF_COPY_STOP) {
        if (x)
            stop_copy(t, x, from);
        tell_reader(t, from, IOF_COPY_END, nspace, 0);
    } else if (x) {
        note_paused(t, x, from, on);
    }
}

void taps_member_gone(struct taps *t, uint32_t vpid)
{
    struct tap *x, *tmp;

    HASH_ITER(hh, t->all, x, tmp)
    {
        bitmap_clr(x->paused, vpid);
        stop_copy(t, x, vpid);
    }
}

void taps_turn(struct taps *t)
{
    struct tap *x, *tmp;

    HASH_ITER(hh, t->all, x, tmp)
    {
        unsigned v;

        if (hwloc_bitmap_iszero(x->behind))
            continue;
        hwloc_bitmap_foreach_begin(v, x->behind)
        {
            if (core_app_backlog(t->core, v, CLASS_BULK) < IOF_SEND_LOW)
                bitmap_clr(x->behind, v);
        }
        hwloc_bitmap_foreach_end();
        settle_tap(t, x);
    }
}
