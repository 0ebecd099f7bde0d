/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks a pod template against the table of what is allowed (policy_table.c), field by field.
 *
 * Input: a template as the user wrote it, before it is merged into the operator's own pod. So a
 * null is judged by what it removes there. Output: the first field that is refused, by its path.
 *
 * Always true: what the table does not list is refused. A container of the user's own has to
 * restrict itself; the daemon's container is restricted by the operator and may only not loosen it.
 * The depth of the recursion is that of the table. */
#include "operator/model/policy.h"

#include "base/buf/buf.h"
#include "operator/model/policy_table.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Where a value stands. A path is made of it only for a refusal. */
struct place {
    const struct place *up; /* NULL: `key` is the path of the template */
    const char *key;        /* NULL: an item of a list */
    size_t index;
    const char *by; /* of the template: what refuses a field */
};

static char *print_place(const struct place *at)
{
    if (!at->up)
        return xstrdup(at->key);
    FREE_AUTO char *up = print_place(at->up);
    return at->key ? xasprintf("%s.%s", up, at->key) : xasprintf("%s[%zu]", up, at->index);
}

static int refuse_place(const struct place *at, const char *why, struct err *err)
{
    FREE_AUTO char *path = print_place(at);

    while (at->up)
        at = at->up;
    return err_set(err, "%s is refused%s: %s", path, at->by, why);
}

static bool is_word(const json_t *v, const char *word)
{
    return json_is_string(v) && strcmp(json_string_value(v), word) == 0;
}

static bool list_has(const json_t *list, const char *word)
{
    const json_t *v;
    size_t i;

    json_array_foreach((json_t *)list, i, v)
    {
        if (is_word(v, word))
            return true;
    }
    return false;
}

static bool all_are(const json_t *list, const char *word)
{
    const json_t *v;
    size_t i;

    json_array_foreach((json_t *)list, i, v)
    {
        if (!is_word(v, word))
            return false;
    }
    return json_is_array(list);
}

static bool are_objects(const json_t *list)
{
    const json_t *v;
    size_t i;

    json_array_foreach((json_t *)list, i, v)
    {
        if (!json_is_object(v))
            return false;
    }
    return json_is_array(list);
}

static bool is_allowed(const json_t *v, enum policy_rule rule)
{
    bool null = json_is_null(v);

    switch (rule) {
    case POLICY_FIELDS:
    case POLICY_PLAIN:
        return null || json_is_object(v);
    case POLICY_KEPT:
        return json_is_object(v);
    case POLICY_ITEMS:
        return null || are_objects(v);
    case POLICY_GRACE:
        return null;
    case POLICY_FQDN:
    case POLICY_NO_TRUE:
        return null || json_is_false(v);
    case POLICY_ONLY_FALSE:
        return json_is_false(v);
    case POLICY_NO_FALSE:
        return null || json_is_true(v);
    case POLICY_ONLY_TRUE:
        return json_is_true(v);
    case POLICY_NOT_ROOT:
        return null || json_integer_value(v) > 0;
    case POLICY_NO_PORT:
        return null || (json_is_integer(v) && json_integer_value(v) == 0);
    case POLICY_CONFINED:
        return is_word(v, "RuntimeDefault") || is_word(v, "Localhost");
    case POLICY_ALWAYS:
        return null || is_word(v, "Always");
    case POLICY_NO_SYSTEM:
        return null || (json_is_string(v) && strncmp(json_string_value(v), "system-", 7) != 0);
    case POLICY_NOT_TLS:
        return json_is_string(v) && !is_word(v, "tls");
    case POLICY_DROP_ALL:
        return list_has(v, "ALL");
    case POLICY_NET_BIND:
        return null || all_are(v, "NET_BIND_SERVICE");
    default:
        return true;
    }
}

static const struct policy_field *find_field(const struct policy_field *list, const char *key)
{
    for (; list->key; list++) {
        if (strcmp(list->key, key) == 0)
            return list;
    }
    return NULL;
}

static bool is_plain(const char *key)
{
    return *key && key[strspn(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                   "_-")] == '\0';
}

/* Refuses a key that is not listed. */
static int check_keys(const json_t *o, const struct policy_field *fields, bool plain,
                      const struct place *up, struct err *err)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)o, key, value)
    {
        struct place at = {.up = up, .key = key};

        if (!find_field(fields, key) && !(plain && is_plain(key)))
            return refuse_place(&at, POLICY_UNLISTED, err);
    }
    return 0;
}

static int check_value(const json_t *v, const struct policy_field *f, bool open,
                       const struct place *at, struct err *err);

static int check_fields(const json_t *o, const struct policy_field *fields, bool open,
                        const struct place *up, struct err *err)
{
    for (; fields->key; fields++) {
        struct place at = {.up = up, .key = fields->key};
        const json_t *v = json_object_get(o, fields->key);

        if (!v && fields->required)
            return refuse_place(&at, POLICY_WORDS[fields->rule], err);
        if (v && check_value(v, fields, open, &at, err))
            return -1;
    }
    return 0;
}

static int check_object(const json_t *o, const struct policy_field *f, bool open,
                        const struct place *at, struct err *err)
{
    if (!open && check_keys(o, f->fields, f->rule == POLICY_PLAIN, at, err))
        return -1;
    return check_fields(o, f->fields, open, at, err);
}

static int check_value(const json_t *v, const struct policy_field *f, bool open,
                       const struct place *at, struct err *err)
{
    const json_t *item;
    size_t i;

    if (!is_allowed(v, f->rule))
        return refuse_place(at, POLICY_WORDS[f->rule], err);
    if (!f->fields)
        return 0;
    if (f->rule != POLICY_ITEMS)
        return check_object(v, f, open, at, err);
    json_array_foreach((json_t *)v, i, item)
    {
        struct place place = {.up = at, .index = i};

        if (check_object(item, f, open, &place, err))
            return -1;
        if (f->own && !(f->merged && is_word(json_object_get(item, "name"), f->merged)) &&
            check_fields(item, f->own, true, &place, err))
            return -1;
    }
    return 0;
}

int policy_check(const json_t *template, const char *path, struct err *err)
{
    static const struct policy_field root = {.rule = POLICY_FIELDS, .fields = POLICY_TEMPLATE};
    struct place at = {.key = path, .by = " by the template policy \"restricted\""};

    return template ? check_value(template, &root, false, &at, err) : 0;
}

int policy_check_always(const json_t *template, const char *path, struct err *err)
{
    struct place at = {.key = path, .by = ""};

    return check_fields(template, POLICY_ALWAYS_TEMPLATE, true, &at, err);
}
