/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses --host. */
#include "dvm/host/jobspec/hosts.h"

#include "api/vpid.h"
#include "base/buf/buf.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIST_MAX (VPID_MAX + 1) /* members, and the head */

struct vpid_list {
    uint32_t *v;
    size_t n;
    size_t cap;
};

static int add_range(struct vpid_list *l, uint32_t from, uint32_t to, struct err *err)
{
    for (uint32_t vpid = from; vpid <= to; vpid++) {
        if (l->n == LIST_MAX)
            return err_set(err, "--host: more than %d daemons", LIST_MAX);
        if (l->n == l->cap) {
            l->cap = l->cap ? 2 * l->cap : 16;
            l->v = xrealloc(l->v, l->cap * sizeof(*l->v));
        }
        l->v[l->n++] = vpid;
    }
    return 0;
}

/* "3" or "1-4". */
static int add_numbers(struct vpid_list *l, char *word, struct err *err)
{
    char *dash = strchr(word, '-');
    uint32_t from, to;

    if (dash)
        *dash = '\0';
    if (vpid_parse(word, "--host", &from, err) < 0)
        return -1;
    to = from;
    if (dash && vpid_parse(dash + 1, "--host", &to, err) < 0)
        return -1;
    if (to < from)
        return err_set(err, "--host: the range %s-%s counts down", word, dash + 1);
    return add_range(l, from, to, err);
}

/* "x-3", "x-3.x.ns.svc", "node3". */
static int add_name(struct vpid_list *l, const char *word, struct err *err)
{
    size_t len = strcspn(word, ".");
    size_t digits = 0;
    FREE_AUTO char *number = NULL;
    uint32_t vpid;

    while (digits < len && strchr("0123456789", word[len - digits - 1]))
        digits++;
    if (!digits || (word[len - digits - 1] != '-' && strncmp(word, "node", len - digits) != 0))
        return err_set(err, "--host: '%s' is neither a vpid nor a name that ends with one", word);
    number = xasprintf("%.*s", (int)digits, word + len - digits);
    if (vpid_parse(number, "--host", &vpid, err) < 0)
        return -1;
    return add_range(l, vpid, vpid, err);
}

static int add_word(struct vpid_list *l, char *word, struct err *err)
{
    if (!*word)
        return err_set(err, "--host: an empty name in the list");
    if (strchr(word, ':'))
        return err_set(err, "--host: '%s': slots cannot be given here; use -n and -N", word);
    if (strspn(word, "0123456789-") == strlen(word) && word[0] != '-')
        return add_numbers(l, word, err);
    return add_name(l, word, err);
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static size_t sort_unique(uint32_t *v, size_t n)
{
    size_t kept = 1;

    if (!n)
        return 0;
    qsort(v, n, sizeof(*v), by_value);
    for (size_t i = 1; i < n; i++) {
        if (v[i] != v[kept - 1])
            v[kept++] = v[i];
    }
    return kept;
}

static bool same_name(const char *a, const char *b)
{
    size_t n = strcspn(a, ".");

    if (n == 0 || n != strcspn(b, ".") || strncmp(a, b, n) != 0)
        return false;
    return !a[n] || !b[n] || strcmp(a, b) == 0;
}

bool hosts_is_machine(const char *name)
{
    char own[256] = "";

    return gethostname(own, sizeof(own) - 1) == 0 && same_name(own, name);
}

static int parse_list(const char *list, bool local, uint32_t **vpids, size_t *n, struct err *err)
{
    FREE_AUTO char *copy = xstrdup(list);
    struct vpid_list l = {0};
    bool all = false;
    char *rest = copy;
    char *word;

    while ((word = strsep(&rest, ","))) {
        if (local && hosts_is_machine(word)) {
            all = true;
        } else if (add_word(&l, word, err) < 0) {
            free(l.v);
            return -1;
        }
    }
    *n = all ? 0 : sort_unique(l.v, l.n);
    *vpids = l.v;
    return 0;
}

int hosts_parse(const char *list, uint32_t **vpids, size_t *n, struct err *err)
{
    return parse_list(list, false, vpids, n, err);
}

int hosts_parse_local(const char *list, uint32_t **vpids, size_t *n, struct err *err)
{
    return parse_list(list, true, vpids, n, err);
}
