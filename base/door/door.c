/* SPDX-License-Identifier: BSD-3-Clause */
/* The budgets of a port.
 *
 * In: connections that come, show a credential, are busy or idle, and end. Out: the connections
 * that the owner of the port must close.
 *
 * A place is a stranger or known, and idle, busy or out. Idle places are in two lists, of their
 * class and of their source, in the order in which they became idle. Places that are out wait in a
 * third list until door_next_out() has given them.
 *
 * Invariants: no class has more than `max` places and no source more than `per_source` of them;
 * places that are out are not counted. A newcomer takes the place of an idle connection of the
 * source that holds the most. So a source with many connections displaces its own ones, and a
 * connection that sends its request at once is served before it is the oldest.
 *
 * Limit: when all connections of a class are busy, a newcomer is refused. */
#include "base/door/door.h"

#include "base/buf/buf.h"
#include "base/heap/hash.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <utlist.h>

#define SHARE_MIN 4
#define SUBNET_BYTES 8 /* of an IPv6 address: one host has all addresses of a /64 */

struct source_key {
    uint8_t addr[16]; /* IPv4 is mapped; zero: no network address */
};

struct source_tally {
    unsigned places;
    unsigned idle_places;
    struct door_place *idle; /* the oldest first */
};

struct source {
    struct source_key key;
    struct source_tally of[DOOR_CLASSES];
    unsigned refs; /* places, also those that are out */
    UT_hash_handle hh;
};

struct door_place {
    struct door *door;
    struct source *source;
    void *owner;
    enum door_class class;
    enum { PLACE_IDLE, PLACE_BUSY, PLACE_OUT, PLACE_REPORTED } state;
    uint64_t since_ms;                            /* PLACE_IDLE: from when on */
    struct door_place *prev, *next;               /* the class's idle ones, or those that are out */
    struct door_place *source_prev, *source_next; /* the source's idle ones */
    struct door_place *all_prev, *all_next;
};

struct door {
    struct door_opts opts;
    unsigned places[DOOR_CLASSES];
    struct door_place *idle[DOOR_CLASSES]; /* the oldest first */
    struct door_place *outs;
    struct door_place *all;
    struct source *sources;
};

struct door *door_create(const struct door_opts *opts)
{
    struct door *d = xcalloc(1, sizeof(*d));

    d->opts = *opts;
    for (int i = 0; i < DOOR_CLASSES; i++) {
        struct door_budget *b = &d->opts.of[i];

        if (!b->per_source || b->per_source > b->max)
            b->per_source = b->max;
        if (!b->hurry_ms || b->hurry_ms > b->idle_ms)
            b->hurry_ms = b->idle_ms;
    }
    return d;
}

void door_destroy(struct door *d)
{
    if (!d)
        return;
    while (d->all)
        door_leave(d->all);
    free(d);
}

static struct source_key make_key(const struct sockaddr *from)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    struct source_key key = {{0}};
    struct sockaddr_in6 v6;
    struct sockaddr_in v4;

    if (from && from->sa_family == AF_INET) {
        memcpy(&v4, from, sizeof(v4));
        memcpy(key.addr, mapped, sizeof(mapped));
        memcpy(key.addr + sizeof(mapped), &v4.sin_addr, sizeof(v4.sin_addr));
    } else if (from && from->sa_family == AF_INET6) {
        memcpy(&v6, from, sizeof(v6));
        memcpy(key.addr, &v6.sin6_addr,
               IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr) ? sizeof(key.addr) : SUBNET_BYTES);
    }
    return key;
}

static struct source *find_source(struct door *d, const struct sockaddr *from)
{
    struct source_key key = make_key(from);
    struct source *s = NULL;

    HASH_FIND(hh, d->sources, &key, sizeof(key), s);
    if (s)
        return s;
    s = xcalloc(1, sizeof(*s));
    s->key = key;
    HASH_ADD(hh, d->sources, key, sizeof(s->key), s);
    return s;
}

static void release_source(struct door *d, struct source *s)
{
    if (s->refs)
        return;
    HASH_DELETE(hh, d->sources, s);
    free(s);
}

static void list_idle(struct door_place *p, uint64_t now_ms)
{
    struct source_tally *t = &p->source->of[p->class];

    p->state = PLACE_IDLE;
    p->since_ms = now_ms;
    t->idle_places++;
    DL_APPEND(p->door->idle[p->class], p);
    DL_APPEND2(t->idle, p, source_prev, source_next);
}

static void unlist_idle(struct door_place *p)
{
    struct source_tally *t = &p->source->of[p->class];

    p->state = PLACE_BUSY;
    t->idle_places--;
    DL_DELETE(p->door->idle[p->class], p);
    DL_DELETE2(t->idle, p, source_prev, source_next);
}

static void count_place(struct door_place *p, int by)
{
    p->door->places[p->class] += (unsigned)by;
    p->source->of[p->class].places += (unsigned)by;
}

static void put_out(struct door_place *p)
{
    if (p->state == PLACE_IDLE)
        unlist_idle(p);
    count_place(p, -1);
    p->state = PLACE_OUT;
    DL_APPEND(p->door->outs, p);
}

/* The source with the most idle connections; NULL: no connection is idle. */
static struct source *find_largest(const struct door *d, enum door_class class)
{
    struct source *largest = NULL;
    struct source *s;
    struct source *next;

    HASH_ITER(hh, d->sources, s, next)
    {
        if (s->of[class].idle_places &&
            (!largest || s->of[class].idle_places > largest->of[class].idle_places))
            largest = s;
    }
    return largest;
}

/* 0: one more connection of this source fits, perhaps in the place of another one. */
static int make_room(struct door *d, struct source *s, enum door_class class)
{
    const struct door_budget *b = &d->opts.of[class];

    if (s->of[class].places >= b->per_source) {
        if (!s->of[class].idle)
            return -1;
        put_out(s->of[class].idle);
    }
    if (d->places[class] >= b->max) {
        struct source *largest = find_largest(d, class);

        if (!largest)
            return -1;
        put_out(largest->of[class].idle);
    }
    return 0;
}

struct door_place *door_enter(struct door *d, enum door_class as, const struct sockaddr *from,
                              void *owner, uint64_t now_ms)
{
    struct source *s = find_source(d, from);
    struct door_place *p;

    if (make_room(d, s, as) < 0) {
        release_source(d, s);
        return NULL;
    }
    p = xcalloc(1, sizeof(*p));
    p->door = d;
    p->source = s;
    p->owner = owner;
    p->class = as;
    s->refs++;
    DL_APPEND2(d->all, p, all_prev, all_next);
    count_place(p, 1);
    list_idle(p, now_ms);
    return p;
}

int door_admit(struct door_place *p, uint64_t now_ms)
{
    if (p->state >= PLACE_OUT)
        return -1;
    if (p->class == DOOR_KNOWN)
        return 0;
    if (make_room(p->door, p->source, DOOR_KNOWN) < 0)
        return -1;
    if (p->state == PLACE_IDLE)
        unlist_idle(p);
    count_place(p, -1);
    p->class = DOOR_KNOWN;
    count_place(p, 1);
    list_idle(p, now_ms);
    return 0;
}

void door_busy(struct door_place *p)
{
    if (p && p->state == PLACE_IDLE)
        unlist_idle(p);
}

void door_idle(struct door_place *p, uint64_t now_ms)
{
    if (p && p->state == PLACE_BUSY)
        list_idle(p, now_ms);
}

void door_leave(struct door_place *p)
{
    struct door *d;

    if (!p)
        return;
    d = p->door;
    door_busy(p);
    if (p->state == PLACE_OUT)
        DL_DELETE(d->outs, p);
    else if (p->state != PLACE_REPORTED)
        count_place(p, -1);
    DL_DELETE2(d->all, p, all_prev, all_next);
    p->source->refs--;
    release_source(d, p->source);
    free(p);
}

/* When the oldest idle connection of a class is due. */
static uint64_t class_deadline(const struct door *d, enum door_class class)
{
    const struct door_budget *b = &d->opts.of[class];
    bool hurry = d->places[class] * 4 >= b->max * 3;

    if (!d->idle[class] || !b->idle_ms)
        return UINT64_MAX;
    return d->idle[class]->since_ms + (hurry ? b->hurry_ms : b->idle_ms);
}

void *door_next_out(struct door *d, uint64_t now_ms)
{
    struct door_place *p;

    for (int i = 0; i < DOOR_CLASSES && !d->outs; i++) {
        if (class_deadline(d, (enum door_class)i) <= now_ms)
            put_out(d->idle[i]);
    }
    p = d->outs;
    if (!p)
        return NULL;
    DL_DELETE(d->outs, p);
    p->state = PLACE_REPORTED;
    return p->owner;
}

uint64_t door_deadline(const struct door *d)
{
    uint64_t first = UINT64_MAX;

    if (d->outs)
        return 0;
    for (int i = 0; i < DOOR_CLASSES; i++) {
        uint64_t due = class_deadline(d, (enum door_class)i);

        if (due < first)
            first = due;
    }
    return first;
}

unsigned door_share(unsigned wanted, unsigned percent)
{
    struct rlimit r;
    rlim_t share;

    if (getrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_cur == RLIM_INFINITY)
        return wanted;
    share = r.rlim_cur / 100 * percent + r.rlim_cur % 100 * percent / 100;
    if (share < SHARE_MIN)
        share = SHARE_MIN;
    return share < wanted ? (unsigned)share : wanted;
}
