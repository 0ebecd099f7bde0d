/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a command many times, some at once, and prints how long each took as one JSON line. */
#include "bench/figures.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define AT_ONCE_MAX 256u

static const char usage_text[] =
    "Usage: launcher [-n RUNS] [-c AT_ONCE] [-w WARM_UP] [-t FILE] [-k KEY=VALUE]... -- COMMAND "
    "[ARGUMENT...]\n"
    "FILE gets the start and the end of each run, warm-up included, in microseconds since 1970.\n"
    "Runs COMMAND with its input and output on /dev/null. Numbers among the values stay numbers.\n";

struct slot {
    pid_t pid; /* 0: free */
    double started_ms;
    uint64_t wall_us; /* when it was started */
};

struct bench {
    char **argv;
    posix_spawn_file_actions_t files;
    unsigned runs, at_once, warm_up;
    struct slot slots[AT_ONCE_MAX];
    double *took_ms;
    double cpu_ms; /* of all timed commands, user and system */
    double *rss_kib;
    unsigned done, failed;
    FILE *times;
};

static uint64_t wall_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static int start(struct bench *b, struct slot *s)
{
    s->wall_us = wall_us();
    s->started_ms = now_ms();
    errno = posix_spawnp(&s->pid, b->argv[0], &b->files, NULL, b->argv, environ);
    if (errno == 0)
        return 0;
    fprintf(stderr, "launcher: starting %s: %s\n", b->argv[0], strerror(errno));
    s->pid = 0;
    return -1;
}

static struct slot *slot_of(struct bench *b, pid_t pid)
{
    for (unsigned i = 0; i < AT_ONCE_MAX; i++) {
        if (b->slots[i].pid == pid)
            return &b->slots[i];
    }
    return NULL;
}

static double timeval_ms(struct timeval t)
{
    return (double)t.tv_sec * 1e3 + (double)t.tv_usec / 1e3;
}

/* Waits for one command and notes its figures. */
static int reap(struct bench *b)
{
    struct rusage use;
    struct slot *s;
    int status;
    pid_t pid = wait4(-1, &status, 0, &use);
    double at = now_ms();

    s = pid > 0 ? slot_of(b, pid) : NULL;
    if (!s)
        return -1;
    if (b->times)
        fprintf(b->times, "%" PRIu64 " %" PRIu64 "\n", s->wall_us, wall_us());
    b->took_ms[b->done] = at - s->started_ms;
    b->rss_kib[b->done] = (double)use.ru_maxrss;
    b->cpu_ms += timeval_ms(use.ru_utime) + timeval_ms(use.ru_stime);
    b->done++;
    b->failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    s->pid = 0;
    return 0;
}

static int run_all(struct bench *b, unsigned runs)
{
    unsigned started = 0;

    b->done = b->failed = 0;
    b->cpu_ms = 0;
    while (b->done < runs) {
        while (started < runs && started - b->done < b->at_once) {
            if (start(b, slot_of(b, 0)) < 0)
                return -1;
            started++;
        }
        if (reap(b) < 0)
            return -1;
    }
    return 0;
}

static void print_pair(const char *pair)
{
    const char *eq = strchr(pair, '=');
    char *end;

    if (!eq)
        return;
    (void)strtod(eq + 1, &end);
    if (eq[1] && !*end)
        printf("\"%.*s\": %s, ", (int)(eq - pair), pair, eq + 1);
    else
        printf("\"%.*s\": \"%s\", ", (int)(eq - pair), pair, eq + 1);
}

static void print(const struct bench *b, char *const *pairs, unsigned npairs, double total_ms)
{
    printf("{");
    for (unsigned i = 0; i < npairs; i++)
        print_pair(pairs[i]);
    sort_doubles(b->took_ms, b->done);
    sort_doubles(b->rss_kib, b->done);
    printf("\"runs\": %u, \"failed\": %u, \"at_once\": %u, \"per_s\": %.1f, ", b->done, b->failed,
           b->at_once, b->done / total_ms * 1e3);
    printf("\"min_ms\": %.2f, \"median_ms\": %.2f, \"p90_ms\": %.2f, \"p99_ms\": %.2f, "
           "\"max_ms\": %.2f, \"cpu_ms\": %.2f, \"rss_kib\": %.0f}\n",
           b->took_ms[0], quantile(b->took_ms, b->done, 0.5), quantile(b->took_ms, b->done, 0.9),
           quantile(b->took_ms, b->done, 0.99), b->took_ms[b->done - 1], b->cpu_ms / b->done,
           quantile(b->rss_kib, b->done, 0.5));
}

static unsigned number(const char *text, unsigned max)
{
    unsigned long n = strtoul(text, NULL, 10);

    return n > max ? max : (unsigned)n;
}

int main(int argc, char **argv)
{
    struct bench b = {.runs = 50, .at_once = 1, .warm_up = 5};
    char *pairs[16];
    unsigned npairs = 0;
    double start_ms;
    int opt;

    while ((opt = getopt(argc, argv, "+n:c:w:k:t:")) != -1) {
        if (opt == 'n')
            b.runs = number(optarg, 10000000);
        else if (opt == 'c')
            b.at_once = number(optarg, AT_ONCE_MAX);
        else if (opt == 'w')
            b.warm_up = number(optarg, 10000);
        else if (opt == 't' && (b.times = fopen(optarg, "we")))
            continue;
        else if (opt == 'k' && npairs < 16)
            pairs[npairs++] = optarg;
        else
            break;
    }
    b.argv = argv + optind;
    if (opt != -1 || !b.argv[0] || !b.runs || !b.at_once) {
        fputs(usage_text, stderr);
        return 2;
    }
    posix_spawn_file_actions_init(&b.files);
    posix_spawn_file_actions_addopen(&b.files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&b.files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    b.took_ms = calloc(b.runs + b.warm_up, sizeof(*b.took_ms));
    b.rss_kib = calloc(b.runs + b.warm_up, sizeof(*b.rss_kib));
    if (!b.took_ms || !b.rss_kib || (b.warm_up && run_all(&b, b.warm_up) < 0))
        return 1;
    start_ms = now_ms();
    if (run_all(&b, b.runs) < 0)
        return 1;
    print(&b, pairs, npairs, now_ms() - start_ms);
    if (b.times)
        fclose(b.times);
    free(b.took_ms);
    free(b.rss_kib);
    posix_spawn_file_actions_destroy(&b.files);
    return 0;
}
