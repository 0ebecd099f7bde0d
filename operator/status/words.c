/* SPDX-License-Identifier: BSD-3-Clause */
/* Verdicts and the parts of sentences that conditions and Events share. */
#include "base/buf/buf.h"
#include "operator/status/status_private.h"

const char *status_text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    return s ? s : "";
}

struct verdict status_verdict(enum status_value value, enum reason reason, char *message)
{
    return (struct verdict){.value = value, .reason = reason, .message = message};
}

char *status_targets_text(const struct cluster_campaign *c)
{
    if (c->last < c->first)
        return xstrdup("no daemon");
    if (c->last == c->first)
        return xasprintf("daemon %u", c->first);
    return xasprintf("daemons %u to %u", c->first, c->last);
}

char *status_jobs_text(const json_t *jobs)
{
    size_t n = json_array_size(jobs), i;
    const json_t *job;
    char *text = xasprintf("%zu job%s", n, n == 1 ? "" : "s");

    json_array_foreach((json_t *)jobs, i, job)
    {
        FREE_AUTO char *before = text;
        size_t ranks = json_array_size(json_object_get(job, "ranks"));
        const char *name = json_string_value(json_object_get(job, "job"));

        if (i == 3) {
            text = xasprintf("%s, ...", before);
            break;
        }
        text = xasprintf("%s%s %s (%zu rank%s)", before, i ? "," : ":", name ? name : "?", ranks,
                         ranks == 1 ? "" : "s");
    }
    return text;
}
