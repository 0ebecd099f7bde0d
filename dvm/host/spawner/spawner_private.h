/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside the spawner process: its one context and its parts. */
#ifndef DVM_SPAWNER_SPAWNER_PRIVATE_H
#define DVM_SPAWNER_SPAWNER_PRIVATE_H

#include "base/heap/hash.h"
#include "dvm/host/spawner/spawn_msg.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <time.h>

/* The mark identifies a job's processes after they have left its sessions. It is the first
 * string of their environment, "<SPAWNER_MARK>=<spawner's token>.<job>". */
#define SPAWNER_MARK "DVM_JOB_MARK"
#define SPAWNER_GIVE_UP_MS 10000 /* SIGKILL to the spawner's exit */
#define SPAWNER_RETRY_MS 20      /* time between two walks of /proc */
#define SPAWNER_CLEAN_MAX 32768  /* paths kept for cleanup, at most */
#define SPAWNER_CLEAN_MS 60000   /* limit of time for one cleanup; then the rest stays */
#define SPAWNER_CLEANERS_MAX 4

/* Stages of a rank that is to stop at its exec. The kernel stops it for its tracer, the spawner.
 * The spawner then detaches and leaves it stopped, so that a debugger can attach. */
enum spawner_hold {
    SPAWNER_HOLD_NONE,
    SPAWNER_HOLD_TRACED,
    SPAWNER_HOLD_STOPPING,
    SPAWNER_HOLD_HELD
};

/* A rank, from its start until the end of its job. */
struct spawner_rank {
    uint64_t id;
    uint64_t job;
    pid_t pid;      /* also its session and process group */
    int exec_fd;    /* end of file: it runs; a packet: enum spawner_word; -1: reported */
    bool reaped;    /* its pid may be in use again */
    bool failed;    /* the program never ran */
    bool let_go;    /* with SPAWN_START_WAITS */
    unsigned flags; /* enum spawn_start_flag */
    enum spawner_hold hold;
    unsigned unsent; /* bits 1 << spawn_rep_kind */
    int status;
    int errnum;
    char *what;
    UT_hash_handle by_id;
    UT_hash_handle by_pid;
    struct spawner_rank *prev, *next; /* in `reports` while a report is pending */
};

struct spawner_sweep;
struct spawner_scope;
struct clean_journal;

enum spawner_phase { SPAWNER_SERVING, SPAWNER_ASKING, SPAWNER_KILLING, SPAWNER_EMPTY };

struct spawner {
    int sock;        /* -1: the daemon has closed it */
    bool wants_room; /* epoll watches for that */
    bool pinged;     /* a ping is not answered yet */
    int signal_fd;
    int epoll_fd;
    pid_t daemon;      /* 0: reaped */
    uint32_t grace_ms; /* from SIGTERM to SIGKILL, after the end of the daemon */
    uint32_t limit_ms; /* of silence of the daemon while ranks run; 0: none */
    bool heard;        /* a command has come since the last look */
    unsigned silent_looks;
    uint64_t look_due_ms; /* 0: not watched now */
    int exit_code;
    uint64_t token;       /* marks this spawner's ranks; a spawner within a job has another one */
    struct rlimit nofile; /* limit of descriptors of the spawner's caller and of ranks */
    sigset_t ignored;     /* signals ignored here, not by ranks */
    struct spawner_rank *by_id;
    struct spawner_rank *by_pid;
    struct spawner_rank *reports;
    struct spawner_sweep *sweeps;
    struct spawner_scope *scopes;
    struct clean_journal *journal;
    size_t njournal;       /* paths in it that are kept */
    struct timespec until; /* for all scopes: struct remove_rules */
    size_t nclean;         /* number of paths in all scopes */
    size_t nclean_active;  /* scopes that wait or run */
    size_t ncleaners;      /* children that remove */
    enum spawner_phase phase;
    uint64_t phase_due_ms;
};

/* spawner_rank.c. Takes the descriptors. */
void spawner_rank_start(struct spawner *sp, const struct spawn_cmd *c, int fds[SPAWN_FD_COUNT]);
void spawner_rank_signal(struct spawner *sp, uint64_t id, int signum);
void spawner_rank_go(struct spawner *sp, uint64_t id);
void spawner_rank_exec_known(struct spawner *sp, uint64_t id);
/* Unknown pids are ignored. */
void spawner_rank_reaped(struct spawner *sp, pid_t pid, int status);
void spawner_rank_stopped(struct spawner *sp, pid_t pid, int status); /* or continued */
void spawner_rank_free(struct spawner *sp, struct spawner_rank *r);
bool spawner_rank_report(struct spawner *sp); /* false: the socket is full for now */

/* spawner_path.c: as execvp(), but only a text file is handed to a shell. Returns an errno; `what`
 * names the file that could not be executed, or the interpreter that it needs. */
int spawner_path_exec(char *const argv[], char *what, size_t size);
/* The same search without the exec; 0: *path, on the heap, looks as if it could be run. */
int spawner_path_check(char *const argv[], char **path, char *what, size_t size);
/* spawner_exec.c: the way of a forked child to its program. */
void spawner_exec(const struct spawner *sp, const struct spawner_rank *r,
                  const int fds[SPAWN_FD_COUNT], int exec_fd) __attribute__((noreturn));
/* A child's packet on exec_fd. FAILED: errnum, and a text on the heap. */
enum spawner_word { SPAWNER_NO_WORD, SPAWNER_READY, SPAWNER_FAILED, SPAWNER_RUNS };
enum spawner_word spawner_exec_word(int exec_fd, int *errnum, char **what);

/* spawner_sweep.c: processes that an ended job has left behind. */
void spawner_sweep_start(struct spawner *sp, uint64_t job);
void spawner_sweep_turn(struct spawner *sp, uint64_t now_ms);
/* ms until spawner_sweep_turn() has something to do; -1: never. */
int spawner_sweep_wait(const struct spawner *sp, uint64_t now_ms);

/* spawner_end.c: the daemon has ended, or has closed its socket. */
void spawner_end_start(struct spawner *sp, uint64_t now_ms);
void spawner_end_turn(struct spawner *sp, uint64_t now_ms);
int spawner_end_wait(const struct spawner *sp, uint64_t now_ms);

/* spawner_watch.c: kills a daemon that hangs while ranks run. */
#define SPAWNER_LOOKS 3 /* in the limit */
void spawner_watch_heard(struct spawner *sp, uint32_t limit_ms);
void spawner_watch_turn(struct spawner *sp, uint64_t now_ms);
int spawner_watch_wait(const struct spawner *sp, uint64_t now_ms);

/* spawner_clean.c: flags are those of remove.h. */
void spawner_clean_add(struct spawner *sp, uint64_t scope, unsigned flags, const char *path);
void spawner_clean_run(struct spawner *sp, uint64_t scope);
bool spawner_clean_reaped(struct spawner *sp, pid_t pid,
                          int status); /* false: not a child of the cleanup */
void spawner_clean_turn(struct spawner *sp, uint64_t now_ms);
int spawner_clean_wait(const struct spawner *sp, uint64_t now_ms);
bool spawner_clean_report(struct spawner *sp);                 /* as spawner_rank_report() */
void spawner_clean_forget(struct spawner *sp, uint64_t scope); /* without a removal */
void spawner_clean_all(struct spawner *sp); /* daemon and ranks have ended: all scopes at once */

/* Signals that the spawner reads from a descriptor. They are blocked before the daemon is split
 * off. */
static inline void spawner_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
    sigaddset(set, SIGUSR1);
    sigaddset(set, SIGUSR2);
}

static inline uint64_t spawner_now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

void spawner_close_but(int keep); /* beside 0 to 2 */

#endif
