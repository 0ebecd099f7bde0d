/* SPDX-License-Identifier: BSD-3-Clause */
/* The limits after which a fault counts: their relations. */
#include "api/faults.h"

static double to_seconds(uint64_t ms)
{
    return (double)ms / 1000;
}

static int check_bounds(const char *what, uint64_t ms, struct err *err)
{
    if (ms >= API_FAULTS_MIN_MS && ms <= API_FAULTS_MAX_MS)
        return 0;
    return err_set(err, "%s is %g s, it must be %g to %g s", what, to_seconds(ms),
                   to_seconds(API_FAULTS_MIN_MS), to_seconds(API_FAULTS_MAX_MS));
}

int api_faults_check(const struct api_faults *f, struct err *err)
{
    uint64_t least_ms = f->silence_ms + 2 * f->link_grace_ms;

    if (check_bounds("the link grace", f->link_grace_ms, err) < 0 ||
        check_bounds("the silence", f->silence_ms, err) < 0 ||
        check_bounds("the head's absence", f->head_absence_ms, err) < 0)
        return -1;
    if (f->link_grace_ms > f->silence_ms)
        return err_set(err, "the link grace is %g s, it must be at most the silence, %g s",
                       to_seconds(f->link_grace_ms), to_seconds(f->silence_ms));
    if (f->head_absence_ms < least_ms)
        return err_set(err,
                       "the head's absence is %g s, it must be at least the silence and twice the "
                       "link grace, %g s",
                       to_seconds(f->head_absence_ms), to_seconds(least_ms));
    return 0;
}

uint64_t api_faults_lost_ms(const struct api_faults *f)
{
    uint64_t ms = 3 * f->silence_ms;

    return ms < f->head_absence_ms ? ms : f->head_absence_ms;
}
