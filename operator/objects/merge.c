/* SPDX-License-Identifier: BSD-3-Clause */
/* How a user's pod template is merged into the daemons' own. */
#include "operator/objects/objects_private.h"

#include <string.h>

struct keyed {
    const char *list;
    const char *key;
    bool deep; /* items of the same key are merged; otherwise replaced */
};

static const struct keyed KEYED[] = {
    {"containers", "name", true},
    {"initContainers", "name", true},
    {"volumes", "name", false},
    {"env", "name", false},
    {"ports", "name", false},
    {"imagePullSecrets", "name", false},
    {"volumeMounts", "mountPath", false},
};

static const struct keyed *keyed_of(const char *list)
{
    for (size_t i = 0; i < sizeof(KEYED) / sizeof(*KEYED); i++) {
        if (strcmp(KEYED[i].list, list) == 0)
            return &KEYED[i];
    }
    return NULL;
}

/* Index of the item with the same key; -1: none. */
static ssize_t find_item(const json_t *list, const char *key, const json_t *item)
{
    const json_t *want = json_object_get(item, key), *have;
    size_t i;

    json_array_foreach((json_t *)list, i, have)
    {
        if (want && json_equal(json_object_get(have, key), want))
            return (ssize_t)i;
    }
    return -1;
}

static void merge_list(json_t *base, const json_t *over, const struct keyed *k)
{
    const json_t *item;
    size_t i;

    json_array_foreach((json_t *)over, i, item)
    {
        ssize_t at = find_item(base, k->key, item);

        if (at < 0)
            json_array_append_new(base, json_deep_copy(item));
        else if (k->deep)
            objects_merge(json_array_get(base, (size_t)at), item);
        else
            json_array_set_new(base, (size_t)at, json_deep_copy(item));
    }
}

/* The JSON decoder bounds the depth of this recursion. */
void objects_merge(json_t *base, const json_t *over)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)over, key, value)
    {
        json_t *have = json_object_get(base, key);
        const struct keyed *k = keyed_of(key);

        if (json_is_null(value))
            json_object_del(base, key);
        else if (json_is_object(have) && json_is_object(value))
            objects_merge(have, value);
        else if (k && json_is_array(have) && json_is_array(value))
            merge_list(have, value, k);
        else
            json_object_set_new(base, key, json_deep_copy(value));
    }
}
