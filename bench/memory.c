/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes per member in the table of the head and of other daemons, and in the nidmap. */
#include "bench/figures.h"
#include "dvm/member/member.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

static double heap_bytes(void)
{
    struct mallinfo2 m = mallinfo2();

    return (double)(m.uordblks + m.hblkhd);
}

/* As pods are named and addressed. */
static void fill(struct members *m, uint32_t self, uint32_t n)
{
    char host[64];
    char address[64];
    struct msg_member x = {.epoch = {0x1234, 0}, .port = 7400, .slots = 2};

    members_init(m, self, 64);
    x.host = host;
    x.address = address;
    for (x.vpid = 0; x.vpid < n; x.vpid++) {
        x.epoch.ctr = x.vpid + 1;
        snprintf(host, sizeof host, "mpi-%u", x.vpid);
        snprintf(address, sizeof address, "10.%u.%u.%u", x.vpid >> 16, (x.vpid >> 8) & 255,
                 x.vpid & 255);
        members_add(m, &x, 1);
    }
}

static double nidmap_bytes(const struct members *m)
{
    struct buf b BUF_AUTO = {0};

    buf_init(&b, 1u << 30);
    members_encode(m, &b);
    return b.failed ? 0 : (double)b.len;
}

static void measure(const char *at, uint32_t self, uint32_t n)
{
    double heap = heap_bytes();
    long rss = self_kib("Rss:");
    struct members m;

    fill(&m, self, n);
    printf("{\"bench\": \"memory\", \"n\": %u, \"at\": \"%s\", \"heap_bytes_per_member\": %.1f, "
           "\"resident_bytes_per_member\": %.1f, \"nidmap_bytes_per_member\": %.1f}\n",
           n, at, (heap_bytes() - heap) / n, (double)(self_kib("Rss:") - rss) * 1024 / n,
           nidmap_bytes(&m) / n);
    members_free(&m);
    malloc_trim(0);
}

int main(void)
{
    for (uint32_t n = 1000; n <= 1000000; n *= 10) {
        measure("head", 0, n);
        measure("daemon", n / 2, n);
    }
    return 0;
}
