/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of TCP sockets. */
#include "dvm/host/net/tcp.h"

#include "base/log/log.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#define KEEP_INTERVAL_S 5
#define KEEP_COUNT 3
#define KEEP_IDLE_S (NET_SILENT_MS / 1000 - KEEP_COUNT * KEEP_INTERVAL_S)

void net_tcp_options(int fd)
{
    static const struct {
        int level, name, value;
    } options[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1},
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, KEEP_IDLE_S},
        {IPPROTO_TCP, TCP_KEEPINTVL, KEEP_INTERVAL_S},
        {IPPROTO_TCP, TCP_KEEPCNT, KEEP_COUNT},
        {IPPROTO_TCP, TCP_USER_TIMEOUT, NET_SILENT_MS},
    };

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        if (setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(int)) < 0)
            log_debug("a socket option is refused option=%d errno=%d", options[i].name, errno);
    }
}
