/* SPDX-License-Identifier: BSD-3-Clause */
/* A program for shell tests of the API client: sends one request or many, or follows a
 * collection. */
#include "base/buf/buf.h"
#include "base/log/log.h"
#include "operator/cache/cache.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Access: $KUBECONFIG, and its context $KUBE_CONTEXT if set. */
static const char USAGE[] =
    "usage: kubecheck request METHOD PATH [TYPE BODY]   prints the status and the answer\n"
    "       kubecheck fill PATH COUNT                   makes ConfigMaps fill-0, fill-1, …\n"
    "       kubecheck follow PATH [SELECTOR]            prints changes until SIGTERM\n"
    "       kubecheck follow-metadata PATH [SELECTOR]   the same from the objects' metadata\n";

struct program {
    struct loop *loop;
    struct kube *kube;
    struct cache *cache;
    unsigned long left, failed;
    bool connected;
    struct loop_timer *look;
};

static void say(const char *line)
{
    printf("%s\n", line);
    fflush(stdout);
}

static void on_answer(int status, const json_t *body, const struct err *err, void *arg)
{
    struct program *p = arg;
    FREE_AUTO char *text = body ? json_dumps(body, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    FREE_AUTO char *line = xasprintf("%d %s", status, err->msg[0] ? err->msg : text ? text : "");

    say(line);
    loop_stop(p->loop);
}

static int request(struct program *p, int argc, char **argv, struct err *err)
{
    json_error_t jerr;

    if (argc < 4)
        return err_set(err, "METHOD and PATH are needed");
    json_t *body = argc > 5 ? json_loads(argv[5], 0, &jerr) : NULL;
    if (argc > 5 && !body)
        return err_set(err, "body: %s", jerr.text);
    struct kube_verb v = {.method = argv[2],
                          .path = argv[3],
                          .content_type = argc > 4 ? argv[4] : NULL,
                          .body = body};
    unsigned long id = kube_request(p->kube, &v, on_answer, p, err);
    json_decref(body);
    return id ? 0 : -1;
}

static void on_filled(int status, const json_t *body, const struct err *err, void *arg)
{
    struct program *p = arg;

    if (status != 201) {
        log_error("%s", err->msg);
        p->failed++;
    }
    if (--p->left > 0)
        return;
    FREE_AUTO char *line = xasprintf("failed %lu", p->failed);
    say(line);
    loop_stop(p->loop);
}

static int fill(struct program *p, int argc, char **argv, struct err *err)
{
    unsigned long count = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;

    if (count == 0)
        return err_set(err, "COUNT is a number above 0");
    for (p->left = 0; p->left < count; p->left++) {
        FREE_AUTO char *name = xasprintf("fill-%lu", p->left);
        json_t *body = json_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "ConfigMap",
                                 "metadata", "name", name);
        struct kube_verb v = {.method = "POST", .path = argv[2], .body = body};
        unsigned long id = kube_request(p->kube, &v, on_filled, p, err);

        json_decref(body);
        if (!id)
            return -1;
    }
    return 0;
}

static void on_change(const char *key, const void *object, bool deleted, void *arg)
{
    const json_t *meta = json_object_get(object, "metadata");
    const json_t *data = json_object_get(object, "data");
    const char *value = json_string_value(json_object_get(data, "value"));
    FREE_AUTO char *line = xasprintf(
        "%c%s/%s %s %s", deleted ? '-' : '+', json_string_value(json_object_get(meta, "namespace")),
        json_string_value(json_object_get(meta, "name")),
        json_string_value(json_object_get(object, "kind")), value ? value : "");

    say(line);
}

static void on_synced(void *arg)
{
    struct program *p = arg;
    FREE_AUTO char *line = xasprintf("synced %zu", cache_count(p->cache));

    say(line);
}

static void on_term(int signum, void *arg)
{
    struct program *p = arg;
    FREE_AUTO char *line =
        xasprintf("relists %lu count %zu", kube_stats(p->kube).relists, cache_count(p->cache));

    say(line);
    loop_stop(p->loop);
}

/* Reports that the connection is lost or works again: the cache has no callback for it. */
static void on_look(void *arg)
{
    struct program *p = arg;

    if (cache_connected(p->cache) != p->connected) {
        p->connected = !p->connected;
        say(p->connected ? "connected" : "lost");
    }
    loop_timer_arm(p->look, 20);
}

static int follow(struct program *p, int argc, char **argv, struct err *err)
{
    struct cache_opts o = {.path = argv[2],
                           .label_selector = argc > 3 ? argv[3] : NULL,
                           .metadata_only = strcmp(argv[1], "follow-metadata") == 0,
                           .on_change = on_change,
                           .on_synced = on_synced,
                           .arg = p};

    p->cache = cache_create(p->loop, p->kube, &o, err);
    if (!p->cache)
        return -1;
    p->look = loop_timer_create(p->loop, on_look, p);
    loop_timer_arm(p->look, 0);
    return 0;
}

static int start(struct program *p, int argc, char **argv, struct err *err)
{
    struct kube_config *config = kube_config_load(NULL, getenv("KUBE_CONTEXT"), err);

    if (!config)
        return -1;
    p->loop = loop_create(err);
    if (!p->loop) {
        kube_config_destroy(config);
        return -1;
    }
    p->kube = kube_create(p->loop, config, err);
    if (!p->kube)
        return -1;
    if (strcmp(argv[1], "request") == 0)
        return request(p, argc, argv, err);
    if (strcmp(argv[1], "fill") == 0)
        return fill(p, argc, argv, err);
    if (strncmp(argv[1], "follow", 6) == 0)
        return follow(p, argc, argv, err);
    return err_set(err, "unknown verb %s", argv[1]);
}

int main(int argc, char **argv)
{
    struct program p = {0};
    struct err err = {0};

    if (argc < 3) {
        fputs(USAGE, stderr);
        return 2;
    }
    log_init("kubecheck", LOG_LEVEL_INFO);
    int rc = start(&p, argc, argv, &err);
    struct loop_signal *term = p.loop ? loop_signal_create(p.loop, SIGTERM, on_term, &p) : NULL;
    if (rc == 0)
        rc = loop_run(p.loop, &err);
    if (rc < 0)
        log_error("%s", err.msg);
    loop_signal_destroy(term);
    cache_destroy(p.cache);
    loop_timer_destroy(p.look);
    kube_destroy(p.kube);
    if (p.loop)
        loop_destroy(p.loop);
    return rc < 0 || p.failed > 0;
}
