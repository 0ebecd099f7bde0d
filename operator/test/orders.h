/* SPDX-License-Identifier: BSD-3-Clause */
/* Orders of a test to a program that stands in for a server: a plain HTTP port of its own, and the
 * file that tells the test its ports. */
#ifndef OPERATOR_TEST_ORDERS_H
#define OPERATOR_TEST_ORDERS_H

#include "base/httpd/httpd.h"

#include <stdio.h>

struct order {
    const char *method;
    const char *path;
    httpd_fn *fn;
};

/* NULL and err: there is no port. */
static inline struct httpd *orders_open(struct loop *loop, const struct order *orders, size_t n,
                                        void *arg, struct err *err)
{
    struct httpd_opts o = {
        .addr = "127.0.0.1", .max_body = 4096, .max_conns = 16, .idle_timeout_ms = 600000};
    struct httpd *h = httpd_create(loop, &o, err);

    for (size_t i = 0; h && i < n; i++)
        httpd_route(h, orders[i].method, orders[i].path, orders[i].fn, arg);
    return h;
}

static inline void orders_done(struct httpd_req *req)
{
    httpd_reply_text(req, 200, "text/plain", "ok\n");
}

/* Writes `name`=`port` and ORDERS= to dir/ports, which appears as a whole. */
static inline int orders_write_ports(const struct httpd *orders, const char *dir, const char *name,
                                     unsigned port, struct err *err)
{
    FREE_AUTO char *path = xasprintf("%s/ports.new", dir);
    FREE_AUTO char *final = xasprintf("%s/ports", dir);
    FILE *out = fopen(path, "we");

    if (!out)
        return err_set(err, "cannot write %s", path);
    fprintf(out, "%s=%u\nORDERS=%u\n", name, port, httpd_port(orders));
    fclose(out);
    return rename(path, final) ? err_set(err, "cannot write %s", final) : 0;
}

#endif
