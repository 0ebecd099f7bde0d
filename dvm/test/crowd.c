/* SPDX-License-Identifier: BSD-3-Clause */
/* Many strangers at a port on loopback: each connects and then holds its connection. One that is
 * closed by the server comes again, RATE of them per second at most.
 *
 * crowd PORT COUNT SAYS [SOURCES]
 *   SAYS      silent: nothing; head: half of a request's head; hello: the head of a TLS record that
 *             never comes
 *   SOURCES   number of their addresses, 127.1.0.1 and so on; 1 is 127.0.0.1
 * Prints "up" when each has been connected once. At SIGTERM it prints how many connections it has
 * made, and ends. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define RATE 1000
#define TICK_MS 10
#define EVENTS 512
#define TIMER UINT64_MAX /* in place of a stranger's number */

struct stranger {
    int fd; /* -1: not there */
    bool connected;
    bool was_there;
};

struct crowd {
    int epoll;
    int timer;
    struct sockaddr_in to;
    unsigned sources;
    const void *says;
    size_t says_len;
    struct stranger *all;
    size_t count;
    size_t next; /* the one that is looked at first */
    size_t were_there;
    unsigned long made;
};

static volatile sig_atomic_t ended;

static void on_term(int signum)
{
    (void)signum;
    ended = 1;
}

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void set_saying(struct crowd *c, const char *what)
{
    static const char head[] = "GET /readyz HTTP/1.1\r\nX-Half: ";
    static const unsigned char hello[] = {0x16, 0x03, 0x01, 0x02, 0x00};

    c->says = what;
    if (strcmp(what, "head") == 0) {
        c->says = head;
        c->says_len = sizeof(head) - 1;
    } else if (strcmp(what, "hello") == 0) {
        c->says = hello;
        c->says_len = sizeof(hello);
    } else if (strcmp(what, "silent") != 0) {
        exit(2);
    }
}

static int bind_source(const struct crowd *c, int fd, size_t i)
{
    struct sockaddr_in from = {.sin_family = AF_INET};
    const int on = 1;

    if (c->sources <= 1)
        return 0;
    /* The port is chosen at connect(): each address has all of them. */
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
    from.sin_addr.s_addr = htonl(0x7f010001u + (uint32_t)(i % c->sources));
    return bind(fd, (struct sockaddr *)&from, sizeof(from));
}

static void come(struct crowd *c, size_t i)
{
    struct epoll_event ev = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP, .data.u64 = i};
    struct stranger *s = &c->all[i];

    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (s->fd < 0 || bind_source(c, s->fd, i) < 0)
        die("crowd: a socket");
    if (connect(s->fd, (struct sockaddr *)&c->to, sizeof(c->to)) < 0 && errno != EINPROGRESS)
        die("crowd: connect");
    if (epoll_ctl(c->epoll, EPOLL_CTL_ADD, s->fd, &ev) < 0)
        die("crowd: epoll");
    c->made++;
}

static void go(struct stranger *s)
{
    close(s->fd);
    s->fd = -1;
    s->connected = false;
}

static void note_connected(struct crowd *c, struct stranger *s, size_t i)
{
    struct epoll_event ev = {.events = EPOLLIN | EPOLLRDHUP, .data.u64 = i};

    s->connected = true;
    if (!s->was_there && ++c->were_there == c->count) {
        puts("up");
        fflush(stdout);
    }
    s->was_there = true;
    epoll_ctl(c->epoll, EPOLL_CTL_MOD, s->fd, &ev);
    if (c->says_len && send(s->fd, c->says, c->says_len, MSG_NOSIGNAL) < 0)
        go(s);
}

static void on_ready(struct crowd *c, const struct epoll_event *ev)
{
    size_t i = ev->data.u64;
    struct stranger *s = &c->all[i];
    char chunk[512];

    if (!s->connected && (ev->events & EPOLLOUT) && !(ev->events & EPOLLERR))
        note_connected(c, s, i);
    if (s->fd >= 0 && (ev->events & (EPOLLIN | EPOLLERR | EPOLLHUP | EPOLLRDHUP)) &&
        recv(s->fd, chunk, sizeof(chunk), 0) <= 0)
        go(s);
}

static void start_timer(struct crowd *c)
{
    const struct timespec tick = {.tv_nsec = TICK_MS * 1000000L};
    const struct itimerspec every = {.it_interval = tick, .it_value = tick};
    struct epoll_event ev = {.events = EPOLLIN, .data.u64 = TIMER};

    c->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (c->timer < 0 || timerfd_settime(c->timer, 0, &every, NULL) < 0 ||
        epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->timer, &ev) < 0)
        die("crowd: a timer");
}

static void come_again(struct crowd *c)
{
    int left = RATE * TICK_MS / 1000;
    uint64_t ticks;

    if (read(c->timer, &ticks, sizeof(ticks)) < 0)
        return;
    for (size_t n = 0; n < c->count && left > 0; n++) {
        size_t i = c->next;

        c->next = (c->next + 1) % c->count;
        if (c->all[i].fd < 0) {
            come(c, i);
            left--;
        }
    }
}

static void raise_limit(size_t count)
{
    struct rlimit r;

    if (getrlimit(RLIMIT_NOFILE, &r) < 0)
        die("crowd: the limit of descriptors");
    r.rlim_cur = r.rlim_max;
    setrlimit(RLIMIT_NOFILE, &r);
    if (r.rlim_max < count + 16) {
        fprintf(stderr, "crowd: %zu descriptors are needed\n", count + 16);
        exit(3);
    }
}

static void stay(struct crowd *c)
{
    static struct epoll_event ready[EVENTS];

    while (!ended) {
        int n = epoll_wait(c->epoll, ready, EVENTS, -1);

        for (int i = 0; i < n; i++) {
            if (ready[i].data.u64 == TIMER)
                come_again(c);
            else
                on_ready(c, &ready[i]);
        }
    }
}

int main(int argc, char **argv)
{
    struct sigaction term = {.sa_handler = on_term};
    struct crowd c = {.to = {.sin_family = AF_INET}};

    if (argc < 4)
        return 2;
    c.to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c.to.sin_port = htons((uint16_t)strtoul(argv[1], NULL, 10));
    c.count = strtoul(argv[2], NULL, 10);
    set_saying(&c, argv[3]);
    c.sources = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 1;
    raise_limit(c.count);
    c.all = calloc(c.count, sizeof(*c.all));
    c.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!c.all || c.epoll < 0)
        die("crowd");
    for (size_t i = 0; i < c.count; i++)
        c.all[i].fd = -1;
    sigaction(SIGTERM, &term, NULL);
    start_timer(&c);
    stay(&c);
    printf("%zu strangers made %lu connections\n", c.count, c.made);
    return 0;
}
