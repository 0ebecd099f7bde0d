/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the programs that the tests run as ranks and tools. */
#ifndef DVM_TEST_PROBE_H
#define DVM_TEST_PROBE_H

#include <pmix.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pmix_proc_t me;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* The library's name of a status, which 4.2 spells "NOT-FOUND" or "NOT FOUND" and 5.0
 * "PMIX_ERR_NOT_FOUND", as "NOT FOUND". */
static inline const char *name_of(pmix_status_t rc)
{
    static char name[64];
    const char *text = PMIx_Error_string(rc);

    if (strncmp(text, "PMIX_", 5) == 0)
        text += 5;
    if (strncmp(text, "ERR_", 4) == 0)
        text += 4;
    snprintf(name, sizeof(name), "%s", text);
    for (char *c = name; *c; c++) {
        if (*c == '-' || *c == '_')
            *c = ' ';
    }
    return name;
}

/* Otherwise prints the failed call, and ends the program. */
static inline void must(pmix_status_t rc, const char *what)
{
    if (rc == PMIX_SUCCESS || rc == PMIX_OPERATION_SUCCEEDED)
        return;
    printf("%s: %s\n", what, name_of(rc));
    fflush(stdout);
    _exit(9);
}

static inline void begin(void)
{
    must(PMIx_Init(&me, NULL, 0), "PMIx_Init");
}

static inline int end(void)
{
    must(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
    return 0;
}

/* Asks once, without waiting. */
static inline pmix_status_t look_up(const char *key)
{
    pmix_pdata_t found;
    pmix_status_t rc;

    PMIX_PDATA_CONSTRUCT(&found);
    PMIX_LOAD_KEY(found.key, key);
    rc = PMIx_Lookup(&found, 1, NULL, 0);
    PMIX_PDATA_DESTRUCT(&found);
    return rc;
}

/* Waits until it is not 0; the thread that sets it holds the lock. */
static inline void await(const int *count)
{
    pthread_mutex_lock(&lock);
    while (*count == 0)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

#endif
