/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the clients of the tests. */
#include "dvm/host/pmix/test/clients/common.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pmix_proc_t me;

void must(pmix_status_t rc, const char *what)
{
    if (rc == PMIX_SUCCESS || rc == PMIX_OPERATION_SUCCEEDED)
        return;
    fprintf(stderr, "rank %u: %s: %s\n", me.rank, what, PMIx_Error_string(rc));
    _exit(1);
}

void must_be(pmix_status_t rc, pmix_status_t expected, const char *what)
{
    if (rc == expected)
        return;
    fprintf(stderr, "rank %u: %s: %s, expected %s\n", me.rank, what, PMIx_Error_string(rc),
            PMIx_Error_string(expected));
    _exit(1);
}

void must_equal(uint64_t got, uint64_t expected, const char *what)
{
    if (got == expected)
        return;
    fprintf(stderr, "rank %u: %s is %llu, expected %llu\n", me.rank, what, (unsigned long long)got,
            (unsigned long long)expected);
    _exit(1);
}

uint64_t number_of(const pmix_value_t *v)
{
    switch (v->type) {
    case PMIX_UINT16:
        return v->data.uint16;
    case PMIX_UINT32:
        return v->data.uint32;
    case PMIX_UINT64:
        return v->data.uint64;
    case PMIX_PROC_RANK:
        return v->data.rank;
    default:
        return UINT64_MAX;
    }
}

uint64_t get_number(uint32_t rank, const char *key)
{
    pmix_value_t *v = NULL;
    pmix_proc_t proc;
    uint64_t n;

    PMIX_LOAD_PROCID(&proc, me.nspace, rank);
    must(PMIx_Get(&proc, key, NULL, 0, &v), key);
    n = number_of(v);
    PMIX_VALUE_RELEASE(v);
    return n;
}

void must_be_true(uint32_t rank, const char *key)
{
    pmix_value_t *v = NULL;
    pmix_proc_t proc;

    PMIX_LOAD_PROCID(&proc, me.nspace, rank);
    must(PMIx_Get(&proc, key, NULL, 0, &v), key);
    must_equal(v->type == PMIX_BOOL && v->data.flag, 1, key);
    PMIX_VALUE_RELEASE(v);
}

void must_be_text(uint32_t rank, const char *key, const char *expected)
{
    pmix_value_t *v = NULL;
    pmix_proc_t proc;

    PMIX_LOAD_PROCID(&proc, me.nspace, rank);
    must(PMIx_Get(&proc, key, NULL, 0, &v), key);
    if (v->type != PMIX_STRING || strcmp(v->data.string, expected) != 0) {
        fprintf(stderr, "rank %u: %s of %u is '%s', expected '%s'\n", me.rank, key, rank,
                v->type == PMIX_STRING ? v->data.string : "(no string)", expected);
        _exit(1);
    }
    PMIX_VALUE_RELEASE(v);
}

void client_start(pmix_proc_t *out, uint32_t *job_size)
{
    must(PMIx_Init(&me, NULL, 0), "PMIx_Init");
    *out = me;
    *job_size = (uint32_t)get_number(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE);
}

int client_stop(void)
{
    must(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
    return 0;
}
