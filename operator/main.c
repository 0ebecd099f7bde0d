/* SPDX-License-Identifier: BSD-3-Clause */
/* dvm-operator: runs DVMs on Kubernetes as DvmCluster objects describe them. */
#include "base/buf/buf.h"
#include "base/log/log.h"
#include "operator/kube/kube.h"
#include "operator/metrics/metrics.h"
#include "operator/reconcile/reconcile.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define DEFAULT_IMAGE "dvm-daemon:" DVM_VERSION

struct flags {
    const char *kubeconfig;
    const char *context;
    const char *ns;
    bool all_namespaces;
    const char *metrics_addr;
    const char *image;
    enum log_level level;
    uint64_t watch_silence_ms;
    struct reconcile_override overrides[RECONCILE_OVERRIDES_MAX];
    size_t noverrides;
};

struct program {
    struct loop *loop;
    struct kube *kube;
    struct metrics *metrics;
    struct reconciler *reconciler;
    struct loop_signal *term, *intr;
};

static void print_usage(FILE *out)
{
    fputs("Usage: dvm-operator [options]\n"
          "  --kubeconfig FILE         how to reach the API server (default: the pod's service "
          "account)\n"
          "  --context NAME            context of that file (default: its current one)\n"
          "  --namespace NS            work in this namespace (default: that of the kubeconfig)\n"
          "  --all-namespaces          work in all namespaces\n"
          "  --metrics-addr ADDR:PORT  /metrics, /healthz and /readyz (default 0.0.0.0:8080; \"\": "
          "none)\n"
          "  --daemon-image IMAGE      for resources without spec.image (default " DEFAULT_IMAGE
          ")\n"
          "  --head-connect NAME=ADDR:PORT  connect to a head there, not by its Service (tests); "
          "NAME is\n"
          "                            NAMESPACE/NAME or NAME; may be given several times\n"
          "  --watch-silence SECONDS   open a watch anew after so long without a byte (default "
          "150)\n"
          "  --log-level LEVEL         error, warn, info (default) or debug\n"
          "  --version, --help\n",
          out);
}

static int add_override(struct flags *f, char *text, struct err *err)
{
    char *eq = strchr(text, '=');

    if (!eq || eq == text || !strchr(eq, ':'))
        return err_set(err, "--head-connect needs NAME=ADDR:PORT, not \"%s\"", text);
    if (f->noverrides == RECONCILE_OVERRIDES_MAX)
        return err_set(err, "--head-connect may be given at most %d times",
                       RECONCILE_OVERRIDES_MAX);
    *eq = '\0';
    f->overrides[f->noverrides++] = (struct reconcile_override){.name = text, .connect = eq + 1};
    return 0;
}

static int take_silence(struct flags *f, const char *text, struct err *err)
{
    char *end = NULL;
    unsigned long s = strtoul(text, &end, 10);

    if (end == text || *end || s < 1 || s > 3600)
        return err_set(err, "--watch-silence must be a number from 1 to 3600, not \"%s\"", text);
    f->watch_silence_ms = s * 1000;
    return 0;
}

static int take_flag(struct flags *f, int opt, struct err *err)
{
    switch (opt) {
    case 'k':
        f->kubeconfig = optarg;
        return 0;
    case 'c':
        f->context = optarg;
        return 0;
    case 'n':
        f->ns = optarg;
        return 0;
    case 'A':
        f->all_namespaces = true;
        return 0;
    case 'm':
        f->metrics_addr = optarg;
        return 0;
    case 'i':
        f->image = optarg;
        return 0;
    case 'H':
        return add_override(f, optarg, err);
    case 'w':
        return take_silence(f, optarg, err);
    case 'l':
        if (log_level_parse(optarg, &f->level))
            return err_set(err, "--log-level must be error, warn, info or debug, not \"%s\"",
                           optarg);
        return 0;
    case 'v':
        puts("dvm-operator " DVM_VERSION);
        exit(0);
    case 'h':
        print_usage(stdout);
        exit(0);
    default:
        return err_set(err, "see dvm-operator --help");
    }
}

static int parse_flags(int argc, char **argv, struct flags *f, struct err *err)
{
    static const struct option options[] = {{"kubeconfig", required_argument, NULL, 'k'},
                                            {"context", required_argument, NULL, 'c'},
                                            {"namespace", required_argument, NULL, 'n'},
                                            {"all-namespaces", no_argument, NULL, 'A'},
                                            {"metrics-addr", required_argument, NULL, 'm'},
                                            {"daemon-image", required_argument, NULL, 'i'},
                                            {"head-connect", required_argument, NULL, 'H'},
                                            {"watch-silence", required_argument, NULL, 'w'},
                                            {"log-level", required_argument, NULL, 'l'},
                                            {"version", no_argument, NULL, 'v'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    int opt;

    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (take_flag(f, opt, err))
            return -1;
    }
    if (optind < argc)
        return err_set(err, "unexpected argument \"%s\"", argv[optind]);
    if (f->ns && f->all_namespaces)
        return err_set(err, "--namespace and --all-namespaces exclude each other");
    return 0;
}

static void on_signal(int signum, void *arg)
{
    struct program *p = arg;

    log_info("received signal %d, the program ends", signum);
    loop_stop(p->loop);
}

static void on_synced(void *arg)
{
    log_info("ready");
}

static void on_scrape(struct metrics_sample *out, void *arg)
{
    struct program *p = arg;

    out->kube = kube_stats(p->kube);
    out->queue_depth = reconciler_queue_depth(p->reconciler);
    reconciler_watches(p->reconciler, out);
}

static const char *not_ready(void *arg)
{
    struct program *p = arg;

    if (!p->reconciler || !reconciler_synced(p->reconciler))
        return "the caches are not filled";
    return reconciler_deaf(p->reconciler) ? "the API server has been silent for too long" : NULL;
}

static int open_kube(struct program *p, const struct flags *f, struct err *err)
{
    struct kube_config *config = f->kubeconfig ? kube_config_load(f->kubeconfig, f->context, err)
                                               : kube_config_in_cluster(err);

    if (!config)
        return err_wrap(err, "access to the API server");
    log_info("API server %s", kube_config_server(config));
    p->kube = kube_create(p->loop, config, err);
    return p->kube ? 0 : -1;
}

static int open_metrics(struct program *p, const char *where, struct err *err)
{
    const char *colon = strrchr(where, ':');

    if (!*where)
        return 0;
    if (!colon || strtoul(colon + 1, NULL, 10) > 65535)
        return err_set(err, "--metrics-addr needs ADDR:PORT, not \"%s\"", where);
    FREE_AUTO char *addr = xasprintf("%.*s", (int)(colon - where), where);
    struct metrics_opts o = {.addr = addr,
                             .port = (uint16_t)strtoul(colon + 1, NULL, 10),
                             .on_scrape = on_scrape,
                             .not_ready = not_ready,
                             .arg = p};
    p->metrics = metrics_create(p->loop, &o, err);
    if (!p->metrics)
        return err_wrap(err, "--metrics-addr %s", where);
    log_info("metrics port %u", metrics_port(p->metrics));
    return 0;
}

/* Each head needs a few descriptors. The soft limit is raised up to the hard limit, which the
 * administrator has set. */
static void raise_limits(void)
{
    struct rlimit l;

    if (getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur == l.rlim_max)
        return;
    l.rlim_cur = l.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &l))
        log_warn("the limit of open files cannot be raised");
}

static int open_all(struct program *p, const struct flags *f, struct err *err)
{
    p->loop = loop_create(err);
    if (!p->loop || open_kube(p, f, err))
        return -1;
    p->term = loop_signal_create(p->loop, SIGTERM, on_signal, p);
    p->intr = loop_signal_create(p->loop, SIGINT, on_signal, p);
    struct reconciler_opts o = {.loop = p->loop,
                                .kube = p->kube,
                                .ns = f->all_namespaces ? NULL
                                      : f->ns           ? f->ns
                                                        : kube_namespace(p->kube),
                                .default_image = f->image,
                                .overrides = f->overrides,
                                .noverrides = f->noverrides,
                                .watch_silence_ms = f->watch_silence_ms,
                                .on_synced = on_synced,
                                .arg = p};
    log_info("working in %s%s", o.ns ? "namespace " : "all namespaces", o.ns ? o.ns : "");
    p->reconciler = reconciler_create(&o, err);
    if (!p->reconciler || open_metrics(p, f->metrics_addr, err))
        return -1;
    reconciler_measure(p->reconciler, p->metrics);
    return 0;
}

static void close_all(struct program *p)
{
    reconciler_destroy(p->reconciler);
    metrics_destroy(p->metrics);
    kube_destroy(p->kube);
    if (p->term)
        loop_signal_destroy(p->term);
    if (p->intr)
        loop_signal_destroy(p->intr);
    if (p->loop)
        loop_destroy(p->loop);
}

int main(int argc, char **argv)
{
    struct flags f = {
        .metrics_addr = "0.0.0.0:8080", .image = DEFAULT_IMAGE, .level = LOG_LEVEL_INFO};
    struct program p = {0};
    struct err err = {0};

    if (parse_flags(argc, argv, &f, &err)) {
        fprintf(stderr, "dvm-operator: %s\n", err.msg);
        return 2;
    }
    log_init("dvm-operator", f.level);
    raise_limits();
    int rc = open_all(&p, &f, &err) || loop_run(p.loop, &err);
    if (rc)
        log_error("%s", err.msg);
    close_all(&p);
    return rc ? 1 : 0;
}
