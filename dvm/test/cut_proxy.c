/* SPDX-License-Identifier: BSD-3-Clause */
/* A TCP proxy on loopback that cuts its connections: what the tests of lost connections go through.
 *
 * cut_proxy PORT RULE...   listens on a port of its own, prints it, and connects to PORT. If
 * CUT_PROXY_PORT is set, it listens on that port of 127.0.0.2.
 * A rule for each connection, in their order; the last holds for all that follow:
 *   pass      nothing happens to it
 *   whole     the same, each side's end is passed on by itself, and a reset by PORT is told on
 * standard error upN       it is reset when N bytes have gone to PORT; downN: have come from there
 *   fupN, fdownN   the same, but closed in an orderly way
 *   toN       it goes to port N
 *   hold      nothing is passed on, either way
 *   refuse    it is reset at once
 *   end       the proxy ends in place of taking it */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAIRS_MAX 64
#define CHUNK 65536

struct rule {
    enum { PASS, WHOLE, UP, DOWN, TO, HOLD, REFUSE, END } what;
    bool orderly;
    long left;
};

struct pair {
    int fd[2]; /* the client's, the server's; -1: free */
    struct rule rule;
    bool ended[2]; /* of WHOLE: that side has sent all its bytes */
};

static struct pair pairs[PAIRS_MAX];

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static long number(const char *text)
{
    char *end;
    long n = strtol(text, &end, 10);

    if (end == text || *end)
        exit(2);
    return n;
}

static struct rule parse(const char *text)
{
    struct rule r = {.what = PASS, .orderly = text[0] == 'f' && text[1] != 'a'};
    const char *word = text + r.orderly;

    if (strncmp(word, "up", 2) == 0)
        r = (struct rule){UP, r.orderly, number(word + 2)};
    else if (strncmp(word, "down", 4) == 0)
        r = (struct rule){DOWN, r.orderly, number(word + 4)};
    else if (strncmp(text, "to", 2) == 0)
        r = (struct rule){TO, false, number(text + 2)};
    else if (strcmp(text, "hold") == 0)
        r.what = HOLD;
    else if (strcmp(text, "whole") == 0)
        r.what = WHOLE;
    else if (strcmp(text, "refuse") == 0)
        r.what = REFUSE;
    else if (strcmp(text, "end") == 0)
        r.what = END;
    else if (strcmp(text, "pass") != 0)
        exit(2);
    return r;
}

static void reset(int fd, bool orderly)
{
    struct linger l = {.l_onoff = 1};

    if (!orderly)
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
    close(fd);
}

static void cut(struct pair *p, bool orderly)
{
    reset(p->fd[0], orderly);
    reset(p->fd[1], orderly);
    p->fd[0] = p->fd[1] = -1;
}

static int listen_any(void)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(sa);
    const char *chosen = getenv("CUT_PROXY_PORT");
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (chosen) {
        sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
        sa.sin_port = htons((uint16_t)number(chosen));
    }
    if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 || listen(fd, 64) < 0 ||
        getsockname(fd, (struct sockaddr *)&sa, &len) < 0)
        die("listen");
    printf("%u\n", ntohs(sa.sin_port));
    fflush(stdout);
    return fd;
}

static int dial(int port)
{
    struct sockaddr_in sa = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int one = 1;

    if (fd < 0)
        die("socket");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0)
        return fd;
    close(fd);
    return -1;
}

/* From one end to the other; the rule ends it. */
static void move(struct pair *p, int from)
{
    char chunk[CHUNK];
    bool counts = p->rule.what == (from == 0 ? UP : DOWN);
    size_t want = counts && p->rule.left < CHUNK ? (size_t)p->rule.left : CHUNK;
    ssize_t n = want ? recv(p->fd[from], chunk, want, 0) : 0;

    for (ssize_t done = 0, m; done < n; done += m) {
        m = send(p->fd[1 - from], chunk + done, (size_t)(n - done), MSG_NOSIGNAL);
        if (m < 0)
            n = -1;
    }
    if (n > 0 && counts)
        p->rule.left -= n;
    if (p->rule.what == WHOLE && n < 0 && from == 1)
        fputs("reset\n", stderr);
    if (p->rule.what == WHOLE && n == 0 && !p->ended[1 - from]) {
        shutdown(p->fd[1 - from], SHUT_WR);
        p->ended[from] = true;
    } else if (n <= 0) {
        cut(p, n == 0 && want);
    } else if (counts && p->rule.left == 0) {
        cut(p, p->rule.orderly);
    }
}

static void take(int listener, int port, const struct rule *rule)
{
    struct pair *p = pairs;
    int one = 1;

    while (p->fd[0] >= 0)
        p++; /* so many that never all are in use */
    p->fd[0] = accept(listener, NULL, NULL);
    if (p->fd[0] < 0)
        die("accept");
    setsockopt(p->fd[0], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    p->fd[1] = rule->what == REFUSE ? -1 : dial(rule->what == TO ? (int)rule->left : port);
    p->rule = *rule;
    p->ended[0] = p->ended[1] = false;
    if (p->fd[1] >= 0)
        return;
    reset(p->fd[0], false);
    p->fd[0] = -1;
}

/* Reads the connections that have input. */
static void serve(int listener, bool *called)
{
    struct pollfd p[2 * PAIRS_MAX + 1];

    for (int i = 0; i < 2 * PAIRS_MAX; i++) {
        struct pair *q = &pairs[i / 2];

        p[i] = (struct pollfd){.fd = q->rule.what == HOLD || q->ended[i % 2] ? -1 : q->fd[i % 2],
                               .events = POLLIN};
    }
    p[2 * PAIRS_MAX] = (struct pollfd){.fd = listener, .events = POLLIN};
    if (poll(p, 2 * PAIRS_MAX + 1, -1) < 0)
        die("poll");
    for (int i = 0; i < 2 * PAIRS_MAX; i++) {
        if (p[i].revents && pairs[i / 2].fd[0] >= 0)
            move(&pairs[i / 2], i % 2);
    }
    *called = p[2 * PAIRS_MAX].revents;
}

int main(int argc, char **argv)
{
    int port = argc > 2 ? (int)number(argv[1]) : 0;
    int listener = listen_any();
    int at = 2;
    bool called;

    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < PAIRS_MAX; i++)
        pairs[i].fd[0] = pairs[i].fd[1] = -1;
    for (;;) {
        struct rule r = parse(port ? argv[at] : "?");

        serve(listener, &called);
        if (!called)
            continue;
        at += at + 1 < argc;
        if (r.what == END)
            return 0;
        take(listener, port, &r);
    }
}
