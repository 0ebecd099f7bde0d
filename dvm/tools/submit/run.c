/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs one prun: submits or attaches to a job and follows it to its end, in a poll(2) loop.
 *
 * In: messages of the daemon, standard input, signals, the job's files. Out: the ranks' output;
 * input, files and signals for the daemon; an exit code.
 *
 * States: submitted (no name), accepted (the name is known), running, ended (the code is set).
 * After the end the rest of the output is written. A detached job counts as ended for prun once the
 * DVM has accepted it, has reported a state, and has all its files; with --survive it is followed.
 *
 * A signal for the ranks waits until they run. If the job is given back, it is for the next one.
 *
 * A first request to end the job sends SIGTERM, a second SIGKILL, a third leaves at once. From the
 * first one on, prun waits end_wait_ms for the job's end, and longer while its output is not read.
 *
 * Invariants: the first exit code stays. From OUTPUT_FULL bytes of waiting output on, the daemon is
 * not read. Standard input is not read while more than STDIN_PENDING_MAX bytes wait for the daemon.
 * From FILES_PENDING_MAX such bytes on, no more pieces of files are sent.
 *
 * Failures: resume.c makes a lost connection again. If that fails, the code is EXIT_CODE_LOST. A
 * daemon that closes before it has accepted the job gives EXIT_CODE_NOT_LAUNCHED; so do unreadable
 * files, whose job is ended. Lost output turns exit code 0 into 1. SUBMIT_AWAY lets the caller
 * submit at another daemon: after AWAY for a job that was not accepted, or that was given back
 * while it waited. A job that has begun, or that the user ends, is never submitted again. */
#include "dvm/tools/submit/run.h"

#include "base/buf/buf.h"
#include "dvm/host/jobspec/files.h"
#include "dvm/tools/cli/say.h"
#include "dvm/tools/submit/now.h"
#include "dvm/tools/submit/output.h"
#include "dvm/tools/submit/resume.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define STDIN_CHUNK (64u << 10)
#define STDIN_PENDING_MAX (256u << 10) /* when more waits for the daemon, input is not read */
#define FOREGROUND_LOOK_MS 300 /* no event shows a process that it is in the foreground again */
#define WAIT_NOTICE_MS 1000    /* a job that has not started by then: the user gets the reason */

#define READ_ON_MS 10000 /* for an end that may be under way */

#define FILES_PENDING_MAX (512u << 10) /* the same for the job's files */

enum { P_CONN, P_SIGNALS, P_STDIN, P_FILES, P_OUT, P_ERR, P_COUNT };

struct run {
    struct resume *conn;
    run_dial_fn *dial;
    void *dial_arg;
    struct output *output;
    struct files_sender *files; /* NULL: there are none, or they cannot be read */
    char *files_why;            /* the reason, while the job is being ended */
    const struct submit_opts *opts;
    const struct run_fds *fds;
    char *nspace;         /* NULL: not accepted yet */
    enum job_state state; /* 0: not reported yet */
    char *reason;
    int64_t now_ms;    /* the time of this turn */
    int64_t notice_at; /* when to report why it waits; -1: nothing to report */
    bool begun;        /* its daemons have got it, and perhaps input or files of it */
    bool running;
    bool stdin_open;
    bool stdin_paused;
    bool output_lost;
    uint32_t kept;    /* signals for the ranks, which do not run yet: bit n is signal n */
    int ends;         /* how often the user has asked for the end */
    int ends_by;      /* the first signal with which the user asked */
    int64_t leave_at; /* when to stop waiting, after a request to end; -1: none yet */
    bool away;        /* another daemon may take the job; the end is that of AWAY */
    int code;         /* exit code; -1: the job is running */
    char *why;        /* final text, printed after the ranks' output; "" or NULL: none */
};

static void print_note(struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void print_note(struct run *r, const char *fmt, ...)
{
    FREE_AUTO char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = xvasprintf(fmt, ap);
    va_end(ap);
    cli_say(r->fds->err, "prun", "%s", text);
}

static void finish_run(struct run *r, int code, const char *why)
{
    if (r->code >= 0)
        return;
    r->code = r->files_why ? EXIT_CODE_NOT_LAUNCHED : code;
    r->why = r->files_why ? xasprintf("not launched: %s", r->files_why) : xstrdup(why ? why : "");
    output_finish(r->output);
}

static void send_or_finish(struct run *r, const struct client_msg *m)
{
    struct err err = {0};

    if (resume_send(r->conn, m, &err) < 0)
        finish_run(r, EXIT_CODE_NOT_LAUNCHED, err.msg);
}

/* The DVM has been asked to end the job and gets its time for it. */
static void end_asked(struct run *r, int signum)
{
    if (r->leave_at >= 0)
        return;
    r->ends_by = signum;
    r->leave_at = r->now_ms + r->opts->end_wait_ms;
}

/* --- files */

static void files_failed(struct run *r, const struct err *err)
{
    struct client_msg m = {.type = CLIENT_SIGNAL, .signal = {SIGTERM}};

    r->files_why = xstrdup(err->msg);
    files_sender_destroy(r->files);
    r->files = NULL;
    end_asked(r, SIGTERM);
    send_or_finish(r, &m);
}

static void on_room(struct run *r, uint64_t total)
{
    struct err err = {0};

    if (r->files && files_sender_room(r->files, total, &err) < 0)
        files_failed(r, &err);
}

static void send_files(struct run *r)
{
    struct client_msg m = {.type = CLIENT_FILES};
    struct err err = {0};

    while (r->files && r->code < 0 && resume_pending(r->conn) < FILES_PENDING_MAX) {
        if (files_sender_pump(r->files, &err) < 0) {
            files_failed(r, &err);
            return;
        }
        if (!files_sender_next(r->files, &m.files.data, &m.files.len))
            return;
        send_or_finish(r, &m);
    }
}

/* --- signals for the ranks */

static void pass_signal(struct run *r, uint32_t signum)
{
    if (r->running)
        send_or_finish(r, &(struct client_msg){.type = CLIENT_SIGNAL, .signal = {signum}});
    else
        r->kept |= 1u << signum;
}

static void pass_kept_signals(struct run *r)
{
    uint32_t kept = r->kept;

    r->kept = 0;
    for (uint32_t n = 1; kept >> n; n++) {
        if (kept >> n & 1)
            pass_signal(r, n);
    }
}

/* They are blocked here, so they are pending until the signalfd is read again. */
static void raise_kept_signals(const struct run *r)
{
    for (int n = 1; r->kept >> n; n++) {
        if (r->kept >> n & 1)
            kill(getpid(), n);
    }
}

/* --- messages of the daemon */

static void replace_text(char **p, char **with)
{
    free(*p);
    *p = *with;
    *with = NULL;
}

/* True: the daemon has all files of the job (--preload-files); in these states the ranks have been
 * started. */
static bool has_files(const struct run *r)
{
    return r->opts->spec.nfiles == 0 || r->state == JOB_STARTED || r->state == JOB_RUNNING ||
           r->state == JOB_REGISTERED;
}

/* prun --detach ends before its job. */
static bool is_left(const struct run *r)
{
    return r->opts->spec.flags & JOB_DETACH && !r->opts->survive;
}

static bool has_begun(enum job_state state)
{
    return state == JOB_PREPARING || state == JOB_STARTED || state == JOB_RUNNING ||
           state == JOB_REGISTERED || state == JOB_READY_FOR_DEBUG;
}

static void on_state(struct run *r, struct client_state *m)
{
    bool changed = m->state != r->state;

    r->state = m->state;
    r->begun = r->begun || has_begun(m->state);
    replace_text(&r->reason, &m->reason);
    /* The job has a name, so it is accepted: prun --detach ends. */
    if (is_left(r) && r->nspace && has_files(r)) {
        dprintf(r->fds->out, "%s\n", r->nspace);
        finish_run(r, 0, NULL);
        return;
    }
    r->running = r->running || r->state == JOB_RUNNING;
    if (r->state == JOB_READY_FOR_DEBUG && changed && !r->opts->verbose)
        print_note(r, "job %s: %s", r->nspace ? r->nspace : "?", r->reason);
    if (r->opts->verbose)
        print_note(r, "job %s: %s%s%s", r->nspace ? r->nspace : "?", job_state_word(r->state),
                   r->reason[0] ? ": " : "", r->reason);
    else if (!r->running && r->reason[0])
        r->notice_at = r->now_ms + WAIT_NOTICE_MS;
    if (r->running) {
        r->notice_at = -1;
        pass_kept_signals(r);
    }
}

static void on_accepted(struct run *r, struct client_job *m)
{
    struct err err = {0};

    replace_text(&r->nspace, &m->nspace);
    if (r->opts->survive)
        print_note(r, "job %s goes on without this prun; --attach %s follows it", r->nspace,
                   r->nspace);
    else if (r->opts->verbose)
        print_note(r, "job %s: accepted", r->nspace);
    if (output_job(r->output, r->nspace, &err) < 0) {
        r->output_lost = true;
        print_note(r, "%s", err.msg);
    }
}

static void on_away(struct run *r, const struct client_end *m)
{
    r->away = !r->begun && !r->ends && !r->files_why;
    if (r->ends)
        finish_run(r, exit_code_of_signal(r->ends > 1 ? SIGKILL : SIGTERM), "ended by the user");
    else
        finish_run(r, (int)m->code, m->text);
}

static void on_message(struct run *r, struct client_msg *m)
{
    switch (m->type) {
    case CLIENT_ACCEPTED:
        on_accepted(r, &m->accepted);
        break;
    case CLIENT_NOTE:
        print_note(r, "%s", m->note.text);
        break;
    case CLIENT_STATE:
        on_state(r, &m->state);
        break;
    case CLIENT_OUTPUT:
        if (!is_left(r)) /* its output is kept for a later follower */
            output_add(r->output, m->output.rank, m->output.stream, m->output.data, m->output.len);
        break;
    case CLIENT_MAP:
        output_text(r->output, m->map.data, m->map.len);
        break;
    case CLIENT_FILES_ROOM:
        r->begun = true;
        on_room(r, m->room.total);
        break;
    case CLIENT_STDIN_PAUSE:
        r->stdin_paused = m->pause.paused;
        break;
    case CLIENT_DONE:
        finish_run(r, (int)m->done.code, m->done.text);
        break;
    case CLIENT_AWAY:
        on_away(r, &m->away);
        break;
    case CLIENT_ERROR:
        finish_run(r, (int)m->error.code, m->error.text);
        break;
    default:
        finish_run(r, EXIT_CODE_LOST, "the daemon sent a message that has no place here");
    }
}

static void on_lost(struct run *r, const struct err *why)
{
    if (why->code == ECONNRESET && !r->nspace)
        finish_run(r, EXIT_CODE_NOT_LAUNCHED,
                   "the daemon closed the connection before it had accepted the job");
    else if (why->code != ECONNRESET)
        finish_run(r, EXIT_CODE_LOST, why->msg);
    else
        finish_run(r, EXIT_CODE_LOST,
                   r->opts->survive || r->opts->attach
                       ? "the connection to the DVM is lost; the job may go on (--attach)"
                       : "the connection to the DVM is lost, and with it the job");
}

/* Handles all buffered messages: at most one read and the rest of a frame. */
static void on_connection(struct run *r)
{
    struct err err = {0};
    struct client_msg m;
    int got = 0;

    while (r->code < 0 && (got = resume_take(r->conn, &m, r->now_ms, &err)) > 0) {
        on_message(r, &m);
        client_msg_free(&m);
    }
    if (got < 0)
        on_lost(r, &err);
}

static struct cli_conn *dial_again(void *arg, struct err *err)
{
    const struct run *r = arg;

    return r->dial(r->dial_arg, err);
}

static void print_text(void *arg, const char *text)
{
    print_note(arg, "%s", text);
}

/* --- the user */

static void on_end_request(struct run *r, int signum)
{
    struct client_msg m = {.type = CLIENT_SIGNAL, .signal = {SIGTERM}};

    r->ends++;
    end_asked(r, signum);
    if (r->ends > 2) {
        finish_run(r, exit_code_of_signal(signum), "left without waiting for the job's end");
        return;
    }
    if (r->ends == 2)
        m.signal.signum = SIGKILL;
    if (isatty(r->fds->err))
        print_note(r, r->ends == 1 ? "ending the job; once more to kill it" : "killing the job");
    send_or_finish(r, &m);
}

static void on_signals(struct run *r)
{
    struct signalfd_siginfo info;

    if (read(r->fds->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return;
    switch (info.ssi_signo) {
    case SIGINT:
    case SIGTERM:
    case SIGHUP:
        on_end_request(r, (int)info.ssi_signo);
        break;
    case SIGUSR1:
    case SIGUSR2:
        pass_signal(r, info.ssi_signo);
        break;
    default: /* SIGCONT: perhaps in the foreground again; the next turn looks */
        break;
    }
}

static void on_stdin(struct run *r)
{
    uint8_t chunk[STDIN_CHUNK];
    ssize_t n = read(r->fds->in, chunk, sizeof(chunk));

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) {
        n = 0;
        r->stdin_open = false;
    }
    send_or_finish(r, &(struct client_msg){.type = CLIENT_STDIN, .input = {chunk, (size_t)n}});
}

static bool stdin_due(const struct run *r)
{
    return r->stdin_open && !r->stdin_paused && r->running && r->code < 0 &&
           resume_pending(r->conn) <= STDIN_PENDING_MAX;
}

/* Reading from the terminal would stop this process. */
static bool in_background(const struct run *r)
{
    return isatty(r->fds->in) && tcgetpgrp(r->fds->in) != getpgrp();
}

/* --- the loop */

static bool is_reading(const struct run *r)
{
    return output_pending(r->output) < OUTPUT_FULL;
}

static void fill_poll(const struct run *r, struct pollfd p[P_COUNT])
{
    p[P_CONN] = (struct pollfd){.fd = -1};
    if (r->code < 0)
        p[P_CONN] = resume_poll(r->conn, is_reading(r));
    p[P_SIGNALS] = (struct pollfd){.fd = r->fds->signals, .events = POLLIN};
    p[P_STDIN] = (struct pollfd){.fd = stdin_due(r) && !in_background(r) ? r->fds->in : -1,
                                 .events = POLLIN};
    p[P_FILES].fd = -1;
    if (r->files && r->code < 0 && resume_pending(r->conn) < FILES_PENDING_MAX)
        files_sender_want(r->files, &p[P_FILES]);
    output_want(r->output, &p[P_OUT]);
}

/* -1: never. */
static int64_t left_until(const struct run *r, int64_t at)
{
    int64_t left = at - r->now_ms;

    if (at < 0)
        return -1;
    return left > 0 ? left : 0;
}

/* The earlier of two times; -1: none. */
static int64_t sooner_of(int64_t a, int64_t b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

static int poll_timeout(const struct run *r)
{
    int64_t most = stdin_due(r) && in_background(r) ? FOREGROUND_LOOK_MS : -1;

    if (r->code >= 0)
        return -1;
    most = sooner_of(most, resume_timeout(r->conn, r->now_ms));
    most = sooner_of(most, left_until(r, r->leave_at));
    return (int)sooner_of(most, left_until(r, r->notice_at));
}

static void leave_if_due(struct run *r)
{
    char *why;

    if (r->code >= 0 || r->leave_at < 0 || r->now_ms < r->leave_at)
        return;
    why = xasprintf("the job%s%s has not ended %" PRId64
                    " s after the DVM was told to end it; prun does not wait any longer",
                    r->nspace ? " " : "", r->nspace ? r->nspace : "", r->opts->end_wait_ms / 1000);
    finish_run(r, exit_code_of_signal(r->ends_by), why);
    free(why);
}

/* The end may follow output that was not read yet, because no process reads prun's output. */
static void postpone_leaving(struct run *r)
{
    int64_t at = r->now_ms + READ_ON_MS;

    if (r->leave_at >= 0 && r->leave_at < at)
        r->leave_at = at;
}

/* The user may believe that the variables of another launcher hold here. */
static void tell_unread(struct run *r)
{
    if (r->opts->unread)
        print_note(r, "%s: not read by prun; its options and $" SUBMIT_DEFAULTS " are",
                   r->opts->unread);
}

static void tell_wait(struct run *r)
{
    if (r->notice_at < 0 || r->now_ms < r->notice_at)
        return;
    r->notice_at = -1;
    print_note(r, "job %s waits: %s", r->nspace ? r->nspace : "?", r->reason);
    tell_unread(r);
}

static void run_turn(struct run *r)
{
    struct pollfd p[P_COUNT];
    struct err err = {0};
    bool reading = is_reading(r);

    fill_poll(r, p);
    r->now_ms = submit_now_ms();
    if (poll(p, P_COUNT, poll_timeout(r)) < 0)
        return; /* EINTR: the next turn looks again */
    r->now_ms = submit_now_ms();
    tell_wait(r);
    if (!reading)
        postpone_leaving(r);
    if (output_pump(r->output, &p[P_OUT], &err) < 0) {
        r->output_lost = true;
        print_note(r, "%s", err.msg);
    }
    if (r->code < 0) {
        resume_turn(r->conn, &p[P_CONN], r->now_ms);
        on_connection(r);
    }
    if (p[P_SIGNALS].revents)
        on_signals(r);
    if (p[P_STDIN].revents)
        on_stdin(r);
    send_files(r);
    leave_if_due(r);
}

static void last_words(struct run *r)
{
    if (r->why[0])
        print_note(r, "%s", r->why);
    /* Only for a hint: a job that the head cannot map has this text, one that a daemon cannot start
     * names a rank. */
    if (r->code == EXIT_CODE_NOT_LAUNCHED && !r->files_why &&
        strncmp(r->why, "not launched: ", strlen("not launched: ")) == 0)
        tell_unread(r);
    if (r->output_lost && r->code == 0)
        r->code = EXIT_FAILURE;
}

int submit_run(struct cli_conn *c, run_dial_fn *dial_fn, void *arg, const struct submit_opts *opts,
               const struct run_fds *fds, struct submit_away *away)
{
    struct run r = {.dial = dial_fn,
                    .dial_arg = arg,
                    .opts = opts,
                    .fds = fds,
                    .now_ms = submit_now_ms(),
                    .notice_at = -1,
                    .leave_at = -1,
                    .code = -1};
    struct resume_opts again = {.window_ms = opts->reconnect_ms,
                                .retry_ms = opts->retry_ms,
                                .dial = dial_again,
                                .say = print_text,
                                .arg = &r};

    r.conn = resume_create(c, &again);
    r.output = output_create((int[2]){fds->out, fds->err}, &opts->output);
    r.stdin_open = !opts->attach && opts->spec.stdin_rank != JOB_RANK_NONE;
    if (opts->spec.nfiles)
        r.files = files_sender_create(opts->sources, opts->spec.nfiles);
    if (opts->attach)
        send_or_finish(
            &r, &(struct client_msg){.type = CLIENT_ATTACH, .attach = {(char *)opts->attach}});
    else
        send_or_finish(&r, &(struct client_msg){.type = CLIENT_SUBMIT, .submit = {opts->spec}});
    while (r.code < 0 || (output_pending(r.output) && r.ends < 3))
        run_turn(&r);
    resume_destroy(r.conn);
    if (r.away) {
        *away = (struct submit_away){.code = r.code, .given_back = r.nspace != NULL};
        err_set(&away->why, "%s", r.why);
        raise_kept_signals(&r);
        r.code = SUBMIT_AWAY;
    } else {
        last_words(&r);
    }
    files_sender_destroy(r.files);
    free(r.files_why);
    output_destroy(r.output);
    free(r.nspace);
    free(r.reason);
    free(r.why);
    return r.code;
}
