/* SPDX-License-Identifier: BSD-3-Clause */
/* The relay of the bench of links: one process, poll(), a budget of bytes for each direction. */
#include "bench/link_relay.h"

#include "bench/figures.h"
#include "bench/link_node.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAIRS_MAX 64
#define PIECE (64u << 10)

struct way { /* one direction of a connection */
    int from, to;
    double budget; /* bytes that may pass now */
    char data[PIECE];
    size_t len, at; /* read, and of them written */
};

struct duct {
    int fd[2]; /* -1: free */
    struct way way[2];
};

struct state {
    int listener, control;
    uint16_t to;
    double rate, filled_ms;
    bool reset; /* the next connection that carries something */
    struct duct ducts[PAIRS_MAX];
};

static struct sockaddr_in address_of(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
}

static void set_options(int fd)
{
    const int one = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    fcntl(fd, F_SETFL, O_NONBLOCK);
}

static void close_duct(struct duct *d, bool reset)
{
    const struct linger now = {.l_onoff = 1};

    for (int i = 0; i < 2; i++) {
        if (reset)
            setsockopt(d->fd[i], SOL_SOCKET, SO_LINGER, &now, sizeof(now));
        close(d->fd[i]);
        d->fd[i] = -1;
    }
}

static void accept_one(struct state *s)
{
    struct sockaddr_in to = address_of(s->to);
    int in = accept(s->listener, NULL, NULL);
    int out = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    for (int i = 0; in >= 0 && out >= 0 && i < PAIRS_MAX; i++) {
        struct duct *d = &s->ducts[i];

        if (d->fd[0] >= 0)
            continue;
        if (connect(out, (struct sockaddr *)&to, sizeof(to)) < 0)
            break;
        set_options(in);
        set_options(out);
        memset(d->way, 0, sizeof(d->way));
        d->fd[0] = d->way[0].from = d->way[1].to = in;
        d->fd[1] = d->way[1].from = d->way[0].to = out;
        return;
    }
    close(in);
    close(out);
}

/* False: this connection has ended. */
static bool move_bytes(struct state *s, struct way *w)
{
    ssize_t n;

    if (w->at == w->len) {
        size_t most = s->rate > 0 && w->budget < PIECE ? (size_t)w->budget : PIECE;

        if (most == 0)
            return true;
        n = read(w->from, w->data, most);
        if (n == 0 || (n < 0 && errno != EAGAIN))
            return false;
        if (n < 0)
            return true;
        w->at = 0;
        w->len = (size_t)n;
        w->budget -= (double)n;
    }
    n = write(w->to, w->data + w->at, w->len - w->at);
    if (n < 0 && errno != EAGAIN)
        return false;
    w->at += n > 0 ? (size_t)n : 0;
    return true;
}

static void serve_duct(struct state *s, struct duct *d, const struct pollfd *p)
{
    if (d->fd[0] < 0)
        return;
    if (s->reset && (p[0].revents & POLLIN)) {
        char done = 0;

        s->reset = false;
        close_duct(d, true);
        if (write(s->control, &done, 1) != 1)
            _exit(1);
        return;
    }
    for (int i = 0; i < 2; i++) {
        if (!move_bytes(s, &d->way[i])) {
            close_duct(d, false);
            return;
        }
    }
}

static void fill_budgets(struct state *s)
{
    double now = now_ms(), more = (now - s->filled_ms) / 1e3 * s->rate;

    s->filled_ms = now;
    for (int i = 0; i < PAIRS_MAX; i++) {
        for (int k = 0; k < 2; k++) {
            double *b = &s->ducts[i].way[k].budget;

            *b = *b + more > PIECE ? PIECE : *b + more;
        }
    }
}

static short events_of(const struct state *s, const struct duct *d, int i)
{
    const struct way *in = &d->way[i], *out = &d->way[!i];
    bool may_read = in->at == in->len && (s->rate == 0 || in->budget >= 1);

    return (short)((may_read ? POLLIN : 0) | (out->at < out->len ? POLLOUT : 0));
}

static void serve(struct state *s)
{
    struct pollfd p[2 + 2 * PAIRS_MAX] = {{.fd = s->listener, .events = POLLIN},
                                          {.fd = s->control, .events = POLLIN}};
    char c;

    for (;;) {
        for (int i = 0; i < 2 * PAIRS_MAX; i++) {
            const struct duct *d = &s->ducts[i / 2];

            p[2 + i] = (struct pollfd){.fd = d->fd[i % 2]};
            if (d->fd[0] >= 0)
                p[2 + i].events = events_of(s, d, i % 2);
        }
        poll(p, 2 + 2 * PAIRS_MAX, s->rate > 0 ? 1 : -1);
        fill_budgets(s);
        if (p[1].revents) {
            if (read(s->control, &c, 1) != 1)
                _exit(0);
            s->reset = true;
        }
        for (int i = 0; i < PAIRS_MAX; i++)
            serve_duct(s, &s->ducts[i], &p[2 + 2 * i]);
        if (p[0].revents)
            accept_one(s);
    }
}

struct relay relay_start(uint16_t to, uint64_t rate)
{
    struct state *s = calloc(1, sizeof(*s));
    struct sockaddr_in in = address_of(0);
    socklen_t len = sizeof(in);
    int control[2];
    struct relay r;

    if (!s || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) < 0)
        bench_die("a relay cannot be made");
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(s->listener, (struct sockaddr *)&in, len) < 0 || listen(s->listener, 64) < 0)
        bench_die("a relay cannot listen");
    getsockname(s->listener, (struct sockaddr *)&in, &len);
    s->control = control[1];
    s->to = to;
    s->rate = (double)rate;
    s->filled_ms = now_ms();
    for (int i = 0; i < PAIRS_MAX; i++)
        s->ducts[i].fd[0] = s->ducts[i].fd[1] = -1;
    r = (struct relay){.pid = fork(), .port = ntohs(in.sin_port), .control = control[0]};
    if (r.pid == 0) {
        signal(SIGPIPE, SIG_IGN);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(control[0]);
        serve(s);
    }
    close(control[1]);
    close(s->listener);
    free(s);
    return r;
}

void relay_reset(const struct relay *r)
{
    char c = 'r';

    if (write(r->control, &c, 1) != 1)
        bench_die("the relay has ended");
}

void relay_stop(struct relay *r)
{
    close(r->control);
    waitpid(r->pid, NULL, 0);
}
