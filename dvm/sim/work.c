/* SPDX-License-Identifier: BSD-3-Clause */
/* The jobs of a schedule, and which ends of each are right.
 *
 * In: the daemon at which something happens. Out: jobs of random size, duration and options;
 * submitters that depart; signals; ranks that abort; at the end failures by check_fail().
 *
 * For each job the exit codes are kept that are right while no daemon is lost: the expected one,
 * and others that a random event may have caused (permit_end()). Options are drawn only in the
 * generations that have them, in the order of script.h.
 *
 * At rest, jobs that the present members can never hold are ended by SIGKILL
 * (work_end_too_large()). work_check() then demands that no rank runs, no submitter waits, and each
 * job has a right end.
 *
 * Limits: SIM_JOBS_MAX jobs, and OTHER_MAX further exit codes for each. If daemons may have been
 * lost, exit codes are not checked. The code of a job that was not launched is always right, and
 * check_excused() permits ends that a lost link explains. */
#include "dvm/sim/work.h"

#include "dvm/protocol/core/core_inspect.h"
#include "dvm/protocol/wire/exit_code.h"
#include "dvm/sim/rest.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ABORT_CODE 9
#define ABORT_TEXT "by the schedule"
#define KEEPERS_MAX 8
#define OTHER_MAX 8

struct ends { /* of one job */
    int expected;
    int other[OTHER_MAX];
    size_t nother;
    uint32_t ranks;
    char parent[JOB_NSPACE_MAX + 1]; /* job that has spawned it; "": none */
    uint32_t ppr, nhosts; /* its places: so many on each daemon, or on these daemons; 0: any */
};

struct work {
    struct sim *sim;
    unsigned generation;
    struct ends ends[SIM_JOBS_MAX];
};

struct work *work_create(struct sim *s, unsigned generation)
{
    struct work *w = xcalloc(1, sizeof(*w));

    w->sim = s;
    w->generation = generation;
    return w;
}

void work_destroy(struct work *w)
{
    free(w);
}

static bool drawn_since(const struct work *w, unsigned generation)
{
    return w->generation == 0 || w->generation >= generation;
}

static uint64_t roll_dice(struct work *w, uint64_t below)
{
    return sim_random(w->sim, below);
}

static void permit_end(struct work *w, size_t job, int code)
{
    struct ends *e = &w->ends[job];

    if (e->nother < OTHER_MAX)
        e->other[e->nother++] = code;
}

/* --- submission */

/* A job that goes on without its lost ranks; returns its expected exit code. */
static int want_outliving(struct work *w, struct sim_want *x)
{
    x->flags = JOB_RECOVERABLE;
    x->loses = true;
    if (roll_dice(w, 2))
        return x->code;
    x->flags |= JOB_STRICT;
    x->code = 0;
    return x->ranks > SIM_LOST_RANK ? exit_code_of_signal(SIGKILL) : 0;
}

static void want_stop(struct work *w, struct sim_want *x)
{
    x->stop = roll_dice(w, 2) ? JOB_STOP_EXEC : JOB_STOP_INIT;
    x->stop_rank = roll_dice(w, 3) ? JOB_RANK_ALL : (uint32_t)roll_dice(w, x->ranks);
}

/* The hosts may be no members, or have too few slots. */
static void want_place(struct work *w, struct sim_want *x, uint32_t replicas)
{
    switch (roll_dice(w, 4)) {
    case 0:
        x->map_by = JOB_MAP_BY_NODE;
        break;
    case 1:
        x->map_by = JOB_MAP_BY_PPR;
        x->ppr = 1 + (uint32_t)roll_dice(w, 2);
        break;
    default:
        x->nhosts = 1 + (uint32_t)roll_dice(w, replicas < SIM_HOSTS_MAX ? replicas : SIM_HOSTS_MAX);
        for (uint32_t i = 0; i < x->nhosts; i++)
            x->hosts[i] = 1 + ((uint32_t)roll_dice(w, replicas) + i) % replicas;
        break;
    }
    permit_end(w, sim_njobs(w->sim), EXIT_CODE_NOT_LAUNCHED);
}

static void note_place(struct work *w, const struct sim_want *x)
{
    struct ends *e = &w->ends[sim_njobs(w->sim)];

    e->ranks = x->ranks;
    e->ppr = x->ppr;
    for (uint32_t i = 0; i < x->nhosts; i++) {
        bool again = false;

        for (uint32_t k = 0; k < i; k++)
            again |= x->hosts[k] == x->hosts[i];
        e->nhosts += !again;
    }
}

static void want_more(struct work *w, struct sim_want *x, uint32_t replicas)
{
    size_t job = sim_njobs(w->sim);

    if (roll_dice(w, 12) == 0) {
        x->timeout_ms = 1 + roll_dice(w, 2000);
        permit_end(w, job, EXIT_CODE_TIMEOUT);
    }
    if (roll_dice(w, 12) == 0) {
        x->flags |= JOB_NO_WAIT;
        permit_end(w, job, EXIT_CODE_NOT_LAUNCHED);
    }
    if (replicas && roll_dice(w, 8) == 0)
        want_place(w, x, replicas);
    note_place(w, x);
}

static void describe_job(const struct sim_want *x, uint32_t vpid, char text[WORK_TEXT_MAX])
{
    int n = snprintf(text, WORK_TEXT_MAX, "job of %u ranks, %llu ms, code %d, %u files%s%s%s",
                     x->ranks, (unsigned long long)x->run_ms, x->code, x->nfiles,
                     x->full ? " for a full disk" : "",
                     x->absent ? ", in a directory that is not everywhere" : "",
                     x->flags & JOB_STRICT        ? ", strict"
                     : x->flags & JOB_RECOVERABLE ? ", recoverable"
                                                  : "");

    if (x->timeout_ms)
        n += snprintf(text + n, WORK_TEXT_MAX - (size_t)n, ", limit %llu ms",
                      (unsigned long long)x->timeout_ms);
    if (x->flags & JOB_NO_WAIT)
        n += snprintf(text + n, WORK_TEXT_MAX - (size_t)n, ", does not wait");
    if (x->map_by != JOB_MAP_BY_SLOT)
        n += snprintf(text + n, WORK_TEXT_MAX - (size_t)n, ", map policy %d", (int)x->map_by);
    for (uint32_t i = 0; i < x->nhosts; i++)
        n += snprintf(text + n, WORK_TEXT_MAX - (size_t)n, ", host %u", x->hosts[i]);
    snprintf(text + n, WORK_TEXT_MAX - (size_t)n, " at vpid %u", vpid);
}

bool work_submit(struct work *w, uint32_t vpid, uint32_t replicas, char text[WORK_TEXT_MAX])
{
    struct sim_want x = {.ranks = 1 + (uint32_t)roll_dice(w, replicas + 1)};
    int code;

    x.run_ms = roll_dice(w, 4) ? roll_dice(w, 300) : roll_dice(w, 3000);
    x.code = roll_dice(w, 8) ? 0 : 3;
    code = x.code;
    if (!sim_core(w->sim, vpid) || sim_stopped(w->sim, vpid) || sim_njobs(w->sim) >= SIM_JOBS_MAX)
        return false;
    if (drawn_since(w, 5) && roll_dice(w, 3) == 0) {
        x.nfiles = 1 + (uint32_t)roll_dice(w, SIM_FILES_MAX);
        x.full = roll_dice(w, 12) == 0;
    }
    if (drawn_since(w, 6) && roll_dice(w, 4) == 0)
        code = want_outliving(w, &x);
    if (drawn_since(w, 7) && !x.flags && roll_dice(w, 4) == 0)
        want_stop(w, &x);
    x.absent = drawn_since(w, 9) && roll_dice(w, 16) == 0;
    if (drawn_since(w, 12))
        want_more(w, &x, replicas);
    describe_job(&x, vpid, text);
    w->ends[sim_njobs(w->sim)].expected = x.full || x.absent ? EXIT_CODE_NOT_LAUNCHED : code;
    sim_submit_job(w->sim, vpid, &x);
    return true;
}

static bool is_keeper(const struct core *head, uint32_t vpid)
{
    uint32_t vpids[KEEPERS_MAX];
    size_t n = core_inspect_keepers(head, vpids, KEEPERS_MAX);

    while (n > 0 && vpids[n - 1] != vpid)
        n--;
    return n > 0;
}

static uint32_t *list_others(const struct work *w, size_t *n)
{
    uint32_t *list = xcalloc(SIM_NODES_MAX, sizeof(*list));
    const struct core *head = sim_head(w->sim);

    *n = 0;
    for (uint32_t v = 1; head && v < SIM_NODES_MAX; v++) {
        const struct core *c = sim_core(w->sim, v);

        if (c && core_state(c) == CORE_WIRED && !sim_stopped(w->sim, v) && !is_keeper(head, v))
            list[(*n)++] = v;
    }
    return list;
}

bool work_submit_beside_keepers(struct work *w, char text[WORK_TEXT_MAX])
{
    struct sim_want x = {.ranks = 1 + (uint32_t)roll_dice(w, 4),
                         .run_ms = 10000 + roll_dice(w, 40000),
                         .code = roll_dice(w, 2) ? 0 : 3};
    size_t n, job = sim_njobs(w->sim);
    FREE_AUTO uint32_t *vpids = list_others(w, &n);
    uint64_t first = roll_dice(w, n);

    if (n == 0 || job >= SIM_JOBS_MAX)
        return false;
    for (size_t i = 0; i < n && x.nhosts < SIM_HOSTS_MAX; i++)
        x.hosts[x.nhosts++] = vpids[(first + i) % n];
    note_place(w, &x);
    permit_end(w, job, EXIT_CODE_NOT_LAUNCHED);
    w->ends[job].expected = x.code;
    describe_job(&x, x.hosts[0], text);
    sim_submit_job(w->sim, x.hosts[0], &x);
    return true;
}

/* Some ranks wait until the job has started, which may need all slots of the DVM. */
static void want_awaited(struct work *w, struct sim_want *x, uint32_t replicas)
{
    x->awaited = roll_dice(w, 4) > 0;
    if (roll_dice(w, 3) == 0)
        x->ranks = 1 + (uint32_t)roll_dice(w, 2 * (uint64_t)replicas + 1);
}

bool work_spawn(struct work *w, uint32_t vpid, uint32_t replicas, char text[WORK_TEXT_MAX])
{
    struct sim_want x = {.ranks = 1 + (uint32_t)roll_dice(w, 3)};
    size_t job = sim_njobs(w->sim);
    const char *parent;
    uint32_t rank;

    if (!sim_core(w->sim, vpid) || sim_stopped(w->sim, vpid) || job >= SIM_JOBS_MAX ||
        !sim_some_rank(w->sim, vpid, &parent, &rank))
        return false;
    x.run_ms = roll_dice(w, 2000);
    x.code = roll_dice(w, 4) ? 0 : 3;
    snprintf(w->ends[job].parent, sizeof(w->ends[job].parent), "%s", parent);
    w->ends[job].expected = x.code;
    x.parent = w->ends[job].parent;
    x.rank = rank;
    if (drawn_since(w, 22))
        want_awaited(w, &x, replicas);
    note_place(w, &x);
    snprintf(text, WORK_TEXT_MAX,
             "rank %u of job %s at vpid %u spawns %u ranks, %llu ms, code %d%s", rank, parent, vpid,
             x.ranks, (unsigned long long)x.run_ms, x.code, x.awaited ? ", and waits" : "");
    sim_submit_job(w->sim, vpid, &x);
    return true;
}

/* --- what happens to jobs */

/* One of the last jobs, if it runs and was submitted there; else SIM_JOBS_MAX. */
static size_t some_job(struct work *w, uint32_t vpid)
{
    size_t n = sim_njobs(w->sim);

    if (n == 0 || !sim_core(w->sim, vpid) || sim_stopped(w->sim, vpid))
        return SIM_JOBS_MAX;
    n = n - 1 - roll_dice(w, n < 4 ? n : 4);
    return sim_job(w->sim, n)->done || sim_job_home(w->sim, n) != vpid ? SIM_JOBS_MAX : n;
}

bool work_client_gone(struct work *w, uint32_t vpid, char text[WORK_TEXT_MAX])
{
    size_t job = some_job(w, vpid);

    if (job == SIM_JOBS_MAX)
        return false;
    snprintf(text, WORK_TEXT_MAX, "the submitter of job %zu is gone", job);
    sim_job_forget(w->sim, job);
    sim_clock(w->sim, vpid);
    core_client_gone(sim_core(w->sim, vpid), (uint32_t)job);
    sim_drain(w->sim, vpid);
    return true;
}

bool work_signal(struct work *w, uint32_t vpid, char text[WORK_TEXT_MAX])
{
    static const int signals[] = {SIGTERM, SIGINT, SIGKILL, SIGUSR1, SIGSTOP, SIGCONT};
    size_t job = some_job(w, vpid);
    int signum = signals[roll_dice(w, sizeof(signals) / sizeof(*signals))];

    if (job == SIM_JOBS_MAX || !sim_job_waits(w->sim, job))
        return false;
    snprintf(text, WORK_TEXT_MAX, "signal %d for job %zu", signum, job);
    if (signum == SIGTERM || signum == SIGINT || signum == SIGKILL) {
        permit_end(w, job, exit_code_of_signal(signum));
        permit_end(w, job, exit_code_of_signal(SIGTERM)); /* of ranks that are ended in time */
    }
    sim_clock(w->sim, vpid);
    core_client_signal(sim_core(w->sim, vpid), (uint32_t)job, signum);
    sim_drain(w->sim, vpid);
    return true;
}

bool work_abort(struct work *w, uint32_t vpid, char text[WORK_TEXT_MAX])
{
    char name[JOB_NSPACE_MAX + 1];
    const char *nspace;
    uint32_t rank;

    if (!sim_core(w->sim, vpid) || sim_stopped(w->sim, vpid) ||
        !sim_some_rank(w->sim, vpid, &nspace, &rank))
        return false;
    snprintf(name, sizeof(name), "%s", nspace);
    snprintf(text, WORK_TEXT_MAX, "rank %u of job %s aborts", rank, name);
    sim_clock(w->sim, vpid);
    core_abort(sim_core(w->sim, vpid), name, rank, ABORT_CODE, ABORT_TEXT);
    sim_drain(w->sim, vpid);
    return true;
}

/* Its daemons or its policy have too few places, although all members are there. */
static bool is_misplaced(const struct ends *e, uint32_t members, uint32_t slots)
{
    if (e->nhosts)
        return e->ranks > e->nhosts * slots;
    return e->ppr && (e->ppr > slots || e->ranks > e->ppr * members);
}

static void kill_job(struct work *w, size_t job)
{
    uint32_t home = sim_job_home(w->sim, job);

    permit_end(w, job, exit_code_of_signal(SIGKILL)); /* a member may come before the signal */
    sim_clock(w->sim, home);
    core_client_signal(sim_core(w->sim, home), (uint32_t)job, SIGKILL);
    sim_drain(w->sim, home);
}

void work_end_too_large(struct work *w)
{
    const struct members *m = core_inspect_members(sim_head(w->sim));
    uint32_t members = (uint32_t)hwloc_bitmap_weight(m->live) - 1;
    int job = rest_end_too_large(w->sim);

    if (job >= 0)
        permit_end(w, (size_t)job, exit_code_of_signal(SIGKILL));
    for (size_t i = 0; members && i < sim_njobs(w->sim); i++) {
        if (!sim_job(w->sim, i)->done && sim_job_waits(w->sim, i) &&
            is_misplaced(&w->ends[i], members, members_slots(m, members_get(m, 1))))
            kill_job(w, i);
    }
}

/* --- the end */

/* A recoverable job has lost ranks to a shrink: they decide the code, or others do without them. */
static bool is_drained(const struct sim_job *j)
{
    return strstr(j->text, "was ended by a shrink of the DVM") &&
           (j->exit_code == 0 || j->exit_code == exit_code_of_signal(SIGTERM));
}

/* Also if the job's own submitter was told of the end of its daemon instead. */
static bool is_code_of(const struct sim_job *k, const struct ends *e, int code)
{
    return code == k->exit_code || (k->exit_code == EXIT_CODE_LOST && code == e->expected);
}

/* The submitter of a spawned job has ended, perhaps before it knew the name of that job. */
static bool is_right_without_submitter(const struct ends *e, const struct sim_job *k,
                                       const struct sim_job *j)
{
    if (strcmp(e->parent, j->nspace) != 0 || (*k->nspace && !k->gone))
        return false;
    return (j->exit_code == EXIT_CODE_CANCELLED &&
            strstr(j->text, ": its submitter has disconnected")) ||
           (!*k->nspace && j->exit_code == e->expected && strstr(j->text, "spawned job "));
}

/* It ended with its parent, or with the code of a job that it, or one of its own, has spawned. */
static bool is_right_in_family(const struct work *w, const struct ends *e, const struct sim_job *j)
{
    if (*e->parent && j->exit_code == EXIT_CODE_CANCELLED &&
        strstr(j->text, "which has spawned it"))
        return true;
    for (size_t i = 0; i < sim_njobs(w->sim); i++) {
        const struct sim_job *k = sim_job(w->sim, i);
        char named[sizeof("spawned job :") + JOB_NSPACE_MAX];

        snprintf(named, sizeof(named), "spawned job %s:", k->nspace);
        if (*w->ends[i].parent && strstr(j->text, named) &&
            (!k->done || is_code_of(k, &w->ends[i], j->exit_code)))
            return true;
        if (is_right_without_submitter(&w->ends[i], k, j))
            return true;
    }
    return false;
}

/* The submitter of a job that aborts may not know its name yet. */
static bool is_right(const struct work *w, const struct ends *e, const struct sim_job *j)
{
    bool right = j->exit_code == e->expected ||
                 (j->exit_code == ABORT_CODE && strstr(j->text, ABORT_TEXT)) ||
                 is_right_in_family(w, e, j);

    for (size_t i = 0; i < e->nother; i++)
        right |= j->exit_code == e->other[i];
    return right;
}

/* At its map; not since it could not start, and not by the grow that it needs. */
static bool is_refused(const char *text)
{
    static const char how[] = "not launched: ";

    return strncmp(text, how, strlen(how)) == 0 && !strstr(text, "it needs the grow ");
}

void work_check(const struct work *w, struct check *c, bool kills, bool losses)
{
    for (uint32_t v = 0; v < SIM_NODES_MAX; v++) {
        if (sim_core(w->sim, v) && sim_ranks(w->sim, v))
            check_fail(c, "nobody-parked-forever", "vpid %u still runs %zu ranks", v,
                       sim_ranks(w->sim, v));
    }
    for (size_t i = 0; i < sim_njobs(w->sim); i++) {
        const struct sim_job *j = sim_job(w->sim, i);

        if (!j->done && sim_job_waits(w->sim, i))
            check_fail(c, "nobody-parked-forever", "the submitter of job %zu (%s) waits", i,
                       j->nspace);
        if (j->done && j->exit_code == EXIT_CODE_NOT_LAUNCHED && check_fitted(c, j->nspace) &&
            w->ends[i].expected != EXIT_CODE_NOT_LAUNCHED && is_refused(j->text) && !losses)
            check_fail(c, "resize-fails-no-job", "job %zu (%s) fitted when it came, and ends: %s",
                       i, j->nspace, j->text);
        if (j->done && !losses && !is_right(w, &w->ends[i], j) &&
            j->exit_code != EXIT_CODE_NOT_LAUNCHED &&
            !((j->exit_code == EXIT_CODE_CANCELLED || is_drained(j)) && kills) &&
            !check_excused(c, j, w->ends[i].expected == EXIT_CODE_NOT_LAUNCHED))
            check_fail(c, sim_heirs(w->sim) ? "jobs-survive" : "unrelated-loss",
                       "job %zu (%s) ended with %d instead of %d: %s", i, j->nspace, j->exit_code,
                       w->ends[i].expected, j->text);
    }
}
