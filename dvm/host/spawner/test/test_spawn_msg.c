/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the codec between daemon and spawner, and of its packets and memory files. */
#include "dvm/host/spawner/spawn_msg.h"
#include "dvm/host/spawner/spawn_sock.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const argv_of_two[] = {"prog", "arg", NULL};
static const char *const env_of_one[] = {"A=1", NULL};

static void a_command_survives_the_way(void **state)
{
    BUF_AUTO struct buf b;
    struct spawn_cmd in = {.kind = SPAWN_CMD_CLEAN_ADD,
                           .id = 7,
                           .job = 8,
                           .signum = 9,
                           .flags = 10,
                           .limit_ms = 11,
                           .path = "/tmp/x"};
    struct spawn_cmd out;
    struct cur c;

    buf_init(&b, SPAWN_MSG_MAX);
    spawn_msg_cmd_encode(&b, &in);
    c = cur_of(b.data, b.len);
    assert_int_equal(spawn_msg_cmd_decode(&c, &out, NULL), 0);
    assert_int_equal(out.kind, SPAWN_CMD_CLEAN_ADD);
    assert_int_equal(out.id, 7);
    assert_int_equal(out.job, 8);
    assert_int_equal(out.signum, 9);
    assert_int_equal(out.flags, 10);
    assert_int_equal(out.limit_ms, 11);
    assert_string_equal(out.path, "/tmp/x");
}

static void the_longest_path_fits_a_packet(void **state)
{
    BUF_AUTO struct buf b;
    struct spawn_cmd in = {.kind = SPAWN_CMD_CLEAN_RUN};
    struct spawn_cmd out;
    struct cur c;

    memset(in.path, 'x', sizeof(in.path) - 1);
    buf_init(&b, SPAWN_MSG_MAX);
    spawn_msg_cmd_encode(&b, &in);
    assert_false(b.failed);
    c = cur_of(b.data, b.len);
    assert_int_equal(spawn_msg_cmd_decode(&c, &out, NULL), 0);
    assert_string_equal(out.path, in.path);
}

static void a_cut_or_longer_command_is_refused(void **state)
{
    BUF_AUTO struct buf b;
    struct spawn_cmd in = {.kind = SPAWN_CMD_SIGNAL, .path = "p"};

    buf_init(&b, SPAWN_MSG_MAX);
    spawn_msg_cmd_encode(&b, &in);
    buf_put_u8(&b, 0);
    for (size_t len = 0; len <= b.len; len++) {
        struct spawn_cmd out;
        struct err err = {0};
        struct cur c = cur_of(b.data, len);

        if (len == b.len - 1)
            continue;
        assert_int_equal(spawn_msg_cmd_decode(&c, &out, &err), -1);
        assert_non_null(strstr(err.msg, "malformed"));
    }
}

static void an_unknown_command_is_refused(void **state)
{
    BUF_AUTO struct buf b;
    struct spawn_cmd c = {.kind = (enum spawn_cmd_kind)99};
    struct err err = {0};
    struct cur in;

    buf_init(&b, SPAWN_MSG_MAX);
    spawn_msg_cmd_encode(&b, &c);
    in = cur_of(b.data, b.len);
    assert_int_equal(spawn_msg_cmd_decode(&in, &c, &err), -1);
    assert_non_null(strstr(err.msg, "unknown kind 99"));
}

static void a_report_survives_the_way(void **state)
{
    BUF_AUTO struct buf b;
    struct spawn_rep in = {.kind = SPAWN_REP_FAILED, .id = 5, .value = -3, .what = "exec x"};
    struct spawn_rep out;
    struct cur c;

    buf_init(&b, SPAWN_MSG_MAX);
    spawn_msg_rep_encode(&b, &in);
    c = cur_of(b.data, b.len);
    assert_int_equal(spawn_msg_rep_decode(&c, &out, NULL), 0);
    assert_int_equal(out.kind, SPAWN_REP_FAILED);
    assert_int_equal(out.id, 5);
    assert_int_equal(out.value, -3);
    assert_string_equal(out.what, "exec x");
}

static void a_cut_or_unknown_report_is_refused(void **state)
{
    BUF_AUTO struct buf b;
    struct spawn_rep in = {.kind = SPAWN_REP_EXITED, .what = "w"};
    struct spawn_rep out;
    struct cur c;

    buf_init(&b, SPAWN_MSG_MAX);
    spawn_msg_rep_encode(&b, &in);
    for (size_t len = 0; len < b.len; len++) {
        c = cur_of(b.data, len);
        assert_int_equal(spawn_msg_rep_decode(&c, &out, NULL), -1);
    }
    b.data[0] = 0;
    c = cur_of(b.data, b.len);
    assert_int_equal(spawn_msg_rep_decode(&c, &out, NULL), -1);
}

static void put_spec(struct buf *b)
{
    static const uint8_t mask[8] = {5};
    struct spawn_spec s = {.argv = argv_of_two,
                           .env = env_of_one,
                           .cwd = "/tmp",
                           .cpuset = "0,2",
                           .mask = mask,
                           .mask_len = sizeof(mask)};

    buf_init(b, SPAWN_SPEC_MAX);
    assert_int_equal(spawn_msg_spec_encode(b, &s, NULL), 0);
}

static void a_rank_survives_the_way(void **state)
{
    BUF_AUTO struct buf b;
    struct spawn_spec out;
    struct cur c;

    put_spec(&b);
    c = cur_of(b.data, b.len);
    assert_int_equal(spawn_msg_spec_decode(&c, &out, NULL), 0);
    assert_string_equal(out.argv[1], "arg");
    assert_null(out.argv[2]);
    assert_string_equal(out.env[0], "A=1");
    assert_string_equal(out.cwd, "/tmp");
    assert_string_equal(out.cpuset, "0,2");
    assert_int_equal(out.mask_len, 8);
    assert_int_equal(out.mask[0], 5);
    spawn_msg_spec_free(&out);
}

static void a_cut_rank_is_refused(void **state)
{
    BUF_AUTO struct buf b;

    put_spec(&b);
    for (size_t len = 0; len < b.len; len++) {
        struct spawn_spec out;
        struct cur c = cur_of(b.data, len);

        assert_int_equal(spawn_msg_spec_decode(&c, &out, NULL), -1);
    }
}

static void any_changed_byte_of_a_rank_is_read_within_bounds(void **state)
{
    BUF_AUTO struct buf b;

    put_spec(&b);
    for (size_t i = 0; i < b.len; i++) {
        for (unsigned v = 0; v < 256; v += 15) {
            uint8_t was = b.data[i];
            struct spawn_spec out;
            struct cur c = cur_of(b.data, b.len);

            b.data[i] = (uint8_t)v;
            if (spawn_msg_spec_decode(&c, &out, NULL) == 0)
                spawn_msg_spec_free(&out);
            b.data[i] = was;
        }
    }
}

static void a_rank_without_a_program_is_refused(void **state)
{
    static const char *const none[] = {NULL};
    BUF_AUTO struct buf b;
    struct spawn_spec s = {.argv = none, .cwd = "/"};
    struct err err = {0};

    buf_init(&b, SPAWN_SPEC_MAX);
    assert_int_equal(spawn_msg_spec_encode(&b, &s, &err), -1);
    assert_string_equal(err.msg, "no program is named");
}

static void an_argument_longer_than_the_kernel_takes_is_refused(void **state)
{
    char *big = malloc(SPAWN_STRING_MAX + 2);
    const char *const argv[] = {"prog", big, NULL};
    BUF_AUTO struct buf b;
    struct spawn_spec s = {.argv = argv, .cwd = "/"};
    struct err err = {0};

    memset(big, 'x', SPAWN_STRING_MAX + 1);
    big[SPAWN_STRING_MAX + 1] = '\0';
    buf_init(&b, SPAWN_SPEC_MAX);
    assert_int_equal(spawn_msg_spec_encode(&b, &s, &err), -1);
    assert_non_null(strstr(err.msg, "string 1"));
    free(big);
}

static void a_memory_file_that_is_not_sealed_is_refused(void **state)
{
    int fd = memfd_create("t", MFD_ALLOW_SEALING);
    struct err err = {0};
    struct cur c;

    assert_int_equal(write(fd, "x", 1), 1);
    assert_int_equal(spawn_sock_memfd_map(fd, &c, &err), -1);
    assert_non_null(strstr(err.msg, "not sealed"));
    close(fd);
}

static void a_memory_file_cannot_be_changed_after_it_is_made(void **state)
{
    BUF_AUTO struct buf b;
    struct cur c;
    int fd;

    buf_init(&b, 16);
    buf_put_str(&b, "abc");
    fd = spawn_sock_memfd_create(&b, NULL);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "x", 1, 0), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(spawn_sock_memfd_map(fd, &c, NULL), 0);
    assert_int_equal(cur_left(&c), 7);
    munmap((void *)c.p, 7);
    close(fd);
}

static void descriptors_travel_with_a_packet(void **state)
{
    BUF_AUTO struct buf b;
    uint8_t data[SPAWN_MSG_MAX];
    int fds[SPAWN_FD_COUNT];
    size_t len;
    int sv[2];
    const int two[] = {0, 1};

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sv), 0);
    buf_init(&b, 16);
    buf_put_raw(&b, "hi", 2);
    assert_int_equal(spawn_sock_send(sv[0], &b, two, 2, NULL), SPAWN_SOCK_OK);
    assert_int_equal(spawn_sock_recv(sv[1], data, &len, fds, NULL), SPAWN_SOCK_OK);
    assert_int_equal(len, 2);
    assert_true(fds[0] > 2 && fds[1] > 2);
    assert_int_equal(fds[2], -1);
    assert_true(fcntl(fds[0], F_GETFD) & FD_CLOEXEC);
    spawn_sock_close_fds(fds);
    assert_int_equal(spawn_sock_recv(sv[1], data, &len, fds, NULL), SPAWN_SOCK_AGAIN);
    close(sv[0]);
    assert_int_equal(spawn_sock_recv(sv[1], data, &len, fds, NULL), SPAWN_SOCK_GONE);
    close(sv[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_survives_the_way),
        cmocka_unit_test(the_longest_path_fits_a_packet),
        cmocka_unit_test(a_cut_or_longer_command_is_refused),
        cmocka_unit_test(an_unknown_command_is_refused),
        cmocka_unit_test(a_report_survives_the_way),
        cmocka_unit_test(a_cut_or_unknown_report_is_refused),
        cmocka_unit_test(a_rank_survives_the_way),
        cmocka_unit_test(a_cut_rank_is_refused),
        cmocka_unit_test(any_changed_byte_of_a_rank_is_read_within_bounds),
        cmocka_unit_test(a_rank_without_a_program_is_refused),
        cmocka_unit_test(an_argument_longer_than_the_kernel_takes_is_refused),
        cmocka_unit_test(a_memory_file_that_is_not_sealed_is_refused),
        cmocka_unit_test(a_memory_file_cannot_be_changed_after_it_is_made),
        cmocka_unit_test(descriptors_travel_with_a_packet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
