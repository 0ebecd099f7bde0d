/* SPDX-License-Identifier: BSD-3-Clause */
/* A proxy before the API server that makes requests fail, for tests of the operator.
 *
 *   faultproxy DIR URL CA-FILE TOKEN
 *
 * It listens on two ports of 127.0.0.1 and writes them to DIR/ports: PROXY= is plain HTTP for the
 * operator, ORDERS= is for the test. Each request is passed on over TLS with the token, or meets
 * the fault that the test has ordered.
 *
 * Orders (POST, all parameters optional):
 *   /fault?kind=K&percent=P&times=N&method=M&match=TEXT&retry=S&seed=D
 *       requests with that method whose target contains TEXT fail: P of 100, at most N of them,
 * drawn from D. K: 429 (Retry-After: S), 500, 403, reset, truncated, garbage, hang, lost, or mix
 * (any). A second order of the same kind replaces the first.
 *   /mend         no more faults
 *   /delay?min=A&max=B&seed=D
 *       each request from now on waits for A to B ms before it is passed on, also if the operator
 *       closes its connection meanwhile: a server with too much to do carries out what it has
 *       received. The events of a watch are not delayed.
 *   /kill?pid=P&after=N
 *       when the Nth write from now on (Events do not count) has been carried out, the process P is
 *       killed instead of answered; its line in the log has "kill"
 *   /silent?on=1  watches stay open, but nothing arrives on them any more; on=2: also on those that
 *                 are opened later; on=0: on those that are opened later everything arrives
 *   /forget       empties the log
 * GET /log: one line per request, "METHOD TARGET FAULT" with "-" for none.
 * GET /quiet: answered when no request has come for QUIET_MS since then. */
#include "base/log/log.h"
#include "operator/http/http.h"
#include "operator/http/test/fake_server.h"
#include "operator/test/orders.h"

#include <signal.h>
#include <stdio.h>

enum fault { NONE, F429, F500, F403, RESET, TRUNCATED, GARBAGE, HANG, LOST, KILL, FAULTS, MIX };
static const char *const NAMES[MIX + 1] = {"-",       "429",  "500",  "403",  "reset", "truncated",
                                           "garbage", "hang", "lost", "kill", "",      "mix"};
#define RULES_MAX (MIX + 1)
#define QUIET_MS 2000

struct rule {
    enum fault fault; /* NONE: unused */
    unsigned percent;
    long times; /* -1: without limit */
    char method[8];
    char match[128];
    char retry[8];
};

struct proxy {
    struct loop *loop;
    struct http *http;
    struct fake server;
    struct httpd *orders;
    struct httpd_req *quiet; /* waits for the operator to be quiet; NULL: none */
    struct loop_timer *quiet_timer;
    struct flow *flows;
    struct rule rules[RULES_MAX];
    bool silent; /* new watches are mute */
    pid_t victim;
    unsigned long writes_left; /* until it is killed; 0: it is not */
    unsigned long seed;
    unsigned long delay_min_ms, delay_max_ms;
    struct buf log;
    const char *url;
    char *ca;
    char *auth;
};

/* One request; kept until the end, since a call and a connection may end in any order. */
struct flow {
    struct proxy *p;
    struct fake_conn *conn; /* NULL: it is closed */
    struct http_call *call;
    enum fault fault;
    bool watch, mute;
    struct loop_timer *late;             /* NULL: it was not delayed */
    char *method, *target, *head, *body; /* of a delayed one */
    struct flow *prev, *next;
};

/* --- towards the operator */

static void on_drop(struct fake_conn *c)
{
    struct flow *f = c->user;

    if (!f)
        return;
    f->conn = NULL;
    http_cancel(f->call);
    f->call = NULL;
}

static void drop_later(void *arg)
{
    struct flow *f = arg;

    if (f->conn)
        fake_drop(f->conn);
}

/* Ends the connection by a reset. A request handler must not free its connection, so this waits
 * for the next turn. */
static void reset_flow(struct flow *f)
{
    struct linger hard = {.l_onoff = 1, .l_linger = 0};

    if (!f->conn)
        return;
    setsockopt(f->conn->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    loop_post(f->p->loop, drop_later, f);
}

static void refuse_flow(struct flow *f, int status, const char *header)
{
    FREE_AUTO char *body = xasprintf(
        "{\"kind\": \"Status\", \"code\": %d, \"message\": \"a fault on order\"}", status);
    FREE_AUTO char *text = xasprintf("HTTP/1.1 %d Fault\r\nContent-Type: application/json\r\n"
                                     "%sContent-Length: %zu\r\n\r\n%s",
                                     status, header, strlen(body), body);

    fake_text(f->conn, text);
}

static void answer_whole(struct flow *f, int status, const char *body, size_t len)
{
    FREE_AUTO char *head = xasprintf("HTTP/1.1 %d Word\r\nContent-Type: application/json\r\n"
                                     "Content-Length: %zu\r\n\r\n",
                                     status, len);

    fake_text(f->conn, head);
    fake_send(f->conn, body, f->fault == TRUNCATED ? len / 2 : len);
    if (f->fault == TRUNCATED)
        fake_close(f->conn);
}

/* --- towards the API server */

static void on_line(char *line, size_t len, void *arg)
{
    struct flow *f = arg;

    if (!f->conn || f->mute)
        return;
    FREE_AUTO char *whole = xasprintf("%s\n", line);
    if (f->fault == TRUNCATED)
        whole[len / 2] = '\0';
    fake_chunk(f->conn, whole);
    if (f->fault == TRUNCATED)
        fake_close(f->conn);
}

static void on_open(void *arg)
{
    struct flow *f = arg;

    if (f->conn && f->fault == LOST)
        reset_flow(f);
    else if (f->conn)
        fake_stream(f->conn);
}

static void on_end(const struct http_answer *a, void *arg)
{
    struct flow *f = arg;
    bool streamed = f->watch && a->status >= 200 && a->status < 300;

    f->call = NULL;
    if (f->fault == KILL && kill(f->p->victim, SIGKILL))
        log_warn("process %ld is not killed", (long)f->p->victim);
    if (!f->conn || (streamed && f->mute))
        return;
    if (a->status == 0)
        log_warn("upstream: %s", a->why);
    if (f->fault == LOST || f->fault == KILL || a->status == 0)
        reset_flow(f);
    else if (streamed)
        fake_stream_end(f->conn);
    else
        answer_whole(f, a->status, a->body, a->len);
}

/* The value of a header of the request; "" if absent. On the heap. */
static char *header_of(const char *head, const char *name)
{
    FREE_AUTO char *key = xasprintf("\r\n%s: ", name);
    const char *at = strcasestr(head, key);

    if (!at)
        return xstrdup("");
    at += strlen(key);
    return strndup(at, strcspn(at, "\r"));
}

static void pass_on(struct flow *f, const char *method, const char *target, const char *head,
                    const char *body)
{
    struct proxy *p = f->p;
    struct err err = {0};
    FREE_AUTO char *url = xasprintf("%s%s", p->url, target);
    FREE_AUTO char *kind = header_of(head, "Content-Type");
    FREE_AUTO char *type = xasprintf("Content-Type: %s", kind);
    /* Not the operator's own Accept: so it gets whole objects where it asks for metadata. */
    const char *headers[] = {"Accept: application/json", p->auth, *kind ? type : NULL, NULL};
    struct http_peer peer = {.ca_pem = p->ca};
    struct http_call_opts o = {.method = method,
                               .url = url,
                               .headers = headers,
                               .body = *body ? body : NULL,
                               .body_len = strlen(body),
                               .peer = &peer,
                               .max_body = 64u << 20,
                               .timeout_ms = 60000,
                               .on_line = f->watch ? on_line : NULL,
                               .on_open = f->watch ? on_open : NULL,
                               .on_end = on_end,
                               .arg = f};

    f->call = http_start(p->http, &o, &err);
    if (!f->call) {
        log_error("%s", err.msg);
        reset_flow(f);
    }
}

static void on_late(void *arg)
{
    struct flow *f = arg;

    pass_on(f, f->method, f->target, f->head, f->body);
}

static unsigned long draw_number(struct proxy *p)
{
    p->seed = p->seed * 6364136223846793005ul + 1442695040888963407ul;
    return p->seed >> 33;
}

static void pass_on_later(struct flow *f, const char *method, const char *target, const char *head,
                          const char *body)
{
    struct proxy *p = f->p;

    f->method = xstrdup(method);
    f->target = xstrdup(target);
    f->head = xstrdup(head);
    f->body = xstrdup(body);
    f->late = loop_timer_create(p->loop, on_late, f);
    loop_timer_arm(f->late,
                   p->delay_min_ms + draw_number(p) % (p->delay_max_ms - p->delay_min_ms + 1));
}

/* --- faults */

static struct rule *rule_for(struct proxy *p, const char *method, const char *target)
{
    for (int i = 0; i < RULES_MAX; i++) {
        struct rule *r = &p->rules[i];

        if (r->fault == NONE || !r->times || (r->method[0] && strcmp(r->method, method) != 0) ||
            !strstr(target, r->match))
            continue;
        if (draw_number(p) % 100 >= r->percent)
            continue;
        r->times -= r->times > 0;
        return r;
    }
    return NULL;
}

static enum fault fault_of(struct proxy *p, const struct rule *r)
{
    if (!r)
        return NONE;
    if (r->fault != MIX)
        return r->fault;
    return (enum fault)(1 + draw_number(p) % (KILL - 1));
}

/* True if the process is to be killed at this request. */
static bool is_last_write(struct proxy *p, const char *method, const char *target)
{
    return p->writes_left && strcmp(method, "GET") != 0 && !strstr(target, "/events/") &&
           --p->writes_left == 0;
}

static void send_garbage(struct flow *f)
{
    if (f->watch) {
        fake_stream(f->conn);
        fake_chunk(f->conn, "<html>who is this?</html>\n");
    } else {
        fake_reply(f->conn, 200, "<html>who is this?</html>");
    }
}

static void on_request(struct fake_conn *c, const char *method, const char *target,
                       const char *head, const char *body, void *arg)
{
    struct proxy *p = arg;
    struct rule *r = rule_for(p, method, target);
    struct flow *f = xcalloc(1, sizeof(*f));
    FREE_AUTO char *retry =
        r && r->retry[0] ? xasprintf("Retry-After: %s\r\n", r->retry) : xstrdup("");

    *f = (struct flow){.p = p, .conn = c, .fault = fault_of(p, r)};
    if (is_last_write(p, method, target))
        f->fault = KILL;
    f->watch = strstr(target, "watch=1") != NULL;
    f->mute = p->silent;
    DL_APPEND(p->flows, f);
    if (p->quiet)
        loop_timer_arm(p->quiet_timer, QUIET_MS);
    if (c->user) /* the connection is used again */
        ((struct flow *)c->user)->conn = NULL;
    c->user = f;
    FREE_AUTO char *line = xasprintf("%s %s %s\n", method, target, NAMES[f->fault]);
    buf_put_raw(&p->log, line, strlen(line));
    switch (f->fault) {
    case F429:
        refuse_flow(f, 429, retry);
        return;
    case F500:
    case F403:
        refuse_flow(f, f->fault == F500 ? 500 : 403, "");
        return;
    case RESET:
        reset_flow(f);
        return;
    case GARBAGE:
        send_garbage(f);
        return;
    case HANG:
        return;
    default:
        if (p->delay_max_ms)
            pass_on_later(f, method, target, head, body);
        else
            pass_on(f, method, target, head, body);
    }
}

/* --- orders */

static const char *query(const struct httpd_req *req, const char *name, const char *otherwise)
{
    const char *v = httpd_query(req, name);

    return v ? v : otherwise;
}

static void on_fault(struct httpd_req *req, void *arg)
{
    struct proxy *p = arg;
    const char *kind = query(req, "kind", "mix");

    for (int k = 1; k <= MIX; k++) {
        struct rule *r = &p->rules[k];

        if (k == KILL || k == FAULTS || strcmp(NAMES[k], kind) != 0)
            continue;
        p->seed = strtoul(query(req, "seed", "42"), NULL, 10);
        *r = (struct rule){.fault = (enum fault)k,
                           .percent = (unsigned)strtoul(query(req, "percent", "100"), NULL, 10),
                           .times = strtol(query(req, "times", "-1"), NULL, 10)};
        snprintf(r->method, sizeof(r->method), "%s", query(req, "method", ""));
        snprintf(r->match, sizeof(r->match), "%s", query(req, "match", ""));
        snprintf(r->retry, sizeof(r->retry), "%s", query(req, "retry", ""));
        orders_done(req);
        return;
    }
    httpd_refuse(req, 400, "UnknownFault", "%s", kind);
}

static void on_mend(struct httpd_req *req, void *arg)
{
    struct proxy *p = arg;

    memset(p->rules, 0, sizeof(p->rules));
    orders_done(req);
}

static void on_delay(struct httpd_req *req, void *arg)
{
    struct proxy *p = arg;

    p->seed = strtoul(query(req, "seed", "42"), NULL, 10);
    p->delay_min_ms = strtoul(query(req, "min", "0"), NULL, 10);
    p->delay_max_ms = strtoul(query(req, "max", "0"), NULL, 10);
    if (p->delay_max_ms < p->delay_min_ms)
        p->delay_max_ms = p->delay_min_ms;
    orders_done(req);
}

static void on_kill(struct httpd_req *req, void *arg)
{
    struct proxy *p = arg;

    p->victim = (pid_t)strtol(query(req, "pid", "0"), NULL, 10);
    p->writes_left = p->victim > 1 ? strtoul(query(req, "after", "1"), NULL, 10) : 0;
    orders_done(req);
}

static void on_silent(struct httpd_req *req, void *arg)
{
    struct proxy *p = arg;

    const char *on = query(req, "on", "1");
    struct flow *f;

    p->silent = *on == '2';
    DL_FOREACH(p->flows, f)
    {
        f->mute = f->mute || *on != '0';
    }
    orders_done(req);
}

static void on_forget(struct httpd_req *req, void *arg)
{
    struct proxy *p = arg;

    buf_consume(&p->log, p->log.len);
    orders_done(req);
}

static void on_log(struct httpd_req *req, void *arg)
{
    struct proxy *p = arg;
    FREE_AUTO char *text =
        xasprintf("%.*s", (int)p->log.len, p->log.len ? (char *)p->log.data : "");

    httpd_reply_text(req, 200, "text/plain", text);
}

static void on_quiet(struct httpd_req *req, void *arg)
{
    struct proxy *p = arg;

    if (p->quiet) {
        httpd_refuse(req, 409, "Waiting", "another test waits");
        return;
    }
    p->quiet = req;
    loop_timer_arm(p->quiet_timer, QUIET_MS);
}

static void end_quiet(void *arg)
{
    struct proxy *p = arg;

    if (p->quiet)
        orders_done(p->quiet);
    p->quiet = NULL;
}

static const struct order ORDERS[] = {{"POST", "/fault", on_fault},   {"POST", "/mend", on_mend},
                                      {"POST", "/silent", on_silent}, {"POST", "/kill", on_kill},
                                      {"POST", "/forget", on_forget}, {"POST", "/delay", on_delay},
                                      {"GET", "/log", on_log},        {"GET", "/quiet", on_quiet}};

static char *read_file(const char *path, struct err *err)
{
    char text[65536];
    FILE *in = fopen(path, "re");
    size_t n = in ? fread(text, 1, sizeof(text) - 1, in) : 0;

    if (in)
        fclose(in);
    text[n] = '\0';
    if (!n)
        err_set(err, "cannot read %s", path);
    return n ? xstrdup(text) : NULL;
}

static int open_all(struct proxy *p, char **argv, struct err *err)
{
    p->url = argv[2];
    p->ca = read_file(argv[3], err);
    p->auth = xasprintf("Authorization: Bearer %s", argv[4]);
    buf_init(&p->log, 64u << 20);
    p->loop = p->ca ? loop_create(err) : NULL;
    p->http = p->loop ? http_create(p->loop, err) : NULL;
    if (!p->http)
        return -1;
    p->quiet_timer = loop_timer_create(p->loop, end_quiet, p);
    fake_start(&p->server, p->loop, 0, on_request, p);
    p->server.on_drop = on_drop;
    p->orders = orders_open(p->loop, ORDERS, sizeof(ORDERS) / sizeof(ORDERS[0]), p, err);
    return p->orders ? orders_write_ports(p->orders, argv[1], "PROXY", p->server.port, err) : -1;
}

static void on_signal(int signum, void *arg)
{
    struct proxy *p = arg;

    loop_stop(p->loop);
}

static void free_flow(struct flow *f)
{
    loop_timer_destroy(f->late);
    free(f->method);
    free(f->target);
    free(f->head);
    free(f->body);
    free(f);
}

int main(int argc, char **argv)
{
    static struct proxy p;
    struct err err = {0};
    struct flow *f, *tmp;

    if (argc != 5) {
        fprintf(stderr, "usage: faultproxy DIR URL CA-FILE TOKEN\n");
        return 2;
    }
    log_init("faultproxy", LOG_LEVEL_INFO);
    if (open_all(&p, argv, &err)) {
        log_error("%s", err.msg);
        return 1;
    }
    struct loop_signal *term = loop_signal_create(p.loop, SIGTERM, on_signal, &p);
    int rc = loop_run(p.loop, &err);
    loop_signal_destroy(term);
    end_quiet(&p);
    loop_timer_destroy(p.quiet_timer);
    fake_stop(&p.server);
    httpd_destroy(p.orders);
    http_destroy(p.http);
    DL_FOREACH_SAFE(p.flows, f, tmp)
    {
        free_flow(f);
    }
    loop_destroy(p.loop);
    buf_free(&p.log);
    free(p.ca);
    free(p.auth);
    return rc ? 1 : 0;
}
