/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target of lists and watches: the input is what the API server answers, line by line.
 *
 * The first line chooses the collection ("pods" or another). A line "#410" ends the oldest call
 * with that status; any other line is an event of the watch if one is open, and the whole answer to
 * the list otherwise. */
#include "base/buf/buf.h"
#include "base/log/log.h"
#include "base/loop/test/clock.h"
#include "operator/http/test/fake_http.h"
#include "operator/reconcile/reconcile_private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The longest pause of a cache. */
#define PAUSE_MS 31000

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char CONFIG[] = "{current-context: c, contexts: [{name: c, context: {cluster: c}}], "
                             "clusters: [{name: c, cluster: {server: 'http://x'}}]}";
static struct loop *loop;
static struct reconciler reconciler;
static char *config_path;

static void drop_pod(void *kept, void *arg)
{
    pod_unref(kept);
}

static void on_change(const char *key, const void *kept, bool deleted, void *arg)
{
    if (!strchr(key, '/') || !kept)
        abort();
}

static void answer(const char *line, size_t len)
{
    struct http_call *stream = fake_http_find(true), *call = fake_http_find(false);

    if (!stream && !call) {
        clock_run_for(loop, PAUSE_MS);
        stream = fake_http_find(true);
        call = fake_http_find(false);
    }
    if (!stream && !call)
        abort();
    if (len > 1 && line[0] == '#')
        fake_http_end(stream ? stream : call, (int)(strtoul(line + 1, NULL, 10) % 600), "", 0);
    else if (stream)
        fake_http_line(stream, line, len);
    else
        fake_http_end(call, 200, line, len);
    clock_turn(loop);
    stream = fake_http_find(true);
    if (stream)
        fake_http_open(stream);
}

static void answer_all(const char *text)
{
    while (*text) {
        size_t len = strcspn(text, "\n");

        answer(text, len);
        text += len + (text[len] != '\0');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FREE_AUTO char *text = xasprintf("%.*s", (int)size, (const char *)data);
    bool pods = strncmp(text, "pods\n", 5) == 0;
    struct err err = {0};
    struct kube *kube = kube_create(loop, kube_config_load(config_path, NULL, &err), &err);
    const struct cache_opts o = {.path = "/api/v1/pods",
                                 .keep = pods ? pod_keep : child_keep,
                                 .drop = pods ? drop_pod : child_drop,
                                 .on_change = on_change,
                                 .arg = &reconciler};
    struct cache *cache = kube ? cache_create(loop, kube, &o, &err) : NULL;

    if (!cache)
        abort();
    clock_turn(loop);
    answer_all(text + (pods ? 5 : 0));
    cache_destroy(cache);
    kube_destroy(kube);
    return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    struct err err = {0};
    int fd = memfd_create("config", MFD_CLOEXEC);

    loop = loop_create(&err);
    if (!loop || write(fd, CONFIG, strlen(CONFIG)) != (ssize_t)strlen(CONFIG))
        abort();
    log_init("fuzz", LOG_LEVEL_ERROR);
    reconciler.o.loop = loop;
    config_path = xasprintf("/proc/self/fd/%d", fd);
    return 0;
}
