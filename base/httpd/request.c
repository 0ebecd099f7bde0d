/* SPDX-License-Identifier: BSD-3-Clause */
/* The request as a handler sees it, and the answer to it.
 *
 * In: a dispatched struct httpd_req, and one answer of its handler, at once or later. Out: the
 * request's parameters, query, body and peer; the answer for libevent.
 *
 * Invariants: an answer frees the request. Before that, it reports its connection as free for the
 * next request. After the peer has closed, `ev` is NULL: the body is empty and the answer is
 * discarded. Every answer says that it is not to be stored in a cache. An answer to HEAD has no
 * body.
 *
 * Failures: a body that is no JSON object, or has a key twice, is an error for the handler. An
 * answer that cannot be encoded becomes a 500 with a log line. A refusal's text is cut at
 * MESSAGE_MAX. If it is not UTF-8, all its bytes beyond ASCII become '?'. Streams are in stream.c.
 */
#include "base/httpd/httpd_private.h"

#include "base/buf/buf.h"
#include "base/log/log.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define MESSAGE_MAX 1024

void httpd_req_destroy(struct httpd_req *req)
{
    httpd_params_clear(&req->params);
    evhttp_clear_headers(&req->query);
    free(req);
}

void httpd_req_on_closed(struct httpd_req *req)
{
    /* When the peer closes, libevent detaches an unanswered request and its owner must free it.
     * When the server is freed, libevent frees the request itself. */
    if (!evhttp_request_get_connection(req->ev))
        evhttp_request_free(req->ev);
    req->ev = NULL;
    req->conn = NULL;
    if (req->on_peer_closed)
        req->on_peer_closed(req->peer_closed_arg);
}

const char *httpd_param(const struct httpd_req *req, const char *name)
{
    for (size_t i = 0; i < req->params.n; i++) {
        if (strcmp(req->params.at[i].name, name) == 0)
            return req->params.at[i].value;
    }
    return NULL;
}

const char *httpd_query(const struct httpd_req *req, const char *name)
{
    return evhttp_find_header(&req->query, name);
}

const void *httpd_body(const struct httpd_req *req, size_t *len)
{
    struct evbuffer *in = req->ev ? evhttp_request_get_input_buffer(req->ev) : NULL;

    *len = in ? evbuffer_get_length(in) : 0;
    return *len ? (const void *)evbuffer_pullup(in, -1) : "";
}

json_t *httpd_body_json(const struct httpd_req *req, struct err *err)
{
    json_error_t why;
    size_t len;
    const char *text = httpd_body(req, &len);
    json_t *j = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);

    if (!j) {
        err_set(err, "the body is not JSON: line %d, column %d: %s", why.line, why.column,
                why.text);
        return NULL;
    }
    if (!json_is_object(j)) {
        err_set(err, "the body is JSON but not an object");
        json_decref(j);
        return NULL;
    }
    return j;
}

const struct tls_peer *httpd_peer(const struct httpd_req *req)
{
    return req->has_peer ? &req->peer : NULL;
}

const char *httpd_bearer(const struct httpd_req *req)
{
    static const char scheme[] = "Bearer ";
    const char *text =
        req->ev ? evhttp_find_header(evhttp_request_get_input_headers(req->ev), "Authorization")
                : NULL;

    if (!text || strncasecmp(text, scheme, sizeof(scheme) - 1) != 0)
        return NULL;
    text += sizeof(scheme) - 1;
    return text + strspn(text, " ");
}

bool httpd_from_loopback(const struct httpd_req *req)
{
    struct evhttp_connection *conn = req->ev ? evhttp_request_get_connection(req->ev) : NULL;
    struct sockaddr_storage from = {0};
    socklen_t len = sizeof(from);

    if (!conn || getpeername(bufferevent_getfd(evhttp_connection_get_bufferevent(conn)),
                             (struct sockaddr *)&from, &len) < 0)
        return false;
    if (from.ss_family == AF_INET)
        return ntohl(((struct sockaddr_in *)&from)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    const struct in6_addr *a = &((struct sockaddr_in6 *)&from)->sin6_addr;
    return from.ss_family == AF_INET6 &&
           (IN6_IS_ADDR_LOOPBACK(a) ||
            (IN6_IS_ADDR_V4MAPPED(a) && a->s6_addr[12] == IN_LOOPBACKNET));
}

static void add_header(struct httpd_req *req, const char *name, const char *value)
{
    evhttp_add_header(evhttp_request_get_output_headers(req->ev), name, value);
}

static void send_reply(struct httpd_req *req, int status, const char *type, const void *data,
                       size_t len)
{
    struct evhttp_request *ev = req->ev;
    struct evbuffer *out;

    if (!ev) {
        httpd_req_destroy(req);
        return;
    }
    out = evbuffer_new();
    add_header(req, "Content-Type", type);
    add_header(req, "Cache-Control", "no-store");
    /* libevent would send the body of an answer to HEAD, which must have none. */
    if (evhttp_request_get_command(ev) != EVHTTP_REQ_HEAD && out)
        evbuffer_add(out, data, len);
    req->on_answered(req->conn);
    httpd_req_destroy(req);
    evhttp_send_reply(ev, status, NULL, out);
    if (out)
        evbuffer_free(out);
}

void httpd_reply_text(struct httpd_req *req, int status, const char *type, const char *text)
{
    send_reply(req, status, type, text, strlen(text));
}

void httpd_reply_json(struct httpd_req *req, int status, json_t *body)
{
    FREE_AUTO char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;

    json_decref(body);
    if (!text) {
        log_error("http: an answer could not be encoded status=%d", status);
        httpd_reply_text(req, HTTP_INTERNAL, "text/plain", "the answer could not be encoded\n");
        return;
    }
    send_reply(req, status, "application/json", text, strlen(text));
}

static json_t *refusal_body(int status, const char *reason, const char *message)
{
    return json_pack("{s:{s:i,s:s,s:s}}", "error", "status", status, "reason", reason, "message",
                     message);
}

static void make_ascii(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text >= 0x80)
            *text = '?';
    }
}

void httpd_refuse(struct httpd_req *req, int status, const char *reason, const char *fmt, ...)
{
    char message[MESSAGE_MAX];
    json_t *body;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(message, sizeof(message), fmt, ap);
    va_end(ap);
    body = refusal_body(status, reason, message);
    if (!body) {
        /* The message is not UTF-8: it quotes the request, or it was cut within a character. */
        make_ascii(message);
        body = refusal_body(status, reason, message);
    }
    httpd_reply_json(req, status, body);
}
