/* SPDX-License-Identifier: BSD-3-Clause */
/* The tree: agreement, healing and the fan-out bound, over random sets of live vpids. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/tree/tree.h"

#include <stdlib.h>

#define N 300

static hwloc_bitmap_t random_live(unsigned *seed, unsigned percent)
{
    hwloc_bitmap_t live = hwloc_bitmap_alloc();

    hwloc_bitmap_set(live, 0);
    for (unsigned v = 1; v < N; v++) {
        if ((unsigned)rand_r(seed) % 100 < percent)
            hwloc_bitmap_set(live, v);
    }
    return live;
}

static unsigned levels(uint32_t radix)
{
    unsigned n = 1;

    for (uint64_t v = N; v > 0; v = (v - 1) / radix)
        n++;
    return n;
}

static void check_tree(const struct tree *t)
{
    uint32_t children[N];
    unsigned seen = 0;
    unsigned v;

    hwloc_bitmap_foreach_begin(v, t->live)
    {
        size_t n = tree_children(t, v, children, N);

        assert_true(n <= t->radix + levels(t->radix) * (t->radix - 1));
        for (size_t i = 0; i < n; i++)
            assert_int_equal(tree_parent(t, children[i]), v);
        seen += (unsigned)n;
        assert_true(tree_depth(t, v) < levels(t->radix));
    }
    hwloc_bitmap_foreach_end();
    assert_int_equal(seen + 1, hwloc_bitmap_weight(t->live));
}

static void every_live_vpid_has_one_parent_and_the_fan_out_is_bounded(void **state)
{
    static const uint32_t radixes[] = {2, 3, 32, 64};
    unsigned seed = 7;

    for (size_t r = 0; r < 4; r++) {
        for (unsigned percent = 0; percent <= 100; percent += 5) {
            hwloc_bitmap_t live = random_live(&seed, percent);
            struct tree t = {live, radixes[r]};

            check_tree(&t);
            hwloc_bitmap_free(live);
        }
    }
}

static void every_route_reaches_its_end_over_neighbours(void **state)
{
    unsigned seed = 11;
    hwloc_bitmap_t live = random_live(&seed, 40);
    struct tree t = {live, 2};
    unsigned a, b;

    hwloc_bitmap_foreach_begin(a, live)
    {
        hwloc_bitmap_foreach_begin(b, live)
        {
            uint32_t at = a;
            unsigned hops = 0;

            while (at != b) {
                uint32_t next = tree_next_hop(&t, at, b);

                assert_true(next == tree_parent(&t, at) || tree_parent(&t, next) == at);
                at = next;
                assert_true(++hops < 2 * levels(2));
            }
        }
        hwloc_bitmap_foreach_end();
    }
    hwloc_bitmap_foreach_end();
    hwloc_bitmap_free(live);
}

static void a_vpid_that_is_not_live_has_no_route(void **state)
{
    hwloc_bitmap_t live = hwloc_bitmap_alloc();
    struct tree t = {live, 2};

    hwloc_bitmap_set_range(live, 0, 6);
    hwloc_bitmap_clr(live, 4);
    assert_int_equal(tree_next_hop(&t, 0, 4), TREE_NONE);
    assert_int_equal(tree_next_hop(&t, 4, 0), TREE_NONE);
    assert_int_equal(tree_next_hop(&t, 0, 0), TREE_NONE);
    hwloc_bitmap_free(live);
}

static void a_first_child_takes_its_missing_parents_place_until_that_returns(void **state)
{
    hwloc_bitmap_t live = hwloc_bitmap_alloc();
    struct tree t = {live, 2};
    uint32_t c[4];

    hwloc_bitmap_set_range(live, 0, 6); /* 0: 1 2, 1: 3 4, 2: 5 6 */
    hwloc_bitmap_clr(live, 1);
    assert_int_equal(tree_parent(&t, 3), 0);
    assert_int_equal(tree_parent(&t, 4), 3);
    assert_int_equal(tree_children(&t, 0, c, 4), 2);
    assert_int_equal(c[0], 3);
    assert_int_equal(c[1], 2);
    hwloc_bitmap_set(live, 1);
    assert_int_equal(tree_parent(&t, 3), 1);
    assert_int_equal(tree_parent(&t, 4), 1);
    hwloc_bitmap_free(live);
}

/* The definition, written without optimization: which vpid fills each position, found by walking
 * all of them. */
static uint32_t occupant_by_definition(const struct tree *t, uint32_t pos)
{
    if (pos >= N)
        return TREE_NONE;
    if (hwloc_bitmap_isset(t->live, pos))
        return pos;
    for (uint64_t child = (uint64_t)pos * t->radix + 1;
         child <= (uint64_t)pos * t->radix + t->radix; child++) {
        uint32_t who = child < N ? occupant_by_definition(t, (uint32_t)child) : TREE_NONE;

        if (who != TREE_NONE)
            return who;
    }
    return TREE_NONE;
}

/* How many positions above its own a vpid fills. */
static uint32_t promoted(const struct tree *t, uint32_t vpid, uint32_t *top)
{
    uint32_t h = 0;

    *top = vpid;
    while (*top > 0 && occupant_by_definition(t, (*top - 1) / t->radix) == vpid) {
        *top = (*top - 1) / t->radix;
        h++;
    }
    return h;
}

static void assert_is_the_definition(const struct tree *t)
{
    uint32_t children[N];
    unsigned v;

    hwloc_bitmap_foreach_begin(v, t->live)
    {
        uint32_t top;
        uint32_t h = promoted(t, v, &top);
        size_t n = tree_children(t, v, children, N);

        assert_int_equal(tree_parent(t, v),
                         top == 0 ? TREE_NONE : occupant_by_definition(t, (top - 1) / t->radix));
        assert_true(n <= t->radix + (size_t)h * (t->radix - 1)); /* the bound of the header */
    }
    hwloc_bitmap_foreach_end();
}

static uint32_t level_of(uint64_t pos, uint32_t radix)
{
    uint32_t level = 0;

    for (; pos > 0; pos = (pos - 1) / radix)
        level++;
    return level;
}

/* The bound that the header states for a tree whose deepest vpid is on level `depth`. */
static size_t bound_of(uint32_t radix, uint32_t depth)
{
    return radix + (depth > 2 ? (size_t)(depth - 2) * (radix - 1) : 0);
}

static size_t most_children(const struct tree *t)
{
    size_t most = 0;
    unsigned v;

    hwloc_bitmap_foreach_begin(v, t->live)
    {
        size_t n = tree_children(t, v, NULL, 0);

        most = n > most ? n : most;
    }
    hwloc_bitmap_foreach_end();
    return most;
}

static void no_live_set_passes_the_bound_on_the_fan_out(void **state)
{
    static const struct {
        uint32_t radix, n, rounds;
    } sizes[] = {{2, 300, 60}, {3, 400, 60}, {32, 5000, 6}, {64, 5000, 6}};
    unsigned seed = 5;

    for (size_t i = 0; i < 4; i++) {
        for (uint32_t round = 0; round < sizes[i].rounds; round++) {
            hwloc_bitmap_t live = hwloc_bitmap_alloc();
            struct tree t = {live, sizes[i].radix};
            unsigned percent = 1 + round * 100 / sizes[i].rounds;
            uint32_t depth;

            hwloc_bitmap_set(live, 0);
            for (uint32_t v = 1; v < sizes[i].n; v++) {
                if ((unsigned)rand_r(&seed) % 100 < percent)
                    hwloc_bitmap_set(live, v);
            }
            depth = level_of((uint64_t)hwloc_bitmap_last(live), sizes[i].radix);
            assert_true(most_children(&t) <= bound_of(sizes[i].radix, depth));
            hwloc_bitmap_free(live);
        }
    }
}

/* All vpids live but the first ones of each level down to the last but two. The first one of the
 * last level but one inherits all of their children, and has its own. */
static void one_live_set_reaches_the_bound_on_the_fan_out(void **state)
{
    static const struct {
        uint32_t radix, depth;
    } sizes[] = {{2, 8}, {3, 5}, {32, 3}, {64, 3}, {64, 2}, {2, 2}};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        hwloc_bitmap_t live = hwloc_bitmap_alloc();
        struct tree t = {live, sizes[i].radix};
        uint32_t first = 0;
        uint32_t last = 0;

        for (uint32_t level = 1; level <= sizes[i].depth; level++)
            last = last * t.radix + t.radix;
        hwloc_bitmap_set_range(live, 0, (int)last);
        for (uint32_t level = 1; level < sizes[i].depth; level++) {
            first = first * t.radix + 1;
            if (level + 1 < sizes[i].depth)
                hwloc_bitmap_clr(live, first);
        }
        assert_int_equal(level_of(last, t.radix), sizes[i].depth);
        assert_int_equal(tree_children(&t, first, NULL, 0), bound_of(t.radix, sizes[i].depth));
        assert_int_equal(tree_parent(&t, first), 0);
        hwloc_bitmap_free(live);
    }
}

/* Vpids leave in batches and come back one by one, in any order, also below missing ones. */
static void after_any_removal_and_revival_the_tree_is_that_of_its_live_set(void **state)
{
    static const uint32_t radixes[] = {2, 3, 32, 64};
    unsigned seed = 3;

    for (size_t r = 0; r < 4; r++) {
        hwloc_bitmap_t live = hwloc_bitmap_alloc();
        struct tree t = {live, radixes[r]};

        hwloc_bitmap_set_range(live, 0, N - 1);
        for (int round = 0; round < 30; round++) {
            for (int i = 0; i < N / 3; i++)
                hwloc_bitmap_clr(live, 1 + (unsigned)rand_r(&seed) % (N - 1));
            assert_is_the_definition(&t);
            for (int i = 0; i < N / 4; i++) {
                hwloc_bitmap_set(live, 1 + (unsigned)rand_r(&seed) % (N - 1));
                if (i % 16 == 0)
                    assert_is_the_definition(&t);
            }
        }
        hwloc_bitmap_free(live);
    }
}

static void a_short_list_of_children_is_filled_and_counted_whole(void **state)
{
    hwloc_bitmap_t live = hwloc_bitmap_alloc();
    struct tree t = {live, 64};
    uint32_t c[3] = {0, 0, 77};

    hwloc_bitmap_set_range(live, 0, 20);
    assert_int_equal(tree_children(&t, 0, NULL, 0), 20);
    assert_int_equal(tree_children(&t, 0, c, 2), 20);
    assert_int_equal(c[1], 2);
    assert_int_equal(c[2], 77);
    assert_int_equal(tree_parent(&t, 0), TREE_NONE);
    assert_int_equal(tree_depth(&t, 0), 0);
    assert_int_equal(tree_depth(&t, 20), 1);
    hwloc_bitmap_free(live);
}

/* The highest vpid there can be, at the narrowest radix: the deepest tree. */
static void the_head_alone_with_the_highest_vpid_is_its_parent(void **state)
{
    hwloc_bitmap_t live = hwloc_bitmap_alloc();
    struct tree t = {live, 2};

    hwloc_bitmap_set(live, 0);
    hwloc_bitmap_set(live, 1048575);
    assert_int_equal(tree_parent(&t, 1048575), 0);
    assert_int_equal(tree_children(&t, 0, NULL, 0), 1);
    assert_int_equal(tree_next_hop(&t, 0, 1048575), 1048575);
    hwloc_bitmap_free(live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_vpid_that_is_not_live_has_no_route),
        cmocka_unit_test(a_first_child_takes_its_missing_parents_place_until_that_returns),
        cmocka_unit_test(every_live_vpid_has_one_parent_and_the_fan_out_is_bounded),
        cmocka_unit_test(no_live_set_passes_the_bound_on_the_fan_out),
        cmocka_unit_test(one_live_set_reaches_the_bound_on_the_fan_out),
        cmocka_unit_test(after_any_removal_and_revival_the_tree_is_that_of_its_live_set),
        cmocka_unit_test(a_short_list_of_children_is_filled_and_counted_whole),
        cmocka_unit_test(the_head_alone_with_the_highest_vpid_is_its_parent),
        cmocka_unit_test(every_route_reaches_its_end_over_neighbours),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
