/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends the processes that a spawner's ranks have left, found by the marks in their environment. */
#include "dvm/host/spawner/orphans.h"

#include "base/buf/buf.h"
#include "dvm/host/spawner/proc_tree.h"
#include "dvm/host/spawner/spawner_private.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLEAN_LOOKS 2 /* one look at /proc can miss a process that is being created */
#define RETRY_MS 5

struct hunt {
    char mark[32]; /* the beginning of a mark */
    const pid_t *sids;
    size_t nsids;
};

static bool is_orphan(const struct hunt *h, pid_t pid)
{
    FREE_AUTO char *mark = NULL;
    struct proc_stat st;

    if (!proc_tree_stat(pid, &st) || st.state == 'Z' || st.state == 'X')
        return false;
    mark = proc_tree_environ(pid, SPAWNER_MARK);
    if (mark)
        return strncmp(mark, h->mark, strlen(h->mark)) == 0;
    for (size_t i = 0; i < h->nsids; i++) {
        if (st.sid == h->sids[i])
            return true;
    }
    return false;
}

static size_t kill_all(const struct hunt *h)
{
    DIR *d = opendir("/proc");
    const struct dirent *e;
    size_t n = 0;

    while (d && (e = readdir(d))) {
        pid_t pid = isdigit((unsigned char)e->d_name[0]) ? (pid_t)strtol(e->d_name, NULL, 10) : 0;

        if (pid <= 0 || pid == getpid() || !is_orphan(h, pid))
            continue;
        kill(pid, SIGKILL);
        n++;
    }
    if (d)
        closedir(d);
    return n;
}

size_t orphans_end(uint64_t token, const pid_t *sids, size_t nsids, int timeout_ms)
{
    struct hunt h = {.sids = sids, .nsids = nsids};
    uint64_t until_ms = spawner_now_ms() + (uint64_t)timeout_ms;
    unsigned clean = 0;
    size_t left;

    snprintf(h.mark, sizeof(h.mark), "%016" PRIx64 ".", token);
    for (;;) {
        left = kill_all(&h);
        clean = left ? 0 : clean + 1;
        if (clean == CLEAN_LOOKS || spawner_now_ms() >= until_ms)
            return left;
        poll(NULL, 0, RETRY_MS);
    }
}
