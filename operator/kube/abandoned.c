/* SPDX-License-Identifier: BSD-3-Clause */
/* A write without an answer: it may have been carried out, and the server would refuse it then when
 * it is repeated.
 *
 * In: the write. Out: the path of the object to read first, and whether what was read holds what
 * the write sets. Then the write has succeeded.
 *
 * Only writes that are refused the second time are looked at: those that name the version of the
 * object, and those that create a named object. Any other is repeated at once, because carrying it
 * out twice has no effect: an apply without a version, a deletion with a uid, a dry run.
 *
 * Limits: a value that the server stores in another form (a quantity, for example) does not count
 * as held. The write is repeated then, refused, and its caller reads the object. */
#include "base/buf/buf.h"
#include "operator/kube/kube_private.h"

#include <stdlib.h>
#include <string.h>

#define STATUS_PATH "/status"

static json_t *parse_body(const char *body)
{
    return body ? json_loads(body, JSON_ALLOW_NUL, NULL) : NULL;
}

/* The path without its query and without the subresource "status", on the heap. */
static char *object_path(const char *path)
{
    char *p = xstrndup(path, strcspn(path, "?"));
    size_t len = strlen(p), tail = strlen(STATUS_PATH);

    if (len > tail && strcmp(p + len - tail, STATUS_PATH) == 0)
        p[len - tail] = '\0';
    return p;
}

char *kube_abandoned_path(enum kube_method method, const char *path, const char *body)
{
    json_t *o = parse_body(body);
    const json_t *meta = json_object_get(o, "metadata");
    const char *name = json_string_value(json_object_get(meta, "name"));
    bool guarded = json_object_get(meta, "resourceVersion") != NULL;
    char *found = NULL;

    if (method == KUBE_POST && name && !strstr(path, "dryRun=")) {
        FREE_AUTO char *collection = object_path(path);

        found = xasprintf("%s/%s", collection, name);
    } else if ((method == KUBE_PUT || method == KUBE_PATCH) && guarded) {
        found = object_path(path);
    }
    json_decref(o);
    return found;
}

static bool holds_value(const json_t *want, const json_t *has);

static bool holds_array(const json_t *want, const json_t *has)
{
    size_t n = json_array_size(want);

    if (!json_is_array(has) || json_array_size(has) != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!holds_value(json_array_get(want, i), json_array_get(has, i)))
            return false;
    }
    return true;
}

/* The server keeps the texts of `stringData` in base64, in `data`. */
static bool holds_texts(const json_t *want, const json_t *data)
{
    const char *key;
    const json_t *value;

    json_object_foreach((json_t *)want, key, value)
    {
        const char *kept = json_string_value(json_object_get(data, key));
        struct err err = {0};
        FREE_AUTO char *text = kept ? kube_base64_decode(kept, &err) : NULL;

        if (!text || !json_is_string(value) || strcmp(text, json_string_value(value)) != 0)
            return false;
    }
    return true;
}

/* A null of a merge patch removes its field. The version is that of before the write. */
static bool holds_object(const json_t *want, const json_t *has)
{
    const char *key;
    const json_t *value;

    json_object_foreach((json_t *)want, key, value)
    {
        bool held = strcmp(key, "resourceVersion") == 0 ? true
                    : strcmp(key, "stringData") == 0
                        ? holds_texts(value, json_object_get(has, "data"))
                        : holds_value(value, json_object_get(has, key));

        if (!held)
            return false;
    }
    return true;
}

static bool holds_value(const json_t *want, const json_t *has)
{
    if (json_is_null(want))
        return !has || json_is_null(has);
    if (json_is_object(want))
        return json_is_object(has) ? holds_object(want, has) : json_object_size(want) == 0 && !has;
    return json_is_array(want) ? holds_array(want, has) : json_equal(want, has);
}

bool kube_abandoned_held(const char *path, const char *body, const json_t *object)
{
    FREE_AUTO char *plain = object_path(path);
    json_t *want = parse_body(body);
    bool status_only = strcspn(path, "?") > strlen(plain);
    const json_t *part = status_only ? json_object_get(want, "status") : want;
    const json_t *has = status_only ? json_object_get(object, "status") : object;
    bool held = part && holds_value(part, has);

    json_decref(want);
    return held;
}
