/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the tests of whole DVMs: a head with members over virtual wires, and queries about the
 * head's records. */
#ifndef DVM_CORE_TEST_DVM_H
#define DVM_CORE_TEST_DVM_H

#include "dvm/protocol/core/core_inspect.h"
#include "dvm/sim/sim.h"

/* Time in which a daemon that has crashed is declared lost. */
#define DVM_LOSS_MS (API_FAULTS_LINK_GRACE_MS + 3000)

#define DVM_AWAY_MS 700 /* without a head */

struct dvm_shape {
    uint32_t members; /* vpids 1..members may join; the first size bound */
    uint32_t started; /* 1..started join at once */
    uint32_t more;    /* vpids above the size */
    uint32_t radix;   /* 0: 2 */
    uint32_t slots;
    uint64_t delay_ms; /* 0: 3 */
    uint64_t clock_ms; /* struct sim_opts */
    size_t backlog_max;
    bool disk;                     /* the head's records are kept on its disk */
    bool keepers;                  /* by members */
    struct api_faults faults;      /* zeroed: the defaults */
    const struct sim_hooks *hooks; /* NULL: no watcher; copied */
};

/* SIM_TRACE in the environment prints every frame. */
struct sim *dvm_boot(const struct dvm_shape *d);
size_t dvm_in_state(struct sim *s, enum member_state state); /* members, as the head sees them */
/* Fails the test if there are not n of them wired within the time. */
void dvm_wait_wired(struct sim *s, size_t n, uint64_t within_ms);
size_t dvm_events(struct sim *s, enum api_event_type type);
/* Fails the test if the head does not know the campaign. */
enum api_phase dvm_phase(struct sim *s, const char *id);
/* For sim_until(): the campaign of the id *arg is known, and complete. */
bool dvm_complete(struct sim *s, void *arg);
void dvm_wait_complete(struct sim *s, const char *id, uint64_t within_ms);
/* Fails the test if the head refuses it. */
void dvm_put_campaign(struct sim *s, const char *id, const struct api_campaign_request *r);
/* The head's process ends, and another one begins DVM_AWAY_MS later. */
void dvm_replace_head(struct sim *s);
/* The same; frames between the head and vpids 1 and 2 that are under way are lost too. */
void dvm_replace_head_at_once(struct sim *s);
/* Rank 0 of the job, on vpid 2, publishes the key for the job's life; a process that is no rank
 * looks it up. question 0: the request is not repeated. */
enum store_result dvm_publish(struct sim *s, uint64_t question, const char *nspace, const char *key,
                              enum store_persistence persistence);
enum store_result dvm_look_up(struct sim *s, uint64_t question, const char *key);
/* For sim_until(): members 1 to *arg (uint32_t) are wired and know the epoch of the head. */
bool dvm_head_known(struct sim *s, void *arg);
uint32_t dvm_bound(struct sim *s); /* the head's present size in members */
void dvm_put_size(struct sim *s, uint64_t sequence, uint32_t members);
/* For sim_until(): the job with index *arg has ended, as its submitter sees it. */
bool dvm_job_over(struct sim *s, void *arg);
void dvm_wait_job(struct sim *s, size_t job, int code); /* within a minute of simulated time */

#endif
