/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that a job brings along: their names at its daemons, and the process that reads them.
 *
 * Names: a relative path stays as it is, without "." and doubled slashes; of an absolute path the
 * last component remains. A path that leads up by "..", a path without a name, and two files of
 * one name are refused. A repeated file keeps its place.
 *
 * Reading: a process of its own reads the files, since a file system may block. It gets the list
 * by a pipe, and sends pieces by another one; these are passed on while the receiver has room for
 * them (files_sender_room()).
 *
 * Invariants: no call of files_sender_* waits for a file, except the end; pieces are passed on in
 * order; received pieces are sent before more are read.
 *
 * Failures: the reader's reason, for example that a file has changed meanwhile. At the end the
 * reader is killed and gets END_MS; one that a file system still blocks is left behind and ends as
 * soon as it can. */
#include "dvm/host/jobspec/files.h"

#include "dvm/host/stager/stager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define END_MS 1000 /* for a killed reader to end */

/* --- names */

/* Removes "." and doubled slashes. */
static char *tidied_path(const char *path)
{
    char *out = xcalloc(strlen(path) + 1, 1);
    size_t n = 0;

    while (*path) {
        size_t len = strcspn(path, "/");

        if (len && !(len == 1 && path[0] == '.')) {
            if (n)
                out[n++] = '/';
            memcpy(out + n, path, len);
            n += len;
        }
        path += len;
        path += strspn(path, "/");
    }
    return out;
}

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static int refuse_path(const char *path, const char *there, const char *why, struct err *err)
{
    if (strcmp(why, "leads up by '..'") == 0 && path[0] != '/')
        return err_set(err, "file '%s' %s; by its absolute path it would come as '%s'", path, why,
                       last_name(there));
    return err_set(err, "file '%s' %s", path, why);
}

/* The place of the file with that name; 0: there is none. */
static uint32_t place_of(const struct job_spec *spec, const char *there)
{
    for (size_t i = 0; i < spec->nfiles; i++) {
        if (strcmp(spec->files[i], there) == 0)
            return (uint32_t)i + 1;
    }
    return 0;
}

uint32_t files_place(const struct job_spec *spec, const char *path)
{
    FREE_AUTO char *there = tidied_path(path);

    return place_of(spec, there);
}

int files_add(struct job_spec *spec, char ***sources, const char *path, const char *cwd,
              uint32_t *number, struct err *err)
{
    FREE_AUTO char *tidy = tidied_path(path);
    const char *there = path[0] == '/' ? last_name(tidy) : tidy;
    FREE_AUTO char *source =
        path[0] == '/' ? xasprintf("/%s", tidy) : xasprintf("%s/%s", cwd, tidy);
    const char *why = job_file_refused(there);
    uint32_t at = place_of(spec, there);

    if (why)
        return refuse_path(path, there, there[0] ? why : "has no name", err);
    if (path[0] != '/' && !cwd[0])
        return err_set(err, "file '%s': the working directory does not exist any more", path);
    if (at && strcmp((*sources)[at - 1], source) != 0)
        return err_set(err, "files '%s' and '%s' would both be '%s'", (*sources)[at - 1], source,
                       there);
    if (!at) {
        if (spec->nfiles == JOB_FILES_MAX)
            return err_set(err, "more than %d files", JOB_FILES_MAX);
        spec->files = xrealloc(spec->files, (spec->nfiles + 1) * sizeof(*spec->files));
        *sources = xrealloc(*sources, (spec->nfiles + 1) * sizeof(**sources));
        spec->files[spec->nfiles] = xstrdup(there);
        (*sources)[spec->nfiles] = source;
        source = NULL;
        at = (uint32_t)++spec->nfiles;
    }
    if (number)
        *number = at;
    return 0;
}

int files_add_list(struct job_spec *spec, char ***sources, const char *list, const char *cwd,
                   struct err *err)
{
    FREE_AUTO char *copy = xstrdup(list);
    char *rest = copy;
    const char *path;

    while ((path = strsep(&rest, ","))) {
        if (!path[0])
            return err_set(err, "'%s': an empty name", list);
        if (files_add(spec, sources, path, cwd, NULL, err) < 0)
            return -1;
    }
    return 0;
}

char *files_program(const char *name, const char *path, struct err *err)
{
    FREE_AUTO char *copy = xstrdup(path ? path : "/bin:/usr/bin");
    char *rest = copy;
    const char *dir;

    if (strchr(name, '/'))
        return xstrdup(name);
    while ((dir = strsep(&rest, ":"))) {
        FREE_AUTO char *file = xasprintf("%s/%s", dir[0] ? dir : ".", name);
        struct stat st;

        if (stat(file, &st) == 0 && S_ISREG(st.st_mode) && access(file, X_OK) == 0) {
            /* its name there is its last component, wherever PATH has found it */
            return file[0] == '/' ? xstrdup(file) : xstrdup(name);
        }
    }
    err_set(err, "program '%s' is in no directory of PATH", name);
    return NULL;
}

int files_check(char *const *sources, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        int fd = open(sources[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        struct stat st;

        if (fd < 0)
            return err_sys(err, errno, "file %s", sources[i]);
        if (fstat(fd, &st) < 0) {
            err_sys(err, errno, "file %s", sources[i]);
            close(fd);
            return -1;
        }
        close(fd);
        if (S_ISDIR(st.st_mode))
            return err_set(err, "%s is a directory: name the files in it", sources[i]);
        if (!S_ISREG(st.st_mode))
            return err_set(err, "%s is no file", sources[i]);
    }
    return 0;
}

/* --- the reading process */

struct files_sender {
    char *const *sources;
    size_t n;
    pid_t pid; /* 0: not started */
    int fd;    /* -1: not started, or it has sent everything */
    struct buf in;
    struct stager_said said; /* the first piece of `in`, if has_piece */
    bool has_piece;
    bool taken; /* it was returned to the caller */
    bool done;
    uint64_t room, sent;
};

struct files_sender *files_sender_create(char *const *sources, size_t n)
{
    struct files_sender *s = xcalloc(1, sizeof(*s));

    s->sources = sources;
    s->n = n;
    s->fd = -1;
    buf_init(&s->in, 2 * (PIECE_MAX + 4));
    return s;
}

/* A process that a file system blocks is left behind: it ends as soon as it can. */
static void end_reader(pid_t pid)
{
    struct pollfd p = {.events = POLLIN};

    kill(pid, SIGKILL);
    p.fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (p.fd >= 0) {
        (void)poll(&p, 1, END_MS);
        close(p.fd);
    }
    waitpid(pid, NULL, WNOHANG);
}

void files_sender_destroy(struct files_sender *s)
{
    if (!s)
        return;
    if (s->fd >= 0)
        close(s->fd);
    if (s->pid > 0)
        end_reader(s->pid);
    buf_free(&s->in);
    free(s);
}

static int spawn_reader(struct files_sender *s, int in, int out, struct err *err)
{
    FREE_AUTO char *path = stager_path(err);
    FREE_AUTO char *bytes = xasprintf("%zu", stager_piece_data(s->room));
    char *argv[] = {STAGER_PROGRAM, "read", bytes, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none;
    int rc;

    if (!path)
        return -1;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    rc = posix_spawn(&s->pid, path, &files, &attr, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    if (rc)
        s->pid = 0;
    return rc ? err_sys(err, rc, "starting %s", path) : 0;
}

/* If the reader ends while we write to it, that is an ordinary error and no signal. */
static int tell_list(const struct files_sender *s, int to, struct err *err)
{
    BUF_AUTO struct buf list = {0};

    buf_init(&list, STAGER_FRAME_MAX);
    stager_list_encode(&list, s->sources, s->n);
    for (size_t at = 0; at < list.len;) {
        ssize_t n = send(to, list.data + at, list.len - at, MSG_NOSIGNAL);

        if (n < 0 && errno != EINTR)
            return err_sys(err, errno, "sending " STAGER_PROGRAM " the list of files");
        at += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static void close_one(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int start_reader(struct files_sender *s, struct err *err)
{
    int in[2] = {-1, -1};
    int out[2] = {-1, -1};
    int rc;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) < 0 || pipe2(out, O_CLOEXEC) < 0)
        rc = err_sys(err, errno, "a pipe");
    else
        rc = spawn_reader(s, in[0], out[1], err);
    close_one(&in[0]); /* data that it no longer reads must not be waited for */
    close_one(&out[1]);
    if (rc == 0)
        rc = tell_list(s, in[1], err);
    close_one(&in[1]);
    s->fd = out[0];
    if (s->fd >= 0)
        fcntl(s->fd, F_SETFL, O_NONBLOCK);
    return rc;
}

int files_sender_room(struct files_sender *s, uint64_t total, struct err *err)
{
    s->room = total > s->room ? total : s->room;
    return s->pid || s->done ? 0 : start_reader(s, err);
}

/* Received pieces are sent before more are read. */
void files_sender_want(const struct files_sender *s, struct pollfd *p)
{
    *p = (struct pollfd){.fd = s->has_piece && !s->taken ? -1 : s->fd, .events = POLLIN};
}

static int on_word(struct files_sender *s, const struct stager_word *w, struct err *err)
{
    s->done = w->kind == STAGER_DONE;
    close(s->fd);
    s->fd = -1;
    if (s->done)
        return 0;
    return w->errnum == ESTALE || w->errnum == EINVAL ? err_set(err, "%s", w->text)
                                                      : err_sys(err, w->errnum, "%s", w->text);
}

static int look_for_words(struct files_sender *s, struct err *err)
{
    int rc = stager_next(&s->in, &s->said, err);

    if (rc <= 0)
        return rc;
    if (s->said.piece) {
        s->has_piece = true;
        return 0;
    }
    rc = on_word(s, &s->said.word, err);
    free(s->said.word.text);
    return rc;
}

int files_sender_pump(struct files_sender *s, struct err *err)
{
    uint8_t chunk[64u << 10];
    size_t room = s->in.max - s->in.len;
    ssize_t n;

    if (s->taken) {
        buf_consume(&s->in, s->said.used);
        s->taken = s->has_piece = false;
    }
    if (s->fd < 0 || s->has_piece)
        return 0;
    if (look_for_words(s, err) < 0)
        return -1;
    if (s->fd < 0 || s->has_piece)
        return 0;
    n = read(s->fd, chunk, room < sizeof(chunk) ? room : sizeof(chunk));
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return 0;
    if (n <= 0) {
        close(s->fd);
        s->fd = -1;
        return err_set(err, "the program " STAGER_PROGRAM " has ended without an answer");
    }
    buf_put_raw(&s->in, chunk, (size_t)n);
    return look_for_words(s, err);
}

bool files_sender_next(struct files_sender *s, const uint8_t **piece, size_t *len)
{
    if (!s->has_piece || s->taken || s->sent + s->said.len > s->room)
        return false;
    *piece = s->said.piece;
    *len = s->said.len;
    s->sent += s->said.len;
    s->taken = true;
    return true;
}
