/* SPDX-License-Identifier: BSD-3-Clause */
/* The addresses at which other daemons reach this one.
 *
 * In: a list from the command line or the environment, and the host's interfaces. Out: numeric
 * addresses, and where to listen for them.
 *
 * Invariant: an address that is only good within this host (loopback) is never in one list with
 * others. Link-local IPv6, multicast and unspecified addresses are in no list of several. So no
 * daemon offers its peers a second address that they cannot call. */
#include "dvm/host/net/addresses.h"

#include "base/buf/buf.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

enum reach { REACH_NONE, REACH_HOST, REACH_ALL, REACH_NAME };

static enum reach reach_v4(const struct in_addr *a)
{
    uint32_t v = ntohl(a->s_addr);

    if (v >> 24 == IN_LOOPBACKNET)
        return REACH_HOST;
    if (v >> 24 == 0 || IN_MULTICAST(v) || v == INADDR_BROADCAST)
        return REACH_NONE;
    return REACH_ALL;
}

static enum reach reach_v6(const struct in6_addr *a)
{
    if (IN6_IS_ADDR_LOOPBACK(a))
        return REACH_HOST;
    if (IN6_IS_ADDR_UNSPECIFIED(a) || IN6_IS_ADDR_MULTICAST(a) || IN6_IS_ADDR_LINKLOCAL(a) ||
        IN6_IS_ADDR_V4MAPPED(a))
        return REACH_NONE;
    return REACH_ALL;
}

static enum reach reach_of(const char *text)
{
    struct in_addr v4;
    struct in6_addr v6;

    if (inet_pton(AF_INET, text, &v4) == 1)
        return reach_v4(&v4);
    return inet_pton(AF_INET6, text, &v6) == 1 ? reach_v6(&v6) : REACH_NAME;
}

/* One text for each address, so that equal ones are seen. */
static char *numeric_text(int family, const void *addr)
{
    char text[INET6_ADDRSTRLEN];

    return xstrdup(inet_ntop(family, addr, text, sizeof(text)) ? text : "");
}

static char *address_text(const struct sockaddr *any)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;

    if (any->sa_family == AF_INET) {
        memcpy(&v4, any, sizeof(v4));
        return numeric_text(AF_INET, &v4.sin_addr);
    }
    memcpy(&v6, any, sizeof(v6));
    return numeric_text(AF_INET6, &v6.sin6_addr);
}

/* The first IPv4 address of an interface, else its first IPv6 one; NULL: it has none of use. */
static char *find_address(const struct ifaddrs *list, const char *name, bool *found)
{
    static const int families[] = {AF_INET, AF_INET6};

    for (size_t f = 0; f < 2; f++) {
        for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
            char *text;

            if (strcmp(i->ifa_name, name) != 0)
                continue;
            *found = true;
            if (!i->ifa_addr || i->ifa_addr->sa_family != families[f])
                continue;
            text = address_text(i->ifa_addr);
            if (reach_of(text) != REACH_NONE)
                return text;
            free(text);
        }
    }
    return NULL;
}

/* The numeric address that an entry means; NULL and a reason: none. */
static char *resolve_entry(const char *entry, bool names, const struct ifaddrs *interfaces,
                           struct err *err)
{
    struct in6_addr any;
    bool found = false;
    char *text = find_address(interfaces, entry, &found);

    if (text)
        return text;
    if (found) {
        err_set(err, "interface %s has no address that other daemons can reach", entry);
        return NULL;
    }
    if (inet_pton(AF_INET, entry, &any) == 1)
        return numeric_text(AF_INET, &any);
    if (inet_pton(AF_INET6, entry, &any) == 1)
        return numeric_text(AF_INET6, &any);
    if (names && *entry)
        return xstrdup(entry);
    err_set(err, "\"%s\" is neither an address nor an interface of this host", entry);
    return NULL;
}

static int add_address(struct addresses *a, char *text, struct err *err)
{
    if (a->n == ADDRESSES_MAX)
        return err_set(err, "more than %d addresses", ADDRESSES_MAX);
    for (size_t i = 0; i < a->n; i++) {
        if (strcmp(a->text[i], text) == 0)
            return err_set(err, "%s is there twice", text);
        if (reach_of(a->text[i]) == REACH_NONE || reach_of(text) == REACH_NONE)
            return err_set(err, "%s and %s: other daemons cannot call both", a->text[i], text);
        if (reach_of(a->text[i]) != reach_of(text))
            return err_set(err, "%s and %s: other hosts can reach only one of them", a->text[i],
                           text);
    }
    a->text[a->n++] = text;
    return 0;
}

int addresses_parse_from(const char *list, bool names, const struct ifaddrs *interfaces,
                         struct addresses *out, struct err *err)
{
    FREE_AUTO char *copy = xstrdup(list);
    bool single = !strchr(list, ',');
    char *rest = copy;
    const char *entry;

    *out = (struct addresses){0};
    while ((entry = strsep(&rest, ","))) {
        char *text = resolve_entry(entry, names && single, interfaces, err);

        if (text && add_address(out, text, err) == 0)
            continue;
        free(text);
        addresses_free(out);
        return -1;
    }
    return 0;
}

int addresses_parse(const char *list, bool names, struct addresses *out, struct err *err)
{
    struct ifaddrs *interfaces = NULL;
    int rc;

    if (getifaddrs(&interfaces) < 0)
        return err_sys(err, errno, "reading the interfaces of this host");
    rc = addresses_parse_from(list, names, interfaces, out, err);
    freeifaddrs(interfaces);
    return rc;
}

void addresses_free(struct addresses *a)
{
    while (a->n)
        free(a->text[--a->n]);
}

size_t addresses_to_listen(const struct addresses *a, const char *out[ADDRESSES_MAX])
{
    out[0] = "0.0.0.0";
    for (size_t i = 0; i < a->n; i++) {
        if (reach_of(a->text[i]) == REACH_HOST)
            out[i] = a->text[i];
        else if (strchr(a->text[i], ':'))
            out[0] = "::"; /* for IPv4 too */
    }
    return reach_of(a->text[0]) == REACH_HOST ? a->n : 1;
}
