/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures the bytes per member at the head, on other daemons, and in the map of node names, for
 * three patterns of names. */
#include "bench/figures.h"
#include "dvm/protocol/head/head.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

enum names { PODS, DNS, IPV6, NAMES };
static const char *const name_of[] = {"pods, IPv4", "DNS names", "pods, IPv6 blocks of 64"};

/* Pods connect in any order, so the counters of the epochs do not follow the vpids. */
static uint32_t nth(uint32_t i, uint32_t n)
{
    return (uint32_t)((uint64_t)i * 7919 % n);
}

static void name(struct msg_member *x, enum names names, char host[64], char address[64])
{
    uint32_t v = x->vpid;

    snprintf(host, 64, "x-%u", v);
    if (names == PODS)
        snprintf(address, 64, "10.%u.%u.%u", v >> 16, (v >> 8) & 255, v & 255);
    else if (names == DNS)
        snprintf(address, 64, "x-%u.x-members.ns.svc", v);
    else
        snprintf(address, 64, "fd20::%x:%x", (v >> 6) * 40503u & 0xffffu, 16 + (v & 63));
    x->host = host;
    x->address = address;
    if (v) /* the head shows no key */
        x->key = (struct key_id){1, v};
}

/* On a daemon that is not the head. */
static void fill(struct members *m, enum names names, uint32_t n)
{
    char host[64];
    char address[64];
    struct msg_member x = {.epoch = {0x1234, 0}, .port = 7400, .slots = 2};

    members_init(m, n / 2, 64);
    for (uint32_t i = 0; i < n; i++) {
        x.vpid = nth(i, n);
        x.epoch.ctr = i + 1;
        name(&x, names, host, address);
        members_add(m, &x, 1);
    }
}

/* At the head each is admitted first. */
static struct head *admit(struct members *m, struct rml *rml, struct out *out, enum names names,
                          uint32_t n)
{
    struct head_opts o = {.cluster = "bench", .incarnation = 0x1234, .size = n};
    char host[64];
    char address[64];
    struct msg_member x = {.epoch = {0x1234, 1}, .port = 7400, .slots = 2};
    struct err err = {0};
    struct head *l;

    members_init(m, 0, 64);
    name(&x, names, host, address);
    members_add(m, &x, 1);
    l = head_create(&o, out, m, rml, &err);
    if (!l) {
        fprintf(stderr, "bench: %s\n", err.msg);
        exit(1);
    }
    for (uint32_t i = 0; i < n; i++) {
        x.vpid = nth(i, n);
        if (x.vpid == 0)
            continue;
        name(&x, names, host, address);
        if (head_admit(l, &x, "", &x.epoch, NULL) < 0)
            exit(1);
        members_add(m, &x, 1);
    }
    return l;
}

static double nidmap_bytes(const struct members *m)
{
    BUF_AUTO struct buf b = {0};

    buf_init(&b, 1u << 30);
    members_encode(m, &b);
    return b.failed ? 0 : (double)b.len;
}

static void measure(bool head, enum names names, uint32_t n)
{
    double heap = heap_bytes();
    long rss = self_kib("Rss:");
    struct members m;
    struct out out = {0};
    struct head *l = NULL;

    if (head)
        l = admit(&m, NULL, &out, names, n);
    else
        fill(&m, names, n);
    printf("{\"bench\": \"memory\", \"n\": %u, \"at\": \"%s\", \"names\": \"%s\", "
           "\"heap_bytes_per_member\": %.1f, \"resident_bytes_per_member\": %.1f, "
           "\"nidmap_bytes_per_member\": %.1f}\n",
           n, head ? "head" : "daemon", name_of[names], (heap_bytes() - heap) / n,
           (double)(self_kib("Rss:") - rss) * 1024 / n, nidmap_bytes(&m) / n);
    fflush(stdout);
    if (l)
        head_destroy(l);
    members_free(&m);
    out_free(&out);
    malloc_trim(0);
}

int main(void)
{
    for (uint32_t n = 1000; n <= 1000000; n *= 10) {
        for (int names = 0; names < NAMES; names++) {
            measure(true, (enum names)names, n);
            measure(false, (enum names)names, n);
        }
    }
    return 0;
}
