/* SPDX-License-Identifier: BSD-3-Clause */
/* Names to addresses, without blocking. Each lookup asks again, since the address of a pod changes.
 *
 * In: a host name and a port. Out: one answer per family of addresses, each when it comes. An
 * answer is an addrinfo list or an error.
 *
 * A family is asked for only if this host has an address of it (resolv.c). Each family is a query
 * of its own: libevent waits 3 s for the second answer of a query for both. Absolute names have a
 * resolver without a search list, so that no query leaves the cluster.
 *
 * Limits: a query without an answer is sent again after QUERY_TIMEOUT_S, QUERY_ATTEMPTS times. */
#include "base/buf/buf.h"
#include "base/log/log.h"
#include "dvm/host/net/net_private.h"
#include "dvm/host/net/resolv.h"

#include <event2/dns.h>
#include <event2/util.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define RESOLV_CONF "/etc/resolv.conf"
#define QUERY_TIMEOUT_S "1"
#define QUERY_ATTEMPTS "5"

/* Answers to come whose net was destroyed. libevent gives them on the loop's next turn, or at the
 * loop's end. */
struct orphans {
    struct event_base *base;
    size_t n;
};

/* One pending lookup. */
struct net_lookup {
    struct net *net; /* otherwise: */
    struct orphans *orphans;
    uint64_t conn;
    net_lookup_fn *fn;
    unsigned pending; /* answers to come */
    struct net_lookup *prev, *next;
};

static void on_family(int gai_error, struct evutil_addrinfo *list, void *arg)
{
    struct net_lookup *l = arg;
    struct net_lookup_answer a = {gai_error, list, --l->pending == 0};

    if (!gai_error && !list) /* the hosts file has only addresses of another family */
        a.gai_error = EVUTIL_EAI_NODATA;
    if (l->net) {
        if (a.last)
            DL_DELETE(l->net->lookups, l);
        l->fn(l->net, l->conn, &a);
    } else {
        l->orphans->n--;
    }
    if (list)
        evutil_freeaddrinfo(list);
    if (a.last)
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

static const char *resolv_conf(const struct net *n)
{
    return n->resolv_conf ? n->resolv_conf : RESOLV_CONF;
}

static struct evdns_base *get_resolver(struct net *n, bool absolute)
{
    struct evdns_base **dns = &n->dns[absolute];
    int flags = DNS_OPTIONS_ALL & ~(absolute ? DNS_OPTION_SEARCH : 0);

    if (*dns)
        return *dns;
    *dns = evdns_base_new(loop_base(n->loop), EVDNS_BASE_DISABLE_WHEN_INACTIVE);
    if (!*dns)
        return NULL;
    /* Without the file, or if it names no server, the resolver falls back to the local server
     * and the hosts file. */
    if (evdns_base_resolv_conf_parse(*dns, flags, resolv_conf(n)) != 0)
        log_debug("no name server is configured file=%s", resolv_conf(n));
    evdns_base_set_option(*dns, "timeout:", QUERY_TIMEOUT_S);
    evdns_base_set_option(*dns, "attempts:", QUERY_ATTEMPTS);
    return *dns;
}

static struct evutil_addrinfo hints_of(int family)
{
    return (struct evutil_addrinfo){
        .ai_family = family, .ai_socktype = SOCK_STREAM, .ai_protocol = IPPROTO_TCP};
}

static bool answer_numeric(struct net *n, uint64_t conn, const char *host, const char *service,
                           net_lookup_fn *fn)
{
    struct evutil_addrinfo hints = hints_of(AF_UNSPEC);
    struct net_lookup_answer a = {.last = true};

    hints.ai_flags = EVUTIL_AI_NUMERICHOST;
    if (evutil_getaddrinfo(host, service, &hints, &a.list) != 0)
        return false;
    fn(n, conn, &a);
    evutil_freeaddrinfo(a.list);
    return true;
}

void net_lookup_start(struct net *n, uint64_t conn, const char *host, uint16_t port,
                      net_lookup_fn *fn)
{
    static const int families[] = {AF_INET, AF_INET6};
    FREE_AUTO char *absolute = NULL;
    struct evdns_base *dns;
    struct net_lookup *l;
    unsigned wanted;
    char service[8];

    snprintf(service, sizeof(service), "%u", port);
    if (answer_numeric(n, conn, host, service, fn))
        return;
    wanted = n->families ? n->families : resolv_families(); /* asks the kernel */
    absolute = resolv_absolute(resolv_conf(n), host);
    dns = get_resolver(n, absolute != NULL);
    if (!dns) {
        fn(n, conn, &(struct net_lookup_answer){EVUTIL_EAI_MEMORY, NULL, true});
        return;
    }
    l = xcalloc(1, sizeof(*l));
    l->net = n;
    l->conn = conn;
    l->fn = fn;
    l->pending = wanted == RESOLV_BOTH ? 2 : 1;
    DL_APPEND(n->lookups, l);
    for (unsigned i = 0; i < 2; i++) { /* the last answer frees `l`, perhaps within the call */
        struct evutil_addrinfo hints = hints_of(families[i]);

        if (wanted & 1u << i)
            evdns_getaddrinfo(dns, absolute ? absolute : host, service, &hints, on_family, l);
    }
}

static void free_resolvers(struct net *n)
{
    for (unsigned i = 0; i < 2; i++) {
        if (n->dns[i])
            evdns_base_free(n->dns[i], 1); /* schedules the answer "shut down" for each query */
        n->dns[i] = NULL;
    }
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
        o->n += l->pending;
    }
    free_resolvers(n);
    if (!o)
        return;
    o->base = loop_base(n->loop);
    loop_post(n->loop, on_orphans, o);
}
