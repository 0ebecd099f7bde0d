/* SPDX-License-Identifier: BSD-3-Clause */
/* The journal: records, their fold, and snapshots.
 *
 * In: at the head, records of its modules (journal_put()); at an heir, or at a checker, their bytes
 * (journal_replay()). Out: the changed state of the modules, and the bytes for whoever keeps them.
 *
 * The state is the fold of the records: each module that has such state registers a part, whose
 * fold() is the only writer. What follows from a decision beyond the state (messages to members,
 * answers to clients, events for the driver) is done by the module after its record, and is not
 * done by a fold. So a fold at another place has the same state and sends nothing.
 *
 * A snapshot is a record: the state of all parts, each after its length. It replaces all records
 * before it. Equal states have equal snapshots.
 *
 * A record that does not fit the state is refused and is not appended. */
#include "dvm/protocol/head/journal/journal.h"

#include "base/log/log.h"

#include <assert.h>
#include <stdlib.h>

struct journal {
    struct out *out;
    struct journal_part parts[JOURNAL_PARTS_MAX];
    size_t nparts;
    struct reader {
        void (*on)(void *arg, const uint8_t *data, size_t len);
        void *arg;
    } readers[JOURNAL_READERS_MAX];
    size_t nreaders;
    uint64_t records;
    struct buf scratch;
};

struct journal *journal_create(struct out *out)
{
    struct journal *j = xcalloc(1, sizeof(*j));

    j->out = out;
    buf_init(&j->scratch, RECORD_BYTES_MAX);
    return j;
}

void journal_destroy(struct journal *j)
{
    if (!j)
        return;
    buf_free(&j->scratch);
    free(j);
}

void journal_add_part(struct journal *j, const struct journal_part *part)
{
    assert(j->nparts < JOURNAL_PARTS_MAX);
    j->parts[j->nparts++] = *part;
}

void journal_stream_to(struct journal *j, void (*on)(void *arg, const uint8_t *data, size_t len),
                       void *arg)
{
    size_t i = 0;

    while (i < j->nreaders && j->readers[i].arg != arg)
        i++;
    assert(i < JOURNAL_READERS_MAX);
    j->readers[i] = (struct reader){on, arg};
    j->nreaders += i == j->nreaders;
}

static int fold_record(struct journal *j, const struct record *r, struct err *err)
{
    for (size_t i = 0; i < j->nparts; i++) {
        if (j->parts[i].fold(j->parts[i].state, r, err) < 0)
            return -1;
    }
    j->records++;
    return 0;
}

static void append_record(struct journal *j, const struct record *r)
{
    buf_reset(&j->scratch);
    record_encode(&j->scratch, r);
    for (size_t i = 0; i < j->nreaders; i++)
        j->readers[i].on(j->readers[i].arg, j->scratch.data, j->scratch.len);
}

int journal_put(struct journal *j, const struct record *r, struct err *err)
{
    if (fold_record(j, r, err) < 0)
        return -1;
    if (j->nreaders)
        append_record(j, r);
    return 0;
}

void journal_note(struct journal *j, const struct record *r)
{
    struct err err = {0};

    if (journal_put(j, r, &err) < 0)
        out_log(j->out, LOG_LEVEL_ERROR, "record %s: %s", record_name(r->type), err.msg);
}

static int load_parts(struct journal *j, const struct record_snapshot *s, struct err *err)
{
    struct cur all = cur_of(s->data, s->len);

    for (size_t i = 0; i < j->nparts; i++) {
        size_t len;
        const uint8_t *data = cur_bytes(&all, RECORD_SNAPSHOT_MAX, &len);
        struct cur c = cur_of(data, len);

        if (j->parts[i].load(j->parts[i].state, &c, err) < 0)
            return err_wrap(err, "snapshot, part %zu", i);
        if (!cur_done(&c))
            return err_set(err, "snapshot, part %zu: %s", i, c.bad ? "cut" : "bytes left over");
    }
    return cur_done(&all) ? 0 : err_set(err, "snapshot: bytes left over");
}

static int replay_record(struct journal *j, const struct record *r, struct err *err)
{
    bool begins = r->type == RECORD_SNAPSHOT || r->type == RECORD_MEMBERS;

    if (begins && j->records)
        return err_set(err, "%s after %llu records",
                       r->type == RECORD_SNAPSHOT ? "a snapshot" : "a table of members",
                       (unsigned long long)j->records);
    if (r->type != RECORD_SNAPSHOT)
        return fold_record(j, r, err);
    j->records++;
    return load_parts(j, &r->snapshot, err);
}

int journal_replay(struct journal *j, const void *data, size_t len, struct err *err)
{
    struct record r;
    int rc;

    if (record_decode(data, len, &r, err) < 0)
        return -1;
    rc = replay_record(j, &r, err);
    if (rc < 0)
        err_wrap(err, "record %s", record_name(r.type));
    record_free(&r);
    return rc;
}

void journal_save(const struct journal *j, struct buf *b)
{
    for (size_t i = 0; i < j->nparts; i++) {
        size_t at = b->len;

        buf_put_u32(b, 0);
        j->parts[i].save(j->parts[i].state, b);
        if (!b->failed)
            buf_patch_u32(b, at, (uint32_t)(b->len - at - 4));
    }
}

void journal_snapshot(const struct journal *j, struct buf *b)
{
    size_t at;

    buf_put_u8(b, RECORD_SNAPSHOT);
    buf_put_u8(b, RECORD_LAYOUT);
    at = b->len;
    buf_put_u32(b, 0);
    journal_save(j, b);
    if (!b->failed)
        buf_patch_u32(b, at, (uint32_t)(b->len - at - 4));
}

uint64_t journal_records(const struct journal *j)
{
    return j->records;
}
