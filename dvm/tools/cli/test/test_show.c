/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of what pstat prints. */
#include "dvm/tools/cli/show.h"

#include "base/buf/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct api_dvm_member member(uint32_t vpid, int64_t parent, enum member_state state)
{
    return (struct api_dvm_member){.vpid = vpid,
                                   .epoch = vpid + 1,
                                   .state = state,
                                   .host = "n",
                                   .address = "",
                                   .slots = vpid ? 2 : 0,
                                   .parent = parent};
}

typedef void show_fn(const struct api_dvm *d, FILE *out);

static void assert_shown(show_fn *fn, const struct api_dvm *d, const char *want)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    fn(d, f);
    fclose(f);
    assert_string_equal(text, want);
    free(text);
}

static void vpids_are_shown_as_ranges(void **state)
{
    static const uint32_t v[] = {1, 2, 3, 5, 7, 8};
    FREE_AUTO char *text = show_vpids(v, 6);
    FREE_AUTO char *none = show_vpids(NULL, 0);

    assert_string_equal(text, "1-3,5,7-8");
    assert_string_equal(none, "-");
}

static void the_tree_is_drawn_with_branches(void **state)
{
    struct api_dvm_member m[] = {member(0, -1, MEMBER_WIRED), member(1, 0, MEMBER_WIRED),
                                 member(2, 0, MEMBER_WIRED), member(3, 1, MEMBER_WIRED),
                                 member(4, 1, MEMBER_DRAINING)};
    struct api_dvm d = {.nmembers = 5, .members = m};

    assert_shown(show_tree, &d,
                 "0  n  wired\n"
                 "├─ 1  n  wired  0/2 slots\n"
                 "│  ├─ 3  n  wired  0/2 slots\n"
                 "│  └─ 4  n  draining  0/2 slots\n"
                 "└─ 2  n  wired  0/2 slots\n");
}

static void daemons_without_a_place_are_listed_apart(void **state)
{
    struct api_dvm_member m[] = {member(0, -1, MEMBER_WIRED), member(1, -1, MEMBER_REPORTED)};
    struct api_dvm d = {.nmembers = 2, .members = m};

    assert_shown(show_tree, &d, "0  n  wired\nnot in the tree:\n   1  n  reported  0/2 slots\n");
}

static void a_cycle_in_a_broken_view_ends(void **state)
{
    struct api_dvm_member m[] = {member(0, 1, MEMBER_WIRED), member(1, 0, MEMBER_WIRED),
                                 member(2, 3, MEMBER_WIRED), member(3, 2, MEMBER_WIRED)};
    struct api_dvm d = {.nmembers = 4, .members = m};

    assert_shown(show_tree, &d,
                 "0  n  wired\n└─ 1  n  wired  0/2 slots\nnot in the tree:\n"
                 "   2  n  wired  0/2 slots\n   3  n  wired  0/2 slots\n");
}

static void the_summary_counts_members_without_the_head(void **state)
{
    struct api_dvm_member m[] = {member(0, -1, MEMBER_WIRED), member(1, 0, MEMBER_WIRED),
                                 member(2, 0, MEMBER_LOST)};
    struct api_dvm d = {.incarnation = "5f3a",
                        .cluster = "local/x",
                        .size_members = 2,
                        .version = 3,
                        .nmembers = 3,
                        .members = m};

    assert_shown(show_summary, &d,
                 "DVM local/x: 1 of 2 members wired, 0 of 2 slots in use, version 3, incarnation "
                 "5f3a\n");
}

static void a_raised_fence_names_its_holders(void **state)
{
    struct api_dvm_hold h = {"campaign a", 2};
    struct api_dvm d = {
        .incarnation = "1", .cluster = "c", .fence_total = 2, .nholds = 1, .holds = &h};

    assert_shown(show_summary, &d,
                 "DVM c: 0 of 0 members wired, 0 of 0 slots in use, version 0, incarnation 1\n"
                 "Launch fence up: campaign a (2)\n");
}

static void a_campaign_names_the_daemons_that_it_waits_for(void **state)
{
    uint32_t targets[] = {3, 4};
    uint32_t ranks[] = {2, 3};
    struct api_job_ref waiting = {.job = "5.1", .nranks = 2, .ranks = ranks};
    struct api_campaign c = {.id = "a",
                             .sequence = 7,
                             .phase = API_PHASE_DRAINING,
                             .ntargets = 2,
                             .targets = targets,
                             .nwaiting = 1,
                             .waiting = &waiting};
    struct api_dvm d = {.ncampaigns = 1, .campaigns = &c};

    assert_shown(show_campaigns, &d,
                 "CAMPAIGN  SEQ  KIND    PHASE     TOOK  TARGETS  DEPARTED  WAITING FOR        HAS "
                 "ENDED  ASKED BY\n"
                 "a           7  shrink  Draining     -  3-4      -         job 5.1 ranks 2-3  -   "
                 "       -\n");
}

static void a_campaign_of_an_application_names_its_requester(void **state)
{
    uint32_t targets[] = {3, 4};
    struct api_campaign c[] = {{.id = "alloc-1",
                                .kind = API_KIND_GROW,
                                .phase = API_PHASE_COMPLETE,
                                .requester = {.job = "5.1", .rank = 2},
                                .ntargets = 2,
                                .targets = targets,
                                .ndeparted = 1,
                                .departed = targets + 1},
                               {.id = "alloc-2",
                                .kind = API_KIND_GROW,
                                .phase = API_PHASE_FAILED,
                                .requester = {.job = "5.1"},
                                .ntargets = 2,
                                .targets = targets,
                                .ndeparted = 2,
                                .departed = targets}};
    struct api_dvm d = {.ncampaigns = 2, .campaigns = c};

    assert_shown(
        show_campaigns, &d,
        "CAMPAIGN  SEQ  KIND  PHASE     TOOK  TARGETS  DEPARTED  WAITING FOR  HAS ENDED  ASKED BY\n"
        "alloc-1     0  grow  Complete     -  3-4      -         -            -          job 5.1 "
        "rank 2\n"
        "alloc-2     0  grow  Failed       -  3-4      3-4       -            -          job 5.1 "
        "rank 0\n");
}

static void a_job_is_shown_with_its_reason_and_with_what_it_waits_for(void **state)
{
    static char nspaces[][4] = {"5.1", "5.2", "5.3"};
    static char reason[] = "lost", waits[] = "fence", none[] = "";
    struct api_dvm_job jobs[] = {
        {.id = nspaces[0], .state = JOB_RUNNING, .reason = reason, .waits_for = waits},
        {.id = nspaces[1], .state = JOB_RUNNING, .reason = none, .waits_for = waits},
        {.id = nspaces[2], .state = JOB_RUNNING, .reason = none, .waits_for = none}};
    struct api_dvm d = {.njobs = 3, .jobs = jobs};

    assert_shown(show_jobs, &d,
                 "JOB  STATE    RANKS  VPIDS  EXIT  REASON\n"
                 "5.1  RUNNING      -  -         -  lost; fence\n"
                 "5.2  RUNNING      -  -         -  fence\n"
                 "5.3  RUNNING      -  -         -  -\n");
}

static void the_links_of_a_daemon_are_a_row_for_each_neighbour(void **state)
{
    struct api_link_peer peers[] = {
        {.vpid = 0,
         .role = API_LINK_PARENT,
         .up = 3,
         .mapped_out = 1,
         .round_trip_ms = 7,
         .sent_again = 12,
         .npaths = 2,
         .paths = {{"10.1.0.2", "10.1.0.1", 2, 0, 7}, {"10.2.0.2", "10.2.0.1", 1, 1, 9}}},
        {.vpid = 4,
         .role = API_LINK_CHILD,
         .mapped_out = 1,
         .round_trip_ms = -1,
         .lost = 3,
         .npaths = 1,
         .paths = {{"fd00::2", "fd00::3", 0, 1, -1}}},
        {.vpid = 5, .role = API_LINK_CHILD, .round_trip_ms = -1, .lost = 1}};
    struct api_links l = {.vpid = 1, .npeers = 3, .peers = peers};
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    show_links(&l, f);
    fclose(f);
    assert_string_equal(text,
                        "VPID  ROLE    UP  MAPPED OUT  ROUND TRIP  QUEUED  LOST  SENT AGAIN  "
                        "ADDRESSES\n"
                        "   0  parent   3           1        7 ms       0     0          12  "
                        "10.1.0.2-10.1.0.1 x2, 10.2.0.2-10.2.0.1 x2 (1 out)\n"
                        "   4  child    0           1           -       0     3           0  "
                        "fd00::2-fd00::3 (out)\n"
                        "   5  child    0           0           -       0     1           0  -\n");
    free(text);
}

/* Each text of the view is one that a user, a host or a daemon has chosen. */
static void no_text_of_a_view_acts_on_the_terminal(void **state)
{
    static char bad[] = "\x1b[31m\n\u202e\xc2\x9b";
    static uint32_t vpids[] = {1};
    struct api_job_ref ref = {.job = bad, .nranks = 1, .ranks = vpids};
    struct api_dvm_member m[] = {member(0, -1, MEMBER_WIRED)};
    struct api_dvm_job job = {.id = bad, .state = JOB_VM_READY, .reason = bad, .waits_for = bad};
    struct api_dvm_hold hold = {.name = bad, .count = 1};
    struct api_campaign c = {.id = bad,
                             .cause = bad,
                             .requester = {.job = bad},
                             .nwaiting = 1,
                             .waiting = &ref,
                             .nended = 1,
                             .ended = &ref};
    struct api_event e = {
        .type = API_EVENT_DAEMON_DEPARTED + 1, .has_campaign = true, .campaign = c};
    struct api_dvm d = {.cluster = bad,
                        .nmembers = 1,
                        .members = m,
                        .njobs = 1,
                        .jobs = &job,
                        .ncampaigns = 1,
                        .campaigns = &c,
                        .fence_total = 1,
                        .nholds = 1,
                        .holds = &hold};
    static show_fn *const views[] = {show_summary, show_members, show_tree, show_jobs,
                                     show_campaigns};
    char *text = NULL;
    size_t len, lines = 0;
    FILE *f = open_memstream(&text, &len);

    m[0].host = m[0].address = bad;
    for (size_t i = 0; i < sizeof(views) / sizeof(*views); i++)
        views[i](&d, f);
    show_event(&e, f);
    fclose(f);
    assert_null(strpbrk(text, "\x1b\r"));
    assert_null(strstr(text, "\u202e"));
    assert_null(strstr(text, "\xc2\x9b"));
    for (const char *p = text; *p; p++)
        lines += *p == '\n';
    assert_int_equal(lines, 2 + 2 + 1 + 2 + 2 + 1);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vpids_are_shown_as_ranges),
        cmocka_unit_test(the_tree_is_drawn_with_branches),
        cmocka_unit_test(daemons_without_a_place_are_listed_apart),
        cmocka_unit_test(a_cycle_in_a_broken_view_ends),
        cmocka_unit_test(the_summary_counts_members_without_the_head),
        cmocka_unit_test(a_raised_fence_names_its_holders),
        cmocka_unit_test(a_campaign_names_the_daemons_that_it_waits_for),
        cmocka_unit_test(a_campaign_of_an_application_names_its_requester),
        cmocka_unit_test(no_text_of_a_view_acts_on_the_terminal),
        cmocka_unit_test(a_job_is_shown_with_its_reason_and_with_what_it_waits_for),
        cmocka_unit_test(the_links_of_a_daemon_are_a_row_for_each_neighbour),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
