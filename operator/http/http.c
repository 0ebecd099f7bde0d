/* SPDX-License-Identifier: BSD-3-Clause */
/* HTTP client: libcurl runs on the loop's descriptors and timer, and quiet streams are
 * operator/http/quiet.c's.
 *
 * Input: the sockets and the timer that libcurl asks for, and callbacks of both for headers, bodies
 * and ends. Output: the callbacks on_open, on_line and on_end of each call.
 *
 * A call's states: running; accepted (a stream with 2xx headers); ended; cancelled. A call with
 * something to report is in the list `ready`.
 *
 * Invariants: the caller's callbacks are never called from inside a library, whose callbacks
 * only record the result; report_done() calls them afterwards, so a caller may start, cancel and
 * destroy in any callback. `depth` and `pinned` keep the objects alive until their callback
 * returns. on_end is called once, unless the call was cancelled.
 *
 * Failures: an answer or line above its limit, a timeout and a broken connection end the call with
 * status 0 and a reason. */
#include "operator/http/http.h"

#include "base/buf/buf.h"
#include "operator/http/quiet.h"

#include <curl/curl.h>
#include <event2/http.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define GATE_CLOSED "not sent, since this operator does not lead (any more)"
#define CONNECT_TIMEOUT_MS 10000
/* Idle connections that are kept. libcurl's bound includes those in use, and it closes one for each
 * that becomes idle. So without one_of_many a burst of calls to many servers leaves more. */
#define IDLE_MAX 16
/* libcurl's smallest buffer for sending, which stays while a stream is open. */
#define SENDING_BYTES 16384L
/* The buffer of a stream holds a part of a line and what libcurl reads at once (at most 100 times
 * 16 KiB). */
#define STREAM_SLACK (2u << 20)

struct http {
    struct loop *loop;
    CURLM *multi;
    struct quiets *quiets;     /* NULL: there was no quiet stream yet */
    struct loop_timer *timer;  /* of libcurl */
    struct loop_timer *report; /* armed while a quiet stream is in `ready` */
    struct http_call *calls;
    struct http_call *ready; /* calls with something to report, in order */
    long running;            /* calls that libcurl has */
    unsigned depth;          /* callbacks of callers that have not returned */
    bool dead;               /* was destroyed inside one of them */
};

struct http_call {
    struct http *http;
    CURL *easy;          /* NULL: a quiet stream, or detached */
    struct quiet *quiet; /* NULL: libcurl has the call, or detached */
    struct curl_slist *headers;
    struct curl_slist *connect_to;
    struct loop_timer *timer;
    struct http_call_opts
        opts; /* after the start only the callbacks, arg and the limits are used */
    struct buf in;
    size_t scanned; /* bytes of `in` that hold no end of line */
    bool added;     /* libcurl has it */
    bool accepted;  /* a stream whose 2xx headers have arrived */
    bool opened;    /* on_open has been called */
    bool queued;    /* is in http->ready */
    bool ended;     /* the answer is whole, or broken */
    bool broken;    /* ended before the answer was whole */
    bool pinned;    /* one of its callbacks has not returned */
    bool cancelled; /* was cancelled in such a callback, which frees it when it returns */
    int status;     /* of the answer; 0: none */
    uint64_t retry_after_ms;
    char why[128]; /* it was ended here */
    char why_broken[CURL_ERROR_SIZE];
    struct http_call *prev, *next;
    struct http_call *ready_prev, *ready_next;
};

/* --- lifetimes */

static void enter_callback(struct http *h)
{
    h->depth++;
}

static void leave_callback(struct http *h)
{
    if (--h->depth > 0 || !h->dead)
        return;
    quiets_destroy(h->quiets);
    curl_multi_cleanup(h->multi);
    curl_global_cleanup();
    free(h);
}

static void call_queue(struct http_call *c)
{
    if (c->queued)
        return;
    c->queued = true;
    DL_APPEND2(c->http->ready, c, ready_prev, ready_next);
}

/* libcurl's bound counts the connections of calls that run, too. */
static void count_running(struct http *h, long change)
{
    h->running += change;
    curl_multi_setopt(h->multi, CURLMOPT_MAXCONNECTS, h->running + IDLE_MAX);
}

/* Afterwards neither a library nor the loop has a pointer to the call. */
static void call_detach(struct http_call *c)
{
    if (!c->timer)
        return;
    if (c->queued)
        DL_DELETE2(c->http->ready, c, ready_prev, ready_next);
    c->queued = false;
    loop_timer_destroy(c->timer);
    c->timer = NULL;
    DL_DELETE(c->http->calls, c);
    quiet_destroy(c->quiet);
    c->quiet = NULL;
    if (!c->easy)
        return;
    if (curl_multi_remove_handle(c->http->multi, c->easy) == CURLM_OK && c->added)
        count_running(c->http, -1);
    curl_easy_cleanup(c->easy);
    c->easy = NULL;
}

static void call_free(struct http_call *c)
{
    call_detach(c);
    curl_slist_free_all(c->headers);
    curl_slist_free_all(c->connect_to);
    buf_free(&c->in);
    free(c);
}

void http_cancel(struct http_call *c)
{
    if (!c)
        return;
    if (!c->pinned) {
        call_free(c);
        return;
    }
    c->cancelled = true;
    call_detach(c);
}

/* --- reports to the caller, outside of the libraries */

/* Calls on_end unless the call was cancelled. The call is pinned. */
static void call_end(struct http_call *c, int status, const char *why)
{
    struct http_answer answer = {.status = status, .why = status ? "" : why, .body = ""};

    answer.retry_after_ms = status ? c->retry_after_ms : 0;
    if (status && !c->accepted && c->in.len > 0) {
        answer.body = (const char *)c->in.data;
        answer.len = c->in.len;
    }
    if (c->cancelled)
        return;
    c->cancelled = true;
    call_detach(c);
    c->opts.on_end(&answer, c->opts.arg);
}

static void call_too_long(struct http_call *c, const char *what)
{
    if (!c->why[0])
        snprintf(c->why, sizeof(c->why), "%s is longer than %zu bytes", what, c->opts.max_body);
}

/* Calls on_line for each whole line and keeps the rest. */
static void call_lines(struct http_call *c)
{
    size_t start = 0;
    char *data = (char *)c->in.data, *nl;

    while (!c->cancelled && !c->why[0] && c->scanned < c->in.len &&
           (nl = memchr(data + c->scanned, '\n', c->in.len - c->scanned))) {
        char *line = data + start;
        size_t len = (size_t)(nl - line);

        start = c->scanned = (size_t)(nl - data) + 1;
        if (len > 0 && line[len - 1] == '\r')
            len--;
        line[len] = '\0';
        if (len > c->opts.max_body)
            call_too_long(c, "a line");
        else
            c->opts.on_line(line, len, c->opts.arg);
    }
    if (c->cancelled)
        return;
    buf_consume(&c->in, start);
    if (c->in.len == 0)
        buf_free(&c->in); /* a stream may be quiet for hours */
    c->scanned = c->in.len;
    if (c->in.len > c->opts.max_body)
        call_too_long(c, "a line");
}

static void call_finish(struct http_call *c)
{
    if (c->why[0])
        call_end(c, 0, c->why);
    else if (c->broken)
        call_end(c, 0, c->why_broken);
    else if (c->accepted && c->in.len > 0)
        call_end(c, 0, "the stream ended in the middle of a line");
    else
        call_end(c, c->status, "the answer has no status");
}

static void unpin_call(struct http_call *c)
{
    c->pinned = false;
    if (c->cancelled)
        call_free(c);
}

static void set_broken(struct http_call *c, const char *why)
{
    c->ended = c->broken = true;
    if (!c->why_broken[0])
        snprintf(c->why_broken, sizeof(c->why_broken), "%.*s", CURL_ERROR_SIZE - 1, why);
}

static void advance_quiet(struct http_call *c)
{
    struct err err = {0};
    int rc = quiet_go_on(c->quiet, &err);

    c->ended = rc != 0;
    if (rc < 0)
        set_broken(c, err.msg);
}

static void call_tell(struct http_call *c)
{
    c->pinned = true;
    if (c->quiet)
        advance_quiet(c);
    if (c->accepted && !c->opened) {
        c->opened = true;
        if (c->opts.on_open)
            c->opts.on_open(c->opts.arg);
    }
    if (!c->cancelled && c->accepted)
        call_lines(c);
    if (!c->cancelled && (c->ended || c->why[0]))
        call_finish(c);
    unpin_call(c);
}

static void take_result(struct http_call *c, CURLcode result)
{
    curl_off_t retry_after_s = 0;
    long status = 0;

    c->ended = true;
    if (result != CURLE_OK)
        set_broken(c, curl_easy_strerror(result));
    if (curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK)
        c->status = (int)status;
    if (curl_easy_getinfo(c->easy, CURLINFO_RETRY_AFTER, &retry_after_s) == CURLE_OK &&
        retry_after_s > 0)
        c->retry_after_ms = (uint64_t)retry_after_s * 1000;
    call_queue(c);
}

static void report_done(struct http *h)
{
    CURLMsg *msg;
    int left;

    while ((msg = curl_multi_info_read(h->multi, &left))) {
        struct http_call *c = NULL;

        if (msg->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, (char **)&c);
        take_result(c, msg->data.result);
    }
    while (!h->dead && h->ready) {
        struct http_call *c = h->ready;

        DL_DELETE2(h->ready, c, ready_prev, ready_next);
        c->queued = false;
        call_tell(c);
    }
}

static void on_call_timeout(void *arg)
{
    struct http_call *c = arg;
    struct http *h = c->http;

    enter_callback(h);
    c->pinned = true;
    if (c->accepted)
        snprintf(c->why, sizeof(c->why), "no byte arrived for %" PRIu64 " ms", c->opts.silence_ms);
    else
        snprintf(c->why, sizeof(c->why), "no answer within %" PRIu64 " ms", c->opts.timeout_ms);
    call_end(c, 0, c->why);
    unpin_call(c);
    leave_callback(h);
}

/* --- what has come is only recorded */

static void accept_stream(struct http_call *c, long status)
{
    if (!c->opts.on_line || c->accepted || status < 200 || status > 299)
        return;
    c->accepted = true;
    c->in.max = c->opts.max_body + STREAM_SLACK;
    if (c->opts.silence_ms)
        loop_timer_arm(c->timer, c->opts.silence_ms);
    else
        loop_timer_disarm(c->timer);
    call_queue(c);
}

static void note_input(struct http_call *c)
{
    if (c->accepted && c->opts.silence_ms)
        loop_timer_arm(c->timer, c->opts.silence_ms);
}

static int take_body(struct http_call *c, const void *data, size_t len)
{
    buf_put_raw(&c->in, data, len);
    if (c->in.failed)
        call_too_long(c, c->accepted ? "a line" : "the answer");
    if (c->accepted || c->in.failed)
        call_queue(c);
    return c->in.failed ? -1 : 0;
}

/* --- callbacks of libcurl */

static size_t on_header(char *data, size_t size, size_t n, void *arg)
{
    struct http_call *c = arg;
    size_t len = size * n;
    bool blank = len == 2 && data[0] == '\r';
    long status = 0;

    if (blank && curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK)
        accept_stream(c, status);
    return len;
}

static size_t on_data(char *data, size_t size, size_t n, void *arg)
{
    note_input(arg);
    return take_body(arg, data, size * n) < 0 ? 0 : size * n;
}

static bool gate_open(const struct http_gate *gate)
{
    return !gate || gate->is_open(gate->arg);
}

/* The connection is ready, and the request is sent next. */
static int on_connected(void *arg, char *to, char *from, int to_port, int from_port)
{
    struct http_call *c = arg;

    if (gate_open(c->opts.gate))
        return CURL_PREREQFUNC_OK;
    snprintf(c->why, sizeof(c->why), "%s", GATE_CLOSED);
    return CURL_PREREQFUNC_ABORT;
}

static void on_ready(int fd, int events, void *arg)
{
    struct http *h = arg;
    int running, mask = 0;

    mask |= events & LOOP_READ ? CURL_CSELECT_IN : 0;
    mask |= events & LOOP_WRITE ? CURL_CSELECT_OUT : 0;
    enter_callback(h);
    curl_multi_socket_action(h->multi, fd, mask, &running);
    report_done(h);
    leave_callback(h);
}

static void on_curl_due(void *arg)
{
    struct http *h = arg;
    int running;

    enter_callback(h);
    curl_multi_socket_action(h->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    report_done(h);
    leave_callback(h);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
    struct http *h = arg;
    struct loop_fd *f = socket_arg;

    if (what == CURL_POLL_REMOVE) {
        loop_fd_destroy(f);
        return 0;
    }
    int events = 0;
    events |= what & CURL_POLL_IN ? LOOP_READ : 0;
    events |= what & CURL_POLL_OUT ? LOOP_WRITE : 0;
    if (f)
        loop_fd_set(f, events);
    else
        curl_multi_assign(h->multi, fd, loop_fd_create(h->loop, fd, events, on_ready, h));
    return 0;
}

static int on_timer(CURLM *multi, long timeout_ms, void *arg)
{
    struct http *h = arg;

    if (timeout_ms < 0)
        loop_timer_disarm(h->timer);
    else
        loop_timer_arm(h->timer, (uint64_t)timeout_ms);
    return 0;
}

/* --- callbacks of quiet streams */

static void on_quiet_ready(void *arg)
{
    struct http_call *c = arg;

    call_queue(c);
    loop_timer_arm(c->http->report, 0);
}

static void on_quiet_head(int status, uint64_t retry_after_ms, void *arg)
{
    struct http_call *c = arg;

    c->status = status;
    c->retry_after_ms = retry_after_ms;
    accept_stream(c, status);
    on_quiet_ready(c);
}

static void on_quiet_input(void *arg)
{
    note_input(arg);
}

static void on_quiet_data(const void *data, size_t len, void *arg)
{
    if (take_body(arg, data, len) < 0)
        return;
    on_quiet_ready(arg);
}

static void on_report_due(void *arg)
{
    struct http *h = arg;

    enter_callback(h);
    report_done(h);
    leave_callback(h);
}

/* --- creation and destruction */

struct http *http_create(struct loop *loop, struct err *err)
{
    /* When memory runs out in libcurl, too, the program ends with one line. */
    if (curl_global_init_mem(CURL_GLOBAL_DEFAULT, xmalloc, free, xrealloc, xstrdup, xcalloc) !=
        CURLE_OK) {
        err_set(err, "cannot initialise libcurl");
        return NULL;
    }
    struct http *h = xcalloc(1, sizeof(*h));
    h->loop = loop;
    h->multi = curl_multi_init();
    if (!h->multi) {
        err_set(err, "cannot create an HTTP client: out of memory or descriptors");
        curl_global_cleanup();
        free(h);
        return NULL;
    }
    signal(SIGPIPE, SIG_IGN);
    h->timer = loop_timer_create(loop, on_curl_due, h);
    h->report = loop_timer_create(loop, on_report_due, h);
    curl_multi_setopt(h->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(h->multi, CURLMOPT_SOCKETDATA, h);
    curl_multi_setopt(h->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(h->multi, CURLMOPT_TIMERDATA, h);
    count_running(h, 0);
    return h;
}

void http_destroy(struct http *h)
{
    struct http_call *c, *tmp;

    if (!h)
        return;
    DL_FOREACH_SAFE(h->calls, c, tmp)
    {
        http_cancel(c);
    }
    enter_callback(h);
    /* While libcurl closes kept connections it may still remove sockets, but must not arm the
     * timer. */
    curl_multi_setopt(h->multi, CURLMOPT_TIMERFUNCTION, NULL);
    loop_timer_destroy(h->timer);
    loop_timer_destroy(h->report);
    h->timer = h->report = NULL;
    h->dead = true;
    leave_callback(h);
}

static CURLcode set_blob(CURL *easy, CURLoption option, const char *pem, bool borrowed)
{
    struct curl_blob blob = {.data = (void *)(uintptr_t)pem,
                             .len = strlen(pem),
                             .flags = borrowed ? CURL_BLOB_NOCOPY : CURL_BLOB_COPY};

    return curl_easy_setopt(easy, option, &blob);
}

static CURLcode set_peer(struct http_call *c, const struct http_peer *p)
{
    CURLcode rc = CURLE_OK;

    if (p->ca_pem) {
        rc = rc ? rc : set_blob(c->easy, CURLOPT_CAINFO_BLOB, p->ca_pem, p->borrowed);
        /* By default libcurl also trusts the system's directory of authorities. */
        rc = rc ? rc : curl_easy_setopt(c->easy, CURLOPT_CAINFO, NULL);
        rc = rc ? rc : curl_easy_setopt(c->easy, CURLOPT_CAPATH, NULL);
    }
    if (p->cert_pem)
        rc = rc ? rc : set_blob(c->easy, CURLOPT_SSLCERT_BLOB, p->cert_pem, p->borrowed);
    if (p->key_pem)
        rc = rc ? rc : set_blob(c->easy, CURLOPT_SSLKEY_BLOB, p->key_pem, p->borrowed);
    if (p->insecure) {
        rc = rc ? rc : curl_easy_setopt(c->easy, CURLOPT_SSL_VERIFYPEER, 0L);
        rc = rc ? rc : curl_easy_setopt(c->easy, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    rc = rc ? rc
            : curl_easy_setopt(c->easy, CURLOPT_SSLVERSION,
                               p->tls13_only ? (long)CURL_SSLVERSION_TLSv1_3
                                             : (long)CURL_SSLVERSION_TLSv1_2);
    rc = rc ? rc : curl_easy_setopt(c->easy, CURLOPT_PROXY, p->proxy ? p->proxy : "");
    if (!p->connect)
        return rc;
    FREE_AUTO char *to = xasprintf("::%s", p->connect);
    c->connect_to = curl_slist_append(NULL, to);
    return rc ? rc : curl_easy_setopt(c->easy, CURLOPT_CONNECT_TO, c->connect_to);
}

static CURLcode set_request(struct http_call *c, const struct http_call_opts *o)
{
    CURLcode rc = curl_easy_setopt(c->easy, CURLOPT_URL, o->url);
    bool empty_body = !o->body && strcmp(o->method, "GET") != 0 && strcmp(o->method, "DELETE") != 0;

    if (o->body || empty_body) {
        curl_off_t len = o->body ? (curl_off_t)o->body_len : 0;

        rc = rc ? rc : curl_easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE_LARGE, len);
        rc = rc ? rc : curl_easy_setopt(c->easy, CURLOPT_COPYPOSTFIELDS, o->body ? o->body : "");
    }
    rc = rc ? rc : curl_easy_setopt(c->easy, CURLOPT_CUSTOMREQUEST, o->method);
    for (size_t i = 0; o->headers && o->headers[i]; i++)
        c->headers = curl_slist_append(c->headers, o->headers[i]);
    c->headers = curl_slist_append(c->headers, "Expect:");
    if (empty_body)
        c->headers = curl_slist_append(c->headers, "Content-Type:");
    return rc ? rc : curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, c->headers);
}

static CURLcode set_manners(struct http_call *c)
{
    const struct {
        CURLoption option;
        long value;
    } longs[] = {
        {CURLOPT_NOSIGNAL, 1},
        {CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1},
        {CURLOPT_SUPPRESS_CONNECT_HEADERS, 1},
        {CURLOPT_DNS_CACHE_TIMEOUT, 0},
        {CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS},
        /* A peer that vanishes without closing its connection is detected within two minutes. */
        {CURLOPT_TCP_KEEPALIVE, 1},
        {CURLOPT_TCP_KEEPIDLE, 30},
        {CURLOPT_TCP_KEEPINTVL, 10},
        /* Without it, the end of a call would wait for a name that is being resolved. */
        {CURLOPT_QUICK_EXIT, 1},
        {CURLOPT_UPLOAD_BUFFERSIZE, SENDING_BYTES},
    };
    CURLcode rc = CURLE_OK;

    for (size_t i = 0; i < sizeof(longs) / sizeof(longs[0]); i++)
        rc = rc ? rc : curl_easy_setopt(c->easy, longs[i].option, longs[i].value);
    rc = rc ? rc : curl_easy_setopt(c->easy, CURLOPT_PROTOCOLS_STR, "http,https");
    rc = rc ? rc : curl_easy_setopt(c->easy, CURLOPT_USERAGENT, HTTP_USER_AGENT);
    rc = rc ? rc : curl_easy_setopt(c->easy, CURLOPT_ERRORBUFFER, c->why_broken);
    rc = rc ? rc : curl_easy_setopt(c->easy, CURLOPT_PRIVATE, c);
    if (c->opts.gate) {
        rc = rc ? rc : curl_easy_setopt(c->easy, CURLOPT_PREREQFUNCTION, on_connected);
        rc = rc ? rc : curl_easy_setopt(c->easy, CURLOPT_PREREQDATA, c);
    }
    rc = rc ? rc : curl_easy_setopt(c->easy, CURLOPT_HEADERFUNCTION, on_header);
    rc = rc ? rc : curl_easy_setopt(c->easy, CURLOPT_HEADERDATA, c);
    rc = rc ? rc : curl_easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, on_data);
    return rc ? rc : curl_easy_setopt(c->easy, CURLOPT_WRITEDATA, c);
}

static int start_curl(struct http_call *c, const struct http_call_opts *opts, struct err *err)
{
    CURLcode rc;

    c->easy = curl_easy_init();
    if (!c->easy)
        return err_set(err, "cannot set up %s %s: out of memory", opts->method, opts->url);
    rc = set_manners(c);
    rc = rc ? rc : set_peer(c, opts->peer);
    rc = rc ? rc : set_request(c, opts);
    if (opts->peer->one_of_many && c->http->running >= IDLE_MAX)
        rc = rc ? rc : curl_easy_setopt(c->easy, CURLOPT_FORBID_REUSE, 1L);
    if (rc || curl_multi_add_handle(c->http->multi, c->easy) != CURLM_OK)
        return err_set(err, "cannot set up %s %s: %s", opts->method, opts->url,
                       rc ? curl_easy_strerror(rc) : "libcurl refuses one more transfer");
    c->added = true;
    count_running(c->http, 1);
    return 0;
}

static int start_quiet(struct http_call *c, const struct http_call_opts *opts, struct err *err)
{
    const struct quiet_sink sink = {.on_head = on_quiet_head,
                                    .on_data = on_quiet_data,
                                    .on_input = on_quiet_input,
                                    .on_ready = on_quiet_ready,
                                    .arg = c};
    struct http *h = c->http;

    if (!h->quiets)
        h->quiets = quiets_create(h->loop, err);
    if (!h->quiets)
        return -1;
    c->quiet = quiet_start(h->quiets, opts, &sink, err);
    return c->quiet ? 0 : -1;
}

struct http_call *http_start(struct http *h, const struct http_call_opts *opts, struct err *err)
{
    if (!gate_open(opts->gate)) {
        err_set(err, GATE_CLOSED);
        return NULL;
    }
    struct http_call *c = xcalloc(1, sizeof(*c));

    c->http = h;
    c->opts = *opts;
    buf_init(&c->in, opts->max_body);
    DL_APPEND(h->calls, c);
    c->timer = loop_timer_create(h->loop, on_call_timeout, c);
    if ((opts->quiet ? start_quiet(c, opts, err) : start_curl(c, opts, err)) < 0) {
        call_free(c);
        return NULL;
    }
    loop_timer_arm(c->timer, opts->timeout_ms);
    /* These texts are copied or used already. */
    c->opts.method = c->opts.url = NULL;
    c->opts.headers = NULL;
    c->opts.body = NULL;
    c->opts.peer = NULL;
    return c;
}

char *http_escape(const char *text)
{
    char *escaped = evhttp_uriencode(text, -1, 0);

    if (!escaped)
        alloc_fail(strlen(text));
    return escaped;
}
