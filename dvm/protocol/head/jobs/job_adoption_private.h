/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports of jobs that no record has. job_adoption_reports.c keeps the members' reports, messages
 * and questions; job_adoption.c decides which jobs go on. */
#ifndef DVM_HEAD_JOBS_JOB_ADOPTION_PRIVATE_H
#define DVM_HEAD_JOBS_JOB_ADOPTION_PRIVATE_H

#include "dvm/protocol/head/jobs/job_private.h"

#define ADOPTION_BYTES_MAX (64u << 20) /* of all, with what keeps it */
#define ADOPTION_LOOKS_MAX (16u << 20) /* at ranks, for daemons that were lost */

struct reported_job { /* as at least one of its daemons has it */
    struct buf bytes; /* of the launch, without what differs between daemons: its key */
    struct job_launch launch;
    uint64_t number;
    hwloc_bitmap_t nodes; /* that have reported it */
    char **cpus;          /* [launch.nranks] as the rank's daemon binds it; NULL: not bound */
    char *why;            /* it is not adopted; NULL: it is */
    UT_hash_handle hh;
};

struct deferred_msg {
    uint32_t from;
    struct epoch epoch;
    unsigned type;
    struct buf bytes;
    struct deferred_msg *next, *prev;
};

struct client_job { /* of a client at a member */
    struct buf key; /* vpid, client; the name of the job, or its specification */
    uint32_t vpid;
    const struct reported_job *refused;
    UT_hash_handle hh;
};

struct job_adoption {
    uint64_t until_ms;
    hwloc_bitmap_t members; /* vpids that have reported all */
    struct reported_job *jobs;
    struct deferred_msg *deferred;
    struct client_job *asked;   /* by JOB_ASK */
    struct client_job *refused; /* by name and by specification */
    size_t bytes;
    size_t looks;
    bool decided;
};

struct client_key { /* of a job of this client */
    uint32_t vpid, client;
    const char *nspace; /* NULL: it is known by what is to run */
    const struct job_spec *spec;
};

const struct client_job *job_adoption_find_client(const struct client_job *set,
                                                  const struct client_key *k);
/* The first one of that key stays. */
void job_adoption_add_client(struct job_adoption *a, struct client_job **set,
                             const struct client_key *k, const struct reported_job *refused);
void job_adoption_free_deferred(struct job_adoption *a, struct deferred_msg *d);

#endif
