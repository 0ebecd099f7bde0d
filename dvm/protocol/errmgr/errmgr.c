/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of losses. */
#include "dvm/protocol/errmgr/errmgr.h"

enum errmgr_do errmgr_decide(enum errmgr_who who, enum errmgr_what what)
{
    static const enum errmgr_do table[4][3] = {
        /*                 broke         still gone  said BYE */
        [ERR_MEMBER] = {ERR_WAIT, ERR_LOST, ERR_WAIT},
        [ERR_JOINING] = {ERR_ROLLBACK, ERR_IGNORE, ERR_ROLLBACK},
        [ERR_LEAVING] = {ERR_DEPARTED, ERR_IGNORE, ERR_DEPARTED},
        [ERR_STRANGER] = {ERR_IGNORE, ERR_IGNORE, ERR_IGNORE},
    };

    return table[who][what];
}
