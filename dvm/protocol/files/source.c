/* SPDX-License-Identifier: BSD-3-Clause */
/* The source of a job's files: the daemon whose client has submitted the job.
 *
 * In: the client's job with files, the head's list of daemons that get them, the daemons' reports
 * that their writer waits and how many bytes it has written, the client's pieces. Out: each piece
 * to all daemons of the job, and room for the client: the bytes that the slowest daemon has
 * written, and a share of FILES_JOB_BYTES beyond.
 *
 * A source waits until all its daemons are open for pieces, then for one of FILES_TURNS turns. It
 * keeps the turn until every daemon has written all of it.
 *
 * Invariants: no more than FILES_JOB_BYTES of a job are on their way, or one piece of the
 * least size for each daemon. A daemon that leaves or is lost is not waited for.
 *
 * Failures: a piece that cannot be sent ends the job, because its daemon could never have
 * all of its files; no daemon gets a piece after it. */
#include "base/bitmap/bitmap.h"
#include "base/log/log.h"
#include "dvm/protocol/files/files_private.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static struct source *find_source(const struct files *s, uint32_t client)
{
    struct source *x;

    HASH_FIND(hh, s->sources, &client, sizeof(client), x);
    return x;
}

static void drop_source(struct files *s, struct source *x)
{
    s->turns -= x->turn;
    HASH_DEL(s->sources, x);
    hwloc_bitmap_free(x->open);
    free(x->targets);
    free(x->nspace);
    free(x);
}

void source_free_all(struct files *s)
{
    struct source *x, *tmp;

    HASH_ITER(hh, s->sources, x, tmp)
    {
        drop_source(s, x);
    }
}

/* Bytes that may be on their way to one daemon. */
static uint64_t room_of(const struct source *x)
{
    uint64_t room = x->ntargets ? FILES_JOB_BYTES / x->ntargets : 0;

    if (room < FILES_ROOM_MIN)
        return FILES_ROOM_MIN;
    return room > FILES_ROOM_MAX ? FILES_ROOM_MAX : room;
}

static uint64_t taken_by_all(const struct source *x)
{
    uint64_t least = x->sent;

    for (size_t i = 0; i < x->ntargets; i++)
        least = x->targets[i].taken < least ? x->targets[i].taken : least;
    return least;
}

/* It has begun, and the writer of every daemon waits for pieces. */
static bool can_send(const struct source *x)
{
    for (size_t i = 0; i < x->ntargets; i++) {
        if (!hwloc_bitmap_isset(x->open, x->targets[i].vpid))
            return false;
    }
    return x->nspace && x->ntargets > 0;
}

static bool is_over(const struct source *x)
{
    return x->ntargets == 0 || (piece_all(&x->order, x->nfiles) && taken_by_all(x) == x->sent);
}

static void give_room(struct files *s, struct source *x)
{
    uint64_t room = room_of(x);
    uint64_t total = taken_by_all(x) + room;

    if (piece_all(&x->order, x->nfiles) || total < x->told + room / 2)
        return;
    x->told = total;
    s->io.room(x->client, total, s->io.arg);
}

static void give_turns(struct files *s)
{
    struct source *x, *tmp;

    HASH_ITER(hh, s->sources, x, tmp)
    {
        if (x->turn && is_over(x)) {
            x->turn = false;
            s->turns--;
        }
    }
    HASH_ITER(hh, s->sources, x, tmp)
    {
        if (s->turns >= FILES_TURNS)
            break;
        if (x->turn || x->told || !can_send(x))
            continue;
        x->turn = true;
        s->turns++;
        give_room(s, x);
    }
}

void files_source(struct files *s, uint32_t client, uint32_t nfiles)
{
    struct source *x = find_source(s, client);

    if (x || !nfiles)
        return;
    x = xcalloc(1, sizeof(*x));
    x->client = client;
    x->nfiles = nfiles;
    x->open = bitmap_alloc();
    HASH_ADD(hh, s->sources, client, sizeof(x->client), x);
}

void files_begin(struct files *s, uint32_t client)
{
    struct source *x = find_source(s, client);
    const struct msg_target *targets;
    const char *nspace;
    size_t n;

    if (!x || x->nspace || !core_files_targets(s->core, client, &nspace, &targets, &n))
        return;
    x->nspace = xstrdup(nspace);
    x->targets = xcalloc(n, sizeof(*x->targets));
    for (size_t i = 0; i < n; i++) {
        if (core_live_in(s->core, targets[i].vpid, targets[i].epoch.ctr))
            x->targets[x->ntargets++].vpid = targets[i].vpid;
    }
    give_turns(s);
}

void source_open(struct files *s, uint32_t from, uint32_t client)
{
    struct source *x = find_source(s, client);

    if (!x)
        return;
    bitmap_set(x->open, from);
    give_turns(s);
}

static uint64_t on_way(const struct files *s)
{
    const struct source *x, *tmp;
    uint64_t sum = 0;

    HASH_ITER(hh, s->sources, x, tmp)
    {
        for (size_t i = 0; i < x->ntargets; i++)
            sum += x->sent - x->targets[i].taken;
    }
    return sum;
}

/* False: a daemon did not get it, and could never have all of the files. The job ends. */
static bool send_all(struct files *s, const struct source *x, const void *data, size_t len)
{
    BUF_AUTO struct buf b = {0};
    struct err err = {0};

    buf_init(&b, PIECE_MAX + 1024);
    buf_put_str(&b, x->nspace);
    buf_put_bytes(&b, data, len);
    for (size_t i = 0; i < x->ntargets; i++) {
        if (core_app_send(s->core, x->targets[i].vpid, CLASS_BULK, FILES_PIECE, b.data, b.len,
                          &err) == 0 ||
            !core_live(s->core, x->targets[i].vpid))
            continue;
        log_error("job %s: %s", x->nspace, err.msg);
        core_client_signal(s->core, x->client, SIGTERM);
        return false;
    }
    return true;
}

int files_piece(struct files *s, uint32_t client, const void *data, size_t len, struct err *err)
{
    struct source *x = find_source(s, client);
    struct piece p;
    uint64_t now;

    if (!x || x->sent + len > x->told)
        return err_set(err, "a piece of %zu bytes of a file, for which there is no room", len);
    if (piece_decode(data, len, &p, err) < 0 || piece_follow(&x->order, x->nfiles, &p, err) < 0)
        return -1;
    if (x->ntargets == 0)
        return 0; /* the job is about to end */
    x->sent += len;
    if (!send_all(s, x, data, len)) {
        x->ntargets = 0; /* no piece follows a gap */
        give_turns(s);
    }
    now = on_way(s);
    s->on_way_most = now > s->on_way_most ? now : s->on_way_most;
    return 0;
}

void source_taken(struct files *s, uint32_t from, uint32_t client, const char *nspace,
                  uint64_t total)
{
    struct source *x = find_source(s, client);

    if (!x || !x->nspace || strcmp(x->nspace, nspace) != 0 || total > x->sent)
        return;
    for (size_t i = 0; i < x->ntargets; i++) {
        if (x->targets[i].vpid == from && total > x->targets[i].taken)
            x->targets[i].taken = total;
    }
    if (x->turn)
        give_room(s, x);
    give_turns(s);
}

void source_member_gone(struct files *s, uint32_t vpid)
{
    struct source *x, *tmp;

    HASH_ITER(hh, s->sources, x, tmp)
    {
        size_t kept = 0;

        bitmap_clr(x->open, vpid);
        for (size_t i = 0; i < x->ntargets; i++) {
            if (x->targets[i].vpid != vpid)
                x->targets[kept++] = x->targets[i];
        }
        if (kept == x->ntargets)
            continue;
        x->ntargets = kept;
        if (x->turn && kept)
            give_room(s, x);
    }
    give_turns(s);
}

void files_tell_room(struct files *s, uint32_t client)
{
    const struct source *x = find_source(s, client);

    if (x && x->told)
        s->io.room(client, x->told, s->io.arg);
}

bool files_owes(const struct files *s, uint32_t client)
{
    const struct source *x = find_source(s, client);

    return x && !piece_all(&x->order, x->nfiles);
}

void files_client_gone(struct files *s, uint32_t client)
{
    struct source *x = find_source(s, client);

    if (!x)
        return;
    drop_source(s, x);
    give_turns(s);
}

struct files_stats files_stats(const struct files *s)
{
    return (struct files_stats){.sources = HASH_COUNT(s->sources),
                                .sinks = HASH_COUNT(s->sinks),
                                .on_way = on_way(s),
                                .on_way_most = s->on_way_most};
}
