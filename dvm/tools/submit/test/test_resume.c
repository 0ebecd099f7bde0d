/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of lost connections: prun's loop against a daemon that the test plays, cut after every
 * byte. */
#include "dvm/tools/submit/run.h"

#include "dvm/host/replay/replay.h"
#include "dvm/tools/submit/test/drain.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define INPUT "some words for the ranks"

/* The daemon runs on a thread of its own; connections reach it through a pipe of descriptors. */
struct world {
    int conns[2];
    int in[2], out[2], err[2], signals;
    struct submit_opts opts;
    unsigned dials;
    /* the daemon's: */
    struct replay *said;
    uint64_t heard;
    char input[64];
    int fd;         /* the connection that is served */
    long down_left; /* bytes until the cut of the first one; -1: none */
    long up_left;
    bool over;          /* BYE has come */
    bool forgets;       /* it does not know the session of a further connection */
    bool claims;        /* it claims to have received more than was sent */
    char text[2][4096]; /* the output of prun */
};

static void world_open(struct world *w, int64_t window_ms)
{
    static char *argv[] = {"prun", "-n", "2", "prog", NULL};
    static char *env[] = {NULL};
    sigset_t set;

    *w = (struct world){.down_left = -1, .up_left = -1};
    assert_int_equal(pipe(w->conns) | pipe(w->in) | pipe(w->out) | pipe(w->err), 0);
    assert_int_equal(write(w->in[1], INPUT, strlen(INPUT)), strlen(INPUT));
    close(w->in[1]);
    sigemptyset(&set);
    w->signals = signalfd(-1, &set, SFD_NONBLOCK);
    assert_int_equal(submit_parse(4, argv, env, "/", &w->opts, NULL), 0);
    w->opts.reconnect_ms = window_ms;
    w->opts.retry_ms = 1;
    w->said = replay_create(0);
}

static void world_close(struct world *w)
{
    int fds[] = {w->conns[0], w->in[0], w->out[0], w->out[1], w->err[0], w->err[1], w->signals};

    for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
        close(fds[i]);
    submit_opts_free(&w->opts);
    replay_destroy(w->said);
}

/* Begins a connection: the descriptor goes to the daemon's thread. */
static struct cli_conn *dial(void *arg, struct err *err)
{
    struct world *w = arg;
    int fds[2];

    w->dials++;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    assert_int_equal(write(w->conns[1], &fds[1], sizeof(fds[1])), sizeof(fds[1]));
    return cli_conn_of(fds[0]);
}

/* --- the daemon */

/* False: the connection is cut. */
static bool put(struct world *w, const void *data, size_t len)
{
    size_t n = w->down_left >= 0 && (long)len > w->down_left ? (size_t)w->down_left : len;

    if (w->down_left >= 0)
        w->down_left -= (long)n;
    return send(w->fd, data, n, MSG_NOSIGNAL) == (ssize_t)n && n == len;
}

static bool get(struct world *w, void *data, size_t len)
{
    for (size_t got = 0; got < len;) {
        size_t want = len - got;
        ssize_t n;

        if (w->up_left >= 0 && (long)want > w->up_left)
            want = (size_t)w->up_left;
        n = want ? recv(w->fd, (char *)data + got, want, 0) : 0;
        if (n <= 0)
            return false;
        got += (size_t)n;
        if (w->up_left >= 0)
            w->up_left -= n;
    }
    return true;
}

static bool put_frame(struct world *w, const void *data, size_t len)
{
    BUF_AUTO struct buf b = {0};

    buf_init(&b, len + 4);
    buf_put_bytes(&b, data, len);
    return w->fd >= 0 && put(w, b.data, b.len);
}

static void tell(struct world *w, struct client_msg m)
{
    BUF_AUTO struct buf b = {0};

    buf_init(&b, 1u << 20);
    client_msg_encode(&b, &m);
    if (client_msg_numbered(m.type))
        replay_add(w->said, REPLAY_ALWAYS, b.data, b.len);
    (void)put_frame(w, b.data, b.len);
}

static void tell_output(struct world *w, uint32_t rank, uint8_t stream, const char *text)
{
    tell(w, (struct client_msg){.type = CLIENT_OUTPUT,
                                .output = {.rank = rank,
                                           .stream = stream,
                                           .data = (const uint8_t *)text,
                                           .len = strlen(text)}});
}

static void again(uint64_t number, const void *data, size_t len, void *arg)
{
    (void)put_frame(arg, data, len);
}

static void on_open(struct world *w, const struct client_msg *m)
{
    if (w->forgets && m->open.attempt > 1) {
        tell(w, (struct client_msg){.type = CLIENT_ERROR, .error = {123, "who are you?"}});
        return;
    }
    assert_int_equal(replay_ack(w->said, m->open.have), 0);
    tell(w, (struct client_msg){
                .type = CLIENT_OPENED,
                .opened = {.have = w->heard + (w->claims && m->open.attempt > 1 ? 100 : 0),
                           .next = m->open.have + 1}});
    replay_each(w->said, again, w);
}

static void on_input(struct world *w, const struct client_msg *m)
{
    if (m->input.len) {
        strncat(w->input, (const char *)m->input.data, m->input.len);
        return;
    }
    tell_output(w, 1, 1, w->input);
    tell(w, (struct client_msg){.type = CLIENT_DONE, .done = {3, "over"}});
}

static void on_message(struct world *w, const struct client_msg *m)
{
    w->heard += client_msg_numbered(m->type);
    if (m->type == CLIENT_OPEN) {
        on_open(w, m);
    } else if (m->type == CLIENT_SUBMIT) {
        tell(w, (struct client_msg){.type = CLIENT_ACCEPTED, .accepted = {"5.1"}});
        tell_output(w, 0, 1, "a\n");
        tell(w, (struct client_msg){.type = CLIENT_STATE, .state = {JOB_RUNNING, ""}});
        tell_output(w, 1, 2, "b\n");
    } else if (m->type == CLIENT_STDIN) {
        on_input(w, m);
    } else if (m->type == CLIENT_ACK) {
        assert_int_equal(replay_ack(w->said, m->ack.have), 0);
    } else {
        w->over = m->type == CLIENT_BYE;
    }
}

static void serve(struct world *w)
{
    uint8_t head[4];

    while (w->down_left && get(w, head, sizeof(head))) {
        uint32_t len =
            (uint32_t)head[0] << 24 | (uint32_t)head[1] << 16 | (uint32_t)head[2] << 8 | head[3];
        FREE_AUTO uint8_t *frame = xmalloc(len + 1);
        struct client_msg m;

        if (!get(w, frame, len))
            break;
        assert_int_equal(client_msg_decode(frame, len, &m, NULL), 0);
        on_message(w, &m);
        client_msg_free(&m);
    }
    close(w->fd);
    w->fd = -1;
    w->down_left = w->up_left = -1; /* later connections are not cut */
}

static void *daemon_main(void *arg)
{
    struct world *w = arg;

    while (read(w->conns[0], &w->fd, sizeof(w->fd)) == sizeof(w->fd))
        serve(w);
    return NULL;
}

static int run(struct world *w, run_dial_fn *again_fn)
{
    struct run_fds fds = {w->in[0], w->out[1], w->err[1], w->signals};
    struct submit_away away = {0};
    pthread_t t;
    int code;

    assert_int_equal(pthread_create(&t, NULL, daemon_main, w), 0);
    code = submit_run(dial(w, NULL), again_fn, w, &w->opts, &fds, &away);
    close(w->conns[1]);
    pthread_join(t, NULL);
    drain(w->out[0], w->text[0], sizeof(w->text[0]));
    drain(w->err[0], w->text[1], sizeof(w->text[1]));
    return code;
}

/* --- connections that cannot be resumed */

static struct cli_conn *dial_nobody(void *arg, struct err *err)
{
    struct world *w = arg;

    w->dials++;
    err_code(err, ECONNREFUSED, "nobody listens");
    return NULL;
}

static struct cli_conn *dial_refused(void *arg, struct err *err)
{
    struct world *w = arg;

    w->dials++;
    err_code(err, EACCES, "the certificate has expired");
    return NULL;
}

static void without_a_window_a_lost_connection_is_the_end(void **state)
{
    struct world w;

    world_open(&w, 0);
    w.down_left = 40;
    assert_int_equal(run(&w, dial), EXIT_CODE_LOST);
    assert_int_equal(w.dials, 1);
    assert_string_equal(w.text[1],
                        "prun: the connection to the DVM is lost, and with it the job\n");
    world_close(&w);
}

static void after_the_time_limit_the_connection_is_given_up_with_the_last_reason(void **state)
{
    struct world w;

    world_open(&w, 200);
    w.down_left = 60;
    assert_int_equal(run(&w, dial_nobody), EXIT_CODE_LOST);
    assert_true(w.dials > 2 && w.dials < 10); /* at growing intervals */
    assert_non_null(strstr(w.text[1], "is lost (it was closed), trying again for 1 s\n"));
    assert_non_null(strstr(w.text[1], "was not restored within 1 s: nobody listens\n"));
    world_close(&w);
}

static void a_refusal_that_is_final_is_not_tried_again(void **state)
{
    struct world w;

    world_open(&w, 5000);
    w.down_left = 60;
    assert_int_equal(run(&w, dial_refused), EXIT_CODE_LOST);
    assert_int_equal(w.dials, 2);
    assert_non_null(strstr(w.text[1], "cannot be restored: the certificate has expired\n"));
    world_close(&w);
}

static void a_daemon_that_does_not_know_the_session_is_reported_with_its_reason(void **state)
{
    struct world w;

    world_open(&w, 5000);
    w.down_left = 60;
    w.forgets = true;
    assert_int_equal(run(&w, dial), EXIT_CODE_LOST);
    assert_non_null(strstr(w.text[1], "prun: who are you?\n"));
    world_close(&w);
}

static void a_daemon_that_acknowledges_more_than_was_sent_is_refused(void **state)
{
    struct world w;

    world_open(&w, 5000);
    w.down_left = 60;
    w.claims = true;
    assert_int_equal(run(&w, dial), EXIT_CODE_LOST);
    assert_non_null(strstr(w.text[1], "has received more of this session than was sent"));
    world_close(&w);
}

/* --- connections that are resumed */

/* True if the connection was cut. In either case prun's output has to be the same. */
static bool cut_at(long down, long up)
{
    struct world w;
    bool cut;
    int code;

    world_open(&w, 5000);
    w.down_left = down;
    w.up_left = up;
    code = run(&w, dial);
    if (code != 3 || strcmp(w.text[0], "a\n" INPUT) != 0 || strcmp(w.input, INPUT) != 0 ||
        (w.dials > 1 && !w.over)) /* a BYE that is cut is not sent again */
        fail_msg("cut at %ld, %ld: code %d, output '%s', input '%s', err '%s'", down, up, code,
                 w.text[0], w.input, w.text[1]);
    cut = w.dials > 1;
    assert_true(!cut || strstr(w.text[1], "is there again\n"));
    assert_non_null(strstr(w.text[1], "b\n"));
    assert_null(strstr(strstr(w.text[1], "b\n") + 1, "\nb\n"));
    world_close(&w);
    return cut;
}

static void a_cut_after_any_byte_from_the_daemon_loses_and_repeats_nothing(void **state)
{
    long at = 0;

    while (cut_at(at, -1))
        at++;
    assert_true(at > 130); /* all messages, DONE included */
}

static void a_cut_after_any_byte_from_prun_loses_and_repeats_nothing(void **state)
{
    long at = 0;

    while (cut_at(-1, at))
        at++;
    assert_true(at > 150);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_window_a_lost_connection_is_the_end),
        cmocka_unit_test(after_the_time_limit_the_connection_is_given_up_with_the_last_reason),
        cmocka_unit_test(a_refusal_that_is_final_is_not_tried_again),
        cmocka_unit_test(a_daemon_that_does_not_know_the_session_is_reported_with_its_reason),
        cmocka_unit_test(a_daemon_that_acknowledges_more_than_was_sent_is_refused),
        cmocka_unit_test(a_cut_after_any_byte_from_the_daemon_loses_and_repeats_nothing),
        cmocka_unit_test(a_cut_after_any_byte_from_prun_loses_and_repeats_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
