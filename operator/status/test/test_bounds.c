/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the bounds of a status: what the API server would refuse is not in it. With
 * BOUNDS_STATUS set, the largest one is written to that file, for a test against an API server. */
#include "operator/plan/test/large.h"
#include "operator/status/status_private.h"
#include "operator/status/test/built.h"

#define WORDS 64   /* campaigns, and jobs that each of them waits for */
#define RANKS 1000 /* of each job */

static void report(struct fix *f, const char *id, const char *job)
{
    struct api_campaign *c = &f->reported[f->view.ncampaigns++];

    *c = (struct api_campaign){.id = (char *)id, .phase = API_PHASE_DRAINING, .ntargets = 1};
    c->requester.job = (char *)job;
    c->targets = f->reported_targets[0];
    c->targets[0] = 3;
}

/* Ids and numbers are keys of their lists. */
static void what_the_head_reports_twice_is_listed_once(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.record.grants = (struct cluster_grants){.seen = 7};
    report(&f, "release-1", NULL);
    report(&f, "release-1", NULL);
    report(&f, "alloc-7", "job");
    report(&f, "alloc-7", "job");
    json_t *s = build_status(&f);
    const json_t *grants = json_object_get(s, "grants");
    assert_int_equal(json_array_size(json_object_get(s, "releases")), 2);
    assert_int_equal(json_array_size(json_object_get(grants, "owners")), 1);
    json_decref(s);
}

/* `two`: one or two characters, which are repeated. */
static char *long_text(size_t n, const char *two)
{
    char *text = xcalloc(1, n + 1);

    for (size_t i = 0; i < n; i++)
        text[i] = two[i % 2];
    return text;
}

struct words {
    char *name, *sentence;
    uint32_t ranks[RANKS];
    struct api_job_ref jobs[WORDS];
    struct api_campaign campaigns[WORDS];
    char ids[WORDS][32];
};

/* What a head says at most: campaigns of others whose drains wait for jobs and have ended jobs. */
static void fill_words(struct words *w, struct large *l)
{
    for (uint32_t i = 0; i < RANKS; i++)
        w->ranks[i] = 100000 + i;
    for (size_t i = 0; i < WORDS; i++) {
        w->jobs[i] = (struct api_job_ref){.job = w->name, .nranks = RANKS, .ranks = w->ranks};
        snprintf(w->ids[i], sizeof(w->ids[i]), "release-%zu", i);
        w->campaigns[i] = (struct api_campaign){.id = w->ids[i],
                                                .phase = API_PHASE_DRAINING,
                                                .requester = {.job = w->name},
                                                .ntargets = WORDS,
                                                .targets = w->ranks,
                                                .nwaiting = WORDS,
                                                .waiting = w->jobs,
                                                .nended = WORDS,
                                                .ended = w->jobs};
    }
    l->view.campaigns = w->campaigns;
    l->view.ncampaigns = WORDS;
    json_t *losses = json_array();
    for (int i = 1; i <= WORDS; i++)
        json_array_append_new(losses, json_pack("{s:i, s:s, s:s}", "vpid", i, "cause", w->sentence,
                                                "time", "2026-01-01T00:00:00Z"));
    l->in.news.losses = losses;
}

static void fill_campaign(struct cluster_campaign *c, const struct words *w)
{
    *c = (struct cluster_campaign){.present = true,
                                   .id = "shrink-1-01234567",
                                   .sequence = 1,
                                   .first = 60000,
                                   .last = 65535,
                                   .generation = 1,
                                   .drain = {.deadline_s = -1},
                                   .waiting = cluster_jobs_encode(w->jobs, WORDS),
                                   .ended = cluster_jobs_encode(w->jobs, WORDS)};
}

static size_t ranks_of(const json_t *o)
{
    const json_t *list[] = {json_object_get(o, "waitingFor"), json_object_get(o, "endedJobs")};
    size_t n = 0;

    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < json_array_size(list[k]); i++)
            n += json_array_size(json_object_get(json_array_get(list[k], i), "ranks"));
    }
    return n;
}

static void write_status(const json_t *status)
{
    const char *path = getenv("BOUNDS_STATUS");

    if (path)
        assert_int_equal(json_dump_file(status, path, JSON_COMPACT), 0);
}

static void assert_bounded(const json_t *s)
{
    const json_t *releases = json_object_get(s, "releases");
    size_t ranks = ranks_of(json_object_get(s, "campaign"));

    assert_in_range(json_dumpb(s, NULL, 0, JSON_COMPACT), STATUS_BYTES_MAX / 4, STATUS_BYTES_MAX);
    for (size_t i = 0; i < json_array_size(releases); i++)
        ranks += ranks_of(json_array_get(releases, i));
    assert_in_range(ranks, 1, STATUS_RANKS_MAX);
    assert_in_range(json_array_size(releases), 1, WORDS);
    assert_in_range(json_array_size(json_object_get(s, "losses")), 1, 16);
}

/* The numbers by which the operator goes on after a restart stay. */
static void the_words_of_64_campaigns_of_65535_members_are_cut_to_64_kib(void **state)
{
    struct large l;
    struct words *w = xcalloc(1, sizeof(*w));

    w->name = long_text(API_NAME_MAX, "aa");
    w->sentence = long_text(5000, "\xc3\xa4");
    large_settle(&l, 65535);
    fill_words(w, &l);
    struct plan p = {.target = 65535, .record = l.c.record};
    fill_campaign(&p.record.campaign, w);
    struct status_trouble trouble = {.reason = REASON_TEMPLATE_REFUSED};
    memset(trouble.message, 'a', sizeof(trouble.message) - 1);
    json_t *s = status_build(&l.in, &p, &trouble), *again = status_build(&l.in, &p, &trouble);
    assert_bounded(s);
    assert_true(json_equal(s, again));
    struct cluster_record record = p.record;
    record.campaign.waiting = record.campaign.ended = NULL;
    json_t *kept = cluster_record_encode(&record), *part;
    const char *key;
    json_object_foreach(kept, key, part)
    {
        assert_true(json_is_object(part) ? json_is_object(json_object_get(s, key))
                                         : json_equal(part, json_object_get(s, key)));
    }
    write_status(s);
    json_decref(kept);
    json_decref(s);
    json_decref(again);
    json_decref((json_t *)l.in.news.losses);
    cluster_campaign_clear(&p.record.campaign);
    large_free(&l);
    free(w->name);
    free(w->sentence);
    free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_words_of_64_campaigns_of_65535_members_are_cut_to_64_kib),
        cmocka_unit_test(what_the_head_reports_twice_is_listed_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
