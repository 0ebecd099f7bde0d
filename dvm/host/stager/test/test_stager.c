/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the processes that read and write files: paths that they refuse, their messages, and
 * that the written files equal the read ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/host/spawner/remove.h"
#include "dvm/host/stager/stager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT "what was read is what is written"

/* Each test has a directory of its own, which is also its working directory. */
static int make_place(void **state)
{
    char template[] = "/tmp/stager.XXXXXX";

    *state = xstrdup(mkdtemp(template));
    return chdir(*state) < 0 || mkdir("job", 0700) < 0;
}

static int remove_place(void **state)
{
    FREE_AUTO char *dir = *state;
    struct remove_rules rules = {0};

    return chdir("/") < 0 || !remove_path(dir, REMOVE_DIR | REMOVE_RECURSIVE | REMOVE_OURS, &rules);
}

/* --- a process under test: its input, then its output */

struct told {
    int code;
    struct buf out;
};

static void tell(struct told *t, int (*life)(int in, int out), const struct buf *input)
{
    int in[2];
    int out[2];
    int status = 0;
    uint8_t chunk[4096];
    ssize_t n;
    pid_t feeder, pid;

    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    feeder = fork();
    if (feeder == 0) {
        signal(SIGPIPE, SIG_IGN);
        (void)!stager_write_all(in[1], input->data, input->len);
        _exit(0);
    }
    close(in[1]);
    pid = fork();
    if (pid == 0) {
        close(out[0]);
        _exit(life(in[0], out[1]));
    }
    close(in[0]);
    close(out[1]);
    buf_init(&t->out, 64u << 20);
    while ((n = read(out[0], chunk, sizeof(chunk))) > 0)
        buf_put_raw(&t->out, chunk, (size_t)n);
    close(out[0]);
    waitpid(feeder, NULL, 0);
    waitpid(pid, &status, 0);
    t->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int write_job(int in, int out)
{
    return stager_write("job", in, out);
}

static int read_pieces(int in, int out)
{
    return stager_read(1000, in, out);
}

/* The last status message; earlier pieces and messages are dropped. */
static struct stager_word last_word(struct told *t)
{
    struct stager_word last = {0};
    struct stager_said said;
    struct err err = {0};
    int rc;

    while ((rc = stager_next(&t->out, &said, &err)) > 0) {
        buf_consume(&t->out, said.used);
        if (said.piece)
            continue;
        free(last.text);
        last = said.word;
    }
    assert_int_equal(rc, 0);
    assert_int_equal(t->out.len, 0);
    return last;
}

static void assert_fails(int (*life)(int in, int out), const struct buf *input, int errnum,
                         const char *why)
{
    struct told t = {0};
    struct stager_word w;

    tell(&t, life, input);
    w = last_word(&t);
    assert_int_equal(t.code, EXIT_FAILURE);
    assert_int_equal(w.kind, STAGER_FAILED);
    if (!strstr(w.text, why))
        fail_msg("'%s' does not say '%s'", w.text, why);
    assert_int_equal(w.errnum, errnum);
    free(w.text);
    buf_free(&t.out);
}

/* --- the input of a writer */

static void put_piece(struct buf *b, struct piece p)
{
    BUF_AUTO struct buf one = {0};

    buf_init(&one, PIECE_MAX);
    piece_encode(&one, &p);
    stager_piece_encode(b, one.data, one.len);
}

static const uint8_t *right_sum(void)
{
    /* sha256sum of TEXT */
    static const uint8_t sum[PIECE_SUM_BYTES] = {
        0x95, 0x14, 0x6d, 0xb3, 0x49, 0x30, 0xac, 0x77, 0x82, 0xdf, 0x6d,
        0xd6, 0xfe, 0x9f, 0x99, 0xd0, 0xc1, 0x95, 0x3e, 0xbd, 0xd9, 0x39,
        0xa7, 0xce, 0x7d, 0x7c, 0xe2, 0x80, 0x94, 0x31, 0x43, 0x49,
    };

    return sum;
}

static void put_file(struct buf *b, uint32_t file, uint32_t mode, const uint8_t *sum)
{
    put_piece(b, (struct piece){.kind = PIECE_FILE, .file = file, .mode = mode});
    put_piece(b, (struct piece){.kind = PIECE_DATA,
                                .file = file,
                                .data = (const uint8_t *)TEXT,
                                .len = strlen(TEXT)});
    put_piece(b, (struct piece){.kind = PIECE_END,
                                .file = file,
                                .size = strlen(TEXT),
                                .data = sum,
                                .len = PIECE_SUM_BYTES});
}

static struct buf one_file(const char *path, const uint8_t *sum)
{
    char *paths[] = {(char *)path};
    struct buf b;

    buf_init(&b, 1u << 20);
    stager_list_encode(&b, paths, 1);
    put_file(&b, 0, 0640, sum);
    return b;
}

static void assert_not_written(const char *path, int errnum, const char *why)
{
    BUF_AUTO struct buf b = one_file(path, right_sum());

    assert_fails(write_job, &b, errnum, why);
}

static void a_writer_follows_no_link_and_overwrites_nothing(void **state)
{
    mkdir("elsewhere", 0700);
    rmdir("job");
    assert_int_equal(symlink("elsewhere", "job"), 0);
    assert_not_written("a", ENOTDIR, "opening job");
    unlink("job");
    mkdir("job", 0700);
    assert_int_equal(symlink("../elsewhere", "job/files"), 0);
    assert_not_written("a", EEXIST, "making job/files");
    assert_int_equal(rmdir("elsewhere"), 0); /* it is empty */
}

static void a_writer_refuses_names_that_lead_elsewhere(void **state)
{
    assert_not_written("../a", EPROTO, "reading the list of files");
    assert_not_written("/a", EPROTO, "reading the list of files");
    assert_int_equal(rmdir("job"), 0); /* the writer has created no file */
}

static void a_file_in_place_of_a_directory_is_reported(void **state)
{
    char *paths[] = {"a", "a/b"};
    BUF_AUTO struct buf b = {0};

    buf_init(&b, 1u << 20);
    stager_list_encode(&b, paths, 2);
    put_file(&b, 0, 0644, right_sum());
    put_file(&b, 1, 0644, right_sum());
    assert_fails(write_job, &b, ENOTDIR, "making job/files/a/b");
}

static void a_wrong_checksum_is_reported(void **state)
{
    static const uint8_t wrong[PIECE_SUM_BYTES] = {1};
    BUF_AUTO struct buf b = one_file("a", wrong);

    assert_fails(write_job, &b, EBADMSG, "the checksum of job/files/a is not its source's");
}

static void pieces_out_of_order_are_refused(void **state)
{
    char *paths[] = {"a"};
    BUF_AUTO struct buf b = {0};

    buf_init(&b, 1u << 20);
    stager_list_encode(&b, paths, 1);
    put_piece(&b, (struct piece){.kind = PIECE_DATA, .data = (const uint8_t *)"x", .len = 1});
    assert_fails(write_job, &b, EPROTO, "while file 0 of 1 is to come");
}

static int write_little(int in, int out)
{
    struct rlimit r = {.rlim_cur = 10, .rlim_max = 10};

    setrlimit(RLIMIT_FSIZE, &r);
    return stager_write("job", in, out);
}

static void a_file_that_does_not_fit_is_reported_with_its_path(void **state)
{
    BUF_AUTO struct buf b = one_file("deep/er/a", right_sum());

    assert_fails(write_little, &b, EFBIG, "writing job/files/deep/er/a");
}

static void an_input_that_ends_too_early_is_no_success(void **state)
{
    BUF_AUTO struct buf b = one_file("a", right_sum());
    struct told t = {0};
    struct stager_word w;

    b.len -= 1;
    tell(&t, write_job, &b);
    w = last_word(&t);
    assert_int_equal(t.code, EXIT_FAILURE);
    assert_int_equal(w.kind, STAGER_TAKEN);
    free(w.text);
    buf_free(&t.out);
}

/* --- readers */

static struct buf list_of(char *path)
{
    char *paths[] = {path};
    struct buf b;

    buf_init(&b, 1u << 20);
    stager_list_encode(&b, paths, 1);
    return b;
}

static void only_regular_files_are_read(void **state)
{
    BUF_AUTO struct buf none = list_of("none");
    BUF_AUTO struct buf dir = list_of("job");
    BUF_AUTO struct buf fifo = list_of("fifo");

    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_fails(read_pieces, &none, ENOENT, "opening none");
    assert_fails(read_pieces, &dir, EINVAL, "reading job, which is no file");
    assert_fails(read_pieces, &fifo, EINVAL, "reading fifo, which is no file");
}

static void malformed_arguments_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        int rc;
    } list[] = {{"\0\0\0", 3, 0},        {"\0\0\0\0", 4, -1},
                {"\377\0\0\0", 4, -1},   {"\0\0\0\2\20", 5, 0},
                {"\0\0\0\2\20x", 6, -1}, {"\0\0\0\21\77\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 21, -1}};

    for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
        BUF_AUTO struct buf b = {0};
        struct stager_said said;
        struct err err = {0};

        buf_init(&b, 64);
        buf_put_raw(&b, list[i].bytes, list[i].len);
        assert_int_equal(stager_next(&b, &said, &err), list[i].rc);
    }
}

static void half_the_room_takes_a_piece(void **state)
{
    static const uint64_t rooms[] = {4096, 5000, 512u << 10, 1u << 30};

    for (size_t i = 0; i < sizeof(rooms) / sizeof(*rooms); i++) {
        size_t data = stager_piece_data(rooms[i]);

        assert_true(data > 0 && data <= PIECE_DATA_MAX);
        assert_true(data + PIECE_OVERHEAD <= rooms[i] / 2);
    }
}

/* --- both */

static void make_file(const char *path, size_t len, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    for (size_t i = 0; i < len; i++)
        assert_int_equal(write(fd, &(char){(char)(i * 31 + i / 1000)}, 1), 1);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static void assert_same(const char *a, const char *b, mode_t mode)
{
    int fa = open(a, O_RDONLY);
    int fb = open(b, O_RDONLY);
    uint8_t in_a[16384];
    uint8_t in_b[sizeof(in_a)];
    struct stat st;
    ssize_t n;

    assert_true(fa >= 0 && fb >= 0);
    n = read(fa, in_a, sizeof(in_a));
    assert_int_equal(read(fb, in_b, sizeof(in_b)), n);
    assert_memory_equal(in_a, in_b, (size_t)n);
    close(fa);
    close(fb);
    assert_int_equal(stat(b, &st), 0);
    assert_int_equal(st.st_mode & 07777, mode);
}

static void a_writer_writes_the_files_that_a_reader_sends(void **state)
{
    char *sources[] = {"long", "empty", "exact", "setuid"};
    char *paths[] = {"in/long", "empty", "in/er/exact", "setuid"};
    BUF_AUTO struct buf sources_list = {0};
    BUF_AUTO struct buf pieces = {0};
    struct told reader = {0};
    struct told writer = {0};
    struct stager_said said;
    struct err err = {0};
    struct stager_word w;

    make_file("long", 12345, 0644);
    make_file("empty", 0, 0400);
    make_file("exact", 2000, 0751);
    make_file("setuid", 3, 06755);
    buf_init(&sources_list, 1u << 20);
    stager_list_encode(&sources_list, sources, 4);
    tell(&reader, read_pieces, &sources_list);
    assert_int_equal(reader.code, 0);
    buf_init(&pieces, 1u << 20);
    stager_list_encode(&pieces, paths, 4);
    while (stager_next(&reader.out, &said, &err) == 1) {
        if (said.piece) {
            assert_true(said.len <= 1000 + PIECE_OVERHEAD);
            stager_piece_encode(&pieces, said.piece, said.len);
        } else {
            assert_int_equal(said.word.kind, STAGER_DONE);
            free(said.word.text);
        }
        buf_consume(&reader.out, said.used);
    }
    tell(&writer, write_job, &pieces);
    w = last_word(&writer);
    assert_int_equal(w.kind, STAGER_DONE);
    assert_int_equal(writer.code, 0);
    assert_same("long", "job/files/in/long", 0644);
    assert_same("empty", "job/files/empty", 0400);
    assert_same("exact", "job/files/in/er/exact", 0751);
    assert_same("setuid", "job/files/setuid", 0755);
    free(w.text);
    buf_free(&reader.out);
    buf_free(&writer.out);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_place, remove_place)
    const struct CMUnitTest tests[] = {
        TEST(a_writer_follows_no_link_and_overwrites_nothing),
        TEST(a_writer_refuses_names_that_lead_elsewhere),
        TEST(a_file_in_place_of_a_directory_is_reported),
        TEST(a_wrong_checksum_is_reported),
        TEST(pieces_out_of_order_are_refused),
        TEST(a_file_that_does_not_fit_is_reported_with_its_path),
        TEST(an_input_that_ends_too_early_is_no_success),
        TEST(only_regular_files_are_read),
        TEST(malformed_arguments_are_refused),
        TEST(half_the_room_takes_a_piece),
        TEST(a_writer_writes_the_files_that_a_reader_sends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
