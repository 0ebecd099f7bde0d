/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target of the HTTP client: the input is all that a server sends, over loopback; first it is
 * read as a whole answer, then as a stream, then as a quiet stream. Each call must end once, within
 * its limits. */
#include "base/buf/buf.h"
#include "base/loop/loop.h"
#include "operator/http/http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BODY_MAX 4096

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct loop *loop;
static struct loop_fd *listening, *conn;
static int listen_fd, conn_fd = -1;
static char *url;

static struct {
    const uint8_t *data;
    size_t size;
    unsigned ends;
} now;

static void close_conn(void)
{
    loop_fd_destroy(conn);
    conn = NULL;
    if (conn_fd >= 0)
        close(conn_fd);
    conn_fd = -1;
}

/* Answers when the request has arrived, and closes the connection. */
static void on_request(int fd, int events, void *arg)
{
    char request[2048];

    if (recv(fd, request, sizeof(request), MSG_DONTWAIT) > 0)
        (void)!send(fd, now.data, now.size, MSG_NOSIGNAL | MSG_DONTWAIT);
    shutdown(fd, SHUT_WR);
    close_conn();
}

static void on_connection(int fd, int events, void *arg)
{
    close_conn();
    conn_fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
    if (conn_fd >= 0)
        conn = loop_fd_create(loop, conn_fd, LOOP_READ, on_request, NULL);
}

static void on_line(char *line, size_t len, void *arg)
{
    if (len > BODY_MAX || strlen(line) > len)
        abort();
}

static void on_end(const struct http_answer *a, void *arg)
{
    if (++now.ends > 1 || a->len > BODY_MAX || (a->status == 0) != (a->why[0] != '\0'))
        abort();
    loop_stop(loop);
}

static void run_call(bool stream, bool quiet)
{
    struct err err = {0};
    struct http *http = http_create(loop, &err);
    const struct http_peer peer = {0};
    const struct http_call_opts o = {.method = "GET",
                                     .url = url,
                                     .peer = &peer,
                                     .max_body = BODY_MAX,
                                     .timeout_ms = 5000,
                                     .silence_ms = 5000,
                                     .on_line = stream ? on_line : NULL,
                                     .quiet = quiet,
                                     .on_end = on_end};

    now.ends = 0;
    if (!http || !http_start(http, &o, &err) || loop_run(loop, &err) < 0 || now.ends != 1)
        abort();
    http_destroy(http);
    close_conn();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 16384)
        return 0;
    now.data = data;
    now.size = size;
    run_call(false, false);
    run_call(true, false);
    run_call(true, true);
    return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    struct err err = {0};

    loop = loop_create(&err);
    listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (!loop || bind(listen_fd, (struct sockaddr *)&at, len) < 0 || listen(listen_fd, 8) < 0 ||
        getsockname(listen_fd, (struct sockaddr *)&at, &len) < 0)
        abort();
    url = xasprintf("http://127.0.0.1:%u/", ntohs(at.sin_port));
    listening = loop_fd_create(loop, listen_fd, LOOP_READ, on_connection, NULL);
    return 0;
}
