/* SPDX-License-Identifier: BSD-3-Clause */
/* Two small daemons for tests, in place of daemon.c: one job and one peer. */
#include "dvm/host/pmix/test/pair.h"

#include "base/buf/buf.h"
#include "base/loop/loop.h"
#include "dvm/host/pmix/pmix_srv.h"
#include "dvm/host/pmix/test/full.h"
#include "dvm/host/spawner/remove.h"
#include "dvm/protocol/head/published/published.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utlist.h>

#define RANKS_MAX 64
#define MESSAGE_MAX (80u << 20)
#define LIMIT_S 60

/* The sanitizers read their options before main(). The test is started at the top of the tree. */
const char *__lsan_default_options(void);
const char *__lsan_default_options(void)
{
    return "suppressions=ci/lsan.supp:print_suppressions=0";
}

/* --- cleanup, in this process */

struct pair_kept {
    uint64_t scope;
    unsigned flags;
    char *path;
    struct pair_kept *prev, *next;
};

void pair_keep_add(uint64_t scope, unsigned flags, const char *path, void *arg)
{
    struct pair_keep *keep = arg;
    struct pair_kept *k = xcalloc(1, sizeof(*k));

    k->scope = scope;
    k->flags = flags;
    k->path = xstrdup(path);
    DL_APPEND(keep->kept, k);
}

void pair_keep_run(uint64_t scope, void *arg)
{
    struct remove_rules rules = {0};
    struct pair_keep *keep = arg;
    struct pair_kept *k, *next;

    DL_FOREACH_SAFE(keep->kept, k, next)
    {
        if (k->scope != scope && scope != PAIR_KEEP_ALL)
            continue;
        remove_path(k->path, k->flags, &rules);
        DL_DELETE(keep->kept, k);
        free(k->path);
        free(k);
    }
    if (scope != PAIR_KEEP_ALL)
        pmix_srv_cleaned(*keep->pmix, scope);
}

/* A collective that one side has reached and the other has not. */
struct half {
    char *sig;
    pmix_req req; /* 0: it is the peer's */
    void *data;
    size_t len;
    struct half *prev, *next;
};

struct asked { /* a question of the peer that waits for an answer */
    struct server *s;
    uint64_t id;
};

struct server {
    struct pair_keep keep; /* first: the upcalls of cleanup find it at their argument */
    const struct pair_plan *plan;
    unsigned me;
    struct loop *loop;
    struct pmix_srv *pmix;
    struct job_launch launch;
    char dir[64];
    int peer; /* -1: alone */
    struct loop_fd *peer_io;
    struct buf in, out;
    struct half *halves;
    pid_t pids[RANKS_MAX];
    struct loop_fd *waits[RANKS_MAX];
    unsigned running, unfinished;
    int failed;
    bool job_gone, peer_done;
};

/* The program of the clients of build/…/test_NAME is build/…/clients/NAME. */
static const char *program_of(const struct pair_plan *plan)
{
    static char path[PATH_MAX + 16];
    char self[PATH_MAX];
    ssize_t n;
    char *name;

    if (strcmp(plan->argv[0], PAIR_CLIENTS) != 0)
        return plan->argv[0];
    n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[n > 0 ? n : 0] = 0;
    name = strrchr(self, '/');
    if (!name || strncmp(name, "/test_", 6) != 0)
        abort();
    *name = 0;
    snprintf(path, sizeof(path), "%s/clients/%s", self, name + 6);
    return path;
}

/* --- the job */

void pair_register(struct pmix_srv *p, const struct job_launch *sample,
                   void (*done)(int status, void *arg), void *arg)
{
    BUF_AUTO struct buf b = {0};
    struct job_launch copy;
    struct cur c;

    buf_init(&b, 1u << 20);
    job_launch_encode(&b, sample);
    c = cur_of(b.data, b.len);
    EXPECT(job_launch_decode(&c, &copy, NULL) == 0);

    const struct job_launch *shared = job_launch_share(&copy);

    pmix_srv_register(p, shared, getuid(), getgid(), done, arg);
    job_launch_unref(shared);
}

static void launch_make(struct server *s)
{
    static struct job_node nodes[2] = {{.vpid = 3, .epoch = 4, .host = "node-a"},
                                       {.vpid = 5, .epoch = 6, .host = "node-b"}};
    const struct pair_plan *plan = s->plan;
    struct job_launch *l = &s->launch;
    uint32_t left[2] = {plan->ranks[0], plan->ranks[1]};

    l->nspace = PAIR_NSPACE;
    l->nranks = plan->ranks[0] + plan->ranks[1];
    l->universe = l->nranks + 2;
    l->nnodes = plan->ranks[1] ? 2 : 1;
    l->nodes = nodes;
    l->rank_node = xcalloc(l->nranks, sizeof(uint32_t));
    l->rank_app = xcalloc(l->nranks, sizeof(uint32_t));
    for (uint32_t r = 0; r < l->nranks; r++) {
        uint32_t node = r % 2;

        if (!left[node])
            node = !node;
        left[node]--;
        l->rank_node[r] = node;
    }
    l->ncpus = plan->ranks[s->me]; /* the first rank of each is bound to CPU 0 */
    l->cpus = xcalloc(l->ncpus + 1, sizeof(char *));
    for (size_t i = 0; i < l->ncpus; i++)
        l->cpus[i] = i ? "" : "0";
    l->spec.parent_nspace = "";
    l->spec.napps = 1;
    l->spec.apps = xcalloc(1, sizeof(struct job_app));
    l->spec.apps[0] = (struct job_app){.argv = (char **)plan->argv, .env = NULL, .cwd = "/tmp"};
}

static void launch_free(struct server *s)
{
    free(s->launch.rank_node);
    free(s->launch.cpus);
    free(s->launch.rank_app);
    free(s->launch.spec.apps);
}

/* --- messages between the two */

static void on_peer(int fd, int events, void *arg);

static void peer_flush(struct server *s)
{
    ssize_t n = 1;

    while (s->out.len && n > 0) {
        n = send(s->peer, s->out.data, s->out.len, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n > 0)
            buf_consume(&s->out, (size_t)n);
    }
    loop_fd_set(s->peer_io, s->out.len ? LOOP_READ | LOOP_WRITE : LOOP_READ);
}

/* type, id, status or rank, then a name and bytes: enough for every message. */
static void say(struct server *s, char type, uint64_t id, uint32_t number, const char *name,
                const void *data, size_t len)
{
    size_t at = s->out.len;

    if (s->peer < 0)
        return;
    buf_put_u32(&s->out, 0);
    buf_put_u8(&s->out, (uint8_t)type);
    buf_put_u64(&s->out, id);
    buf_put_u32(&s->out, number);
    buf_put_str(&s->out, name);
    buf_put_bytes(&s->out, data, len);
    buf_patch_u32(&s->out, at, (uint32_t)(s->out.len - at - 4));
    peer_flush(s);
}

/* --- collectives */

static bool involves_peer(const struct server *s, const struct pmix_srv_proc *procs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t r = procs[i].rank;

        if (r >= s->launch.nranks ? r == PMIX_SRV_RANK_ALL : s->launch.rank_node[r] != s->me)
            return s->peer >= 0;
    }
    return false;
}

static void half_free(struct server *s, struct half *h)
{
    DL_DELETE(s->halves, h);
    free(h->sig);
    free(h->data);
    free(h);
}

/* Joins the half with the other side's, in the order of arrival, or keeps it. */
static void half_arrived(struct server *s, const char *sig, pmix_req req, const void *data,
                         size_t len)
{
    struct half *h;

    DL_FOREACH(s->halves, h)
    {
        if (strcmp(h->sig, sig) != 0 || !h->req == !req)
            continue;
        BUF_AUTO struct buf both = {.max = MESSAGE_MAX};
        buf_put_raw(&both, data, len);
        buf_put_raw(&both, h->data, h->len);
        pmix_srv_answer(s->pmix, req ? req : h->req, 0, both.data, both.len);
        half_free(s, h);
        return;
    }
    h = xcalloc(1, sizeof(*h));
    h->sig = xstrdup(sig);
    h->req = req;
    h->data = xmalloc(len);
    if (len)
        memcpy(h->data, data, len);
    h->len = len;
    DL_APPEND(s->halves, h);
}

static void on_fence(pmix_req req, char kind, const struct pmix_srv_proc *procs, size_t nprocs,
                     const void *data, size_t len, int timeout_s, void *arg)
{
    BUF_AUTO struct buf sig = {.max = MESSAGE_MAX};
    struct server *s = arg;

    for (size_t i = 0; i < nprocs; i++) {
        FREE_AUTO char *name = xasprintf("%c %s %u;", kind, procs[i].nspace, procs[i].rank);

        buf_put_raw(&sig, name, strlen(name));
    }
    buf_put_u8(&sig, 0);
    if (!involves_peer(s, procs, nprocs)) {
        pmix_srv_answer(s->pmix, req, 0, data, len);
        return;
    }
    say(s, 'F', 0, 0, (char *)sig.data, data, len);
    half_arrived(s, (char *)sig.data, req, data, len);
}

/* --- requests to the peer and from it */

static void on_dmodex(pmix_req req, const char *nspace, uint32_t rank, int timeout_s, void *arg)
{
    struct server *s = arg;

    if (s->peer < 0)
        pmix_srv_answer(s->pmix, req, -1, NULL, 0);
    say(s, 'D', req, rank, nspace, NULL, 0);
}

enum store_result pair_data_serve(const struct pmix_srv_data_ask *a, bool at_once,
                                  struct buf *answer, void *arg)
{
    static struct published *values;
    static struct out out;
    struct published_ask of = {.op = a->op, .at_once = at_once, .blob = a->blob, .len = a->len};

    if (!values)
        values = published_create(journal_create(&out));
    return published_serve(values, &of, answer);
}

static void on_own_data(int status, const void *answer, size_t len, void *arg)
{
    struct asked *a = arg;

    pmix_srv_answer(a->s->pmix, a->id, status, answer, len);
    free(a);
}

static void on_served(int status, const void *data, size_t len, void *arg)
{
    struct asked *a = arg;

    say(a->s, 'R', a->id, (uint32_t)status, "", data, len);
    free(a);
}

static struct asked *asked_make(struct server *s, uint64_t id)
{
    struct asked *a = xcalloc(1, sizeof(*a));

    a->s = s;
    a->id = id;
    return a;
}

/* Server 0 is the head. */
static void on_data(pmix_req req, char op, const void *blob, size_t len, void *arg)
{
    struct server *s = arg;

    if (s->me == 0)
        pmix_srv_data_ask(s->pmix, &(struct pmix_srv_data_ask){.op = op, .blob = blob, .len = len},
                          on_own_data, asked_make(s, req));
    else
        say(s, 'P', req, (uint32_t)op, "", blob, len);
}

static void kill_ranks(struct server *s)
{
    for (uint32_t r = 0; r < s->launch.nranks; r++) {
        if (s->waits[r])
            kill(s->pids[r], SIGKILL);
    }
}

static void on_abort(pmix_req req, const char *nspace, uint32_t rank, int code, const char *text,
                     void *arg)
{
    struct server *s = arg;

    printf("abort %s.%u code=%d text=%s\n", nspace, rank, code, text);
    fflush(stdout);
    say(s, 'A', 0, 0, "", NULL, 0);
    pmix_srv_answer(s->pmix, req, 0, NULL, 0);
    kill_ranks(s);
}

static void on_notify(pmix_req req, const char *nspace, const struct pmix_srv_reach *to,
                      const void *blob, size_t len, void *arg)
{
    struct server *s = arg;

    say(s, 'N', 0, 0, nspace, blob, len);
    pmix_srv_answer(s->pmix, req, 0, NULL, 0);
}

static void on_control(pmix_req req, const char *nspace, const struct pmix_srv_proc *procs,
                       size_t nprocs, int signum, void *arg)
{
    struct server *s = arg;

    printf("control %s.%d signal=%d\n", procs[0].nspace, (int)procs[0].rank, signum);
    fflush(stdout);
    pmix_srv_answer(s->pmix, req, 0, NULL, 0);
}

/* Accepts the request; it ends at once, as the asker's own id says. A rank that has ended is
 * notified too. A full list of events in flight prevents no notification. */
static void on_resize(pmix_req req, const struct resize_request *a, const char *nodes, void *arg)
{
    struct server *s = arg;
    bool refused = strcmp(a->req_id, "no") == 0;
    struct pmix_srv_resize_end e = {.nspace = a->nspace,
                                    .rank = a->rank,
                                    .status =
                                        strcmp(a->req_id, "late") != 0 ? RESIZE_OK : RESIZE_TIMEOUT,
                                    .id = "alloc-1",
                                    .req_id = a->req_id,
                                    .cause = strcmp(a->req_id, "late") != 0 ? "" : "too late"};

    printf("resize %s.%u kind=%d count=%u nodes=%s own=%s id=%s deadline=%lld\n", a->nspace,
           a->rank, (int)a->kind, a->count, nodes, a->req_id, a->id, (long long)a->deadline_s);
    fflush(stdout);
    pmix_srv_resize_answer(s->pmix, req, refused ? RESIZE_BUSY : RESIZE_OK, "alloc-1", "Gathering");
    if (refused)
        return;
    full_of_events(s->pmix, true);
    pmix_srv_resize_ended(s->pmix, &e);
    e.rank = s->launch.nranks;
    pmix_srv_resize_ended(s->pmix, &e);
    full_of_events(s->pmix, false);
}

static void on_spawn(pmix_req req, const struct job_spec *spec, const char *hosts, void *arg)
{
    static const char child[] = "7.2";
    const struct job_app *a = &spec->apps[0];
    struct server *s = arg;

    printf("spawn by %s.%u: %s %s n=%u cwd=%s map=%d level=%d ppr=%u "
           "rank=%d bind=%d flags=%u timeout=%llu hosts=%s env0=%s\n",
           spec->parent_nspace, spec->parent_rank, a->argv[0], a->argv[1] ? a->argv[1] : "",
           a->nprocs, a->cwd, (int)spec->map_by, (int)spec->level, spec->ppr, (int)spec->rank_by,
           (int)spec->bind_to, spec->flags, (unsigned long long)spec->timeout_ms,
           hosts ? hosts : "all", a->env[0] ? a->env[0] : "");
    fflush(stdout);
    pmix_srv_answer(s->pmix, req, 0, child, strlen(child));
    pmix_srv_notify_job_end(s->pmix, child, 3);
}

static void maybe_finish(struct server *s);

static void on_message(struct server *s, struct cur c)
{
    char type = (char)cur_u8(&c);
    uint64_t id = cur_u64(&c);
    uint32_t number = cur_u32(&c);
    FREE_AUTO char *name = cur_str(&c, MESSAGE_MAX);
    size_t len;
    const uint8_t *data = cur_bytes(&c, MESSAGE_MAX, &len);

    if (type == 'F')
        half_arrived(s, name, 0, data, len);
    else if (type == 'D')
        pmix_srv_dmodex_serve(s->pmix, name, number, 5, on_served, asked_make(s, id));
    else if (type == 'P')
        pmix_srv_data_ask(s->pmix,
                          &(struct pmix_srv_data_ask){.op = (char)number, .blob = data, .len = len},
                          on_served, asked_make(s, id));
    else if (type == 'R')
        pmix_srv_answer(s->pmix, id, (int)number, data, len);
    else if (type == 'N')
        pmix_srv_notify(s->pmix, data, len, NULL, NULL);
    else if (type == 'A')
        kill_ranks(s);
    else if (type == 'Z')
        s->peer_done = true;
    maybe_finish(s);
}

static void on_peer(int fd, int events, void *arg)
{
    struct server *s = arg;
    uint8_t chunk[65536];
    ssize_t n = recv(fd, chunk, sizeof(chunk), MSG_DONTWAIT);

    peer_flush(s);
    if (n == 0 || (n < 0 && errno != EAGAIN)) {
        loop_fd_set(s->peer_io, 0);
        return;
    }
    if (n > 0)
        buf_put_raw(&s->in, chunk, (size_t)n);
    while (s->in.len >= 4) {
        struct cur c = cur_of(s->in.data, s->in.len);
        size_t len = cur_u32(&c);

        if (cur_left(&c) < len)
            return;
        on_message(s, cur_of(c.p, len));
        buf_consume(&s->in, 4 + len);
    }
}

/* --- ranks */

/* Both have to be complete: each server answers the ranks of the other one until the end. */
static void maybe_finish(struct server *s)
{
    if (s->job_gone && s->peer_done)
        loop_stop(s->loop);
}

static void on_job_gone(int status, void *arg)
{
    struct server *s = arg;

    s->failed += status != 0;
    s->job_gone = true;
    say(s, 'Z', 0, 0, "", NULL, 0);
    maybe_finish(s);
}

static void on_rank_gone(int status, void *arg)
{
    struct server *s = arg;

    s->failed += status != 0;
    if (--s->unfinished == 0)
        pmix_srv_job_gone(s->pmix, PAIR_NSPACE, on_job_gone, s);
}

struct settled {
    struct server *s;
    uint32_t rank;
};

static void on_settled(int status, void *arg)
{
    struct settled *of = arg;
    struct server *s = of->s;

    s->failed += status != 0;
    printf("rank %u: %s\n", of->rank,
           pmix_srv_in_session(s->pmix, PAIR_NSPACE, of->rank) ? "not finalized" : "finalized");
    fflush(stdout);
    pmix_srv_rank_gone(s->pmix, PAIR_NSPACE, of->rank, on_rank_gone, s);
    free(of);
}

static void take_end(struct server *s, uint32_t rank, int status)
{
    struct settled *of;

    s->failed += status != 0;
    if (status != 0 || !pmix_srv_in_session(s->pmix, PAIR_NSPACE, rank)) {
        pmix_srv_rank_gone(s->pmix, PAIR_NSPACE, rank, on_rank_gone, s);
        return;
    }
    of = xcalloc(1, sizeof(*of));
    *of = (struct settled){s, rank};
    pmix_srv_settle(s->pmix, PAIR_NSPACE, rank, on_settled, of);
}

static void on_exit_of(int fd, int events, void *arg)
{
    struct server *s = arg;

    for (uint32_t r = 0; r < s->launch.nranks; r++) {
        int status;

        if (!s->waits[r] || waitpid(s->pids[r], &status, WNOHANG) != s->pids[r])
            continue;
        loop_fd_destroy(s->waits[r]);
        s->waits[r] = NULL;
        take_end(s, r, status);
    }
}

static void rank_start(struct server *s, uint32_t rank, char *const *base)
{
    struct err err = {0};
    char **env = pmix_srv_env(s->pmix, PAIR_NSPACE, rank, base, &err);

    if (!env) {
        fprintf(stderr, "%s\n", err.msg);
        exit(1);
    }
    s->pids[rank] = fork();
    if (s->pids[rank] == 0) {
        execve(program_of(s->plan), (char *const *)s->plan->argv, env);
        _exit(127);
    }
    pmix_srv_env_free(env);
    s->waits[rank] =
        loop_fd_create(s->loop, pidfd_open(s->pids[rank], 0), LOOP_READ, on_exit_of, s);
    s->unfinished++;
}

static void on_registered(int status, void *arg)
{
    struct server *s = arg;
    char *base[16] = {"PATH=/usr/bin:/bin", "HOME=/tmp"};
    size_t n = 2;

    for (size_t i = 0; s->plan->env && s->plan->env[i]; i++)
        base[n++] = (char *)s->plan->env[i];
    if (status != 0) {
        fprintf(stderr, "registering failed: %d\n", status);
        exit(1);
    }
    for (uint32_t r = 0; r < s->launch.nranks; r++) {
        if (s->launch.rank_node[r] == s->me)
            rank_start(s, r, base);
    }
}

/* --- one server from start to end */

/* Requests of ranks; our own requests are not reported. */
static void on_clean_add(uint64_t scope, unsigned flags, const char *path, void *arg)
{
    if (!(flags & REMOVE_OURS))
        printf("cleans %s %s\n", flags & REMOVE_DIR ? "directory" : "file", path);
    pair_keep_add(scope, flags, path, arg);
}

static const struct pmix_srv_upcalls upcalls = {
    .on_abort = on_abort,
    .on_fence = on_fence,
    .on_dmodex = on_dmodex,
    .on_data = on_data,
    .on_data_serve = pair_data_serve,
    .on_notify = on_notify,
    .on_control = on_control,
    .on_resize = on_resize,
    .on_clean_add = on_clean_add,
    .on_clean_run = pair_keep_run,
    .on_spawn = on_spawn,
};

/* The session directory has to be as empty as before: a remaining file is a failure. */
static int left_in(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    int n = 0;

    while (d && (e = readdir(d))) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        fprintf(stderr, "left: %s/%s\n", dir, e->d_name);
        n++;
    }
    if (d)
        closedir(d);
    return n + (rmdir(dir) != 0);
}

static void server_open(struct server *s)
{
    struct pmix_srv_opts o = {.session_dir = s->dir};
    struct err err = {0};

    snprintf(s->dir, sizeof(s->dir), "/tmp/pmix-pair-XXXXXX");
    if (!mkdtemp(s->dir))
        exit(1);
    buf_init(&s->in, MESSAGE_MAX);
    buf_init(&s->out, MESSAGE_MAX);
    launch_make(s);
    o.host = s->launch.nodes[s->me].host;
    o.vpid = s->launch.nodes[s->me].vpid;
    s->loop = loop_create(&err);
    s->pmix = s->loop ? pmix_srv_create(s->loop, &o, &upcalls, s, &err) : NULL;
    if (!s->pmix) {
        fprintf(stderr, "%s\n", err.msg);
        exit(1);
    }
    if (s->peer >= 0)
        s->peer_io = loop_fd_create(s->loop, s->peer, LOOP_READ, on_peer, s);
}

static int server_close(struct server *s)
{
    /* Messages for the other server are sent before the socket is closed. */
    while (s->out.len)
        peer_flush(s);
    pmix_srv_destroy(s->pmix);
    loop_fd_destroy(s->peer_io);
    loop_destroy(s->loop);
    while (s->halves)
        half_free(s, s->halves);
    buf_free(&s->in);
    buf_free(&s->out);
    launch_free(s);
    s->failed += left_in(s->dir);
    pair_keep_run(PAIR_KEEP_ALL, &s->keep);
    return s->failed;
}

static int serve(const struct pair_plan *plan, unsigned me, int peer)
{
    struct server s = {.plan = plan, .me = me, .peer = peer, .peer_done = peer < 0};
    struct err err = {0};

    alarm(LIMIT_S);
    s.keep.pmix = &s.pmix;
    server_open(&s);
    pair_register(s.pmix, &s.launch, on_registered, &s);
    if (loop_run(s.loop, &err) < 0)
        s.failed++;
    return server_close(&s);
}

/* --- the test's side */

static pid_t server_fork(const struct pair_plan *plan, unsigned me, int peer, int out)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid != 0)
        return pid;
    dup2(out, STDOUT_FILENO);
    close(out);
    exit(serve(plan, me, peer) ? 1 : 0);
}

static char *read_all(int fd)
{
    BUF_AUTO struct buf b = {.max = MESSAGE_MAX};
    char chunk[4096];
    ssize_t n;

    while ((n = read(fd, chunk, sizeof(chunk))) > 0)
        buf_put_raw(&b, chunk, (size_t)n);
    close(fd);
    buf_put_u8(&b, 0);
    return xstrdup((char *)b.data);
}

struct pair_result pair_run(const struct pair_plan *plan)
{
    struct pair_result result = {0};
    unsigned n = plan->ranks[1] ? 2 : 1;
    int join[2] = {-1, -1}, out[2];
    pid_t pids[2];

    if (pipe2(out, O_CLOEXEC) < 0 ||
        (n == 2 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, join) < 0))
        abort();
    for (unsigned i = 0; i < n; i++)
        pids[i] = server_fork(plan, i, join[i], out[1]);
    close(out[1]);
    if (n == 2) {
        close(join[0]);
        close(join[1]);
    }
    result.out = read_all(out[0]);
    for (unsigned i = 0; i < n; i++) {
        int status;

        waitpid(pids[i], &status, 0);
        if (status != 0) {
            fprintf(stderr, "server %u ended with wait status 0x%x\n", i, (unsigned)status);
            result.failed++;
        }
    }
    return result;
}

struct pair_result pair_run_client(const char *client, uint32_t ranks_a, uint32_t ranks_b)
{
    FREE_AUTO char *arg = xasprintf("--client=%s", client);
    const char *const argv[] = {PAIR_CLIENTS, arg, NULL};
    static const char *const env[] = {"COLOUR=red", NULL};
    const struct pair_plan plan = {.argv = argv, .ranks = {ranks_a, ranks_b}, .env = env};

    return pair_run(&plan);
}

int pair_child(void (*fn)(void))
{
    int status = -1;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        fn();
        exit(0);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}
