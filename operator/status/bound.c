/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps a status within STATUS_BYTES_MAX, and each of its texts within the schema of the CRD.
 *
 * In: a whole status. Out: a copy, which is shorter if the status is not within the bounds.
 *
 * It cuts, in this order: texts; ranks beyond STATUS_RANKS_MAX, which all lists of jobs share;
 * lists of jobs, all to the same number of jobs, at least one; other lists of what has happened.
 * Fields from which the operator continues after a restart are never cut: they have less than half
 * of the bound.
 *
 * Invariant: equal statuses are cut equally, so an unchanged status is not written again. */
#include "base/buf/buf.h"
#include "operator/status/status_private.h"

#include <string.h>

static const char *const JOBS[] = {"waitingFor", "endedJobs"};
static const char *const CAMPAIGNS[] = {"campaign", "lastCampaign"};

/* Shortens a text to at most `max` bytes, at the beginning of a character of UTF-8. */
static void cut_text(json_t *text, size_t max)
{
    static const char end[] = "...";
    size_t n = max - (sizeof(end) - 1);
    const char *s = json_string_value(text);

    if (json_string_length(text) <= max)
        return;
    while (n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80)
        n--;
    FREE_AUTO char *cut = xasprintf("%.*s%s", (int)n, s, end);
    json_string_set(text, cut);
}

/* The depth of a status is that of the schema. */
static void cut_texts(json_t *o, size_t max)
{
    const char *key;
    json_t *v;
    size_t i;

    if (json_is_string(o))
        cut_text(o, max);
    json_object_foreach(o, key, v)
    {
        cut_texts(v, strcmp(key, "message") == 0 ? STATUS_MESSAGE_MAX : STATUS_TEXT_MAX);
    }
    json_array_foreach(o, i, v)
    {
        cut_texts(v, max);
    }
}

static void cut_list(json_t *list, size_t max)
{
    while (json_array_size(list) > max)
        json_array_remove(list, json_array_size(list) - 1);
}

static void cut_ranks(json_t *jobs, size_t *left)
{
    json_t *job;
    size_t i;

    json_array_foreach(jobs, i, job)
    {
        json_t *ranks = json_object_get(job, "ranks");

        cut_list(ranks, *left);
        *left -= json_array_size(ranks);
    }
}

typedef void jobs_fn(json_t *jobs, size_t *arg);

static void cut_jobs(json_t *jobs, size_t *max)
{
    cut_list(jobs, *max);
}

/* The running campaign is the first: if something has to go, its words are the last to do so. */
static void for_each_list_of_jobs(json_t *status, jobs_fn *fn, size_t *arg)
{
    json_t *release;
    size_t i;

    for (size_t n = 0; n < 2; n++) {
        for (size_t k = 0; k < 2; k++)
            fn(json_object_get(json_object_get(status, CAMPAIGNS[n]), JOBS[k]), arg);
    }
    json_array_foreach(json_object_get(status, "releases"), i, release)
    {
        for (size_t k = 0; k < 2; k++)
            fn(json_object_get(release, JOBS[k]), arg);
    }
}

static size_t count_bytes(const json_t *status)
{
    return json_dumpb(status, NULL, 0, JSON_COMPACT);
}

/* Losses and ended jobs are cut from the oldest on. */
static void cut_oldest(json_t *list, size_t max)
{
    while (json_array_size(list) > max)
        json_array_remove(list, 0);
}

static void cut_others(json_t *status, size_t max)
{
    cut_list(json_object_get(status, "releases"), max);
    cut_list(json_object_get(json_object_get(status, "grants"), "owners"), max);
    cut_oldest(json_object_get(status, "losses"), max);
    cut_oldest(json_object_get(status, "endedJobs"), max);
}

/* Parts of a status belong to the record too, so it is copied before it is cut. */
json_t *status_bound(json_t *status)
{
    size_t left = STATUS_RANKS_MAX, max = CLUSTER_JOBS_MAX;
    json_t *o = json_deep_copy(status);

    json_decref(status);
    cut_texts(o, STATUS_TEXT_MAX);
    for_each_list_of_jobs(o, cut_ranks, &left);
    while (count_bytes(o) > STATUS_BYTES_MAX && max > 1) {
        max /= 2;
        for_each_list_of_jobs(o, cut_jobs, &max);
    }
    for (max = CLUSTER_JOBS_MAX; count_bytes(o) > STATUS_BYTES_MAX && max > 0; max /= 2)
        cut_others(o, max / 2);
    return o;
}
