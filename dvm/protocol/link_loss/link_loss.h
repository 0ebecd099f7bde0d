/* SPDX-License-Identifier: BSD-3-Clause */
/* What follows from the loss of the link to a neighbour: one table, and the one place that decides.
 *
 * In: whose link it was, and how it was lost. Out: what the core does about it. There are no
 * states; the caller keeps the grace of a neighbour that may come back, and asks again at its end.
 *
 * What always holds: a member is declared lost only after its grace; a joiner's admission is
 * forgotten at once; the link of a daemon whose epoch is not known here means nothing.
 *
 * The failure of a rank, or of a job, is decided where jobs are: dvm/protocol/head/jobs. */
#ifndef DVM_LINK_LOSS_LINK_LOSS_H
#define DVM_LINK_LOSS_LINK_LOSS_H

enum link_loss_whose {
    LOSS_OF_MEMBER,   /* in the tree, in its present epoch */
    LOSS_OF_JOINER,   /* admitted, not wired yet */
    LOSS_OF_LEAVER,   /* removed by a shrink; its link was still up */
    LOSS_OF_STRANGER, /* of no epoch that is known here: an earlier one, or none */
};

enum link_loss_how {
    LOSS_BY_BREAK,    /* closed without BYE */
    LOSS_AFTER_GRACE, /* and not made again within the grace */
    LOSS_AFTER_BYE,   /* closed in order */
};

enum link_loss_action {
    LOSS_IGNORE,
    LOSS_WAIT,      /* the neighbour has the grace to come back */
    LOSS_DECLARE,   /* tell the head, which declares the neighbour lost and ends its epoch */
    LOSS_ROLL_BACK, /* forget the admission */
    LOSS_DEPARTED,  /* tell the head: the neighbour has left as it was told */
};

enum link_loss_action link_loss_decide(enum link_loss_whose whose, enum link_loss_how how);

#endif
