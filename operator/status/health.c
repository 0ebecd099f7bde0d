/* SPDX-License-Identifier: BSD-3-Clause */
/* The conditions Ready, Stalled and Degraded, which programs wait for.
 *
 * In: the facts, and the verdicts Available and Progressing. Out: Ready (the spec is reached, as
 * kstatus reads it), Stalled (it is not reached before a user acts, as kstatus reads it) and
 * Degraded (a fault needs attention).
 *
 * Invariant: Degraded follows from facts alone: trouble with objects, a head that does not answer,
 * a pod that cannot start, a lost member. A planned change of the size is none. */
#include "base/buf/buf.h"
#include "operator/status/status_private.h"

#include <string.h>

/* True if the size is reached and no user has to act. */
static bool is_reached(const struct verdict *progressing)
{
    return progressing->value == STATUS_FALSE && reason_is(progressing->reason, REASON_REACHED);
}

struct verdict status_ready(const struct verdict *progressing)
{
    if (progressing->value == STATUS_KEEP)
        return status_verdict(STATUS_KEEP, progressing->reason, xstrdup(progressing->message));
    return status_verdict(is_reached(progressing) ? STATUS_TRUE : STATUS_FALSE, progressing->reason,
                          xstrdup(progressing->message));
}

/* A request that may succeed the next time does not stall the cluster. */
struct verdict status_stalled(const struct verdict *progressing)
{
    if (progressing->value == STATUS_KEEP)
        return status_verdict(STATUS_KEEP, progressing->reason, xstrdup(progressing->message));
    if (progressing->value == STATUS_FALSE && !is_reached(progressing) &&
        !reason_is(progressing->reason, REASON_PASSING))
        return status_verdict(STATUS_TRUE, progressing->reason, xstrdup(progressing->message));
    return status_verdict(STATUS_FALSE, REASON_AS_EXPECTED, xstrdup("No user has to act."));
}

static const struct plan_pod *pod_of(const struct facts *f, uint32_t vpid)
{
    for (size_t i = 0; i < f->in->npods; i++) {
        if (f->in->pods[i].vpid == vpid)
            return &f->in->pods[i];
    }
    return NULL;
}

/* The lost members that belong to the size; NULL: none. */
static char *lost_text(const struct facts *f)
{
    const struct api_dvm *v = f->in->head.view;
    BUF_AUTO struct buf b;
    size_t n = 0;

    buf_init(&b, 4096);
    for (size_t i = 0; v && i < v->nmembers; i++) {
        const struct api_dvm_member *m = &v->members[i];

        if (m->state != MEMBER_LOST || !m->vpid || m->vpid > f->p->target ||
            n++ >= STATUS_PODS_NAMED)
            continue;
        const struct plan_pod *pod = pod_of(f, m->vpid);
        bool node = pod && pod->node;
        FREE_AUTO char *one =
            xasprintf("%s%u%s%s%s%s", n > 1 ? ", " : "", m->vpid, node ? " (node " : "",
                      node ? pod->node : "", node && pod->node_silent ? ", which is not ready" : "",
                      node ? ")" : "");
        buf_put_raw(&b, one, strlen(one));
    }
    buf_put_u8(&b, 0);
    if (!n)
        return NULL;
    if (n <= STATUS_PODS_NAMED)
        return xasprintf("Daemon%s %s: lost, and not back yet.", n == 1 ? "" : "s",
                         (const char *)b.data);
    return xasprintf("Daemons %s and %zu more: lost, and not back yet.", (const char *)b.data,
                     n - STATUS_PODS_NAMED);
}

struct verdict status_degraded(const struct facts *f, const struct verdict *available,
                               const struct verdict *progressing)
{
    struct verdict v;

    if (progressing->value == STATUS_FALSE && !is_reached(progressing))
        return status_verdict(STATUS_TRUE, progressing->reason, xstrdup(progressing->message));
    if (f->in->cluster->suspend)
        return status_verdict(STATUS_FALSE, REASON_SUSPENDED, xstrdup("spec.suspend is true."));
    if (status_pod_stuck(f, false, &v)) {
        v.value = STATUS_TRUE;
        return v;
    }
    if (f->in->head.link == PLAN_LINK_CONNECTING)
        return status_verdict(STATUS_KEEP, REASON_CONNECTING,
                              xstrdup("The operator is connecting to the head."));
    if (f->in->head.link == PLAN_LINK_DOWN && f->p->record.incarnation[0])
        return status_verdict(STATUS_TRUE, available->reason, xstrdup(available->message));
    FREE_AUTO char *lost = lost_text(f);
    if (lost)
        return status_verdict(STATUS_TRUE, REASON_MEMBERS_LOST, xstrdup(lost));
    if (f->trouble && f->trouble->reason)
        return status_verdict(STATUS_TRUE, f->trouble->reason, xstrdup(f->trouble->message));
    return status_verdict(STATUS_FALSE, REASON_AS_EXPECTED, xstrdup("No fault is known."));
}
