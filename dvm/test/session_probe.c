/* SPDX-License-Identifier: BSD-3-Clause */
/* A PMIx client or tool for tests of the local DVM: session_probe URI|- SESSION [DIRECTIVE[=N]…]
 * asks for session control by the way of session_shim.c; "stub" instead of a session asks the
 * library. */
#include <pmix.h>
#include <pmix_tool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS_MAX 4

static pmix_proc_t me;

static void must(pmix_status_t rc, const char *what)
{
    if (rc == PMIX_SUCCESS || rc == PMIX_OPERATION_SUCCEEDED)
        return;
    printf("%s: %s\n", what, PMIx_Error_string(rc));
    fflush(stdout);
    _exit(9);
}

static void join(const char *uri)
{
    pmix_info_t info;

    PMIX_INFO_LOAD(&info, PMIX_SERVER_URI, uri, PMIX_STRING);
    if (strcmp(uri, "-") == 0)
        must(PMIx_Init(&me, NULL, 0), "PMIx_Init");
    else
        must(PMIx_tool_init(&me, &info, 1), "PMIx_tool_init");
}

static void leave(const char *uri)
{
    if (strcmp(uri, "-") == 0)
        PMIx_Finalize(NULL, 0);
    else
        PMIx_tool_finalize();
}

/* "pause", "sig=10": a key below pmix.ssn. */
static size_t directives(char **words, pmix_info_t *info)
{
    size_t n = 0;

    for (; *words && n < WORDS_MAX; words++) {
        const char *value = strchr(*words, '=');
        int number = value ? (int)strtol(value + 1, NULL, 10) : 0;
        char key[64];

        snprintf(key, sizeof(key), "pmix.ssn.%.*s", (int)strcspn(*words, "="), *words);
        if (value)
            PMIX_INFO_LOAD(&info[n++], key, &number, PMIX_INT);
        else
            PMIX_INFO_LOAD(&info[n++], key, NULL, PMIX_BOOL);
    }
    return n;
}

static pmix_status_t ask(const char *session, char **words)
{
    pmix_info_t info[WORDS_MAX + 1];
    size_t n = directives(words, info + 1);
    uint32_t id = (uint32_t)strtoul(session, NULL, 10);
    pmix_info_t *results = NULL;
    size_t nresults = 0;

#ifdef PMIX_SESSION_CTRL_ID
    if (strcmp(session, "stub") == 0)
        return PMIx_Session_control(0, info + 1, n, NULL, NULL);
#endif
    PMIX_INFO_LOAD(&info[0], "test.session", &id, PMIX_UINT32);
    return PMIx_Job_control(NULL, 0, info, n + 1, &results, &nresults);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    join(argv[1]);
    printf("session: %s\n", PMIx_Error_string(ask(argv[2], argv + 3)));
    fflush(stdout);
    leave(argv[1]);
    return 0;
}
