/* SPDX-License-Identifier: BSD-3-Clause */
/* The user at the other end of a local TCP connection.
 *
 * The kernel has a socket for each end. The one of the peer is looked up by its four numbers in
 * the network's socket tables, by sock_diag or, where that is not allowed, in /proc/self/net. It
 * must be connected and belong to a process: the kernel tells user 0 for a socket that its process
 * has closed. Afterwards our own end must still be connected, so that nobody else can have had the
 * peer's port meanwhile. */
#include "pmix_extend.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct ends { /* in the order of the network; of IPv4, the first word of an address */
    int family;
    uint32_t peer[4], own[4];
    uint16_t peer_port, own_port;
};

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static int take_address(const union address *a, uint32_t words[4], uint16_t *port)
{
    memset(words, 0, 4 * sizeof(*words));
    if (a->any.sa_family == AF_INET) {
        words[0] = a->v4.sin_addr.s_addr;
        *port = a->v4.sin_port;
        return 0;
    }
    if (a->any.sa_family == AF_INET6) {
        memcpy(words, &a->v6.sin6_addr, sizeof(a->v6.sin6_addr));
        *port = a->v6.sin6_port;
        return 0;
    }
    return -1;
}

static int find_ends(int sd, struct ends *e)
{
    union address peer = {.v6 = {0}};
    union address own = {.v6 = {0}};
    socklen_t peer_len = sizeof(peer);
    socklen_t own_len = sizeof(own);

    if (getpeername(sd, &peer.any, &peer_len) < 0 || getsockname(sd, &own.any, &own_len) < 0)
        return -1;
    e->family = own.any.sa_family;
    return take_address(&peer, e->peer, &e->peer_port) < 0 ||
                   take_address(&own, e->own, &e->own_port) < 0
               ? -1
               : 0;
}

static int send_question(int fd, const struct ends *e)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 body;
    } q = {.head = {.nlmsg_len = sizeof(q),
                    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                    .nlmsg_flags = NLM_F_REQUEST},
           .body = {.sdiag_family = (uint8_t)e->family,
                    .sdiag_protocol = IPPROTO_TCP,
                    .idiag_states = ~0u,
                    .id = {.idiag_sport = e->peer_port,
                           .idiag_dport = e->own_port,
                           .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}}};

    memcpy(q.body.id.idiag_src, e->peer, sizeof(e->peer));
    memcpy(q.body.id.idiag_dst, e->own, sizeof(e->own));
    return send(fd, &q, sizeof(q), 0) == (ssize_t)sizeof(q) ? 0 : -1;
}

/* 0; 1: there is no such socket; -1: the kernel does not say, or it has no sock_diag for TCP, which
 * is answered by the same error as an unknown socket. */
static int ask_kernel(const struct ends *e, struct pmix_extend_peer *peer)
{
    union {
        struct nlmsghdr head;
        char bytes[4096];
    } a;
    const struct inet_diag_msg *m = NLMSG_DATA(&a.head);
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    ssize_t n = -1;

    if (fd < 0)
        return -1;
    if (send_question(fd, e) == 0)
        n = recv(fd, &a, sizeof(a), 0);
    close(fd);
    if (n < (ssize_t)NLMSG_LENGTH(sizeof(int)) || !NLMSG_OK(&a.head, (size_t)n))
        return -1;
    if (a.head.nlmsg_type != SOCK_DIAG_BY_FAMILY || n < (ssize_t)NLMSG_LENGTH(sizeof(*m)))
        return -1;
    /* A port without such a connection is answered by its listening socket. */
    if (m->id.idiag_sport != e->peer_port || m->id.idiag_dport != e->own_port ||
        m->idiag_state != TCP_ESTABLISHED || !m->idiag_inode)
        return 1;
    peer->uid = m->idiag_uid;
    peer->inode = m->idiag_inode;
    return 0;
}

static int is_line_of(const struct ends *e, const char *line, struct pmix_extend_peer *peer)
{
    char at[2][33] = {"", ""};
    char want[2][33];
    unsigned port[2];
    unsigned state;
    unsigned user;
    unsigned long inode;

    if (sscanf(line, " %*[^:]: %32[0-9A-F]:%x %32[0-9A-F]:%x %x %*s %*s %*s %u %*s %lu", at[0],
               &port[0], at[1], &port[1], &state, &user, &inode) != 7)
        return 0;
    for (int i = 0; i < (e->family == AF_INET6 ? 4 : 1); i++) {
        snprintf(want[0] + i * 8, 9, "%08X", e->peer[i]);
        snprintf(want[1] + i * 8, 9, "%08X", e->own[i]);
    }
    if (strcmp(at[0], want[0]) != 0 || strcmp(at[1], want[1]) != 0 ||
        port[0] != ntohs(e->peer_port) || port[1] != ntohs(e->own_port) ||
        state != TCP_ESTABLISHED || !inode)
        return 0;
    peer->uid = user;
    peer->inode = inode;
    return 1;
}

static int read_table(const struct ends *e, struct pmix_extend_peer *peer)
{
    FILE *f = fopen(e->family == AF_INET6 ? "/proc/self/net/tcp6" : "/proc/self/net/tcp", "re");
    char line[512];
    int found = 0;

    if (!f)
        return -1;
    while (!found && fgets(line, sizeof(line), f))
        found = is_line_of(e, line, peer);
    fclose(f);
    return found ? 0 : -1;
}

static int is_connected(int sd)
{
    struct tcp_info info = {0};
    socklen_t len = sizeof(info);

    return getsockopt(sd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 &&
           info.tcpi_state == TCP_ESTABLISHED;
}

int pmix_extend_peer_find(int sd, struct pmix_extend_peer *peer)
{
    struct ends e;
    int rc;

    if (!is_connected(sd) || find_ends(sd, &e) < 0)
        return -1;
    rc = ask_kernel(&e, peer);
    if (rc < 0)
        rc = read_table(&e, peer);
    return rc == 0 && is_connected(sd) ? 0 : -1;
}

int pmix_extend_peer_find_by_table(int sd, struct pmix_extend_peer *peer)
{
    struct ends e;

    return find_ends(sd, &e) < 0 || read_table(&e, peer) < 0 || !is_connected(sd) ? -1 : 0;
}
