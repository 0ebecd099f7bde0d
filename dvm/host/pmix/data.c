/* SPDX-License-Identifier: BSD-3-Clause */
/* Publish, lookup and unpublish: requests of local clients are packed for the head, its answers are
 * unpacked for them.
 *
 * In: upcalls on the library's thread; the end of a rank (data_rank_gone()); the head's answer to a
 * lookup. Out: on_data() on the loop's thread, with a letter for the operation and a blob in the
 * form of store.h; the values that were found, on the library's thread.
 *
 * The letters are 'p' for publish, 'l' for lookup, 'u' for unpublish, 'e' for the end of a rank and
 * 'c' for a port that is closed.
 * The head is notified of the end of ranks that have published with PMIX_PERSIST_PROC or have
 * looked up with PMIX_WAIT, and of no others.
 *
 * Invariants: a value is in the library's own packing, and the head does not read it. The end of a
 * rank takes the same path as its requests, so it follows all data that the rank has published.
 *
 * Failures: an unknown attribute that is marked as required gives PMIX_ERR_NOT_SUPPORTED. A publish
 * without data gives PMIX_ERR_BAD_PARAM, which is the head's answer. A request of more than
 * PMIX_SRV_BLOB_MAX bytes gives PMIX_ERR_OUT_OF_RESOURCE. A malformed answer, or one with more than
 * PMIX_SRV_KEYS_MAX values, gives PMIX_ERR_UNPACK_FAILURE. */
#include "dvm/host/pmix/pmix_private.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert((int)STORE_RANGE_UNDEF == PMIX_RANGE_UNDEF &&
                   (int)STORE_RANGE_LOCAL == PMIX_RANGE_LOCAL &&
                   (int)STORE_RANGE_NAMESPACE == PMIX_RANGE_NAMESPACE &&
                   (int)STORE_RANGE_SESSION == PMIX_RANGE_SESSION &&
                   (int)STORE_RANGE_GLOBAL == PMIX_RANGE_GLOBAL &&
                   (int)STORE_RANGE_PROC_LOCAL == PMIX_RANGE_PROC_LOCAL,
               "the head's ranges are those of the library");
_Static_assert((int)STORE_PERSIST_INDEF == PMIX_PERSIST_INDEF &&
                   (int)STORE_PERSIST_FIRST_READ == PMIX_PERSIST_FIRST_READ &&
                   (int)STORE_PERSIST_PROC == PMIX_PERSIST_PROC &&
                   (int)STORE_PERSIST_APP == PMIX_PERSIST_APP &&
                   (int)STORE_PERSIST_SESSION == PMIX_PERSIST_SESSION,
               "the head's lifetimes are those of the library");

/* Keys that are directives, not data. */
static bool is_directive(const pmix_info_t *i)
{
    static const char *const keys[] = {
        PMIX_RANGE, PMIX_PERSISTENCE,       PMIX_USERID, PMIX_GRPID, PMIX_TIMEOUT,
        PMIX_WAIT,  PMIX_ACCESS_PERMISSIONS};

    for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
        if (PMIX_CHECK_KEY(i, keys[k]))
            return true;
    }
    return false;
}

/* Every name that is not reserved is data. A reserved one that is no directive is left out. */
static bool is_data(const pmix_info_t *i)
{
    return !PMIX_CHECK_RESERVED_KEY(i->key);
}

static bool is_directive_or_data(const pmix_info_t *i)
{
    return is_directive(i) || is_data(i);
}

static void put_head(struct buf *b, const pmix_proc_t *proc, const struct pmix_srv *p,
                     const pmix_info_t *info, size_t ninfo)
{
    struct store_who who = {.rank = proc->rank, .vpid = p->vpid};

    memcpy(who.nspace, proc->nspace, sizeof(who.nspace) - 1);
    who.uid = (uint32_t)info_int(info, ninfo, PMIX_USERID, geteuid());
    store_put_who(b, &who);
    buf_put_u8(b, (uint8_t)info_int(info, ninfo, PMIX_RANGE, PMIX_RANGE_SESSION));
}

/* The value in the library's own packing, which only another server's library unpacks. */
static bool put_value(struct buf *b, pmix_value_t *v)
{
    pmix_data_buffer_t packed;
    pmix_status_t rc;

    PMIX_DATA_BUFFER_CONSTRUCT(&packed);
    rc = PMIx_Data_pack(NULL, &packed, v, 1, PMIX_VALUE);
    if (rc == PMIX_SUCCESS)
        buf_put_bytes(b, packed.base_ptr, packed.bytes_used);
    PMIX_DATA_BUFFER_DESTRUCT(&packed);
    return rc == PMIX_SUCCESS;
}

static void put_keys(struct buf *b, char **keys)
{
    uint32_t n = 0;

    while (keys && keys[n])
        n++;
    buf_put_u32(b, n);
    for (uint32_t i = 0; i < n; i++)
        buf_put_str(b, keys[i]);
}

#define KEYS_SHOWN 3

/* The first KEYS_SHOWN keys of a lookup, for pstat. On the heap; NULL: there are none. */
static char *keys_text(char **keys)
{
    char *text = NULL;

    for (size_t i = 0; keys && keys[i] && i < KEYS_SHOWN; i++) {
        char *before = text;

        text = xasprintf("%s%s\"%.40s\"", before ? before : "", before ? ", " : "", keys[i]);
        free(before);
    }
    return text;
}

static void run_data(struct pmix_srv *p, struct upcall *u)
{
    pmix_req req = pmix_srv_add_request(p, &u->answer);
    const struct job *j = u->number ? job_find(p, u->nspace) : NULL;

    if (j && u->rank < j->launch->nranks)
        j->ranks[u->rank].tells_end = true;
    if (u->text)
        pmix_srv_request_waits(
            p, req, u->nspace,
            xasprintf("PMIx_Lookup: rank %u waits for %.150s", u->rank, u->text));
    if (p->up.on_data)
        p->up.on_data(req, u->op, u->data.data, u->data.len, p->arg);
    else
        pmix_srv_answer(p, req, PMIX_ERR_NOT_SUPPORTED, NULL, 0);
}

static struct upcall *new_request(char op, const pmix_proc_t *proc)
{
    struct upcall *u = pmix_srv_upcall_new(run_data);

    if (!u)
        return NULL;
    u->op = op;
    memcpy(u->nspace, proc->nspace, sizeof(proc->nspace));
    u->rank = proc->rank;
    return u;
}

static pmix_status_t post_packed(struct upcall *u, bool packed)
{
    if (!packed || u->data.failed) {
        pmix_srv_upcall_free(u);
        return packed ? PMIX_ERR_OUT_OF_RESOURCE : PMIX_ERR_PACK_FAILURE;
    }
    pmix_srv_upcall_post(u);
    return PMIX_SUCCESS;
}

/* Follows all data that the rank has published: same path, same order. */
void data_rank_gone(struct pmix_srv *p, const char *nspace, uint32_t rank)
{
    struct answer none = {.kind = ANSWER_NONE};
    struct store_who who = {.rank = rank, .vpid = p->vpid};
    BUF_AUTO struct buf b = {.max = PMIX_SRV_BLOB_MAX};

    memccpy(who.nspace, nspace, 0, sizeof(who.nspace) - 1);
    store_put_who(&b, &who);
    if (p->up.on_data)
        p->up.on_data(pmix_srv_add_request(p, &none), 'e', b.data, b.len, p->arg);
}

void pmix_srv_close_port(struct pmix_srv *p, const struct pmix_srv_proc *of, const char *port)
{
    struct answer none = {.kind = ANSWER_NONE};
    struct store_who who = {.rank = of->rank, .vpid = p->vpid};
    BUF_AUTO struct buf b = {.max = PMIX_SRV_BLOB_MAX};

    memcpy(who.nspace, of->nspace, sizeof(who.nspace));
    store_put_who(&b, &who);
    buf_put_str(&b, port);
    if (p->up.on_data)
        p->up.on_data(pmix_srv_add_request(p, &none), 'c', b.data, b.len, p->arg);
}

pmix_status_t data_on_publish(const pmix_proc_t *proc, const pmix_info_t info[], size_t ninfo,
                              pmix_op_cbfunc_t cb, void *cbdata)
{
    struct upcall *u;
    size_t count_at;
    uint32_t n = 0;
    bool ok = true;

    if (!info_understood(info, ninfo, is_directive_or_data))
        return PMIX_ERR_NOT_SUPPORTED;
    u = new_request('p', proc);
    if (!u)
        return PMIX_ERR_INIT;
    put_head(&u->data, proc, u->srv, info, ninfo);
    buf_put_u8(&u->data, (uint8_t)info_int(info, ninfo, PMIX_PERSISTENCE, PMIX_PERSIST_APP));
    u->number = info_int(info, ninfo, PMIX_PERSISTENCE, PMIX_PERSIST_APP) == PMIX_PERSIST_PROC;
    count_at = u->data.len;
    buf_put_u32(&u->data, 0);
    for (size_t i = 0; i < ninfo && ok; i++) {
        pmix_value_t value = info[i].value;

        if (!is_data(&info[i]))
            continue;
        buf_put_str(&u->data, info[i].key);
        ok = put_value(&u->data, &value);
        n++;
    }
    buf_patch_u32(&u->data, count_at, n);
    u->answer = (struct answer){.kind = ANSWER_OP, .cb.op = cb, .cbdata = cbdata};
    return post_packed(u, ok);
}

pmix_status_t data_on_lookup(const pmix_proc_t *proc, char **keys, const pmix_info_t info[],
                             size_t ninfo, pmix_lookup_cbfunc_t cb, void *cbdata)
{
    struct upcall *u;
    bool wait = info_find(info, ninfo, PMIX_WAIT) != NULL;

    if (!info_understood(info, ninfo, is_directive))
        return PMIX_ERR_NOT_SUPPORTED;
    u = new_request('l', proc);
    if (!u)
        return PMIX_ERR_INIT;
    put_head(&u->data, proc, u->srv, info, ninfo);
    u->number = wait;
    buf_put_u8(&u->data, wait);
    buf_put_u32(&u->data, (uint32_t)info_int(info, ninfo, PMIX_TIMEOUT, 0));
    buf_put_u32(&u->data, (uint32_t)info_int(info, ninfo, PMIX_WAIT, 0));
    put_keys(&u->data, keys);
    u->text = wait ? keys_text(keys) : NULL;
    u->answer = (struct answer){.kind = ANSWER_LOOKUP, .cb.lookup = cb, .cbdata = cbdata};
    return post_packed(u, true);
}

pmix_status_t data_on_unpublish(const pmix_proc_t *proc, char **keys, const pmix_info_t info[],
                                size_t ninfo, pmix_op_cbfunc_t cb, void *cbdata)
{
    struct upcall *u;

    if (!info_understood(info, ninfo, is_directive))
        return PMIX_ERR_NOT_SUPPORTED;
    u = new_request('u', proc);
    if (!u)
        return PMIX_ERR_INIT;
    put_head(&u->data, proc, u->srv, info, ninfo);
    put_keys(&u->data, keys);
    u->answer = (struct answer){.kind = ANSWER_OP, .cb.op = cb, .cbdata = cbdata};
    return post_packed(u, true);
}

static bool get_pdata(struct cur *c, pmix_pdata_t *d)
{
    FREE_AUTO char *nspace = cur_str(c, PMIX_MAX_NSLEN);
    uint32_t rank = cur_u32(c);
    FREE_AUTO char *key = cur_str(c, PMIX_MAX_KEYLEN);
    size_t len;
    const uint8_t *bytes = cur_bytes(c, PMIX_SRV_BLOB_MAX, &len);
    pmix_data_buffer_t packed;
    pmix_byte_object_t bo;
    pmix_status_t rc;
    int32_t one = 1;

    if (c->bad)
        return false;
    PMIX_LOAD_PROCID(&d->proc, nspace, rank);
    PMIX_LOAD_KEY(d->key, key);
    PMIX_DATA_BUFFER_CONSTRUCT(&packed);
    bo = (pmix_byte_object_t){.bytes = memcpy(xmalloc(len), bytes, len), .size = len};
    rc = PMIx_Data_load(&packed, &bo);
    if (rc == PMIX_SUCCESS)
        rc = PMIx_Data_unpack(NULL, &packed, &d->value, &one, PMIX_VALUE);
    PMIX_DATA_BUFFER_DESTRUCT(&packed);
    return rc == PMIX_SUCCESS;
}

void data_answer_lookup(const struct answer *a, int status, const void *data, size_t len)
{
    struct cur c = cur_of(data, len);
    pmix_pdata_t *found = NULL;
    bool some = status == PMIX_SUCCESS || status == PMIX_ERR_PARTIAL_SUCCESS;
    uint32_t n = some ? cur_count(&c, PMIX_SRV_KEYS_MAX, 16) : 0;
    bool whole = true;

    if (n)
        found = xcalloc(n, sizeof(*found));
    for (uint32_t i = 0; whole && i < n; i++)
        whole = get_pdata(&c, &found[i]);
    if (some && !(whole && cur_done(&c)))
        status = PMIX_ERR_UNPACK_FAILURE;
    /* The data service packs its reply before it returns. */
    a->cb.lookup(status, status == PMIX_ERR_UNPACK_FAILURE ? NULL : found,
                 status == PMIX_ERR_UNPACK_FAILURE ? 0 : n, a->cbdata);
    if (found)
        PMIX_PDATA_FREE(found, n);
}
