/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by tests of requests for another size, which processes send by their daemons: a DVM, and
 * what each request has been answered. */
#ifndef DVM_CORE_TEST_REQUESTS_H
#define DVM_CORE_TEST_REQUESTS_H

#include "dvm/sim/sim.h"

#define REQUESTS_MAX 32

struct heard { /* of one request, or of one end */
    uint32_t vpid;
    int64_t status;
    enum api_phase phase;
    char id[64], own[64], cause[256], nspace[64];
    uint32_t rank;
};

struct requests {
    struct sim *sim;
    uint64_t req;
    struct heard answers[REQUESTS_MAX]; /* by request */
    unsigned answered[REQUESTS_MAX];
    size_t nends;
    struct heard ends[REQUESTS_MAX];
};

void requests_copy(char *to, const char *from); /* at most 63 characters */
/* The head and members 1..size run; at most `nodes` daemons exist. disk: the head's records are
 * kept there. */
struct requests *requests_boot(uint32_t nodes, uint32_t size);
struct requests *requests_boot_with(uint32_t nodes, uint32_t size, bool disk);
/* Fails the test if a request was not answered once. */
void requests_end(struct requests *w);
struct resize_request requests_extend(uint32_t count, int64_t deadline_s);
struct resize_request requests_release(uint32_t count);
/* By a tool at that daemon, unless the request names another process. Returns its number. */
uint64_t requests_send(struct requests *w, uint32_t vpid, struct resize_request a);
const struct heard *requests_answer(struct requests *w, uint64_t req); /* within 200 ms */
/* The requester in the record of the campaign, without its texts. */
struct api_requester requests_asker(struct requests *w, const char *id, enum api_phase *phase);
void requests_assert_end(struct requests *w, const char *id, enum api_phase phase,
                         enum api_told told);
void requests_put_size(struct requests *w, struct api_size in);

#endif
