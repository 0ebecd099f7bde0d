/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded into a daemon: one allocation of the process fails, whoever asks for it.
 *
 * In: $MEMORY_PROGRAM, the only program in which one fails; unset: any. $MEMORY_FAIL, the number of
 * the allocation that fails, counted from the start of the program over all threads and into the
 * daemon's own process, which is forked; 0: none. With $MEMORY_GONE all later ones fail too. Out:
 * the file $MEMORY_CALLS, which must not exist before. It gets the calls that led to the allocation
 * that has failed, innermost first, each as "program +0xoffset" of the return address. If none has
 * failed, it gets the number of allocations when the process ends. The file is made once, so no
 * second process with the same variables fails. The file $MEMORY_CODE gets the exit code of the
 * process $MEMORY_PID or of a child of it, if that exits; no file tells of a signal.
 *
 * Failures: with a file that cannot be made no allocation fails. */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FRAMES_MAX 48

/* The C library's own, which calls none of the functions here. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);

static atomic_ulong calls;
static unsigned long fail_at; /* 0: none */
static bool stays, gone;      /* all later ones fail too; now */
static bool counts;
static __thread bool inside __attribute__((tls_model("initial-exec")));

static int make_file(void)
{
    const char *path = getenv("MEMORY_CALLS");

    return path ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
}

static void write_frames(int fd)
{
    void *frames[FRAMES_MAX];
    int n = backtrace(frames, FRAMES_MAX);

    for (int i = 0; i < n; i++) {
        Dl_info in;

        if (dladdr(frames[i], &in) && in.dli_fname)
            dprintf(fd, "%s +%#zx %s\n", in.dli_fname,
                    (size_t)((char *)frames[i] - (char *)in.dli_fbase),
                    in.dli_sname ? in.dli_sname : "?");
    }
}

/* True for the one allocation that is to fail. */
static bool must_fail(void)
{
    int fd;

    if (!counts || inside)
        return false;
    if (atomic_fetch_add(&calls, 1) + 1 != fail_at) {
        if (gone)
            errno = ENOMEM;
        return gone;
    }
    inside = true;
    fd = make_file();
    if (fd >= 0) {
        write_frames(fd);
        close(fd);
    }
    inside = false;
    gone = fd >= 0 && stays;
    errno = ENOMEM;
    return fd >= 0;
}

/* Whoever waits for the process may be gone, or may end by it. */
static void write_code(int code, void *nothing)
{
    const char *path = getenv("MEMORY_CODE"), *text = getenv("MEMORY_PID");
    pid_t pid = text ? (pid_t)strtol(text, NULL, 10) : 0;
    int fd;

    (void)nothing;
    if (!path || (pid != getpid() && pid != getppid()))
        return;
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    dprintf(fd, "%d\n", code & 0xff);
    close(fd);
}

void _exit(int status)
{
    write_code(status, NULL);
    syscall(SYS_exit_group, status);
    __builtin_unreachable();
}

__attribute__((constructor)) static void start_count(void)
{
    const char *text = getenv("MEMORY_FAIL"), *only = getenv("MEMORY_PROGRAM");
    void *frame;

    on_exit(write_code, NULL);
    stays = getenv("MEMORY_GONE");
    fail_at = text ? strtoul(text, NULL, 10) : 0;
    (void)backtrace(&frame, 1); /* loads what it needs: not in the midst of an allocation */
    counts = text && (!only || strcmp(only, program_invocation_short_name) == 0);
}

__attribute__((destructor)) static void write_count(void)
{
    int fd = counts ? make_file() : -1;

    if (fd < 0)
        return;
    dprintf(fd, "%lu\n", atomic_load(&calls));
    close(fd);
}

void *malloc(size_t size)
{
    return must_fail() ? NULL : __libc_malloc(size);
}

void *calloc(size_t nmemb, size_t size)
{
    return must_fail() ? NULL : __libc_calloc(nmemb, size);
}

/* A block that is to be freed is not asked for. */
void *realloc(void *ptr, size_t size)
{
    return (!ptr || size) && must_fail() ? NULL : __libc_realloc(ptr, size);
}

void *memalign(size_t alignment, size_t size)
{
    return must_fail() ? NULL : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return must_fail() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **memptr, size_t alignment, size_t size)
{
    if (must_fail())
        return ENOMEM;
    *memptr = __libc_memalign(alignment, size);
    return *memptr ? 0 : ENOMEM;
}
