/* SPDX-License-Identifier: BSD-3-Clause */
/* Node facts that daemons have in common: patterns of texts, and the set of facts in use.
 *
 * In: host, addresses, port, slots and incarnation of a member. Out: the id of its facts, and for
 * each address a value of its own that completes it; host and addresses from both.
 *
 * The first byte of a pattern is its form: "=" the text as it is, "%" a text with a hole for the
 * vpid, "4" an IPv4 address and "6" an IPv6 address whose last group is the value, "@" a host that
 * is called like its address. So 1,000 pods of a StatefulSet share one entry or a few.
 *
 * Invariants: a pattern is used only if it gives the same text again, byte by byte; else the text
 * is stored as it is. Facts are counted by their users and freed with the last one; an id is then
 * used again. Id 0 means none.
 *
 * Limit: a pattern has one hole, the first place where the vpid stands without another digit beside
 * it. */
#include "dvm/protocol/member/facts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOLE '\1' /* place of the vpid in a pattern */
#define GROUP_DIGITS 4

/* --- patterns */

static char *expand_pattern(const char *pattern, uint32_t vpid, uint32_t value)
{
    const char *text = pattern + 1;
    const char *hole = strchr(text, HOLE);

    switch (*pattern) {
    case '%':
        return hole ? xasprintf("%.*s%" PRIu32 "%s", (int)(hole - text), text, vpid, hole + 1)
                    : xstrdup(text);
    case '4':
        return xasprintf("%" PRIu32 ".%" PRIu32 ".%" PRIu32 ".%" PRIu32, value >> 24,
                         value >> 16 & 255, value >> 8 & 255, value & 255);
    case '6':
        return xasprintf("%s%" PRIx32, text, value);
    default:
        return xstrdup(text);
    }
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The vpid's digits, with no other digit beside them. */
static char *vpid_pattern(const char *text, uint32_t vpid)
{
    char digits[11];
    size_t len = (size_t)snprintf(digits, sizeof(digits), "%" PRIu32, vpid);

    for (const char *at = strstr(text, digits); at; at = strstr(at + 1, digits)) {
        if ((at == text || !is_digit(at[-1])) && !is_digit(at[len]))
            return xasprintf("%%%.*s%c%s", (int)(at - text), text, HOLE, at + len);
    }
    return NULL;
}

static char *ipv4_pattern(const char *text, uint32_t *value)
{
    uint32_t v = 0;

    for (int i = 0; i < 4; i++) {
        char *end;
        unsigned long part = strtoul(text, &end, 10);

        if (end == text || part > 255 || *end != (i < 3 ? '.' : '\0'))
            return NULL;
        v = v << 8 | (uint32_t)part;
        text = end + 1;
    }
    *value = v;
    return xstrdup("4");
}

static char *ipv6_pattern(const char *text, uint32_t *value)
{
    const char *colon = strrchr(text, ':');
    size_t len = colon ? strlen(colon + 1) : 0;

    if (len == 0 || len > GROUP_DIGITS || strspn(colon + 1, "0123456789abcdef") != len)
        return NULL;
    *value = (uint32_t)strtoul(colon + 1, NULL, 16);
    return xasprintf("6%.*s", (int)(colon + 1 - text), text);
}

/* The pattern if expanding it gives the text again, byte by byte; else the text as it is. */
static char *check_pattern(char *pattern, const char *text, uint32_t vpid, uint32_t *value)
{
    FREE_AUTO char *back = pattern ? expand_pattern(pattern, vpid, *value) : NULL;

    if (back && strcmp(back, text) == 0)
        return pattern;
    free(pattern);
    *value = 0;
    return xasprintf("=%s", text);
}

static char *address_pattern(const char *text, uint32_t vpid, uint32_t *value)
{
    char *p;

    *value = 0;
    p = ipv4_pattern(text, value);
    if (!p)
        p = ipv6_pattern(text, value);
    if (!p)
        p = vpid_pattern(text, vpid);
    return check_pattern(p, text, vpid, value);
}

static char *host_pattern(const char *text, const char *address, uint32_t vpid)
{
    uint32_t none = 0;

    if (strcmp(text, address) == 0)
        return xstrdup("@");
    return check_pattern(vpid_pattern(text, vpid), text, vpid, &none);
}

bool facts_pattern_ok(const char *pattern, bool host)
{
    return *pattern && strchr(host ? "=%@" : "=%46", *pattern);
}

char *facts_address(const struct facts *f, size_t i, uint32_t vpid, uint32_t value)
{
    return expand_pattern(f->address[i], vpid, value);
}

char *facts_host(const struct facts *f, uint32_t vpid, uint32_t value)
{
    return *f->host == '@' ? facts_address(f, 0, vpid, value)
                           : expand_pattern(f->host, vpid, value);
}

bool facts_has_value(const struct facts *f, size_t i)
{
    return *f->address[i] == '4' || *f->address[i] == '6';
}

/* --- the set */

void facts_set_free(struct factset *s)
{
    HASH_CLEAR(hh, s->by_key);
    for (uint32_t i = 1; i < s->n; i++)
        free(s->tab[i]);
    free(s->tab);
    free(s->unused);
    memset(s, 0, sizeof(*s));
}

size_t facts_set_bytes(const struct factset *s)
{
    size_t bytes = s->cap * (sizeof(*s->tab) + sizeof(*s->unused));

    for (uint32_t i = 1; i < s->n; i++)
        bytes += s->tab[i] ? sizeof(*s->tab[i]) + s->tab[i]->len : 0;
    return bytes;
}

const struct facts *facts_set_get(const struct factset *s, uint32_t id)
{
    return s->tab[id];
}

static uint32_t next_id(struct factset *s)
{
    if (s->nunused)
        return s->unused[--s->nunused];
    if (s->n >= s->cap) {
        s->cap = s->cap ? s->cap + s->cap / 2 : 8;
        s->tab = xrealloc(s->tab, s->cap * sizeof(*s->tab));
        s->unused = xrealloc(s->unused, s->cap * sizeof(*s->unused));
    }
    if (s->n == 0)
        s->tab[s->n++] = NULL;
    return s->n++;
}

static const char *next_text(const char *text)
{
    return text + strlen(text) + 1;
}

static struct facts *make_facts(struct factset *s, const struct buf *key)
{
    struct facts *f = xcalloc(1, sizeof(*f) + key->len);
    struct cur c;

    memcpy(f->key, key->data, key->len);
    f->len = key->len;
    c = cur_of(f->key, f->len);
    f->inc = cur_u64(&c);
    f->port = cur_u16(&c);
    f->slots = cur_u32(&c);
    f->naddresses = cur_u8(&c);
    f->host = (const char *)c.p;
    for (size_t i = 0; i < f->naddresses; i++)
        f->address[i] = next_text(i ? f->address[i - 1] : f->host);
    f->id = next_id(s);
    s->tab[f->id] = f;
    HASH_ADD(hh, s->by_key, key, f->len, f);
    return f;
}

uint32_t facts_set_take_patterns(struct factset *s, const struct facts *like)
{
    BUF_AUTO struct buf key = {0};
    struct facts *f;

    buf_init(&key, UINT32_MAX);
    buf_put_u64(&key, like->inc);
    buf_put_u16(&key, like->port);
    buf_put_u32(&key, like->slots);
    buf_put_u8(&key, like->naddresses);
    buf_put_raw(&key, like->host, strlen(like->host) + 1);
    for (size_t i = 0; i < like->naddresses; i++)
        buf_put_raw(&key, like->address[i], strlen(like->address[i]) + 1);
    HASH_FIND(hh, s->by_key, key.data, key.len, f);
    if (!f)
        f = make_facts(s, &key);
    f->uses++;
    return f->id;
}

uint32_t facts_set_take(struct factset *s, const struct msg_member *m,
                        uint32_t value[MEMBER_ADDRESSES_MAX])
{
    FREE_AUTO char *host = host_pattern(m->host, m->address, m->vpid);
    struct facts like = {.inc = m->epoch.inc,
                         .port = m->port,
                         .slots = m->slots,
                         .naddresses = (uint8_t)(1 + m->nmore),
                         .host = host};
    char *address[MEMBER_ADDRESSES_MAX];
    uint32_t id;

    for (size_t i = 0; i < like.naddresses; i++)
        like.address[i] = address[i] =
            address_pattern(msg_member_address(m, i), m->vpid, &value[i]);
    id = facts_set_take_patterns(s, &like);
    for (size_t i = 0; i < like.naddresses; i++)
        free(address[i]);
    return id;
}

void facts_set_use(struct factset *s, uint32_t id)
{
    s->tab[id]->uses++;
}

void facts_set_drop(struct factset *s, uint32_t id)
{
    struct facts *f = id ? s->tab[id] : NULL;

    if (!f || --f->uses > 0)
        return;
    HASH_DELETE(hh, s->by_key, f);
    s->tab[id] = NULL;
    s->unused[s->nunused++] = id;
    free(f);
}
