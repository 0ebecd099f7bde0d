/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded into prte: the process that removes registered paths stands for one whose file system
 * is slow. Its first removal waits until somebody opens the FIFO of the name in $CLEANER_GATE, and
 * its limit of time is $CLEANER_S seconds if that is set. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static int is_cleaner(void)
{
    char name[17] = "";

    prctl(PR_GET_NAME, name);
    return strcmp(name, "dvm-cleaner") == 0;
}

int unlinkat(int fd, const char *name, int flag)
{
    int (*libc)(int, const char *, int);
    static int passed;

    if (!passed && is_cleaner()) {
        close(open(getenv("CLEANER_GATE"), O_RDONLY | O_CLOEXEC));
        passed = 1;
    }
    *(void **)&libc = dlsym(RTLD_NEXT, "unlinkat");
    return libc(fd, name, flag);
}

unsigned alarm(unsigned seconds)
{
    unsigned (*libc)(unsigned);
    const char *limit = getenv("CLEANER_S");

    *(void **)&libc = dlsym(RTLD_NEXT, "alarm");
    return libc(limit && is_cleaner() ? (unsigned)strtoul(limit, NULL, 10) : seconds);
}
