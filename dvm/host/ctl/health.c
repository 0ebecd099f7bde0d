/* SPDX-License-Identifier: BSD-3-Clause */
/* The plain port: /healthz, /readyz, /metrics. It reveals no secret and changes nothing. */
#include "base/buf/buf.h"
#include "dvm/host/ctl/ctl_private.h"

#include <stdlib.h>

#define TEXT "text/plain; charset=utf-8"
#define EXPOSITION "text/plain; version=0.0.4; charset=utf-8"

/* An answer shows that the loop runs. */
static void on_healthz(struct httpd_req *req, void *arg)
{
    httpd_reply_text(req, 200, TEXT, "ok\n");
}

static void on_readyz(struct httpd_req *req, void *arg)
{
    struct ctl *ctl = arg;
    FREE_AUTO char *text = xasprintf("%s\n", core_state_text(ctl->core));

    httpd_reply_text(req, core_state(ctl->core) == CORE_WIRED ? 200 : 503, TEXT, text);
}

static void on_metrics(struct httpd_req *req, void *arg)
{
    FREE_AUTO char *text = ctl_metrics_text(arg);

    httpd_reply_text(req, 200, EXPOSITION, text);
}

void ctl_health_routes(struct ctl *ctl)
{
    httpd_route(ctl->plain, "GET", "/healthz", on_healthz, ctl);
    httpd_route(ctl->plain, "GET", "/readyz", on_readyz, ctl);
    httpd_route(ctl->plain, "GET", "/metrics", on_metrics, ctl);
}
