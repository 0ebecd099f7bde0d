/* SPDX-License-Identifier: BSD-3-Clause */
/* A random schedule from a seed: jobs, campaigns and faults; then rest, at which all invariants
 * must hold. */
#ifndef DVM_SIM_SCRIPT_H
#define DVM_SIM_SCRIPT_H

#include "dvm/sim/heir.h"
#include "dvm/sim/outage.h"

#include <stdbool.h>
#include <stdint.h>

struct script_opts {
    uint64_t seed;
    uint32_t nodes; /* head included; 0: by the seed, 3..25 */
    bool trace;     /* print what happens */
    bool keepers;   /* some seeds have a head with keepers (heir.h) */
    /* Random actions were added over time, and a seed is only meaningful for its generation: 1:
     * shrinks and sizes, 2: grow campaigns too, 3: collectives, 4: faults while a grow wires, 5:
     * jobs with files, 6: jobs that go on without lost ranks, 7: jobs that stop for a debugger,
     * 8: requests of applications, 9: jobs that cannot start on one daemon, 10: limits other than
     * the defaults, 11: several links, 12: time limits, --no-wait, hosts, map policies,
     * signals and aborts, 13: members that lie (lie.h), 14: outages
     * (outage.h) and spawned jobs, 15: several addresses, interfaces that fail, late greetings,
     * 16: heads with a disk (heir.h), 17: volumes beside keepers (volume.h), 18: members that call
     * in the name of others (lie.h), 19: more lies, clocks that drift,
     * 20: former heads beside heirs that have their records from keepers, 21: heads that are
     * replaced while they are cut off, 22: ranks that wait for jobs that they spawn; 0: the
     * newest. */
    unsigned generation;
};

enum script_phase {
    PHASE_NONE,
    PHASE_DRAINING,
    PHASE_REMOVING,
    PHASE_GROWING,   /* joiners outside any campaign */
    PHASE_GATHERING, /* a grow campaign waits for its daemons, */
    PHASE_WIRING,    /* wires them, or removes them again */
    PHASES
};
enum script_fault {
    FAULT_NONE,
    FAULT_BREAK,
    FAULT_HALF,
    FAULT_CRASH,
    FAULT_VANISH,
    FAULT_STOP,
    FAULT_PARTITION,
    FAULT_RESTART,
    FAULT_HEAD,
    FAULT_LATE,
    FAULT_LINK, /* one of the links between two daemons */
    FAULTS
};
enum script_jobs { JOBS_NONE, JOBS_HELD, JOBS_QUEUED, JOBS_RUNNING, JOBS_KINDS };

struct script_result {
    char name[32]; /* the invariant that failed, or "" */
    char text[512];
    uint64_t at_ms;
    uint32_t nodes; /* head included */
    uint64_t jobs, campaigns, asks, faults;
    uint64_t held_map, held_launch, remapped; /* jobs */
    uint64_t outages[OUTAGES], spawned, heirs[HEIR_KINDS];
    uint64_t volumes[VOLUME_KINDS]; /* faults of a volume */
    uint64_t taken;                 /* heads that began with the records of a volume */
    uint64_t matrix[PHASES][FAULTS][JOBS_KINDS];
};

struct core;
struct script_seen {
    enum script_phase phase;
    bool jobs[JOBS_KINDS];
};
struct script_seen script_look(const struct core *head);               /* position in the matrix */
void script_run(const struct script_opts *o, struct script_result *r); /* adds to the counts */
/* Of this process of the head; NULL: it does not run. */
void script_add_stats(struct script_result *to, const struct core *head);
void script_add(struct script_result *to, const struct script_result *r); /* counts only */
/* Why a cell of the matrix cannot be met; NULL: it can. */
const char *script_impossible(enum script_phase p, enum script_fault f, enum script_jobs j);
/* The reason why faults seldom come in this phase, so that single cells may be empty (but not those
 * of all faults); NULL: each must come. */
const char *script_rare(enum script_phase p, enum script_jobs j);
const char *script_phase_name(enum script_phase p);
const char *script_fault_name(enum script_fault f);
const char *script_jobs_name(enum script_jobs j);

#endif
