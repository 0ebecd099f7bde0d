/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemons whose report of a departure (GONE) the head believes.
 *
 * In: each membership operation, before it is applied. Out: yes or no for a report (GONE).
 *
 * A daemon that is removed closes its link to its parent, so its parent reports it: the parent in
 * the tree before the removal, or in one of the few trees before that, if the daemon had not
 * changed its parent yet. If that parent was removed as well, the parent of the parent reports
 * both. A daemon whose parents are lost calls the head, which then reports it itself.
 *
 * Invariants: a report of any other daemon changes nothing. A daemon is trusted for the departure
 * of its own children, since it sees their links alone. */
#ifndef DVM_HEAD_MEMBERS_DEPARTURES_H
#define DVM_HEAD_MEMBERS_DEPARTURES_H

#include "dvm/protocol/member/member.h"

struct departures;

struct departures *departures_create(const struct members *members); /* borrowed */
void departures_destroy(struct departures *d);
/* The operation is about to be applied. */
void departures_note(struct departures *d, const struct msg *op);
/* A new head begins: the parents of members that are leaving, in the tree with all of them. */
void departures_succeed(struct departures *d);
bool departures_may_report(const struct departures *d, uint32_t from, struct msg_target who);

#endif
