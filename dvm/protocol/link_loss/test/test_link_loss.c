/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of losses, row by row as docs/graphs/losses.md prints it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/link_loss/link_loss.h"

static void the_loss_of_an_unknown_peer_is_ignored(void **state)
{
    for (enum link_loss_how what = LOSS_BY_BREAK; what <= LOSS_AFTER_BYE; what++)
        assert_int_equal(link_loss_decide(LOSS_OF_STRANGER, what), LOSS_IGNORE);
}

/* A broken link is not yet a loss, and neither is a BYE: the daemon may only be moving. */
static void a_member_is_lost_only_after_its_grace(void **state)
{
    assert_int_equal(link_loss_decide(LOSS_OF_MEMBER, LOSS_BY_BREAK), LOSS_WAIT);
    assert_int_equal(link_loss_decide(LOSS_OF_MEMBER, LOSS_AFTER_BYE), LOSS_WAIT);
    assert_int_equal(link_loss_decide(LOSS_OF_MEMBER, LOSS_AFTER_GRACE), LOSS_DECLARE);
}

static void a_daemon_that_is_not_wired_yet_is_forgotten_and_never_lost(void **state)
{
    assert_int_equal(link_loss_decide(LOSS_OF_JOINER, LOSS_BY_BREAK), LOSS_ROLL_BACK);
    assert_int_equal(link_loss_decide(LOSS_OF_JOINER, LOSS_AFTER_BYE), LOSS_ROLL_BACK);
    assert_int_equal(link_loss_decide(LOSS_OF_JOINER, LOSS_AFTER_GRACE), LOSS_IGNORE);
}

static void a_removed_daemon_that_has_reported_it_has_departed_and_is_never_lost(void **state)
{
    assert_int_equal(link_loss_decide(LOSS_OF_LEAVER, LOSS_BY_BREAK), LOSS_DEPARTED);
    assert_int_equal(link_loss_decide(LOSS_OF_LEAVER, LOSS_AFTER_BYE), LOSS_DEPARTED);
    assert_int_equal(link_loss_decide(LOSS_OF_LEAVER, LOSS_AFTER_GRACE), LOSS_IGNORE);
}

/* It may say BYE to a former parent because it has another one. */
static void a_removed_daemon_whose_link_breaks_has_departed(void **state)
{
    assert_int_equal(link_loss_decide(LOSS_OF_TARGET, LOSS_BY_BREAK), LOSS_DEPARTED);
    assert_int_equal(link_loss_decide(LOSS_OF_TARGET, LOSS_AFTER_BYE), LOSS_IGNORE);
    assert_int_equal(link_loss_decide(LOSS_OF_TARGET, LOSS_AFTER_GRACE), LOSS_IGNORE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loss_of_an_unknown_peer_is_ignored),
        cmocka_unit_test(a_member_is_lost_only_after_its_grace),
        cmocka_unit_test(a_daemon_that_is_not_wired_yet_is_forgotten_and_never_lost),
        cmocka_unit_test(a_removed_daemon_that_has_reported_it_has_departed_and_is_never_lost),
        cmocka_unit_test(a_removed_daemon_whose_link_breaks_has_departed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
