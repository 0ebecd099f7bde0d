/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a failed schedule again with its trace, and keeps the lines about the vpids, jobs and
 * campaigns concerned. */
#include "dvm/sim/test/explain.h"

#include "base/buf/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAMED_MAX 8
#define LINES_KEPT 30

struct named { /* "vpid 4", "job 12", "abc.7", "campaign c3" */
    char word[64];
    char vpid[16]; /* as in the second column; "": it is none */
};

static bool ends_word(char c)
{
    return c == 0 || strchr(" ,:()\n", c);
}

/* The names that follow "vpid", "job" or "campaign" in the text of the failure. */
static size_t names_of(const char *text, struct named names[NAMED_MAX])
{
    static const char *const kinds[] = {"vpid ", "job ", "campaign "};
    size_t n = 0;

    for (const char *at = text; *at && n < NAMED_MAX; at++) {
        for (size_t k = 0; k < 3 && n < NAMED_MAX; k++) {
            size_t len = strlen(kinds[k]);
            size_t end = len;

            if (strncmp(at, kinds[k], len) != 0)
                continue;
            while (!ends_word(at[end]))
                end++;
            if (end == len || end >= sizeof(names[n].word))
                continue;
            snprintf(names[n].word, sizeof(names[n].word), "%.*s", (int)end, at);
            *names[n].vpid = 0;
            if (k == 0 && end - len < sizeof(names[n].vpid))
                snprintf(names[n].vpid, sizeof(names[n].vpid), "%.*s", (int)(end - len), at + len);
            n++;
        }
    }
    return n;
}

static bool concerns(const char *line, const struct named *names, size_t n)
{
    char who[16] = "";

    if (n == 0)
        return true;
    (void)sscanf(line, "%*s %15s", who);
    for (size_t i = 0; i < n; i++) {
        const char *at = strstr(line, names[i].word);

        if ((at && ends_word(at[strlen(names[i].word)])) ||
            (*names[i].vpid && strcmp(who, names[i].vpid) == 0))
            return true;
    }
    return strstr(line, "partition") || strncmp(line, "seed ", 5) == 0;
}

static void story(FILE *trace, const char *text)
{
    struct named names[NAMED_MAX];
    size_t n = names_of(text, names);
    char *kept[LINES_KEPT] = {NULL};
    char line[1024];
    size_t lines = 0;

    while (fgets(line, sizeof(line), trace)) {
        if (!concerns(line, names, n))
            continue;
        free(kept[lines % LINES_KEPT]);
        kept[lines++ % LINES_KEPT] = xstrdup(line);
    }
    for (size_t i = lines > LINES_KEPT ? lines - LINES_KEPT : 0; i < lines; i++)
        printf("    %s", kept[i % LINES_KEPT]);
    for (size_t i = 0; i < LINES_KEPT; i++)
        free(kept[i]);
}

/* The trace goes to stdout, so to a process of its own. */
static FILE *trace_of(const struct script_opts *o, pid_t *pid)
{
    struct script_opts traced = *o;
    struct script_result r;
    int fd[2];

    if (pipe(fd) < 0)
        return NULL;
    fflush(stdout);
    *pid = fork();
    if (*pid == 0) {
        dup2(fd[1], STDOUT_FILENO);
        close(fd[0]);
        close(fd[1]);
        memset(&r, 0, sizeof(r));
        traced.trace = true;
        script_run(&traced, &r);
        fflush(stdout);
        _exit(0);
    }
    close(fd[1]);
    if (*pid > 0)
        return fdopen(fd[0], "r");
    close(fd[0]);
    return NULL;
}

void explain(const struct script_opts *o, const struct script_result *r)
{
    pid_t pid = -1;
    FILE *trace;

    printf("seed %llu: %s at %llu ms: %s\n  all of it: sim --seed %llu",
           (unsigned long long)o->seed, r->name, (unsigned long long)r->at_ms, r->text,
           (unsigned long long)o->seed);
    if (o->nodes)
        printf(" --nodes %u", o->nodes);
    if (o->keepers)
        printf(" --keepers");
    printf(" --trace; the last that concerns what is named:\n");
    trace = trace_of(o, &pid);
    if (trace) {
        story(trace, r->text);
        fclose(trace);
    }
    if (pid > 0)
        waitpid(pid, NULL, 0);
}
