/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses which environment variables go with a job.
 *
 * In: the environment of the submitter, its words of -x and the working directory; at the daemon a
 * program that was submitted elsewhere, and the daemon's own environment. Out: a list of VAR=VALUE.
 *
 * Variables in `left_out` and those of outer.h stay behind. Variables in `of_host` stay behind if
 * the job runs elsewhere, and the daemon adds its own values. PWD and then the words of -x are put
 * last, and replace earlier entries. environ_complete() gives a program without a working directory
 * the daemon's HOME, unless files come with the job.
 *
 * Invariant: environ_complete() never replaces a variable that is set.
 *
 * Failures: a malformed word of -x, a variable that is not set, or more than JOB_ARGS_MAX variables
 * give an error, and no list. environ_complete() adds none beyond JOB_ARGS_MAX. */
#include "dvm/host/jobspec/environ.h"

#include "base/buf/buf.h"
#include "dvm/host/jobspec/outer.h"
#include "dvm/protocol/wire/job.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Variables that describe the shell, host or parent of prun itself. A word that ends with '*'
 * stands for all names with that beginning. Keep in step with docs/prun/io.md. */
static const char *const left_out[] = {
    "_", "SHLVL", "PWD", "OLDPWD", "HOSTNAME", "XDG_RUNTIME_DIR", "DVM_*", "OMPI_PARENT_PORT", NULL,
};

static bool is_listed(const char *const *list, const char *entry)
{
    size_t len = strcspn(entry, "=");

    for (; *list; list++) {
        size_t n = strlen(*list);

        if ((*list)[n - 1] == '*' ? len >= n - 1 && strncmp(entry, *list, n - 1) == 0
                                  : len == n && strncmp(entry, *list, n) == 0)
            return true;
    }
    return false;
}

/* Variables that name places on a host or its user: the daemon of another host supplies its own. */
static const char *const of_host[] = {
    "PATH",   "HOME",       "USER",         "LOGNAME", "SHELL",      "MAIL",
    "TMPDIR", "TMP",        "TEMP",         "LD_*",    "XDG_*",      "SSH_*",
    "DBUS_*", "KUBECONFIG", "KUBERNETES_*", "DISPLAY", "XAUTHORITY", NULL,
};

struct env_list {
    char **v;
    size_t n;
};

/* `entry` is VAR=VAL; it replaces an earlier one of the same name. */
static void put_entry(struct env_list *l, const char *entry)
{
    size_t len = strcspn(entry, "=") + 1;

    for (size_t i = 0; i < l->n; i++) {
        if (strncmp(l->v[i], entry, len) == 0) {
            free(l->v[i]);
            l->v[i] = xstrdup(entry);
            return;
        }
    }
    l->v[l->n++] = xstrdup(entry);
}

static int export_one(struct env_list *l, char *const *environ_, const char *word, struct err *err)
{
    size_t len = strcspn(word, "=");

    if (!len)
        return err_set(err, "-x '%s': no name of a variable", word);
    if (word[len]) {
        put_entry(l, word);
        return 0;
    }
    for (; *environ_; environ_++) {
        if (strncmp(*environ_, word, len) == 0 && (*environ_)[len] == '=') {
            put_entry(l, *environ_);
            return 0;
        }
    }
    if (strchr(word, ','))
        return err_set(err, "-x %s: one variable for each -x", word);
    return err_set(err, "-x %s: not set in the environment; -x %s=VALUE sets it", word, word);
}

static bool goes_along(const char *entry, bool elsewhere)
{
    if (elsewhere && is_listed(of_host, entry))
        return false;
    return !is_listed(left_out, entry) && !outer_is_identity(entry);
}

static void free_list(struct env_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i]);
    free(l->v);
}

char **environ_for_job(char *const *environ_, const char *const *exports, size_t nexports,
                       const char *wdir, bool elsewhere, struct err *err)
{
    struct env_list l = {0};
    FREE_AUTO char *pwd = xasprintf("PWD=%s", wdir);
    size_t count = 0;

    while (environ_[count])
        count++;
    l.v = xcalloc(count + nexports + 2, sizeof(*l.v));
    /* Unlike put_entry() it does not search: a long environment must not take quadratic time at
     * every start. */
    for (size_t i = 0; i < count; i++) {
        if (strchr(environ_[i], '=') && goes_along(environ_[i], elsewhere))
            l.v[l.n++] = xstrdup(environ_[i]);
    }
    if (wdir[0])
        put_entry(&l, pwd);
    for (size_t i = 0; i < nexports; i++) {
        if (export_one(&l, environ_, exports[i], err) < 0) {
            free_list(&l);
            return NULL;
        }
    }
    if (l.n > JOB_ARGS_MAX) {
        err_set(err, "the environment has %zu variables, a job may have %d", l.n, JOB_ARGS_MAX);
        free_list(&l);
        return NULL;
    }
    return l.v;
}

static bool is_set(char *const *env, const char *entry)
{
    size_t len = strcspn(entry, "=") + 1;

    for (; *env; env++) {
        if (strncmp(*env, entry, len) == 0)
            return true;
    }
    return false;
}

static void append_entry(struct job_app *a, size_t *n, char *entry)
{
    a->env = xrealloc((void *)a->env, (*n + 2) * sizeof(*a->env));
    a->env[(*n)++] = entry;
    a->env[*n] = NULL;
}

static size_t index_of(char *const *env, const char *name)
{
    size_t len = strlen(name);
    size_t i = 0;

    while (env[i] && (strncmp(env[i], name, len) != 0 || env[i][len] != '='))
        i++;
    return i;
}

void environ_drop(struct job_app *a, const char *name)
{
    size_t i;

    while (a->env[i = index_of(a->env, name)]) {
        free(a->env[i]);
        for (; a->env[i]; i++)
            a->env[i] = a->env[i + 1];
    }
}

void environ_put(struct job_app *a, const char *name, const char *entry)
{
    size_t n = 0;

    environ_drop(a, name);
    while (a->env[n])
        n++;
    if (n < JOB_ARGS_MAX)
        append_entry(a, &n, xstrdup(entry));
}

void environ_complete(struct job_app *a, char *const *environ_, bool has_files)
{
    const char *home = "/";
    size_t n = 0;

    while (a->env[n])
        n++;
    for (; *environ_; environ_++) {
        if (strncmp(*environ_, "HOME=/", 6) == 0)
            home = *environ_ + 5;
        if (n < JOB_ARGS_MAX && is_listed(of_host, *environ_) && !is_listed(left_out, *environ_) &&
            !is_set(a->env, *environ_))
            append_entry(a, &n, xstrdup(*environ_));
    }
    if (a->cwd[0] || has_files)
        return;
    free(a->cwd);
    a->cwd = xstrdup(home);
    if (n < JOB_ARGS_MAX && !is_set(a->env, "PWD="))
        append_entry(a, &n, xasprintf("PWD=%s", home));
}
