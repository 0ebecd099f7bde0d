/* SPDX-License-Identifier: BSD-3-Clause */
/* N daemons in one process: virtual time, virtual connections with delay, crashes and stops. For
 * tests only. */
#ifndef DVM_SIM_SIM_H
#define DVM_SIM_SIM_H

#include "dvm/protocol/core/core.h"
#include "dvm/protocol/files/files.h"
#include "dvm/protocol/wire/frame.h"

#define SIM_NODES_MAX 2048
#define SIM_FORMER SIM_NODES_MAX /* as a vpid: a former head that runs beside its heir */
#define SIM_SLOTS_MAX 8
#define SIM_JOBS_MAX 4096

#define SIM_SLOW_FACTOR 10     /* of some connections of an uneven network */
#define SIM_SLOWEST_FACTOR 100 /* of those that a fault slows down */
/* The times of random schedules: the absence of the head is short, so that many of them pass it. */
#define SIM_HEAD_ABSENCE_MS 30000
#define SIM_FAULTS                                                                                 \
    {                                                                                              \
        API_FAULTS_LINK_GRACE_MS, API_FAULTS_SILENCE_MS, SIM_HEAD_ABSENCE_MS                       \
    }

struct sim;

struct sim_opts {
    uint32_t nodes; /* vpids 0..nodes-1 exist; members are started by sim_start() */
    uint32_t radix;
    uint32_t slots; /* per member, up to SIM_SLOTS_MAX, each a CPU of its own; the head has none */
    uint32_t size;  /* first size bound */
    uint64_t seed;
    uint64_t delay_ms; /* each frame takes 1..delay_ms; order per connection is kept */
    size_t backlog_max;
    struct api_faults faults; /* all 0: API_FAULTS_DEFAULTS */
    uint32_t
        addresses;  /* of each daemon, each in a network of its own; 0: 1, at most OUT_WAYS_MAX */
    uint32_t links; /* of a member to its parent; 0: one by each address */
    /* Some connections are ten times slower than others. With an odd seed, frames of some 256 bytes
     * go as transfers, and of twice that by RNDV. */
    bool uneven;
    uint64_t clock_ms; /* what the clock of the first head is ahead of sim_now(); 0: drawn */
    bool trace;
    bool disk;    /* the head's records are on a disk that outlives its process */
    bool keepers; /* members keep the head's records; with a disk too: they count before it */
};

/* The watcher: sees every input before and after, each step of its processing, and every action
 * before it is carried out. */
struct sim_hooks {
    void *arg;
    /* arrives */
    void (*frame)(void *arg, uint32_t vpid, uint64_t conn, const uint8_t *data, size_t len);
    void (*action)(void *arg, uint32_t vpid, const struct out_act *act);
    void (*step)(void *arg, uint32_t vpid);              /* core_inspect_watch() */
    void (*after)(void *arg, uint32_t vpid);             /* the outbox is empty */
    void (*aside)(void *arg, const struct core *former); /* vpid 0 is SIM_FORMER from now on */
};

struct sim_job { /* a job as its submitter sees it */
    bool accepted, done;
    char nspace[64];
    int exit_code;
    char text[1024];
    enum job_state state;
    bool gone;          /* the submitter */
    uint32_t home;      /* where it was submitted, */
    uint64_t home_life; /* in which epoch */
    struct epoch home_epoch;
    uint32_t nfiles; /* its submitter reads them as room is granted */
    uint64_t room, read;
    uint64_t reads_at; /* UINT64_MAX: not now */
    struct piece_order order;
};

struct sim *sim_create(const struct sim_opts *o);
void sim_configure(struct sim *s, const struct sim_opts *o); /* before the first start */
void sim_destroy(struct sim *s);
void sim_watch(struct sim *s, const struct sim_hooks *h); /* copied */
void sim_start(struct sim *s, uint32_t vpid);             /* a new process of the daemon */
void sim_lose_disk(struct sim *s);                        /* the head's: it is empty */
/* The head's process ends after so many more groups (1 at least) of its records, and then so many
 * actions. */
void sim_end_midway(struct sim *s, uint64_t groups, uint64_t actions);
bool sim_midway_due(const struct sim *s);
/* The head, or NULL: there is no process, or it asks for records. */
struct core *sim_head(const struct sim *s);
bool sim_has_keepers(const struct sim *s);
void sim_kept_step(struct sim *s); /* time has passed */
/* When this head began, it had the answer of a keeper that was in sync at the last one's end, or it
 * has taken a volume with all records. */
bool sim_is_kept(const struct sim *s);
/* The last head had records that this one cannot have: its keepers had not acknowledged them. */
bool sim_knew_more(const struct sim *s);
/* A keeper has answered this head on that connection, and was in sync at the last one's end. */
bool sim_in_sync(const struct sim *s, uint64_t conn);
/* A disk beside keepers is a volume. It has all records until it is lost, damaged or stalled, and
 * again from the next snapshot on. */
bool sim_has_volume(const struct sim *s);
void sim_damage_disk(struct sim *s);
void sim_stall_disk(struct sim *s, bool stalled); /* nothing is written, or all is again */
bool sim_disk_stalled(const struct sim *s);
uint64_t sim_volumes_taken(const struct sim *s); /* how many heads began with its records */
bool sim_volume_taken(const struct sim *s);      /* this head has begun with the volume's records */
bool sim_keeper_has_all(const struct sim *s);    /* and has answered it */
/* So had the volume when this head started, and their incarnation goes on. */
bool sim_volume_has_all(const struct sim *s);
/* A member that has called this head knows a later epoch than its own, or a later table than that
 * version. */
bool sim_caller_ahead(const struct sim *s, struct epoch head, uint64_t version, uint32_t *vpid);
/* Members that have called it, and those of other incarnations. */
size_t sim_callers(const struct sim *s, uint64_t inc, size_t *others);
void sim_end_keepers(struct sim *s, bool all); /* the head ends with one of its keepers, or all */
uint64_t sim_heirs(const struct sim *s);       /* how many processes of the head had records */
void sim_midway_not(struct sim *s);
/* The head becomes SIM_FORMER, with its connections; vpid 0 may be started. One that is stopped
 * ends at the next record that it cannot write, another one goes on. */
bool sim_set_aside(struct sim *s);
void sim_end_former(struct sim *s);
bool sim_from_former(struct sim *s, uint32_t vpid, uint64_t conn); /* the other end */
void sim_crash(struct sim *s, uint32_t vpid); /* its connections break at once */
void sim_stop(struct sim *s, uint32_t vpid,
              bool stopped);                           /* neither reads nor closes, or resumes */
void sim_break(struct sim *s, uint32_t a, uint32_t b); /* every connection between the two breaks */
/* Only `a` sees the close at once. Frames under way to `b` still arrive, and `b` sees the close
 * late. */
void sim_break_half(struct sim *s, uint32_t a, uint32_t b, uint64_t late_ms);
/* One connection of a pair, drawn at random, fails. False: there is none. */
enum sim_link_fault {
    SIM_LINK_BREAK, /* both sides see it closed */
    SIM_LINK_HALF,  /* one side sees it closed at once, the other one late */
    SIM_LINK_MUTE,  /* from now on nothing passes in one direction, not even its end */
    SIM_LINK_SLOW,  /* its frames take as long as those of very slow networks, */
    SIM_LINK_EVEN,  /* and as long as those of others again */
    SIM_LINK_FAULTS
};
bool sim_link_fails(struct sim *s, enum sim_link_fault how, uint32_t *a, uint32_t *b);
void sim_links_even(struct sim *s);            /* all links are as fast as each other from now on */
void sim_vanish(struct sim *s, uint32_t vpid); /* like a host without power: no peer sees a close */
/* From now on no frame passes between daemons of different groups, until sim_heal(). */
void sim_partition(struct sim *s, uint32_t vpid, uint8_t group);
bool sim_is_cut(const struct sim *s, uint32_t vpid); /* it is not in the first group */
void sim_heal(struct sim *s);
/* Until then half of the connects take up to late_ms more; the greetings come as late. */
void sim_hang_connects(struct sim *s, uint64_t until, uint64_t late_ms);
/* Until then half of the greetings come up to late_ms after their connection has opened. */
void sim_late_greetings(struct sim *s, uint64_t until, uint64_t late_ms);
/* One of a daemon's interfaces fails: its connections break, or fall silent in both directions. New
 * ones are refused, or hang, until it is back. Or its frames take 100 times as long. */
enum sim_interface {
    SIM_INTERFACE_UP,
    SIM_INTERFACE_REFUSES,
    SIM_INTERFACE_HANGS,
    SIM_INTERFACE_SLOW
};
void sim_set_interface(struct sim *s, uint32_t vpid, size_t i, enum sim_interface how);
struct sim_call { /* calls of one daemon by one address that were refused within a second */
    uint32_t to;
    uint64_t since_ms; /* the first one */
    unsigned n;
};
/* More of them than the back-off permits; NULL: none. */
const struct sim_call *sim_hasty_call(const struct sim *s, uint32_t vpid);
void sim_jump_clock(struct sim *s, uint32_t vpid, int64_t ms); /* its wall clock only */
/* From now on it is faster by so many millionths, or slower. */
void sim_drift_clock(struct sim *s, uint32_t vpid, int64_t ppm);
void sim_clock(struct sim *s, uint32_t vpid); /* core_time() by its clocks */
/* `from` lies: the frame goes to its neighbour `to` as it is. False: no connection joins them. */
bool sim_forge(struct sim *s, uint32_t from, uint32_t to, const struct buf *frame);
/* `from` lies: it calls `to` beside its own connections, and sends these two frames. */
void sim_forge_call(struct sim *s, uint32_t from, uint32_t to, const struct buf frames[2]);
/* A routed frame that was sent earlier arrives again, late, over a present connection. */
void sim_replay(struct sim *s);
/* Both ends of an existing connection, if there is one; used to draw faults. */
bool sim_some_wire(struct sim *s, uint32_t *a, uint32_t *b);
uint64_t sim_random(struct sim *s, uint64_t below);  /* 0 .. below-1 */
struct core *sim_core(struct sim *s, uint32_t vpid); /* NULL: not running */
bool sim_exited(const struct sim *s, uint32_t vpid);
bool sim_parked(const struct sim *s, uint32_t vpid);
/* Call this after any core_* input that the test makes itself. */
void sim_drain(struct sim *s, uint32_t vpid);
/* A job of n ranks that run for the given time and then exit with `code`; returns its index. */
size_t sim_submit(struct sim *s, uint32_t vpid, uint32_t ranks, uint64_t run_ms, int code);
#define SIM_FILES_MAX 3
#define SIM_FULL "full"      /* name of the first file if disks have no room for it */
#define SIM_ABSENT "/absent" /* a working directory that the last daemon of a job does not have */
#define SIM_LOST_RANK 3
#define SIM_HOSTS_MAX 3
struct sim_want {
    uint32_t ranks;
    uint64_t run_ms;
    int code;
    uint32_t nfiles; /* files that it brings along */
    bool full;
    bool absent;    /* its working directory is SIM_ABSENT */
    uint32_t flags; /* of the job */
    bool loses;     /* rank SIM_LOST_RANK, and each fourth after it, ends by SIGKILL instead */
    uint64_t timeout_ms;
    enum job_map_by map_by;
    uint32_t ppr;    /* ranks on each daemon */
    uint32_t nhosts; /* limited to these daemons; 0: to none */
    uint32_t hosts[SIM_HOSTS_MAX];
    const char *parent; /* job that spawns it; NULL: none */
    bool awaited;       /* one of its ranks there waits for the start of this job */
    uint32_t rank;      /* which */
    enum job_stop stop; /* its ranks (or one) stop some time after their start, until continued */
    uint32_t stop_rank;
};
size_t sim_submit_job(struct sim *s, uint32_t vpid, const struct sim_want *w);
/* All files of the job are on the daemon's disk and its ranks can start there, independent of
 * what its core says. */
bool sim_ready(const struct sim *s, uint32_t vpid, const char *nspace);
/* The first piece of a file that came out of its order; empty: none did. */
const char *sim_files_wrong(const struct sim *s);
struct files_stats sim_files_stats(const struct sim *s,
                                   uint32_t vpid); /* nothing: it does not run */
/* Ranks of the job that should stop, run, and have not stopped. */
size_t sim_unheld(const struct sim *s, const char *nspace);
const struct sim_job *sim_job(const struct sim *s, size_t index);
uint32_t sim_job_home(const struct sim *s, size_t index); /* where it was submitted */
/* True while its submitter runs in the epoch in which it submitted, and is owed an answer. */
bool sim_job_waits(const struct sim *s, size_t index);
void sim_job_forget(struct sim *s, size_t index); /* its submitter has ended */
/* Runs until done() is true or `for_ms` of virtual time have passed; true if done. */
bool sim_until(struct sim *s, bool (*done)(struct sim *s, void *arg), void *arg, uint64_t for_ms);
void sim_for(struct sim *s, uint64_t ms);
size_t sim_nlinks(const struct sim *s); /* of a member to its parent */
size_t sim_naddresses(const struct sim *s);
uint64_t sim_now(const struct sim *s);
struct api_faults sim_faults(const struct sim *s);
/* Milliseconds from the head to the lowest daemon of a tree of all daemons, at most. */
uint64_t sim_slowest_way(const struct sim *s);
/* The defaults, or others that api_faults_check() permits. */
struct api_faults sim_draw_faults(struct sim *s);
size_t sim_njobs(const struct sim *s);
bool sim_stopped(const struct sim *s, uint32_t vpid);
bool sim_rests(const struct sim *s, uint32_t vpid); /* stopped until now: its timers may be late */
/* The virtual time that the daemon counts: of each stop, the first second. */
uint64_t sim_ran_ms(const struct sim *s, uint32_t vpid);
uint64_t sim_life(const struct sim *s, uint32_t vpid); /* which process it is */
/* Ranks alive on a daemon now. */
size_t sim_ranks(const struct sim *s, uint32_t vpid);
/* One of them; false: there are none. */
bool sim_some_rank(struct sim *s, uint32_t vpid, const char **nspace, uint32_t *rank);
bool sim_rank_lives(const struct sim *s, uint32_t vpid, const char *nspace, uint32_t rank);

#endif
