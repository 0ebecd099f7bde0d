/* SPDX-License-Identifier: BSD-3-Clause */
/* Clients of test_spawn.c: spawn requests. */
#include "base/buf/buf.h"
#include "dvm/host/pmix/test/clients/main.h"

#include <pmix.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pmix_proc_t me;

/* Ends the client with a line that describes the failure. */
static void must_be(pmix_status_t rc, pmix_status_t expected, const char *what)
{
    if (rc == expected)
        return;
    fprintf(stderr, "%s: %s, expected %s\n", what, PMIx_Error_string(rc),
            PMIx_Error_string(expected));
    _exit(1);
}

static void must(pmix_status_t rc, const char *what)
{
    must_be(rc, PMIX_SUCCESS, what);
}

/* The policy for a failed rank: values that contradict each other or that we do not support. */
static void spawn_policies(const pmix_app_t *app)
{
    static const struct {
        const char *words; /* of PMIX_RUNTIME_OPTIONS */
        const char *key;
        int value;
        pmix_status_t rc;
    } rows[] = {{"recoverable", PMIX_ABORT_NON_ZERO_TERM, 1, PMIX_ERR_BAD_PARAM},
                {"abort", PMIX_JOB_RECOVERABLE, 1, PMIX_ERR_BAD_PARAM},
                {"strict", PMIX_JOB_RECOVERABLE, 0, PMIX_ERR_BAD_PARAM},
                {"no-such-word", PMIX_JOB_RECOVERABLE, 1, PMIX_ERR_NOT_SUPPORTED},
                {"recoverable", PMIX_JOB_CONTINUOUS, 1, PMIX_ERR_NOT_SUPPORTED},
                {"abort", PMIX_ABORT_NON_ZERO_TERM, 0, PMIX_ERR_NOT_SUPPORTED}};
    pmix_nspace_t child;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        bool value = rows[i].value;
        pmix_info_t info[2];

        PMIX_INFO_LOAD(&info[0], PMIX_RUNTIME_OPTIONS, rows[i].words, PMIX_STRING);
        PMIX_INFO_LOAD(&info[1], rows[i].key, &value, PMIX_BOOL);
        must_be(PMIx_Spawn(info, 2, app, 1, child), rows[i].rc, rows[i].words);
        PMIX_INFO_DESTRUCT(&info[0]);
    }
}

/* Hosts and places of the ranks: values that a job as a whole cannot have, or that no DVM can give.
 */
static void spawn_hosts(const pmix_app_t *one)
{
    static const struct {
        const char *key, *first, *second; /* of the two programs; NULL: nothing */
        pmix_status_t rc;
    } rows[] = {{PMIX_ADD_HOST, "node1", "node1", PMIX_ERR_NOT_SUPPORTED},
                {PMIX_ADD_HOSTFILE, "/f", "/f", PMIX_ERR_NOT_SUPPORTED},
                {PMIX_HOSTFILE, "/f", "/f", PMIX_ERR_NOT_SUPPORTED},
                {PMIX_HOST, "node1", "node2", PMIX_ERR_NOT_SUPPORTED},
                {PMIX_HOST, "node1", NULL, PMIX_ERR_NOT_SUPPORTED},
                {PMIX_HOST, NULL, "node1", PMIX_ERR_NOT_SUPPORTED},
                {PMIX_MAPBY, "node", "slot", PMIX_ERR_NOT_SUPPORTED},
                {PMIX_MAPBY, "no-such-word", "no-such-word", PMIX_ERR_NOT_SUPPORTED},
                {PMIX_RANKBY, "node", NULL, PMIX_ERR_NOT_SUPPORTED},
                {PMIX_BINDTO, NULL, "core", PMIX_ERR_NOT_SUPPORTED}};
    pmix_app_t apps[] = {*one, *one};
    pmix_nspace_t child;
    pmix_info_t *info;
    int number = 3;

    PMIX_INFO_CREATE(info, 1);
    PMIX_INFO_LOAD(info, PMIX_HOST, &number, PMIX_INT);
    must_be(PMIx_Spawn(info, 1, one, 1, child), PMIX_ERR_BAD_PARAM, "a number for hosts");
    PMIX_INFO_FREE(info, 1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (size_t k = 0; k < 2; k++) {
            const char *list = k ? rows[i].second : rows[i].first;

            apps[k].ninfo = list != NULL;
            apps[k].info = NULL;
            if (list)
                PMIX_INFO_CREATE(apps[k].info, 1);
            if (list)
                PMIX_INFO_LOAD(apps[k].info, rows[i].key, list, PMIX_STRING);
        }
        must_be(PMIx_Spawn(NULL, 0, apps, 2, child), rows[i].rc, rows[i].key);
        for (size_t k = 0; k < 2; k++)
            PMIX_INFO_FREE(apps[k].info, apps[k].ninfo);
    }
}

static int client_spawn(int argc, char **argv)
{
    char *child_argv[] = {"prog", "-x", NULL};
    char *child_env[] = {"COLOUR=blue", NULL};
    pmix_nspace_t child;
    pmix_app_t *app;
    int timeout_s = 9;
    uint32_t restarts = 2;
    pmix_info_t info[6];

    must(PMIx_Init(&me, NULL, 0), "PMIx_Init");
    PMIX_INFO_LOAD(&info[0], PMIX_MAPBY, "ppr:2:board", PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_RANKBY, "span", PMIX_STRING);
    PMIX_INFO_LOAD(&info[2], PMIX_BINDTO, "core", PMIX_STRING);
    PMIX_APP_CREATE(app, 1);
    app->cmd = strdup("/bin/prog");
    app->argv = child_argv;
    app->env = child_env;
    app->maxprocs = 3;
    PMIX_INFO_CREATE(app->info, 2);
    app->ninfo = 1;
    PMIX_INFO_LOAD(&app->info[0], PMIX_WDIR, "/var", PMIX_STRING);
    must_be(PMIx_Spawn(info, 3, app, 1, child), PMIX_ERR_NOT_SUPPORTED, "unknown map-by");
    PMIX_INFO_DESTRUCT(&info[0]);
    spawn_policies(app);
    PMIX_INFO_LOAD(&info[0], PMIX_MAX_RESTARTS, &restarts, PMIX_UINT32);
    must_be(PMIx_Spawn(info, 1, app, 1, child), PMIX_ERR_NOT_SUPPORTED, "restarts");
    spawn_hosts(app);
    PMIX_INFO_LOAD(&info[0], PMIX_MAPBY, "ppr:2:numa", PMIX_STRING);
    PMIX_INFO_LOAD(&info[3], PMIX_RUNTIME_OPTIONS, "recoverable,strict", PMIX_STRING);
    PMIX_INFO_LOAD(&info[4], PMIX_JOB_TIMEOUT, &timeout_s, PMIX_INT);
    PMIX_INFO_LOAD(&info[5], PMIX_HOST, "x-1,3", PMIX_STRING);
    PMIX_INFO_LOAD(&app->info[1], PMIX_RANKBY, "span", PMIX_STRING);
    app->ninfo = 2;
    PMIX_INFO_LOAD(&info[1], PMIX_RANKBY, "node", PMIX_STRING);
    must(PMIx_Spawn(info, 6, app, 1, child), "spawn"); /* the program's own word counts */
    if (strcmp(child, "7.2") != 0)
        must(PMIX_ERROR, child);
    app->argv = NULL;
    app->env = NULL;
    PMIX_APP_FREE(app, 1);
    must(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
    return 0;
}

static const struct client clients[] = {{"spawn", client_spawn}};

int main(int argc, char **argv)
{
    return client_main(argc, argv, clients, sizeof(clients) / sizeof(clients[0]));
}
