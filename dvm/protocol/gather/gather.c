/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives: contributions with data go up a tree over the participants, the outcome goes down.
 *
 * In: a local contribution (gather_start()), GATHER_UP and GATHER_DOWN, the loss of a daemon, the
 * launch or the end of a job, the clock. Out: the same messages, and one OUT_GATHER for each local
 * contribution.
 *
 * A collective is known by its signature and a number, which counts those of the signature. A
 * contribution of a child may come before the local one; it waits. The first participant, the
 * decider, chooses the outcome: OK with all the data, LOST, or TIMEOUT.
 *
 * A signature names ranks of jobs. The launch of a job says which daemons have its ranks, so a
 * message of a daemon that has none of the named ranks is dropped. While no named job has been
 * launched here, a message waits (early.h). If some of the named jobs are known here and others are
 * not, any sender is believed.
 *
 * Invariants: a local contribution is answered once. All participants get the outcome of the
 * first one, or LOST if they have lost it. A collective that has ended is not begun again.
 *
 * Failures: a participant that sees a failure reports it to the first one, which sends a
 * bad outcome to all directly. Of one sender GATHER_TOLD_MAX collectives can wait that have not
 * begun here, then its further ones are dropped with a log line. As many outcomes of such are
 * remembered, the newest. */
#include "dvm/protocol/gather/gather.h"

#include "base/log/log.h"
#include "dvm/protocol/gather/early.h"
#include "dvm/protocol/gather/ops.h"
#include "dvm/protocol/gather/signature.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct gather {
    struct out *out;
    struct rml *rml;
    struct members *members;
    gather_part_fn *part; /* NULL: each sender is believed */
    void *part_arg;
    gather_ranks_fn *ranks; /* NULL: ranks here that have ended are waited for */
    void *ranks_arg;
    struct early early;
    struct ops ops;
    uint64_t ended[GATHER_ENDED_KEPT];
    uint64_t nended;
};

struct gather *gather_create(struct out *out, struct rml *rml, struct members *members)
{
    struct gather *g = xcalloc(1, sizeof(*g));

    g->out = out;
    g->rml = rml;
    g->members = members;
    g->early.out = out;
    return g;
}

void gather_check_senders(struct gather *g, gather_part_fn *part, void *arg)
{
    g->part = part;
    g->part_arg = arg;
}

void gather_stand_in(struct gather *g, gather_ranks_fn *ranks, void *arg)
{
    g->ranks = ranks;
    g->ranks_arg = arg;
}

size_t gather_running(const struct gather *g)
{
    return HASH_COUNT(g->ops.list);
}

size_t gather_signatures(const struct gather *g)
{
    return HASH_COUNT(g->ops.seqs);
}

size_t gather_early(const struct gather *g)
{
    return g->early.n;
}

static uint64_t digest_bytes(const void *data, size_t len, uint64_t from)
{
    const uint8_t *p = data;

    for (size_t i = 0; i < len; i++)
        from = (from ^ p[i]) * 1099511628211ull;
    return from;
}

void gather_each(const struct gather *g, void (*on)(void *arg, const struct gather_look *look),
                 void *arg)
{
    const struct gather_op *op, *tmp;

    HASH_ITER(hh, g->ops.list, op, tmp)
    {
        struct gather_look look = {.id = digest_bytes(op->key->sig, op->key->siglen, op->key->seq),
                                   .begun = op->started,
                                   .sig = op->key->sig,
                                   .siglen = op->key->siglen};

        on(arg, &look);
    }
}

void gather_destroy(struct gather *g)
{
    if (!g)
        return;
    ops_free(&g->ops);
    early_free(&g->early);
    free(g);
}

static size_t index_of(const struct gather_op *op, uint32_t vpid)
{
    size_t i = 0;

    while (i < op->n && op->vpids[i] != vpid)
        i++;
    return i;
}

/* The tree over the participants: children of position p are p * radix + 1 … p * radix + radix. */
static size_t tree_radix(const struct gather *g)
{
    return g->members->radix;
}

static bool decides_op(const struct gather *g, const struct gather_op *op)
{
    return op->n && op->vpids[0] == g->members->self;
}

static void know_participants(struct gather *g, struct gather_op *op, const uint32_t *vpids,
                              size_t n)
{
    size_t first;
    size_t self;

    if (op->vpids)
        return;
    op->vpids = xmalloc((n + 1) * sizeof(*vpids));
    memcpy(op->vpids, vpids, n * sizeof(*vpids));
    op->n = n;
    self = index_of(op, g->members->self);
    first = self * tree_radix(g) + 1;
    op->need = first >= n ? 0 : (n - first < tree_radix(g) ? n - first : tree_radix(g));
}

static bool has_vpid(const uint32_t *vpids, size_t n, uint32_t vpid)
{
    for (size_t i = 0; i < n; i++) {
        if (vpids[i] == vpid)
            return true;
    }
    return false;
}

/* A contribution names its participants: its sender and its receiver are among them. */
static bool is_contribution(const struct gather *g, uint32_t from, const struct msg_gather *m)
{
    if (has_vpid(m->vpids, m->nvpids, from) && has_vpid(m->vpids, m->nvpids, g->members->self))
        return true;
    out_log(g->out, LOG_LEVEL_WARN, "collective from vpid %u dropped: it is for others", from);
    return false;
}

/* The outcome comes from the first participant, or by way of the parent among them. */
static bool may_tell_outcome(const struct gather *g, const struct gather_op *op, uint32_t from)
{
    size_t self = op->n ? index_of(op, g->members->self) : 0;

    if (!op->started || from == op->vpids[0] ||
        (self && from == op->vpids[(self - 1) / tree_radix(g)]))
        return true;
    out_log(g->out, LOG_LEVEL_WARN, "outcome of a collective from vpid %u dropped: it has none",
            from);
    return false;
}

static bool same_participants(const struct gather_op *op, const uint32_t *vpids, size_t n)
{
    return op->n == n && memcmp(op->vpids, vpids, n * sizeof(*vpids)) == 0;
}

/* Contributions that arrived earlier are dropped if they name other participants than ours. */
static void check_participants(struct gather *g, struct gather_op *op, const uint32_t *vpids,
                               size_t n)
{
    if (!op->vpids || same_participants(op, vpids, n))
        return;
    out_log(g->out, LOG_LEVEL_WARN, "contributions to a collective dropped: other participants");
    free_ptr(&op->vpids);
    op->have = 0;
    buf_reset(&op->data);
}

static int send_gather(struct gather *g, const struct gather_op *op, uint32_t to,
                       enum msg_type type, enum gather_outcome outcome, const struct buf *data)
{
    bool ok = gather_is_good(outcome);
    struct msg m = {.type = type};
    struct err err = {0};

    *(type == MSG_GATHER_UP ? &m.gather_up : &m.gather_down) =
        (struct msg_gather){.seq = op->key->seq,
                            .sig = op->key->sig,
                            .siglen = op->key->siglen,
                            .outcome = outcome,
                            .nvpids = op->n,
                            .vpids = op->vpids,
                            .data = ok ? data->data : NULL,
                            .len = ok ? data->len : 0};
    if (rml_send(g->rml, to, CLASS_MODEX, &m, &err) == 0)
        return 0;
    out_log(g->out, 1, "collective: %s", err.msg);
    return -1;
}

static void answer_request(struct gather *g, uint64_t req, enum gather_outcome outcome,
                           const struct buf *data)
{
    struct out_act *act = out_add(g->out, OUT_GATHER);

    act->gather.req = req;
    act->gather.outcome = outcome;
    if (data && gather_is_good(outcome))
        buf_put_raw(&act->gather.data, data->data, data->len);
}

/* The end on this daemon: its own client is answered, once. */
static void end_op(struct gather *g, struct gather_op *op, enum gather_outcome outcome)
{
    ops_note_end(&g->ops, op, outcome);
    if (op->started && !op->stood_in)
        answer_request(g, op->req, outcome, &op->data);
    ops_drop(&g->ops, op);
}

static enum gather_outcome good_outcome(const struct gather_op *op)
{
    return op->ended ? GATHER_ENDED : GATHER_OK;
}

/* The good outcome goes down the tree with the data. */
static void send_children(struct gather *g, const struct gather_op *op, enum gather_outcome outcome)
{
    size_t self = index_of(op, g->members->self);

    for (size_t i = self * tree_radix(g) + 1; i <= (self + 1) * tree_radix(g) && i < op->n; i++)
        (void)send_gather(g, op, op->vpids[i], MSG_GATHER_DOWN, outcome, &op->data);
}

static void pass_down(struct gather *g, struct gather_op *op)
{
    enum gather_outcome outcome = good_outcome(op);

    send_children(g, op, outcome);
    end_op(g, op, outcome);
}

/* By the decider. A bad outcome goes to everybody directly: a relay may not know the collective
 * yet. */
static void decide_op(struct gather *g, struct gather_op *op, enum gather_outcome outcome)
{
    if (gather_is_good(outcome)) {
        struct gather_seq *s = ops_seq(&g->ops, op->key->sig, op->key->siglen);

        s->ok = op->key->seq;
        s->ok_outcome = outcome;
        buf_reset(&s->ok_data);
        if (op->n > tree_radix(g) + 1)
            buf_put_raw(&s->ok_data, op->data.data, op->data.len);
        pass_down(g, op);
        return;
    }
    for (size_t i = 1; i < op->n; i++) {
        if (members_live(g->members, op->vpids[i]))
            (void)send_gather(g, op, op->vpids[i], MSG_GATHER_DOWN, outcome, NULL);
    }
    end_op(g, op, outcome);
}

/* A failure is seen here: the decider chooses the outcome. */
static void report_trouble(struct gather *g, struct gather_op *op, enum gather_outcome outcome)
{
    op->deadline_ms = 0;
    op->ask_ms = 0;
    if (decides_op(g, op))
        decide_op(g, op, outcome);
    else if (!members_live(g->members, op->vpids[0]) ||
             send_gather(g, op, op->vpids[0], MSG_GATHER_UP, outcome, NULL) < 0)
        end_op(g, op, GATHER_LOST);
}

static void check_op(struct gather *g, struct gather_op *op)
{
    size_t self = index_of(op, g->members->self);
    bool told;

    if (!op->started || op->have < op->need)
        return;
    op->ask_ms = 0;
    if (self == 0 && !op->data.failed) {
        decide_op(g, op, good_outcome(op));
        return;
    }
    told = !op->data.failed && /* else it is too long for a message */
           send_gather(g, op, op->vpids[(self - 1) / tree_radix(g)], MSG_GATHER_UP,
                       good_outcome(op), &op->data) == 0;
    if (!told)
        report_trouble(g, op, GATHER_LOST);
}

static bool all_there(const struct gather *g, const struct gather_call *c)
{
    for (size_t i = 0; i < c->n; i++) {
        if (!members_live(g->members, c->vpids[i]))
            return false;
    }
    return !c->lost;
}

/* --- ranks that end instead of contributing */

/* The states of the ranks here that the signature names, as bits. */
static unsigned ranks_here(const struct gather *g, const struct gather_key *key)
{
    struct signature_name name;
    unsigned all = 0;

    for (size_t at = 0; g->ranks && signature_next(key->sig, key->siglen, &at, &name);)
        all |= g->ranks(g->ranks_arg, name.nspace, name.rank);
    return all;
}

/* This daemon is in the collective from now on. A child whose ranks have all ended does not begin
 * by itself: it is asked. A rank that has never been a client would have met the others in its
 * PMIx_Init: they do not go on without it. */
static void begin_op(struct gather *g, struct gather_op *op, uint64_t ask_ms)
{
    unsigned ranks = ranks_here(g, op->key);

    op->started = true;
    op->ask_ms = ask_ms;
    if (ranks & GATHER_RANKS_ABSENT)
        report_trouble(g, op, GATHER_LOST);
    else
        check_op(g, op);
}

/* If all ranks here that it names have ended, this daemon contributes for them. */
static void stand_in(struct gather *g, struct gather_op *op)
{
    unsigned ranks = op->started || !op->n ? 0 : ranks_here(g, op->key);
    struct gather_seq *s;

    if (!ranks || ranks & GATHER_RANKS_LIVE)
        return;
    s = ops_seq(&g->ops, op->key->sig, op->key->siglen);
    if (s->next < op->key->seq)
        s->next = op->key->seq;
    op->stood_in = true;
    op->ended = true;
    begin_op(g, op, g->out->now_ms);
}

void gather_rank_left(struct gather *g, const char *nspace)
{
    struct gather_op *op, *tmp;

    HASH_ITER(hh, g->ops.list, op, tmp)
    {
        if (signature_names(op->key->sig, op->key->siglen, nspace))
            stand_in(g, op);
    }
}

/* --- contributions and outcomes */

void gather_start(struct gather *g, const struct gather_call *c)
{
    struct gather_seq *s = ops_seq(&g->ops, c->sig, c->siglen);
    struct gather_op *op = ops_get(&g->ops, g->members->self, ++s->next, c->sig, c->siglen);

    if (!op) { /* it ended before it began here, so it ended badly */
        answer_request(g, c->req, ops_bad_end(s, s->next), NULL);
        return;
    }
    op->req = c->req;
    op->deadline_ms = c->timeout_ms ? g->out->now_ms + c->timeout_ms : 0;
    check_participants(g, op, c->vpids, c->n);
    know_participants(g, op, c->vpids, c->n);
    buf_put_raw(&op->data, c->data, c->len);
    op->started = true;
    if (all_there(g, c))
        begin_op(g, op, g->out->now_ms + GATHER_ASK_MS);
    else
        report_trouble(g, op, GATHER_LOST);
}

/* A participant that asks has lost its relay. A participant that contributes late missed the
 * outcome. */
static void tell_again(struct gather *g, uint32_t to, const struct msg_gather *m,
                       const struct gather_seq *s)
{
    struct gather_op past = {.key = ops_key(m->seq, m->sig, m->siglen)};

    (void)send_gather(g, &past, to, MSG_GATHER_DOWN,
                      s->ok == m->seq ? s->ok_outcome : ops_bad_end(s, m->seq), &s->ok_data);
    free(past.key);
}

/* Open ones of that sender that wait for this daemon's contribution. */
static size_t told_open(const struct gather *g, uint32_t from)
{
    const struct gather_op *op, *tmp;
    size_t n = 0;

    HASH_ITER(hh, g->ops.list, op, tmp)
    {
        n += !op->started && op->from == from;
    }
    return n;
}

/* The collective of a message that names its participants, maybe one that has not begun here. NULL:
 * it is dropped, or has ended (*over). */
static struct gather_op *open_op(struct gather *g, uint32_t from, const struct msg_gather *m,
                                 bool *over)
{
    struct gather_op *op;

    *over = false;
    if (!ops_find(&g->ops, m->seq, m->sig, m->siglen) && told_open(g, from) >= GATHER_TOLD_MAX) {
        early_log_drop(&g->early, from, "too many of it have not begun here");
        return NULL;
    }
    op = ops_get(&g->ops, from, m->seq, m->sig, m->siglen);
    *over = !op;
    if (!op)
        return NULL;
    know_participants(g, op, m->vpids, m->nvpids);
    return same_participants(op, m->vpids, m->nvpids) ? op : NULL;
}

static void take_up(struct gather *g, uint32_t from, const struct msg_gather *m)
{
    bool over;
    struct gather_op *op = open_op(g, from, m, &over);

    if (!op) {
        /* The decider alone: a relay in a new epoch does not know the outcomes that it has
         * missed. */
        if (over && m->nvpids && m->vpids[0] == g->members->self &&
            (!gather_is_good(m->outcome) || ops_seq(&g->ops, m->sig, m->siglen)->ok != m->seq))
            tell_again(g, from, m, ops_seq(&g->ops, m->sig, m->siglen));
        return;
    }
    if (!gather_is_good(m->outcome)) {
        report_trouble(g, op, m->outcome == GATHER_TIMEOUT ? GATHER_TIMEOUT : GATHER_LOST);
        return;
    }
    buf_put_raw(&op->data, m->data, m->len);
    op->ended |= m->outcome == GATHER_ENDED;
    op->have++;
    if (op->started)
        check_op(g, op);
    else
        stand_in(g, op);
}

/* The sender waits. If ranks here can still contribute, their end is watched from now on. */
static void take_question(struct gather *g, uint32_t from, const struct msg_gather *m)
{
    bool over;
    struct gather_op *op = is_contribution(g, from, m) ? open_op(g, from, m, &over) : NULL;

    if (op)
        stand_in(g, op);
}

static void take_down(struct gather *g, uint32_t from, const struct msg_gather *m)
{
    struct gather_op *op;

    if (m->outcome == GATHER_WAITS) {
        take_question(g, from, m);
        return;
    }
    op = ops_get(&g->ops, from, m->seq, m->sig, m->siglen);
    if (!op || !may_tell_outcome(g, op, from))
        return; /* a repeated contribution, or another daemon's */
    if (!gather_is_good(m->outcome) || !op->started) {
        end_op(g, op, gather_is_good(m->outcome) ? GATHER_LOST : m->outcome);
        return;
    }
    buf_reset(&op->data);
    buf_put_raw(&op->data, m->data, m->len);
    op->ended = m->outcome == GATHER_ENDED;
    pass_down(g, op);
}

/* --- which messages are handled */

static uint64_t digest_nspace(const char *nspace)
{
    return digest_bytes(nspace, strlen(nspace), 1469598103934665603ull);
}

/* A late message about a job that has ended here. */
static bool is_over(const struct gather *g, const struct msg_gather *m)
{
    struct signature_name name;

    for (size_t at = 0; signature_next(m->sig, m->siglen, &at, &name);) {
        for (size_t i = 0; i < GATHER_ENDED_KEPT; i++) {
            if (g->ended[i] && g->ended[i] == digest_nspace(name.nspace))
                return true;
        }
    }
    return false;
}

/* Whether the sender is a participant, by the launches of the named jobs. If some jobs are known
 * here and others are not, the sender may have ranks of those that are not: it is believed. */
static enum gather_part part_of(const struct gather *g, uint32_t from, const struct msg_gather *m)
{
    struct signature_name name;
    bool known = false, unknown = false;

    if (!g->part || !signature_has_jobs(m->sig, m->siglen))
        return GATHER_TAKES_PART;
    for (size_t at = 0; signature_next(m->sig, m->siglen, &at, &name);) {
        enum gather_part part;

        if (name.rank == GATHER_RANK_NONE)
            continue;
        part = g->part(g->part_arg, name.nspace, name.rank, from);
        if (part == GATHER_TAKES_PART)
            return part;
        known |= part == GATHER_OUTSIDE;
        unknown |= part == GATHER_JOB_UNKNOWN;
    }
    if (known == unknown)
        return GATHER_TAKES_PART;
    return unknown ? GATHER_JOB_UNKNOWN : GATHER_OUTSIDE;
}

static void take_message(struct gather *g, uint32_t from, enum msg_type type,
                         const struct msg_gather *m)
{
    enum gather_part part = part_of(g, from, m);

    if (part == GATHER_OUTSIDE)
        early_log_drop(&g->early, from, "it has no rank of the job");
    else if (part == GATHER_JOB_UNKNOWN)
        early_keep(&g->early, from, type, m);
    else if (type == MSG_GATHER_UP)
        take_up(g, from, m);
    else
        take_down(g, from, m);
}

void gather_up(struct gather *g, uint32_t from, const struct msg_gather *m)
{
    if (!is_over(g, m) && is_contribution(g, from, m))
        take_message(g, from, MSG_GATHER_UP, m);
}

void gather_down(struct gather *g, uint32_t from, const struct msg_gather *m)
{
    if (!is_over(g, m))
        take_message(g, from, MSG_GATHER_DOWN, m);
}

void gather_launched(struct gather *g, const char *nspace)
{
    struct early_message *early = early_take(&g->early, nspace), *x, *tmp;

    DL_FOREACH_SAFE(early, x, tmp)
    {
        take_message(g, x->from, x->type, &x->m);
        early_message_free(x);
    }
}

/* --- losses, timeouts, ends of jobs */

/* True if the participant at `below` gets the outcome by way of the one at `above`. */
static bool relays_outcome(const struct gather *g, size_t above, size_t below)
{
    while (below > above)
        below = (below - 1) / tree_radix(g);
    return below == above;
}

void gather_lost(struct gather *g, uint32_t vpid)
{
    struct gather_op *op, *tmp;

    early_forget_sender(&g->early, vpid);
    HASH_ITER(hh, g->ops.list, op, tmp)
    {
        size_t at = op->vpids ? index_of(op, vpid) : op->n;

        if (at == op->n)
            continue;
        if (at == 0)
            end_op(g, op, GATHER_LOST);
        else if (decides_op(g, op) ||
                 (op->started && relays_outcome(g, at, index_of(op, g->members->self))))
            report_trouble(g, op, GATHER_LOST);
    }
}

uint64_t gather_deadline(const struct gather *g)
{
    const struct gather_op *op, *tmp;
    uint64_t due = UINT64_MAX;

    HASH_ITER(hh, g->ops.list, op, tmp)
    {
        if (op->deadline_ms && op->deadline_ms < due)
            due = op->deadline_ms;
        if (op->ask_ms && op->ask_ms < due)
            due = op->ask_ms;
    }
    return due;
}

void gather_tick(struct gather *g)
{
    struct gather_op *op, *tmp;

    HASH_ITER(hh, g->ops.list, op, tmp)
    {
        if (op->ask_ms && op->ask_ms <= g->out->now_ms) {
            op->ask_ms = 0;
            send_children(g, op, GATHER_WAITS);
        }
        if (op->deadline_ms && op->deadline_ms <= g->out->now_ms)
            report_trouble(g, op, GATHER_TIMEOUT);
    }
}

void gather_forget(struct gather *g, const char *nspace)
{
    struct gather_seq *s, *tmp;
    struct gather_op *op, *otmp;

    g->ended[g->nended++ % GATHER_ENDED_KEPT] = digest_nspace(nspace);
    early_forget_job(&g->early, nspace);
    HASH_ITER(hh, g->ops.list, op, otmp)
    {
        if (signature_names(op->key->sig, op->key->siglen, nspace))
            end_op(g, op, GATHER_LOST);
    }
    HASH_ITER(hh, g->ops.seqs, s, tmp)
    {
        if (signature_names(s->sig, s->siglen, nspace))
            ops_drop_seq(&g->ops, s);
    }
}
