/* SPDX-License-Identifier: BSD-3-Clause */
/* A client that says to a daemon what it is told to, also what no program says; prints what it
 * hears.
 *
 * client_probe WHERE STEP...   each step one argument, its words separated by spaces:
 *   open TOKEN ATTEMPT HAVE WINDOW_MS    submit COMMAND    stdin BYTES    signal N    ack N    bye
 *   refer    attach JOB    call METHOD PATH BODY    version N: a message of that version
 *   crowd: connections with a session each until one is refused
 *   hear NAME: prints what comes up to a message of that name    gone: up to the connection's end
 *   use N: connection N from now on; a new one is made */
#include "base/tls/tls.h"
#include "dvm/tools/cli/conn.h"

#include <netinet/in.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNS_MAX 1024
#define WAIT_MS 20000

struct probe {
    struct cli_where where;
    struct cli_conn *conns[CONNS_MAX];
    struct cli_conn *c; /* in use */
};

static void die(const char *what, const struct err *err)
{
    printf("%s: %s\n", what, err->msg);
    exit(1);
}

static struct cli_conn *make(struct probe *p)
{
    struct err err = {0};
    struct cli_conn *c = cli_connect(&p->where, &err);

    if (!c)
        die("connect", &err);
    return c;
}

static void use(struct probe *p, size_t n)
{
    if (n >= CONNS_MAX)
        exit(2);
    if (!p->conns[n])
        p->conns[n] = make(p);
    p->c = p->conns[n];
}

static void say(struct probe *p, const struct client_msg *m)
{
    struct err err = {0};

    /* Some tests are about a connection that is closed already. */
    if (cli_conn_send(p->c, m, &err) < 0 || cli_conn_pump(p->c, false, &err) < 0)
        printf("say: %s\n", err.msg);
}

static const char *name(enum client_type type)
{
    static const char *const names[] = {
        [CLIENT_ACK] = "ACK",           [CLIENT_ACCEPTED] = "ACCEPTED", [CLIENT_STATE] = "STATE",
        [CLIENT_OUTPUT] = "OUTPUT",     [CLIENT_DONE] = "DONE",         [CLIENT_ERROR] = "ERROR",
        [CLIENT_REPLY] = "REPLY",       [CLIENT_NOTE] = "NOTE",         [CLIENT_MAP] = "MAP",
        [CLIENT_STDIN_PAUSE] = "PAUSE", [CLIENT_OPENED] = "OPENED",     [CLIENT_AWAY] = "AWAY",
        [CLIENT_REFERRAL] = "REFERRAL"};

    return type < sizeof(names) / sizeof(*names) && names[type] ? names[type] : "?";
}

static void show_places(const struct client_referral *to)
{
    printf(" %u", to->n);
    for (int i = 0; i < to->n; i++)
        printf(" %s:%u", to->places[i].address, to->places[i].port);
}

static void show(const struct client_msg *m)
{
    const struct client_end *end = client_msg_end(m);

    printf("%s", name(m->type));
    if (m->type == CLIENT_OPENED)
        printf(" have=%llu next=%llu", (unsigned long long)m->opened.have,
               (unsigned long long)m->opened.next);
    else if (m->type == CLIENT_OUTPUT)
        printf(" %.*s", (int)m->output.len, (const char *)m->output.data);
    else if (m->type == CLIENT_ACCEPTED)
        printf(" 0 %s", m->accepted.nspace);
    else if (end)
        printf(" %u %s", end->code, end->text);
    else if (m->type == CLIENT_REPLY)
        printf(" %u %s", m->reply.status, m->reply.body);
    else if (m->type == CLIENT_NOTE)
        printf(" 0 %s", m->note.text);
    else if (m->type == CLIENT_STDIN_PAUSE)
        printf(" %u ", m->pause.paused);
    else if (m->type == CLIENT_REFERRAL)
        show_places(&m->referral);
    else if (m->type == CLIENT_MAP || m->type == CLIENT_REACHED)
        printf(" 0 ");
    printf("\n");
}

/* NULL: until the connection ends. False: it has ended. */
static bool listen_for(struct probe *p, const char *until)
{
    struct client_msg m;
    struct err err = {0};
    bool found = false;
    int got = 1;

    while (!found && (got = cli_conn_wait(p->c, &m, WAIT_MS, &err)) > 0) {
        found = until && strcmp(name(m.type), until) == 0;
        show(&m);
        client_msg_free(&m);
    }
    if (got < 0)
        die(until ? until : "gone", &err);
    if (!found)
        puts("gone");
    return found;
}

static void hear(struct probe *p, const char *until)
{
    if (!listen_for(p, until) && until)
        exit(1);
}

static void open_session(struct probe *p, const char *token, uint32_t attempt, uint64_t have,
                         uint32_t window_ms)
{
    struct client_msg m = {.type = CLIENT_OPEN,
                           .open = {.attempt = attempt, .have = have, .window_ms = window_ms}};

    snprintf((char *)m.open.token, sizeof(m.open.token), "%s", token);
    say(p, &m);
}

static void submit(struct probe *p, char *command)
{
    char *argv[] = {"sh", "-c", command, NULL};
    char *env[] = {"PATH=/usr/bin:/bin", NULL};
    struct job_app app = {.argv = argv, .env = env, .cwd = "/", .nprocs = 1};
    struct client_msg m = {.type = CLIENT_SUBMIT,
                           .submit = {{.parent_nspace = "", .napps = 1, .apps = &app}}};

    say(p, &m);
}

static void feed(struct probe *p, size_t bytes)
{
    static uint8_t zeros[65536];

    for (size_t n; bytes; bytes -= n) {
        n = bytes < sizeof(zeros) ? bytes : sizeof(zeros);
        say(p, &(struct client_msg){.type = CLIENT_STDIN, .input = {zeros, n}});
    }
}

static void say_in_version(struct probe *p, uint8_t version)
{
    uint8_t message[] = {version, CLIENT_BYE};
    struct err err = {0};

    if (cli_conn_put(p->c, message, sizeof(message), &err) < 0 ||
        cli_conn_pump(p->c, false, &err) < 0)
        die("say", &err);
}

static void crowd(struct probe *p)
{
    size_t n = 0;
    char token[16];

    do { /* no other process's session: the daemon may not have seen its end yet */
        snprintf(token, sizeof(token), "%d %zu", (int)getpid(), n++);
        use(p, n);
        open_session(p, token, 1, 0, 1000);
    } while (listen_for(p, "OPENED"));
    printf("crowd of %zu\n", n - 1);
}

/* The first message on a further connection over TLS; the memory is not freed before the process
 * ends. */
static enum client_type knock(struct tls_ctx *tls, uint16_t port, char why[256])
{
    struct sockaddr_in sa = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    SSL *ssl = tls_new_client(tls, NULL, NULL);
    uint8_t frame[512];
    struct client_msg m = {.type = 0};
    int n;

    if (!ssl || connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 || SSL_set_fd(ssl, fd) != 1 ||
        SSL_do_handshake(ssl) != 1)
        return 0;
    n = SSL_read(ssl, frame, sizeof(frame));
    if (n > 4 && client_msg_decode(frame + 4, (size_t)n - 4, &m, NULL) == 0)
        snprintf(why, 256, "%s", m.type == CLIENT_ERROR ? m.error.text : "");
    n = (int)m.type;
    client_msg_free(&m);
    return (enum client_type)n;
}

static void outside(uint16_t port)
{
    const char *dir = getenv("DVM_TLS_DIR");
    FREE_AUTO char *ca = xasprintf("%s/ca.crt", dir);
    FREE_AUTO char *cert = xasprintf("%s/tls.crt", dir);
    FREE_AUTO char *key = xasprintf("%s/tls.key", dir);
    struct err err = {0};
    struct tls_ctx *tls =
        tls_ctx_create(&(struct tls_files){.ca = ca, .cert = cert, .key = key}, &err);
    enum client_type type;
    char why[256] = "";
    size_t n = 0;

    if (!tls)
        die("outside", &err);
    while ((type = knock(tls, port, why)) == CLIENT_REACHED)
        n++;
    printf("%s %s\noutside %zu\n", name(type), why, n);
}

static void step(struct probe *p, char *text)
{
    const char *verb = strsep(&text, " ");
    bool whole = strcmp(verb, "submit") == 0;
    char *a = text && !whole ? strsep(&text, " ") : text;
    unsigned long n = a ? strtoul(a, NULL, 10) : 0;
    char *b = text && !whole ? strsep(&text, " ") : NULL;
    char *c = b && text ? strsep(&text, " ") : NULL;

    if (strcmp(verb, "open") == 0 && c && text)
        open_session(p, a, (uint32_t)strtoul(b, NULL, 10), strtoull(c, NULL, 10),
                     (uint32_t)strtoul(text, NULL, 10));
    else if (strcmp(verb, "submit") == 0 && a)
        submit(p, a);
    else if (strcmp(verb, "stdin") == 0)
        feed(p, n);
    else if (strcmp(verb, "signal") == 0)
        say(p, &(struct client_msg){.type = CLIENT_SIGNAL, .signal = {(uint32_t)n}});
    else if (strcmp(verb, "ack") == 0)
        say(p, &(struct client_msg){.type = CLIENT_ACK, .ack = {n}});
    else if (strcmp(verb, "bye") == 0)
        say(p, &(struct client_msg){.type = CLIENT_BYE});
    else if (strcmp(verb, "refer") == 0)
        say(p, &(struct client_msg){.type = CLIENT_REFERRAL_ASK});
    else if (strcmp(verb, "attach") == 0)
        say(p, &(struct client_msg){.type = CLIENT_ATTACH, .attach = {a}});
    else if (strcmp(verb, "call") == 0)
        say(p, &(struct client_msg){.type = CLIENT_CALL, .call = {a, b, c}});
    else if (strcmp(verb, "version") == 0)
        say_in_version(p, (uint8_t)n);
    else if (strcmp(verb, "crowd") == 0)
        crowd(p);
    else if (strcmp(verb, "outside") == 0)
        outside((uint16_t)n);
    else if (strcmp(verb, "hear") == 0)
        hear(p, a);
    else if (strcmp(verb, "gone") == 0)
        hear(p, NULL);
    else if (strcmp(verb, "use") == 0)
        use(p, n);
    else
        exit(2);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct probe p = {.c = NULL};
    struct err err = {0};

    if (argc < 3 || cli_find(argv[1], NULL, &p.where, &err) < 0)
        die("client_probe", &err);
    use(&p, 0);
    for (int i = 2; i < argc; i++)
        step(&p, argv[i]);
    return 0;
}
