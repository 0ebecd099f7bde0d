/* SPDX-License-Identifier: BSD-3-Clause */
/* Each invariant can fail: with a deliberate mistake in the protocol the simulator names the
 * expected one within so many seeds; without it the same seeds are clean. Built in build/mutant. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/sim/mutant.h"
#include "dvm/sim/script.h"

#include <stdio.h>
#include <string.h>

#define SEEDS_MAX 300 /* of a row */

struct row {
    const char *mutant, *invariant;
    unsigned seeds; /* so many, */
    unsigned after; /* the first one is that after this */
};

static const struct row rows[] = {
    {"map-to-draining", "mapped-ready", 100, 0},
    {"skip-remap", "no-send-to-leaving", 100, 0},
    {"send-to-leaving", "no-send-to-leaving", 100, 0},
    {"second-event", "one-terminal-event", 100, 0},
    {"no-event", "one-terminal-event", 100, 0},
    {"event-for-nobody", "one-terminal-event", 100, 0},
    {"offer-late", "one-terminal-event", 100, 0},
    {"offer-again", "one-terminal-event", 100, 0},
    {"drains-wait", "one-terminal-event", 100, 0},
    {"release-before-teardown", "fence-sum", 100, 0},
    {"lower-all", "fence-sum", 100, 0},
    {"no-hold", "fence-sum", 100, 0},
    {"forget-hold", "fence-sum", 100, 0},
    {"decrement-twice", "fence-sum", 100, 0},
    {"loss-releases-held", "fence-sum", 100, 0},
    {"asker-untold", "asker-told-once", 100, 0},
    {"asker-told-twice", "asker-told-once", 100, 0},
    {"tell-another", "asker-told-once", 100, 0},
    {"beyond-limits", "asker-within-limits", 100, 0},
    {"tell-the-gone", "asker-told-once", 100, 0},
    {"kick-lost", "queue-moves", 100, 0},
    {"kick-late", "queue-moves", 100, 0},
    {"bound-untried", "queue-moves", 100, 0},
    {"parents-free", "nobody-parked-forever", 100, 300},
    {"keep-held", "nobody-parked-forever", 100, 0},
    {"ended-still-names", "nobody-parked-forever", 100, 0},
    {"new-ones-unused", "nobody-parked-forever", 100, 0},
    {"tree-history", "tree-agreement", 100, 0},
    {"broadcast-per-target", "one-repair", 100, 0},
    {"repair-per-target", "one-repair", 100, 0},
    {"complete-early", "xcast-exactly-once", 100, 0},
    {"handle-before-forward", "xcast-exactly-once", 100, 0},
    {"no-dedup", "link-exactly-once", 100, 0},
    {"keep-backlog", "bounded-backlog", 100, 0},
    {"uncounted-hops", "no-circles", 100, 0},
    {"rejoin-after-left", "left-parks", 300, 0},
    {"departure-unrepeated", "resize-in-time", 100, 3200},
    {"no-grace", "unrelated-loss", 100, 0},
    {"renumber", "bounded-backlog", 100, 0},
    {"left-unanswered", "link-exactly-once", 100, 100},
    {"accept-old-epoch", "stale-epoch", 100, 0},
    {"slot-twice", "slots-balance", 100, 0},
    {"slots-kept", "slots-balance", 100, 0},
    {"cpus-kept", "cpus-balance", 100, 0},
    {"loss-told-again", "loss-once", 200, 600},
    {"loss-ends-held", "unrelated-loss", 100, 200},
    {"loss-ends-batch", "unrelated-loss", 100, 0},
    {"gather-local", "gather-outcome", 300, 0},
    {"gather-some", "gather-outcome", 100, 0},
    {"start-without-files", "files-before-start", 100, 0},
    {"start-early", "files-before-start", 100, 0},
    {"start-unchecked", "checked-before-start", 100, 0},
    {"wire-some", "all-or-nothing", 100, 0},
    {"take-some-back", "all-or-nothing", 300, 0},
    {"fail-untold", "one-terminal-event", 100, 0},
    {"forget-carried", "nobody-starves", 100, 0},
    {"repeat-frames", "link-exactly-once", 100, 0},
    {"out-forever", "mapped-out-comes-back", 100, 0},
    {"no-redial", "mapped-out-comes-back", 100, 0},
    {"one-address", "links-are-spread", 100, 0},
    {"hasty-redial", "calls-back-off", 100, 0},
    {"record-unkept", "journal-is-the-state", 100, 0},
    {"result-unkept", "journal-is-the-state", 100, 0},
    {"map-unkept", "journal-is-the-state", 100, 0},
    {"end-unkept", "journal-is-the-state", 100, 0},
    {"ends-lack", "journal-is-the-state", 100, 0},
    {"snapshot-lacks", "journal-is-the-state", 100, 0},
    {"unrecorded", "journal-is-the-state", 100, 0},
    {"campaign-unkept", "journal-is-the-state", 100, 0},
    {"campaign-unrecorded", "journal-is-the-state", 100, 0},
    {"any-is-head", "nobody-parked-forever", 100, 360},
    {"key-unasked", "unrelated-loss", 100, 0},
    {"head-from-below", "one-terminal-event", 100, 1350},
    {"trust-source", "unrelated-loss", 100, 0},
    {"any-tells-loss", "unrelated-loss", 100, 0},
    {"held-fails", "resize-fails-no-job", 100, 0},
    {"remap-fails", "resize-fails-no-job", 100, 0},
    {"judged-late", "resize-fails-no-job", 100, 0},
    {"wait-ends-jobs", "resize-fails-no-job", 100, 0},
    {"targets-unawaited", "target-has-left", 100, 0},
    {"silent-twice", "resize-in-time", 100, 0},
    {"departed-again", "departed-once", 100, 0},
    {"other-epoch-counts", "departed-once", 100, 0},
    {"hold-one", "fence-amount", 100, 0},
    {"ready-early", "ready-is-true", 100, 0},
    {"heir-ends-jobs", "jobs-survive", 100, 100},
    {"heir-forgets-jobs", "accepted-is-kept", 100, 0},
    {"effects-first", "accepted-is-kept", 100, 0},
    {"heir-same-epoch", "one-head", 100, 0},
    {"start-unrepeated", "nobody-parked-forever", 100, 2000},
    {"ask-unrepeated", "asker-told-once", 100, 0},
    {"cancel-late", "one-terminal-event", 100, 0},
    {"draining-kept", "no-send-to-leaving", 100, 300},
    {"given-back-stays", "runs-once", 100, 0},
    {"values-unkept", "journal-is-the-state", 100, 0},
    {"rejected-counts", "one-terminal-event", 100, 200},
    {"keep-joiner", "tree-agreement", 100, 0},
    {"loss-again", "unrelated-loss", 100, 0},
    {"grow-untold", "one-terminal-event", 100, 0},
    {"grow-twice", "one-terminal-event", 100, 0},
    {"grow-stays", "one-terminal-event", 100, 0},
    {"greeting-unlimited", "tree-agreement", 100, 0},
    {"orphans-believed", "unrelated-loss", 100, 0},
    {"any-tells-gone", "nobody-parked-forever", 100, 800},
    {"heir-unreported", "one-terminal-event", 100, 700},
    {"later-epoch-pays", "slots-balance", 100, 200},
    {"losses-again", "loss-once", 100, 300},
    {"ask-is-new", "asker-told-once", 100, 500},
    {"no-relaunch", "nobody-parked-forever", 100, 230},
};

/* Of these seeds, those whose head has keepers; half of them have a volume too. */
static const struct row keeper_rows[] = {
    {"snapshot-only", "journal-is-the-state", 100, 0},
    {"time-unkept", "journal-is-the-state", 100, 4200},
    {"heir-ends-jobs", "jobs-survive", 100, 0},
    {"heir-forgets-jobs", "accepted-is-kept", 100, 0},
    {"keepers-late", "accepted-is-kept", 100, 1300},
    {"volume-first", "volume-is-last", 300, 0},
    {"volume-untaken", "volume-is-last", 300, 0},
    {"volume-behind", "volume-is-last", 300, 0},
    {"volume-of-others", "volume-is-last", 300, 10600},
    {"volume-appended", "journal-is-the-state", 300, 0},
    {"adopt-none", "jobs-survive", 100, 3500},
    {"epochs-anew", "one-head", 100, 5900},
};

static const char *const invariants[] = {
    "mapped-ready",
    "no-send-to-leaving",
    "one-terminal-event",
    "fence-sum",
    "nobody-parked-forever",
    "tree-agreement",
    "one-repair",
    "xcast-exactly-once",
    "link-exactly-once",
    "mapped-out-comes-back",
    "links-are-spread",
    "calls-back-off",
    "stale-epoch",
    "slots-balance",
    "cpus-balance",
    "nobody-starves",
    "queue-moves",
    "unrelated-loss",
    "all-or-nothing",
    "no-circles",
    "left-parks",
    "resize-in-time",
    "bounded-backlog",
    "gather-outcome",
    "files-before-start",
    "checked-before-start",
    "loss-once",
    "journal-is-the-state",
    "resize-fails-no-job",
    "target-has-left",
    "departed-once",
    "fence-amount",
    "ready-is-true",
    "jobs-survive",
    "accepted-is-kept",
    "runs-once",
    "one-head",
    "volume-is-last",
};

#define ROWS (sizeof(rows) / sizeof(*rows))
#define KEEPER_ROWS (sizeof(keeper_rows) / sizeof(*keeper_rows))
#define INVARIANTS (sizeof(invariants) / sizeof(*invariants))

static struct script_result run_schedule(unsigned seed, bool keepers)
{
    struct script_opts o = {.seed = seed, .keepers = keepers};
    struct script_result r;

    memset(&r, 0, sizeof(r));
    if (!keepers || heir_has_keepers(seed))
        script_run(&o, &r);
    return r;
}

static void find_named(const struct row *row, bool keepers)
{
    struct err err = {0};

    if (mutant_choose(row->mutant, &err) < 0)
        fail_msg("%s", err.msg);
    for (unsigned seed = row->after + 1; seed <= row->after + row->seeds; seed++) {
        struct script_result r = run_schedule(seed, keepers);

        if (strcmp(r.name, row->invariant) != 0)
            continue;
        print_message("%s: %s by seed %u: %s\n", row->mutant, r.name, seed, r.text);
        return;
    }
    fail_msg("%s: no seed of %u names %s", row->mutant, row->seeds, row->invariant);
}

static void is_named(void **state)
{
    find_named(*state, false);
}

static void is_named_with_keepers(void **state)
{
    find_named(*state, true);
}

static size_t count_rows(const char *invariant)
{
    size_t n = 0;

    for (size_t r = 0; r < ROWS; r++)
        n += strcmp(rows[r].invariant, invariant) == 0;
    for (size_t r = 0; r < KEEPER_ROWS; r++)
        n += strcmp(keeper_rows[r].invariant, invariant) == 0;
    return n;
}

static void each_invariant_has_a_mutant(void **state)
{
    for (size_t i = 0; i < INVARIANTS; i++) {
        if (count_rows(invariants[i]) == 0)
            fail_msg("no mutant is expected to violate %s", invariants[i]);
    }
}

static void are_clean(unsigned after, unsigned n, bool keepers)
{
    assert_true(n <= SEEDS_MAX);
    for (unsigned seed = after + 1; seed <= after + n; seed++) {
        struct script_result r = run_schedule(seed, keepers);

        if (*r.name)
            fail_msg("seed %u: %s: %s", seed, r.name, r.text);
    }
}

static void without_a_mutant_the_same_seeds_are_clean(void **state)
{
    unsigned most = 0;

    assert_int_equal(mutant_choose(NULL, NULL), 0);
    for (size_t r = 0; r < ROWS; r++) {
        if (rows[r].after)
            are_clean(rows[r].after, rows[r].seeds, false);
        else
            most = rows[r].seeds > most ? rows[r].seeds : most;
    }
    are_clean(0, most, false);
    for (size_t r = 0; r < KEEPER_ROWS; r++)
        are_clean(keeper_rows[r].after, keeper_rows[r].seeds, true);
}

static void a_misspelt_mutant_is_refused(void **state)
{
    struct err err = {0};

    assert_int_equal(mutant_choose("skip-remaps", &err), -1);
    assert_string_equal(err.msg, "there is no mutant skip-remaps");
}

int main(void)
{
    static char names[ROWS + KEEPER_ROWS][96];
    struct CMUnitTest tests[ROWS + KEEPER_ROWS + 4] = {
        cmocka_unit_test(a_misspelt_mutant_is_refused),
        cmocka_unit_test(each_invariant_has_a_mutant),
        cmocka_unit_test(without_a_mutant_the_same_seeds_are_clean),
    };

    for (size_t r = 0; r < ROWS + KEEPER_ROWS; r++) {
        const struct row *row = r < ROWS ? &rows[r] : &keeper_rows[r - ROWS];

        snprintf(names[r], sizeof(names[r]), "%s is named as %s", row->mutant, row->invariant);
        tests[4 + r] = (struct CMUnitTest){names[r], r < ROWS ? is_named : is_named_with_keepers,
                                           NULL, NULL, (void *)row};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
