/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of prun's loop against a daemon that the test plays, and of its output. The clock of the
 * loop stands until a test moves it. */
#include "dvm/tools/submit/run.h"

#include "dvm/tools/submit/now.h"
#include "dvm/tools/submit/output.h"
#include "dvm/tools/submit/test/drain.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

/* prun's loop runs in the test's thread; the daemon is a function on a thread of its own that
 * speaks over the other end. Standard output and error are pipes that the test reads at the end. */
struct world {
    int daemon, prun; /* the ends of their connection */
    int in[2], out[2], err[2];
    struct run_fds fds;
    struct submit_opts opts;
    struct cli_conn *c;
    struct submit_away away;
    void (*play)(struct world *w);
    pthread_t reader;    /* of the output; 0: none */
    size_t unread;       /* what it reads before it ends */
    char text[2][65536]; /* the output of prun */
};

#define END_WAIT_MS 60000

static _Atomic int64_t clock_ms;

/* In place of the one in now.c. */
int64_t submit_now_ms(void)
{
    return clock_ms;
}

static void *daemon_main(void *arg)
{
    struct world *w = arg;

    w->play(w);
    shutdown(w->daemon, SHUT_WR);
    return NULL;
}

/* Returns the bytes of the frame. */
static size_t tell(struct world *w, struct client_msg m)
{
    BUF_AUTO struct buf b = {0};

    buf_init(&b, 1u << 20);
    buf_put_u32(&b, 0);
    client_msg_encode(&b, &m);
    buf_patch_u32(&b, 0, (uint32_t)(b.len - 4));
    assert_int_equal(send(w->daemon, b.data, b.len, MSG_NOSIGNAL), (ssize_t)b.len);
    return b.len;
}

static void read_full(int fd, void *p, size_t len)
{
    for (size_t got = 0; got < len;) {
        ssize_t n = read(fd, (char *)p + got, len - got);

        assert_true(n > 0);
        got += (size_t)n;
    }
}

/* The next message of prun; the data it borrows is in *frame. */
static struct client_msg hear(struct world *w, uint8_t **frame)
{
    struct client_msg m;
    struct err err = {0};
    uint8_t head[4];
    uint32_t len;

    read_full(w->daemon, head, sizeof(head));
    len = (uint32_t)head[0] << 24 | (uint32_t)head[1] << 16 | (uint32_t)head[2] << 8 | head[3];
    *frame = xmalloc(len);
    read_full(w->daemon, *frame, len);
    if (client_msg_decode(*frame, len, &m, &err) < 0)
        fail_msg("%s", err.msg);
    return m;
}

/* number: of a signal; else 0. */
static void hear_type(struct world *w, enum client_type type, uint32_t number)
{
    FREE_AUTO uint8_t *frame = NULL;
    struct client_msg m = hear(w, &frame);

    assert_int_equal(m.type, type);
    if (type == CLIENT_SIGNAL)
        assert_int_equal(m.signal.signum, number);
    client_msg_free(&m);
}

/* prun has a turn, in which it looks at the clock and reads what the daemon has sent before. */
static void take_turn(struct world *w)
{
    kill(getpid(), SIGUSR1);
    hear_type(w, CLIENT_SIGNAL, SIGUSR1);
}

static void accept_job(struct world *w)
{
    hear_type(w, CLIENT_SUBMIT, 0);
    tell(w, (struct client_msg){.type = CLIENT_ACCEPTED, .accepted = {"5.1"}});
}

static void tell_running(struct world *w)
{
    tell(w, (struct client_msg){.type = CLIENT_STATE, .state = {JOB_RUNNING, ""}});
}

static size_t tell_output(struct world *w, uint32_t rank, uint8_t stream, const char *text)
{
    return tell(w, (struct client_msg){.type = CLIENT_OUTPUT,
                                       .output = {.rank = rank,
                                                  .stream = stream,
                                                  .data = (const uint8_t *)text,
                                                  .len = strlen(text)}});
}

static void tell_done(struct world *w, uint32_t code, char *text)
{
    tell(w, (struct client_msg){.type = CLIENT_DONE, .done = {code, text}});
}

static int setup(void **state)
{
    struct world *w = xcalloc(1, sizeof(*w));
    static char *argv[] = {"prun", "-n", "2", "prog", NULL};
    static char *env[] = {NULL};
    sigset_t set;
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    assert_int_equal(pipe(w->in) | pipe(w->out) | pipe(w->err), 0);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    w->daemon = fds[1];
    w->prun = fds[0];
    w->c = cli_conn_of(fds[0]);
    w->fds = (struct run_fds){w->in[0], w->out[1], w->err[1], signalfd(-1, &set, SFD_NONBLOCK)};
    assert_int_equal(submit_parse(4, argv, env, "/", &w->opts, NULL), 0);
    w->opts.end_wait_ms = END_WAIT_MS;
    *state = w;
    return 0;
}

static void close_all(const int *fds, size_t n)
{
    for (size_t i = 0; i < n; i++)
        close(fds[i]);
}

static int teardown(void **state)
{
    struct world *w = *state;

    cli_conn_free(w->c);
    close_all((int[]){w->in[0], w->out[0], w->out[1], w->err[0], w->err[1]}, 5);
    if (w->in[1] >= 0)
        close(w->in[1]);
    close_all((int[]){w->daemon, w->fds.signals}, 2);
    submit_opts_free(&w->opts);
    free(w);
    return 0;
}

static int run(struct world *w, void (*play)(struct world *w))
{
    pthread_t t;
    int code;

    w->play = play;
    assert_int_equal(pthread_create(&t, NULL, daemon_main, w), 0);
    code = submit_run(w->c, NULL, NULL, &w->opts, &w->fds, &w->away);
    w->c = NULL;
    pthread_join(t, NULL);
    if (w->reader)
        pthread_join(w->reader, NULL);
    drain(w->out[0], w->text[0], sizeof(w->text[0]));
    drain(w->err[0], w->text[1], sizeof(w->text[1]));
    return code;
}

static void play_refuse(struct world *w)
{
    hear_type(w, CLIENT_SUBMIT, 0);
    tell(w, (struct client_msg){.type = CLIENT_ERROR, .error = {125, "needs 9 slots, 4 exist"}});
}

static void a_refused_job_gives_the_code_and_the_reason(void **state)
{
    struct world *w = *state;

    assert_int_equal(run(w, play_refuse), 125);
    assert_string_equal(w->text[1], "prun: needs 9 slots, 4 exist\n");
}

static void play_away(struct world *w)
{
    hear_type(w, CLIENT_SUBMIT, 0);
    tell(w, (struct client_msg){.type = CLIENT_AWAY, .away = {125, "this daemon is leaving"}});
}

static void a_job_that_the_daemon_turns_away_is_for_another_daemon_and_prints_nothing(void **state)
{
    struct world *w = *state;

    assert_int_equal(run(w, play_away), SUBMIT_AWAY);
    assert_string_equal(w->away.why.msg, "this daemon is leaving");
    assert_int_equal(w->away.code, 125);
    assert_false(w->away.given_back);
    assert_string_equal(w->text[0], "");
    assert_string_equal(w->text[1], "");
}

static void tell_given_back(struct world *w)
{
    tell(w, (struct client_msg){.type = CLIENT_STATE,
                                .state = {JOB_NEVER_LAUNCHED, "its daemon leaves"}});
    tell(w, (struct client_msg){.type = CLIENT_AWAY, .away = {123, "its daemon leaves"}});
}

static void play_given_back(struct world *w)
{
    accept_job(w);
    tell(w, (struct client_msg){.type = CLIENT_STATE, .state = {JOB_VM_READY, "no free slots"}});
    tell_given_back(w);
}

static void a_job_that_the_dvm_gives_back_is_for_another_daemon(void **state)
{
    struct world *w = *state;

    assert_int_equal(write(w->in[1], "for the ranks", 13), 13);
    assert_int_equal(run(w, play_given_back), SUBMIT_AWAY);
    assert_string_equal(w->away.why.msg, "its daemon leaves");
    assert_int_equal(w->away.code, 123);
    assert_true(w->away.given_back);
    assert_string_equal(w->text[1], "");
    drain(w->in[0], w->text[0], sizeof(w->text[0])); /* nothing of it was read */
    assert_string_equal(w->text[0], "for the ranks");
}

static void play_given_back_at_end(struct world *w)
{
    accept_job(w);
    kill(getpid(), SIGTERM);
    hear_type(w, CLIENT_SIGNAL, SIGTERM);
    tell_given_back(w);
}

static void a_job_that_the_user_ends_is_not_submitted_again(void **state)
{
    struct world *w = *state;

    assert_int_equal(run(w, play_given_back_at_end), 128 + SIGTERM);
    assert_string_equal(w->text[1], "prun: ended by the user\n");
}

static void play_away_late(struct world *w)
{
    accept_job(w);
    tell(w, (struct client_msg){.type = CLIENT_STATE, .state = {JOB_PREPARING, ""}});
    tell(w, (struct client_msg){.type = CLIENT_AWAY, .away = {125, "this daemon is leaving"}});
}

static void a_job_that_its_daemons_have_got_is_never_submitted_again(void **state)
{
    struct world *w = *state;

    assert_int_equal(run(w, play_away_late), 125);
    assert_string_equal(w->text[1], "prun: this daemon is leaving\n");
}

static void play_close_early(struct world *w)
{
    hear_type(w, CLIENT_SUBMIT, 0);
}

static void a_daemon_that_closes_before_taking_the_job_means_not_launched(void **state)
{
    struct world *w = *state;

    assert_int_equal(run(w, play_close_early), EXIT_CODE_NOT_LAUNCHED);
    assert_non_null(strstr(w->text[1], "before it had accepted the job"));
}

static void play_close_late(struct world *w)
{
    accept_job(w);
    tell_running(w);
}

static void a_connection_lost_in_mid_job_has_its_own_code(void **state)
{
    struct world *w = *state;

    assert_int_equal(run(w, play_close_late), EXIT_CODE_LOST);
    assert_non_null(strstr(w->text[1], "is lost"));
}

static void play_nonsense(struct world *w)
{
    accept_job(w);
    tell(w, (struct client_msg){.type = CLIENT_REPLY, .reply = {200, "{}"}});
}

static void a_message_out_of_place_ends_it(void **state)
{
    struct world *w = *state;

    assert_int_equal(run(w, play_nonsense), EXIT_CODE_LOST);
}

static void play_output(struct world *w)
{
    accept_job(w);
    tell_running(w);
    tell_output(w, 0, 1, "out 0\n");
    tell_output(w, 1, 2, "err 1\n");
    tell_output(w, 1, 1, "out 1\n");
    tell_done(w, 3, "rank 1 on x-2 exited with 3");
}

static void output_goes_where_it_belongs_and_the_code_comes_through(void **state)
{
    struct world *w = *state;

    assert_int_equal(run(w, play_output), 3);
    assert_string_equal(w->text[0], "out 0\nout 1\n");
    assert_string_equal(w->text[1], "err 1\nprun: rank 1 on x-2 exited with 3\n");
}

static void play_stdin(struct world *w)
{
    char got[16] = "";
    size_t len = 0;

    accept_job(w);
    tell_running(w);
    for (;;) {
        FREE_AUTO uint8_t *frame = NULL;
        struct client_msg m = hear(w, &frame);

        assert_int_equal(m.type, CLIENT_STDIN);
        if (!m.input.len)
            break;
        memcpy(got + len, m.input.data, m.input.len);
        len += m.input.len;
    }
    tell_done(w, strcmp(got, "to the ranks") == 0 ? 0 : 1, "");
}

static void standard_input_is_sent_with_its_end(void **state)
{
    struct world *w = *state;

    assert_int_equal(write(w->in[1], "to the ranks", 12), 12);
    close(w->in[1]);
    w->in[1] = -1;
    assert_int_equal(run(w, play_stdin), 0);
}

static void play_files(struct world *w)
{
    accept_job(w);
    tell(w, (struct client_msg){.type = CLIENT_FILES_ROOM, .room = {4096}});
    hear_type(w, CLIENT_SIGNAL, SIGTERM);
    tell_done(w, 128 + SIGTERM, "ended by the user");
}

/* No program that reads files is beside this program. */
static void files_that_cannot_be_read_end_the_job_with_their_own_reason(void **state)
{
    struct world *w = *state;
    char *files[] = {"f"};
    char *sources[] = {"/here/f"};

    w->opts.spec.nfiles = 1;
    w->opts.spec.files = files;
    w->opts.sources = sources;
    assert_int_equal(run(w, play_files), EXIT_CODE_NOT_LAUNCHED);
    assert_non_null(strstr(w->text[1], "prun: not launched: starting /"));
    assert_non_null(strstr(w->text[1], "dvm-stage: No such file or directory\n"));
    assert_null(strstr(w->text[1], "ended by the user"));
    w->opts.spec.nfiles = 0;
    w->opts.spec.files = w->opts.sources = NULL;
}

static void play_paused(struct world *w)
{
    accept_job(w);
    tell(w, (struct client_msg){.type = CLIENT_STDIN_PAUSE, .pause = {true}});
    tell_running(w);
    assert_int_equal(write(w->in[1], "x", 1), 1);
    /* It is answered although input waits: so prun has not read that input. */
    kill(getpid(), SIGUSR1);
    hear_type(w, CLIENT_SIGNAL, SIGUSR1);
    tell(w, (struct client_msg){.type = CLIENT_STDIN_PAUSE, .pause = {false}});
    hear_type(w, CLIENT_STDIN, 0);
    tell_done(w, 0, "");
}

static void paused_input_is_not_read_until_it_is_resumed(void **state)
{
    assert_int_equal(run(*state, play_paused), 0);
}

static void play_ctrl_c(struct world *w)
{
    accept_job(w);
    tell_running(w);
    kill(getpid(), SIGTERM);
    hear_type(w, CLIENT_SIGNAL, SIGTERM);
    kill(getpid(), SIGTERM);
    hear_type(w, CLIENT_SIGNAL, SIGKILL);
    tell_done(w, 137, "killed");
}

static void the_first_signal_ends_the_job_and_the_second_kills_it(void **state)
{
    assert_int_equal(run(*state, play_ctrl_c), 137);
}

/* SIGUSR1, of the lower number, is read first. */
static void play_early_signals(struct world *w)
{
    hear_type(w, CLIENT_SUBMIT, 0);
    hear_type(w, CLIENT_SIGNAL, SIGTERM);
    tell(w, (struct client_msg){.type = CLIENT_ACCEPTED, .accepted = {"5.1"}});
    tell_running(w);
    hear_type(w, CLIENT_SIGNAL, SIGUSR1);
    tell_done(w, 138, "rank 0 was ended by signal 10");
}

static void a_signal_for_the_ranks_waits_until_they_run(void **state)
{
    struct world *w = *state;

    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGTERM);
    alarm(30);
    assert_int_equal(run(w, play_early_signals), 138);
    alarm(0);
}

static void play_given_back_with_signal(struct world *w)
{
    accept_job(w);
    tell_given_back(w);
}

static void a_signal_for_the_ranks_of_a_job_that_is_given_back_is_kept(void **state)
{
    struct world *w = *state;
    struct signalfd_siginfo info;

    kill(getpid(), SIGUSR1);
    assert_int_equal(run(w, play_given_back_with_signal), SUBMIT_AWAY);
    assert_int_equal(read(w->fds.signals, &info, sizeof(info)), sizeof(info));
    assert_int_equal(info.ssi_signo, SIGUSR1);
}

static void play_stuck(struct world *w)
{
    accept_job(w);
    kill(getpid(), SIGTERM);
    hear_type(w, CLIENT_SIGNAL, SIGTERM);
    kill(getpid(), SIGTERM);
    hear_type(w, CLIENT_SIGNAL, SIGKILL);
    kill(getpid(), SIGTERM);
    while (recv(w->daemon, (char[16]){0}, 16, MSG_DONTWAIT) > 0)
        ;
    pthread_exit(NULL); /* sends nothing, closes nothing */
}

static void the_third_signal_leaves_at_once(void **state)
{
    assert_int_equal(run(*state, play_stuck), 128 + SIGTERM);
}

/* The end comes in time. */
static void play_slow_end(struct world *w)
{
    accept_job(w);
    tell_running(w);
    kill(getpid(), SIGTERM);
    hear_type(w, CLIENT_SIGNAL, SIGTERM);
    clock_ms += END_WAIT_MS - 1;
    take_turn(w); /* prun goes on */
    tell_done(w, 143, "ended by the user");
}

static void an_end_that_takes_its_time_is_waited_for(void **state)
{
    struct world *w = *state;

    assert_int_equal(run(w, play_slow_end), 143);
    assert_string_equal(w->text[1], "prun: ended by the user\n");
}

/* prun has its last turn when so much time has passed. */
static void leave_after(struct world *w, int64_t ms)
{
    clock_ms += ms;
    kill(getpid(), SIGUSR1); /* wakes it */
    while (recv(w->daemon, (char[64]){0}, 64, 0) > 0)
        ;
}

static void play_no_end(struct world *w)
{
    accept_job(w);
    tell_running(w);
    kill(getpid(), SIGTERM);
    hear_type(w, CLIENT_SIGNAL, SIGTERM);
    tell_output(w, 0, 1, "on and on\n"); /* output is no end */
    take_turn(w);
    clock_ms += END_WAIT_MS - 1;
    take_turn(w);
    leave_after(w, 1);
}

static void an_end_that_does_not_come_is_not_waited_for_for_ever(void **state)
{
    struct world *w = *state;

    alarm(30);
    assert_int_equal(run(w, play_no_end), 128 + SIGTERM);
    alarm(0);
    assert_string_equal(w->text[0], "on and on\n");
    assert_string_equal(w->text[1], "prun: the job 5.1 has not ended 60 s after the DVM was told "
                                    "to end it; prun does not wait any longer\n");
}

static void play_never_taken(struct world *w)
{
    hear_type(w, CLIENT_SUBMIT, 0);
    kill(getpid(), SIGTERM);
    hear_type(w, CLIENT_SIGNAL, SIGTERM);
    leave_after(w, END_WAIT_MS);
}

static void a_daemon_that_never_answers_is_not_waited_for(void **state)
{
    struct world *w = *state;

    alarm(30);
    assert_int_equal(run(w, play_never_taken), 128 + SIGTERM);
    alarm(0);
    assert_string_equal(w->text[1], "prun: the job has not ended 60 s after the DVM was told to "
                                    "end it; prun does not wait any longer\n");
}

static void *read_output(void *arg)
{
    struct world *w = arg;
    char part[65536];

    while (w->unread) {
        ssize_t n = read(w->out[0], part, w->unread < sizeof(part) ? w->unread : sizeof(part));

        if (n <= 0)
            abort();
        w->unread -= (size_t)n;
    }
    return NULL;
}

/* The ranks' output in prun's memory, from `sent` bytes in messages of `frame` bytes, each of which
 * has `data` bytes of it. It only grows once the pipe is full, since nobody reads that. */
static long held_by_prun(const struct world *w, long sent, long frame, long data)
{
    int in_socket = 0, in_pipe = 0;

    assert_int_equal(ioctl(w->prun, FIONREAD, &in_socket), 0);
    assert_int_equal(ioctl(w->out[0], FIONREAD, &in_pipe), 0);
    return (sent - in_socket) / frame * data - in_pipe;
}

static bool is_ready(int fd, int timeout_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};

    return poll(&p, 1, timeout_ms) == 1;
}

/* Sends output, which no process reads, until prun has so much of it that it stops reading. */
static void fill_prun(struct world *w)
{
    enum { LENGTH = 4000 };
    char line[LENGTH + 1];
    long sent = 0, frame = LENGTH;

    memset(line, 'x', LENGTH);
    line[LENGTH] = '\0';
    while (is_ready(w->out[1], 0) || held_by_prun(w, sent, frame, LENGTH) < (long)OUTPUT_FULL) {
        if (!is_ready(w->daemon, 1))
            continue;
        frame = (long)tell_output(w, 0, 1, line);
        sent += frame;
        w->unread += LENGTH;
    }
}

static void play_unread_end(struct world *w)
{
    accept_job(w);
    tell_running(w);
    fill_prun(w);
    kill(getpid(), SIGTERM);
    hear_type(w, CLIENT_SIGNAL, SIGTERM);
    clock_ms += 2 * END_WAIT_MS;
    take_turn(w); /* it has not left */
    assert_int_equal(pthread_create(&w->reader, NULL, read_output, w), 0);
    tell_done(w, 143, "ended by the user");
}

static void the_end_of_a_connection_with_unread_output_is_noticed(void **state)
{
    struct world *w = *state;

    alarm(30);
    assert_int_equal(run(w, play_unread_end), 143);
    alarm(0);
    assert_string_equal(w->text[1], "prun: ended by the user\n");
}

static void play_verbose(struct world *w)
{
    accept_job(w);
    tell(w,
         (struct client_msg){.type = CLIENT_STATE, .state = {JOB_WAITING_FOR_DAEMONS, "resize"}});
    tell_running(w);
    tell_done(w, 0, "");
}

static void verbose_prints_the_states(void **state)
{
    struct world *w = *state;

    w->opts.verbose = true;
    assert_int_equal(run(w, play_verbose), 0);
    assert_string_equal(w->text[1], "prun: job 5.1: accepted\n"
                                    "prun: job 5.1: WAITING_FOR_DAEMONS: resize\n"
                                    "prun: job 5.1: RUNNING\n");
}

static void play_quick_output(struct world *w)
{
    accept_job(w);
    tell(w, (struct client_msg){
                .type = CLIENT_OUTPUT,
                .output = {.stream = 1, .data = (const uint8_t *)"quick\n", .len = 6}});
    tell_running(w);
}

static void a_detached_job_prints_its_name_and_none_of_its_output(void **state)
{
    struct world *w = *state;

    w->opts.spec.flags = JOB_DETACH;
    w->opts.spec.stdin_rank = JOB_RANK_NONE;
    assert_int_equal(run(w, play_quick_output), 0);
    assert_string_equal(w->text[0], "5.1\n");
    assert_string_equal(w->text[1], "");
}

static void each_line_of_its_own_is_one_write(void **state)
{
    struct world *w = *state;
    int packets[2];
    char line[256];

    assert_int_equal(pipe2(packets, O_DIRECT), 0); /* a read returns the bytes of one write */
    w->fds.err = packets[1];
    w->opts.verbose = true;
    assert_int_equal(run(w, play_verbose), 0);
    memset(line, 0, sizeof(line));
    assert_true(read(packets[0], line, sizeof(line) - 1) > 0);
    assert_string_equal(line, "prun: job 5.1: accepted\n");
    close(packets[0]);
    close(packets[1]);
}

static void without_verbose_prun_prints_nothing_of_its_own_for_a_good_job(void **state)
{
    struct world *w = *state;

    assert_int_equal(run(w, play_verbose), 0);
    assert_string_equal(w->text[1], "");
}

static void play_tagged(struct world *w)
{
    accept_job(w);
    tell_running(w);
    tell_output(w, 0, 1, "one\ntw");
    tell_output(w, 1, 1, "other\n");
    tell_output(w, 0, 1, "o\nend");
    tell_done(w, 0, "");
}

static void tagged_lines_are_whole_and_carry_their_rank(void **state)
{
    struct world *w = *state;

    w->opts.output.tag = true;
    assert_int_equal(run(w, play_tagged), 0);
    assert_string_equal(w->text[0], "[0]<stdout>: one\n[1]<stdout>: other\n"
                                    "[0]<stdout>: two\n[0]<stdout>: end\n");
}

static void a_full_disk_is_reported_once_and_changes_the_exit_code(void **state)
{
    struct world *w = *state;
    int full = open("/dev/full", O_WRONLY);

    w->fds.out = full;
    assert_int_equal(run(w, play_tagged), EXIT_FAILURE);
    assert_string_equal(w->text[1], "prun: writing the ranks' stdout: No space left on device\n");
    close(full);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_job_that_the_daemon_turns_away_is_for_another_daemon_and_prints_nothing),
        T(a_job_that_the_dvm_gives_back_is_for_another_daemon),
        T(a_job_that_the_user_ends_is_not_submitted_again),
        T(a_job_that_its_daemons_have_got_is_never_submitted_again),
        T(a_refused_job_gives_the_code_and_the_reason),
        T(a_daemon_that_closes_before_taking_the_job_means_not_launched),
        T(a_connection_lost_in_mid_job_has_its_own_code),
        T(a_message_out_of_place_ends_it),
        T(output_goes_where_it_belongs_and_the_code_comes_through),
        T(standard_input_is_sent_with_its_end),
        T(paused_input_is_not_read_until_it_is_resumed),
        T(files_that_cannot_be_read_end_the_job_with_their_own_reason),
        T(the_first_signal_ends_the_job_and_the_second_kills_it),
        T(a_signal_for_the_ranks_waits_until_they_run),
        T(a_signal_for_the_ranks_of_a_job_that_is_given_back_is_kept),
        T(the_third_signal_leaves_at_once),
        T(an_end_that_takes_its_time_is_waited_for),
        T(an_end_that_does_not_come_is_not_waited_for_for_ever),
        T(a_daemon_that_never_answers_is_not_waited_for),
        T(the_end_of_a_connection_with_unread_output_is_noticed),
        T(verbose_prints_the_states),
        T(a_detached_job_prints_its_name_and_none_of_its_output),
        T(each_line_of_its_own_is_one_write),
        T(without_verbose_prun_prints_nothing_of_its_own_for_a_good_job),
        T(tagged_lines_are_whole_and_carry_their_rank),
        T(a_full_disk_is_reported_once_and_changes_the_exit_code),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
