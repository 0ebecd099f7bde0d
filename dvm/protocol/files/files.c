/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of jobs at the daemons where ranks are to run, and the messages between daemons about them.
 *
 * Failures: a report to the source that meets a full backlog is repeated by files_turn(), since the
 * source waits for it. */
#include "dvm/protocol/files/files.h"

#include "base/log/log.h"
#include "dvm/protocol/files/files_private.h"

#include <stdlib.h>
#include <string.h>

struct files *files_create(struct core *core, const struct files_io *io)
{
    struct files *s = xcalloc(1, sizeof(*s));

    s->core = core;
    s->io = *io;
    return s;
}

static struct sink *find_sink(const struct files *s, const char *nspace)
{
    struct sink *k;

    HASH_FIND_STR(s->sinks, nspace, k);
    return k;
}

static void sink_free(struct files *s, struct sink *k)
{
    s->unreported -= k->unreported;
    HASH_DEL(s->sinks, k);
    free(k->nspace);
    free(k);
}

void files_destroy(struct files *s)
{
    struct sink *k, *tmp;

    if (!s)
        return;
    HASH_ITER(hh, s->sinks, k, tmp)
    {
        sink_free(s, k);
    }
    source_free_all(s);
    free(s);
}

static bool send_report(struct files *s, const struct sink *k, enum files_kind kind)
{
    BUF_AUTO struct buf b = {0};
    struct err err = {0};

    buf_init(&b, 1024);
    buf_put_u32(&b, k->client);
    buf_put_str(&b, k->nspace);
    if (kind == FILES_TAKEN)
        buf_put_u64(&b, k->taken);
    if (core_app_send(s->core, k->vpid, CLASS_BULK, kind, b.data, b.len, &err) == 0)
        return true;
    log_debug("files of a job: %s", err.msg);
    return false;
}

/* Sends the reports that the source has not got: OPEN, and TAKEN with the bytes written so far. */
static void report_progress(struct files *s, struct sink *k)
{
    k->opened = k->opened || send_report(s, k, FILES_OPEN);
    if (k->opened && k->taken > k->told && send_report(s, k, FILES_TAKEN))
        k->told = k->taken;
    s->unreported -= k->unreported;
    k->unreported = !k->opened || k->taken > k->told;
    s->unreported += k->unreported;
    if (k->over && !k->unreported)
        sink_free(s, k);
}

void files_turn(struct files *s)
{
    struct sink *k, *tmp;

    if (s->unreported == 0)
        return;
    HASH_ITER(hh, s->sinks, k, tmp)
    {
        report_progress(s, k);
    }
}

void files_expect(struct files *s, const struct job_launch *l)
{
    struct sink *k = find_sink(s, l->nspace);

    if (k)
        return;
    k = xcalloc(1, sizeof(*k));
    k->nspace = xstrdup(l->nspace);
    k->vpid = l->files_vpid;
    k->client = l->files_client;
    HASH_ADD_KEYPTR(hh, s->sinks, k->nspace, strlen(k->nspace), k);
    report_progress(s, k);
}

void files_written(struct files *s, const char *nspace, uint64_t total)
{
    struct sink *k = find_sink(s, nspace);

    if (!k || k->over)
        return;
    k->taken = total;
    report_progress(s, k);
}

void files_forget(struct files *s, const char *nspace)
{
    struct sink *k = find_sink(s, nspace);

    if (!k)
        return;
    k->over = true;
    if (k->opened)
        report_progress(s, k);
    else
        sink_free(s, k);
}

/* Late pieces of a job that has ended here are dropped. */
static void piece_in(struct files *s, uint32_t from, struct cur *c)
{
    FREE_AUTO char *nspace = cur_str(c, JOB_NSPACE_MAX);
    size_t len;
    const uint8_t *piece = cur_bytes(c, PIECE_MAX, &len);
    const struct sink *k = find_sink(s, nspace);

    if (cur_done(c) && k && !k->over && k->vpid == from)
        s->io.write(nspace, piece, len, s->io.arg);
}

void files_msg(struct files *s, uint32_t from, uint32_t kind, const void *data, size_t len)
{
    struct cur c = cur_of(data, len);
    uint32_t client;
    uint64_t total;

    if (kind == FILES_PIECE) {
        piece_in(s, from, &c);
        return;
    }
    client = cur_u32(&c);
    FREE_AUTO char *nspace = cur_str(&c, JOB_NSPACE_MAX);
    total = kind == FILES_TAKEN ? cur_u64(&c) : 0;
    if (!cur_done(&c))
        log_warn("files of a job: malformed message kind=%u vpid=%u", kind, from);
    else if (kind == FILES_TAKEN)
        source_taken(s, from, client, nspace, total);
    else
        source_open(s, from, client);
}

/* The next daemon of this vpid is the source of other jobs: it is told nothing of these. */
void files_member_gone(struct files *s, uint32_t vpid)
{
    struct sink *k, *tmp;

    HASH_ITER(hh, s->sinks, k, tmp)
    {
        if (k->vpid == vpid)
            sink_free(s, k);
    }
    source_member_gone(s, vpid);
}
