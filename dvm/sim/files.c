/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps before the start of ranks in the simulator: registration, files of the job, checks.
 *
 * In: actions of a core for its ranks (sim_files_launch(), _take(), _drop(), _create()), pieces of
 * files from the daemon's part for files, the virtual time. Out: reports by core_ranks() and
 * core_proc(); pieces that the submitters of jobs read, as far as they have been granted room.
 *
 * A writer is a job on one daemon: registered, ready for pieces, written, created, checked,
 * started, over. Without files it has neither the second nor the third step. It is freed when its
 * ranks are over and the whole job has ended, or with its daemon. Registration, writing and checks
 * take random times.
 *
 * Invariants: pieces come in the order that piece_follow() demands. The first piece out of order at
 * a writer is kept for sim_files_wrong(), and the checker reports it. One at a submitter is a
 * mistake of the simulator and aborts it.
 *
 * Failures that jobs ask for: a full disk (SIM_FULL) fails with ENOSPC; an absent directory
 * (SIM_ABSENT) with ENOENT, on the job's last daemon; files that are dropped report EINTR.
 *
 * Nothing is written to a disk: a writer only counts the bytes of its pieces. */
#include "dvm/sim/sim_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES 350u /* time for the first; each further one takes as much longer */
#define PIECE_BYTES 300u

static struct writer *find_writer(const struct sim *s, uint32_t vpid, const char *nspace)
{
    struct writer *w;

    LL_FOREACH2(s->nodes[vpid].writers, w, next_here)
    {
        if (strcmp(w->nspace, nspace) == 0)
            return w;
    }
    return NULL;
}

static void drop_writer(struct sim *s, struct writer *w)
{
    DL_DELETE(s->writers, w);
    LL_DELETE2(s->nodes[w->vpid].writers, w, next_here);
    free(w->nspace);
    job_launch_unref(w->launch);
    free(w);
}

/* --- actions of the daemon's part for files */

static void on_room(uint32_t client, uint64_t total, void *arg)
{
    struct node *n = arg;
    struct sim *s = n->sim;

    s->jobs[client].room = total;
    if (s->jobs[client].reads_at == UINT64_MAX)
        s->jobs[client].reads_at = s->now + sim_random(s, 4) * sim_random(s, 40);
}

static void on_write(const char *nspace, const void *piece, size_t len, void *arg)
{
    struct node *n = arg;
    struct sim *s = n->sim;
    struct writer *w = find_writer(s, (uint32_t)(n - s->nodes), nspace);
    struct err err = {0};
    struct piece p;

    if (!w)
        return;
    if (piece_decode(piece, len, &p, &err) < 0 ||
        piece_follow(&w->order, w->nfiles, &p, &err) < 0) {
        if (!*s->wrong)
            snprintf(s->wrong, sizeof(s->wrong), "a writer of job %s: %s", nspace, err.msg);
        return;
    }
    w->got += len;
    if (w->at == UINT64_MAX)
        w->at = s->now + sim_random(s, 4) * sim_random(s, 100);
}

void sim_files_start(struct sim *s, uint32_t vpid)
{
    struct node *n = &s->nodes[vpid];
    struct files_io io = {.room = on_room, .write = on_write, .arg = n};

    n->sim = s;
    n->files = files_create(n->core, &io);
}

void sim_files_end(struct sim *s, uint32_t vpid)
{
    struct writer *w, *tmp;

    DL_FOREACH_SAFE(s->writers, w, tmp)
    {
        if (w->vpid == vpid)
            drop_writer(s, w);
    }
    files_destroy(s->nodes[vpid].files);
    s->nodes[vpid].files = NULL;
}

/* --- the ranks' side */

static bool is_absent(const struct job_launch *l, uint32_t vpid)
{
    return strcmp(l->spec.apps[0].cwd, SIM_ABSENT) == 0 && l->nodes[l->nnodes - 1].vpid == vpid;
}

void sim_files_launch(struct sim *s, uint32_t vpid, const struct job_launch *l)
{
    struct writer *w = xcalloc(1, sizeof(*w));

    w->nspace = xstrdup(l->nspace);
    w->launch = job_launch_ref(l);
    w->vpid = vpid;
    w->nfiles = (uint32_t)l->spec.nfiles;
    w->full = w->nfiles && strcmp(l->spec.files[0], SIM_FULL) == 0;
    w->absent = is_absent(l, vpid);
    w->at = s->now + sim_random(s, 4) * sim_random(s, 4);
    DL_APPEND(s->writers, w);
    LL_PREPEND2(s->nodes[vpid].writers, w, next_here);
}

void sim_files_take(struct sim *s, uint32_t vpid, const char *nspace)
{
    find_writer(s, vpid, nspace)->at = s->now + sim_random(s, 20);
}

void sim_files_drop(struct sim *s, uint32_t vpid, const char *nspace)
{
    files_forget(s->nodes[vpid].files, nspace);
    find_writer(s, vpid, nspace)->at = UINT64_MAX;
    core_ranks(s->nodes[vpid].core, nspace, CORE_RANKS_FILES, EINTR, "writing them was given up");
}

bool sim_files_pending(const struct sim *s, uint32_t vpid, const char *nspace)
{
    const struct writer *w = find_writer(s, vpid, nspace);

    return w && w->created && !w->started && !w->over;
}

const struct job_launch *sim_files_started(struct sim *s, uint32_t vpid, const char *nspace)
{
    struct writer *w = find_writer(s, vpid, nspace);

    w->started = true;
    return w->launch;
}

/* Written files are remembered until the whole job has ended. */
void sim_files_over(struct sim *s, uint32_t vpid, const char *nspace)
{
    struct writer *w = find_writer(s, vpid, nspace);

    files_forget(s->nodes[vpid].files, nspace);
    if (!w)
        return;
    w->over = true;
    w->at = UINT64_MAX;
    if (w->forgotten)
        drop_writer(s, w);
}

void sim_files_forget(struct sim *s, uint32_t vpid, const char *nspace)
{
    struct writer *w = find_writer(s, vpid, nspace);

    if (w && w->over)
        drop_writer(s, w);
    else if (w)
        w->forgotten = true;
}

/* The n-th rank on the daemon; -1: there is none. */
static int64_t nth_rank(const struct writer *w, uint32_t n)
{
    const struct job_launch *l = w->launch;

    for (uint32_t r = 0; r < l->nranks; r++) {
        if (l->nodes[l->rank_node[r]].vpid == w->vpid && n-- == 0)
            return r;
    }
    return -1;
}

/* Ranks that wait for their start are ended. */
void sim_files_fail(struct sim *s, uint32_t vpid, const char *nspace, int errnum)
{
    struct writer *w = find_writer(s, vpid, nspace);
    uint32_t n = w->nfailed;
    int64_t r;

    w->started = true; /* none is pending any more */
    w->at = UINT64_MAX;
    while ((r = nth_rank(w, n++)) >= 0)
        core_proc(s->nodes[vpid].core, nspace, (uint32_t)r, CORE_PROC_FAILED, errnum, "its start");
}

/* The first rank that cannot start is reported; the others wait to be ended. */
static void check_ranks(struct sim *s, struct writer *w)
{
    struct core *c = s->nodes[w->vpid].core;
    int64_t r = nth_rank(w, 0);

    if (w->absent && r >= 0 && !w->nfailed) {
        w->nfailed = 1;
        core_proc(c, w->nspace, (uint32_t)r, CORE_PROC_FAILED, ENOENT, "chdir " SIM_ABSENT);
    } else if (!w->absent) {
        w->checked = true;
        for (uint32_t n = 0; (r = nth_rank(w, n)) >= 0; n++)
            core_proc(c, w->nspace, (uint32_t)r, CORE_PROC_READY, 0, NULL);
    }
}

/* Checks take their time; that of files has been enough. True: its ranks can run at once. */
bool sim_files_create(struct sim *s, uint32_t vpid, const char *nspace, bool waits)
{
    struct writer *w = find_writer(s, vpid, nspace);

    w->created = true;
    if (w->written || (waits && !job_launch_waits(w->launch) && !w->absent))
        check_ranks(s, w);
    else if (waits || w->absent)
        w->at = s->now + sim_random(s, 20);
    else
        return true;
    return false;
}

bool sim_ready(const struct sim *s, uint32_t vpid, const char *nspace)
{
    const struct writer *w = find_writer(s, vpid, nspace);

    return w && w->checked && (w->written || !w->nfiles);
}

const char *sim_files_wrong(const struct sim *s)
{
    return s->wrong;
}

struct files_stats sim_files_stats(const struct sim *s, uint32_t vpid)
{
    return s->nodes[vpid].files ? files_stats(s->nodes[vpid].files) : (struct files_stats){0};
}

static void writer_step(struct sim *s, struct writer *w)
{
    struct node *n = &s->nodes[w->vpid];

    w->at = UINT64_MAX;
    if (!w->registered) {
        w->registered = true;
        core_ranks(n->core, w->nspace, CORE_RANKS_REGISTERED, 0, NULL);
        return;
    }
    if (w->created) {
        check_ranks(s, w);
        return;
    }
    if (!w->ready) {
        w->ready = true;
        files_expect(n->files, w->launch);
        return;
    }
    files_written(n->files, w->nspace, w->got);
    if (w->full && w->got) {
        files_forget(n->files, w->nspace);
        core_ranks(n->core, w->nspace, CORE_RANKS_FILES, ENOSPC, "writing " SIM_FULL);
    } else if (piece_all(&w->order, w->nfiles) && !w->written) {
        w->written = true;
        core_ranks(n->core, w->nspace, CORE_RANKS_FILES, 0, NULL);
    }
}

/* --- the submitter's side */

static void next_piece(const struct sim_job *j, uint8_t data[PIECE_BYTES], struct piece *p)
{
    uint64_t size = (uint64_t)FILE_BYTES * (j->order.file + 1);
    uint64_t left = size - j->order.bytes;

    *p = (struct piece){.kind = PIECE_DATA, .file = j->order.file, .data = data};
    p->len = left < PIECE_BYTES ? left : PIECE_BYTES;
    if (!j->order.open) {
        *p = (struct piece){.kind = PIECE_FILE, .file = j->order.file, .mode = 0644};
    } else if (!left) {
        p->kind = PIECE_END;
        p->size = size;
        p->len = PIECE_SUM_BYTES;
    }
}

static void read_step(struct sim *s, size_t index)
{
    struct sim_job *j = &s->jobs[index];
    struct node *n = &s->nodes[j->home];
    uint8_t data[PIECE_BYTES] = {0};
    struct err err = {0};
    struct piece p;

    j->reads_at = UINT64_MAX;
    while (!piece_all(&j->order, j->nfiles)) {
        BUF_AUTO struct buf b = {0};

        next_piece(j, data, &p);
        buf_init(&b, PIECE_MAX);
        piece_encode(&b, &p);
        if (j->read + b.len > j->room)
            return;
        if (piece_follow(&j->order, j->nfiles, &p, &err) < 0 ||
            files_piece(n->files, (uint32_t)index, b.data, b.len, &err) < 0) {
            fprintf(stderr, "sim: the submitter of job %s: %s\n", j->nspace, err.msg);
            abort();
        }
        j->read += b.len;
    }
}

/* --- the turn */

uint64_t sim_files_next(const struct sim *s)
{
    const struct writer *w;
    uint64_t at = UINT64_MAX;

    DL_FOREACH(s->writers, w)
    {
        if (w->at < at && !s->nodes[w->vpid].stopped)
            at = w->at;
    }
    for (size_t i = 0; i < s->njobs; i++) {
        if (s->jobs[i].reads_at < at && sim_job_waits(s, i) && !s->nodes[s->jobs[i].home].stopped)
            at = s->jobs[i].reads_at;
    }
    return at;
}

void sim_files_turn(struct sim *s)
{
    struct writer *w, *tmp;

    DL_FOREACH_SAFE(s->writers, w, tmp)
    {
        uint32_t vpid = w->vpid;

        if (w->at > s->now || s->nodes[vpid].stopped)
            continue;
        sim_clock(s, vpid);
        writer_step(s, w);
        sim_drain(s, vpid);
        sim_files_turn(s); /* the list may have changed */
        return;
    }
    for (size_t i = 0; i < s->njobs; i++) {
        uint32_t home = s->jobs[i].home;

        if (s->jobs[i].reads_at > s->now || !sim_job_waits(s, i) || s->nodes[home].stopped)
            continue;
        sim_clock(s, home);
        read_step(s, i);
        sim_drain(s, home);
    }
}
