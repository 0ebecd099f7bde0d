/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of job files at one daemon that is source and target of all files: refused pieces, and the
 * number of bytes in flight. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/files/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLIENTS 8

/* A head with slots; its clients' jobs, and the calls that the test received. */
struct place {
    struct core *core;
    struct files *files;
    uint64_t room[CLIENTS];
    char nspace[CLIENTS][64];
    uint64_t written[CLIENTS]; /* bytes of pieces, by client */
    bool started[CLIENTS];
};

static int client_of(const struct place *p, const char *nspace)
{
    for (int i = 0; i < CLIENTS; i++) {
        if (strcmp(p->nspace[i], nspace) == 0)
            return i;
    }
    fail_msg("nobody has a job %s", nspace);
    return -1;
}

static void on_room(uint32_t client, uint64_t total, void *arg)
{
    struct place *p = arg;

    assert_true(total > p->room[client]);
    p->room[client] = total;
}

static void on_write(const char *nspace, const void *piece, size_t len, void *arg)
{
    struct place *p = arg;

    p->written[client_of(p, nspace)] += len;
}

static void carry_out(struct place *p, const struct out_act *a)
{
    switch (a->kind) {
    case OUT_LAUNCH:
        snprintf(p->nspace[a->launch.launch->files_client], sizeof(p->nspace[0]), "%s",
                 a->launch.launch->nspace);
        core_ranks(p->core, a->launch.launch->nspace, CORE_RANKS_REGISTERED, 0, NULL);
        break;
    case OUT_TAKE_FILES:
        files_expect(p->files, core_job(p->core, a->take_files.nspace));
        break;
    case OUT_CREATE:
        core_proc(p->core, a->create.nspace, 0, CORE_PROC_READY, 0, NULL);
        break;
    case OUT_FILES:
        files_begin(p->files, a->files.client);
        break;
    case OUT_APP:
        files_msg(p->files, a->app.from, a->app.kind, a->app.data.data, a->app.data.len);
        break;
    case OUT_START:
        p->started[client_of(p, a->start.nspace)] = true;
        break;
    default:
        break;
    }
}

static void drain(struct place *p)
{
    struct out_act a;

    while (core_next(p->core, &a)) {
        carry_out(p, &a);
        out_act_free(&a);
    }
    core_time(p->core, 1000, 1000);
    core_tick(p->core);
    while (core_next(p->core, &a)) {
        carry_out(p, &a);
        out_act_free(&a);
    }
}

static int open_place(void **state)
{
    struct place *p = xcalloc(1, sizeof(*p));
    struct core_opts o = {.cluster = "c", .incarnation = 5, .slots = CLIENTS, .radix = 2};
    struct files_io io = {.room = on_room, .write = on_write, .arg = p};

    p->core = core_create(&o, 1000, 1000);
    p->files = files_create(p->core, &io);
    drain(p);
    *state = p;
    return 0;
}

static int close_place(void **state)
{
    struct place *p = *state;

    files_destroy(p->files);
    core_destroy(p->core);
    free(p);
    return 0;
}

static void submit(struct place *p, uint32_t client)
{
    char *argv[] = {"prog", NULL};
    char *env[] = {NULL};
    char *files[] = {"in", "more"};
    struct job_app app = {.argv = argv, .env = env, .cwd = "", .nprocs = 1};
    struct job_spec spec = {.nfiles = 2,
                            .files = files,
                            .napps = 1,
                            .apps = &app,
                            .parent_nspace = "",
                            .stdin_rank = JOB_RANK_NONE};

    files_source(p->files, client, 2);
    core_submit(p->core, client, &spec);
    drain(p);
}

static int send_piece(struct place *p, uint32_t client, struct piece piece, size_t *len)
{
    BUF_AUTO struct buf b = {0};
    struct err err = {0};
    int rc;

    buf_init(&b, 2 * PIECE_MAX);
    piece_encode(&b, &piece);
    rc = files_piece(p->files, client, b.data, b.len, &err);
    assert_true(rc == 0 || err.msg[0]);
    if (len)
        *len = b.len;
    drain(p);
    return rc;
}

static const uint8_t bytes[PIECE_DATA_MAX];

static struct piece begins(uint32_t file)
{
    return (struct piece){.kind = PIECE_FILE, .file = file, .mode = 0600};
}

static struct piece data(uint32_t file, size_t len)
{
    return (struct piece){.kind = PIECE_DATA, .file = file, .data = bytes, .len = len};
}

static struct piece ends(uint32_t file, uint64_t size)
{
    return (struct piece){
        .kind = PIECE_END, .file = file, .size = size, .data = bytes, .len = PIECE_SUM_BYTES};
}

/* The disk has written all bytes that have arrived. */
static void write_all(struct place *p, uint32_t client)
{
    files_written(p->files, p->nspace[client], p->written[client]);
    drain(p);
}

static void send_both_files(struct place *p, uint32_t client)
{
    for (uint32_t f = 0; f < 2; f++) {
        assert_int_equal(send_piece(p, client, begins(f), NULL), 0);
        assert_int_equal(send_piece(p, client, data(f, 10), NULL), 0);
        assert_int_equal(send_piece(p, client, ends(f, 10), NULL), 0);
    }
}

static void pieces_without_a_request_are_refused(void **state)
{
    struct place *p = *state;

    assert_int_equal(send_piece(p, 1, begins(0), NULL), -1);
    submit(p, 1);
    assert_true(files_owes(p->files, 1));
    assert_false(files_owes(p->files, 2));
    assert_int_equal(send_piece(p, 2, begins(0), NULL), -1);
    assert_int_equal(send_piece(p, 1, begins(1), NULL), -1);
    assert_int_equal(send_piece(p, 1, data(0, 5), NULL), -1);
    assert_int_equal(files_piece(p->files, 1, "junk", 4, &(struct err){0}), -1);
    assert_int_equal(p->written[1], 0);
}

static void messages_that_are_malformed_or_of_strangers_change_nothing(void **state)
{
    struct place *p = *state;
    BUF_AUTO struct buf b = {0};

    submit(p, 1);
    assert_int_equal(send_piece(p, 1, begins(0), NULL), 0);
    buf_init(&b, 1024);
    buf_put_u32(&b, 1);
    buf_put_str(&b, p->nspace[1]);
    buf_put_u64(&b, 1u << 20); /* more than there was */
    files_msg(p->files, 0, FILES_TAKEN, b.data, b.len);
    files_msg(p->files, 0, FILES_TAKEN, b.data, b.len - 1);
    files_msg(p->files, 0, FILES_OPEN, b.data, b.len);
    files_msg(p->files, 9, FILES_PIECE, b.data, b.len);
    files_msg(p->files, 0, FILES_PIECE, "", 0);
    assert_int_equal(p->room[1], FILES_ROOM_MAX);
    assert_true(files_stats(p->files).on_way > 0);
}

static void no_more_bytes_than_the_room_are_in_flight(void **state)
{
    struct place *p = *state;
    uint64_t sent = 0;
    size_t len;

    submit(p, 1);
    assert_int_equal(p->room[1], FILES_ROOM_MAX);
    assert_int_equal(send_piece(p, 1, begins(0), &len), 0);
    for (sent = len; sent + PIECE_MAX <= p->room[1]; sent += len)
        assert_int_equal(send_piece(p, 1, data(0, PIECE_DATA_MAX), &len), 0);
    assert_int_equal(files_stats(p->files).on_way, sent);
    assert_int_equal(send_piece(p, 1, data(0, PIECE_DATA_MAX), NULL), -1);
    assert_int_equal(p->room[1], FILES_ROOM_MAX);
    write_all(p, 1);
    assert_int_equal(p->room[1], sent + FILES_ROOM_MAX);
    assert_int_equal(files_stats(p->files).on_way, 0);
    assert_int_equal(send_piece(p, 1, data(0, PIECE_DATA_MAX), NULL), 0);
    assert_true(files_stats(p->files).on_way_most <= FILES_ROOM_MAX);
}

static void a_peer_that_reconnects_gets_its_room_again(void **state)
{
    struct place *p = *state;

    submit(p, 1);
    p->room[1] = 0;
    files_tell_room(p->files, 1);
    assert_int_equal(p->room[1], FILES_ROOM_MAX);
    files_tell_room(p->files, 2); /* nobody */
}

static void ranks_start_when_the_core_has_all_reports(void **state)
{
    struct place *p = *state;

    submit(p, 1);
    send_both_files(p, 1);
    assert_false(files_owes(p->files, 1));
    write_all(p, 1);
    assert_false(p->started[1]);
    core_ranks(p->core, p->nspace[1], CORE_RANKS_FILES, 0, NULL);
    drain(p);
    assert_true(p->started[1]);
}

static void only_a_limited_number_of_jobs_have_room_for_files_at_a_time(void **state)
{
    struct place *p = *state;

    for (uint32_t c = 0; c < FILES_TURNS + 3; c++)
        submit(p, c);
    for (uint32_t c = 0; c < FILES_TURNS + 3; c++)
        assert_int_equal(p->room[c] != 0, c < FILES_TURNS);
    send_both_files(p, 2);
    assert_int_equal(p->room[FILES_TURNS], 0); /* not before all is written */
    write_all(p, 2);
    assert_int_equal(p->room[FILES_TURNS], FILES_ROOM_MAX);
    assert_int_equal(p->room[FILES_TURNS + 1], 0);
    files_client_gone(p->files, 0); /* in the middle */
    assert_int_equal(p->room[FILES_TURNS + 1], FILES_ROOM_MAX);
    files_member_gone(p->files, 0); /* the only daemon that took something */
    assert_int_equal(files_stats(p->files).on_way, 0);
}

static void late_pieces_of_an_ended_job_are_dropped(void **state)
{
    struct place *p = *state;

    submit(p, 1);
    files_forget(p->files, p->nspace[1]);
    assert_int_equal(files_stats(p->files).sinks, 0);
    assert_int_equal(send_piece(p, 1, begins(0), NULL), 0);
    assert_int_equal(p->written[1], 0);
    files_client_gone(p->files, 1);
    files_client_gone(p->files, 1);
    assert_int_equal(files_stats(p->files).sources, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, open_place, close_place)
    const struct CMUnitTest tests[] = {
        TEST(pieces_without_a_request_are_refused),
        TEST(messages_that_are_malformed_or_of_strangers_change_nothing),
        TEST(no_more_bytes_than_the_room_are_in_flight),
        TEST(a_peer_that_reconnects_gets_its_room_again),
        TEST(ranks_start_when_the_core_has_all_reports),
        TEST(only_a_limited_number_of_jobs_have_room_for_files_at_a_time),
        TEST(late_pieces_of_an_ended_job_are_dropped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
