/* SPDX-License-Identifier: BSD-3-Clause */
/* The directory of a local DVM: made, locked, read and removed.
 *
 * It contains local.json, which later verbs of prte read, the certificates in tls/, a session
 * directory for each daemon, named by its vpid, and a link to the head's socket. A session
 * directory has the daemon's log, its ports and its process. The process of the supervisor stands
 * beside them.
 *
 * Invariants: the directory belongs to this user and nobody else can read it; one prte at a time
 * starts or resizes the DVM, by flock(2) on the directory; a process is known by its number and
 * its start time, so that another process with the number is never signalled; removal follows no
 * link and enters no other file system. What applications registered for cleanup is removed before
 * the session directory that names it; the user is told of a cleanup that takes long, and its
 * limit is LEFTOVERS_MS.
 *
 * Failures: a directory of another user, with a DVM that runs, with files that are no DVM's, or
 * with too long a path for sockets is refused and not changed. A daemon whose spawner has died is
 * still found, by the session that the spawner had created. */
#include "dvm/tools/ldvm/dir.h"

#include "base/buf/buf.h"
#include "base/conf/conf.h"
#include "dvm/host/spawner/leftovers.h"
#include "dvm/tools/cli/find.h"
#include "dvm/tools/cli/say.h"
#include "dvm/tools/cli/show.h"
#include "dvm/tools/ldvm/procs_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define FILE_MAX (64u << 10)
#define CLEANUP_NOTICE_MS 1000 /* a cleanup that takes longer: the user is told */

void ldvm_free(struct ldvm *l)
{
    free(l->dir);
    free(l->cluster);
    free(l->prted);
    *l = (struct ldvm){0};
}

char *ldvm_path(const char *dir, uint32_t vpid, const char *name)
{
    return xasprintf("%s/%u/%s", dir, vpid, name);
}

static char *local_json(const char *dir)
{
    return xasprintf("%s/local.json", dir);
}

bool ldvm_is(const char *dir)
{
    FREE_AUTO char *path = local_json(dir);
    struct stat st;

    return lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* --- removing */

static bool is_vpid(const char *name, uint32_t *vpid)
{
    char *end;
    unsigned long n = strtoul(name, &end, 10);

    if (name[0] < '0' || name[0] > '9' || *end || n > LDVM_MEMBERS_MAX)
        return false;
    *vpid = (uint32_t)n;
    return true;
}

/* Daemons that were killed with all their processes have left registered paths. */
static int start_cleanups(struct procs *p, const char *dir, struct err *err)
{
    DIR *d = opendir(dir);
    const struct dirent *e;
    uint32_t vpid;
    int rc = 0;

    while (d && rc == 0 && (e = readdir(d))) {
        FREE_AUTO char *session = is_vpid(e->d_name, &vpid) ? ldvm_path(dir, vpid, "") : NULL;
        pid_t pid = session ? leftovers_start(session) : 0;

        rc = pid ? procs_add(p, vpid, pid, true, err) : 0;
    }
    if (d)
        closedir(d);
    return rc;
}

/* Returns true if a cleanup was ended by its own limit of time. */
static bool wait_cleanups(struct procs *p, int timeout_ms)
{
    int64_t until_ms = procs_now_ms() + timeout_ms;
    bool cut = false;
    struct procs_event e;
    int64_t left;

    while (procs_living(p) && (left = until_ms - procs_now_ms()) > 0 &&
           procs_next(p, (int)left, &e, NULL) == 0)
        cut = cut || (e.kind == PROCS_ENDED && e.wait_status != 0);
    return cut;
}

static void tell_cleanups(const struct procs *p)
{
    FREE_AUTO uint32_t *vpids = procs_vpids(p);
    FREE_AUTO char *text = show_vpids(vpids, procs_living(p));

    fprintf(stderr,
            "%s: removing what jobs registered for cleanup with the killed daemons of vpids %s: "
            "waiting for at most %d s\n",
            program_invocation_short_name, text, LEFTOVERS_MS / 1000);
}

/* Paths that cannot be removed in time stay. The user is told; it is no error of the caller. */
static void finish_cleanups(const char *dir)
{
    struct err why = {0};
    struct procs *p = procs_create(false, &why);
    bool cut = false;

    if (!p || start_cleanups(p, dir, &why) < 0)
        cli_say(STDERR_FILENO, program_invocation_short_name,
                "paths that jobs registered for cleanup stay: %s", why.msg);
    if (p)
        cut = wait_cleanups(p, CLEANUP_NOTICE_MS);
    if (p && procs_living(p)) {
        tell_cleanups(p);
        cut = wait_cleanups(p, LEFTOVERS_MS) || cut || procs_living(p);
    }
    if (cut)
        fprintf(stderr, "%s: paths that jobs registered for cleanup stay: not removed in time\n",
                program_invocation_short_name);
    procs_destroy(p);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    return remove(path);
}

static int remove_inside(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    return ftw->level ? remove(path) : 0;
}

int ldvm_remove(const char *dir, struct err *err)
{
    /* Two processes may remove it at once: `prte stop`, and the prte in whose foreground the DVM
     * ran. */
    if (!ldvm_is(dir))
        return 0;
    finish_cleanups(dir);
    while (nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) != 0) {
        struct stat st;

        if (lstat(dir, &st) < 0)
            return 0;
        if (errno != ENOENT)
            return err_sys(err, errno, "removing %s", dir);
    }
    return 0;
}

/* --- making */

static bool is_empty(const char *dir)
{
    DIR *d = opendir(dir);
    const struct dirent *e;
    bool empty = true;

    while (d && empty && (e = readdir(d)))
        empty = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
    if (d)
        closedir(d);
    return empty;
}

static int check_length(const char *dir, struct err *err)
{
    struct sockaddr_un sa;
    FREE_AUTO char *longest = ldvm_path(dir, LDVM_MEMBERS_MAX, CLI_SOCKET_NAME);

    if (strlen(longest) < sizeof(sa.sun_path))
        return 0;
    return err_code(
        err, ENAMETOOLONG,
        "%s: sockets in it would have paths of more than %zu bytes; a shorter directory "
        "is needed (--dvm, $XDG_RUNTIME_DIR; $TMPDIR for 'prte run')",
        dir, sizeof(sa.sun_path) - 1);
}

int ldvm_lock(const char *dir, struct err *err)
{
    struct stat st;
    int fd;

    if (check_length(dir, err) < 0)
        return -1;
    if (mkdir(dir, 0700) < 0 && errno != EEXIST)
        return err_sys(err, errno, "making %s", dir);
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, errno, "opening %s", dir);
    if (fstat(fd, &st) < 0 || st.st_uid != geteuid()) {
        close(fd);
        return err_code(err, EPERM, "%s belongs to another user; name another with --dvm", dir);
    }
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        close(fd);
        return err_code(err, EBUSY, "another prte starts or resizes the DVM in %s now", dir);
    }
    return fd;
}

static int chmod_dir(const char *dir, struct err *err)
{
    return chmod(dir, 0700) == 0 ? 0 : err_sys(err, errno, "chmod of %s", dir);
}

/* Only a directory that no living DVM uses is replaced. */
static int clear_old(const char *dir, struct err *err)
{
    FREE_AUTO struct ldvm_daemon *living = NULL;

    if (!ldvm_is(dir)) {
        if (!is_empty(dir))
            return err_code(err, ENOTEMPTY,
                            "%s has files in it that are no DVM's; name another with --dvm", dir);
        return chmod_dir(dir, err);
    }
    if (ldvm_supervisor(dir) || ldvm_daemons(dir, &living))
        return err_code(err, EBUSY,
                        "a DVM runs in %s already; 'prte stop --dvm %s' ends it, or name another "
                        "directory with --dvm",
                        dir, dir);
    finish_cleanups(dir);
    if (nftw(dir, remove_inside, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) != 0)
        return err_sys(err, errno, "removing what is in %s", dir);
    return chmod_dir(dir, err);
}

static int write_json(const char *path, const json_t *o, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int rc;

    if (fd < 0)
        return err_sys(err, errno, "making %s", path);
    rc = json_dumpfd(o, fd, JSON_INDENT(1));
    if (close(fd) < 0 || rc < 0)
        return err_set(err, "writing %s", path);
    return 0;
}

static json_t *encode_faults(const struct api_faults *f)
{
    return json_pack("{s:I, s:I, s:I}", "linkGraceMs", (json_int_t)f->link_grace_ms, "silenceMs",
                     (json_int_t)f->silence_ms, "headAbsenceMs", (json_int_t)f->head_absence_ms);
}

int ldvm_make(const struct ldvm *l, struct err *err)
{
    FREE_AUTO char *path = local_json(l->dir);
    FREE_AUTO char *sock = xasprintf("%s/%s", l->dir, CLI_SOCKET_NAME);
    json_t *o;
    int rc;

    if (clear_old(l->dir, err) < 0)
        return -1;
    o = json_pack("{s:s, s:s, s:i, s:i, s:o}", "cluster", l->cluster, "prted", l->prted, "slots",
                  (int)l->slots, "radix", (int)l->radix, "faults", encode_faults(&l->faults));
    rc = write_json(path, o, err);
    json_decref(o);
    if (rc < 0)
        return -1;
    if (symlink("0/" CLI_SOCKET_NAME, sock) < 0)
        return err_sys(err, errno, "making %s", sock);
    return 0;
}

int ldvm_make_session(const char *dir, uint32_t vpid, struct err *err)
{
    FREE_AUTO char *path = xasprintf("%s/%u", dir, vpid);

    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return err_sys(err, errno, "making %s", path);
    return 0;
}

/* --- reading */

static json_t *read_json(const char *path, struct err *err)
{
    size_t len;
    FREE_AUTO char *text = conf_read_file(path, FILE_MAX, &len, err);
    json_error_t je;
    json_t *o = text ? json_loadb(text, len, JSON_REJECT_DUPLICATES, &je) : NULL;

    if (text && !o)
        err_set(err, "%s: %s", path, je.text);
    return o;
}

int ldvm_load(const char *dir, struct ldvm *out, struct err *err)
{
    FREE_AUTO char *path = local_json(dir);
    const struct api_faults usual = API_FAULTS_DEFAULTS;
    json_int_t grace = (json_int_t)usual.link_grace_ms;
    json_int_t silence = (json_int_t)usual.silence_ms;
    json_int_t absence = (json_int_t)usual.head_absence_ms;
    const char *cluster, *prted;
    int slots, radix, rc;
    json_t *o;

    *out = (struct ldvm){0};
    if (!ldvm_is(dir))
        return err_code(err, ENOENT, "no local DVM in %s; 'prte start -n 4' starts one", dir);
    o = read_json(path, err);
    if (!o)
        return -1;
    rc = json_unpack(o, "{s:s, s:s, s:i, s:i, s?{s:I, s:I, s:I}}", "cluster", &cluster, "prted",
                     &prted, "slots", &slots, "radix", &radix, "faults", "linkGraceMs", &grace,
                     "silenceMs", &silence, "headAbsenceMs", &absence);
    if (rc == 0)
        *out = (struct ldvm){.dir = xstrdup(dir),
                             .cluster = xstrdup(cluster),
                             .prted = xstrdup(prted),
                             .slots = (uint32_t)slots,
                             .radix = (uint32_t)radix,
                             .faults = {(uint64_t)grace, (uint64_t)silence, (uint64_t)absence}};
    json_decref(o);
    return rc < 0 ? err_set(err, "%s is not what prte start wrote", path) : 0;
}

static uint16_t port_of(const json_t *o, const char *name)
{
    json_int_t port = json_integer_value(json_object_get(o, name));

    return port > 0 && port <= UINT16_MAX ? (uint16_t)port : 0;
}

int ldvm_ports(const char *dir, struct ldvm_ports *out, struct err *err)
{
    FREE_AUTO char *path = ldvm_path(dir, 0, "ports.json");
    json_t *o;

    if (access(path, F_OK) < 0)
        return err_sys(err, errno, "%s", path);
    o = read_json(path, err);
    if (!o)
        return -1;
    *out = (struct ldvm_ports){port_of(o, "control"), port_of(o, "join"), port_of(o, "plain")};
    json_decref(o);
    return out->join ? 0 : err_set(err, "%s: no port for members to join", path);
}

/* --- living daemons */

/* The first line of a file; "" if it cannot be read. */
static void read_line(const char *path, char *line, int size)
{
    FILE *f = fopen(path, "re");

    if (!f || !fgets(line, size, f))
        line[0] = '\0';
    if (f)
        fclose(f);
}

/* The text from the nth word on; "" if there are fewer words. */
static const char *nth_word(const char *text, int n)
{
    for (; n > 0 && *text; n--) {
        text += strcspn(text, " ");
        text += strspn(text, " ");
    }
    return text;
}

/* The line of a living process (a zombie does not count) from its state on: field 3 of proc(5). */
static const char *stat_of(pid_t pid, char *line, int size)
{
    FREE_AUTO char *path = xasprintf("/proc/%d/stat", (int)pid);
    const char *end;

    read_line(path, line, size);
    /* The name in parentheses may hold any character. */
    end = strrchr(line, ')');
    return end && end[1] == ' ' && !strchr("ZX", end[2]) ? end + 2 : NULL;
}

/* Start time of a process in clock ticks since boot; 0: it does not run. */
static unsigned long long start_time(pid_t pid)
{
    char line[1024];
    const char *stat = stat_of(pid, line, sizeof(line));

    return stat ? strtoull(nth_word(stat, 19), NULL, 10) : 0;
}

/* A daemon whose spawner has died is about to end. It is found by the session that the spawner
 * had created; the kernel gives that number to no other process meanwhile. */
static pid_t orphan_of(pid_t spawner)
{
    DIR *d = opendir("/proc");
    const struct dirent *e;
    pid_t found = 0;

    while (d && !found && (e = readdir(d))) {
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        char line[1024];
        const char *stat = pid > 0 ? stat_of(pid, line, sizeof(line)) : NULL;

        if (stat && strtol(nth_word(stat, 3), NULL, 10) == spawner && strstr(line, "(prted)"))
            found = pid;
    }
    if (d)
        closedir(d);
    return found;
}

static char *supervisor_path(const char *dir)
{
    return xasprintf("%s/supervisor", dir);
}

static int write_process(const char *path, pid_t pid, struct err *err)
{
    FILE *f = fopen(path, "we");

    if (!f)
        return err_sys(err, errno, "making %s", path);
    fprintf(f, "%d %llu\n", (int)pid, start_time(pid));
    return fclose(f) == 0 ? 0 : err_sys(err, errno, "writing %s", path);
}

int ldvm_pid_write(const char *dir, uint32_t vpid, pid_t pid, struct err *err)
{
    FREE_AUTO char *path = ldvm_path(dir, vpid, "pid");

    return write_process(path, pid, err);
}

int ldvm_supervisor_write(const char *dir, pid_t pid, struct err *err)
{
    FREE_AUTO char *path = supervisor_path(dir);

    return write_process(path, pid, err);
}

/* The written process, also if it has ended; *start is its start time. 0: none is written. */
static pid_t read_process(const char *path, unsigned long long *start)
{
    char line[64];
    char *end = line;
    long pid;

    read_line(path, line, sizeof(line));
    pid = strtol(line, &end, 10);
    *start = strtoull(end, NULL, 10);
    return pid <= 0 || pid > INT_MAX || !*start ? 0 : (pid_t)pid;
}

pid_t ldvm_pid(const char *dir, uint32_t vpid)
{
    FREE_AUTO char *path = ldvm_path(dir, vpid, "pid");
    unsigned long long start;
    unsigned long long now;
    pid_t pid = read_process(path, &start);

    if (!pid)
        return 0;
    now = start_time(pid);
    return now == start ? pid : now ? 0 : orphan_of(pid);
}

pid_t ldvm_supervisor(const char *dir)
{
    FREE_AUTO char *path = supervisor_path(dir);
    unsigned long long start;
    pid_t pid = read_process(path, &start);

    return pid && start_time(pid) == start ? pid : 0;
}

size_t ldvm_daemons(const char *dir, struct ldvm_daemon **list)
{
    DIR *d = opendir(dir);
    const struct dirent *e;
    size_t n = 0;

    *list = NULL;
    while (d && (e = readdir(d))) {
        uint32_t vpid;
        pid_t pid = is_vpid(e->d_name, &vpid) ? ldvm_pid(dir, vpid) : 0;

        if (!pid)
            continue;
        *list = xrealloc(*list, (n + 1) * sizeof(**list));
        (*list)[n++] = (struct ldvm_daemon){vpid, pid};
    }
    if (d)
        closedir(d);
    return n;
}
