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
 * daemon's of this cluster. A newer link to the same daemon replaces the older one, which is no
 * loss.
 *
 * Failures: REFUSE says why. RETRY: the caller tries again later. EPOCH_OVER: it joins
 * anew. LEFT: it was removed by the DVM, and leaves. NEVER: a mistake of configuration, which is
 * logged. */
#include "dvm/protocol/core/core_private.h"

#include "base/log/log.h"

#include <stdio.h>
#include <string.h>
#include <utlist.h>

static enum hello_why why_hello(const struct core *c, const struct link *k)
{
    if (epoch_none(c->self.epoch))
        return HELLO_JOIN;
    return k->vpid == members_parent(&c->members) ? HELLO_LINK : HELLO_RESUME;
}

/* Our own connection is open: HELLO says who calls. */
void greet_open(struct core *c, struct link *k)
{
    enum hello_why why = why_hello(c, k);
    struct msg m = {.type = MSG_HELLO,
                    .hello = {.why = why,
                              .cluster = (char *)c->opts.cluster,
                              .self = c->self,
                              .version = c->members.version,
                              .cpus = why == HELLO_JOIN ? (char *)c->opts.cpus : NULL}};

    k->state = LINK_GREETING;
    k->opened_ms = c->out.now_ms;
    neigh_say(c, k, &m);
}

static void refuse_caller(struct core *c, struct link *k, enum refuse_why why, const char *text)
{
    struct msg m = {.type = MSG_REFUSE, .refuse = {why, (char *)text}};

    neigh_say(c, k, &m);
    links_close(c->links, k, true);
}

/* The link stays until the caller has answered or closed. */
static void refuse_and_wait(struct core *c, struct link *k, enum refuse_why why, const char *text)
{
    struct msg m = {.type = MSG_REFUSE, .refuse = {why, (char *)text}};

    neigh_say(c, k, &m);
    k->state = LINK_REFUSED;
    k->opened_ms = c->out.now_ms;
}
static void welcome_caller(struct core *c, struct link *k, struct epoch epoch)
{
    struct msg m = {.type = MSG_WELCOME, .welcome = {c->members.radix, epoch, c->self}};

    neigh_say(c, k, &m);
}

/* An earlier link to the same daemon is replaced without being taken for a loss. */
static void replace_older(struct core *c, const struct link *k)
{
    struct link *o, *tmp;

    DL_FOREACH_SAFE(links_first(c->links), o, tmp)
    {
        if (o != k && o->vpid == k->vpid && o->incoming && o->state == LINK_UP)
            links_close(c->links, o, false);
    }
}

static void admit_joiner(struct core *c, struct link *k, const struct msg_hello *m)
{
    struct epoch epoch;
    struct err err = {0};

    if (!core_is_head(c)) {
        refuse_caller(c, k, REFUSE_RETRY, "only the head admits new daemons");
        return;
    }
    if (head_admit(c->head, &m->self, m->cpus, &epoch, &err) < 0) {
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
    k->state = LINK_UP;
    replace_older(c, k);
    welcome_caller(c, k, epoch);
}

void greet_up(struct core *c, struct link *k, uint64_t have)
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
    struct link *k, *tmp;

    DL_FOREACH_SAFE(links_first(c->links), k, tmp)
    {
        if (!k->joining || k->state != LINK_UP || members_current(&c->members, k->vpid, k->epoch) ||
            head_joining(c->head, k->vpid, k->epoch))
            continue;
        if (has_left(c, k->vpid, k->epoch))
            refuse_and_wait(c, k, REFUSE_LEFT, "the grow campaign that wanted it has failed");
        else
            links_close(c->links, k, true);
    }
}

static void not_a_member(struct core *c, struct link *k, const struct msg_member *who)
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

static void come_back(struct core *c, struct link *k, const struct msg_hello *m)
{
    const struct msg_member *who = &m->self;

    if (!members_current(&c->members, who->vpid, who->epoch)) {
        not_a_member(c, k, who);
        return;
    }
    k->vpid = who->vpid;
    k->epoch = who->epoch;
    k->state = LINK_UP;
    welcome_caller(c, k, who->epoch);
    greet_up(c, k, m->version);
}

static void take_hello(struct core *c, struct link *k, struct msg *msg)
{
    const struct msg_hello *m = &msg->hello;

    if (!k->incoming || k->state != LINK_GREETING) {
        links_close(c->links, k, false);
        return;
    }
    if (!k->member_role || m->self.vpid == VPID_HEAD || strcmp(m->cluster, c->opts.cluster) != 0) {
        refuse_caller(c, k, REFUSE_NEVER,
                      "this is another cluster, or the certificate's role is not a daemon's");
        return;
    }
    if (c->finishing || c->state == CORE_PARKED) {
        refuse_caller(c, k, REFUSE_RETRY, "this daemon is leaving");
        return;
    }
    if (m->why == HELLO_JOIN)
        admit_joiner(c, k, m);
    else
        come_back(c, k, m);
}

static void take_welcome(struct core *c, struct link *k, struct msg *msg)
{
    const struct msg_welcome *m = &msg->welcome;

    if (k->incoming || k->state != LINK_GREETING || (m->self.vpid == VPID_HEAD && !k->head_role)) {
        links_close(c->links, k, false);
        return;
    }
    k->state = LINK_UP;
    k->epoch = m->self.epoch;
    k->vpid = m->self.vpid;
    c->retry_ms = CORE_RETRY_MIN_MS;
    c->retry_at = 0;
    if (epoch_none(c->self.epoch)) {
        c->self.epoch = m->epoch;
        rml_set_epoch(c->rml, c->self.epoch);
        c->members.radix = m->radix;
        snprintf(c->incarnation, sizeof(c->incarnation), "%016llx",
                 (unsigned long long)m->epoch.inc);
        k->joining = true;
        core_set_state(c, CORE_JOINING, "admitted as epoch %llu of vpid %u, waits to be wired",
                       (unsigned long long)m->epoch.ctr, c->opts.vpid);
        return;
    }
    neigh_update(c);
}

static void take_refuse(struct core *c, struct link *k, struct msg *msg)
{
    const struct msg_refuse *m = &msg->refuse;

    if (k->incoming) {
        links_close(c->links, k, false);
        return;
    }
    neigh_bye(c, k); /* BYE shows that we have read the REFUSE */
    links_close(c->links, k, true);
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
    if (c->state == CORE_JOINING)
        core_set_state(c, CORE_JOINING, "refused, tries again: %s", m->text);
    if (m->why == REFUSE_NEVER)
        out_log(&c->out, LOG_LEVEL_ERROR, "the head refuses this daemon: %s", m->text);
}

void greet_snapshot(struct core *c, struct link *k)
{
    struct msg m = {.type = MSG_SNAPSHOT,
                    .snapshot = {.op = c->members.version, .radix = c->members.radix}};
    BUF_AUTO struct buf nidmap = {0};

    buf_init(&nidmap, MSG_DATA_MAX);
    members_encode(&c->members, &nidmap);
    m.snapshot.table = nidmap.data;
    m.snapshot.len = nidmap.len;
    neigh_say(c, k, &m);
}

const struct link_handler greet_handlers[] = {
    {MSG_HELLO, LINK_WHEN_ANY, take_hello},
    {MSG_WELCOME, LINK_WHEN_ANY, take_welcome},
    {MSG_REFUSE, LINK_WHEN_ANY, take_refuse},
    {0},
};
