/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules for a job that concern several of prun's options: the numbers of its programs' ranks, the
 * rank that reads input, a map that is not started. */
#include "dvm/tools/submit/spec_check.h"

#include "dvm/protocol/map/policy.h"

/* A map that is not started is shown. */
static int check_map_only(struct job_spec *s, struct err *err)
{
    if (!(s->flags & JOB_MAP_ONLY))
        return 0;
    if (!(s->flags & JOB_DISPLAY_BIND))
        s->flags |= JOB_DISPLAY_MAP;
    return 0;
}

static int check_ranks(const struct job_spec *s, struct err *err)
{
    uint64_t ranks = 0;

    for (size_t i = 0; i < s->napps; i++) {
        ranks += s->apps[i].nprocs;
        if (s->napps > 1 && !s->apps[i].nprocs)
            return err_set(err, "%s: each program of several needs its own -n", s->apps[i].argv[0]);
    }
    if (ranks > JOB_RANKS_MAX)
        return err_set(err, "%llu ranks, at most %d in one job", (unsigned long long)ranks,
                       JOB_RANKS_MAX);
    if (policy_check(s, err) < 0)
        return -1;
    if (ranks && s->stdin_rank < JOB_RANK_NONE && s->stdin_rank >= ranks)
        return err_set(err, "--stdin %u: the job has ranks 0..%llu", s->stdin_rank,
                       (unsigned long long)ranks - 1);
    return 0;
}

int submit_check(struct job_spec *s, struct err *err)
{
    return check_map_only(s, err) < 0 ? -1 : check_ranks(s, err);
}
