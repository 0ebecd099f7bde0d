/* SPDX-License-Identifier: BSD-3-Clause */
/* Greetings: how a link gets from open to up.
 *
 * In: HELLO, WELCOME and REFUSE, and connections that the daemon itself has made. Out: the same
 * messages; a new epoch for a joiner; broadcasts that a peer has missed, or a snapshot.
 *
 * A joiner calls the head, which admits it with an epoch and sends the snapshot when it is wired. A
 * member calls its parent, or any daemon while its parent is out of reach. Its HELLO names the last
 * broadcast that it has processed, and it gets the later ones first.
 *
 * Invariants: only the head admits. A caller is answered only if its certificate is a
 * daemon's of this cluster. Who calls in an epoch holds the key with which that epoch was admitted,
 * and a new process with another key is admitted only after the old one has left or is lost. A
 * daemon of edition 0 shows no key, and is believed. A newer link to the same daemon replaces the
 * older one, which is no loss.
 *
 * Failures: REFUSE says why. RETRY: the caller tries again later. EPOCH_OVER: it joins
 * anew, also if it has followed a head whose records are lost. LEFT: it was removed by the DVM, and
 * leaves. NEVER: a mistake of configuration, which is logged. */
#include "dvm/protocol/core/core_private.h"

#include "base/bitmap/bitmap.h"
#include "base/log/log.h"

#include <stdio.h>
#include <string.h>
#include <utlist.h>

static enum hello_why why_hello(const struct core *c, const struct neighbour *k)
{
    if (epoch_none(c->self.epoch))
        return HELLO_JOIN;
    return k->vpid == members_parent(&c->members) ? HELLO_LINK : HELLO_RESUME;
}

/* Our own connection is open: HELLO says who calls. */
void greet_open(struct core *c, struct neighbour *k, struct peer_link *at)
{
    enum hello_why why = why_hello(c, k);
    struct frame from = rml_from(c->rml);
    struct msg m = {.type = MSG_HELLO,
                    .hello = {.why = why,
                              .cluster = (char *)c->opts.cluster,
                              .self = c->self,
                              .version = c->members.version,
                              .cpus = why == HELLO_JOIN ? (char *)c->opts.cpus : NULL,
                              .session = peer_session(k->peer),
                              .received = peer_received(k->peer),
                              .alone = peer_links_greeted(k->peer) == 0}};

    if (k->state == NEIGHBOUR_CONNECTING) {
        k->state = NEIGHBOUR_GREETING;
        k->opened_ms = c->out.now_ms;
    }
    at->number = m.hello.number = peer_next_number(k->peer);
    from.dst_ctr =
        epoch_none(c->self.epoch) ? 0 : members_head(&c->members); /* edition 0 does not read it */
    neighbours_send_on(c->neighbours, k, at, &from, &m);
}

static void refuse_caller(struct core *c, struct neighbour *k, enum refuse_why why,
                          const char *text)
{
    struct msg m = {.type = MSG_REFUSE, .refuse = {why, (char *)text}};

    neigh_say(c, k, &m);
    neighbours_close(c->neighbours, k, true);
}

/* The link stays until the caller has answered or closed. */
static void refuse_and_wait(struct core *c, struct neighbour *k, enum refuse_why why,
                            const char *text)
{
    struct msg m = {.type = MSG_REFUSE, .refuse = {why, (char *)text}};

    neigh_say(c, k, &m);
    k->state = NEIGHBOUR_REFUSED;
    k->opened_ms = c->out.now_ms;
}
static void welcome_caller(struct core *c, struct neighbour *k, struct epoch epoch)
{
    struct msg m = {.type = MSG_WELCOME,
                    .welcome = {.radix = c->members.radix,
                                .epoch = epoch,
                                .self = c->self,
                                .session = peer_session(k->peer),
                                .received = peer_received(k->peer)}};

    c->out.goes_ahead = c->keepers.begins && !k->joining;
    neigh_say(c, k, &m);
    c->out.goes_ahead = false;
}

/* Editions n and n-1 understand each other; others are told so. */
static bool other_edition(struct core *c, struct neighbour *k)
{
    FREE_AUTO char *text = NULL;

    if (k->speaks + 1 >= WIRE_EDITION && k->speaks <= WIRE_EDITION + 1)
        return false;
    text = xasprintf("the caller speaks wire edition %u, this daemon %d to %d: update in steps",
                     k->speaks, WIRE_EDITION - 1, WIRE_EDITION + 1);
    refuse_caller(c, k, REFUSE_NEVER, text);
    return true;
}

/* An earlier session with the same daemon is replaced without being taken for a loss. */
static void replace_older(struct core *c, const struct neighbour *k)
{
    struct neighbour *o, *tmp;

    DL_FOREACH_SAFE(neighbours_first(c->neighbours), o, tmp)
    {
        if (o != k && o->vpid == k->vpid && o->incoming && neighbour_is_greeted(o))
            neighbours_close(c->neighbours, o, false);
    }
}

/* The caller is not the daemon that has been admitted in this epoch of the vpid. */
static bool holds_other_key(const struct core *c, const struct neighbour *k, uint32_t vpid,
                            struct epoch epoch)
{
    const struct member *m = members_get(&c->members, vpid);
    struct key_id key = members_key(&c->members, vpid);

    return m && epoch_eq(members_epoch(&c->members, m), epoch) && !key_id_none(key) &&
           !key_id_eq(key, k->key);
}

static void refuse_other(struct core *c, struct neighbour *k)
{
    refuse_caller(c, k, REFUSE_RETRY,
                  "the vpid has a daemon with another key, which is not lost yet");
}

/* The vpid's daemon is admitted, and waits to be wired: another call would take its place. */
static bool is_others_turn(const struct core *c, const struct neighbour *k, uint32_t vpid)
{
    const struct member *m = members_get(&c->members, vpid);

    return m && m->state == MEMBER_REPORTED && !members_live(&c->members, vpid) &&
           holds_other_key(c, k, vpid, members_epoch(&c->members, m));
}

static void admit_joiner(struct core *c, struct neighbour *k, const struct msg_hello *m)
{
    struct msg_member facts = m->self; /* borrowed texts */
    struct epoch epoch;
    struct err err = {0};

    if (!core_is_head(c)) {
        refuse_caller(c, k, REFUSE_RETRY, "only the head admits new daemons");
        return;
    }
    if (is_others_turn(c, k, m->self.vpid)) {
        refuse_other(c, k);
        return;
    }
    facts.key = k->key;
    if (head_admit(c->head, &facts, m->cpus, &epoch, &err) < 0) {
        if (holds_other_key(c, k, m->self.vpid, epoch)) {
            refuse_other(c, k);
            return;
        }
        k->vpid = m->self.vpid;
        k->epoch = epoch;
        if (epoch_none(epoch))
            refuse_caller(c, k, REFUSE_RETRY, err.msg);
        else /* perhaps a late frame of a process that ended long ago: the caller's next message
                will show it */
            refuse_and_wait(c, k, REFUSE_RETRY, err.msg);
        return;
    }
    k->vpid = m->self.vpid;
    k->epoch = epoch;
    k->joining = true;
    neighbours_greeted(c->neighbours, k, neighbours_new_session(c->neighbours));
    replace_older(c, k);
    welcome_caller(c, k, epoch);
    conn_probe(c, k, neighbours_in(c->neighbours));
}

void greet_up(struct core *c, struct neighbour *k, uint64_t have)
{
    struct frame from = rml_from(c->rml);

    replace_older(c, k);
    if (have < c->members.version && !xcast_replay(c->xcast, k, &from, have))
        greet_snapshot(c, k);
    neigh_update(c);
}

static bool has_left(const struct core *c, uint32_t vpid, struct epoch epoch)
{
    const struct member *m = members_get(&c->members, vpid);

    return m && epoch_eq(members_epoch(&c->members, m), epoch) &&
           (m->state == MEMBER_LEAVING || m->state == MEMBER_PARKED);
}

/* A target of a failed grow leaves. Other callers get the reason and try again. */
void greet_turn_away(struct core *c)
{
    struct neighbour *k, *tmp;

    DL_FOREACH_SAFE(neighbours_first(c->neighbours), k, tmp)
    {
        if (!k->joining || k->state != NEIGHBOUR_UP ||
            members_current(&c->members, k->vpid, k->epoch) ||
            head_joining(c->head, k->vpid, k->epoch))
            continue;
        if (has_left(c, k->vpid, k->epoch))
            refuse_and_wait(c, k, REFUSE_LEFT, "the grow campaign that wanted it has failed");
        else
            neighbours_close(c->neighbours, k, true);
    }
}

static void not_a_member(struct core *c, struct neighbour *k, const struct msg_member *who)
{
    out_log(&c->out, LOG_LEVEL_INFO, "vpid %u epoch %llu is not a member here (version %llu)",
            who->vpid, (unsigned long long)who->epoch.ctr, (unsigned long long)c->members.version);
    if (has_left(c, who->vpid, who->epoch)) {
        k->vpid = who->vpid;
        k->epoch = who->epoch;
        refuse_and_wait(c, k, REFUSE_LEFT, "this daemon was removed");
    } else if (core_is_head(c)) {
        refuse_caller(c, k, REFUSE_EPOCH_OVER, "this epoch of the vpid has ended");
    } else {
        refuse_caller(c, k, REFUSE_RETRY, "not known here yet");
    }
}

/* One connection more for a session that is known here. If the caller has no other one, those
 * that are open here are dead. */
static void continue_session(struct core *c, struct neighbour *k, struct neighbour *caller,
                             const struct msg_hello *m)
{
    struct peer_link *o, *tmp, *at = neighbours_adopt(c->neighbours, k, caller);

    if (!at) {
        refuse_caller(c, caller, REFUSE_RETRY, "too many connections");
        return;
    }
    DL_FOREACH_SAFE(peer_links(k->peer), o, tmp)
    {
        if (o != at && (m->alone || o->number == m->number))
            neighbours_close_conn(c->neighbours, k, o, false);
    }
    at->number = m->number;
    welcome_caller(c, k, k->epoch);
    if (conn_joined(c, k, at, m->received) == 0)
        neigh_update(c);
}

/* This head goes on with records that others have left behind. The caller tries again until this
 * head has declared it lost. */
static bool knows_less(const struct core *c, const struct neighbour *k, const struct msg_hello *m)
{
    bool later = k->knows_head > members_head(&c->members) &&
                 members_current(&c->members, m->self.vpid, m->self.epoch);

    return core_is_head(c) && (later || m->version > c->members.version);
}

/* The caller has processed broadcasts of an earlier head that a later one did not know: its table
 * is another one, although the versions fit. */
static bool is_astray(const struct core *c, const struct neighbour *k, const struct msg_hello *m)
{
    return k->knows_head && m->version >= heads_since_after(&c->heads, k->knows_head);
}

/* A member that still follows a former head would pass that one's broadcasts on, with numbers that
 * the later head has given to others. */
static bool knows_former(const struct core *c, const struct neighbour *k)
{
    return !core_is_head(c) && k->knows_head > members_head(&c->members);
}

/* True: the caller is refused. */
static bool refuse_history(struct core *c, struct neighbour *k, const struct msg_hello *m)
{
    if (m->self.epoch.inc != c->self.epoch.inc)
        return false;
    if (knows_less(c, k, m))
        refuse_caller(c, k, REFUSE_RETRY, "this head knows less: another one is the head, or none");
    else if (knows_former(c, k))
        refuse_caller(c, k, REFUSE_RETRY, "this daemon does not know the caller's head yet");
    else if (is_astray(c, k, m))
        refuse_caller(c, k, core_is_head(c) ? REFUSE_EPOCH_OVER : REFUSE_RETRY,
                      "the head does not know what this daemon has seen of an earlier one");
    else
        return false;
    return true;
}

/* True: the caller is refused. */
static bool refuse_forged(struct core *c, struct neighbour *k, const struct msg_hello *m)
{
    if (!holds_other_key(c, k, m->self.vpid, m->self.epoch))
        return false;
    c->forged++;
    out_log(&c->out, LOG_LEVEL_WARN, "a caller at %s says that it is vpid %u, and lacks its key",
            neighbours_in(c->neighbours)->other, m->self.vpid);
    refuse_caller(c, k, REFUSE_NEVER, "the caller does not hold the key of the vpid that it names");
    return true;
}

static void come_back(struct core *c, struct neighbour *k, const struct msg_hello *m)
{
    const struct msg_member *who = &m->self;
    struct neighbour *known = neighbours_session(c->neighbours, who->vpid, who->epoch, m->session);
    bool current = members_current(&c->members, who->vpid, who->epoch);

    if (refuse_forged(c, k, m) || refuse_history(c, k, m))
        return;
    if (known && !m->alone && (!current || !neighbour_is_greeted(known))) {
        refuse_caller(c, k, REFUSE_RETRY, "the session ends"); /* it learns why within it */
        return;
    }
    if (!current) {
        not_a_member(c, k, who);
        return;
    }
    if (core_is_head(c))
        neigh_tell_orphaned(c, who->vpid);
    if (known && neighbour_is_greeted(known)) {
        continue_session(c, known, k, m);
        return;
    }
    k->vpid = who->vpid;
    k->epoch = who->epoch;
    neighbours_greeted(c->neighbours, k, neighbours_new_session(c->neighbours));
    neighbours_in(c->neighbours)->number = m->number;
    welcome_caller(c, k, who->epoch);
    conn_probe(c, k, neighbours_in(c->neighbours));
    greet_up(c, k, m->version);
}

static void note_edition(struct core *c, uint32_t vpid, uint8_t speaks)
{
    if (!c->know_orphaned)
        c->know_orphaned = bitmap_alloc();
    if (speaks >= 1)
        bitmap_set(c->know_orphaned, vpid);
    else
        bitmap_clr(c->know_orphaned, vpid);
}

static void take_hello(struct core *c, struct neighbour *k, struct msg *msg)
{
    const struct msg_hello *m = &msg->hello;

    if (k->state != NEIGHBOUR_GREETING) {
        neighbours_close(c->neighbours, k, false);
        return;
    }
    if (!k->member_role || k->head_role || m->self.vpid == VPID_HEAD ||
        strcmp(m->cluster, c->opts.cluster) != 0) {
        refuse_caller(c, k, REFUSE_NEVER,
                      "this is another cluster, or the certificate's role is not a daemon's");
        return;
    }
    if (other_edition(c, k))
        return;
    if (c->asking.on) {
        asking_take_hello(c, k, msg);
        return;
    }
    if (c->finishing || c->state == CORE_PARKED) {
        refuse_caller(c, k, REFUSE_RETRY, "this daemon is leaving");
        return;
    }
    if (core_is_head(c))
        note_edition(c, m->self.vpid, k->speaks);
    if (m->why == HELLO_JOIN)
        admit_joiner(c, k, m);
    else
        come_back(c, k, m);
}

/* The other side continues the session over this connection. */
static bool is_continued(const struct neighbour *k, const struct msg_welcome *m)
{
    return neighbour_is_greeted(k) && m->session == peer_session(k->peer) &&
           m->self.vpid == k->vpid && epoch_eq(m->self.epoch, k->epoch);
}

/* The other side knows no such session: its frames are lost, and a new one begins. */
static void begin_session(struct core *c, struct neighbour *k, const struct msg_welcome *m)
{
    struct peer_link *o, *tmp;

    DL_FOREACH_SAFE(peer_links(k->peer), o, tmp)
    {
        if (o != neighbours_in(c->neighbours))
            neighbours_close_conn(c->neighbours, k, o, false);
    }
    if (k->id == c->parent_id)
        c->parent_id = 0;
    k->epoch = m->self.epoch;
    k->vpid = m->self.vpid;
    k->good = neighbours_in(c->neighbours)->way;
    neighbours_greeted(c->neighbours, k, m->session);
    rml_new_session(c->rml, k);
}

/* The daemon itself says at which addresses it is called. */
static void learn_ways(struct core *c, struct neighbour *k, const struct msg_member *self)
{
    struct out_way ways[OUT_WAYS_MAX] = {0};

    if (msg_member_addresses(self))
        neighbour_set_ways(k, ways, neigh_ways(c, self, ways));
}

/* It has answered before it ended, and this daemon knows the next process of the head. */
static bool is_of_former_head(const struct core *c, const struct msg_welcome *m)
{
    const struct member *head = members_get(&c->members, VPID_HEAD);
    struct epoch known = head ? members_epoch(&c->members, head) : (struct epoch){0, 0};

    return m->self.vpid == VPID_HEAD && !epoch_none(c->self.epoch) &&
           m->self.epoch.inc == known.inc && m->self.epoch.ctr < known.ctr;
}

static void take_welcome(struct core *c, struct neighbour *k, struct msg *msg)
{
    const struct msg_welcome *m = &msg->welcome;
    struct peer_link *at = neighbours_in(c->neighbours);
    struct err err = {0};

    if (at->state != PEER_LINK_GREETING || k->state == NEIGHBOUR_CLOSING ||
        (m->self.vpid == VPID_HEAD && !k->head_role)) {
        if (peer_links_greeted(k->peer))
            neighbours_close_conn(c->neighbours, k, at, false);
        else
            neighbours_close(c->neighbours, k, false);
        return;
    }
    if (m->self.vpid != k->vpid) {
        err_set(&err, "vpid %u was called, and vpid %u answers", k->vpid, m->self.vpid);
        conn_refuse_frame(c, k, &err);
        return;
    }
    if (is_of_former_head(c, m)) {
        err_set(&err, "a former head answers, of epoch %llu",
                (unsigned long long)m->self.epoch.ctr);
        conn_refuse_frame(c, k, &err);
        return;
    }
    if (k->state != NEIGHBOUR_UP) {
        c->retry_ms = CORE_RETRY_MIN_MS;
        c->retry_at = 0;
    }
    if (is_continued(k, m)) {
        if (conn_joined(c, k, at, m->received) == 0)
            neigh_update(c);
        return;
    }
    begin_session(c, k, m);
    if (k->vpid == VPID_HEAD)
        c->head_speaks = k->speaks;
    learn_ways(c, k, &m->self);
    if (epoch_none(c->self.epoch)) {
        c->self.epoch = m->epoch;
        neighbours_begin_sessions(c->neighbours, m->epoch.ctr << CORE_SESSION_BITS);
        rml_set_epoch(c->rml, c->self.epoch);
        c->members.radix = m->radix;
        snprintf(c->incarnation, sizeof(c->incarnation), "%016llx",
                 (unsigned long long)m->epoch.inc);
        k->joining = true;
        core_set_state(c, CORE_JOINING, "admitted as epoch %llu of vpid %u, waits to be wired",
                       (unsigned long long)m->epoch.ctr, c->opts.vpid);
    }
    conn_probe(c, k, at);
    if (!k->joining)
        neigh_update(c);
}

/* BYE shows that we have read the REFUSE. A neighbour with other connections keeps them, unless
 * this daemon's epoch has ended: true. */
static bool bye_and_close(struct core *c, struct neighbour *k, enum refuse_why why)
{
    struct msg bye = {.type = MSG_BYE};
    struct frame from = rml_from(c->rml);
    struct peer_link *at = neighbours_in(c->neighbours);

    neighbours_send_on(c->neighbours, k, at, &from, &bye);
    if ((why == REFUSE_RETRY || why == REFUSE_NEVER) && peer_links_greeted(k->peer) &&
        at->state < PEER_LINK_UP) {
        size_t way = at->way;

        neighbours_close_conn(c->neighbours, k, at, true);
        conn_redial_later(c, k, way);
        return true;
    }
    neighbours_close(c->neighbours, k, true);
    return false;
}

static void take_refuse(struct core *c, struct neighbour *k, struct msg *msg)
{
    const struct msg_refuse *m = &msg->refuse;

    if (k->incoming) {
        neighbours_close(c->neighbours, k, false);
        return;
    }
    if (bye_and_close(c, k, m->why))
        return;
    if (m->why == REFUSE_EPOCH_OVER) {
        core_reset(c, m->text);
        return;
    }
    if (m->why == REFUSE_LEFT) {
        apply_left(c, m->text);
        return;
    }
    c->retry_ms = m->why == REFUSE_NEVER || c->retry_ms > CORE_RETRY_MAX_MS / 2 ? CORE_RETRY_MAX_MS
                                                                                : 2 * c->retry_ms;
    c->retry_at = c->out.now_ms + c->retry_ms;
    if (c->lost_at) /* a parent that does not know us any more is a new process, or was removed */
        c->ask_head = true;
    if (c->state == CORE_JOINING)
        core_set_state(c, CORE_JOINING, "refused, tries again: %s", m->text);
    if (m->why == REFUSE_NEVER)
        out_log(&c->out, LOG_LEVEL_ERROR, "the head refuses this daemon: %s", m->text);
}

void greet_snapshot(struct core *c, struct neighbour *k)
{
    struct msg m = {.type = MSG_SNAPSHOT,
                    .snapshot = {.op = c->members.version, .radix = c->members.radix}};
    struct frame from = rml_from(c->rml);
    BUF_AUTO struct buf nidmap = {0};

    from.dst_ctr = k->speaks < 1 ? 0 : members_head(&c->members);
    buf_init(&nidmap, MSG_DATA_MAX);
    if (k->speaks < 1)
        members_encode_first(&c->members, &nidmap);
    else
        members_encode(&c->members, &nidmap);
    m.snapshot.table = nidmap.data;
    m.snapshot.len = nidmap.len;
    neighbours_send(c->neighbours, k, &from, &m);
}

const struct neighbour_handler greet_handlers[] = {
    {MSG_HELLO, NEIGHBOUR_WHEN_ANY, take_hello},
    {MSG_WELCOME, NEIGHBOUR_WHEN_ANY, take_welcome},
    {MSG_REFUSE, NEIGHBOUR_WHEN_ANY, take_refuse},
    {0},
};
