/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures the memory of the operator for each head that it follows.
 *
 *   follow [HEADS]
 *
 * A process of its own has the heads, each with an authority of its own. This one has a client for
 * each, which reads the view of its head when the stream of events is open. As in the operator, a
 * few clients at a time connect. */
#include "base/buf/buf.h"
#include "base/heap/heap.h"
#include "base/httpd/httpd.h"
#include "bench/figures.h"
#include "operator/dvm/dvm.h"

#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define HOST "x-head.ns.svc"
#define HEADS 300
#define AT_ONCE 16
#define LIMIT_MS 120000 /* until all streams are open and all views are read */
#define REST_MS 3000
#define BEAT_MS 1000

struct head {
    char *ca, *head_cert, *head_key, *cert, *key;
    struct tls_ctx *tls;
    struct httpd *httpd;
    struct httpd_stream *stream;
    uint16_t port;
    struct dvm_client *client;
};

static struct loop *loop;
static struct loop_timer *timer;
static struct http *http;
static struct head *heads;
static size_t nheads, nfollowed, nread;

static _Noreturn void stop(const char *why)
{
    fprintf(stderr, "bench: %s\n", why);
    exit(1);
}

static void stop_unless(bool good, const struct err *err)
{
    if (!good)
        stop(err->msg);
}

static void make_certificates(struct head *h)
{
    const char *const names[] = {HOST, NULL};
    struct err err = {0};
    struct tls_ca *ca = tls_ca_create("ns/x", 30, &err);

    stop_unless(ca, &err);
    h->ca = tls_ca_cert_pem(ca);
    stop_unless(!tls_ca_issue(ca, "head", "x-head-0", names, 30, &h->head_cert, &h->head_key, &err),
                &err);
    stop_unless(!tls_ca_issue(ca, "operator", "operator", NULL, 30, &h->cert, &h->key, &err), &err);
    tls_ca_destroy(ca);
}

/* --- the heads */

static void on_closed(void *arg)
{
    struct head *h = arg;

    h->stream = NULL;
}

static void send_line(const struct head *h)
{
    if (h->stream && httpd_stream_send(h->stream, "\n", 1) < 0)
        stop("a stream is full");
}

static void get_events(struct httpd_req *req, void *arg)
{
    struct head *h = arg;

    h->stream = httpd_stream_begin(req, "application/json", on_closed, h);
    send_line(h);
}

static void get_dvm(struct httpd_req *req, void *arg)
{
    httpd_reply_json(req, 200, json_object());
}

static void send_beats(void *arg)
{
    for (size_t i = 0; i < nheads; i++)
        send_line(&heads[i]);
    loop_timer_arm(timer, BEAT_MS);
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");

    if (!f || fputs(text, f) < 0 || fclose(f) != 0)
        stop("cannot write a file");
}

/* The files are read at once. */
static struct tls_ctx *create_tls(const struct head *h, const char *dir)
{
    FREE_AUTO char *ca = xasprintf("%s/ca", dir);
    FREE_AUTO char *cert = xasprintf("%s/cert", dir);
    FREE_AUTO char *key = xasprintf("%s/key", dir);
    struct err err = {0};

    write_file(ca, h->ca);
    write_file(cert, h->head_cert);
    write_file(key, h->head_key);
    struct tls_ctx *tls =
        tls_ctx_create(&(struct tls_files){.ca = ca, .cert = cert, .key = key}, &err);
    stop_unless(tls, &err);
    unlink(ca);
    unlink(cert);
    unlink(key);
    return tls;
}

static void open_head(struct head *h, const char *dir)
{
    struct err err = {0};

    h->tls = create_tls(h, dir);
    struct httpd_opts o = {.addr = "127.0.0.1",
                           .tls = h->tls,
                           .max_body = 4096,
                           .max_conns = 8,
                           .idle_timeout_ms = 600000};
    h->httpd = httpd_create(loop, &o, &err);
    stop_unless(h->httpd, &err);
    h->port = httpd_port(h->httpd);
    httpd_route(h->httpd, "GET", "/v1/events", get_events, h);
    httpd_route(h->httpd, "GET", "/v1/dvm", get_dvm, h);
}

/* Writes the port of each head to `out`. */
static _Noreturn void serve_heads(int out)
{
    char dir[] = "/tmp/dvm-bench-XXXXXX";
    struct err err = {0};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!mkdtemp(dir))
        stop("cannot make a directory");
    loop = loop_create(&err);
    stop_unless(loop, &err);
    for (size_t i = 0; i < nheads; i++)
        open_head(&heads[i], dir);
    rmdir(dir);
    for (size_t i = 0; i < nheads; i++) {
        if (write(out, &heads[i].port, sizeof(heads[i].port)) < 0)
            stop("cannot write the ports");
    }
    timer = loop_timer_create(loop, send_beats, NULL);
    loop_timer_arm(timer, BEAT_MS);
    stop_unless(!loop_run(loop, &err), &err);
    exit(0);
}

/* --- the operator's side */

static void follow_next(void);

static void on_view(int status, const json_t *body, const struct err *err, void *arg)
{
    if (status != 200)
        stop(err->msg);
    if (++nread == nheads)
        loop_timer_arm(timer, REST_MS);
    follow_next();
}

static void on_link(bool up, const char *why, void *arg)
{
    const struct head *h = arg;
    struct err err = {0};

    if (!up)
        stop(why);
    stop_unless(!dvm_client_get_dvm(h->client, on_view, arg, &err), &err);
}

static void follow_next(void)
{
    if (nfollowed == nheads)
        return;
    struct head *h = &heads[nfollowed++];
    FREE_AUTO char *connect = xasprintf("127.0.0.1:%d", h->port);
    struct err err = {0};
    struct dvm_client_opts o = {.host = HOST,
                                .connect = connect,
                                .port = 7443,
                                .http = http,
                                .ca_pem = h->ca,
                                .cert_pem = h->cert,
                                .key_pem = h->key,
                                .on_link = on_link,
                                .arg = h};
    h->client = dvm_client_create(loop, &o, &err);
    stop_unless(h->client, &err);
}

static void on_due(void *arg)
{
    loop_stop(loop);
}

static void measure_heads(void)
{
    struct err err = {0};

    malloc_trim(0);
    double heap = heap_bytes(), cpu = cpu_ms();
    long anonymous = self_kib("Anonymous:");
    for (int i = 0; i < AT_ONCE; i++)
        follow_next();
    loop_timer_arm(timer, LIMIT_MS);
    stop_unless(!loop_run(loop, &err), &err);
    if (nread < nheads)
        stop("some heads are not followed");
    malloc_trim(0);
    printf("{\"bench\": \"follow\", \"heads\": %zu, \"anonymous_bytes_per_head\": %.0f, "
           "\"heap_bytes_per_head\": %.0f, \"cpu_ms_per_head\": %.2f}\n",
           nheads, (double)(self_kib("Anonymous:") - anonymous) * 1024 / (double)nheads,
           (heap_bytes() - heap) / (double)nheads, (cpu_ms() - cpu) / (double)nheads);
}

int main(int argc, char **argv)
{
    struct err err = {0};
    int ends[2];

    heap_guard_json();
    heap_guard_events();
    heap_guard_crypto();
    nheads = argc > 1 ? strtoul(argv[1], NULL, 10) : HEADS;
    heads = xcalloc(nheads, sizeof(*heads));
    for (size_t i = 0; i < nheads; i++)
        make_certificates(&heads[i]);
    if (pipe(ends) < 0)
        stop("cannot make a pipe");
    if (fork() == 0)
        serve_heads(ends[1]);
    close(ends[1]);
    for (size_t i = 0; i < nheads; i++) {
        if (read(ends[0], &heads[i].port, sizeof(heads[i].port)) != sizeof(heads[i].port))
            stop("the heads have not started");
    }
    loop = loop_create(&err);
    stop_unless(loop, &err);
    timer = loop_timer_create(loop, on_due, NULL);
    http = http_create(loop, &err);
    stop_unless(http, &err);
    measure_heads();
    return 0;
}
