/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that give the length of their body twice. */
#include "base/httpd/test/client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define LENGTH "Content-Length: 2\r\n"

static void on_request(struct httpd_req *req, void *arg)
{
    httpd_reply_text(req, 200, "text/plain", "taken");
}

/* The bytes that a server sends until it closes the connection. */
static struct buf answer_to(const char *request)
{
    struct httpd_opts opts = {
        .addr = "127.0.0.1", .max_body = 1000, .max_conns = 8, .idle_timeout_ms = 60000};
    struct loop *loop = loop_create(NULL);
    struct httpd *h = httpd_create(loop, &opts, NULL);
    struct client client = {.loop = loop, .port = httpd_port(h), .request = request};

    httpd_route(h, "GET", "/x", on_request, NULL);
    httpd_route(h, "POST", "/x", on_request, NULL);
    client_run(&client);
    httpd_destroy(h);
    loop_destroy(loop);
    return client.answer;
}

/* The connection is closed, since its next bytes may belong to this body: they are not answered. */
static void two_lengths_of_a_body_are_refused(void **state)
{
    static const char *const bodies[] = {
        LENGTH LENGTH "\r\nok",
        LENGTH "Content-Length: 3\r\n\r\nok",
        "Content-Length: 2, 2\r\n\r\nok",
        LENGTH "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n" LENGTH "\r\n0\r\n\r\n",
        "Transfer-Encoding: identity\r\n" LENGTH "\r\nok",
    };

    for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
        FREE_AUTO char *request = xasprintf(
            "POST /x HTTP/1.1\r\n%sGET /x HTTP/1.1\r\nConnection: close\r\n\r\n", bodies[i]);
        BUF_AUTO struct buf answer = answer_to(request);
        const char *text = (const char *)answer.data;

        assert_int_equal(strncmp(text, "HTTP/1.1 400 ", 13), 0);
        assert_null(strstr(text + 1, "HTTP/1.1 "));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_lengths_of_a_body_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
