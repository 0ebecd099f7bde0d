/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that greets its PMIx server as a client of libpmix 3.2.3 does, twice; prints how each
 * attempt ends. No header of that library is needed. */
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct header { /* in the order of bytes of this host, as libpmix sends it */
    int32_t index;
    uint32_t tag;
    size_t len;
};

static size_t add(char *to, size_t at, const void *what, size_t len)
{
    memcpy(to + at, what, len);
    return at + len;
}

static size_t add_u32(char *to, size_t at, uint32_t n)
{
    n = htonl(n);
    return add(to, at, &n, sizeof(n));
}

static size_t add_text(char *to, size_t at, const char *text)
{
    return add(to, at, text, strlen(text) + 1);
}

static size_t make_hello(char *to)
{
    const uint8_t client = 0, described = 1;
    size_t n = add_text(to, 0, "native");

    n = add_u32(to, n, 8); /* a credential of 8 bytes */
    n = add_u32(to, n, (uint32_t)getuid());
    n = add_u32(to, n, (uint32_t)getgid());
    n = add(to, n, &client, 1);
    n = add_text(to, n, getenv("PMIX_NAMESPACE"));
    n = add_u32(to, n, (uint32_t)strtoul(getenv("PMIX_RANK"), NULL, 10));
    n = add_text(to, n, "3.2.3");
    n = add_text(to, n, "v3");
    n = add(to, n, &described, 1);
    return add_text(to, n, "hash");
}

static int greet(const char *uri)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char hello[1024];
    struct header h = {.index = -1, .tag = UINT32_MAX, .len = make_hello(hello)};
    char answer;
    int sock = socket(AF_INET, SOCK_STREAM, 0);
    ssize_t n;

    to.sin_port = htons((uint16_t)strtoul(strrchr(uri, ':') + 1, NULL, 10));
    if (connect(sock, (const struct sockaddr *)&to, sizeof(to)) < 0 ||
        write(sock, &h, sizeof(h)) < 0 || write(sock, hello, h.len) < 0)
        return 1;
    n = read(sock, &answer, 1);
    puts(n > 0 ? "admitted" : "turned away");
    close(sock);
    return 0;
}

int main(void)
{
    const char *uri = getenv("PMIX_SERVER_URI41");

    if (!uri || !strrchr(uri, ':') || !getenv("PMIX_NAMESPACE") || !getenv("PMIX_RANK"))
        return 2;
    for (int i = 0; i < 2; i++) {
        if (greet(uri) != 0)
            return 1;
    }
    return 0;
}
