/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests of one service: stand-ins for the parts of the daemon that it uses. They record their
 * calls; the test answers. */
#ifndef DVM_SERVICES_TEST_FAKE_H
#define DVM_SERVICES_TEST_FAKE_H

#include "dvm/host/app/app.h"
#include "dvm/host/env/host_ask.h"
#include "dvm/host/env/host_env.h"
#include "dvm/host/env/host_jobs.h"
#include "dvm/protocol/wire/job.h"

#define FAKE_QUESTIONS 8

struct fake_question {
    uint32_t vpid, kind;
    host_answer answered; /* NULL: it is for a request */
    void *asker;
    pmix_req req;
};

struct fake {
    struct host_env env;
    struct host_ask ask;
    struct host_jobs jobs;
    struct job_launch *known; /* the one job that is known */
    bool learnt;              /* result of learn() */
    int depth;                /* enters without a drain */
    size_t n;
    struct fake_question questions[FAKE_QUESTIONS];
    struct { /* answers to other daemons */
        unsigned n;
        uint32_t vpid;
        uint64_t question;
        int status;
    } replied;
    struct { /* answers to the PMIx library */
        unsigned n;
        pmix_req req;
        int status;
    } answered;
};

/* One job, a.1, with ranks 0 and 1 at vpid 3, and rank 2 at vpid 4. */
void fake_open(struct fake *f);
void fake_close(struct fake *f);
struct pmix_srv *fake_pmix(struct fake *f);

#endif
