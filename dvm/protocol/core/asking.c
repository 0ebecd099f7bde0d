/* SPDX-License-Identifier: BSD-3-Clause */
/* A new head asks the members that call it for the records of the former one, before it begins.
 *
 *     caller                          new head
 *       |-- HELLO ------------------------>|
 *       |<-------------- RECORDS_ASK ------|
 *       |-- KEPT (group) ----------------->|  from all callers, or time has passed
 *       |<-------- RECORDS_ASK (all) ------|  to the best keeper
 *       |-- RECORDS ---------------------->|  the head begins with them
 *       |<------ WELCOME, or REFUSE -------|  to all callers
 *
 * In: callers, KEPT, RECORDS, the clock; the records of a volume, if the head has one. Out: the
 * head, with the records of the best keeper, else with those of the volume, or without any. Callers
 * wait meanwhile on their open connections.
 *
 * The best keeper is one of the incarnation that most callers have. Of those, the latest epoch of
 * the head counts, then the number of the group. Enough is known when all children of the head have
 * called, and two of them have the last group: those that were left behind may call first. Else
 * ASKING_MORE_MS pass from the first keeper on, in which all members that live have called: they
 * try again after 2 s at the latest. While only few have called, others may be cut off, and
 * ASKING_FEW_MS pass.
 *
 * Failures: a keeper that departs with its records is replaced by the next best. If none has as
 * much, it has ASKING_MORE_MS to call again. A better keeper that answers late is asked, if the
 * head has not begun. Without any caller ASKING_MS pass. They are fewer if daemons call that join:
 * no member waits then, it would have called too. Records that are damaged are not taken, and
 * neither are those of a keeper that was left behind, if a member that has called is ahead of them:
 * the next best keeper is asked, or the other member may call again.
 *
 * A volume is the keeper of last resort: it may lack what the kernel of a lost node had not written
 * yet. Its records are refused as those of a keeper, and if more of the calling members are of
 * another incarnation than of theirs. */
#include "dvm/protocol/core/core_private.h"

#include "base/bitmap/bitmap.h"
#include "base/log/log.h"

#include <stdlib.h>
#include <utlist.h>

#define ASKING_MS 10000
#define ASKING_MORE_MS 2500
#define ASKING_FEW_MS 5000
#define ASKING_JOINERS_MS 5000

void asking_begin(struct core *c)
{
    struct asking *a = &c->asking;

    *a = (struct asking){.on = true, .begin_ms = c->out.now_ms};
    buf_init(&a->volume, c->opts.heritage_len);
    if (c->opts.heritage)
        buf_put_raw(&a->volume, c->opts.heritage, c->opts.heritage_len);
    c->opts.heritage = NULL; /* borrowed */
    core_set_state(c, CORE_JOINING, "head of %s, asks the members for the records of a former one",
                   c->opts.cluster);
}

static void free_caller(struct asking *a, struct asking_caller *x)
{
    DL_DELETE(a->callers, x);
    buf_free(&x->hello);
    majority_drop_table(a, x);
    free(x);
}

void asking_free(struct core *c)
{
    struct asking *a = &c->asking;

    while (a->callers)
        free_caller(a, a->callers);
    buf_free(&a->got);
    buf_free(&a->coming);
    buf_free(&a->volume);
    free(a->seen);
    *a = (struct asking){0};
}

/* --- callers */

static bool is_joiner(const struct asking_caller *x, const struct asking_caller *as)
{
    return x->joins;
}

static bool is_of_incarnation(const struct asking_caller *x, const struct asking_caller *as)
{
    return !x->joins && x->epoch.inc == as->epoch.inc;
}

static bool has_same_records(const struct asking_caller *x, const struct asking_caller *as)
{
    return x->epoch.inc == as->epoch.inc && x->kept.ctr == as->kept.ctr &&
           x->kept.seq == as->kept.seq;
}

static bool has_answered(const struct asking_caller *x, const struct asking_caller *as)
{
    return is_of_incarnation(x, as) && x->answered;
}

/* A member below others calls when it has no link to them: it stands for none of them. A member of
 * edition 0 does not say what it is, and counts. */
static bool is_child(const struct asking_caller *x, const struct asking_caller *as)
{
    return has_answered(x, as) && (x->kept.child || x->mute);
}

static bool is_better(const struct asking *a, const struct asking_caller *x,
                      const struct asking_caller *y)
{
    unsigned n = callers_count(a, is_of_incarnation, x), m = callers_count(a, is_of_incarnation, y);

    if (n != m)
        return n > m;
    if (x->kept.ctr != y->kept.ctr)
        return x->kept.ctr > y->kept.ctr;
    return x->kept.seq > y->kept.seq;
}

static struct asking_caller *find_best(const struct asking *a)
{
    struct asking_caller *best = NULL, *x;

    DL_FOREACH(a->callers, x)
    {
        if (x->kept.ctr && (!best || is_better(a, x, best)))
            best = x;
    }
    return best;
}

/* The head does not know the members' keys yet. A call with another key may be a lie. */
static bool is_same_daemon(const struct asking_caller *x, uint32_t vpid, struct key_id key)
{
    return x->vpid == vpid && key_id_eq(x->key, key);
}

/* The best keeper calls again soon, and is waited for if no other has as much. */
static void drop_caller(struct core *c, struct asking_caller *x)
{
    struct asking *a = &c->asking;

    if (x->kept.ctr && x == find_best(a) && callers_count(a, has_same_records, x) < 2)
        a->lost_ms = c->out.now_ms;
    free_caller(a, x);
}

/* A daemon that calls again has given its earlier call up. But the greeting may be one of an even
 * earlier call, which was late. Then the daemon calls again, since the call at which it waits is
 * closed. */
static void leave_earlier(struct core *c, const struct msg_member *who, struct key_id key)
{
    struct asking_caller *x, *tmp;

    DL_FOREACH_SAFE(c->asking.callers, x, tmp)
    {
        struct neighbour *k = neighbours_by_conn(c->neighbours, x->conn, NULL);

        if (!is_same_daemon(x, who->vpid, key))
            continue;
        if (k)
            neighbours_close(c->neighbours, k, false);
        drop_caller(c, x);
    }
}

static void note_first(uint64_t *at_ms, uint64_t now_ms)
{
    if (*at_ms == 0)
        *at_ms = now_ms;
}

static void note_seen(struct asking *a, const struct asking_caller *x)
{
    struct asking_seen *s;
    size_t i = 0;

    while (i < a->nseen && !is_same_daemon(x, a->seen[i].vpid, a->seen[i].key))
        i++;
    if (i == a->nseen) {
        a->seen = xrealloc(a->seen, (a->nseen + 1) * sizeof(*a->seen));
        a->seen[a->nseen++] = (struct asking_seen){.vpid = x->vpid, .key = x->key};
    }
    s = &a->seen[i];
    if (!epoch_eq(s->epoch, x->epoch) || x->version > s->version || x->head > s->head)
        *s = (struct asking_seen){x->vpid, x->key, x->epoch, x->head, x->version};
}

static void ask_caller(struct core *c, struct neighbour *k, struct peer_link *at, bool all)
{
    struct msg m = {.type = MSG_RECORDS_ASK, .records_ask = {.all = all}};
    struct frame from = rml_from(c->rml);

    at->opened_ms = c->out.now_ms;
    neighbours_send_on(c->neighbours, k, at, &from, &m);
}

/* A member of edition 0 keeps nothing, and cannot be asked. */
void asking_take_hello(struct core *c, struct neighbour *k, const struct msg *m)
{
    struct asking *a = &c->asking;
    struct peer_link *at = neighbours_in(c->neighbours);
    struct asking_caller *x;

    if (callers_find(a, at->conn))
        return;
    leave_earlier(c, &m->hello.self, k->key);
    x = xcalloc(1, sizeof(*x));
    x->conn = at->conn;
    x->vpid = m->hello.self.vpid;
    x->key = k->key;
    x->joins = m->hello.why == HELLO_JOIN;
    x->epoch = m->hello.self.epoch;
    x->head = k->knows_head;
    x->version = m->hello.version;
    buf_init(&x->hello, MSG_DATA_MAX);
    msg_encode(&x->hello, m);
    DL_APPEND(a->callers, x);
    note_first(x->joins ? &a->joiner_ms : &a->member_ms, c->out.now_ms);
    if (!x->joins)
        note_seen(a, x);
    x->answered = x->mute = k->speaks < 1;
    if (!x->joins && !x->answered)
        ask_caller(c, k, at, false);
}

void asking_take_kept(struct core *c, struct neighbour *k, const struct msg_kept *m)
{
    struct peer_link *at = neighbours_in(c->neighbours);
    struct asking_caller *x = callers_find(&c->asking, at->conn);

    if (!x || x->joins)
        return;
    at->opened_ms =
        c->out.now_ms + ASKING_MS; /* its greeting is not late: this head decides first */
    x->kept = *m;
    x->answered = true;
    if (m->ctr)
        note_first(&c->asking.keeper_ms, c->out.now_ms);
}

void asking_take_records(struct core *c, struct neighbour *k, const struct msg_records *m)
{
    struct asking *a = &c->asking;

    if (!a->from || neighbours_in(c->neighbours)->conn != a->from ||
        (!m->begins && !a->coming.len)) /* the rest of an earlier answer */
        return;
    a->from_ms = neighbours_in(c->neighbours)->opened_ms = c->out.now_ms;
    if (m->begins)
        a->clock_ahead = (int64_t)(m->now_ms - c->out.now_ms);
    if (!keeper_gather(&a->coming, m))
        return;
    buf_free(&a->got);
    a->got = a->coming;
    a->coming = (struct buf){0};
}

/* --- the decision */

static void drop_closed(struct core *c)
{
    struct asking_caller *x, *tmp;

    DL_FOREACH_SAFE(c->asking.callers, x, tmp)
    {
        if (!neighbours_by_conn(c->neighbours, x->conn, NULL))
            drop_caller(c, x);
    }
}

/* All have answered that should call. */
static bool is_enough(const struct asking *a, const struct asking_caller *best)
{
    unsigned n = callers_count(a, is_child, best), same = callers_count(a, has_same_records, best);

    return n >= best->kept.callers && same >= (best->kept.callers < 2 ? 1 : 2);
}

/* All daemons of the first size: none of them is a member. */
static bool all_join(const struct core *c)
{
    return c->opts.size && !c->asking.member_ms &&
           callers_count(&c->asking, is_joiner, NULL) >= c->opts.size;
}

/* A better keeper may be about to call again, but that wait has an end. */
static uint64_t wait_for_keepers(const struct asking *a, const struct asking_caller *best)
{
    bool most = 2 * callers_count(a, has_answered, best) > best->kept.callers;
    uint64_t until = a->keeper_ms + (most ? ASKING_MORE_MS : ASKING_FEW_MS);
    uint64_t back = a->lost_ms ? a->lost_ms + ASKING_MORE_MS : 0;
    uint64_t end = a->member_ms + ASKING_MS;

    back = back < end ? back : end;
    return back > until ? back : until;
}

static uint64_t wait_until(const struct core *c)
{
    const struct asking *a = &c->asking;
    const struct asking_caller *best = find_best(a);

    if (a->keeper_ms && best) /* it has not departed */
        return wait_for_keepers(a, best);
    if (a->again_ms && a->again_ms + ASKING_MORE_MS > a->member_ms + ASKING_MS)
        return a->again_ms + ASKING_MORE_MS;
    if (a->member_ms)
        return a->member_ms + ASKING_MS;
    if (all_join(c))
        return c->out.now_ms;
    if (a->joiner_ms && a->joiner_ms + ASKING_JOINERS_MS < a->begin_ms + ASKING_MS)
        return a->joiner_ms + ASKING_JOINERS_MS;
    return a->begin_ms + ASKING_MS;
}

/* The clock has been set to that of the former head. */
static void restart_times(struct core *c)
{
    struct neighbour *k;
    struct peer_link *at;

    DL_FOREACH(neighbours_first(c->neighbours), k)
    {
        k->opened_ms = k->heard_ms = c->out.now_ms;
        DL_FOREACH(peer_links(k->peer), at)
        {
            at->opened_ms = at->heard_ms = c->out.now_ms;
        }
    }
    if (c->keepers.begins)
        c->keepers.wait_since = c->out.now_ms;
}

static void answer_caller(struct core *c, const struct asking_caller *x)
{
    struct cur cur = cur_of(x->hello.data, x->hello.len);
    struct peer_link *at;
    struct neighbour *k = neighbours_by_conn(c->neighbours, x->conn, &at);
    struct msg m;

    if (!k || msg_decode(&cur, MSG_HELLO, &m, NULL) < 0)
        return;
    neighbours_set_in(c->neighbours, at);
    dispatch_neighbour(c, k, &m);
    neighbours_set_in(c->neighbours, NULL);
    msg_free(&m);
}

/* A member of the same incarnation has a later table or epoch, or knows a later head: the records
 * are not the last ones. They may have as many broadcasts as its table, or more, of a former head
 * that has run on beside its heir. */
static bool is_ahead(const struct core *c, const struct asking_seen *s)
{
    return s->epoch.inc == head_incarnation(c->head) &&
           (s->version > c->members.version || s->epoch.ctr > head_last_epoch(c->head) ||
            s->head > members_head(&c->members));
}

static bool fold_records(struct core *c, const struct buf *records, const int64_t *clock_ahead)
{
    c->opts.heritage = records->data;
    c->opts.heritage_len = records->len;
    return core_inherit(c, clock_ahead);
}

/* When the head decides, a member may have given up the call in which it has shown what it knows.
 */
static bool refuse_outdated(struct core *c)
{
    const struct asking *a = &c->asking;

    for (size_t i = 0; i < a->nseen; i++) {
        if (is_ahead(c, &a->seen[i])) {
            out_log(&c->out, LOG_LEVEL_WARN, "vpid %u has seen more than these records have",
                    a->seen[i].vpid);
            core_disinherit(c);
            return true;
        }
    }
    return false;
}

static bool inherit_from_keeper(struct core *c)
{
    return fold_records(c, &c->asking.got, &c->asking.clock_ahead) && !refuse_outdated(c);
}

/* The incarnation of the records may have ended while the head had no volume. */
static bool inherit_from_volume(struct core *c)
{
    const struct asking *a = &c->asking;
    size_t others = 0;

    if (a->volume.len == 0 || !fold_records(c, &a->volume, NULL))
        return false;
    if (refuse_outdated(c))
        return false;
    for (size_t i = 0; i < a->nseen; i++)
        others += a->seen[i].epoch.inc != head_incarnation(c->head);
    if (2 * others > a->nseen) {
        out_log(&c->out, LOG_LEVEL_WARN,
                "the records of the volume are of another incarnation than most members");
        core_disinherit(c);
        return false;
    }
    c->from_volume = true;
    out_log(&c->out, LOG_LEVEL_INFO, "no member keeps records: those of the volume are taken");
    return true;
}

static bool inherit_from_members(struct core *c)
{
    const int64_t own_clock = 0;
    BUF_AUTO struct buf b = {0};

    buf_init(&b, RECORD_SNAPSHOT_MAX);
    return majority_record(c, &b) && fold_records(c, &b, &own_clock);
}

static void begin_head(struct core *c)
{
    struct asking a = c->asking;
    const struct asking_caller *x;

    c->asking = (struct asking){0};
    c->keepers.begins = c->head != NULL;
    c->records_anew = true; /* a volume may lack what keepers had */
    core_start_head(c);
    restart_times(c);
    DL_FOREACH(a.callers, x)
    {
        answer_caller(c, x);
    }
    a.on = false;
    c->asking = a;
    asking_free(c);
}

static void forget_kept(struct asking *a, uint64_t now_ms)
{
    struct asking_caller *x = a->from ? callers_find(a, a->from) : NULL;

    if (a->from)
        a->again_ms = now_ms; /* it may call again */
    if (x)
        x->kept = (struct msg_kept){.child = x->kept.child};
    a->from = 0;
    buf_free(&a->got);
    a->got = (struct buf){0};
}

/* A keeper with the same records is asked soon; one with older ones, which lack what others have
 * seen, only when this one counts as silent. */
static uint64_t records_due(const struct core *c)
{
    const struct asking *a = &c->asking;
    const struct asking_caller *from = callers_find(a, a->from), *x;

    DL_FOREACH(a->callers, x)
    {
        if (x->kept.ctr && x != from && !(from && is_better(a, from, x)))
            return a->from_ms + ASKING_MORE_MS;
    }
    return a->from_ms + c->opts.ack_ms;
}

/* A keeper that does not answer, or whose records are of no use, is not asked again. */
static bool is_under_way(struct core *c)
{
    struct asking *a = &c->asking;

    if (!a->got.len && a->from && callers_find(a, a->from) && records_due(c) > c->out.now_ms)
        return true;
    forget_kept(a, c->out.now_ms);
    return false;
}

/* A better keeper has answered while the records of another one are on their way. */
static void drop_outdone(struct asking *a)
{
    const struct asking_caller *x = a->from ? callers_find(a, a->from) : NULL, *best = find_best(a);

    if (!x || !best || !is_better(a, best, x))
        return;
    a->from = 0;
    buf_free(&a->got);
    buf_free(&a->coming);
    a->got = a->coming = (struct buf){0};
}

void asking_turn(struct core *c)
{
    struct asking *a = &c->asking;
    struct asking_caller *best;
    struct peer_link *at;
    struct neighbour *k;

    if (!a->on)
        return;
    drop_closed(c);
    drop_outdone(a);
    if (a->got.len && (inherit_from_keeper(c) || a->ended)) {
        begin_head(c);
        return;
    }
    if (is_under_way(c))
        return;
    best = find_best(a);
    if (!best)
        majority_ask(c);
    if (best && (is_enough(a, best) || wait_until(c) <= c->out.now_ms)) {
        k = neighbours_by_conn(c->neighbours, best->conn, &at);
        a->from = best->conn;
        a->from_ms = c->out.now_ms;
        ask_caller(c, k, at, true);
    } else if (wait_until(c) <= c->out.now_ms) {
        if (!inherit_from_volume(c) && !inherit_from_members(c))
            out_log(&c->out, LOG_LEVEL_INFO,
                    "no records and no majority of members: a new incarnation begins");
        begin_head(c);
    }
}

uint64_t asking_deadline(const struct core *c)
{
    const struct asking *a = &c->asking;

    if (!a->on)
        return UINT64_MAX;
    if (a->from)
        return records_due(c);
    if (find_best(a) || majority_due(c) > wait_until(c))
        return wait_until(c);
    return majority_due(c);
}
