/* SPDX-License-Identifier: BSD-3-Clause */
/* No answer of the server, and no event of a stream, waits for the client's acknowledgement of the
 * one before (Nagle's algorithm). */
#include "base/httpd/test/client.h"

#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define FDS_MAX 64

/* The connection that the server on this port has accepted; -1: there is none. */
static int accepted_socket(uint16_t port)
{
    for (int fd = 0; fd < FDS_MAX; fd++) {
        struct sockaddr_in own, peer;
        socklen_t own_len = sizeof(own), peer_len = sizeof(peer);

        if (getpeername(fd, (struct sockaddr *)&peer, &peer_len) == 0 &&
            getsockname(fd, (struct sockaddr *)&own, &own_len) == 0 && own.sin_family == AF_INET &&
            ntohs(own.sin_port) == port)
            return fd;
    }
    return -1;
}

static void on_request(struct httpd_req *req, void *arg)
{
    struct httpd **h = arg;
    int value = 0;
    socklen_t len = sizeof(value);

    assert_int_equal(
        getsockopt(accepted_socket(httpd_port(*h)), IPPROTO_TCP, TCP_NODELAY, &value, &len), 0);
    httpd_reply_text(req, value ? 200 : 500, "text/plain", "");
}

static void connections_are_accepted_without_delay_of_small_packets(void **state)
{
    struct httpd_opts opts = {
        .addr = "127.0.0.1", .max_body = 1000, .max_conns = 8, .idle_timeout_ms = 60000};
    struct loop *loop = loop_create(NULL);
    struct httpd *h = httpd_create(loop, &opts, NULL);
    struct client client = {.loop = loop,
                            .port = httpd_port(h),
                            .request = "GET /x HTTP/1.1\r\nConnection: close\r\n\r\n"};

    httpd_route(h, "GET", "/x", on_request, &h);
    client_run(&client);
    assert_int_equal(strncmp((const char *)client.answer.data, "HTTP/1.1 200 ", 13), 0);
    buf_free(&client.answer);
    httpd_destroy(h);
    loop_destroy(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connections_are_accepted_without_delay_of_small_packets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
