/* SPDX-License-Identifier: BSD-3-Clause */
/* The links of a daemon: encode and decode side by side.
 *
 * In: struct api_links, or the JSON object of a daemon. Out: the other one.
 *
 * Failures: a bad element ends the decoding; the error names its index and field, and nothing is
 * left allocated. */
#include "api/links.h"

#include "api/api.h"
#include "api/fields.h"
#include "base/buf/buf.h"

#include <stdlib.h>

#define PEERS_MAX (API_TARGETS_MAX + 1) /* children, and the parent */

static const char *const role_words[] = {[API_LINK_PARENT] = "parent", [API_LINK_CHILD] = "child"};

#define ROLES (sizeof(role_words) / sizeof(*role_words))

const char *api_link_role_word(enum api_link_role role)
{
    return role_words[role];
}

static void path_decode(struct fields *f, struct api_link_path *p)
{
    fields_word(f, "own", p->own, sizeof(p->own));
    fields_word(f, "other", p->other, sizeof(p->other));
    p->up = (uint32_t)fields_u64(f, "up", UINT32_MAX);
    p->mapped_out = (uint32_t)fields_u64(f, "mappedOut", UINT32_MAX);
    p->round_trip_ms = fields_i64_or(f, "roundTripMs", -1, INT64_MAX, -1);
}

static void paths_decode(struct fields *f, struct api_link_peer *p)
{
    const json_t *list = fields_array_or_null(f, "addresses", API_LINK_PATHS_MAX);

    p->npaths = json_array_size(list);
    for (size_t i = 0; i < p->npaths && !f->bad; i++) {
        struct fields e = fields_of(json_array_get(list, i), f->err);

        path_decode(&e, &p->paths[i]);
        if (e.bad)
            err_wrap(f->err, "addresses[%zu]", i);
        f->bad = e.bad;
    }
}

static json_t *paths_encode(const struct api_link_peer *p)
{
    json_t *list = json_array();

    for (size_t i = 0; i < p->npaths; i++) {
        const struct api_link_path *x = &p->paths[i];
        json_t *o = json_object();

        fields_put_str(o, "own", x->own, API_LINK_ADDRESS_MAX - 1);
        fields_put_str(o, "other", x->other, API_LINK_ADDRESS_MAX - 1);
        fields_put_u64(o, "up", x->up);
        fields_put_u64(o, "mappedOut", x->mapped_out);
        fields_put_i64(o, "roundTripMs", x->round_trip_ms);
        json_array_append_new(list, o);
    }
    return list;
}

static void peer_decode(struct fields *f, struct api_link_peer *p)
{
    p->vpid = (uint32_t)fields_u64(f, "vpid", UINT32_MAX);
    p->role = (enum api_link_role)fields_choice(f, "role", role_words, ROLES);
    p->up = (uint32_t)fields_u64(f, "up", UINT32_MAX);
    p->mapped_out = (uint32_t)fields_u64(f, "mappedOut", UINT32_MAX);
    p->round_trip_ms = fields_i64_or(f, "roundTripMs", -1, INT64_MAX, -1);
    p->queued_bytes = fields_u64(f, "queuedBytes", INT64_MAX);
    p->lost = fields_u64(f, "lost", INT64_MAX);
    p->sent_again = fields_u64(f, "sentAgain", INT64_MAX);
    paths_decode(f, p);
}

static json_t *peer_encode(const struct api_link_peer *p)
{
    json_t *o = json_object();

    fields_put_u64(o, "vpid", p->vpid);
    fields_put_str(o, "role", api_link_role_word(p->role), API_NAME_MAX);
    fields_put_u64(o, "up", p->up);
    fields_put_u64(o, "mappedOut", p->mapped_out);
    fields_put_i64(o, "roundTripMs", p->round_trip_ms);
    fields_put_u64(o, "queuedBytes", p->queued_bytes);
    fields_put_u64(o, "lost", p->lost);
    fields_put_u64(o, "sentAgain", p->sent_again);
    json_object_set_new(o, "addresses", paths_encode(p));
    return o;
}

int api_links_decode(const json_t *o, struct api_links *out, struct err *err)
{
    *out = (struct api_links){0};
    struct fields f = fields_of(o, err);
    out->vpid = (uint32_t)fields_u64(&f, "vpid", UINT32_MAX);
    const json_t *list = fields_array(&f, "peers", PEERS_MAX);
    size_t n = json_array_size(list);

    out->peers = n ? xcalloc(n, sizeof(*out->peers)) : NULL;
    out->npeers = n;
    for (size_t i = 0; i < n && !f.bad; i++) {
        struct fields e = fields_of(json_array_get(list, i), err);

        peer_decode(&e, &out->peers[i]);
        if (e.bad)
            err_wrap(err, "peers[%zu]", i);
        f.bad = e.bad;
    }
    if (!f.bad)
        return 0;
    api_links_free(out);
    return -1;
}

json_t *api_links_encode(const struct api_links *l)
{
    json_t *o = json_object(), *peers = json_array();

    fields_put_u64(o, "vpid", l->vpid);
    for (size_t i = 0; i < l->npeers; i++)
        json_array_append_new(peers, peer_encode(&l->peers[i]));
    json_object_set_new(o, "peers", peers);
    return o;
}

void api_links_free(struct api_links *l)
{
    free(l->peers);
    *l = (struct api_links){0};
}
