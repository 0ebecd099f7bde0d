/* SPDX-License-Identifier: BSD-3-Clause */
/* The CPUs that this process may use: from the files of cgroup v1 and v2, and from its affinity.
 *
 * In: /proc/self/cgroup, the files of the own group and its ancestors, the kernel's affinity. Out:
 * the allowed CPUs, the quota in whole CPUs, and for the head the text about their topology.
 *
 * The nearest group that names CPUs counts, since each names what its ancestors leave. Of the
 * quotas the smallest counts, from the own group up to the root. Both versions are read, since a
 * host may mix them.
 *
 * Kills for lack of memory are read from the own group alone: those of its ancestors are others'.
 *
 * Invariants: a file that does not exist is no limit; a quota below one CPU counts as one; devices
 * are left out of the topology, and hwloc's plugins for them are not loaded.
 *
 * Failures: an affinity that cannot be read is an error. CPUs that are too many for the text give
 * an empty one, with the reason. */
#include "dvm/host/cgroup/cgroup.h"

#include "base/bitmap/bitmap.h"
#include "base/buf/buf.h"
#include "dvm/protocol/map/topo.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX 65536
#define CPUS_MAX 65536
#define PLUGINS "HWLOC_PLUGINS_PATH"

/* The file's text; NULL: it does not exist, which is normal. */
static char *read_text(const char *root, const char *dir, const char *path, const char *name)
{
    FREE_AUTO char *file = xasprintf("%s%s%s/%s", root, dir, path, name);
    FREE_AUTO char *text = xmalloc(TEXT_MAX);
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    size_t len = 0;
    ssize_t n = 0;

    if (fd < 0)
        return NULL;
    while (len < TEXT_MAX - 1 && (n = read(fd, text + len, TEXT_MAX - 1 - len)) > 0)
        len += (size_t)n;
    close(fd);
    if (n < 0)
        return NULL;
    /* hwloc accepts no newline after a list. */
    while (len && (text[len - 1] == '\n' || text[len - 1] == ' '))
        len--;
    text[len] = '\0';
    return xstrdup(text);
}

/* The process's own group in the hierarchy of `controller` ("" for v2), from /proc/self/cgroup:
 * lines "number:controller,controller:/path". */
static char *own_path(const char *groups, const char *controller)
{
    FREE_AUTO char *copy = xstrdup(groups);
    char *rest = copy;
    char *line;

    while ((line = strsep(&rest, "\n"))) {
        char *list = strchr(line, ':');
        char *path = list ? strchr(list + 1, ':') : NULL;
        char *word;

        if (!path)
            continue;
        *path++ = '\0';
        list++;
        while ((word = strsep(&list, ","))) {
            if (strcmp(word, controller) == 0)
                return xstrdup(strcmp(path, "/") == 0 || strstr(path, "..") ? "" : path);
        }
    }
    return NULL;
}

static uint64_t quota_of(const char *text, const char *period_text)
{
    char *end;
    long long quota = strtoll(text, &end, 10); /* v2 writes "max", v1 -1 */
    long long period = strtoll(period_text ? period_text : end, NULL, 10);

    return end != text && quota > 0 && period > 0 && quota <= LLONG_MAX / 1000
               ? (uint64_t)(quota * 1000 / period)
               : 0;
}

/* Thousandths of a CPU that one group allows; 0: no limit. */
static uint64_t group_quota(const char *root, const char *dir, const char *path)
{
    FREE_AUTO char *v2 = read_text(root, dir, path, "cpu.max");
    FREE_AUTO char *quota = read_text(root, dir, path, "cpu.cfs_quota_us");
    FREE_AUTO char *period = read_text(root, dir, path, "cpu.cfs_period_us");

    if (v2)
        return quota_of(v2, NULL);
    return quota && period ? quota_of(quota, period) : 0;
}

/* The smallest limit of the own group and its ancestors. If the path is the host's but the mount
 * begins at the container's group, only the mount's root is visible. */
static uint64_t least_quota(const char *root, const char *dir, const char *own)
{
    FREE_AUTO char *path = xstrdup(own);
    uint64_t least = 0;

    for (;;) {
        uint64_t q = group_quota(root, dir, path);
        char *slash = strrchr(path, '/');

        if (q && (!least || q < least))
            least = q;
        if (!slash)
            return least;
        *slash = '\0';
    }
}

/* The nearest group that names CPUs. In v1 and v2 each group names those that its ancestors
 * leave. */
static void keep_cpuset(const char *root, const char *dir, const char *own, hwloc_bitmap_t allowed)
{
    static const char *const names[] = {"cpuset.cpus.effective", "cpuset.effective_cpus",
                                        "cpuset.cpus"};
    FREE_AUTO char *path = xstrdup(own);
    hwloc_bitmap_t set = bitmap_alloc();
    char *slash = path;

    while (slash) {
        for (int i = 0; i < 3; i++) {
            FREE_AUTO char *text = read_text(root, dir, path, names[i]);

            if (!text || bitmap_list_parse(set, text) < 0 || hwloc_bitmap_iszero(set))
                continue;
            bitmap_and(allowed, allowed, set);
            hwloc_bitmap_free(set);
            return;
        }
        slash = strrchr(path, '/');
        if (slash)
            *slash = '\0';
    }
    hwloc_bitmap_free(set);
}

static const struct {
    const char *dir, *controller;
} mounts[] = {
    {"/sys/fs/cgroup", ""},
    {"/sys/fs/cgroup/unified", ""},
    {"/sys/fs/cgroup/cpu,cpuacct", "cpu"},
    {"/sys/fs/cgroup/cpu", "cpu"},
    {"/sys/fs/cgroup/cpuset", "cpuset"},
};

static void read_groups(const char *root, struct cgroup_cpus *out)
{
    FREE_AUTO char *groups = read_text(root, "/proc/self", "", "cgroup");
    uint64_t least = 0;

    for (size_t i = 0; groups && i < sizeof(mounts) / sizeof(mounts[0]); i++) {
        FREE_AUTO char *path = own_path(groups, mounts[i].controller);
        uint64_t q = path ? least_quota(root, mounts[i].dir, path) : 0;

        if (q && (!least || q < least))
            least = q;
        if (path)
            keep_cpuset(root, mounts[i].dir, path, out->allowed);
    }
    if (least)
        out->quota =
            least < 1000 ? 1 : (uint32_t)(least / 1000 > CPUS_MAX ? CPUS_MAX : least / 1000);
}

/* The number in the line "oom_kill N". */
static uint64_t oom_kills_of(const char *text)
{
    static const char name[] = "oom_kill ";
    const char *line = text;

    while (strncmp(line, name, strlen(name)) != 0) {
        line = strchr(line, '\n');
        if (!line)
            return 0;
        line++;
    }
    return strtoull(line + strlen(name), NULL, 10);
}

uint64_t cgroup_oom_kills(const char *root)
{
    static const struct {
        const char *dir, *controller, *name;
    } files[] = {{"/sys/fs/cgroup", "", "memory.events"},
                 {"/sys/fs/cgroup/memory", "memory", "memory.oom_control"}};
    FREE_AUTO char *groups = read_text(root, "/proc/self", "", "cgroup");

    for (size_t i = 0; groups && i < sizeof(files) / sizeof(files[0]); i++) {
        FREE_AUTO char *path = own_path(groups, files[i].controller);
        FREE_AUTO char *own = path ? read_text(root, files[i].dir, path, files[i].name) : NULL;
        /* The path may be the host's, as in least_quota(). */
        FREE_AUTO char *mount =
            path && !own ? read_text(root, files[i].dir, "", files[i].name) : NULL;

        if (own || mount)
            return oom_kills_of(own ? own : mount);
    }
    return 0;
}

static int read_affinity(hwloc_bitmap_t allowed, struct err *err)
{
    cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
    size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
    int rc = set ? sched_getaffinity(0, size, set) : -1;

    for (unsigned i = 0; rc == 0 && i < CPUS_MAX; i++) {
        if (CPU_ISSET_S(i, size, set))
            bitmap_set(allowed, i);
    }
    if (rc < 0)
        err_sys(err, errno, "asking for the CPUs of this process");
    CPU_FREE(set);
    return rc;
}

int cgroup_cpus_read(const char *root, hwloc_const_bitmap_t affinity, struct cgroup_cpus *out,
                     struct err *err)
{
    FREE_AUTO char *online = read_text(root, "/sys/devices/system/cpu", "", "online");
    hwloc_bitmap_t machine = bitmap_alloc();

    *out = (struct cgroup_cpus){.allowed = bitmap_alloc()};
    if (affinity) {
        bitmap_copy(out->allowed, affinity);
    } else if (read_affinity(out->allowed, err) < 0) {
        cgroup_cpus_free(out);
        hwloc_bitmap_free(machine);
        return -1;
    }
    read_groups(root, out);
    if (!online || bitmap_list_parse(machine, online) < 0)
        bitmap_copy(machine, out->allowed);
    out->whole = hwloc_bitmap_isincluded(machine, out->allowed);
    hwloc_bitmap_free(machine);
    if (!hwloc_bitmap_iszero(out->allowed))
        return 0;
    cgroup_cpus_free(out);
    return err_set(err, "the container's cpuset and this process's affinity have no CPU in common");
}

void cgroup_cpus_free(struct cgroup_cpus *c)
{
    hwloc_bitmap_free(c->allowed);
    c->allowed = NULL;
}

uint32_t cgroup_slots(const struct cgroup_cpus *c)
{
    uint32_t n = (uint32_t)hwloc_bitmap_weight(c->allowed);

    return c->quota && c->quota < n ? c->quota : n;
}

bool cgroup_limited(const struct cgroup_cpus *c)
{
    return c->quota || !c->whole;
}

/* A cpuset smaller than the machine counts as the container's own. The kubelet's static CPU
 * policy makes such cpusets, with a quota of that many CPUs or none. */
static enum topo_use use_of(const struct cgroup_cpus *c, bool alone)
{
    if (c->quota && c->quota < (uint32_t)hwloc_bitmap_weight(c->allowed))
        return TOPO_QUOTA;
    return alone ? TOPO_OWN : TOPO_SHARED;
}

/* hwloc's plugins look for devices, which this topology leaves out. To load them takes longer than
 * to read the CPUs, and they bring libraries for graphics with them. hwloc looks for plugins when
 * the first topology of a process is initialized; later topologies have none either. */
static int init_without_plugins(hwloc_topology_t *t)
{
    const char *path = getenv(PLUGINS);
    FREE_AUTO char *before = path ? xstrdup(path) : NULL;
    int rc;

    setenv(PLUGINS, "/dev/null", 1);
    rc = hwloc_topology_init(t);
    if (before)
        setenv(PLUGINS, before, 1);
    else
        unsetenv(PLUGINS);
    return rc;
}

hwloc_topology_t cgroup_topology(struct err *err)
{
    hwloc_topology_t t;

    if (init_without_plugins(&t) < 0) {
        err_sys(err, errno, "hwloc");
        return NULL;
    }
    /* The kernel's files have all information. hwloc's other source asks each CPU by moving this
     * process to it, which takes ten times as long on a busy machine. */
    hwloc_topology_set_components(t, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    if (hwloc_topology_load(t) == 0)
        return t;
    err_sys(err, errno, "reading the machine's topology");
    hwloc_topology_destroy(t);
    return NULL;
}

char *cgroup_topo_text(hwloc_topology_t t, const struct cgroup_cpus *c, bool alone, struct err *err)
{
    struct topo *topo = topo_from_hwloc(t, c->allowed, use_of(c, alone), err);
    char *text = topo ? topo_text(topo) : xstrdup("");

    topo_free(topo);
    if (strlen(text) <= TOPO_TEXT_MAX)
        return text;
    err_set(err, "the list of %d CPUs is too long", hwloc_bitmap_weight(c->allowed));
    free(text);
    return xstrdup("");
}
