/* SPDX-License-Identifier: BSD-3-Clause */
/* The compressed form of the vpid table, which a daemon gets with the answer to its greeting.
 *
 * In: the members with their facts (host, addresses, port, slots) and epochs. Out: bytes, and back.
 *
 * Pods of one StatefulSet differ by one number in host and address. Facts are therefore stored as
 * patterns (facts.c), each once, and the table as runs of neighbouring vpids that share them. A run
 * without gaps in its epochs costs the same for 2 and for 1,000 daemons.
 *
 * Only live members are encoded, and each decoded one is wired: states that only the head knows are
 * not sent.
 *
 * Failures: the decoder checks each count against the bytes that are left, requires rising vpids
 * that begin with the head, and checks patterns. A malformed table leaves the members empty and
 * sets err; nothing of it is used. */
#include "base/bitmap/bitmap.h"
#include "dvm/protocol/member/member.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIND_BYTES_MIN 22
#define RUN_BYTES_MIN 21
#define PATTERN_MAX 260

/* u32 n, then for each kind: u64 incarnation, u16 port, u32 slots, host (pattern), addresses
 * (patterns with commas between them); u32 n, then for each run, by rising vpid and from the head
 * on: u32 first vpid, u32 count, u32 kind, u8 form, u64 counter of the first one's epoch; if the
 * form says so each other one's as i32 from the first's (else each is one more than the one
 * before); for each address of the kind that needs one, u32 value of each; at last, unless no
 * daemon has a key, two u64 for each but the head, by rising vpid. */
enum { RUN_STEPS = 0, RUN_OFFSETS = 1 };

struct run {
    uint32_t first, count;
    bool offsets;
};

/* --- encoding */

static bool fits_delta(uint64_t a, uint64_t first)
{
    int64_t d = (int64_t)(a - first);

    return d >= INT32_MIN && d <= INT32_MAX;
}

static struct run run_from(const struct members *m, uint32_t vpid)
{
    const struct member *first = &m->tab[vpid];
    struct run r = {.first = vpid, .count = 1};

    for (uint32_t v = vpid + 1; v < m->n && members_live(m, v); v++) {
        if (m->tab[v].facts != first->facts || !fits_delta(m->tab[v].ctr, first->ctr))
            break;
        r.offsets |= m->tab[v].ctr != first->ctr + r.count;
        r.count++;
    }
    return r;
}

static void put_values(struct buf *b, const struct members *m, const struct run *r, size_t most)
{
    const struct facts *f = facts_set_get(&m->facts, m->tab[r->first].facts);

    for (size_t a = 0; a < f->naddresses && a < most; a++) {
        for (uint32_t i = 0; facts_has_value(f, a) && i < r->count; i++)
            buf_put_u32(b, members_value(m, r->first + i, a));
    }
}

static void put_run(struct buf *b, const struct members *m, const struct run *r, uint32_t kind,
                    size_t most)
{
    const struct member *x = &m->tab[r->first];

    buf_put_u32(b, r->first);
    buf_put_u32(b, r->count);
    buf_put_u32(b, kind);
    buf_put_u8(b, r->offsets ? RUN_OFFSETS : RUN_STEPS);
    buf_put_u64(b, x->ctr);
    for (uint32_t i = 1; r->offsets && i < r->count; i++)
        buf_put_u32(b, (uint32_t)(x[i].ctr - x->ctr));
    put_values(b, m, r, most);
}

static void put_patterns(struct buf *b, const struct facts *f, size_t most)
{
    char text[PATTERN_MAX + 1] = "";
    size_t len = 0;

    for (size_t i = 0; i < f->naddresses && i < most; i++)
        len +=
            (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", i ? "," : "", f->address[i]);
    buf_put_str(b, text);
}

/* Numbers the facts of live members from 1, in the order of vpids. */
static void put_kinds(struct buf *b, const struct members *m, uint32_t *kind, size_t most)
{
    size_t at = b->len;
    uint32_t n = 0;
    unsigned v;

    buf_put_u32(b, 0);
    hwloc_bitmap_foreach_begin(v, m->live)
    {
        const struct facts *f = facts_set_get(&m->facts, m->tab[v].facts);

        if (kind[f->id])
            continue;
        kind[f->id] = ++n;
        buf_put_u64(b, f->inc);
        buf_put_u16(b, f->port);
        buf_put_u32(b, f->slots);
        buf_put_str(b, f->host);
        put_patterns(b, f, most);
    }
    hwloc_bitmap_foreach_end();
    buf_patch_u32(b, at, n);
}

/* Of each member, its first addresses, at most `most`. */
static void encode_table(const struct members *m, struct buf *b, size_t most)
{
    FREE_AUTO uint32_t *kind = xcalloc(m->facts.n + 1, sizeof(*kind));
    uint32_t n = 0;
    size_t at;
    int v;

    put_kinds(b, m, kind, most);
    at = b->len;
    buf_put_u32(b, 0);
    for (v = hwloc_bitmap_first(m->live); v >= 0; n++) {
        struct run r = run_from(m, (uint32_t)v);

        put_run(b, m, &r, kind[m->tab[v].facts] - 1, most);
        v = hwloc_bitmap_next(m->live, (int)(r.first + r.count - 1));
    }
    buf_patch_u32(b, at, n);
}

static void put_keys(const struct members *m, struct buf *b)
{
    unsigned v;

    hwloc_bitmap_foreach_begin(v, m->live)
    {
        if (m->keys && v != VPID_HEAD)
            msg_put_key_id(b, m->keys[v]);
    }
    hwloc_bitmap_foreach_end();
}

void members_encode(const struct members *m, struct buf *b)
{
    encode_table(m, b, MEMBER_ADDRESSES_MAX);
    put_keys(m, b);
}

void members_encode_first(const struct members *m, struct buf *b)
{
    encode_table(m, b, 1);
}

/* --- decoding */

struct kind {
    uint64_t inc;
    uint16_t port;
    uint32_t slots;
    uint8_t naddresses;
    char *host, *address[MEMBER_ADDRESSES_MAX];
};

struct kinds {
    uint32_t n;
    struct kind *tab;
};

static void free_kinds(struct kinds *k)
{
    for (uint32_t i = 0; i < k->n; i++) {
        free(k->tab[i].host);
        while (k->tab[i].naddresses)
            free(k->tab[i].address[--k->tab[i].naddresses]);
    }
    free(k->tab);
}

static void get_addresses(struct cur *c, struct kind *x)
{
    FREE_AUTO char *list = cur_str(c, PATTERN_MAX);
    char *rest = list;
    const char *text;

    while ((text = strsep(&rest, ","))) {
        if (x->naddresses == MEMBER_ADDRESSES_MAX || !facts_pattern_ok(text, false)) {
            c->bad = true;
            return;
        }
        x->address[x->naddresses++] = xstrdup(text);
    }
}

static void get_kinds(struct cur *c, struct kinds *k)
{
    uint32_t n = cur_count(c, VPID_MAX + 1, KIND_BYTES_MIN);

    k->tab = xcalloc((size_t)n + 1, sizeof(*k->tab));
    for (k->n = 0; k->n < n && !c->bad; k->n++) {
        struct kind *x = &k->tab[k->n];

        x->inc = cur_u64(c);
        x->port = cur_u16(c);
        x->slots = cur_u32(c);
        x->host = cur_str(c, PATTERN_MAX);
        if (x->inc == 0 || !facts_pattern_ok(x->host, true))
            c->bad = true;
        get_addresses(c, x);
    }
}

static uint32_t take_kind(struct members *m, const struct kind *k)
{
    struct facts like = {.inc = k->inc,
                         .port = k->port,
                         .slots = k->slots,
                         .host = k->host,
                         .naddresses = k->naddresses};

    for (size_t i = 0; i < k->naddresses; i++)
        like.address[i] = k->address[i];
    return facts_set_take_patterns(&m->facts, &like);
}

/* Adds all entries of the run with its facts and counters; NULL if the run is malformed. */
static struct member *start_run(struct cur *c, struct members *m, const struct kinds *k,
                                struct run *r)
{
    uint32_t kind;
    uint8_t form;
    struct member *x;

    r->first = cur_u32(c);
    r->count = cur_u32(c);
    kind = cur_u32(c);
    form = cur_u8(c);
    if (c->bad || r->count == 0 || !vpid_allowed((uint64_t)r->first + r->count - 1) ||
        r->first < m->n || (m->n == 0 && r->first != VPID_HEAD) || kind >= k->n ||
        form > RUN_OFFSETS)
        return NULL;
    r->offsets = form == RUN_OFFSETS;
    if (r->offsets && cur_left(c) / 4 < r->count)
        return NULL;
    x = members_entries(m, r->first, r->count);
    x->facts = take_kind(m, &k->tab[kind]);
    x->ctr = cur_u64(c);
    return x;
}

static void get_values(struct cur *c, struct members *m, const struct run *r)
{
    const struct facts *f = facts_set_get(&m->facts, m->tab[r->first].facts);

    for (size_t a = 0; a < f->naddresses; a++) {
        for (uint32_t i = 0; facts_has_value(f, a) && i < r->count && !c->bad; i++)
            members_set_value(m, r->first + i, a, cur_u32(c));
    }
}

static void get_run(struct cur *c, struct members *m, const struct kinds *k)
{
    struct run r = {0};
    struct member *x = start_run(c, m, k, &r);

    if (!x) {
        c->bad = true;
        return;
    }
    for (uint32_t i = 0; i < r.count; i++) {
        x[i].state = MEMBER_WIRED;
        if (i > 0) {
            x[i].facts = x->facts;
            facts_set_use(&m->facts, x->facts);
            x[i].ctr = x->ctr + (r.offsets ? (uint64_t)(int32_t)cur_u32(c) : i);
        }
    }
    get_values(c, m, &r);
    bitmap_set_range(m->live, r.first, (int)(r.first + r.count - 1));
}

static void get_keys(struct cur *c, struct members *m)
{
    unsigned v;

    if (!cur_left(c))
        return;
    hwloc_bitmap_foreach_begin(v, m->live)
    {
        if (v != VPID_HEAD)
            members_set_key(m, v, msg_get_key_id(c));
    }
    hwloc_bitmap_foreach_end();
}

int members_decode(struct members *m, const void *data, size_t len, struct err *err)
{
    struct cur c = cur_of(data, len);
    struct kinds k = {0};
    uint32_t n;

    get_kinds(&c, &k);
    n = cur_count(&c, VPID_MAX + 1, RUN_BYTES_MIN);
    for (uint32_t i = 0; i < n && !c.bad; i++)
        get_run(&c, m, &k);
    get_keys(&c, m);
    free_kinds(&k);
    if (cur_done(&c) && m->n > 0)
        return 0;
    members_clear(m);
    return err_set(err, "the list of members (%zu bytes) is malformed", len);
}

static int check_epochs(const struct members *m, struct epoch last, struct err *err)
{
    unsigned v;

    hwloc_bitmap_foreach_begin(v, m->live)
    {
        struct epoch e = members_epoch(m, members_get(m, v));

        if (e.inc != last.inc || e.ctr == 0 || e.ctr > last.ctr)
            return err_set(err, "vpid %u has epoch %llu of another incarnation, or too late a one",
                           v, (unsigned long long)e.ctr);
    }
    hwloc_bitmap_foreach_end();
    return 0;
}

int members_check_table(const void *data, size_t len, struct epoch last, struct err *err)
{
    struct members m;
    int rc;

    members_init(&m, VPID_HEAD, 2); /* no use is made of the tree */
    rc = members_decode(&m, data, len, err);
    if (rc == 0)
        rc = check_epochs(&m, last, err);
    members_free(&m);
    return rc;
}
