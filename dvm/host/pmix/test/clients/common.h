/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the clients of the tests. A client ends at the first wrong result, with a line that
 * describes it. */
#ifndef DVM_PMIX_TEST_CLIENTS_COMMON_H
#define DVM_PMIX_TEST_CLIENTS_COMMON_H

#include <pmix.h>
#include <stdint.h>

void client_start(pmix_proc_t *out, uint32_t *job_size);
int client_stop(void); /* 0 */

void must(pmix_status_t rc, const char *what);
void must_be(pmix_status_t rc, pmix_status_t expected, const char *what);
void must_equal(uint64_t got, uint64_t expected, const char *what);

/* Of this job. */
uint64_t number_of(const pmix_value_t *v); /* UINT64_MAX: it is none */
uint64_t get_number(uint32_t rank, const char *key);
void must_be_text(uint32_t rank, const char *key, const char *expected);
void must_be_true(uint32_t rank, const char *key);

#endif
