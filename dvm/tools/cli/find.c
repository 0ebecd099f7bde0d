/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the daemon: its local socket, or its host and the user's credentials. */
#include "dvm/tools/cli/find.h"
#include "base/conf/number.h"

#include "base/buf/buf.h"
#include "dvm/tools/cli/usage.h"

#include <stdio.h>
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

static bool path_exists(const char *path)
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

static void find_socket(const char *dvm, struct cli_where *out)
{
    const char *said = dvm ? dvm : env_or_null("DVM_SESSION_DIR");
    struct stat st;

    out->named = said != NULL;
    if (said && stat(said, &st) == 0 && S_ISSOCK(st.st_mode)) {
        out->dir = dir_of(said);
        out->path = xstrdup(said);
        return;
    }
    if (said)
        out->dir = xstrdup(said);
    else if (path_exists(CLI_POD_DIR "/" CLI_SOCKET_NAME))
        out->dir = xstrdup(CLI_POD_DIR);
    else
        out->dir = user_dir();
    out->path = xasprintf("%s/%s", out->dir, CLI_SOCKET_NAME);
}

/* HOST, HOST:PORT, ADDRESS, [ADDRESS] or [ADDRESS]:PORT. */
static int split_host(const char *text, struct cli_where *out, struct err *err)
{
    bool bracket = text[0] == '[';
    const char *host = text + bracket;
    const char *end = strchr(host, bracket ? ']' : ':');
    const char *port = NULL;
    uint64_t n = CLI_JOIN_PORT;

    if (bracket && end && end[1])
        port = end + 1;
    else if (!bracket && end && !strchr(end + 1, ':'))
        port = end;
    if (!bracket && !port)
        end = host + strlen(host);
    if (!end || end == host || (port && *port != ':'))
        return err_set(err, "--dvm: '%s' is no HOST[:PORT]", text);
    if (port && number_parse(port + 1, "--dvm: the port", 1, UINT16_MAX, &n, err) < 0)
        return -1;
    out->host = xasprintf("%.*s", (int)(end - host), host);
    snprintf(out->port, sizeof(out->port), "%u", (unsigned)n);
    return 0;
}

static int find_host(const char *dvm, const char *tls_dir, struct cli_where *out, struct err *err)
{
    const char *dir = tls_dir ? tls_dir : env_or_null("DVM_TLS_DIR");

    if (!dir)
        return err_set(
            err,
            "--dvm: there is no path '%s'; to reach a host of that name, give --tls-dir or set "
            "DVM_TLS_DIR",
            dvm);
    if (split_host(dvm, out, err) < 0)
        return -1;
    out->named = true;
    out->path = xstrdup(dvm);
    out->tls_dir = xstrdup(dir);
    return 0;
}

int cli_find(const char *dvm, const char *tls_dir, struct cli_where *out, struct err *err)
{
    *out = (struct cli_where){0};
    if (dvm && dvm[0] && !strchr(dvm, '/') && !path_exists(dvm))
        return find_host(dvm, tls_dir, out, err);
    if (tls_dir)
        return err_set(err, "--tls-dir is for a daemon at a host: name that with --dvm");
    find_socket(dvm, out);
    return 0;
}

void cli_where_free(struct cli_where *w)
{
    free(w->dir);
    free(w->path);
    free(w->host);
    free(w->tls_dir);
    free(w->address);
    free(w->away);
    *w = (struct cli_where){0};
}

char *cli_new_dir(const char *dvm)
{
    const char *said = dvm ? dvm : env_or_null("DVM_SESSION_DIR");

    return said ? xstrdup(said) : user_dir();
}
