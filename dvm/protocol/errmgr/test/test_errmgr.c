/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of losses, row by row as docs/graphs/losses.md prints it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/errmgr/errmgr.h"

static void nobody_that_is_known_is_ever_acted_upon(void **state)
{
    for (enum errmgr_what what = ERR_LINK_BROKE; what <= ERR_SAID_BYE; what++)
        assert_int_equal(errmgr_decide(ERR_STRANGER, what), ERR_IGNORE);
}

/* A broken link is not yet a loss, a BYE neither: the daemon may only be moving. */
static void a_member_is_lost_only_after_its_grace(void **state)
{
    assert_int_equal(errmgr_decide(ERR_MEMBER, ERR_LINK_BROKE), ERR_WAIT);
    assert_int_equal(errmgr_decide(ERR_MEMBER, ERR_SAID_BYE), ERR_WAIT);
    assert_int_equal(errmgr_decide(ERR_MEMBER, ERR_STILL_GONE), ERR_LOST);
}

static void who_is_not_wired_yet_is_forgotten_and_never_lost(void **state)
{
    assert_int_equal(errmgr_decide(ERR_JOINING, ERR_LINK_BROKE), ERR_ROLLBACK);
    assert_int_equal(errmgr_decide(ERR_JOINING, ERR_SAID_BYE), ERR_ROLLBACK);
    assert_int_equal(errmgr_decide(ERR_JOINING, ERR_STILL_GONE), ERR_IGNORE);
}

static void who_was_told_to_leave_has_departed_and_is_never_lost(void **state)
{
    assert_int_equal(errmgr_decide(ERR_LEAVING, ERR_LINK_BROKE), ERR_DEPARTED);
    assert_int_equal(errmgr_decide(ERR_LEAVING, ERR_SAID_BYE), ERR_DEPARTED);
    assert_int_equal(errmgr_decide(ERR_LEAVING, ERR_STILL_GONE), ERR_IGNORE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_that_is_known_is_ever_acted_upon),
        cmocka_unit_test(a_member_is_lost_only_after_its_grace),
        cmocka_unit_test(who_is_not_wired_yet_is_forgotten_and_never_lost),
        cmocka_unit_test(who_was_told_to_leave_has_departed_and_is_never_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
