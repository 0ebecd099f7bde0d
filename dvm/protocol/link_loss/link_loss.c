/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of lost links. */
#include "dvm/protocol/link_loss/link_loss.h"

enum link_loss_action link_loss_decide(enum link_loss_whose whose, enum link_loss_how how)
{
    static const enum link_loss_action table[5][3] = {
        /*                    by break        after grace   after BYE */
        [LOSS_OF_MEMBER] = {LOSS_WAIT, LOSS_DECLARE, LOSS_WAIT},
        [LOSS_OF_JOINER] = {LOSS_ROLL_BACK, LOSS_IGNORE, LOSS_ROLL_BACK},
        [LOSS_OF_LEAVER] = {LOSS_DEPARTED, LOSS_IGNORE, LOSS_DEPARTED},
        [LOSS_OF_TARGET] = {LOSS_DEPARTED, LOSS_IGNORE, LOSS_IGNORE}, /* BYE: it has a new parent */
        [LOSS_OF_STRANGER] = {LOSS_IGNORE, LOSS_IGNORE, LOSS_IGNORE},
    };

    return table[whose][how];
}
