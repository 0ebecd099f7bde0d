/* SPDX-License-Identifier: BSD-3-Clause */
/* A PMIx client for each rule of cleanup (docs/cleanup.md): it makes a tree, registers what the
 * rule is about, and ends as it is told; afterwards it compares what is left with what the rule
 * says.
 *
 *   cleanup_client list
 *   cleanup_client register ROOT END RULE...   END: finalize, return, abort, kill,
 *                                              say ("up", and return), wait ("up", for ever)
 *   cleanup_client share ROOT END RULE         rank n makes the nth request, rank 0 the tree
 *   cleanup_client for NSPACE ROOT END RULE    requests for a job are for that one
 *   cleanup_client killed ROOT END RULE        each request asks for our end by SIGKILL too
 *   cleanup_client check ROOT RULE
 *   cleanup_client run PROGRAM...              while it is a client
 *   cleanup_client spawn FILE                  a job that cleans FILE up; relative, it is refused
 *   cleanup_client gone PATH...                waits until none of them is there, half a minute
 */
#include <errno.h>
#include <fcntl.h>
#include <pmix.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define REQUESTS_MAX 3
#define KEYS_MAX 5
#define OTHER 12345 /* an owner other than the client */

/* Where "%" stands in a value, the rule's own directory is put. */
struct directive {
    const char *key;
    const char *value; /* NULL: true */
};
enum target { SELF, JOB, NOBODY, STRANGER }; /* NOBODY: a NULL target */
struct request {
    enum target target;
    struct directive keys[KEYS_MAX];
    pmix_status_t expected;
};
struct rule {
    const char *name;
    const char *tree; /* "d/" directory, "f" file, "l>to" link, "f!" another user's, "f~" another's
                         group */
    struct request requests[REQUESTS_MAX];
    const char *left; /* of the tree, in the same notation, sorted as made */
};

#define FILES(v)                                                                                   \
    {                                                                                              \
        PMIX_REGISTER_CLEANUP, v                                                                   \
    }
#define DIRS(v)                                                                                    \
    {                                                                                              \
        PMIX_REGISTER_CLEANUP_DIR, v                                                               \
    }
#define IGNORE(v)                                                                                  \
    {                                                                                              \
        PMIX_CLEANUP_IGNORE, v                                                                     \
    }
#define RECURSIVE                                                                                  \
    {                                                                                              \
        PMIX_CLEANUP_RECURSIVE, NULL                                                               \
    }
#define LEAVE_TOPDIR                                                                               \
    {                                                                                              \
        PMIX_CLEANUP_LEAVE_TOPDIR, NULL                                                            \
    }
#define ONLY_EMPTY                                                                                 \
    {                                                                                              \
        PMIX_CLEANUP_EMPTY, NULL                                                                   \
    }
/* Continues the target, which runs anyhow. */
#define RESUME                                                                                     \
    {                                                                                              \
        PMIX_JOB_CTRL_RESUME, NULL                                                                 \
    }
#define KILL                                                                                       \
    {                                                                                              \
        PMIX_JOB_CTRL_KILL, NULL                                                                   \
    }
#define UNKNOWN                                                                                    \
    {                                                                                              \
        PMIX_JOB_CTRL_PREEMPTIBLE, NULL                                                            \
    }
#define CONFLICT PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES
#define BAD PMIX_ERR_BAD_PARAM

static const struct rule rules[] = {
    {"file", "f g", {{SELF, {FILES("%/f")}, 0}}, "g"},
    {"files-in-a-list", "f g h", {{SELF, {FILES("%/f,%/h")}, 0}}, "g"},
    {"files-of-two-keys", "f g h", {{SELF, {FILES("%/f"), FILES("%/h")}, 0}}, "g"},
    {"file-twice", "f g", {{SELF, {FILES("%/f")}, 0}, {SELF, {FILES("%/f")}, 0}}, "g"},
    {"file-that-is-absent", "g", {{SELF, {FILES("%/f")}, 0}}, "g"},
    {"file-that-is-a-directory", "d/ g", {{SELF, {FILES("%/d")}, 0}}, "d/ g"},
    {"file-that-is-a-link", "f l>f", {{SELF, {FILES("%/l")}, 0}}, "f"},
    {"directory", "d/ d/f g", {{SELF, {DIRS("%/d")}, 0}}, "g"},
    {"directory-not-recursive",
     "d/ d/f d/e/ d/s/ d/s/f",
     {{SELF, {DIRS("%/d")}, 0}},
     "d/ d/e/ d/s/ d/s/f"},
    {"directory-recursive",
     "d/ d/f d/s/ d/s/f d/s/t/ g",
     {{SELF, {DIRS("%/d"), RECURSIVE}, 0}},
     "g"},
    {"directories-in-a-list-share-directives",
     "d/ d/s/ d/s/f e/ e/s/ e/s/f g",
     {{SELF, {RECURSIVE, DIRS("%/d,%/e")}, 0}},
     "g"},
    {"directories-of-two-keys-share-directives",
     "d/ d/s/ d/s/f e/ e/s/ e/s/f g",
     {{SELF, {DIRS("%/d"), RECURSIVE, DIRS("%/e")}, 0}},
     "g"},
    {"directives-are-of-their-request-alone",
     "d/ d/s/ d/s/f e/ e/s/ e/s/f",
     {{SELF, {DIRS("%/d"), RECURSIVE}, 0}, {SELF, {DIRS("%/e")}, 0}},
     "e/ e/s/ e/s/f"},
    {"leave-topdir", "d/ d/f", {{SELF, {DIRS("%/d"), LEAVE_TOPDIR}, 0}}, "d/"},
    {"leave-topdir-recursive",
     "d/ d/f d/s/ d/s/f",
     {{SELF, {DIRS("%/d"), RECURSIVE, LEAVE_TOPDIR}, 0}},
     "d/"},
    {"only-empty-directories",
     "d/ d/f d/e/ d/s/ d/s/f",
     {{SELF, {DIRS("%/d"), RECURSIVE, ONLY_EMPTY}, 0}},
     "d/ d/f d/s/ d/s/f"},
    {"same-directory-recursive-wins-later",
     "d/ d/s/ d/s/f",
     {{SELF, {DIRS("%/d")}, 0}, {SELF, {DIRS("%/d"), RECURSIVE}, 0}},
     ""},
    {"same-directory-recursive-wins-earlier",
     "d/ d/s/ d/s/f",
     {{SELF, {DIRS("%/d"), RECURSIVE}, 0}, {SELF, {DIRS("%/d")}, 0}},
     ""},
    {"same-directory-leave-topdir-wins-later",
     "d/ d/f",
     {{SELF, {DIRS("%/d")}, 0}, {SELF, {DIRS("%/d"), LEAVE_TOPDIR}, 0}},
     "d/"},
    {"same-directory-leave-topdir-wins-earlier",
     "d/ d/f",
     {{SELF, {DIRS("%/d"), LEAVE_TOPDIR}, 0}, {SELF, {DIRS("%/d")}, 0}},
     "d/"},
    {"same-directory-in-another-spelling",
     "d/ d/s/ d/s/f",
     {{SELF, {DIRS("%//d/")}, 0}, {SELF, {DIRS("%/./d"), RECURSIVE, LEAVE_TOPDIR}, 0}},
     "d/"},
    {"directory-under-another-is-no-duplicate",
     "d/ d/f d/s/ d/s/f d/s/t/ d/s/t/f",
     {{SELF, {DIRS("%/d")}, 0}, {SELF, {DIRS("%/d/s"), RECURSIVE, LEAVE_TOPDIR}, 0}},
     "d/ d/s/"},
    {"ignored-file-of-the-same-request",
     "d/ d/f d/g",
     {{SELF, {DIRS("%/d"), IGNORE("%/d/g")}, 0}},
     "d/ d/g"},
    {"ignored-file-of-an-earlier-request",
     "d/ d/f d/g",
     {{SELF, {IGNORE("%/d/g")}, 0}, {SELF, {DIRS("%/d")}, 0}},
     "d/ d/g"},
    {"ignored-file-of-a-later-request",
     "d/ d/f d/g",
     {{SELF, {DIRS("%/d")}, 0}, {SELF, {IGNORE("%/d/g")}, 0}},
     "d/ d/g"},
    {"ignored-files-in-a-list",
     "d/ d/f d/g d/s/ d/s/h d/s/i",
     {{SELF, {DIRS("%/d"), RECURSIVE, IGNORE("%/d/g,%/d/s/h")}, 0}},
     "d/ d/g d/s/ d/s/h"},
    {"ignored-directory-stays-with-all-below",
     "d/ d/f d/s/ d/s/f d/s/t/ d/s/t/f",
     {{SELF, {DIRS("%/d"), RECURSIVE, IGNORE("%/d/s")}, 0}},
     "d/ d/s/ d/s/f d/s/t/ d/s/t/f"},
    {"file-ignored-in-the-same-request-is-refused",
     "f g",
     {{SELF, {FILES("%/f,%/g"), IGNORE("%/f")}, CONFLICT}},
     "f g"},
    {"file-ignored-earlier-is-refused",
     "f g",
     {{SELF, {IGNORE("%/f")}, 0}, {SELF, {FILES("%/f,%/g")}, CONFLICT}},
     "f g"},
    {"file-ignored-later-is-refused",
     "f g",
     {{SELF, {FILES("%/f")}, 0}, {SELF, {IGNORE("%/f"), FILES("%/g")}, CONFLICT}},
     "g"},
    {"directory-ignored-earlier-is-refused",
     "d/ d/f",
     {{SELF, {IGNORE("%/d")}, 0}, {SELF, {DIRS("%/d")}, CONFLICT}},
     "d/ d/f"},
    {"directory-ignored-later-is-refused",
     "d/ d/f",
     {{SELF, {DIRS("%/d")}, 0}, {SELF, {IGNORE("%/d")}, CONFLICT}},
     ""},
    {"relative-path-is-refused",
     "f g",
     {{SELF, {FILES("f")}, BAD}, {SELF, {DIRS("%/f,.")}, BAD}, {SELF, {IGNORE("g")}, BAD}},
     "f g"},
    {"one-relative-path-refuses-the-request", "f", {{SELF, {FILES("%/f,g")}, BAD}}, "f"},
    {"path-that-leads-up-is-refused", "d/ f", {{SELF, {FILES("%/d/../f")}, BAD}}, "d/ f"},
    {"root-is-refused",
     "f",
     {{SELF, {DIRS("/"), RECURSIVE}, BAD}, {SELF, {DIRS("//.")}, BAD}},
     "f"},
    {"empty-list-is-refused", "f", {{SELF, {FILES("")}, BAD}, {SELF, {FILES("%/f,")}, BAD}}, "f"},
    {"link-in-a-tree-is-not-followed",
     "o/ o/f d/ d/l>../o d/s/ d/s/l>../../o/f",
     {{SELF, {DIRS("%/d"), RECURSIVE}, 0}},
     "o/ o/f"},
    {"link-named-as-directory-is-not-followed",
     "o/ o/f l>o",
     {{SELF, {DIRS("%/l"), RECURSIVE}, 0}},
     "o/ o/f l>o"},
    {"others-files-stay",
     "f! g~ h d/ d/f! d/g~ d/h",
     {{SELF, {FILES("%/f,%/g,%/h"), DIRS("%/d")}, 0}},
     "f! g~ d/ d/f! d/g~"},
    {"others-directories-stay",
     "d/ d/s/! d/t/ d/t/f",
     {{SELF, {DIRS("%/d"), RECURSIVE}, 0}},
     "d/ d/s/!"},
    {"job-target", "f g", {{JOB, {FILES("%/f")}, 0}}, "g"},
    {"null-target", "f g", {{NOBODY, {FILES("%/f")}, 0}}, "g"},
    {"process-and-job-are-apart",
     "d/ d/f",
     {{JOB, {IGNORE("%/d/f")}, 0}, {SELF, {DIRS("%/d")}, 0}},
     ""},
    {"unknown-target-is-refused", "f", {{STRANGER, {FILES("%/f")}, PMIX_ERR_NOT_FOUND}}, "f"},
    {"process-and-job", "f g h", {{SELF, {FILES("%/f")}, 0}, {JOB, {FILES("%/g")}, 0}}, "h"},
    {"same-directory-of-two-processes",
     "d/ d/f d/s/ d/s/f",
     {{JOB, {DIRS("%/d"), LEAVE_TOPDIR}, 0}, {JOB, {DIRS("%/d"), RECURSIVE}, 0}},
     "d/"},
    {"file-ignored-by-another-process-is-refused",
     "f",
     {{JOB, {IGNORE("%/f")}, 0}, {JOB, {FILES("%/f")}, CONFLICT}},
     "f"},
    {"mixed-with-control", "f g", {{SELF, {RESUME, FILES("%/f")}, 0}}, "g"},
    {"mixed-with-what-is-not-supported",
     "f g",
     {{SELF, {FILES("%/f"), UNKNOWN}, PMIX_ERR_NOT_SUPPORTED}},
     "f g"},
    {"mixed-with-control-but-refused", "f", {{SELF, {KILL, FILES("%/f,f")}, BAD}}, "f"},
    {"mixed-with-control-of-nobody",
     "f",
     {{STRANGER, {FILES("%/f"), KILL}, PMIX_ERR_NOT_FOUND}},
     "f"},
};
#define NRULES (sizeof(rules) / sizeof(rules[0]))

static pmix_proc_t me;
static const char *other_job; /* in place of our own as a target */
static bool kills;            /* each request */

static void die(const char *rule, const char *what, const char *why)
{
    fprintf(stderr, "%s: %s: %s\n", rule, what, why);
    _exit(1);
}

/* --- trees */

struct entry {
    char *path, *to;
    bool dir;
    uid_t uid;
    gid_t gid;
};

static struct entry parse(const char *word, const char *top)
{
    struct entry e = {.uid = geteuid(), .gid = getegid()};
    char *name = strdup(word);
    size_t n = strlen(name);

    if (n && name[n - 1] == '!')
        e.uid = OTHER;
    if (n && name[n - 1] == '~')
        e.gid = OTHER;
    if (n && strchr("!~", name[n - 1]))
        name[--n] = 0;
    if (n && name[n - 1] == '/') {
        e.dir = true;
        name[--n] = 0;
    }
    e.to = strchr(name, '>');
    if (e.to)
        *e.to++ = 0;
    if (asprintf(&e.path, "%s/%s", top, name) < 0)
        abort();
    return e;
}

static void make(const struct rule *r, const struct entry *e)
{
    int fd = -1;

    if (e->to    ? symlink(e->to, e->path) < 0
        : e->dir ? mkdir(e->path, 0700) < 0
                 : (fd = open(e->path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600)) < 0)
        die(r->name, e->path, strerror(errno));
    if (fd >= 0)
        close(fd);
    if ((e->uid != geteuid() || e->gid != getegid()) && lchown(e->path, e->uid, e->gid) < 0)
        die(r->name, e->path, strerror(errno));
}

static bool is_there(const struct entry *e)
{
    struct stat st;

    if (lstat(e->path, &st) < 0)
        return false;
    return S_ISLNK(st.st_mode) == !!e->to && S_ISDIR(st.st_mode) == e->dir && st.st_uid == e->uid;
}

static void for_words(const struct rule *r, const char *words, const char *top,
                      void (*fn)(const struct rule *r, const struct entry *e))
{
    char *copy = strdup(words);
    char *rest;

    for (char *w = strtok_r(copy, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
        struct entry e = parse(w, top);

        fn(r, &e);
    }
    free(copy);
}

static bool has_word(const char *words, const char *word)
{
    size_t n = strlen(word);

    for (const char *p = words; (p = strstr(p, word)); p += n) {
        if ((p == words || p[-1] == ' ') && (!p[n] || p[n] == ' '))
            return true;
    }
    return false;
}

/* True if exactly those entries of the tree exist that the rule names. */
static int check(const struct rule *r, const char *top)
{
    char *copy = strdup(r->tree);
    char *rest;
    int wrong = 0;

    for (char *w = strtok_r(copy, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
        struct entry e = parse(w, top);
        bool expected = has_word(r->left, w);

        if (is_there(&e) == expected)
            continue;
        fprintf(stderr, "%s: %s %s\n", r->name, w, expected ? "has been removed" : "is left");
        wrong++;
    }
    free(copy);
    return wrong;
}

/* --- requests */

/* The value with the rule's directory in place of each "%". */
static char *expand(const char *value, const char *top)
{
    char *out = strdup("");

    for (; *value; value++) {
        char *longer = NULL;
        int rc = *value == '%' ? asprintf(&longer, "%s%s", out, top)
                               : asprintf(&longer, "%s%c", out, *value);

        if (rc < 0)
            abort();
        free(out);
        out = longer;
    }
    return out;
}

static void ask(const struct rule *r, const struct request *q, const char *top)
{
    pmix_info_t info[KEYS_MAX + 1];
    pmix_proc_t target = me;
    pmix_status_t rc;
    size_t n = 0;

    for (; n < KEYS_MAX && q->keys[n].key; n++) {
        if (q->keys[n].value)
            PMIX_INFO_LOAD(&info[n], q->keys[n].key, expand(q->keys[n].value, top), PMIX_STRING);
        else
            PMIX_INFO_LOAD(&info[n], q->keys[n].key, NULL, PMIX_BOOL);
    }
    if (kills)
        PMIX_INFO_LOAD(&info[n++], PMIX_JOB_CTRL_KILL, NULL, PMIX_BOOL);
    if (q->target == JOB)
        PMIX_LOAD_PROCID(&target, other_job ? other_job : me.nspace, PMIX_RANK_WILDCARD);
    if (q->target == STRANGER)
        target.rank = 4711;
    rc = PMIx_Job_control(q->target == NOBODY ? NULL : &target, q->target != NOBODY, info, n, NULL,
                          NULL);
    if (rc == PMIX_OPERATION_SUCCEEDED)
        rc = PMIX_SUCCESS;
    if (rc != q->expected)
        die(r->name, "a request was answered with", PMIx_Error_string(rc));
}

static const struct rule *find(const char *name)
{
    for (size_t i = 0; i < NRULES; i++) {
        if (strcmp(rules[i].name, name) == 0)
            return &rules[i];
    }
    fprintf(stderr, "there is no rule %s\n", name);
    exit(2);
}

static char *top_of(const char *root, const struct rule *r)
{
    char *top = NULL;

    if (asprintf(&top, "%s/%s", root, r->name) < 0)
        abort();
    return top;
}

static void make_tree(const struct rule *r, const char *top)
{
    if (mkdir(top, 0700) < 0)
        die(r->name, top, strerror(errno));
    for_words(r, r->tree, top, make);
}

static void do_register(const struct rule *r, const char *root)
{
    char *top = top_of(root, r);

    make_tree(r, top);
    for (size_t i = 0; i < REQUESTS_MAX && r->requests[i].keys[0].key; i++)
        ask(r, &r->requests[i], top);
    if (!r->requests[0].keys[0].key)
        die(r->name, "the rule", "asks for nothing");
    free(top);
}

static void fence(const char *rule)
{
    pmix_proc_t all;

    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    if (PMIx_Fence(&all, 1, NULL, 0) != PMIX_SUCCESS)
        die(rule, "fence", "failed");
}

/* One request of each rank, in their order. */
static void do_share(const struct rule *r, const char *root)
{
    char *top = top_of(root, r);

    if (me.rank == 0)
        make_tree(r, top);
    for (size_t i = 0; i < REQUESTS_MAX && r->requests[i].keys[0].key; i++) {
        fence(r->name);
        if (me.rank == i)
            ask(r, &r->requests[i], top);
    }
    fence(r->name);
    free(top);
}

#define GONE_LIMIT_MS 30000

static int await_gone(int n, char **paths)
{
    struct pollfd pfd = {.fd = inotify_init1(IN_CLOEXEC), .events = POLLIN};
    char events[4096];
    struct stat st;

    for (int i = 0; i < n; i++)
        inotify_add_watch(pfd.fd, paths[i],
                          IN_DELETE_SELF | IN_ATTRIB | IN_MOVE_SELF | IN_DONT_FOLLOW);
    for (int i = 0; i < n;) {
        if (lstat(paths[i], &st) < 0)
            i++;
        else if (poll(&pfd, 1, GONE_LIMIT_MS) != 1 || read(pfd.fd, events, sizeof(events)) < 0)
            die("gone", paths[i], "is still there");
    }
    return 0;
}

static int spawn_one(const char *file)
{
    pmix_nspace_t child;
    pmix_info_t bad;
    pmix_info_t good;
    pmix_app_t app;

    PMIX_APP_CONSTRUCT(&app);
    app.cmd = strdup("true");
    app.maxprocs = 1;
    PMIX_INFO_LOAD(&bad, PMIX_REGISTER_CLEANUP, "relative", PMIX_STRING);
    PMIX_INFO_LOAD(&good, PMIX_REGISTER_CLEANUP, file, PMIX_STRING);
    if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS ||
        PMIx_Spawn(&bad, 1, &app, 1, child) != PMIX_ERR_BAD_PARAM ||
        PMIx_Spawn(&good, 1, &app, 1, child) != PMIX_SUCCESS)
        return 1;
    return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1;
}

/* A program that runs as the child of a PMIx client. */
static int run(char *const argv[])
{
    int status = 0;
    pid_t pid;

    if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS)
        return 1;
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execvp(argv[0], argv);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || PMIx_Finalize(NULL, 0) != PMIX_SUCCESS)
        return 1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int end(const char *how)
{
    if (strcmp(how, "say") == 0 || strcmp(how, "wait") == 0) {
        puts("up");
        fflush(stdout);
    }
    if (strcmp(how, "finalize") == 0 || strcmp(how, "say") == 0)
        return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1;
    if (strcmp(how, "abort") == 0)
        PMIx_Abort(3, "as the test wants it", NULL, 0);
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    while (strcmp(how, "wait") == 0)
        pause();
    _exit(0); /* without finalize */
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        for (size_t i = 0; i < NRULES; i++)
            puts(rules[i].name);
        return 0;
    }
    if (argc == 4 && strcmp(argv[1], "check") == 0)
        return check(find(argv[3]), top_of(argv[2], find(argv[3]))) ? 1 : 0;
    if (argc == 3 && strcmp(argv[1], "spawn") == 0)
        return spawn_one(argv[2]);
    if (argc >= 3 && strcmp(argv[1], "run") == 0)
        return run(argv + 2);
    if (argc > 2 && strcmp(argv[1], "gone") == 0)
        return await_gone(argc - 2, argv + 2);
    if (argc > 5 && strcmp(argv[1], "for") == 0) {
        other_job = argv[2];
        argv += 1;
        argc -= 1;
        argv[1] = (char *)"register";
    }
    kills = argc > 4 && strcmp(argv[1], "killed") == 0;
    if (argc < 5 || PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS)
        return 2;
    for (int i = 4; i < argc; i++)
        (strcmp(argv[1], "share") == 0 ? do_share : do_register)(find(argv[i]), argv[2]);
    return end(argv[3]);
}
