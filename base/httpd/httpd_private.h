/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of the HTTP server share: connections, requests, routes. */
#ifndef BASE_HTTPD_HTTPD_PRIVATE_H
#define BASE_HTTPD_HTTPD_PRIVATE_H

#include "base/httpd/httpd.h"

#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <stdbool.h>

#define HTTPD_PARAMS_MAX 8

struct httpd_params {
    size_t n;
    struct {
        char *name;
        char *value;
    } at[HTTPD_PARAMS_MAX];
};

struct httpd_conn;

/* Lives from dispatch until it is answered. `ev` and `conn` are NULL once the connection is closed:
 * the handler may still answer, and the answer is discarded. */
struct httpd_req {
    struct loop *loop;
    struct httpd_conn *conn;
    void (*on_answered)(struct httpd_conn *conn); /* its connection may take the next one */
    struct evhttp_request *ev;
    void (*on_peer_closed)(void *arg); /* set while the request is answered by a stream */
    void *peer_closed_arg;
    struct httpd_params params;
    struct evkeyvalq query;
    bool has_peer;
    struct tls_peer peer;
};

struct httpd_routes;
struct httpd_routes *httpd_routes_create(void);
void httpd_routes_destroy(struct httpd_routes *r);
void httpd_routes_add(struct httpd_routes *r, const char *method, const char *pattern, httpd_fn *fn,
                      void *arg);
/* 200: *fn and *arg are set and params filled; 404; or 405 and *allow is a list of methods (the
 * caller frees). */
int httpd_routes_find(const struct httpd_routes *r, const char *method, const char *path,
                      struct httpd_params *params, httpd_fn **fn, void **arg, char **allow);
void httpd_params_clear(struct httpd_params *params);

void httpd_req_destroy(struct httpd_req *req);
/* The connection closes, and `ev` is freed with it unless libevent has left it to us. */
void httpd_req_on_closed(struct httpd_req *req);

#endif
