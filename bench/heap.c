/* SPDX-License-Identifier: BSD-3-Clause */
/* A library that is preloaded into daemons and records the origin of allocated memory.
 *
 * After SIGRTMIN + 5 the next allocation writes $HEAP_DIR/<pid>.<number>: one line for each calling
 * place, with the bytes and blocks in use and the calls that led there. The usual profilers do not
 * follow a daemon over its fork, or cannot compare two moments of it. */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FRAMES 16
#define OWN_FRAMES 4 /* of ours at most, on top of each */
#define CALLER __builtin_return_address(0)
#define BLOCKS_MAX (1u << 21) /* powers of two; memory is taken as it is used */
#define SITES_MAX (1u << 15)

/* The C library's own, which calls none of the functions here. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *p);

struct block {
    uintptr_t address; /* 0: free */
    size_t size;
    uint32_t site;
};
struct site {
    void *frames[FRAMES];
    int nframes; /* 0: free */
    size_t bytes, blocks;
};

static struct block *blocks;
static struct site *sites;
static size_t nblocks, nsites;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread bool inside __attribute__((tls_model("initial-exec")));
static volatile sig_atomic_t asked;

static _Noreturn void stop(const char *why)
{
    fprintf(stderr, "heap: %s\n", why);
    _exit(127);
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15u;
    return x ^ (x >> 29);
}

static uint32_t site_of(void *const *frames, int n)
{
    size_t bytes = (size_t)n * sizeof(*frames);
    uint64_t h = 0;
    uint32_t i;

    for (int k = 0; k < n; k++)
        h = mix(h ^ (uintptr_t)frames[k]);
    for (i = h & (SITES_MAX - 1); sites[i].nframes; i = (i + 1) & (SITES_MAX - 1)) {
        if (sites[i].nframes == n && memcmp(sites[i].frames, frames, bytes) == 0)
            return i;
    }
    if (++nsites > SITES_MAX / 2)
        stop("too many places");
    memcpy(sites[i].frames, frames, bytes);
    sites[i].nframes = n;
    return i;
}

static size_t home(uintptr_t address)
{
    return mix(address >> 4) & (BLOCKS_MAX - 1);
}

static size_t next(size_t i)
{
    return (i + 1) & (BLOCKS_MAX - 1);
}

static void add(void *p, void *const *frames, int n)
{
    struct site *s;
    size_t i = home((uintptr_t)p);

    while (blocks[i].address)
        i = next(i);
    if (++nblocks > BLOCKS_MAX / 2)
        stop("too many blocks");
    blocks[i] = (struct block){(uintptr_t)p, malloc_usable_size(p), site_of(frames, n)};
    s = &sites[blocks[i].site];
    s->bytes += blocks[i].size;
    s->blocks++;
}

/* Moves those that stand after it nearer to their home: no marks of what has been. */
static void close_gap(size_t gap)
{
    for (size_t i = next(gap); blocks[i].address; i = next(i)) {
        size_t h = home(blocks[i].address);

        if (((i - h) & (BLOCKS_MAX - 1)) < ((i - gap) & (BLOCKS_MAX - 1)))
            continue;
        blocks[gap] = blocks[i];
        gap = i;
    }
    blocks[gap].address = 0;
}

static void take_off(const void *p)
{
    struct site *s;
    size_t i = home((uintptr_t)p);

    while (blocks[i].address && blocks[i].address != (uintptr_t)p)
        i = next(i);
    if (!blocks[i].address)
        return; /* from before */
    s = &sites[blocks[i].site];
    s->bytes -= blocks[i].size;
    s->blocks--;
    nblocks--;
    close_gap(i);
}

static void print_frame(FILE *f, void *frame)
{
    Dl_info at = {0};
    const char *module;

    if (dladdr(frame, &at) == 0 || !at.dli_fname) {
        fprintf(f, " ?:%p:", frame);
        return;
    }
    module = strrchr(at.dli_fname, '/');
    fprintf(f, " %s:%#zx:%s", module ? module + 1 : at.dli_fname,
            (size_t)((char *)frame - (char *)at.dli_fbase) - 1, at.dli_sname ? at.dli_sname : "");
}

/* Under a name of its own first: who waits for the file finds it whole. */
static void dump(void)
{
    static unsigned number;
    const char *dir = getenv("HEAP_DIR");
    char path[512], part[520];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%d.%u", dir ? dir : "/tmp", (int)getpid(), number++);
    snprintf(part, sizeof(part), "%s.new", path);
    f = fopen(part, "we");
    if (!f)
        stop("cannot write");
    for (size_t i = 0; i < SITES_MAX; i++) {
        if (!sites[i].blocks)
            continue;
        fprintf(f, "%zu %zu", sites[i].bytes, sites[i].blocks);
        for (int k = 0; k < sites[i].nframes; k++)
            print_frame(f, sites[i].frames[k]);
        fputc('\n', f);
    }
    if (fclose(f) != 0 || rename(part, path) < 0)
        stop("cannot write");
}

static bool enter(void)
{
    if (inside || !blocks)
        return false;
    inside = true;
    pthread_mutex_lock(&lock);
    return true;
}

static void leave(void)
{
    pthread_mutex_unlock(&lock);
    inside = false;
}

/* For the caller that goes on at that address. */
static void *made(void *p, const void *caller)
{
    void *frames[FRAMES + OWN_FRAMES];
    int first = 0;
    int n;

    if (!p || !enter())
        return p;
    if (asked) {
        asked = 0;
        dump();
    }
    n = backtrace(frames, FRAMES + OWN_FRAMES);
    while (first < n && frames[first] != caller)
        first++;
    if (first == n)
        first = 0; /* the unwinder knows better */
    add(p, frames + first, n - first > FRAMES ? FRAMES : n - first);
    leave();
    return p;
}

void *malloc(size_t size)
{
    return made(__libc_malloc(size), CALLER);
}

void *calloc(size_t n, size_t size)
{
    return made(__libc_calloc(n, size), CALLER);
}

void *memalign(size_t align, size_t size)
{
    return made(__libc_memalign(align, size), CALLER);
}

void *aligned_alloc(size_t align, size_t size)
{
    return made(__libc_memalign(align, size), CALLER);
}

int posix_memalign(void **p, size_t align, size_t size)
{
    *p = made(__libc_memalign(align, size), CALLER);
    return *p ? 0 : ENOMEM;
}

/* The C library's may give the address to another thread before it is noted here that it is gone.
 */
void free(void *p)
{
    bool noted = p && enter();

    if (noted)
        take_off(p);
    __libc_free(p);
    if (noted)
        leave();
}

void *realloc(void *p, size_t size)
{
    bool noted = p && enter();
    void *q;

    if (noted)
        take_off(p);
    q = __libc_realloc(p, size);
    if (noted)
        leave();
    return made(q, CALLER);
}

static void on_signal(int number)
{
    asked = 1;
}

/* In daemons only; what they start knows nothing of it. */
static __attribute__((constructor)) void start(void)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *first[1];
    void *b, *s;

    if (strcmp(program_invocation_short_name, "prted") != 0)
        return;
    unsetenv("LD_PRELOAD");
    backtrace(first, 1); /* loads what it needs */
    s = mmap(NULL, SITES_MAX * sizeof(*sites), PROT_READ | PROT_WRITE, flags, -1, 0);
    b = mmap(NULL, BLOCKS_MAX * sizeof(*blocks), PROT_READ | PROT_WRITE, flags, -1, 0);
    if (s == MAP_FAILED || b == MAP_FAILED)
        stop("no memory");
    signal(SIGRTMIN + 5, on_signal);
    sites = s;
    blocks = b;
}
