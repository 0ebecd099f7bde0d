/* SPDX-License-Identifier: BSD-3-Clause */
/* This host's configuration of names and addresses. */
#include "dvm/host/net/resolv.h"

#include "base/buf/buf.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 4096
#define SERVICE_LABEL "svc"
#define BLANKS " \t\r\n"

/* --- names */

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s);
    size_t m = strlen(end);

    return n > m && strcmp(s + n - m, end) == 0;
}

static char *without_dot(const char *name)
{
    size_t n = strlen(name);

    return xstrndup(name, n && name[n - 1] == '.' ? n - 1 : n);
}

/* The domain of the entry "svc.<domain>" of a search line, or NULL. Changes the line. */
static char *domain_of(char *line)
{
    char *save = NULL;
    const char *word = strtok_r(line, BLANKS, &save);

    if (!word || strcmp(word, "search") != 0)
        return NULL;
    while ((word = strtok_r(NULL, BLANKS, &save))) {
        if (strncmp(word, SERVICE_LABEL ".", sizeof(SERVICE_LABEL)) == 0 &&
            word[sizeof(SERVICE_LABEL)])
            return without_dot(word + sizeof(SERVICE_LABEL));
    }
    return NULL;
}

static char *cluster_domain(const char *path)
{
    FILE *f = fopen(path, "re");
    char line[LINE_MAX_BYTES];
    char *domain = NULL;

    while (f && !domain && fgets(line, sizeof(line), f))
        domain = domain_of(line);
    if (f)
        fclose(f);
    return domain;
}

char *resolv_absolute(const char *path, const char *host)
{
    FREE_AUTO char *domain = NULL;

    if (ends_with(host, "."))
        return without_dot(host);
    if (!ends_with(host, "." SERVICE_LABEL))
        return NULL;
    domain = cluster_domain(path);
    return domain ? xasprintf("%s.%s", host, domain) : NULL;
}

/* --- families */

struct found {
    unsigned global, loopback;
};

static void count_v4(const struct sockaddr *any, struct found *out)
{
    struct sockaddr_in in;

    memcpy(&in, any, sizeof(in));
    if (ntohl(in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET)
        out->loopback |= RESOLV_V4;
    else
        out->global |= RESOLV_V4;
}

static void count_v6(const struct sockaddr *any, struct found *out)
{
    struct sockaddr_in6 in;

    memcpy(&in, any, sizeof(in));
    if (IN6_IS_ADDR_LOOPBACK(&in.sin6_addr))
        out->loopback |= RESOLV_V6;
    else if (!IN6_IS_ADDR_LINKLOCAL(&in.sin6_addr))
        out->global |= RESOLV_V6;
}

unsigned resolv_families_of(const struct ifaddrs *list)
{
    struct found found = {0};

    for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
        if (!i->ifa_addr || !(i->ifa_flags & IFF_UP))
            continue;
        if (i->ifa_addr->sa_family == AF_INET)
            count_v4(i->ifa_addr, &found);
        else if (i->ifa_addr->sa_family == AF_INET6)
            count_v6(i->ifa_addr, &found);
    }
    if (found.global)
        return found.global;
    return found.loopback ? found.loopback : RESOLV_BOTH;
}

unsigned resolv_families(void)
{
    struct ifaddrs *list = NULL;
    unsigned families;

    if (getifaddrs(&list) < 0)
        return RESOLV_BOTH;
    families = resolv_families_of(list);
    freeifaddrs(list);
    return families;
}
