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
    bool lies;      /* schedules with members that lie */
};

static const struct row rows[] = {
    {"map-to-draining", "mapped-ready", 100, 0, false},
    {"skip-remap", "no-send-to-leaving", 100, 0, false},
    {"send-to-leaving", "no-send-to-leaving", 100, 0, false},
    {"second-event", "one-terminal-event", 100, 0, false},
    {"no-event", "one-terminal-event", 100, 0, false},
    {"event-for-nobody", "one-terminal-event", 100, 0, false},
    {"offer-late", "one-terminal-event", 100, 0, false},
    {"offer-again", "one-terminal-event", 100, 0, false},
    {"drains-wait", "one-terminal-event", 100, 0, false},
    {"release-before-teardown", "fence-sum", 100, 0, false},
    {"lower-all", "fence-sum", 100, 0, false},
    {"no-hold", "fence-sum", 100, 0, false},
    {"forget-hold", "fence-sum", 100, 0, false},
    {"decrement-twice", "fence-sum", 100, 0, false},
    {"loss-releases-held", "fence-sum", 100, 0, false},
    {"asker-untold", "asker-told-once", 100, 0, false},
    {"asker-told-twice", "asker-told-once", 100, 0, false},
    {"tell-another", "asker-told-once", 100, 0, false},
    {"beyond-limits", "asker-within-limits", 100, 0, false},
    {"tell-the-gone", "asker-told-once", 100, 0, false},
    {"keep-held", "nobody-parked-forever", 100, 0, false},
    {"ended-still-names", "nobody-parked-forever", 100, 0, false},
    {"new-ones-unused", "nobody-parked-forever", 100, 0, false},
    {"tree-history", "tree-agreement", 100, 0, false},
    {"broadcast-per-target", "one-repair", 100, 0, false},
    {"repair-per-target", "one-repair", 100, 0, false},
    {"complete-early", "xcast-exactly-once", 100, 0, false},
    {"handle-before-forward", "xcast-exactly-once", 100, 0, false},
    {"no-dedup", "link-exactly-once", 100, 0, false},
    {"keep-backlog", "bounded-backlog", 100, 0, false},
    {"uncounted-hops", "no-circles", 100, 0, false},
    {"rejoin-after-left", "left-parks", 300, 0, false},
    {"departure-unrepeated", "resize-in-time", 100, 750, false},
    {"no-grace", "unrelated-loss", 100, 0, false},
    {"renumber", "bounded-backlog", 100, 0, false},
    {"close-without-bye", "resize-in-time", 100, 0, false},
    {"accept-old-epoch", "stale-epoch", 100, 0, false},
    {"slot-twice", "slots-balance", 100, 0, false},
    {"slots-kept", "slots-balance", 100, 0, false},
    {"cpus-kept", "cpus-balance", 100, 0, false},
    {"no-replay", "nobody-starves", 100, 2200, false},
    {"loss-told-again", "loss-once", 100, 0, false},
    {"loss-ends-held", "unrelated-loss", 300, 0, false},
    {"loss-ends-batch", "unrelated-loss", 100, 0, false},
    {"gather-local", "gather-outcome", 300, 0, false},
    {"gather-some", "gather-outcome", 100, 0, false},
    {"start-without-files", "files-before-start", 100, 0, false},
    {"start-early", "files-before-start", 100, 0, false},
    {"start-unchecked", "checked-before-start", 100, 0, false},
    {"wire-some", "all-or-nothing", 100, 0, false},
    {"take-some-back", "all-or-nothing", 300, 0, false},
    {"fail-untold", "one-terminal-event", 100, 0, false},
    {"forget-carried", "nobody-starves", 100, 0, false},
    {"repeat-frames", "link-exactly-once", 100, 0, false},
    {"out-forever", "mapped-out-comes-back", 100, 0, false},
    {"no-redial", "mapped-out-comes-back", 100, 0, false},
    {"record-unkept", "journal-is-the-state", 100, 0, false},
    {"result-unkept", "journal-is-the-state", 100, 0, false},
    {"snapshot-lacks", "journal-is-the-state", 100, 0, false},
    {"unrecorded", "journal-is-the-state", 100, 0, false},
    {"campaign-unkept", "journal-is-the-state", 100, 0, false},
    {"campaign-unrecorded", "journal-is-the-state", 100, 0, false},
    {"any-is-head", "nobody-parked-forever", 300, 0, true},
    {"head-from-below", "bounded-backlog", 100, 100, true},
    {"trust-source", "unrelated-loss", 100, 0, true},
    {"any-tells-loss", "unrelated-loss", 100, 0, true},
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
    "stale-epoch",
    "slots-balance",
    "cpus-balance",
    "nobody-starves",
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
};

#define ROWS (sizeof(rows) / sizeof(*rows))
#define INVARIANTS (sizeof(invariants) / sizeof(*invariants))

static struct script_result run(unsigned seed, bool lies)
{
    struct script_opts o = {.seed = seed, .lies = lies};
    struct script_result r;

    memset(&r, 0, sizeof(r));
    script_run(&o, &r);
    return r;
}

static void is_named(void **state)
{
    const struct row *row = *state;
    struct err err = {0};

    if (mutant_choose(row->mutant, &err) < 0)
        fail_msg("%s", err.msg);
    for (unsigned seed = row->after + 1; seed <= row->after + row->seeds; seed++) {
        struct script_result r = run(seed, row->lies);

        if (strcmp(r.name, row->invariant) != 0)
            continue;
        print_message("%s: %s by seed %u: %s\n", row->mutant, r.name, seed, r.text);
        return;
    }
    fail_msg("%s: no seed of %u names %s", row->mutant, row->seeds, row->invariant);
}

static void each_invariant_has_a_mutant(void **state)
{
    for (size_t i = 0; i < INVARIANTS; i++) {
        size_t n = 0;

        for (size_t r = 0; r < ROWS; r++)
            n += strcmp(rows[r].invariant, invariants[i]) == 0;
        if (n == 0)
            fail_msg("no mutant is expected to violate %s", invariants[i]);
    }
}

static void are_clean(unsigned after, unsigned n, bool lies)
{
    assert_true(n <= SEEDS_MAX);
    for (unsigned seed = after + 1; seed <= after + n; seed++) {
        struct script_result r = run(seed, lies);

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
            are_clean(rows[r].after, rows[r].seeds, rows[r].lies);
        else
            most = rows[r].seeds > most ? rows[r].seeds : most;
    }
    are_clean(0, most, false);
}

static void a_member_that_lies_harms_nobody(void **state)
{
    assert_int_equal(mutant_choose(NULL, NULL), 0);
    are_clean(0, SEEDS_MAX, true);
}

static void a_misspelt_mutant_is_refused(void **state)
{
    struct err err = {0};

    assert_int_equal(mutant_choose("skip-remaps", &err), -1);
    assert_string_equal(err.msg, "there is no mutant skip-remaps");
}

int main(void)
{
    static char names[ROWS][96];
    struct CMUnitTest tests[ROWS + 4] = {
        cmocka_unit_test(a_misspelt_mutant_is_refused),
        cmocka_unit_test(each_invariant_has_a_mutant),
        cmocka_unit_test(without_a_mutant_the_same_seeds_are_clean),
        cmocka_unit_test(a_member_that_lies_harms_nobody),
    };

    for (size_t r = 0; r < ROWS; r++) {
        snprintf(names[r], sizeof(names[r]), "%s is named as %s", rows[r].mutant,
                 rows[r].invariant);
        tests[4 + r] = (struct CMUnitTest){names[r], is_named, NULL, NULL, (void *)&rows[r]};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
