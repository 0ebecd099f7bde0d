/* SPDX-License-Identifier: BSD-3-Clause */
/* The members that a job names (--host).
 *
 * In: a job that has just been submitted. Out: the job goes on, waits for a grow, or ends at once.
 *
 * Each vpid has to be a member when the job comes. If only some of them are, the ranks would all go
 * to these, and the user would not learn of it. A vpid that a running grow brings is waited for. A
 * member that leaves later is nobody's error: the job is mapped to the others.
 *
 * A list without any member is left to the map, and so is any list before the first member has
 * come: then nothing can be judged. */
#include "dvm/protocol/head/jobs/job_private.h"

#include <stdlib.h>

#define NAMED_MAX 8 /* a message has room for these */

static bool is_member(const struct members *members, uint32_t vpid)
{
    const struct member *m = members_get(members, vpid);

    return m && m->state == MEMBER_WIRED; /* one that leaves gets no ranks any more */
}

char *job_hosts_absent(const struct jobs *js, const struct job *j, size_t *n)
{
    const struct job_spec *s = &j->map.spec;
    char *text = NULL;

    *n = 0;
    for (size_t i = 0; i < s->nhosts; i++) {
        char *longer;

        if (is_member(js->members, s->hosts[i]) || (*n)++ > NAMED_MAX)
            continue;
        longer = *n > NAMED_MAX
                     ? xasprintf("%s and others", text)
                     : xasprintf("%s%s%u", text ? text : "", text ? ", " : "", s->hosts[i]);
        free(text);
        text = longer;
    }
    return text;
}

void job_hosts_check(struct jobs *js, struct job *j)
{
    size_t n;
    FREE_AUTO char *absent = job_hosts_absent(js, j, &n);

    if (n == 0 || n == j->map.spec.nhosts ||
        slots_maximum(js->slots, size_bound_now(js->bound)) == 0)
        return;
    if (js->resize.grow_will_do(js->resize.arg, j))
        job_table_judge(js->table, j->kept, JOB_FITS_GROWN);
    else
        job_fail(js, j, JOB_EV_NO_MAP, EXIT_CODE_NOT_LAUNCHED,
                 "not launched: --host names vpids that are no members now: %s", absent);
}
