/* SPDX-License-Identifier: BSD-3-Clause */
/* dvm-operator: runs DVMs on Kubernetes as DvmCluster objects describe them.
 *
 * Steps: read the flags, raise the limit of open files, open the API server (kube), the plain port
 * (metrics), the Lease if one is named, and the reconciler, and run the loop until SIGTERM or
 * SIGINT.
 *
 * Invariants: one context, made in main() and passed down; parts are closed in the reverse order,
 * also those that were opened in part. All state that outlives the program is in the objects'
 * status.
 *
 * Failures: a wrong flag ends the program with exit code 2, a part that cannot be opened with one
 * line and exit code 1. An API server that does not answer later is waited for. */
#include "base/buf/buf.h"
#include "base/heap/heap.h"
#include "base/log/log.h"
#include "operator/kube/kube.h"
#include "operator/lease/lease.h"
#include "operator/metrics/metrics.h"
#include "operator/reconcile/reconcile.h"

#include <getopt.h>
#include <link.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#define DEFAULT_IMAGE "dvm-daemon:" DVM_VERSION
#define NAMESPACES_MAX 64 /* each has five watches, and a program 1024 */

struct flags {
    const char *kubeconfig;
    const char *context;
    const char *ns[NAMESPACES_MAX];
    size_t nns;
    bool all_namespaces;
    bool any_template;
    struct issuers issuers;
    const char *lease; /* NULL: none */
    const char *identity;
    int64_t lease_duration_s;
    const char *metrics_addr;
    bool metrics_local_only;
    const char *metrics_token; /* file; NULL: none */
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
    const struct flags *flags;
    struct reconciler *reconcilers[NAMESPACES_MAX];
    size_t nreconcilers; /* 0: another operator leads */
    struct lease *lease; /* NULL: this operator works without one */
    struct http_gate gate;
    bool ready;  /* "ready" was logged */
    bool ending; /* a signal has come */
    bool failed;
    struct loop_signal *term, *intr;
};

static void print_usage(FILE *out)
{
    fputs(
        "Usage: dvm-operator [options]\n"
        "Makes and resizes the DVM of each DvmCluster resource.\n\n"
        "  --kubeconfig FILE         how to reach the API server (default: the pod's service "
        "account)\n"
        "  --context NAME            context of that file (default: its current one)\n"
        "  --namespace NS            work in this namespace (default: that of the kubeconfig); may "
        "be\n"
        "                            given several times\n"
        "  --all-namespaces          work in all namespaces\n"
        "  --lease [NS/]NAME         work only while holding this Lease; others with it wait\n"
        "  --identity ID             name in the Lease (default: host, process and a random "
        "number)\n"
        "  --lease-duration SECONDS  after which a Lease that is not renewed may be taken "
        "(default 15)\n"
        "  --template-policy POLICY  what spec.template may have: restricted (default) or any\n"
        "  --issuer KIND[.GROUP]/NAME  an issuer of cert-manager that a resource may name; NAME "
        "may "
        "be *;\n"
        "                            may be given several times (default " ISSUERS_DEFAULT ")\n"
        "  --metrics-addr ADDR:PORT  /metrics, /healthz and /readyz (default 0.0.0.0:8080; \"\": "
        "none)\n"
        "  --metrics-access WHO      who may read /metrics: all (default), or loopback: callers on "
        "this host\n"
        "                            or in this pod; others have /healthz and /readyz\n"
        "  --metrics-token-file FILE  with loopback: others read /metrics with the bearer token in "
        "FILE\n"
        "  --daemon-image IMAGE      for resources without spec.image (default " DEFAULT_IMAGE ")\n"
        "  --head-connect NAME=ADDR:PORT  connect to a head there, not by its Service (tests); "
        "NAME is\n"
        "                            NAMESPACE/NAME or NAME; may be given several times\n"
        "  --watch-silence SECONDS   open a watch anew after so long without a byte (default "
        "150)\n"
        "  --log-level LEVEL         error, warn, info (default) or debug\n"
        "  --version, --help\n\n"
        "Exit code: 0 after SIGTERM or SIGINT, 1 after a failure, which its log names, 2 if the "
        "command\n"
        "line is wrong.\n",
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

static int add_namespace(struct flags *f, const char *ns, struct err *err)
{
    if (f->nns == NAMESPACES_MAX)
        return err_set(err, "--namespace may be given at most %d times", NAMESPACES_MAX);
    for (size_t i = 0; i < f->nns; i++) {
        if (strcmp(f->ns[i], ns) == 0)
            return err_set(err, "--namespace %s is given twice", ns);
    }
    f->ns[f->nns++] = ns;
    return 0;
}

static int take_duration(struct flags *f, const char *text, struct err *err)
{
    char *end;
    long s = strtol(text, &end, 10);

    if (!*text || *end || s < LEASE_DURATION_MIN_S || s > LEASE_DURATION_MAX_S)
        return err_set(err, "--lease-duration must be %d to %d, not \"%s\"", LEASE_DURATION_MIN_S,
                       LEASE_DURATION_MAX_S, text);
    f->lease_duration_s = s;
    return 0;
}

static int take_policy(struct flags *f, const char *text, struct err *err)
{
    f->any_template = strcmp(text, "any") == 0;
    if (!f->any_template && strcmp(text, "restricted") != 0)
        return err_set(err, "--template-policy must be restricted or any, not \"%s\"", text);
    return 0;
}

static int take_access(struct flags *f, const char *text, struct err *err)
{
    f->metrics_local_only = strcmp(text, "loopback") == 0;
    if (!f->metrics_local_only && strcmp(text, "all") != 0)
        return err_set(err, "--metrics-access must be all or loopback, not \"%s\"", text);
    return 0;
}

static int take_flag(struct flags *f, int opt, const char *word, struct err *err)
{
    switch (opt) {
    case 'k':
        f->kubeconfig = optarg;
        return 0;
    case 'c':
        f->context = optarg;
        return 0;
    case 'n':
        return add_namespace(f, optarg, err);
    case 'A':
        f->all_namespaces = true;
        return 0;
    case 'L':
        f->lease = optarg;
        return 0;
    case 'I':
        f->identity = optarg;
        return 0;
    case 'D':
        return take_duration(f, optarg, err);
    case 'P':
        return take_policy(f, optarg, err);
    case 'S':
        return issuers_add(&f->issuers, optarg, err);
    case 'm':
        f->metrics_addr = optarg;
        return 0;
    case 'M':
        return take_access(f, optarg, err);
    case 'T':
        f->metrics_token = optarg;
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
        return err_set(err, "%s: no such option, or its value is missing", word);
    }
}

static int parse_flags(int argc, char **argv, struct flags *f, struct err *err)
{
    static const struct option options[] = {{"kubeconfig", required_argument, NULL, 'k'},
                                            {"context", required_argument, NULL, 'c'},
                                            {"namespace", required_argument, NULL, 'n'},
                                            {"all-namespaces", no_argument, NULL, 'A'},
                                            {"lease", required_argument, NULL, 'L'},
                                            {"identity", required_argument, NULL, 'I'},
                                            {"lease-duration", required_argument, NULL, 'D'},
                                            {"template-policy", required_argument, NULL, 'P'},
                                            {"issuer", required_argument, NULL, 'S'},
                                            {"metrics-addr", required_argument, NULL, 'm'},
                                            {"metrics-access", required_argument, NULL, 'M'},
                                            {"metrics-token-file", required_argument, NULL, 'T'},
                                            {"daemon-image", required_argument, NULL, 'i'},
                                            {"head-connect", required_argument, NULL, 'H'},
                                            {"watch-silence", required_argument, NULL, 'w'},
                                            {"log-level", required_argument, NULL, 'l'},
                                            {"version", no_argument, NULL, 'v'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    int opt;

    opterr = 0;
    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (take_flag(f, opt, argv[optind - 1], err))
            return -1;
    }
    if (optind < argc)
        return err_set(err, "unexpected argument \"%s\"", argv[optind]);
    if (f->nns && f->all_namespaces)
        return err_set(err, "--namespace and --all-namespaces exclude each other");
    if (f->metrics_token && !f->metrics_local_only)
        return err_set(err, "--metrics-token-file needs --metrics-access loopback");
    return 0;
}

/* --- memory */

/* Gives up the pages of a program's or library's code and constants that were read from its file;
 * those that are used again come back from there. A segment that is written to is left alone. */
static int drop_clean_pages(struct dl_phdr_info *info, size_t size, void *arg)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *s = &info->dlpi_phdr[i];
        uintptr_t from = (info->dlpi_addr + s->p_vaddr) & ~(page - 1);
        uintptr_t to = (info->dlpi_addr + s->p_vaddr + s->p_filesz + page - 1) & ~(page - 1);

        if (s->p_type != PT_LOAD || (s->p_flags & PF_W) || to <= from)
            continue;
        /* Otherwise a page comes back with its neighbours, used or not. */
        (void)madvise((void *)from, to - from, MADV_RANDOM);
        (void)madvise((void *)from, to - from, MADV_DONTNEED);
    }
    return 0;
}

/* --- work: the reconcilers exist while this operator leads */

static void stop_work(struct program *p)
{
    for (size_t i = 0; i < p->nreconcilers; i++)
        reconciler_destroy(p->reconcilers[i]);
    p->nreconcilers = 0;
    p->ready = false;
    if (p->metrics)
        metrics_clusters_clear(p->metrics);
}

static bool work_synced(const struct program *p)
{
    for (size_t i = 0; i < p->nreconcilers; i++) {
        if (!reconciler_synced(p->reconcilers[i]))
            return false;
    }
    return true;
}

static void on_synced(void *arg)
{
    struct program *p = arg;

    if (p->ready || !work_synced(p))
        return;
    p->ready = true;
    /* Most of what was read until now is of the start: linking, and the set-up of OpenSSL. */
    (void)dl_iterate_phdr(drop_clean_pages, NULL);
    log_info("ready");
}

static int start_reconciler(struct program *p, const char *ns, struct err *err)
{
    const struct flags *f = p->flags;
    struct reconciler_opts o = {.loop = p->loop,
                                .kube = p->kube,
                                .ns = ns,
                                .default_image = f->image,
                                .restricted = !f->any_template,
                                .issuers = &f->issuers,
                                .overrides = f->overrides,
                                .noverrides = f->noverrides,
                                .watch_silence_ms = f->watch_silence_ms,
                                .gate = p->lease ? &p->gate : NULL,
                                .on_synced = on_synced,
                                .arg = p};
    struct reconciler *r = reconciler_create(&o, err);

    if (!r)
        return -1;
    log_info("working in %s%s", ns ? "namespace " : "all namespaces", ns ? ns : "");
    reconciler_measure(r, p->metrics);
    p->reconcilers[p->nreconcilers++] = r;
    return 0;
}

static int start_work(struct program *p, struct err *err)
{
    const struct flags *f = p->flags;

    if (!f->nns)
        return start_reconciler(p, f->all_namespaces ? NULL : kube_namespace(p->kube), err);
    for (size_t i = 0; i < f->nns; i++) {
        if (start_reconciler(p, f->ns[i], err))
            return -1;
    }
    return 0;
}

/* --- the Lease */

static bool gate_is_open(void *arg)
{
    const struct program *p = arg;

    return lease_held(p->lease);
}

static void on_acquired(void *arg)
{
    struct program *p = arg;
    struct err err = {0};

    if (!start_work(p, &err))
        return;
    log_error("%s", err.msg);
    p->failed = true;
    loop_stop(p->loop);
}

static void on_lost(const char *why, void *arg)
{
    stop_work(arg);
}

static void on_released(void *arg)
{
    struct program *p = arg;

    loop_stop(p->loop);
}

static char *make_identity(void)
{
    char host[256] = "";
    uint32_t dice = 0;

    gethostname(host, sizeof(host) - 1);
    if (getrandom(&dice, sizeof(dice), 0) < 0)
        dice = 0;
    return xasprintf("%s_%ld_%08x", host, (long)getpid(), dice);
}

static void open_lease(struct program *p)
{
    const struct flags *f = p->flags;
    const char *slash = strchr(f->lease, '/');
    FREE_AUTO char *ns = slash ? xasprintf("%.*s", (int)(slash - f->lease), f->lease)
                               : xstrdup(kube_namespace(p->kube));
    FREE_AUTO char *made = f->identity ? NULL : make_identity();
    struct lease_opts o = {.loop = p->loop,
                           .kube = p->kube,
                           .ns = ns,
                           .name = slash ? slash + 1 : f->lease,
                           .identity = f->identity ? f->identity : made,
                           .duration_s = f->lease_duration_s,
                           .on_acquired = on_acquired,
                           .on_lost = on_lost,
                           .arg = p};

    p->lease = lease_create(&o);
    p->gate = (struct http_gate){.is_open = gate_is_open, .arg = p};
    kube_set_gate(p->kube, &p->gate);
    log_info("waiting for the Lease %s/%s as %s", ns, o.name, o.identity);
}

/* --- the program */

/* The first signal ends the work and releases the Lease, a second one ends the program at once. */
static void on_signal(int signum, void *arg)
{
    struct program *p = arg;

    log_info("received signal %d, the program ends", signum);
    if (!p->lease || p->ending) {
        loop_stop(p->loop);
        return;
    }
    p->ending = true;
    stop_work(p);
    lease_release(p->lease, on_released, p);
}

static void on_scrape(struct metrics_sample *out, void *arg)
{
    struct program *p = arg;

    out->kube = kube_stats(p->kube);
    out->times = kube_times(p->kube);
    out->leads = p->nreconcilers > 0;
    for (size_t i = 0; i < p->nreconcilers; i++) {
        out->queue_depth += reconciler_queue_depth(p->reconcilers[i]);
        out->passes_held += reconciler_passes_held(p->reconcilers[i]);
    }
    for (size_t i = 0; i < p->nreconcilers; i++)
        reconciler_watches(p->reconcilers[i], out);
}

/* An operator that waits for the Lease is ready: a Deployment with two of them is complete. */
static const char *not_ready(void *arg)
{
    struct program *p = arg;

    if (p->lease && lease_trouble(p->lease))
        return lease_trouble(p->lease);
    if (!p->nreconcilers)
        return p->lease ? NULL : "the start is not complete";
    if (!work_synced(p))
        return "the caches are not filled";
    for (size_t i = 0; i < p->nreconcilers; i++) {
        if (reconciler_deaf(p->reconcilers[i]))
            return "the API server has been silent for too long";
    }
    return NULL;
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
                             .local_only = p->flags->metrics_local_only,
                             .token_file = p->flags->metrics_token,
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

/* Threads that resolve names would each have an arena of their own. Large blocks are mapped: they
 * leave no holes, and of libcurl's buffer for sending, one for each head, only the first page is
 * used. */
static void limit_memory(void)
{
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 16384);
}

static int open_all(struct program *p, const struct flags *f, struct err *err)
{
    p->loop = loop_create(err);
    if (!p->loop || open_kube(p, f, err))
        return -1;
    p->term = loop_signal_create(p->loop, SIGTERM, on_signal, p);
    p->intr = loop_signal_create(p->loop, SIGINT, on_signal, p);
    if (open_metrics(p, f->metrics_addr, err))
        return -1;
    if (!f->lease)
        return start_work(p, err);
    open_lease(p);
    return 0;
}

static void close_all(struct program *p)
{
    stop_work(p);
    lease_destroy(p->lease);
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
    struct flags f = {.metrics_addr = "0.0.0.0:8080",
                      .image = DEFAULT_IMAGE,
                      .level = LOG_LEVEL_INFO,
                      .lease_duration_s = LEASE_DURATION_S};
    struct program p = {.flags = &f};
    struct err err = {0};

    heap_guard_json();
    heap_guard_events();
    heap_guard_crypto();
    if (parse_flags(argc, argv, &f, &err)) {
        fprintf(stderr, "dvm-operator: %s; see 'dvm-operator --help'\n", err.msg);
        return 2;
    }
    log_init("dvm-operator", f.level);
    raise_limits();
    limit_memory();
    int rc = open_all(&p, &f, &err) || loop_run(p.loop, &err);
    if (rc)
        log_error("%s", err.msg);
    close_all(&p);
    return rc || p.failed ? 1 : 0;
}
