/* SPDX-License-Identifier: BSD-3-Clause */
/* The meaning of a lost link to a neighbour: one table, and the one place that decides.
 *
 * In: the kind of neighbour, and how the link was lost. Out: the core's next step. There are no
 * states: the caller keeps the grace of a neighbour that may come back, and asks again at its end.
 *
 * Invariants: a member is declared lost only after its grace. The admission of a joiner is
 * forgotten at once. The link of a daemon whose epoch is not known here means nothing.
 *
 * The failure of a rank, or of a job, is decided in dvm/protocol/head/jobs. */
#ifndef DVM_LINK_LOSS_LINK_LOSS_H
#define DVM_LINK_LOSS_LINK_LOSS_H

enum link_loss_whose {
    LOSS_OF_MEMBER,   /* in the tree, in its present epoch */
    LOSS_OF_JOINER,   /* admitted, not wired yet */
    LOSS_OF_LEAVER,   /* removed by a shrink; it has reported so itself */
    LOSS_OF_TARGET,   /* removed by a shrink, and linked then; it has not reported so */
    LOSS_OF_STRANGER, /* of no epoch that is known here, or removed, without a link then */
};

enum link_loss_how {
    LOSS_BY_BREAK,    /* closed without BYE */
    LOSS_AFTER_GRACE, /* and not made again within the grace */
    LOSS_AFTER_BYE,   /* closed in order */
};

enum link_loss_action {
    LOSS_IGNORE,
    LOSS_WAIT,      /* the neighbour has the grace to come back */
    LOSS_DECLARE,   /* report to the head, which declares the neighbour lost and ends its epoch */
    LOSS_ROLL_BACK, /* forget the admission */
    LOSS_DEPARTED,  /* report to the head: the neighbour has left, as a shrink ordered */
};

enum link_loss_action link_loss_decide(enum link_loss_whose whose, enum link_loss_how how);

#endif
