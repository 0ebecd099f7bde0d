/* SPDX-License-Identifier: BSD-3-Clause */
/* prted: the daemon of a DVM: reads its options, splits off the spawner, runs the loop.
 *
 * In: the command line and environment variables. Out: struct daemon_opts for dvm/host/daemon.h,
 * the spawner's process, an exit code.
 *
 * Order: parse_environment(), parse_cmdline(), complete_cmdline() with defaults and checks. With
 * FORKSERVER_LAST in the environment, this process forks one member for each vpid. CPUs, topology
 * and credentials are read once before that. Each daemon then prepares its session directory,
 * splits off the spawner and runs the loop.
 *
 * Invariants: the spawner is split off before the loop and before threads exist. A head has vpid 0,
 * a member a vpid from 1 on and the address of a head.
 *
 * Failures: a wrong command line or environment gives EXIT_USAGE, another failure EXIT_FAILURE.
 * After a loop without error the exit code is daemon_exit_code(). Unreadable CPUs are logged, and
 * ranks are not bound. */
#include "api/faults.h"
#include "api/role.h"
#include "api/vpid.h"
#include "base/buf/buf.h"
#include "base/heap/heap.h"
#include "base/log/log.h"
#include "base/tls/tls.h"
#include "dvm/host/cgroup/cgroup.h"
#include "dvm/host/daemon.h"
#include "dvm/host/forkserver/forkserver.h"
#include "dvm/host/jobspec/outer.h"
#include "dvm/host/net/addresses.h"
#include "dvm/host/spawner/spawner.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXIT_USAGE 2
#define SLOTS_MAX 1048575

static const char usage_text[] =
    "Usage: prted --role head|member --cluster NAME --tls-dir DIR --session-dir DIR [option...]\n"
    "The daemon of a distributed virtual machine; started by the operator or by prte.\n"
    "\n"
    "  --role head|member    the head has vpid 0\n"
    "  --vpid N              of a member (1..65535)\n"
    "  --hostname-vpid       the number at the end of the host's name is the vpid (a pod's "
    "ordinal)\n"
    "  --cluster NAME        name of the DVM, as in the certificates of its daemons\n"
    "  --head HOST:PORT      the head's join port (members); an IPv6 address has brackets\n"
    "  --tls-dir DIR         directory with ca.crt, tls.crt, tls.key\n"
    "  --session-dir DIR     directory of the local socket and of the files of running jobs\n"
    "  --dvm-dir DIR         where the programs of a rank look for their DVM (default: "
    "--session-dir)\n"
    "  --host-name NAME      node name that applications see (default: the host's)\n"
    "  --address A[,B...]    where other daemons reach this one: up to 4 addresses or interfaces,\n"
    "                        in the order of their networks (default: $DVM_ADDRESSES, else\n"
    "                        $POD_IP, else 127.0.0.1)\n"
    "  --bind ADDR           address to listen on (default: all of the family of --address, or\n"
    "                        those of --address if they are loopback addresses)\n"
    "  --control-port N      head: HTTPS control API (default 7443; 0: any free one)\n"
    "  --join-port N         links between daemons (default 7400; 0: any)\n"
    "  --plain-port N        /healthz, /readyz, /metrics (default 7480; 0: any)\n"
    "  --slots N             ranks that may run here (default: 0 for the head; for a member the\n"
    "                        CPUs of its container's limit or cpuset, 1 if it has neither)\n"
    "  --radix N             head: fan-out of the tree, 2..1024 (default 64)\n"
    "  --size N              head: members that may join before a size message (default 0)\n"
    "  --keep-records        head: keep its state in a file; its next process goes on with the\n"
    "                        jobs and members\n"
    "  --records-dir DIR     absolute; directory of that file, made if it is missing\n"
    "                        (default: --session-dir)\n"
    "  --keepers             head: members keep its state, and its next process asks them for it;\n"
    "                        with --keep-records the file counts if no member has it\n"
    "  --exit-on-leave       end the program after leaving the DVM (default: keep it, not ready)\n"
    "  --drain-seconds N     at SIGTERM wait N seconds for jobs here (default: without limit)\n"
    "  --drain-kill          at SIGTERM end jobs here at once\n"
    "  --link-grace-ms N     time in which a broken link may be restored (default 5000)\n"
    "  --silence-ms N        a connection that carries nothing for so long counts as broken\n"
    "                        (default 10000; at least the link grace)\n"
    "  --head-absence-ms N   a member ends its ranks when the head is out of reach for so long\n"
    "                        (default 300000; at least the silence and twice the link grace)\n"
    "  --links N             connections to the parent, 1..8 (default: one by each of its\n"
    "                        addresses); also by $DVM_LINKS\n"
    "  --log-level LEVEL     error, warn, info (default), debug (with microseconds); also by\n"
    "                        $DVM_LOG_LEVEL\n"
    "  --help, --version\n"
    "\n"
    "It ends when the PMIx library has not answered for $DVM_PMIX_SILENT_MS (default 60000 ms).\n"
    "What a job waits for is told after $DVM_WAIT_TOLD_MS (default 10000 ms).\n"
    "With $DVM_LAST_VPID it forks a member for each number from --vpid to that one, prints their\n"
    "numbers and processes, and ends. Both numbers have as many digits; --session-dir and\n"
    "--host-name end in the first one.\n"
    "\n"
    "Exit code: 0 after it has left the DVM, 1 after a failure, which its log names, 2 if the\n"
    "command line is wrong.\n";

struct cmdline {
    struct daemon_opts o;
    bool head, member, hostname_vpid, vpid_given, slots_given, bind_given;
    enum log_level level;
    uint32_t last_vpid; /* 0: one daemon */
    struct api_faults faults;
    char **argv;
    char host[256];
    char head_host[256];
    char session[4096];
    char *cpus;
    hwloc_topology_t topology;       /* NULL: could not be read */
    struct err no_cpus;              /* why `cpus` is "" */
    const char *address, *bind_addr; /* as given */
    struct addresses addresses;
    const char *binds[ADDRESSES_MAX];
};

static int refuse_value(struct err *err, const char *option, const char *value)
{
    return err_set(err, "--%s: \"%s\" is not allowed", option, value);
}

static int parse_number(const char *option, const char *text, uint64_t max, uint64_t *out,
                        struct err *err)
{
    char *end;

    errno = 0;
    *out = strtoull(text, &end, 10);
    if (errno || end == text || *end || *text == '-' || *out > max)
        return refuse_value(err, option, text);
    return 0;
}

static int parse_head(struct cmdline *c, const char *text, struct err *err)
{
    const char *colon = strrchr(text, ':');
    bool brackets = text[0] == '[' && colon && colon[-1] == ']';
    const char *host = text + brackets;
    size_t len = colon ? (size_t)(colon - host) - brackets : 0;
    uint64_t port;

    if (!colon || colon <= host + brackets || len >= sizeof(c->head_host) ||
        (!brackets && memchr(host, ':', len)) ||
        parse_number("head", colon + 1, 65535, &port, err) < 0)
        return refuse_value(err, "head", text);
    memcpy(c->head_host, host, len);
    c->o.head_host = c->head_host;
    c->o.head_port = (uint16_t)port;
    return 0;
}

enum {
    O_ROLE = 256,
    O_VPID,
    O_HOSTVPID,
    O_CLUSTER,
    O_HEAD,
    O_TLS,
    O_SESSION,
    O_DVM_DIR,
    O_HOST,
    O_ADDR,
    O_BIND,
    O_CONTROL,
    O_JOIN,
    O_PLAIN,
    O_SLOTS,
    O_RADIX,
    O_SIZE,
    O_EXIT,
    O_KEEP,
    O_RECORDS,
    O_KEEPERS,
    O_DRAIN,
    O_KILL,
    O_GRACE,
    O_SILENCE,
    O_ABSENCE,
    O_LINKS,
    O_LOG,
    O_HELP,
    O_VERSION
};

static const struct option options[] = {{"role", 1, NULL, O_ROLE},
                                        {"vpid", 1, NULL, O_VPID},
                                        {"hostname-vpid", 0, NULL, O_HOSTVPID},
                                        {"cluster", 1, NULL, O_CLUSTER},
                                        {"head", 1, NULL, O_HEAD},
                                        {"tls-dir", 1, NULL, O_TLS},
                                        {"session-dir", 1, NULL, O_SESSION},
                                        {"dvm-dir", 1, NULL, O_DVM_DIR},
                                        {"host-name", 1, NULL, O_HOST},
                                        {"address", 1, NULL, O_ADDR},
                                        {"bind", 1, NULL, O_BIND},
                                        {"control-port", 1, NULL, O_CONTROL},
                                        {"join-port", 1, NULL, O_JOIN},
                                        {"plain-port", 1, NULL, O_PLAIN},
                                        {"slots", 1, NULL, O_SLOTS},
                                        {"radix", 1, NULL, O_RADIX},
                                        {"size", 1, NULL, O_SIZE},
                                        {"exit-on-leave", 0, NULL, O_EXIT},
                                        {"keep-records", 0, NULL, O_KEEP},
                                        {"records-dir", 1, NULL, O_RECORDS},
                                        {"keepers", 0, NULL, O_KEEPERS},
                                        {"drain-seconds", 1, NULL, O_DRAIN},
                                        {"drain-kill", 0, NULL, O_KILL},
                                        {"link-grace-ms", 1, NULL, O_GRACE},
                                        {"silence-ms", 1, NULL, O_SILENCE},
                                        {"head-absence-ms", 1, NULL, O_ABSENCE},
                                        {"links", 1, NULL, O_LINKS},
                                        {"log-level", 1, NULL, O_LOG},
                                        {"help", 0, NULL, O_HELP},
                                        {"version", 0, NULL, O_VERSION},
                                        {0}};

static int parse_text(struct cmdline *c, int opt, char *v, struct err *err)
{
    switch (opt) {
    case O_ROLE:
        c->head = api_role_of(v) == API_ROLE_HEAD;
        c->member = api_role_of(v) == API_ROLE_MEMBER;
        return c->head || c->member ? 0 : refuse_value(err, "role", v);
    case O_HOSTVPID:
        c->hostname_vpid = true;
        break;
    case O_CLUSTER:
        c->o.cluster = v;
        break;
    case O_HEAD:
        return parse_head(c, v, err);
    case O_TLS:
        c->o.tls_dir = v;
        break;
    case O_SESSION:
        c->o.session_dir = v;
        break;
    case O_DVM_DIR:
        c->o.dvm_dir = v;
        break;
    case O_HOST:
        c->o.host_name = v;
        break;
    case O_ADDR:
        c->address = v;
        break;
    case O_BIND:
        c->bind_addr = v;
        break;
    case O_EXIT:
        c->o.park = false;
        break;
    case O_KEEP:
        c->o.keep_records = true;
        break;
    case O_RECORDS:
        c->o.records_dir = v; /* the daemon's own directory is another one */
        return *v == '/' ? 0 : refuse_value(err, "records-dir", v);
    case O_KEEPERS:
        c->o.keepers = true;
        break;
    case O_KILL:
        c->o.drain_kill = true;
        break;
    case O_LOG:
        return log_level_parse(v, &c->level) == 0 ? 0 : refuse_value(err, "log-level", v);
    default:
        return err_set(err, "unknown option");
    }
    return 0;
}

static int set_number(struct cmdline *c, int opt, const char *name, const char *v, struct err *err)
{
    uint64_t max = opt == O_CONTROL || opt == O_JOIN || opt == O_PLAIN ? 65535
                   : opt == O_RADIX                                    ? 1024
                   : opt >= O_GRACE && opt <= O_ABSENCE                ? API_FAULTS_MAX_MS
                   : opt == O_DRAIN                                    ? UINT32_MAX
                                                                       : SLOTS_MAX;
    uint64_t n;

    if (parse_number(name, v, max, &n, err) < 0)
        return -1;
    switch (opt) {
    case O_CONTROL:
        c->o.control_port = (uint16_t)n;
        break;
    case O_JOIN:
        c->o.join_port = (uint16_t)n;
        break;
    case O_PLAIN:
        c->o.plain_port = (uint16_t)n;
        break;
    case O_SLOTS:
        c->o.slots = (uint32_t)n;
        c->slots_given = true;
        break;
    case O_RADIX:
        c->o.radix = (uint32_t)n;
        return n >= 2 ? 0 : refuse_value(err, name, v);
    case O_DRAIN:
        c->o.drain_s = (int64_t)n;
        break;
    case O_GRACE:
        c->faults.link_grace_ms = n;
        break;
    case O_SILENCE:
        c->faults.silence_ms = n;
        break;
    case O_ABSENCE:
        c->faults.head_absence_ms = n;
        break;
    case O_LINKS:
        c->o.links = (uint32_t)n;
        return n >= 1 && n <= DAEMON_LINKS_MAX ? 0 : refuse_value(err, name, v);
    default:
        break;
    }
    return 0;
}

static int set_members(struct cmdline *c, int opt, const char *v, struct err *err)
{
    c->vpid_given |= opt == O_VPID;
    return opt == O_VPID ? vpid_parse(v, "--vpid", &c->o.vpid, err)
                         : vpid_parse(v, "--size", &c->o.size, err);
}

static bool takes_number(int opt)
{
    return (opt >= O_CONTROL && opt < O_SIZE) || opt == O_DRAIN ||
           (opt >= O_GRACE && opt <= O_LINKS);
}

/* An option overrides it. */
static int parse_environment(struct cmdline *c, struct err *err)
{
    const char *level = getenv("DVM_LOG_LEVEL");
    const char *silent = getenv("DVM_PMIX_SILENT_MS");
    const char *told = getenv("DVM_WAIT_TOLD_MS");
    const char *last = getenv(FORKSERVER_LAST);
    const char *links = getenv("DVM_LINKS");
    uint64_t *ms = &c->o.pmix_silent_ms;
    uint64_t *told_ms = &c->o.wait_told_ms;
    uint64_t n = 0;

    if (level && log_level_parse(level, &c->level) < 0)
        return err_set(err, "$DVM_LOG_LEVEL: \"%s\" is not allowed", level);
    if (silent && (parse_number("", silent, UINT32_MAX, ms, &(struct err){0}) < 0 || *ms == 0))
        return err_set(err, "$DVM_PMIX_SILENT_MS: \"%s\" is not allowed", silent);
    if (told &&
        (parse_number("", told, UINT32_MAX, told_ms, &(struct err){0}) < 0 || *told_ms == 0))
        return err_set(err, "$DVM_WAIT_TOLD_MS: \"%s\" is not allowed", told);
    if (links && (parse_number("", links, DAEMON_LINKS_MAX, &n, &(struct err){0}) < 0 || n == 0))
        return err_set(err, "$DVM_LINKS: \"%s\" is not allowed", links);
    c->o.links = (uint32_t)n;
    return last ? vpid_parse(last, "$" FORKSERVER_LAST, &c->last_vpid, err) : 0;
}

static int take_faults(struct cmdline *c, struct err *err)
{
    if (api_faults_check(&c->faults, err) < 0)
        return -1;
    c->o.reconnect_ms = c->faults.link_grace_ms;
    c->o.ack_ms = c->faults.silence_ms;
    c->o.orphan_ms = c->faults.head_absence_ms;
    return 0;
}

static int parse_cmdline(struct cmdline *c, int argc, char **argv, struct err *err)
{
    int index = 0;
    int opt;

    opterr = 0;
    while ((opt = getopt_long(argc, argv, "", options, &index)) != -1) {
        if (opt == O_HELP || opt == O_VERSION) {
            fputs(opt == O_HELP ? usage_text : "prted " DVM_VERSION "\n", stdout);
            exit(0);
        }
        if (opt == '?')
            return err_set(err, "%s: no such option, or its value is missing", argv[optind - 1]);
        if (opt == O_VPID || opt == O_SIZE) {
            if (set_members(c, opt, optarg, err) < 0)
                return -1;
        } else if ((takes_number(opt) ? set_number(c, opt, options[index].name, optarg, err)
                                      : parse_text(c, opt, optarg, err)) < 0) {
            return -1;
        }
    }
    if (optind < argc)
        return err_set(err, "%s: unexpected argument", argv[optind]);
    return take_faults(c, err);
}

static int read_ordinal(struct cmdline *c, struct err *err)
{
    const char *dash = strrchr(c->host, '-');

    if (!dash || vpid_parse(dash + 1, "--hostname-vpid", &c->o.vpid, NULL) < 0 ||
        (c->member && c->o.vpid == 0))
        return err_set(err, "--hostname-vpid: the host name %s does not end in -N, N from 1 to %d",
                       c->host, VPID_MAX);
    c->vpid_given = true;
    return 0;
}

/* Only --address may have a name: it is not written by habit. */
static int find_addresses(struct cmdline *c, struct err *err)
{
    const char *list = getenv("DVM_ADDRESSES");
    const char *pod_ip = getenv("POD_IP");
    const char *from = c->address ? "--address" : list && *list ? "$DVM_ADDRESSES" : "$POD_IP";

    if (!list || !*list)
        list = pod_ip ? pod_ip : "127.0.0.1";
    if (addresses_parse(c->address ? c->address : list, c->address != NULL, &c->addresses, err) < 0)
        return err_wrap(err, "%s", from);
    c->o.naddresses = c->addresses.n;
    c->o.addresses = (const char *const *)c->addresses.text;
    c->o.nbinds = c->bind_addr ? 1 : addresses_to_listen(&c->addresses, c->binds);
    if (c->bind_addr)
        c->binds[0] = c->bind_addr;
    c->o.binds = c->binds;
    return 0;
}

static int complete_cmdline(struct cmdline *c, struct err *err)
{
    gethostname(c->host, sizeof(c->host) - 1);
    if (!c->head && !c->member)
        return err_set(err, "--role head or --role member is needed");
    if (!c->o.cluster || !c->o.tls_dir || !c->o.session_dir)
        return err_set(err, "--cluster, --tls-dir and --session-dir are needed");
    if (c->member && c->hostname_vpid && read_ordinal(c, err) < 0)
        return -1;
    if (c->member && (!c->vpid_given || c->o.vpid == 0 || !c->o.head_host))
        return err_set(err, "a member needs --vpid (from 1 on) or --hostname-vpid, and --head");
    if (c->head && c->last_vpid)
        return err_set(err, "$" FORKSERVER_LAST " is for members");
    if (c->o.records_dir && (c->member || !c->o.keep_records))
        return err_set(err, "--records-dir needs --role head and --keep-records");
    if (c->head)
        c->o.vpid = 0;
    if (!c->o.host_name)
        c->o.host_name = c->host;
    return find_addresses(c, err);
}

/* On Kubernetes other pods share the node. A daemon whose node name differs from the host's
 * shares the host with others. */
static bool is_alone(const struct cmdline *c, const struct cgroup_cpus *cpus)
{
    size_t n = strcspn(c->host, ".");
    bool shares =
        strncmp(c->host, c->o.host_name, n) != 0 || (c->o.host_name[n] && c->o.host_name[n] != '.');

    return !shares && (!cpus->whole || !getenv("POD_IP"));
}

static void find_cpus(struct cmdline *c)
{
    struct cgroup_cpus cpus;
    struct err *err = &c->no_cpus;

    if (!c->slots_given)
        c->o.slots = c->head ? 0 : 1;
    c->cpus = xstrdup("");
    if (cgroup_cpus_read("", NULL, &cpus, err) == 0) {
        c->topology = cgroup_topology(err);
        if (c->topology) {
            free(c->cpus);
            c->cpus = cgroup_topo_text(c->topology, &cpus, is_alone(c, &cpus), err);
        }
        if (!c->slots_given && c->member && cgroup_limited(&cpus))
            c->o.slots = cgroup_slots(&cpus);
        cgroup_cpus_free(&cpus);
    }
    c->o.cpus = c->cpus;
    c->o.topology = c->topology;
}

/* Does once what is the same in all members that are forked here. Returns as forkserver_run(). */
static int fork_members(struct cmdline *c, struct err *err)
{
    unsetenv(FORKSERVER_LAST);
    find_cpus(c);
    c->o.tls = daemon_tls(c->o.tls_dir, err);
    return c->o.tls ? forkserver_run(c->argv, c->o.vpid, c->last_vpid, &c->o.vpid, err) : -1;
}

/* Standing in the session directory keeps relative paths and stray files of the PMIx library out
 * of the way. */
static int prepare_session(struct cmdline *c, struct err *err)
{
    if (mkdir(c->o.session_dir, 0700) < 0 && errno != EEXIST)
        return err_sys(err, errno, "making the session directory %s", c->o.session_dir);
    if (!realpath(c->o.session_dir, c->session))
        return err_sys(err, errno, "the session directory %s", c->o.session_dir);
    c->o.session_dir = c->session;
    return 0;
}

static int split_spawner(const struct cmdline *c, struct spawner_handle *spawner, struct err *err)
{
    FREE_AUTO char *program = spawner_program(err);
    const struct spawner_options o = {.program = program,
                                      .level = log_level_name(c->level),
                                      .dir = c->o.session_dir,
                                      .words = c->argv,
                                      .grace_ms = SPAWNER_GRACE_MS};

    return program ? spawner_split(&o, spawner, err) : -1;
}

static int run_daemon(struct cmdline *c, struct err *err)
{
    struct spawner_handle spawner;
    struct loop *loop;
    struct daemon *d;
    int code = 1;

    if (split_spawner(c, &spawner, err) < 0)
        return -1;
    if (!c->cpus)
        find_cpus(c);
    if (!c->cpus[0])
        log_warn("ranks cannot be bound here: %s", c->no_cpus.msg);
    log_info("this daemon has %u slots, its CPUs are %.256s", c->o.slots, c->cpus);
    loop = loop_create(err);
    if (!loop)
        return -1;
    d = daemon_create(loop, &c->o, &spawner, err);
    if (d && loop_run(loop, err) == 0)
        code = daemon_exit_code(d);
    else
        log_error("%s", err->msg);
    daemon_destroy(d);
    loop_destroy(loop);
    return code;
}

/* Below this a daemon starts, but has none left for connections: whoever calls it waits in vain. */
#define FILES_MIN 64u

static int check_open_files(struct err *err)
{
    struct rlimit r;

    if (getrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_max >= FILES_MIN)
        return 0;
    return err_set(err, "the limit of open files is %llu, a daemon needs %u (ulimit -Hn)",
                   (unsigned long long)r.rlim_max, FILES_MIN);
}

static int run_program(struct cmdline *c, struct err *err)
{
    int rc;

    if (check_open_files(err) < 0)
        return -1;
    rc = c->last_vpid ? fork_members(c, err) : 0;

    if (rc == 0)
        return prepare_session(c, err) < 0 ? -1 : run_daemon(c, err);
    tls_ctx_destroy(c->o.tls); /* the members have their own copies */
    return rc < 0 ? -1 : 0;
}

static void free_cmdline(struct cmdline *c)
{
    free(c->cpus);
    addresses_free(&c->addresses);
    if (c->topology)
        hwloc_topology_destroy(c->topology);
}

int main(int argc, char **argv)
{
    struct cmdline c = {.o = {.control_port = 7443,
                              .join_port = 7400,
                              .plain_port = 7480,
                              .radix = 64,
                              .park = true,
                              .drain_s = -1},
                        .level = LOG_LEVEL_INFO,
                        .faults = API_FAULTS_DEFAULTS,
                        .argv = argv};
    struct err err = {0};
    int code;

    heap_guard_json();
    heap_guard_events();
    heap_guard_crypto();
    heap_keep_frames();
    outer_forget(); /* the PMIx library would take it for this daemon's */
    if (parse_environment(&c, &err) < 0 || parse_cmdline(&c, argc, argv, &err) < 0 ||
        complete_cmdline(&c, &err) < 0) {
        fprintf(stderr, "prted: %s; see 'prted --help'\n", err.msg);
        return EXIT_USAGE;
    }
    log_init("prted", c.level);
    code = run_program(&c, &err);
    if (code < 0) {
        log_error("%s", err.msg);
        code = EXIT_FAILURE;
    }
    free_cmdline(&c);
    return code;
}
