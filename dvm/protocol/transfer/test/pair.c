/* SPDX-License-Identifier: BSD-3-Clause */
/* The two ends, the frames between them, and the invariants by name:
 *
 * exactly-once: a message is handed over once, whole, with its content.
 * no-false-arrival: a sender is told that a message has arrived only after it was handed over.
 * no-fragment-of-a-former-dance: once a dance has begun, fragments of earlier ones write nothing.
 * restart-when-quiet: RNDVRESTARTNOTIFY and RNDVRESTARTACK are sent only when no frame of the
 * transfer is outstanding at their sender.
 * transfer-bounded: fragments without completion, and transfers that are taken at once, have their
 * limits. */
#include "dvm/protocol/transfer/test/pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include <cmocka.h>

static uint8_t pattern[(PAIR_FRAGS_MAX + 1) * TRANSFER_FRAG_BYTES];

static void break_invariant(struct pair *p, const char *name)
{
    if (!p->broken && (!p->only || strcmp(p->only, name) == 0))
        p->broken = name;
}

uint64_t pair_random(struct pair *p, uint64_t below)
{
    uint64_t z = p->rng += 0x9e3779b97f4a7c15ull;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    z ^= z >> 31;
    return z % below;
}

/* --- messages */

static const uint8_t *content_of(const struct message *x, uint64_t offset)
{
    return pattern + (x->seq * 37) % TRANSFER_FRAG_BYTES + offset;
}

static size_t frags_of(const struct message *x)
{
    return (size_t)((x->size + TRANSFER_FRAG_BYTES - 1) / TRANSFER_FRAG_BYTES);
}

static const uint8_t *read_message(void *arg, uint64_t offset, size_t len)
{
    struct message *x = arg;

    x->read[offset / TRANSFER_FRAG_BYTES] = true;
    return content_of(x, offset);
}

static void end_source(void *arg, bool arrived)
{
    struct message *x = arg;

    x->ended++;
    x->arrived = arrived;
    if (x->ended > 1)
        break_invariant(x->p, "exactly-once");
    if (arrived && x->delivered != 1)
        break_invariant(x->p, "no-false-arrival");
}

static void write_message(void *arg, uint64_t offset, const uint8_t *data, size_t len)
{
    struct message *x = arg;

    x->written++;
    for (uint64_t at = offset; at < offset + len; at += TRANSFER_FRAG_BYTES)
        x->there[at / TRANSFER_FRAG_BYTES] = true;
    if (offset + len > x->size || memcmp(data, content_of(x, offset), len) != 0)
        break_invariant(x->p, "exactly-once");
}

static void end_sink(void *arg, bool complete)
{
    struct message *x = arg;

    x->opened--;
    if (!complete)
        return;
    x->delivered++;
    for (size_t i = 0; i < frags_of(x); i++) {
        if (!x->there[i] || x->delivered > 1)
            break_invariant(x->p, "exactly-once");
    }
}

static bool accept_message(void *arg, const struct transfer_match *match, uint64_t size,
                           struct transfer_sink *sink)
{
    struct pair_end *end = arg;
    struct message *x = &end->p->messages[match->seq];

    if (x->refused)
        return false;
    x->opened++;
    if (x->size != size || x->from == end->index)
        break_invariant(x->p, "exactly-once");
    *sink = (struct transfer_sink){x, x->regions, write_message, end_sink};
    return true;
}

size_t pair_send(struct pair *p, int from, uint64_t size, bool exposed, bool regions)
{
    struct message *x = &p->messages[p->nmessages];
    struct transfer_source source = {
        .arg = x,
        .size = size,
        .match = {.src = (uint32_t)from, .dst = !from, .src_epoch = {1, 1}, .seq = p->nmessages},
        .exposed = exposed,
        .read = read_message,
        .end = end_source};

    *x = (struct message){
        .p = p, .from = from, .seq = p->nmessages, .size = size, .regions = regions};
    p->nmessages++;
    transfer_send(p->end[from].e, &source);
    return p->nmessages - 1;
}

/* --- the layer below */

static uint32_t count_links(void *arg)
{
    const struct pair_end *end = arg;

    return end->p->nlinks;
}

static size_t count_outstanding(const struct pair *p, int from, int type, const struct msg *of)
{
    const struct flight *f;
    size_t n = 0;

    DL_FOREACH(p->flights, f)
    {
        n += f->from == from && !f->completed && (type == 0 || (int)f->m.type == type) &&
             (!of || f->m.anew.ref.number == of->anew.ref.number);
    }
    return n;
}

static bool has_room(void *arg, uint32_t link)
{
    const struct pair_end *end = arg;
    const struct flight *f;
    int n = 0;

    DL_FOREACH(end->p->flights, f)
    {
        n += f->from == end->index && f->link == link && !f->completed && f->m.type == MSG_FRAG;
    }
    return end->p->up[link] && n < end->p->room;
}

bool pair_is_of_sending(const struct msg *m)
{
    return m->type == MSG_MATCH || m->type == MSG_RNDV || m->type == MSG_RGET ||
           m->type == MSG_FRAG || m->type == MSG_RNDVRESTARTNOTIFY ||
           (m->type == MSG_TRANSFER_FIN && !m->fin.by_receiver);
}

/* Both ends number their transfers from 1, so the side belongs to it. */
static bool has_outstanding(const struct pair *p, int from, const struct msg *m)
{
    bool sending = m->type == MSG_RNDVRESTARTNOTIFY;
    const struct flight *f;

    DL_FOREACH(p->flights, f)
    {
        if (f->from == from && !f->completed && pair_is_of_sending(&f->m) == sending &&
            f->m.anew.ref.number == m->anew.ref.number && f->m.type != MSG_RNDVRESTARTNACK)
            return true;
    }
    return false;
}

/* The same frame again, after an error, is no beginning of a dance. */
static void check_dance(struct pair *p, int from, const struct msg *m)
{
    uint32_t *begun =
        &p->begun[from][m->type == MSG_RNDVRESTARTNOTIFY][m->anew.ref.number % PAIR_MESSAGES_MAX];

    if (m->anew.ref.dance > *begun && has_outstanding(p, from, m))
        break_invariant(p, "restart-when-quiet");
    *begun = m->anew.ref.dance;
}

static void check_sent(struct pair *p, int from, const struct msg *m)
{
    if (m->type == MSG_RNDVRESTARTNOTIFY || m->type == MSG_RNDVRESTARTACK)
        check_dance(p, from, m);
    if (m->type == MSG_FRAG && count_outstanding(p, from, MSG_FRAG, m) >= TRANSFER_FRAGS_MAX)
        break_invariant(p, "transfer-bounded");
}

static bool send_frame(void *arg, uint32_t link, uint64_t frame, const struct msg *m)
{
    struct pair_end *end = arg;
    struct pair *p = end->p;
    uint32_t on = link == TRANSFER_LINK_ANY ? (uint32_t)pair_random(p, p->nlinks) : link;
    struct flight *f;

    for (uint32_t i = 0; link == TRANSFER_LINK_ANY && !p->up[on] && i < p->nlinks; i++)
        on = (on + 1) % p->nlinks;
    if (!p->up[on])
        return false;
    check_sent(p, end->index, m);
    f = xcalloc(1, sizeof(*f));
    f->from = end->index;
    f->link = on;
    f->id = frame;
    f->m = *m;
    DL_APPEND(p->flights, f);
    return true;
}

static void log_illegal(void *arg, const char *text)
{
    const struct pair_end *end = arg;

    if (!end->p->quiet)
        fprintf(stderr, "end %d: %s\n", end->index, text);
}

static struct transfer_end *create_end(struct pair *p, int index)
{
    struct transfer_io io = {&p->end[index], count_links, has_room,         send_frame,
                             accept_message, log_illegal, PAIR_EAGER_BYTES, p->taken_bytes};

    return transfer_end_create(&io, ++p->last_end);
}

struct pair *pair_new(uint32_t nlinks, uint64_t seed)
{
    struct pair *p = xcalloc(1, sizeof(*p));
    uint32_t x = 1;

    for (size_t i = 0; !pattern[0] && i < sizeof(pattern); i++) {
        x = x * 1664525u + 1013904223u;
        pattern[sizeof(pattern) - 1 - i] = (uint8_t)(x >> 24) | (i + 1 == sizeof(pattern));
    }
    p->nlinks = nlinks;
    p->room = 4;
    p->rng = seed;
    for (uint32_t i = 0; i < nlinks; i++)
        p->up[i] = true;
    for (int i = 0; i < 2; i++) {
        p->end[i].p = p;
        p->end[i].index = i;
        p->end[i].e = create_end(p, i);
    }
    return p;
}

static void remove_flight(struct pair *p, struct flight *f)
{
    DL_DELETE(p->flights, f);
    free(f);
}

void pair_free(struct pair *p)
{
    for (int i = 0; i < 2; i++)
        transfer_end_destroy(p->end[i].e);
    while (p->flights)
        remove_flight(p, p->flights);
    free(p);
}

void pair_forget(struct pair *p, int index)
{
    struct flight *f, *tmp;

    transfer_end_destroy(p->end[index].e);
    DL_FOREACH_SAFE(p->flights, f, tmp)
    {
        if (f->from == index)
            remove_flight(p, f);
    }
    p->end[index].e = create_end(p, index);
}

/* --- what happens to frames */

struct flight *pair_find(struct pair *p, int from, enum msg_type type)
{
    struct flight *f;

    DL_FOREACH(p->flights, f)
    {
        if (f->from == from && f->m.type == type && !f->arrived && !f->gone)
            return f;
    }
    return NULL;
}

static int count_written(const struct pair *p)
{
    int n = 0;

    for (size_t i = 0; i < p->nmessages; i++)
        n += p->messages[i].written;
    return n;
}

static void check_taken(struct pair *p)
{
    size_t opened[2] = {0};

    for (size_t i = 0; i < p->nmessages; i++)
        opened[!p->messages[i].from] += p->messages[i].opened > 0;
    if (opened[0] > TRANSFER_TAKEN_MAX || opened[1] > TRANSFER_TAKEN_MAX)
        break_invariant(p, "transfer-bounded");
}

static void note_fault(const struct pair *p, const struct flight *f, enum pair_fault fault)
{
    if (p->note)
        p->note(p, f, fault);
}

void pair_arrive(struct pair *p, struct flight *f)
{
    int to = !f->from;
    uint64_t number = f->m.anew.ref.number % PAIR_MESSAGES_MAX;
    bool former = f->m.type == MSG_FRAG && f->m.frag.ref.dance < p->begun[to][0][number];
    int before = count_written(p);

    if (f->arrived)
        note_fault(p, f, PAIR_DOUBLED);
    else if (f->completed)
        note_fault(p, f, PAIR_LATE);
    f->arrived = true;
    transfer_input(p->end[to].e, &f->m);
    if (former && count_written(p) != before)
        break_invariant(p, "no-fragment-of-a-former-dance");
    check_taken(p);
}

void pair_complete(struct pair *p, struct flight *f, bool processed)
{
    struct transfer_end *e = p->end[f->from].e;
    uint64_t id = f->id;

    if (!processed && f->arrived)
        note_fault(p, f, PAIR_ARRIVED_WITH_ERROR);
    f->completed = true;
    if (f->arrived || f->gone)
        remove_flight(p, f);
    transfer_sent(e, id, processed);
    transfer_push(e);
}

void pair_lose(struct pair *p, struct flight *f)
{
    f->gone = true;
    pair_complete(p, f, false);
}

void pair_run(struct pair *p)
{
    struct flight *f;

    for (int i = 0; i < 2; i++)
        transfer_push(p->end[i].e);
    while ((f = p->flights)) {
        if (!f->arrived && !f->gone)
            pair_arrive(p, f);
        if (f->completed)
            remove_flight(p, f);
        else
            pair_complete(p, f, true);
    }
}

void pair_break(struct pair *p, uint32_t link)
{
    struct flight *f;

    p->up[link] = false;
    DL_FOREACH(p->flights, f)
    {
        if (f->link != link || f->completed)
            continue;
        note_fault(p, f, PAIR_LINK_BREAKS);
        f->link = PAIR_LINKS_MAX; /* of a link that has failed */
    }
}

void pair_mend(struct pair *p, uint32_t link)
{
    p->up[link] = true;
    for (int i = 0; i < 2; i++)
        transfer_push(p->end[i].e);
}

/* --- random steps */

static bool is_oldest(const struct pair *p, const struct flight *f)
{
    const struct flight *g;

    DL_FOREACH(p->flights, g)
    {
        if (g == f)
            return true;
        if (g->from == f->from && g->link == f->link && !g->arrived && !g->gone)
            return false;
    }
    return true;
}

static struct flight *some_flight(struct pair *p)
{
    struct flight *f = p->flights;
    uint64_t n = 0;

    DL_FOREACH(p->flights, f)
    {
        n++;
    }
    if (n == 0)
        return NULL;
    n = pair_random(p, n);
    f = p->flights;
    while (n--)
        f = f->next;
    return f;
}

/* A frame of a failed link is lost, or has arrived, or arrives late; its sender sees an error. */
static void step_failed(struct pair *p, struct flight *f)
{
    switch (pair_random(p, 4)) {
    case 0:
        if (f->completed)
            pair_arrive(p, f); /* late */
        if (f->completed)
            remove_flight(p, f);
        break;
    case 1:
        if (!f->arrived && !f->gone) {
            note_fault(p, f, PAIR_LOST);
            f->gone = true;
        }
        if (f->completed)
            remove_flight(p, f);
        break;
    case 2:
        if (!f->arrived && !f->gone)
            pair_arrive(p, f);
        if (f->completed)
            remove_flight(p, f);
        break;
    default:
        if (!f->completed)
            pair_complete(p, f, false);
    }
}

static void step_flight(struct pair *p, struct flight *f, bool faults)
{
    if (f->link == PAIR_LINKS_MAX)
        step_failed(p, f);
    else if (f->arrived && !(faults && pair_random(p, 8) == 0))
        pair_complete(p, f, true);
    else if (f->arrived || is_oldest(p, f))
        pair_arrive(p, f); /* one that has arrived is doubled */
}

void pair_step(struct pair *p, bool faults)
{
    uint32_t link = (uint32_t)pair_random(p, p->nlinks);
    struct flight *f;

    if (!p->up[link] && pair_random(p, faults ? 20 : 1) == 0)
        pair_mend(p, link);
    else if (faults && p->up[link] && pair_random(p, 60) == 0)
        pair_break(p, link);
    f = some_flight(p);
    if (f)
        step_flight(p, f, faults);
}

bool pair_idle(const struct pair *p)
{
    return !p->flights;
}

bool pair_all_there(const struct pair *p)
{
    for (size_t i = 0; i < p->nmessages; i++) {
        const struct message *x = &p->messages[i];

        if (x->delivered != 1 || x->ended != 1 || !x->arrived)
            return false;
    }
    return true;
}

void pair_run_to(struct pair *p, int from, enum msg_type type)
{
    while (!pair_find(p, from, type)) {
        struct flight *f = p->flights;

        if (!f)
            abort(); /* it never comes */
        pair_arrive(p, f);
        pair_complete(p, f, true);
    }
}

size_t pair_send_large(struct pair *p, enum pair_how how)
{
    return pair_send(p, 0, PAIR_LARGE, how == BY_GET, how == BY_PUT);
}

void pair_end_at_rest(struct pair *p)
{
    if (p->broken)
        fail_msg("%s does not hold", p->broken);
    assert_true(pair_all_there(p));
    for (int i = 0; i < 2; i++) {
        struct transfer_stats st = transfer_stats(p->end[i].e);

        assert_int_equal(st.sending + st.taking + st.outstanding, 0);
        assert_int_equal(st.illegal, 0);
    }
    pair_free(p);
}
