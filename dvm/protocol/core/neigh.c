/* SPDX-License-Identifier: BSD-3-Clause */
/* The links to a daemon's neighbours in the tree, and the consequences of their loss.
 *
 * In: connections that open and close, frames, the clock. Out: connections to make and to close, a
 * new lifeline for the modules above, reports to the head (LOST, GONE).
 *
 * The lifeline is the link to the parent. A member has one, or tries to make one: first to its
 * parent, after CORE_ASK_HEAD_MS also to the head, which knows the next parent. A child whose link
 * is missing is in a list, with the time until which it may come back.
 *
 * Invariants: a member reports a child as lost only after the grace, and only while its own
 * lifeline is up. A link that is up carries frames of its peer only, in the epoch of the greeting.
 * Frames in another epoch change nothing. link_loss_decide() decides what a loss means.
 *
 * Failures: a link that is silent for ack_ms is closed. A member without a lifeline for
 * orphan_ms gives its epoch up and joins anew; time in which it was stopped itself is not counted.
 * A malformed frame closes its link. */
#include "dvm/protocol/core/core_private.h"

#include "base/log/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define SIGTERM_WAIT_MS 2000 /* for a head that is lost, if no job is here */

void neigh_say(struct core *c, struct neighbour *k, const struct msg *m)
{
    struct frame from = rml_from(c->rml);

    neighbours_send(c->neighbours, k, &from, m);
}

/* --- children that should be linked and are not */

static struct missing *missing_find(const struct core *c, uint32_t vpid)
{
    struct missing *x;

    DL_FOREACH(c->missing, x)
    {
        if (x->id.vpid == vpid)
            return x;
    }
    return NULL;
}

static void missing_drop(struct core *c, struct missing *x)
{
    DL_DELETE(c->missing, x);
    free(x);
}

void neigh_free(struct core *c)
{
    while (c->missing)
        missing_drop(c, c->missing);
}

static void missing_set(struct core *c, uint32_t vpid, struct epoch epoch, uint64_t grace_ms)
{
    struct missing *x = missing_find(c, vpid);

    if (!x) {
        x = xcalloc(1, sizeof(*x));
        DL_APPEND(c->missing, x);
    } else if (epoch_eq(x->id.epoch, epoch)) {
        return; /* the first loss counts */
    }
    x->id = (struct msg_target){vpid, epoch};
    x->mute = x->hung = false;
    x->due_ms = c->out.now_ms + grace_ms;
}

/* Both its parent and a child have heard nothing of it for ack_ms. If only its links have failed,
 * it calls again within this time. */
static void missing_is_hung(struct core *c, struct missing *x)
{
    uint64_t due_ms = c->out.now_ms + CORE_HUNG_MS;

    x->hung = true;
    x->due_ms = due_ms < x->due_ms ? due_ms : x->due_ms;
}

/* A daemon that is leaving has no route, but its lifeline is still up. */
void neigh_tell_departure(struct core *c, struct msg_departed who)
{
    struct msg gone = {.type = MSG_GONE, .gone = who};
    struct msg left = {.type = MSG_LEFT, .left = who};
    struct neighbour *up = neighbours_by_id(c->neighbours, c->parent_id);

    if (members_live(&c->members, c->opts.vpid))
        core_send(c, VPID_HEAD, CLASS_CONTROL, &gone);
    else if (up)
        neigh_say(c, up, &left);
}

static void tell_loss(struct core *c, struct msg_target who, const char *why)
{
    struct msg m = {.type = MSG_LOST, .lost = {who, (char *)why}};

    if (members_live(&c->members, c->opts.vpid))
        core_send(c, VPID_HEAD, CLASS_CONTROL, &m);
}

static void update_children(struct core *c)
{
    struct tree t = members_tree(&c->members);
    struct missing *x, *tmp;
    FREE_AUTO uint32_t *kids = NULL;
    size_t n;

    if (!members_live(&c->members, c->opts.vpid))
        return;
    n = tree_children(&t, c->opts.vpid, NULL, 0);
    kids = xmalloc((n + 1) * sizeof(*kids));
    tree_children(&t, c->opts.vpid, kids, n);
    for (size_t i = 0; i < n; i++) {
        const struct member *kid = members_get(&c->members, kids[i]);

        if (!neighbours_up(c->neighbours, &c->members, kids[i]))
            missing_set(c, kids[i], members_epoch(&c->members, kid), c->opts.ack_ms);
    }
    DL_FOREACH_SAFE(c->missing, x, tmp)
    {
        bool child = false;

        for (size_t i = 0; i < n; i++)
            child |= kids[i] == x->id.vpid;
        if (!child || neighbours_up(c->neighbours, &c->members, x->id.vpid) ||
            !members_current(&c->members, x->id.vpid, x->id.epoch))
            missing_drop(c, x);
    }
}

/* --- the lifeline */

static struct neighbour *find_outgoing(const struct core *c, uint32_t vpid)
{
    struct neighbour *k;

    DL_FOREACH(neighbours_first(c->neighbours), k)
    {
        if (!k->incoming && k->vpid == vpid && k->state != NEIGHBOUR_CLOSING)
            return k;
    }
    return NULL;
}

void neigh_bye(struct core *c, struct neighbour *k)
{
    struct msg m = {.type = MSG_BYE};

    if (k->state == NEIGHBOUR_CLOSING)
        return;
    if (k->state == NEIGHBOUR_CUT) { /* it learns the reason when it calls */
        neighbours_close(c->neighbours, k, false);
        return;
    }
    neigh_say(c, k, &m);
    k->state = NEIGHBOUR_CLOSING;
    k->opened_ms = c->out.now_ms;
}

/* The head is called by its name, then by its further addresses. A connection by one of several
 * addresses comes from our own address in the same network. */
size_t neigh_ways(const struct core *c, const struct msg_member *facts,
                  struct out_way ways[OUT_WAYS_MAX])
{
    size_t n = msg_member_addresses(facts);
    size_t own = msg_member_addresses(&c->self);

    for (size_t i = 0; i < n; i++)
        ways[i] = (struct out_way){
            .host = (char *)msg_member_address(facts, i),
            .port = facts->port,
            .from = own > 1 && i < own ? (char *)msg_member_address(&c->self, i) : NULL};
    if (facts->vpid == VPID_HEAD || n == 0) {
        ways[0].host = (char *)c->opts.head_host;
        ways[0].port = c->opts.head_port;
        ways[0].named = true;
    }
    return n ? n : 1;
}

static void connect_parent(struct core *c, uint32_t parent)
{
    struct msg_member facts = {.vpid = VPID_HEAD, .address = ""};
    struct out_way ways[OUT_WAYS_MAX] = {0};
    bool known = members_get(&c->members, parent) != NULL;
    size_t n;

    if (known)
        facts = members_facts(&c->members, parent);
    n = neigh_ways(c, &facts, ways);
    neighbours_connect(c->neighbours, parent, ways, n);
    if (known)
        msg_member_free(&facts);
}

static bool is_called(const struct neighbour *k)
{
    return k && (k->state != NEIGHBOUR_CUT || peer_links(k->peer));
}

/* Unless it is being called already. A neighbour that is cut is called within its session. */
static void call_parent(struct core *c, uint32_t parent)
{
    struct neighbour *k = find_outgoing(c, parent);

    if (!k)
        connect_parent(c, parent);
    else if (!is_called(k))
        neighbours_call(c->neighbours, k);
}

/* The new lifeline is up: waiting messages of the old one go over it. */
static void use_lifeline(struct core *c, struct neighbour *k)
{
    struct frame from = rml_from(c->rml);
    struct neighbour *old, *tmp;

    c->lost_at = 0;
    c->ask_head = false;
    if (c->parent_id == k->id)
        return;
    DL_FOREACH_SAFE(neighbours_first(c->neighbours), old, tmp)
    {
        if (old != k && !old->incoming && neighbour_is_greeted(old))
            neigh_bye(c, old);
    }
    c->parent_id = k->id;
    c->retry_at = 0;
    c->retry_ms = CORE_RETRY_MIN_MS;
    c->head_ended = false;
    xcast_parent_changed(c->xcast);
    xcast_check(c->xcast, &from);
    rml_routes_changed(c->rml);
    if (c->state == CORE_JOINING)
        core_set_state(c, CORE_WIRED, "wired as vpid %u, lifeline to vpid %u", c->opts.vpid,
                       k->vpid);
}

/* If the table has an earlier epoch of the peer, the table is stale. This link will bring the
 * missing broadcasts. */
static bool of_former_life(const struct core *c, const struct neighbour *k)
{
    struct epoch now = members_epoch(&c->members, members_get(&c->members, k->vpid));

    return k->epoch.inc == now.inc && k->epoch.ctr < now.ctr;
}

static void update_parent(struct core *c)
{
    uint32_t parent = members_parent(&c->members);
    struct neighbour *k;

    if (parent == TREE_NONE)
        return;
    k = find_outgoing(c, parent);
    if (k && neighbour_is_greeted(k) && !k->joining && of_former_life(c, k)) {
        if (k->id == c->parent_id)
            c->parent_id = 0;
        neighbours_close(c->neighbours, k, false);
        k = NULL;
    }
    if (k && k->state == NEIGHBOUR_UP && members_current(&c->members, parent, k->epoch) &&
        !k->joining) {
        use_lifeline(c, k);
        return;
    }
    if (c->lost_at == 0)
        c->lost_at = c->out.now_ms;
    if (c->retry_at == 0)
        call_parent(c, parent);
}

void neigh_update(struct core *c)
{
    struct frame from = rml_from(c->rml);

    c->keepers.check = true;
    if (!c->finishing)
        update_parent(c);
    update_children(c);
    rml_routes_changed(c->rml);
    xcast_check(c->xcast, &from);
}

/* --- losses */

static enum link_loss_whose who_is(const struct core *c, const struct neighbour *k)
{
    const struct member *m = members_get(&c->members, k->vpid);

    if (members_current(&c->members, k->vpid, k->epoch))
        return LOSS_OF_MEMBER;
    if (k->joining)
        return LOSS_OF_JOINER;
    if (!m || !epoch_eq(members_epoch(&c->members, m), k->epoch) ||
        (m->state != MEMBER_LEAVING && m->state != MEMBER_PARKED))
        return LOSS_OF_STRANGER;
    return k->left ? LOSS_OF_LEAVER : k->leaves_by ? LOSS_OF_TARGET : LOSS_OF_STRANGER;
}

static bool is_child(const struct core *c, uint32_t vpid)
{
    struct tree t = members_tree(&c->members);

    return members_live(&c->members, c->opts.vpid) && members_live(&c->members, vpid) &&
           tree_parent(&t, vpid) == c->opts.vpid;
}

/* An incoming link is closed. */
static void lost_below(struct core *c, const struct neighbour *k, enum link_loss_how what)
{
    struct msg_target id = {k->vpid, k->epoch};

    switch (link_loss_decide(who_is(c, k), what)) {
    case LOSS_WAIT:
        if (is_child(c, k->vpid) && !neighbours_up(c->neighbours, &c->members, k->vpid)) {
            missing_set(c, k->vpid, k->epoch,
                        what == LOSS_AFTER_BYE ? c->opts.ack_ms : c->opts.reconnect_ms);
            struct missing *x = missing_find(c, k->vpid);

            x->mute = k->silent;
            if (k->silent && k->orphaned)
                missing_is_hung(c, x);
        }
        break;
    case LOSS_ROLL_BACK:
        if (core_is_head(c))
            head_joiner_gone(c->head, k->vpid, k->epoch);
        break;
    case LOSS_DEPARTED:
        neigh_tell_departure(c, (struct msg_departed){.who = id, .link_closed = true});
        break;
    case LOSS_DECLARE:
    case LOSS_IGNORE:
        break;
    }
}

/* The lifeline is up, and leads to the parent in the tree. */
static bool on_parent(const struct core *c)
{
    const struct neighbour *k = c->parent_id ? neighbours_by_id(c->neighbours, c->parent_id) : NULL;

    return k && k->vpid == members_parent(&c->members);
}

/* The next process of a head whose end was seen comes soon. Only those that had a link to it call,
 * so their number limits what this costs: docs/head.md, Succession. */
static uint64_t most_retry_ms(const struct core *c)
{
    return c->head_ended ? CORE_RETRY_HEAD_MS : CORE_RETRY_MAX_MS;
}

/* The lifeline, or a connection that should become it, is closed. One that was up is made again at
 * once. */
static void lost_above(struct core *c, const struct neighbour *k, const char *why)
{
    if (k->joining && !members_live(&c->members, c->opts.vpid)) {
        core_reset(c, "the head closed the connection before this daemon was wired");
        return;
    }
    if (k->id == c->parent_id) {
        c->parent_id = 0;
        c->head_ended = k->vpid == VPID_HEAD && !k->silent;
    }
    if (c->finishing || c->state == CORE_PARKED || on_parent(c))
        return;
    if (c->lost_at == 0)
        c->lost_at = c->out.now_ms;
    c->retry_ms = 2 * c->retry_ms < most_retry_ms(c) ? 2 * c->retry_ms : most_retry_ms(c);
    c->retry_at = c->out.now_ms + (k->state == NEIGHBOUR_UP ? 0 : c->retry_ms);
    if (c->state == CORE_JOINING)
        core_set_state(c, CORE_JOINING, "no connection to the head at %s:%u, tries again: %s",
                       c->opts.head_host, c->opts.head_port, why);
    else
        out_log(&c->out, LOG_LEVEL_WARN, "lifeline to vpid %u: %s", k->vpid, why);
}

/* A member whose connections broke may come back within the session: frames to it wait. */
static bool may_come_back(const struct core *c, const struct neighbour *k, enum link_loss_how how)
{
    bool needed = k->incoming || k->id == c->parent_id || k->state == NEIGHBOUR_CUT;

    return neighbour_is_greeted(k) && needed && !k->joining && !k->peer_bye &&
           how == LOSS_BY_BREAK && !c->finishing && c->state != CORE_PARKED &&
           who_is(c, k) == LOSS_OF_MEMBER;
}

/* The record is dropped before the consequences, which look at the others. */
static void take_loss(struct core *c, const struct neighbour *was, enum link_loss_how how,
                      const char *why)
{
    if (was->vpid == VPID_NONE || (was->incoming && was->state == NEIGHBOUR_GREETING) ||
        (was->state == NEIGHBOUR_REFUSED && who_is(c, was) != LOSS_OF_LEAVER))
        return;
    if (was->incoming)
        lost_below(c, was, how);
    else
        lost_above(c, was, why);
}

void neigh_lost(struct core *c, struct neighbour *k, enum link_loss_how how, const char *why)
{
    struct neighbour was = *k;

    c->keepers.check = true;
    if (!may_come_back(c, k, how)) {
        neighbours_close(c->neighbours, k, false);
    } else if (k->state == NEIGHBOUR_UP) {
        k->state = NEIGHBOUR_CUT;
        k->opened_ms = c->out.now_ms;
    }
    take_loss(c, &was, how, why);
}

void neigh_end(struct core *c, struct neighbour *k, const char *why)
{
    struct neighbour was = *k;

    conn_end(c, k);
    take_loss(c, &was, LOSS_AFTER_BYE, why);
}

/* The whole DVM may be ending. A daemon without jobs is missed by nobody. */
static uint64_t sigterm_wait_ms(const struct core *c)
{
    return c->jobs || c->opts.ack_ms < SIGTERM_WAIT_MS ? c->opts.ack_ms : SIGTERM_WAIT_MS;
}

static bool asks_head(const struct core *c)
{
    uint64_t wait_ms =
        c->opts.reconnect_ms < CORE_ASK_HEAD_MS ? c->opts.reconnect_ms : CORE_ASK_HEAD_MS;

    return c->ask_head || (c->lost_at && c->lost_at + wait_ms <= c->out.now_ms);
}

/* Connects to the parent again. Soon, or if the parent has departed, the daemon also calls the
 * head, which knows the next parent: a shrink may have removed one whose end nobody had declared,
 * and holds the launches until this daemon has processed that. */
static void retry_lifeline(struct core *c)
{
    uint32_t parent = members_parent(&c->members);
    bool long_lost = asks_head(c);

    c->retry_at = 0;
    if (c->state == CORE_PARKED || c->finishing)
        return;
    if (c->sigterm && c->lost_at && c->lost_at + sigterm_wait_ms(c) <= c->out.now_ms) {
        core_reset(c, "ordered to leave, and the head is lost");
        return;
    }
    if (c->lost_at && c->state != CORE_JOINING &&
        c->lost_at + c->opts.orphan_ms <=
            c->out.now_ms) { /* the head has declared this member lost */
        core_reset(c, "the head has been out of reach for too long");
        return;
    }
    if ((parent == TREE_NONE || long_lost) &&
        !is_called(find_outgoing(c, VPID_HEAD))) /* no call is under way */
        parent = VPID_HEAD;
    if (parent == TREE_NONE)
        return;
    call_parent(c, parent);
}

/* A disconnected member reports no losses: its report would come late, when the child may be
 * back. */
static void report_missing(struct core *c)
{
    bool cut_off = c->lost_at != 0;
    struct missing *x, *tmp;

    DL_FOREACH_SAFE(c->missing, x, tmp)
    {
        struct msg_target id = x->id;
        const char *why = x->hung   ? "it is silent, and a child of it has no link to it either"
                          : x->mute ? "it was silent, and its link was not restored in time"
                                    : "its link broke and was not restored in time";

        if (x->due_ms > c->out.now_ms)
            continue;
        if (cut_off) {
            x->due_ms = c->out.now_ms + c->opts.reconnect_ms;
            continue;
        }
        missing_drop(c, x);
        if (members_current(&c->members, id.vpid, id.epoch) &&
            !neighbours_up(c->neighbours, &c->members, id.vpid) &&
            link_loss_decide(LOSS_OF_MEMBER, LOSS_AFTER_GRACE) == LOSS_DECLARE)
            tell_loss(c, id, why);
    }
}

void neigh_tick(struct core *c)
{
    if (c->retry_at && c->retry_at <= c->out.now_ms)
        retry_lifeline(c);
    report_missing(c);
    conn_tick(c);
}

static bool counts_absence(const struct core *c)
{
    return c->lost_at && c->state == CORE_WIRED && !c->finishing;
}

void neigh_skip_stop(struct core *c, uint64_t now_ms)
{
    uint64_t step_ms = now_ms - c->out.now_ms;

    if (counts_absence(c) && step_ms > CORE_STEP_MS)
        c->lost_at += step_ms - CORE_STEP_MS;
}

uint64_t neigh_deadline(const struct core *c)
{
    uint64_t due = c->retry_at ? c->retry_at : UINT64_MAX;
    uint64_t conns = conn_deadline(c);
    const struct missing *x;

    if (counts_absence(c) && c->out.now_ms + CORE_STEP_MS < due)
        due = c->out.now_ms + CORE_STEP_MS;
    due = conns < due ? conns : due;
    if (c->finishing && c->finish_by < due)
        due = c->finish_by;
    DL_FOREACH(c->missing, x)
    {
        due = x->due_ms < due ? x->due_ms : due;
    }
    return due;
}

/* --- messages */

static void take_bye(struct core *c, struct neighbour *k, struct msg *m)
{
    bool lifeline = k->id == c->parent_id;

    k->peer_bye = true;
    if (lifeline && c->finishing)
        return; /* finish.c answers when the links to all children are closed */
    if (lifeline) {
        c->ask_head = true;
        out_log(&c->out, LOG_LEVEL_WARN, "vpid %u ended the lifeline", k->vpid);
    }
    if (k->state == NEIGHBOUR_UP)
        neigh_bye(c, k);
    neigh_end(c, k, "closed in order");
}

/* A neighbour reports its own departure, and, if it leaves too, that of its former children. The
 * head checks the latter. Only the head can: a neighbour may have the removal from it before it has
 * come here, and at the head there may be a new process of the neighbour already. */
static void take_left(struct core *c, struct neighbour *k, struct msg *m)
{
    struct msg_target who = m->left.who;
    struct msg gone = {.type = MSG_GONE, .gone = m->left};
    bool itself = who.vpid == k->vpid && epoch_eq(who.epoch, k->epoch);

    k->left |= itself;
    if (core_is_head(c) && !itself)
        head_msg(c->head, k->vpid, &gone);
    else
        neigh_tell_departure(c, m->left);
    if (k->leaves_by && itself)
        neigh_bye(c, k);
}

static void take_xack(struct core *c, struct neighbour *k, struct msg *m)
{
    struct frame from = rml_from(c->rml);

    xcast_ack(c->xcast, k->vpid, k->epoch, m->xack.op);
    xcast_check(c->xcast, &from);
}

/* The peer has read our REFUSE, so the refused HELLO was no late frame. */
static void take_bye_of_refused(struct core *c, struct neighbour *k, struct msg *m)
{
    if (core_is_head(c))
        head_lost(c->head, k->vpid, k->epoch, "a new process of this vpid has called the head");
    k->left = true;
    neigh_end(c, k, "refused");
}

/* Without ORPHANED a hung daemon has the grace. */
static bool knows_orphaned(const struct core *c, uint32_t vpid)
{
    return vpid == VPID_HEAD || (c->know_orphaned && hwloc_bitmap_isset(c->know_orphaned, vpid));
}

/* A child calls the head when its parent is silent. */
void neigh_tell_orphaned(struct core *c, uint32_t child)
{
    struct tree t = members_tree(&c->members);
    uint32_t parent = tree_parent(&t, child);
    struct msg m = {.type = MSG_ORPHANED};

    if (parent == VPID_HEAD || parent == TREE_NONE || !knows_orphaned(c, tree_parent(&t, parent)))
        return;
    m.orphaned.who =
        (struct msg_target){parent, members_epoch(&c->members, members_get(&c->members, parent))};
    core_send(c, tree_parent(&t, parent), CLASS_CONTROL, &m);
}

/* It counts only if the daemon is silent here too, now or before its next frame. */
static void take_orphaned(struct core *c, const struct frame *f, struct msg *m)
{
    struct msg_target who = m->orphaned.who;
    struct neighbour *k = neighbours_hop(c->neighbours, &c->members, who.vpid);
    struct missing *x = missing_find(c, who.vpid);

    if (!k || !k->incoming || !epoch_eq(k->epoch, who.epoch))
        return;
    k->orphaned = true;
    if (x && k->silent)
        missing_is_hung(c, x);
}

const struct routed_handler neigh_routed_handlers[] = {
    {MSG_ORPHANED, take_orphaned},
    {0},
};

const struct neighbour_handler neigh_handlers[] = {
    {MSG_BYE, NEIGHBOUR_WHEN_GREETED, take_bye},
    {MSG_BYE, NEIGHBOUR_WHEN_REFUSED, take_bye_of_refused},
    {MSG_XACK, NEIGHBOUR_WHEN_GREETED, take_xack},
    {MSG_LEFT, NEIGHBOUR_WHEN_GREETED, take_left},
    {0},
};
