/* SPDX-License-Identifier: BSD-3-Clause */
/* Resolves names without blocking. Each attempt asks again, since the address of a pod changes. */
#include "base/buf/buf.h"
#include "base/log/log.h"
#include "dvm/host/net/net_private.h"

#include <event2/dns.h>
#include <event2/util.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

#define RESOLV_CONF "/etc/resolv.conf"

/* Queries whose net was destroyed before their answer. libevent answers them on the loop's next
 * turn, or at the loop's end. */
struct orphans {
    struct event_base *base;
    size_t n;
};

/* One pending query. */
struct net_lookup {
    struct net *net; /* otherwise: */
    struct orphans *orphans;
    uint64_t conn;
    net_lookup_fn *fn;
    struct net_lookup *prev, *next;
};

static void on_answer(int gai_error, struct evutil_addrinfo *list, void *arg)
{
    struct net_lookup *l = arg;

    if (l->net) {
        DL_DELETE(l->net->lookups, l);
        l->fn(l->net, l->conn, gai_error, list);
    } else {
        l->orphans->n--;
        if (list)
            evutil_freeaddrinfo(list);
    }
    free(l);
}

/* Posted: comes a turn later, or from loop_destroy() if nothing else is left on the base. */
static void on_orphans(void *arg)
{
    struct orphans *o = arg;

    if (o->n)
        event_base_loop(o->base, EVLOOP_NONBLOCK);
    if (!o->n)
        free(o);
}

static struct evdns_base *get_resolver(struct net *n)
{
    if (n->dns)
        return n->dns;
    n->dns = evdns_base_new(loop_base(n->loop), EVDNS_BASE_DISABLE_WHEN_INACTIVE);
    /* Without the file, or if it names no server, the resolver falls back to the local server
     * and the hosts file. */
    if (n->dns && evdns_base_resolv_conf_parse(n->dns, DNS_OPTIONS_ALL, RESOLV_CONF) != 0)
        log_debug("no name server is configured file=" RESOLV_CONF);
    return n->dns;
}

void net_lookup_start(struct net *n, uint64_t conn, const char *host, uint16_t port,
                      net_lookup_fn *fn)
{
    struct evutil_addrinfo hints = {.ai_family = AF_UNSPEC,
                                    .ai_socktype = SOCK_STREAM,
                                    .ai_protocol = IPPROTO_TCP,
                                    .ai_flags = EVUTIL_AI_NUMERICHOST};
    struct evutil_addrinfo *list = NULL;
    struct net_lookup *l;
    char service[8];

    snprintf(service, sizeof(service), "%u", port);
    if (evutil_getaddrinfo(host, service, &hints, &list) == 0) {
        fn(n, conn, 0, list);
        return;
    }
    if (!get_resolver(n)) {
        fn(n, conn, EVUTIL_EAI_MEMORY, NULL);
        return;
    }
    l = xcalloc(1, sizeof(*l));
    l->net = n;
    l->conn = conn;
    l->fn = fn;
    DL_APPEND(n->lookups, l);
    hints.ai_flags = 0;
    evdns_getaddrinfo(n->dns, host, service, &hints, on_answer, l);
}

void net_lookup_cancel_all(struct net *n)
{
    struct orphans *o = n->lookups ? xcalloc(1, sizeof(*o)) : NULL;
    struct net_lookup *l;
    struct net_lookup *next;

    DL_FOREACH_SAFE(n->lookups, l, next)
    {
        DL_DELETE(n->lookups, l);
        l->net = NULL;
        l->orphans = o;
        o->n++;
    }
    if (n->dns)
        evdns_base_free(n->dns, 1); /* schedules the answer "shut down" for each query */
    n->dns = NULL;
    if (!o)
        return;
    o->base = loop_base(n->loop);
    loop_post(n->loop, on_orphans, o);
}
