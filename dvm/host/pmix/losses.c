/* SPDX-License-Identifier: BSD-3-Clause */
/* Frees what libpmix 4.2.2 loses: in each fence that collects data 110 bytes for each rank that
 * takes part and 750 for each local one, and 24 or 64 in each question of a client. Its functions
 * stay; what they lose goes through others that they call by name, and those come here first. */
#include "dvm/host/pmix/pmix_private.h"

#if PMIX_VERSION_MAJOR == 4 && PMIX_VERSION_MINOR == 2 && PMIX_VERSION_RELEASE == 2

#include <stdlib.h>
#include <string.h>

#include <src/include/pmix_config.h>

#include <src/class/pmix_list.h>
#include <src/include/pmix_globals.h>
#include <src/mca/bfrops/base/base.h>
#include <src/mca/gds/base/base.h>
#include <src/util/pmix_hash.h>

/* As in src/server/pmix_server_ops.h, which cannot be included from outside. */
typedef pmix_status_t fence_fn(pmix_server_caddy_t *cd, pmix_buffer_t *buf, pmix_modex_cbfunc_t cb,
                               pmix_op_cbfunc_t op_cb);
typedef pmix_status_t get_fn(pmix_buffer_t *buf, pmix_modex_cbfunc_t cb, void *cbdata);
fence_fn pmix_server_fence;
get_fn pmix_server_get;

typedef pmix_status_t hash_fetch_fn(pmix_hash_table_t *table, pmix_rank_t rank, const char *key,
                                    pmix_info_t *qualifiers, size_t nquals, pmix_list_t *kvals);
typedef pmix_status_t copy_fn(pmix_pointer_array_t *types, void **dest, void *src,
                              pmix_data_type_t type);
typedef pmix_status_t unpack_fn(pmix_pointer_array_t *types, pmix_buffer_t *buf, void *dest,
                                int32_t *n, pmix_data_type_t type);
typedef pmix_status_t store_modex_fn(struct pmix_namespace_t *ns, pmix_buffer_t *buf,
                                     pmix_gds_base_ctx_t ctx, pmix_gds_base_store_modex_cb_fn_t cb,
                                     void *cbdata);

/* How the library's own type begins, which has a name in one of its files only. */
struct rank_blob {
    pmix_list_item_t super;
    pmix_buffer_t *buf;
};

static atomic_bool active; /* the library that runs is the one that has been read */
static pmix_destruct_t library_destructs_list;

/* What is under way on the library's thread. */
static _Thread_local struct collection {
    pmix_kval_t **values; /* each held once by us */
    size_t n, size;
} * collecting;
static _Thread_local bool fetching_key;
static _Thread_local struct question {
    const pmix_buffer_t *buf;
    unsigned nstrings;
    char *key;
    bool refresh;
} * asking;

/* --- a fence fetches all values of its local ranks twice, and lets go of the second ones only; and
 * of what it packs them into it lets go of nothing */

static void hold_values(struct collection *c, pmix_list_t *list, size_t known)
{
    pmix_kval_t *kv;

    PMIX_LIST_FOREACH(kv, list, pmix_kval_t)
    {
        if (known > 0) {
            known--;
            continue;
        }
        if (c->n == c->size) {
            c->size = c->size ? 2 * c->size : 16;
            c->values = xrealloc(c->values, c->size * sizeof(*c->values));
        }
        PMIX_RETAIN(kv);
        c->values[c->n++] = kv;
    }
}

/* Nobody but the fence has seen them: what is held twice has been lost. */
static void release_values(struct collection *c)
{
    for (size_t i = 0; i < c->n; i++) {
        pmix_kval_t *kv = c->values[i];

        if (kv->super.super.obj_reference_count > 1)
            PMIX_RELEASE(kv);
        kv = c->values[i];
        PMIX_RELEASE(kv);
    }
    free(c->values);
}

pmix_status_t pmix_server_fence(pmix_server_caddy_t *cd, pmix_buffer_t *buf, pmix_modex_cbfunc_t cb,
                                pmix_op_cbfunc_t op_cb)
{
    struct collection c = {0};
    pmix_status_t rc;

    collecting = atomic_load(&active) ? &c : NULL;
    rc = NEXT(fence_fn *, "pmix_server_fence")(cd, buf, trackguard_fence(cb), op_cb);
    collecting = NULL;
    release_values(&c);
    return rc;
}

/* Its destructor would release it once more. */
static void destruct_list(pmix_object_t *object)
{
    pmix_list_t *list = (pmix_list_t *)object;

    while (collecting && pmix_list_get_size(list) > 0) {
        pmix_list_item_t *item = pmix_list_get_first(list);
        struct rank_blob *blob = (struct rank_blob *)item;

        if (strcmp(item->super.obj_class->cls_name, "rank_blob_t") != 0)
            break;
        pmix_list_remove_item(list, item);
        PMIX_RELEASE(blob->buf);
        free(blob);
    }
    library_destructs_list(object);
}

/* --- a value that is asked for by its key gets room twice */

pmix_status_t pmix_hash_fetch(pmix_hash_table_t *table, pmix_rank_t rank, const char *key,
                              pmix_info_t *qualifiers, size_t nquals, pmix_list_t *kvals)
{
    size_t known = pmix_list_get_size(kvals);
    pmix_status_t rc;

    fetching_key = atomic_load(&active) && key;
    rc = NEXT(hash_fetch_fn *, "pmix_hash_fetch")(table, rank, key, qualifiers, nquals, kvals);
    fetching_key = false;
    if (collecting && !key)
        hold_values(collecting, kvals, known);
    return rc;
}

pmix_status_t pmix_bfrops_base_copy(pmix_pointer_array_t *types, void **dest, void *src,
                                    pmix_data_type_t type)
{
    void *room = fetching_key && type == PMIX_VALUE ? *dest : NULL;
    pmix_status_t rc;

    fetching_key = fetching_key && !room;
    rc = NEXT(copy_fn *, "pmix_bfrops_base_copy")(types, dest, src, type);
    fetching_key = fetching_key || room;
    if (rc == PMIX_SUCCESS && *dest != room)
        free(room);
    return rc;
}

/* --- a question loses its key, unless it is one to ask anew */

static void note(struct question *q, void *dest, int32_t n, pmix_data_type_t type)
{
    if (type == PMIX_STRING && ++q->nstrings == 2) /* after the namespace */
        q->key = *(char **)dest;
    if (type == PMIX_INFO && info_find(dest, (size_t)n, PMIX_GET_REFRESH_CACHE))
        q->refresh = true;
}

pmix_status_t pmix_bfrops_base_unpack(pmix_pointer_array_t *types, pmix_buffer_t *buf, void *dest,
                                      int32_t *n, pmix_data_type_t type)
{
    pmix_status_t rc = NEXT(unpack_fn *, "pmix_bfrops_base_unpack")(types, buf, dest, n, type);

    if (asking && asking->buf == buf && rc == PMIX_SUCCESS)
        note(asking, dest, *n, type);
    return rc;
}

pmix_status_t pmix_server_get(pmix_buffer_t *buf, pmix_modex_cbfunc_t cb, void *cbdata)
{
    struct question q = {.buf = buf};
    pmix_status_t rc;

    asking = atomic_load(&active) ? &q : NULL;
    rc = NEXT(get_fn *, "pmix_server_get")(buf, cb, cbdata);
    asking = NULL;
    if (!q.refresh)
        free(q.key);
    return rc;
}

/* --- what comes with the end of a fence is lost once it has been stored */

struct storing {
    pmix_gds_base_ctx_t ctx;
    pmix_gds_base_store_modex_cb_fn_t cb;
    char **names; /* of the daemon whose ranks are being stored; the last ones are not lost */
};

static pmix_status_t store_rank(pmix_gds_base_ctx_t ctx, pmix_proc_t *proc,
                                pmix_gds_modex_key_fmt_t format, char **names, pmix_buffer_t *buf)
{
    struct storing *s = ctx;
    pmix_status_t rc = s->cb(s->ctx, proc, format, names, buf);

    free(buf->base_ptr);
    buf->base_ptr = NULL;
    if (s->names != names)
        PMIX_ARGV_FREE(s->names);
    s->names = names;
    return rc;
}

pmix_status_t pmix_gds_base_store_modex(struct pmix_namespace_t *ns, pmix_buffer_t *buf,
                                        pmix_gds_base_ctx_t ctx,
                                        pmix_gds_base_store_modex_cb_fn_t cb, void *cbdata)
{
    store_modex_fn *library = NEXT(store_modex_fn *, "pmix_gds_base_store_modex");
    struct storing s = {.ctx = ctx, .cb = cb};

    if (!atomic_load(&active))
        return library(ns, buf, ctx, cb, cbdata);
    return library(ns, buf, &s, store_rank, cbdata);
}

void losses_start(const struct pmix_srv *p)
{
    pmix_class_t *list = dlsym(RTLD_DEFAULT, "pmix_list_t_class");

    if (!p->knows_library || !list || !list->cls_destruct_array)
        return;
    library_destructs_list = list->cls_destruct_array[0];
    list->cls_destruct_array[0] = destruct_list;
    atomic_store(&active, true);
}

#else

void losses_start(const struct pmix_srv *p)
{
}

#endif
