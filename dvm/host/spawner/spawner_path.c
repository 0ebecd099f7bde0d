/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks for a rank's program as a shell does, and names the reason if it cannot be executed.
 *
 * In: the rank's argv and the environment of this process. Out: spawner_path_exec() executes the
 * program and returns only on failure. spawner_path_check() gives the path of a file that looks
 * executable. Both return an errno value and fill `what`, the text for the user.
 *
 * Order: a name with '/' is tried as it is. Another name is tried in each directory of PATH, or of
 * PATH_DEFAULT without one. A file that is missing or denied lets the search go on. Any other error
 * ends the search, and so does a file whose interpreter or loader is missing.
 *
 * Failures: EACCES is returned if one file was denied and no other was found. A text without "#!"
 * is handed to /bin/sh; a file with a NUL byte in its first HEAD_BYTES - 1 bytes is not. The check
 * cannot see that the loader of libraries is missing: only the exec finds that. */
#include "base/buf/buf.h"
#include "dvm/host/spawner/spawner_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_DEFAULT "/bin:/usr/bin"
#define HEAD_BYTES 256

/* The file's beginning, NUL-terminated; the number of its bytes, -1: it cannot be read. */
static ssize_t read_head(const char *path, char head[HEAD_BYTES])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, head, HEAD_BYTES - 1);

    if (fd >= 0)
        close(fd);
    head[n < 0 ? 0 : n] = '\0';
    return n;
}

/* A text without "#!", which a shell would run. A file with a NUL byte is a damaged program or one
 * for another machine, and no shell could run it. */
static bool is_text(const char *path)
{
    char head[HEAD_BYTES];
    ssize_t n = read_head(path, head);

    return n >= 0 && strlen(head) == (size_t)n && head[0] != '\177';
}

/* Returns only on failure. */
static int exec_file(const char *path, char *const argv[])
{
    size_t n = 0;
    const char **sh;

    execve(path, argv, environ);
    if (errno != ENOEXEC || !is_text(path))
        return errno;
    while (argv[n])
        n++;
    sh = xcalloc(n + 2, sizeof(*sh));
    sh[0] = "/bin/sh";
    sh[1] = path;
    for (size_t i = 1; i < n; i++)
        sh[i + 1] = argv[i];
    execve(sh[0], (char *const *)sh, environ);
    free((void *)sh);
    return ENOEXEC;
}

/* Executes a file, or checks whether it could be executed. 0, or errno. */
typedef int file_fn(const char *path, char *const argv[]);

/* Tries each directory of PATH until one has a file of the name. Returns the path of the last file
 * that was tried; *why is the errno if none could be executed. */
static char *in_path(char *const argv[], file_fn *fn, int *why)
{
    const char *dirs = getenv("PATH");
    bool denied = false;

    if (!dirs)
        dirs = PATH_DEFAULT;
    for (;;) {
        size_t len = strcspn(dirs, ":");
        char *path = xasprintf("%.*s%s%s", (int)len, dirs, len ? "/" : "", argv[0]);

        *why = fn(path, argv);
        denied |= *why == EACCES;
        if ((*why != ENOENT && *why != ENOTDIR && *why != EACCES) ||
            (*why == ENOENT && access(path, F_OK) == 0) || !dirs[len]) {
            if (denied && (*why == ENOENT || *why == ENOTDIR))
                *why = EACCES;
            return path;
        }
        free(path);
        dirs += len + 1;
    }
}

/* The interpreter that the "#!" of a file names; "" if it has none. */
static void interpreter_of(const char *path, char head[HEAD_BYTES], const char **name)
{
    *name = "";
    if (read_head(path, head) < 2 || strncmp(head, "#!", 2) != 0)
        return;
    *name = head + 2 + strspn(head + 2, " \t");
    head[strcspn(head, "\r\n")] = '\0';
    head[*name - head + (ptrdiff_t)strcspn(*name, " \t")] = '\0';
}

static int is_program(const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return errno;
    if (!S_ISREG(st.st_mode))
        return EACCES;
    return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0 ? errno : 0;
}

/* Checks the file and the interpreter that it names. A missing loader of libraries is found by the
 * exec only. */
static int check_file(const char *path, char *const argv[])
{
    char head[HEAD_BYTES];
    const char *name;
    int why = is_program(path);

    if (why)
        return why;
    interpreter_of(path, head, &name);
    return *name ? is_program(name) : 0;
}

static char *find_and(file_fn *fn, char *const argv[], int *why, char *what, size_t size)
{
    char head[HEAD_BYTES];
    const char *name;
    char *path;

    if (strchr(argv[0], '/')) {
        path = xstrdup(argv[0]);
        *why = fn(path, argv);
    } else {
        path = in_path(argv, fn, why);
    }
    snprintf(what, size, "exec %s", argv[0]);
    if (*why == ENOENT && access(path, F_OK) == 0) {
        interpreter_of(path, head, &name);
        snprintf(what, size, "exec %s: %s %s", path,
                 *name ? "its interpreter" : "the loader of its libraries", name);
    }
    return path;
}

int spawner_path_exec(char *const argv[], char *what, size_t size)
{
    int why;

    free(find_and(exec_file, argv, &why, what, size));
    return why;
}

int spawner_path_check(char *const argv[], char **path, char *what, size_t size)
{
    int why;

    *path = find_and(check_file, argv, &why, what, size);
    return why;
}
