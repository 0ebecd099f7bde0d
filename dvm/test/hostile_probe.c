/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that attacks the PMIx server of its own daemon: hostile_probe SEED CONNECTIONS,
 * hostile_probe MODE N (the modes are below, with what each does), hostile_probe case NAME
 * (hostile_case.h; hostile_probe cases lists them).
 *
 * It is admitted as a client, and opens further connections to the server's port under its own
 * name. On each it says a hello and sends messages of all commands, made of typed fields and then
 * mutated; some connections say a malformed hello, some break off in the middle. Everything follows
 * from the seed. Then the server has to answer an honest question on the connection of PMIx_Init().
 * Exit codes: 0, it does; 3, it takes no more bytes; 9, it refuses. Whether the daemon is still
 * there is the caller's to find out. What would remove or write files is never asked for. */
#include "dvm/test/hostile_case.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>

#define SEND_MS 60000

struct header { /* of each message, as the library lays it out */
    int32_t index;
    uint32_t tag;
    size_t len;
};

/* --- mutation, of what comes after the command */

static void mutate(char *bytes, size_t *len, size_t from)
{
    static const uint8_t odd[] = {0, 1, 0x7f, 0x80, 0xff, 22, 39, 24};

    for (uint32_t i = 1 + any(4); i > 0 && *len > from; i--) {
        size_t at = from + any((uint32_t)(*len - from));

        switch (any(5)) {
        case 0:
            bytes[at] = (char)odd[any(sizeof(odd))];
            break;
        case 1:
            bytes[at] = (char)(bytes[at] ^ (1 << any(8)));
            break;
        case 2:
            memset(bytes + at, 0xff, *len - at < 8 ? *len - at : 8);
            break;
        case 3:
            *len = at;
            break;
        default:
            memmove(bytes + at, bytes + at + (*len - at) / 2, *len - at - (*len - at) / 2);
        }
    }
}

/* --- the wire */

static uint16_t port;
static int sock = -1;
static bool answers_matter = true; /* if false, they are read and dropped between sent bytes */

static void find_port(void)
{
    static const char *const names[] = {"PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3",
                                        "PMIX_SERVER_URI2"};
    const char *uri = NULL, *colon;

    for (size_t i = 0; !uri && i < sizeof(names) / sizeof(names[0]); i++)
        uri = getenv(names[i]);
    colon = uri ? strrchr(uri, ':') : NULL;
    if (!colon) {
        printf("no server\n");
        exit(2);
    }
    port = (uint16_t)strtoul(colon + 1, NULL, 10);
}

static void hang_up(void)
{
    if (sock >= 0)
        close(sock);
    sock = -1;
}

/* False: the server has closed the connection. */
static bool send_all(const void *data, size_t len)
{
    const char *p = data;

    while (len > 0 && sock >= 0) {
        ssize_t n = send(sock, p, len, MSG_DONTWAIT | MSG_NOSIGNAL);
        struct pollfd pfd = {.fd = sock, .events = POLLOUT};
        char sink[4096];

        while (!answers_matter && recv(sock, sink, sizeof(sink), MSG_DONTWAIT) > 0)
            continue;
        if (n > 0) {
            p += n;
            len -= (size_t)n;
        } else if (n < 0 && errno == EAGAIN) {
            if (poll(&pfd, 1, SEND_MS) == 0) {
                printf("the server takes no more bytes\n");
                exit(3);
            }
        } else {
            hang_up();
        }
    }
    return sock >= 0;
}

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

static size_t add_text(char *to, size_t at, const char *t)
{
    return add(to, at, t, strlen(t) + 1);
}

/* As a client of libpmix 4 says it. */
static size_t make_hello(char *to)
{
    static const char *const kinds[] = {"v41", "v4", "v3", "v21", "v20", "v12", "none"};
    uint8_t flag = one_in(6) ? (uint8_t)any(12) : 0, type = one_in(6) ? (uint8_t)any(4) : 1;
    size_t n = add_text(to, 0, one_in(12) ? text() : "native");

    n = add_u32(to, n, one_in(12) ? (uint32_t)number() : 8);
    n = add_u32(to, n, (uint32_t)getuid());
    n = add_u32(to, n, (uint32_t)getgid());
    n = add(to, n, &flag, 1);
    n = add_text(to, n, one_in(12) ? text() : me.nspace);
    n = add_u32(to, n, one_in(12) ? (uint32_t)number() : me.rank);
    n = add_text(to, n, one_in(12) ? text() : "4.2.2");
    n = add_text(to, n, one_in(3) ? kinds[any(7)] : "v41");
    n = add(to, n, &type, 1);
    n = add_text(to, n, one_in(12) ? text() : "hash");
    if (one_in(4)) {
        PMIX_DATA_BUFFER_CONSTRUCT(&msg);
        put_infos();
        n = add(to, n, msg.base_ptr, msg.bytes_used);
        PMIX_DATA_BUFFER_DESTRUCT(&msg);
    }
    return n;
}

/* True: admitted. */
static bool say_hello(void)
{
    static char hello[1u << 16];
    size_t n = make_hello(hello);
    struct header h = {.index = -1, .tag = UINT32_MAX};
    uint32_t answer[2] = {1, 1};
    struct timeval wait = {.tv_sec = honest ? 60 : 5};

    if (one_in(5))
        mutate(hello, &n, 0);
    h.len = one_in(24) ? (size_t)number() : n;
    if (!send_all(&h, sizeof(h)) || !send_all(hello, n))
        return false;
    (void)setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
    if (h.len != n || recv(sock, answer, sizeof(answer), MSG_WAITALL) != sizeof(answer) ||
        answer[0] != 0)
        return false;
    return true;
}

static void open_connection(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    hang_up();
    answers_matter = true;
    sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (sock < 0 || connect(sock, (struct sockaddr *)&to, sizeof(to)) < 0) {
        printf("the server's port is closed: %s\n", strerror(errno));
        exit(3);
    }
    (void)setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
}

static bool send_message(uint32_t tag)
{
    struct header h = {.index = (int32_t)htonl(me.rank),
                       .tag = htonl(one_in(16) ? (uint32_t)number() : tag)};
    size_t len;
    bool whole = true, sent;

    if (!all_types || !one_in(2) || !make_message_of_values())
        make_message();
    len = msg.bytes_used;
    if (one_in(3))
        mutate(msg.base_ptr, &len, one_in(8) ? 0 : 1);
    h.len = htonl((uint32_t)len);
    if (one_in(200)) {
        h.len = htonl((uint32_t)number());
        whole = false;
    }
    sent = send_all(&h, sizeof(h)) && send_all(msg.base_ptr, len);
    PMIX_DATA_BUFFER_DESTRUCT(&msg);
    return sent && whole;
}

static void attack(void)
{
    open_connection();
    if (one_in(40))
        return; /* one that says nothing */
    if (say_hello()) {
        answers_matter = false;
        for (uint32_t i = 0, n = any(60); i < n && send_message(100 + i); i++)
            continue;
    }
    hang_up();
}

/* silence N: N connections, of which every other one has said half a header; then PMIx_Init(), and
 * a look at which of them the server has closed. */
static int keep_silent(unsigned n)
{
    int *socks = calloc(n, sizeof(*socks));
    unsigned still = 0;
    char byte;

    for (unsigned i = 0; i < n; i++) {
        open_connection();
        if (i % 2 && send(sock, "half", 4, MSG_NOSIGNAL) != 4)
            return 3;
        socks[i] = sock;
        sock = -1;
    }
    begin();
    for (unsigned i = 0; i < n; i++)
        still += recv(socks[i], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
    printf("connected beside %u silent connections, %u of them still open\n", n, still);
    return end();
}

/* --- direct cases */

#define LAST_TAG 1000

static void send_bytes(const struct bytes *b, uint32_t tag)
{
    struct header h = {
        .index = (int32_t)htonl(me.rank), .tag = htonl(tag), .len = htonl((uint32_t)b->used)};

    (void)(send_all(&h, sizeof(h)) && send_all(b->data, b->used));
}

static bool recv_all(void *to, size_t len)
{
    return sock >= 0 && recv(sock, to, len, MSG_WAITALL) == (ssize_t)len;
}

static struct {
    char data[1u << 20];
    size_t len;
} answer;

/* Into `answer`: the server's answer to the last message of the connection. False: it has closed
 * the connection. */
static bool await_last_answer(void)
{
    struct header h;

    do {
        if (!recv_all(&h, sizeof(h)))
            return false;
        answer.len = ntohl((uint32_t)h.len);
        if (answer.len > sizeof(answer.data) ||
            (answer.len > 0 && !recv_all(answer.data, answer.len)))
            return false;
    } while (ntohl(h.tag) != LAST_TAG);
    return true;
}

/* The status with which the answer begins. */
static pmix_status_t answered_status(void)
{
    pmix_status_t status = PMIX_ERROR;
    pmix_byte_object_t bo = {.bytes = malloc(answer.len), .size = answer.len};
    pmix_data_buffer_t packed;
    int32_t n = 1;

    if (!bo.bytes)
        exit(2);
    memcpy(bo.bytes, answer.data, answer.len);
    PMIX_DATA_BUFFER_CONSTRUCT(&packed);
    must(PMIx_Data_load(&packed, &bo), "PMIx_Data_load");
    must(PMIx_Data_unpack(NULL, &packed, &status, &n, PMIX_STATUS), "PMIx_Data_unpack");
    PMIX_DATA_BUFFER_DESTRUCT(&packed);
    return status;
}

/* The value as an attribute and as a committed one, twice: the second replaces the first. */
static void send_value(unsigned which)
{
    static struct bytes b;

    make_event(&b, which, PMIX_RANGE_LOCAL);
    send_bytes(&b, 100);
    make_event(&b, which, PMIX_RANGE_GLOBAL);
    send_bytes(&b, 101);
    make_publication(&b, which);
    send_bytes(&b, 102);
    for (uint32_t i = 0; i < 2; i++) {
        make_commit(&b, which);
        send_bytes(&b, 200 + i);
        put_question(&b, me.nspace, me.rank, CASE_KEY);
        send_bytes(&b, 300 + i);
    }
    make_distances(&b);
    send_bytes(&b, 400);
}

static void open_admitted(void)
{
    open_connection();
    if (!say_hello()) {
        printf("not admitted\n");
        exit(3);
    }
}

static void attack_by_case(unsigned which)
{
    static struct bytes b;

    open_admitted();
    if (cases[which].key) {
        send_value(which);
    } else {
        cases[which].add(&b);
        send_bytes(&b, 100);
    }
    begin_case(&b, CMD_NONE);
    send_bytes(&b, LAST_TAG);
    (void)await_last_answer();
    hang_up();
}

static void attack_by_name(const char *name)
{
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (strcmp(name, cases[i].name) == 0) {
            attack_by_case(i);
            return;
        }
    }
    exit(2);
}

/* The server has read what was sent before on other connections. */
static void await_round_trips(const struct bytes *b)
{
    for (int i = 0; i < 2; i++) {
        send_bytes(b, LAST_TAG);
        (void)await_last_answer();
    }
}

/* halves N: N messages, each with a header that comes in two parts. */
static void halve_headers(unsigned n)
{
    static struct bytes b;
    struct header h = {.index = (int32_t)htonl(me.rank), .tag = htonl(LAST_TAG)};
    const size_t half = sizeof(h) / 2;
    unsigned answered = 0;
    int slow, other;

    begin_case(&b, CMD_NONE);
    h.len = htonl((uint32_t)b.used);
    open_admitted();
    slow = sock;
    sock = -1;
    open_admitted();
    other = sock;
    for (unsigned i = 0; i < n; i++) {
        sock = slow;
        (void)send_all(&h, half);
        sock = other;
        await_round_trips(&b);
        sock = slow;
        (void)(send_all((char *)&h + half, sizeof(h) - half) && send_all(b.data, b.used));
        answered += await_last_answer();
    }
    printf("%u of %u messages are answered\n", answered, n);
}

#define MOST_ANNOUNCED 64

/* announce N: N connections that each announce a message of 79 MB, of which nothing comes; until
 * the server has closed all but two. */
static void announce(unsigned n)
{
    struct header h = {
        .index = (int32_t)htonl(me.rank), .tag = htonl(LAST_TAG), .len = htonl(79u << 20)};
    struct pollfd fds[MOST_ANNOUNCED];
    nfds_t still = 0;
    char byte;

    for (; still < n && still < MOST_ANNOUNCED; still++) {
        open_admitted();
        (void)send_all(&h, sizeof(h));
        fds[still] = (struct pollfd){.fd = sock, .events = POLLIN};
        sock = -1;
    }
    while (still > 2 && poll(fds, still, 20000) > 0) {
        for (nfds_t i = still; i-- > 0;) {
            if (fds[i].revents && recv(fds[i].fd, &byte, 1, MSG_DONTWAIT) <= 0)
                fds[i] = fds[--still];
        }
    }
    printf("%lu of %u connections are open\n", (unsigned long)still, n);
}

#define STORED_BYTES (3u << 20)

#define ARRAY_INFOS 200000

/* unpack N: a publication of N arrays, each of 200,000 attributes. */
static void send_many_arrays(unsigned n)
{
    static struct bytes head, one;
    uint32_t uid = (uint32_t)getuid(), flags = 0;
    struct header h = {.index = (int32_t)htonl(me.rank), .tag = htonl(LAST_TAG)};
    bool sent;

    open_admitted();
    begin_case(&head, CMD_PUBLISH);
    add_packed(&head, &uid, PMIX_UINT32, true);
    add_packed(&head, &(size_t){n}, PMIX_SIZE, true);
    add_packed(&head, &(int32_t){(int32_t)n}, PMIX_INT32, false);
    one.used = 0;
    add_string(&one, "many");
    add_packed(&one, &flags, PMIX_UINT32, false);
    add_array(&one, PMIX_INFO, ARRAY_INFOS);
    for (unsigned i = 0; i < ARRAY_INFOS; i++)
        add_info(&one, "", 0, 0);
    h.len = htonl((uint32_t)(head.used + n * one.used));
    sent = send_all(&h, sizeof(h)) && send_all(head.data, head.used);
    for (unsigned i = 0; i < n && sent; i++)
        sent = send_all(one.data, one.used);
    printf("%u arrays: %s\n", n, await_last_answer() ? name_of(answered_status()) : "no answer");
}

/* A commit of packed values for all nodes. */
static void commit_values(struct bytes *to, const struct bytes *values)
{
    uint8_t scope = PMIX_GLOBAL;

    begin_case(to, CMD_COMMIT);
    add_packed(to, &scope, PMIX_SCOPE, true);
    add_packed(to, &(int32_t){1}, PMIX_INT32, false);
    add_bytes(to, "\1", 1);
    add_count(to, values->used);
    add_bytes(to, values->data, values->used);
}

/* A commit of a value of 3 MB for all nodes. */
static void commit_large(struct bytes *to, const char *key)
{
    static char data[STORED_BYTES];
    static struct bytes values;

    values.used = 0;
    add_packed(&values, &(int32_t){1}, PMIX_INT32, false);
    add_string(&values, key);
    add_type(&values, PMIX_BYTE_OBJECT);
    add_count(&values, sizeof(data));
    add_bytes(&values, data, sizeof(data));
    commit_values(to, &values);
}

/* store N: N commits of a value of 3 MB, each of a key of its own, for all nodes. */
static void store_values(unsigned n)
{
    static struct bytes b;
    unsigned stored = 0;
    pmix_status_t last = PMIX_SUCCESS;
    char key[32];

    open_admitted();
    for (unsigned i = 0; i < n; i++) {
        snprintf(key, sizeof(key), "stored.%u", i);
        commit_large(&b, key);
        send_bytes(&b, LAST_TAG);
        if (!await_last_answer())
            break;
        last = answered_status();
        stored += last == PMIX_SUCCESS;
    }
    printf("%u of %u values are stored: %s\n", stored, n, name_of(last));
}

/* arrays N: N commits of an array about nodes, which only the host gives. */
static void store_arrays(unsigned n)
{
    static struct bytes values, b;
    unsigned stored = 0;

    open_admitted();
    for (unsigned i = 0; i < n; i++) {
        values.used = 0;
        add_packed(&values, &(int32_t){1}, PMIX_INT32, false);
        add_string(&values, PMIX_NODE_INFO_ARRAY);
        add_array(&values, PMIX_INFO, 1);
        add_info(&values, PMIX_NODEID, 0, 1000 + i);
        commit_values(&b, &values);
        send_bytes(&b, LAST_TAG);
        stored += await_last_answer() && answered_status() == PMIX_SUCCESS;
    }
    printf("%u of %u arrays are stored\n", stored, n);
}

static void make_refresh(struct bytes *to, pmix_rank_t rank)
{
    begin_case(to, CMD_REFRESH_CACHE);
    put_string(to, me.nspace);
    add_packed(to, &rank, PMIX_PROC_RANK, true);
}

/* True: an honest question on the connection of PMIx_Init() has the honest answer. */
static bool is_answered(void)
{
    pmix_pdata_t nothing;

    PMIX_PDATA_CONSTRUCT(&nothing);
    PMIX_LOAD_KEY(nothing.key, "nothing");
    return PMIx_Lookup(&nothing, 1, NULL, 0) == PMIX_ERR_NOT_FOUND;
}

/* deaf N: N requests for a value of 3 MB, whose answers are not read before the server has read all
 * requests: in each turn of its loop it reads one message of a connection, and an honest question
 * takes it a turn. */
static void read_nothing(unsigned n)
{
    static struct bytes b;
    static char some[1u << 16];
    size_t came = 0;
    ssize_t got;

    open_admitted();
    commit_large(&b, "large");
    send_bytes(&b, LAST_TAG);
    (void)await_last_answer();
    make_refresh(&b, me.rank);
    for (unsigned i = 0; i < n; i++)
        send_bytes(&b, LAST_TAG);
    for (unsigned i = 0; i < n && is_answered(); i++)
        continue;
    while (came / STORED_BYTES < n && (got = recv(sock, some, sizeof(some), 0)) > 0)
        came += (size_t)got;
    printf("%s of %u answers have come\n", came / STORED_BYTES < n ? "not all" : "all", n);
}

/* refreshes N: N requests for what the server has of this rank. */
static void request_refreshes(unsigned n)
{
    static struct bytes b;
    unsigned answered = 0;

    make_refresh(&b, me.rank);
    open_admitted();
    for (unsigned i = 0; i < n; i++) {
        send_bytes(&b, LAST_TAG);
        answered += await_last_answer();
    }
    printf("%u of %u requests are answered\n", answered, n);
}

static void put_number(uint32_t n)
{
    pmix_value_t v;

    PMIX_VALUE_LOAD(&v, &n, PMIX_UINT32);
    must(PMIx_Put(PMIX_GLOBAL, CASE_KEY, &v), "PMIx_Put");
    must(PMIx_Commit(), "PMIx_Commit");
    must(PMIx_Fence(NULL, 0, NULL, 0), "PMIx_Fence");
}

static bool is_refreshed(pmix_rank_t rank, uint32_t n)
{
    static struct bytes b;
    static struct bytes value;

    value.used = 0;
    add_string(&value, CASE_KEY);
    add_type(&value, PMIX_UINT32);
    add_packed(&value, &n, PMIX_UINT32, false);
    make_refresh(&b, rank);
    send_bytes(&b, LAST_TAG);
    return await_last_answer() && memmem(answer.data, answer.len, value.data, value.used);
}

/* refresh N, of two ranks: rank 0 gets a value of rank 1, which then puts another one N times. */
static void refresh_cache(unsigned n)
{
    pmix_proc_t other = me;
    pmix_value_t *v = NULL;
    unsigned found = 0;

    other.rank = 1;
    put_number(1000);
    if (me.rank == 0)
        must(PMIx_Get(&other, CASE_KEY, NULL, 0, &v), "PMIx_Get");
    if (me.rank == 0)
        open_admitted();
    for (uint32_t i = 1; i <= n; i++) {
        must(PMIx_Fence(NULL, 0, NULL, 0), "PMIx_Fence");
        put_number(1000 + i);
        if (me.rank == 0)
            found += is_refreshed(other.rank, 1000 + i);
    }
    if (me.rank == 0)
        printf("%u of %u new values are found\n", found, n);
    must(PMIx_Fence(NULL, 0, NULL, 0), "PMIx_Fence");
}

#define MOST_REQUESTS 64

/* end-output N: requests the end of requests for output that this rank has not made. */
static void end_output_of_others(unsigned n)
{
    static struct bytes b;
    unsigned ended = 0;

    open_admitted();
    for (size_t id = 0; id < MOST_REQUESTS; id++) {
        begin_case(&b, CMD_IOF_DEREG);
        add_packed(&b, &(size_t){0}, PMIX_SIZE, true);
        add_packed(&b, &id, PMIX_SIZE, true);
        for (unsigned i = 0; i < n; i++) {
            send_bytes(&b, LAST_TAG);
            ended += await_last_answer() && answered_status() == PMIX_SUCCESS;
        }
    }
    printf("%u requests are ended\n", ended);
}

/* An honest question on the connection of PMIx_Init(). */
static void ask(uint64_t connections)
{
    pmix_pdata_t nothing;

    PMIX_PDATA_CONSTRUCT(&nothing);
    PMIX_LOAD_KEY(nothing.key, "nothing");
    printf("asked after %llu connections: %s\n", (unsigned long long)connections,
           name_of(PMIx_Lookup(&nothing, 1, NULL, 0)));
    fflush(stdout);
    PMIx_Finalize(NULL, 0);
    _exit(0);
}

static const struct {
    const char *name;
    void (*attack)(unsigned n);
} modes[] = {{"halves", halve_headers},
             {"announce", announce},
             {"store", store_values},
             {"arrays", store_arrays},
             {"refreshes", request_refreshes},
             {"deaf", read_nothing},
             {"unpack", send_many_arrays},
             {"refresh", refresh_cache},
             {"end-output", end_output_of_others}};

/* False: it is a seed. */
static bool run_direct(const char *what, const char *arg)
{
    honest = true;
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(what, modes[i].name) == 0) {
            modes[i].attack((unsigned)strtoul(arg, NULL, 10));
            return true;
        }
    }
    honest = strcmp(what, "case") == 0;
    if (honest)
        attack_by_name(arg);
    return honest;
}

int main(int argc, char **argv)
{
    uint64_t seed, n;

    if (argc == 2 && strcmp(argv[1], "cases") == 0) {
        for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
            printf("%s\n", cases[i].name);
        return 0;
    }
    if (argc != 3)
        return 2;
    if (strcmp(argv[1], "silence") == 0) {
        find_port();
        return keep_silent((unsigned)strtoul(argv[2], NULL, 10));
    }
    signal(SIGPIPE, SIG_IGN);
    find_port();
    begin();
    if (run_direct(argv[1], argv[2]))
        ask(1);
    seed = strtoull(argv[1], NULL, 10);
    n = strtoull(argv[2], NULL, 10);
    all_types = seed >= ALL_TYPES;
    for (uint64_t i = 0; i < n; i++) {
        state = (seed * 1000003 + i + 1) * 0x9e3779b97f4a7c15u;
        (void)any(2);
        attack();
    }
    ask(n);
}
