/* SPDX-License-Identifier: BSD-3-Clause */
/* The progress of a job since its launch was decided.
 *
 * In: the records JOB_SENT, JOB_RANK_ENDED and JOB_NODE_GONE of one job, and its map. Out: which
 * ranks have ended and how, which daemons are over, the losses without which the job continues.
 *
 * A rank ends once, a daemon of the job is over once. Ranks of a lost daemon that have not ended
 * are lost with it. Ranks that run have no record: their daemons know them. */
#include "dvm/protocol/head/jobs/job_progress.h"

#include "dvm/protocol/state/state.h"
#include "dvm/protocol/wire/exit_code.h"

#include <stdlib.h>
#include <sys/wait.h>

#define NAMED_MAX 8 /* losses in a job's text; the others are counted */
#define TEXTS_MAX (NAMED_MAX * (RECORD_LOSS_MAX + 2))

static void allocate_lists(struct job_progress *p, const struct record_job_map *map)
{
    p->gone = xcalloc(map->nnodes + 1, sizeof(*p->gone));
    p->ends = xcalloc(map->nranks + 1, sizeof(*p->ends));
}

int job_progress_sent(struct job_progress *p, const struct record_job_map *map,
                      const struct record_job_sent *r, struct err *err)
{
    if (p->sent || map->nnodes == 0)
        return err_set(err, "job %llu is %s", (unsigned long long)r->number,
                       p->sent ? "sent" : "not mapped");
    p->sent = true;
    p->deadline_ms = r->deadline_ms;
    allocate_lists(p, map);
    return 0;
}

static void add_loss(struct job_losses *l, uint32_t nranks, int code, bool lost, const char *text)
{
    char *named = l->texts;

    l->nranks += nranks;
    l->nlost += lost ? nranks : 0;
    l->first_code = l->first_code ? l->first_code : code;
    l->own_code = l->own_code || lost ? l->own_code : code;
    if (++l->ntexts <= NAMED_MAX) {
        l->texts = named ? xasprintf("%s; %s", named, text) : xstrdup(text);
        free(named);
    }
}

int job_progress_rank_ended(struct job_progress *p, const struct record_job_map *map,
                            const struct record_job_rank_ended *r, struct err *err)
{
    bool lost = WIFSIGNALED(r->status);

    if (!p->sent || r->rank >= map->nranks || p->ends[r->rank].state)
        return err_set(err, "rank %u of job %llu does not run", r->rank,
                       (unsigned long long)r->number);
    p->ends[r->rank] = (struct job_rank_end){r->state, r->status};
    if (r->loss[0])
        add_loss(&p->losses, 1,
                 lost ? exit_code_of_signal(WTERMSIG(r->status)) : WEXITSTATUS(r->status), lost,
                 r->loss);
    return 0;
}

static bool runs_on(const struct job_progress *p, const struct record_job_map *map, uint32_t rank,
                    uint32_t node)
{
    return map->rank_node[rank] == node && !p->ends[rank].state;
}

int job_progress_node_gone(struct job_progress *p, const struct record_job_map *map,
                           const struct record_job_node_gone *r, struct err *err)
{
    uint32_t nlost = 0;

    if (!p->sent || r->node >= map->nnodes || p->gone[r->node])
        return err_set(err, "node %u of job %llu has nothing of it", r->node,
                       (unsigned long long)r->number);
    for (uint32_t k = 0; r->lost && k < map->nranks; k++)
        nlost += runs_on(p, map, k, r->node);
    if (r->loss[0] && nlost == 0)
        return err_set(err, "no rank of job %llu is lost with node %u",
                       (unsigned long long)r->number, r->node);
    p->gone[r->node] = true;
    p->nnodes_gone++;
    for (uint32_t k = 0; nlost && k < map->nranks; k++) {
        if (runs_on(p, map, k, r->node))
            p->ends[k].state = PROC_LOST;
    }
    if (r->loss[0])
        add_loss(&p->losses, nlost, EXIT_CODE_LOST, true, r->loss);
    return 0;
}

int job_progress_exit_code(const struct job_progress *p, uint32_t nranks, bool any)
{
    return any || p->losses.nlost == nranks ? p->losses.first_code : p->losses.own_code;
}

char *job_progress_losses_text(const struct job_progress *p, uint32_t nranks)
{
    const struct job_losses *l = &p->losses;

    return l->texts ? xasprintf("%u of %u ranks failed or were lost: %s%s", l->nranks, nranks,
                                l->texts, l->ntexts > NAMED_MAX ? "; and others" : "")
                    : NULL;
}

void job_progress_save(const struct job_progress *p, const struct record_job_map *map,
                       struct buf *b)
{
    const struct job_losses *l = &p->losses;

    buf_put_u8(b, p->sent);
    if (!p->sent)
        return;
    buf_put_u64(b, p->deadline_ms);
    for (size_t i = 0; i < map->nnodes; i++)
        buf_put_u8(b, p->gone[i]);
    for (uint32_t r = 0; r < map->nranks; r++) {
        buf_put_u8(b, p->ends[r].state);
        buf_put_u32(b, (uint32_t)p->ends[r].status);
    }
    buf_put_u32(b, l->nranks);
    buf_put_u32(b, l->nlost);
    buf_put_u32(b, l->ntexts);
    buf_put_u8(b, (uint8_t)l->first_code);
    buf_put_u8(b, (uint8_t)l->own_code);
    buf_put_str(b, l->texts ? l->texts : "");
}

static bool is_end(uint8_t state)
{
    return state == 0 || state == PROC_TERMINATED || state == PROC_FAILED_TO_START ||
           state == PROC_LOST;
}

static void load_losses(struct job_losses *l, struct cur *c)
{
    l->nranks = cur_u32(c);
    l->nlost = cur_u32(c);
    l->ntexts = cur_u32(c);
    l->first_code = cur_u8(c);
    l->own_code = cur_u8(c);
    l->texts = cur_str(c, TEXTS_MAX);
    if (l->ntexts)
        return;
    free(l->texts);
    l->texts = NULL;
}

int job_progress_load(struct job_progress *p, const struct record_job_map *map, struct cur *c,
                      struct err *err)
{
    uint8_t sent = cur_u8(c);
    bool bad = sent > 1 || (sent && map->nnodes == 0);

    if (bad || !sent)
        return bad ? err_set(err, "a job is sent that is not mapped") : 0;
    p->sent = true;
    p->deadline_ms = cur_u64(c);
    allocate_lists(p, map);
    for (size_t i = 0; i < map->nnodes; i++) {
        uint8_t gone = cur_u8(c);

        bad = bad || gone > 1;
        p->gone[i] = gone == 1;
        p->nnodes_gone += p->gone[i];
    }
    for (uint32_t r = 0; r < map->nranks; r++) {
        p->ends[r].state = cur_u8(c);
        p->ends[r].status = (int)cur_u32(c);
        bad = bad || !is_end(p->ends[r].state);
    }
    load_losses(&p->losses, c);
    return bad ? err_set(err, "an end of a rank or daemon that no job has") : 0;
}

void job_progress_free(struct job_progress *p)
{
    free(p->gone);
    free(p->ends);
    free(p->losses.texts);
    *p = (struct job_progress){0};
}
