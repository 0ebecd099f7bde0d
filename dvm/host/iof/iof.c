/* SPDX-License-Identifier: BSD-3-Clause */
/* Forwarding of output to the submitter and of input to the ranks, with back pressure.
 *
 * Output: a rank's bytes go as OUTPUT to the daemon of the submitter (the *sink*, a local client
 * there), and on to the client. The job's *source*, the record at each daemon with ranks, stops
 * reading them while the daemon has more than IOF_SEND_HIGH bytes unacknowledged, while the client
 * is behind (PAUSE from the sink), or while a reader of a copy is (tap.c).
 *
 * Input: the client's bytes are kept at the sink until the job has started. Then one piece at a
 * time goes to the daemons whose ranks take input (STDIN). The next one follows when each of them
 * has answered STDIN_TAKEN. A client that has sent IOF_INPUT_HIGH bytes ahead is told to pause.
 *
 * Invariants: every bound is a constant of iof.h; a daemon that is lost, or a job that has
 * ended at a daemon, is not waited for. */
#include "dvm/host/iof/iof.h"

#include "base/bitmap/bitmap.h"
#include "base/heap/hash.h"
#include "base/log/log.h"
#include "dvm/host/iof/tap.h"
#include "dvm/protocol/wire/client.h"

#include <hwloc/bitmap.h>
#include <stdlib.h>
#include <string.h>

struct source { /* a job with ranks here */
    char *nspace;
    uint32_t home;
    bool behind; /* this daemon has too many unacknowledged bytes towards the submitter's daemon */
    bool client_slow; /* the submitter is behind */
    bool copies_slow; /* readers of copies are behind */
    bool paused;
    hwloc_bitmap_t full; /* local ranks with pending input */
    UT_hash_handle hh;
};

struct paused {
    uint32_t vpid;
    char *nspace;
};

struct sink { /* a local client that has submitted */
    uint32_t id;
    bool slow;
    size_t npaused; /* paused daemons and jobs: the client's job, or a job that it has spawned */
    struct paused *paused;
    struct buf input; /* input that waits for the job's start, or for slow ranks */
    bool input_end, end_sent;
    hwloc_bitmap_t owing; /* daemons that have not answered the last piece of input yet */
    bool told_pause, client_paused;
    UT_hash_handle hh;
};

struct iof {
    struct core *core;
    struct odls *odls;
    struct iof_io io;
    struct source *sources;
    struct sink *sinks;
    struct taps *taps;
};

struct iof *iof_create(struct core *core, struct odls *odls, const struct iof_io *io)
{
    struct iof *f = xcalloc(1, sizeof(*f));

    f->core = core;
    f->odls = odls;
    f->io = *io;
    f->taps = taps_create(core);
    return f;
}

static void source_free(struct iof *f, struct source *s)
{
    HASH_DEL(f->sources, s);
    hwloc_bitmap_free(s->full);
    free(s->nspace);
    free(s);
}

static void sink_free(struct iof *f, struct sink *k)
{
    HASH_DEL(f->sinks, k);
    for (size_t i = 0; i < k->npaused; i++)
        free(k->paused[i].nspace);
    free(k->paused);
    hwloc_bitmap_free(k->owing);
    buf_free(&k->input);
    free(k);
}

void iof_destroy(struct iof *f)
{
    struct source *s, *stmp;
    struct sink *k, *ktmp;

    if (!f)
        return;
    HASH_ITER(hh, f->sources, s, stmp)
    {
        source_free(f, s);
    }
    HASH_ITER(hh, f->sinks, k, ktmp)
    {
        sink_free(f, k);
    }
    taps_destroy(f->taps);
    free(f);
}

static struct source *find_source(struct iof *f, const char *nspace)
{
    struct source *s;

    HASH_FIND_STR(f->sources, nspace, s);
    return s;
}

static struct source *source_of(struct iof *f, const char *nspace, uint32_t home)
{
    struct source *s = find_source(f, nspace);

    if (s)
        return s;
    s = xcalloc(1, sizeof(*s));
    s->nspace = xstrdup(nspace);
    s->home = home;
    s->full = bitmap_alloc();
    HASH_ADD_KEYPTR(hh, f->sources, s->nspace, strlen(s->nspace), s);
    return s;
}

static struct sink *make_sink(struct iof *f, uint32_t client)
{
    struct sink *k;

    HASH_FIND(hh, f->sinks, &client, sizeof(client), k);
    if (k)
        return k;
    k = xcalloc(1, sizeof(*k));
    k->id = client;
    k->owing = bitmap_alloc();
    buf_init(&k->input, 4 * IOF_INPUT_HIGH);
    HASH_ADD(hh, f->sinks, id, sizeof(k->id), k);
    return k;
}

static void send_message(struct iof *f, uint32_t to, enum iof_kind kind, const struct buf *b)
{
    struct err err = {0};

    if (core_app_send(f->core, to, CLASS_BULK, kind, b->data, b->len, &err) < 0)
        log_debug("forwarding: %s", err.msg);
}

static void send_flag(struct iof *f, uint32_t to, enum iof_kind kind, const char *nspace, bool on)
{
    BUF_AUTO struct buf b = {0};

    buf_init(&b, 1024);
    buf_put_str(&b, nspace);
    buf_put_u8(&b, on);
    send_message(f, to, kind, &b);
}

/* --- at the daemons of the ranks */

static void apply_pause(struct iof *f, struct source *s)
{
    bool want = s->behind || s->client_slow || s->copies_slow;

    if (want == s->paused)
        return;
    s->paused = want;
    odls_output_pause(f->odls, s->nspace, want);
}

void iof_output(struct iof *f, const struct job_launch *l, uint32_t rank, int stream,
                const void *data, size_t len)
{
    struct source *s = source_of(f, l->nspace, l->home_vpid);
    BUF_AUTO struct buf b = {0};

    buf_init(&b, len + 1024);
    buf_put_str(&b, l->nspace);
    buf_put_u32(&b, l->home_client);
    buf_put_u32(&b, rank);
    buf_put_u8(&b, (uint8_t)stream);
    buf_put_bytes(&b, data, len);
    send_message(f, l->home_vpid, IOF_OUTPUT, &b);
    s->behind = core_app_backlog(f->core, l->home_vpid, CLASS_BULK) > IOF_SEND_HIGH;
    apply_pause(f, s);
}

void iof_note(struct iof *f, const struct job_launch *l, const char *text)
{
    BUF_AUTO struct buf b = {0};

    buf_init(&b, CLIENT_TEXT_MAX + 1024);
    buf_put_str(&b, l->nspace);
    buf_put_u32(&b, l->home_client);
    buf_put_str(&b, text);
    send_message(f, l->home_vpid, IOF_NOTE, &b);
}

void iof_turn(struct iof *f)
{
    struct source *s, *tmp;

    HASH_ITER(hh, f->sources, s, tmp)
    {
        if (s->behind && core_app_backlog(f->core, s->home, CLASS_BULK) < IOF_SEND_LOW) {
            s->behind = false;
            apply_pause(f, s);
        }
    }
    taps_turn(f->taps);
}

void iof_job_gone(struct iof *f, const char *nspace)
{
    struct source *s = find_source(f, nspace);

    if (s)
        source_free(f, s);
}

static void say_taken(struct iof *f, uint32_t to, const char *nspace)
{
    BUF_AUTO struct buf b = {0};

    buf_init(&b, 1024);
    buf_put_str(&b, nspace);
    send_message(f, to, IOF_STDIN_TAKEN, &b);
}

static void feed_ranks(struct iof *f, uint32_t from, const char *nspace, const uint8_t *data,
                       size_t len)
{
    const struct job_launch *l = core_job(f->core, nspace);
    struct source *s;

    if (!l) {
        say_taken(f, from, nspace); /* the job has ended here */
        return;
    }
    s = find_source(f, nspace);
    for (uint32_t r = 0; r < l->nranks; r++) {
        if (l->spec.stdin_rank != JOB_RANK_ALL && l->spec.stdin_rank != r)
            continue;
        if (odls_stdin(f->odls, nspace, r, data, len) <= IOF_RANK_HIGH || !len)
            continue;
        /* Records are made here only. A record for a job whose ranks have ended would never be
         * freed. */
        s = source_of(f, nspace, l->home_vpid);
        bitmap_set(s->full, r);
    }
    if (!s || hwloc_bitmap_iszero(s->full))
        say_taken(f, from, nspace);
}

/* The piece is answered when the last full rank has room again. */
void iof_stdin_room(struct iof *f, const char *nspace, uint32_t rank)
{
    struct source *s = find_source(f, nspace);

    if (!s || !hwloc_bitmap_isset(s->full, rank))
        return;
    bitmap_clr(s->full, rank);
    if (hwloc_bitmap_iszero(s->full))
        say_taken(f, s->home, nspace);
}

/* --- at the submitter's daemon */

/* A daemon that sends output while the client is behind gets PAUSE, once. */
static void pause_source(struct iof *f, struct sink *k, uint32_t from, const char *nspace)
{
    for (size_t i = 0; i < k->npaused; i++) {
        if (k->paused[i].vpid == from && strcmp(k->paused[i].nspace, nspace) == 0)
            return;
    }
    k->paused = xrealloc(k->paused, (k->npaused + 1) * sizeof(*k->paused));
    k->paused[k->npaused++] = (struct paused){from, xstrdup(nspace)};
    send_flag(f, from, IOF_PAUSE, nspace, true);
}

static void output_in(struct iof *f, uint32_t from, const char *nspace, struct cur *c)
{
    struct client_msg m = {.type = CLIENT_OUTPUT};
    struct client_output *o = &m.output;
    BUF_AUTO struct buf b = {0};
    uint32_t client = cur_u32(c);
    struct sink *k;

    o->rank = cur_u32(c);
    o->stream = cur_u8(c);
    o->data = cur_bytes(c, CLIENT_DATA_MAX, &o->len);
    if (!cur_done(c) || (o->stream != ODLS_STDOUT && o->stream != ODLS_STDERR))
        return;
    taps_output(f->taps, from, nspace, o->rank, o->stream, o->data, o->len);
    if (!f->io.client_there(client, f->io.arg))
        return;
    k = make_sink(f, client);
    buf_init(&b, o->len + 1024);
    client_msg_encode(&b, &m);
    f->io.client_send(client, b.data, b.len, f->io.arg);
    k->slow |= f->io.client_pending(client, f->io.arg) > IOF_CLIENT_HIGH;
    if (k->slow)
        pause_source(f, k, from, nspace);
}

static void note_in(struct iof *f, struct cur *c)
{
    uint32_t client = cur_u32(c);
    FREE_AUTO char *text = cur_str(c, CLIENT_TEXT_MAX);
    struct client_msg m = {.type = CLIENT_NOTE, .note = {text}};
    BUF_AUTO struct buf b = {0};

    if (!cur_done(c) || !f->io.client_there(client, f->io.arg))
        return;
    buf_init(&b, CLIENT_TEXT_MAX + 1024);
    client_msg_encode(&b, &m);
    f->io.client_send(client, b.data, b.len, f->io.arg);
}

static void go_on(struct iof *f, struct sink *k)
{
    k->slow = false;
    for (size_t i = 0; i < k->npaused; i++) {
        send_flag(f, k->paused[i].vpid, IOF_PAUSE, k->paused[i].nspace, false);
        free(k->paused[i].nspace);
    }
    k->npaused = 0;
}

void iof_client_drained(struct iof *f, uint32_t client)
{
    struct sink *k;

    HASH_FIND(hh, f->sinks, &client, sizeof(client), k);
    if (k && k->slow)
        go_on(f, k);
}

static void tell_client_pause(struct iof *f, struct sink *k, bool on)
{
    struct client_msg m = {.type = CLIENT_STDIN_PAUSE, .pause = {on}};
    BUF_AUTO struct buf b = {0};

    if (k->told_pause == on)
        return;
    k->told_pause = on;
    buf_init(&b, 64);
    client_msg_encode(&b, &m);
    f->io.client_send(k->id, b.data, b.len, f->io.arg);
}

static void send_input(struct iof *f, const char *nspace, const uint32_t *vpids, size_t n,
                       const void *data, size_t len)
{
    BUF_AUTO struct buf b = {0};

    buf_init(&b, len + 1024);
    buf_put_str(&b, nspace);
    buf_put_bytes(&b, data, len);
    for (size_t i = 0; i < n; i++)
        send_message(f, vpids[i], IOF_STDIN, &b);
}

/* Passes pending input on, one piece at a time. The next piece goes when every daemon concerned
 * has answered the last one. */
static void pump_input(struct iof *f, struct sink *k)
{
    size_t chunk = k->input.len < CLIENT_DATA_MAX ? k->input.len : CLIENT_DATA_MAX;
    const char *nspace;
    const uint32_t *vpids;
    size_t n;

    if (core_stdin(f->core, k->id, &nspace, &vpids, &n) && hwloc_bitmap_iszero(k->owing)) {
        if (chunk || (k->input_end && !k->end_sent)) {
            k->end_sent = chunk == 0;
            for (size_t i = 0; i < n; i++) {
                if (core_live(f->core, vpids[i]))
                    bitmap_set(k->owing, vpids[i]);
            }
            send_input(f, nspace, vpids, n, k->input.data, chunk);
            buf_consume(&k->input, chunk);
        }
    }
    tell_client_pause(f, k, k->input.len > 2 * CLIENT_DATA_MAX);
    if ((k->input.len > IOF_INPUT_HIGH) != k->client_paused) {
        k->client_paused = !k->client_paused;
        f->io.client_pause(k->id, k->client_paused, f->io.arg);
    }
}

void iof_client_stdin(struct iof *f, uint32_t client, const void *data, size_t len)
{
    struct sink *k = make_sink(f, client);

    if (len)
        buf_put_raw(&k->input, data, len);
    else
        k->input_end = true;
    pump_input(f, k);
}

void iof_client_started(struct iof *f, uint32_t client)
{
    pump_input(f, make_sink(f, client));
}

static void taken_in(struct iof *f, uint32_t from, const char *nspace)
{
    uint32_t client;
    struct sink *k;

    if (!core_client_of(f->core, nspace, &client))
        return;
    k = make_sink(f, client);
    bitmap_clr(k->owing, from);
    pump_input(f, k);
}

/* Output without a reader is read to its end and dropped. Its ranks end only after that. */
static void home_gone(struct iof *f, uint32_t vpid)
{
    struct source *s, *tmp;

    HASH_ITER(hh, f->sources, s, tmp)
    {
        if (s->home != vpid)
            continue;
        s->client_slow = s->copies_slow = false;
        apply_pause(f, s);
    }
}

void iof_member_gone(struct iof *f, uint32_t vpid)
{
    struct sink *k, *tmp;

    home_gone(f, vpid);
    taps_member_gone(f->taps, vpid);
    HASH_ITER(hh, f->sinks, k, tmp)
    {
        if (!hwloc_bitmap_isset(k->owing, vpid))
            continue;
        bitmap_clr(k->owing, vpid);
        pump_input(f, k);
    }
}

void iof_client_gone(struct iof *f, uint32_t client)
{
    struct sink *k;

    HASH_FIND(hh, f->sinks, &client, sizeof(client), k);
    if (!k)
        return;
    go_on(f, k);
    sink_free(f, k);
}

static void pause_in(struct iof *f, struct source *s, uint8_t what)
{
    bool wait = what == IOF_SUBMITTER_WAITS || what == IOF_COPIES_WAIT;

    if (what == IOF_SUBMITTER_WAITS || what == IOF_SUBMITTER_GOES_ON)
        s->client_slow = wait;
    else
        s->copies_slow = wait;
    apply_pause(f, s);
}

/* --- copies */

void iof_copy_ask(struct iof *f, uint32_t home, enum iof_kind kind, const char *nspace, bool on)
{
    send_flag(f, home, kind, nspace, on);
}

static void copy_in(struct iof *f, const char *nspace, struct cur *c)
{
    uint32_t rank = cur_u32(c);
    int stream = cur_u8(c);
    size_t len;
    const uint8_t *data = cur_bytes(c, CLIENT_DATA_MAX, &len);

    if (cur_done(c) && (stream == ODLS_STDOUT || stream == ODLS_STDERR))
        f->io.copy(IOF_COPY, nspace, rank, stream, data, len, f->io.arg);
}

void iof_msg(struct iof *f, uint32_t from, uint32_t kind, const void *data, size_t len)
{
    struct cur c = cur_of(data, len);
    FREE_AUTO char *nspace = cur_str(&c, JOB_NSPACE_MAX);
    struct source *s = find_source(f, nspace);
    const uint8_t *bytes;
    uint8_t what;
    size_t n;

    switch (kind) {
    case IOF_OUTPUT:
        output_in(f, from, nspace, &c);
        break;
    case IOF_PAUSE:
        what = cur_u8(&c);
        if (s && cur_done(&c))
            pause_in(f, s, what);
        break;
    case IOF_STDIN:
        bytes = cur_bytes(&c, CLIENT_DATA_MAX, &n);
        if (cur_done(&c))
            feed_ranks(f, from, nspace, bytes, n);
        break;
    case IOF_NOTE:
        note_in(f, &c);
        break;
    case IOF_STDIN_TAKEN:
        if (cur_done(&c))
            taken_in(f, from, nspace);
        break;
    case IOF_COPY_START:
    case IOF_COPY_PAUSE:
    case IOF_COPY_STOP:
        what = cur_u8(&c);
        if (cur_done(&c))
            taps_msg(f->taps, from, (enum iof_kind)kind, nspace, what);
        break;
    case IOF_COPY:
        copy_in(f, nspace, &c);
        break;
    case IOF_COPY_STARTED:
    case IOF_COPY_END:
        (void)cur_u8(&c);
        if (cur_done(&c))
            f->io.copy((enum iof_kind)kind, nspace, 0, 0, NULL, 0, f->io.arg);
        break;
    default:
        break;
    }
}
