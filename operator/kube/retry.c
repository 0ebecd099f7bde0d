/* SPDX-License-Identifier: BSD-3-Clause */
/* Which requests are repeated, after which time, and how long each try is waited for alone.
 *
 * The server's pace is its smoothed answer time. Only answers move it: a request that hangs says
 * nothing about the others. It rises by half of the difference and falls by a quarter, since a
 * limit that is too short gives a slow server more to do, and one that is too long only delays. An
 * answer that came after its limit has shown that the limit is too short: it is the new value. */
#include "base/backoff/backoff.h"
#include "base/span/span.h"
#include "operator/kube/kube_private.h"

#define TRIES_MAX 6
#define RETRY_AFTER_MAX_MS 30000
/* Of a server that has not answered yet. */
#define UNKNOWN_MS 1000
#define LIMIT_MIN_MS 1000
#define LIMIT_MAX_MS 30000
/* So many answer times are waited for. */
#define LIMIT_TIMES 4
/* The limit is doubled from this try on: the earlier ones are still open then, so that a slow
 * server is heard anyway. */
#define DOUBLED_FROM 4
/* A reading that is silent too tells of a slow server rather than of a lost request. */
#define LOOK_LIKE DOUBLED_FROM

bool kube_retry_passes(const struct kube_try *t, int status)
{
    if (status == 429)
        return true;
    return t->repeatable && (status == 0 || status == 500 || (status >= 502 && status <= 504));
}

bool kube_retry_left(const struct kube_try *t)
{
    return t->number < TRIES_MAX;
}

uint64_t kube_retry_pause_ms(const struct kube_try *t, uint64_t retry_after_ms, uint32_t dice)
{
    static const struct backoff b = {.min_ms = 200, .max_ms = 2000};

    if (retry_after_ms > RETRY_AFTER_MAX_MS)
        retry_after_ms = RETRY_AFTER_MAX_MS;
    return retry_after_ms + backoff_pause_ms(&b, t->number - 1, dice);
}

uint64_t kube_pace_limit_ms(const struct kube_pace *p)
{
    uint64_t ms = LIMIT_TIMES * (p->measured ? p->smoothed_ms : UNKNOWN_MS);

    if (ms < LIMIT_MIN_MS)
        return LIMIT_MIN_MS;
    return ms < LIMIT_MAX_MS ? ms : LIMIT_MAX_MS;
}

void kube_pace_note(struct kube_pace *p, uint64_t ms)
{
    if (!p->measured || ms > kube_pace_limit_ms(p))
        p->smoothed_ms = ms;
    else if (ms > p->smoothed_ms)
        p->smoothed_ms += (uint64_t)span_ms(p->smoothed_ms, ms) / 2;
    else
        p->smoothed_ms -= (uint64_t)span_ms(ms, p->smoothed_ms) / 4;
    p->measured = true;
}

uint64_t kube_retry_limit_ms(const struct kube_try *t, bool look, const struct kube_pace *p)
{
    uint64_t ms = kube_pace_limit_ms(p);
    unsigned number = look ? LOOK_LIKE : t->number;

    for (unsigned n = DOUBLED_FROM; n <= number && ms < LIMIT_MAX_MS; n++)
        ms *= 2;
    return ms < LIMIT_MAX_MS ? ms : LIMIT_MAX_MS;
}
