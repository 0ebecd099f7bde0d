/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the daemon's local socket. */
#include "dvm/cli/find.h"

#include "base/buf/buf.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *env_or_null(const char *name)
{
    const char *v = getenv(name);

    return v && v[0] ? v : NULL;
}

static char *user_dir(void)
{
    const char *base = env_or_null("XDG_RUNTIME_DIR");

    return xasprintf("%s/dvm-%u", base ? base : "/tmp", (unsigned)geteuid());
}

static bool exists(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

static char *dir_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return xstrdup(".");
    if (slash == path)
        return xstrdup("/");
    return xasprintf("%.*s", (int)(slash - path), path);
}

void cli_find(const char *dvm, struct cli_where *out)
{
    const char *said = dvm ? dvm : env_or_null("DVM_SESSION_DIR");
    struct stat st;

    *out = (struct cli_where){.named = said != NULL};
    if (said && stat(said, &st) == 0 && S_ISSOCK(st.st_mode)) {
        out->dir = dir_of(said);
        out->path = xstrdup(said);
        return;
    }
    if (said)
        out->dir = xstrdup(said);
    else if (exists(CLI_POD_DIR "/" CLI_SOCKET_NAME))
        out->dir = xstrdup(CLI_POD_DIR);
    else
        out->dir = user_dir();
    out->path = xasprintf("%s/%s", out->dir, CLI_SOCKET_NAME);
}

void cli_where_free(struct cli_where *w)
{
    free(w->dir);
    free(w->path);
    *w = (struct cli_where){0};
}

char *cli_new_dir(const char *dvm)
{
    const char *said = dvm ? dvm : env_or_null("DVM_SESSION_DIR");

    return said ? xstrdup(said) : user_dir();
}
