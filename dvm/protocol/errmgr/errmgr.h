/* SPDX-License-Identifier: BSD-3-Clause */
/* What the loss of a neighbour means: the one place that decides. */
#ifndef DVM_ERRMGR_ERRMGR_H
#define DVM_ERRMGR_ERRMGR_H

enum errmgr_who {
    ERR_MEMBER,   /* in the tree, in this life */
    ERR_JOINING,  /* admitted, not wired yet */
    ERR_LEAVING,  /* removed by a shrink; its link still stood */
    ERR_STRANGER, /* no life that is known here: an earlier one, or none */
};

enum errmgr_what {
    ERR_LINK_BROKE, /* closed without a word */
    ERR_STILL_GONE, /* and has not come back within the grace */
    ERR_SAID_BYE,   /* closed in order */
};

enum errmgr_do {
    ERR_IGNORE,
    ERR_WAIT,     /* give it the grace to come back */
    ERR_LOST,     /* tell the head: declare it lost, fence its epoch off */
    ERR_ROLLBACK, /* forget the admission */
    ERR_DEPARTED, /* tell the head: it has left as it was told */
};

enum errmgr_do errmgr_decide(enum errmgr_who who, enum errmgr_what what);

#endif
