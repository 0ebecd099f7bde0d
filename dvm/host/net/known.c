/* SPDX-License-Identifier: BSD-3-Clause */
/* The last good address of each name, so that a reconnect needs no name server.
 *
 * In: the address by which a handshake was completed, or at which it failed. Out: the address to
 * try first.
 *
 * An address is good after a completed handshake. It is doubted after a connection to it that
 * ended before the handshake did: another pod may have it now. dial.c asks the name servers before
 * it tries a doubted address. An address is never removed for that: while no name server answers,
 * it is all there is.
 *
 * Limit: NET_KNOWN_MAX names; the oldest is dropped. */
#include "base/buf/buf.h"
#include "dvm/host/net/net_private.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#define NET_KNOWN_MAX 256

struct net_known {
    char *name; /* "host port": the key */
    struct net_addr addr;
    bool doubted;
    UT_hash_handle hh;
};

static char *make_key(const char *host, uint16_t port)
{
    return xasprintf("%s %u", host, port);
}

static struct net_known *find_known(const struct net *n, const char *host, uint16_t port)
{
    FREE_AUTO char *key = make_key(host, port);
    struct net_known *k = NULL;

    HASH_FIND_STR(n->known, key, k);
    return k;
}

static bool is_numeric(const char *host)
{
    unsigned char addr[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, host, addr) == 1 || inet_pton(AF_INET6, host, addr) == 1;
}

static void drop_known(struct net *n, struct net_known *k)
{
    HASH_DELETE(hh, n->known, k);
    free(k->name);
    free(k);
}

void net_known_free_all(struct net *n)
{
    while (n->known)
        drop_known(n, n->known);
}

void net_known_good(struct net *n, const char *host, uint16_t port, const struct net_addr *addr)
{
    struct net_known *k = find_known(n, host, port);

    if (is_numeric(host))
        return;
    if (!k) {
        if (HASH_COUNT(n->known) >= NET_KNOWN_MAX)
            drop_known(n, n->known); /* uthash keeps the order of insertion */
        k = xcalloc(1, sizeof(*k));
        k->name = make_key(host, port);
        HASH_ADD_KEYPTR(hh, n->known, k->name, strlen(k->name), k);
    }
    k->addr = *addr;
    k->doubted = false;
}

void net_known_doubt(struct net *n, const char *host, uint16_t port, const struct net_addr *addr)
{
    struct net_known *k = find_known(n, host, port);

    if (k && net_addr_eq(&k->addr, addr))
        k->doubted = true;
}

bool net_known_find(const struct net *n, const char *host, uint16_t port, struct net_addr *addr,
                    bool *doubted)
{
    const struct net_known *k = find_known(n, host, port);

    if (!k)
        return false;
    *addr = k->addr;
    *doubted = k->doubted;
    return true;
}

bool net_addr_eq(const struct net_addr *a, const struct net_addr *b)
{
    return a->len == b->len && memcmp(&a->ss, &b->ss, a->len) == 0;
}
