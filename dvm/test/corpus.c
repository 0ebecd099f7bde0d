/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the seed corpora of the fuzz targets below the folder that is named: one entry per message
 * type, made by the encoders. */
#include "dvm/host/cred/cred.h"
#include "dvm/protocol/core/test/scene.h"
#include "dvm/protocol/head/head_state.h"
#include "dvm/protocol/head/journal/test/samples.h"
#include "dvm/protocol/wire/msg/test/samples.h"
#include "dvm/protocol/wire/piece.h"
#include "dvm/protocol/wire/test/samples.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void die(const char *what)
{
    fprintf(stderr, "corpus: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void make_folder(const char *dir, const char *target)
{
    FREE_AUTO char *path = xasprintf("%s/%s", dir, target);

    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        die(path);
}

static void write_entry(const char *dir, const char *target, const char *name, const struct buf *b)
{
    FREE_AUTO char *path = xasprintf("%s/%s/%s", dir, target, name);
    FILE *f = fopen(path, "wb");

    if (!f || fwrite(b->data, 1, b->len, f) != b->len || fclose(f) != 0)
        die(path);
}

/* Its last fields are only in the report that ends all others. */
static void last_report(const char *dir)
{
    BUF_AUTO struct buf b = {0};

    buf_init(&b, MSG_DATA_MAX);
    sample_frame(&b, MSG_REPORT);
    buf_put_u8(&b, 1);
    buf_put_str(&b, "own:0 1");
    write_entry(dir, "fuzz_frame", "REPORT-all", &b);
}

static void frames(const char *dir)
{
    make_folder(dir, "fuzz_frame");
    for (unsigned type = 1; type < MSG_TYPES; type++) {
        BUF_AUTO struct buf b = {0};

        buf_init(&b, MSG_DATA_MAX);
        sample_frame(&b, type);
        write_entry(dir, "fuzz_frame", msg_name(type), &b);
    }
    last_report(dir);
}

static void clients(const char *dir)
{
    size_t n;
    const struct client_msg *list = sample_clients(&n);

    make_folder(dir, "fuzz_client");
    for (size_t i = 0; i < n; i++) {
        FREE_AUTO char *name = xasprintf("client-%d", (int)list[i].type);
        BUF_AUTO struct buf b = {0};

        buf_init(&b, MSG_DATA_MAX);
        client_msg_encode(&b, &list[i]);
        write_entry(dir, "fuzz_client", name, &b);
    }
}

static void pieces(const char *dir)
{
    static const uint8_t sum[PIECE_SUM_BYTES];
    static const struct piece list[] = {
        {.kind = PIECE_FILE, .file = 1, .mode = 0755},
        {.kind = PIECE_DATA, .file = 1, .data = sum, .len = 5},
        {.kind = PIECE_END, .file = 1, .size = 5, .data = sum, .len = sizeof(sum)},
    };

    make_folder(dir, "fuzz_piece");
    for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
        FREE_AUTO char *name = xasprintf("piece-%d", (int)list[i].kind);
        BUF_AUTO struct buf b = {0};

        buf_init(&b, PIECE_MAX);
        piece_encode(&b, &list[i]);
        write_entry(dir, "fuzz_piece", name, &b);
    }
}

static void put_record(struct buf *b, const struct record *r)
{
    size_t at = b->len;

    buf_put_u16(b, 0);
    record_encode(b, r);
    b->data[at] = (uint8_t)((b->len - at - 2) >> 8);
    b->data[at + 1] = (uint8_t)(b->len - at - 2);
}

static void snapshot_of(const struct buf *journal, struct buf *b)
{
    BUF_AUTO struct buf state = {0};
    struct record r = {.type = RECORD_SNAPSHOT};
    struct head_fold *f = head_fold_create();
    struct cur c = cur_of(journal->data, journal->len);

    while (cur_left(&c) > 0) {
        size_t len = cur_u16(&c);
        struct err err = {0};

        if (head_fold_take(f, cur_raw(&c, len), len, &err) < 0)
            die(err.msg);
    }
    buf_init(&state, MSG_DATA_MAX);
    head_fold_save(f, &state);
    head_fold_destroy(f);
    r.snapshot = (struct record_snapshot){state.data, state.len};
    put_record(b, &r);
}

/* A journal with a record of each type, and the snapshot after it. */
static void journals(const char *dir)
{
    BUF_AUTO struct buf all = {0};
    BUF_AUTO struct buf snapshot = {0};
    BUF_AUTO struct buf members = {0};
    struct record r;

    make_folder(dir, "fuzz_journal");
    buf_init(&all, MSG_DATA_MAX);
    buf_init(&snapshot, MSG_DATA_MAX);
    for (unsigned type = SAMPLE_FIRST; type < SAMPLE_END; type++) {
        r = sample_record(type);
        put_record(&all, &r);
    }
    write_entry(dir, "fuzz_journal", "journal", &all);
    snapshot_of(&all, &snapshot);
    write_entry(dir, "fuzz_journal", "snapshot", &snapshot);
    buf_init(&members, MSG_DATA_MAX);
    r = sample_record(RECORD_MEMBERS);
    put_record(&members, &r);
    for (unsigned type = RECORD_JOB_ACCEPTED; type <= RECORD_JOB_SENT; type++) {
        r = sample_record(type);
        put_record(&members, &r);
    }
    r = sample_record(RECORD_JOBS_ADOPTED);
    put_record(&members, &r);
    write_entry(dir, "fuzz_journal", "members", &members);
}

static void creds(const char *dir)
{
    struct cred k = {.incarnation = "0123456789abcdef",
                     .nspace = "0123456789abcdef.1",
                     .issued_ms = 1,
                     .ends_ms = 2,
                     .cert = (const uint8_t *)"0",
                     .cert_len = 1,
                     .signature = (const uint8_t *)"0",
                     .signature_len = 1};

    make_folder(dir, "fuzz_cred");
    for (int tool = 0; tool < 2; tool++) {
        BUF_AUTO struct buf b = {0};

        k.tool = tool;
        buf_init(&b, CRED_MAX);
        cred_encode(&b, &k);
        write_entry(dir, "fuzz_cred", tool ? "tool" : "rank", &b);
    }
}

static void nidmaps(const char *dir)
{
    static const struct {
        const char *name;
        uint32_t n, step;
        bool v6;
    } shapes[] = {{"one", 1, 1, false}, {"pods", 9, 1, false}, {"holes", 20, 3, true}};

    make_folder(dir, "fuzz_nidmap");
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        struct members m;
        BUF_AUTO struct buf b = {0};

        members_init(&m, 0, 2);
        for (uint32_t v = 0; v < shapes[i].n; v += shapes[i].step) {
            FREE_AUTO char *host = xasprintf("x-%u", v);
            FREE_AUTO char *address =
                shapes[i].v6 ? xasprintf("fd00::%x", v) : xasprintf("10.0.0.%u", v);
            FREE_AUTO char *second = xasprintf("10.1.0.%u", v);
            struct msg_member x = {.vpid = v,
                                   .epoch = {5, (uint64_t)v * shapes[i].step + 1},
                                   .host = host,
                                   .address = address,
                                   .port = 7000,
                                   .slots = 2,
                                   .nmore = shapes[i].v6,
                                   .more = {second}};

            members_add(&m, &x, 1);
        }
        buf_init(&b, MSG_DATA_MAX);
        members_encode(&m, &b);
        write_entry(dir, "fuzz_nidmap", shapes[i].name, &b);
        members_free(&m);
    }
}

static void put_frame(struct buf *b, const struct scene *s, unsigned type)
{
    BUF_AUTO struct buf frame = {0};

    buf_init(&frame, MSG_DATA_MAX);
    scene_frame(s, type, &frame);
    buf_put_u16(b, (uint16_t)frame.len);
    buf_put_raw(b, frame.data, frame.len);
}

/* Every message that a neighbour may send, one after the other: to make a scene costs more than its
 * frames. */
static void everything(const char *dir, const struct scene *s)
{
    FREE_AUTO char *name = xasprintf("%u-all", (unsigned)s->kind);
    BUF_AUTO struct buf b = {0};

    buf_init(&b, MSG_DATA_MAX);
    buf_put_u8(&b, (uint8_t)s->kind);
    put_frame(&b, s, s->kind == SCENE_JOINER ? MSG_WELCOME : MSG_HELLO);
    if (s->kind == SCENE_NEW_HEAD)
        put_frame(&b, s, MSG_KEPT);
    for (unsigned type = MSG_REFUSE + 1; type < MSG_TYPES; type++)
        put_frame(&b, s, type);
    write_entry(dir, "fuzz_core", name, &b);
}

/* Every type in every scene, after a greeting where one is due. A new head takes the records of a
 * keeper only. */
static void scenes(const char *dir)
{
    make_folder(dir, "fuzz_core");
    for (unsigned kind = 0; kind < SCENES; kind++) {
        struct scene s;

        scene_open(&s, kind);
        everything(dir, &s);
        for (unsigned type = 1; type < MSG_TYPES; type++) {
            FREE_AUTO char *name = xasprintf("%u-%s", kind, msg_name(type));
            BUF_AUTO struct buf b = {0};

            buf_init(&b, MSG_DATA_MAX);
            buf_put_u8(&b, (uint8_t)kind);
            if (kind == SCENE_JOINER && type != MSG_WELCOME)
                put_frame(&b, &s, MSG_WELCOME);
            if ((kind == SCENE_HEAD_STRANGER || kind == SCENE_MEMBER_STRANGER) && type != MSG_HELLO)
                put_frame(&b, &s, MSG_HELLO);
            if (kind == SCENE_NEW_HEAD && type == MSG_RECORDS)
                put_frame(&b, &s, MSG_KEPT);
            put_frame(&b, &s, type);
            write_entry(dir, "fuzz_core", name, &b);
        }
        scene_close(&s);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: corpus <folder>\n");
        return 2;
    }
    frames(argv[1]);
    clients(argv[1]);
    journals(argv[1]);
    pieces(argv[1]);
    creds(argv[1]);
    nidmaps(argv[1]);
    scenes(argv[1]);
    return 0;
}
