/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets with descriptors over a local socket pair, and sealed memory files for long contents.
 *
 * In: encoded messages and borrowed descriptors; bytes for a memory file. Out: one packet for each
 * message; received bytes with descriptors that the caller owns; a descriptor or a mapping of the
 * memory file. Messages are encoded and decoded in spawn_msg.c.
 *
 * Invariants: sending and receiving never block and raise no SIGPIPE. A received descriptor is
 * close-on-exec. A memory file is mapped only if it has all of SEALS, so its bytes cannot change
 * while they are decoded.
 *
 * Failures: SPAWN_SOCK_AGAIN asks the caller to wait for the descriptor, SPAWN_SOCK_LATER to try
 * again after some ms. SPAWN_SOCK_GONE is final. A memory file that is empty, unsealed or longer
 * than SPAWN_SPEC_MAX is refused. A mapping is never removed. */
#include "dvm/host/spawner/spawn_sock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int) * SPAWN_FD_COUNT)];
};

enum spawn_sock_result spawn_sock_send(int sock, const struct buf *msg, const int *fds, size_t nfds,
                                       struct err *err)
{
    union control ctl = {0};
    struct iovec iov = {.iov_base = msg->data, .iov_len = msg->len};
    struct msghdr mh = {.msg_iov = &iov, .msg_iovlen = 1};

    if (nfds) {
        struct cmsghdr *c = &ctl.align;

        mh.msg_control = ctl.bytes;
        mh.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int) * nfds);
        memcpy(CMSG_DATA(c), fds, sizeof(int) * nfds);
    }
    while (sendmsg(sock, &mh, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        if (errno == EINTR)
            continue;
        if (errno == EAGAIN)
            return SPAWN_SOCK_AGAIN;
        if (errno == ETOOMANYREFS || errno == ENOBUFS || errno == ENOMEM)
            return SPAWN_SOCK_LATER;
        err_sys(err, errno, "sending between daemon and spawner");
        return SPAWN_SOCK_GONE;
    }
    return SPAWN_SOCK_OK;
}

static void take_fds(struct msghdr *mh, int fds[SPAWN_FD_COUNT])
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(mh); c; c = CMSG_NXTHDR(mh, c)) {
        size_t bytes;

        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        /* The control buffer has room for SPAWN_FD_COUNT descriptors, so there cannot be more. */
        bytes = c->cmsg_len - CMSG_LEN(0);
        memcpy(fds, CMSG_DATA(c), bytes);
    }
}

enum spawn_sock_result spawn_sock_recv(int sock, void *data, size_t *len, int fds[SPAWN_FD_COUNT],
                                       struct err *err)
{
    union control ctl = {0};
    struct iovec iov = {.iov_base = data, .iov_len = SPAWN_MSG_MAX};
    struct msghdr mh = {.msg_iov = &iov,
                        .msg_iovlen = 1,
                        .msg_control = ctl.bytes,
                        .msg_controllen = sizeof(ctl.bytes)};
    ssize_t n;

    for (size_t i = 0; i < SPAWN_FD_COUNT; i++)
        fds[i] = -1;
    do
        n = recvmsg(sock, &mh, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN)
        return SPAWN_SOCK_AGAIN;
    if (n <= 0) {
        if (n < 0)
            err_sys(err, errno, "receiving between daemon and spawner");
        else
            err_set(err, "the other side has closed its socket");
        return SPAWN_SOCK_GONE;
    }
    take_fds(&mh, fds);
    *len = (size_t)n;
    return SPAWN_SOCK_OK;
}

void spawn_sock_close_fds(int fds[SPAWN_FD_COUNT])
{
    for (size_t i = 0; i < SPAWN_FD_COUNT; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
        fds[i] = -1;
    }
}

static int write_all(int fd, const uint8_t *p, size_t len)
{
    while (len) {
        ssize_t n = write(fd, p, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        p += n;
        len -= (size_t)n;
    }
    return 0;
}

int spawn_sock_memfd_create(const struct buf *bytes, struct err *err)
{
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int fd = memfd_create("rank", flags | MFD_NOEXEC_SEAL);

    if (fd < 0 && errno == EINVAL) /* not defined before Linux 6.3 */
        fd = memfd_create("rank", flags);
    if (fd < 0)
        return err_sys(err, errno, "creating a memory file");
    if (write_all(fd, bytes->data, bytes->len) < 0 || fcntl(fd, F_ADD_SEALS, SEALS) < 0) {
        err_sys(err, errno, "writing a memory file of %zu bytes", bytes->len);
        close(fd);
        return -1;
    }
    return fd;
}

int spawn_sock_memfd_map(int fd, struct cur *out, struct err *err)
{
    int seals = fcntl(fd, F_GET_SEALS);
    struct stat st;
    void *p;

    if (seals < 0 || (seals & SEALS) != SEALS)
        return err_code(err, EINVAL, "the memory file is not sealed");
    if (fstat(fd, &st) < 0)
        return err_sys(err, errno, "asking for the memory file's size");
    if (st.st_size <= 0 || st.st_size > SPAWN_SPEC_MAX)
        return err_code(err, EINVAL, "the memory file has %lld bytes", (long long)st.st_size);
    p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return err_sys(err, errno, "mapping the memory file");
    *out = cur_of(p, (size_t)st.st_size);
    return 0;
}
