/* SPDX-License-Identifier: BSD-3-Clause */
/* Which requests are repeated, after which time, and how long each try may take. */
#include "base/backoff/backoff.h"
#include "operator/kube/kube_private.h"

#define TRIES_MAX 5
#define RETRY_AFTER_MAX_MS 30000
#define TRY_MIN_MS 1000

/* 429: the server has not begun. Without an answer, or after 5xx, a request may have been carried
 * out: it is repeated only if that does not matter. */
bool kube_retry_wanted(const struct kube_try *t, int status)
{
    if (t->number >= TRIES_MAX)
        return false;
    if (status == 429)
        return true;
    return t->repeatable && (status == 0 || status == 500 || (status >= 502 && status <= 504));
}

uint64_t kube_retry_pause_ms(const struct kube_try *t, uint64_t retry_after_ms, uint32_t dice)
{
    static const struct backoff b = {.min_ms = 200, .max_ms = 2000};

    if (retry_after_ms > RETRY_AFTER_MAX_MS)
        retry_after_ms = RETRY_AFTER_MAX_MS;
    return retry_after_ms + backoff_pause_ms(&b, t->number - 1, dice);
}

/* A server that hangs is left early, one that is slow gets the whole time in the end. */
uint64_t kube_retry_timeout_ms(const struct kube_try *t, uint64_t timeout_ms)
{
    uint64_t ms = (uint64_t)TRY_MIN_MS << (t->number - 1);

    return t->repeatable && t->number < TRIES_MAX && ms < timeout_ms ? ms : timeout_ms;
}
