/* SPDX-License-Identifier: BSD-3-Clause */
/* The members of the head's view and the pods of a plan, by vpid.
 *
 * Input: the plan's input. Output: the member or the pod of a vpid. The array is made at the first
 * question of a plan, so a settled cluster has none, and a plan takes time in proportion to the
 * members.
 *
 * Limits: a vpid above VPID_MAX, which only the name of a forged pod can have, is not in the array:
 * the head has no such member. Of two pods of one vpid the first one counts. */
#include "api/vpid.h"
#include "base/buf/buf.h"
#include "operator/plan/plan_private.h"

#include <stdlib.h>

struct plan_row {
    const struct api_dvm_member *member;
    const struct plan_pod *to_update;
};

static uint32_t highest_vpid(const struct plan_input *in)
{
    const struct api_dvm *v = in->head.view;
    uint32_t top = 0;

    for (size_t i = 0; v && i < v->nmembers; i++)
        top = v->members[i].vpid > top ? v->members[i].vpid : top;
    for (size_t i = 0; i < in->npods; i++)
        top = in->pods[i].vpid > top ? in->pods[i].vpid : top;
    return top < VPID_MAX ? top : VPID_MAX;
}

static void build_rows(const struct draft *d)
{
    const struct plan_input *in = d->in;
    const struct api_dvm *v = in->head.view;
    struct plan_index *x = d->index;

    x->n = (size_t)highest_vpid(in) + 1;
    x->rows = xcalloc(x->n, sizeof(*x->rows));
    for (size_t i = 0; v && i < v->nmembers; i++) {
        uint32_t vpid = v->members[i].vpid;

        if (vpid < x->n && !x->rows[vpid].member)
            x->rows[vpid].member = &v->members[i];
    }
    for (size_t i = 0; i < in->npods; i++) {
        uint32_t vpid = in->pods[i].vpid;

        if (vpid < x->n && !x->rows[vpid].to_update && plan_awaits_update(in, &in->pods[i]))
            x->rows[vpid].to_update = &in->pods[i];
    }
    d->p->looks += (v ? v->nmembers : 0) + in->npods;
}

static const struct plan_row *find_row(const struct draft *d, uint32_t vpid)
{
    static const struct plan_row none;

    if (!d->index->rows)
        build_rows(d);
    d->p->looks++;
    return vpid < d->index->n ? &d->index->rows[vpid] : &none;
}

const struct api_dvm_member *plan_member(const struct draft *d, uint32_t vpid)
{
    return find_row(d, vpid)->member;
}

const struct plan_pod *plan_pod_to_update(const struct draft *d, uint32_t vpid)
{
    return find_row(d, vpid)->to_update;
}

void plan_index_clear(struct plan_index *x)
{
    free_ptr(&x->rows);
}
