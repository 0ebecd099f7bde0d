/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded into daemons: the library's thread hangs for ever as soon as a client connects, if
 * there is a FIFO of the name in $STILL, through which it says so. No other thread calls accept().
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int accept(int fd, struct sockaddr *restrict addr, socklen_t *restrict len)
{
    int (*libc)(int, struct sockaddr *, socklen_t *);
    const char *path = getenv("STILL");
    int fifo = path && gettid() != getpid() ? open(path, O_WRONLY | O_CLOEXEC) : -1;

    if (fifo < 0) {
        *(void **)&libc = dlsym(RTLD_NEXT, "accept");
        return libc(fd, addr, len);
    }
    (void)!write(fifo, "still\n", 6);
    close(fifo);
    for (;;)
        pause();
}
