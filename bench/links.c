/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures links between two daemons, each a process with the real core and real connections over
 * the loopback interface: rate and delay against plain TCP and TLS, two links with a limited rate,
 * handshakes, what an application notices of a connection that is reset, and memory.
 *
 * BYTES, PINGS, RESETS, ROUNDS set the amount of work. One JSON line for each figure. "chain"
 * copies standard input to standard output instead (bench/link_chain.h). */
#include "base/buf/buf.h"
#include "base/heap/heap.h"
#include "base/tls/test/pki.h"
#include "bench/figures.h"
#include "bench/link_chain.h"
#include "bench/link_node.h"
#include "bench/link_raw.h"
#include "bench/link_relay.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SMALL_BYTES 64
#define SHAPED_RATE 40000000u
#define SHAPED_BYTES (120u << 20)
#define MEMBERS 25
#define BACKLOG (8u << 20)
#define LOOK_MS 5

enum kind { ECHO, DATA, SUM, MEMORY };

static struct pki pki;

static size_t amount(const char *name, size_t otherwise)
{
    const char *text = getenv(name);

    return text ? strtoull(text, NULL, 10) : otherwise;
}

static double median_of(double *v, size_t n)
{
    sort_doubles(v, n);
    return quantile(v, n, 0.5);
}

/* --- the head: a process of its own, which answers */

struct memory {
    double heap, rss_kib;
};

static struct memory memory_now(void)
{
    return (struct memory){heap_bytes(), (double)self_kib("Rss:")};
}

static void answer_member(struct node *n, const struct out_app *m)
{
    struct memory mem;

    switch ((enum kind)m->kind) {
    case ECHO:
        node_send(n, m->from, CLASS_CONTROL, ECHO, m->data.data, m->data.len);
        break;
    case SUM:
        node_send(n, m->from, CLASS_BULK, SUM, NULL, 0);
        break;
    case MEMORY:
        mem = memory_now();
        node_send(n, m->from, CLASS_CONTROL, MEMORY, &mem, sizeof(mem));
        break;
    case DATA:
        break;
    }
}

static bool never(struct node *n)
{
    return false;
}

struct head {
    pid_t pid;
    uint16_t port;
};

static struct head head_start(uint32_t members)
{
    int port[2];
    struct head h;

    if (pipe(port) < 0)
        bench_die("no pipe");
    h.pid = fork();
    if (h.pid == 0) {
        struct node_opts o = {.size = members};
        struct node *n;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        use_cpu(1);
        n = node_create(loop_create(NULL), pki.dir, "head", &o);
        n->on_app = answer_member;
        if (write(port[1], &n->port, sizeof(n->port)) < 0)
            _exit(1);
        node_run(n, never, 60000);
    }
    if (read(port[0], &h.port, sizeof(h.port)) != sizeof(h.port))
        bench_die("the head did not start");
    close(port[0]);
    close(port[1]);
    return h;
}

static void head_stop(const struct head *h)
{
    kill(h->pid, SIGKILL);
    waitpid(h->pid, NULL, 0);
}

/* --- the prober: a member in the process that measures */

struct prober {
    struct node *node;
    size_t links;   /* that are wanted */
    size_t left;    /* bytes to be sent */
    char *piece;    /* of bulk data */
    bool summed;    /* the head has all of it */
    double sent_ms; /* of the last ping */
    double *took;   /* of each; at most `most` */
    size_t pings, most;
    double worst;   /* since it was cleared */
    uint64_t lost;  /* links that were lost before the reset */
    bool measuring; /* a reset */
    struct memory head;
    bool has_head;
};

static struct prober *of(struct node *n)
{
    return n->arg;
}

static void send_ping(struct prober *m)
{
    static const char data[SMALL_BYTES];

    m->sent_ms = now_ms();
    node_send(m->node, 0, CLASS_CONTROL, ECHO, data, sizeof(data));
}

static void take_pong(struct prober *m)
{
    double took = now_ms() - m->sent_ms;

    if (took > m->worst)
        m->worst = took;
    if (m->pings < m->most)
        m->took[m->pings++] = took;
    if (m->measuring && core_stats(m->node->core).links_lost > m->lost)
        m->measuring = false;
    if (m->measuring || m->pings < m->most)
        send_ping(m);
}

static void take_answer(struct node *n, const struct out_app *a)
{
    struct prober *m = of(n);

    switch ((enum kind)a->kind) {
    case ECHO:
        take_pong(m);
        break;
    case SUM:
        m->summed = true;
        break;
    case MEMORY:
        memcpy(&m->head, a->data.data, sizeof(m->head));
        m->has_head = true;
        break;
    case DATA:
        break;
    }
}

/* As input of a job: pieces of 256 KiB while little waits. */
static bool feed(struct node *n)
{
    struct prober *m = of(n);
    size_t len = m->left < RAW_PIECE ? m->left : RAW_PIECE;

    if (!m->left || core_app_backlog(n->core, 0, CLASS_BULK) >= BACKLOG)
        return false;
    node_send(n, 0, CLASS_BULK, DATA, m->piece, len);
    m->left -= len;
    if (!m->left)
        node_send(n, 0, CLASS_BULK, SUM, NULL, 0);
    return true;
}

static bool is_summed(struct node *n)
{
    return of(n)->summed;
}

static bool has_links(struct node *n)
{
    return core_state(n->core) == CORE_WIRED && node_links_up(n) >= of(n)->links;
}

static bool has_pinged(struct node *n)
{
    return of(n)->pings == of(n)->most;
}

static bool has_measured(struct node *n)
{
    return !of(n)->measuring;
}

static bool has_head_memory(struct node *n)
{
    return of(n)->has_head;
}

static struct prober *prober_start(struct loop *loop, uint32_t vpid, uint16_t port, size_t links)
{
    struct node_opts o = {.vpid = vpid, .head_port = port, .links = (uint32_t)links};
    struct prober *m = xcalloc(1, sizeof(*m));

    m->links = links;
    m->node = node_create(loop, pki.dir, "member", &o);
    m->node->arg = m;
    m->node->on_app = take_answer;
    m->node->on_turn = feed;
    return m;
}

static void prober_stop(struct prober *m)
{
    node_destroy(m->node);
    free(m->piece);
    free(m);
}

/* --- rate */

static double stream_mb_s(uint16_t port, size_t links, size_t bytes)
{
    struct loop *loop = loop_create(NULL);
    struct prober *m = prober_start(loop, 1, port, links);
    double start;

    node_run(m->node, has_links, LOOK_MS);
    m->piece = xcalloc(1, RAW_PIECE);
    start = now_ms();
    m->left = bytes;
    node_run(m->node, is_summed, LOOK_MS);
    start = now_ms() - start;
    prober_stop(m);
    loop_destroy(loop);
    return (double)bytes / 1e3 / start;
}

static double link_mb_s(size_t links, size_t bytes)
{
    struct head h = head_start(1);
    double rate = stream_mb_s(h.port, links, bytes);

    head_stop(&h);
    return rate;
}

/* In turn, so a ratio is that of one moment. */
static void measure_rate(void)
{
    size_t bytes = amount("BYTES", 1000000000), rounds = amount("ROUNDS", 5);
    double tcp[rounds], tls[rounds], link[rounds], ratio[rounds];

    for (size_t i = 0; i < rounds; i++) {
        tcp[i] = raw_stream_mb_s(NULL, bytes);
        tls[i] = raw_stream_mb_s(pki.dir, bytes);
        link[i] = link_mb_s(1, bytes);
        ratio[i] = link[i] / tls[i];
    }
    printf("{\"bench\": \"links\", \"what\": \"rate\", \"bytes\": %zu, \"rounds\": %zu, "
           "\"tcp_mb_s\": %.0f, \"tls_mb_s\": %.0f, \"link_mb_s\": %.0f, \"of_tls\": %.2f}\n",
           bytes, rounds, median_of(tcp, rounds), median_of(tls, rounds), median_of(link, rounds),
           median_of(ratio, rounds));
}

static double shaped_mb_s(size_t links)
{
    struct head h = head_start(1);
    struct relay r = relay_start(h.port, SHAPED_RATE);
    double rate = stream_mb_s(r.port, links, SHAPED_BYTES);

    relay_stop(&r);
    head_stop(&h);
    return rate;
}

static void measure_shaped(void)
{
    double one = shaped_mb_s(1), two = shaped_mb_s(2);

    printf("{\"bench\": \"links\", \"what\": \"links of limited rate\", \"rate_mb_s\": %.0f, "
           "\"one_mb_s\": %.1f, \"two_mb_s\": %.1f, \"of_one\": %.2f}\n",
           SHAPED_RATE / 1e6, one, two, two / one);
}

/* --- delay */

static void link_ping(double *ms, size_t n)
{
    struct head h = head_start(1);
    struct loop *loop = loop_create(NULL);
    struct prober *m = prober_start(loop, 1, h.port, 1);

    node_run(m->node, has_links, LOOK_MS);
    m->took = ms;
    m->most = n;
    send_ping(m);
    node_run(m->node, has_pinged, LOOK_MS);
    prober_stop(m);
    loop_destroy(loop);
    head_stop(&h);
}

static void measure_delay(void)
{
    size_t n = amount("PINGS", 20000), rounds = amount("ROUNDS", 5);
    double *ms = xcalloc(n, sizeof(*ms));
    double tcp[rounds], tls[rounds], link[rounds], added[rounds];

    for (size_t i = 0; i < rounds; i++) {
        raw_ping(NULL, SMALL_BYTES, ms, n);
        tcp[i] = median_of(ms, n) * 1e3 / 2;
        raw_ping(pki.dir, SMALL_BYTES, ms, n);
        tls[i] = median_of(ms, n) * 1e3 / 2;
        link_ping(ms, n);
        link[i] = median_of(ms, n) * 1e3 / 2;
        added[i] = link[i] - tls[i];
    }
    printf("{\"bench\": \"links\", \"what\": \"delay\", \"bytes\": %d, \"pings\": %zu, "
           "\"tcp_us\": %.1f, \"tls_us\": %.1f, \"link_us\": %.1f, \"added_us\": %.1f}\n",
           SMALL_BYTES, n, median_of(tcp, rounds), median_of(tls, rounds), median_of(link, rounds),
           median_of(added, rounds));
    free(ms);
}

/* --- failures */

/* The member's sessions end with its credentials. */
static void forget_sessions(struct prober *m)
{
    FREE_AUTO char *cert = xasprintf("%s/member.pem", pki.dir);
    struct err err = {0};

    if (utimensat(AT_FDCWD, cert, NULL, 0) < 0 || tls_ctx_refresh(m->node->tls, &err) != 1)
        bench_die("the certificate cannot be read again");
}

/* The connection that carries the next message is reset; `gap`: until its answer is there. */
static void reset_links(size_t links, bool resume, double *gap, size_t n)
{
    struct head h = head_start(1);
    struct relay r = relay_start(h.port, 0);
    struct loop *loop = loop_create(NULL);
    struct prober *m = prober_start(loop, 1, r.port, links);

    for (size_t i = 0; i < n; i++) {
        node_run(m->node, has_links, LOOK_MS);
        if (!resume)
            forget_sessions(m);
        m->lost = core_stats(m->node->core).links_lost;
        m->worst = 0;
        m->measuring = true;
        relay_reset(&r);
        send_ping(m);
        node_run(m->node, has_measured, LOOK_MS);
        gap[i] = m->worst;
    }
    prober_stop(m);
    loop_destroy(loop);
    relay_stop(&r);
    head_stop(&h);
}

static void measure_reset(size_t links, bool resume, size_t n)
{
    double *gap = xcalloc(n, sizeof(*gap));

    reset_links(links, resume, gap, n);
    sort_doubles(gap, n);
    printf("{\"bench\": \"links\", \"what\": \"reset\", \"links\": %zu, \"resumed\": %s, "
           "\"resets\": %zu, \"median_ms\": %.2f, \"p90_ms\": %.2f, \"p99_ms\": %.2f, "
           "\"most_ms\": %.2f}\n",
           links, resume ? "true" : "false", n, quantile(gap, n, 0.5), quantile(gap, n, 0.9),
           quantile(gap, n, 0.99), gap[n - 1]);
    free(gap);
}

static void measure_resets(void)
{
    size_t n = amount("RESETS", 100);

    measure_reset(2, true, n);
    measure_reset(1, true, 2 * n);
    measure_reset(1, false, 2 * n);
}

/* --- handshakes */

struct ends {
    struct loop *loop;
    struct tls_ctx *tls;
    int open;
    int frames;
    uint64_t incoming; /* the server's connection */
};

static void note_open(uint64_t conn, bool incoming, const struct tls_peer *peer, void *arg)
{
    struct ends *e = arg;

    e->open++;
    if (incoming)
        e->incoming = conn;
    loop_stop(e->loop);
}

static void note_frame(uint64_t conn, const uint8_t *data, size_t len, void *arg)
{
    struct ends *e = arg;

    e->frames++;
    loop_stop(e->loop);
}

static void note_closed(uint64_t conn, const char *why, void *arg)
{
    struct ends *e = arg;

    loop_stop(e->loop);
}

static void note_drained(uint64_t conn, void *arg)
{
}

static void run_loop(struct loop *loop)
{
    if (loop_run(loop, NULL) < 0)
        bench_die("the loop ended");
}

/* Both ends in this thread: the processor time is that of both. */
static void shake_hands(bool resume, double *ms, size_t n)
{
    static const struct net_upcalls up = {note_open, note_frame, note_closed, note_drained};
    struct ends e = {.loop = loop_create(NULL), .tls = node_tls(pki.dir, "member")};
    struct tls_ctx *head = node_tls(pki.dir, "head");
    struct net *server = net_create(e.loop, head, &up, &e, NULL);
    struct net *client = net_create(e.loop, e.tls, &up, &e, NULL);
    struct prober m = {.node = &(struct node){.tls = e.tls}};
    uint16_t port = 0;

    if (net_listen_tls(server, "127.0.0.1", &port, NULL) < 0)
        bench_die("no port");
    for (size_t i = 0; i <= n; i++) {
        double start;
        uint64_t conn;

        if (!resume)
            forget_sessions(&m);
        e.open = e.frames = 0;
        start = cpu_ms();
        conn = net_connect_tls(client, "127.0.0.1", port, 10000);
        while (e.open < 2)
            run_loop(e.loop);
        ms[i ? i - 1 : 0] = cpu_ms() - start;
        net_send(server, e.incoming, "x", 1); /* it comes after the ticket */
        while (!e.frames)
            run_loop(e.loop);
        net_close(client, conn, false);
        run_loop(e.loop); /* the server's end */
    }
    if (net_handshakes(client).resumed != (resume ? n : 0))
        bench_die("not so many sessions were resumed");
    net_destroy(client);
    net_destroy(server);
    tls_ctx_destroy(head);
    tls_ctx_destroy(e.tls);
    loop_destroy(e.loop);
}

static void measure_handshakes(void)
{
    size_t n = amount("HANDSHAKES", 300);
    double *ms = xcalloc(n, sizeof(*ms));
    double full, resumed;

    shake_hands(false, ms, n);
    full = median_of(ms, n);
    shake_hands(true, ms, n);
    resumed = median_of(ms, n);
    printf("{\"bench\": \"links\", \"what\": \"handshake\", \"handshakes\": %zu, "
           "\"full_cpu_ms\": %.3f, \"resumed_cpu_ms\": %.3f}\n",
           n, full, resumed);
    free(ms);
}

/* --- memory */

/* So long after the last link was up, all that was owed is acknowledged. */
#define REST_MS 500

static double rest_until_ms;

static bool has_rested(struct node *n)
{
    return now_ms() >= rest_until_ms;
}

/* Of the head and of a process with all members, each with so many links to the head. */
static void links_memory(size_t links, struct memory *head, struct memory *members)
{
    struct head h = head_start(MEMBERS);
    struct loop *loop = loop_create(NULL);
    struct prober *m[MEMBERS];

    for (uint32_t i = 0; i < MEMBERS; i++)
        m[i] = prober_start(loop, i + 1, h.port, links);
    for (int i = 0; i < MEMBERS; i++)
        node_run(m[i]->node, has_links, LOOK_MS);
    rest_until_ms = now_ms() + REST_MS;
    node_run(m[0]->node, has_rested, LOOK_MS);
    *members = memory_now();
    node_send(m[0]->node, 0, CLASS_CONTROL, MEMORY, NULL, 0);
    node_run(m[0]->node, has_head_memory, LOOK_MS);
    *head = m[0]->head;
    for (int i = 0; i < MEMBERS; i++)
        prober_stop(m[i]);
    loop_destroy(loop);
    head_stop(&h);
}

static void measure_memory(void)
{
    const double more = MEMBERS * (PEER_LINKS_MAX - 1);
    struct memory head[2], members[2];

    links_memory(1, &head[0], &members[0]);
    links_memory(PEER_LINKS_MAX, &head[1], &members[1]);
    printf("{\"bench\": \"links\", \"what\": \"memory of an idle link\", \"links\": %d, "
           "\"called_heap_kib\": %.1f, \"called_rss_kib\": %.1f, \"caller_heap_kib\": %.1f, "
           "\"caller_rss_kib\": %.1f}\n",
           MEMBERS * PEER_LINKS_MAX, (head[1].heap - head[0].heap) / more / 1024,
           (head[1].rss_kib - head[0].rss_kib) / more,
           (members[1].heap - members[0].heap) / more / 1024,
           (members[1].rss_kib - members[0].rss_kib) / more);
}

/* --- all */

/* In a process of its own, so no measurement uses the memory of another one. */
static void in_process(void (*measure)(void))
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        use_cpu(0); /* the other end has another one, as if it were another host */
        measure();
        fflush(stdout);
        _exit(0);
    }
    if (waitpid(pid, &status, 0) != pid || status != 0)
        bench_die("a measurement failed");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*measure)(void);
    } all[] = {
        {"handshakes", measure_handshakes}, {"delay", measure_delay},   {"rate", measure_rate},
        {"shaped", measure_shaped},         {"resets", measure_resets}, {"memory", measure_memory}};
    static const char *const names[] = {"127.0.0.1", NULL};

    heap_keep_frames(); /* as prted */
    pki_init(&pki, NODE_CLUSTER);
    pki_issue(&pki, "head", "head", names, 5);
    pki_issue(&pki, "member", "member", names, 5);
    if (argc > 1 && strcmp(argv[1], "chain") == 0)
        chain_run(pki.dir);
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        if (argc < 2 || strcmp(argv[1], all[i].name) == 0)
            in_process(all[i].measure);
    }
    pki_fini(&pki);
    return 0;
}
