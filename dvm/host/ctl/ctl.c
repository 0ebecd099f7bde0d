/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates the two servers; handles calls over HTTPS. */
#include "dvm/host/ctl/ctl.h"

#include "base/buf/buf.h"
#include "base/door/door.h"
#include "dvm/host/ctl/ctl_private.h"

#include <stdlib.h>
#include <string.h>

#define CONTROL_CONNS_MAX 512
#define CONTROL_STRANGERS_MAX 256 /* up to 90 KiB each, for its TLS handshake */
#define PLAIN_CONNS_MAX 256
#define CONTROL_FDS_PERCENT 5
#define PLAIN_FDS_PERCENT 3
#define SOURCE_PERCENT 50 /* of a port's places, for one address */
#define REQUEST_MS 5000
#define IDLE_MS 60000
#define PLAIN_BODY_MAX 1024

/* The answer is sent before the following actions of the core, which may end this program, and
 * after the records of what it answers are kept. */
static void answer_http(struct ctl *ctl, struct httpd_req *req, struct ctl_reply *rp)
{
    if (rp->input && ctl->keep)
        ctl->keep(ctl->drain_arg);
    if (rp->stream)
        ctl_stream_http(ctl, req, rp);
    else if (!ctl_answer_http(ctl, req, rp))
        httpd_reply_json(req, rp->status, rp->body);
    if (rp->input)
        ctl->drain(ctl->drain_arg);
}

/* The authority alone is not enough: a trust bundle may hold those of several clusters. */
static bool is_foreign(const struct ctl *ctl, const struct tls_peer *peer)
{
    return peer && strcmp(peer->cluster, ctl->own.cluster) != 0;
}

static json_t *body_of(const struct ctl_verb *verb, const struct httpd_req *req, struct err *err)
{
    size_t len;

    (void)httpd_body(req, &len);
    return verb->body || len ? httpd_body_json(req, err) : json_object();
}

static void on_request(struct httpd_req *req, void *arg)
{
    const struct ctl_route *route = arg;
    const struct tls_peer *peer = httpd_peer(req);
    struct ctl_request rq = {.role = peer ? api_role_of(peer->role) : API_ROLE_NONE,
                             .id = httpd_param(req, "id"),
                             .incarnation = httpd_query(req, "incarnation"),
                             .from = httpd_query(req, "from"),
                             .beat = httpd_query(req, "beat"),
                             .view = httpd_query(req, "view")};
    struct ctl_reply rp = {0};
    struct err err = {0};

    if (is_foreign(route->ctl, peer))
        ctl_refuse(&rp, 403, API_REASON_ROLE_NOT_ALLOWED,
                   "this is the DVM %s, the certificate is one of %s", route->ctl->own.cluster,
                   peer->cluster);
    else if (!(rq.body = body_of(route->verb, req, &err)))
        ctl_refuse(&rp, 400, API_REASON_BAD_REQUEST, "%s", err.msg);
    else
        ctl_call(route->ctl, route->verb, &rq, &rp);
    json_decref(rq.body);
    answer_http(route->ctl, req, &rp);
}

static int open_https(struct ctl *ctl, const struct ctl_opts *opts, struct err *err)
{
    struct httpd_opts ho = {.addr = opts->control_addr,
                            .port = opts->control_port,
                            .tls = opts->tls,
                            .max_body = API_BODY_MAX,
                            .max_conns = (int)door_share(CONTROL_CONNS_MAX, CONTROL_FDS_PERCENT),
                            .max_strangers =
                                (int)door_share(CONTROL_STRANGERS_MAX, CONTROL_FDS_PERCENT),
                            .source_percent = SOURCE_PERCENT,
                            .request_timeout_ms = REQUEST_MS,
                            .idle_timeout_ms = IDLE_MS};

    if (tls_ctx_own(opts->tls, &ctl->own, err) == 0)
        ctl->https = httpd_create(ctl->loop, &ho, err);
    if (!ctl->https)
        return err_wrap(err, "control API");
    ctl->routes = xcalloc(ctl_nverbs, sizeof(*ctl->routes));
    for (size_t i = 0; i < ctl_nverbs; i++) {
        ctl->routes[i] = (struct ctl_route){ctl, &ctl_verbs[i]};
        httpd_route(ctl->https, ctl_verbs[i].method, ctl_verbs[i].pattern, on_request,
                    &ctl->routes[i]);
    }
    return 0;
}

static int open_plain(struct ctl *ctl, const struct ctl_opts *opts, struct err *err)
{
    struct httpd_opts ho = {.addr = opts->plain_addr,
                            .port = opts->plain_port,
                            .max_body = PLAIN_BODY_MAX,
                            .max_conns = (int)door_share(PLAIN_CONNS_MAX, PLAIN_FDS_PERCENT),
                            .source_percent = SOURCE_PERCENT,
                            .request_timeout_ms = REQUEST_MS,
                            .idle_timeout_ms = IDLE_MS};

    ctl->plain = httpd_create(ctl->loop, &ho, err);
    if (!ctl->plain)
        return err_wrap(err, "health port");
    ctl_health_routes(ctl);
    return 0;
}

struct ctl *ctl_create(struct loop *loop, struct core *core, const struct ctl_opts *opts,
                       struct err *err)
{
    struct ctl *ctl = xcalloc(1, sizeof(*ctl));

    ctl->loop = loop;
    ctl->core = core;
    ctl->net = opts->net;
    ctl->has_file = opts->has_file;
    ctl->records = opts->records;
    ctl->drain = opts->drain;
    ctl->keep = opts->keep;
    ctl->drain_arg = opts->drain_arg;
    ctl_streams_init(ctl);
    if (opts->tls && open_https(ctl, opts, err) < 0)
        goto error;
    if (opts->plain_addr && open_plain(ctl, opts, err) < 0)
        goto error;
    return ctl;
error:
    ctl_destroy(ctl);
    return NULL;
}

void ctl_destroy(struct ctl *ctl)
{
    if (!ctl)
        return;
    httpd_destroy(ctl->https); /* closes its streams, which removes them from the list */
    httpd_destroy(ctl->plain);
    ctl_answers_free(ctl);
    ctl_streams_free(ctl);
    free(ctl->routes);
    free(ctl);
}

uint16_t ctl_control_port(const struct ctl *ctl)
{
    return ctl->https ? httpd_port(ctl->https) : 0;
}

uint16_t ctl_plain_port(const struct ctl *ctl)
{
    return ctl->plain ? httpd_port(ctl->plain) : 0;
}
