/* SPDX-License-Identifier: BSD-3-Clause */
/* Broadcasts of the head: ADD, REMOVE, SHUTDOWN, and the snapshot that replaces earlier ones.
 *
 * In: a broadcast from the parent, or at the head from its queue; a snapshot. Out: the same
 * broadcast to the children, the new table of members, one repair pass of the tree, REPORT to the
 * head after a removal, actions that make other modules forget a member.
 *
 * Invariants: broadcasts are processed once each, in the order of their numbers. Each is
 * forwarded before it is applied, so a child that it removes receives it. One broadcast causes one
 * repair pass, whatever its number of targets. A daemon that a shrink removes sends LEFT for itself
 * and for children whose GONE the head may not have. It closes its links, and parks or ends when
 * its LEFT is known. A daemon that is declared lost joins anew.
 *
 * Failures: a number out of order is dropped, since the lifeline replays the missing ones.
 * A malformed snapshot closes the link that carried it. */
#include "dvm/protocol/core/core_private.h"

#include "base/log/log.h"

#include <stdlib.h>
#include <utlist.h>

void apply_forget_peer(struct core *c, uint32_t vpid, enum remove_why why)
{
    struct out_act *act;

    rml_forget(c->rml, vpid);
    gather_lost(c->gather, vpid);
    client_member_gone(c, vpid);
    act = out_add(&c->out, OUT_MEMBER_GONE);
    act->member_gone.vpid = vpid;
    act->member_gone.why = why;
    if (why == REMOVE_LOST && members_get(&c->members, vpid))
        act->member_gone.host = members_host(&c->members, vpid);
}

static bool names_us(const struct core *c, const struct msg_remove *m)
{
    for (size_t i = 0; i < m->ntargets; i++) {
        if (m->targets[i].vpid == c->opts.vpid && epoch_eq(m->targets[i].epoch, c->self.epoch))
            return true;
    }
    return false;
}

static void await_child(struct core *c, struct neighbour *k)
{
    if (k->state == NEIGHBOUR_CUT && origin_was_child(c, k->vpid)) /* else it has another parent */
        neigh_tell_departure(c, (struct msg_departed){{k->vpid, k->epoch}, .link_closed = true});
    if (k->left || k->state == NEIGHBOUR_CUT)
        neigh_bye(c, k);
    else
        k->leaves_by = c->out.now_ms + c->opts.leave_ms;
}

/* A child that has left gets BYE, the answer to its LEFT. One whose link is broken counts as gone:
 * it has ended, or it learns when it calls again that it was removed. */
static void await_leaving(struct core *c, const struct msg_remove *m)
{
    struct neighbour *k, *tmp;

    DL_FOREACH_SAFE(neighbours_first(c->neighbours), k, tmp)
    {
        for (size_t i = 0; i < m->ntargets; i++) {
            if (k->incoming && k->vpid == m->targets[i].vpid &&
                epoch_eq(k->epoch, m->targets[i].epoch)) {
                await_child(c, k);
                break;
            }
        }
    }
}

/* Links of lost members are closed. If a member was only silent, its next message is answered
 * with EPOCH_OVER. */
static void close_lost(struct core *c, const struct msg_remove *m)
{
    struct msg no = {.type = MSG_REFUSE, .refuse = {REFUSE_EPOCH_OVER, "declared lost"}};
    struct neighbour *k, *tmp;

    DL_FOREACH_SAFE(neighbours_first(c->neighbours), k, tmp)
    {
        for (size_t i = 0; i < m->ntargets; i++) {
            if (k->vpid == m->targets[i].vpid && epoch_eq(k->epoch, m->targets[i].epoch)) {
                neigh_say(c, k, &no);
                if (k->id == c->parent_id)
                    c->parent_id = 0;
                neighbours_close(c->neighbours, k, true);
                break;
            }
        }
    }
}

static int after_leaving(const struct core *c)
{
    return c->opts.park && !c->sigterm ? AFTER_PARK : AFTER_EXIT;
}

/* A report of a child's departure, sent as LEFT. */
static void repeat_departure(void *arg, const uint8_t *data, size_t len)
{
    struct core *c = arg;
    struct neighbour *up = neighbours_by_id(c->neighbours, c->parent_id);
    struct cur cur = cur_of(data, len);
    struct frame f;
    struct msg m;

    if (!up || frame_decode(&cur, &f, NULL) < 0 || f.type != MSG_GONE ||
        msg_decode(&cur, f.type, &m, NULL) < 0)
        return;
    neigh_say(c, up, &(struct msg){.type = MSG_LEFT, .left = m.gone});
    msg_free(&m);
}

/* The head refuses messages of this epoch from now on. A GONE may still be on its way to it, so the
 * parent is asked to report these departures too. The head counts each departure once. */
static void leave_dvm(struct core *c, const struct msg_remove *m)
{
    struct msg left = {.type = MSG_LEFT, .left = {.who = {c->opts.vpid, c->self.epoch}}};
    struct neighbour *up = neighbours_by_id(c->neighbours, c->parent_id);

    if (up)
        neigh_say(c, up, &left);
    rml_each_unacked(c->rml, VPID_HEAD, CLASS_CONTROL, repeat_departure, c);
    await_leaving(c, m);
    core_set_state(c, CORE_LEAVING, "leaving the DVM: shrink %s", m->text);
    client_turn_away_all(c, "left the DVM");
    finish_start(c, after_leaving(c), "left the DVM");
}

/* The daemons below have not received the command from us either: they get it over another link. */
void apply_left(struct core *c, const char *why)
{
    struct neighbour *k, *tmp;

    core_set_state(c, CORE_LEAVING, "leaving the DVM: %s", why);
    DL_FOREACH_SAFE(neighbours_first(c->neighbours), k, tmp)
    {
        if (k->incoming && neighbour_is_greeted(k))
            neigh_bye(c, k);
    }
    finish_start(c, after_leaving(c), "left the DVM");
}

/* The head declares a member lost that sends no REPORT. */
static void report_removal(struct core *c)
{
    struct msg m = {
        .type = MSG_REPORT,
        .report = {.version = c->members.version, .repairs = (uint32_t)c->members.repairs}};

    if (!core_is_head(c))
        core_send(c, VPID_HEAD, CLASS_CONTROL, &m);
}

static void apply_remove(struct core *c, const struct msg_remove *m)
{
    bool shrink = m->why == REMOVE_SHRINK;

    if (names_us(c, m)) {
        if (shrink)
            leave_dvm(c, m);
        else
            core_reset(c, "declared lost by the head");
        return;
    }
    for (size_t i = 0; i < m->ntargets; i++)
        apply_forget_peer(c, m->targets[i].vpid, m->why);
    if (shrink)
        await_leaving(c, m);
    else
        close_lost(c, m);
    report_removal(c);
}

/* New daemons get the table of this operation over the connection on which they called the head. */
static void greet_joiners(struct core *c)
{
    struct neighbour *k, *tmp;

    DL_FOREACH_SAFE(neighbours_first(c->neighbours), k, tmp)
    {
        if (!k->joining || !k->incoming || k->state != NEIGHBOUR_UP ||
            !members_current(&c->members, k->vpid, k->epoch))
            continue;
        k->joining = false;
        greet_snapshot(c, k);
    }
}

static void apply_shutdown(struct core *c, const struct msg_shutdown *m)
{
    if (core_is_head(c))
        return; /* ends when all daemons have processed it */
    core_set_state(c, CORE_ENDING, "the head ends the DVM: %s", m->text);
    local_drop_all(c);
    finish_start(c,
                 m->why == SHUTDOWN_INCARNATION && c->opts.park && !c->sigterm ? AFTER_REJOIN
                 : c->opts.park && !c->sigterm                                 ? AFTER_PARK
                                                                               : AFTER_EXIT,
                 "the DVM has ended");
}

/* At the head the table is what its records say. */
static void change_members(struct core *c, const struct msg *m)
{
    if (core_is_head(c)) {
        head_apply(c->head, m);
        return;
    }
    c->members.version = msg_op(m);
    if (m->type == MSG_ADD)
        members_add(&c->members, m->add.members, m->add.nmembers);
    else if (m->type == MSG_REMOVE)
        members_remove(&c->members, m->remove.targets, m->remove.ntargets,
                       m->remove.why == REMOVE_SHRINK ? MEMBER_EV_REMOVE : MEMBER_EV_LOSE);
}

static bool names_heir(const struct core *c, const struct msg *m)
{
    return m->type == MSG_ADD && m->add.nmembers == 1 && succession_is_near(c, m->add.members);
}

static bool is_later_head(const struct core *c, const struct msg_member *head)
{
    struct epoch known = members_epoch(&c->members, members_get(&c->members, VPID_HEAD));

    return succession_is_near(c, head) && head->epoch.inc == known.inc &&
           head->epoch.ctr > known.ctr;
}

/* A later head has this number for its own ADD: it does not know what this daemon has processed by
 * that number, and the tables differ from there on. */
static bool is_astray(const struct core *c, const struct msg *m)
{
    return msg_op(m) <= c->members.version && names_heir(c, m) && is_later_head(c, m->add.members);
}

static void leave_astray(struct core *c)
{
    core_reset(c, "the head does not know what this daemon has seen of an earlier one");
}

void apply_op(struct core *c, struct msg *m)
{
    struct frame from = rml_from(c->rml);
    struct succession heir = {0};

    if (is_astray(c, m)) {
        leave_astray(c);
        return;
    }
    if (msg_op(m) != c->members.version + 1)
        return; /* processed before, or the lifeline will soon replay it in order */
    xcast_forward(c->xcast, &from, m);
    origin_note_tree(&c->origin, c->members.live);
    if (names_heir(c, m))
        succession_keep(c, &heir);
    change_members(c, m);
    if (heir.near) {
        heads_add(&c->heads, m->add.members[0].epoch.ctr, msg_op(m));
        succession_leave_former(c);
    }
    switch (m->type) {
    case MSG_ADD:
        greet_joiners(c);
        break;
    case MSG_REMOVE:
        apply_remove(c, &m->remove);
        break;
    default:
        apply_shutdown(c, &m->shutdown);
        break;
    }
    if (core_is_head(c))
        head_applied(c->head, m);
    neigh_update(c);
    succession_learn(c, &heir);
}

/* Children would miss the broadcasts that we have skipped. A child that has them ignores the
 * snapshot. */
static void pass_snapshot(struct core *c)
{
    struct neighbour *k, *tmp;

    DL_FOREACH_SAFE(neighbours_first(c->neighbours), k, tmp)
    {
        if (k->incoming && neighbour_is_greeted(k) && !k->joining)
            greet_snapshot(c, k);
    }
}

/* -1, a reason and no change if the table in it is malformed. */
static int apply_snapshot(struct core *c, struct neighbour *k, const struct msg_snapshot *m,
                          struct err *err)
{
    struct members old = c->members;
    struct members now;
    struct succession heir = {0};
    struct msg_member head;
    bool joined = k->joining;

    members_init(&now, c->opts.vpid, m->radix);
    if (members_decode(&now, m->table, m->len, err) < 0) {
        members_free(&now);
        return -1;
    }
    now.repairs = old.repairs;
    now.version = m->op;
    head = (struct msg_member){.vpid = VPID_HEAD,
                               .epoch = members_epoch(&now, members_get(&now, VPID_HEAD))};
    if (!joined && m->op <= old.version) {
        /* the parent may have got it in the place of the broadcasts of a later head */
        if (is_later_head(c, &head))
            leave_astray(c);
        members_free(&now);
        return 0;
    }
    if (!joined && succession_is_near(c, &head))
        succession_keep(c, &heir);
    c->members = now;
    if (joined)
        c->heads = (struct heads){0};
    if (joined || heir.near)
        heads_add(&c->heads, head.epoch.ctr, m->op);
    for (uint32_t v = 0; v < old.n; v++) {
        if (members_live(&old, v) &&
            !members_current(&c->members, v, members_epoch(&old, &old.tab[v])))
            apply_forget_peer(c, v, REMOVE_SHRINK); /* or lost: the table does not show it */
    }
    if (joined)
        origin_note_joined(&c->origin, now.live, c->opts.vpid);
    else
        origin_note_tree(&c->origin, old.live);
    members_free(&old);
    k->joining = false;
    if (!members_current(&c->members, c->opts.vpid, c->self.epoch)) {
        /* lost, or removed by a shrink: the head says which */
        c->ask_head = true;
        c->retry_at = c->out.now_ms;
        succession_drop(&heir);
        return 0;
    }
    if (heir.near)
        succession_leave_former(c);
    pass_snapshot(c);
    neigh_update(c);
    if (!joined) /* the snapshot may replace removals */
        report_removal(c);
    succession_learn(c, &heir);
    return 0;
}

/* The neighbour follows a former head, whose broadcasts have the same numbers as those of the later
 * one that is known here. */
static bool follows_former(const struct core *c, const struct neighbour *k)
{
    return k->knows_head && k->knows_head < members_head(&c->members);
}

static void leave_neighbour(struct core *c, struct neighbour *k)
{
    out_log(&c->out, LOG_LEVEL_WARN, "vpid %u passes on what a former head has broadcast", k->vpid);
    c->stale++;
    c->ask_head = true;
    neigh_bye(c, k);
    neigh_end(c, k, "it follows a former head");
}

/* Only daemons that have the table of members apply broadcasts. */
static void take_op(struct core *c, struct neighbour *k, struct msg *m)
{
    if (core_is_head(c) || k->joining)
        return;
    if (follows_former(c, k) && !(names_heir(c, m) && is_later_head(c, m->add.members)))
        leave_neighbour(c, k);
    else
        apply_op(c, m);
}

static void take_snapshot(struct core *c, struct neighbour *k, struct msg *m)
{
    struct err err = {0};

    if (core_is_head(c))
        return;
    if (!k->joining && follows_former(c, k))
        leave_neighbour(c, k);
    else if (apply_snapshot(c, k, &m->snapshot, &err) < 0)
        conn_refuse_frame(c, k, &err);
}

const struct neighbour_handler apply_handlers[] = {
    {MSG_ADD, NEIGHBOUR_WHEN_GREETED, take_op},
    {MSG_REMOVE, NEIGHBOUR_WHEN_GREETED, take_op},
    {MSG_SHUTDOWN, NEIGHBOUR_WHEN_GREETED, take_op},
    {MSG_SNAPSHOT, NEIGHBOUR_WHEN_GREETED, take_snapshot},
    {0},
};
